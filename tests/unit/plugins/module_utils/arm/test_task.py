# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do the modules of the control plane tell Ansible, besides what they did?"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import time
from typing import Any
from unittest import mock

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import task
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.options import ArgumentSpec

from .scripted_arm import COMPUTE, SUBSCRIPTION, ScriptedArm, Step, ok, token

COMMON = {"auth_source": "msi", "timeout": 60.0}


class Ended(Exception):
    """A module ended; holds its result."""


class StandIn:
    """Captures what a module returns to Ansible."""

    check_mode = False
    _diff = False

    def __init__(self, spec: ArgumentSpec, **options: Any) -> None:
        self.params = {**{name: one.get("default") for name, one in spec.items()}, **COMMON, **options}
        self.no_log_values: set[str] = set()
        self.warnings: list[str] = []

    def warn(self, warning: str) -> None:
        """Remember a warning."""
        self.warnings.append(warning)

    def exit_json(self, **result: Any) -> None:
        """End well."""
        raise Ended(result)

    def fail_json(self, **result: Any) -> None:
        """End badly."""
        raise Ended({**result, "failed": True})


def run(module_name: str, **options: Any) -> tuple[dict[str, Any], StandIn]:
    """Run a module in this process: its result, and what stood in for AnsibleModule."""
    file = importlib.import_module("ansible_collections.foghorn.azure_events.plugins.modules." + module_name)
    made: list[StandIn] = []

    def stand_in(argument_spec: ArgumentSpec, **_rules: Any) -> StandIn:
        made.append(StandIn(argument_spec, **options))
        return made[0]

    with mock.patch.object(task, "AnsibleModule", stand_in), pytest.raises(Ended) as ended:
        file.main()
    return ended.value.args[0], made[0]


@pytest.mark.parametrize(("mode", "warnings"), [("ignore", 1), ("validate", 0)])
def test_given_certificates_are_not_checked_then_it_warns(mode: str, warnings: int) -> None:
    with ScriptedArm(ok({})) as arm:
        result, module = run("vmss_terminate_notification_info", cert_validation_mode=mode, cloud_environment=arm.url)

    assert "Is cloud_environment the address" in result["msg"]
    assert [one.partition(" can read the credentials")[0] for one in module.warnings] == [
        "cert_validation_mode: ignore: anybody on the network path to %s" % arm.url
    ] * warnings


def test_given_subscriptions_and_none_of_the_sign_in_then_none_is_asked_for_even_when_all_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = ok({"data": [{"id": COMPUTE + "/virtualMachines/web_0"}]})
    with ScriptedArm(token(), ok({"data": []}), known) as arm:
        monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        result, _module = run(
            "scheduled_event_acknowledge", base_url=arm.url, subscriptions=[SUBSCRIPTION], vm_names=["web_0"]
        )

    assert "failed" not in result, result
    assert (result["changed"], result["subscription_id"]) == (False, None)


def test_given_repairs_that_would_replace_what_is_out_of_rotation_then_info_warns_and_returns_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = {"networkProfile": {"healthProbe": {"id": "/subscriptions/x/loadBalancers/front/probes/ready"}}}
    found = {
        "id": COMPUTE + "/virtualMachineScaleSets/web",
        "name": "web",
        "properties": {"automaticRepairsPolicy": {"enabled": True}, "virtualMachineProfile": model},
    }
    view = {"orchestrationServices": [{"serviceName": "AutomaticRepairs", "serviceState": "Running"}]}
    with ScriptedArm(token(), ok(found), ok(view)) as arm:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        options = {"resource_group": "shop", "name": "web", "instances": False, "subscription_id": SUBSCRIPTION}
        result, module = run("vmss_terminate_notification_info", base_url=arm.url, **options)

    assert result["scale_sets"][0]["automatic_repairs"]["state"] == "running"
    assert "Automatic repairs of web are on" in module.warnings[0]


