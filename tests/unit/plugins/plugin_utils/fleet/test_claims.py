# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the claims and the lease that were found on a host mean for a run."""

from __future__ import annotations

import getpass
import json
import multiprocessing
import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import (
    LeaseView,
    describe_run,
    is_alive,
    lease_view,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Attempt

from .claimed import NOW, claim, found, lease_of

RUN_HERE = """
import json
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
print(json.dumps(describe_run("handle_events")))
"""


def test_given_nothing_when_judged_then_nothing_stands_in_the_way() -> None:
    assert lease_view(found()) == LeaseView()


def test_given_a_lease_of_this_run_then_it_is_no_obstacle() -> None:
    run = describe_run("handle_events")

    assert lease_view(found(lease_of(run)), run=run) == LeaseView()


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


def test_given_a_run_of_a_user_then_it_is_named_by_the_user_and_the_machine() -> None:
    assert describe_run("drain")["by"] == f"{getpass.getuser()} on {socket.gethostname()}"


@pytest.mark.parametrize("missing", ["id", "controller", "template_id"])
def test_given_a_job_of_an_unknown_controller_or_template_then_its_number_proves_nothing(missing: str) -> None:
    job = {"id": 16, "controller": "c1", "template_id": 9}

    process = describe_run("handle_events", job)["process"]
    assert (process["job"]["id"], process["pid"]) == (16, os.getpid())
    assert "job" not in describe_run("handle_events", job | {missing: ""})["process"]


def test_given_a_lease_of_a_run_that_is_alive_then_it_is_reported_whose_and_until_when() -> None:
    view = lease_view(found(lease_of(describe_run("handle_events"))), run={"id": "another"})

    assert view.leased == (
        "handle_events of root on ctl1 is working on it, and holds its lease until 2026-09-19T18:01:00Z by its clock"
    )
    assert view.take_over == ""


def test_given_a_lease_of_a_run_that_has_ended_here_then_it_may_be_taken_over() -> None:
    path = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    ended = subprocess.run([sys.executable, "-c", RUN_HERE], env=path, stdout=subprocess.PIPE, check=True)
    run = json.loads(ended.stdout)

    assert is_alive({"process": run["process"]}) is False
    assert lease_view(found(lease_of(run))).take_over == run["id"]
    assert lease_view(found(lease_of(run))).leased == ""


@pytest.mark.parametrize("other", [{"boot_id": "another"}, {"namespace": 1}])
def test_given_a_lease_of_a_run_elsewhere_then_nothing_is_known_of_its_end(other: dict[str, Any]) -> None:
    process = dict(describe_run("drain")["process"], pid=2**22 + 1)

    assert is_alive({"process": process}) is False
    assert is_alive({"process": process | other}) is None
    assert is_alive({"process": None}) is None


def test_given_a_run_that_is_described_in_a_worker_then_it_is_alive_as_long_as_the_process_that_began_the_worker() -> (
    None
):
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        described = workers.apply(describe_run, ("drain",))

    assert described["process"]["pid"] == os.getpid()


def test_given_a_process_that_has_the_number_of_one_that_ended_then_that_is_dead_anyway() -> None:
    process = describe_run("drain")["process"]

    grown = bytearray(2**26)
    assert is_alive({"process": process}) is bool(grown)
    assert is_alive({"process": process | {"began": "1"}}) is False


def job(number: object, **details: Any) -> dict[str, Any]:
    """A run of a job of a template that never has two at a time."""
    return describe_run("handle_events", {"id": number, "controller": "c1", "template_id": 9, **details})


@pytest.mark.parametrize(
    ("theirs", "is_dead"),
    [
        (job(15), True),
        (job("15"), True),
        (job(16), False),
        (job(17), False),
        (job(15, controller="c2"), False),
        (job(15, template_id=8), False),
        (job(15, controller=""), False),
        (job(15, template_id=""), False),
        (job(""), False),
        ({"id": "x", "process": {"job": {"controller": "c1", "template": "9", "id": "-1"}}}, False),
        ({"id": "x", "process": {"job": {"controller": "c1", "template": "9", "id": None}}}, False),
    ],
)
def test_given_a_later_job_of_a_template_that_runs_alone_then_an_earlier_one_has_ended(
    theirs: dict[str, Any], is_dead: bool
) -> None:
    # It ran in another container.
    lease = lease_of(dict(theirs, process=dict(theirs["process"], boot_id="another")))

    assert (is_alive(lease, job(16)) is False) == is_dead
    assert is_alive(lease, describe_run("handle_events")) is None
    assert (lease_view(found(lease), run=job(16)).take_over == theirs["id"]) == is_dead


def test_given_a_host_that_is_out_when_it_is_unknown_whether_its_run_is_alive_then_that_is_reported() -> None:
    here = describe_run("handle_events")
    elsewhere = dict(here, process=dict(here["process"], boot_id="another"))
    out = {"handle_events": claim()}

    assert lease_view(found(lease_of(elsewhere), **out)).abandoned == (
        "out for maintenance since 2026-09-19T17:59:00Z, by root on ctl1: Reboot A; handle_events of root on ctl1 is"
        " working on it, and holds its lease until 2026-09-19T18:01:00Z by its clock. Whether that run is alive cannot"
        " be seen from here: run again then, or now with handle_events_break_leases=true if it has certainly ended"
    )
    assert lease_view(found(lease_of(here), **out)).abandoned == ""
    assert lease_view(found(lease_of(elsewhere), by_hand=claim())).abandoned == ""
    assert lease_view(found(lease_of(elsewhere), **out), break_lease=True).abandoned == ""


def test_given_a_lease_when_the_operator_says_that_no_run_is_alive_then_it_may_be_taken_over() -> None:
    run = describe_run("handle_events")

    assert lease_view(found(lease_of(run)), break_lease=True).take_over == run["id"]


def test_given_claims_of_two_owners_then_each_sees_the_other() -> None:
    both = found(handle_events=claim(approving=["A"]), by_hand=claim(by="alice on ctl2", reason=""))

    by_event = lease_view(both)
    assert (by_event.needs_restore, by_event.approving) == (True, ("A",))
    assert by_event.by_others == "by hand since 2026-09-19T17:59:00Z, by alice on ctl2"
    by_hand = lease_view(both, owner="by_hand")
    assert by_hand.needs_restore
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
    view = lease_view(found(handle_events=claim(is_final=True) | details))

    assert view.needs_restore
    assert bool(view.keep_out_reason) == stays_out


def test_given_events_that_an_owner_has_seen_then_it_is_reported_how_long_ago_and_to_no_other_owner() -> None:
    both = found(handle_events=claim(seen={"a": NOW - 5, "b": NOW + 5}), by_hand=claim())

    assert lease_view(both).seen == {"a": 5.0, "b": 0.0}
    assert lease_view(both, owner="by_hand").seen == {}


def test_given_an_attempt_without_success_then_it_is_reported_how_long_ago_that_was() -> None:
    tried = found() | {"tried": {"a": {"at": NOW - 300, "reason": "web2: web did not stop"}}}

    assert lease_view(tried).tried == (Attempt("a", 300.0, "web2: web did not stop"),)
