# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration: what it may say, and what is wrong with it before anything listens."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .arm.config import ArmConfig, read_arm, subscription_of
from .events import EVENT_TYPES, LIVES, OS_UPGRADE, Life, read_life
from .faults import FaultPlan, read_fault
from .machines import VmConfig, expand, expand_name, read_vms
from .reading import Fields, Invalid, address_mistake, canonical

SERVER = "server"
CLIENT = "client"


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
    pool: tuple[str, str] | None = None
    """The load balancer and the pool of Azure's that say who of the members is served; None: all are."""


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
    control_hosts: frozenset[str]
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
        clock.wrong("speed", "has no effect with a manual clock, which only advance moves")
    clock.close()
    control = top.mapping("control")
    control_address = control.address("address") or "127.0.0.1"
    control_port = control.integer("port", 8700, 0, 65535)
    control_hosts = frozenset(name.lower() for name in control.texts("hosts") or ())
    control.close()
    imds = _imds(top.mapping("imds"))
    lives = _lives(top.mapping("defaults"))
    vms = read_vms(top, seed, subscription_of(top))
    pools = _pools_of_azure(top)
    config = Config(
        seed=seed,
        speed=speed,
        manual=manual,
        control_address=control_address,
        control_port=control_port,
        control_hosts=control_hosts,
        imds=imds,
        lives=lives,
        vms=vms,
        balancers=_balancers(top, vms, pools),
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
        fields.wrong("address", "has an effect only with identify_by: client: otherwise each VM has its own address")
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


def _balancers(
    top: Fields, vms: Mapping[str, VmConfig], pools: Collection[tuple[str, str]]
) -> tuple[BalancerConfig, ...]:
    balancers: dict[str, BalancerConfig] = {}
    for fields in top.each("load_balancers"):
        fields.required("name", "its name in status")
        name = fields.text("name", "") or ""
        if name in balancers:
            fields.wrong("name", f"{name!r} is the name of two load balancers")
        address, port = _listen(fields)
        probe = _probe(fields.mapping("probe"))
        members = _members(fields, vms)
        pool = _pool(fields, pools)
        balancers[name] = BalancerConfig(name, address, port, probe, members, pool)
    return tuple(balancers.values())


def _pools_of_azure(top: Fields) -> list[tuple[str, str]]:
    """Load balancer and pool of all that the arm section seems to have. What is wrong with it is said elsewhere."""
    arm = top.raw("arm")
    kinds = ("load_balancers", "application_gateways")
    balancers = [arm.get(kind) for kind in kinds] if isinstance(arm, dict) else []
    return [
        (str(one.get("name")), str(pool))
        for listed in balancers
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict) and isinstance(one.get("pools"), dict)
        for pool in one["pools"]
    ]


def _pool(fields: Fields, pools: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    text = fields.text("pool")
    if text is None:
        return None
    balancer, _slash, pool = text.partition("/")
    if (balancer, pool) not in pools:
        known = ", ".join(sorted("/".join(one) for one in pools)) or "none"
        fields.wrong("pool", f"{text!r} is not a pool of arm, NAME/POOL. There is {known}")
    return balancer, pool


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
        names = expand(fields, "vm")
        fields.close()
        for name, _number in names:
            if name not in vms:
                fields.wrong("vm", f"{name!r} is not the name of a VM")
            elif name in members:
                fields.wrong("vm", f"{name!r} is already a member")
            else:
                members[name] = MemberConfig(name, address or vms[name].address, port)
    return tuple(members.values())


def _impact_rules(top: Fields, vms: Mapping[str, VmConfig]) -> tuple[ImpactRule, ...]:
    rules = []
    for fields in top.each("on_impact"):
        named = fields.texts("vms") or ()
        rule = ImpactRule(
            vms=frozenset(name for text in named for name, _number in expand_name(fields, "vms", text)),
            event_types=frozenset(fields.texts("event_types", (*EVENT_TYPES, OS_UPGRADE)) or ()),
            start=_command(fields, "start"),
            end=_command(fields, "end"),
            timeout=fields.number("timeout", 60.0, above=True),
        )
        for name in sorted(rule.vms - set(vms)):
            fields.wrong("vms", f"{name!r} is not the name of a VM")
        if not rule.start and not rule.end:
            fields.wrong("start", "give a command for it, for end, or for both")
        rules.append(rule)
    return tuple(rules)


def _command(fields: Fields, key: str) -> tuple[str, ...]:
    value: Any = fields.raw(key)
    if isinstance(value, str):
        fields.wrong(key, f"{value!r} is not a list: write [/bin/sh, -c, …] for a line of shell")
        return ()
    return fields.texts(key) or ()
