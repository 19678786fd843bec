# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vmss_lifecycle_hook_event and vmss_lifecycle_hook_event_info.

An event of a lifecycle hook is a question of Azure's: may these instances, or this scale set, be upgraded? It waits
until each of its targets is answered for, and takes the default for those that are not when its time is over. Each
answer names its targets; the others keep their state. That time can be moved, up to a limit.

Source: the models of azure-mgmt-compute 39. It says that an answer is answered with 200, and Azure answers with 202
and an operation to follow, as azure-cli and Az.Compute know.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from ..scheduled_events.dates import format_date, parse_date
from ..scheduled_events.errors import OptionError
from ..scheduled_events.event import same_name
from .answers import Json
from .client import POLL_INTERVAL, ArmClient, Permission, reporting
from .errors import ArmError
from .lifecycle_hooks import KIND, SINCE, TYPES, read_duration

APPROVED = "approved"
REJECTED = "rejected"
DELAYED = "delayed"
STATES = (APPROVED, REJECTED, DELAYED)
ACTIVE = "Active"
EVENT_STATES = (ACTIVE, "Completed")
WAITING = "Waiting"
# The wanted state, and Azure's name for it.
_ACTIONS = {APPROVED: "Approved", REJECTED: "Rejected"}

_EVENTS = "Microsoft.Compute/virtualMachineScaleSets/lifecycleHookEvents/"
READ = Permission(_EVENTS + "read", "Reader")
WRITE = Permission(_EVENTS + "write", "Virtual Machine Contributor")

_HAS_ZONE = re.compile(r"(?:z|[+-][0-9]{2}:?[0-9]{2})\Z", re.IGNORECASE)
_TARGET = re.compile(
    r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Compute"
    r"(?:/virtualMachineScaleSets/(?P<set>[^/]+))?/virtualMachines/(?P<id>[^/]+)/?\Z",
    re.IGNORECASE,
)


class EventAnswer(NamedTuple):
    """The wanted change of an event."""

    state: str
    """One of `STATES`."""
    instances: Sequence[str] | None = None
    """Ids or names. None: all that wait."""
    until: datetime | None = None
    by: timedelta | None = None


class EventChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    reason: str | None
    """Why nothing was done. None: something was."""
    before: Json | None
    """The event. None: there is none."""
    after: Json | None
    answered: tuple[str, ...]
    """Ids of the targets that were answered, in Azure's spelling."""


def read_answer(options: Mapping[str, Any]) -> EventAnswer:
    """Check the options that say what is to become of an event.

    :raises OptionError: on the first that cannot be meant
    """
    state, until, by = options["state"], options.get("until"), options.get("by")
    if state != DELAYED:
        for option in ("until", "by"):
            if options.get(option) is not None:
                raise OptionError("%s is valid only with state: delayed" % option)
        instances = options.get("instances")
        return EventAnswer(state, None if instances is None else [str(one).strip() for one in instances])
    if options.get("instances") is not None:
        raise OptionError("instances is not valid with state: delayed: an event has one time for all of its instances")
    if (until is None) == (by is None):
        raise OptionError("state: delayed needs one of until, by")
    return EventAnswer(
        DELAYED, until=None if until is None else _read_until(until), by=None if by is None else _read_by(by)
    )


def list_events(
    client: ArmClient,
    resource_group: str,
    scale_set: str,
    name: str | None = None,
    states: Collection[str] | None = None,
    types: Collection[str] | None = None,
) -> list[Json]:
    """The events of a scale set, as the info module returns them.

    :param states: only those in one of these; None: in any
    :param types: only those of one of these; None: of any
    :raises ArmError: if that fails
    """
    client.need_compute(SINCE, "lifecycle hooks of scale sets")
    path = client.compute_id(resource_group, KIND, scale_set)
    found = [describe(one, _now()) for one in client.list_all(path + "/lifecycleHookEvents", READ)]
    return [
        one
        for one in found
        if (name is None or same_name(str(one["name"]), name))
        and (states is None or one["state"] in states)
        and (types is None or one["type"] in types)
    ]


