# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does haproxy_server do, from start to end?"""

import os
import tempfile
from typing import Any, Callable, Dict, Iterator, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.operations import (
    Outcome,
    UnknownServer,
    carry_out,
    list_servers,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.options import UnixAddress, read_order
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.runtime_api import (
    HaproxyError,
    Refused,
    RuntimeApi,
    Unintelligible,
    Unreachable,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.haproxy.scripted_haproxy import (
    Answer,
    ScriptedHaproxy,
    Server,
)

PATIENCE = 30  # seconds


class Time:
    """A clock that goes on only when somebody sleeps; what is planned for a moment happens then."""

    def __init__(self) -> None:
        self.now = 0.0
        self._plans: List[Any] = []

    def clock(self) -> float:
        return self.now

    def at(self, moment: float, act: Callable[[], None]) -> None:
        self._plans.append((moment, act))

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        for plan in [plan for plan in self._plans if plan[0] <= self.now]:
            self._plans.remove(plan)
            plan[1]()


@pytest.fixture(name="time")
def fixture_time() -> Time:
    return Time()


@pytest.fixture(name="directory")
def fixture_directory() -> Iterator[str]:
    """A directory with a short name: those of pytest make paths that are longer than a socket's may be."""
    with tempfile.TemporaryDirectory() as directory:
        yield directory


@pytest.fixture(name="haproxy")
def fixture_haproxy(directory: str) -> Iterator[ScriptedHaproxy]:
    """Two servers in two backends: web_0 is in both, with different weights."""
    servers = [
        Server("web", "web_0", weight=100),
        Server("web", "web_1"),
        Server("api", "web_0", weight=50),
        Server("api", "other"),
    ]
    path = os.path.join(directory, "admin.sock")
    with ScriptedHaproxy(path, servers) as haproxy:
        yield haproxy


Run = Callable[..., Outcome]


@pytest.fixture(name="run")
def fixture_run(haproxy: ScriptedHaproxy, time: Time) -> Run:
    def run(dry_run: bool = False, master: bool = False, **options: Any) -> Outcome:
        address = UnixAddress(haproxy.path)
        # Attempts of one command take no time of the test's clock: it would be held to `timeout`.
        api = RuntimeApi(address, PATIENCE, sleep=lambda _seconds: None)
        replaced = RuntimeApi(address, PATIENCE, is_master=True, sleep=lambda _seconds: None) if master else None
        order: Dict[str, Any] = dict({"deadline": 60.0}, **options)
        return carry_out(api, replaced, read_order(order), dry_run, time.clock, time.sleep)

    return run


def states(haproxy: ScriptedHaproxy, name: str = "web_0") -> List[Any]:
    return [(server.admin_state, server.weight) for server in haproxy.servers if server.name == name]


@pytest.mark.parametrize(
    ("chosen", "places"),
    [
        ({}, ["web/web_0", "web/web_1", "api/web_0", "api/other"]),
        ({"server": "web_0"}, ["web/web_0", "api/web_0"]),
        ({"backends": ["api"]}, ["api/web_0", "api/other"]),
        ({"server": "nobody"}, []),
        # Names come first: an address is for those that a template has named.
        ({"server": "10.0.0.2"}, ["web/web_1"]),
        ({"server": "10.0.0.1", "backends": ["api"]}, ["api/web_0"]),
    ],
)
def test_given_servers_when_listed_then_those_that_are_meant_are_there(
    haproxy: ScriptedHaproxy, chosen: Dict[str, Any], places: List[str]
) -> None:
    found = list_servers(RuntimeApi(UnixAddress(haproxy.path), PATIENCE), **chosen)

    assert ["%s/%s" % (server.backend, server.server) for server, _is_backup in found] == places


class TestMaintenance:
    def test_given_sessions_at_the_deadline_when_nobody_wants_them_ended_then_it_stays_drained_and_lets_them_end(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").sessions = 1

        outcome = run(server="web_0", backend=["web"], state="maintenance", wait=True)

        assert outcome.timed_out
        assert haproxy.find("web/web_0").admin_state == 8

    def test_given_two_servers_of_a_backend_when_restored_then_both_are(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        names = ("web_0", "web_1")
        outcomes = [run(server=name, backend=["web"], state="maintenance") for name in names]

        run(restore=[dict(record._asdict()) for outcome in outcomes for record in outcome.before])

        assert [haproxy.find("web/" + name).admin_state for name in names] == [0, 0]


class TestAddresses:
    """Servers of a `server-template` have names that nobody knows, and name resolution may give them other
    addresses.
    """

    @pytest.fixture(name="slots")
    def fixture_slots(self, haproxy: ScriptedHaproxy) -> List[Server]:
        slots = [Server("web", "app%d" % number) for number in (1, 2, 3)]
        for slot, address in zip(slots, ("10.0.0.4", "10.0.0.5", "-")):
            slot.address = address
        haproxy.servers = slots
        return slots

    def given_removed(self, run: Run) -> List[Dict[str, Any]]:
        return [dict(record._asdict()) for record in run(server="10.0.0.4", state="maintenance").before]

    def test_given_an_address_when_it_is_taken_out_and_restored_then_only_its_server_is(
        self, slots: List[Server], run: Run
    ) -> None:
        before = self.given_removed(run)
        assert [slot.admin_state for slot in slots] == [1, 0, 0]
        assert [(record["server"], record["address"]) for record in before] == [("app1", "10.0.0.4")]

        assert run(restore=before).warnings == []
        assert [slot.admin_state for slot in slots] == [0, 0, 0]

    @pytest.mark.usefixtures("slots")
    def test_given_an_address_that_no_server_has_when_it_is_taken_out_then_the_error_names_those_that_there_are(
        self, run: Run
    ) -> None:
        expected = r"no server '10.0.0.6' in any backend. It has app1 at 10.0.0.4, .* app3 at no address$"
        with pytest.raises(UnknownServer, match=expected):
            run(server="10.0.0.6", state="drain")

    def test_given_two_servers_at_the_address_when_it_is_taken_out_then_it_fails_and_nothing_changes(
        self, haproxy: ScriptedHaproxy, slots: List[Server], run: Run
    ) -> None:
        slots[1].address = "10.0.0.4"

        with pytest.raises(UnknownServer, match=r"^server: 10.0.0.4 is the address of app1 and app2 in backend web"):
            run(server="10.0.0.4", state="drain")

        assert haproxy.changes == []

    def test_given_a_name_that_has_got_the_address_of_another_machine_when_restored_then_only_the_machine_itself_is(
        self, slots: List[Server], run: Run
    ) -> None:
        before = self.given_removed(run)
        slots[0].address, slots[2].address = "10.0.0.6", "10.0.0.4"
        slots[2].admin_state = 1

        outcome = run(restore=before)

        assert [slot.admin_state for slot in slots] == [1, 0, 0]
        assert "web/app1 stays in maintenance: it was at 10.0.0.4 when it was taken out, and is" in outcome.warnings[0]
        assert outcome.failure is None

    def test_given_an_address_that_haproxy_does_not_have_any_more_when_restored_then_it_fails_and_nobody_else_comes_in(
        self, slots: List[Server], run: Run
    ) -> None:
        before = self.given_removed(run)
        slots[0].address = "10.0.0.6"

        outcome = run(restore=before)

        assert slots[0].admin_state == 1
        assert "no longer has web/app1 at 10.0.0.4. It has" in str(outcome.failure)

    @pytest.mark.parametrize("now", ["-", "10.0.0.4"])
    def test_given_a_server_that_has_lost_its_address_when_restored_then_it_does_not_stay_out_for_its_next_machine(
        self, slots: List[Server], run: Run, now: str
    ) -> None:
        before = self.given_removed(run)
        slots[0].address, slots[2].address = "-", now

        outcome = run(restore=before)

        assert [slot.admin_state for slot in slots] == [0, 0, 0]
        assert outcome.failure is None

    def test_given_an_address_that_moves_during_the_wait_then_it_fails_and_the_sessions_of_others_go_on(
        self, haproxy: ScriptedHaproxy, slots: List[Server], run: Run, time: Time
    ) -> None:
        slots[0].sessions = 1
        time.at(3, lambda: setattr(slots[0], "address", "10.0.0.6"))

        outcome = run(server="10.0.0.4", state="drain", wait=True, shutdown_sessions=True)

        assert "no longer has web/app1 at 10.0.0.4: its configuration was changed" in str(outcome.failure)
        assert haproxy.changes == ["set server web/app1 state drain"]

    def test_given_a_server_that_loses_its_address_during_the_wait_then_its_sessions_are_waited_for(
        self, slots: List[Server], run: Run, time: Time
    ) -> None:
        slots[0].sessions = 1
        time.at(3, lambda: setattr(slots[0], "address", "-"))
        time.at(9, lambda: setattr(slots[0], "sessions", 0))

        outcome = run(server="10.0.0.4", state="drain", wait=True)

        assert outcome.failure is None
        assert outcome.waited >= 9

    @pytest.mark.parametrize("order", [1, -1])
    def test_given_records_by_name_and_by_address_of_one_server_when_restored_then_the_first_removal_is_undone(
        self, slots: List[Server], run: Run, order: int
    ) -> None:
        by_address = self.given_removed(run)
        by_name = [dict(record._asdict()) for record in run(server="app1", state="maintenance").before]

        outcome = run(restore=(by_address + by_name)[::order])

        assert (slots[0].admin_state, outcome.failure) == (0, None)


class TestOtherNames:
    @pytest.mark.parametrize("state", ["drain", "maintenance"])
    def test_given_the_same_machine_under_another_name_when_it_is_taken_out_then_the_outcome_warns_of_it(
        self, haproxy: ScriptedHaproxy, run: Run, state: str
    ) -> None:
        for place in ("web/web_0", "api/web_0", "api/other"):
            haproxy.find(place).address = "10.1.0.7"

        (warning,) = run(server="web_0", state=state).warnings

        assert "the same machine is in rotation under another name: api/other at 10.1.0.7. Take that out" in warning
        assert haproxy.find("api/other").admin_state == 0

    def test_given_that_it_is_out_under_that_name_too_or_that_backends_are_named_then_nobody_is_warned(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        for place in ("web/web_0", "api/web_0", "api/other"):
            haproxy.find(place).address = "10.1.0.7"

        assert run(server="web_0", backend=["web", "api"], state="drain").warnings == []
        haproxy.find("api/other").admin_state = 8
        assert run(server="web_0", state="drain").warnings == []

    @pytest.mark.parametrize("address", ["-", "0.0.0.0", "::"])
    def test_given_servers_whose_names_do_not_resolve_then_they_are_not_taken_for_one_machine(
        self, haproxy: ScriptedHaproxy, run: Run, address: str
    ) -> None:
        for server in haproxy.servers:
            server.address = address

        assert run(server="web_0", state="drain").warnings == []


class TestReading:
    def test_given_only_a_name_when_it_runs_then_nothing_changes_and_every_backend_is_reported(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("api/web_0").admin_state = 8
        haproxy.find("api/web_0").sessions = 3

        outcome = run(server="web_0")

        assert (outcome.changed, haproxy.changes) == (False, [])
        assert [(record.backend, record.state) for record in outcome.before] == [("web", "ready"), ("api", "drain")]
        assert [seen.sessions for seen in outcome.servers] == [0, 3]

    def test_given_a_backend_when_it_runs_then_no_other_is_checked(self, run: Run) -> None:
        assert [record.backend for record in run(server="web_0", backend=["api"]).before] == ["api"]

    def test_given_an_unknown_server_when_it_runs_then_the_existing_ones_are_named_the_most_similar_first(
        self, run: Run
    ) -> None:
        with pytest.raises(UnknownServer, match=r"no server 'wbe_1' in any backend. It has web_1, web_0, other$"):
            run(server="wbe_1")

    def test_given_an_unknown_backend_when_it_runs_then_the_existing_ones_are_named(self, run: Run) -> None:
        with pytest.raises(UnknownServer, match=r"no backend 'wed'. It has web, api$"):
            run(server="web_0", backend=["web", "wed"], state="drain")

    def test_given_a_server_that_is_not_in_each_backend_when_it_runs_then_nothing_changes(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        with pytest.raises(UnknownServer, match=r"no server 'web_1' in backend 'api'. It has web_0, other$"):
            run(server="web_1", backend=["web", "api"], state="drain")

        assert haproxy.changes == []

    def test_given_a_thousand_servers_when_one_is_unknown_then_only_a_few_are_named(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.servers = [Server("web", "web_%04d" % number) for number in range(1000)]

        with pytest.raises(UnknownServer, match=r"and 980 more$"):
            run(server="web_1000")

    def test_given_several_processes_behind_one_socket_when_it_runs_then_it_refuses(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.processes = 4
        haproxy.answers["show cli sockets"] = "# socket lvl processes\nunix@/run/admin.sock admin all\n"

        with pytest.raises(HaproxyError, match=r"runs 4 processes.*unix@/run/admin.sock. Nothing was changed"):
            run(server="web_0", state="drain")

        assert haproxy.changes == []

    def test_given_a_socket_for_each_process_when_it_runs_then_it_warns_of_the_others(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.processes = 2
        haproxy.answers["show cli sockets"] = "# socket lvl processes\nunix@/run/1.sock admin 1\n"

        (warning,) = run(server="web_0", state="drain").warnings

        assert "runs 2 processes" in warning
        assert states(haproxy) == [(8, 100), (8, 50)]

    def test_given_more_servers_than_a_few_when_it_runs_then_one_table_holds_all_sessions(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.servers = [Server("shop_%02d" % number, "web_0", sessions=number) for number in range(12)]

        outcome = run(server="web_0")

        assert [seen.sessions for seen in outcome.servers] == list(range(12))
        assert [command for command in haproxy.commands if "stat " in command] == ["show stat -1 4 -1"]


class TestSetting:
    @pytest.mark.parametrize(("state", "bit"), [("drain", 8), ("maintenance", 1)])
    def test_given_a_state_when_it_is_set_twice_then_the_second_run_changes_nothing(
        self, haproxy: ScriptedHaproxy, run: Run, state: str, bit: int
    ) -> None:
        assert run(server="web_0", state=state).changed is True
        told = list(haproxy.changes)

        assert run(server="web_0", state=state).changed is False
        assert haproxy.changes == told
        assert states(haproxy) == [(bit, 100), (bit, 50)]

    def test_given_a_busy_server_when_it_is_drained_again_then_its_sessions_do_not_make_it_changed(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        run(server="web_0", state="drain")
        haproxy.find("web/web_0").sessions = 9

        assert run(server="web_0", state="drain").changed is False

    def test_given_a_server_that_its_check_calls_down_when_it_is_drained_then_the_bits_count(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").operational_state = 0

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, states(haproxy)[0]) == (None, (8, 100))
        assert outcome.servers[0].found.operational_state == 0

    def test_given_check_mode_when_it_runs_then_it_predicts_and_neither_sets_nor_waits(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1

        outcome = run(server="web_0", backend=["web"], state="drain", wait=True, dry_run=True)

        assert (outcome.changed, outcome.commands) == (True, ["set server web/web_0 state drain"])
        assert (haproxy.changes, time.now) == ([], 0)

    def test_given_check_mode_and_a_socket_that_may_only_read_when_a_change_is_due_then_it_fails_as_it_would(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.level = "operator"

        with pytest.raises(Refused, match=r"level admin"):
            run(server="web_0", state="drain", dry_run=True)

        assert run(server="web_0", state="ready", dry_run=True).changed is False

    def test_given_check_mode_and_a_haproxy_that_does_not_show_its_level_when_it_runs_then_it_predicts(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["show cli level"] = "Unknown command. Please enter one of the following commands only :\n"

        assert run(server="web_0", state="drain", dry_run=True).changed is True

    def test_given_a_second_backend_that_refuses_when_it_is_drained_then_the_failure_holds_what_to_restore(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["set server api/web_0 state drain"] = "Out of luck.\n"

        outcome = run(server="web_0", state="drain")

        assert "refused 'set server api/web_0 state drain': Out of luck." in str(outcome.failure)
        assert outcome.changed is True
        assert [record.state for record in outcome.before] == ["ready", "ready"]
        assert [(seen.found.backend, seen.found.state) for seen in outcome.servers] == [
            ("web", "drain"),
            ("api", "ready"),
        ]

    def test_given_a_first_answer_that_is_lost_when_it_is_drained_then_the_failure_holds_what_to_restore(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["set server web/web_0 state drain"] = Answer(b"")

        outcome = run(server="web_0", state="drain")

        assert "did not answer 'set server web/web_0 state drain'" in str(outcome.failure)
        assert [record.state for record in outcome.before] == ["ready", "ready"]

    def test_given_a_first_backend_that_refuses_when_it_is_drained_then_nothing_was_changed(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["set server web/web_0 state drain"] = "Out of luck.\n"

        with pytest.raises(Refused):
            run(server="web_0", state="drain")

        assert states(haproxy) == [(0, 100), (0, 50)]

    def test_given_a_state_that_does_not_stay_when_it_is_set_then_it_fails_after_a_few_rounds(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["set server web/web_0 state drain"] = ""

        outcome = run(server="web_0", backend=["web"], state="drain")

        assert "but the state did not change" in str(outcome.failure)

    def test_given_a_server_that_tracks_one_in_maintenance_when_it_is_set_to_ready_then_it_warns(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_1").admin_state = 2

        outcome = run(server="web_1", state="ready")

        assert outcome.changed is False
        assert "web/web_1 is set to ready, but in maintenance" in outcome.warnings[0]

    def test_given_maintenance_when_it_is_to_be_kept_then_drain_leaves_it(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").admin_state = 1

        run(server="web_0", state="drain", keep_maintenance=True, wait=True)

        assert states(haproxy) == [(1, 100), (8, 50)]


class TestWaiting:
    def test_given_sessions_and_a_queue_when_they_end_then_it_is_over_and_not_before(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 2
        haproxy.find("api/web_0").queued = 1
        time.at(5, lambda: setattr(haproxy.find("web/web_0"), "sessions", 0))
        time.at(9, lambda: setattr(haproxy.find("api/web_0"), "queued", 0))

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, outcome.sessions_shut_down) == (None, 0)
        assert 9 <= outcome.waited < 10

    def test_given_sessions_that_end_just_at_the_deadline_when_it_waits_then_the_last_poll_counts(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        time.at(60, lambda: setattr(haproxy.find("web/web_0"), "sessions", 0))

        assert run(server="web_0", state="drain", wait=True).failure is None

    def test_given_sessions_that_continue_when_the_deadline_comes_then_it_fails_and_the_server_stays_out(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 2

        outcome = run(server="web_0", state="drain", wait=True)

        assert outcome.timed_out is True
        assert "at the deadline of 60 s web/web_0 has 2 sessions and 0 in its queue" in str(outcome.failure)
        assert time.now == 60
        assert states(haproxy) == [(8, 100), (8, 50)]
        assert [record.state for record in outcome.before] == ["ready", "ready"]

    def test_given_sessions_that_continue_when_they_are_to_be_ended_then_they_are_at_the_deadline(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 2

        outcome = run(server="web_0", state="drain", wait=True, shutdown_sessions=True)

        assert (outcome.failure, outcome.sessions_shut_down) == (None, 2)
        assert haproxy.changes[-1] == "shutdown sessions server web/web_0"
        assert 60 <= time.now < 61

    def test_given_sessions_that_come_back_when_they_are_ended_then_it_fails_and_says_what_helps(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").sessions = 2
        haproxy.answers["shutdown sessions server web/web_0"] = ""

        outcome = run(server="web_0", state="drain", wait=True, shutdown_sessions=True)

        assert "clients with a persistent session: set state to maintenance" in str(outcome.failure)

    def test_given_maintenance_when_it_waits_then_it_drains_first(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        seen: List[Any] = []
        time.at(3, lambda: seen.append(states(haproxy)))
        time.at(5, lambda: setattr(haproxy.find("web/web_0"), "sessions", 0))

        outcome = run(server="web_0", state="maintenance", wait=True)

        assert outcome.failure is None
        assert seen == [[(8, 100), (8, 50)]]
        assert states(haproxy) == [(1, 100), (1, 50)]

    def test_given_maintenance_when_sessions_are_ended_then_nobody_can_come_back_before(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").sessions = 1

        run(server="web_0", backend=["web"], state="maintenance", wait=True, shutdown_sessions=True)

        assert haproxy.changes == [
            "set server web/web_0 state drain",
            "set server web/web_0 state maint",
            "shutdown sessions server web/web_0",
        ]

    def test_given_maintenance_already_when_it_waits_then_it_does_not_drain_it(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        run(server="web_0", state="maintenance")
        told = list(haproxy.changes)

        assert run(server="web_0", state="maintenance", wait=True).changed is False
        assert haproxy.changes == told

    @pytest.mark.parametrize("in_a_container", [False, True])
    def test_given_a_reload_in_the_middle_when_it_waits_then_it_sets_the_state_again_and_says_so(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time, in_a_container: bool
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        time.at(4, lambda: haproxy.reload(in_a_container))
        time.at(9, lambda: setattr(haproxy.find("web/web_0"), "sessions", 0))

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, outcome.reloads, outcome.set_again) == (None, 1, 1)
        assert states(haproxy) == [(8, 100), (8, 50)]
        assert "was reloaded or restarted, and lost it" in outcome.warnings[0]
        assert "The previous process may still have sessions" in outcome.warnings[1]

    def test_given_a_reload_as_the_last_session_ends_when_it_waits_then_it_is_not_over_while_in_rotation(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        time.at(0.05, haproxy.reload)

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.set_again, states(haproxy)) == (1, [(8, 100), (8, 50)])

    def test_given_a_reload_just_after_it_was_drained_when_it_is_set_again_then_that_is_reported(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        reloads = iter([haproxy.reload])

        def reload_once(command: str) -> None:
            if command == "show info" and haproxy.changes:
                next(reloads, lambda: None)()

        haproxy.before = reload_once

        outcome = run(server="web_0", state="drain")

        assert (outcome.failure, outcome.reloads, outcome.set_again) == (None, 1, 1)
        assert "was reloaded or restarted, and lost it" in outcome.warnings[0]

    def test_given_sessions_in_a_replaced_process_when_the_master_lists_them_then_it_waits_for_them(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.old_workers = {99: [Server("web", "web_0", sessions=1), Server("web", "web_1", sessions=5)]}
        time.at(7, haproxy.old_workers.clear)

        outcome = run(server="web_0", state="drain", wait=True, master=True)

        assert outcome.failure is None
        assert 7 <= outcome.waited < 8

    def test_given_sessions_in_a_process_that_was_replaced_when_the_deadline_comes_then_they_are_named(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.old_workers = {99: [Server("web", "web_0", sessions=1)]}

        outcome = run(server="web_0", state="drain", wait=True, shutdown_sessions=True, master=True)

        assert "web/web_0 has 1 sessions in processes that were replaced" in str(outcome.failure)
        assert outcome.servers[0].sessions_of_old_processes == 1

    def test_given_a_process_that_ends_between_two_questions_when_it_is_asked_then_it_has_no_sessions(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.old_workers = {99: [Server("web", "web_0", sessions=1)]}
        haproxy.before = lambda command: haproxy.old_workers.clear() if command.startswith("@!") else None

        assert run(server="web_0", master=True).failure is None

    def test_given_a_socket_that_is_not_the_masters_when_it_runs_then_nothing_changes(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["show proc"] = "Unknown command\n"

        with pytest.raises(Unintelligible, match=r"the socket of HAProxy's master .* set master_socket to"):
            run(server="web_0", state="drain", master=True)

        assert haproxy.changes == []

    def test_given_an_agent_that_says_ready_when_it_waits_then_it_is_set_again_each_time_and_reported_once(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        server = haproxy.find("web/web_0")
        server.agent_state = 6
        server.sessions = 1
        for moment in (2, 4):
            time.at(moment, lambda: setattr(server, "admin_state", 0))
        time.at(6, lambda: setattr(server, "sessions", 0))

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, outcome.set_again) == (None, 2)
        (warning,) = outcome.warnings
        assert "the agent check of web/web_0 answered `ready`" in warning

    def test_given_an_operator_who_sets_maintenance_when_it_waits_then_maintenance_stays(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        server = haproxy.find("web/web_0")
        server.sessions = 1
        time.at(2, lambda: setattr(server, "admin_state", 1))
        time.at(6, lambda: setattr(server, "sessions", 0))

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, states(haproxy)) == (None, [(1, 100), (8, 50)])
        assert outcome.warnings == ["web/web_0 was put in maintenance meanwhile, and stays there"]

    def test_given_a_haproxy_that_is_started_again_when_it_waits_then_its_silence_is_borne(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1

        def stop() -> None:
            haproxy.answers["show info"] = Answer(b"")

        def start() -> None:
            haproxy.answers.clear()
            haproxy.reload()
            haproxy.find("web/web_0").sessions = 0

        time.at(3, stop)
        time.at(8, start)

        outcome = run(server="web_0", state="drain", wait=True)

        assert (outcome.failure, outcome.reloads, states(haproxy)) == (None, 1, [(8, 100), (8, 50)])

    def test_given_a_haproxy_that_stays_silent_when_the_deadline_comes_then_it_fails_with_what_to_restore(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        time.at(3, lambda: haproxy.answers.update({"show info": Answer(b"")}))

        outcome = run(server="web_0", state="drain", wait=True)

        assert "did not answer 'show info'" in str(outcome.failure)
        assert [record.state for record in outcome.before] == ["ready", "ready"]
        assert outcome.waited == 60

    def test_given_a_server_that_a_reload_takes_away_when_it_waits_then_it_fails_and_says_which(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        time.at(3, lambda: haproxy.servers.remove(haproxy.find("api/web_0")))

        outcome = run(server="web_0", state="drain", wait=True)

        assert "no longer has api/web_0" in str(outcome.failure)
        assert outcome.timed_out is False

    def test_given_a_backend_that_a_reload_takes_away_when_it_waits_then_it_fails_and_says_which(
        self, haproxy: ScriptedHaproxy, run: Run, time: Time
    ) -> None:
        haproxy.find("web/web_0").sessions = 1
        time.at(3, haproxy.servers.clear)

        outcome = run(server="web_0", backend=["web"], state="drain", wait=True)

        assert "no longer has web/web_0: its configuration was changed" in str(outcome.failure)

    def test_given_a_reload_that_renumbers_backends_when_it_polls_then_nobody_elses_sessions_count(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").sessions = 0
        renumbered: List[int] = []

        def renumber(command: str) -> None:
            if command.startswith("show stat") and not renumbered:
                renumbered.append(1)
                haproxy.servers.insert(0, Server("aaa", "busy", sessions=9))

        haproxy.before = renumber

        assert [seen.sessions for seen in run(server="web_0", backend=["web"]).servers] == [0]

    def test_given_a_table_that_never_has_the_server_when_it_polls_then_it_says_so(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.answers["show stat 4 4 1"] = "# pxname,svname,scur,qcur,type\n"

        with pytest.raises(Unintelligible, match=r"does not report the sessions of web/web_0"):
            run(server="web_0", backend=["web"])


class TestRestoring:
    def given_removed(self, run: Run) -> List[Dict[str, Any]]:
        return [dict(record._asdict()) for record in run(server="web_0", state="maintenance").before]

    def test_given_a_record_when_it_is_restored_twice_then_the_state_is_as_before_and_the_second_run_changes_nothing(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("api/web_0").admin_state = 8
        before = self.given_removed(run)

        assert run(restore=before).changed is True
        assert states(haproxy) == [(0, 100), (8, 50)]
        assert run(restore=before).changed is False

    def test_given_a_weight_that_a_reload_has_forgotten_when_it_is_restored_then_it_is_set_again(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        haproxy.find("web/web_0").weight = 7
        before = self.given_removed(run)
        haproxy.reload()

        outcome = run(restore=before)

        assert outcome.commands == ["set server web/web_0 weight 7"]
        assert states(haproxy) == [(0, 7), (0, 50)]

    def test_given_a_weight_that_haproxy_refuses_by_now_when_it_is_restored_then_it_is_in_rotation_with_its_present_one(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        before = self.given_removed(run)
        haproxy.find("web/web_0").weight = 20
        haproxy.answers["set server web/web_0 weight 100"] = "Backend is using a static LB algorithm.\n"

        outcome = run(restore=before)

        assert (outcome.failure, states(haproxy)) == (None, [(0, 20), (0, 50)])
        assert "refused 'set server web/web_0 weight 100': Backend is using" in outcome.warnings[0]

    def test_given_a_socket_without_the_right_when_only_a_weight_is_restored_then_it_fails(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        before = self.given_removed(run)
        haproxy.reload()
        haproxy.find("web/web_0").weight = 20
        haproxy.level = "operator"

        with pytest.raises(Refused, match="level admin"):
            run(restore=before)

    def test_given_a_server_that_is_gone_when_the_others_are_restored_then_it_fails_after_that(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        before = self.given_removed(run)
        haproxy.servers.remove(haproxy.find("web/web_0"))

        outcome = run(restore=before)

        assert "no longer has web/web_0. It has web/web_1, api/web_0, api/other" in str(outcome.failure)
        assert states(haproxy) == [(0, 50)]

    def test_given_a_server_that_is_disabled_in_the_configuration_since_when_it_is_restored_then_it_is_left(
        self, haproxy: ScriptedHaproxy, run: Run
    ) -> None:
        before = self.given_removed(run)
        haproxy.find("web/web_0").admin_state = 5

        outcome = run(restore=before)

        assert states(haproxy) == [(5, 100), (0, 50)]
        assert "web/web_0 stays in maintenance" in outcome.warnings[0]

    def test_given_nothing_to_restore_when_it_runs_then_nothing_changes(self, run: Run) -> None:
        outcome = run(restore=[])

        assert (outcome.changed, outcome.before, outcome.servers, outcome.failure) == (False, [], [], None)

    def test_given_check_mode_when_it_restores_then_it_only_says_what(self, haproxy: ScriptedHaproxy, run: Run) -> None:
        before = self.given_removed(run)
        told = list(haproxy.changes)

        outcome = run(restore=before, dry_run=True)

        assert outcome.commands == ["set server web/web_0 state ready", "set server api/web_0 state ready"]
        assert haproxy.changes == told


def test_given_a_haproxy_that_does_not_answer_when_it_is_asked_first_then_nothing_is_waited_for(
    haproxy: ScriptedHaproxy, run: Run, time: Time
) -> None:
    haproxy.answers["show info"] = Answer(b"")

    with pytest.raises(Unreachable):
        run(server="web_0", state="drain", wait=True)

    assert time.now == 0
