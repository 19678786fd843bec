# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does vmss_automatic_repairs do, from start to end?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound, Unfinished
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.repairs import (
    OFF,
    RUNNING,
    SUSPENDED,
    UNKNOWN,
    RepairsChange,
    describe,
    explain_danger,
    set_state,
)

from .scripted_arm import COMPUTE, VERSION, ScriptedArm, Step, dialogue, ok, refused

SET = COMPUTE + "/virtualMachineScaleSets/web"
VIEW = "GET %s/instanceView%s" % (SET, VERSION)
POST = "POST %s/setOrchestrationServiceState%s" % (SET, VERSION)
PROBE = COMPUTE.replace("Compute", "Network") + "/loadBalancers/front/probes/ready"


def view(state: str | None, name: str = "AutomaticRepairs") -> Step:
    others = [{"serviceName": "AutomaticZoneRebalancing", "serviceState": "Running"}]
    return ok({"orchestrationServices": others + ([{"serviceName": name, "serviceState": state}] if state else [])})


def run(
    *script: Step, state: str = SUSPENDED, dry_run: bool = False, timeout: float = 600
) -> tuple[RepairsChange, ScriptedArm]:
    with dialogue(*script, timeout=timeout) as (arm, client):
        return set_state(client, "shop", "web", state, dry_run), arm


def test_given_repairs_run_when_they_are_suspended_then_the_documented_body_is_sent_and_the_state_read_back() -> None:
    change, arm = run(view("Running"), Step(200), view("Suspended"))
    assert arm.lines == [VIEW, POST, VIEW]
    assert json.loads(arm.sent("POST")[0]) == {"serviceName": "AutomaticRepairs", "action": "Suspend"}
    assert (change.changed, change.before, change.after) == (True, RUNNING, SUSPENDED)


def test_given_they_are_suspended_when_they_shall_run_then_they_are_resumed() -> None:
    change, arm = run(view("Suspended"), Step(200), view("Running"), state=RUNNING)
    assert json.loads(arm.sent("POST")[0])["action"] == "Resume"
    assert change.changed


@pytest.mark.parametrize(
    ("found", "state"), [("Running", RUNNING), ("Suspended", SUSPENDED), ("suspended", SUSPENDED), ("RUNNING", RUNNING)]
)
def test_given_they_are_as_wanted_then_nothing_is_sent(found: str, state: str) -> None:
    change, arm = run(view(found), state=state)
    assert (arm.lines, change.changed, change.after) == ([VIEW], False, state)


@pytest.mark.parametrize("found", ["NotRunning", None])
def test_given_the_model_has_none_then_nothing_is_suspended_and_a_resume_says_that_there_is_nothing_to_resume(
    found: str | None,
) -> None:
    suspended, _arm = run(view(found))
    resumed, _arm = run(view(found), state=RUNNING)
    assert (suspended.changed, suspended.after, suspended.warnings) == (False, OFF, ())
    assert (resumed.changed, resumed.after) == (False, OFF)
    assert "Turn them on in its automaticRepairsPolicy" in resumed.warnings[0]


def test_given_check_mode_then_it_only_reads() -> None:
    change, arm = run(view("Running"), dry_run=True)
    assert (arm.lines, change.changed, change.after) == ([VIEW], True, SUSPENDED)


REFUSED = refused(
    400, "OperationNotAllowed", "Operation 'VirtualMachineScaleSets.instanceView.GET' is not allowed on web"
)
READ = "GET %s%s" % (SET, VERSION)


def flexible(enabled: bool, mode: str = "Flexible") -> Step:
    properties = {"orchestrationMode": mode, "automaticRepairsPolicy": {"enabled": enabled}}
    return ok({"id": SET, "name": "web", "properties": properties})


def test_given_a_flexible_set_then_it_is_asked_for_without_its_view_and_the_warning_says_so() -> None:
    change, arm = run(REFUSED, flexible(True), Step(200))
    assert arm.lines == [VIEW, READ, POST]
    assert (change.changed, change.before, change.after) == (True, UNKNOWN, SUSPENDED)
    assert "flexible scale set. Azure does not show" in change.warnings[0]


