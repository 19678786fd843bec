# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything put together: the world, its clock, and the doors to it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from . import control
from .arm.app import Arm
from .balancer import Balancer, Member
from .clock import Clock, ManualClock, ScaledClock
from .config import CLIENT, Config
from .event_log import Record
from .faults import FaultQueue
from .imds import Imds
from .impact import ImpactCommands
from .machines import VmConfig
from .reading import format_host
from .world import DELETED, ENABLED, Change, Refused, World

_ATTEMPTS = 20
"""How often a common free port is looked for before giving up."""

_BACKLOG = 128
_FILES_PER_VM = 16
"""Descriptors to have at hand: a listener, and as many pollers as one finds on a machine."""

_LAST_WORDS = 0.1  # real seconds for answers under way when it ends (0 would mean for ever)
_STATUS_LOG = 50
"""Entries of the log that the status shows."""


class Server:
    """A simulator that runs in an event loop, from :meth:`start` to :meth:`stop`."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.clock: Clock = ManualClock() if config.manual else ScaledClock(config.speed)
        self.world = World(config, self.clock)
        self.record = Record(lambda: self.clock.wall(self.clock.now()))
        self.faults = FaultQueue(config.faults)
        self.imds = Imds(config, self.world, self.faults, self.record)
        self.commands = ImpactCommands(config.impact_rules, config.directory, self.record)
        self.arm = (
            None
            if config.arm is None
            else Arm(config, config.arm, self.world, self.record, self._adopt, self._is_healthy)
        )
        self.balancers = [
            Balancer(balancer, self._turned, self._steering(balancer.pool)) for balancer in config.balancers
        ]
        self.load: dict[str, int] = {}
        self.imds_urls: dict[str, str] = {}
        self.arm_url: str | None = None
        self.arm_tls_url: str | None = None
        self.control_url = ""
        self._http = web.Server(self.imds.handle, access_log=None)
        self._control_runner = web.AppRunner(
            control.application(
                control.Controlled(
                    world=self.world,
                    record=self.record,
                    faults=self.faults,
                    arm_faults=None if self.arm is None else self.arm.faults,
                    status=self.status,
                    advance=self.advance,
                    load=self.load,
                    hosts=config.control_hosts,
                )
            ),
            access_log=None,
        )
        self._arm_http = None if self.arm is None else web.Server(self.arm.handle, access_log=None)
        self._arm_runner = None if self._arm_http is None else web.ServerRunner(self._arm_http)
        self._listening: list[asyncio.AbstractServer] = []
        self._adopting: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_for: float | None = None
        self.world.listen(self._happened)

    # -- life ---------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen everywhere; raises OSError naming the address that is not to be had, having undone the rest."""
        _allow_files(len(self.config.vms) * _FILES_PER_VM)
        try:
            await self._listen_imds()
            for balancer in self.balancers:
                with _naming(f"load balancer {balancer.config.name}", balancer.config.address, balancer.config.port):
                    await balancer.start()
            await self._listen_arm()
            await self._control_runner.setup()
            address, port = self.config.control_address, self.config.control_port
            self.control_url = f"http://{await _serve(self._control_runner, 'control', address, port)}"
        except BaseException:
            await self.stop()
            raise
        self._set_alarm()

    async def stop(self) -> None:
        """End everything that :meth:`start` began."""
        if self._alarm is not None:
            self._alarm.cancel()
        for server in self._listening:
            server.close()
        for balancer in self.balancers:
            await balancer.stop()
        await self.commands.stop()
        await self._http.shutdown(_LAST_WORDS)
        await self._control_runner.cleanup()
        if self._arm_http is not None and self._arm_runner is not None:
            for connection in self._arm_http.connections:
                if connection.transport is not None:
                    connection.transport.abort()  # TLS would wait for the other side to say goodbye
            await self._arm_runner.cleanup()

    def ready(self) -> dict[str, Any]:
        """The ready line: where everything is served."""
        return {
            "ready": True,
            "control": self.control_url,
            "imds": self.imds_urls,
            "load_balancers": {b.config.name: format_host(b.address, b.port) for b in self.balancers},
            **{key: url for key, url in (("arm", self.arm_url), ("arm_tls", self.arm_tls_url)) if url is not None},
        }

    async def _listen_imds(self) -> None:
        imds, vms = self.config.imds, self.config.vms
        if imds.identify_by == CLIENT:
            assert imds.address is not None
            addresses = [imds.address]
        else:
            addresses = [vm.address for vm in vms.values()]
        sockets = _bind_all(addresses, imds.port)
        loop = asyncio.get_running_loop()
        port = sockets[0].getsockname()[1]
        for sock in sockets:
            self._listening.append(await loop.create_server(self._http, sock=sock, backlog=_BACKLOG))
        for vm in vms.values():
            self.imds_urls[vm.handle] = f"http://{format_host(imds.address or vm.address, port)}"

    async def _listen_arm(self) -> None:
        arm = self.config.arm
        if arm is None or self._arm_runner is None:
            return
        await self._arm_runner.setup()
        self.arm_url = f"http://{await _serve(self._arm_runner, 'arm', arm.address, arm.port)}"
        if arm.tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(arm.tls.certificate, arm.tls.private_key)
            where = await _serve(self._arm_runner, "arm.tls", arm.address, arm.tls.port, context)
            self.arm_tls_url = f"https://{where}"

    def _adopt(self, vm: VmConfig) -> None:
        """Take in a machine that came into being after the start; without an address nobody can ask as it."""
        self.world.add_vm(vm)
        self.imds.adopt(vm)
        if not vm.address or self.config.imds.identify_by == CLIENT or not self._listening:
            return
        port = urlsplit(next(iter(self.imds_urls.values()))).port or 0
        try:
            sock = _bind(vm.address, port)
        except OSError as error:
            self.record.add("vm", vm=vm.handle, what="mute", error=f"cannot listen on {vm.address}: {error}")
            return
        self.imds_urls[vm.handle] = f"http://{format_host(vm.address, port)}"
        sock.listen(_BACKLOG)
        task = asyncio.get_running_loop().create_task(self._listen_for(sock))
        self._adopting.add(task)
        task.add_done_callback(self._adopting.discard)

    async def _listen_for(self, sock: socket.socket) -> None:
        self._listening.append(await asyncio.get_running_loop().create_server(self._http, sock=sock, backlog=_BACKLOG))

    # -- time ---------------------------------------------------------------------------------

    def _set_alarm(self) -> None:
        """See to it that what is due happens although nobody asks."""
        due = self.world.next_due()
        if self.clock.manual or due == self._alarm_for:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_for = due
        if due is None:
            self._alarm = None
        else:
            delay = max(0.0, (due - self.clock.now()) / self.clock.speed)
            self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_for = None
        self.world.sync()
        self._set_alarm()

    def advance(self, seconds: float) -> float:
        """Step a manual clock; returns the instant reached. Raises Refused for a clock that runs by itself."""
        if not isinstance(self.clock, ManualClock):
            raise Refused("the clock runs by itself: set clock.manual to true to advance it")
        self.clock.move_to(self.clock.now() + seconds)
        return self.world.sync()

    # -- what happens -------------------------------------------------------------------------

    def _happened(self, change: Change) -> None:
        event = change.event
        details: dict[str, Any] = {"what": change.what}
        if event is not None:
            details.update(event_id=event.event_id, event_type=event.event_type, resources=list(event.resources))
        if change.scope is not None:
            details["scope"] = change.scope
        self.record.add(change.kind, vm=change.vm, at=self.clock.wall(change.at), **details)
        if change.kind == "impact" and change.vm is not None:
            if change.what == DELETED:
                for balancer in self.balancers:
                    balancer.remove(change.vm)
            elif event is not None:
                environment = {
                    "FOGHORN_VM_ADDRESS": self.world.vms[change.vm].config.address,
                    "FOGHORN_IMDS_ENDPOINT": self.imds_urls.get(change.vm, ""),
                }
                self.commands.run(change.vm, event, change.what, environment)
        asyncio.get_running_loop().call_soon(self._set_alarm)

    def _steering(self, pool: tuple[str, str] | None) -> Callable[[], Mapping[str, str]] | None:
        """What says who is served in a pool of Azure's."""
        if pool is None or self.arm is None:
            return None
        network = self.arm.network

        def ask() -> Mapping[str, str]:
            self.world.sync()  # an operation may have ended since
            return network.in_service(*pool)

        return ask

    def _is_healthy(self, vm: str) -> bool:
        """What probes say of a machine: what no balancer probes is well."""
        return all(b.members[vm].in_rotation for b in self.balancers if vm in b.members)

    def _turned(self, balancer: Balancer, member: Member) -> None:
        self.record.add(
            "rotation",
            vm=member.config.vm,
            what="in" if member.in_rotation else "out",
            load_balancer=balancer.config.name,
        )

    # -- what is ------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Everything at a glance, for the control API."""
        world = self.world
        now = world.sync()
        return {
            "now": round(self.clock.wall(now), 3),
            "speed": self.clock.speed,
            "manual": self.clock.manual,
            "vms": {
                name: {
                    "state": vm.state,
                    "enabled": vm.scope.state == ENABLED,
                    "scope": vm.scope.key,
                    "imds": self.imds_urls.get(name),
                    "last_request": self.imds.callers[name].last_request,
                    "requests": {"GET": 0, "POST": 0, **self.imds.callers[name].counts},
                    "in_rotation": {
                        balancer.config.name: balancer.members[name].in_rotation
                        for balancer in self.balancers
                        if name in balancer.members
                    },
                }
                for name, vm in world.vms.items()
            },
            "events": [event.record(self.clock.wall) for event in world.events.values()],
            "load_balancers": {balancer.config.name: balancer.record() for balancer in self.balancers},
            "load": self.load,
            "faults": self.faults.records(),
            "commands": {"running": self.commands.running, "failed": self.commands.failures},
            "arm": None if self.arm is None else self.arm.status(),
            "log": self.record.tail(_STATUS_LOG),
        }


