# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The IP configurations of a machine, with their pools and addresses.

Of a VM, Network shows them as its interfaces; of an instance of a uniform scale set, Compute in the instance's model.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import ArmClient, Permission
from .permissions import READ_INSTANCES, READ_MACHINES

# Old enough for clouds that lag behind, and it knows adminState (since 2021-08-01).
NETWORK_API_VERSION = "2024-05-01"
# Compute has the interfaces of a scale set's instances, in api-versions of Network. This is the last one.
INSTANCE_INTERFACES_API_VERSION = "2018-10-01"

INTERFACE, INSTANCE, ADDRESS = "interface", "instance", "address"

ON_BALANCERS, ON_GATEWAYS = "loadBalancerBackendAddressPools", "applicationGatewayBackendAddressPools"
"""Where an IP configuration names its pools: those of load balancers, and those of application gateways."""

GROUP = r"/subscriptions/[^/?#]+/resourceGroups/[^/?#]+/providers"
INTERFACE_ID = re.compile(GROUP + r"/Microsoft\.Network/networkInterfaces/[^/?#]+\Z", re.IGNORECASE)
VM_ID = re.compile(GROUP + r"/Microsoft\.Compute/virtualMachines/[^/?#]+\Z", re.IGNORECASE)
INSTANCE_ID = re.compile(
    "(" + GROUP + r"/Microsoft\.Compute/virtualMachineScaleSets/[^/?#]+)/virtualMachines/[0-9]+\Z", re.IGNORECASE
)
"""Its first group is the id of the scale set."""
READ_INTERFACE = Permission("Microsoft.Network/networkInterfaces/read", "Reader")


def is_vm_id(text: str) -> bool:
    """Whether this is the id of a VM, or of an instance of a uniform scale set."""
    return bool(VM_ID.match(text) or INSTANCE_ID.match(text))


def check_vm_id(option: str, vm_id: str) -> None:
    """Refuse what is no id of a VM, or of an instance of a uniform scale set.

    :raises OptionError: if it is none
    """
    if not is_vm_id(vm_id):
        raise OptionError(
            "%s: %r is not the id of a VM, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Compute/"
            "virtualMachines/NAME, or …/virtualMachineScaleSets/NAME/virtualMachines/ID" % (option, vm_id)
        )


def check_pool(option: str, pool: Any, pattern: re.Pattern[str], balancers: str) -> None:
    """Refuse what is no id of a backend pool.

    :param balancers: the kind of balancer in the id, like `loadBalancers`
    :raises OptionError: if it is none
    """
    if not isinstance(pool, str) or not pattern.match(pool):
        raise OptionError(
            "%s: %r is not the id of a pool, which is /subscriptions/…/resourceGroups/…/providers/Microsoft.Network/"
            "%s/NAME/backendAddressPools/NAME" % (option, pool, balancers)
        )


def check_record(
    option: str, record: Mapping[str, Any], kinds: Sequence[str], pattern: re.Pattern[str], balancers: str
) -> None:
    """Check what the record of every member has: its kind, its pool, and the resource of an interface or instance.

    :raises OptionError: on the first that is wrong
    """
    kind = record.get("kind")
    if kind not in kinds:
        raise OptionError("%s: kind %r is not one of %s" % (option, kind, ", ".join(kinds)))
    check_pool("%s: pool" % option, record.get("pool"), pattern, balancers)
    resource = record.get("resource") or ""
    expected = {INTERFACE: INTERFACE_ID, INSTANCE: INSTANCE_ID}.get(str(kind))
    if expected is not None and not expected.match(resource):
        raise OptionError("%s: resource %r is not the id of an %s" % (option, resource, kind))


class IpConfiguration(NamedTuple):
    """An IP configuration of the machine."""

    kind: str
    resource: str
    """The id of the resource to write in order to change it."""
    interface: str
    """The name of the interface: the model of an instance has several."""
    name: str
    address: str
    """Private. Empty: unknown here."""
    pools: tuple[str, ...]
    """Of load balancers."""
    gateway_pools: tuple[str, ...]


def find_ip_configurations(client: ArmClient, vm_id: str) -> Iterator[IpConfiguration]:
    """All of a VM, or of an instance of a uniform scale set. Raises ArmError."""
    if INSTANCE_ID.match(vm_id):
        yield from _of_instance(client.get(vm_id, READ_INSTANCES), vm_id)
        return
    profile = (client.get(vm_id, READ_MACHINES).get("properties") or {}).get("networkProfile") or {}
    for reference in profile.get("networkInterfaces") or []:
        interface = client.get(str(reference["id"]), READ_INTERFACE, NETWORK_API_VERSION)
        for configuration in configurations_of(interface):
            properties = configuration.get("properties") or {}
            yield IpConfiguration(
                INTERFACE,
                str(reference["id"]),
                "",
                str(configuration.get("name")),
                str(properties.get("privateIPAddress") or ""),
                pools_of(configuration, ON_BALANCERS),
                pools_of(configuration, ON_GATEWAYS),
            )


def _of_instance(instance: Json, vm_id: str) -> Iterator[IpConfiguration]:
    for interface in interfaces_of_model(instance):
        for configuration in configurations_of(interface):
            yield IpConfiguration(
                INSTANCE,
                vm_id,
                str(interface.get("name")),
                str(configuration.get("name")),
                "",
                pools_of(configuration, ON_BALANCERS),
                pools_of(configuration, ON_GATEWAYS),
            )


def interfaces_of_model(instance: Json) -> list[Json]:
    network = (instance.get("properties") or {}).get("networkProfileConfiguration") or {}
    return list(network.get("networkInterfaceConfigurations") or [])


def configurations_of(interface: Json) -> list[Json]:
    """The IP configurations of an interface, as Network or Compute shows it."""
    return list((interface.get("properties") or {}).get("ipConfigurations") or [])


def pools_of(configuration: Json, where: str) -> tuple[str, ...]:
    """The ids of the pools that an IP configuration names, `ON_BALANCERS` or `ON_GATEWAYS`."""
    properties = configuration.get("properties") or {}
    return tuple(str(pool["id"]) for pool in properties.get(where) or [])


def canonical(address: str) -> str:
    """An IP address in one spelling, by which it is compared, without the zone of a link; other text as it is."""
    try:
        return str(ipaddress.ip_address(address.partition("%")[0]))
    except ValueError:
        return address


def find_addresses(client: ArmClient, vm_id: str, ip_configurations: Sequence[IpConfiguration]) -> set[str]:
    """The private addresses of the machine, each as `canonical` spells it."""
    if not INSTANCE_ID.match(vm_id):
        return {canonical(ip.address) for ip in ip_configurations if ip.address}
    listed = client.list_all(vm_id + "/networkInterfaces", READ_INTERFACE, INSTANCE_INTERFACES_API_VERSION)
    return {
        canonical(str((configuration.get("properties") or {}).get("privateIPAddress")))
        for interface in listed
        for configuration in configurations_of(interface)
        if (configuration.get("properties") or {}).get("privateIPAddress")
    }


def lower(texts: Iterable[str]) -> set[str]:
    return {text.lower() for text in texts}
