# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Broken answers: what happens to a connection below HTTP."""

from __future__ import annotations

import asyncio
import functools
import socket
import struct
from collections.abc import Awaitable, Mapping
from http import HTTPStatus
from typing import Callable

from aiohttp import web

from .faults import FaultPlan

_GARBAGE = bytes(range(256)) * 2
_SLOW = 20.0  # bytes a second, when a slow answer says nothing else


def reset(transport: asyncio.BaseTransport) -> None:
    """End a connection with RST, whatever is still under way."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(transport, asyncio.Transport):
        transport.abort()


def serialise(status: int, headers: Mapping[str, str], body: bytes, declared: int | None = None) -> bytes:
    """A whole HTTP response that ends its connection. It may declare another length than its body has."""
    length = len(body) if declared is None else declared
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {length}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode() + body


class Wire:
    """A client's connection that will be broken. Each method here ends it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    @property
    def gone(self) -> bool:
        """True when the client has gone, or was made to."""
        return self._transport.is_closing()

    async def vanish(self) -> None:
        """Close without a word."""
        self._transport.close()

    async def reset(self) -> None:
        """Answer RST."""
        reset(self._transport)

    async def silence(self, seconds: float | None) -> None:
        """Say nothing for some real seconds (None: until the client gives up), then close."""
        await self._pause(float("inf") if seconds is None else seconds)
        self._transport.close()

    async def blurt(self, data: bytes) -> None:
        """Send these bytes and close."""
        self._transport.write(data)
        self._transport.close()

    async def dribble(self, data: bytes, bytes_per_second: float) -> None:
        """Send these bytes slowly, evenly over time, and close."""
        step = max(1, round(bytes_per_second / 20))
        for start in range(0, len(data), step):
            if self.gone:
                return
            self._transport.write(data[start : start + step])
            await self._pause(step / bytes_per_second)
        self._transport.close()

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than the client does."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not self.gone and loop.time() < end:
            await asyncio.sleep(min(0.25, end - loop.time()))


class Broken(web.StreamResponse):
    """In place of a response: a script for the connection."""

    def __init__(self, script: Callable[[Wire], Awaitable[None]]) -> None:
        super().__init__()
        self._script = script

    async def prepare(self, request: web.BaseRequest) -> None:
        """Run the script; then tell the HTTP server that the connection is over."""
        if isinstance(request.transport, asyncio.Transport):
            await self._script(Wire(request.transport))
        raise ConnectionResetError("ended on purpose")


def fail(plan: FaultPlan, headers: Mapping[str, str]) -> web.StreamResponse:
    """What a fault sends or does in place of the service. ``headers`` are those of all the service's answers."""
    if plan.kind == "status":
        return web.Response(
            status=plan.status,
            body=plan.body,
            headers={"Content-Type": plan.content_type, **headers, **plan.headers},
        )
    if plan.kind == "silence":
        return Broken(functools.partial(Wire.silence, seconds=plan.seconds))
    if plan.kind == "garbage":
        return Broken(functools.partial(Wire.blurt, data=plan.body or _GARBAGE))
    return Broken(Wire.reset)


def spoil(plan: FaultPlan, status: int, headers: Mapping[str, str], body: bytes) -> web.StreamResponse:
    """The service's answer as a fault changes it."""
    if plan.kind == "truncate":
        data = serialise(status, headers, body[: len(body) // 2], declared=max(2, len(body)))
        return Broken(functools.partial(Wire.blurt, data=data))
    data = serialise(status, headers, body)
    pace = len(data) / plan.seconds if plan.seconds else plan.bytes_per_second or _SLOW
    return Broken(functools.partial(Wire.dribble, data=data, bytes_per_second=pace))
