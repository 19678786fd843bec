# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an event is: its types and their lives, how one is specified, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .reading import Fields, Invalid

SCHEDULED = "Scheduled"
STARTED = "Started"
COMPLETED = "Completed"
CANCELED = "Canceled"

DELETING = frozenset({"Preempt", "Terminate"})
"""Types after whose impact the VM is gone."""

RECOMMENDATION = "SpotRebalanceRecommendation"
"""Only advisory: it never starts, and an approval of it has no effect."""

EVENT_TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", RECOMMENDATION)
OS_UPGRADE = "OSUpgrade"
"""What replaces a machine's disk. Nobody on the machine is told of it: it is no event of the metadata service."""

EVENT_SOURCES = ("Platform", "User")


class Life(NamedTuple):
    """How an event of some type unfolds. All times are simulated seconds.

    ``notice`` lies between its appearance and NotBefore, ``impact`` is how long its VMs are hit
    from the start on (until they are gone, for Preempt and Terminate), ``linger`` how long it
    stays in the document from the start on. ``approval_delay`` is how long Azure takes from an
    approval to the start. ``duration`` is what DurationInSeconds says: it is never scaled.
    A recommendation never starts: ``linger`` is how long it stays in the document, ``notice`` lies
    between its appearance and that of the Preempt that it becomes, if it becomes one.
    """

    notice: float
    impact: float
    linger: float
    approval_delay: float
    duration: int
    source: str
    description: str


_HOST_MAINTENANCE = "Host server is undergoing maintenance."

LIVES: Mapping[str, Life] = {
    "Freeze": Life(900, 5, 600, 0, 5, "Platform", _HOST_MAINTENANCE),
    "Reboot": Life(900, 30, 600, 0, -1, "Platform", _HOST_MAINTENANCE),
    "Redeploy": Life(600, 120, 600, 0, -1, "Platform", _HOST_MAINTENANCE),
    "Preempt": Life(30, 10, 30, 0, -1, "Platform", ""),
    "Terminate": Life(300, 30, 60, 0, -1, "User", "Virtual machine is going to be deleted."),
    RECOMMENDATION: Life(60, 0, 300, 0, -1, "Platform", "Spot virtual machine is at a heightened risk of eviction."),
}
"""The documented minimum notice of each type, and what is typical where nothing is documented."""


AS_REQUESTED = {
    "Reboot": "Virtual machine is going to be restarted as requested by authorized user.",
    "Redeploy": "Virtual machine is going to be redeployed as requested by authorized user.",
}
"""What an event says that a user has asked for."""


def read_life(fields: Fields, base: Life) -> Life:
    """``base`` with what the fields override."""
    life = Life(
        notice=fields.number("notice", base.notice),
        impact=fields.number("impact", base.impact),
        linger=fields.number("linger", base.linger),
        approval_delay=fields.number("approval_delay", base.approval_delay),
        duration=fields.integer("duration", base.duration, -1, 2**31 - 1),
        source=fields.text("event_source", base.source, EVENT_SOURCES) or base.source,
        description=_description(fields, base.description),
    )
    if life.linger >= life.impact:
        return life
    if fields.has("linger"):
        fields.wrong("linger", f"{life.linger:g} must be at least the impact of {life.impact:g}: an event outlasts it")
    return life._replace(linger=life.impact)


def _description(fields: Fields, default: str) -> str:
    """A description may be empty, which other texts may not."""
    value = fields.raw("description")
    if value is None:
        return default
    if not isinstance(value, str):
        fields.wrong("description", f"{value!r} is not a text")
        return default
    return value


class EventSpec(NamedTuple):
    """An event somebody wants to happen."""

    event_type: str
    resources: tuple[str, ...]
    life: Life
    born_started: bool = False
    becomes: str | None = None
    event_id: str | None = None


