# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What the sign-in may do, what it lacks, and the command that grants it. Changes nothing.

Azure tells a caller's permissions on any scope, the state of preview features, and which roles are assigned. Whether
an assigned service principal is Microsoft's Maintenance service, only Microsoft Graph could say, which is not asked.

Source: https://learn.microsoft.com/rest/api/authorization/permissions,
https://learn.microsoft.com/rest/api/resources/features/get and
https://learn.microsoft.com/azure/virtual-machines/scheduled-events-resource-graph
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..scheduled_events.document import GENERAL_API_VERSION, NEWEST_API_VERSION
from ..scheduled_events.errors import OptionError
from . import policy
from .answers import Json
from .client import ArmClient, Permission
from .credentials import CLI
from .errors import ArmError, NotFound
from .permissions import (
    ACKNOWLEDGE,
    AUTHORIZATION_API_VERSION,
    EVENTS_ROLE,
    READ_INSTANCES,
    UPGRADE,
    is_permitted,
    permissions_on,
)
from .resource_graph import list_events

READ = "read"
CHANGE = "change"
PUBLISH = "publish"
SEE_EVENTS = "see_events"
APPROVE = "approve"
REBALANCE = "rebalance"
RIGHTS = (READ, CHANGE, PUBLISH, SEE_EVENTS, APPROVE, REBALANCE)

OK = "ok"
MISSING = "missing"
UNKNOWN = "unknown"

_READER = "Reader"
_CONTRIBUTOR = "Virtual Machine Contributor"
# Built-in roles have the same id in every tenant:
# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
_ROLE_IDS = {
    _READER: "acdd72a7-3385-48ef-bd42-f606fba81ae7",
    _CONTRIBUTOR: "9980e02c-c2be-4d73-94e8-173b1dc7cf3c",
    EVENTS_ROLE: "b67fe603-310e-4889-b9ee-8257d09d353d",
}
# The application of Microsoft's own service MaintenanceResourceProvider, the same in every tenant.
MAINTENANCE_PROVIDER = "78315a30-673a-4a46-8e5c-ce59dbc6adf8"
FEATURE = ("Microsoft.Compute", "SendScheduledEventsPolicy")

_FEATURES_VERSION = "2021-07-01"
_READ_ASSIGNMENTS = Permission("Microsoft.Authorization/roleAssignments/read", _READER)
_READ_FEATURE = Permission("Microsoft.Features/providers/features/read", _READER)

_SCOPE = re.compile(
    r"/subscriptions/(?P<subscription>[^/?#%\s]+)(?:/resourceGroups/(?P<group>[^/?#%\s]+)"
    r"(?:/providers/Microsoft\.Compute/(?P<kind>virtualMachines|virtualMachineScaleSets|availabilitySets)"
    r"/(?P<name>[^/?#%\s]+)(?P<instance>/virtualMachines/[^/?#%\s]+)?)?)?/?\Z",
    re.IGNORECASE,
)
_COMMANDS = {
    policy.VIRTUAL_MACHINE: "az vm update",
    policy.SCALE_SET: "az vmss update",
    policy.AVAILABILITY_SET: "az vm availability-set update",
}
_Found = TypeVar("_Found")


class Scope(NamedTuple):
    """What rights are about: a subscription, a resource group, or what has a policy."""

    resource_id: str
    subscription: str
    """Its id, a GUID."""
    group: str | None
    kind: str | None
    """A key of `policy.KINDS`; None: it is no resource."""
    name: str | None


class Check(NamedTuple):
    """One thing that was looked at."""

    scope: str
    check: str
    state: str
    """`OK`, `MISSING`, or `UNKNOWN`: it could not be found out."""
    needed_for: tuple[str, ...]
    """Of `RIGHTS`."""
    found: str
    command: str = ""
    """What gives it; empty: nothing is missing, or no command would help."""


def read_scope(text: str) -> Scope:
    """Check the id of what rights are about. An instance of a uniform scale set stands for the set.

    :raises OptionError: if it cannot be one
    """
    match = _SCOPE.match(text.strip())
    if match is None:
        raise OptionError(
            "scopes: %r is not the id of a subscription, a resource group, a VM, a scale set or an availability set."
            " They begin with /subscriptions/" % text
        )
    kinds = {kind.path.lower(): option for option, kind in policy.KINDS.items()}
    whole = text.strip().rstrip("/")
    return Scope(
        whole[: -len(match["instance"])] if match["instance"] else whole,
        match["subscription"],
        match["group"],
        kinds[match["kind"].lower()] if match["kind"] else None,
        match["name"],
    )


def read_scopes(texts: Iterable[str]) -> list[Scope]:
    """The same of several; what is named twice counts once.

    :raises OptionError: on the first that cannot be one
    """
    return list({scope.resource_id.lower(): scope for scope in map(read_scope, texts)}.values())


