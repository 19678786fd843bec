# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lifecycle hooks in the model of a scale set, through azure-mgmt-compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[..., Any]

BATCH = "UpgradeAutoOSRollingBatchStarting"
NEWER = {"type": "VMScaleSetVMDeleteStarting", "waitDuration": "PT5M"}


def with_hooks(*hooks: dict[str, Any]) -> Any:
    return {"properties": {"lifecycleHooksProfile": {"lifecycleHooks": list(hooks)}}}


def patch(azure: Any, *hooks: dict[str, Any], version: str = "2026-04-01") -> Any:
    return azure.raw("PATCH", azure.path(f"virtualMachineScaleSets/web?api-version={version}"), with_hooks(*hooks))


def test_given_a_hook_by_its_type_alone_when_sent_then_the_rest_is_filled_in_and_an_empty_list_removes_the_profile(
    azure: Any,
) -> None:
    sets = azure.compute.virtual_machine_scale_sets
    sets.begin_update("rg", "web", with_hooks({"type": BATCH})).result()
    (shown,) = sets.get("rg", "web").as_dict()["properties"]["lifecycleHooksProfile"]["lifecycleHooks"]
    assert shown == {"type": BATCH, "waitDuration": "PT30M", "defaultAction": "Approve"}
    sets.begin_update("rg", "web", with_hooks()).result()
    assert "lifecycleHooksProfile" not in sets.get("rg", "web").as_dict()["properties"]


@pytest.mark.parametrize(
    "hooks",
    [
        [{"type": BATCH}, {"type": BATCH}],
        [NEWER],
        [{"type": BATCH, "waitDuration": "PT4H1S"}],
        [{"type": BATCH, "waitDuration": "PT0S"}],
        [{"type": BATCH, "waitDuration": "soon"}],
        [{"type": BATCH, "defaultAction": "Perhaps"}],
        ["hook"],
    ],
)
def test_given_invalid_hooks_when_sent_then_they_are_refused(cloud: Start, hooks: Any) -> None:
    answer = patch(cloud(), *hooks)
    assert (answer.status, answer.code) == (400, "InvalidParameter")


def test_given_a_hook_of_a_newer_type_that_is_there_when_it_is_sent_back_then_it_stays(cloud: Start) -> None:
    azure = cloud(arm={"scale_sets": [{"name": "web", **with_hooks(NEWER)}]})
    assert patch(azure, NEWER, {"type": BATCH, "waitDuration": "PT0.5H"}).status == 200
    shown = azure.raw("GET", azure.path("virtualMachineScaleSets/web?api-version=2026-04-01")).json
    kinds = [hook["type"] for hook in shown["properties"]["lifecycleHooksProfile"]["lifecycleHooks"]]
    assert kinds == [NEWER["type"], BATCH]
