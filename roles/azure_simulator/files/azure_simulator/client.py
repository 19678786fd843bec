# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of the control API, for the command line and for tests."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

PREFIX = "/_simulator"
"""Where the control API begins."""

FAULTS = "faults"
ARM_FAULTS = "arm/faults"


class ControlError(Exception):
    """The control API refused, or did not answer; ``status`` is 0 when there was no answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ControlClient:
    """Talks to ``http://host:port``. Proxies are never used. Times are in real seconds.

    ``patience`` is how long to wait for a simulator that does not listen yet.
    """

    def __init__(self, url: str, timeout: float = 30.0, patience: float = 0.0) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ControlError(0, f"{url!r} is not a control address like http://127.0.0.1:8700")
        self._url = url
        self._host = parts.hostname
        self._port = parts.port or 80
        self._timeout = timeout
        self._patience = patience

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """One call; returns the decoded answer, raises :class:`ControlError`."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        try:
            self._connect(connection)
            payload = None if body is None else json.dumps(body)
            connection.request(method, f"{PREFIX}/{path}", payload, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ControlError(
                0, f"the simulator at {self._url} does not answer ({error}): is it running, is --control right?"
            ) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise ControlError(response.status, str(answer.get("error", answer)))
        return answer

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        give_up = time.monotonic() + self._patience
        while True:
            try:
                return connection.connect()
            except ConnectionRefusedError:
                if time.monotonic() >= give_up:
                    raise
            time.sleep(0.1)

    def status(self) -> dict[str, Any]:
        """Everything at a glance."""
        return dict(self.call("GET", "status"))

    def event(self, event_type: str, resources: list[str], **details: Any) -> dict[str, Any]:
        """Announce an event; returns its record."""
        return dict(self.call("POST", "events", {"event_type": event_type, "resources": resources, **details}))

    def withdraw(self, event_id: str) -> dict[str, Any]:
        """Call an event off; returns its record."""
        return dict(self.call("DELETE", f"events/{quote(event_id, safe='')}"))

    def fault(self, **details: Any) -> str:
        """Make something go wrong; returns the fault's id. ``for_`` stands for ``for``."""
        return self.add_fault(FAULTS, **details)

    def clear_faults(self) -> None:
        """End all faults."""
        self.end_faults(FAULTS)

    def arm_fault(self, **details: Any) -> str:
        """Make something of Resource Manager go wrong; returns the fault's id. ``for_`` stands for ``for``."""
        return self.add_fault(ARM_FAULTS, **details)

    def clear_arm_faults(self) -> None:
        """End all faults of Resource Manager."""
        self.end_faults(ARM_FAULTS)

    def advance(self, seconds: float) -> float:
        """Step a manual clock; returns the instant reached."""
        return float(self.call("POST", "advance", {"seconds": seconds})["now"])

    def load(self, sent: int, lost: int) -> None:
        """Report how many requests the clients of the load balancers sent and lost, since they began."""
        self.call("POST", "load", {"sent": sent, "lost": lost})

    def log(self, after: int = 0) -> list[dict[str, Any]]:
        """What happened since an entry's number."""
        return list(self.call("GET", f"log?after={after}"))

    def add_fault(self, where: str, **details: Any) -> str:
        """Make something go wrong among `FAULTS` or `ARM_FAULTS`; returns the fault's id."""
        if "for_" in details:
            details["for"] = details.pop("for_")
        return str(self.call("POST", where, details)["fault_id"])

    def end_faults(self, where: str, *fault_ids: str) -> None:
        """End these faults; without any, all of `FAULTS` or `ARM_FAULTS`."""
        for path in [f"{where}/{quote(fault_id, safe='')}" for fault_id in fault_ids] or [where]:
            self.call("DELETE", path)
