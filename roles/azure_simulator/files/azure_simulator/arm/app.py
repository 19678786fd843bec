# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP door of Resource Manager: who may come in, and what goes wrong on request."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Mapping
from typing import Any, Callable
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web

from ..broken_responses import fail, spoil
from ..config import Config
from ..event_log import Record
from ..faults import SPOILING, Fault, FaultQueue
from ..machines import VmConfig
from ..world import World
from . import faults, versions
from .actions import Actions
from .availability import AvailabilitySets
from .compute import Compute
from .config import ArmConfig
from .errors import ArmError, forbidden
from .faults import ArmFaultPlan
from .graph import Graph, Publisher
from .hook_events import HookEvents
from .limits import operation_group, resource_type
from .maintenance import Maintenance
from .network import PROVIDER as NETWORK
from .network import Network, pools_of
from .operations import Operations
from .os_upgrades import OsUpgrades
from .outcomes import FAILED, IN_PROGRESS, SUCCEEDED
from .resources import ComputeResources, iso
from .rights import Rights
from .routing import ArmAnswer, ArmRequest, Links, Pager, Router
from .sign_in import SignIn
from .throttle import Throttle
from .upgrades import Upgrades

_POLLING = "/subscriptions/{subscription}/providers/{provider}/locations/{location}/operations/{operation}"
_HEEDING = ("Microsoft.Compute", "Microsoft.Network", "Microsoft.Maintenance", "Microsoft.Authorization")
_BODY_KEPT = 65536
"""Bytes of a body that the log keeps."""


