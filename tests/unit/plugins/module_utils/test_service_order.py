# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services are stopped in order within the time that is left, and started again in the reverse order."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.service_order import (
    Stretch,
    World,
    filled,
    share,
    start,
    stop,
    unhealthy,
)

FIRST = Stretch(())


def service(name: str, **more: Any) -> dict[str, Any]:
    return {**filled({"name": name}), "stop": ["stop", name], "reserve": 0.0, "on_failure": "fail", **more}


class Machine:
    """Runs commands, which take their time; those that are named fail, or are not over in time."""

    def __init__(self, *failing: str, takes: float = 0.0) -> None:
        self.failing = failing
        self.takes = takes
        self.now = 100.0
        self.ran: list[str] = []
        self.status = 200
        self.settles_after = 0.0
        """Seconds after its stop or start for which a service is as before."""
        self.acted_at = 0.0
        self.is_up = True
        self.said = ""

    def run(self, command: list[str]) -> tuple[int, str, str]:
        assert command[:3] == ["timeout", "-k", "1"]
        is_up = self.is_up is (self.now >= self.acted_at + self.settles_after)
        if "status" in command:
            return (0 if is_up else 3), "", ""
        if "show" in command:
            return 0, f"LoadState=loaded\nActiveState={'active' if is_up else 'inactive'}\n", ""
        self.ran.append(" ".join(command[3:]))
        self.now += self.takes
        self.is_up, self.acted_at = "stop" not in command, self.now
        name = command[-1]
        return (124, "", "") if name == "slow" else (7, "said", "no\n") if name in self.failing else (0, "", self.said)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    @property
    def world(self) -> World:
        return World(self.run, lambda _url, _timeout: self.status, lambda: self.now, self.sleep)


Times = list[tuple[float, float]]
"""Of each service, its timeout and its reserve."""


def limit(times: Times, left: float, number: int = 0) -> int:
    return share([{"timeout": timeout, "reserve": reserve} for timeout, reserve in times[number:]], left)


