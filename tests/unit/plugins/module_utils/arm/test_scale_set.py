# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do the modules of scale sets do, from start to end? Here ARM plays a script, and time only passes in sleep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import MOST_EDITS
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    Changed,
    NotFound,
    OutOfTime,
    Unfinished,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.notification import (
    DesiredState,
    Notification,
    Notifications,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.rollout import RolloutLimits
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.scale_set import (
    Rollout,
    ScaleSetChange,
    describe_all,
    notify,
)

from .scripted_arm import COMPUTE, GROUP, SUBSCRIPTION, VERSION, FakeTime, ScriptedArm, Step, dialogue, ok, refused

SETS = COMPUTE + "/virtualMachineScaleSets"
WEB = SETS + "/web"
GET = "GET %s%s" % (WEB, VERSION)
PATCH = "PATCH %s%s" % (WEB, VERSION)
# With their state, which an update by hand minds; and without, where nobody reads it.
INSTANCES_WITH_STATE = "GET %s/virtualMachines%s&%%24expand=instanceView" % (WEB, VERSION)
INSTANCES = "GET %s/virtualMachines%s" % (WEB, VERSION)
UPGRADE = "POST %s/manualupgrade%s" % (WEB, VERSION)
ROLLING = "GET %s/rollingUpgrades/latest%s" % (WEB, VERSION)
OPERATION = (
    "/subscriptions/%s/providers/Microsoft.Compute/locations/westeurope/operations/op-1?p=1&t=opaque" % SUBSCRIPTION
)
POLL = "GET " + OPERATION

# As documented, and nothing else.
ENABLE_10 = (
    b'{"properties":{"virtualMachineProfile":{"scheduledEventsProfile":'
    b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT10M"}}}}}'
)
DISABLE_5 = (
    b'{"properties":{"virtualMachineProfile":{"scheduledEventsProfile":'
    b'{"terminateNotificationProfile":{"enable":false,"notBeforeTimeout":"PT5M"}}}}}'
)
TEN_MINUTES = DesiredState(True, 600)
OUTDATED = Rollout("outdated")
IN_TWOS = Rollout("outdated", RolloutLimits("2", "2"))
ONE_BY_ONE = Rollout("outdated", RolloutLimits("1", "1"))
# What an action begins.
STARTED = Step(202, None, {"Azure-AsyncOperation": "{base}" + OPERATION})


def scale_set(
    enable: bool | None = None,
    timeout: str = "PT5M",
    mode: str = "Manual",
    etag: str | None = '"1"',
    priority: str | None = None,
    provisioning: str = "Succeeded",
) -> dict[str, Any]:
    """A scale set with much that does not concern us; `enable` None: without a profile."""
    model: dict[str, Any] = {
        "osProfile": {"computerNamePrefix": "web", "adminUsername": "root", "customData": "c2VjcmV0"},
        "storageProfile": {"imageReference": {"sku": "12"}},
    }
    if priority:
        model["priority"] = priority
    if enable is not None:
        model["scheduledEventsProfile"] = {
            "terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": timeout}
        }
    resource = {
        "id": WEB,
        "name": "web",
        "location": "westeurope",
        "tags": {"owner": "somebody"},
        "sku": {"name": "Standard_D2s_v5", "capacity": 3},
        "properties": {
            "orchestrationMode": "Uniform",
            "upgradePolicy": {"mode": mode},
            "virtualMachineProfile": model,
            "provisioningState": provisioning,
        },
    }
    return {**resource, "etag": etag} if etag else resource


ON = ok(scale_set(True, "PT10M"))


def accepted() -> Step:
    return ok(scale_set(True, "PT10M", provisioning="Updating"), Azure_AsyncOperation="{base}" + OPERATION)


def in_progress(**headers: str) -> Step:
    return ok({"name": "op-1", "status": "InProgress"}, **headers)


def ended(status: str = "Succeeded", **error: str) -> Step:
    return ok({"name": "op-1", "status": status, **({"error": error} if error else {})})


def instances(*latest: bool | None, **more: Any) -> Step:
    """Instances 0, 1, …: at the latest model, not, or (None) gone."""
    return ok(
        {
            "value": [
                instance(number, is_latest, **more) for number, is_latest in enumerate(latest) if is_latest is not None
            ]
        }
    )


