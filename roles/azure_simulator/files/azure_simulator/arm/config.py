# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``arm`` section of the configuration."""

from __future__ import annotations

import copy
import hashlib
import ipaddress
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..machines import VmConfig
from ..reading import Fields, canonical
from . import versions
from .faults import ArmFaultPlan, read_fault
from .lifecycle import SCHEDULING, WAITS

NOBODY = "00000000-0000-0000-0000-000000000000"
TIMEOUT_RANGE = (300, 900)
"""What a terminate notification's NotBefore may be, in seconds."""

UPGRADE_MODES = ("Manual", "Automatic", "Rolling")
ORCHESTRATION_MODES = ("Uniform", "Flexible")

PRINCIPALS = ("User", "Group", "ServicePrincipal")
_FEATURES = {
    "Microsoft.Compute/SendScheduledEventsPolicy": "Registered",
}

_SELF_SERVICE = 35 * 86400.0  # as it typically is
_SCHEDULED = 14 * 86400.0

_DURATION = re.compile(r"PT(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?")


class TlsConfig(NamedTuple):
    """A second listener, for clients that sign in over https only. PEM files; port 0: any free one."""

    certificate: str
    private_key: str
    port: int


class ClientConfig(NamedTuple):
    """A caller who may sign in, in any of the ways that are given."""

    client_id: str
    secret: str | None
    thumbprints: frozenset[str]
    federated_issuer: str | None
    federated_subject: str | None


class LimitConfig(NamedTuple):
    """A token bucket, as Resource Manager has one for reads, writes and deletes each. Real seconds."""

    bucket: int
    refill_per_second: float


class ScaleSetConfig(NamedTuple):
    """A scale set. Its instances are the VMs that name it."""

    name: str
    resource_group: str
    subscription_id: str
    location: str
    flexible: bool
    upgrade_mode: str
    spot: bool
    zones: tuple[str, ...]
    vm_size: str
    terminate_notification: str | None
    outdated: frozenset[str]
    tags: Mapping[str, str]
    properties: Mapping[str, Any]
    new_addresses: tuple[str, ...]


class ResourceConfig(NamedTuple):
    """The properties of a VM or an availability set that differ from the defaults."""

    name: str
    terminate_notification: str | None
    properties: Mapping[str, Any]


class WindowConfig(NamedTuple):
    """Planned maintenance of the hosts of some VMs. Simulated seconds: from the start, and how long."""

    vms: tuple[str, ...]
    begins: float
    self_service: float
    """The owner may begin it himself during this time."""
    scheduled: float
    """Azure begins it within this time after that."""


class UpdateRunConfig(NamedTuple):
    """A run of updates that Update Manager will begin, by a maintenance configuration."""

    configuration: str
    resource_group: str
    subscription_id: str
    begins: float
    """Simulated seconds from the start."""
    name: str
    """Empty: the id that Azure derives from its beginning."""


class HookEventConfig(NamedTuple):
    """An event of a lifecycle hook that exists from the start."""

    scale_set_id: str
    kind: str
    vms: tuple[str, ...]
    """The targets. Empty: all instances of the set, or the set itself if the hook is about the set."""
    name: str
    """A GUID. Empty: it is generated."""


class PermissionConfig(NamedTuple):
    """What callers may do, as patterns of allowed and of excluded actions."""

    actions: tuple[str, ...]
    not_actions: tuple[str, ...]
    scope: str
    """The id of the resource that they may do it to, with everything below it. `/`: everything."""


class RoleConfig(NamedTuple):
    """A role assignment. It is only shown: the permissions decide what callers may do."""

    role: str
    """The id of its definition, a GUID."""
    principal_id: str
    principal_type: str
    scope: str


class PoolsConfig(NamedTuple):
    """A load balancer or an application gateway: its pools, and which VMs are in them."""

    name: str
    resource_group: str
    subscription_id: str
    location: str
    pools: Mapping[str, tuple[str, ...]]