def answer_event(
    client: ArmClient, resource_group: str, scale_set: str, name: str | None, answer: EventAnswer, dry_run: bool = False
) -> EventChange:
    """Approve or reject the targets of an event, or have it wait longer.

    :param name: of the event; None: the active one of `TYPES`: nobody asked to let Azure do anything else
    :param dry_run: decide, but send nothing
    :raises ArmError: if that fails, or cannot be; nothing was sent in the latter case
    """
    listed = list_events(client, resource_group, scale_set, name)
    events = listed if name else [one for one in listed if one["state"] == ACTIVE and one["type"] in TYPES]
    if not events:
        return EventChange(False, _why_none(name, listed), None, None, ())
    if len(events) > 1:
        raise ArmError(
            "name: %d events of %s are active: %s. Set name to one of them"
            % (len(events), scale_set, ", ".join("%s (%s)" % (one["name"], one["type"]) for one in events))
        )
    (event,) = events
    work = _Delay(event, answer) if answer.state == DELAYED else _Decision(event, answer)
    if work.reason is not None:
        return EventChange(False, work.reason, event, event, ())
    if dry_run:
        return EventChange(True, None, event, work.predicted, work.answered)
    path = "%s/lifecycleHookEvents/%s" % (client.compute_id(resource_group, KIND, scale_set), event["name"])
    lost: ArmError | None = None
    try:
        client.write("PATCH", path, {"properties": work.properties}, None, WRITE)
    except ArmError as error:
        if answer.state == REJECTED and error.status == 400 and "reject" in str(error).lower():
            raise ArmError(
                "state: this cloud does not accept rejected yet. Let the event wait, or approve it. %s" % error,
                error.status,
                error.code,
            ) from None
        if not error.may_have_begun:
            raise
        lost = error
    after = work.predicted
    with reporting(client, lambda: None if lost else EventChange(True, None, event, after, work.answered)):
        while True:
            after = describe(client.get(path, READ), _now())
            if work.is_done(after):
                return EventChange(True, None, event, after, work.answered)
            if lost is not None:
                raise lost
            said = "Azure accepted the answer to the event %s, but does not show it" % event["name"]
            client.wait(POLL_INTERVAL, said)


