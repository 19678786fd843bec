# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a resource's policy look like, and what does scheduled_events_policy do, from start to end?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.answers import encode
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    NotFound,
    Unfinished,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.policy import (
    KINDS,
    DesiredPolicy,
    PolicyChange,
    describe_all,
    read_desired_state,
    set_policy,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, SUBSCRIPTION, VERSION, ScriptedArm, Step, dialogue, ok, refused

VM, AVSET, VMSS = (KINDS[kind] for kind in ("virtual_machine", "availability_set", "scale_set"))
PUBLISH = DesiredPolicy(publish=True)
TARGETS = (
    b'"scheduledEventsAdditionalPublishingTargets":{"eventGridAndResourceGraph":'
    b'{"enable":true,"scheduledEventsApiVersion":"2020-07-01"}}'
)
PUBLISHED = json.loads(b"{%s}" % TARGETS)
OPERATION = "/operations/op-3?t=opaque"


def resource(kind: Any, policy: Any = None, **properties: Any) -> dict[str, Any]:
    if policy is not None:
        properties["scheduledEventsPolicy"] = policy
    return {
        "id": "%s/%s/it" % (COMPUTE, kind.path),
        "name": "it",
        "location": "westeurope",
        "etag": '"5"',
        "tags": {"owner": "somebody"},
        "sku": {"capacity": 3},
        "properties": {"provisioningState": "Succeeded", **properties},
    }


def run(
    *script: Step, kind: Any = VM, desired: DesiredPolicy = PUBLISH, **options: Any
) -> tuple[ScriptedArm, PolicyChange]:
    with dialogue(*script) as (arm, client):
        return arm, set_policy(client, kind, "shop", "it", desired, **options)


@pytest.mark.parametrize("kind", [VM, AVSET])
def test_given_a_vm_or_availability_set_then_only_the_policy_is_patched(kind: Any) -> None:
    arm, outcome = run(ok(resource(kind)), ok(resource(kind, PUBLISHED)), kind=kind)
    path = "%s/%s/it%s" % (COMPUTE, kind.path, VERSION)
    assert arm.lines == ["GET " + path, "PATCH " + path]
    assert arm.sent("PATCH") == [b'{"properties":{"scheduledEventsPolicy":{%s}}}' % TARGETS]
    assert arm.requests[1].headers["if-match"] == '"5"'
    assert outcome.changed
    assert not outcome.before["publish"]
    assert outcome.after["publish"]


def test_given_approvals_are_wanted_then_those_that_differ_are_sent_as_documented() -> None:
    desired = DesiredPolicy(
        {
            "approve_user_initiated_reboot": True,
            "approve_user_initiated_redeploy": True,
            "approve_all_instances_down": False,
        }
    )
    current = {
        "userInitiatedReboot": {"automaticallyApprove": True},
        "allInstancesDown": {"automaticallyApprove": True},
    }
    after = {
        "userInitiatedReboot": {"automaticallyApprove": True},
        "userInitiatedRedeploy": {"automaticallyApprove": True},
        "allInstancesDown": {"automaticallyApprove": False},
    }
    arm, _unused = run(ok(resource(VM, current)), ok(resource(VM, after)), desired=desired)
    (body,) = arm.sent("PATCH")
    assert body == (
        b'{"properties":{"scheduledEventsPolicy":{"userInitiatedRedeploy":{"automaticallyApprove":true},'
        b'"allInstancesDown":{"automaticallyApprove":false}}}}'
    )


DOWN = "approve_all_instances_down"


@pytest.mark.parametrize(
    "current", [None, {}, {"allInstancesDown": None}, {"allInstancesDown": {}}, {"userInitiatedReboot": {}}]
)
def test_given_azures_default_when_all_instances_down_shall_wait_then_that_is_written(current: Any) -> None:
    off = {"allInstancesDown": {"automaticallyApprove": False}}
    arm, outcome = run(ok(resource(VM, current)), ok(resource(VM, off)), desired=DesiredPolicy({DOWN: False}))
    assert arm.sent("PATCH") == [
        b'{"properties":{"scheduledEventsPolicy":{"allInstancesDown":{"automaticallyApprove":false}}}}'
    ]
    assert (outcome.before[DOWN], outcome.after[DOWN]) == (True, False)


@pytest.mark.parametrize("current", [None, {"allInstancesDown": {"automaticallyApprove": True}}])
def test_given_azure_approves_all_instances_down_when_that_is_wanted_then_nothing_is_sent(current: Any) -> None:
    _arm, outcome = run(ok(resource(VM, current)), desired=DesiredPolicy({DOWN: True}))
    assert not outcome.changed
    assert outcome.after[DOWN] is True


def test_given_azures_default_when_user_initiated_ones_shall_wait_then_nothing_is_sent() -> None:
    desired = DesiredPolicy({"approve_user_initiated_reboot": False, "approve_user_initiated_redeploy": False})
    assert not run(ok(resource(VM)), desired=desired)[1].changed


def test_given_azure_does_not_say_what_was_asked_for_then_that_is_an_error() -> None:
    with pytest.raises(Unfinished, match="then shows"):
        run(ok(resource(VM)), ok(resource(VM)), desired=DesiredPolicy({DOWN: False}))


def test_given_a_scale_set_then_it_is_written_back_as_it_was_but_for_the_policy() -> None:
    before = resource(
        VMSS, {"userInitiatedReboot": {"automaticallyApprove": True}}, virtualMachineProfile={"x": [1, None]}
    )
    after = resource(VMSS, {"userInitiatedReboot": {"automaticallyApprove": True}, **PUBLISHED})
    arm, outcome = run(ok(before), ok(after), kind=VMSS)
    before["properties"]["scheduledEventsPolicy"].update(PUBLISHED)
    assert arm.sent("PUT") == [encode(before)]
    assert arm.requests[1].headers["if-match"] == '"5"'
    assert outcome.changed


def test_given_an_image_and_identities_then_nothing_is_echoed_that_azure_would_check() -> None:
    identities = {"/a/of": {"principalId": "p", "clientId": "c"}, "/b/of": {"principalId": "q", "clientId": "d"}}
    storage = {"imageReference": {"id": "/subscriptions/of-another-tenant/galleries/g"}, "osDisk": {"diskSizeGB": 30}}
    before = resource(VMSS, virtualMachineProfile={"storageProfile": storage})
    before["identity"] = {
        "type": "SystemAssigned, UserAssigned",
        "principalId": "s",
        "tenantId": "t",
        "userAssignedIdentities": identities,
    }
    arm, _outcome = run(ok(before), ok(resource(VMSS, PUBLISHED)), kind=VMSS)
    (sent,) = (json.loads(body) for body in arm.sent("PUT"))
    assert sent["properties"]["virtualMachineProfile"] == {"storageProfile": {"osDisk": {"diskSizeGB": 30}}}
    assert sent["identity"] == {
        "type": "SystemAssigned, UserAssigned",
        "userAssignedIdentities": {"/a/of": {}, "/b/of": {}},
    }


def test_given_somebody_changes_the_scale_set_meanwhile_then_their_change_is_in_what_is_written() -> None:
    theirs = resource(VMSS)
    theirs["sku"]["capacity"] = 9
    theirs["etag"] = '"6"'
    arm, _unused = run(
        ok(resource(VMSS)),
        refused(412, "PreconditionFailed"),
        ok(theirs),
        ok(resource(VMSS, PUBLISHED)),
        kind=VMSS,
    )
    assert json.loads(arm.sent("PUT")[-1])["sku"]["capacity"] == 9
    assert arm.requests[3].headers["if-match"] == '"6"'


def test_given_a_scale_set_without_an_etag_then_it_is_written_as_it_was_read() -> None:
    without, after = resource(VMSS), resource(VMSS, PUBLISHED)
    del without["etag"]
    arm, outcome = run(ok(without), ok(after), kind=VMSS)
    assert outcome.changed
    assert "if-match" not in arm.requests[1].headers


def test_given_a_set_that_the_cli_has_opted_in_when_published_then_nothing_is_sent() -> None:
    # azure-cli sends no version, and Azure shows none.
    current = {"scheduledEventsAdditionalPublishingTargets": {"eventGridAndResourceGraph": {"enable": True}}}
    arm, outcome = run(ok(resource(VMSS, current)), kind=VMSS)
    assert (len(arm.requests), outcome.changed) == (1, False)


def test_given_a_region_without_the_feature_then_the_error_names_the_option_and_does_not_advise_what_was_refused() -> (
    None
):
    # As azure-cli recorded it in October 2025.
    target = "scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph.scheduledEventsApiVersion"
    message = "Scheduled Events API version is not enabled for region."
    refusal = Step(400, {"error": {"code": "InvalidParameter", "message": message, "target": target}})
    with pytest.raises(ArmError) as error:
        run(ok(resource(AVSET)), refusal, kind=AVSET)
    said = str(error.value)
    assert said.startswith("publish_api_version: this region does not publish events in the version 2020-07-01. Set an")
    assert said.count("2020-07-01") == 1
    assert "%s (%s)" % (message, target) in said


@pytest.mark.parametrize("kind", [VM, AVSET, VMSS])
def test_given_the_wanted_state_then_it_is_read_once_and_nothing_is_sent(kind: Any) -> None:
    arm, outcome = run(ok(resource(kind, PUBLISHED)), kind=kind)
    assert len(arm.requests) == 1
    assert not outcome.changed


def test_given_another_version_is_published_then_it_stays_unless_one_is_wanted() -> None:
    current = json.loads(json.dumps(PUBLISHED).replace("2020-07-01", "2019-08-01"))
    assert not run(ok(resource(VM, current)))[1].changed
    arm, _unused = run(
        ok(resource(VM, current)),
        ok(resource(VM, PUBLISHED)),
        desired=DesiredPolicy(publish=True, events_version="2020-07-01"),
    )
    assert arm.sent("PATCH") == [b'{"properties":{"scheduledEventsPolicy":{%s}}}' % TARGETS]


@pytest.mark.parametrize("current", [None, {}, {"scheduledEventsAdditionalPublishingTargets": None}])
def test_given_nothing_is_published_when_that_is_wanted_then_nothing_is_sent(current: Any) -> None:
    assert not run(ok(resource(VM, current)), desired=DesiredPolicy(publish=False))[1].changed


def test_given_it_is_published_when_that_is_not_wanted_then_it_is_switched_off() -> None:
    off = json.loads(json.dumps(PUBLISHED).replace("true", "false"))
    arm, outcome = run(ok(resource(VM, PUBLISHED)), ok(resource(VM, off)), desired=DesiredPolicy(publish=False))
    assert arm.sent("PATCH") == [b'{"properties":{"scheduledEventsPolicy":{%s}}}' % TARGETS.replace(b"true", b"false")]
    assert outcome.changed


def test_given_check_mode_then_nothing_is_sent() -> None:
    arm, outcome = run(ok(resource(VMSS)), kind=VMSS, dry_run=True)
    assert len(arm.requests) == 1
    assert outcome.changed


def test_given_azure_drops_the_policy_then_that_is_an_error() -> None:
    with pytest.raises(Unfinished, match="preview feature") as error:
        run(ok(resource(VM)), ok(resource(VM)))
    assert not error.value.outcome.changed


@pytest.mark.parametrize("owner", ["virtualMachineScaleSet", "availabilitySet"])
def test_given_a_vm_in_a_set_then_it_warns_that_the_set_decides(owner: str) -> None:
    _unused, outcome = run(ok(resource(VM, PUBLISHED, **{owner: {"id": "/x/y/owners"}})))
    assert "member of owners" in outcome.warnings[0]


@pytest.mark.parametrize("dry_run", [False, True])
def test_given_a_member_of_a_flexible_set_without_the_policy_then_it_is_refused_before_anything_is_written(
    dry_run: bool,
) -> None:
    with pytest.raises(ArmError, match=r"it is a member of the scale set web, and Azure refuses .* \(scale_set: web\)"):
        run(ok(resource(VM, virtualMachineScaleSet={"id": "/x/y/web"})), dry_run=dry_run)


def test_given_a_cloud_that_refuses_the_version_then_the_error_names_the_option_the_value_and_one_that_there_is() -> (
    None
):
    refusal = refused(400, "InvalidParameter", "The value '2024-07-09' of scheduledEventsApiVersion is invalid.")
    with pytest.raises(ArmError) as error:
        run(ok(resource(VM)), refusal, desired=DesiredPolicy(publish=True, events_version="2024-07-09"))
    said = str(error.value)
    assert said.startswith("publish_api_version: this region does not publish events in the version 2024-07-09. Set")
    assert "2020-07-01" in said
    assert "400 InvalidParameter" in said


@pytest.mark.parametrize("kind", [VM, AVSET, VMSS])
class TestEachKind:
    def test_given_there_is_none_then_it_says_so(self, kind: Any) -> None:
        with pytest.raises(NotFound):
            run(refused(404, "ResourceNotFound"), kind=kind)

    def test_given_a_permission_is_missing_then_the_error_names_the_role(self, kind: Any) -> None:
        with pytest.raises(ArmError, match="%s/write here. The role Virtual Machine Contributor" % kind.path):
            run(ok(resource(kind)), refused(403, "AuthorizationFailed"), kind=kind)

    def test_given_wait_is_false_then_the_operation_is_not_followed(self, kind: Any) -> None:
        accepted = ok(resource(kind, provisioningState="Updating"), Azure_AsyncOperation="{base}" + OPERATION)
        arm, outcome = run(ok(resource(kind)), accepted, kind=kind, wait=False)
        assert len(arm.requests) == 2
        assert outcome.changed


def test_given_the_options_of_a_task_then_they_become_the_desired_state() -> None:
    options = {"approve_user_initiated_reboot": False, "publish": None, "publish_api_version": None}
    assert read_desired_state(options) == DesiredPolicy({"approve_user_initiated_reboot": False}, None, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no change is requested: set one of approve_user_initiated_reboot"),
        ({"publish": True, "publish_api_version": "new"}, "publish_api_version: 'new' is not a date"),
    ],
)
def test_given_invalid_options_then_they_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_desired_state(options)


