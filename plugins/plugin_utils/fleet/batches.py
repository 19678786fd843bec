# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Batches: which units leave rotation at one time, so that enough hosts of each group stay in service."""

import bisect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from .groups import Capacity, GroupState
from .host import Host
from .policy import LISTED_FOR, Policy, deadline_of, notice_of
from .units import Unit, seconds_for_ending

# Asking again may take this long, unless the operator says otherwise. Seconds.
_ASKING_AGAIN = 150.0


def make_batches(
    by_name: Mapping[str, Host],
    units: Sequence[Unit],
    blocked: Mapping[str, str],
    groups: Mapping[str, GroupState],
    policy: Policy,
    now: float,
) -> tuple[list[list[str]], dict[str, str], dict[str, float], int | None]:
    """Make batches: first units that do not wait and hosts that are only restored, then the others, as there is room.

    What may share its event with hosts that have not answered yet goes before the others, in one batch, so that it can
    be approved when these are asked again in it; unless somebody cannot wait for that.

    :returns: the batches; why hosts are in none although they are hit; until when hosts can wait that were brought
        forward to an earlier one; and in which batch those are asked again that have not answered, if in any
    """
    waiting = {name for unit in units for name in unit.hosts}.union(blocked)
    idle_again = [host.name for host in by_name.values() if _is_to_be_restored(host) and host.name not in waiting]
    # Hosts that are hit or only restored are expected to be back after their batch.
    stay_away = [
        name
        for group in groups.values()
        for name in group.away
        if name in blocked or (name not in waiting and name not in idle_again)
    ]
    first = [unit for unit in units if unit.does_not_wait]
    batches = [list(first)] if first or idle_again else []
    capacity = Capacity(by_name, groups, stay_away + idle_again + [name for unit in first for name in unit.hosts])
    is_open = bool(batches) and not any(unit.is_quick for unit in first)
    held = dict(blocked)
    together = _together(by_name, units, groups, stay_away, now)
    if together:
        batches.append(together)
        capacity, is_open = (
            Capacity(by_name, groups, stay_away + [name for unit in together for name in unit.hosts]),
            True,
        )
    for unit in units:
        if unit.does_not_wait or unit in together:
            continue
        if is_open and capacity.shortage(unit.hosts, may_exceed=not unit.is_demanded) is None:
            batches[-1].append(unit)
            capacity.take(unit.hosts)
            continue
        alone = Capacity(by_name, groups, stay_away)
        shortage = alone.shortage(unit.hosts, may_exceed=not unit.is_demanded)
        if shortage is not None:
            held.update(dict.fromkeys(unit.hosts, _why_held(shortage.describe(), unit, policy)))
            continue
        batches.append([unit])
        capacity, is_open = alone, True
        capacity.take(unit.hosts)
    brought_forward = _bring_forward(by_name, batches, idle_again, policy, now)
    named = [[name for unit in batch for name in unit.hosts] for batch in batches]
    if idle_again:
        named[0] = (
            [name for unit in first for name in unit.hosts]
            + idle_again
            + [name for unit in batches[0][len(first) :] for name in unit.hosts]
        )
    at = next((number for number, batch in enumerate(batches) if together and together[0] in batch), None)
    # A batch that was brought forward to urgent units goes without the hosts that have not answered.
    return named, held, brought_forward, None if at == 0 and (first or idle_again) else at


def _together(
    by_name: Mapping[str, Host],
    units: Sequence[Unit],
    groups: Mapping[str, GroupState],
    stay_away: Iterable[str],
    now: float,
) -> list[Unit]:
    """Which units are planned together with the hosts that have not answered yet, as many as there is room for."""
    if any(
        unit.begins_by < now + _ASKING_AGAIN for unit in units if not unit.does_not_wait and not unit.waits_for_answers
    ):
        return []
    # Hosts that answer are assumed to be in service.
    capacity = Capacity(by_name, groups, [name for name in stay_away if by_name[name].vm_name is not None])
    chosen: list[Unit] = []
    for unit in units:
        if unit.waits_for_answers and capacity.shortage(unit.hosts, may_exceed=not unit.is_demanded) is None:
            capacity.take(unit.hosts)
            chosen.append(unit)
    return chosen


def _bring_forward(
    by_name: Mapping[str, Host], batches: list[list[Unit]], idle_again: Sequence[str], policy: Policy, now: float
) -> dict[str, float]:
    """Move units that would begin too late to the last batch that begins in time, even if all before take their full
    time.

    It waits there until there is room, and goes without when its time has come: then the platform takes it in any case.

    :param batches: are changed
    :param idle_again: the hosts of the first batch that are only restored
    :returns: until when hosts can wait, by their names
    """
    moved: dict[str, float] = {}
    is_settled = False
    while not is_settled:
        is_settled = True
        begins = _begins(by_name, batches, idle_again, policy, now)
        for number in range(1, len(batches)):
            late = [unit for unit in batches[number] if unit.begins_by < begins[number]]
            for unit in late:
                in_time = max(bisect.bisect_right(begins, unit.begins_by, hi=number) - 1, 0)
                batches[in_time].append(unit)
                moved.update(dict.fromkeys(unit.hosts, unit.begins_by))
                is_settled = False
            if late:
                batches[number] = [unit for unit in batches[number] if unit not in late]
        batches[1:] = [batch for batch in batches[1:] if batch]
    for batch in batches:
        # If all units that began sooner have been moved away, this batch is a turn of its own.
        if batch and all(name in moved for unit in batch for name in unit.hosts):
            for name in batch[0].hosts:
                del moved[name]
    return moved


