# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests to Resource Manager does it cost to have a batch leave its balancer, and come back?

What the role load_balancer_removal asks for is asked of the simulator, which counts: what each host is in, out, and in
again. An operation takes 10 seconds, and time goes by only while the client waits: the figures are the same on any
machine. Signing in, which each module does, is not among them. Fails when a host costs more than its limit. Only
loopback addresses are used.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))
sys.path.insert(0, str(ROOT / ".cache" / "collections"))

from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import (  # noqa: E402 - on the path set above
    gateway,
    membership,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient  # noqa: E402
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC  # noqa: E402
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import SignIn  # noqa: E402
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import (  # noqa: E402
    Deadline,
)
from azure_simulator.testing import Simulator  # noqa: E402

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-666666666666"
TENANT = "99999999-aaaa-4bbb-8ccc-666666666666"
CLIENT = "cccccccc-aaaa-4bbb-8ccc-666666666666"
SECRET = "of-no-use-elsewhere"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers"
INSTANCES = f"{GROUP}/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines"
MACHINES = f"{GROUP}/Microsoft.Compute/virtualMachines"
POOLS = f"{GROUP}/Microsoft.Network/loadBalancers/front/backendAddressPools"
GATEWAY_POOL = f"{GROUP}/Microsoft.Network/applicationGateways/gate/backendAddressPools/data"

Work = Callable[[ArmClient], Any]
Do = Callable[[Work], Any]


class Way(NamedTuple):
    """A way to leave rotation, and how many requests it may cost: for each host, and for the batch as a whole.

    Each number may only become smaller.
    """

    name: str
    for_host: int
    for_batch: int
    run: Callable[[Do, int], None]


class Bearer(NamedTuple):
    """A token, as azure-core wants it."""

    token: str
    expires_on: int


class SignedIn:
    """A credential: somebody who has signed in once."""

    def __init__(self, azure: Simulator) -> None:
        form = {
            "grant_type": "client_credentials",
            "client_id": CLIENT,
            "client_secret": SECRET,
            "scope": "https://management.azure.com/.default",
        }
        request = urllib.request.Request(
            f"{azure.arm}/{TENANT}/oauth2/v2.0/token", urllib.parse.urlencode(form).encode()
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            self._token = json.load(answer)["access_token"]

    def get_token(self, *_scopes: str, **_options: Any) -> Bearer:
        """The same each time."""
        return Bearer(self._token, int(time.time()) + 3600)


def through_balancer(ids: str, method: str) -> Callable[[Do, int], None]:
    """As tasks/methods/azure_load_balancer: a machine reads its pools, leaves them, and is restored by what it read."""

    def run(do: Do, hosts: int) -> None:
        def ask(options: Mapping[str, Any]) -> membership.MembershipChange:
            order = membership.read_order({"method": method, **options})
            change: membership.MembershipChange = do(lambda client: membership.carry_out(client, order))
            return change

        machines = [{"vm_id": ids.format(number), "pools": [f"{POOLS}/data"]} for number in range(hosts)]
        searches = [membership.read_search({"method": method, **machine}) for machine in machines]
        found = [do(functools.partial(membership.find, search=search)) for search in searches]
        for machine in machines:
            assert ask({**machine, "remove": True}).changed, machine
        for one in found:
            assert ask({"restore": one}).changed, one

    return run


def through_gateway(do: Do, hosts: int) -> None:
    """As tasks/methods/application_gateway: each machine reads where it is; a batch leaves and comes in one write."""

    def ask(options: Mapping[str, Any]) -> gateway.GatewayChange:
        order = gateway.read_order({"wait": False, "wait_timeout": 60.0, **options})
        change: gateway.GatewayChange = do(lambda client: gateway.carry_out(client, order))
        return change

    machines = [f"{MACHINES}/db_{number}" for number in range(hosts)]
    searches = [gateway.read_search({"vm_id": vm, "pools": [GATEWAY_POOL]}) for vm in machines]
    found = [record for search in searches for record in do(functools.partial(gateway.find, search=search))]
    assert len(found) == hosts
    assert ask({"remove": found}).changed
    assert ask({"restore": found}).changed


WAYS = (
    Way("instances of a uniform set, membership", 14, 0, through_balancer(INSTANCES + "/{}", "membership")),
    Way("virtual machines, membership", 14, 0, through_balancer(MACHINES + "/db_{}", "membership")),
    Way("virtual machines, adminState", 16, 0, through_balancer(MACHINES + "/db_{}", "admin_state")),
    Way("virtual machines behind an application gateway", 3, 10, through_gateway),
)


def count(way: Way, hosts: int) -> float:
    """How many requests a host costs in this way."""
    names = [f"db_{number}" for number in range(hosts)]
    fleet: dict[str, Any] = {
        "clock": {"manual": True},
        "vms": [
            {"name": f"web_{{0..{hosts - 1}}}", "address": "127.1.0.0/24", "scale_set": "web"},
            {"name": f"db_{{0..{hosts - 1}}}", "address": "127.1.1.0/24"},
        ],
        "arm": {
            "subscription_id": SUBSCRIPTION,
            "tenant_id": TENANT,
            "clients": [{"client_id": CLIENT, "secret": SECRET}],
            "operation_seconds": 10,
            "instance_seconds": 10,
            # Azure's limits are of real seconds, of which next to none go by.
            "reads": {"bucket": 10**6, "refill_per_second": 1},
            "writes": {"bucket": 10**6, "refill_per_second": 1},
            "load_balancers": [{"name": "front", "pools": {"data": [f"web_{n}" for n in range(hosts)] + names}}],
            "application_gateways": [{"name": "gate", "pools": {"data": names}}],
        },
    }
    with Simulator(fleet) as azure:
        credential = SignedIn(azure)
        sign_in = SignIn("env", PUBLIC._replace(arm=azure.arm), SUBSCRIPTION)

        def wait(seconds: float) -> None:
            azure.advance(seconds)

        def do(work: Work) -> Any:
            with ArmClient(sign_in, Deadline(3600), credential, wait) as client:
                return work(client)

        before = requests_of(azure)
        way.run(do, hosts)
        return (requests_of(azure) - before) / hosts


def requests_of(azure: Simulator) -> int:
    """How many requests Resource Manager has had, signing in left out."""
    return sum(entry.get("door") == "arm" and "oauth2" not in entry["path"] for entry in azure.log())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=25, help="hosts of a batch (default: %(default)s)")
    options = parser.parse_args()
    print(f"{'requests for each of ' + str(options.hosts) + ' hosts':<50}  out and in  at most")
    failed = 0
    for way in WAYS:
        figure = count(way, options.hosts)
        limit = way.for_host + way.for_batch / options.hosts
        print(f"{way.name:<50}  {figure:10.2f}  {limit:7.2f}{'' if figure <= limit else '  TOO MANY'}")
        failed |= figure > limit
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
