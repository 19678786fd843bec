# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vm_address_info: whether a machine that is reached at an address is the VM that it claims to be.

A managed host that was taken over may answer with the id of another VM. The addresses of a VM's network interfaces are
Azure's word, not the host's.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .client import ArmClient
from .ip_configurations import INSTANCE_ID, canonical, check_vm_id, find_addresses, find_ip_configurations
from .permissions import READ_MACHINES


class Question(NamedTuple):
    """Which VM, and at which address it is reached."""

    vm_id: str
    reached_at: frozenset[str]
    """Addresses. Empty: it was not resolved."""


class Addresses(NamedTuple):
    """Azure's data about a VM."""

    private: list[str]
    is_held: bool
    """Whether the VM has one of the addresses."""
    scale_set: str | None
    """The id of its scale set."""


def read_question(options: Mapping[str, Any]) -> Question:
    """Check the options, and resolve a name as the machine does that runs this.

    :raises OptionError: if one cannot be meant, or the name is not known
    """
    vm_id, host = options["vm_id"], options.get("host")
    check_vm_id("vm_id", vm_id)
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM) if host else []
    except (OSError, UnicodeError) as error:
        raise OptionError(
            "host: %s does not resolve to an address: %s. Give a host name that this machine resolves" % (host, error)
        ) from error
    return Question(vm_id, frozenset(canonical(str(one[4][0])) for one in found))


def look_up(client: ArmClient, question: Question) -> Addresses:
    """Ask Azure.

    :raises ArmError: if that fails
    """
    ip_configurations = list(find_ip_configurations(client, question.vm_id))
    private = sorted(find_addresses(client, question.vm_id, ip_configurations))
    instance = INSTANCE_ID.match(question.vm_id)
    if instance:
        scale_set = instance[1]
    else:
        properties = client.get(question.vm_id, READ_MACHINES).get("properties") or {}
        scale_set = str((properties.get("virtualMachineScaleSet") or {}).get("id") or "")
    return Addresses(private, not question.reached_at.isdisjoint(private), scale_set or None)
