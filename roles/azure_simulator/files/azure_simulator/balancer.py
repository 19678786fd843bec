# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP load balancer that knows its members as Azure's does: by asking them over HTTP.

A member is out of rotation until a probe succeeds, and again after ``threshold`` failed ones. Only
*new* flows care: established ones go on. When nobody is in rotation new flows are reset.

Where a balancer stands for a pool of Azure's, only its members are served, and their ``adminState`` goes before the
probe: ``Up`` is in rotation and ``Down`` is out, however the probe ends.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Callable

from .broken_responses import reset
from .config import BalancerConfig, MemberConfig, ProbeConfig
from .reading import format_host

_CONNECT_TIMEOUT = 5.0  # real seconds a member may take to accept a flow
_BACKLOG = 1024
_STEERED_FOR = 0.02  # real seconds that the answer of a pool is good for

UP, DOWN, NOBODY = "Up", "Down", ""
"""The values of adminState that a pool may give for a member. Any other value leaves the decision to the probe."""

BY_PROBE = "None"


async def probe(member: MemberConfig, config: ProbeConfig) -> bool:
    """Ask a member once: True for status 200 within the time limit, and for nothing else."""
    try:
        return await asyncio.wait_for(_ask(member.address, config.port or member.port, config.path), config.timeout)
    except (OSError, asyncio.TimeoutError, ValueError):
        return False


async def _ask(address: str, port: int, path: str) -> bool:
    reader, writer = await asyncio.open_connection(address, port)
    try:
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: {format_host(address, port)}\r\n"
            "User-Agent: Load Balancer Agent\r\nConnection: close\r\n\r\n".encode()
        )
        status_line = (await reader.readline()).split(None, 2)
        return len(status_line) > 1 and status_line[0].startswith(b"HTTP/1.") and status_line[1] == b"200"
    finally:
        writer.close()


class _Side(asyncio.Protocol):
    """One half of a flow: hands what it reads to the other half, at the pace that one bears."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.peer: _Side | None = None
        self.early = b""
        """What came before the other half was there."""
        self.finished = False  # it will send no more
        self.lost = False
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self.early += data
        elif self.peer.transport is not None:
            self.peer.transport.write(data)

    def eof_received(self) -> bool:
        self.finished = True
        other = self.peer
        if other is None or other.transport is None or other.transport.is_closing():
            return False
        if other.finished:
            other.transport.close()
            return False
        other.transport.write_eof()
        return True  # half-closed: the other direction goes on

    def pause_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None:
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.peer is not None and self.peer.transport is not None and not self.peer.lost:
            self.peer.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        other = self.peer
        if other is not None and other.transport is not None and not other.lost:
            if exc is None:
                other.transport.close()
            else:
                reset(other.transport)
        if self.on_lost is not None:
            self.on_lost()


class Member:
    """A VM behind the balancer."""

    def __init__(self, config: MemberConfig) -> None:
        self.config = config
        self.healthy = False
        self.removed = False
        self.standing = BY_PROBE
        self.since = time.time()
        self.served = 0
        self.refused = 0
        self.flows: set[_Flow] = set()
        self._successes = 0
        self._failures = 0

    @property
    def in_rotation(self) -> bool:
        """True if the member gets new flows."""
        if self.removed or self.standing in (DOWN, NOBODY):
            return False
        return self.healthy or self.standing == UP

    def judge(self, success: bool, config: ProbeConfig) -> bool:
        """Take a probe's result into account; True when that changes ``healthy``."""
        self._successes = self._successes + 1 if success else 0
        self._failures = 0 if success else self._failures + 1
        healthy = self._failures < config.threshold if self.healthy else self._successes >= config.rise
        changed = healthy != self.healthy
        if changed:
            self.healthy = healthy
            self.since = time.time()
        return changed