def stop_this_process(_out: Any) -> None:
    """In place of an answer: what Ansible, or Ctrl-C, does to a task."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(5)


def web_set(enable: bool) -> dict[str, Any]:
    profile = {"terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": "PT5M"}}
    return {
        "id": COMPUTE + "/virtualMachineScaleSets/web",
        "name": "web",
        "properties": {"virtualMachineProfile": {"scheduledEventsProfile": profile}},
    }


@pytest.mark.parametrize(
    ("enabled", "begun", "said"),
    [
        (True, True, r"manualupgrade: 1 of 2 instances are at the latest model\. Azure continues the operations th"),
        (
            False,
            True,
            r"^Interrupted at PATCH http.*\. Azure continues the operations that it has accepted\. Run the task",
        ),
        (
            None,
            False,
            r"^Interrupted at GET http.*/web\. Azure runs no operation of this task\. Run the task again: it",
        ),
    ],
)
def test_given_a_rollout_is_stopped_then_one_line_says_what_is_done_what_continues_and_that_a_rerun_continues(
    monkeypatch: pytest.MonkeyPatch, enabled: bool | None, begun: bool, said: str
) -> None:
    rows = [
        {"instanceId": str(number), "name": "web_%d" % number, "properties": {"latestModelApplied": latest}}
        for number, latest in enumerate((True, False))
    ]
    script = [] if enabled is None else [ok(web_set(enabled))]
    script += [ok({"value": rows})] * 2 if enabled else []
    before = signal.getsignal(signal.SIGTERM)
    with ScriptedArm(token(), *script, Step(write=stop_this_process)) as arm:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        options = {"resource_group": "shop", "name": "web", "update_instances": "outdated"}
        result, _module = run("vmss_terminate_notification", base_url=arm.url, subscription_id=SUBSCRIPTION, **options)

    assert re.search(said, result["msg"]), result["msg"]
    assert "\n" not in result["msg"]
    if enabled:
        assert result["outdated_instances"] == ["web_1"]
    else:
        assert result.get("may_still_happen", False) is begun
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("name", "answers", "asked"),
    [
        ("vmss_terminate_notification_info", 1, ["virtualMachineScaleSets"]),
        (
            "scheduled_events_policy_info",
            3,
            ["virtualMachines", "availabilitySets", "virtualMachineScaleSets"],
        ),
        ("maintenance_window_info", 2, ["virtualMachines", "virtualMachineScaleSets"]),
    ],
)
def test_given_a_management_group_then_each_subscription_below_it_is_read(
    monkeypatch: pytest.MonkeyPatch, name: str, answers: int, asked: list[str]
) -> None:
    below = ok({"data": [{"id": "/subscriptions/%s" % one, "subscriptionId": one} for one in ("a", "b")]})
    with ScriptedArm(token(), below, *[ok({"value": []})] * 2 * answers) as arm:
        monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        result, _module = run(name, base_url=arm.url, management_group="shop")

    assert "failed" not in result, result
    expected = [
        "/subscriptions/%s/providers/Microsoft.Compute/%s" % (one, kind) for one in ("a", "b") for kind in asked
    ]
    assert [line.split(" ")[1].partition("?")[0] for line in arm.lines[2:]] == expected


def test_given_a_management_group_then_events_of_all_subscriptions_below_it_may_be_acknowledged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    below = ok({"data": [{"id": "/subscriptions/a", "subscriptionId": "a"}]})
    known = ok({"data": [{"id": COMPUTE + "/virtualMachines/web_0"}]})
    with ScriptedArm(token(), below, ok({"data": []}), known) as arm:
        monkeypatch.delenv("AZURE_SUBSCRIPTION_ID", raising=False)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", arm.url)
        result, _module = run(
            "scheduled_event_acknowledge", base_url=arm.url, management_group="shop", vm_names=["web_0"]
        )

    assert "failed" not in result, result
    assert json.loads(arm.sent("POST")[1])["subscriptions"] == ["a"]
