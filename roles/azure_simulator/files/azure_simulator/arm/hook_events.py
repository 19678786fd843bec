# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute over HTTP: the questions of lifecycle hooks, and their answers.

They are there from the start, as the configuration says, or asked by an upgrade, which waits for the answers.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable

from . import versions
from .config import HookEventConfig
from .errors import ArmError, invalid, no_such_entity
from .lifecycle import SCHEDULING, WAITS, hooks_of, seconds_of
from .ownership import ResourceLookup
from .resources import ComputeResources, ScaleSet
from .routing import COMPUTE, SET, ArmAnswer, ArmRequest, Links, Pager, Router

WAITING = "Waiting"
APPROVED = "Approved"
ANSWERS = {"Approve": APPROVED, "Reject": "Rejected"}

_EVENTS = f"{SET}/lifecycleHookEvents"


@dataclass
class HookEvent:
    """One question. Instants are simulated."""

    name: str
    kind: str
    created: float
    wait_until: float
    longest: float
    default: str
    targets: dict[str, str]
    """State by the id of what is asked for."""
    answered: Callable[[Mapping[str, str]], None] | None = None
    """Who waits for the states, which are told once all of them are final; None once that was done."""

    def pass_time(self, now: float) -> None:
        """Take the default for the targets that nobody has answered for in time."""
        if now >= self.wait_until:
            for one, state in self.targets.items():
                if state == WAITING:
                    self.targets[one] = ANSWERS[self.default]

    @property
    def is_over(self) -> bool:
        """Whether each is answered for."""
        return WAITING not in self.targets.values()


