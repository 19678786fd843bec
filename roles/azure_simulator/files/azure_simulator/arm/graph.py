# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Azure Resource Graph: scheduled events as rows that stay as history, machines and their sets, and queries."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from email.utils import formatdate
from typing import Any, Callable

from ..documents import knows_type
from ..events import RECOMMENDATION, SCHEDULED, Event
from ..world import Change, World
from . import versions
from .config import ArmConfig, LimitConfig
from .documents import show_availability_set, show_instance, show_set, show_vm
from .errors import ArmError
from .kusto import QueryError, run
from .ownership import ResourceLookup
from .policies import PUBLISHED
from .resources import ComputeResources, enabled
from .rights import Rights
from .routing import ArmAnswer, ArmRequest, Router
from .throttle import Bucket
from .views import power_state

PROVIDER = "Microsoft.ResourceGraph"

TYPE = "microsoft.maintenance/scheduledevents"
_EVENTS = "maintenanceresources"
_RESOURCES = "resources"
_INSTANCES = "computeresources"
_CONTAINERS = "resourcecontainers"
_MOST = 1000
_OBJECTS_SINCE = "2021-03-01"
_QUOTA = LimitConfig(15, 3)  # documented: 15 queries in 5 seconds
_WINDOW = 5  # seconds
_SUPPORT = "Please provide below info when asking for support: timestamp, correlationId."
_COLUMNS = {str: "string", bool: "boolean", int: "integer", dict: "object", list: "object", type(None): "string"}


class Publisher:
    """Keeps a row of every event whose resource publishes its events, as it was told of last."""

    def __init__(self, compute: ComputeResources, world: World, config: ArmConfig) -> None:
        self._compute = compute
        self._world = world
        self._tenant = config.tenant_id
        self._lag = config.graph_lag
        self._rows: dict[str, list[tuple[float, dict[str, Any]]]] = {}
        """By event, all rows that it has had, and since when."""
        self._owners: dict[str, set[str]] = {}
        world.listen(self._heard)

    def rows(self) -> list[dict[str, Any]]:
        """The row of each event, as it was when the lag began."""
        seen = self._world.now - self._lag
        known = [[row for since, row in versions if since <= seen][-1:] for versions in self._rows.values()]
        return [row for latest in known for row in latest]

    def owners(self, event: Event) -> set[str]:
        """The resources that an event may be acknowledged at, in lower case; none when it is not published."""
        return self._owners.get(event.event_id, set())

    def _heard(self, change: Change) -> None:
        event = change.event
        if change.kind != "event" or event is None:
            return
        versions_of = self._rows.get(event.event_id)
        if versions_of is not None:
            versions_of.append((self._world.now, {**versions_of[-1][1], "properties": self._properties(event)}))
            return
        vm = self._world.vms[event.resources[0]].config
        kind, name, properties = self._compute.policy_owner(vm)
        if not _publishes(properties, event):
            return
        self._rows[event.event_id] = [(self._world.now, self._row(event, kind, name))]
        machines = {f"/virtualmachines/{resource}".lower() for resource in self._world.names(event)}
        prefix = f"/{vm.subscription_id}/{vm.resource_group}".lower()
        self._owners[event.event_id] = {prefix + tail for tail in {*machines, f"/{kind}/{name}".lower()}}

    def _row(self, event: Event, kind: str, name: str) -> dict[str, Any]:
        vm = self._world.vms[event.resources[0]].config
        owner = f"/subscriptions/{vm.subscription_id}/resourcegroups/{vm.resource_group}"
        resource_id = f"{owner}/providers/Microsoft.Compute/{kind}/{name}"
        return {
            "id": f"{resource_id}/providers/Microsoft.Maintenance/scheduledevents/{event.event_id}",
            "name": event.event_id,
            "type": TYPE,
            "tenantId": self._tenant,
            "kind": "",
            "location": vm.location,
            "resourceGroup": vm.resource_group.lower(),
            "subscriptionId": vm.subscription_id,
            "managedBy": "",
            "sku": None,
            "plan": None,
            "properties": self._properties(event),
            "tags": None,
            "identity": None,
            "zones": [vm.zone] if vm.zone else None,
            "extendedLocation": None,
        }

    def _properties(self, event: Event) -> dict[str, Any]:
        """The event in the field names of IMDS; its status may also be Completed or Canceled."""
        wall = self._world.clock.wall(event.not_before)
        shown = {
            "EventId": event.event_id,
            "EventStatus": event.status,
            "EventType": event.event_type,
            "ResourceType": "VirtualMachine",
            "Resources": list(self._world.names(event)),
            "NotBefore": formatdate(int(wall + 1e-6), usegmt=True) if event.status == SCHEDULED else "",
            "Description": event.life.description,
            "EventSource": event.life.source,
            "DurationInSeconds": event.life.duration,
        }
        if event.event_type == RECOMMENDATION:
            # Documented for what starts only.
            del shown["NotBefore"], shown["DurationInSeconds"]
        return shown