class _Flow(_Side):
    """The client's half of a flow; it looks for a member as soon as it is accepted.

    Until it has one it reads nothing. But the asyncio of Python 3.11.2, which Debian 12 has, begins to read after
    `connection_made` although that has paused it: what comes then is kept.
    """

    def __init__(self, balancer: Balancer) -> None:
        super().__init__()
        self._balancer = balancer
        self._opening: asyncio.Task[None] | None = None
        self._member: Member | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        member = self._balancer.choose()
        if member is None:
            self._balancer.refused += 1
            reset(transport)
            return
        self._member = member
        member.flows.add(self)
        self.on_lost = self._over
        assert self.transport is not None
        self.transport.pause_reading()
        self._opening = asyncio.get_running_loop().create_task(self._open(member))

    def eof_received(self) -> bool:
        if self.peer is None:
            self.finished = True
            return True
        return super().eof_received()

    async def _open(self, member: Member) -> None:
        side = _Side()
        side.peer = self
        try:
            await asyncio.wait_for(
                asyncio.get_running_loop().create_connection(lambda: side, member.config.address, member.config.port),
                _CONNECT_TIMEOUT,
            )
        except (OSError, asyncio.TimeoutError):
            member.refused += 1
            self.cut()
            return
        if self.lost or self.transport is None or self.transport.is_closing():
            assert side.transport is not None
            side.transport.abort()
            return
        member.served += 1
        self.peer = side
        assert side.transport is not None
        if self.early:
            side.transport.write(self.early)
            self.early = b""
        if self.finished:
            side.transport.write_eof()
        self.transport.resume_reading()

    def _over(self) -> None:
        if self._member is not None:
            self._member.flows.discard(self)
        if self.peer is None and self._opening is not None:
            self._opening.cancel()

    def cut(self) -> None:
        """Reset both halves."""
        for side in (self, self.peer):
            if side is not None and side.transport is not None and not side.lost:
                reset(side.transport)


class Balancer:
    """One load balancer at work. ``on_turn`` is told when a member goes in or out of rotation."""

    def __init__(
        self,
        config: BalancerConfig,
        on_turn: Callable[[Balancer, Member], None],
        steering: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """``steering``: returns the adminState of each member of the pool, by VM."""
        self.config = config
        self._steering = steering
        self._steered = float("-inf")
        self.members = {member.vm: Member(member) for member in config.members}
        self.refused = 0
        self.address = config.address
        self.port = config.port
        self._on_turn = on_turn
        self._next = 0
        self._server: asyncio.AbstractServer | None = None
        self._probing: list[asyncio.Task[None]] = []
        self._over = False

    async def start(self) -> None:
        """Listen and begin to probe. Raises OSError if the address is not available."""
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Flow(self), self.config.address, self.config.port, backlog=_BACKLOG)
        self._server = server
        self.port = server.sockets[0].getsockname()[1]
        self._probing = [loop.create_task(self._watch(member)) for member in self.members.values()]

    async def stop(self) -> None:
        """Listen no more and cut every flow."""
        # Before Python 3.12, a cancellation that comes just as a time limit's work is done is lost.
        self._over = True
        for task in self._probing:
            task.cancel()
        await asyncio.gather(*self._probing, return_exceptions=True)
        if self._server is not None:
            self._server.close()
        for member in self.members.values():
            self._cut(member)

    def choose(self) -> Member | None:
        """The next member in rotation, round robin. None if there is none."""
        self._steer()
        members = list(self.members.values())
        for step in range(len(members)):
            member = members[(self._next + step) % len(members)]
            if member.in_rotation:
                self._next = (self._next + step + 1) % len(members)
                return member
        return None

    def _steer(self, at_most: float = _STEERED_FOR) -> None:
        """Follow the pool; ``at_most``: how old its last answer may be."""
        if self._steering is None or time.monotonic() < self._steered + at_most:
            return
        states = self._steering()
        self._steered = time.monotonic()
        for vm, member in self.members.items():
            was_in_rotation = member.in_rotation
            member.standing = states.get(vm, NOBODY)
            if member.in_rotation != was_in_rotation:
                member.since = time.time()
                self._on_turn(self, member)

    def remove(self, vm: str) -> None:
        """Remove a deleted machine for good; its flows end."""
        member = self.members.get(vm)
        if member is None:
            return
        was_in_rotation = member.in_rotation
        member.removed = True
        member.since = time.time()
        self._cut(member)
        if was_in_rotation:
            self._on_turn(self, member)

    @staticmethod
    def _cut(member: Member) -> None:
        for flow in list(member.flows):
            flow.cut()

    async def _watch(self, member: Member) -> None:
        loop = asyncio.get_running_loop()
        tick = loop.time()
        while not member.removed:
            healthy = await probe(member.config, self.config.probe)
            if self._over:
                return
            self._steer()
            was_in_rotation = member.in_rotation
            if not member.removed:
                member.judge(healthy, self.config.probe)
                if member.in_rotation != was_in_rotation:
                    self._on_turn(self, member)
            tick = max(tick + self.config.probe.interval, loop.time())
            await asyncio.sleep(tick - loop.time())

    def record(self) -> dict[str, Any]:
        """The balancer as the control API shows it."""
        self._steer(at_most=0.0)
        return {
            "listen": format_host(self.address, self.port),
            "refused": self.refused,
            "members": {
                name: {
                    "address": format_host(member.config.address, member.config.port),
                    "healthy": member.in_rotation,
                    "removed": member.removed,
                    "since": round(member.since, 3),
                    "connections": len(member.flows),
                    "served": member.served,
                    "refused": member.refused,
                }
                for name, member in self.members.items()
            },
        }
