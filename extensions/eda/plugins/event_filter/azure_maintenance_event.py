# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# Copyright 2026 The foghorn.azure_events contributors
"""The event filter azure_maintenance_event, for ansible-rulebook."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

DOCUMENTATION = r"""
---
short_description: Convert maintenance events of Azure VMs from any source to one format.
description:
  - An ansible-rulebook event filter. It reads messages that Event Grid delivers through Azure Service Bus or Event Hubs
    (the sources C(azure.azcollection.azure_service_bus) and C(azure.azcollection.azure_event_hub)), a webhook or an
    event stream, and messages of the handler agent's webhooks. It accepts the Event Grid schema and CloudEvents, one at
    a time or in a list, as text or in base 64, and CloudEvents with attributes in headers.
  - The result has the key C(azure_maintenance) and nothing else of the message. C(kind) is V(scheduled_event), in the
    format of the source P(foghorn.azure_events.scheduled_events#event_source); V(lifecycle_hook), in the same format,
    for questions before Azure upgrades the image of a scale set; V(update_manager), for events before (C(phase) V(pre))
    and after (V(post)) a run of updates; or V(agent), for the C(stage) of an agent.
  - Each event comes once, and a scheduled event never in an earlier status after a later one. Event Grid delivers at
    least once and in any order. Whoever may send to a source can keep its scheduled events from being announced, so
    give Event Grid and the webhooks of agents a source each. Of the messages of agents only exact repetitions are
    dropped.
  - A playbook receives events as extra variables, which Ansible evaluates as templates. So only ids, types, statuses,
    times, and names of machines that consist of letters, digits and C(._-) are kept. C(names_left_out) is V(true) if a
    name was left out. Everything else, such as descriptions, is in C(texts), JSON in base 64, or V(null).
  - Other messages pass unchanged.
options:
  remember:
    description: How many events to remember, to recognize repetitions.
    type: int
    default: 50000
  hosts_pattern:
    description: As in the source P(foghorn.azure_events.scheduled_events#event_source).
    type: str
  hosts_inventory:
    description: As in the source P(foghorn.azure_events.scheduled_events#event_source).
    type: str
  hosts_variable:
    description: As in the source P(foghorn.azure_events.scheduled_events#event_source).
    type: str
    default: azure_vm_name
notes:
  - ansible-rulebook evaluates templates in the arguments of sources, but not of filters. A template here is refused.
  - Before ansible-rulebook 1.2 a filter returns exactly one event for each event. There, a dropped event becomes an
    empty event, and only the first of several events in one message passes, with a warning. Event Grid puts one event
    into each message of Service Bus and of Event Hubs.
  - Leave C(feedback) of a source off. It would wait for an answer to each event, and to one that this filter drops
    ansible-rulebook gives none.
  - Event Grid delivers to a webhook only after a handshake, which neither C(ansible.eda.webhook) nor an event stream
    answers. Let it deliver to Service Bus or Event Hubs.
"""

EXAMPLES = r"""
- azure.azcollection.azure_service_bus:
    conn_str: "{{ connection_string }}"
    queue_name: maintenance
  filters:
    - foghorn.azure_events.azure_maintenance_event:
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


_DELIVERIES = _of_collection("plugin_utils.event_driven.deliveries")
# ansible-rulebook loads this file anew for each source that it filters.
_TRANSLATORS: dict[str, Any] = {}


def _takes_lists() -> bool:
    """Whether this ansible-rulebook takes several events, or none, from a filter."""
    try:
        version = importlib.metadata.version("ansible-rulebook")
    except importlib.metadata.PackageNotFoundError:
        return True
    return [int(part) for part in version.split(".")[:2] if part.isdigit()] >= [1, 2]


_TAKES_LISTS = _takes_lists()


def main(event: dict[str, Any], **args: object) -> Any:
    """Return what replaces an event for the rules: one event, or a list of any number of events."""
    if not _TRANSLATORS:
        _TRANSLATORS["only"] = _DELIVERIES.open_translator(args, _tell)
    announced: list[Any] = _TRANSLATORS["only"].translate(event)
    # A source that puts its events with put_nowait takes no list, in any version.
    if len(announced) == 1:
        return announced[0]
    if _TAKES_LISTS:
        return announced
    if announced:
        _tell(
            "events lost of one delivery: %d. Upgrade to ansible-rulebook 1.2, which passes all on"
            % (len(announced) - 1)
        )
    return announced[0] if announced else {}


def _tell(text: str) -> None:
    _LOGGER.warning("azure_maintenance_event: %s", text)
