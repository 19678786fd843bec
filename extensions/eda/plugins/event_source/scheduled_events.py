# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright 2026 The foghorn.azure_events contributors
"""The event source scheduled_events, for ansible-rulebook."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

DOCUMENTATION = r"""
---
short_description: Tell of the maintenance that Azure announces for VMs.
description:
  - An ansible-rulebook event source that reads the scheduled events of Azure VMs where they can be read from outside
    of a VM, from the handler agents on the VMs or from Azure Resource Graph, and from the metadata service of the
    machine that it runs on, or a simulated one.
  - Each event comes once in each of its statuses, or again where O(remind_every) is set, however many agents tell of
    it, under the key C(azure_maintenance), with C(kind) V(scheduled_event), C(reported_by), C(resource_id), and the
    fields that the module M(foghorn.azure_events.scheduled_events_info) returns. It never comes in an earlier
    status after a later one.
  - C(meta.uuid) is made of the event's id and status alone. After a restart of the rulebook the same comes again with
    the same C(meta.uuid).
  - A playbook receives events as extra variables, which Ansible runs as templates. So only ids, types, statuses, times,
    and names of machines that consist of letters, digits and C(._-) are handed on. C(names_left_out) is V(true) where a
    name was left out. The rest, such as the description, is in C(texts), JSON in base 64, or V(null).
  - What Azure asks by lifecycle hooks before it upgrades the image of a scale set is told in the same shape, with
    C(kind) V(lifecycle_hook). C(event_type) is the type of the hook, C(event_status) V(Active) and then V(Completed),
    C(resources) the instances that wait for an answer, C(not_before) the time at which Azure waits no longer, and
    C(resource_id) the id of the set.
  - No error ends it. What is wrong is logged once, and once more when it works again.
