# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's network: a bridge on which the simulator answers where Azure does, and a cable for each host.

No host and not the lab itself has a default route.
"""

import ipaddress
import subprocess
from collections.abc import Iterable

IMDS = "169.254.169.254"
BRIDGE = "lab0"

_SUBNET = ipaddress.ip_network("10.77.0.0/16")
_FIRST_HOST = 256


def address_of(number: int) -> str:
    """The address of the host with this number, from 0 on."""
    return str(_SUBNET[_FIRST_HOST + number])


def controller_address() -> str:
    """Where hosts reach what runs in the lab beside them."""
    return str(_SUBNET[1])


def _mac_of(address: str) -> str:
    """The hardware address that goes with an address, also when its host is made anew."""
    return "02:00:" + ipaddress.ip_address(address).packed.hex(":")


def make_bridge() -> None:
    """Lay out the network of the namespace that we are in."""
    _ip(
        "link set lo up",
        # Otherwise it has the lowest address of its cables, and what hosts know of it is wrong for half a minute
        # whenever that cable comes or goes.
        f"link add {BRIDGE} address {_mac_of(controller_address())} type bridge",
        f"address add {controller_address()}/{_SUBNET.prefixlen} dev {BRIDGE}",
        f"address add {IMDS}/32 dev {BRIDGE}",
        f"link set {BRIDGE} up",
    )


def connect(namespace: str, number: int) -> None:
    """Make a network namespace for the host with this number, with a cable to the bridge."""
    cable = f"host{number}"
    _ip(
        f"netns add {namespace}",
        f"link add {cable} type veth peer name eth0 address {_mac_of(address_of(number))} netns {namespace}",
        f"link set {cable} master {BRIDGE} up",
    )
    _ip(
        "link set lo up",
        f"address add {address_of(number)}/{_SUBNET.prefixlen} dev eth0",
        "link set eth0 up",
        f"route add {IMDS} dev eth0",
        namespace=namespace,
    )


def plug(number: int, connected: bool) -> None:
    """Disconnect the host with this number, or connect it again. Nobody is notified: packets are lost."""
    _ip(f"link set host{number} {'up' if connected else 'down'}")


def disconnect(namespace: str, number: int) -> None:
    """Undo `connect`."""
    _ip(f"link delete host{number}", f"netns delete {namespace}")


def _ip(*lines: str, namespace: str = "") -> None:
    where: Iterable[str] = ["-netns", namespace] if namespace else []
    subprocess.run(["ip", *where, "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)
