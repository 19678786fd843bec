# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What Azure asks before it upgrades the image of a scale set, and what to do about it now.

Azure goes on with a batch when each of its instances is answered for, and at `wait_until` in any case. So the hosts of
a batch leave rotation together, and that time is moved on as long as they need it: by as little as a lease, so that a
run that dies holds Azure up for no longer. All instants are seconds since the epoch.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from ...module_utils.arm.lifecycle_hooks import BATCH_STARTING, SCHEDULING
from ...module_utils.claims import Shared
from ...module_utils.scheduled_events.dates import format_date, parse_date
from .orders import view_asked
from .reading import UNREADABLE

APPROVE = "approve"
REJECT = "reject"
LEAVE = "leave"
# Changes smaller than this are not worth a request.
_WORTH_MOVING = 60.0

_WAITING = "Waiting"

Raw = Mapping[str, Any]


class UpgradeOptions(NamedTuple):
    """What the operator decided. All times are seconds."""

    hold: float = 1800.0
    """By how much the wait is prolonged at a time."""
    margin: float = 60.0
    """This long before Azure goes on at the latest, hosts are ready, and the wait is not prolonged any more."""
    scheduling: str = LEAVE
    """Whether an upgrade may be scheduled: `APPROVE` or `LEAVE`."""
    may_schedule: bool = True
    """Whether the current time is one at which it may be scheduled."""


class Member(NamedTuple):
    """A host, as far as the upgrade of its image goes."""

    resource_id: str
    """Its id in Azure; empty if it is not known."""
    answer: str = APPROVE
    """The answer that the operator wants for it: `APPROVE`, `REJECT` or `LEAVE`."""
    was_begun: bool = False
    """Whether an earlier run has approved its upgrade, or was about to, and has not restored it."""
    is_claimed: bool = False
    """Whether the record of that run is still on it, and thus its old disk."""


def note_member(member: Raw, run: Raw) -> Member:
    """Note a host that was asked.

    :param member: its `resource_id`, what is to be `answer`ed for it, whether its upgrade `was_begun`, and as `asked`
        what it has answered, from `answer_of`
    :param run: this run, see `describe_run`
    """
    asked = member["asked"]
    try:
        view = view_asked(asked, run)
    except (*UNREADABLE, Shared):
        view = {}
    return Member(
        resource_id=str(member["resource_id"]),
        answer=str(member["answer"]),
        was_begun=bool(member["was_begun"]),
        is_claimed=bool(view.get("needs_restore")),
    )


def decide(found: Sequence[Raw], members: Mapping[str, Member], options: UpgradeOptions, now: float) -> dict[str, Any]:
    """Say what is to be done about the questions of scale sets.

    :param found: the sets, each with its `resource_group`, its `name`, and its `events`, as
        vmss_lifecycle_hook_event_info returns them; or with a `failure`, in words
    :param members: hosts by their names
    :param now: seconds since the epoch
    :returns: `demands` by host; `delays`, each of an event with `until`; `answers`, each of an event with `state` and,
        of a batch, the `instance`; and `failures` in words
    """
    active = [
        (one, event)
        for one in found
        for event in one.get("events") or ()
        if event.get("state") == "Active" and _instant(event.get("wait_until")) is not None
    ]
    of_target = {
        str(target.get("id", "")).lower(): (scale_set, event, target)
        for scale_set, event in active
        if event.get("type") == BATCH_STARTING
        for target in event.get("targets") or ()
        if target.get("state") == _WAITING
    }
    asked = {name: of_target.get(member.resource_id.lower()) for name, member in members.items() if member.resource_id}
    due = {name: one for name, one in asked.items() if one and members[name].answer == APPROVE}
    return {
        "demands": {name: _demand(member, asked.get(name), options, now) for name, member in members.items()},
        "delays": _delays(active, {str(event["name"]) for _set, event, _target in due.values()}, options, now),
        "answers": [*_rejections(asked, members), *_schedules(active, options)],
        "failures": ["%s: %s" % (one.get("name"), one["failure"]) for one in found if one.get("failure")],
    }


def _demand(
    member: Member,
    asked: tuple[Raw, Raw, Raw] | None,
    options: UpgradeOptions,
    now: float,
) -> dict[str, Any]:
    """What is to be done with a host."""
    demand: dict[str, Any] = {"is_due": False, "is_upgraded": False, "reason": "", "ready_by": None}
    if asked is None:
        if member.was_begun and member.is_claimed:
            # Approved, and about to get its new disk.
            return {**demand, "is_due": True, "is_approved": True, "batch": "approved %s" % member.resource_id}
        return {**demand, "is_upgraded": member.was_begun}
    scale_set, event, target = asked
    demand["of"] = _of(scale_set, event)
    demand["instance"] = str(target["id"])
    if member.answer != APPROVE:
        reason = "handle_os_upgrades_answer is %s" % member.answer
        return {**demand, "reason": reason}
    latest = _latest(event, options)
    return {
        **demand,
        "is_due": True,
        "is_approved": False,
        "batch": str(event["name"]),
        "ready_by": latest,
        # There is no time to wait for room any more.
        "is_last_call": latest - now < options.hold,
    }


def _delays(
    active: Sequence[tuple[Raw, Raw]], due: set[str], options: UpgradeOptions, now: float
) -> list[dict[str, Any]]:
    """The events that are delayed further, for hosts that are not ready, or until a time at which they may be
    scheduled.
    """
    found = []
    for scale_set, event in active:
        holds = str(event["name"]) in due or (
            event.get("type") == SCHEDULING and options.scheduling == APPROVE and not options.may_schedule
        )
        until = min(now + options.hold, _latest(event, options))
        if holds and until >= (_instant(event.get("wait_until")) or 0.0) + _WORTH_MOVING:
            found.append({**_of(scale_set, event), "until": format_date(datetime.fromtimestamp(until, timezone.utc))})
    return found


def _rejections(
    asked: Mapping[str, tuple[Raw, Raw, Raw] | None], members: Mapping[str, Member]
) -> list[dict[str, Any]]:
    return [
        {**_of(one[0], one[1]), "state": "rejected", "instance": str(one[2]["id"])}
        for name, one in asked.items()
        if one and members[name].answer == REJECT
    ]


def _schedules(active: Sequence[tuple[Raw, Raw]], options: UpgradeOptions) -> list[dict[str, Any]]:
    return [
        {**_of(scale_set, event), "state": "approved", "instance": ""}
        for scale_set, event in active
        if event.get("type") == SCHEDULING and options.scheduling == APPROVE and options.may_schedule
    ]


def _of(scale_set: Raw, event: Raw) -> dict[str, Any]:
    return {"resource_group": scale_set["resource_group"], "scale_set": scale_set["name"], "name": str(event["name"])}


def _latest(event: Raw, options: UpgradeOptions) -> float:
    """When hosts must be ready, however often the event is delayed."""
    most = _instant(event.get("max_wait_until"))
    return (most if most is not None else _instant(event.get("wait_until")) or 0.0) - options.margin


def _instant(text: Any) -> float | None:
    try:
        instant = parse_date(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if instant is None else instant.timestamp()