def test_given_a_flexible_set_whose_state_azure_does_not_take_then_the_error_says_what_to_do_instead() -> None:
    with pytest.raises(ArmError, match=r"web is a flexible scale set.*automaticRepairsPolicy.enabled.*400 Operation"):
        run(REFUSED, flexible(True), refused(400, "OperationNotAllowed", "Not in this mode."))


def test_given_a_flexible_set_without_repairs_then_nothing_is_sent() -> None:
    change, arm = run(REFUSED, flexible(False))
    assert (arm.lines, change.changed, change.after) == ([VIEW, READ], False, OFF)


def test_given_another_refusal_of_the_view_then_that_is_the_error() -> None:
    with pytest.raises(ArmError, match="OperationNotAllowed"):
        run(REFUSED, flexible(True, mode="Uniform"))


def test_given_azure_is_slow_to_show_it_then_it_polls_again_within_the_time_limit() -> None:
    change, _arm = run(view("Running"), Step(200), view("Running"), view("Suspended"))
    assert change.changed
    with pytest.raises(Unfinished, match="did not show the automatic repairs of web as suspended within 4 s") as error:
        run(view("Running"), Step(200), view("Running"), timeout=4)
    assert error.value.outcome.changed


def test_given_another_operation_holds_the_set_then_it_waits_for_it() -> None:
    change, arm = run(
        view("Running"), refused(409, "Conflict", "conflict with a concurrent request"), Step(200), view("Suspended")
    )
    assert (change.changed, len(arm.sent("POST"))) == (True, 2)


def test_given_the_operation_may_not_be_read_then_the_set_shows_what_became_of_it() -> None:
    begun = (Step(202, None, {"Location": "{base}/operations/1"}), refused(403, "AuthorizationFailed"))
    change, arm = run(view("Running"), *begun, view("Running"), view("Suspended"))
    assert (change.changed, change.after, len(arm.sent("POST"))) == (True, SUSPENDED, 1)
    with pytest.raises(ArmError, match="was accepted, but later was refused"):
        run(REFUSED, flexible(True), *begun)


def test_given_a_permission_is_missing_then_the_error_names_the_role() -> None:
    with pytest.raises(ArmError, match="setOrchestrationServiceState/action here"):
        run(view("Running"), refused(403, "AuthorizationFailed"))
    with pytest.raises(NotFound):
        run(refused(404, "ResourceNotFound"))


def described(policy: Any, probe: str | None, *script: Step) -> Any:
    network = {"healthProbe": {"id": probe}} if probe else {}
    properties = {"automaticRepairsPolicy": policy, "virtualMachineProfile": {"networkProfile": network}}
    with dialogue(*script) as (_arm, client):
        return describe(client, {"id": SET, "name": "web", "properties": properties})


@pytest.mark.parametrize("policy", [None, {}, {"enabled": False, "gracePeriod": "PT30M"}])
def test_given_no_repairs_then_nobody_asks_for_their_state_and_there_is_no_danger(policy: Any) -> None:
    found = described(policy, PROBE)
    assert (found["state"], found["grace_period"]) == (OFF, None)
    assert explain_danger("web", found) is None


def test_given_repairs_that_go_by_the_balancers_probe_then_the_warning_says_what_azure_does_and_when() -> None:
    found = described({"enabled": True, "gracePeriod": "PT30M", "repairAction": "Reimage"}, PROBE, view("Running"))
    assert found == {"state": RUNNING, "action": "Reimage", "grace_period": "PT30M", "health_probe": PROBE}
    danger = str(explain_danger("web", found))
    assert all(part in danger for part in ("web are on", "(ready)", "a Reimage on it after PT30M"))


def test_given_a_policy_that_says_no_more_then_azures_defaults_are_reported() -> None:
    found = described({"enabled": True}, PROBE, view("Running"))
    assert (found["action"], found["grace_period"]) == ("Replace", "PT10M")


@pytest.mark.parametrize(("probe", "state"), [(None, "Running"), (PROBE, "Suspended")])
def test_given_another_source_of_health_or_suspended_repairs_then_nothing_is_at_risk(
    probe: str | None, state: str
) -> None:
    assert explain_danger("web", described({"enabled": True}, probe, view(state))) is None