def _begins(
    by_name: Mapping[str, Host],
    batches: Sequence[Sequence[Unit]],
    idle_again: Sequence[str],
    policy: Policy,
    now: float,
) -> list[float]:
    """When each batch begins if the batches before it take their full time."""
    begins = [now]
    for number, batch in enumerate(batches[:-1]):
        back = max([by_name[name].return_seconds for name in idle_again if number == 0] or [0.0])
        begins.append(max([begins[-1] + back] + [_end(by_name, unit, begins[-1], policy, now) for unit in batch]))
    return begins


def _end(by_name: Mapping[str, Host], unit: Unit, begin: float, policy: Policy, now: float) -> float:
    """When the hosts of a unit are back in rotation if everything takes its full time."""
    hosts = [by_name[name] for name in unit.hosts]
    # A demand has no start to wait for: it takes as long as its steps do.
    limit = min((deadline_of(event_plan.event, policy, now) for event_plan in unit.event_plans), default=math.inf)
    ready = min(begin + max(host.settle_seconds + seconds_for_ending(host) for host in hosts), max(limit, begin))
    # An event that nobody approves begins at its announced time.
    starts = [now + (notice_of(event_plan.event, now) or 0.0) for event_plan in unit.event_plans if event_plan.withheld]
    return max([ready, *starts]) + LISTED_FOR + max(host.return_seconds for host in hosts)


def take_batch(
    by_name: Mapping[str, Host],
    units: Sequence[Unit],
    blocked: Mapping[str, str],
    groups: Mapping[str, GroupState],
    policy: Policy,
    rest: Sequence[Host],
    deferred: Collection[str],
    now: float,
) -> tuple[list[list[str]], dict[str, str], dict[str, str]]:
    """Take the batch as it is, except for hosts that would now leave too few in service.

    What begins soon waits as well while others may return to its group, until its preparation must begin. When steps
    have failed, what begins soon in any case is taken all the same: as there is room, it is drained.

    :returns: the batch; why hosts are not in it although they are hit; and why others wait in it
    """
    everybody = dict(by_name, **{host.name: host for host in rest})
    capacity = Capacity(everybody, groups, [name for group in groups.values() for name in group.away])
    # A host whose time has come goes without room, and must not take the room of a host that is hit before it. Nothing
    # hits a host that is only asked for: it waits.
    pressing = max(
        (unit.deadline for unit in units if unit.does_not_wait and set(unit.hosts).issubset(deferred)),
        default=-math.inf,
    )
    first = [unit for unit in units if unit.does_not_wait or (unit.deadline <= pressing and not unit.is_demanded)]
    others = [unit for unit in units if unit not in first]
    waiting: dict[str, str] = {}
    is_hurried = False
    # What is taken now is prepared by then, and nobody who waits is looked at before.
    free_at = now
    for unit in first:
        shortage = capacity.shortage(unit.hosts, may_exceed=True) if unit.begins_by > free_at else None
        if shortage is not None and _may_refill(everybody, unit):
            waiting.update(dict.fromkeys(unit.hosts, shortage.describe()))
            continue
        capacity.take(unit.hosts)
        is_hurried = is_hurried or unit.is_quick
        if unit.begins_by > -math.inf:
            free_at = max(free_at, now + unit.least)
    stop = why_stopped(rest, policy)
    held = dict(blocked)
    for unit in others:
        is_deferred = set(unit.hosts).issubset(deferred)
        shortage = capacity.shortage(unit.hosts, may_exceed=not unit.is_demanded)
        reason = shortage.describe() if shortage is not None else ""
        if stop and not unit.begins_anyway(policy, now):
            reason = stop
        if is_deferred and (reason or is_hurried):
            waiting.update(dict.fromkeys(unit.hosts, reason or "others of the batch have no time to wait for it"))
        elif reason:
            held.update(dict.fromkeys(unit.hosts, _why_held(reason, unit, policy)))
        else:
            capacity.take(unit.hosts)
    absent = {**held, **waiting}
    hit = {name for unit in units for name in unit.hosts}
    taken = [name for name, host in by_name.items() if name not in absent and (name in hit or _is_to_be_restored(host))]
    return [taken], held, waiting


def _may_refill(by_name: Mapping[str, Host], unit: Unit) -> bool:
    """Whether a host that is away may return to a group of the unit's hosts."""
    groups = {group for name in unit.hosts for group in by_name[name].groups}
    return any(
        host.may_return and name not in unit.hosts and not groups.isdisjoint(host.groups)
        for name, host in by_name.items()
    )


def _is_to_be_restored(host: Host) -> bool:
    # It may have been taken out for an event whose VMs cannot be read.
    is_unclear = any(event.is_of_unknown_vms for event in host.events)
    return (
        host.needs_restore
        and host.vm_name is not None
        and not host.leased
        and not host.keep_out_reason
        and not is_unclear
    )


def _why_held(reason: str, unit: Unit, policy: Policy) -> str:
    has_end = bool(policy.urgent_within) and not unit.is_demanded
    until = " until less than %g s of notice are left" % policy.urgent_within if has_end else ""
    return "%s: stays in service%s" % (reason, until)


def why_stopped(rest: Sequence[Host], policy: Policy) -> str:
    """Why nothing that can wait is begun any more, and nothing is approved; empty if there is no reason."""
    failed = [host.name for host in rest if host.failed]
    if len(failed) <= policy.max_failed:
        return ""
    return "steps failed on %s, and handle_events_max_failed is %d" % (", ".join(failed), policy.max_failed)