class ArmConfig(NamedTuple):
    """Everything the ARM half needs to know. Durations are simulated seconds, ``retry_after`` real ones."""

    address: str
    port: int
    tls: TlsConfig | None
    tenant_id: str
    clients: tuple[ClientConfig, ...]
    token_lifetime: int
    operation_seconds: float
    instance_seconds: float
    retry_after: int | None
    page_size: int
    graph_page_size: int
    graph_lag: float
    """Simulated seconds until Resource Graph shows a change of an event."""
    compute_version: str
    """The newest version that Compute has. Empty: no limit."""
    reads: LimitConfig
    writes: LimitConfig
    deletes: LimitConfig
    scale_sets: tuple[ScaleSetConfig, ...]
    virtual_machines: Mapping[str, ResourceConfig]
    availability_sets: Mapping[str, ResourceConfig]
    maintenance_windows: tuple[WindowConfig, ...]
    update_runs: tuple[UpdateRunConfig, ...]
    hook_events: tuple[HookEventConfig, ...]
    load_balancers: tuple[PoolsConfig, ...]
    application_gateways: tuple[PoolsConfig, ...]
    management_groups: Mapping[str, frozenset[str]]
    """The subscriptions below each management group, both in lower case. All are below the group with the tenant's
    id.
    """
    permissions: tuple[PermissionConfig, ...]
    features: Mapping[str, str]
    """The state of each preview feature, by provider and name."""
    role_assignments: tuple[RoleConfig, ...]
    faults: tuple[ArmFaultPlan, ...]