options:
  source:
    description:
      - Where events are read. V(agents) asks the C(/status) of the agents that the role handler_agent installs,
        V(resource_graph) Azure Resource Graph, V(imds) a metadata service, V(lifecycle_hooks) Azure about the scale
        sets in O(scale_sets).
    type: str
    choices: [agents, resource_graph, imds, lifecycle_hooks]
    default: agents
  agents:
    description:
      - With O(source=agents), the URL of each agent by the name of its VM in Azure, as the agents themselves have it
        in C(quorum.members).
    type: dict
  agents_file:
    description: The same in a file, in YAML or JSON, in place of O(agents).
    type: str
  secret_file:
    description:
      - A file with the secret that the agents share, as their own C(quorum) has it. Questions are signed with it, and
        answers that are not are refused.
      - Without it, agents on other machines refuse to answer, and whatever else answers at the address of one can
        announce maintenance.
    type: str
  parallel:
    description: How many agents are asked at a time, from 1 to 1000.
    type: int
    default: 50
  interval:
    description:
      - Seconds from one reading to the next. With V(agents) 1 or more, by default 10. With V(imds) 1 or more, by
        default 5. With V(resource_graph) 5 or more, by default 60. With V(lifecycle_hooks) 5 or more, by default 30.
      - An agent that does not answer is asked less and less often, at least every five minutes.
    type: float
  timeout:
    description: Seconds for an answer. By default 10 with O(source=agents), else 150.
    type: float
  announce_between:
    description:
      - Times at which events are read and told, for what is to be done at a quiet hour. Each has C(days) (a list of
        V(mon) to V(sun), by default all), C(from) and C(to) (like V(22:00)), and C(time_zone) (V(UTC), an offset like
        V(+02:00), or a name like V(Europe/Berlin); by default V(UTC)).
      - When such a time begins, everything that is announced by then is told, also what was told the time before, with
        the same C(meta.uuid). What comes and goes in between is not told at all.
    type: list
    elements: dict
  remind_every:
    description:
      - Seconds after which an event that has not begun is told again, with the same C(meta.uuid), 30 or more. By
        default it is not. Set it for rules that run the playbook handle_events, which leaves an event alone until it is
        near, or until the time of day allows for it.
    type: float
  remind_within:
    description: With O(remind_every), seconds before its start from which on an event is told again.
    type: float
    default: 3600
  hosts_pattern:
    description:
      - Makes of a VM's name in Azure the name of its host in the inventory, for C(meta.hosts), as in
        V({lower_name}.example.com). V({name}) stands for the name as Azure writes it.
      - ansible-rulebook limits what it runs to C(meta.hosts). Set neither this nor O(hosts_inventory) for rules that
        run the playbook handle_events, which is for the whole fleet.
      - A name of which no host can be made is C(no-host-for-) and the name, which no inventory holds.
    type: str
  hosts_inventory:
    description:
      - A file that says which host a VM is, in place of O(hosts_pattern). It holds what C(ansible-inventory --list)
        writes, or an inventory in YAML without ranges of hosts. It is read again when it changes.
    type: str
  hosts_variable:
    description:
      - The variable in O(hosts_inventory) that has the VM's name or id in Azure. With dots, a variable within one.
        A host without it counts by its own name. A name that several hosts have means none of them.
    type: str
    default: azure_vm_name
  subscriptions:
    description: With O(source=resource_graph), the ids of the subscriptions. By default the one of the sign-in, or all.
    type: list
    elements: str
  management_group:
    description:
      - With O(source=resource_graph), the name of a management group, to read the events of all subscriptions below it.
        Not with O(subscriptions).
    type: str
  scale_sets:
    description:
      - With O(source=lifecycle_hooks), the scale sets, each with its C(resource_group) and its C(name). All are of one
        subscription, that of the sign-in.
    type: list
    elements: dict
  auth_source:
    description:
      - With O(source=resource_graph) or O(source=lifecycle_hooks), how to sign in, with the options of the lookup
        P(foghorn.azure_events.scheduled_events#lookup) of the same names, such as C(client_id), C(secret), C(tenant)
        and C(subscription_id), or the environment.
    type: str
    choices: [auto, cli, credential_file, env, msi]
  endpoint:
    description: With O(source=imds), the address of the metadata service, by default that of Azure.
    type: str
  api_version:
    description: >-
      With O(source=imds), the version of Scheduled Events. If not set, the newest, V(2024-07-09); and V(2020-07-01)
      where and as long as the metadata service lacks it.
    type: str
  connect_timeout:
    description: With O(source=imds), seconds within which the metadata service must be reached.
    type: float
    default: 5
"""

EXAMPLES = r"""
- foghorn.azure_events.scheduled_events:
    agents:
      web_0: http://10.0.0.4:9797
      web_1: http://10.0.0.5:9797
    secret_file: /etc/foghorn/secret

- foghorn.azure_events.scheduled_events:
    source: resource_graph
    auth_source: msi
    subscriptions: [00000000-0000-0000-0000-000000000000]
    hosts_inventory: /var/lib/foghorn/inventory.json
    hosts_variable: id
"""

_LOGGER = logging.getLogger("foghorn.azure_events")


def _of_collection(module: str) -> ModuleType:
    """Import a module of the collection that this file is part of.

    ansible-rulebook runs this file by its path: nothing is found relative to it, and Python does
    not know of collections.
    """
    root = Path(__file__).absolute().parents[7]
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    collections = importlib.import_module("ansible_collections")
    # The package `ansible` brings one that looks nowhere else.
    if str(root / "ansible_collections") not in collections.__path__:
        collections.__path__.append(str(root / "ansible_collections"))
    return importlib.import_module(f"ansible_collections.foghorn.azure_events.plugins.{module}")


_OPTIONS = _of_collection("plugin_utils.event_driven.options")
_WATCH = _of_collection("plugin_utils.event_driven.watch")


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Put an event on the queue for each that Azure announces, until cancelled."""
    options = await asyncio.to_thread(_OPTIONS.read_options, args, _tell)
    await _WATCH.watch(queue, options, _tell)


def _tell(text: str) -> None:
    _LOGGER.warning("scheduled_events: %s", text)
