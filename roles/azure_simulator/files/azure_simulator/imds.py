# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service's HTTP door: who may ask what, and what the answer looks like."""

from __future__ import annotations

import asyncio
import collections
import functools
import json
import time
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from aiohttp import web

from . import documents, instance, tokens
from .broken_responses import Broken, Wire, fail, spoil
from .config import CLIENT, Config
from .event_log import Record
from .events import Event
from .faults import SPOILING, Fault, FaultPlan, FaultQueue
from .machines import VmConfig
from .world import RUNNING, Change, Vm, World

_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_FROZEN = "frozen"


class Answer(NamedTuple):
    """A response before it is sent."""

    status: int
    body: bytes
    content_type: str = _JSON
    headers: Mapping[str, str] = {}


def _error(
    status: int, message: str, more: Mapping[str, Any] | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    return Answer(status, json.dumps({"error": message, **(more or {})}).encode(), headers=headers or {})


class Target(NamedTuple):
    """A request's target, taken apart."""

    path: str
    segments: tuple[str, ...]  # lower case
    keys: tuple[str, ...]  # as written
    query: Mapping[str, str]
    repeated: bool  # a query parameter is given twice


@functools.lru_cache(maxsize=4096)
def parse_target(raw: str) -> Target:
    """Take a request target apart. The cache matters: pollers ask for the same thing all day."""
    parts = urlsplit(raw)
    keys = tuple(unquote(segment) for segment in parts.path.strip("/").split("/"))
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = dict(pairs)
    return Target(parts.path, tuple(key.lower() for key in keys), keys, query, len(query) != len(pairs))


class Caller:
    """What is remembered of one VM's requests."""

    def __init__(self, rate_limit: int | None) -> None:
        self.last_request: float | None = None  # wall-clock
        self.counts: dict[str, int] = {}
        self._admitted: collections.deque[float] | None = (
            None if rate_limit is None else collections.deque(maxlen=rate_limit)
        )

    def admit(self, now: float) -> bool:
        """Whether one more request may pass at this real instant: so many in any one second."""
        admitted = self._admitted
        if admitted is None:
            return True
        if len(admitted) == admitted.maxlen and now - admitted[0] < 1.0:
            return False
        admitted.append(now)
        return True


class Imds:
    """Answers what VMs ask. Which VM asks, is known by the address asked or asking."""

    def __init__(
        self,
        config: Config,
        world: World,
        faults: FaultQueue[FaultPlan],
        record: Record,
        real: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._config = config
        self._imds = config.imds
        self._world = world
        self._faults = faults
        self._record = record
        self._real = real
        self._wall = wall
        self._by_address = {vm.config.address: vm for vm in world.vms.values()}
        self._address_key = "peername" if self._imds.identify_by == CLIENT else "sockname"
        self._rendered: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._changed: asyncio.Event | None = None
        self.callers = {name: Caller(self._imds.rate_limit) for name in world.vms}
        world.listen(self._wake)

    def adopt(self, vm: VmConfig) -> None:
        """Answer a machine that came into being after the start."""
        if vm.address:
            self._by_address[vm.address] = self._world.vms[vm.handle]
        self.callers[vm.handle] = Caller(self._imds.rate_limit)

    # -- one request ----------------------------------------------------------------------------

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, or do to its connection what a machine in its state would see."""
        transport = request.transport
        if transport is None:
            return Broken(Wire.vanish)
        address = transport.get_extra_info(self._address_key)[0]
        vm = self._by_address.get(address)
        target = parse_target(request.raw_path)
        if vm is None:
            self._note(None, request, target, "closed", address=address)
            return Broken(Wire.vanish)
        self._world.sync()
        caller = self.callers[vm.name]
        caller.last_request = self._world.clock.wall(self._world.now)
        caller.counts[request.method] = caller.counts.get(request.method, 0) + 1
        if vm.state != RUNNING and not await self._survives(vm, request):
            self._note(vm, request, target, "closed" if vm.deleted else "reset")
            return Broken(Wire.vanish if vm.deleted else Wire.reset)
        if not caller.admit(self._real()):
            return self._send(vm, request, target, self._too_many())
        version = target.query.get("api-version", "")
        fault = self._faults.strike(lambda plan: plan.hits(vm.name, request.method, target.path, version))
        if fault is not None and not fault.plan.lets_through:
            return self._fail(vm, request, target, fault)
        answer = await self._answer(vm, request, target)
        if answer is None:
            self._note(vm, request, target, "reset")
            return Broken(Wire.reset)
        if fault is not None and fault.plan.kind in SPOILING:
            self._note(vm, request, target, fault.plan.kind, fault=fault.fault_id)
            return spoil(fault.plan, answer.status, _headers(answer), answer.body)
        if fault is not None:
            return self._fail(vm, request, target, fault)
        return self._send(vm, request, target, answer)

    def _fail(self, vm: Vm, request: web.BaseRequest, target: Target, fault: Fault[FaultPlan]) -> web.StreamResponse:
        """A fault that answers in the service's place."""
        plan = fault.plan
        self._note(vm, request, target, plan.status if plan.kind == "status" else plan.kind, fault=fault.fault_id)
        return fail(plan, {"Server": _SERVER})

    def _send(self, vm: Vm, request: web.BaseRequest, target: Target, answer: Answer) -> web.Response:
        self._note(vm, request, target, answer.status)
        return web.Response(status=answer.status, body=answer.body, headers=_headers(answer))

    def _note(self, vm: Vm | None, request: web.BaseRequest, target: Target, result: int | str, **more: Any) -> None:
        """Remember a request and its result: a status, or in a word what was done to the connection."""
        self._record.add(
            "request",
            vm=vm.name if vm else None,
            method=request.method,
            path=target.path,
            api_version=target.query.get("api-version"),
            status=result if isinstance(result, int) else None,
            what="answered" if isinstance(result, int) else result,
            **more,
        )

    # -- waiting --------------------------------------------------------------------------------

    def _wake(self, _change: Change) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None

    async def _until(self, request: web.BaseRequest, reached: Callable[[], bool]) -> bool:
        """Wait for the world to get there; False when the client has gone before."""
        while not reached():
            if request.transport is None or request.transport.is_closing():
                return False
            if self._changed is None:
                self._changed = asyncio.Event()
            try:
                await asyncio.wait_for(self._changed.wait(), 0.5)
            except asyncio.TimeoutError:
                pass
            self._world.sync()
        return True

    async def _survives(self, vm: Vm, request: web.BaseRequest) -> bool:
        """A frozen machine's request waits for the thaw; in every other state but running it is lost."""
        await self._until(request, lambda: vm.state != _FROZEN)
        return vm.state == RUNNING

    # -- what the service says ------------------------------------------------------------------

    def _too_many(self) -> Answer:
        after = self._imds.retry_after
        headers = {} if after is None else {"Retry-After": f"{after:g}"}
        return _error(429, "Too many requests: at most 5 a second are answered per virtual machine", headers=headers)

    async def _answer(self, vm: Vm, request: web.BaseRequest, target: Target) -> Answer | None:
        """What IMDS says; None when the machine was lost while it waited."""
        segments = target.segments
        if segments[0] != "metadata":
            return _error(404, "Not found")
        category = segments[1] if len(segments) > 1 else ""
        version = target.query.get("api-version", "")
        preview = category == "scheduledevents" and version == documents.PREVIEW
        if not preview and request.headers.get("Metadata", "").lower() != "true":
            return _error(400, "Bad request. Required metadata header not specified")
        if "X-Forwarded-For" in request.headers:
            return _error(400, "Bad request. X-Forwarded-For header is not allowed")
        if category == "versions" and len(segments) == 2:
            return self._only_get(request) or Answer(200, json.dumps({"apiVersions": instance.VERSIONS}).encode())
        versions = documents.VERSIONS if category == "scheduledevents" else instance.VERSIONS
        if target.repeated or version not in versions:
            return _error(
                400,
                "Bad request. api-version is invalid or was not specified in the request. "
                "For more information refer to aka.ms/azureimds",
                {"newest-versions": list(instance.VERSIONS[:-4:-1])},
            )
        if segments[1:] == ("scheduledevents",):
            return await self._scheduled_events(vm, request, version)
        if category == "instance":
            return self._only_get(request) or self._instance(vm, target, version)
        if segments[1:] == ("identity", "oauth2", "token"):
            return self._only_get(request) or self._token(vm, target)
        return _error(404, "Not found")

    @staticmethod
    def _only_get(request: web.BaseRequest) -> Answer | None:
        if request.method == "GET":
            return None
        return _error(405, "Method not allowed", headers={"Allow": "GET"})

    async def _scheduled_events(self, vm: Vm, request: web.BaseRequest, version: str) -> Answer | None:
        if request.method not in ("GET", "POST"):
            return _error(405, "Method not allowed", headers={"Allow": "GET, POST"})
        body = await request.read() if request.method == "POST" else b""
        enabled_at = self._world.knock(vm.name)
        if self._world.now < enabled_at:
            if self._imds.enabling_status is not None:
                return _error(self._imds.enabling_status, "Scheduled events are being enabled: try again")
            await self._until(request, lambda: self._world.now >= enabled_at)
            if vm.state != RUNNING and not await self._survives(vm, request):
                return None
        if request.method == "POST":
            return self._approve(vm, body)
        feed = vm.scope.feed
        kept = self._rendered.get((vm.scope.key, version))
        if kept is None or kept[0] != feed.revision:
            kept = self._rendered[vm.scope.key, version] = (feed.revision, documents.render(feed, version))
        return Answer(200, kept[1])

    def _approve(self, vm: Vm, body: bytes) -> Answer:
        ids = read_start_requests(body)
        if ids is None:
            return _error(400, 'Bad request. The body must be {"StartRequests": [{"EventId": "…"}]}')
        found: dict[str, Event] = {}
        for event_id in ids:
            event = self._world.visible(vm.name, event_id)
            if event is not None:
                found[event.event_id] = event
            elif self._imds.unknown_event_status != 200:
                return _error(self._imds.unknown_event_status, f"There is no scheduled event with EventId {event_id!r}")
        self._world.approve(vm.name, found.values())
        return Answer(200, b"")

    def _instance(self, vm: Vm, target: Target, version: str) -> Answer:
        form = target.query.get("format", "json").lower()
        if form not in ("json", "text"):
            return _error(400, "Bad request. Requested format is not supported")
        node = instance.walk(instance.tree(vm.config, vm.scope, version), target.keys[2:])
        if node is None:
            return _error(404, "Not found")
        if form == "text":
            return Answer(200, instance.as_text(node).encode(), _TEXT)
        if isinstance(node, str):
            return _error(400, "Bad request. A single value is given with format=text only")
        return Answer(200, json.dumps(node, separators=(",", ":")).encode())

    def _token(self, vm: Vm, target: Target) -> Answer:
        resource = target.query.get("resource", "")
        if not resource:
            return _error(
                400, "invalid_request", {"error_description": "Required query variable 'resource' is missing"}
            )
        asked_for = {key: target.query[key] for key in ("client_id", "object_id", "msi_res_id") if key in target.query}
        if asked_for and asked_for != {"client_id": vm.config.client_id}:
            return _error(400, "invalid_request", {"error_description": "Identity not found"})
        return Answer(200, json.dumps(tokens.grant(vm.config, resource, self._config.seed, self._wall())).encode())


_SERVER = "IMDS/azure_simulator"


def _headers(answer: Answer) -> dict[str, str]:
    return {"Content-Type": answer.content_type, "Server": _SERVER, **answer.headers}


def read_start_requests(body: bytes) -> list[str] | None:
    """The event ids a POST asks to start; None when the body is malformed."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    requests = raw.get("StartRequests") if isinstance(raw, dict) else None
    if not isinstance(requests, list) or not requests:
        return None
    ids = [item.get("EventId") for item in requests if isinstance(item, dict)]
    texts = [event_id for event_id in ids if isinstance(event_id, str) and event_id]
    return texts if len(texts) == len(requests) else None
