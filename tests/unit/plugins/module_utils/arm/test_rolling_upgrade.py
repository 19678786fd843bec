# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do vmss_rolling_upgrade and vmss_rolling_upgrade_info do, from start to end?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    NotFound,
    OutOfTime,
    Unfinished,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.rolling_upgrade import (
    CANCELLED,
    EXTENSIONS,
    FINISHED,
    OS_IMAGE,
    STARTED,
    UpgradeChange,
    bring_to,
    describe,
)

from .scripted_arm import COMPUTE, VERSION, Step, dialogue, ok, refused

SET = COMPUTE + "/virtualMachineScaleSets/web"
GET = "GET %s%s" % (SET, VERSION)
LATEST = "GET %s/rollingUpgrades/latest%s" % (SET, VERSION)
START = "POST %s/osRollingUpgrade%s" % (SET, VERSION)
CANCEL = "POST %s/rollingUpgrades/cancel%s" % (SET, VERSION)
HISTORY = "GET %s/osUpgradeHistory%s" % (SET, VERSION)
OPERATION = "GET /operation"

BEFORE = "2026-11-20T09:00:00.0000000+00:00"
NOW = "2026-11-20T10:00:00.0000000+00:00"
NEVER = refused(404, "NotFound", "The entity was not found in this Azure location.")
ACCEPTED = Step(202, None, {"Location": "{base}/operation", "Retry-After": "1"})
DONE = Step(200)
LOST = Step(reset=True)
EXTENSION = {"extensions": [{"name": "health", "properties": {"type": "ApplicationHealthLinux"}}]}


def scale_set(mode: str = "Uniform", **model: Any) -> Step:
    model = model or {"extensionProfile": EXTENSION}
    return ok({"id": SET, "name": "web", "properties": {"orchestrationMode": mode, "virtualMachineProfile": model}})


def upgrade(code: str, start: str = NOW, counts: tuple[int, ...] = (0, 0, 1, 3), message: str | None = None) -> Step:
    names = ("successfulInstanceCount", "failedInstanceCount", "inProgressInstanceCount", "pendingInstanceCount")
    properties: dict[str, Any] = {
        "runningStatus": {"code": code, "startTime": start},
        "progress": dict(zip(names, counts, strict=True)),
    }
    if message:
        properties["error"] = {"code": "MaxUnhealthyInstancePercentExceededInRollingUpgrade", "message": message}
    return ok({"location": "westeurope", "properties": properties})


def run(
    *script: Step,
    state: str = STARTED,
    what: str = OS_IMAGE,
    wait: bool = True,
    dry_run: bool = False,
    timeout: float = 600,
) -> tuple[UpgradeChange, list[str]]:
    with dialogue(*script, timeout=timeout) as (arm, client):
        change = bring_to(client, "shop", "web", state, what, wait, dry_run)
        return change, arm.lines


def fails(*script: Step, state: str = STARTED, timeout: float = 600) -> tuple[str, Any]:
    """What the failure says, and how far it came."""
    with dialogue(*script, timeout=timeout) as (_arm, client), pytest.raises(Unfinished) as failure:
        bring_to(client, "shop", "web", state)
    return str(failure.value), failure.value.outcome


