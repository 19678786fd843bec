# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control API: ``/_simulator/…``, JSON in and out."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import pkgutil
import re
import sys
from collections.abc import Awaitable, Container
from typing import Any, Callable, Generic, NamedTuple
from urllib.parse import urlsplit

from aiohttp import web

from . import faults
from .arm import faults as arm_faults
from .arm.faults import ArmFaultPlan
from .client import PREFIX
from .event_log import Record
from .events import read_wish
from .faults import Fault, FaultPlan, FaultQueue, P, parse_fault
from .reading import Fields, Invalid
from .world import Refused, UnknownEvent, World

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Controlled(NamedTuple):
    """What an operator can control."""

    world: World
    record: Record
    faults: FaultQueue[FaultPlan]
    arm_faults: FaultQueue[ArmFaultPlan] | None
    """None: there is no Resource Manager."""
    status: Callable[[], dict[str, Any]]
    """Everything at a glance."""
    advance: Callable[[float], float]
    """Step the clock by simulated seconds; returns the instant reached, raises Refused if it runs by itself."""
    load: dict[str, int]
    """The last count that the clients of the load balancers reported. Empty before the first report."""
    hosts: Container[str] = ()
    """Further names, in lower case, that the Host header may have."""


def application(simulator: Controlled) -> web.Application:
    """The control API of a simulator."""
    control = _Control(simulator)
    app = web.Application(middlewares=[_explain, _only_for_operators(simulator.hosts)])
    app.router.add_get("/", _page())
    app.router.add_get(f"{PREFIX}/status", control.status)
    app.router.add_get(f"{PREFIX}/events", control.events)
    app.router.add_post(f"{PREFIX}/events", control.create)
    app.router.add_get(f"{PREFIX}/events/{{id}}", control.event)
    app.router.add_delete(f"{PREFIX}/events/{{id}}", control.withdraw)
    _FaultControl(simulator.faults, faults.read_fault, simulator).routes(app, f"{PREFIX}/faults")
    app.router.add_post(f"{PREFIX}/advance", control.advance)
    app.router.add_post(f"{PREFIX}/load", control.load)
    app.router.add_get(f"{PREFIX}/log", control.log)
    if simulator.arm_faults is not None:
        _FaultControl(simulator.arm_faults, arm_faults.read_fault, simulator).routes(app, f"{PREFIX}/arm/faults")
    else:
        app.router.add_route("*", f"{PREFIX}/arm/{{any:.*}}", _without_arm)
    return app


