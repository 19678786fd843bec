# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world: virtual machines, their delivery scopes and their events.

A pure state machine. It does no I/O and reads no clock but the one it is given; whoever acts on it
(the metadata service for a VM, the control API for the operator, Resource Manager for the owner)
first calls :meth:`World.sync`, which runs everything that has come due, in order, each at its own
instant. What happens is told to listeners.

Every instant here is simulated (epoch seconds).
"""

from __future__ import annotations

import heapq
import itertools
import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Callable, NamedTuple

from .clock import Clock
from .config import Config
from .events import CANCELED, COMPLETED, OS_UPGRADE, SCHEDULED, STARTED, Approval, Event, EventSpec, Life
from .machines import VmConfig
from .reading import Invalid

DISABLE_AFTER = 24 * 3600.0
"""Seconds without a request after which a scope's events are no longer delivered."""

RUNNING = "running"
DELETED = "deleted"
STOPPED = "stopped"
DEALLOCATED = "deallocated"
OFF = (STOPPED, DEALLOCATED)
_STATE_DURING = {"Freeze": "frozen", "Reboot": "rebooting", "Redeploy": "redeploying"}
_STATES_BY_WEIGHT = ("redeploying", "rebooting", "frozen")

DISABLED = "disabled"
ENABLING = "enabling"
ENABLED = "enabled"


class Refused(Exception):
    """The state of the world does not allow that: the event has started already, or no event has that id."""


class UnknownEvent(Refused):
    """No event has that id."""


class Change(NamedTuple):
    """Something that happened. ``kind``: event, approval, impact or scope; ``what`` says it in a word."""

    at: float
    kind: str
    what: str
    vm: str | None = None
    event: Event | None = None
    scope: str | None = None


Listener = Callable[[Change], None]


class Notice(NamedTuple):
    """One event as a document tells it; ``not_before`` is wall-clock seconds, None once started."""

    event_id: str
    event_type: str
    status: str
    resources: tuple[str, ...]
    not_before: int | None
    description: str
    source: str
    duration: int


class Feed:
    """A document: what it lists, and the number that changes whenever that does."""

    def __init__(self, chance: random.Random) -> None:
        self.notices: tuple[Notice, ...] = ()
        self.incarnation = 0
        self.revision = 0  # unlike the incarnation it never takes an old value again
        self._chance = chance

    def begin(self, notices: tuple[Notice, ...]) -> None:
        """Start again from a small number: the service has just been enabled."""
        self.notices = notices
        self.incarnation = self._chance.randint(1, 3)
        self.revision += 1

    def tell(self, notices: tuple[Notice, ...]) -> None:
        """List these; the incarnation jumps when they differ."""
        if notices != self.notices:
            self.notices = notices
            self.incarnation += self._chance.randint(1, 3)
            self.revision += 1


class Scope:
    """Those who are told of the same events: one VM alone, an availability set, a placement group."""

    def __init__(self, key: str, chance: random.Random) -> None:
        self.key = key
        self.members: list[str] = []
        self.state = DISABLED
        self.enabled_at = 0.0  # when the first request is answered
        self.events_from = 0.0  # when events begin to appear
        self.last_request = 0.0
        self.feed = Feed(chance)


class Vm:
    """A virtual machine and what is happening to it."""

    def __init__(self, config: VmConfig, scope: Scope) -> None:
        self.config = config
        self.name = config.handle
        self.scope = scope
        self.deleted = False
        self.power = RUNNING  # or one of OFF: what its owner has done to it
        self.impacts: dict[str, str] = {}  # event id: what it is doing to the machine

    @property
    def state(self) -> str:
        """running, stopped, deallocated, frozen, rebooting, redeploying or deleted; the gravest of what goes on."""
        if self.deleted:
            return DELETED
        if self.power != RUNNING:
            return self.power
        for state in _STATES_BY_WEIGHT:
            if state in self.impacts.values():
                return state
        return RUNNING


def scope_key(vm: VmConfig) -> str:
    """A VM's delivery scope.

    Placement group before scale set before availability set before the VM alone; a scope ends at its zone's border,
    because placement groups do.
    """
    group = f"{vm.subscription_id}/{vm.resource_group}"
    zone = f"/zone/{vm.zone}" if vm.zone else ""
    for kind, name in (
        ("placementGroup", vm.placement_group),
        ("virtualMachineScaleSet", vm.scale_set),
        ("availabilitySet", vm.availability_set),
    ):
        if name:
            return f"{group}/{kind}/{name}{zone}".lower()
    return f"{group}/virtualMachine/{vm.name}".lower()