class TestStarted:
    def test_given_none_is_under_way_then_one_is_started_followed_and_read_back(self) -> None:
        change, lines = run(
            scale_set(), upgrade("Completed", BEFORE), ACCEPTED, DONE, upgrade("Completed", counts=(4, 0, 0, 0))
        )
        assert lines == [GET, LATEST, START, OPERATION, LATEST]
        assert (change.changed, change.reason, change.warnings) == (True, None, ())
        assert change.upgrade is not None
        assert (change.upgrade.status, change.upgrade.start_time, change.upgrade.successful) == ("Completed", NOW, 4)

    def test_given_extensions_then_it_is_their_upgrade_that_is_started(self) -> None:
        _unused, lines = run(scale_set(), NEVER, ACCEPTED, DONE, upgrade("Completed"), what=EXTENSIONS)
        assert lines[2] == START.replace("osRollingUpgrade", "extensionRollingUpgrade")

    def test_given_one_is_under_way_then_none_is_started_and_its_end_is_waited_for(self) -> None:
        change, lines = run(
            scale_set(), upgrade("RollingForward", BEFORE), upgrade("rollingback", BEFORE), upgrade("Completed", BEFORE)
        )
        assert lines == [GET, LATEST, LATEST, LATEST]
        assert (change.changed, change.reason) == (
            False,
            "a rolling upgrade is under way already, since %s" % BEFORE,
        )

    def test_given_another_client_is_faster_then_azures_409_is_no_error_and_theirs_is_waited_for(self) -> None:
        conflict = refused(409, "OperationNotAllowed", "a rolling upgrade is in progress")
        change, lines = run(scale_set(), NEVER, conflict, upgrade("RollingForward"), upgrade("Completed"))
        assert lines == [GET, LATEST, START, LATEST, LATEST]
        assert (change.changed, change.reason) == (False, "another rolling upgrade has just begun")

    def test_given_another_operation_holds_the_set_then_it_is_started_after_that(self) -> None:
        busy = refused(409, "AnotherOperationInProgress", "wait")
        change, lines = run(scale_set(), NEVER, busy, NEVER, ACCEPTED, DONE, upgrade("Completed"))
        assert lines.count(START) == 2
        assert change.changed

    def test_given_a_conflict_that_stays_then_the_error_quotes_azure(self) -> None:
        conflict = refused(409, "PropertyChangeNotAllowed", "not so")
        with pytest.raises(ArmError, match="409 PropertyChangeNotAllowed: not so"):
            run(scale_set(), NEVER, conflict, NEVER)

    @pytest.mark.parametrize("found", [NEVER, upgrade("Completed", BEFORE)])
    def test_given_azure_has_nothing_to_do_then_nothing_is_changed_and_it_says_so(self, found: Step) -> None:
        change, _unused = run(scale_set(), found, ACCEPTED, DONE, found)
        assert (change.changed, change.reason) == (False, "Azure found nothing to upgrade")

    def test_given_wait_is_false_then_it_ends_once_azure_has_accepted(self) -> None:
        change, lines = run(scale_set(), NEVER, ACCEPTED, upgrade("RollingForward"), wait=False)
        assert lines == [GET, LATEST, START, LATEST]
        assert change.changed
        assert change.upgrade is not None
        assert change.upgrade.is_under_way

    def test_given_wait_is_false_and_one_is_under_way_then_it_is_not_followed(self) -> None:
        change, lines = run(scale_set(), upgrade("RollingForward"), wait=False)
        assert (lines, change.changed) == ([GET, LATEST], False)

    def test_given_check_mode_then_it_only_reads(self) -> None:
        change, lines = run(scale_set(), NEVER, dry_run=True)
        assert (lines, change.changed, change.upgrade) == ([GET, LATEST], True, None)

    def test_given_check_mode_and_one_is_under_way_then_nobody_waits_for_it(self) -> None:
        change, lines = run(scale_set(), upgrade("RollingForward"), dry_run=True)
        assert (lines, change.changed) == ([GET, LATEST], False)

    @pytest.mark.parametrize(
        ("mode", "model", "remedy"),
        [
            ("Uniform", {"osProfile": {}}, "the Application Health extension, or a probe of its load balancer"),
            ("Flexible", {"networkProfile": {"healthProbe": {"id": "/ready"}}}, "the Application Health extension"),
        ],
    )
    def test_given_a_set_that_does_not_report_health_then_it_warns_what_azure_will_refuse(
        self, mode: str, model: dict[str, Any], remedy: str
    ) -> None:
        change, _unused = run(scale_set(mode, **model), NEVER, dry_run=True)
        assert len(change.warnings) == 1
        assert change.warnings[0].endswith("which instances are healthy: give web %s" % remedy)

    @pytest.mark.parametrize(
        ("mode", "model"),
        [
            ("Uniform", {"networkProfile": {"healthProbe": {"id": "/ready"}}}),
            ("Flexible", {"extensionProfile": EXTENSION}),
        ],
    )
    def test_given_a_set_that_reports_health_then_nobody_warns(self, mode: str, model: dict[str, Any]) -> None:
        change, _unused = run(scale_set(mode, **model), NEVER, dry_run=True)
        assert change.warnings == ()

    def test_given_azure_misses_a_health_probe_then_the_error_says_what_to_do(self) -> None:
        said = "Rolling Upgrade mode is not supported because a health probe or health extension was not provided."
        with pytest.raises(ArmError, match=r"was not provided\. A rolling upgrade needs .* give web the Application"):
            run(scale_set(), NEVER, refused(400, "BadRequest", said))

    def test_given_too_many_fail_then_the_error_has_azures_reason_and_the_counts(self) -> None:
        failed = ok({"status": "Failed", "error": {"code": "MaxUnhealthy", "message": "20% are unhealthy"}})
        polled = Step(202, None, {"Azure-AsyncOperation": "{base}/operation", "Retry-After": "1"})
        message, outcome = fails(scale_set(), NEVER, polled, failed, upgrade("Faulted", counts=(1, 1, 0, 2)))
        assert "MaxUnhealthy: 20% are unhealthy" in message
        assert outcome.changed
        assert (outcome.upgrade.status, outcome.upgrade.failed) == ("Faulted", 1)

    def test_given_it_failed_before_it_began_then_nothing_is_changed(self) -> None:
        failed = ok({"status": "Failed", "error": {"code": "MaxUnhealthyBefore", "message": "all are unhealthy"}})
        polled = Step(202, None, {"Azure-AsyncOperation": "{base}/operation", "Retry-After": "1"})
        _message, outcome = fails(
            scale_set(), upgrade("Completed", BEFORE), polled, failed, upgrade("Completed", BEFORE)
        )
        assert not outcome.changed

    def test_given_some_instances_failed_when_it_is_completed_then_it_warns(self) -> None:
        change, _unused = run(scale_set(), NEVER, ACCEPTED, DONE, upgrade("Completed", counts=(3, 1, 0, 0)))
        assert change.warnings == ("The rolling upgrade of web is over, but 1 instances failed",)

    def test_given_it_is_not_over_in_time_then_the_failure_reports_how_far_it_is(self) -> None:
        going_on = Step(202, None, {"Location": "{base}/operation", "Retry-After": "20"})
        message, outcome = fails(scale_set(), NEVER, going_on, going_on, upgrade("RollingForward"), timeout=15)
        assert "within 15 s" in message
        assert (outcome.changed, outcome.upgrade.pending) == (True, 3)

    def test_given_the_answer_is_lost_when_azure_shows_the_upgrade_a_little_later_then_it_is_followed(self) -> None:
        change, lines = run(
            scale_set(),
            upgrade("Completed", BEFORE),
            LOST,
            upgrade("Completed", BEFORE),
            upgrade("RollingForward"),
            upgrade("Completed"),
        )
        assert lines == [GET, LATEST, START, LATEST, LATEST, LATEST]
        assert (change.changed, change.reason) == (True, None)

    def test_given_the_answer_is_lost_when_azure_shows_no_upgrade_then_the_failure_says_that_it_may_begin(self) -> None:
        with pytest.raises(ArmError) as failure:
            run(scale_set(), NEVER, LOST, NEVER, NEVER, NEVER)
        assert failure.value.may_have_begun

    def test_given_the_answer_is_lost_when_there_is_no_time_to_read_then_that_it_was_lost_is_reported(self) -> None:
        with pytest.raises(ArmError) as failure:
            run(scale_set(), NEVER, LOST, NEVER, timeout=3)
        assert not isinstance(failure.value, OutOfTime)
        assert failure.value.may_have_begun

    def test_given_a_permission_is_missing_then_the_error_names_the_role(self) -> None:
        with pytest.raises(ArmError, match=r"osRollingUpgrade/action here\. The role Virtual Machine Contributor"):
            run(scale_set(), NEVER, refused(403, "AuthorizationFailed"))

    def test_given_there_is_no_such_set_then_that_is_not_a_set_without_upgrades(self) -> None:
        with pytest.raises(NotFound, match="ResourceNotFound"):
            run(refused(404, "ResourceNotFound"))


