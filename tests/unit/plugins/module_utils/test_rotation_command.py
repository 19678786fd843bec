# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written down of the commands that take a machine out, and when are they run?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.records import Owner
from ansible_collections.foghorn.azure_events.plugins.module_utils.rotation_command import (
    CommandError,
    Commands,
    World,
    check_name,
    put_back,
    take_out,
)

ONE, OTHER = "1" * 32, "2" * 32
WITHIN = 20.0


class Balancer:
    """Obeys the commands `leave`, `join` and `asks`, and is watched."""

    def __init__(self, directory: Path) -> None:
        self.records = directory / "records"
        self.is_in = True
        self.run: list[str] = []
        self.fails: set[str] = set()
        self.seen: list[list[str]] = []
        """The records at each command but `asks`."""
        self.lags = 0
        """How often `asks` has the answer of before."""
        self.died_after = ""
        self.now = 0.0

    def obey(self, command: list[str]) -> tuple[int, str, str]:
        what = command[0]
        if what == "asks":
            if self.lags:
                self.lags -= 1
                return (1 if self.is_in else 0), "", ""
            return (0 if self.is_in else 1), "", ""
        self.run.append(what)
        self.seen.append(self.kept)
        if what in self.fails:
            return 7, "", "no such machine"
        self.is_in = what == "join"
        if what == self.died_after:
            raise KeyboardInterrupt
        return 0, "", ""

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def world(self, is_dry: bool = False) -> World:
        return World(self.obey, lambda: self.now, self.sleep, WITHIN, is_dry)

    def owner(self, machine: str, name: str) -> Owner:
        return Owner(str(self.records), name, machine)

    def take_out(self, asks: bool = False, machine: str = ONE, name: str = "web_0", **more: Any) -> bool:
        status = ["asks"] if asks else []
        return take_out(self.owner(machine, name), Commands("pool", ["leave"], ["join"], status), self.world(**more))

    def put_back(self, machine: str = ONE, name: str = "web_0", **more: Any) -> bool:
        return put_back(self.owner(machine, name), "pool", self.world(**more))

    @property
    def kept(self) -> list[str]:
        return sorted(path.name for path in self.records.glob("*"))


@pytest.fixture(name="balancer")
def fixture_balancer(tmp_path: Path) -> Balancer:
    return Balancer(tmp_path)


RECORD = "command_web_0_%s_pool.json" % ONE


@pytest.mark.parametrize("asks", [True, False])
def test_given_a_removal_when_put_back_then_each_command_ran_once_and_nothing_is_kept(
    balancer: Balancer, asks: bool
) -> None:
    assert balancer.take_out(asks)
    assert not balancer.take_out(asks), "it is out"
    assert balancer.seen == [[RECORD]], "the record is there before the command runs"

    assert balancer.put_back()

    assert balancer.run == ["leave", "join"]
    assert balancer.kept == []
    assert not balancer.put_back()


def test_given_other_commands_by_now_when_put_back_then_those_that_are_written_down_are_run(
    balancer: Balancer, tmp_path: Path
) -> None:
    balancer.take_out()
    changed = Commands("pool", ["leave"], ["something else"], [])
    take_out(balancer.owner(ONE, "web_0"), changed, balancer.world())

    balancer.put_back()

    assert balancer.run == ["leave", "join"]
    assert (tmp_path / "records").stat().st_mode & 0o777 == 0o755


def test_given_a_machine_that_somebody_else_took_out_then_there_is_no_record_and_it_stays_out(
    balancer: Balancer,
) -> None:
    balancer.is_in = False

    assert not balancer.take_out(asks=True)

    assert balancer.run == []
    assert balancer.kept == []


def test_given_a_record_and_a_machine_that_is_in_rotation_when_taken_out_then_it_leaves_again(
    balancer: Balancer,
) -> None:
    balancer.take_out(asks=True)
    balancer.is_in = True

    assert balancer.take_out(asks=True)

    assert balancer.run == ["leave", "leave"]


class TestInterrupted:
    def test_given_a_removal_that_died_when_taken_out_again_then_the_command_runs_again(
        self, balancer: Balancer
    ) -> None:
        balancer.died_after = "leave"
        with pytest.raises(KeyboardInterrupt):
            balancer.take_out()
        balancer.died_after = ""

        assert balancer.take_out()

        assert balancer.run == ["leave", "leave"]
        assert balancer.put_back()

    def test_given_a_return_that_died_when_taken_out_again_then_the_command_runs_again(
        self, balancer: Balancer
    ) -> None:
        balancer.take_out()
        balancer.died_after = "join"
        with pytest.raises(KeyboardInterrupt):
            balancer.put_back()

        assert balancer.take_out()

        assert balancer.run == ["leave", "join", "leave"]

    def test_given_a_return_that_died_when_put_back_again_then_it_is_back(self, balancer: Balancer) -> None:
        balancer.take_out()
        balancer.died_after = "join"
        with pytest.raises(KeyboardInterrupt):
            balancer.put_back()
        balancer.died_after = ""

        assert balancer.put_back()

        assert balancer.kept == []


