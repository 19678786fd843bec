# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent will do about an event.

An ordered list of rules; the first one that matches an event, as it was when it was first seen, gives
the plan. Pure: no clock, no file, no network.
"""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple
from zlib import crc32

from foghorn_core.maintenance_policy.match import Match
from foghorn_core.maintenance_policy.window import Window
from foghorn_core.scheduled_events.event import SCHEDULED, Event

DRAIN = "drain"
SHUTDOWN = "shutdown"
RESTORE = "restore"
STAGES = (DRAIN, SHUTDOWN, RESTORE)
CHECK = "check"

# What a step does.
COMMAND = "command"
HOOKS = "hooks"
WAIT_CONNECTIONS = "wait_connections"
PAUSE = "pause"

# The type of a drain by hand, which is not an event of Azure's.
MANUAL = "Manual"

# Which machine approves.
NEVER = "never"
WHEN_READY = "when_ready"
QUORUM = "quorum"
APPROVALS = (NEVER, WHEN_READY, QUORUM)

# What a finally failed step means for the plan.
STOP = "stop"  # no further step, and no approval
FINISH = "finish"  # the rest of the plan, and no approval
IGNORE = "ignore"  # the rest of the plan, and the approval
FAILURES = (STOP, FINISH, IGNORE)

DEFAULT_MARGIN = 10.0  # seconds
# For at least this long, automatic instance repairs of a scale set ignore a machine whose probe answers 503.
SHORTEST_GRACE_OF_REPAIRS = 600.0  # seconds
DEFAULT_HOOKS_TIMEOUT = 300.0  # seconds
SHORT_FREEZE = 10  # seconds
# How long before its start the work begins for an event that nobody here approves: earlier work gains nothing.
DEFAULT_BEGIN_BEFORE = 300.0  # seconds
# How long a machine stays out for an eviction that was only likely, after the warning has ended.
DEFAULT_ADVICE_HOLDS_FOR = 600.0  # seconds
# The notice of most maintenance.
SAMPLE_NOTICE = 900.0  # seconds


class Step(NamedTuple):
    """One thing to do, and how long it may take."""

    kind: str
    name: str
    timeout: float
    """Seconds."""
    argv: Tuple[str, ...] = ()
    """With a `command` that is a program."""
    ports: Tuple[int, ...] = ()
    """With `wait_connections`: local ports."""
    ignored: Tuple[str, ...] = ()
    """With `wait_connections`: addresses or networks whose connections do not count."""
    stops: str = ""
    """With a `command` that stops a service: its full name."""
    starts: str = ""
    """With a `command` that starts one."""
    hook_timeout: Optional[float] = None
    """With `hooks`: seconds that each try of each of them may take. None: as long as the step may."""

    @property
    def identity(self) -> str:
        """What the step does, regardless of its name and of its time limit."""
        details: Tuple[Any, ...] = (self.ports, self.ignored)
        if self.kind == PAUSE:
            details = (self.timeout,)
        elif self.stops or self.starts:
            details = ("stop", self.stops) if self.stops else ("start", self.starts)
        elif self.argv:
            details = self.argv
        return json.dumps((self.kind, *details), separators=(",", ":"))


class Plan(NamedTuple):
    """What to do about one event. A stage of None is left out; an empty one only changes `/readyz`."""

    rule: str
    drain: Optional[Tuple[Step, ...]] = None
    shutdown: Optional[Tuple[Step, ...]] = None
    restore: Optional[Tuple[Step, ...]] = None
    approve: str = NEVER
    margin: float = DEFAULT_MARGIN
    """Seconds before `NotBefore` at which drain and shutdown must be done."""
    on_failure: str = FINISH
    begin_before: Optional[float] = None
    """Seconds before `NotBefore` at which the first stage begins. None: at first sight."""
    check: Tuple[Step, ...] = ()
    """Checks that have to succeed before an approval, and change nothing."""
    approve_between: Tuple[Window, ...] = ()
    """When approvals are allowed. Empty: at any time."""
    approve_spread: float = 0.0
    """Seconds within which such a time begins: for each event at a moment of its own."""
    advice_holds_for: float = DEFAULT_ADVICE_HOLDS_FOR
    """Seconds that the machine stays out once an advisory event is no longer listed."""
    is_default: bool = False
    """Whether this is a default plan, which approves only what a hook has prepared."""

    def steps(self, stage: str) -> Tuple[Step, ...]:
        """The steps of a stage. None if the plan leaves it out."""
        return {DRAIN: self.drain, SHUTDOWN: self.shutdown, RESTORE: self.restore}[stage] or ()

    @property
    def rests_on_hooks(self) -> bool:
        """Whether hooks alone prepare the machine, so that without a hook nothing does."""
        steps = self.steps(DRAIN) + self.steps(SHUTDOWN)
        return self.is_default or (bool(steps) and all(step.kind == HOOKS for step in steps))

    @property
    def takes_out(self) -> bool:
        """Whether the machine leaves rotation under this plan."""
        return self.drain is not None or self.shutdown is not None


class Rule(NamedTuple):
    """A condition and the plan for what it covers."""

    match: Match
    plan: Plan


def plan_for(rules: Sequence[Rule], event: Event, notice: Optional[float]) -> Plan:
    """Find the plan for an event.

    :param event: as it was when it was first seen
    :param notice: seconds from then to its earliest start; None where Azure did not say
    """
    for rule in rules:
        if rule.match.covers(event, notice):
            return rule.plan
    return Plan(rule="no rule", is_default=True)


def spread_of(plan: Plan, event: Event, wall: float) -> "Tuple[float, float]":
    """How many seconds a time for approvals takes to begin for all events, and which part of them for this one.

    The moment follows from the id of the event: all machines of a shared event have the same, also after a restart.

    :param wall: seconds since the epoch. From the margin on, an event waits for nobody.
    """
    if event.not_before is not None and wall >= event.not_before.timestamp() - plan.margin:
        return 0.0, 0.0
    return plan.approve_spread, crc32(event.event_id.lower().encode("utf-8")) / 2**32


def nothing_configured_for(event_type: str) -> str:
    """What is reported about an event for which hooks alone would prepare the machine, where there is no hook."""
    return (
        "nothing is configured for %s: no policy has more than hooks for it, and no hook prepares this machine; it is"
        " not approved" % event_type
    )


def manual_plan(rules: Sequence[Rule]) -> Plan:
    """Find the plan for a drain by hand: the drain, and the restore, of the rule that names the type `Manual`.

    Without such a rule it is the one for a reboot of this machine alone, which is what most people have in mind who
    take a machine out.
    """
    named = [rule.plan for rule in rules if rule.match.names(MANUAL)]
    reboot = Event("sample", "Reboot", SCHEDULED, ("sample",), event_source="User", duration_in_seconds=-1)
    plan = named[0] if named else plan_for(rules, reboot, SAMPLE_NOTICE)
    return plan._replace(drain=plan.drain or (), shutdown=None, approve=NEVER)


def keyed(steps: Sequence[Step]) -> "List[Tuple[str, Step]]":
    """Give each step a key by which it is known again in another configuration, at another place, under another name.

    The key is what the step does and, where a list has several that do the same, its number among these.
    """
    counts: Dict[str, int] = {}
    result = []
    for step in steps:
        identity = step.identity
        counts[identity] = counts.get(identity, 0) + 1
        result.append((identity if counts[identity] == 1 else "%s#%d" % (identity, counts[identity]), step))
    return result


def default_rules(margin: float = DEFAULT_MARGIN) -> Tuple[Rule, ...]:
    """The plan where no configured rule matches: the behaviour without a configuration."""
    drain = shutdown = restore = (Step(HOOKS, "hooks", DEFAULT_HOOKS_TIMEOUT),)
    rules = (
        (Match(event_types=("Freeze",), no_longer_than=SHORT_FREEZE), Plan("short freeze")),
        (
            Match(event_types=("Freeze",)),
            Plan("freeze", drain=drain, restore=restore, margin=margin, begin_before=DEFAULT_BEGIN_BEFORE),
        ),
        (
            Match(event_types=("Preempt",)),
            # The notice is 30 seconds in all: the margin for a quarter of an hour would use it up.
            Plan("eviction", drain, shutdown, restore, QUORUM, min(margin, 2.0)),
        ),
        (
            Match(event_types=("Reboot", "Redeploy", "Terminate")),
            Plan("maintenance", drain, shutdown, restore, QUORUM, margin),
        ),
        # A type that Azure may add in future. Nobody knows what an approval of it would start, so it is never
        # approved.
        (
            Match(),
            Plan("unknown type", drain=drain, restore=restore, margin=margin, begin_before=DEFAULT_BEGIN_BEFORE),
        ),
    )
    return tuple(Rule(match, plan._replace(is_default=True)) for match, plan in rules)


def default_plan(event_type: str) -> Plan:
    """What the default policies do about such an event of which Azure says nothing but its type."""
    return plan_for(default_rules(), Event("sample", event_type, SCHEDULED, (), duration_in_seconds=-1), SAMPLE_NOTICE)


def seconds_for(steps: Sequence[Step], seconds_left: Optional[float]) -> float:
    """How long the first of these steps may take, if all of them are to have their turn by the deadline.

    With time enough each has its own timeout. When time is short, a slow drain must not use up the time of the
    shutdown: each has its share of what is left, in proportion to the timeouts. But a timeout is the most that a step
    may take, and a pause takes just as long as it has to be: pauses have their time first, as far as the other steps
    are left with half of it, or with all that they want.

    :param steps: what is still to do before the deadline, in order
    :param seconds_left: until the deadline; None without one
    :returns: seconds; zero or less when the deadline has passed
    """
    own = steps[0].timeout
    pauses = sum(step.timeout for step in steps if step.kind == PAUSE)
    others = sum(step.timeout for step in steps if step.kind != PAUSE)
    if seconds_left is None:
        return own
    for_pauses = min(pauses, max(seconds_left / 2, seconds_left - others))
    share = for_pauses / pauses if steps[0].kind == PAUSE else (seconds_left - for_pauses) / others
    return own * min(1.0, share)
