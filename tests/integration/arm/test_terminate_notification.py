# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Terminate notifications, by playbook: on scale sets, on VMs, on many at once, and to the end of an instance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .conftest import CLIENT, SECRET, SUBSCRIPTION, TENANT, Controller

GROUP = "/subscriptions/%s/resourceGroups/rg/providers/Microsoft.Compute" % SUBSCRIPTION
WEB = GROUP + "/virtualMachineScaleSets/web"
ENABLE_10 = {
    "properties": {
        "virtualMachineProfile": {
            "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT10M"}}
        }
    }
}
ANNOUNCED = {"enabled": True, "not_before_timeout": "PT10M"}
Start = Callable[..., Controller]


def test_given_a_scale_set_when_it_is_enabled_changed_kept_and_disabled_then_azure_has_it_so(controller: Start) -> None:
    here = controller()
    enable: dict[str, Any] = {"resource_group": "rg", "name": "web", "not_before_timeout": "10m"}
    task = {"foghorn.azure_events.vmss_terminate_notification": enable}
    read = {"foghorn.azure_events.vmss_terminate_notification_info": {"resource_group": "rg", "name": "web"}}
    mistaken = {"foghorn.azure_events.vmss_terminate_notification": {**enable, "not_before_timeout": "PT20M"}}
    refused, predicted = here.play(mistaken, {**task, "check_mode": True, "diff": True}).results
    assert "'PT20M' is not a time from 5 to 15 minutes" in refused["msg"]
    assert predicted["changed"]
    assert predicted["diff"]["after"]["terminate_notification"] == ANNOUNCED
    assert here.written() == []
    run = here.play(
        task,
        task,
        read,
        {"foghorn.azure_events.vmss_terminate_notification": {**enable, "state": "disabled"}},
        {"foghorn.azure_events.vmss_terminate_notification": {**enable, "state": "disabled"}},
    )
    enabled, kept, found, disabled, still = run.results
    assert [one["changed"] for one in run.results] == [True, False, False, True, False], run.output
    assert enabled["after"]["terminate_notification"] == ANNOUNCED
    assert enabled["auth_source_used"] == "env"
    assert kept["before"] == kept["after"] == enabled["after"]
    assert found["scale_sets"][0]["outdated_instances"] == ["web_0", "web_1", "web_2"]
    assert disabled["after"]["terminate_notification"]["enabled"] is False
    first, second = here.written()
    assert first[:2] == ("PATCH", WEB)
    assert _body(first) == ENABLE_10
    assert _body(second)["properties"]["virtualMachineProfile"]["scheduledEventsProfile"] == {
        "terminateNotificationProfile": {"enable": False, "notBeforeTimeout": "PT10M"}
    }
    assert still["before"] == disabled["after"]


def test_given_a_vm_then_its_own_notification_is_set(controller: Start) -> None:
    here = controller()
    task = {
        "foghorn.azure_events.vm_terminate_notification": {
            "resource_group": "rg",
            "name": "db",
            "not_before_timeout": "00:10:00",
        }
    }
    first, second = here.play(task, task).results
    assert (first["changed"], second["changed"]) == (True, False)
    assert second["after"]["terminate_notification"] == ANNOUNCED
    (sent,) = here.written()
    assert sent[:2] == ("PATCH", GROUP + "/virtualMachines/db")
    assert _body(sent) == {
        "properties": {
            "scheduledEventsProfile": {"terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT10M"}}
        }
    }


def test_given_many_scale_sets_then_the_playbook_reports_them_all_and_fails_for_those_that_failed(
    controller: Start,
) -> None:
    here = controller()
    variables = {
        "terminate_notifications_resource_group": "rg",
        "terminate_notifications_sign_in": {"client_id": CLIENT, "secret": SECRET, "tenant": TENANT},
        "terminate_notifications_not_before_timeout": "10m",
        "terminate_notifications_update_instances": "outdated",
        "terminate_notifications_scale_sets": [
            {"name": "web", "batch_size": "3", "max_unavailable": "3"},
            {"name": "nowhere"},
        ],
        "terminate_notifications_vms": [{"name": "db", "not_before_timeout": "PT5M"}],
    }
    run = here.run_playbook("foghorn.azure_events.terminate_notifications", ("--extra-vars", json.dumps(variables)))
    assert run.code != 0
    assert "scale set rg/web: announced PT10M ahead (changed), updated: web_0 web_1 web_2" in run.output
    # While it works, and where AWX shows it: in the output itself.
    assert re.search(r"^\[web\]: .*, after \d+ s\. Ctrl-C ends this task; Azure continues", run.output, re.MULTILINE)
    assert "scale set rg/nowhere: FAILED: " in run.output
    assert "VM rg/db: announced PT5M ahead (changed)" in run.output
    assert "These failed: nowhere" in run.output
    variables["terminate_notifications_scale_sets"] = [{"name": "WEB", "resource_group": "rg"}]
    # Finds web as well, which the list has, and spot, which it does not have.
    variables["terminate_notifications_find"] = {"subscriptions": [SUBSCRIPTION], "resource_group": "rg"}
    again = here.run_playbook("foghorn.azure_events.terminate_notifications", ("--extra-vars", json.dumps(variables)))
    assert again.code == 0, again.output
    told = again.output.replace("\\n", "\n")
    assert "scale set rg/WEB: announced PT10M ahead\n" in told
    assert "scale set rg/web:" not in told
    assert "scale set rg/spot: announced PT10M ahead (changed)" in told


def _body(written: tuple[str, str, Any]) -> Any:
    body = written[2]
    return json.loads(body) if isinstance(body, str) else body