class TestFailures:
    def test_given_a_command_that_fails_when_taken_out_then_it_is_told_and_can_be_undone(
        self, balancer: Balancer
    ) -> None:
        balancer.fails = {"leave"}

        with pytest.raises(CommandError, match="leave ended with exit status 7: no such machine"):
            balancer.take_out()

        assert balancer.kept == [RECORD]
        assert balancer.put_back()

    def test_given_a_command_that_fails_when_put_back_then_it_is_told_and_the_record_stays(
        self, balancer: Balancer
    ) -> None:
        balancer.take_out()
        balancer.fails = {"join"}

        with pytest.raises(CommandError, match="join ended with exit status 7"):
            balancer.put_back()

        assert RECORD in balancer.kept

    def test_given_a_status_that_changes_late_then_it_is_waited_for(self, balancer: Balancer) -> None:
        leave = balancer.obey

        def lagging(command: list[str]) -> tuple[int, str, str]:
            answer = leave(command)
            if command[0] in ("leave", "join"):
                balancer.lags = 5
            return answer

        balancer.obey = lagging  # type: ignore[method-assign] # that is what is tried

        balancer.take_out(asks=True)
        assert balancer.now == 5.0
        balancer.put_back()
        assert balancer.now == 10.0

    @pytest.mark.parametrize("way", ["out", "in"])
    def test_given_a_status_that_never_changes_then_it_fails_and_the_record_stays(
        self, balancer: Balancer, way: str
    ) -> None:
        if way == "in":
            balancer.take_out(asks=True)
        balancer.lags = 0 if way == "in" else 1
        act: Callable[[], bool] = balancer.put_back if way == "in" else lambda: balancer.take_out(asks=True)
        balancer.is_in = way == "out"
        obey = balancer.obey

        def stuck(command: list[str]) -> tuple[int, str, str]:
            return obey(command) if command[0] != "asks" else (0 if way == "out" else 1, "", "")

        balancer.obey = stuck  # type: ignore[method-assign] # that is what is tried

        with pytest.raises(CommandError, match="the check did not succeed within 20 s: asks ended with exit status"):
            act()

        assert RECORD in balancer.kept

    def test_given_a_status_that_cannot_tell_then_nothing_is_run(self, balancer: Balancer) -> None:
        def broken(command: list[str]) -> tuple[int, str, str]:
            assert command == ["asks"]
            return 127, "", "not found"

        balancer.obey = broken  # type: ignore[method-assign] # that is what is tried

        with pytest.raises(CommandError, match=r"asks ended with exit status 127, .*: not found"):
            balancer.take_out(asks=True)

        assert balancer.kept == []

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "[]",
            '{"restore": [], "status": []}',
            '{"restore": ["x", 1], "status": []}',
            '{"restore": ["x"]}',
        ],
    )
    def test_given_a_record_that_is_none_then_it_is_named_and_nothing_is_run(
        self, balancer: Balancer, content: str
    ) -> None:
        balancer.take_out()
        (balancer.records / RECORD).write_text(content)

        for act in (balancer.take_out, balancer.put_back):
            with pytest.raises(CommandError, match="%s was not written by this module" % RECORD):
                act()

        assert balancer.run == ["leave"]

    def test_given_a_record_that_cannot_be_written_then_nothing_is_run(self, balancer: Balancer) -> None:
        balancer.records.write_text("in its place")

        with pytest.raises(OSError):  # noqa: PT011 - whatever the system says
            balancer.take_out()

        assert balancer.run == []

    def test_given_a_directory_that_others_may_change_then_it_is_refused(self, balancer: Balancer) -> None:
        balancer.records.mkdir()
        (balancer.records / RECORD).write_text(json.dumps({"restore": ["evil"], "status": []}))
        balancer.records.chmod(0o777)

        for act in (balancer.take_out, balancer.put_back):
            with pytest.raises(OSError, match="records"):
                act()

        assert balancer.run == []


class TestWhoseRecordItIs:
    def test_given_a_machine_that_is_renamed_then_it_finds_its_record(self, balancer: Balancer) -> None:
        balancer.take_out(name="web_0")

        assert balancer.put_back(name="db_0")

    def test_given_another_machine_with_the_name_then_the_record_is_not_its_own(self, balancer: Balancer) -> None:
        balancer.take_out(machine=ONE)

        assert not balancer.put_back(machine=OTHER)
        assert balancer.take_out(machine=OTHER)
        assert balancer.put_back(machine=ONE)

    @pytest.mark.parametrize(("out", "back"), [("", ONE), (ONE, ""), ("", "")])
    def test_given_a_machine_that_cannot_say_its_id_then_its_name_decides(
        self, balancer: Balancer, out: str, back: str
    ) -> None:
        balancer.take_out(machine=out)

        assert balancer.put_back(machine=back)

    @pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "ä"])
    def test_given_a_name_that_is_none_then_it_is_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="name"):
            check_name(name)


def test_given_a_dry_run_then_only_the_status_is_asked(balancer: Balancer) -> None:
    assert balancer.take_out(asks=True, is_dry=True)
    assert balancer.kept == []
    assert not balancer.records.exists()
    balancer.take_out(asks=True)

    assert not balancer.take_out(asks=True, is_dry=True)
    assert balancer.put_back(is_dry=True)

    assert balancer.run == ["leave"]
    assert RECORD in balancer.kept