class HookEvents:
    """The handlers."""

    def __init__(
        self, resources: ComputeResources, links: Links, pager: Pager, events: tuple[HookEventConfig, ...], seed: int
    ) -> None:
        self._resources = resources
        self._links = links
        self._pager = pager
        self._lookup = ResourceLookup(resources)
        self._ids = random.Random(f"{seed}/hook events")
        self._events: dict[str, list[HookEvent]] = {}
        """By the id of the set, in lower case."""
        for config in events:
            scale_set = resources.sets[config.scale_set_id.lower()]
            targets = [scale_set.resource_id]
            if config.kind != SCHEDULING:
                asked = [m for m in scale_set.machines.values() if not config.vms or m.vm.handle in config.vms]
                targets = [scale_set.id_of(machine) for machine in asked]
            self._begin(scale_set, config.kind, targets, None, config.name)

    def routes(self, router: Router) -> None:
        """Make them known."""
        router.add("GET", _EVENTS, COMPUTE, self.list_all)
        router.add("GET", f"{_EVENTS}/{{event}}", COMPUTE, self.get)
        router.add("PATCH", f"{_EVENTS}/{{event}}", COMPUTE, self.answer)

    def ask(
        self, scale_set: ScaleSet, kind: str, targets: list[str], answered: Callable[[Mapping[str, str]], None]
    ) -> None:
        """Ask about these targets. ``answered`` is called with the state of each, by id, once all states are final."""
        self._look(self._begin(scale_set, kind, targets, answered))

    def _begin(
        self,
        scale_set: ScaleSet,
        kind: str,
        targets: list[str],
        answered: Callable[[Mapping[str, str]], None] | None,
        name: str = "",
    ) -> HookEvent:
        (hook,) = [one for one in hooks_of(scale_set.properties) if one.get("type") == kind] or [{}]
        now = self._resources.world.now
        event = HookEvent(
            name or str(uuid.UUID(int=self._ids.getrandbits(128), version=4)),
            kind,
            now,
            now + (seconds_of(hook.get("waitDuration", WAITS[kind].usual)) or 0),
            WAITS[kind].longest,
            hook.get("defaultAction", "Approve"),
            dict.fromkeys(targets, WAITING),
            answered,
        )
        self._events.setdefault(scale_set.resource_id.lower(), []).append(event)
        return event

    def _look(self, event: HookEvent) -> None:
        """Report an event that is over to its caller; otherwise check again when its time is up."""
        world = self._resources.world
        event.pass_time(world.now)
        if not event.is_over:
            world.at(event.wait_until, lambda: self._look(event))
        elif event.answered is not None:
            told, event.answered = event.answered, None
            told(dict(event.targets))

    def list_all(self, request: ArmRequest) -> ArmAnswer:
        """All events of a set, including those that are over."""
        scale_set = self._set_of(request)
        return self._pager.page(request, [self._show(scale_set, one) for one in self._of(scale_set)])

    def get(self, request: ArmRequest) -> ArmAnswer:
        """One of them."""
        scale_set = self._set_of(request)
        return ArmAnswer(200, self._show(scale_set, self._find(scale_set, request)))

    def answer(self, request: ArmRequest) -> ArmAnswer:
        """Accept an answer for some of the targets, a later end, or both. It takes effect when the operation ends."""
        scale_set = self._set_of(request)
        event = self._find(scale_set, request)
        properties = request.document().get("properties") or {}
        if event.is_over:
            raise ArmError(409, "OperationNotAllowed", f"The lifecycle hook event '{event.name}' is completed.")
        answers = _read_answers(event, properties)
        wait_until = self._read_wait(event, properties)

        def done(status: str) -> None:
            if status == "Succeeded":
                event.targets.update(answers)
                event.wait_until = event.wait_until if wait_until is None else wait_until
                self._look(event)

        seconds = self._resources.config.operation_seconds
        operation = self._resources.begin(
            "updateLifecycleHookEvent", scale_set.resource_id, scale_set.location, done, request.wanted, seconds
        )
        return ArmAnswer(202, None, self._links.asynchronous(request, operation, scale_set.subscription))

    def _read_wait(self, event: HookEvent, properties: Mapping[str, Any]) -> float | None:
        text = properties.get("waitUntil")
        if text is None:
            return None
        clock = self._resources.world.clock
        try:
            wall = datetime.fromisoformat(str(text).replace("Z", "+00:00")).timestamp()
        except ValueError:
            raise invalid("waitUntil", f"The value '{text}' of parameter 'waitUntil' is invalid.") from None
        wait_until = event.created + (wall - clock.wall(event.created)) * clock.speed
        if wait_until > event.created + event.longest:
            raise invalid("waitUntil", f"The value '{text}' of parameter 'waitUntil' is beyond maxWaitUntil.")
        return wait_until

    def _set_of(self, request: ArmRequest) -> ScaleSet:
        if request.version < versions.HOOKS_SINCE:
            raise ArmError(404, "InvalidResourceType", "The resource type 'lifecycleHookEvents' could not be found.")
        return self._lookup.scale_set(request)

    def _of(self, scale_set: ScaleSet) -> Sequence[HookEvent]:
        events = self._events.get(scale_set.resource_id.lower(), [])
        for one in events:
            one.pass_time(self._resources.world.now)
        return events

    def _find(self, scale_set: ScaleSet, request: ArmRequest) -> HookEvent:
        for one in self._of(scale_set):
            if one.name.lower() == request.names["event"].lower():
                return one
        raise no_such_entity()

    def _show(self, scale_set: ScaleSet, event: HookEvent) -> dict[str, Any]:
        wall = self._resources.world.clock.wall
        properties: dict[str, Any] = {
            "type": event.kind,
            "state": "Completed" if event.is_over else "Active",
            "timeCreated": _iso(wall(event.created)),
            "waitUntil": _iso(wall(event.wait_until)),
            "maxWaitUntil": _iso(wall(event.created + event.longest)),
            "defaultAction": event.default,
            "targetResources": [
                {"resource": {"id": one}, "actionState": state} for one, state in event.targets.items()
            ],
        }
        if event.kind == SCHEDULING:
            properties["additionalContext"] = {"priority": "Normal"}
        return {
            "name": event.name,
            "id": f"{scale_set.resource_id}/lifecycleHookEvents/{event.name}",
            "properties": properties,
        }


def _iso(instant: float) -> str:
    """A wall-clock instant as events have it: up to seven decimals, without zeros at the end."""
    seconds, ticks = divmod(round(instant * 10**7), 10**7)
    text = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{ticks:07d}".rstrip("0").rstrip(".") + "+00:00"


def _read_answers(event: HookEvent, properties: Mapping[str, Any]) -> dict[str, str]:
    """The states that an answer gives, by the ids of the event."""
    ids = {one.lower(): one for one in event.targets}
    answers = {}
    for one in properties.get("targetResources") or []:
        wanted = str((one.get("resource") or {}).get("id")).lower()
        state = one.get("actionState")
        if wanted not in ids or state not in ANSWERS.values():
            raise invalid("targetResources", "The value of parameter 'targetResources' is invalid.")
        if event.targets[ids[wanted]] not in (WAITING, state):
            raise ArmError(409, "OperationNotAllowed", f"The target '{ids[wanted]}' is in a final state.")
        answers[ids[wanted]] = state
    return answers
