# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual machines as the configuration names them: one by one, or a range at a time."""

from __future__ import annotations

import ipaddress
import random
import re
import uuid
from collections.abc import Mapping
from typing import NamedTuple

from .reading import Fields, address_mistake, canonical

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_UNIFORM_NAME = re.compile(r"_(\d+)$")


class VmConfig(NamedTuple):
    """One virtual machine. ``address`` is asked or asks, depending on ``imds.identify_by``.

    Its ``name`` is Azure's, of which there may be one in each resource group. What is told to Azure's clients has that;
    everything else (commands, faults, events on request, balancers, the log) goes by the ``handle``.
    """

    name: str
    address: str
    vm_id: str
    client_id: str
    resource_group: str = "rg"
    subscription_id: str = "00000000-0000-0000-0000-000000000000"
    location: str = "westeurope"
    zone: str = ""
    availability_set: str = ""
    scale_set: str = ""
    placement_group: str = ""
    os_type: str = "Linux"
    vm_size: str = "Standard_D2s_v5"
    computer_name: str = ""
    spot: bool = False
    fault_domain: int = 0
    update_domain: int = 0
    mac_address: str = "000D3A000000"
    tags: Mapping[str, str] = {}
    alias: str = ""

    @property
    def handle(self) -> str:
        """What it is called here: its name, or its alias where another machine has the same name."""
        return self.alias or self.name

    @property
    def instance_number(self) -> int | None:
        """The decimal id at the end of a uniform scale set's instance name; None elsewhere."""
        match = _UNIFORM_NAME.search(self.name) if self.scale_set else None
        return int(match.group(1)) if match and self.name[: match.start()] == self.scale_set else None

    @property
    def resource_id(self) -> str:
        """The machine's own id in Azure Resource Manager."""
        compute = f"/subscriptions/{self.subscription_id}/resourceGroups/{self.resource_group}/providers"
        if self.instance_number is None:
            return f"{compute}/Microsoft.Compute/virtualMachines/{self.name}"
        sets = f"{compute}/Microsoft.Compute/virtualMachineScaleSets/{self.scale_set}"
        return f"{sets}/virtualMachines/{self.instance_number}"


def read_vms(top: Fields, seed: int, subscription_id: str | None) -> dict[str, VmConfig]:
    """The machines, by their handles."""
    vms: dict[str, VmConfig] = {}
    subscription_id = subscription_id or VmConfig._field_defaults["subscription_id"]
    spoken_for: dict[str, str] = {}
    lower_handles: set[str] = set()
    places: set[str] = set()
    if not top.items("vms"):
        top.wrong("vms", "name at least one VM")
    for number, item in enumerate(top.items("vms")):
        fields = Fields(item, f"vms[{number}]", top.mistakes)
        fields.required("name", "the VM's name, as in Resources")
        fields.required("address", "the IP address by which the simulator recognises the VM")
        names = expand(fields, "name")
        in_range = any(position is not None for _name, position in names)
        addresses = _addresses(fields, len(names), in_range)
        aliases = [alias for alias, _number in expand(fields, "alias")] or [""] * len(names)
        if len(aliases) != len(names):
            fields.wrong("alias", f"{fields.raw('alias')!r} names {len(aliases)} VMs, and the name {len(names)}")
            continue
        for key in ("vm_id", "client_id", "computer_name"):
            if in_range and fields.has(key):
                fields.wrong(key, "is one value for a range of VMs: omit it")
        common = {
            key: fields.text(key, VmConfig._field_defaults[key])
            for key in (
                "resource_group",
                "location",
                "zone",
                "availability_set",
                "scale_set",
                "placement_group",
                "vm_size",
            )
        }
        common["os_type"] = fields.text("os_type", "Linux", ("Linux", "Windows"))
        common["subscription_id"] = fields.guid("subscription_id") or subscription_id
        spot = fields.flag("spot", False)
        tags = fields.string_map("tags")
        domains = {key: fields.optional_integer(key, 0, 99) for key in ("fault_domain", "update_domain")}
        given = {key: fields.guid(key) for key in ("vm_id", "client_id")}
        computer_name = fields.text("computer_name")
        fields.close()
        for position, ((name, _number), alias) in enumerate(zip(names, aliases)):
            handle = alias or name
            place = f"{common['subscription_id']}/{common['resource_group']}/{name}".lower()
            if handle.lower() in lower_handles:
                if place in places:
                    fields.wrong("name", f"{name!r} is the name of two VMs")
                else:
                    fields.wrong("alias" if alias else "name", f"{handle!r} means two VMs: give one another alias")
                continue
            if place in places:
                fields.wrong("name", f"{name!r} is the name of two VMs in the resource group")
            lower_handles.add(handle.lower())
            places.add(place)
            address = addresses[position] if addresses else ""
            if address and address in spoken_for:
                fields.wrong("address", f"{address!r} already identifies {spoken_for[address]}")
            spoken_for.setdefault(address, handle)
            chance = random.Random(f"{seed}/vm/{handle}")
            vm = VmConfig(
                name=name,
                address=address,
                vm_id=given["vm_id"] or str(uuid.UUID(int=chance.getrandbits(128), version=4)),
                client_id=given["client_id"] or str(uuid.UUID(int=chance.getrandbits(128), version=4)),
                mac_address=f"000D3A{chance.getrandbits(24):06X}",
                spot=spot,
                fault_domain=len(vms) % 3 if domains["fault_domain"] is None else domains["fault_domain"],
                update_domain=len(vms) % 5 if domains["update_domain"] is None else domains["update_domain"],
                tags=tags,
                alias=alias,
                **common,  # type: ignore[arg-type]  # the texts all have defaults
            )
            vms[handle] = vm._replace(computer_name=computer_name or _computer_name(vm))
    return vms


