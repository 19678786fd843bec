# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""on_impact: commands that make a simulated impact hit something real."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .config import ImpactRule
from .event_log import Record
from .events import Event

OUTPUT_KEPT = 4096
"""Bytes kept of what a command wrote last."""

_GRACE = 0.3  # real seconds to wait for output after a command has ended


class Tail(asyncio.Protocol):
    """Reads a pipe to its end and keeps the last of it.

    A command may leave a server running that holds the pipe: it is read for as long as it is open,
    so that the server can go on writing. This is also why the pipe is our own and not asyncio's,
    which may not take a process for ended before its pipes are.
    """

    def __init__(self) -> None:
        self._kept = b""
        self._ended = asyncio.Event()
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-OUTPUT_KEPT:]

    def connection_lost(self, _exc: Exception | None) -> None:
        self._ended.set()

    @property
    def ended(self) -> bool:
        """True when nobody can write any more."""
        return self._ended.is_set()

    async def text(self) -> str:
        """What was written by now, or until the end if that comes soon."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._ended.wait(), _GRACE)
        return self._kept.decode(errors="replace")

    def stop(self) -> None:
        """Read no more."""
        if self._transport is not None:
            self._transport.close()


class ImpactCommands:
    """Runs the rules' commands: one after the other for a VM, side by side for different VMs."""

    def __init__(self, rules: Sequence[ImpactRule], directory: Path, record: Record) -> None:
        self._rules = rules
        self._directory = directory
        self._record = record
        self._last: dict[str, asyncio.Task[None]] = {}
        self._tails: set[Tail] = set()
        self.running = 0
        self.failures: list[dict[str, Any]] = []

    def run(self, vm: str, event: Event, phase: str, environment: dict[str, str]) -> None:
        """Begin to run what the rules say for this machine and phase (``start`` or ``end``)."""
        commands = [
            (rule.start if phase == "start" else rule.end, rule.timeout)
            for rule in self._rules
            if (not rule.vms or vm in rule.vms) and (not rule.event_types or event.impact_type in rule.event_types)
        ]
        commands = [(command, timeout) for command, timeout in commands if command]
        if not commands:
            return
        environment = {
            **os.environ,
            **environment,
            "FOGHORN_VM": vm,
            "FOGHORN_EVENT_ID": event.event_id,
            "FOGHORN_EVENT_TYPE": event.impact_type,
            "FOGHORN_ANNOUNCED_TYPE": event.event_type,
            "FOGHORN_PHASE": phase,
        }
        self._last[vm] = asyncio.get_running_loop().create_task(
            self._in_turn(self._last.get(vm), vm, event, phase, commands, environment)
        )

    async def _in_turn(
        self,
        before: asyncio.Task[None] | None,
        vm: str,
        event: Event,
        phase: str,
        commands: Sequence[tuple[Sequence[str], float]],
        environment: dict[str, str],
    ) -> None:
        if before is not None:
            await asyncio.wait({before})
        for command, timeout in commands:
            self.running += 1
            try:
                mistake, output = await self._execute(command, timeout, environment)
            finally:
                self.running -= 1
            details: dict[str, Any] = {
                "event_id": event.event_id,
                "command": list(command),
                "error": mistake,
                "output": output,
            }
            self._record.add("command", vm=vm, what=phase, **details)
            if mistake is not None:
                self.failures = [*self.failures[-99:], {"vm": vm, "phase": phase, **details}]

    async def _execute(
        self, command: Sequence[str], timeout: float, environment: dict[str, str]
    ) -> tuple[str | None, str]:
        """Run one command; returns what went wrong, if anything, and its last output."""
        tail, write_end = await self._open_tail()
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                env=environment,
                cwd=self._directory,
                start_new_session=True,
            )
        )
        try:
            # Cancelled while it starts, asyncio would end the process alone, and leave what that has started.
            process = await asyncio.shield(starting)
        except OSError as error:
            return f"cannot be run: {error}", ""
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                process = await starting
                _kill_group(process)
                await process.wait()
            raise
        finally:
            os.close(write_end)
        mistake: str | None = None
        try:
            code = await asyncio.wait_for(process.wait(), timeout)
            if code != 0:
                mistake = f"ended with status {code}"
        except asyncio.TimeoutError:
            mistake = f"did not end within {timeout:g} s and was killed"
        finally:
            if process.returncode is None:
                _kill_group(process)
                await process.wait()
        return mistake, await tail.text()

    async def _open_tail(self) -> tuple[Tail, int]:
        """A pipe: what reads it, and the descriptor to write to."""
        read_end, write_end = os.pipe()
        _transport, tail = await asyncio.get_running_loop().connect_read_pipe(Tail, os.fdopen(read_end, "rb", 0))
        self._tails = {other for other in self._tails if not other.ended} | {tail}
        return tail, write_end

    async def stop(self) -> None:
        """Kill what is still running."""
        tasks = list(self._last.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for tail in self._tails:
            tail.stop()


def _kill_group(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