def instance(number: int, latest: bool, provisioning: str = "Succeeded", power: str = "running") -> dict[str, Any]:
    return {
        "instanceId": str(number),
        "name": "web_%d" % number,
        "properties": {
            "latestModelApplied": latest,
            "provisioningState": provisioning,
            "instanceView": {"statuses": [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/" + power}]},
        },
    }


def run(
    script: Sequence[Step], desired: DesiredState = TEN_MINUTES, rollout: Rollout = Rollout(), **options: Any
) -> tuple[ScriptedArm, ScaleSetChange]:
    with dialogue(*script) as (arm, client):
        return arm, notify(client, "shop", "web", desired, rollout, **options)


def fails(
    script: Sequence[Step], rollout: Rollout = OUTDATED, timeout: float = 600, time: FakeTime | None = None
) -> tuple[str, ScaleSetChange, ScriptedArm]:
    """What the failure says, how far it came, and what was asked."""
    with dialogue(*script, timeout=timeout, time=time) as (arm, client), pytest.raises(Unfinished) as failure:
        notify(client, "shop", "web", TEN_MINUTES, rollout)
    return str(failure.value), failure.value.outcome, arm


def test_given_no_profile_when_enabling_then_it_is_patched_alone_polled_and_read_back() -> None:
    arm, outcome = run([ok(scale_set()), accepted(), in_progress(), ended(), ON])
    assert arm.lines == [GET, PATCH, POLL, POLL, GET]
    assert arm.sent("PATCH") == [ENABLE_10]
    assert outcome.changed
    assert outcome.before.terminate == Notification(False, None)
    assert outcome.after.terminate == Notification(True, 600)


@pytest.mark.parametrize(("mode", "told"), [("Manual", 1), ("Automatic", 0)])
def test_given_no_update_of_instances_when_the_model_changes_then_it_says_whether_anything_updates_them(
    mode: str, told: int
) -> None:
    before, after = scale_set(mode=mode), scale_set(True, "PT10M", mode=mode)
    _arm, outcome = run([ok(before), accepted(), in_progress(), ended(), ok(after)])
    assert outcome.outdated is None
    assert sum("nothing updates them by itself" in one for one in outcome.warnings) == told


def test_given_the_wanted_state_then_it_is_read_once_and_nothing_is_sent() -> None:
    arm, outcome = run([ON])
    assert arm.lines == [GET]
    assert not outcome.changed


def test_given_azure_drops_what_was_disabled_then_that_is_what_was_wanted() -> None:
    dropped = scale_set()
    dropped["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] = {}
    arm, outcome = run([ok(scale_set(True)), accepted(), ended(), ok(dropped)], DesiredState(False, os_image=False))
    assert arm.sent("PATCH") == [DISABLE_5]
    assert outcome.after == Notifications()


def test_given_check_mode_when_disabling_then_it_expects_what_azure_shows_afterwards() -> None:
    _unused, outcome = run([ON], DesiredState(False), dry_run=True)
    assert (outcome.changed, outcome.after) == (True, Notifications())


def test_given_a_change_then_it_goes_to_the_version_that_was_read() -> None:
    arm, _unused = run([ok(scale_set(etag='"77"')), accepted(), ended(), ON])
    assert arm.requests[1].headers["if-match"] == '"77"'
    assert arm.requests[1].headers["content-type"] == "application/json"


def test_given_the_version_is_in_the_header_alone_then_that_is_used() -> None:
    arm, _unused = run([ok(scale_set(etag=None), ETag='"9"'), accepted(), ended(), ON])
    assert arm.requests[1].headers["if-match"] == '"9"'


def test_given_azure_shows_no_version_then_none_is_asked_for() -> None:
    arm, _unused = run([ok(scale_set(etag=None)), accepted(), ended(), ON])
    assert "if-match" not in arm.requests[1].headers


def test_given_another_client_was_faster_then_it_is_read_and_decided_again() -> None:
    arm, outcome = run(
        [
            ok(scale_set(False, "PT7M")),
            refused(412, "PreconditionFailed"),
            ok(scale_set(False, "PT9M", etag='"2"')),
            accepted(),
            ended(),
            ok(scale_set(True, "PT9M")),
        ],
        DesiredState(True),
    )
    first, second = arm.sent("PATCH")
    assert b'"PT7M"' in first
    assert b'"PT9M"' in second
    assert arm.requests[3].headers["if-match"] == '"2"'
    assert outcome.after.terminate == Notification(True, 540)


def test_given_another_client_is_always_faster_then_it_gives_up_and_the_error_quotes_azure() -> None:
    script = [ok(scale_set()), refused(412, "PreconditionFailed", "not that one")] * MOST_EDITS
    with dialogue(*script) as (_arm, client), pytest.raises(Changed, match="412 PreconditionFailed: not that one"):
        notify(client, "shop", "web", TEN_MINUTES)


def test_given_the_operation_never_ends_then_the_time_limit_does() -> None:
    script = [ok(scale_set()), accepted()] + [in_progress(Retry_After="40")] * 3
    time = FakeTime()
    with dialogue(*script, timeout=100, time=time) as (_arm, client), pytest.raises(OutOfTime) as error:
        notify(client, "shop", "web", TEN_MINUTES)
    assert "PATCH" in str(error.value)
    assert "within 100 s" in str(error.value)
    assert "timeout" in str(error.value)
    assert sum(time.slept) <= 100


def test_given_wait_is_false_then_the_operation_is_not_followed() -> None:
    arm, outcome = run([ok(scale_set()), accepted()], wait=False)
    assert arm.lines == [GET, PATCH]
    assert outcome.changed
    assert outcome.after.terminate == Notification(True, 600)


def test_given_azure_shows_something_else_afterwards_then_that_is_an_error() -> None:
    with (
        dialogue(ok(scale_set()), accepted(), ended(), ok(scale_set(False))) as (_arm, client),
        pytest.raises(Unfinished, match="accepted the change of web, but then shows") as error,
    ):
        notify(client, "shop", "web", TEN_MINUTES)
    assert error.value.outcome.changed


def test_given_there_is_no_such_scale_set_then_the_error_says_what_to_check() -> None:
    with (
        dialogue(refused(404, "ResourceNotFound", "no web here")) as (_arm, client),
        pytest.raises(NotFound, match=r"404 ResourceNotFound: no web here\. Check the names, resource_group and"),
    ):
        notify(client, "shop", "web", TEN_MINUTES)


@pytest.mark.parametrize(
    ("script", "action", "role"),
    [
        ([], "virtualMachineScaleSets/read", "Reader"),
        ([ok(scale_set())], "virtualMachineScaleSets/write", "Virtual Machine Contributor"),
    ],
)
def test_given_a_permission_is_missing_then_the_error_names_the_role_that_grants_it(
    script: list[Step], action: str, role: str
) -> None:
    forbidden = refused(403, "AuthorizationFailed", "the client 'x'")
    with dialogue(*script, forbidden) as (_arm, client), pytest.raises(ArmError) as error:
        notify(client, "shop", "web", TEN_MINUTES)
    assert "lacks the permission Microsoft.Compute/%s" % action in str(error.value)
    assert "The role %s grants it" % role in str(error.value)


def test_given_a_flexible_set_without_a_model_then_the_error_leads_to_its_vms() -> None:
    resource = scale_set()
    del resource["properties"]["virtualMachineProfile"]
    with dialogue(ok(resource)) as (_arm, client), pytest.raises(ArmError, match="vm_terminate_notification"):
        notify(client, "shop", "web", TEN_MINUTES)


@pytest.mark.parametrize("priority", ["Spot", "Low", "SpotPlus"])
def test_given_spot_instances_then_it_warns_that_it_has_no_effect(priority: str) -> None:
    _unused, outcome = run([ok(scale_set(True, "PT10M", priority=priority))])
    assert "Spot" in outcome.warnings[0]


def test_given_regular_instances_then_it_does_not_warn() -> None:
    _unused, outcome = run([ok(scale_set(True, "PT10M", priority="Regular"))])
    assert outcome.warnings == ()


class TestCheckMode:
    def test_given_a_change_then_it_is_reported_and_not_made(self) -> None:
        arm, outcome = run([ok(scale_set())], dry_run=True)
        assert arm.lines == [GET]
        assert outcome.changed
        assert outcome.after.terminate == Notification(True, 600)

    def test_given_the_model_changes_then_all_instances_would_be_updated(self) -> None:
        arm, outcome = run([ok(scale_set()), instances(True, True)], rollout=OUTDATED, dry_run=True)
        assert arm.lines == [GET, INSTANCES]
        assert outcome.updated == ("web_0", "web_1")

    def test_given_the_model_stays_then_the_outdated_ones_would_be_updated(self) -> None:
        _unused, outcome = run([ON, instances(True, False)], rollout=OUTDATED, dry_run=True)
        assert outcome.updated == ("web_1",)
        assert outcome.changed


def by_hand(found: Step, *script: Step) -> list[Step]:
    """What an update by hand reads first: the set, and its instances without their state, and then with it."""
    return [ON, found, found, *script]


class TestManualPolicy:
    def test_given_outdated_instances_then_they_are_updated_in_batches(self) -> None:
        script = by_hand(
            instances(False, True, False, False),
            Step(200),
            instances(True, True, True, False),
            Step(200),
            instances(True, True, True, True),
        )
        arm, outcome = run(script, rollout=IN_TWOS)
        batch = [UPGRADE, INSTANCES_WITH_STATE]
        assert arm.lines == [GET, INSTANCES, INSTANCES_WITH_STATE, *batch, *batch]
        assert arm.sent("POST") == [b'{"instanceIds":["0","2"]}', b'{"instanceIds":["3"]}']
        assert outcome.changed
        assert outcome.updated == ("web_0", "web_2", "web_3")
        assert outcome.outdated == ()

    def test_given_all_are_at_the_latest_model_then_nothing_is_changed(self) -> None:
        arm, outcome = run([ON, instances(True, True)], rollout=OUTDATED)
        assert arm.lines == [GET, INSTANCES]
        assert not outcome.changed

    def test_given_all_are_wanted_then_each_is_updated_once(self) -> None:
        script = [ON, instances(True, True), Step(200), instances(True, True)]
        arm, outcome = run(script, rollout=Rollout("all", RolloutLimits("100%", "100%")))
        assert arm.sent("POST") == [b'{"instanceIds":["0","1"]}']
        assert outcome.updated == ("web_0", "web_1")

    def test_given_an_instance_appears_meanwhile_then_it_is_updated_too(self) -> None:
        both = [Step(200), instances(True, False), Step(200), instances(True, True)]
        arm, outcome = run(by_hand(instances(False), *both), rollout=OUTDATED)
        assert arm.sent("POST") == [b'{"instanceIds":["0"]}', b'{"instanceIds":["1"]}']
        assert outcome.updated == ("web_0", "web_1")

    def test_given_an_instance_is_gone_before_its_update_then_the_others_are_updated_anyway(self) -> None:
        left = instances(None, False)
        script = by_hand(
            instances(False, False), refused(404, "NotFound"), left, left, Step(200), instances(None, True)
        )
        arm, outcome = run(script, rollout=IN_TWOS)
        assert arm.sent("POST") == [b'{"instanceIds":["0","1"]}', b'{"instanceIds":["1"]}']
        assert outcome.updated == ("web_1",)

    @pytest.mark.parametrize("ends", ["refused", "failed"])
    def test_given_an_instance_is_scaled_in_before_its_update_then_it_is_gone_and_the_others_are_updated(
        self, ends: str
    ) -> None:
        message = "The provided instanceId 0 is not an active Virtual Machine Scale Set VM instanceId."
        said = [refused(400, "InvalidParameter", message)]
        if ends == "failed":
            said = [STARTED, ended("Failed", code="InvalidParameter", message=message)]
        # The list still shows it for a while.
        script = by_hand(instances(False, False), *said, instances(False, False), Step(200), instances(None, True))
        arm, outcome = run(script, rollout=IN_TWOS)
        assert arm.sent("POST") == [b'{"instanceIds":["0","1"]}', b'{"instanceIds":["1"]}']
        assert (outcome.updated, outcome.outdated, outcome.gone) == (("web_1",), (), ("web_0",))

    def test_given_azure_finds_nothing_to_update_although_all_are_there_then_that_is_an_error(self) -> None:
        said, _outcome, _arm = fails(by_hand(instances(False), refused(404, "NotFound"), instances(False)))
        assert "404 NotFound" in said

    def test_given_an_instance_never_updates_then_it_is_tried_twice_and_reported(self) -> None:
        stuck = instances(True, False)
        script = by_hand(instances(False, False), Step(200), stuck, stuck, Step(200), stuck)
        time = FakeTime()
        said, outcome, arm = fails(script, IN_TWOS, time=time)
        assert arm.sent("POST") == [b'{"instanceIds":["0","1"]}', b'{"instanceIds":["1"]}']
        assert time.slept == [5.0]
        assert "web_1" in said
        assert outcome.changed
        assert (outcome.updated, outcome.outdated) == (("web_0",), ("web_1",))

    def test_given_another_operation_holds_the_set_then_the_same_batch_is_tried_after_a_while(self) -> None:
        busy = [refused(409, "AnotherOperationInProgress"), instances(False)]
        time = FakeTime()
        script = by_hand(instances(False), *busy, *busy, Step(200), instances(True))
        with dialogue(*script, time=time) as (arm, client):
            outcome = notify(client, "shop", "web", TEN_MINUTES, OUTDATED)
        assert arm.sent("POST") == [b'{"instanceIds":["0"]}'] * 3
        assert time.slept == [5.0, 5.0]
        assert outcome.updated == ("web_0",)

    def test_given_a_batch_fails_then_no_other_follows_and_the_failure_reports_how_far_it_came(self) -> None:
        failed = ended("Failed", code="VMExtensionProvisioningError", message="web_1 does not start")
        now = instances(True, False, False)
        script = by_hand(instances(False, False, False), Step(200), now, STARTED, failed, now)
        said, outcome, _arm = fails(script, ONE_BY_ONE)
        assert "VMExtensionProvisioningError: web_1 does not start" in said
        assert (outcome.updated, outcome.outdated) == (("web_0",), ("web_1", "web_2"))

    FAILED_SET = ok({"value": [instance(0, True, provisioning="Failed"), instance(1, False)]})

    def test_given_too_many_are_out_of_service_then_it_waits_until_some_are_back(self) -> None:
        script = by_hand(self.FAILED_SET, instances(True, False), Step(200), instances(True, True))
        time = FakeTime()
        with dialogue(*script, time=time) as (arm, client):
            notify(client, "shop", "web", TEN_MINUTES, ONE_BY_ONE)
        assert arm.lines == [GET, INSTANCES, INSTANCES_WITH_STATE, INSTANCES_WITH_STATE, UPGRADE, INSTANCES_WITH_STATE]
        assert time.slept == [5.0]

    def test_given_they_never_come_back_then_the_error_says_why_it_waited(self) -> None:
        said, _outcome, _arm = fails(by_hand(self.FAILED_SET), ONE_BY_ONE, timeout=4)
        assert "max_unavailable allows were out of service: web_0 within 4 s" in said


class TestAutomaticPolicy:
    AUTOMATIC = ok(scale_set(True, "PT10M", mode="Automatic"))

    def test_given_azure_updates_then_it_waits_and_sends_nothing(self) -> None:
        time = FakeTime()
        with dialogue(self.AUTOMATIC, instances(False, True), instances(True, True), time=time) as (arm, client):
            outcome = notify(client, "shop", "web", TEN_MINUTES, Rollout("all"))
        assert arm.lines == [GET, INSTANCES, INSTANCES]
        assert time.slept == [5.0]
        assert outcome.updated == ("web_0",)

    def test_given_azure_does_not_then_the_time_limit_ends_it(self) -> None:
        said, outcome, _arm = fails([self.AUTOMATIC, instances(False), instances(False)], timeout=9)
        assert "upgrade policy Automatic" in said
        assert outcome.outdated == ("web_0",)


def upgrade(code: str, start: str = "2026-11-20T10:00:00Z", message: str | None = None) -> Step:
    properties: dict[str, Any] = {"runningStatus": {"code": code, "startTime": start}}
    if message:
        properties["error"] = {"code": "MaxUnhealthyInstancePercentExceeded", "message": message}
    return ok({"properties": properties})


class TestRollingPolicy:
    LATER = "2026-11-20T11:00:00Z"
    SET = ok(scale_set(True, "PT10M", mode="Rolling"))

    def test_given_azure_rolls_the_change_out_then_it_is_watched_to_its_end(self) -> None:
        written = [ok(scale_set(mode="Rolling")), upgrade("Faulted"), accepted(), ended(), self.SET]
        watched = [
            *(instances(False), upgrade("Faulted")),
            *(instances(False), upgrade("RollingForward", self.LATER)),
            instances(True),
        ]
        arm, outcome = run([*written, *watched], rollout=OUTDATED)
        assert arm.lines == [GET, ROLLING, PATCH, POLL, GET, INSTANCES, ROLLING, INSTANCES, ROLLING, INSTANCES]
        assert arm.sent("POST") == []
        assert outcome.updated == ("web_0",)

    @pytest.mark.parametrize("code", ["Faulted", "Cancelled"])
    def test_given_the_upgrade_breaks_off_then_the_error_has_the_reason(self, code: str) -> None:
        script = [ok(scale_set(mode="Rolling")), refused(404, "NotFound"), accepted(), ended(), self.SET]
        said, outcome, _arm = fails([*script, instances(False), upgrade(code, self.LATER, "too many are unhealthy")])
        assert "is %s: too many are unhealthy" % code in said
        assert outcome.outdated == ("web_0",)

    @pytest.mark.parametrize("latest", [refused(404, "NotFound"), upgrade("Completed")])
    def test_given_nobody_rolls_anything_out_then_it_does_not_wait_forever(self, latest: Step) -> None:
        said, _outcome, _arm = fails([self.SET, instances(False), latest])
        assert "no rolling upgrade is under way" in said


def described(*script: Step) -> tuple[ScriptedArm, dict[str, Any]]:
    with dialogue(*script) as (arm, client):
        (found,) = describe_all(client, "shop", "web")
    return arm, found


class TestInfo:
    def test_given_there_is_no_such_group_then_that_is_not_an_empty_list(self) -> None:
        with (
            dialogue(refused(404, "ResourceGroupNotFound")) as (_arm, client),
            pytest.raises(NotFound, match="404 ResourceGroupNotFound"),
        ):
            describe_all(client, "shop")

    def test_given_instances_may_not_be_read_then_the_error_names_the_role_that_grants_it(self) -> None:
        needs = "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read here. The role Reader"
        with (
            dialogue(ON, refused(403, "AuthorizationFailed")) as (_arm, client),
            pytest.raises(ArmError, match="lacks the permission " + needs),
        ):
            describe_all(client, "shop", "web")

    def test_given_one_set_then_it_says_what_a_terminate_would_get_on_each_instance(self) -> None:
        arm, found = described(ON, instances(True, False))
        assert arm.lines == [GET, INSTANCES]
        assert found["terminate_notification"] == {"enabled": True, "not_before_timeout": "PT10M"}
        assert found["resource_group"] == "shop"
        assert found["outdated_instances"] == ["web_1"]
        assert [one["terminate"] for one in found["instances"]] == [
            {"announced": True, "not_before_timeout": "PT10M", "reason": None},
            {
                "announced": None,
                "not_before_timeout": None,
                "reason": "the instance still has an older model, which Azure does not show",
            },
        ]

    def test_given_an_instance_that_shows_its_own_profile_then_that_counts(self) -> None:
        own = instance(0, False)
        own["properties"]["scheduledEventsProfile"] = {
            "terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT7M"}
        }
        _arm, found = described(ON, ok({"value": [own]}))
        assert found["instances"][0]["terminate"] == {"announced": True, "not_before_timeout": "PT7M", "reason": None}

    def test_given_spot_then_what_becomes_of_it_is_reported_and_that_nothing_can_be_announced(self) -> None:
        resource = scale_set(True, priority="Spot")
        resource["properties"]["virtualMachineProfile"]["evictionPolicy"] = "Delete"
        resource["properties"]["spotRestorePolicy"] = {"enabled": True, "restoreTimeout": "PT1H"}
        _arm, found = described(ok(resource), instances(True))
        assert (found["priority"], found["eviction_policy"], found["can_announce"]) == ("Spot", "Delete", False)
        assert found["spot_restore_policy"] == {"enabled": True, "restore_timeout": "PT1H"}
        (one,) = found["instances"]
        assert (one["priority"], one["eviction_policy"]) == ("Spot", "Delete")

    def test_given_a_regular_set_then_there_is_nothing_to_evict_and_a_deletion_can_be_announced(self) -> None:
        _arm, found = described(ok(scale_set(True)), instances(True))
        assert (found["priority"], found["eviction_policy"], found["can_announce"]) == ("Regular", None, True)
        assert found["spot_restore_policy"] is None
        assert (found["instances"][0]["priority"], found["instances"][0]["eviction_policy"]) == ("Regular", None)

    @pytest.mark.parametrize(
        ("group", "path"),
        [
            ("shop", SETS),
            (None, "/subscriptions/%s/providers/Microsoft.Compute/virtualMachineScaleSets" % SUBSCRIPTION),
        ],
    )
    def test_given_no_name_then_all_of_the_group_or_subscription_are_read(self, group: str | None, path: str) -> None:
        with dialogue(ok({"value": [scale_set(), scale_set(True)]})) as (arm, client):
            found = describe_all(client, group, None, with_instances=False)
        assert arm.lines == ["GET %s%s" % (path, VERSION)]
        assert [one["terminate_notification"]["enabled"] for one in found] == [False, True]
        assert "instances" not in found[0]

    def test_given_subscriptions_then_the_sets_of_each_are_read(self) -> None:
        others = ["5b2f6a3c-1111-4c4d-9a51-00000000000%d" % number for number in (2, 3)]
        with dialogue(ok({"value": [scale_set()]}), ok({"value": []})) as (arm, client):
            found = describe_all(client, "shop", None, False, others)
        group = "/resourceGroups/shop/providers/Microsoft.Compute/virtualMachineScaleSets"
        assert arm.lines == ["GET /subscriptions/%s%s%s" % (one, group, VERSION) for one in others]
        assert len(found) == 1

    REFUSED = refused(400, "OperationNotAllowed", "Operation 'VirtualMachineScaleSets.instanceView.GET' is not allowed")

    def test_given_a_flexible_set_with_repairs_then_its_view_is_not_asked_for_and_the_state_is_unknown(self) -> None:
        policy = {"enabled": True, "gracePeriod": "PT10M"}
        rows = [flexible(automaticRepairsPolicy=policy), scale_set()]
        with dialogue(ok({"value": rows})) as (_arm, client):
            first, second = describe_all(client, "shop", None, False)
        assert (first["error"], first["automatic_repairs"]["state"]) == (None, "unknown")
        assert (second["error"], second["automatic_repairs"]["state"]) == (None, "off")

    def test_given_one_set_that_cannot_be_read_then_it_carries_its_error_and_the_others_are_reported(self) -> None:
        rows = {"value": [scale_set(), scale_set(True)]}
        with dialogue(ok(rows), refused(400, "BadRequest", "broken"), instances(True)) as (_arm, client):
            broken, sound = describe_all(client, "shop")
        assert "400 BadRequest: broken" in broken["error"]
        assert (broken["name"], broken["terminate_notification"]["enabled"]) == ("web", False)
        assert not {"instances", "outdated_instances"} & set(broken)
        assert (sound["error"], [one["name"] for one in sound["instances"]]) == (None, ["web_0"])

    def test_given_the_set_that_was_named_cannot_be_read_then_that_is_an_error(self) -> None:
        with (
            dialogue(ok(scale_set()), self.REFUSED) as (_arm, client),
            pytest.raises(ArmError, match="OperationNotAllowed"),
        ):
            describe_all(client, "shop", "web")

    @pytest.mark.parametrize(
        ("tags", "count"),
        [
            ({}, 2),
            ({"team": "shop"}, 1),
            ({"TEAM": "shop", "Tier": "1"}, 1),
            ({"team": "Shop"}, 0),
            ({"team": None}, 2),
            ({"team": "shop", "other": None}, 0),
            ({"Tier": 1}, 1),
        ],
    )
    def test_given_tags_then_only_sets_that_have_all_of_them_are_described(
        self, tags: dict[str, Any], count: int
    ) -> None:
        rows = [{**scale_set(), "tags": {"Team": "shop", "tier": "1"}}, {**scale_set(), "tags": {"team": "other"}}]
        with dialogue(ok({"value": rows})) as (_arm, client):
            assert len(describe_all(client, "shop", None, False, tags=tags)) == count


def flexible(mode: str = "Manual", **more: Any) -> dict[str, Any]:
    """The same set, flexible, with notifications of ten minutes."""
    resource = scale_set(True, "PT10M", mode=mode, priority=more.pop("priority", None))
    resource["properties"].update(orchestrationMode="Flexible", **more)
    return resource


def member(name: str, timeout: str | None = "PT10M", enable: bool = True, **more: Any) -> dict[str, Any]:
    """A VM that is in it; `timeout` None: without a profile."""
    properties: dict[str, Any] = {
        "provisioningState": "Succeeded",
        "instanceView": {"statuses": [{"code": "PowerState/running"}]},
        **more,
    }
    if timeout is not None:
        properties["scheduledEventsProfile"] = {
            "terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": timeout}
        }
    return {"id": "%s/virtualMachines/%s" % (COMPUTE, name), "name": name, "properties": properties}


def members(*vms: dict[str, Any]) -> Step:
    return ok({"value": list(vms)})


FILTER = "%24filter=" + quote("'virtualMachineScaleSet/id' eq '" + WEB + "'", safe="")
MEMBERS = "GET %s/virtualMachines%s&%s" % (COMPUTE, VERSION, FILTER)
MEMBERS_WITH_STATE = "GET %s/virtualMachines%s&%%24expand=instanceView&%s" % (COMPUTE, VERSION, FILTER)
MIX = {"baseRegularPriorityCount": 1, "regularPriorityPercentageAboveBase": 50}


class TestFlexible:
    def test_given_members_then_each_is_reported_what_its_own_profile_says(self) -> None:
        vms = members(member("web_a"), member("web_b", "PT7M"), member("web_c", enable=False), member("web_d", None))
        arm, found = described(ok(flexible()), vms)
        assert arm.lines == [GET, MEMBERS]
        assert [(one["instance_id"], one["terminate"]["announced"]) for one in found["instances"]] == [
            ("web_a", True),
            ("web_b", True),
            ("web_c", False),
            ("web_d", False),
        ]
        assert found["instances"][1]["terminate"]["not_before_timeout"] == "PT7M"
        assert found["outdated_instances"] == ["web_b", "web_c", "web_d"]

    def test_given_a_mixed_set_then_only_its_spot_members_get_no_notice(self) -> None:
        resource = flexible(priority="Spot", priorityMixPolicy=MIX)
        vms = members(member("web_a", priority="Regular"), member("web_b", priority="Spot"), member("web_c"))
        _arm, found = described(ok(resource), vms)
        assert [one["terminate"]["announced"] for one in found["instances"]] == [True, False, True]
        assert found["outdated_instances"] == []
        assert found["can_announce"]
        assert [one["eviction_policy"] for one in found["instances"]] == [None, "Deallocate", None]

    def test_given_a_mixed_set_then_the_warning_is_of_some_of_its_instances(self) -> None:
        _unused, outcome = run([ok(flexible(priority="Spot", priorityMixPolicy=MIX))])
        assert outcome.warnings[0].startswith("Some instances of web are Spot, for which Azure has no terminate")

    def test_given_members_without_the_notification_then_they_are_updated_by_name(self) -> None:
        script = [
            ok(flexible()),
            members(member("web_a"), member("web_b", None)),
            members(member("web_a"), member("web_b", None)),
            Step(204),
            members(member("web_a"), member("web_b")),
        ]
        arm, outcome = run(script, rollout=OUTDATED)
        assert arm.lines == [GET, MEMBERS, MEMBERS_WITH_STATE, UPGRADE, MEMBERS_WITH_STATE]
        assert arm.sent("POST") == [b'{"instanceIds":["web_b"]}']
        assert (outcome.changed, outcome.updated, outcome.outdated) == (True, ("web_b",), ())

    def test_given_check_mode_when_the_model_would_change_then_those_that_have_it_already_are_not_named(self) -> None:
        script = [ok(flexible()), members(member("web_a", "PT5M"), member("web_b"))]
        _arm, outcome = run(script, DesiredState(True, 300), OUTDATED, dry_run=True)
        assert (outcome.changed, outcome.updated) == (True, ("web_b",))

    def test_given_a_set_without_a_model_then_no_member_lags_behind_it(self) -> None:
        resource = flexible()
        del resource["properties"]["virtualMachineProfile"]
        _arm, found = described(ok(resource), members(member("web_a"), member("web_b", None)))
        assert found["outdated_instances"] == []
        assert [one["terminate"]["announced"] for one in found["instances"]] == [True, False]

    def test_given_the_notification_is_off_then_its_timeout_makes_no_member_outdated(self) -> None:
        resource = flexible()
        profile = resource["properties"]["virtualMachineProfile"]["scheduledEventsProfile"]
        profile["terminateNotificationProfile"]["enable"] = False
        vms = members(member("web_a", None), member("web_b", "PT5M", enable=False))
        _arm, found = described(ok(resource), vms)
        assert found["outdated_instances"] == []


class TestProtected:
    def behind(self) -> Step:
        """Instance 0 is at the latest model, 1 is protected and is not."""
        one = instance(1, False)
        one["properties"]["protectionPolicy"] = {"protectFromScaleSetActions": True, "protectFromScaleIn": True}
        return ok({"value": [instance(0, True), one]})

    @pytest.mark.parametrize("mode", ["Automatic", "Rolling"])
    def test_given_azure_updates_then_nobody_waits_for_it_and_it_is_named(self, mode: str) -> None:
        _arm, outcome = run([ok(scale_set(True, "PT10M", mode=mode)), self.behind()], rollout=OUTDATED)
        assert (outcome.outdated, outcome.protected, outcome.changed) == ((), ("web_1",), False)

    def test_given_it_is_updated_by_hand_then_it_is_left_alone_and_named(self) -> None:
        arm, outcome = run([ON, self.behind()], rollout=OUTDATED)
        assert arm.lines == [GET, INSTANCES]
        assert (outcome.outdated, outcome.protected, outcome.changed) == ((), ("web_1",), False)

    def test_given_all_shall_be_updated_by_hand_then_it_is_left_alone_and_named(self) -> None:
        script = [ON, self.behind(), Step(204), self.behind()]
        arm, outcome = run(script, rollout=Rollout("all"))
        assert arm.sent("POST") == [b'{"instanceIds":["0"]}']
        assert (outcome.updated, outcome.outdated, outcome.protected) == (("web_0",), (), ("web_1",))

    def test_given_check_mode_when_it_would_be_updated_by_hand_then_it_is_named(self) -> None:
        script = [ON, self.behind()]
        _arm, outcome = run(script, rollout=OUTDATED, dry_run=True)
        assert (outcome.updated, outcome.protected, outcome.changed) == ((), ("web_1",), False)

    def test_given_the_user_includes_it_then_it_is_one_like_the_others(self) -> None:
        script = [ON, self.behind(), self.behind(), Step(204), instances(True, True)]
        arm, outcome = run(script, rollout=Rollout("outdated", with_protected=True))
        assert arm.sent("POST") == [b'{"instanceIds":["1"]}']
        assert (outcome.updated, outcome.protected) == (("web_1",), ())

    def test_given_info_then_it_is_named(self) -> None:
        _arm, found = described(ON, self.behind())
        assert found["protected_instances"] == ["web_1"]


def test_given_no_subscription_then_the_only_one_is_taken() -> None:
    with dialogue(ok({"value": [{"subscriptionId": SUBSCRIPTION}]}), ON, subscription_id=None) as (arm, client):
        notify(client, "shop", "web", TEN_MINUTES)
    assert arm.lines == ["GET /subscriptions?api-version=2022-12-01", GET]


def test_given_no_subscription_and_several_then_it_asks_for_one() -> None:
    script = ok({"value": [{"subscriptionId": "a"}, {"subscriptionId": "b"}]})
    with (
        dialogue(script, subscription_id=None) as (_arm, client),
        pytest.raises(ArmError, match="sees 2 subscriptions, not one: set it"),
    ):
        notify(client, "shop", "web", TEN_MINUTES)


@pytest.mark.parametrize("status", [403, 404])
def test_given_no_subscription_and_no_right_to_list_them_then_it_asks_for_one(status: int) -> None:
    with (
        dialogue(refused(status, "AuthorizationFailed", "The client may not."), subscription_id=None) as (_arm, client),
        pytest.raises(
            ArmError, match=r"^subscription_id is not set, .*: set it, or AZURE_SUBSCRIPTION_ID\. GET .*may not"
        ),
    ):
        notify(client, "shop", "web", TEN_MINUTES)


def test_given_names_with_special_characters_then_they_are_escaped() -> None:
    with dialogue(ON) as (arm, client):
        notify(client, "shop (1)", "web", TEN_MINUTES)
    assert arm.lines == [GET.replace(GROUP, GROUP + "%20%281%29")]
