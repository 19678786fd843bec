# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events seen, published, approved and provoked from the controller, in one world with the VMs' own view."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .conftest import SUBSCRIPTION, Controller

Start = Callable[..., Controller]
GROUP = "/subscriptions/%s/resourceGroups/rg/providers/Microsoft.Compute" % SUBSCRIPTION
PUBLISHED = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}}


def publish(here: Controller, **target: str) -> dict[str, Any]:
    return here.module("scheduled_events_policy", resource_group="rg", publish=True, **target)


def body_of(written: tuple[str, str, Any]) -> Any:
    return json.loads(written[2]) if isinstance(written[2], str) else written[2]


def look_up(here: Controller, **options: Any) -> list[dict[str, Any]]:
    arguments = ", ".join("%s=%r" % item for item in options.items())
    query = "{{ query('foghorn.azure_events.scheduled_events', source='resource_graph', %s) }}" % arguments
    run = here.play({"ansible.builtin.set_fact": {"found": query}})
    assert "ansible_facts" in run.result, run.output
    found: list[dict[str, Any]] = run.result["ansible_facts"]["found"]
    return found


def test_given_a_scale_set_when_its_policy_is_set_then_it_is_written_back_whole_and_nothing_else_is_changed(
    controller: Start,
) -> None:
    here = controller()
    first, second = publish(here, scale_set="web"), publish(here, scale_set="web")
    assert (first["changed"], second["changed"]) == (True, False), (first, second)
    ((method, path, _unused),) = here.written()
    assert (method, path) == ("PUT", GROUP + "/virtualMachineScaleSets/web")
    body = body_of(here.written()[0])
    assert body["properties"]["scheduledEventsPolicy"] == {"scheduledEventsAdditionalPublishingTargets": PUBLISHED}
    assert body["sku"]["capacity"] == 3


def test_given_a_published_event_when_it_is_acknowledged_then_it_starts_on_the_vm(controller: Start) -> None:
    here = controller()
    publish(here, virtual_machine="db")
    event = here.azure.event("Reboot", "db")
    (found,) = look_up(here)
    assert found["event_id"] == event["event_id"]
    assert found["inventory_hosts"] == []
    acknowledge = {
        "foghorn.azure_events.scheduled_event_acknowledge": {"vm_names": ["db"], "wait": True, "timeout": 120}
    }
    refused, approved = here.play(
        {"foghorn.azure_events.scheduled_event_acknowledge": {"event_ids": [event["event_id"]], "vm_names": ["web_0"]}},
        acknowledge,
    ).results
    assert "which does not affect any of vm_names (web_0), but db" in refused["msg"]
    assert [one["event_id"] for one in approved["approved"]] == [event["event_id"]], approved
    (record,) = here.azure.status()["events"]
    assert record["status"] in ("Started", "Completed")


def test_given_two_events_when_azure_takes_one_approval_only_then_the_failure_says_which(controller: Start) -> None:
    here = controller()
    publish(here, virtual_machine="db")
    publish(here, scale_set="web")
    refused, event = here.azure.event("Reboot", "db"), here.azure.event("Reboot", "web_0")
    here.azure.arm_fault("error", error="forbidden", methods=["POST"], paths=["*/virtualMachines/db/*/acknowledge"])
    result = here.module("scheduled_event_acknowledge", vm_names=["db", "web_0"])
    assert result["failed"]
    assert result["changed"]
    assert "may_still_happen" not in result
    assert [one["event_id"] for one in result["approved"]] == [event["event_id"]]
    ((event_id, reason),) = [(one["event_id"], one["reason"]) for one in result["not_approved"]]
    assert event_id == refused["event_id"]
    assert "The role Scheduled Events Contributor grants it" in reason


def test_given_a_spot_instance_when_it_is_evicted_then_a_preempt_is_announced_to_it(controller: Start) -> None:
    here = controller()
    options = {"resource_group": "rg", "scale_set": "spot", "instance_id": "0"}
    refused = here.module("simulate_eviction", **options)
    assert "confirm: false, so nothing was done" in refused["msg"]
    assert here.azure.status()["events"] == []
    evicted = here.module("simulate_eviction", **options, confirm=True)
    assert evicted["changed"], evicted
    (record,) = here.azure.status()["events"]
    assert (record["event_type"], record["resources"]) == ("Preempt", ["spot_0"])
