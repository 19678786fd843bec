# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does the lookup do with Resource Graph?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.inventory import join, look_up
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.resource_graph import (
    LISTED_STATUSES,
    ListedEvent,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import (
    Selection,
    read_selection,
)

from .scripted_arm import ScriptedArm, ok, token

VARIABLE = "azure_vm_name"
SHOP = "11111111-2222-3333-4444-555555555555"


def listed(*resources: str) -> ListedEvent:
    return ListedEvent(Event("A", "Reboot", "Scheduled", resources), "/the/resource", "westeurope", ("1",))


def hosts_of(event: ListedEvent, hosts: dict[str, dict[str, Any]]) -> list[str]:
    (found,) = join([event], hosts, VARIABLE)
    names: list[str] = found["inventory_hosts"]
    return names


def test_given_hosts_with_the_variable_then_they_are_found_by_it_without_case() -> None:
    hosts = {"a.example": {VARIABLE: "WEB_1"}, "b.example": {VARIABLE: "web_10"}}
    assert hosts_of(listed("web_1", "elsewhere_0"), hosts) == ["a.example"]


def test_given_a_host_without_the_variable_then_its_own_name_is_used() -> None:
    assert hosts_of(listed("web_1"), {"web_1": {}, "web_2": {VARIABLE: None}}) == ["web_1"]


def test_given_a_host_whose_variable_has_another_name_then_its_own_name_is_ignored() -> None:
    assert hosts_of(listed("web_1"), {"web_1": {VARIABLE: "db"}}) == []


def test_given_two_hosts_for_one_vm_then_both_are_named() -> None:
    assert hosts_of(listed("web_1"), {"x": {VARIABLE: "web_1"}, "y": {VARIABLE: "web_1"}}) == ["x", "y"]


def test_given_a_host_whose_name_only_looks_like_a_vms_then_it_is_not_named() -> None:
    # The kelvin sign: its lower case is an ordinary k.
    assert hosts_of(listed("disk_1"), {"x": {VARIABLE: "dis\u212a_1"}, "y": {VARIABLE: "DISK_1"}}) == ["y"]


def in_group(group: str, name: str = "web_0") -> str:
    return "/subscriptions/s/resourceGroups/%s/providers/Microsoft.Compute/virtualMachines/%s" % (group, name)


STAGING, PRODUCTION = (
    ListedEvent(Event(group, "Reboot", "Scheduled", ("web_0",)), in_group(group)) for group in ("staging", "production")
)


def test_given_hosts_with_ids_then_each_is_found_by_its_own_event_only() -> None:
    hosts = {"s.example": {VARIABLE: in_group("staging")}, "p.example": {VARIABLE: in_group("PRODUCTION", "WEB_0")}}
    found = join([STAGING, PRODUCTION], hosts, VARIABLE)
    assert [one["inventory_hosts"] for one in found] == [["s.example"], ["p.example"]]


def test_given_a_host_with_a_name_that_two_vms_have_then_it_is_refused_and_both_are_named() -> None:
    with pytest.raises(OptionError) as error:
        join([STAGING, PRODUCTION], {"web_0": {}}, VARIABLE)
    assert "%s and %s" % (in_group("production"), in_group("staging")) in str(error.value)
    assert "Set inventory_variable to a variable that holds" in str(error.value)


def test_given_a_host_with_an_id_that_is_of_no_vm_then_the_error_names_host_and_variable() -> None:
    with pytest.raises(OptionError, match=r"^azure_vm_name of the host db: '/db' is not the id of a VM"):
        join([STAGING], {"db": {VARIABLE: "/db"}}, VARIABLE)


def test_given_two_vms_of_a_name_that_no_host_has_then_nothing_is_ambiguous() -> None:
    found = join([STAGING, PRODUCTION], {"db": {}}, VARIABLE)
    assert [one["inventory_hosts"] for one in found] == [[], []]


def test_given_nothing_is_announced_then_no_host_is_checked() -> None:
    class Untouched(dict[str, Any]):
        def __iter__(self) -> Any:
            raise AssertionError("each look at a host costs a templating of its variables")

    assert join([], Untouched(web_1={}), VARIABLE) == []


def test_given_an_event_then_it_is_seen_from_no_vm_and_has_its_resource() -> None:
    (found,) = join([listed("web_1")], {}, VARIABLE)
    assert "affects_this_vm" not in found
    assert "this_vm_leads" not in found
    assert (found["resource_id"], found["location"], found["zones"]) == ("/the/resource", "westeurope", ["1"])


def test_given_a_choice_by_this_vm_then_it_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(OptionError, match="affecting: 'this_vm' is relative to the VM that asks"):
        look_up({}, Selection(affecting="this_vm"), (), {}, pytest.fail)


def test_given_no_subscription_then_all_that_the_sign_in_may_see_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"auth_source": "msi", "timeout": 60, "finished": False, "inventory_variable": VARIABLE}
    with ScriptedArm(token(), ok({"data": []})) as arm:
        monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        assert look_up({**options, "base_url": arm.url}, Selection(), (), {}, pytest.fail) == []
    assert [list(json.loads(body)) for body in arm.sent("POST")] == [["query"]]