def described(*script: Step, **options: Any) -> tuple[ScriptedArm, list[dict[str, Any]]]:
    with dialogue(*script) as (arm, client):
        return arm, describe_all(client, **options)


@pytest.mark.parametrize("group", ["shop", None])
def test_given_no_name_then_the_policies_of_all_three_kinds_are_read_with_azures_defaults(group: str | None) -> None:
    owner = COMPUTE + "/virtualMachineScaleSets/api"
    member = resource(VM, None, virtualMachineScaleSet={"id": owner})
    rows = [[member, resource(VM)], [resource(AVSET, PUBLISHED)], []]
    arm, found = described(*(ok({"value": each}) for each in rows), resource_group=group)
    start = COMPUTE if group else "/subscriptions/%s/providers/Microsoft.Compute" % SUBSCRIPTION
    assert arm.lines == ["GET %s/%s%s" % (start, kind.path, VERSION) for kind in (VM, AVSET, VMSS)]
    assert [(one["kind"], one["follows"], one["policy"]["publish"]) for one in found] == [
        ("virtual_machine", owner, False),
        ("virtual_machine", None, False),
        ("availability_set", None, True),
    ]
    assert found[1]["policy"]["approve_all_instances_down"] is True
    assert found[1]["policy"]["approve_user_initiated_reboot"] is False


def test_given_a_name_then_that_one_is_read() -> None:
    arm, found = described(ok(resource(VMSS, PUBLISHED)), resource_group="shop", option="scale_set", name="it")
    assert arm.lines == ["GET %s/virtualMachineScaleSets/it%s" % (COMPUTE, VERSION)]
    assert [(one["kind"], one["id"]) for one in found] == [("scale_set", COMPUTE + "/virtualMachineScaleSets/it")]
    with pytest.raises(NotFound):
        described(refused(404, "ResourceNotFound"), resource_group="shop", option="virtual_machine", name="it")