def inspect(client: ArmClient, scopes: Sequence[Scope]) -> list[Check]:
    """Look at everything that rights need, on each of these scopes.

    :raises ArmError: if the sign-in fails, or nobody answers. A refusal is a finding
    """
    checks: list[Check] = []
    for scope in scopes:
        checks += _permissions(client, scope)
    for subscription in dict.fromkeys(scope.subscription for scope in scopes):
        checks.append(_feature(client, subscription, *FEATURE))
        checks.append(_rows(client, subscription))
    for scope in scopes:
        checks.append(_provider(client, scope))
    followed: dict[str, list[Check]] = {}
    for scope in scopes:
        _policies(client, scope, followed)
    return checks + [check for of_owner in followed.values() for check in of_owner]


def lacking(checks: Iterable[Check], needs: Iterable[str]) -> list[str]:
    """Which of these rights are known to lack something."""
    missing = {right for check in checks if check.state == MISSING for right in check.needed_for}
    return [right for right in needs if right in missing]


def as_row(check: Check, needs: Iterable[str]) -> Json:
    """A check as a result, with how bad it is for somebody who needs these rights."""
    is_needed = bool(set(needs) & set(check.needed_for))
    severity = {OK: OK, MISSING: "error" if is_needed else "note", UNKNOWN: "warning" if is_needed else "note"}
    return {**check._asdict(), "needed_for": list(check.needed_for), "severity": severity[check.state]}


def _needed(kind: str | None) -> Iterator[tuple[str, str, list[str]]]:
    """Each right, the role that grants it, and the actions that it needs."""
    kinds = [policy.KINDS[kind]] if kind else list(policy.KINDS.values())
    sets = policy.KINDS[policy.SCALE_SET] in kinds
    reads = [one.read.action for one in kinds]
    writes = [one.write.action for one in kinds]
    yield READ, _READER, reads + ([READ_INSTANCES.action] if sets else [])
    yield CHANGE, _CONTRIBUTOR, writes + ([UPGRADE.action] if sets else [])
    yield PUBLISH, _CONTRIBUTOR, writes
    # No action stands for the rows in Resource Graph: the page asks for the role, and this is what only it grants.
    yield SEE_EVENTS, EVENTS_ROLE, [*reads, ACKNOWLEDGE.action]
    yield APPROVE, EVENTS_ROLE, [*reads, ACKNOWLEDGE.action]


def _permissions(client: ArmClient, scope: Scope) -> Iterator[Check]:
    found, refusal = _ask(lambda: permissions_on(client, scope.resource_id))
    for right, role, actions in _needed(scope.kind):
        check = "right to %s" % right.replace("_", " ")
        command = _grant(_assignee(client), role, scope.resource_id)
        if found is None:
            yield Check(scope.resource_id, check, UNKNOWN, (right,), refusal, command)
            continue
        absent = [action for action in actions if not is_permitted(found, action)]
        if absent:
            said = "not permitted: %s. The role %s grants it" % (", ".join(absent), role)
            yield Check(scope.resource_id, check, MISSING, (right,), said, command)
        else:
            yield Check(scope.resource_id, check, OK, (right,), "permitted")


def _feature(client: ArmClient, subscription: str, namespace: str, name: str) -> Check:
    place = "/subscriptions/%s" % subscription
    path = "%s/providers/Microsoft.Features/providers/%s/features/%s" % (place, namespace, name)
    found, refusal = _ask(lambda: client.get(path, _READ_FEATURE, _FEATURES_VERSION))
    needed_for = (PUBLISH, SEE_EVENTS, APPROVE, REBALANCE)
    check = "feature %s/%s" % (namespace, name)
    command = "az feature register --subscription %s --namespace %s --name %s" % (subscription, namespace, name)
    if found is None:
        return Check(place, check, UNKNOWN, needed_for, refusal, command)
    state = str((found.get("properties") or {}).get("state"))
    if state.lower() == "registered":
        return Check(place, check, OK, needed_for, state)
    if state.lower() in ("registering", "pending"):
        return Check(place, check, MISSING, needed_for, "%s: wait until Azure is done" % state)
    return Check(place, check, MISSING, needed_for, state, command)


def _rows(client: ArmClient, subscription: str) -> Check:
    found, refusal = _ask(lambda: list_events(client, [subscription], finished=True))
    state = UNKNOWN if found is None else OK
    said = refusal if found is None else "answers, and lists %d events, including those that are over" % len(found)
    return Check("/subscriptions/%s" % subscription, "Resource Graph", state, (SEE_EVENTS, APPROVE), said)


