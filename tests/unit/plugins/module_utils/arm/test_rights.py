# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may the sign-in do, what is missing for the rest, and which command gives it?"""

from __future__ import annotations

import json
import shlex
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import CLI, MSI, SignIn
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.permissions import is_permitted
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.rights import (
    MAINTENANCE_PROVIDER,
    Check,
    as_row,
    inspect,
    lacking,
    read_scope,
    read_scopes,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from azure_simulator.testing import Simulator

from .scripted_arm import dialogue, ok, refused

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-777777777777"
PLACE = "/subscriptions/%s" % SUBSCRIPTION
GROUP = PLACE + "/resourceGroups/rg"
COMPUTE = GROUP + "/providers/Microsoft.Compute"
CLIENT = "00000000-0000-0000-0000-00000000c11e"
EVENTS_ROLE = "b67fe603-310e-4889-b9ee-8257d09d353d"
SOMEBODY = "22222222-aaaa-4bbb-8ccc-777777777777"
READER = [{"actions": ["*/read"]}]
NOBODY: list[Any] = []


def published(version: str) -> dict[str, Any]:
    target = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": version}}
    return {"scheduledEventsPolicy": {"scheduledEventsAdditionalPublishingTargets": target}}


FLEET: dict[str, Any] = {
    "vms": [
        {"name": "db", "address": "127.0.79.1"},
        {"name": "web_0", "address": "127.0.79.2", "scale_set": "web"},
        {"name": "api_0a2b3c4d", "address": "127.0.79.3", "scale_set": "api"},
    ]
}


class Token:
    """Signs in as the managed identity of a simulated VM."""

    def __init__(self, imds: str) -> None:
        self._url = (
            imds + "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com/"
        )

    def get_token(self, *_scopes: str, **_options: Any) -> Any:
        from azure.core.credentials import AccessToken

        asked = urllib.request.Request(self._url, headers={"Metadata": "true"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            told = json.load(answer)
        return AccessToken(told["access_token"], int(told["expires_on"]))


@contextmanager
def azure(source: str = "env", client_id: str | None = CLIENT, **arm: Any) -> Iterator[ArmClient]:
    """A client of a simulated Azure, which is set up like this."""
    with Simulator({**FLEET, "arm": {"subscription_id": SUBSCRIPTION, **arm}}) as simulator:
        sign_in = SignIn(source, PUBLIC._replace(arm=simulator.arm), SUBSCRIPTION, client_id=client_id)
        with ArmClient(sign_in, Deadline(60), Token(simulator.imds["db"])) as client:
            yield client


def look(*scopes: str, **arm: Any) -> list[Check]:
    with azure(**arm) as client:
        return inspect(client, read_scopes(scopes or [PLACE]))


def states(checks: Sequence[Check], place: str | None = None) -> Mapping[str, str]:
    return {one.check: one.state for one in checks if place is None or one.scope.lower() == place.lower()}


def the(checks: Sequence[Check], name: str) -> Check:
    (found,) = [one for one in checks if one.check == name]
    return found


def test_given_a_sign_in_that_may_do_everything_and_a_set_that_publishes_then_nothing_of_its_rights_is_missing() -> (
    None
):
    checks = look(
        COMPUTE + "/virtualMachineScaleSets/web",
        scale_sets=[{"name": "web", "properties": published("2024-07-09")}],
    )
    assert states(checks) == {
        "right to read": "ok",
        "right to change": "ok",
        "right to publish": "ok",
        "right to see events": "ok",
        "right to approve": "ok",
        "feature Microsoft.Compute/SendScheduledEventsPolicy": "ok",
        "Resource Graph": "ok",
        "role Scheduled Events Contributor of MaintenanceResourceProvider": "missing",
        "publishing": "ok",
        "rebalance recommendations": "ok",
    }


def test_given_a_reader_then_each_right_beyond_reading_is_missing_with_the_command_that_grants_it() -> None:
    checks = look(GROUP, permissions=READER)
    assert {right: state for right, state in states(checks).items() if right.startswith("right")} == {
        "right to read": "ok",
        "right to change": "missing",
        "right to publish": "missing",
        "right to see events": "missing",
        "right to approve": "missing",
    }
    approve = the(checks, "right to approve")
    assert "Microsoft.Maintenance/scheduledevents/acknowledge/action" in approve.found
    assert approve.command == (
        "az role assignment create --assignee %s --role %s --scope %s" % (CLIENT, EVENTS_ROLE, GROUP)
    )
    assert "--role 9980e02c-c2be-4d73-94e8-173b1dc7cf3c " in the(checks, "right to change").command


def test_given_a_sign_in_without_any_right_then_what_azure_refuses_is_unknown_and_no_error() -> None:
    checks = look(GROUP, permissions=NOBODY)
    found = states(checks)
    assert {found[one] for one in found if one != "Resource Graph" and not one.startswith("feature")} == {"unknown"}
    assert "AuthorizationFailed" in the(checks, "right to read").found
    assert the(checks, "right to read").command.endswith("--role acdd72a7-3385-48ef-bd42-f606fba81ae7 --scope " + GROUP)


@pytest.mark.parametrize(
    ("state", "found", "remedy"),
    [
        (
            "NotRegistered",
            "NotRegistered",
            "az feature register --subscription %s --namespace Microsoft.Compute --name SendScheduledEventsPolicy"
            % SUBSCRIPTION,
        ),
        ("Pending", "Pending: wait until Azure is done", ""),
    ],
)
def test_given_a_feature_that_is_not_registered_then_the_command_registers_it_in_this_subscription(
    state: str, found: str, remedy: str
) -> None:
    checks = look(features={"Microsoft.Compute/SendScheduledEventsPolicy": state})
    feature = the(checks, "feature Microsoft.Compute/SendScheduledEventsPolicy")
    assert (feature.state, feature.found, feature.command) == ("missing", found, remedy)


def test_given_no_service_with_the_role_then_it_is_missing_and_the_command_gives_it_to_microsofts_own() -> None:
    person = {"role": EVENTS_ROLE, "principal_id": SOMEBODY, "principal_type": "User", "scope": PLACE}
    other = {"role": "acdd72a7-3385-48ef-bd42-f606fba81ae7", "principal_id": SOMEBODY, "scope": PLACE}
    found = the(look(GROUP, role_assignments=[person, other]), PROVIDER)
    assert found.state == "missing"
    assert found.command == (
        "az role assignment create --assignee %s --role %s --scope %s" % (MAINTENANCE_PROVIDER, EVENTS_ROLE, GROUP)
    )


def test_given_a_service_with_the_role_above_then_whether_it_is_microsofts_is_unknown_and_its_id_is_named() -> None:
    role = {"role": EVENTS_ROLE, "principal_id": SOMEBODY, "scope": PLACE}
    found = the(look(GROUP, role_assignments=[role]), PROVIDER)
    assert found.state == "unknown"
    assert SOMEBODY in found.found
    assert "az ad sp show --id " + MAINTENANCE_PROVIDER in found.found


PROVIDER = "role Scheduled Events Contributor of MaintenanceResourceProvider"


def test_given_a_policy_in_the_older_version_then_rebalance_recommendations_cannot_arrive_because_of_it() -> None:
    checks = look(
        COMPUTE + "/virtualMachineScaleSets/web",
        scale_sets=[{"name": "web", "properties": published("2020-07-01")}],
    )
    found = the(checks, "rebalance recommendations")
    assert (the(checks, "publishing").state, found.state) == ("ok", "missing")
    assert "scheduledEventsApiVersion is 2020-07-01" in found.found
    assert "2024-07-09" in found.command


def test_given_a_policy_that_publishes_nothing_then_the_command_publishes_and_keeps_what_it_approves() -> None:
    policy = {"scheduledEventsPolicy": {"userInitiatedReboot": {"automaticallyApprove": True}}}
    checks = look(COMPUTE + "/virtualMachines/db", virtual_machines=[{"name": "db", "properties": policy}])
    command = shlex.split(the(checks, "publishing").command)
    assert command[:5] == ["az", "vm", "update", "--ids", COMPUTE + "/virtualMachines/db"]
    option, _equals, value = command[6].partition("=")
    assert (command[5], option) == ("--set", "scheduledEventsPolicy")
    assert json.loads(value) == {
        "userInitiatedReboot": {"automaticallyApprove": True},
        "userInitiatedRedeploy": {"automaticallyApprove": False},
        "allInstancesDown": {"automaticallyApprove": True},
        "scheduledEventsAdditionalPublishingTargets": {
            "eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
        },
    }


def test_given_members_of_sets_then_the_policies_of_the_sets_are_checked_each_of_them_once() -> None:
    checks = look(
        COMPUTE + "/virtualMachines/api_0a2b3c4d",
        COMPUTE + "/virtualMachineScaleSets/api",
        COMPUTE + "/virtualMachineScaleSets/web/virtualMachines/0",
        COMPUTE + "/virtualMachineScaleSets/web",
    )
    assert [one.scope.rsplit("/", 1)[-1] for one in checks if one.check == "publishing"] == ["api", "web"]


def test_given_a_subscription_then_everything_in_it_that_has_a_policy_of_its_own_is_checked() -> None:
    checks = look(PLACE)
    assert sorted(one.scope.rsplit("/", 1)[-1] for one in checks if one.check == "publishing") == ["api", "db", "web"]


def test_given_a_missing_vm_then_its_policy_is_unknown_and_azure_says_why() -> None:
    found = the(look(COMPUTE + "/virtualMachines/nosuch"), "publishing")
    assert found.state == "unknown"
    assert "404 ResourceNotFound" in found.found


@pytest.mark.parametrize(
    ("source", "assignee"), [(CLI, '"$(az ad signed-in-user show --query id --output tsv)"'), (MSI, "OBJECT_ID_OF")]
)
def test_given_a_sign_in_without_a_client_then_the_command_says_who_is_meant(source: str, assignee: str) -> None:
    with azure(source, None, permissions=READER) as client:
        assert "--assignee " + assignee in the(inspect(client, [read_scope(PLACE)]), "right to approve").command


def test_given_nobody_who_answers_then_it_is_an_error() -> None:
    with dialogue(refused(401, "InvalidAuthenticationToken")) as (_arm, client), pytest.raises(ArmError, match="401"):
        inspect(client, [read_scope(PLACE)])


def test_given_permissions_in_pages_then_all_of_them_count() -> None:
    following = {"value": [{"actions": ["Microsoft.Compute/*"], "notActions": []}]}
    path = PLACE + "/providers/Microsoft.Authorization/permissions?page=2"
    script = [ok({"value": [], "nextLink": path}), ok(following), *[refused(403, "Nothing")] * 4]
    with dialogue(*script) as (_arm, client):
        assert the(inspect(client, [read_scope(PLACE)]), "right to read").state == "ok"


@pytest.mark.parametrize(
    ("permissions", "is_ours"),
    [
        ([{"actions": ["*"]}], True),
        ([{"actions": ["microsoft.compute/virtualmachines/READ"]}], True),
        ([{"actions": ["Microsoft.Compute/*/read"]}], True),
        ([{"actions": ["*"], "notActions": ["Microsoft.Compute/*"]}], False),
        # What one role takes away, another one may give.
        ([{"actions": ["*"], "notActions": ["Microsoft.Compute/*"]}, {"actions": ["*/read"]}], True),
        ([{"actions": ["Microsoft.Compute/virtualMachines/read/action"]}], False),
        ([{"actions": None}, {}], False),
        ([], False),
    ],
)
def test_given_permissions_then_an_action_is_permitted_as_azure_does_it(permissions: Any, is_ours: bool) -> None:
    assert is_permitted(permissions, "Microsoft.Compute/virtualMachines/read") is is_ours


@pytest.mark.parametrize(
    "text",
    [
        "rg",
        "/subscriptions/",
        "/subscriptions/s/providers/Microsoft.Compute/virtualMachines/db",
        GROUP + "/providers/Microsoft.Network/loadBalancers/front",
        COMPUTE + "/virtualMachines/db?x=1",
        COMPUTE + "/virtualMachines/d b",
    ],
)
def test_given_input_that_is_no_scope_then_it_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_scope(text)
    assert str(caught.value).startswith("scopes: %r is not the id of" % text)


def test_given_a_missing_right_then_its_severity_is_that_of_the_need() -> None:
    missing = Check("/s", "publishing", "missing", ("approve",), "nothing")
    unknown = missing._replace(state="unknown")
    fine = missing._replace(state="ok")
    assert [as_row(one, ["approve"])["severity"] for one in (missing, unknown, fine)] == ["error", "warning", "ok"]
    assert [as_row(one, ["read"])["severity"] for one in (missing, unknown, fine)] == ["note", "note", "ok"]
    assert lacking([missing, unknown], ["read", "approve"]) == ["approve"]
    assert lacking([unknown, fine], ["approve"]) == []