class Arm:
    """Resource Manager and the sign-in service beside it."""

    def __init__(
        self,
        config: Config,
        arm: ArmConfig,
        world: World,
        record: Record,
        adopt: Callable[[VmConfig], None],
        is_healthy: Callable[[str], bool] = lambda _vm: True,
        real: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.config = arm
        self.faults = FaultQueue(arm.faults, prefix="arm-fault")
        self.operations = Operations(world, config.seed)
        self._world = world
        self._record = record
        self._ids = random.Random(f"{config.seed}/requests")
        self._links = Links(arm.retry_after)
        self._throttle = Throttle(arm, real)
        self._sign_in = SignIn(arm, config.seed, wall)
        self._router = Router()
        self._pager = pager = Pager(arm.page_size)
        self.resources = ComputeResources(
            arm, config.vms, world, self.operations, self.faults, config.seed, lambda names: pools_of(arm, names), adopt
        )
        publisher = Publisher(self.resources, world, arm)
        Compute(self.resources, self._links, pager).routes(self._router)
        Actions(self.resources, self._links).routes(self._router)
        Upgrades(self.resources, self._links, pager).routes(self._router)
        hook_events = HookEvents(self.resources, self._links, pager, arm.hook_events, config.seed)
        hook_events.routes(self._router)
        OsUpgrades(self.resources, self._links, hook_events, is_healthy).routes(self._router)
        AvailabilitySets(self.resources, pager).routes(self._router)
        self.network = Network(arm, self.resources, config.vms, self.operations, self._links, pager)
        self.network.routes(self._router)
        self._maintenance = Maintenance(world, publisher, arm.update_runs)
        self._maintenance.routes(self._router)
        self._rights = Rights(arm, pager)
        self._rights.routes(self._router)
        Graph(publisher, self.resources, arm, self._rights, real).routes(self._router)
        self._router.add("GET", _POLLING, "", self._poll, query=None)
        self._router.add("GET", "/subscriptions", "Microsoft.Resources", self._subscriptions)

    # -- one request --------------------------------------------------------------------------------------

    async def handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        request = await _read(raw)
        self._world.sync()
        fault = self._strike(request, faults.ERROR, *faults.WIRE_KINDS)
        plan = fault.plan.wire if fault is not None else None
        if fault is not None and plan is not None and not plan.lets_through:
            self._note(request, plan.status if plan.kind == "status" else plan.kind, fault=fault.fault_id)
            return fail(plan, {})
        answer = self._answer(request, fault)
        if fault is not None and plan is not None:
            self._note(request, plan.kind, fault=fault.fault_id)
            if plan.kind in SPOILING:
                return spoil(plan, answer.status, _headers(answer), _encode(answer.body))
            return fail(plan, {})
        self._note(request, answer.status, fault=fault.fault_id if fault else None)
        return web.Response(status=answer.status, body=_encode(answer.body), headers=_headers(answer))

    def _strike(self, request: ArmRequest, *kinds: str) -> Fault[ArmFaultPlan] | None:
        return self.faults.strike(lambda plan: plan.hits(request.method, request.path, kinds))

    def _answer(self, request: ArmRequest, fault: Fault[ArmFaultPlan] | None) -> ArmAnswer:
        headers: dict[str, str] = {}
        try:
            answer = self._sign_in.answer(request)
            if answer is None:
                request.caller = self._sign_in.caller(request)
                answer = self._managed(request, fault, headers)
        except ArmError as error:
            answer = ArmAnswer(error.status, error.body(), error.headers)
        request_id = str(uuid.UUID(int=self._ids.getrandbits(128), version=4))
        standard = {
            "x-ms-request-id": request_id,
            "x-ms-correlation-request-id": request.headers.get("x-ms-correlation-request-id", request_id),
            "x-ms-routing-request-id": f"SIMULATOR:{request_id}",
            "Cache-Control": "no-cache",
            "Pragma": "no-cache",
            "Expires": "-1",
            "X-Content-Type-Options": "nosniff",
            "Strict-Transport-Security": "max-age=31536000; includeSubDomains",
        }
        if "x-ms-client-request-id" in request.headers:
            standard["x-ms-client-request-id"] = request.headers["x-ms-client-request-id"]
        return answer._replace(headers={**standard, **headers, **answer.headers})

    def _managed(self, request: ArmRequest, fault: Fault[ArmFaultPlan] | None, headers: dict[str, str]) -> ArmAnswer:
        """The answer to somebody who has signed in. ``headers`` take what every answer carries."""
        if fault is not None and fault.plan.kind == faults.ERROR:
            raise fault.plan.failure(request.caller, request.path, request.method)
        route, names = self._router.find(request.method, request.path)
        request.names = names
        route.check_query(request.query)
        provider = route.provider or names["provider"]
        if provider.lower() not in versions.SUPPORTED:
            raise ArmError(404, "InvalidResourceNamespace", f"The resource namespace '{provider}' is invalid.")
        version = request.query.get("api-version")
        versions.check(provider, resource_type(request.path), "westeurope", version, self.config.compute_version)
        request.version = version or ""
        self._check_scope(names)
        self._check_rights(request, provider)
        group = operation_group(request.method, request.path)
        headers.update(self._throttle.admit(request.method, names.get("subscription", "tenant"), request.caller, group))
        if request.method == "GET" and resource_type(request.path).lower() == "virtualmachinescalesets":
            counted = headers.get("x-ms-ratelimit-remaining-resource")
            if counted and "set" in names:
                of_set = self._throttle.count_set(request.path)
                headers["x-ms-ratelimit-remaining-resource"] = f"{of_set},{counted}"
        if route.method != "GET":
            verdict = self._strike(request, faults.OPERATION)
            request.wanted = verdict.plan.verdict() if verdict is not None else None
            edit = self._strike(request, faults.CONCURRENT_EDIT)
            request.concurrent_edit = edit is not None
        return route.handler(request)

    def _check_rights(self, request: ArmRequest, provider: str) -> None:
        """Refuse what the caller has no permission for. A query is never refused: it has no rows."""
        if provider not in _HEEDING:
            return
        action = faults.action_of(request.method, request.path)
        if not self._rights.permits(action, request.path):
            raise forbidden(request.caller, action, request.path)

    def _check_scope(self, names: Mapping[str, str]) -> None:
        subscription = names.get("subscription")
        if subscription is None:
            return
        if subscription.lower() not in self.resources.subscriptions():
            message = f"The subscription '{subscription}' could not be found."
            raise ArmError(404, "SubscriptionNotFound", message)
        group = names.get("group")
        if group is not None and group.lower() not in self.resources.groups(subscription):
            message = f"Resource group '{group}' could not be found."
            raise ArmError(404, "ResourceGroupNotFound", message)

    def _subscriptions(self, request: ArmRequest) -> ArmAnswer:
        """Everything that a signed-in caller may see, which here is everything."""
        listed = [
            {
                "id": f"/subscriptions/{subscription}",
                "subscriptionId": subscription,
                "tenantId": self.config.tenant_id,
                "displayName": f"Simulated {subscription}",
                "state": "Enabled",
                "authorizationSource": "RoleBased",
                "managedByTenants": [],
            }
            for subscription in sorted(self.resources.subscriptions())
        ]
        return self._pager.page(request, listed)

    def _poll(self, request: ArmRequest) -> ArmAnswer:
        """The progress of an operation: its status, or with ``monitor`` the final answer."""
        operation = self.operations.get(request.names["operation"])
        if operation is None:
            raise ArmError(404, "NotFound", f"The operation '{request.names['operation']}' was not found.")
        again = {} if operation.over else self._links.again(operation)
        if request.query.get("monitor") != "true":
            body = operation.body(self._world.clock.wall, iso)
            if operation.provider == NETWORK:
                body = {key: value for key, value in body.items() if key in ("status", "error")}
            return ArmAnswer(200, body, again)
        if operation.status == IN_PROGRESS:
            return ArmAnswer(202, None, {"Location": f"{request.base}{_target(request)}", **again})
        if operation.status == SUCCEEDED:
            return ArmAnswer(200, operation.result)
        error = operation.error or ArmError(409, operation.status, f"The operation ended as {operation.status}.")
        return ArmAnswer(409 if operation.status == FAILED else error.status, error.body())

    # -- what is told ---------------------------------------------------------------------------------------

    def _note(self, request: ArmRequest, result: int | str, **more: Any) -> None:
        """Remember a request; what was written is kept too, but for the secrets of signing in."""
        if request.method != "GET" and request.path.lower().startswith(("/subscriptions/", "/providers/")):
            more["body"] = request.body[:_BODY_KEPT].decode("utf-8", "replace")
            more["if_match"] = request.headers.get("If-Match")
        self._record.add(
            "request",
            door="arm",
            method=request.method,
            path=request.path,
            api_version=request.query.get("api-version"),
            status=result if isinstance(result, int) else None,
            what="answered" if isinstance(result, int) else result,
            **{key: value for key, value in more.items() if value is not None},
        )

    def status(self) -> dict[str, Any]:
        """The resources and their operations, for the control API."""
        wall = self._world.clock.wall
        return {
            "scale_sets": self.resources.record(),
            "operations": [
                {"kind": operation.kind, "target": operation.target, **operation.body(wall, iso)}
                for operation in self.operations.all()
            ],
            "update_runs": self._maintenance.update_runs(),
            "faults": self.faults.records(),
        }


def _target(request: ArmRequest) -> str:
    return request.path + "?" + "&".join(f"{key}={value}" for key, value in request.query.items())


async def _read(raw: web.BaseRequest) -> ArmRequest:
    parts = urlsplit(raw.raw_path)
    host = raw.headers.get("Host", "localhost")
    return ArmRequest(
        method=raw.method,
        path=unquote(parts.path).rstrip("/"),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers=raw.headers,
        body=await raw.read(),
        base=f"{'https' if raw.secure else 'http'}://{host}",
    )


def _encode(body: Any) -> bytes:
    return b"" if body is None else json.dumps(body, separators=(",", ":")).encode()


def _headers(answer: ArmAnswer) -> dict[str, str]:
    content = {} if answer.body is None else {"Content-Type": "application/json; charset=utf-8"}
    return {**content, **answer.headers}