def _publishes(properties: dict[str, Any], event: Event) -> bool:
    policy = properties.get("scheduledEventsPolicy") or {}
    target = (policy.get("scheduledEventsAdditionalPublishingTargets") or {}).get("eventGridAndResourceGraph") or {}
    version = target.get("scheduledEventsApiVersion") or PUBLISHED[0]
    return enabled(target.get("enable")) and knows_type(event.event_type, version)


class Graph:
    """The handler of queries."""

    def __init__(
        self,
        publisher: Publisher,
        compute: ComputeResources,
        config: ArmConfig,
        rights: Rights,
        real: Callable[[], float],
    ) -> None:
        self._publisher = publisher
        self._compute = compute
        self._tenant = config.tenant_id
        self._management_groups = config.management_groups
        self._page_size = config.graph_page_size
        self._rights = rights
        self._real = real
        self._quotas: dict[str, Bucket] = {}

    def routes(self, router: Router) -> None:
        """Make it known."""
        router.add("POST", "/providers/Microsoft.ResourceGraph/resources", PROVIDER, self.query)

    def query(self, request: ArmRequest) -> ArmAnswer:
        """Run a query; one page of its result."""
        headers = self._admit(request.caller)
        document = request.document()
        text = document.get("query")
        if not isinstance(text, str) or not text.strip():
            raise _bad_query("The query is missing.")
        options = document.get("options") or {}
        wanted = self._scope(document)
        tables = {
            name: [
                row
                for row in rows
                if (wanted is None or row["subscriptionId"].lower() in wanted)
                and self._rights.permits(action, row["id"])
            ]
            for name, action, rows in (
                (_EVENTS, "Microsoft.Maintenance/scheduledevents/acknowledge/action", self._publisher.rows()),
                (_RESOURCES, "Microsoft.Compute/virtualMachines/read", self._resources()),
                (_INSTANCES, "Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read", self._instances()),
                (_CONTAINERS, "Microsoft.Resources/subscriptions/read", self._subscriptions()),
            )
        }
        try:
            found = run(text, tables)
        except QueryError as error:
            raise _bad_query(str(error)) from error
        top = min(options.get("$top") or _MOST, self._page_size)
        start = _start(options.get("$skipToken"), text) + (options.get("$skip") or 0)
        page = found[start : start + top]
        body: dict[str, Any] = {
            "totalRecords": len(found),
            "count": len(page),
            "data": page,
            "facets": [],
            "resultTruncated": "false",
        }
        old = request.version < _OBJECTS_SINCE
        if options.get("resultFormat", "table" if old else "objectArray") == "table":
            body["data"] = _table(page)
        if start + len(page) < len(found) and page:
            if any("id" not in row for row in page):
                body["resultTruncated"] = "true"  # without ids there are no further pages
            else:
                body["$skipToken"] = _token(start + len(page), text)
        return ArmAnswer(200, body, headers)

    def _resources(self) -> Iterator[dict[str, Any]]:
        """VMs, scale sets and availability sets. Instances of uniform sets are not in this table."""
        newest = versions.COMPUTE[-1]
        for scale_set in self._compute.sets.values():
            yield self._resource(show_set(scale_set, newest))
        for found in self._compute.availability_sets.values():
            yield self._resource(show_availability_set(found, self._compute, newest))
        for machine in ResourceLookup(self._compute).vms():
            shown = show_vm(machine, self._compute, newest)
            shown["properties"]["extended"] = {"instanceView": {"powerState": power_state(machine, self._compute)}}
            yield self._resource(shown)

    def _instances(self) -> Iterator[dict[str, Any]]:
        """The instances of uniform scale sets, which have a table of their own."""
        for scale_set in self._compute.sets.values():
            for machine in () if scale_set.flexible else scale_set.machines.values():
                yield self._resource(show_instance(scale_set, machine, self._compute, versions.COMPUTE[-1]))

    def _subscriptions(self) -> Iterator[dict[str, Any]]:
        """The subscriptions themselves. Of the resource groups and management groups nothing is known here."""
        for subscription in sorted(self._compute.subscriptions()):
            yield {
                "id": f"/subscriptions/{subscription}",
                "name": f"Simulated {subscription}",
                "type": "microsoft.resources/subscriptions",
                "tenantId": self._tenant,
                "subscriptionId": subscription,
                "properties": {"state": "Enabled"},
                "tags": None,
            }

    def _scope(self, document: Mapping[str, Any]) -> set[str] | None:
        """The subscriptions that a query is about, in lower case; None: all that there are."""
        subscriptions, groups = document.get("subscriptions") or [], document.get("managementGroups") or []
        if subscriptions and groups:
            raise _bad_query("Both subscriptions and managementGroups are given: this simulator takes one of them.")
        if groups:
            wanted: set[str] = set()
            for name in groups:
                below = self._management_groups.get(str(name).lower())
                if below is None and str(name).lower() == self._tenant:
                    return None
                if below is None:
                    raise _access_denied()
                wanted |= below
            return wanted
        named = {str(item).lower() for item in subscriptions}
        if named and not named & self._compute.subscriptions():
            raise _no_subscription(subscriptions)
        return named or None

    def _resource(self, shown: Mapping[str, Any]) -> dict[str, Any]:
        _empty, _subscriptions, subscription, _groups, group = shown["id"].split("/")[:5]
        return {
            "id": shown["id"],
            "name": shown["name"],
            "type": shown["type"].lower(),
            "tenantId": self._tenant,
            "kind": "",
            "location": shown["location"],
            "resourceGroup": group.lower(),
            "subscriptionId": subscription,
            "managedBy": "",
            "sku": shown.get("sku"),
            "plan": None,
            "properties": shown["properties"],
            "tags": shown.get("tags") or None,
            "identity": None,
            "zones": shown.get("zones"),
            "extendedLocation": None,
        }

    def _admit(self, caller: str) -> dict[str, str]:
        now = self._real()
        bucket = self._quotas.setdefault(caller, Bucket(_QUOTA, now))
        left = bucket.take(now)
        if left is None:
            # No Retry-After: this is all that Resource Graph says.
            raise ArmError(
                429,
                "RateLimiting",
                _SUPPORT,
                details=[
                    {
                        "code": "RateLimiting",
                        "message": "Client application has been throttled and should not attempt to repeat the request "
                        "until an amount of time has elapsed. Please see https://aka.ms/resourcegraph-throttling for "
                        "help.",
                    }
                ],
                headers={"x-ms-user-quota-remaining": "0", **_resets_after(bucket.wait())},
            )
        return {"x-ms-user-quota-remaining": str(left), **_resets_after(_WINDOW)}


