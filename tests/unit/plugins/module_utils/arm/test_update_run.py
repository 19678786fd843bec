# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does update_run_cancel do, from start to end?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.update_run import cancel
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import GROUP, ScriptedArm, Step, dialogue, ok, refused

RUN = GROUP + (
    "/providers/Microsoft.Maintenance/maintenanceConfigurations/patches/providers/microsoft.maintenance"
    "/applyupdates/20230901121200"
)
# As Microsoft's example of the specification answers.
CANCELLED = ok({"id": RUN.lower(), "name": "patches", "properties": {"status": "Cancelled"}})


def run(*script: Step, run_id: str = RUN, dry_run: bool = False) -> tuple[Any, ScriptedArm]:
    with dialogue(*script) as (arm, client):
        return cancel(client, run_id, dry_run), arm


def test_given_a_run_when_it_is_cancelled_then_only_the_documented_body_is_put_at_its_id() -> None:
    status, arm = run(CANCELLED)

    assert status == "Cancelled"
    assert arm.lines == ["PUT %s?api-version=2023-10-01-preview" % RUN]
    assert [json.loads(body) for body in arm.sent("PUT")] == [{"properties": {"status": "Cancel"}}]


def test_given_a_cloud_without_that_version_then_the_one_of_microsofts_sample_is_taken() -> None:
    _status, arm = run(refused(400, "NoRegisteredProviderFound"), CANCELLED)

    assert arm.lines[1:] == ["PUT %s?api-version=2023-09-01-preview" % RUN]


def test_given_check_mode_then_nothing_is_asked() -> None:
    status, arm = run(dry_run=True)

    assert (status, arm.lines) == (None, [])


def test_given_another_status_comes_back_then_it_is_no_success() -> None:
    with pytest.raises(ArmError, match="the status InProgress: it may still begin"):
        run(ok({"properties": {"status": "InProgress"}}))


def test_given_an_answer_without_a_status_then_it_is_no_success() -> None:
    with pytest.raises(ArmError, match="the status None"):
        run(Step(200))


@pytest.mark.parametrize(
    "run_id",
    [
        "",
        "20230901121200",
        GROUP + "/providers/Microsoft.Compute/virtualMachines/db",
        RUN + "/../../../virtualMachines/db",
        RUN + "?x=",
    ],
)
def test_given_input_that_is_no_id_of_a_run_then_nothing_is_asked(run_id: str) -> None:
    with pytest.raises(OptionError, match=r"^run_id: "):
        run(run_id=run_id)


def test_given_a_permission_is_missing_then_it_is_named() -> None:
    with pytest.raises(ArmError, match=r"Microsoft\.Maintenance/applyUpdates/write"):
        run(refused(403, "AuthorizationFailed"))
