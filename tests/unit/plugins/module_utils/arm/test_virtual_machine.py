# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does vm_terminate_notification do, from start to end?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    NotFound,
    Unfinished,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.notification import DesiredState, Notification
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.virtual_machine import (
    MachineChange,
    describe,
    notify,
)

from .scripted_arm import COMPUTE, VERSION, ScriptedArm, Step, dialogue, ok, refused

VM = COMPUTE + "/virtualMachines/db"
GET = "GET %s%s" % (VM, VERSION)
PATCH = "PATCH %s%s" % (VM, VERSION)
OPERATION = "/operations/op-7?t=opaque"
ENABLE = (
    b'{"properties":{"scheduledEventsProfile":'
    b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT5M"}}}}'
)
DISABLE = ENABLE.replace(b"true", b"false")


def vm(enable: bool | None = None, timeout: str = "PT5M", **properties: Any) -> dict[str, Any]:
    if enable is not None:
        properties["scheduledEventsProfile"] = {
            "terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": timeout}
        }
    return {
        "id": VM,
        "name": "db",
        "location": "westeurope",
        "etag": '"4"',
        "tags": {"owner": "somebody"},
        "properties": {"provisioningState": "Succeeded", "osProfile": {"adminUsername": "root"}, **properties},
    }


def updating() -> Step:
    return ok(vm(True, provisioningState="Updating"), Azure_AsyncOperation="{base}" + OPERATION)


def run(
    *script: Step, desired: DesiredState = DesiredState(True, 300), **options: Any
) -> tuple[ScriptedArm, MachineChange]:
    with dialogue(*script) as (arm, client):
        return arm, notify(client, "shop", "db", desired, **options)


def test_given_no_profile_when_enabling_then_it_is_patched_alone_and_read_back() -> None:
    arm, outcome = run(ok(vm()), updating(), ok({"status": "Succeeded"}), ok(vm(True)))
    assert arm.lines == [GET, PATCH, "GET " + OPERATION, GET]
    assert arm.sent("PATCH") == [ENABLE]
    assert arm.requests[1].headers["if-match"] == '"4"'
    assert outcome.changed
    assert outcome.after.terminate == Notification(True, 300)


def test_given_the_wanted_state_then_it_is_read_once_and_nothing_is_sent() -> None:
    arm, outcome = run(ok(vm(True)))
    assert arm.lines == [GET]
    assert not outcome.changed


def test_given_azure_drops_what_was_disabled_then_that_is_what_was_wanted() -> None:
    arm, outcome = run(ok(vm(True)), ok(vm(scheduledEventsProfile={})), desired=DesiredState(False, os_image=False))
    assert arm.sent("PATCH") == [DISABLE]
    assert (outcome.changed, outcome.after.terminate) == (True, Notification())


def test_given_check_mode_then_nothing_is_sent() -> None:
    arm, outcome = run(ok(vm()), dry_run=True)
    assert arm.lines == [GET]
    assert outcome.changed


def test_given_another_client_was_faster_then_it_is_read_again() -> None:
    arm, outcome = run(ok(vm()), refused(412, "PreconditionFailed"), ok(vm()), ok(vm(True)))
    assert arm.lines == [GET, PATCH, GET, PATCH]
    assert outcome.changed


def test_given_wait_is_false_then_the_operation_is_not_followed() -> None:
    arm, outcome = run(ok(vm()), updating(), wait=False)
    assert arm.lines == [GET, PATCH]
    assert outcome.changed


def test_given_a_uniform_instance_then_the_error_leads_to_the_scale_set() -> None:
    with pytest.raises(NotFound, match="use vmss_terminate_notification"):
        run(refused(404, "ResourceNotFound"))


def test_given_a_permission_is_missing_then_the_error_names_the_role() -> None:
    with pytest.raises(ArmError, match="The role Virtual Machine Contributor grants it"):
        run(ok(vm()), refused(403, "AuthorizationFailed"))


def test_given_azure_shows_something_else_afterwards_then_that_is_an_error() -> None:
    with pytest.raises(Unfinished, match="accepted the change of db, but then shows") as error:
        run(ok(vm()), ok(vm(True, "PT9M")))
    assert error.value.outcome.changed


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({}, ("Regular", None, True)),
        ({"priority": "Spot"}, ("Spot", "Deallocate", False)),
        ({"priority": "Spot", "evictionPolicy": "Delete"}, ("Spot", "Delete", False)),
    ],
)
def test_given_a_vm_then_its_priority_and_whether_anything_can_be_announced_are_reported(
    properties: dict[str, Any], told: tuple[str, str | None, bool]
) -> None:
    found = describe(vm(**properties))
    assert (found["priority"], found["eviction_policy"], found["can_announce"]) == told


def test_given_a_spot_vm_then_it_warns() -> None:
    _unused, outcome = run(ok(vm(True, priority="Spot")))
    assert "Spot" in outcome.warnings[0]
