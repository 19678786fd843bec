# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does vmss_instance_protection do, from start to end?"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound, Unfinished
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.protection import (
    ProtectionChange,
    protect,
    read_desired_state,
    read_instances,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, VERSION, ScriptedArm, Step, dialogue, ok, refused

SET = COMPUTE + "/virtualMachineScaleSets/web"
ACTIONS = {"scale_set_actions": True}


def instance(scale_in: bool | None = None, actions: bool | None = None, **more: Any) -> Step:
    policy = {"protectFromScaleIn": scale_in, "protectFromScaleSetActions": actions}
    policy = {name: value for name, value in policy.items() if value is not None}
    properties = {"latestModelApplied": True, **({"protectionPolicy": policy} if policy else {})}
    return ok({"location": "westeurope", "etag": '"7"', "properties": properties, **more})


def run(
    *script: Step, instances: Sequence[str] = ("1",), desired: Mapping[str, bool] | None = None, dry_run: bool = False
) -> tuple[ProtectionChange, ScriptedArm]:
    with dialogue(*script) as (arm, client):
        return protect(client, "shop", "web", instances, ACTIONS if desired is None else desired, dry_run), arm


def test_given_an_instance_when_it_is_protected_then_only_the_documented_body_is_put_with_the_etag() -> None:
    change, arm = run(instance(tags={"team": "shop"}), instance(False, True))
    path = "%s/virtualMachines/1%s" % (SET, VERSION)
    assert arm.lines == ["GET " + path, "PUT " + path]
    assert json.loads(arm.sent("PUT")[0]) == {
        "properties": {"protectionPolicy": {"protectFromScaleIn": False, "protectFromScaleSetActions": True}},
        "location": "westeurope",
        "tags": {"team": "shop"},
    }
    assert arm.requests[1].headers["if-match"] == '"7"'
    assert change.instances == (
        {
            "instance_id": "1",
            "changed": True,
            "before": {"scale_in": False, "scale_set_actions": False},
            "after": {"scale_in": False, "scale_set_actions": True},
        },
    )


def test_given_a_part_that_is_not_asked_for_then_it_stays() -> None:
    _change, arm = run(instance(True, True), instance(True, False), desired={"scale_set_actions": False})
    policy = json.loads(arm.sent("PUT")[0])["properties"]["protectionPolicy"]
    assert policy == {"protectFromScaleIn": True, "protectFromScaleSetActions": False}


@pytest.mark.parametrize(
    ("found", "desired"),
    [(instance(False, True), ACTIONS), (instance(), {"scale_in": False}), (instance(True), {"scale_in": True})],
)
def test_given_it_is_as_wanted_then_nothing_is_sent(found: Step, desired: Mapping[str, bool]) -> None:
    change, arm = run(found, desired=desired)
    assert (len(arm.requests), change.changed) == (1, False)


def test_given_check_mode_then_it_only_reads() -> None:
    change, arm = run(instance(), dry_run=True)
    assert (len(arm.requests), change.changed, change.instances[0]["after"]["scale_set_actions"]) == (1, True, True)


def test_given_another_client_was_faster_then_it_is_read_again() -> None:
    change, arm = run(instance(), refused(412, "PreconditionFailed"), instance(True), instance(True, True))
    assert json.loads(arm.sent("PUT")[1])["properties"]["protectionPolicy"]["protectFromScaleIn"] is True
    assert change.changed


def test_given_azure_then_shows_another_protection_then_that_is_an_error() -> None:
    with pytest.raises(ArmError, match="Azure accepted the change of instance 1, but then shows"):
        run(instance(), instance())
    with pytest.raises(Unfinished, match="Azure accepted the change of instance 1, but then shows") as error:
        run(instance(), instance(True))
    assert error.value.outcome.changed


def test_given_a_bare_row_then_the_error_says_that_members_of_flexible_sets_cannot_be_protected() -> None:
    with pytest.raises(ArmError, match="flexible scale set cannot be protected: a management lock"):
        run(ok({"id": "…", "name": "1"}))


def test_given_the_second_fails_then_the_first_is_reported() -> None:
    with pytest.raises(Unfinished, match=r"/9 was refused: 404 NotFound") as failure:
        run(instance(), instance(False, True), refused(404, "NotFound"), instances=["1", "9"])
    assert [one["instance_id"] for one in failure.value.outcome.instances] == ["1"]


def test_given_the_first_fails_then_it_is_a_plain_error() -> None:
    with pytest.raises(NotFound):
        run(refused(404, "NotFound"), instances=["9", "1"])


def test_given_ids_and_names_then_ids_come_of_them_each_once() -> None:
    assert read_instances("web", ["3", "web_12", "WEB_3", 0]) == ["3", "12", "0"]


@pytest.mark.parametrize("one", ["api_3", "web_1a2b3c4d", "web", "*", "", "-1", "/subscriptions/x"])
def test_given_input_that_is_no_instance_of_the_set_then_it_is_refused(one: str) -> None:
    with pytest.raises(OptionError, match=r"like web_0.*flexible"):
        read_instances("web", [one])


def test_given_none_or_no_wish_then_it_is_refused() -> None:
    with pytest.raises(OptionError, match="instances: name at least one"):
        read_instances("web", [])
    with pytest.raises(OptionError, match="set one of scale_in, scale_set_actions"):
        read_desired_state({"scale_in": None, "scale_set_actions": None})
