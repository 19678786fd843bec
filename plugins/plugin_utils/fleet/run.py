# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A run on a fleet: its hosts, the steps that each goes through, its orders, and what becomes of them.

advance.py says what is next. Nothing here asks or changes a host. Orders are carried out elsewhere, one at a time on a
host and many at once on the fleet, and whatever becomes of one is reported. A run may die after any order: the next one
learns from what is written down on the hosts.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from ...module_utils.scheduled_events.event import Event
from .demand import DemandKind
from .host import Host
from .plan import HostPlan, Plan
from .policy import Policy
from .progress import Progress
from .report import Moment, Report, Result, describe_results


class Step(Enum):
    """Where a host is in a run. Most steps are orders: something is to be done on the host, and reported."""

    IDLE = "idle"
    """Its turn has not come."""
    ASK = "ask"
    """Read its events and who wants it out."""
    ASKED = "asked"
    WAIT = "wait"
    """Stay in service until its events change, any host has news, or `until`."""
    LEASE = "lease"
    """Lease it and claim it, in one step."""
    DRAIN = "drain"
    """Take it out of rotation, wait for its connections, then read its events again."""
    STOP = "stop"
    """Stop its services."""
    MOVE = "move"
    """Do what is demanded: have Azure move it, or replace its disk, and wait until that is done."""
    CANCEL = "cancel"
    """Cancel the run of updates, for all hosts."""
    PREPARED = "prepared"
    """Prepared for its event or demand, or not: a step may have failed."""
    NOTE = "note"
    """See that it is still out, and write down on it which events are about to be approved."""
    NOTED = "noted"
    APPROVE = "approve"
    """Approve `event_ids`."""
    APPROVED = "approved"
    WATCH = "watch"
    """Follow `progress` until it is over, or any other host has news, and renew the lease."""
    SEE_BACK = "see_back"
    """Wait until its agent says that it is in rotation."""
    RESTORE = "restore"
    """Start its services, put it in rotation, and give up its claim and its lease."""
    RELEASE = "release"
    """End its lease, and leave it out."""
    AFTER_BATCH = "after_batch"
    """Do what the operator wants done after the batch."""
    DONE = "done"


# The services have not stopped yet: the longest steps are ahead of the host.
ON_THE_WAY_OUT = frozenset({Step.IDLE, Step.ASK, Step.ASKED, Step.WAIT, Step.LEASE, Step.DRAIN, Step.STOP})

# These steps are repeated so often that their times say nothing.
_IN_SERVICE = frozenset({Step.ASK, Step.WAIT, Step.AFTER_BATCH})


class Order(NamedTuple):
    """What is to be done on a host next."""

    host: str
    do: Step
    number: str = ""
    """The round of orders that it belongs to, which the report repeats."""
    host_plan: HostPlan | None = None
    """What is planned for it."""
    is_ours: bool = False
    """Whether this run works on the host, and not its agent."""
    known: Sequence[Event] = ()
    """The events that are known of it."""
    was_silent: bool = False
    """For `ASK`: whether the host answered before and its metadata service did not, which gets more time."""
    event_ids: tuple[str, ...] = ()
    """The events to note or to approve."""
    as_seen: Sequence[Event] = ()
    """For `APPROVE`: the events as they were when the decision was made."""
    until: float | None = None
    """For `WATCH` and `WAIT`: when it ends at the latest, in seconds since the epoch."""
    progress: Progress | None = None
    """How far a watch has come."""
    tried: Mapping[str, str] = {}
    """For `RESTORE`: why each event's attempt was in vain, by its id; an empty text if it was not."""
    take_over: str = ""
    """For `LEASE`: the lease that may be taken over."""
    leaves_out: bool = False
    """For `RELEASE`: whether the host stays out because it is to be deleted."""
    has_own_tasks: bool = True
    """Whether the operator's own tasks run with it."""
    pause: float = 0.0
    """For `LEASE`: seconds to wait before it."""
    then: Sequence["Order"] = ()
    """What is to be done right after it if it succeeds, see chains.py."""


