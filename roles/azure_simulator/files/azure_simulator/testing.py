# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator inside a test: ``with Simulator({...}) as azure: …``."""

from __future__ import annotations

import asyncio
import copy
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

from .client import ControlClient
from .config import parse
from .server import Server

_PATIENCE = 60.0  # real seconds to start or to stop on a busy machine


class Simulator:
    """A simulator in a thread of its own, on free ports.

    ``config`` is a configuration as in a file; ports that it leaves out are chosen freely.
    ``directory`` is where ``on_impact`` commands run. Raises :class:`~.reading.Invalid` at once
    when the configuration is wrong, OSError on entry when an address is not to be had.
    """

    def __init__(self, config: dict[str, Any], directory: Path | None = None) -> None:
        config = copy.deepcopy(config)
        for section in ("control", "imds"):
            config.setdefault(section, {}).setdefault("port", 0)
        if isinstance(config.get("arm"), dict):
            config["arm"].setdefault("port", 0)
            if isinstance(config["arm"].get("tls"), dict):
                config["arm"]["tls"].setdefault("port", 0)
        self._config = parse(config, directory)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="azure_simulator", daemon=True)
        self._client: ControlClient | None = None
        self.control = ""
        self.arm: str = ""
        self.arm_tls: str = ""
        self.imds: dict[str, str] = {}
        self.load_balancers: dict[str, tuple[str, int]] = {}

    def __enter__(self) -> Simulator:
        self._thread.start()
        if not self._ready.wait(_PATIENCE):
            raise TimeoutError(f"the simulator did not start within {_PATIENCE:g} s")
        if self._error is not None:
            raise self._error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._over is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_PATIENCE)
        if kind is None and self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # whoever waits for us raises it
            self._error = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        server = Server(self._config)
        await server.start()
        try:
            self.control = server.control_url
            self.arm, self.arm_tls = server.arm_url or "", server.arm_tls_url or ""
            self.imds = server.imds_urls
            self.load_balancers = {b.config.name: (b.address, b.port) for b in server.balancers}
            self._client = ControlClient(self.control)
            self._ready.set()
            await self._over.wait()
        finally:
            await server.stop()

    @property
    def client(self) -> ControlClient:
        """The control API of the running simulator."""
        if self._client is None:
            raise RuntimeError("the simulator is not running: use it in a with statement")
        return self._client

    def event(self, event_type: str, resources: list[str] | str, **details: Any) -> dict[str, Any]:
        """Announce an event; returns its record."""
        return self.client.event(event_type, [resources] if isinstance(resources, str) else resources, **details)

    def withdraw(self, event_id: str) -> dict[str, Any]:
        """Call an event off; returns its record."""
        return self.client.withdraw(event_id)

    def fault(self, kind: str, vm: str = "*", **details: Any) -> str:
        """Make something go wrong (``for_`` stands for ``for``); returns the fault's id."""
        return self.client.fault(kind=kind, vm=vm, **details)

    def arm_fault(self, kind: str, **details: Any) -> str:
        """Make something of Resource Manager go wrong (``for_`` stands for ``for``); returns the fault's id."""
        return self.client.arm_fault(kind=kind, **details)

    def clear_arm_faults(self) -> None:
        """End all faults of Resource Manager."""
        self.client.clear_arm_faults()

    def clear_faults(self) -> None:
        """End all faults."""
        self.client.clear_faults()

    def advance(self, seconds: float) -> float:
        """Step a manual clock; returns the instant reached."""
        return self.client.advance(seconds)

    def status(self) -> dict[str, Any]:
        """Everything at a glance."""
        return self.client.status()

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """What happened since an entry's number."""
        return self.client.log(after)