@pytest.mark.parametrize(
    ("statuses", "found"),
    [
        (None, ["A"]),
        (["completed"], ["B"]),
        (["scheduled", "canceled"], ["A", "C"]),
    ],
)
def test_given_a_status_of_events_that_are_over_then_those_that_have_it_are_returned(
    monkeypatch: pytest.MonkeyPatch, statuses: list[str] | None, found: list[str]
) -> None:
    options = {"auth_source": "msi", "timeout": 60, "finished": False, "inventory_variable": VARIABLE}
    rows = [
        {
            "id": in_group("shop") + "/providers/Microsoft.Maintenance/scheduledevents/" + event_id,
            "properties": {"EventId": event_id, "EventType": "Reboot", "EventStatus": status, "Resources": ["web_0"]},
        }
        for event_id, status in (("A", "Scheduled"), ("B", "Completed"), ("C", "Canceled"))
    ]
    with ScriptedArm(token(), ok({"data": rows})) as arm:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        selection = read_selection({"event_statuses": statuses}, LISTED_STATUSES)
        events = look_up({**options, "base_url": arm.url, "subscriptions": [SHOP]}, selection, (), {}, pytest.fail)
    assert sorted(event["event_id"] for event in events) == found


def test_given_a_vm_that_resource_graph_does_not_know_then_that_is_an_error_and_not_an_empty_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"auth_source": "msi", "timeout": 60, "finished": False, "inventory_variable": VARIABLE}
    nothing = ok({"data": []})
    with ScriptedArm(token(), nothing, nothing, nothing) as arm:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        given = {**options, "base_url": arm.url, "subscriptions": [SHOP]}
        with pytest.raises(OptionError, match=r"^_terms: Azure Resource Graph knows no VM nosuch in subscription"):
            look_up(given, Selection(), ["nosuch"], {}, pytest.fail)


def test_given_an_invalid_subscription_then_it_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(OptionError, match="subscriptions: 'shop' is not the id of a subscription"):
        look_up({"subscriptions": ["shop"]}, Selection(), (), {}, pytest.fail)


def test_given_a_management_group_then_the_events_of_all_subscriptions_below_it_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"auth_source": "msi", "timeout": 60, "finished": False, "inventory_variable": VARIABLE}
    below = ok({"data": [{"id": "/subscriptions/a", "subscriptionId": "a"}]})
    with ScriptedArm(token(), below, ok({"data": []})) as arm:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        given = {**options, "base_url": arm.url, "management_group": "shop"}
        assert look_up(given, Selection(), (), {}, pytest.fail) == []
    asked, read = (json.loads(body) for body in arm.sent("POST"))
    assert asked["managementGroups"] == ["shop"]
    assert read["subscriptions"] == ["a"]
