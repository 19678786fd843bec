# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Finds the one machine to act on: a single VM, a member of a flexible set, or an instance of a uniform set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from ..scheduled_events.errors import OptionError
from .client import ArmClient, Permission
from .options import ArgumentSpec, read_name

_ID = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
    r"(?P<in_set>/virtualMachineScaleSets/[^/]+)?/virtualMachines/(?P<name>[^/]+)/?\Z",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r"[?#%\s\\]|/\.\.?(?:/|\Z)")


class Target(NamedTuple):
    """A machine."""

    resource_group: str
    name: str
    scale_set: str | None = None
    """If set, `name` is the id of one of its instances."""
    resource_id: str | None = None
    """If set, the full id: all other fields are ignored."""

    @property
    def in_set(self) -> bool:
        """Whether it is an instance of a uniform scale set, and not a VM of its own."""
        if self.resource_id is None:
            return self.scale_set is not None
        match = _ID.match(self.resource_id)
        return bool(match and match["in_set"])

    @property
    def words(self) -> str:
        """Its name for a person: an instance's number has no meaning without its set."""
        if not self.in_set:
            return self.name
        owner = self.scale_set or str(self.resource_id).rstrip("/").split("/")[-3]
        return "instance %s of %s" % (self.name, owner)

    def path(self, client: ArmClient) -> str:
        """Its id."""
        if self.resource_id is not None:
            return self.resource_id.rstrip("/")
        if self.scale_set is None:
            return client.compute_id(self.resource_group, "virtualMachines", self.name)
        set_id = client.compute_id(self.resource_group, "virtualMachineScaleSets", self.scale_set)
        return "%s/virtualMachines/%s" % (set_id, quote(self.name, safe=""))

    def vm_name(self, client: ArmClient) -> str:
        """Its name, as scheduled events have it."""
        parts = self.path(client).split("/")
        return "%s_%s" % (parts[-3], parts[-1]) if self.in_set else parts[-1]

    def needs(self, action: str, role: str = "Virtual Machine Contributor") -> Permission:
        """The permission that something needs.

        :param action: `read`, `redeploy/action`
        """
        kind = "virtualMachineScaleSets/virtualMachines" if self.in_set else "virtualMachines"
        return Permission("Microsoft.Compute/%s/%s" % (kind, action), role)


def read_target(options: Mapping[str, Any]) -> Target:
    """Check the options that name one machine: `id`, or `resource_group` with `name`, or with `scale_set` and
    `instance_id`.

    :raises OptionError: if they name none, or what cannot be one
    """
    if options.get("id") is not None:
        text = str(options["id"]).strip()
        match = _ID.match(text)
        if match is None or _UNSAFE.search(text):
            raise OptionError(
                "id: %r is not the id of a VM, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/"
                "virtualMachines/NAME, or …/virtualMachineScaleSets/NAME/virtualMachines/ID" % options["id"]
            )
        return Target("", match["name"], None, text)
    if options.get("scale_set") is not None:
        return Target(
            read_name(options, "resource_group"), read_name(options, "instance_id"), read_name(options, "scale_set")
        )
    return Target(read_name(options, "resource_group"), read_name(options, "name"))


def target_arguments() -> ArgumentSpec:
    """Options that name one machine."""
    return {
        "resource_group": {"type": "str"},
        "name": {"type": "str"},
        "scale_set": {"type": "str"},
        "instance_id": {"type": "str"},
        "id": {"type": "str"},
    }


def target_rules(required: bool = True, places: bool = False) -> dict[str, Any]:
    """What goes with what among these options.

    :param required: whether one must be named
    :param places: whether there are `places_arguments` as well, for where none is named
    """
    return {
        "mutually_exclusive": [
            ("id", "name", "scale_set", *(("subscriptions", "management_group") if places else ())),
            ("id", "resource_group"),
        ],
        "required_together": [("scale_set", "instance_id")],
        "required_by": {"name": ["resource_group"], "scale_set": ["resource_group"]},
        **({"required_one_of": [("id", "name", "scale_set")]} if required else {}),
    }
