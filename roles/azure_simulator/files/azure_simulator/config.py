# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration: what it may say, and what is wrong with it before anything listens."""

from __future__ import annotations

import ipaddress
import json
import random
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .arm.config import ArmConfig, read_arm, subscription_of
from .events import EVENT_TYPES, LIVES, Life, read_life
from .faults import FaultPlan, read_fault
from .reading import Fields, Invalid, address_mistake, canonical

SERVER = "server"
CLIENT = "client"

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_UNIFORM_NAME = re.compile(r"_(\d+)$")


class VmConfig(NamedTuple):
    """One virtual machine. ``address`` is asked or asks, depending on ``imds.identify_by``."""

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


class ProbeConfig(NamedTuple):
    """How members are probed. Times are real seconds: probes are real traffic."""

    port: int | None = None
    path: str = "/"
    interval: float = 5.0
    timeout: float = 5.0
    threshold: int = 2
    rise: int = 1


class MemberConfig(NamedTuple):
    """Where a balancer sends a VM's share."""

    vm: str
    address: str
    port: int


class BalancerConfig(NamedTuple):
    """A TCP load balancer."""

    name: str
    address: str
    port: int
    probe: ProbeConfig
    members: tuple[MemberConfig, ...]


class ImpactRule(NamedTuple):
    """Commands run when an impact on a VM begins and ends; empty ``vms`` or ``event_types`` mean all."""

    vms: frozenset[str]
    event_types: frozenset[str]
    start: tuple[str, ...]
    end: tuple[str, ...]
    timeout: float


class ImdsConfig(NamedTuple):
    """The metadata service. Delays are simulated seconds, the rate limit counts real ones."""

    port: int = 8080
    identify_by: str = SERVER
    address: str | None = None
    enable_delay: float = 0.0
    event_delay: float = 0.0
    enabling_status: int | None = None
    rate_limit: int | None = 5
    retry_after: float | None = None
    unknown_event_status: int = 400


@dataclass(frozen=True)
class Config:
    """Everything ``serve`` needs to know. ``directory`` is where commands run."""

    seed: int
    speed: float
    manual: bool
    control_address: str
    control_port: int
    imds: ImdsConfig
    lives: Mapping[str, Life]
    vms: Mapping[str, VmConfig]
    balancers: tuple[BalancerConfig, ...]
    impact_rules: tuple[ImpactRule, ...]
    faults: tuple[FaultPlan, ...]
    arm: ArmConfig | None = None
    directory: Path = field(default_factory=Path.cwd)


