# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft's own clients, signed in to a simulator over TLS; and one that shows every byte of an answer."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError, map_error
from azure.core.rest import HttpRequest
from azure.identity import ClientSecretCredential
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient
from azure_simulator.arm import certificate
from azure_simulator.testing import Simulator

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-555555555555"
TENANT = "99999999-aaaa-4bbb-8ccc-555555555555"
CLIENT = "cccccccc-aaaa-4bbb-8ccc-555555555555"
SECRET = "correct horse battery staple"
SCOPE = "https://management.azure.com/.default"

FLEET: dict[str, Any] = {
    "vms": [
        {"name": "web_{0..3}", "address": "127.0.78.0/28", "scale_set": "web"},
        {"name": "api_{0..1}a2b3c4d", "address": "127.0.78.32/28", "scale_set": "api"},
        {"name": "spot_{0..1}", "address": "127.0.78.64/28", "scale_set": "spot", "spot": True},
        {"name": "db", "address": "127.0.78.96"},
        {"name": "app_{0..1}", "address": "127.0.78.128/28", "availability_set": "apps"},
    ]
}
ARM: dict[str, Any] = {
    "subscription_id": SUBSCRIPTION,
    "tenant_id": TENANT,
    "clients": [{"client_id": CLIENT, "secret": SECRET}],
    "operation_seconds": 5,
    "instance_seconds": 5,
    "retry_after": 0,
}

HEALTH = {
    "virtualMachineProfile": {
        "extensionProfile": {"extensions": [{"name": "health", "properties": {"type": "ApplicationHealthLinux"}}]}
    }
}


class Answer(NamedTuple):
    """A response of Resource Manager."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of its error."""
        return str(self.json["error"]["code"])


class Cloud:
    """A simulator with clients that have signed in to it."""

    def __init__(self, azure: Simulator, trust: str, clients: ExitStack) -> None:
        self.azure = azure
        self.trust = trust
        self.credential = clients.enter_context(self.sign_in())
        common: dict[str, Any] = {
            "base_url": azure.arm_tls,
            "credential_scopes": [SCOPE],
            "polling_interval": 0.02,
            "connection_verify": trust,
        }
        self.compute = clients.enter_context(ComputeManagementClient(self.credential, SUBSCRIPTION, **common))
        self.network = clients.enter_context(NetworkManagementClient(self.credential, SUBSCRIPTION, **common))

    def sign_in(self, secret: str = SECRET, tenant: str = TENANT) -> ClientSecretCredential:
        """A client that knows the secret."""
        return ClientSecretCredential(
            tenant,
            CLIENT,
            secret,
            authority=self.azure.arm_tls,
            disable_instance_discovery=True,
            connection_verify=self.trust,
            additionally_allowed_tenants=["*"],
        )

    def post(self, path: str, body: Any = None, **more: Any) -> Any:
        """POST through Microsoft's pipeline where its client has no operation; raises its errors."""
        request = HttpRequest("POST", f"{self.azure.arm_tls}{path}", json=body, **more)
        response = self.compute._client.send_request(request)
        map_error(response.status_code, response, {404: ResourceNotFoundError})
        response.raise_for_status()
        return response.json()

    def raw(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, token: str | None = ""
    ) -> Answer:
        """One request, byte by byte. ``token``: None sends none, empty a good one."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.credential.get_token(SCOPE).token}"
        host = urlsplit(self.azure.arm).netloc
        connection = http.client.HTTPConnection(host, timeout=30)
        try:
            connection.request(method, path, body if isinstance(body, (str, type(None))) else json.dumps(body), sent)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def path(self, tail: str, group: str = "rg", provider: str = "Microsoft.Compute") -> str:
        """A path below a resource group."""
        return f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{group}/providers/{provider}/{tail}"

    def outdated(self, scale_set: str = "web") -> list[str]:
        """The instance ids that have not got the latest model, as Microsoft's client reads them."""
        vms = self.compute.virtual_machine_scale_set_vms.list("rg", scale_set)
        return [str(vm.instance_id) for vm in vms if not vm.latest_model_applied]

    def enable(self, timeout: str = "PT5M", scale_set: str = "web") -> None:
        """Switch terminate notifications on and wait until that is done."""
        self.compute.virtual_machine_scale_sets.begin_update("rg", scale_set, notification(True, timeout)).result()

    @contextmanager
    def refuses(self, status: int, code: str) -> Iterator[pytest.ExceptionInfo[Any]]:
        """What Microsoft's client does here must be refused so; yields the error as it raises it."""
        with pytest.raises(HttpResponseError) as refusal:
            yield refusal
        assert (refusal.value.status_code, getattr(refusal.value.error, "code", None)) == (status, code)

    def sent(self, method: str) -> list[dict[str, Any]]:
        """What was written, as the simulator's log keeps it."""
        return [e for e in self.azure.log() if e.get("door") == "arm" and e["method"] == method and "body" in e]


def notification(enable: bool, timeout: str = "PT5M") -> Any:
    """The documented PATCH for terminate notifications, and nothing else."""
    profile = {"terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": timeout}}
    return {"properties": {"virtualMachineProfile": {"scheduledEventsProfile": profile}}}


def lagging(*names: str, **more: Any) -> dict[str, Any]:
    """A configuration in which these lack the latest model, and the set reports its instances' health."""
    return {"scale_sets": [{"name": "web", "outdated": list(names), "properties": HEALTH, **more}]}


@pytest.fixture(scope="session")
def throwaway(tmp_path_factory: pytest.TempPathFactory) -> certificate.Certificate:
    """A certificate that nobody trusts for long."""
    return certificate.make(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def cloud(throwaway: certificate.Certificate) -> Iterator[Callable[..., Cloud]]:
    """Start a simulator and sign in: ``cloud(arm={…}, speed=None)``; without a speed time is moved by hand."""
    with ExitStack() as running:

        def start(arm: Mapping[str, Any] | None = None, speed: float | None = 100, **config: Any) -> Cloud:
            tls = {"certificate": str(throwaway.certificate), "private_key": str(throwaway.private_key)}
            whole = {
                **FLEET,
                "clock": {"manual": True} if speed is None else {"speed": speed},
                "imds": {"rate_limit": None},
                "arm": {**ARM, "tls": tls, **(arm or {})},
                **config,
            }
            azure = running.enter_context(Simulator(whole))
            return Cloud(azure, str(throwaway.certificate), running)

        yield start


@pytest.fixture
def https(throwaway: certificate.Certificate) -> ssl.SSLContext:
    """Trust in the throw-away certificate."""
    return ssl.create_default_context(cafile=str(Path(throwaway.certificate)))


def vm_of(member: Any) -> str:
    """The VM that a member of a load balancer's pool is; one that is an address has a name of its own."""
    joined = member.network_interface_ip_configuration
    if joined is None:
        return str(member.name)
    parts = joined.id.split("/")
    of_set = "virtualMachineScaleSets" in parts
    return f"{parts[-7]}_{parts[-5]}" if of_set else str(parts[-3]).removesuffix("-nic")