def _numbers(fields: Fields, key: str, name: str) -> tuple[str, list[int] | None]:
    """The template of a name and the numbers it is filled with; None when it names one thing only."""
    match = _RANGE.search(name)
    if match is None:
        return name, None
    first, last = int(match.group(1)), int(match.group(2))
    if last < first:
        fields.wrong(key, f"{name!r} counts down: write {{{last}..{first}}}")
    elif last - first >= 65536:
        fields.wrong(key, f"{name!r} names {last - first + 1} things: 65536 are enough")
    else:
        return name[: match.start()] + "{}" + name[match.end() :], list(range(first, last + 1))
    return name, None


def expand(fields: Fields, key: str) -> list[tuple[str, int | None]]:
    """The names a text stands for, each with its number in a range."""
    name = fields.text(key)
    return [] if name is None else expand_name(fields, key, name)


def expand_name(fields: Fields, key: str, name: str) -> list[tuple[str, int | None]]:
    template, numbers = _numbers(fields, key, name)
    if numbers is None:
        return [(name, None)]
    return [(template.replace("{}", str(number)), number) for number in numbers]


def _addresses(fields: Fields, count: int, in_range: bool) -> list[str] | None:
    """As many addresses as VMs: the one that is given, or the first usable ones of a network."""
    text = fields.text("address")
    if text is None:
        return None
    if "/" not in text:
        mistake = address_mistake(text)
        if mistake is None and in_range:
            mistake = f"{text!r} is one address for a range of VMs: write a network, like 127.1.0.0/22"
        if mistake is not None:
            fields.wrong("address", mistake)
            return None
        return [canonical(text)]
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        fields.wrong("address", f"{text!r} is not a network: {error}")
        return None
    if not in_range:
        fields.wrong("address", f"{text!r} is a network, but {fields.raw('name')!r} is one VM")
        return None
    usable = network.num_addresses - (2 if network.version == 4 and network.prefixlen < 31 else 0)
    if usable < count:
        fields.wrong("address", f"{text!r} has {usable} usable addresses for {count} VMs")
        return None
    hosts = network.hosts()
    return [str(next(hosts)) for _turn in range(count)]


def _computer_name(vm: VmConfig) -> str:
    """What Azure calls the guest: a uniform scale set's instance ends in six base-36 digits."""
    number = vm.instance_number
    if number is None:
        return vm.name
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return vm.scale_set + digits.rjust(6, "0")
