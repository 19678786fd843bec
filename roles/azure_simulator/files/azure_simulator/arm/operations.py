# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Long-running operations: what goes on after the answer was given."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Callable

from ..world import World
from .errors import ArmError
from .outcomes import CANCELED, IN_PROGRESS, NEVER, SUCCEEDED, Ending


@dataclass(eq=False)
class Operation:
    """One operation. Instants are simulated; ``done`` is called once, when it ends in whatever way."""

    operation_id: str
    kind: str
    target: str
    provider: str
    location: str
    started: float
    done: Callable[[str], None]
    waits_for: set[str] = field(default_factory=set)
    wanted: Ending | None = None
    ended: float | None = None
    status: str = IN_PROGRESS
    error: ArmError | None = None
    result: Any = None  # what the monitor shows in the end; None is no content

    @property
    def over(self) -> bool:
        """True once it has ended."""
        return self.status != IN_PROGRESS

    def body(self, wall: Callable[[float], float], iso: Callable[[float], str]) -> dict[str, Any]:
        """The answer to a poll."""
        body: dict[str, Any] = {"startTime": iso(wall(self.started))}
        if self.ended is not None:
            body["endTime"] = iso(wall(self.ended))
        body["status"] = self.status
        if self.error is not None:
            body["error"] = self.error.inner()
        body["name"] = self.operation_id
        return body


class Operations:
    """All operations, by their id. The world's agenda drives them."""

    def __init__(self, world: World, seed: int) -> None:
        self._world = world
        self._ids = random.Random(f"{seed}/operations")
        self._operations: dict[str, Operation] = {}

    def begin(
        self,
        kind: str,
        target: str,
        provider: str,
        location: str,
        done: Callable[[str], None],
        seconds: float | None,
        waits_for: Iterable[str] = (),
        wanted: Ending | None = None,
    ) -> Operation:
        """Begin one that ends after some simulated seconds (None: as told) and when the VMs it waits for are gone.

        ``done`` gets the status it ended with.
        """
        operation = Operation(
            operation_id=str(uuid.UUID(int=self._ids.getrandbits(128), version=4)),
            kind=kind,
            target=target,
            provider=provider,
            location=location,
            started=self._world.now,
            done=done,
            waits_for=set(waits_for),
            wanted=wanted,
        )
        self._operations[operation.operation_id] = operation
        if seconds is not None:
            self._world.at(self._world.now + seconds, lambda: self._due(operation))
        return operation

    def _due(self, operation: Operation) -> None:
        if not operation.waits_for:
            self.end(operation)

    def end(self, operation: Operation, status: str = SUCCEEDED, error: ArmError | None = None) -> None:
        """End one, unless a fault wants it otherwise."""
        if operation.over:
            return
        if operation.wanted is not None and status == SUCCEEDED:
            if operation.wanted.status == NEVER:
                return
            status, error = operation.wanted.status, operation.wanted.error
        operation.status = status
        operation.error = error
        operation.ended = self._world.now
        operation.done(status)

    def gone(self, awaited: str) -> None:
        """A machine is gone, or an event is over: operations that waited for nothing else are done."""
        for operation in list(self._operations.values()):
            if awaited in operation.waits_for:
                operation.waits_for.discard(awaited)
                if not operation.waits_for:
                    self.end(operation)

    def spared(self, vm: str) -> None:
        """A machine stays after all: operations that wait for its end have failed."""
        self.refuse(vm, CANCELED, ArmError(409, "OperationCanceled", f"The deletion of '{vm}' was called off."))

    def refuse(self, awaited: str, status: str, error: ArmError) -> None:
        """An awaited machine or event will not end: operations that wait for it end with this status."""
        for operation in list(self._operations.values()):
            if awaited in operation.waits_for:
                self.end(operation, status, error)

    def get(self, operation_id: str) -> Operation | None:
        """One by its id."""
        return self._operations.get(operation_id.lower())

    def all(self) -> list[Operation]:
        """All operations so far."""
        return list(self._operations.values())