def duration(text: object) -> int | None:
    """The seconds of an ISO 8601 duration like PT5M; None when it is none."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def read_arm(top: Fields, vms: Mapping[str, VmConfig], directory: Path) -> ArmConfig | None:
    """The section; None when there is none. Adds to the mistakes of ``top``.

    Files are looked for below ``directory``.
    """
    if not top.has("arm"):
        return None
    fields = top.mapping("arm")
    # The VMs have it already, see subscription_of.
    subscription = (fields.guid("subscription_id") or NOBODY).lower()
    config = ArmConfig(
        address=fields.address("address") or "127.0.0.1",
        port=fields.integer("port", 8600, 0, 65535),
        tls=_tls(fields, directory),
        tenant_id=(fields.guid("tenant_id") or NOBODY).lower(),
        clients=_clients(fields, directory),
        token_lifetime=fields.integer("token_lifetime", 3599, 1, 10**6),
        operation_seconds=fields.number("operation_seconds", 10.0),
        instance_seconds=fields.number("instance_seconds", 30.0),
        retry_after=fields.optional_integer("retry_after", 0, 3600),
        page_size=fields.integer("page_size", 100, 1, 10000),
        graph_page_size=fields.integer("graph_page_size", 1000, 1, 1000),
        graph_lag=fields.number("graph_lag", 0.0),
        compute_version=fields.text("compute_version", "", ("", *versions.COMPUTE)) or "",
        reads=_limit(fields.mapping("reads"), LimitConfig(250, 25)),
        writes=_limit(fields.mapping("writes"), LimitConfig(200, 10)),
        deletes=_limit(fields.mapping("deletes"), LimitConfig(200, 10)),
        scale_sets=_scale_sets(fields, vms),
        virtual_machines=_resources(fields, "virtual_machines", set(vms), "a VM"),
        availability_sets=_resources(
            fields,
            "availability_sets",
            {vm.availability_set for vm in vms.values() if vm.availability_set},
            "the availability_set of a VM",
        ),
        maintenance_windows=_windows(fields, vms),
        update_runs=_update_runs(fields, subscription),
        hook_events=_hook_events(fields, vms),
        load_balancers=_pools(fields, "load_balancers", vms),
        application_gateways=_pools(fields, "application_gateways", vms),
        management_groups=_management_groups(fields),
        permissions=_permissions(fields),
        features={**_FEATURES, **fields.string_map("features")},
        role_assignments=_role_assignments(fields),
        faults=tuple(
            read_fault(item, f"arm.faults[{number}]", top.mistakes, vms)
            for number, item in enumerate(fields.items("faults"))
        ),
    )
    fields.close()
    return config


def _management_groups(fields: Fields) -> dict[str, frozenset[str]]:
    value = fields.raw("management_groups")
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(
        isinstance(name, str) and isinstance(below, list) and all(isinstance(one, str) for one in below)
        for name, below in value.items()
    ):
        fields.wrong("management_groups", f"{value!r} is not a mapping of names to lists of subscriptions")
        return {}
    return {name.lower(): frozenset(one.lower() for one in below) for name, below in value.items()}


def subscription_of(top: Fields) -> str | None:
    """The subscription of the VMs that name none themselves."""
    raw = top.raw("arm")
    return raw.get("subscription_id") if isinstance(raw, dict) else None


def _tls(parent: Fields, directory: Path) -> TlsConfig | None:
    if parent.raw("tls") is None:
        return None
    fields = parent.mapping("tls")
    fields.required("certificate", "the path of a PEM file")
    fields.required("private_key", "the path of a PEM file")
    config = TlsConfig(
        _file(fields, "certificate", directory),
        _file(fields, "private_key", directory),
        fields.integer("port", 8643, 0, 65535),
    )
    fields.close()
    return config


def _file(fields: Fields, key: str, directory: Path) -> str:
    """The path of a file that can be read."""
    text = fields.text(key)
    if text is None:
        return ""
    path = directory / text
    try:
        path.read_bytes()
    except OSError as error:
        fields.wrong(key, f"{text!r} cannot be read: {error.strerror}")
    return str(path)


def _thumbprints(fields: Fields, directory: Path) -> frozenset[str]:
    """The names of a certificate: its SHA-1 and its SHA-256, or the thumbprint that is given."""
    given = (fields.text("thumbprint") or "").replace(":", "").upper()
    file = _file(fields, "certificate", directory)
    if not file or not Path(file).is_file():
        return frozenset({given} if given else ())
    try:
        der = ssl.PEM_cert_to_DER_cert(Path(file).read_text(encoding="ascii", errors="replace"))
    except ValueError as error:
        fields.wrong("certificate", f"{file!r} is not a certificate in PEM: {error}")
        return frozenset()
    return frozenset({hashlib.sha1(der).hexdigest().upper(), hashlib.sha256(der).hexdigest().upper()} | {given} - {""})


def _clients(parent: Fields, directory: Path) -> tuple[ClientConfig, ...]:
    clients: dict[str, ClientConfig] = {}
    for fields in parent.each("clients"):
        fields.required("client_id", "a GUID")
        federated = fields.mapping("federated")
        client = ClientConfig(
            client_id=(fields.guid("client_id") or "").lower(),
            secret=fields.text("secret"),
            thumbprints=_thumbprints(fields, directory),
            federated_issuer=federated.text("issuer"),
            federated_subject=federated.text("subject"),
        )
        federated.close()
        if client.client_id in clients:
            fields.wrong("client_id", f"{client.client_id!r} is given twice")
        if (client.federated_issuer is None) != (client.federated_subject is None):
            fields.wrong("federated", "needs both issuer and subject")
        if not (client.secret or client.thumbprints or client.federated_issuer):
            fields.wrong("secret", "set secret, certificate or federated, for this client to sign in")
        clients[client.client_id] = client
    return tuple(clients.values())


def _limit(fields: Fields, default: LimitConfig) -> LimitConfig:
    limit = LimitConfig(
        fields.integer("bucket", default.bucket, 1, 10**6),
        fields.number("refill_per_second", default.refill_per_second, above=True),
    )
    fields.close()
    return limit


def _timeout(fields: Fields) -> str | None:
    text = fields.text("terminate_notification")
    if text is not None:
        seconds = duration(text)
        if seconds is None or not TIMEOUT_RANGE[0] <= seconds <= TIMEOUT_RANGE[1]:
            fields.wrong("terminate_notification", f"{text!r} is not a duration from PT5M to PT15M")
    return text


def _properties(fields: Fields) -> dict[str, Any]:
    value = fields.raw("properties")
    if value is None:
        return {}
    if not isinstance(value, dict):
        fields.wrong("properties", f"{value!r} is not a mapping of names to values")
        return {}
    return copy.deepcopy(value)


def _scale_sets(parent: Fields, vms: Mapping[str, VmConfig]) -> tuple[ScaleSetConfig, ...]:
    sets: dict[tuple[str, str, str], ScaleSetConfig] = {}
    for fields in parent.each("scale_sets"):
        fields.required("name", "the scale_set of VMs, or of VMs to come")
        name = fields.text("name", "") or ""
        group = fields.text("resource_group")
        members = [
            vm for vm in vms.values() if vm.scale_set.lower() == name.lower() and group in (None, vm.resource_group)
        ]
        if len({(vm.subscription_id, vm.resource_group) for vm in members}) > 1:
            fields.wrong("resource_group", f"is missing: there are several scale sets {name!r}")
        config = _scale_set(fields, name, group, members)
        key = _key(config.subscription_id, config.resource_group, name)
        if key in sets:
            fields.wrong("name", f"{name!r} is the name of two scale sets")
        sets[key] = config
    for vm in vms.values():
        key = _key(vm.subscription_id, vm.resource_group, vm.scale_set)
        if vm.scale_set and key not in sets:
            members = [
                other
                for other in vms.values()
                if _key(other.subscription_id, other.resource_group, other.scale_set) == key
            ]
            sets[key] = _scale_set(Fields({}, "", []), vm.scale_set, vm.resource_group, members)
    return tuple(sets.values())


def _key(*parts: str) -> Any:
    return tuple(part.lower() for part in parts)


def _scale_set(fields: Fields, name: str, group: str | None, members: list[VmConfig]) -> ScaleSetConfig:
    flexible = any(vm.instance_number is None for vm in members)
    mode = fields.text("orchestration_mode", "Flexible" if flexible else "Uniform", ORCHESTRATION_MODES)
    if members and flexible != (mode == "Flexible"):
        fields.wrong("orchestration_mode", f"{mode!r} does not fit the names of its VMs, like {members[0].name!r}")
    outdated = frozenset(fields.texts("outdated") or ())
    for vm in sorted(outdated - {member.handle for member in members}):
        fields.wrong("outdated", f"{vm!r} is not the name of one of its VMs")
    first = members[0] if members else None
    return ScaleSetConfig(
        name=first.scale_set if first else name,
        resource_group=first.resource_group if first else group or "rg",
        subscription_id=first.subscription_id if first else subscription_default(fields),
        location=fields.text("location", first.location if first else "westeurope") or "",
        flexible=mode == "Flexible",
        upgrade_mode=fields.text("upgrade_mode", "Manual", UPGRADE_MODES) or "Manual",
        spot=fields.flag("spot", first.spot if first else False),
        zones=fields.texts("zones") or tuple(sorted({vm.zone for vm in members if vm.zone})),
        vm_size=fields.text("vm_size", first.vm_size if first else "Standard_D2s_v5") or "",
        terminate_notification=_timeout(fields),
        outdated=outdated,
        tags=fields.string_map("tags"),
        properties=_properties(fields),
        new_addresses=_network(fields, "new_addresses"),
    )


def subscription_default(fields: Fields) -> str:
    """The subscription of a resource that no VM belongs to."""
    return fields.guid("subscription_id") or NOBODY


def _network(fields: Fields, key: str) -> tuple[str, ...]:
    text = fields.text(key)
    if text is None:
        return ()
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        fields.wrong(key, f"{text!r} is not a network: {error}")
        return ()
    if network.num_addresses > 65536:
        fields.wrong(key, f"{text!r} is too large: 65536 addresses are enough")
        return ()
    return tuple(canonical(str(host)) for host in network.hosts())


def _resources(parent: Fields, key: str, known: set[str], what: str) -> dict[str, ResourceConfig]:
    resources: dict[str, ResourceConfig] = {}
    for fields in parent.each(key):
        fields.required("name", f"the name of {what}")
        name = fields.text("name", "") or ""
        if name and name not in known:
            fields.wrong("name", f"{name!r} is not the name of {what}")
        if name in resources:
            fields.wrong("name", f"{name!r} is given twice")
        timeout = _timeout(fields) if key == "virtual_machines" else None
        resources[name] = ResourceConfig(name, timeout, _properties(fields))
    return resources


def _windows(parent: Fields, vms: Mapping[str, VmConfig]) -> tuple[WindowConfig, ...]:
    windows: list[WindowConfig] = []
    taken: set[str] = set()
    for fields in parent.each("maintenance_windows"):
        fields.required("vms", "the names of VMs")
        names = fields.texts("vms") or ()
        for vm in sorted(set(names) - set(vms)):
            fields.wrong("vms", f"{vm!r} is not the name of a VM")
        for vm in sorted(set(names) & taken):
            fields.wrong("vms", f"{vm!r} already has a window")
        taken |= set(names)
        windows.append(
            WindowConfig(
                tuple(name for name in names if name in vms),
                fields.number("begins", 0),
                fields.number("self_service", _SELF_SERVICE, above=True),
                fields.number("scheduled", _SCHEDULED, above=True),
            )
        )
    return tuple(windows)


def _update_runs(parent: Fields, subscription: str) -> tuple[UpdateRunConfig, ...]:
    runs: list[UpdateRunConfig] = []
    for fields in parent.each("update_runs"):
        fields.required("configuration", "the name of a maintenance configuration")
        fields.required("begins", "the simulated seconds from the start until it begins")
        runs.append(
            UpdateRunConfig(
                fields.text("configuration", "") or "",
                fields.text("resource_group", "rg") or "",
                subscription,
                fields.number("begins", 0),
                fields.text("name", "") or "",
            )
        )
    return tuple(runs)


def _hook_events(parent: Fields, vms: Mapping[str, VmConfig]) -> tuple[HookEventConfig, ...]:
    events: list[HookEventConfig] = []
    for fields in parent.each("lifecycle_hook_events"):
        fields.required("scale_set", "the name of a scale set")
        fields.required("type", f"one of {', '.join(WAITS)}")
        name = fields.text("scale_set", "") or ""
        members = [vm for vm in vms.values() if vm.scale_set and _key(vm.scale_set) == _key(name)]
        if not members:
            fields.wrong("scale_set", f"no VM is in a scale set {name!r}")
        asked = fields.texts("vms") or ()
        for vm in sorted(set(asked) - {member.handle for member in members}):
            fields.wrong("vms", f"{vm!r} is not the name of one of its VMs")
        kind = fields.text("type", SCHEDULING, tuple(WAITS)) or SCHEDULING
        owner = (
            f"/subscriptions/{members[0].subscription_id}/resourceGroups/{members[0].resource_group}/providers/Microsoft.Compute/virtualMachineScaleSets/{name}"
            if members
            else ""
        )
        events.append(HookEventConfig(owner, kind, asked, fields.guid("name") or ""))
    return tuple(events)


def _permissions(parent: Fields) -> tuple[PermissionConfig, ...]:
    if parent.raw("permissions") is None:
        return (PermissionConfig(("*",), (), "/"),)
    permissions: list[PermissionConfig] = []
    for fields in parent.each("permissions"):
        fields.required("actions", "patterns of actions")
        actions, others = fields.texts("actions") or (), fields.texts("not_actions") or ()
        permissions.append(PermissionConfig(actions, others, fields.text("scope") or "/"))
    return tuple(permissions)


def _role_assignments(parent: Fields) -> tuple[RoleConfig, ...]:
    roles: list[RoleConfig] = []
    for fields in parent.each("role_assignments"):
        fields.required("role", "the id of a role's definition")
        fields.required("principal_id", "the id of the principal that has it")
        fields.required("scope", "the id of a subscription, a resource group or a resource")
        roles.append(
            RoleConfig(
                fields.guid("role") or "",
                fields.guid("principal_id") or "",
                fields.text("principal_type", "ServicePrincipal", PRINCIPALS) or "",
                fields.text("scope", "") or "",
            )
        )
    return tuple(roles)


def _pools(parent: Fields, key: str, vms: Mapping[str, VmConfig]) -> tuple[PoolsConfig, ...]:
    resources: list[PoolsConfig] = []
    for fields in parent.each(key):
        fields.required("name", "its name")
        inner = fields.mapping("pools")
        raw = fields.raw("pools")
        named = raw if isinstance(raw, dict) else {}
        # An empty pool is for members that join later, by interface or by address.
        pools = {pool: () if names == [] else inner.texts(pool) or () for pool, names in named.items()}
        members = [vm for names in pools.values() for vm in names]
        for vm in sorted(set(members) - set(vms)):
            fields.wrong("pools", f"{vm!r} is not the name of a VM")
        first = next((vms[vm] for vm in members if vm in vms), None)
        resources.append(
            PoolsConfig(
                name=fields.text("name", "") or "",
                resource_group=fields.text("resource_group", first.resource_group if first else "rg") or "",
                subscription_id=first.subscription_id if first else subscription_default(fields),
                location=fields.text("location", first.location if first else "westeurope") or "",
                pools=pools,
            )
        )
    return tuple(resources)
