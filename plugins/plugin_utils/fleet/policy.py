# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What an event requires of the hosts that it affects."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.maintenance_policy.match import Match, read_match
from ...module_utils.maintenance_policy.reader import Section
from ...module_utils.maintenance_policy.window import Window, read_windows
from ...module_utils.scheduled_events.event import EVENT_TYPES, Event
from ...module_utils.scheduled_events.words import warning_of
from ..approval_times import is_open, zone_directories
from ..typed import typed

_LARGEST_SHARE_OF_MARGIN = 0.1
# Seconds between a recommendation and the eviction that may follow: half a minute to minutes, according to Azure.
_NOTICE_OF_A_RECOMMENDATION = 120.0

LISTED_FOR = 600.0
"""Seconds after its start at which an event is assumed to be over: Azure lists most events for about ten minutes."""


# Who approves.
NEVER = "never"
WHEN_READY = "when_ready"


PREFIX = "handle_events_"
_LISTS = ("policies", "approve_between")


class PolicyError(ValueError):
    """The operator's policy has mistakes. `mistakes` says of each value what to change."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


class Rule(NamedTuple):
    """A condition, and the decisions for the events that it covers. None: the decision for all other events."""

    name: str
    match: Match
    ignore: bool = False
    """Whether these events are left alone."""
    approve: str | None = None
    approve_within: float | None = None
    approve_between: tuple[Window, ...] | None = None
    says_when_ready: bool = False
    """Whether the operator has said for these events that they are approved when their hosts are ready."""


class Policy(NamedTuple):
    """The operator's decisions. All times are seconds."""

    minimum_in_service: str = "50%"
    """A number of hosts of each group, or a percentage of them, that stay in service."""
    max_failed: int = 0
    """If steps have failed on more hosts than this, the next hosts are left in service."""
    margin: float = 30.0
    """This long before the start of an event its hosts are ready."""
    urgent_within: float = 300.0
    """With less notice than this, an event does not wait for its turn."""
    begin_within: float = 1200.0
    """With less notice than this, hosts are prepared for an event even if it must not be approved."""
    tolerated_freeze: float = 10.0
    """A freeze expected to last up to this long is left alone."""
    approve: bool = True
    approve_within: float = 3600.0
    """With more notice than this, an event is not approved yet."""
    approve_between: tuple[Window, ...] = ()
    """The times of the week at which approvals are allowed; none: at all times."""
    policies: tuple[Rule, ...] = ()
    """Decisions for some events. The first rule that covers an event counts."""
    end_timeout: float = 1800.0
    """This long after its start an event must be over."""
    retry_after: float = 1800.0
    """For this long hosts are not taken out again for an event if that was in vain, unless it begins soon."""


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Make a policy of what may be text, as surveys hand it over; what is missing or empty keeps its default.

    :raises PolicyError: with every value that makes no sense
    """
    default = Policy()
    mistakes: list[str] = []
    given = {}
    for name, value in values.items():
        if name in Policy._fields and not (isinstance(value, str) and not value.strip()):
            try:
                given[PREFIX + name] = typed(value, "list") if isinstance(value, str) and name in _LISTS else value
            except ValueError as error:
                mistakes.append("%s%s: %s" % (PREFIX, name, error))
    section = Section(given, "", mistakes)
    read: dict[str, Any] = {}
    for name in given:
        field = name[len(PREFIX) :]
        if not section.has(name):
            continue
        if field == "approve_between":
            read[field] = read_windows(section, name, zone_directories())
        elif field == "policies":
            read[field] = tuple(_read_rule(one) for one in section.sections(name))
        elif field == "approve":
            read[field] = section.boolean(name)
        elif field == "minimum_in_service":
            read[field] = str(given[name])
        else:
            kind = type(getattr(default, field))
            read[field] = kind(section.number(name, getattr(default, field)))
    section.finish()
    if mistakes:
        raise PolicyError(mistakes)
    return Policy(**read)


def remarks_on(policy: Policy) -> tuple[str, ...]:
    """Name the event types in policies that this version does not know: Azure may have added them, or they are
    misspelt.
    """
    return tuple(
        "The policy %s: match.event_types: %s" % (rule.name, warning_of(word))
        for rule in policy.policies
        for word in rule.match.unknown_types()
    )


def rule_for(event: Event, policy: Policy, now: float, seen_ago: float = 0.0) -> Rule:
    """Find what is decided for an event, with what holds for all where its rule is silent.

    :param seen_ago: seconds since it was first seen: policies go by the notice that there was then
    """
    notice = notice_of(event, now - seen_ago)
    found = next((rule for rule in policy.policies if rule.match.covers(event, notice)), None)
    if found is None:
        found = Rule("", Match(), ignore=event.is_advisory)
    return found._replace(
        says_when_ready=found.approve == WHEN_READY,
        approve=found.approve or (WHEN_READY if policy.approve else NEVER),
        approve_within=policy.approve_within if found.approve_within is None else found.approve_within,
        approve_between=policy.approve_between if found.approve_between is None else found.approve_between,
    )


def why_not_yet(event: Event, rule: Rule, now: float) -> str:
    """Say why it is too early to approve an event; empty when it is not."""
    notice = notice_of(event, now) or 0.0
    if rule.approve_within is not None and notice > rule.approve_within:
        return "it is approved at most %g s before its start" % rule.approve_within
    return ""


def why_never(rule: Rule, now: float) -> str:
    """Say why an event is not approved now, or is never approved; empty if it may be approved."""
    if rule.approve == NEVER:
        return "the policy %s says never" % rule.name if rule.name else "handle_events_approve is false"
    if not is_open(rule.approve_between or (), now):
        return "it is outside approve_between"
    return ""


def _read_rule(section: Section) -> Rule:
    within = section.number("approve_within", 0.0)
    between = read_windows(section, "approve_between", zone_directories())
    return Rule(
        name=section.text("name") or section.path,
        match=read_match(section.section("match")),
        ignore=section.boolean("ignore") or False,
        approve=section.word("approve", None, (NEVER, WHEN_READY)),
        approve_within=within if section.has("approve_within") else None,
        approve_between=between if section.has("approve_between") else None,
    )


def needs_stop(event: Event) -> bool:
    """Whether services are stopped for it: there is time, and the event does more than pause them."""
    return event.is_scheduled and event.event_type != "Freeze" and not event.is_advisory


def is_known(event: Event) -> bool:
    """Whether its type is known, so that the effect of an approval is known."""
    return event.event_type in EVENT_TYPES


def start_of(event: Event) -> float | None:
    """The earliest start, seconds since the epoch; None when Azure does not say."""
    return None if event.not_before is None else event.not_before.timestamp()


def notice_of(event: Event, now: float) -> float | None:
    """Seconds until it may start: 0 once started, or overdue, or when Azure does not say. None: not scheduled."""
    if not event.is_scheduled:
        return None
    start = start_of(event)
    return 0.0 if start is None else max(0.0, start - now)


def begins_soon(event: Event, policy: Policy, now: float) -> bool:
    """Whether it has begun, or begins so soon that its hosts are prepared even if it must not be approved."""
    notice = notice_of(event, now)
    return notice is None or notice < policy.begin_within


def deadline_of(event: Event, policy: Policy, now: float) -> float:
    """When its hosts are to be ready, seconds since the epoch; what has started has no time left.

    The margin is at most a tenth of the notice, so that little notice is not spent on it.
    """
    notice = _NOTICE_OF_A_RECOMMENDATION if event.is_advisory else notice_of(event, now)
    if notice is None:
        return now
    return now + notice - min(policy.margin, _LARGEST_SHARE_OF_MARGIN * notice)


def is_forced(event: Event, policy: Policy, now: float) -> bool:
    """Whether the platform acts before the host's batch: evictions, started events, and events that start soon."""
    if event.is_advisory:
        return False
    notice = notice_of(event, now)
    return notice is None or event.event_type == "Preempt" or notice < policy.urgent_within


def does_not_wait(event: Event, policy: Policy, now: float) -> bool:
    """Whether a host that is out must stay out for an event that was not planned for: it is forced, and harms the
    host.
    """
    return (
        is_forced(event, policy, now)
        and not event.is_freeze_of_at_most(policy.tolerated_freeze)
        and not rule_for(event, policy, now).ignore
    )
