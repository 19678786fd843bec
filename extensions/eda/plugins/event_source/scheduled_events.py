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
short_description: Report the maintenance that Azure announces for VMs.
description:
  - An ansible-rulebook event source that reads the scheduled events of Azure VMs from the handler agents on the VMs,
    from Azure Resource Graph, or from the metadata service of its own machine or of a simulator.
  - Each event comes once in each of its statuses, or repeatedly with O(remind_every), under the key
    C(azure_maintenance), with C(kind) V(scheduled_event), C(reported_by), C(resource_id), and the fields that the
    module M(foghorn.azure_events.scheduled_events_info) returns. It never comes in an earlier status after a later one.
  - With O(source=agents), each agent speaks for its own VM. An event comes once however many agents say the same of
    it, and again if they differ, so that no agent can hide the event of another VM.
  - C(meta.uuid) is derived from the event's id and status, and with O(source=agents) from all that is said of it. After
    a restart of the rulebook, all announced events come again with the same C(meta.uuid).
  - A playbook receives events as extra variables, which Ansible evaluates as templates. So only ids, types, statuses,
    times, and names of machines that consist of letters, digits and C(._-) are kept. C(names_left_out) is V(true) if a
    name was left out. Everything else, such as the description, is in C(texts), JSON in base 64, or V(null).
  - Questions of lifecycle hooks before Azure upgrades the image of a scale set have the same format, with C(kind)
    V(lifecycle_hook). C(event_type) is the type of the hook, C(event_status) V(Active) and then V(Completed),
    C(resources) the waiting instances, C(not_before) the time until which Azure waits, and C(resource_id) the id of the
    scale set.
  - No error ends the source. It logs each error once, and again when it is resolved.
options:
  source:
    description:
      - Source of the events. V(agents) asks the C(/status) of the agents that the role handler_agent installs,
        V(resource_graph) asks Azure Resource Graph, V(imds) asks a metadata service, V(lifecycle_hooks) asks Azure
        about the scale sets in O(scale_sets).
    type: str
    choices: [agents, resource_graph, imds, lifecycle_hooks]
    default: agents
  agents:
    description:
      - With O(source=agents), the URL of each agent by the name of its VM in Azure, like C(quorum.members) of the
        agents.
    type: dict
  agents_file:
    description: The same in a file, in YAML or JSON, instead of O(agents).
    type: str
  secret_file:
    description:
      - A file with the shared secret of the agents, the secret of their C(quorum). Questions are signed with it, and
        unsigned answers are refused.
      - Without it, agents on other machines refuse to answer, and any program that answers at an agent's address can
        announce maintenance.
      - No other user may read the file, or change it or a directory above it. It belongs to root or to the user of the
        source. A file of root's may also be readable by a group of this user (mode 0640 or 0440), as the secret of a
        pod with C(fsGroup) is.
    type: str
  parallel:
    description: How many agents are asked in parallel, from 1 to 1000.
    type: int
    default: 50
  interval:
    description:
      - Seconds between polls. With V(agents) 1 or more, by default 10. With V(imds) 1 or more, by default 5. With
        V(resource_graph) 5 or more, by default 60. With V(lifecycle_hooks) 5 or more, by default 30.
      - An agent that does not answer is asked at increasing intervals, at least every five minutes.
    type: float
  timeout:
    description: Seconds for an answer. By default 10 with O(source=agents), else 150.
    type: float
  announce_between:
    description:
      - Times at which events are read and reported, for actions at quiet hours. Each has C(days) (a list of V(mon) to
        V(sun), by default all), C(from) and C(to) (like V(22:00)), and C(time_zone) (V(UTC), an offset like V(+02:00),
        or a name like V(Europe/Berlin); by default V(UTC)).
      - When such a time begins, all announced events are reported, including events that were reported in the previous
        time, with the same C(meta.uuid). Events that appear and end in between are not reported.
    type: list
    elements: dict
  remind_every:
    description:
      - Seconds after which an event that has not begun is reported again, with the same C(meta.uuid), 30 or more. By
        default it is not repeated. Set it for rules that run the playbook handle_events, which leaves an event alone
        until it is near, or until the time of day allows it.
    type: float
  remind_within:
    description: With O(remind_every), how many seconds before its start the repetition of an event begins.
    type: float
    default: 3600
  hosts_pattern:
    description:
      - Pattern that converts a VM's name in Azure to its inventory name, for C(meta.hosts), like
        V({lower_name}.example.com). V({name}) is the name as Azure writes it.
      - ansible-rulebook limits playbooks to C(meta.hosts). Set neither this nor O(hosts_inventory) for rules that run
        the playbook handle_events, which needs the whole fleet.
      - A VM without a host becomes C(no-host-for-) and its name, which no inventory contains.
    type: str
  hosts_inventory:
    description:
      - A file that maps VMs to hosts, instead of O(hosts_pattern). It is the output of C(ansible-inventory --list), or
        an inventory in YAML without ranges of hosts. It is read again when it changes.
    type: str
  hosts_variable:
    description:
      - The variable in O(hosts_inventory) that contains the VM's name or id in Azure. Dots select a nested variable. A
        host without it has its own name. A name that several hosts have matches none of them.
    type: str
    default: azure_vm_name
  subscriptions:
    description: With O(source=resource_graph), the ids of the subscriptions. By default the subscription of the
      sign-in, or all.
    type: list
    elements: str
  management_group:
    description:
      - With O(source=resource_graph), the name of a management group, to read the events of all subscriptions below it.
        Not with O(subscriptions).
    type: str
  scale_sets:
    description:
      - With O(source=lifecycle_hooks), the scale sets, each with C(resource_group) and C(name). All belong to the
        subscription of the sign-in.
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
    description: With O(source=imds), the version of Scheduled Events. By default the newest, V(2024-07-09), or
      V(2020-07-01) while the metadata service lacks it.
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
    # The package `ansible` brings a collection finder that searches nothing else.
    if str(root / "ansible_collections") not in collections.__path__:
        collections.__path__.append(str(root / "ansible_collections"))
    return importlib.import_module(f"ansible_collections.foghorn.azure_events.plugins.{module}")


_OPTIONS = _of_collection("plugin_utils.event_driven.options")
_WATCH = _of_collection("plugin_utils.event_driven.watch")


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Put each announced event on the queue until cancelled."""
    options = await asyncio.to_thread(_OPTIONS.read_options, args, _tell)
    await _WATCH.watch(queue, options, _tell)


def _tell(text: str) -> None:
    _LOGGER.warning("scheduled_events: %s", text)
