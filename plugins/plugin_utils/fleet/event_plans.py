# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What an event means for the hosts of a play: which it hits, whether it may be approved, whether it is left alone.

Azure names VMs, an inventory names hosts: what connects them is the name in Azure that each host has
learned from its own metadata service.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.approval import UNKNOWN_VMS
from ...module_utils.scheduled_events.event import Event, NameKey, in_order_of_urgency, name_key
from .agent import is_at_work_on
from .host import Host
from .policy import Policy, Rule, is_known, notice_of, rule_for, why_never, why_not_yet


class EventPlan(NamedTuple):
    """An event, and what it means for these hosts."""

    event: Event
    hosts: tuple[str, ...]
    outsiders: tuple[str, ...]
    agents: tuple[str, ...]
    """The hosts that are left to their agents."""
    withheld: str
    """Why it must not be approved; empty if it may be."""
    skip_reason: str
    """Why nothing is done about it now; empty if something is."""
    approver: str | None
    """The host that approves it, if it is approved."""
    may_begin: bool = False
    """Whether an earlier run has approved it, or may have."""
    was_in_vain: bool = False
    """Whether it is left alone because its hosts were taken out in vain lately."""
    waits_for_answers: bool = False
    """Whether it also hits VMs that may be hosts without an answer so far, and could be approved together with them."""


def plan_events(hosts: Sequence[Host], policy: Policy, now: float, rest: Sequence[Host] | None) -> list[EventPlan]:
    """All events of all hosts, the most urgent first.

    Each host speaks for itself: of what it lists, only what hits it counts, and only for it. Hosts that list the same
    of an event are planned for together; a host that lists something else of it, or does not list it, is an outsider.
    """
    others = _Others(
        busy={name_key(host.vm_name) for host in hosts if host.vm_name is not None and host.leased},
        elsewhere={name_key(host.vm_name) for host in rest or () if host.vm_name is not None},
        alone={name_key(host.vm_name) for host in hosts if host.vm_name is not None and host.skip_reason},
        may_answer=rest is None and any(host.vm_name is None and not host.leased for host in hosts),
        heard={name_key(host.vm_name) for host in hosts if host.vm_name is not None},
    )
    listed: dict[_Statement, tuple[Event, list[Host]]] = {}
    for host in hosts:
        if host.vm_name is None or host.leased or host.skip_reason:
            continue
        for event in host.events:
            # An event of unknown VMs is shown for the hosts that list it.
            if event.affects(host.vm_name) or event.is_of_unknown_vms:
                _event, members = listed.setdefault(_statement(event), (event, []))
                if host not in members:
                    members.append(host)
    members_of = {id(event): members for event, members in listed.values()}
    event_plans = []
    for event in in_order_of_urgency(event for event, _members in listed.values()):
        members = members_of[id(event)]
        theirs = {name_key(member.vm_name or "") for member in members}
        names = {name_key(name): name for name in event.resources}
        outsiders = {key: name for key, name in sorted(names.items()) if key not in theirs}
        event_plans.append(_plan_event(event, members, outsiders, others, policy, now))
    return event_plans


_Statement = tuple[Any, ...]


def _statement(event: Event) -> _Statement:
    """What a host says of an event. A plan may depend on each part but the unknown ones, and on who comes first."""
    names = [name_key(name) for name in event.resources]
    rest = event._replace(event_id="", resources=(), other_fields={})
    return name_key(event.event_id), tuple(names[:1]), frozenset(names), tuple(rest[:-1])


class _Others(NamedTuple):
    """What is known of VMs beside the hosts that are planned for."""

    busy: Container[NameKey]
    """VMs that another run works on."""
    elsewhere: Container[NameKey]
    """VMs that are hosts of the play, and not of the batch."""
    alone: Container[NameKey]
    """VMs that are always left alone."""
    may_answer: bool
    """Whether there are hosts without an answer that are asked again."""
    heard: Container[NameKey]
    """VMs that are hosts planned for, and have answered."""


def _plan_event(
    event: Event,
    members: Sequence[Host],
    outsiders: Mapping[NameKey, str],
    others: _Others,
    policy: Policy,
    now: float,
) -> EventPlan:
    agents = {member.name: member.agent for member in members if member.agent is not None}
    rule = rule_for(event, policy, now, max(member.seen.get(event.event_id.lower(), 0.0) for member in members))
    withheld = _why_withheld(event, outsiders, others, tuple(agents), rule, now) or _why_unprepared(members, rule)
    may_begin = any(is_among(event, member.approving) for member in members)
    is_under_way = not event.is_of_unknown_vms and (
        may_begin or any(is_at_work_on(agent, event.event_id) for agent in agents.values())
    )
    skip_reason = "" if is_under_way else _why_skipped(event, withheld, rule, policy, now)
    waits_for_answers = (
        others.may_answer
        and not is_under_way
        and any(key not in others.busy and key not in others.heard for key in outsiders)
        and not _why_withheld(event, {}, others, tuple(agents), rule, now)
        and not _why_skipped(event, "", rule, policy, now)
    )
    skip_reason = "" if waits_for_answers else skip_reason
    not_again = "" if is_under_way or skip_reason else _why_not_again(event, members, policy, now)
    return EventPlan(
        event=event,
        hosts=tuple(member.name for member in members),
        outsiders=tuple(outsiders.values()),
        agents=tuple(agents),
        withheld=withheld,
        skip_reason=skip_reason or not_again,
        # Without outsiders there is always an approver.
        approver=next((member.name for member in members if event.is_led_by(member.vm_name or "")), None),
        may_begin=may_begin,
        was_in_vain=bool(not_again),
        waits_for_answers=waits_for_answers,
    )


