# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of the lookup with Resource Graph.

Events name VMs as Azure does. Which hosts of the inventory these are is said by a variable of each host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ..scheduled_events.deadline import Deadline, read_seconds
from ..scheduled_events.errors import OptionError
from ..scheduled_events.event import NameKey, in_order_of_urgency, name_key
from ..scheduled_events.selection import ANY, Selection
from .acknowledgement import listed_as_dict
from .answers import Json
from .client import ArmClient
from .credentials import choose
from .machines import (
    Reference,
    check_known,
    check_unambiguous,
    hits_any,
    in_group,
    read_reference,
    read_references,
    subscriptions_to_read,
)
from .options import read_name, read_places
from .resource_graph import FINISHED, ListedEvent, list_events, subscriptions_of


def look_up(
    options: Mapping[str, Any],
    selection: Selection,
    vms: Sequence[str],
    hosts: Mapping[str, Mapping[str, Any]],
    warn: Callable[[str], None],
) -> list[Json]:
    """Read the events of the subscriptions and choose among them.

    :param vms: names or ids: only events that hit one of these; none: all
    :param hosts: the variables of each host of the inventory
    :param warn: told what somebody should know who signs in like this
    :raises OptionError: if an option cannot be meant
    :raises ArmError, DocumentError: see `resource_graph.list_events`
    """
    if selection.affecting != ANY:
        raise OptionError(
            "affecting: %r is relative to the VM that asks, and Resource Graph does not know it. Omit it, "
            "or name VMs instead" % selection.affecting
        )
    places = read_places(options)
    references = read_references(vms)
    group = read_name(options, "resource_group") if options.get("resource_group") is not None else None
    timeout = read_seconds(options, "timeout")
    sign_in = choose(options)
    for warning in sign_in.warnings:
        warn(warning)
    with ArmClient(sign_in, Deadline(timeout)) as client:
        given = subscriptions_of(client, places)
        subscriptions = subscriptions_to_read(given, client.known_subscription_id, references)
        listed = in_group(list_events(client, subscriptions, finished=True), group)
        check_unambiguous(references, listed, "_terms", "Give the id of one of them, or set resource_group")
        check_known(client, subscriptions, references, listed, group, "_terms")
    # A caller who names a status wants the events that have it.
    wants_finished = options["finished"] or not FINISHED.isdisjoint(selection.event_statuses or ())
    chosen = {
        id(one.event): one
        for one in listed
        if (wants_finished or not one.is_finished)
        and selection.chooses(one.event, "")
        and (not references or hits_any(references, one))
    }
    ordered = in_order_of_urgency(one.event for one in chosen.values())
    return join([chosen[id(event)] for event in ordered], hosts, options["inventory_variable"])


def join(listed: Sequence[ListedEvent], hosts: Mapping[str, Mapping[str, Any]], variable: str) -> list[Json]:
    """Write events as the lookup returns them, with the names in the inventory of the hosts that they hit.

    :param variable: holds a host's name or id in Azure; a host without it counts by its name in the inventory
    :raises OptionError: if it holds a name, and several of the VMs have that
    """
    if not listed:
        # Templating a variable of every host takes long, and usually nothing is announced.
        return []
    by_name: dict[NameKey, list[tuple[Reference, str]]] = {}
    for host in hosts:
        try:
            reference = read_reference(str(hosts[host].get(variable) or host))
        except OptionError as error:
            raise OptionError("%s of the host %s: %s" % (variable, host, error)) from None
        by_name.setdefault(name_key(reference.name), []).append((reference, host))
    hit = {name_key(name) for one in listed for name in one.event.resources}
    known = [reference for name in hit for reference, _host in by_name.get(name, ())]
    check_unambiguous(known, listed, variable, "Set inventory_variable to a variable that holds the ids of VMs")
    now = datetime.now(timezone.utc)
    return [
        dict(
            listed_as_dict(one, now),
            inventory_hosts=[
                host
                for vm in one.event.resources
                for reference, host in by_name.get(name_key(vm), ())
                if reference.means(one, vm)
            ],
        )
        for one in listed
    ]
