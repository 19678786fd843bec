# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What does an event ask of the hosts that it hits?"""

import fnmatch
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.document import EVENT_TYPES, Event
from .windows import Window, is_open, read_windows

_LARGEST_SHARE_OF_MARGIN = 0.1
# From a recommendation to the eviction that it is about, if one follows: half a minute up to minutes, says Azure.
_NOTICE_OF_A_RECOMMENDATION = 120.0


# Who approves.
NEVER = "never"
WHEN_READY = "when_ready"


class PolicyError(ValueError):
    """What the operator decided makes no sense. The message says what to change."""


class Match(NamedTuple):
    """Which events a rule is for, in the words of the handler agent. None does not restrict."""

    event_types: tuple[str, ...] | None = None
    event_sources: tuple[str, ...] | None = None
    event_statuses: tuple[str, ...] | None = None
    description: str | None = None
    """A glob, without case."""
    shared: bool | None = None
    no_longer_than: float | None = None
    """Seconds of expected interruption, known to Azure: a duration of -1, or none at all, counts as longer."""
    longer_than: float | None = None
    """Just the other events."""
    notice_below: float | None = None
    """Seconds from now to the earliest start; an unknown start counts as none."""
    notice_above: float | None = None

    def covers(self, event: Event, now: float) -> bool:
        """Whether a rule with this condition is for the event."""
        duration = event.duration_in_seconds
        length = math.inf if duration is None or duration < 0 else float(duration)
        notice = notice_of(event, now) or 0.0
        words = (
            (event.event_type, self.event_types),
            (event.event_source, self.event_sources),
            (event.event_status, self.event_statuses),
        )
        return (
            all(chosen is None or str(word).lower() in (one.lower() for one in chosen) for word, chosen in words)
            and (
                self.description is None
                or fnmatch.fnmatchcase((event.description or "").lower(), self.description.lower())
            )
            and self.shared in (None, event.is_shared)
            and (self.no_longer_than is None or length <= self.no_longer_than)
            and (self.longer_than is None or length > self.longer_than)
            and (self.notice_below is None or notice < self.notice_below)
            and (self.notice_above is None or notice > self.notice_above)
        )


class Rule(NamedTuple):
    """A condition, and what is decided for the events that it covers. None: as for all others."""

    name: str
    match: Match
    ignore: bool = False
    """Whether they are left alone altogether."""
    approve: str | None = None
    approve_within: float | None = None
    approve_between: tuple[Window, ...] | None = None


class Policy(NamedTuple):
    """What the operator decided. All times are seconds."""

    minimum_in_service: str = "50%"
    """A number of hosts of each group, or a percentage of them, that stay in service."""
    max_failed: int = 0
    """Of how many hosts steps may fail before the next are left in service."""
    margin: float = 30.0
    """This long before the start of an event its hosts are ready."""
    urgent_within: float = 300.0
    """With less notice than this, an event does not wait for its turn."""
    begin_within: float = 1200.0
    """With less notice than this, an event is met even if it must not be approved."""
    tolerated_freeze: float = 10.0
    """A freeze expected to last up to this long is left alone."""
    approve: bool = True
    approve_within: float = 3600.0
    """With more notice than this, an event is not approved yet."""
    approve_between: tuple[Window, ...] = ()
    """The times of the week at which may be approved; none: at all times."""
    policies: tuple[Rule, ...] = ()
    """What is decided for some events. The first that covers an event counts."""
    listed_for: float = 600.0
    """This long after its start an event is thought to be over. Azure lists most for about ten minutes."""
    end_timeout: float = 1800.0
    """This long after its start an event must be over."""
    retry_after: float = 1800.0
    """For so long hosts are not taken out again for an event for which that was in vain, unless it begins soon."""


def read_policy(values: Mapping[str, Any]) -> Policy:
    """Make a policy of what may be text, as surveys hand it over; what is missing or empty keeps its default.

    :raises PolicyError: if a value makes no sense
    """
    read: dict[str, Any] = {}
    for name, default in Policy()._asdict().items():
        value = values.get(name)
        where = "handle_events_" + name
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if name == "approve_between":
            read[name] = _read_windows(value, where)
        elif name == "policies":
            read[name] = tuple(
                _read_rule(one, "%s[%d]" % (where, at)) for at, one in enumerate(_read_list(value, where))
            )
        elif isinstance(default, bool):
            read[name] = _read_bool(value, where)
        elif isinstance(default, str):
            read[name] = str(value)
        else:
            read[name] = type(default)(_read_number(value, where))
    return Policy(**read)