def describe(event: Mapping[str, Any], now: datetime) -> Json:
    """Write an event as the modules return it."""
    properties = event.get("properties") or {}
    wait_until = _time(properties.get("waitUntil"))
    targets = properties.get("targetResources") or []
    return {
        "name": event.get("name"),
        "type": properties.get("type"),
        "state": properties.get("state"),
        "time_created": _format(_time(properties.get("timeCreated"))),
        "wait_until": _format(wait_until),
        "max_wait_until": _format(_time(properties.get("maxWaitUntil"))),
        "seconds_left": None if wait_until is None else max(0, (wait_until - now) // timedelta(seconds=1)),
        "default_action": properties.get("defaultAction"),
        "priority": (properties.get("additionalContext") or {}).get("priority"),
        "targets": [_describe_target(one) for one in targets if isinstance(one, dict)],
    }


class _Decision:
    """An answer for some of the targets of an event."""

    def __init__(self, event: Json, answer: EventAnswer) -> None:
        wanted = _ACTIONS[answer.state]
        meant = _choose(event, answer.instances)
        other = [one for one in meant if one["state"] not in (WAITING, wanted)]
        waiting = [one for one in meant if one["state"] == WAITING]
        if other and (answer.instances is not None or not waiting):
            raise ArmError(
                "These targets of the event %s are in another state, which is final: %s. Nothing was sent"
                % (event["name"], ", ".join("%s (%s)" % (_words(one), one["state"]) for one in other))
            )
        self._event = event
        self._wanted = wanted
        self.answered = tuple(one["id"] for one in waiting)
        self.reason = (
            None if waiting else "no instance is chosen" if not meant else "all chosen instances are %s" % wanted
        )
        if self.reason and meant and _is_out_of_time(event):
            self.reason += ": " + _words_of_default(event)
        self.properties: Json = {
            "targetResources": [{"resource": {"id": one}, "actionState": wanted} for one in self.answered]
        }

    @property
    def predicted(self) -> Json:
        """The event after the change."""
        ids = {one.lower() for one in self.answered}
        targets = [
            {**one, "state": self._wanted} if one["id"].lower() in ids else one for one in self._event["targets"]
        ]
        over = all(one["state"] != WAITING for one in targets)
        return {**self._event, "targets": targets, **({"state": "Completed"} if over else {})}

    def is_done(self, event: Json) -> bool:
        """Whether the event shows the change."""
        states = {one["id"].lower(): one["state"] for one in event["targets"]}
        return all(states.get(one.lower()) == self._wanted for one in self.answered)


class _Delay:
    """A later end for an event."""

    answered: tuple[str, ...] = ()

    def __init__(self, event: Json, answer: EventAnswer) -> None:
        self._event = event
        self.reason: str | None = None
        self._until = answer.until
        if event["state"] != ACTIVE:
            self.reason = "it is over: its state is %s" % event["state"]
            return
        present, most = _time(event["wait_until"]), _time(event["max_wait_until"])
        if answer.by is not None:
            if present is None:
                raise ArmError("Azure does not say how long the event %s waits. Set until" % event["name"])
            self._until = present + answer.by
        if self._until is None or most is None or self._until > most:
            raise ArmError(
                "The event %s cannot wait until %s: it waits until %s at most (maxWaitUntil). Nothing was sent"
                % (event["name"], _format(self._until), _format(most) or "an unknown time")
            )
        if present is not None and self._until <= present:
            self.reason = "it waits until %s already" % event["wait_until"]
            return
        self.properties: Json = {"waitUntil": _format(self._until)}

    @property
    def predicted(self) -> Json:
        """The event after the change."""
        left = None if self._until is None else max(0, (self._until - _now()) // timedelta(seconds=1))
        return {**self._event, "wait_until": _format(self._until), "seconds_left": left}

    def is_done(self, event: Json) -> bool:
        """Whether the event shows the change."""
        shown = _time(event["wait_until"])
        return shown is not None and self._until is not None and shown >= self._until


def _why_none(name: str | None, listed: Sequence[Json]) -> str:
    """Why there is no event to answer."""
    if name:
        return "no event of this name is listed"
    strange = ["%s (%s)" % (one["name"], one["type"]) for one in listed if one["state"] == ACTIVE]
    if strange:
        return "no upgrade event is active; set name to answer %s" % ", ".join(strange)
    late = next((one for one in listed if _is_out_of_time(one)), None)
    if late is None:
        return "no event is active" if listed else "no event is listed"
    return "no event is active: " + _words_of_default(late)


def _is_out_of_time(event: Json) -> bool:
    """Whether an event is over, and so is its time: then the default was taken for whoever had not answered."""
    return bool(event["state"] != ACTIVE and event["seconds_left"] == 0)


def _words_of_default(event: Json) -> str:
    return "the time of %s was over at %s, when its default action, %s, took effect where nobody had answered" % (
        event["name"],
        event["wait_until"],
        event["default_action"],
    )


def _choose(event: Json, instances: Sequence[str] | None) -> list[Json]:
    """The wanted targets, each once."""
    targets: list[Json] = event["targets"]
    if instances is None:
        return targets
    chosen: dict[str, Json] = {}
    for one in instances:
        found = [t for t in targets if any(same_name(str(t[key]), one) for key in ("instance_id", "vm_name", "id"))]
        if not found:
            raise ArmError(
                "instances: %s is not in the event %s, which has %s. Nothing was sent"
                % (one, event["name"], ", ".join(_words(target) for target in targets) or "none")
            )
        chosen.update((target["id"], target) for target in found)
    return list(chosen.values())


def _words(target: Mapping[str, Any]) -> str:
    return str(target["vm_name"] or target["id"].rsplit("/", 1)[-1])


def _describe_target(target: Mapping[str, Any]) -> Json:
    resource_id = str((target.get("resource") or {}).get("id", ""))
    match = _TARGET.match(resource_id)
    key = match["id"] if match else None
    of_set = match["set"] if match else None
    return {
        "id": resource_id,
        "instance_id": key,
        "vm_name": "%s_%s" % (of_set, key) if of_set else key,
        "state": target.get("actionState"),
    }


def _read_until(text: str) -> datetime:
    try:
        instant = parse_date(text)
    except ValueError:
        instant = None
    if instant is None or not _HAS_ZONE.search(text.strip()):
        raise OptionError("until: %r is not a time with its zone, such as 2026-11-25T22:00:00Z" % text)
    return instant


def _read_by(text: str) -> timedelta:
    seconds = read_duration(text)
    if not seconds or seconds > 7 * 86400:
        raise OptionError("by: %r is not an ISO 8601 duration of up to a week, such as PT30M" % text)
    return timedelta(seconds=seconds)


def _time(text: Any) -> datetime | None:
    try:
        return parse_date(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _format(instant: datetime | None) -> str | None:
    return None if instant is None else format_date(instant)


def _now() -> datetime:
    return datetime.now(timezone.utc)