def unhandled(host: Host, policy: Policy, now: float) -> list[Event]:
    """The events of a host that the policy would have handled, and that nothing handles."""
    if not host.unmanaged:
        return []
    rules = [(event, rule_for(event, policy, now, 0.0)) for event in host.events]
    return [event for event, rule in rules if not _why_skipped(event, "", rule, policy, now)]


def is_among(event: Event, event_ids: Iterable[str]) -> bool:
    return name_key(event.event_id) in map(name_key, event_ids)


def _why_withheld(
    event: Event, outsiders: Mapping[NameKey, str], others: _Others, agents: Sequence[str], rule: Rule, now: float
) -> str:
    if event.is_advisory:
        return "it is advisory"
    if event.is_of_unknown_vms:
        return UNKNOWN_VMS
    if not event.is_scheduled:
        return "it has started already"
    if agents:
        return "it is left to the agent of %s" % " and ".join(agents)
    if not is_known(event):
        return "its type is not known"
    busy = [name for key, name in outsiders.items() if key in others.busy]
    elsewhere = [name for key, name in outsiders.items() if key in others.elsewhere and name not in busy]
    alone = [name for key, name in outsiders.items() if key in others.alone and name not in busy]
    rest = [name for name in outsiders.values() if name not in busy and name not in elsewhere and name not in alone]
    apart = [name for key, name in outsiders.items() if key in others.heard and name in rest]
    unknown = [name for name in rest if name not in apart]
    if unknown:
        return "it also hits %s, not in the play or not answering" % ", ".join(unknown)
    if alone:
        return "it also hits %s, which is left alone" % ", ".join(alone)
    if busy:
        return "it also hits %s, where another run is at work" % ", ".join(busy)
    if apart:
        return "it also hits %s, which does not list it like this: run again" % ", ".join(apart)
    if elsewhere:
        return "it also hits %s, which is in another batch: run again" % ", ".join(elsewhere)
    return why_never(rule, now) or why_not_yet(event, rule, now)


def _why_unprepared(members: Sequence[Host], rule: Rule) -> str:
    """Why an event must not be approved whose hosts nothing would prepare, unless the operator says so."""
    names = [member.name for member in members if not member.is_prepared]
    if not names or rule.says_when_ready:
        return ""
    return (
        "nothing is stopped on %s and nothing confirms that it is out of rotation: set graceful_shutdown_services,"
        " load_balancer_removal_health_probe_url or a balancer in load_balancer_removal_methods, or approve: when_ready"
        " in a policy of handle_events_policies" % " and ".join(names)
    )


def _why_skipped(event: Event, withheld: str, rule: Rule, policy: Policy, now: float) -> str:
    if event.is_of_unknown_vms:
        return UNKNOWN_VMS
    if rule.ignore:
        return "the policy %s says so" % rule.name if rule.name else "advisory: no policy names the type"
    if withheld and withheld == why_not_yet(event, rule, now):
        return withheld
    if event.is_freeze_of_at_most(policy.tolerated_freeze):
        return "a freeze of %d s is tolerated" % (event.duration_in_seconds or 0)
    notice = notice_of(event, now)
    if withheld and notice is not None and notice >= policy.begin_within:
        return "it is not approved, because %s, and does not begin within %g s" % (withheld, policy.begin_within)
    return ""


def _why_not_again(event: Event, members: Sequence[Host], policy: Policy, now: float) -> str:
    """Why an event is left to a later run: an attempt was in vain lately, and there is time. Empty if it is not."""
    notice = notice_of(event, now)
    attempts = [one for member in members for one in member.tried if is_among(event, [one.event_id])]
    latest = min(attempts, key=lambda one: one.seconds_ago, default=None)
    if latest is None or notice is None or notice < policy.begin_within or latest.seconds_ago >= policy.retry_after:
        return ""
    return (
        "its hosts were drained in vain %d s ago, because of %s: next attempt in %d s, or at once with "
        "handle_events_retry_after=0" % (latest.seconds_ago, latest.reason, policy.retry_after - latest.seconds_ago)
    )