def rule_for(event: Event, policy: Policy, now: float) -> Rule:
    """Find what is decided for an event, with what holds for all where its rule is silent."""
    found = next((rule for rule in policy.policies if rule.match.covers(event, now)), Rule("", Match()))
    return found._replace(
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
    """Say why an event is not approved now, nor perhaps ever; empty when it is."""
    if rule.approve == NEVER:
        return "the policy %s says never" % rule.name if rule.name else "handle_events_approve is false"
    if not is_open(rule.approve_between or (), now):
        return "it is outside approve_between"
    return ""


def _read_list(value: Any, where: str) -> Sequence[Any]:
    """A list, also as the JSON that a survey can hold."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise PolicyError("%s: neither a list nor the JSON of one: %r" % (where, value)) from error
    if isinstance(value, Mapping) or not isinstance(value, Sequence):
        raise PolicyError("%s: write a list, not %r" % (where, value))
    return value


def _read_windows(value: Any, where: str) -> tuple[Window, ...]:
    try:
        return read_windows(_read_list(value, where), where)
    except ValueError as error:
        raise PolicyError(str(error)) from error


def _read_rule(content: Any, where: str) -> Rule:
    known = set(Rule._fields)
    if not isinstance(content, Mapping):
        raise PolicyError("%s: a policy is a dictionary of %s, not %r" % (where, ", ".join(sorted(known)), content))
    _refuse_unknown(content, known, where)
    approve = content.get("approve")
    if approve not in (None, NEVER, WHEN_READY):
        raise PolicyError("%s.approve: %r: write %s or %s" % (where, approve, NEVER, WHEN_READY))
    within, between = content.get("approve_within"), content.get("approve_between")
    return Rule(
        name=str(content.get("name") or where),
        match=_read_match(content.get("match") or {}, where + ".match"),
        ignore=_read_bool(content.get("ignore", False), where + ".ignore"),
        approve=approve,
        approve_within=None if within is None else _read_number(within, where + ".approve_within"),
        approve_between=None if between is None else _read_windows(between, where + ".approve_between"),
    )


def _read_match(content: Any, where: str) -> Match:
    if not isinstance(content, Mapping):
        raise PolicyError("%s: write a dictionary, not %r" % (where, content))
    _refuse_unknown(content, set(Match._fields), where)
    read: dict[str, Any] = {}
    for name, value in content.items():
        at = "%s.%s" % (where, name)
        if name in ("event_types", "event_sources", "event_statuses"):
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise PolicyError("%s: write a list, not %r" % (at, value))
            read[name] = tuple(map(str, value))
        elif name == "shared":
            read[name] = _read_bool(value, at)
        else:
            read[name] = str(value) if name == "description" else _read_number(value, at)
    return Match(**read)


def _refuse_unknown(content: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(map(str, content)) - known)
    if unknown:
        raise PolicyError("%s.%s: not known: there are %s" % (where, unknown[0], ", ".join(sorted(known))))


def _read_bool(value: Any, where: str) -> bool:
    word = str(value).strip().lower()
    if word not in ("true", "yes", "on", "1", "false", "no", "off", "0"):
        raise PolicyError("%s: %r: write true or false" % (where, value))
    return word in ("true", "yes", "on", "1")


def _read_number(value: Any, where: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise PolicyError("%s: %r: write a number, 0 or more" % (where, value))
    return number


def needs_stop(event: Event) -> bool:
    """Whether services are to be stopped before it: there is time, and it will not merely pause them, or come to
    nothing.
    """
    return event.is_scheduled and event.event_type != "Freeze" and not event.is_advisory


def is_known(event: Event) -> bool:
    """Whether its type is one that we know, so that approving it is no leap in the dark."""
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


def deadline_of(event: Event, policy: Policy, now: float) -> float:
    """When its hosts are to be ready, seconds since the epoch; what has started has no time left.

    The margin is at most a tenth of the notice, so that little notice is not spent on it.
    """
    notice = _NOTICE_OF_A_RECOMMENDATION if event.is_advisory else notice_of(event, now)
    if notice is None:
        return now
    return now + notice - min(policy.margin, _LARGEST_SHARE_OF_MARGIN * notice)


def is_forced(event: Event, policy: Policy, now: float) -> bool:
    """Whether the platform acts before a turn could come: evictions, what has started, what soon will."""
    if event.is_advisory:
        return False
    notice = notice_of(event, now)
    return notice is None or event.event_type == "Preempt" or notice < policy.urgent_within


def does_not_wait(event: Event, policy: Policy, now: float) -> bool:
    """Whether a host that is out must stay out for an event that was not planned for: it is forced, and harms."""
    return (
        is_forced(event, policy, now)
        and not event.is_freeze_of_at_most(policy.tolerated_freeze)
        and not rule_for(event, policy, now).ignore
    )