class World:
    """Everything that exists, and what will happen to it."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self.clock = clock
        self.lives: Mapping[str, Life] = config.lives
        self.vms: dict[str, Vm] = {}  # by their handles
        self.scopes: dict[str, Scope] = {}
        self.events: dict[str, Event] = {}
        self.now = clock.now()
        self._seed = config.seed
        self._enable_delay = config.imds.enable_delay
        self._event_delay = config.imds.event_delay
        self._ids = random.Random(f"{config.seed}/events")
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._listeners: list[Listener] = []
        for vm in config.vms.values():
            self.add_vm(vm)

    # -- time ---------------------------------------------------------------------------------

    def sync(self) -> float:
        """Let everything happen that is due by now; returns the present instant."""
        target = self.clock.now()
        while self._agenda and self._agenda[0][0] <= target:
            when, _number, act = heapq.heappop(self._agenda)
            self.now = max(self.now, when)
            act()
        self.now = max(self.now, target)
        return self.now

    def next_due(self) -> float | None:
        """When the next thing happens of itself; None when nothing will."""
        return self._agenda[0][0] if self._agenda else None

    def at(self, when: float, act: Callable[[], None]) -> None:
        """Have something done at an instant, in order with everything else that happens of itself."""
        heapq.heappush(self._agenda, (when, next(self._numbers), act))

    # -- who wants to know ------------------------------------------------------------------------

    def listen(self, listener: Listener) -> None:
        """Have every change told. A listener must not act on the world."""
        self._listeners.append(listener)

    def _tell(
        self, kind: str, what: str, vm: str | None = None, event: Event | None = None, scope: str | None = None
    ) -> None:
        change = Change(self.now, kind, what, vm, event, scope)
        for listener in self._listeners:
            listener(change)

    # -- machines -----------------------------------------------------------------------------

    def add_vm(self, config: VmConfig) -> None:
        """Bring a machine into being, running; its scope may be enabled already."""
        key = scope_key(config)
        scope = self.scopes.get(key)
        if scope is None:
            scope = self.scopes[key] = Scope(key, random.Random(f"{self._seed}/scope/{key}"))
        scope.members.append(config.handle)
        self.vms[config.handle] = Vm(config, scope)

    def remove_vm(self, name: str) -> None:
        """Delete a machine at once and without an event; nothing happens when it is gone already."""
        vm = self.vms[name]
        if not vm.deleted:
            self._delete_vm(vm)
            self._tell("impact", DELETED, vm=name)

    def switch(self, name: str, power: str) -> None:
        """Have a machine run, or be one of `OFF`, at once and without an event."""
        vm = self.vms[name]
        if not vm.deleted and vm.power != power:
            vm.power = power
            self._tell("impact", power, vm=name)

    def replace_disk(self, name: str, seconds: float, done: Callable[[], None]) -> None:
        """Have a machine off for some seconds, and then run from another disk; ``done`` is called then.

        It is an impact, so that commands can do it to the real thing, and no event that anybody is told of.
        """
        vm = self.vms[name]
        life = Life(0, seconds, seconds, 0, -1, "Platform", "")
        upgrade_id = str(uuid.UUID(int=self._ids.getrandbits(128), version=4)).upper()
        upgrade = Event(upgrade_id, OS_UPGRADE, (name,), life, None, self.now, self.now)
        vm.power = STOPPED
        self._tell("impact", "start", vm=name, event=upgrade)

        def end() -> None:
            if not vm.deleted:
                vm.power = RUNNING
                self._tell("impact", "end", vm=name, event=upgrade)
            done()

        self.at(self.now + seconds, end)

    def _delete_vm(self, vm: Vm) -> None:
        vm.deleted = True
        for event in list(self.events.values()):
            if event.status == SCHEDULED and all(self.vms[name].deleted for name in event.resources):
                self._end(event, CANCELED)

    # -- enabling -----------------------------------------------------------------------------

    def knock(self, name: str) -> float:
        """A VM asks for scheduled events; returns the instant from which it may be answered.

        The first request of a scope enables delivery to it, which takes its time; a day without
        requests disables it again.
        """
        self.sync()
        scope = self.vms[name].scope
        scope.last_request = self.now
        if scope.state == DISABLED:
            scope.state = ENABLING
            scope.enabled_at = self.now + self._enable_delay
            scope.events_from = scope.enabled_at + self._event_delay
            self._tell("scope", ENABLING, vm=name, scope=scope.key)
            if self._enable_delay:
                self.at(scope.enabled_at, lambda: self._enable(scope))
            else:
                self._enable(scope)
        return scope.enabled_at

    def _enable(self, scope: Scope) -> None:
        scope.state = ENABLED
        scope.feed.begin(self._notices(scope))
        self.at(scope.events_from, lambda: self._refresh(scope))
        self.at(scope.last_request + DISABLE_AFTER, lambda: self._doze(scope))
        self._tell("scope", ENABLED, scope=scope.key)

    def _doze(self, scope: Scope) -> None:
        quiet_until = scope.last_request + DISABLE_AFTER
        if self.now < quiet_until:
            self.at(quiet_until, lambda: self._doze(scope))
        else:
            scope.state = DISABLED
            self._tell("scope", DISABLED, scope=scope.key)

    # -- documents ----------------------------------------------------------------------------

    def feed(self, name: str) -> Feed:
        """The document a VM may read; meaningful once its scope is enabled."""
        return self.vms[name].scope.feed

    def _notices(self, scope: Scope) -> tuple[Notice, ...]:
        if self.now < scope.events_from:
            return ()
        return tuple(
            Notice(
                event_id=event.event_id,
                event_type=event.event_type,
                status=event.status,
                resources=self.names(event),
                not_before=self._second(event.not_before) if event.status == SCHEDULED and event.starts else None,
                description=event.life.description,
                source=event.life.source,
                duration=event.life.duration,
            )
            for event in self.listed(scope)
        )

    def names(self, event: Event) -> tuple[str, ...]:
        """The names in Azure of the machines that an event hits."""
        return tuple(self.vms[handle].config.name for handle in event.resources)

    def _second(self, instant: float) -> int:
        """The wall-clock second a document names: never later than the instant itself."""
        return int(self.clock.wall(instant) + 1e-6)

    def _refresh(self, scope: Scope) -> None:
        if scope.state == ENABLED:
            scope.feed.tell(self._notices(scope))

    def listed(self, scope: Scope) -> list[Event]:
        """A scope's events that are not over, oldest first."""
        return [event for event in self.events.values() if event.listed and self._scope(event) is scope]

    def _scope(self, event: Event) -> Scope:
        return self.vms[event.resources[0]].scope

    # -- events -------------------------------------------------------------------------------

    def create(self, spec: EventSpec) -> Event:
        """Announce an event; raises :class:`~.reading.Invalid` when no such event can be."""
        self.sync()
        self._check(spec)
        event_id = (spec.event_id or str(uuid.UUID(int=self._ids.getrandbits(128), version=4))).upper()
        event = Event(
            event_id=event_id,
            event_type=spec.event_type,
            resources=spec.resources,
            life=spec.life,
            becomes=spec.becomes,
            created=self.now,
            not_before=self.now if spec.born_started else self.now + spec.life.notice,
        )
        self.events[event_id] = event
        if spec.born_started:
            self._start(event)
        else:
            event.turn(SCHEDULED, self.now)
            if event.starts:
                self.at(event.not_before, lambda: self._start_if_due(event))
            else:
                self.at(event.not_before, lambda: self._evict_if_due(event))
                self.at(self.now + event.life.linger, lambda: self._end_if_due(event))
            self._refresh(self._scope(event))
            self._tell("event", SCHEDULED, event=event)
        return event

    def _check(self, spec: EventSpec) -> None:
        mistakes = []
        for number, name in enumerate(spec.resources):
            if name not in self.vms:
                mistakes.append(f"resources[{number}]: {name!r} is not the name of a VM")
            elif self.vms[name].deleted:
                mistakes.append(f"resources[{number}]: {name!r} is deleted")
        scopes = {self.vms[name].scope.key for name in spec.resources if name in self.vms}
        if len(scopes) > 1:
            mistakes.append(
                f"resources: one event cannot hit several delivery scopes ({', '.join(sorted(scopes))}): "
                "give the VMs the same availability_set, scale_set or placement_group (and zone), or make an event each"
            )
        if spec.event_id and spec.event_id.upper() in self.events:
            mistakes.append(f"event_id: {spec.event_id!r} is the id of another event")
        if mistakes:
            raise Invalid(mistakes)

    def find(self, event_id: str) -> Event:
        """An event by its id, compared without case; raises :class:`UnknownEvent`."""
        event = self.events.get(event_id.upper())
        if event is None:
            raise UnknownEvent(f"there is no event {event_id!r}")
        return event

    def withdraw(self, event_id: str) -> Event:
        """Call an event off; raises :class:`Refused` once it has started, :class:`UnknownEvent`."""
        self.sync()
        event = self.find(event_id)
        if event.status != SCHEDULED:
            raise Refused(f"event {event.event_id} is {event.status}: only a Scheduled one can be withdrawn")
        self._end(event, CANCELED)
        return event

    def visible(self, name: str, event_id: str) -> Event | None:
        """The event of that id (compared without case) if the VM is told of it now."""
        event_id = event_id.upper()
        if any(notice.event_id == event_id for notice in self.feed(name).notices):
            return self.events[event_id]
        return None

    def approve(self, by: str, events: Iterable[Event]) -> None:
        """Let events start, for all of their resources, as soon as nothing stands in the way.

        ``by`` is who says so: a VM, or somebody on the control plane. Approving again is harmless.
        """
        self.sync()
        scopes = {}
        for event in events:
            repeated = event.approved or event.status != SCHEDULED
            if event.status == SCHEDULED and not event.approved:
                event.notice_left_at_approval = event.not_before - self.now
                event.history.append((self.now, f"approved by {by}"))
            event.approvals.append(Approval(by, self.now, repeated))
            self._tell("approval", "repeated" if repeated else "approved", vm=by, event=event)
            scope = self._scope(event)
            scopes[scope.key] = scope
            if not repeated and event.event_type != "Terminate" and event.starts:
                self._start_soon(event)
        for scope in scopes.values():
            self._release_terminates(scope)

    def _start_soon(self, event: Event) -> None:
        if event.life.approval_delay:
            self.at(self.now + event.life.approval_delay, lambda: self._start_if_due(event))
        else:
            self._start_if_due(event)

    def _release_terminates(self, scope: Scope) -> None:
        """Start the approved Terminates that wait for nobody.

        An approved one waits for every unapproved one with an earlier NotBefore; those with the same
        NotBefore (as clients read it) go together or not at all.
        """
        waiting = [e for e in self.listed(scope) if e.event_type == "Terminate" and e.status == SCHEDULED]
        waiting.sort(key=lambda event: self._second(event.not_before))
        for _not_before, group in itertools.groupby(waiting, key=lambda event: self._second(event.not_before)):
            together = list(group)
            if not all(event.approved for event in together):
                return
            for event in together:
                self._start_soon(event)

    def _start_if_due(self, event: Event) -> None:
        """Start it, unless it has started or been withdrawn meanwhile."""
        if event.status == SCHEDULED:
            self._start(event)

    def _evict_if_due(self, event: Event) -> None:
        """Announce what a recommendation becomes, if anything, unless it was withdrawn meanwhile."""
        if event.becomes and event.status == SCHEDULED:
            left = tuple(vm.name for vm in self._hit(event))
            self.create(EventSpec(event.becomes, left, self.lives[event.becomes]))

    def _end_if_due(self, event: Event) -> None:
        if event.status == SCHEDULED:
            self._end(event, CANCELED)

    def _start(self, event: Event) -> None:
        event.started = self.now
        event.turn(STARTED, self.now)
        scope = self._scope(event)
        self._refresh(scope)
        self._tell("event", STARTED, event=event)
        self.at(self.now + event.life.linger, lambda: self._end(event, COMPLETED))
        if event.life.impact or event.deletes:
            self._begin_impact(event)
        if event.event_type == "Terminate":
            self._release_terminates(scope)

    def _begin_impact(self, event: Event) -> None:
        event.impact_started = self.now
        for vm in self._hit(event):
            if not event.deletes:
                vm.impacts[event.event_id] = _STATE_DURING[event.impact_type]
            self._tell("impact", "start", vm=vm.name, event=event)
        if event.life.impact:
            self.at(self.now + event.life.impact, lambda: self._end_impact(event))
        else:
            self._end_impact(event)

    def _end_impact(self, event: Event) -> None:
        event.impact_ended = self.now
        for vm in self._hit(event):
            if event.deletes:
                self._delete_vm(vm)
            else:
                vm.impacts.pop(event.event_id, None)
            self._tell("impact", DELETED if event.deletes else "end", vm=vm.name, event=event)

    def _hit(self, event: Event) -> Sequence[Vm]:
        return [self.vms[name] for name in event.resources if not self.vms[name].deleted]

    def _end(self, event: Event, status: str) -> None:
        event.ended = self.now
        event.turn(status, self.now)
        scope = self._scope(event)
        self._refresh(scope)
        self._tell("event", status, event=event)
        if event.event_type == "Terminate":
            self._release_terminates(scope)