class OrderReport(NamedTuple):
    """The outcome of an order. A lost answer is a failure."""

    host: str
    did: Step
    failure: str = ""
    """What went wrong, in words."""
    refused: str = ""
    """Who else works on the host, or wants it out, in words. That is no failure."""
    reading: Host | None = None
    """For `ASK`: what is known of the host now."""
    listed: Sequence[Event] | None = None
    """For `DRAIN`: the events that are listed for the host now; None if nobody answered."""
    remaining: tuple[str, ...] = ()
    """For `DRAIN`: where connections remained."""
    is_confirmed: bool = True
    """For `DRAIN`: whether the probe endpoint succeeded before the removal, so that its failure confirms it."""
    warnings: tuple[str, ...] = ()
    """What the operator must know although it is no failure, in words."""
    approved: Mapping[str, int | None] = {}
    """For `APPROVE`: the ids of approved events, and the seconds of notice that were left."""
    not_approved: Mapping[str, str] = {}
    """For `APPROVE`: the ids of events that were not approved, and why, in words."""
    progress: Progress | None = None
    """For `WATCH`: how far it has come. For `MOVE`: its `outcome`, in words."""
    is_cut_short: bool = False
    """Whether the host has left the play, for example by `meta: end_host` in one of the operator's tasks."""
    may_still_move: bool = False
    """For `MOVE`: whether Azure may still move the host, although nothing says so."""
    link: int = 0
    """How many orders the host has carried out right before it, in the same round."""


class HostRun(NamedTuple):
    """The state of one host in a run."""

    reading: Host
    step: Step = Step.IDLE
    is_given: bool = False
    """Whether the order of this step was given and nothing was reported yet."""
    then: tuple[Step, ...] = ()
    """The orders that were given with it, to be carried out one after the other as long as they succeed."""
    host_plan: HostPlan | None = None
    left_to: str = ""
    """Why it is left alone, in words. Then nothing of its plan is done."""
    is_ready: bool = False
    is_leased: bool = False
    pause: float = 0.0
    """Seconds to wait before it is leased, because an attempt to take it out has failed."""
    progress: Progress | None = None
    tried: Mapping[str, str] = {}
    until: float | None = None
    event_ids: tuple[str, ...] = ()
    is_finished: bool = False
    """Whether the tasks after its batch have run."""
    timeline: tuple[Moment, ...] = ()
    result: Result = Result()
    """Its result, without the parts that the other fields say."""

    def at(self, step: Step) -> "HostRun":
        """The host at another step."""
        return self._replace(step=step, is_given=False, then=())

    def failing(self, what: str) -> "HostRun":
        """The host after a failure."""
        return self._replace(
            result=self.result._replace(failures=(*self.result.failures, what)),
            reading=self.reading._replace(failed=True),
        )

    def noting(self, now: float) -> "HostRun":
        """The host with the time at which it came to its step, if that step takes it out or back."""
        is_known = bool(self.timeline) and self.timeline[-1].step == self.step.value
        if is_known or self.step in _IN_SERVICE or (self.step is Step.DONE and not self.timeline):
            return self
        return self._replace(timeline=(*self.timeline, Moment(now, self.step.value)))

    @property
    def is_ours(self) -> bool:
        """Whether this run works on it, and not its agent."""
        return (
            self.host_plan is not None and not self.left_to and (self.reading.needs_restore or not self.host_plan.agent)
        )

    @property
    def is_silent(self) -> bool:
        """Whether it has not answered lately. Its lease then ends by itself."""
        progress = self.progress or {}
        return bool(progress.get("silent") or progress.get("silent_since"))

    @property
    def longest_step(self) -> float:
        """Seconds that the longest task ahead of it may take."""
        if self.step in ON_THE_WAY_OUT:
            return self.reading.step_seconds
        # Its services may take as long to start as to stop.
        return 0.0 if self.step is Step.DONE else self.reading.return_seconds + self.reading.stop_seconds

    @property
    def leaves_out(self) -> bool:
        """Whether it stays out because it is to be deleted."""
        progress = self.progress or {}
        return bool(progress.get("final") and progress.get("over")) and not self.is_silent