async def _serve(
    runner: web.BaseRunner, what: str, address: str, port: int, context: ssl.SSLContext | None = None
) -> str:
    """Have a runner listen; returns the address and port as a URL wants them."""
    site = web.TCPSite(runner, address, port, ssl_context=context)
    with _naming(what, address, port):
        await site.start()
    # Of all its sites, in their order.
    return format_host(address, runner.addresses[-1][1])


@contextlib.contextmanager
def _naming(what: str, address: str, port: int) -> Iterator[None]:
    """Makes an OSError say which address could not be had, and for what."""
    try:
        yield
    except OSError as error:
        where = format_host(address, port)
        raise OSError(error.errno, f"{what}: cannot listen on {where}: {error.strerror or error}") from error


def _allow_files(count: int) -> None:
    """Raise the limit of open files as far as it is needed and allowed."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1024 + count
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _bind_all(addresses: list[str], port: int) -> list[socket.socket]:
    """Sockets bound to one common port on every address; port 0 looks for a free one."""
    for attempt in range(_ATTEMPTS):
        bound: list[socket.socket] = []
        common = port
        try:
            for address in addresses:
                with _naming("imds", address, common):
                    bound.append(_bind(address, common))
                common = bound[0].getsockname()[1]
            return bound
        except OSError:
            for sock in bound:
                sock.close()
            if port or not bound or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _bind(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind((address, port))
    except BaseException:
        sock.close()
        raise
    return sock
