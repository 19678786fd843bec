# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which of many VMs Azure lists events for, and for which of them its silence proves nothing.

Resource Graph lists the events of VMs whose policy publishes them, to a sign-in that may see them. Of all others it
lists nothing either way: they have to be asked themselves.

Source: https://learn.microsoft.com/azure/virtual-machines/scheduled-events-resource-graph
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .client import ArmClient
from .errors import ArmError
from .machines import Reference, read_reference
from .permissions import ACKNOWLEDGE, EVENTS_ROLE, is_permitted, permissions_on
from .resource_graph import READ, ListedEvent, list_events, rows_of

_KINDS = "'microsoft.compute/virtualmachines', 'microsoft.compute/virtualmachinescalesets'"
_TARGET = "properties.scheduledEventsPolicy.scheduledEventsAdditionalPublishingTargets.eventGridAndResourceGraph"
QUERY = (
    "resources | where type in~ (%s, 'microsoft.compute/availabilitysets') | project id, publishes = %s.enable,"
    " scaleSet = properties.virtualMachineScaleSet.id, availabilitySet = properties.availabilitySet.id"
) % (_KINDS, _TARGET)


class Announcements(NamedTuple):
    """Azure's answer about VMs, by their ids as they were given."""

    events: Mapping[str, Sequence[ListedEvent]]
    """The events that hit a VM, or may. Only VMs that have any."""
    unlisted: Mapping[str, str]
    """Why it may list nothing for a VM even if an event is announced, in words."""


def read_vm_ids(options: Mapping[str, Any]) -> list[str]:
    """Check the option `vm_ids`.

    :raises OptionError: on the first that is no id of a VM
    """
    for vm_id in options["vm_ids"]:
        if not vm_id.startswith("/"):
            raise OptionError("vm_ids: %r is not the id of a VM. It begins with /subscriptions/" % vm_id)
        try:
            read_reference(vm_id)
        except OptionError as error:
            raise OptionError("vm_ids: %s" % error) from None
    return list(options["vm_ids"])


def find_announcements(client: ArmClient, vm_ids: Sequence[str]) -> Announcements:
    """Ask about all VMs at once.

    :param vm_ids: ids of VMs, and of instances of uniform scale sets
    :raises ArmError: if Azure does not say
    """
    if not vm_ids:
        # A query without subscriptions would cover all that the sign-in may see.
        return Announcements({}, {})
    references = {vm_id: read_reference(vm_id) for vm_id in vm_ids}
    subscriptions = list({_subscription(one).lower(): _subscription(one) for one in references.values()}.values())
    listed = list_events(client, subscriptions)
    hidden = dict(_hidden(client, subscriptions))
    publishers = _Publishers(rows_of(client, {"subscriptions": subscriptions}, QUERY, READ))
    unlisted = {}
    for vm_id, reference in references.items():
        why = hidden.get(_subscription(reference).lower()) or publishers.why_silent(vm_id)
        if why:
            unlisted[vm_id] = why
    return Announcements(_events_of(references, listed), unlisted)


def _subscription(reference: Reference) -> str:
    return str(reference.group_id).split("/")[2]


def _events_of(references: Mapping[str, Reference], listed: Iterable[ListedEvent]) -> dict[str, list[ListedEvent]]:
    by_name: dict[tuple[str, str], list[str]] = {}
    by_group: dict[str, list[str]] = {}
    for vm_id, reference in references.items():
        group = str(reference.group_id).lower()
        by_name.setdefault((group, reference.name.lower()), []).append(vm_id)
        by_group.setdefault(group, []).append(vm_id)
    found: dict[str, list[ListedEvent]] = {}
    for one in listed:
        group = one.group_id.lower()
        # Nobody knows which VMs an unreadable event hits.
        hit = (
            [by_group.get(group, [])]
            if one.event.is_of_unknown_vms
            else [by_name.get((group, name.lower()), []) for name in one.event.resources]
        )
        for vm_id in dict.fromkeys(vm_id for vm_ids in hit for vm_id in vm_ids):
            found.setdefault(vm_id, []).append(one)
    return found


def _hidden(client: ArmClient, subscriptions: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The subscriptions, in lower case, whose events the sign-in may not see, and why.

    Resource Graph does not refuse it: it answers with no events.
    """
    for subscription in subscriptions:
        place = "/subscriptions/%s" % subscription
        try:
            permissions = permissions_on(client, place)
        except ArmError as error:
            yield subscription.lower(), "it is not known whether the sign-in may read its events: %s" % error
            continue
        if not is_permitted(permissions, ACKNOWLEDGE.action):
            yield subscription.lower(), "the sign-in lacks the role %s on %s" % (EVENTS_ROLE, place)


class _Publishers:
    """Which VMs, scale sets and availability sets publish their events."""

    def __init__(self, found: Iterable[Mapping[str, Any]]) -> None:
        self._publishes: dict[str, bool] = {}
        self._owners: dict[str, str] = {}
        for row in found:
            resource_id = str(row.get("id")).lower()
            self._publishes[resource_id] = str(row.get("publishes")).lower() == "true"
            owner = row.get("scaleSet") or row.get("availabilitySet")
            if owner:
                self._owners[resource_id] = str(owner).lower()

    def why_silent(self, vm_id: str) -> str:
        """Why the events of a VM are not published, in words. Empty if they are."""
        key = vm_id.rstrip("/").lower()
        if "/virtualmachinescalesets/" in key:
            key = key.partition("/virtualmachines/")[0]
        elif key not in self._publishes:
            return "Resource Graph does not know it"
        # A VM in a set has the set's policy.
        owner = self._owners.get(key, key)
        if owner not in self._publishes:
            return "Resource Graph does not know %s" % owner
        return "" if self._publishes[owner] else "its scheduledEventsPolicy does not publish its events"
