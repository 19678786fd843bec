# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What callers may do, and what they are told about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulated_cloud import SUBSCRIPTION

Start = Callable[..., Any]

PLACE = f"/subscriptions/{SUBSCRIPTION}"
READER = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
SOMEBODY = "22222222-aaaa-4bbb-8ccc-777777777777"
API = "api-version=2022-04-01"
COMPUTE = "api-version=2026-04-01"


def test_given_permissions_in_a_group_when_something_else_is_asked_for_then_403_names_the_action(cloud: Start) -> None:
    azure = cloud(
        arm={
            "permissions": [
                {
                    "actions": ["*/read"],
                    "not_actions": ["Microsoft.Compute/virtualMachines/read"],
                    "scope": f"{PLACE}/resourcegroups/RG",
                }
            ]
        }
    )
    assert azure.raw("GET", azure.path(f"virtualMachineScaleSets/web?{COMPUTE}")).status == 200
    for method, tail, action in (
        ("GET", "virtualMachines/db", "Microsoft.Compute/virtualMachines/read"),
        ("POST", "virtualMachineScaleSets/web/restart", "Microsoft.Compute/virtualMachineScaleSets/restart/action"),
    ):
        refused = azure.raw(method, azure.path(f"{tail}?{COMPUTE}"))
        assert (refused.status, refused.code) == (403, "AuthorizationFailed")
        assert f"'{action}'" in refused.json["error"]["message"]
    everywhere = azure.raw("GET", f"{PLACE}/providers/Microsoft.Compute/virtualMachineScaleSets?{COMPUTE}")
    assert everywhere.status == 403


def test_given_role_assignments_when_read_at_a_scope_then_those_above_are_there_and_no_others(cloud: Start) -> None:
    db = f"{PLACE}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/db"
    scopes = (PLACE, db, f"{PLACE}/resourceGroups/r", f"{db}2")
    azure = cloud(
        arm={"role_assignments": [{"role": READER, "principal_id": SOMEBODY, "scope": scope} for scope in scopes]}
    )
    where = f"{db}/providers/Microsoft.Authorization/roleAssignments?{API}&$filter"
    found = azure.raw("GET", f"{where}=atScope()").json["value"]
    assert [one["properties"]["scope"] for one in found] == [PLACE, db]
    assert found[0]["properties"]["roleDefinitionId"].endswith(f"/roleDefinitions/{READER}")
    assert found[0]["properties"]["principalId"] == SOMEBODY
    assert azure.raw("GET", f"{where}=assignedTo('x')").code == "InvalidParameter"


@pytest.mark.parametrize(
    ("name", "state"), [("Microsoft.Compute/SpotPlus", "Registered"), ("Microsoft.Compute/x", None)]
)
def test_given_a_preview_feature_when_asked_for_then_its_state_is_told(
    cloud: Start, name: str, state: str | None
) -> None:
    azure = cloud(arm={"features": {"microsoft.compute/spotplus": "Registered"}})
    provider, _slash, feature = name.partition("/")
    path = f"{PLACE}/providers/Microsoft.Features/providers/{provider}/features/{feature}?api-version=2021-07-01"
    answer = azure.raw("GET", path)
    if state is None:
        assert (answer.status, answer.code) == (404, "FeatureNotFound")
    else:
        assert (answer.json["name"], answer.json["properties"]["state"]) == (name, state)
