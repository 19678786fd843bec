# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of many VMs does Azure list events for, and of which VMs does its silence mean nothing?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.announcements import (
    Announcements,
    find_announcements,
    read_vm_ids,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, FakeTime, ScriptedArm, Step, client_of, dialogue, ok, refused

ALL = ok({"value": [{"actions": ["*"], "notActions": []}]})
VM = f"{COMPUTE}/virtualMachines/db"
IN_SET = f"{COMPUTE}/virtualMachines/flex_1a2b"
INSTANCE = f"{COMPUTE}/virtualMachineScaleSets/web/virtualMachines/7"


def event(scope: str, *vms: str, **properties: Any) -> dict[str, Any]:
    """A row of an event."""
    event_id = "-".join(map(str, vms)) or "E"
    listed = {"EventId": event_id, "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": list(vms)}
    return {
        "id": f"{scope}/providers/Microsoft.Maintenance/scheduledevents/{event_id}",
        "name": event_id,
        "properties": listed | properties,
    }


def ask(events: list[Any], policies: list[Any], vm_ids: list[str], permissions: Step = ALL) -> Announcements:
    """Ask an Azure that answers like this."""
    with ScriptedArm(ok({"data": events}), permissions, ok({"data": policies})) as arm:
        with client_of(arm, FakeTime()) as client:
            found = find_announcements(client, vm_ids)
        scopes = [json.loads(body)["subscriptions"] for body in arm.sent("POST")]
    assert scopes == [[COMPUTE.split("/")[2]]] * 2
    return found


def test_given_events_of_a_vm_and_of_an_instance_then_each_is_found_by_its_id_in_whatever_case() -> None:
    publish = {"publishes": True, "scaleSet": None, "availabilitySet": None}
    found = ask(
        [
            event(VM.lower(), "DB"),
            event(f"{COMPUTE}/virtualMachineScaleSets/WEB", "web_7", "web_8"),
            event(VM, "db", EventStatus="Completed", EventId="over"),
            # The same name, in another resource group.
            event(VM.replace("/resourceGroups/shop", "/resourceGroups/other"), "flex_1a2b"),
        ],
        [
            {"id": VM, **publish},
            {"id": f"{COMPUTE}/virtualMachineScaleSets/web", **publish},
            {"id": f"{COMPUTE}/virtualMachineScaleSets/flex", **publish},
            {"id": IN_SET, "publishes": None, "scaleSet": f"{COMPUTE}/virtualMachineScaleSets/FLEX"},
        ],
        [VM, INSTANCE, IN_SET],
    )

    assert {vm_id: [one.event.event_id for one in events] for vm_id, events in found.events.items()} == {
        VM: ["DB"],
        INSTANCE: ["web_7-web_8"],
    }
    assert found.unlisted == {}


def test_given_an_event_that_cannot_be_read_then_it_may_hit_all_of_its_resource_group() -> None:
    found = ask([event(VM, "db", Resources="db")], [{"id": VM, "publishes": True}], [VM])

    assert list(found.events) == [VM]


@pytest.mark.parametrize("policy", [None, False, "false", "yes"])
def test_given_a_policy_that_does_not_publish_then_silence_means_nothing(policy: Any) -> None:
    found = ask([], [{"id": VM, "publishes": policy}], [VM])

    assert found == Announcements({}, {VM: "its scheduledEventsPolicy does not publish its events"})


def test_given_a_set_that_does_not_publish_then_its_members_do_not_whatever_they_say_themselves() -> None:
    found = ask(
        [],
        [
            {"id": IN_SET, "publishes": True, "availabilitySet": f"{COMPUTE}/availabilitySets/old"},
            {"id": f"{COMPUTE}/availabilitySets/OLD", "publishes": False},
        ],
        [IN_SET],
    )

    assert list(found.unlisted) == [IN_SET]


def test_given_what_resource_graph_does_not_know_then_silence_means_nothing() -> None:
    found = ask([], [], [VM, INSTANCE])

    assert [why.split(" know ")[0] for why in found.unlisted.values()] == ["Resource Graph does not"] * 2


def test_given_no_right_to_see_events_then_silence_means_nothing() -> None:
    reader = ok({"value": [{"actions": ["*/read"], "notActions": []}]})

    found = ask([], [{"id": VM, "publishes": True}], [VM], reader)
    unknown = ask([], [{"id": VM, "publishes": True}], [VM], refused(403, "AuthorizationFailed"))

    assert "lacks the role Scheduled Events Contributor on /subscriptions/" in found.unlisted[VM]
    assert "it is not known whether the sign-in may read its events" in unknown.unlisted[VM]


def test_given_two_subscriptions_then_silence_means_nothing_in_that_whose_events_may_not_be_seen() -> None:
    other = VM.replace(COMPUTE.split("/")[2], "other")
    reader = ok({"value": [{"actions": ["*/read"]}]})
    policies = ok({"data": [{"id": VM, "publishes": True}, {"id": other, "publishes": True}]})

    with dialogue(ok({"data": []}), ALL, reader, policies) as (_arm, client):
        found = find_announcements(client, [VM, other])

    assert list(found.unlisted) == [other]


def test_given_no_vms_then_nobody_is_asked() -> None:
    with dialogue() as (_arm, client):
        assert find_announcements(client, []) == Announcements({}, {})


@pytest.mark.parametrize("vm_id", ["web_0", "/subscriptions/s/resourceGroups/rg"])
def test_given_input_that_is_no_id_then_it_is_refused_with_its_name(vm_id: str) -> None:
    with pytest.raises(OptionError, match=r"vm_ids: .*is not the id of a VM"):
        read_vm_ids({"vm_ids": [vm_id]})