class TestFinished:
    @pytest.mark.parametrize("found", [NEVER, upgrade("Completed"), upgrade("Cancelled")])
    def test_given_none_is_under_way_then_there_is_nothing_to_wait_for(self, found: Step) -> None:
        change, lines = run(scale_set(), found, state=FINISHED)
        assert (lines, change.changed, change.reason) == ([GET, LATEST], False, "no rolling upgrade is under way")

    def test_given_one_is_under_way_then_it_waits_for_its_end(self) -> None:
        change, lines = run(scale_set(), upgrade("RollingForward"), upgrade("Completed"), state=FINISHED)
        assert lines == [GET, LATEST, LATEST]
        assert not change.changed

    def test_given_it_breaks_off_then_the_error_has_the_reason_and_the_counts(self) -> None:
        message, outcome = fails(
            scale_set(),
            upgrade("RollingForward"),
            upgrade("Faulted", counts=(1, 2, 0, 3), message="too many"),
            state=FINISHED,
        )
        assert message == (
            "The rolling upgrade of web ended as Faulted (1 instances upgraded, 2 failed, 0 in progress, 3 pending):"
            " too many"
        )
        assert not outcome.changed

    def test_given_it_is_not_over_in_time_then_the_failure_reports_how_far_it_is(self) -> None:
        message, outcome = fails(scale_set(), upgrade("RollingForward"), state=FINISHED, timeout=4)
        assert "was not over (0 instances upgraded, 0 failed, 1 in progress, 3 pending) within 4 s" in message
        assert outcome.upgrade.is_under_way


