# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Asks Resource Graph for events, and for the subscriptions below a management group.

All events of whole subscriptions, of those resources whose policy publishes them. What is over stays as
history, with two statuses that the metadata service does not have.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events and
https://learn.microsoft.com/azure/governance/resource-graph/concepts/work-with-data
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.document import parse_event, parse_listed
from ..scheduled_events.errors import DocumentError
from ..scheduled_events.event import EVENT_STATUSES, Event
from .answers import Json
from .client import ArmClient, Permission
from .errors import ArmError
from .options import Places

PATH = "/providers/Microsoft.ResourceGraph/resources"
API_VERSION = "2022-10-01"
QUERY = "maintenanceresources | where type == 'microsoft.maintenance/scheduledevents'"

SUBSCRIPTIONS_QUERY = (
    "resourcecontainers | where type == 'microsoft.resources/subscriptions' | project id, subscriptionId"
    " | order by subscriptionId asc"
)

COMPLETED = "Completed"
CANCELED = "Canceled"
FINISHED = frozenset([COMPLETED.lower(), CANCELED.lower()])
LISTED_STATUSES = (*EVENT_STATUSES, COMPLETED, CANCELED)

READ = Permission("Microsoft.ResourceGraph/resources/read", "Reader")

_MACHINES_QUERY = "resources | where type =~ 'microsoft.compute/virtualmachines' and name in~ (%s) | project id"
# Of a uniform scale set. Here a name is not always that of the VM, but the id always ends in the instance's number.
_INSTANCES_QUERY = (
    "computeresources | where type =~ 'microsoft.compute/virtualmachinescalesets/virtualmachines' | project id"
)

# The code of a detail: Azure's own code is BadRequest, and its message asks to call support.
_SEES_NONE = "NoValidSubscriptionsInQueryRequest"

_SEPARATOR = "/providers/microsoft.maintenance/scheduledevents/"


class ListedEvent(NamedTuple):
    """An event, and what Resource Graph knows besides."""

    event: Event
    resource_id: str
    """Of the VM, scale set or availability set that it was published for: what it is acknowledged on."""
    location: str | None = None
    zones: tuple[str, ...] = ()

    @property
    def group_id(self) -> str:
        """The id of the resource group that all of its VMs are in."""
        start, _separator, _end = self.resource_id.partition("/providers/")
        return start

    def id_of(self, name: str) -> str:
        """The id of one of its VMs. (Of an instance of a uniform scale set, the one that it would have as a VM.)"""
        return "%s/providers/Microsoft.Compute/virtualMachines/%s" % (self.group_id, name)

    @property
    def is_finished(self) -> bool:
        """Whether it is history."""
        return self.event.event_status.lower() in FINISHED


def list_events(client: ArmClient, subscriptions: Sequence[str], finished: bool = False) -> list[ListedEvent]:
    """Read all events of these subscriptions, all pages. A row that cannot be read is an event as far as it can be.

    :param subscriptions: empty: all that the sign-in may see
    :param finished: those as well that are over
    :raises ArmError: if that fails
    """
    scope = {"subscriptions": list(subscriptions)} if subscriptions else {}
    events = [_read_row(row) for row in rows_of(client, scope, QUERY, READ)]
    return [one for one in events if finished or not one.is_finished]


def machine_ids(client: ArmClient, subscriptions: Sequence[str], names: Iterable[str]) -> Iterator[str]:
    """The ids of the VMs of these names, in whatever case; and then of all instances of uniform scale sets.

    :raises ArmError: if that fails
    """
    scope = {"subscriptions": list(subscriptions)} if subscriptions else {}
    texts = ", ".join("'%s'" % name.replace("\\", "\\\\").replace("'", "\\'") for name in names)
    for query in (_MACHINES_QUERY % texts, _INSTANCES_QUERY):
        for row in rows_of(client, scope, query, READ):
            yield str(row.get("id"))


def _read_row(row: Any) -> ListedEvent:
    try:
        return parse_row(row)
    except DocumentError:
        fields = row if isinstance(row, dict) else {"properties": row}
        properties = fields.get("properties")
        if isinstance(properties, dict):
            properties = {"EventId": fields.get("name"), **properties}
        resource_id = str(fields.get("id"))
        end = resource_id.lower().find(_SEPARATOR)
        return ListedEvent(parse_listed(properties), resource_id[: max(0, end)])


def subscriptions_of(client: ArmClient, places: Places) -> list[str]:
    """The subscriptions that somebody wants to look in: those that are named, or all below a management group.

    :returns: empty: nobody said
    :raises ArmError: if Resource Graph cannot be asked, or shows none below the group
    """
    if places.management_group is None:
        return list(places.subscriptions)
    scope = {"managementGroups": [places.management_group]}
    advice = "Check the id, and that the sign-in has the role Reader on it"
    try:
        rows = list(rows_of(client, scope, SUBSCRIPTIONS_QUERY, READ))
    except ArmError as error:
        if error.status != 403:
            raise
        # Resource Graph's own words name neither the action nor the scope.
        said = "management_group: %r: %s. %s" % (places.management_group, str(error).rstrip("."), advice)
        raise ArmError(said, error.status, error.code) from None
    found = [str(row["subscriptionId"]) for row in rows if "subscriptionId" in row]
    if not found:
        # Without any, a query would be about all that the sign-in may see.
        raise ArmError(
            "management_group: Resource Graph shows no subscription below %r. %s" % (places.management_group, advice)
        )
    return found


def parse_row(row: Any) -> ListedEvent:
    """Read one row: its `properties` are an event in the metadata service's own words.

    :raises DocumentError: if it is no event
    """
    if not isinstance(row, dict) or not isinstance(row.get("properties"), dict) or not isinstance(row.get("id"), str):
        raise DocumentError("Resource Graph returned a row that is not an event: %s" % _quote(row))
    properties = {"EventId": row.get("name"), **row["properties"]}
    try:
        event = parse_event(properties)
    except DocumentError as error:
        raise DocumentError(
            "Resource Graph returned a row that is not an event (%s): %s" % (row["id"], error)
        ) from None
    end = row["id"].lower().find(_SEPARATOR)
    if end < 0:
        raise DocumentError("Resource Graph listed an event without its resource: %s" % row["id"])
    return ListedEvent(event, row["id"][:end], row.get("location"), tuple(row.get("zones") or ()))


def rows_of(client: ArmClient, scope: Mapping[str, Any], query: str, needs: Permission) -> Iterator[Mapping[str, Any]]:
    """The rows of a query, all pages.

    :param scope: `subscriptions` or `managementGroups`; without any, all that the sign-in may see
    :raises ArmError: if that fails
    """
    body: Json = {**scope, "query": query}
    while True:
        try:
            page = client.post(PATH, body, needs, API_VERSION, repeatable=True).content
        except ArmError as error:
            if _SEES_NONE not in str(error):
                raise
            advice = "Check the subscription, and that the sign-in has a role in it"
            raise ArmError("%s. %s" % (str(error).rstrip("."), advice), error.status, error.code) from None
        if not isinstance(page, dict) or not isinstance(page.get("data"), list):
            raise ArmError("Resource Graph did not answer with a page of rows: %s" % _quote(page))
        yield from page["data"]
        token = page.get("$skipToken")
        if not token:
            if str(page.get("resultTruncated")).lower() == "true":
                raise ArmError("Resource Graph returned only a part of the rows, and no token for the rest")
            return
        body = {**body, "options": {"$skipToken": token}}


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "…"
