# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an owner may do to machines: restart, redeploy, power off, deallocate, start, reimage, maintain.

A restart and a redeployment are scheduled events of source User, once a machine's scope has asked for any: they wait
for an approval or for their NotBefore, unless the scheduledEventsPolicy approves them. Nothing announces the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..events import AS_REQUESTED, CANCELED, COMPLETED, SCHEDULED, STARTED, Event, EventSpec
from ..world import DEALLOCATED, DISABLED, OFF, RUNNING, STOPPED, Change
from .errors import ArmError, conflict
from .operations import Operation
from .outcomes import CANCELED as OPERATION_CANCELED
from .outcomes import SUCCEEDED, Ending
from .resources import COMPLETED_MAINTENANCE, UPDATING, ComputeResources, Machine, enabled

RESTART = "restart"
REDEPLOY = "redeploy"
POWER_OFF = "powerOff"
DEALLOCATE = "deallocate"
START = "start"
REIMAGE = "reimage"
MAINTAIN = "performMaintenance"


class _Announced(NamedTuple):
    """How an action is told."""

    event_type: str
    policy: str


_EVENTS = {
    RESTART: _Announced("Reboot", "userInitiatedReboot"),
    REDEPLOY: _Announced("Redeploy", "userInitiatedRedeploy"),
    MAINTAIN: _Announced("Redeploy", "userInitiatedRedeploy"),
}
_POWER_AFTER = {POWER_OFF: STOPPED, DEALLOCATE: DEALLOCATED, START: RUNNING}
# Actions that need an allocated machine.
_NEEDS_A_HOST = frozenset([RESTART, REDEPLOY, MAINTAIN])


class Power:
    """Runs the actions."""

    def __init__(self, resources: ComputeResources) -> None:
        self._resources = resources
        self._moves: dict[str, tuple[str, Machine]] = {}  # action and machine, by the id of the event
        resources.world.listen(self._heard)

    def act(
        self, action: str, machines: Sequence[Machine], target: str, location: str, wanted: Ending | None
    ) -> Operation:
        """Do something to machines; the operation ends when it is done to all. All of them are checked first."""
        for machine in machines:
            self._check(action, machine)
        if action in _EVENTS:
            events = [self._announce(action, machine) for machine in machines]
            waits_for = [event for event in events if event]
            operation = self._resources.begin(action, target, location, lambda _: None, wanted, None, waits_for)
            if not operation.waits_for:
                self._resources.operations.end(operation)
            return operation
        return self._switch(action, machines, target, location, wanted)

    def _check(self, action: str, machine: Machine) -> None:
        self._resources.refuse_if_deleting(machine, action)
        state = self._resources.world.vms[machine.handle].power
        if action in _NEEDS_A_HOST and state == DEALLOCATED:
            raise conflict(f"Operation '{action}' is not allowed on VM '{machine.name}' since it is deallocated.")
        if action == MAINTAIN and not (machine.window and machine.window.is_open(self._resources.world.now)):
            raise conflict(
                f"Operation 'performMaintenance' is not allowed on VM '{machine.name}' since the Subscription of this "
                "VM is not eligible."
            )

    def _announce(self, action: str, machine: Machine) -> str:
        """Schedule the event, or begin it at once if nobody has to agree. Returns its id."""
        world = self._resources.world
        told = _EVENTS[action]
        life = world.lives[told.event_type]._replace(source="User", description=AS_REQUESTED[told.event_type])
        vm = world.vms[machine.handle]
        _kind, _name, properties = self._resources.policy_owner(machine.vm)
        policy = (properties.get("scheduledEventsPolicy") or {}).get(told.policy) or {}
        at_once = vm.scope.state == DISABLED or vm.power in OFF or enabled(policy.get("automaticallyApprove"))
        event = world.create(EventSpec(told.event_type, (machine.handle,), life, born_started=at_once))
        if vm.power in OFF:
            world.switch(machine.handle, RUNNING)
        # Without an impact there is nothing to wait for after its beginning.
        if event.impact_ended is None and (life.impact or event.status == SCHEDULED):
            if action != RESTART:
                self._moves[event.event_id] = (action, machine)
            return event.event_id
        self._moved(action, machine)
        return ""

    def _moved(self, action: str, machine: Machine) -> None:
        """A machine is on another host: what was planned for it on the old one does not happen."""
        if action == MAINTAIN and machine.window is not None:
            machine.window.result = COMPLETED_MAINTENANCE
        world = self._resources.world
        for event in world.events.values():
            if (event.event_type, event.life.source, event.resources) == ("Redeploy", "Platform", (machine.handle,)):
                world.at(world.now, partial(self._withdraw, event))

    def _withdraw(self, event: Event) -> None:
        if event.status == SCHEDULED:
            self._resources.world.withdraw(event.event_id)

    def _switch(
        self, action: str, machines: Sequence[Machine], target: str, location: str, wanted: Ending | None
    ) -> Operation:
        world = self._resources.world
        ran = [world.vms[machine.handle].power for machine in machines]
        for machine in machines:
            machine.provisioning_state = UPDATING
            if action != START:
                # What is reimaged is down as well, and as long as that takes.
                world.switch(machine.handle, _POWER_AFTER.get(action, STOPPED))

        def done(status: str) -> None:
            for machine, before in zip(machines, ran):
                if machine.provisioning_state != UPDATING:
                    continue
                machine.provisioning_state = status
                if status == SUCCEEDED:
                    world.switch(machine.handle, _POWER_AFTER.get(action, before))
                scale_set = self._resources.set_of(machine)
                if status == SUCCEEDED and action == REIMAGE and scale_set is not None and not scale_set.flexible:
                    scale_set.give_latest(machine)

        seconds = (
            self._resources.config.instance_seconds if action == REIMAGE else self._resources.config.operation_seconds
        )
        return self._resources.begin(action, target, location, done, wanted, seconds)

    def _heard(self, change: Change) -> None:
        """One of these events has taken effect, or will not."""
        event = change.event
        if event is None:
            return
        operations = self._resources.operations
        hits_nobody = change.what == STARTED and not event.life.impact
        if hits_nobody or change.what == "end":
            if event.event_id in self._moves:
                self._moved(*self._moves.pop(event.event_id))
            operations.gone(event.event_id)
        elif change.what == COMPLETED:
            operations.gone(event.event_id)
        elif change.what == CANCELED:
            action, machine = self._moves.pop(event.event_id, ("", None))
            if action == MAINTAIN and machine is not None and machine.window is not None:
                machine.window.result = "MaintenanceAborted"
            operations.refuse(event.event_id, OPERATION_CANCELED, _called_off())


def _called_off() -> ArmError:
    return ArmError(409, "OperationCanceled", "The operation was called off before it began.")
