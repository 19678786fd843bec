# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The traps that other handlers of Scheduled Events fell into, each with a test that falls into it no more.

Runs on Python 3.6 and later.
"""

import time
from typing import Any, Dict, Generator, List, Optional, Tuple

import pytest
from edge_helpers import EVENTS, MetadataService
from foghorn_agent.config import Config, Imds
from foghorn_agent.io.clock import Clocks
from foghorn_agent.io.imds_session import ImdsSession
from foghorn_core.scheduled_events.client import DEFAULT_TIMEOUT
from foghorn_core.scheduled_events.errors import DocumentError
from rehearsal import POLICY, UNAPPROVED, VM_NAME, Life, Rehearsal


@pytest.fixture
def service() -> Generator[MetadataService, None, None]:
    with MetadataService() as one:
        yield one


def session_of(service: MetadataService, imds: Optional[Dict[str, Any]] = None) -> ImdsSession:
    clocks = Clocks(time.monotonic, time.time)
    return ImdsSession(Config(imds=Imds(endpoint=service.url, **(imds or {}))), clocks)


def begun(rehearsal: Rehearsal, event_id: str) -> List[str]:
    return [
        record["name"]
        for record in rehearsal.history
        if record["kind"] == "step_begun" and record["event_id"] == event_id and record["stage"] != "restore"
    ]


# --- 1. approving after a failed drain, the wrong event, at every poll, never again after a failed approval ---------


def test_trap_1_given_two_events_when_one_is_ready_then_that_one_is_approved_and_not_the_other() -> None:
    rehearsal = Rehearsal(
        [Life("Reboot", notice=900.0, event_id="LATER"), Life("Redeploy", notice=600.0, event_id="SOONER")]
    )
    rehearsal.run_until(13.0)
    assert [event_id for _at, event_id in rehearsal.approvals] == ["SOONER"]


def test_trap_1_given_an_approval_that_arrived_when_the_start_is_awaited_then_it_is_not_sent_at_every_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=300.0)])
    # Approval asks, it does not command: here other tenants have yet to agree.
    monkeypatch.setattr(rehearsal.azure, "approve", lambda _event_id, _vm_name: None)
    rehearsal.run_until(200.0)
    times = [at for at, _event_id in rehearsal.approvals]
    assert len(times) > 1
    assert min(later - at for at, later in zip(times, times[1:])) >= 30.0


# --- 2. taking Started for the end ----------------------------------------------------------------------------------


@pytest.mark.parametrize("event_type", ["Freeze", "Reboot", "Redeploy"])
def test_trap_2_given_an_event_that_has_started_when_it_is_still_listed_then_nothing_is_restored(
    event_type: str,
) -> None:
    rehearsal = Rehearsal([Life(event_type, notice=30.0, linger=100.0)])
    rehearsal.run_until(90.0)
    assert rehearsal.happenings[0].started is not None
    assert rehearsal.happenings[0].is_listed
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []


# --- 3. reading an error body as "no events" ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [{"error": "busy"}, {}, [], {"DocumentIncarnation": 1}, {"DocumentIncarnation": 1, "Events": None}]
)
def test_trap_3_given_an_error_in_place_of_a_document_when_polled_then_it_is_an_error(
    body: Any, service: MetadataService
) -> None:
    service.answers[EVENTS] = (200, body)
    with pytest.raises(DocumentError):
        session_of(service).poll(None)


def test_trap_3_given_errors_after_a_drain_when_an_hour_passes_then_nothing_is_restored() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=7200.0)], policy=UNAPPROVED)
    rehearsal.run_until(20.0)
    rehearsal.silent = True
    for _time in range(720):
        rehearsal.tick(5.0)
    assert rehearsal.state.is_out
    assert rehearsal.steps("restore") == []


# --- 4. remembering an event before acting on it; forgetting it over a restart --------------------------------------


def test_trap_4_given_a_kill_when_a_step_has_just_begun_then_the_step_is_run_again() -> None:
    rehearsal = Rehearsal([Life("Reboot")])
    rehearsal.run_until(4.0)
    assert rehearsal.steps() == ["deregister"]
    rehearsal.kill()
    rehearsal.run()
    assert rehearsal.steps("drain") == ["deregister", "deregister", "wait"]
    assert len(rehearsal.approvals) == 1


def test_trap_4_given_an_event_that_went_by_while_the_agent_was_down_when_it_is_back_then_the_machine_is_restored() -> (
    None
):
    rehearsal = Rehearsal([Life("Reboot", notice=60.0)], back_after=300.0)
    rehearsal.run_until(10.0)
    rehearsal.kill()
    rehearsal.run()
    assert rehearsal.restored == 1


# --- 5. one slow drain stops the polling ----------------------------------------------------------------------------


def test_trap_5_given_a_slow_drain_when_a_preempt_is_announced_then_it_is_drained_for_within_a_second() -> None:
    rehearsal = Rehearsal(
        [
            Life("Reboot", notice=900.0, event_id="SLOW"),
            Life("Preempt", notice=30.0, announced_at=50.0, event_id="URGENT"),
        ]
    )
    rehearsal.step_seconds["deregister"] = 40.0
    rehearsal.step_seconds["wait"] = 600.0
    rehearsal.run_until(49.0)
    rehearsal.step_seconds["deregister"] = 3.0
    rehearsal.run_until(51.0)
    assert begun(rehearsal, "SLOW") == ["deregister", "wait"]
    assert begun(rehearsal, "URGENT") == ["deregister"]


# --- 6. restoring what somebody else had taken out ------------------------------------------------------------------


def test_trap_6_given_an_event_under_a_plan_without_drain_when_it_is_over_then_nothing_is_restored() -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=20.0)], policy={"restore": POLICY["restore"]})
    rehearsal.run()
    assert rehearsal.steps() == []


# --- 8. names by substring or with case -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resources", "is_ours"),
    [
        ((VM_NAME,), True),
        ((VM_NAME.upper(),), True),
        (("db_0", VM_NAME), True),
        ((VM_NAME + "0",), False),
        (("my" + VM_NAME,), False),
        (("web_1",), False),
        ((VM_NAME[:-1],), False),
        ((), False),
    ],
)
def test_trap_8_given_the_names_in_an_event_when_it_is_ours_then_only_by_the_whole_name_and_without_case(
    resources: Tuple[str, ...], is_ours: bool
) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0, resources=resources)], policy=UNAPPROVED)
    rehearsal.run_until(20.0)
    assert rehearsal.state.is_out is is_ours


# --- 9. honouring http_proxy; a timeout of a second -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_trap_9_given_a_proxy_in_the_environment_when_polled_then_it_is_not_used(
    name: str, service: MetadataService, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens there.
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert session_of(service).poll(None).document.events == ()


def test_trap_9_given_an_answer_that_takes_longer_than_a_second_when_polled_then_it_is_waited_for(
    service: MetadataService,
) -> None:
    service.delay = 1.2
    session = session_of(service)
    session.poll(None)
    assert session.poll(None).document.events == ()


def test_trap_9_given_the_defaults_when_the_first_answer_is_awaited_then_for_as_long_as_enabling_may_take() -> None:
    assert Imds().first_timeout == DEFAULT_TIMEOUT >= 130.0
    assert Imds().timeout >= 5.0


# --- 10. an unauthenticated endpoint that drains --------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/", "/drain", "/approve", "/restore", "/readyz/", "/readyz", "/healthz", "/status", "/metrics"],
)
def test_trap_10_given_any_request_when_it_is_answered_then_the_agent_has_done_nothing(path: str) -> None:
    rehearsal = Rehearsal([Life("Reboot", notice=900.0)], policy=dict(POLICY, drain=[], shutdown=[]))
    rehearsal.run_until(2.0)
    state, records = rehearsal.running.state, list(rehearsal.history)
    rehearsal.running.respond(path)
    assert rehearsal.running.state is state
    assert rehearsal.history == records
    assert rehearsal.steps() == []