def _provider(client: ArmClient, scope: Scope) -> Check:
    """Whether the role is assigned to Microsoft's service as well, as far as can be seen."""
    path = "%s/providers/Microsoft.Authorization/roleAssignments" % scope.resource_id
    query = {"$filter": "atScope()"}
    found, refusal = _ask(lambda: list(client.list_all(path, _READ_ASSIGNMENTS, AUTHORIZATION_API_VERSION, **query)))
    check = "role %s of MaintenanceResourceProvider" % EVENTS_ROLE
    needed_for = (SEE_EVENTS, APPROVE)
    command = _grant(MAINTENANCE_PROVIDER, EVENTS_ROLE, scope.resource_id)
    if found is None:
        return Check(scope.resource_id, check, UNKNOWN, needed_for, refusal, command)
    assigned = [one.get("properties") or {} for one in found]
    services = [
        str(one.get("principalId"))
        for one in assigned
        if str(one.get("roleDefinitionId")).lower().endswith("/" + _ROLE_IDS[EVENTS_ROLE])
        and one.get("principalType") == "ServicePrincipal"
    ]
    if not services:
        return Check(scope.resource_id, check, MISSING, needed_for, "no service principal has the role here", command)
    said = "%s, and one of them must be it. To check: az ad sp show --id %s --query id" % (
        ", ".join(services),
        MAINTENANCE_PROVIDER,
    )
    return Check(scope.resource_id, check, UNKNOWN, needed_for, "assigned to %s" % said, command)


def _policies(client: ArmClient, scope: Scope, followed: dict[str, list[Check]]) -> None:
    """Look at the policies that count on a scope. What was looked at before is not looked at again."""
    if scope.resource_id.lower() in followed:
        return
    found, refusal = _ask(
        lambda: policy.describe_all(client, scope.group, scope.kind, scope.name, [scope.subscription])
    )
    needed_for = (SEE_EVENTS, APPROVE)
    if found is None:
        followed[scope.resource_id.lower()] = [Check(scope.resource_id, "publishing", UNKNOWN, needed_for, refusal)]
        return
    for one in found:
        owner = one["follows"]
        if owner is None:
            followed.setdefault(str(one["id"]).lower(), list(_publishing(one)))
        elif scope.kind is not None:
            # Of a list, it is listed itself.
            _policies(client, read_scope(owner), followed)


def _publishing(resource: Json) -> Iterator[Check]:
    place, found = str(resource["id"]), resource["policy"]
    version = found["publish_api_version"] or GENERAL_API_VERSION
    needed_for = (SEE_EVENTS, APPROVE)
    if not found[policy.PUBLISH]:
        yield Check(
            place,
            "publishing",
            MISSING,
            needed_for,
            "its policy publishes no events, so Resource Graph and Event Grid have none",
            _publish(resource, GENERAL_API_VERSION),
        )
        said = "they cannot arrive from outside the VM: no events are published"
    else:
        yield Check(place, "publishing", OK, needed_for, "published in version %s" % version)
        said = "they cannot arrive from outside the VM: scheduledEventsApiVersion is %s, which does not have them" % (
            version
        )
    if found[policy.PUBLISH] and version >= NEWEST_API_VERSION:
        yield Check(place, "rebalance recommendations", OK, (REBALANCE,), "published in version %s" % version)
        return
    yield Check(place, "rebalance recommendations", MISSING, (REBALANCE,), said, _publish(resource, NEWEST_API_VERSION))


def _publish(resource: Json, version: str) -> str:
    """The command that publishes, and approves what was approved before: it writes the policy as a whole."""
    wanted: Json = {
        part: {"automaticallyApprove": resource["policy"][option]} for option, part in policy.APPROVALS.items()
    }
    wanted[policy.TARGETS] = {policy.TARGET: {"enable": True, "scheduledEventsApiVersion": version}}
    text = json.dumps(wanted, separators=(",", ":"))
    return "%s --ids %s --set scheduledEventsPolicy=%s" % (
        _COMMANDS[resource["kind"]],
        shlex.quote(str(resource["id"])),
        shlex.quote(text),
    )


def _assignee(client: ArmClient) -> str:
    if client.sign_in.client_id:
        return client.sign_in.client_id
    if client.sign_in.source == CLI:
        return '"$(az ad signed-in-user show --query id --output tsv)"'
    return "OBJECT_ID_OF_THE_MANAGED_IDENTITY"


def _grant(assignee: str, role: str, scope: str) -> str:
    return "az role assignment create --assignee %s --role %s --scope %s" % (
        assignee,
        _ROLE_IDS[role],
        shlex.quote(scope),
    )


def _ask(question: Callable[[], _Found]) -> tuple[_Found | None, str]:
    """The answer, or why there is none. Who cannot sign in, or reaches nobody, is told so at once."""
    try:
        return question(), ""
    except NotFound as error:
        return None, str(error)
    except ArmError as error:
        if error.status is None or error.status == 401:
            raise
        return None, str(error)