class TestCancelled:
    def test_given_one_is_under_way_then_it_is_cancelled_and_read_back(self) -> None:
        change, lines = run(
            scale_set(),
            upgrade("RollingForward"),
            ACCEPTED,
            DONE,
            upgrade("RollingForward"),
            upgrade("Cancelled"),
            state=CANCELLED,
        )
        assert lines == [GET, LATEST, CANCEL, OPERATION, LATEST, LATEST]
        assert (change.changed, change.reason) == (True, None)
        assert change.upgrade is not None
        assert change.upgrade.status == "Cancelled"

    def test_given_wait_is_false_then_it_ends_once_azure_has_accepted(self) -> None:
        _unused, lines = run(
            scale_set(),
            upgrade("RollingForward"),
            ACCEPTED,
            upgrade("RollingForward"),
            state=CANCELLED,
            wait=False,
        )
        assert lines == [GET, LATEST, CANCEL, LATEST]

    @pytest.mark.parametrize("found", [NEVER, upgrade("Completed"), upgrade("Cancelled"), upgrade("Faulted")])
    def test_given_none_is_under_way_then_nothing_is_sent(self, found: Step) -> None:
        change, lines = run(scale_set(), found, state=CANCELLED)
        assert (lines, change.changed, change.reason) == ([GET, LATEST], False, "no rolling upgrade is under way")

    def test_given_it_ends_before_the_request_then_azures_409_is_no_error(self) -> None:
        conflict = refused(409, "OperationNotAllowed", "There is no ongoing Rolling Upgrade to cancel.")
        change, lines = run(scale_set(), upgrade("RollingForward"), conflict, upgrade("Completed"), state=CANCELLED)
        assert lines == [GET, LATEST, CANCEL, LATEST]
        assert (change.changed, change.reason) == (False, "no rolling upgrade is under way")

    @pytest.mark.parametrize(("ended", "changed"), [("Cancelled", True), ("Completed", False)])
    @pytest.mark.parametrize("busy", [(), (refused(409, "AnotherOperationInProgress"), upgrade("RollingForward"))])
    def test_given_the_answer_is_lost_then_how_the_upgrade_ended_says_whether_it_was_cancelled(
        self, busy: tuple[Step, ...], ended: str, changed: bool
    ) -> None:
        conflict = refused(409, "OperationNotAllowed", "There is no ongoing Rolling Upgrade to cancel.")
        change, _unused = run(
            scale_set(), upgrade("RollingForward"), LOST, *busy, conflict, upgrade(ended), state=CANCELLED
        )
        assert (change.changed, change.reason is None) == (changed, changed)

    def test_given_another_conflict_then_the_error_quotes_azure(self) -> None:
        conflict = refused(409, "ScopeLocked", "locked")
        with pytest.raises(ArmError, match="409 ScopeLocked: locked"):
            run(scale_set(), upgrade("RollingForward"), conflict, upgrade("RollingForward"), state=CANCELLED)

    def test_given_check_mode_then_it_only_reads(self) -> None:
        change, lines = run(scale_set(), upgrade("RollingForward"), state=CANCELLED, dry_run=True)
        assert (lines, change.changed) == ([GET, LATEST], True)


class TestInfo:
    def test_given_upgrades_then_the_latest_and_the_history_are_reported(self) -> None:
        past = {
            "properties": {
                "runningStatus": {"code": "Completed", "startTime": BEFORE, "endTime": NOW},
                "progress": {"successfulInstanceCount": 4},
                "startedBy": "Platform",
                "targetImageReference": {"offer": "ubuntu"},
            }
        }
        with dialogue(scale_set(), ok({"value": [past]}), upgrade("RollingForward")) as (arm, client):
            found = describe(client, "shop", "web")
        assert arm.lines == [GET, HISTORY, LATEST]
        assert found["id"] == SET
        assert found["upgrade"] == {
            "status": "RollingForward",
            "under_way": True,
            "start_time": NOW,
            "successful": 0,
            "failed": 0,
            "in_progress": 1,
            "pending": 3,
            "error": None,
        }
        assert found["os_upgrade_history"] == [
            {
                "status": "Completed",
                "under_way": False,
                "start_time": BEFORE,
                "end_time": NOW,
                "successful": 4,
                "failed": 0,
                "in_progress": 0,
                "pending": 0,
                "error": None,
                "started_by": "Platform",
                "image": {"offer": "ubuntu"},
            }
        ]

    def test_given_none_ever_then_there_is_none(self) -> None:
        with dialogue(scale_set(), ok({"value": []}), NEVER) as (_arm, client):
            found = describe(client, "shop", "web")
        assert (found["upgrade"], found["os_upgrade_history"]) == (None, [])