def _page() -> _Handler:
    """Serve the page that shows it all in a browser. It may run and ask nothing but what it brings and this address."""
    # The package may be one zip file.
    page = (pkgutil.get_data(__package__, "page.html") or b"").decode()
    allowed = {
        part: " ".join(
            f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
            for text in re.findall(rf"<{part}>(.*?)</{part}>", page, re.DOTALL)
        )
        for part in ("script", "style")
    }
    policy = (
        f"default-src 'none'; script-src {allowed['script']}; style-src {allowed['style']}; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }

    async def show(_request: web.Request) -> web.Response:
        return web.Response(text=page, content_type="text/html", headers=headers)

    return show


async def _without_arm(_request: web.Request) -> web.Response:
    return _error(404, "there is no Resource Manager: the configuration has no section arm")


@web.middleware
async def _explain(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Turn what went wrong into an answer that says so."""
    try:
        return await handler(request)
    except Invalid as error:
        return _error(400, "; ".join(error.mistakes), mistakes=error.mistakes)
    except UnknownEvent as error:
        return _error(404, str(error))
    except Refused as error:
        return _error(409, str(error))
    except web.HTTPNotFound:
        return _error(404, f"{request.path} is not part of the control API")
    except web.HTTPMethodNotAllowed as error:
        return _error(405, f"{request.method} is not possible on {request.path}", headers=error.headers)


def _only_for_operators(names: Container[str]) -> Any:
    """Refuse what a browser asks on behalf of a web page.

    Whatever page is open may send requests to this machine. Those say which page sent them (Origin), or by what name
    it made the browser look for this machine (Host): its own, of which it lets DNS say that it is here.
    """

    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        listening = request.transport and request.transport.get_extra_info("sockname")
        if not _is_ours(request.host, listening, names):
            return _error(
                403,
                f"Host: {request.host!r} is neither the address that was asked nor localhost: ask by that address, or"
                " put the name into control.hosts",
            )
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() != f"http://{request.host}".lower():
            return _error(403, f"Origin: {origin!r} is a web page, and none may control a simulator")
        if request.method == "POST" and request.content_type != "application/json":
            return _error(415, f"Content-Type: {request.content_type!r} is not application/json")
        return await handler(request)

    return check


def _is_ours(host: str, listening: Any, names: Container[str]) -> bool:
    """Whether a Host header names the address that this connection came to, or one of the names."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return False
    if name == "localhost" or name in names:
        return True
    try:
        return bool(listening) and ipaddress.ip_address(name) == ipaddress.ip_address(listening[0])
    except ValueError:
        return False


def _error(status: int, message: str, headers: Any = None, **more: Any) -> web.Response:
    allow = {"Allow": headers["Allow"]} if headers and "Allow" in headers else None
    return web.json_response({"error": message, **more}, status=status, headers=allow)


async def _body(request: web.Request) -> object:
    try:
        body: object = json.loads(await request.read())
    except (ValueError, RecursionError) as error:
        raise Invalid([f"body: is not JSON: {error}"]) from error
    if not isinstance(body, dict):
        raise Invalid(["body: is not a JSON object"])
    return body


class _Control:
    def __init__(self, simulator: Controlled) -> None:
        self._simulator = simulator
        self._world = simulator.world

    async def status(self, _request: web.Request) -> web.Response:
        return web.json_response(self._simulator.status())

    async def events(self, _request: web.Request) -> web.Response:
        self._world.sync()
        return web.json_response([event.record(self._world.clock.wall) for event in self._world.events.values()])

    async def create(self, request: web.Request) -> web.Response:
        event = self._world.create(read_wish(await _body(request), self._world.lives))
        return web.json_response(event.record(self._world.clock.wall), status=201)

    async def event(self, request: web.Request) -> web.Response:
        self._world.sync()
        return web.json_response(self._world.find(request.match_info["id"]).record(self._world.clock.wall))

    async def withdraw(self, request: web.Request) -> web.Response:
        event = self._world.withdraw(request.match_info["id"])
        return web.json_response(event.record(self._world.clock.wall))

    async def advance(self, request: web.Request) -> web.Response:
        mistakes: list[str] = []
        fields = Fields(await _body(request), "", mistakes)
        fields.required("seconds", "the simulated seconds to advance")
        seconds = fields.number("seconds", 0.0)
        fields.close()
        if mistakes:
            raise Invalid(mistakes)
        return web.json_response({"now": self._simulator.advance(seconds)})

    async def load(self, request: web.Request) -> web.Response:
        mistakes: list[str] = []
        fields = Fields(await _body(request), "", mistakes)
        for key in ("sent", "lost"):
            fields.required(key, "how many requests, since the load began")
        counted = {key: fields.integer(key, 0, 0, sys.maxsize) for key in ("sent", "lost")}
        fields.close()
        if mistakes:
            raise Invalid(mistakes)
        self._simulator.load.update(counted)
        return web.json_response(counted)

    async def log(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "0")
        if not after.isdecimal():
            raise Invalid([f"after: {after!r} is not the number of an entry"])
        self._world.sync()
        return web.json_response(self._simulator.record.after(int(after)))


class _FaultControl(Generic[P]):
    """The faults of one service."""

    def __init__(
        self, queue: FaultQueue[P], read: Callable[[object, str, list[str], Container[str]], P], simulator: Controlled
    ) -> None:
        self._queue = queue
        self._read = read
        self._simulator = simulator

    def routes(self, app: web.Application, prefix: str) -> None:
        """Add the routes."""
        app.router.add_get(prefix, self.show)
        app.router.add_post(prefix, self.add)
        app.router.add_delete(prefix, self.clear)
        app.router.add_delete(f"{prefix}/{{id}}", self.remove)

    async def show(self, _request: web.Request) -> web.Response:
        return web.json_response(self._queue.records())

    async def add(self, request: web.Request) -> web.Response:
        fault = self._queue.add(parse_fault(await _body(request), self._simulator.world.vms, self._read))
        self._note(fault, "added", fault_kind=fault.plan.record()["kind"])
        return web.json_response({"fault_id": fault.fault_id}, status=201)

    async def remove(self, request: web.Request) -> web.Response:
        fault = self._queue.remove(request.match_info["id"])
        if fault is None:
            return _error(404, f"there is no fault {request.match_info['id']!r} (any more)")
        self._note(fault, "removed")
        return web.json_response({"fault_id": fault.fault_id})

    async def clear(self, _request: web.Request) -> web.Response:
        removed = self._queue.clear()
        for fault in removed:
            self._note(fault, "removed")
        return web.json_response({"removed": [fault.fault_id for fault in removed]})

    def _note(self, fault: Fault[P], what: str, **details: Any) -> None:
        vm = fault.plan.record().get("vm")
        self._simulator.record.add("fault", vm=vm, what=what, fault=fault.fault_id, **details)