def load(path: Path) -> Config:
    """Read a configuration file (YAML when its name says so, JSON otherwise).

    Raises :class:`~.reading.Invalid`, also when the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid([f"{path}: cannot be read: {error}"]) from error
    raw: object
    if path.suffix in (".yml", ".yaml"):
        try:
            import yaml
        except ImportError:
            raise Invalid(
                [f"{path}: PyYAML is not installed: install it, or write the configuration as JSON"]
            ) from None
        try:
            raw = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise Invalid([f"{path}: is not YAML: {error}"]) from error
    else:
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise Invalid([f"{path}: is not JSON (YAML needs a name ending in .yml): {error}"]) from error
    return parse(raw, path.resolve().parent)


def parse(raw: object, directory: Path | None = None) -> Config:
    """Check a configuration and fill in its defaults; raises :class:`~.reading.Invalid` with all mistakes."""
    mistakes: list[str] = []
    top = Fields(raw, "", mistakes)
    seed = top.integer("seed", 0, -(2**63), 2**63)
    clock = top.mapping("clock")
    speed, manual = clock.number("speed", 1.0, above=True), clock.flag("manual", False)
    if manual and clock.has("speed"):
        clock.wrong("speed", "has no meaning for a manual clock, which moves only by advance")
    clock.close()
    control = top.mapping("control")
    control_address = control.address("address") or "127.0.0.1"
    control_port = control.integer("port", 8700, 0, 65535)
    control.close()
    imds = _imds(top.mapping("imds"))
    lives = _lives(top.mapping("defaults"))
    vms = _vms(top, seed)
    config = Config(
        seed=seed,
        speed=speed,
        manual=manual,
        control_address=control_address,
        control_port=control_port,
        imds=imds,
        lives=lives,
        vms=vms,
        balancers=_balancers(top, vms),
        impact_rules=_impact_rules(top, vms),
        faults=tuple(
            read_fault(item, f"faults[{number}]", mistakes, vms) for number, item in enumerate(top.items("faults"))
        ),
        arm=read_arm(top, vms, directory or Path.cwd()),
        directory=directory or Path.cwd(),
    )
    top.close()
    if mistakes:
        raise Invalid(mistakes)
    return config


def _imds(fields: Fields) -> ImdsConfig:
    defaults = ImdsConfig()
    config = ImdsConfig(
        port=fields.integer("port", defaults.port, 0, 65535),
        identify_by=fields.text("identify_by", SERVER, (SERVER, CLIENT)) or SERVER,
        address=fields.address("address"),
        enable_delay=fields.number("enable_delay", 0.0),
        event_delay=fields.number("event_delay", 0.0),
        enabling_status=fields.optional_integer("enabling_status", 400, 599),
        rate_limit=(
            None
            if fields.has("rate_limit") and fields.raw("rate_limit") is None
            else fields.integer("rate_limit", 5, 1, 10**6)
        ),
        retry_after=fields.optional_number("retry_after"),
        unknown_event_status=fields.integer("unknown_event_status", 400, 200, 599),
    )
    if config.identify_by == CLIENT:
        fields.required("address", "with identify_by: client, the one address to listen on")
    elif config.address is not None:
        fields.wrong("address", "has a meaning with identify_by: client only: each VM has its own address")
    fields.close()
    return config


def _lives(fields: Fields) -> dict[str, Life]:
    lives = {}
    for event_type in EVENT_TYPES:
        life = fields.mapping(event_type)
        lives[event_type] = read_life(life, LIVES[event_type])
        life.close()
    fields.close()
    return lives


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


def _expand(fields: Fields, key: str) -> list[tuple[str, int | None]]:
    """The names a text stands for, each with its number in a range."""
    name = fields.text(key)
    return [] if name is None else _expand_name(fields, key, name)


def _expand_name(fields: Fields, key: str, name: str) -> list[tuple[str, int | None]]:
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


def _vms(top: Fields, seed: int) -> dict[str, VmConfig]:
    vms: dict[str, VmConfig] = {}
    subscription_id = subscription_of(top) or VmConfig._field_defaults["subscription_id"]
    spoken_for: dict[str, str] = {}
    lower_names: dict[str, str] = {}
    if not top.items("vms"):
        top.wrong("vms", "name at least one VM")
    for number, item in enumerate(top.items("vms")):
        fields = Fields(item, f"vms[{number}]", top.mistakes)
        fields.required("name", "the VM's name, as in Resources")
        fields.required("address", "the IP address that says which VM asks")
        names = _expand(fields, "name")
        in_range = any(position is not None for _name, position in names)
        addresses = _addresses(fields, len(names), in_range)
        for key in ("vm_id", "client_id", "computer_name"):
            if in_range and fields.has(key):
                fields.wrong(key, "is one value for a range of VMs: leave it out")
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
        for position, (name, _number) in enumerate(names):
            if name.lower() in lower_names:
                fields.wrong("name", f"{name!r} is the name of two VMs")
                continue
            lower_names[name.lower()] = name
            address = addresses[position] if addresses else ""
            if address and address in spoken_for:
                fields.wrong("address", f"{address!r} already says that {spoken_for[address]} asks")
            spoken_for.setdefault(address, name)
            chance = random.Random(f"{seed}/vm/{name}")
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
                **common,  # type: ignore[arg-type]  # the texts all have defaults
            )
            vms[name] = vm._replace(computer_name=computer_name or _computer_name(vm))
    return vms


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


def _listen(fields: Fields) -> tuple[str, int]:
    fields.required("listen", "ADDRESS:PORT, port 0 for any free one")
    text = fields.text("listen")
    if text is None:
        return "", 0
    address, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        fields.wrong("listen", f"{text!r} is not ADDRESS:PORT")
        return "", 0
    address = address[1:-1] if address.startswith("[") and address.endswith("]") else address
    mistake = address_mistake(address)
    if mistake is not None:
        fields.wrong("listen", mistake)
        return "", 0
    return canonical(address), int(port)


def _balancers(top: Fields, vms: Mapping[str, VmConfig]) -> tuple[BalancerConfig, ...]:
    balancers: dict[str, BalancerConfig] = {}
    for number, item in enumerate(top.items("load_balancers")):
        fields = Fields(item, f"load_balancers[{number}]", top.mistakes)
        fields.required("name", "how status calls it")
        name = fields.text("name", "") or ""
        if name in balancers:
            fields.wrong("name", f"{name!r} is the name of two load balancers")
        address, port = _listen(fields)
        probe = _probe(fields.mapping("probe"))
        members = _members(fields, vms)
        fields.close()
        balancers[name] = BalancerConfig(name, address, port, probe, members)
    return tuple(balancers.values())


def _probe(fields: Fields) -> ProbeConfig:
    defaults = ProbeConfig()
    interval = fields.number("interval", defaults.interval, above=True)
    config = ProbeConfig(
        port=fields.optional_integer("port", 1, 65535),
        path=fields.text("path", defaults.path) or defaults.path,
        interval=interval,
        timeout=fields.number("timeout", interval, above=True),
        threshold=fields.integer("threshold", defaults.threshold, 1, 1000),
        rise=fields.integer("rise", defaults.rise, 1, 1000),
    )
    if not re.fullmatch(r"/[!-~]*", config.path):
        fields.wrong("path", f"{config.path!r} must begin with / and hold no blanks")
    fields.close()
    return config


def _members(parent: Fields, vms: Mapping[str, VmConfig]) -> tuple[MemberConfig, ...]:
    members: dict[str, MemberConfig] = {}
    if not parent.items("members"):
        parent.wrong("members", "name at least one VM")
    for number, item in enumerate(parent.items("members")):
        fields = Fields(item, f"{parent.path}.members[{number}]", parent.mistakes)
        fields.required("vm", "the name of a VM")
        fields.required("port", "where the VM serves")
        port = fields.integer("port", 1, 1, 65535)
        address = fields.address("address")
        names = _expand(fields, "vm")
        fields.close()
        for name, _number in names:
            if name not in vms:
                fields.wrong("vm", f"{name!r} is not the name of a VM")
            elif name in members:
                fields.wrong("vm", f"{name!r} is a member already")
            else:
                members[name] = MemberConfig(name, address or vms[name].address, port)
    return tuple(members.values())


def _impact_rules(top: Fields, vms: Mapping[str, VmConfig]) -> tuple[ImpactRule, ...]:
    rules = []
    for number, item in enumerate(top.items("on_impact")):
        fields = Fields(item, f"on_impact[{number}]", top.mistakes)
        named = fields.texts("vms") or ()
        rule = ImpactRule(
            vms=frozenset(name for text in named for name, _number in _expand_name(fields, "vms", text)),
            event_types=frozenset(fields.texts("event_types", EVENT_TYPES) or ()),
            start=_command(fields, "start"),
            end=_command(fields, "end"),
            timeout=fields.number("timeout", 60.0, above=True),
        )
        for name in sorted(rule.vms - set(vms)):
            fields.wrong("vms", f"{name!r} is not the name of a VM")
        if not rule.start and not rule.end:
            fields.wrong("start", "give a command for it, for end, or for both")
        fields.close()
        rules.append(rule)
    return tuple(rules)


def _command(fields: Fields, key: str) -> tuple[str, ...]:
    value: Any = fields.raw(key)
    if isinstance(value, str):
        fields.wrong(key, f"{value!r} is not a list: write [/bin/sh, -c, …] for a line of shell")
        return ()
    return fields.texts(key) or ()
