# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the claims and the lease that were found on a host mean for a run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import (
    Standing,
    describe_run,
    describe_status,
    is_dead,
    standing,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import Attempt

NOW = 1_789_840_800.0
RUN_HERE = """
import json
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
print(json.dumps(describe_run("handle_events")))
"""


def found(lease: dict[str, Any] | None = None, **claims: dict[str, Any]) -> dict[str, Any]:
    """What rotation_claim returned."""
    return {"lease": lease, "claims": claims, "boot_id": "boot1", "now": NOW, "present": []}


def claim(**details: Any) -> dict[str, Any]:
    """A claim as rotation_claim keeps it."""
    return {
        "since": NOW - 60,
        "noted_at": NOW - 60,
        "by": "root on ctl1",
        "reason": "Reboot A",
        "boot_id": "boot1",
        "is_final": False,
        "starts_at": NOW - 60,
        "approving": [],
        "left_out_at": None,
    } | details


def lease_of(run: dict[str, Any]) -> dict[str, Any]:
    """A lease as rotation_claim returns it."""
    return {"id": run["id"], "playbook": "handle_events", "by": "root on ctl1", "until": NOW + 60} | {
        "process": run["process"]
    }


def test_given_nothing_when_judged_then_nothing_stands_in_the_way() -> None:
    assert standing(found()) == Standing()


def test_given_a_lease_of_this_run_then_it_is_no_obstacle() -> None:
    run = describe_run("handle_events")

    assert standing(found(lease_of(run)), run_id=run["id"]) == Standing()


@pytest.mark.parametrize(
    ("job", "by"),
    [
        ({"id": 16, "template": "Handle events", "user": "alice"}, "alice, job 16 (Handle events)"),
        ({"id": "16", "template": "", "user": ""}, "nobody, job 16"),
        ({"id": 7, "user": "eve\x1b[2J" + 200 * "e"}, r"eve\x1b[2J" + 90 * "e" + ", job 7"),
    ],
)
def test_given_a_job_of_a_controller_then_the_run_is_named_like_it(job: dict[str, Any], by: str) -> None:
    assert describe_run("handle_events", job)["by"] == by
    assert describe_run("handle_events", {"id": ""})["by"] == describe_run("handle_events")["by"]


def test_given_a_lease_of_a_run_that_is_alive_then_it_is_said_whose_and_until_when() -> None:
    stands = standing(found(lease_of(describe_run("handle_events"))), run_id="another")

    assert stands.leased == (
        "handle_events of root on ctl1 is at work on it, and leased it until 2026-09-19T18:01:00Z by its clock"
    )
    assert stands.take_over == ""


def test_given_a_lease_of_a_run_that_has_ended_here_then_it_may_be_taken_over() -> None:
    path = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    ended = subprocess.run([sys.executable, "-c", RUN_HERE], env=path, stdout=subprocess.PIPE, check=True)
    run = json.loads(ended.stdout)

    assert is_dead({"process": run["process"]})
    assert standing(found(lease_of(run))).take_over == run["id"]
    assert standing(found(lease_of(run))).leased == ""


@pytest.mark.parametrize("other", [{"boot_id": "another"}, {"namespace": 1}])
def test_given_a_lease_of_a_run_elsewhere_then_nothing_is_known_of_its_end(other: dict[str, Any]) -> None:
    process = dict(describe_run("drain")["process"], pid=2**22 + 1)

    assert is_dead({"process": process})
    assert not is_dead({"process": process | other})
    assert not is_dead({"process": None})


def test_given_a_process_that_has_the_number_of_one_that_ended_then_that_is_dead_all_the_same() -> None:
    process = describe_run("drain")["process"]

    assert not is_dead({"process": process})
    assert is_dead({"process": process | {"began": "1"}})


def test_given_a_lease_when_the_operator_says_that_no_run_is_alive_then_it_may_be_taken_over() -> None:
    run = describe_run("handle_events")

    assert standing(found(lease_of(run)), break_lease=True).take_over == run["id"]


def test_given_claims_of_two_owners_then_each_sees_the_other() -> None:
    both = found(handle_events=claim(approving=["A"]), by_hand=claim(by="alice on ctl2", reason=""))

    by_event = standing(both)
    assert (by_event.was_left, by_event.approving) == (True, ("A",))
    assert by_event.by_others == "by hand since 2026-09-19T17:59:00Z, by alice on ctl2"
    by_hand = standing(both, owner="by_hand")
    assert by_hand.was_left
    assert by_hand.by_others == "for maintenance since 2026-09-19T17:59:00Z, by root on ctl1: Reboot A"


@pytest.mark.parametrize(
    ("details", "stays_out"),
    [
        ({"left_out_at": NOW - 599}, True),
        ({"left_out_at": NOW - 601}, False),
        ({"left_out_at": NOW - 1, "boot_id": "boot0"}, False),
        ({"left_out_at": NOW - 1, "is_final": False}, False),
        # The run died before it saw the end.
        ({"noted_at": NOW - 599, "starts_at": NOW - 599}, True),
        ({"noted_at": NOW - 900, "starts_at": NOW - 1}, True),
        ({"noted_at": NOW - 900, "starts_at": NOW - 601}, False),
    ],
)
def test_given_a_deletion_that_is_no_longer_listed_then_its_host_stays_out_until_it_is_known_to_be_alive(
    details: dict[str, Any], stays_out: bool
) -> None:
    stands = standing(found(handle_events=claim(is_final=True) | details))

    assert stands.was_left
    assert bool(stands.left_out) == stays_out


def test_given_hosts_when_their_status_is_told_then_it_is_said_for_whom_they_are_out_and_who_is_at_work() -> None:
    leased = found(lease_of(describe_run("handle_events")), handle_events=claim())

    assert describe_status("web1", leased) == [
        "web1: out for maintenance since 2026-09-19T17:59:00Z, by root on ctl1: Reboot A",
        "web1: handle_events of root on ctl1 is at work on it, and leased it until 2026-09-19T18:01:00Z by its clock",
    ]
    assert describe_status("web2", found()) == ["web2: in rotation, as far as these playbooks know"]
    agent = {"in_rotation": False, "events": [{"event_id": "B"}]}
    assert describe_status("web3", found(), agent) == ["web3: out, its agent says: B"]
    marked = found() | {"present": ["/var/out", "/other"]}
    assert describe_status("web4", marked, None, ["/var/out"]) == ["web4: out, by somebody else: /var/out is there"]
    tried = found() | {"tried": {"a": {"at": NOW - 300, "reason": "web2: web did not stop"}}}
    assert describe_status("web6", tried)[1:] == ["web6: was taken out in vain for a 300 s ago: web2: web did not stop"]
    assert standing(tried).tried == (Attempt("a", 300.0, "web2: web did not stop"),)
    assert describe_status("web5", {"msg": "timed out"}) == ["web5: nothing is known: timed out"]