def _access_denied() -> ArmError:
    """A scope that the caller may not see, in Resource Graph's own words, which name neither action nor scope.

    Source: https://github.com/Azure/azure-sdk-for-java/issues/29924
    """
    words = "Access is denied to the requested resource. The user might not have enough permission."
    return ArmError(403, "AccessDenied", _SUPPORT, details=[{"code": "AccessDenied", "message": words}])


def _no_subscription(given: Iterable[object]) -> ArmError:
    """None of these subscriptions is there, or can be seen by the caller."""
    words = "There must be at least one subscription that is eligible to contain resources. Given: "
    words += "'%s'." % ", ".join(map(str, given))
    return ArmError(
        400, "BadRequest", _SUPPORT, details=[{"code": "NoValidSubscriptionsInQueryRequest", "message": words}]
    )


def _resets_after(seconds: int) -> dict[str, str]:
    minutes, rest = divmod(seconds, 60)
    return {"x-ms-user-quota-resets-after": f"00:{minutes:02}:{rest:02}"}


def _bad_query(message: str) -> ArmError:
    return ArmError(
        400,
        "BadRequest",
        _SUPPORT,
        details=[
            {
                "code": "InvalidQuery",
                "message": "Query is invalid. Please refer to the documentation for the Azure Resource Graph service "
                "and fix the error before retrying.",
            },
            {"code": "ParserFailure", "message": message},
        ],
    )


def _token(start: int, query: str) -> str:
    return base64.b64encode(json.dumps([start, query]).encode()).decode()


def _start(token: str | None, query: str) -> int:
    """Where a page begins; a token belongs to its query."""
    if token is None:
        return 0
    try:
        start, asked = json.loads(base64.b64decode(token, validate=True))
    except ValueError:
        start, asked = 0, None
    if asked != query or not isinstance(start, int):
        raise ArmError(400, "BadRequest", "The $skipToken is invalid.", "$skipToken")
    return start


def _table(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    kinds = {name: next((_COLUMNS.get(type(row.get(name)), "object") for row in rows), "string") for name in names}
    return {
        "columns": [{"name": name, "type": kinds[name]} for name in names],
        "rows": [[row.get(name) for name in names] for row in rows],
    }
