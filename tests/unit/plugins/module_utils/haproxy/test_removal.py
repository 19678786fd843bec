# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written down of a server before it is taken out, and what is restored by it?"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.records import Owner
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.operations import Outcome, UnknownServer
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.options import UnixAddress, read_order
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.records import (
    BadRecord,
    list_records,
    read_owner,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.removal import Returned, put_back, take_out
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.runtime_api import RuntimeApi, Unreachable
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.haproxy.scripted_haproxy import (
    ScriptedHaproxy,
    Server,
)

ONE, OTHER = "1" * 32, "2" * 32
DRAINED = 8
PATIENCE = 30.0


class Place:
    """HAProxy, and records beside it."""

    def __init__(self, directory: Path, haproxy: ScriptedHaproxy) -> None:
        self.haproxy = haproxy
        self.records = directory / "records"
        self.socket = str(directory / "admin.sock")
        self.api = RuntimeApi(UnixAddress(self.socket), PATIENCE)
        self.now = 0.0

    def take_out(self, server: str = "web_0", machine: str = ONE, dry_run: bool = False, **options: Any) -> Outcome:
        order = read_order({"server": server, "state": "drain", "deadline": PATIENCE, **options})
        owner = Owner(str(self.records), server, machine)
        return take_out(self.api, None, order, self.socket, owner, "vm of " + machine[:1], dry_run)

    def put_back(self, server: str = "web_0", machine: str = ONE, dry_run: bool = False, **options: Any) -> Returned:
        order = read_order({"server": server, "state": "as_recorded", "deadline": PATIENCE, **options})
        owner = Owner(str(self.records), server, machine)
        return put_back(self.api, order, self.socket, owner, dry_run, lambda: self.now, self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def kept(self) -> List[str]:
        return sorted(path.name.partition("_at_")[0] for path in self.records.glob("*"))

    @property
    def states(self) -> Dict[str, int]:
        return {"%s/%s" % (one.backend, one.name): one.admin_state for one in self.haproxy.servers}


@pytest.fixture(name="place")
def fixture_place() -> Iterator[Place]:
    # pytest's directories have longer names than the path of a socket may have.
    with tempfile.TemporaryDirectory() as directory:
        servers = [Server("web", "web_0", weight=100), Server("web", "web_1"), Server("api", "web_0", weight=50)]
        with ScriptedHaproxy(os.path.join(directory, "admin.sock"), servers) as haproxy:
            yield Place(Path(directory), haproxy)


def test_given_a_removal_when_put_back_then_all_is_as_it_was_and_the_record_is_gone(place: Place) -> None:
    place.haproxy.servers[2].admin_state = DRAINED
    assert place.take_out().changed
    assert place.kept == ["haproxy_web_0_" + ONE]

    back = place.put_back()

    assert back.outcome is not None
    assert back.outcome.changed
    assert place.states == {"web/web_0": 0, "web/web_1": 0, "api/web_0": DRAINED}
    assert (back.serving, back.out) == (["web/web_0"], ["api/web_0 is in drain"])
    assert place.kept == []
    assert place.put_back().outcome is None, "there is nothing to restore any more"


def test_given_a_server_that_was_taken_out_before_when_taken_out_again_then_the_first_record_stays(
    place: Place,
) -> None:
    place.take_out()
    assert not place.take_out().changed

    place.put_back()

    assert place.states["web/web_0"] == 0


def test_given_a_record_that_cannot_be_written_when_taken_out_then_nothing_is_changed(place: Place) -> None:
    place.records.write_text("in its place")

    with pytest.raises(OSError):  # noqa: PT011 - whatever the system says
        place.take_out()

    assert place.states["web/web_0"] == 0


@pytest.mark.parametrize("content", ["", "{}", '{"server": "web_0", "vm_id": "", "before": [{}], "was_up": []}', "[]"])
@pytest.mark.parametrize("act", [Place.take_out, Place.put_back])
def test_given_a_record_that_is_none_then_it_is_named_and_nothing_is_changed(
    place: Place, act: Callable[[Place], Any], content: str
) -> None:
    place.take_out()
    (record,) = place.records.iterdir()
    record.write_text(content)
    before = place.states

    with pytest.raises(BadRecord, match="was not written by this module") as error:
        act(place)

    assert str(record) in str(error.value)
    assert place.states == before
    assert record.read_text() == content


def test_given_a_directory_that_others_may_change_then_it_is_refused(place: Place) -> None:
    place.records.mkdir()
    place.records.chmod(0o777)

    for act in (place.take_out, place.put_back):
        with pytest.raises(OSError, match="records"):
            act()

    assert place.states["web/web_0"] == 0


def test_given_a_dry_run_then_it_is_predicted_and_nothing_is_written(place: Place) -> None:
    assert place.take_out(dry_run=True).commands
    assert place.kept == []
    place.take_out()

    assert place.put_back(dry_run=True).outcome is not None

    assert place.states["web/web_0"] == DRAINED
    assert place.kept == ["haproxy_web_0_" + ONE]


class TestWhoseRecordItIs:
    def test_given_a_machine_that_is_called_otherwise_when_put_back_then_it_is_found_by_its_id(
        self, place: Place
    ) -> None:
        place.take_out("web_0")

        back = place.put_back("web_1")

        assert place.states["web/web_0"] == 0
        assert back.serving == ["web/web_0", "api/web_0"]
        assert place.kept == []

    def test_given_another_machine_when_put_back_then_a_record_is_not_its_own(self, place: Place) -> None:
        place.take_out("web_0", ONE)

        back = place.put_back("web_0", OTHER)

        assert back.outcome is None
        assert back.out == ["web/web_0 is in drain", "api/web_0 is in drain"]
        assert place.kept == ["haproxy_web_0_" + ONE]

    @pytest.mark.parametrize("machine", [ONE, ""])
    def test_given_a_machine_that_was_away_when_it_is_put_back_then_its_servers_record_is_its_own(
        self, place: Place, machine: str
    ) -> None:
        place.take_out("web_0", "")

        place.put_back("web_0", machine)

        assert place.states["web/web_0"] == 0
        assert place.kept == []

    def test_given_a_machine_that_lost_its_disk_when_put_back_then_its_servers_record_is_its_own(
        self, place: Place
    ) -> None:
        place.take_out("web_0", ONE)

        place.put_back("web_0", "")

        assert place.states["web/web_0"] == 0

    def test_given_a_machine_that_is_away_when_taken_out_again_then_the_record_keeps_its_id(self, place: Place) -> None:
        place.take_out("web_0", ONE)

        place.take_out("web_0", "")

        assert place.kept == ["haproxy_web_0_" + ONE]

    def test_given_a_machine_that_was_made_again_when_taken_out_then_it_takes_over_what_was_found_at_first(
        self, place: Place
    ) -> None:
        place.take_out("web_0", ONE)

        place.take_out("web_0", OTHER)

        assert place.kept == ["haproxy_web_0_" + OTHER]
        (record,) = place.records.iterdir()
        assert json.loads(record.read_text())["vm_id"] == "vm of 2"
        place.put_back("web_0", OTHER)
        assert place.states["web/web_0"] == 0

    def test_given_an_id_that_is_none_then_it_is_refused(self) -> None:
        with pytest.raises(OptionError, match="record: machine 'web_0' is no id"):
            read_owner({"directory": "/x", "machine": "web_0"}, "web_0")


class TestUntilItIsUp:
    def test_given_a_server_that_comes_up_when_put_back_then_it_is_waited_for(self, place: Place) -> None:
        place.take_out()
        place.haproxy.servers[0].operational_state = 0

        def come_up(_command: str) -> None:
            if place.now >= 3:
                place.haproxy.servers[0].operational_state = 2

        place.haproxy.before = come_up

        back = place.put_back(wait=True)

        assert 3 <= place.now < PATIENCE
        assert back.serving == ["web/web_0", "api/web_0"]
        assert place.kept == []

    def test_given_a_server_in_maintenance_when_put_back_then_it_gets_no_request_before_its_first_check(
        self, place: Place
    ) -> None:
        place.take_out(state="maintenance")
        server = place.haproxy.servers[0]
        # As HAProxy shows it until then: what it needs to be up, and no more.
        server.check = {"check_rise": 2, "check_fall": 3, "check_health": 2}
        ready_at = []

        def look(command: str) -> None:
            if place.now >= 3:
                server.check["check_health"] = 4
            if command == "set server web/web_0 state ready":
                ready_at.append(place.now)

        place.haproxy.before = look

        back = place.put_back(wait=True)

        assert place.haproxy.changes[2:4] == ["set server %s/web_0 state drain" % backend for backend in ("web", "api")]
        assert ready_at == [3.0]
        assert back.serving == ["web/web_0", "api/web_0"]

    def test_given_a_weight_that_haproxy_refuses_when_put_back_from_maintenance_then_it_is_asked_and_said_once(
        self, place: Place
    ) -> None:
        place.take_out(state="maintenance")
        place.haproxy.servers[0].weight = 20
        place.haproxy.answers["set server web/web_0 weight 100"] = "Backend is using a static LB algorithm.\n"

        back = place.put_back(wait=True)

        assert back.outcome is not None
        assert len(back.outcome.warnings) == 1
        assert (place.states["web/web_0"], place.kept) == (0, [])

    def test_given_a_check_without_a_result_when_put_back_from_maintenance_then_it_is_ready_at_the_deadline(
        self, place: Place
    ) -> None:
        place.take_out(state="maintenance")
        place.haproxy.servers[0].check = {"check_rise": 2, "check_fall": 3, "check_health": 2}

        place.put_back(wait=True)

        assert place.now == PATIENCE
        assert place.states["web/web_0"] == 0

    def test_given_a_server_that_stays_down_when_put_back_then_it_fails_and_the_record_stays(
        self, place: Place
    ) -> None:
        place.take_out()
        place.haproxy.servers[0].operational_state = 0

        back = place.put_back(wait=True)

        assert back.outcome is not None
        assert str(back.outcome.failure).startswith("web/web_0: not up after 30 s")
        assert place.kept == ["haproxy_web_0_" + ONE]

    def test_given_a_server_that_was_down_before_when_put_back_then_it_need_not_come_up(self, place: Place) -> None:
        place.haproxy.servers[0].operational_state = 0
        place.take_out()

        back = place.put_back(wait=True)

        assert place.now == 0
        assert back.out == ["web/web_0 is down, or has the weight 0"]
        assert place.kept == []


def test_given_a_server_that_is_gone_when_put_back_then_the_others_are_and_the_record_stays(place: Place) -> None:
    place.take_out()
    del place.haproxy.servers[2]

    back = place.put_back()

    assert back.outcome is not None
    assert "no longer has api/web_0" in str(back.outcome.failure)
    assert place.states["web/web_0"] == 0
    assert place.kept == ["haproxy_web_0_" + ONE]


def test_given_an_unknown_server_when_taken_out_then_nothing_is_written(place: Place) -> None:
    with pytest.raises(UnknownServer):
        place.take_out("web_9")

    assert place.kept == []


def test_given_a_haproxy_that_cannot_be_asked_when_put_back_then_the_record_stays(place: Place) -> None:
    place.take_out()

    place.api = RuntimeApi(UnixAddress(place.socket + ".gone"), PATIENCE)
    with pytest.raises(Unreachable):
        place.put_back()

    assert place.kept == ["haproxy_web_0_" + ONE]


def test_given_records_when_listed_then_each_names_its_server_and_its_vm(place: Place) -> None:
    assert list_records(str(place.records), place.socket) == []
    place.take_out("web_0", ONE)
    place.take_out("web_1", "")
    (good,) = place.records.glob("haproxy_web_0_*")
    good.with_name(good.name.replace("web_0", "bad")).write_text("{}")

    # One without an id is of a machine that may still be there.
    assert list_records(str(place.records), place.socket) == [("web_0", "vm of 1")]
    assert list_records(str(place.records), "/another.sock") == []
