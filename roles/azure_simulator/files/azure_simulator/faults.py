# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on request: which answers go wrong, how, and how often."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any, Callable, Generic, Protocol, TypeVar

from .reading import Fields, Invalid

KINDS = ("status", "silence", "reset", "slow", "truncate", "garbage")
SPOILING = ("slow", "truncate")
"""Kinds that need the service's answer, to get in its way."""

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")

EVERY_VM = "*"

_MEANT_FOR = {
    "status": ("status",),
    "headers": ("status",),
    "body": ("status", "garbage"),
    "seconds": ("silence", "slow"),
    "bytes_per_second": ("slow",),
}


@dataclass(frozen=True)
class FaultPlan:
    """Which answers go wrong, and for whom.

    ``seconds`` is real time: how long a silence lasts before the connection is closed (None: until
    the client gives up), or how long a slow answer takes. ``count`` answers or ``lasting`` real
    seconds, whatever is over first; without both the fault stays until it is removed. With
    ``applied`` the service acts on the request before its answer is lost: an approval counts.
    """

    vm: str
    kind: str
    paths: tuple[str, ...] = ("/",)
    methods: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    status: int = 500
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    bytes_per_second: float | None = None
    count: int | None = None
    lasting: float | None = None
    applied: bool = False

    @property
    def lets_through(self) -> bool:
        """True when the service gets to see the request."""
        return self.applied or self.kind in SPOILING

    def hits(self, vm: str, method: str, path: str, api_version: str) -> bool:
        """Whether it is meant for this request."""
        return (
            self.vm in (vm, EVERY_VM)
            and (not self.methods or method in self.methods)
            and (not self.api_versions or api_version in self.api_versions)
            and path.startswith(self.paths)
        )

    def record(self) -> dict[str, Any]:
        """The plan as the control API shows it."""
        return {
            "vm": self.vm,
            "kind": self.kind,
            "paths": list(self.paths),
            "methods": list(self.methods),
            "api_versions": list(self.api_versions),
            "applied": self.applied,
            "status": self.status if self.kind == "status" else None,
        }


def read_fault(raw: object, path: str, mistakes: list[str], vms: Container[str]) -> FaultPlan:
    """A fault as configuration and control API write it; adds to ``mistakes``."""
    fields = Fields(raw, path, mistakes)
    fields.required("vm", "the name of a VM, or * for all")
    fields.required("kind", f"one of {', '.join(KINDS)}")
    vm = fields.text("vm", EVERY_VM) or EVERY_VM
    if vm != EVERY_VM and vm not in vms:
        fields.wrong("vm", f"{vm!r} is not the name of a VM")
    kind = fields.text("kind", "status", KINDS) or "status"
    body = fields.raw("body")
    if body is not None and not isinstance(body, (str, dict, list)):
        fields.wrong("body", f"{body!r} is neither a text nor JSON")
    plan = FaultPlan(
        vm=vm,
        kind=kind,
        paths=fields.texts("paths") or ("/",),
        methods=fields.texts("methods", METHODS) or (),
        api_versions=fields.texts("api_versions") or (),
        status=fields.integer("status", 500, 200, 599),
        body=(body if isinstance(body, str) else json.dumps(body)).encode() if body is not None else b"",
        content_type="application/json; charset=utf-8" if isinstance(body, (dict, list)) else FaultPlan.content_type,
        headers=fields.string_map("headers"),
        seconds=fields.optional_number("seconds"),
        bytes_per_second=fields.optional_number("bytes_per_second", above=True),
        count=fields.optional_integer("count", 1, 10**9),
        lasting=fields.optional_number("for", above=True),
        applied=fields.flag("applied", False),
    )
    for key, kinds in _MEANT_FOR.items():
        if fields.raw(key) is not None and kind not in kinds:
            fields.wrong(key, f"has no effect with the kind {kind}, only for {', '.join(kinds)}")
    if plan.seconds is not None and plan.bytes_per_second is not None:
        fields.wrong("seconds", "give either it or bytes_per_second")
    fields.close()
    return plan


class Plan(Protocol):
    """What every plan says of itself to the queue that puts it in force."""

    @property
    def count(self) -> int | None:
        """Hits until it is over; None: any number."""

    @property
    def lasting(self) -> float | None:
        """Real seconds until it is over; None: any time."""

    def record(self) -> dict[str, Any]:
        """The plan as the control API shows it."""


P = TypeVar("P", bound=Plan)


@dataclass(eq=False)
class Fault(Generic[P]):
    """A plan at work; ``until`` is an instant of the queue's clock."""

    fault_id: str
    plan: P
    until: float | None
    hits: int = 0

    def record(self, now: float) -> dict[str, Any]:
        """The fault as the control API shows it; ``seconds_left`` is real time."""
        count = self.plan.count
        return {
            "fault_id": self.fault_id,
            **self.plan.record(),
            "hits": self.hits,
            "count_left": None if count is None else count - self.hits,
            "seconds_left": None if self.until is None else round(max(0.0, self.until - now), 3),
        }


class FaultQueue(Generic[P]):
    """The faults in force. ``clock`` is real time: faults hit clients, who live in it."""

    def __init__(
        self, plans: Iterable[P] = (), prefix: str = "fault", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._ids = (f"{prefix}-{number}" for number in itertools.count(1))
        self._faults: dict[str, Fault[P]] = {}
        for plan in plans:
            self.add(plan)

    def add(self, plan: P) -> Fault[P]:
        """Put a plan in force."""
        until = None if plan.lasting is None else self._clock() + plan.lasting
        fault = Fault(next(self._ids), plan, until)
        self._faults[fault.fault_id] = fault
        return fault

    def remove(self, fault_id: str) -> Fault[P] | None:
        """End a fault; None when no fault has that id (any more)."""
        self._expire()
        return self._faults.pop(fault_id, None)

    def clear(self) -> list[Fault[P]]:
        """End all faults."""
        removed = self.all()
        self._faults.clear()
        return removed

    def all(self) -> list[Fault[P]]:
        """Those in force, oldest first."""
        self._expire()
        return list(self._faults.values())

    def records(self) -> list[dict[str, Any]]:
        """All faults as the control API shows them."""
        return [fault.record(self._clock()) for fault in self.all()]

    def strike(self, hits: Callable[[P], bool]) -> Fault[P] | None:
        """The oldest fault whose plan ``hits`` says is meant, counted as a hit."""
        if not self._faults:
            return None
        fault = next((fault for fault in self.all() if hits(fault.plan)), None)
        if fault is not None:
            fault.hits += 1
            if fault.plan.count is not None and fault.hits >= fault.plan.count:
                del self._faults[fault.fault_id]
        return fault

    def _expire(self) -> None:
        now = self._clock()
        for fault in [fault for fault in self._faults.values() if fault.until is not None and fault.until <= now]:
            del self._faults[fault.fault_id]


def parse_fault(raw: object, vms: Container[str], read: Callable[[object, str, list[str], Container[str]], P]) -> P:
    """A fault as the control API takes it and ``read`` reads it; raises :class:`~.reading.Invalid`."""
    mistakes: list[str] = []
    plan = read(raw, "", mistakes, vms)
    if mistakes:
        raise Invalid(mistakes)
    return plan
