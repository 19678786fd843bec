# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What does the lookup do with Resource Graph, from start to end?

Events name VMs as Azure does. Which hosts of the inventory these are is said by a variable of each host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ..scheduled_events.deadline import Deadline
from ..scheduled_events.document import in_order_of_urgency
from ..scheduled_events.options import OptionError, read_seconds
from ..scheduled_events.selection import ANY, Selection, affecting_any_of
from .acknowledgement import listed_as_dict
from .client import ArmClient, Json
from .credentials import choose
from .options import read_subscriptions
from .resource_graph import ListedEvent, list_events


def look_up(
    options: Mapping[str, Any], selection: Selection, vm_names: Sequence[str], hosts: Mapping[str, Mapping[str, Any]]
) -> list[Json]:
    """Read the events of the subscriptions and choose among them.

    :param vm_names: only events that hit one of these; none: all
    :param hosts: the variables of each host of the inventory
    :raises OptionError: if an option cannot be meant
    :raises ArmError, DocumentError: see `resource_graph.list_events`
    """
    if selection.affecting != ANY:
        raise OptionError(
            "affecting: %r needs a VM that asks, and Resource Graph has none. Leave it out, or name VMs instead"
            % selection.affecting
        )
    subscriptions = read_subscriptions(options)
    timeout = read_seconds(options, "timeout")
    with ArmClient(choose(options), Deadline(timeout)) as client:
        listed = list_events(client, subscriptions or [client.subscription_id], options["finished"])
    chosen = {id(one.event): one for one in listed if selection.chooses(one.event, "")}
    events = [one.event for one in chosen.values()]
    ordered = in_order_of_urgency(affecting_any_of(events, vm_names) if vm_names else events)
    return join([chosen[id(event)] for event in ordered], hosts, options["inventory_variable"])


def join(listed: Sequence[ListedEvent], hosts: Mapping[str, Mapping[str, Any]], variable: str) -> list[Json]:
    """Write events as the lookup returns them, with the names in the inventory of the hosts that they hit.

    :param variable: holds a host's name in Azure; a host without it counts by its name in the inventory
    """
    if not listed:
        # To template a variable of every host takes its time, and most of the time nothing is announced.
        return []
    by_vm: dict[str, list[str]] = {}
    for host in hosts:
        by_vm.setdefault(str(hosts[host].get(variable) or host).lower(), []).append(host)
    now = datetime.now(timezone.utc)
    return [
        dict(
            listed_as_dict(one, now),
            inventory_hosts=[host for vm in one.event.resources for host in by_vm.get(vm.lower(), ())],
        )
        for one in listed
    ]