def read_wish(raw: object, lives: Mapping[str, Life]) -> EventSpec:
    """An event as the control API takes it; raises :class:`~.reading.Invalid`.

    Whether its VMs exist and may be hit by one event is for the world to say.
    """
    mistakes: list[str] = []
    fields = Fields(raw, "", mistakes)
    fields.required("event_type", f"one of {', '.join(EVENT_TYPES)}")
    fields.required("resources", "the names of the VMs that are hit")
    event_type = fields.text("event_type", EVENT_TYPES[0], EVENT_TYPES) or EVENT_TYPES[0]
    life = lives[event_type]
    if fields.raw("event_source") == "User" and life.description == _HOST_MAINTENANCE:
        life = life._replace(description=AS_REQUESTED.get(event_type, ""))
    spec = EventSpec(
        event_type=event_type,
        resources=fields.texts("resources") or (),
        life=read_life(fields, life),
        born_started=fields.text("status", SCHEDULED, (SCHEDULED, STARTED)) == STARTED,
        becomes=fields.text("becomes", None, ("Freeze", "Preempt")),
        event_id=fields.guid("event_id"),
    )
    if spec.becomes == "Freeze" and event_type not in ("Reboot", "Redeploy"):
        fields.wrong("becomes", f"only a Reboot or Redeploy turns into a Freeze, not a {event_type}")
    if spec.becomes == "Preempt" and event_type != RECOMMENDATION:
        fields.wrong("becomes", f"only a {RECOMMENDATION} is followed by a Preempt, not a {event_type}")
    if spec.becomes == "Preempt" and spec.life.notice > spec.life.linger:
        fields.wrong("notice", f"{spec.life.notice:g} must be at most the linger of {spec.life.linger:g}")
    if event_type == RECOMMENDATION and (spec.born_started or spec.life.impact):
        fields.wrong("event_type", f"a {RECOMMENDATION} never starts: it has neither a status nor an impact")
    if len(set(spec.resources)) != len(spec.resources):
        fields.wrong("resources", "names a VM twice")
    fields.close()
    if mistakes:
        raise Invalid(mistakes)
    return spec


class Approval(NamedTuple):
    """Somebody allowed an event to start."""

    vm: str
    at: float
    repeated: bool


@dataclass(eq=False)
class Event:
    """One event's life so far. All instants are simulated; None for what has not happened."""

    event_id: str
    event_type: str
    resources: tuple[str, ...]
    life: Life
    becomes: str | None
    created: float
    not_before: float
    status: str = SCHEDULED
    started: float | None = None
    impact_started: float | None = None
    impact_ended: float | None = None
    ended: float | None = None
    approvals: list[Approval] = field(default_factory=list)
    notice_left_at_approval: float | None = None
    history: list[tuple[float, str]] = field(default_factory=list)

    @property
    def impact_type(self) -> str:
        """What really happens to the VMs: a Reboot may turn out to be a mere Freeze."""
        return self.becomes or self.event_type

    @property
    def deletes(self) -> bool:
        """True when its VMs do not come back."""
        return self.event_type in DELETING

    @property
    def starts(self) -> bool:
        """True unless it is only advisory."""
        return self.event_type != RECOMMENDATION

    @property
    def listed(self) -> bool:
        """True while the document lists it."""
        return self.status in (SCHEDULED, STARTED)

    @property
    def approved(self) -> bool:
        """True once somebody approved it."""
        return bool(self.approvals)

    def turn(self, status: str, at: float) -> None:
        """Take a status, and remember when."""
        self.status = status
        self.history.append((at, status))

    def record(self, wall: Any) -> dict[str, Any]:
        """The event as the control API shows it; ``wall`` turns an instant into wall-clock time."""

        def at(instant: float | None) -> float | None:
            return None if instant is None else round(wall(instant), 3)

        return {
            "event_id": self.event_id,
            "event_type": self.event_type,
            "event_source": self.life.source,
            "resources": list(self.resources),
            "status": self.status,
            "description": self.life.description,
            "duration_in_seconds": self.life.duration,
            "becomes": self.becomes,
            "created": at(self.created),
            "not_before": at(self.not_before),
            "started": at(self.started),
            "impact_started": at(self.impact_started),
            "impact_ended": at(self.impact_ended),
            "ended": at(self.ended),
            "notice_left_at_approval": (
                None if self.notice_left_at_approval is None else round(self.notice_left_at_approval, 3)
            ),
            "approvals": [{"vm": a.vm, "at": at(a.at), "repeated": a.repeated} for a in self.approvals],
            "history": [{"at": at(instant), "what": what} for instant, what in self.history],
        }
