# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Finds the VM that an option names.

A scheduled event names VMs, and names repeat: a subscription may hold a web_0 in each of its resource groups. A VM
is known by the subscription and resource group of the resource that its event was published for, and its name. A
name alone is understood as long as only one VM can be meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from ..scheduled_events.event import same_name
from ..scheduled_events.words import read_vm_names
from .client import ArmClient
from .permissions import EVENTS_ROLE
from .resource_graph import ListedEvent, machine_ids

_ID = re.compile(
    r"(?P<group>/subscriptions/[^/]+/resourceGroups/[^/]+)/providers/Microsoft\.Compute"
    r"(?:/virtualMachineScaleSets/(?P<scale_set>[^/]+))?/virtualMachines/(?P<name>[^/]+)/?\Z",
    re.IGNORECASE,
)


class Reference(NamedTuple):
    """A VM, as the user named it."""

    name: str
    """As in an event's Resources."""
    group_id: str | None = None
    """The id of its resource group. None: it was not given."""

    def __str__(self) -> str:
        return self.name if self.group_id is None else "%s in %s" % (self.name, self.group_id)

    def is_same(self, other: Reference) -> bool:
        """Whether this may be that VM, whose resource group is known."""
        return same_name(self.name, other.name) and (
            self.group_id is None or same_name(self.group_id, str(other.group_id))
        )

    def means(self, listed: ListedEvent, name: str) -> bool:
        """Whether this is the VM of that name in the resource group of that event."""
        return same_name(self.name, name) and (
            self.group_id is None or self.group_id.lower() == listed.group_id.lower()
        )


def read_reference(text: str) -> Reference:
    """Read the name of a VM, or its id.

    An instance of a uniform scale set, whose id ends in a number, has the name that Azure makes of it: web_0.

    :raises OptionError: if it begins like an id and is none of a VM
    """
    if not text.startswith("/"):
        return Reference(text)
    match = _ID.match(text)
    if match is None:
        raise OptionError(
            "%r is not the id of a VM, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/"
            "virtualMachines/NAME, or …/virtualMachineScaleSets/NAME/virtualMachines/ID" % text
        )
    name, scale_set = match["name"], match["scale_set"]
    return Reference("%s_%s" % (scale_set, name) if scale_set and name.isdecimal() else name, match["group"])


def read_references(texts: Sequence[Any]) -> list[Reference]:
    """Read names and ids of VMs.

    :raises OptionError: on the first that cannot be one
    """
    return [read_reference(text) for text in read_vm_names(texts)]


def subscriptions_to_read(given: Sequence[str], own: str | None, references: Iterable[Reference]) -> list[str]:
    """Which subscriptions hold the events of these VMs?

    :param given: what a user asked for; where it is not empty, it is the answer
    :param own: the one of the sign-in, if it has one
    :returns: its own, and those of the VMs as long as all of them were given by their ids; empty: nobody said
    """
    if given:
        return list(given)
    groups = [one.group_id for one in references]
    of_ids = [] if None in groups else [str(group).split("/")[2] for group in groups]
    return list({one.lower(): one for one in [*of_ids, *([own] if own else [])]}.values())


def is_meant(references: Iterable[Reference], listed: ListedEvent, name: str) -> bool:
    """Whether one of these is the VM of that name in the resource group of that event."""
    return any(one.means(listed, name) for one in references)


def hits_any(references: Iterable[Reference], listed: ListedEvent) -> bool:
    """Whether an event hits one of these VMs, or may: some events do not show it."""
    references = list(references)
    return listed.event.is_of_unknown_vms or any(is_meant(references, listed, name) for name in listed.event.resources)


def in_group(listed: Iterable[ListedEvent], resource_group: str | None) -> list[ListedEvent]:
    """The events of a resource group, in any subscription. None: all."""
    return [
        one for one in listed if resource_group is None or same_name(one.group_id.rsplit("/", 1)[-1], resource_group)
    ]


def check_known(
    client: ArmClient,
    subscriptions: Sequence[str],
    references: Iterable[Reference],
    listed: Iterable[ListedEvent],
    resource_group: str | None,
    option: str,
) -> None:
    """Refuse a VM that Resource Graph does not know: one that is misspelt, or that the sign-in may not see.

    Of such a VM there are no events, as there are none of one that is well. Asks only about VMs without any event.

    :param listed: all events that are known of, those that are over as well
    :param resource_group: the only one that is meant; None: any
    :param option: where they were given, for the error
    :raises OptionError: if there is one
    :raises ArmError: if Resource Graph cannot be asked
    """
    listed = list(listed)
    missing = [
        reference
        for reference in references
        if not any(reference.means(one, name) for one in listed for name in one.event.resources)
    ]
    if not missing:
        return
    for found in machine_ids(client, subscriptions, [reference.name for reference in missing]):
        if _ID.match(found) is None:
            continue
        known = read_reference(found)
        group = str(known.group_id).rsplit("/", 1)[-1]
        if resource_group is None or same_name(group, resource_group):
            missing = [reference for reference in missing if not reference.is_same(known)]
        if not missing:
            return
    raise OptionError(
        "%s: Azure Resource Graph knows no VM %s in %s. Check the name, the resource group and the subscription; if it"
        " is there, the sign-in may not see it: give it the role %s on the subscription or the resource group"
        % (
            option,
            " and none ".join(map(str, missing)),
            "resource group %s" % resource_group
            if resource_group
            else "subscription %s" % ", ".join(subscriptions)
            if subscriptions
            else "any subscription that the sign-in sees",
            EVENTS_ROLE,
        )
    )


def check_unambiguous(references: Iterable[Reference], listed: Iterable[ListedEvent], option: str, remedy: str) -> None:
    """Refuse a name that several VMs have.

    :param listed: all events that are known of, those that are over as well: the more, the sooner it is found out
    :param option: where the name was given, for the error
    :param remedy: what to do, for the error
    :raises OptionError: if a name without a resource group is that of VMs in several
    """
    listed = list(listed)
    for reference in references:
        if reference.group_id is not None:
            continue
        ids: dict[str, str] = {}
        for one in listed:
            for name in one.event.resources:
                if reference.means(one, name):
                    ids.setdefault(one.group_id.lower(), one.id_of(name))
        if len(ids) > 1:
            raise OptionError(
                "%s: %r is the name of %d VMs: %s. %s"
                % (option, reference.name, len(ids), " and ".join(sorted(ids.values())), remedy)
            )