@pytest.mark.parametrize(
    ("times", "left", "expected"),
    [
        ([(90, 0)], float("inf"), 90),
        ([(90, 0), (30, 0)], 120, 90),
        ([(90, 0), (30, 0)], 60, 45),
        ([(600, 0), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 65, 5),
        ([(600, 10), (60, 60)], 60, 0),
        ([(60, 60)], 45, 45),
        ([(60, 60)], 60, 60),
        ([(60, 0)], -1, 0),
    ],
)
def test_given_time_when_a_service_stops_then_it_leaves_what_is_reserved_and_the_shares_of_the_others(
    times: Times, left: float, expected: float
) -> None:
    assert limit(times, left) == expected


@pytest.mark.parametrize("seed", range(25))
def test_given_services_that_use_up_their_time_when_they_stop_then_all_have_stopped_by_the_deadline(seed: int) -> None:
    chance = random.Random(seed)
    times = [(timeout, timeout * chance.random()) for timeout in (chance.uniform(1, 900) for _ in range(4))]
    left = chance.uniform(-10, 4000)
    used = 0
    for number, (timeout, _reserve) in enumerate(times):
        seconds = limit(times, left - used, number)
        assert 0 <= seconds <= timeout
        used += seconds

    assert used <= max(0.0, left)


@pytest.mark.parametrize("seed", range(25))
def test_given_a_reserve_that_fits_when_those_before_use_all_their_time_then_the_last_has_it(seed: int) -> None:
    chance = random.Random(seed)
    reserve = chance.randint(1, 900)
    times: Times = [(chance.uniform(1, 900), 0), (900, reserve)]
    left = reserve + chance.uniform(0, 900)

    assert limit(times, left - limit(times, left), 1) >= reserve


def test_given_services_when_stopped_then_one_after_the_other_by_its_command_or_as_a_unit() -> None:
    machine = Machine()

    done = stop([service("web", stop=[]), service("app")], FIRST, "", 300, machine.world)

    assert machine.ran == ["90 systemctl stop -- web", "90 stop app"]
    assert done == Stretch((), tried=True)


def test_given_a_stop_of_which_systemd_warns_when_stopped_then_the_warning_is_returned_over_all_stretches() -> None:
    machine = Machine()
    machine.said = "Stopping 'web.service', but its triggering units are still active:\nweb.socket\n"
    services = [service("web", stop=[]), service("db", stop_tasks="/x.yml"), service("app")]

    first = stop(services, FIRST, "", 300, machine.world)
    done = stop(services, first, "", 300, machine.world)

    assert done.warnings == ("web: Stopping 'web.service', but its triggering units are still active: web.socket",)


@pytest.mark.parametrize(
    ("settles_after", "why"), [(40, ""), (70, "Wait until the service is down: the check did not")]
)
@pytest.mark.parametrize(
    ("status", "is_by_tasks"),
    [(["web", "status"], False), (["web", "status"], True), ([], False)],
    ids=["a command", "tasks", "a command, and the state of systemd"],
)
def test_given_a_stop_that_returns_before_its_effect_then_the_status_is_repeated_within_the_share_of_the_time(
    settles_after: float, why: str, status: list[str], is_by_tasks: bool
) -> None:
    machine = Machine(takes=1)
    machine.settles_after = settles_after
    web = service("web", timeout=60, status=status, stop_tasks="/x.yml" if is_by_tasks else "")
    before = FIRST
    if is_by_tasks:
        before = stop([web], FIRST, "", 300, machine.world)
        machine.is_up, machine.acted_at = False, machine.now

    done = stop([web], before, "", 300, machine.world)

    assert [text.startswith("web (" + why) for text in done.failures] == [True] * bool(why)
    assert machine.now < 100 + 60 + 3


def test_given_a_status_that_fails_after_the_stop_then_the_others_stop_all_the_same() -> None:
    machine = Machine("broken")

    done = stop([service("web", timeout=3, status=["broken"]), service("app")], FIRST, "", 300, machine.world)

    assert machine.ran[0] == "3 stop web"
    assert machine.ran[-1] == "90 stop app"
    assert "web: broken ended with exit status 7" in done.failures[0]


def test_given_check_mode_when_stopped_or_started_then_no_state_is_awaited() -> None:
    machine = Machine()
    world = machine.world._replace(is_dry=True)
    web = service("web", status=["web", "status"])

    assert stop([web], FIRST, "", 300, world).failures == ()
    assert start([web], {}, FIRST, "", world).failures == ()
    assert machine.now == 100


@pytest.mark.parametrize(("settles_after", "is_up"), [(40, True), (70, False)])
def test_given_a_start_that_returns_before_its_effect_then_the_status_is_repeated_within_its_time(
    settles_after: float, is_up: bool
) -> None:
    machine = Machine(takes=1)
    machine.settles_after = settles_after

    done = start([service("web", timeout=60, start=["go"], status=["status"])], {}, FIRST, "", machine.world)

    assert bool(done.failures) is not is_up
    assert machine.now < 100 + 60 + 3


def test_given_failures_when_stopped_then_the_others_stop_anyway_and_each_is_named_with_its_reason() -> None:
    machine = Machine("app", "toy")

    done = stop(
        [service("slow"), service("app"), service("toy", on_failure="ignore"), service("db")],
        FIRST,
        "",
        300,
        machine.world,
    )

    assert len(machine.ran) == 4
    assert done.failures == ("slow (out of time)", "app (exit status 7: no)")
    assert done.ignored == ("toy (exit status 7: no)",)


def test_given_a_service_that_must_not_fail_when_it_fails_then_later_services_keep_running() -> None:
    machine = Machine("writer")

    done = stop([service("writer", on_failure="abort"), service("db")], FIRST, "", 300, machine.world)

    assert machine.ran == ["90 stop writer"]
    assert done.aborted == "writer"


def test_given_no_time_when_stopped_then_nothing_is_run_and_what_takes_long_leaves_none_to_the_others() -> None:
    late = Machine()
    assert stop([service("web")], FIRST, "", 0, late.world).failures == ("web (no time was left)",)
    assert late.ran == []

    slow = Machine(takes=60)
    done = stop([service("web", timeout=60), service("app")], FIRST, "", 61, slow.world)
    assert slow.ran == ["24 stop web"]
    assert done.failures == ("app (no time was left)",)


def test_given_a_service_for_tasks_when_stopped_then_the_stretch_ends_there_and_the_next_continues_after_it() -> None:
    machine = Machine("web")
    services = [service("web"), service("db", stop_tasks="/x.yml", timeout=30), service("disk")]

    first = stop(services, FIRST, "", 300, machine.world)
    assert (first.next, first.seconds, first.failures) == ("db", 30, ("web (exit status 7: no)",))
    assert machine.ran == ["90 stop web"]

    second = stop(services, first, "Switch over: no", 300, machine.world)
    assert second.failures == ("web (exit status 7: no)", "db (Switch over: no)")
    assert machine.ran[1:] == ["90 stop disk"]


def test_given_an_unknown_service_to_continue_from_then_nothing_is_run_and_it_fails() -> None:
    machine = Machine()
    lost = Stretch((), next="dbb")

    assert stop([service("db")], lost, "", 300, machine.world).failures == (
        "dbb (it is no longer one of the services)",
    )
    assert start([service("db")], {}, lost, "", machine.world).failures == (
        "dbb (it is no longer one of the services)",
    )
    assert machine.ran == []


def test_given_what_was_stopped_when_started_then_what_does_not_run_yet_and_failures_are_named() -> None:
    machine = Machine("app")

    done = start(
        [service("db"), service("app"), service("web", start=["go"])], {"db": "running"}, FIRST, "", machine.world
    )

    assert machine.ran == ["90 systemctl start -- app", "90 go"]
    assert done.failures == ("app (Start the service: exit status 7: no)",)


def test_given_a_unit_that_systemd_starts_when_started_then_systemctl_waits_for_that() -> None:
    machine = Machine()
    services = [service("web", start=["go"]), service("db", start_tasks="/x.yml")]

    done = start(services, {"web": "starting", "db": "starting"}, FIRST, "", machine.world)

    assert (done.next, done.failures) == ("", ())
    assert machine.ran == ["90 systemctl start -- web", "90 systemctl start -- db"]


def test_given_a_unit_whose_stop_has_not_ended_when_started_then_its_own_start_is_run() -> None:
    machine = Machine()
    services = [service("web", start=["go"]), service("app"), service("db", start_tasks="/x.yml")]

    done = start(services, dict.fromkeys(("web", "app", "db"), "stopping"), FIRST, "", machine.world)

    assert machine.ran == ["90 go", "90 systemctl start -- app"]
    assert done.next == "db"


def test_given_a_service_for_tasks_when_started_then_its_health_is_checked_after_they_have_run() -> None:
    machine = Machine("check")
    healthy = filled({"healthy": {"command": ["check"], "within": 3.0}})["healthy"]
    services = [service("db", start_tasks="/x.yml", healthy=healthy), service("web")]

    first = start(services, {}, FIRST, "", machine.world)
    assert (first.next, machine.ran) == ("db", [])

    done = start(services, {}, first, "", machine.world)
    assert done.failures == (
        "db (Wait until the service's own check succeeds: the check did not succeed within 3 s: exit status 7: no)",
    )
    assert machine.ran == ["10 check"] * 4 + ["90 systemctl start -- web"]


def test_given_an_address_that_answers_something_else_then_that_is_reported_when_the_time_is_up() -> None:
    machine = Machine()
    machine.status = 503
    healthy = filled({"healthy": {"url": "http://x", "within": 2.0}})["healthy"]

    assert (
        unhealthy(healthy, machine.world)
        == "Wait until the service answers with 200: the check did not succeed within 2 s: it answers with 503"
    )
    machine.status = 200
    assert unhealthy(healthy, machine.world) == ""


def test_given_a_port_that_nobody_listens_on_then_that_is_reported() -> None:
    healthy = filled({"healthy": {"port": 1, "within": 1.0}})["healthy"]

    assert "Wait until the service accepts connections: the check did not succeed within 1 s" in unhealthy(
        healthy, Machine().world
    )
