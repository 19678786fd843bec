# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do the modules make of answers that Azure was recorded to give?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import (
    eviction,
    gateway,
    lifecycle_hook_events,
    lifecycle_hooks,
    membership,
    repairs,
    resource_graph,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.maintenance import redeploy
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.notification import (
    DesiredState,
    Notification,
    Notifications,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.permissions import is_permitted
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.scale_set import (
    Rollout,
    ScaleSetChange,
    describe_all,
    notify,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.target import Target
from ansible_collections.foghorn.azure_events.tests import recorded

from .scripted_arm import COMPUTE, SUBSCRIPTION, FakeTime, Step, dialogue, ok

SET = COMPUTE + "/virtualMachineScaleSets/web"


def played(name: str) -> list[Step]:
    """The recorded answers, with links that lead back here."""
    return [
        Step(
            one["status"],
            one["body"],
            {key: value.replace("{operation}", "{base}/operation?p=1") for key, value in one["headers"].items()},
        )
        for one in recorded.answers(name)
    ]


def web(enable: bool = True, mode: str = "Uniform", **more: Any) -> Step:
    profile = {"terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": "PT5M"}}
    model = {"scheduledEventsProfile": profile}
    return ok(
        {"id": SET, "name": "web", "properties": {"orchestrationMode": mode, "virtualMachineProfile": model, **more}}
    )


def set_notification(*script: Step, enable: bool = True, which: str = "none") -> tuple[ScaleSetChange, FakeTime]:
    time = FakeTime()
    with dialogue(*script, time=time) as (_arm, client):
        return notify(client, "shop", "web", DesiredState(enable), Rollout(which)), time


def test_given_the_notification_is_off_when_it_is_turned_off_then_that_is_what_was_wanted() -> None:
    (off,) = played("notification_off")
    outcome, _time = set_notification(web(), off, enable=False)
    assert (outcome.changed, outcome.after) == (True, Notifications())


def test_given_a_flexible_set_when_its_repairs_are_suspended_then_the_refusal_of_its_view_is_no_end() -> None:
    (refused,) = played("flexible_set_view")
    found = web(mode="Flexible", automaticRepairsPolicy={"enabled": True})
    with dialogue(refused, found, Step(200)) as (_arm, client):
        assert repairs.set_state(client, "shop", "web", repairs.SUSPENDED).before == repairs.UNKNOWN


def test_given_a_flexible_set_without_a_profile_when_it_is_turned_on_then_one_link_is_followed_to_its_end() -> None:
    found, written, ended, shown = played("flexible_set_enabled")
    with dialogue(found, written, ended, shown) as (arm, client):
        change = notify(client, "shop", "api", DesiredState(True, 300), Rollout("none"))
    assert (change.before, change.changed) == (Notifications(), True)
    assert change.after.terminate == Notification(True, 300)
    assert arm.lines[2] == "GET /operation?p=1"


def test_given_the_permissions_of_a_caller_then_they_are_read_as_azure_documents_them() -> None:
    (answer,) = recorded.answers("permissions")
    rows = answer["body"]["value"]
    assert is_permitted(rows, "Microsoft.Compute/virtualMachines/read")
    assert not is_permitted(rows, "Microsoft.Compute/virtualMachines/write")


def test_given_an_instance_is_scaled_in_when_it_is_updated_then_it_is_gone() -> None:
    rows = ok({"value": [{"instanceId": "857", "name": "web_857", "properties": {"latestModelApplied": False}}]})
    outcome, _time = set_notification(web(), rows, rows, *played("scaled_in"), rows, which="outdated")
    assert (outcome.gone, outcome.outdated) == (("web_857",), ())


def test_given_suspend_is_answered_with_both_links_then_it_is_followed_to_its_end() -> None:
    running = ok({"orchestrationServices": [{"serviceName": "AutomaticRepairs", "serviceState": "Running"}]})
    with dialogue(running, *played("suspend_repairs")) as (arm, client):
        change = repairs.set_state(client, "shop", "web", repairs.SUSPENDED)
    assert (change.changed, change.after) == (True, repairs.SUSPENDED)
    assert arm.lines[2:4] == ["GET /operation?p=1", "GET /operation?p=1&monitor=true"]


def test_given_a_spot_instance_when_it_is_evicted_then_no_content_is_the_answer() -> None:
    instance, evicted, _gone = played("eviction")
    with dialogue(instance, evicted) as (_arm, client):
        eviction.evict(client, Target("shop", "1", "spot"))


def test_given_a_hook_is_added_then_it_is_what_the_set_shows_in_the_end() -> None:
    script = played("lifecycle_hook_added")
    hook = {"type": "UpgradeAutoOSScheduling", "wait_duration": "PT8H"}
    with dialogue(*script) as (_arm, client):
        change = lifecycle_hooks.set_hooks(client, "shop", "web", lifecycle_hooks.DesiredHooks((hook,)))
    assert (change.before, change.after) == ([], [{**hook, "default_action": "Approve"}])
    assert "Manual" in change.obstacles[0]


def test_given_a_set_about_which_nothing_is_asked_then_nothing_is_answered() -> None:
    with dialogue(*played("lifecycle_hook_events_none")) as (_arm, client):
        change = lifecycle_hook_events.answer_event(
            client, "shop", "web", None, lifecycle_hook_events.EventAnswer(lifecycle_hook_events.APPROVED)
        )
    assert (change.changed, change.reason) == (False, "no event is listed")


@pytest.mark.parametrize("name", ["linked_authorization_failed", "policy_refused"])
def test_given_a_refusal_that_no_role_of_ours_would_lift_then_azures_message_is_reported_whole(name: str) -> None:
    (answer,) = recorded.answers(name)
    with pytest.raises(ArmError) as error:
        set_notification(web(False), *played(name))
    assert answer["body"]["error"]["message"] in str(error.value)


def test_given_too_many_requests_without_an_envelope_then_it_waits_for_retry_after() -> None:
    _outcome, time = set_notification(*played("too_many_requests"), web())
    assert time.slept == [7.0]


def test_given_the_limit_of_the_subscription_is_reached_then_it_waits_for_retry_after() -> None:
    _outcome, time = set_notification(*played("subscription_throttled"), web())
    assert time.slept == [6.0]


def test_given_a_list_of_flexible_sets_with_and_without_a_model_then_all_are_described_and_nothing_else_is_asked() -> (
    None
):
    with dialogue(*played("flexible_sets_listed")) as (_arm, client):
        api, bare = describe_all(client, "shop", None, False)
    assert (api["name"], api["terminate_notification"]["enabled"], api["error"]) == ("api", True, None)
    assert (bare["name"], bare["has_model"], bare["error"]) == ("bare", False, None)


def test_given_an_operation_is_followed_by_azure_async_operation_alone_then_it_is_followed_to_its_end() -> None:
    with dialogue(*played("operation_alone")) as (arm, client):
        redeploy(client, Target("shop", "db"))
    assert arm.lines[1:] == ["GET /operation?p=1"]


def test_given_a_pool_of_addresses_when_a_vm_leaves_it_then_the_other_entry_is_sent_back_without_what_azure_adds() -> (
    None
):
    written, ended, shown = played("pool_by_address")
    vm = COMPUTE + "/virtualMachines/db"
    pool = shown.content["id"]
    machine = ok({"properties": {"networkProfile": {"networkInterfaces": [{"id": vm + "-nic"}]}}})
    nic = ok({"properties": {"ipConfigurations": [{"name": "ip", "properties": {"privateIPAddress": "10.0.0.4"}}]}})
    order = membership.read_order({"vm_id": vm, "pools": [pool], "method": "membership", "remove": True})
    with dialogue(machine, nic, shown, shown, written, ended, shown) as (arm, client):
        change = membership.carry_out(client, order)
    (left,) = change.before
    assert left["entry"] == shown.content["properties"]["loadBalancerBackendAddresses"][0]
    (body,) = map(json.loads, arm.sent("PUT"))
    (sent,) = body["properties"]["loadBalancerBackendAddresses"]
    assert (sent["name"], sorted(sent["properties"])) == ("two", ["ipAddress", "virtualNetwork"])

    restore = membership.read_order({"restore": change.before})
    with dialogue(ok({"properties": {"loadBalancerBackendAddresses": []}}), written, ended, shown) as (arm, client):
        assert membership.carry_out(client, restore).changed
    (body,) = map(json.loads, arm.sent("PUT"))
    (sent,) = body["properties"]["loadBalancerBackendAddresses"]
    assert (sorted(sent), sent["properties"]["ipAddress"]) == (["name", "properties"], "10.0.0.4")


def test_given_a_subscription_that_cannot_be_seen_when_events_are_asked_for_then_the_error_says_what_to_check() -> None:
    with (
        dialogue(*played("subscription_unseen")) as (_arm, client),
        pytest.raises(
            ArmError, match=r"Given: '.*dead'\. Check the subscription, and that the sign-in has a role in it"
        ),
    ):
        resource_graph.list_events(client, ["5b2f6a3c-0000-4c4d-9a51-00000000dead"])


def test_given_an_operation_is_followed_by_location_alone_then_its_result_is_what_is_read_there() -> None:
    gate = "/subscriptions/%s/resourceGroups/shop/providers/Microsoft.Network/applicationGateways/gate" % SUBSCRIPTION
    record = {"kind": "address", "pool": gate + "/backendAddressPools/apps", "entry": {"ipAddress": "10.0.0.4"}}
    with dialogue(*played("location_alone")) as (arm, client):
        still = gateway._wait(gateway._Gateways(client), [record], out=False, seconds=60)
    assert arm.lines[1:] == ["GET /operation?p=1"]
    assert still == []