class Run(NamedTuple):
    """A run and its progress."""

    policy: Policy
    plan: Plan
    """The plan for all hosts, with which the run began."""
    hosts: Mapping[str, HostRun]
    turn: int = 0
    """The number of its turn."""
    batch: Plan | None = None
    """The latest decision for hosts of this turn."""
    taken: tuple[str, ...] = ()
    """The hosts of that decision that are on their way to the approval of their events."""
    given: int = 0
    """How many rounds of orders were given in this turn."""
    has_more: bool = False
    """Whether the operator has tasks that run after each batch."""
    predicts: bool = False
    """Whether nothing is changed: the run says what would be done, and waits for nothing."""
    demand: DemandKind | None = None
    """What is demanded of the run; None if it is about events. For a demand, nothing is approved or watched."""
    is_cancelled: bool | None = None
    """Whether the run of updates could be cancelled; None if nothing has tried to."""
    handed_over: str = ""
    """Who goes on with the run, in words: no further host is asked or taken out."""

    @property
    def has_own_tasks(self) -> bool:
        """Whether it runs tasks of the operator's. The playbook restore, which ends an update, would not undo them."""
        return self.demand is not DemandKind.UPDATE

    @property
    def number(self) -> str:
        """Which round of orders was given last.

        It is no Python literal: with jinja2_native, ansible-core before 2.19 makes 0.1 of the text 0.10.
        """
        return "%d/%d" % (self.turn, self.given)

    @property
    def is_turn_over(self) -> bool:
        """Whether nothing is left to be done in this turn."""
        return not self.plan.turns or all(self.hosts[name].step is Step.DONE for name in self.plan.turns[self.turn])

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done."""
        return self.turn + 1 >= len(self.plan.turns) and self.is_turn_over

    @property
    def longest_step(self) -> float:
        """Seconds that a lease must last at least: the hosts of a turn move together."""
        return max((self.hosts[name].longest_step for name in self.plan.turns[self.turn]), default=0.0)

    def report(self) -> Report:
        """What became of each host that was planned for, that did not answer, or that somebody else has taken out."""
        late = {
            name: host.host_plan for name, host in self.hosts.items() if host.host_plan and name in self.plan.unanswered
        }
        return describe_results(self.plan._replace(hosts={**self.plan.hosts, **late}), self.results())

    def results(self) -> dict[str, Result]:
        """The results by host, as far as the plan does not say them."""
        planned = [name for turn in self.plan.turns for name in turn]
        # There is something to say of other hosts as well.
        more = [name for name, host in self.hosts.items() if host.reading.kept_out_by or host.reading.would_fail]
        return {name: self._result(name) for name in dict.fromkeys([*planned, *more])}

    def _result(self, name: str) -> Result:
        host = self.hosts[name]
        planned = self.plan.hosts.get(name)
        progress = host.progress or {}
        if host.left_to:
            steps: tuple[str, ...] = ("left alone: %s" % host.left_to,)
        elif planned is not None and planned.agent:
            steps = ("left to its agent",)
        else:
            steps = ("would be prepared" if self.predicts else "prepared",) if host.is_ready else ()
        failures = host.result.failures
        demand = host.reading.demand
        if host.left_to and not failures and demand is not None and demand.kind.must_be_met:
            failures = ("left alone: %s" % host.left_to,)
        if planned is None and not host.host_plan:
            # A quiet run finds what would break at night.
            failures = (*failures, *("would fail if it were hit: %s" % what for what in host.reading.would_fail))
        return host.result._replace(
            failures=failures,
            steps=steps,
            outcome=str(progress.get("outcome", "")),
            gave_up=bool(progress.get("gave_up")),
            is_to_return=bool(progress.get("over") and progress.get("restore")),
            skipped=bool(host.left_to),
            still_out=host.result.stays_out or host.reading.kept_out_by,
            predicted=self.predicts,
            timeline=host.timeline,
        )
