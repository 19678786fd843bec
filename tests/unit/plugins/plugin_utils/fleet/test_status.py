# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook status reports of hosts: a runbook."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.status import describe_status

from .claimed import NOW, claim, found, lease_of

HANDLE = "ansible-playbook foghorn.azure_events.handle_events -i hosts.yml --become"
RESTORE = "ansible-playbook foghorn.azure_events.restore -i hosts.yml --become"
OUT = "web1: out for maintenance since 2026-09-19T17:59:00Z, by root on ctl1: Reboot A"
LEASED = (
    "web1: handle_events of root on ctl1 is working on it, and holds its lease until 2026-09-19T18:01:00Z by its clock"
)
REBOOT = {"event_id": "A", "event_type": "Reboot", "event_status": "Started"}


def status(of_host: dict[str, Any], **more: Any) -> list[str]:
    return describe_status("web1", of_host, inventory=("hosts.yml",), **more)


def test_given_a_host_in_rotation_then_there_is_nothing_to_do() -> None:
    assert status(found()) == ["web1: in rotation, as far as these playbooks know"]


def test_given_a_host_whose_event_is_listed_then_it_is_reported_what_it_waits_for_and_who_restores_it() -> None:
    out = found(handle_events=claim(approving=["a"]))

    assert status(out, answer={"events": [REBOOT]}) == [
        OUT,
        "web1: waits for: Reboot A, which has status Started and was approved, or may have been",
        f"web1: next: {HANDLE}",
    ]
    assert status(found(handle_events=claim()), answer={"events": [REBOOT]})[1].endswith("has status Started")


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        ({"events": []}, "a run that restores it: its event is no longer listed"),
        (
            {"msg": "timed out"},
            "unknown: its metadata service did not list its events: timed out",
        ),
        ({}, "unknown: its metadata service did not list its events: it was not asked"),
    ],
)
def test_given_a_host_of_which_no_event_is_known_then_that_is_reported(answer: dict[str, Any], waits: str) -> None:
    out = found(handle_events=claim())

    assert status(out, answer=answer) == [OUT, f"web1: waits for: {waits}", f"web1: next: {HANDLE}"]


def test_given_a_host_that_may_be_about_to_be_deleted_then_that_is_what_it_waits_for() -> None:
    lines = status(found(handle_events=claim(is_final=True)))

    assert lines[1].startswith("web1: waits for: its deletion is no longer listed: it is restored when it boots")


@pytest.mark.parametrize(
    ("system", "said"),
    [({}, "foghorn-agent restore, on it"), ({"system": "Windows"}, f"{RESTORE} --extra-vars restore_hosts=web1")],
)
def test_given_a_host_that_its_agent_has_drained_by_hand_then_it_is_said_how_to_restore_it(
    system: dict[str, str], said: str
) -> None:
    agent = {"in_rotation": False, "drained_by_hand": {"since": "2026-09-19T17:59:00Z", "drain": "succeeded"}}

    lines = status({**found(), **system}, agent=agent)

    assert lines == ["web1: out, its agent says", f"web1: next: {said}, when the work on it is done"]


def test_given_a_windows_host_without_an_agent_then_that_is_all_that_is_known() -> None:
    assert status({**found(), "system": "Windows", "unmanaged": "no\x1bagent"}) == ["web1: no\\x1bagent"]


def test_given_a_run_at_work_here_then_there_is_nothing_to_do() -> None:
    out = found(lease_of(describe_run("handle_events")), handle_events=claim())

    lines = status(out, answer={"events": [REBOOT]})

    assert lines[:2] == [OUT, LEASED]
    assert lines[-1] == "web1: next: nothing: that run is working on this controller"


def test_given_a_lease_of_a_run_elsewhere_then_it_says_when_to_continue_and_how_to_continue_now() -> None:
    later = (
        "once the lease has ended, at 2026-09-19T18:01:00Z; or now with --extra-vars handle_events_break_leases=true,"
        " if that run has certainly ended"
    )
    run = describe_run("handle_events")
    elsewhere = lease_of(dict(run, process=dict(run["process"], boot_id="another")))

    assert status(found(elsewhere, handle_events=claim()))[-1] == f"web1: next: {HANDLE}, {later}"
    assert status(found(elsewhere, by_hand=claim()))[-1] == f"web1: next: {RESTORE}, {later}"
    assert status(found(elsewhere))[1:] == [LEASED]


def test_given_hosts_that_others_want_out_then_each_gets_the_command_that_restores_it() -> None:
    by_hand = f"web1: next: {RESTORE} --extra-vars restore_hosts=web1"

    assert status(found(by_hand=claim()))[1:] == [by_hand + ", when the work on it is done"]
    assert status(found(nightly=claim()))[1:] == [by_hand + " --extra-vars restore_owner=nightly"]


def test_given_an_agent_that_has_it_out_then_its_history_has_more() -> None:
    assert status(found(), agent={"in_rotation": False, "events": [{"event_id": "B"}]}) == [
        "web1: out, its agent says: B",
        "web1: next: nothing, its agent restores it; foghorn-agent history, on it, shows the progress",
    ]


def test_given_traces_of_another_owner_then_they_are_named() -> None:
    assert status(found() | {"present": ["/var/out", "/other"]}, traces=["/var/out"]) == [
        "web1: out, taken out by somebody else: /var/out exists",
        "web1: next: find out who created /var/out, and ask them to restore it",
    ]


def test_given_attempts_without_success_then_they_are_reported() -> None:
    tried = found() | {"tried": {"a": {"at": NOW - 300, "reason": "web2: web did not stop"}}}

    assert status(tried)[1:] == ["web1: was taken out drained in vain for a 300 s ago: web2: web did not stop"]


def test_given_a_host_that_cannot_be_reached_then_the_remedy_and_the_next_poll_are_reported() -> None:
    said = "Failed to connect to the host via ssh: root@web1: Permission denied (publickey)."
    again = "ansible-playbook foghorn.azure_events.status -i hosts.yml --become --extra-vars status_hosts=web1"

    told, following = status({"msg": said})

    assert told.startswith(
        "web1: nothing is known: Failed to connect to the host via ssh: root@web1: Permission denied"
    )
    assert "authorized_keys" in told
    assert following == f"web1: next: correct that, then {again}"
    assert status({})[0] == "web1: nothing is known: it could not be reached"


@pytest.mark.parametrize("lie", [{"claims": 7}, {"claims": {"handle_events": 7}}, {"claims": {}, "lease": 7}])
def test_given_a_host_whose_answer_makes_no_sense_then_it_hides_no_other(lie: dict[str, Any]) -> None:
    (line,) = status(found() | lie)

    assert line.startswith("web1: nothing is known: its answer cannot be read: ")
