# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How does all of it run?

One loop: take in what came, decide, act, write down. Nothing in it waits for anything but the selector, so that a
slow step, a silent IMDS or a hostile client cannot keep an eviction from being noticed.
"""

import json
from datetime import datetime, timezone
from typing import Any, Callable, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.maintenance_policy.window import why_closed
from foghorn_core.scheduled_events.document import Document, Event
from foghorn_core.scheduled_events.errors import OutOfTime
from foghorn_core.scheduled_events.text import plain

from . import log as levels
from .approvals import Approvals
from .checks import Checks, Wanted
from .clock import Clocks, Steps
from .config import Config
from .deadlines import Deadlines
from .decisions import (
    SECONDS_OF_DOUBT,
    SECONDS_TO_SURVIVE,
    Work,
    awaiting_approval,
    ended,
    found,
    has_nothing_to_do,
    hook_ended,
    hook_given_up,
    is_ready,
    is_wanted,
    next_work,
    observe,
    plan_of,
    remembered,
    renamed,
    restarted,
    seconds_to_miss,
    share_of,
    to_approve,
    transitions,
    tried,
    undo_with,
    with_hooks_given_up,
)
from .doubts import doubt_about_name, doubt_about_policies, told_of_original
from .imds_desk import Heard, Poll
from .journal import Journal
from .leaving import Leaving
from .log import Log
from .manual import answer_to, end_of, records_of
from .members_state import MembersState, Round
from .metrics import Counters, render
from .policy import (
    DRAIN,
    NEVER,
    RESTORE,
    SHORTEST_GRACE_OF_REPAIRS,
    SHUTDOWN,
    STOP,
    nothing_configured_for,
)
from .quorum import shared_events
from .readiness import Readiness
from .recorder import Recorder
from .running import Running
from .state import Record, State, Tracked, is_another_vm
from .status import Failing, Health, as_failure, describe, failures, troubles
from .steps import StepOutcome
from .undo import Undo, undo_as_json
from .workers import Worker

_LONGEST_SLEEP = 1.0  # seconds
_LONGEST_IDLE_SLEEP = 10.0  # seconds, while the poll goes on by itself
_LONGEST_OBEDIENCE = 3.0  # seconds without a poll because IMDS wants it so: of an eviction's notice, most is left
_WRITE_RETRY = 1.0  # seconds between tries to write what the disk did not take
_MOST_UNWRITTEN = 1000  # records, then they are condensed to the state that they amount to
_GRACE_BEFORE_EVICTION = 0.5  # seconds between SIGTERM and SIGKILL for what is in the way of an eviction's drain
_STEP_RETRY = 1.0  # seconds after another step that failed
_LONGEST_RETRY = 30.0
_SAY_AGAIN = 10.0  # seconds between two lines about whom an event waits for
_RESTORE_RETRY = 5.0  # seconds after a restore step that failed
_LONGEST_RESTORE_RETRY = 300.0
# The first is of no interest, the second has been logged with all that is known of it.
_UNANNOUNCED = ("incarnation", "hook_ended", "step_ended", "step_tried", "unlisted", "clock")


class Retry(NamedTuple):
    """A step that failed, and is to be tried again."""

    work: Work
    outcome: StepOutcome
    again_at: float
    """On the monotonic clock."""
    wait: float
    """Seconds from the failure to then."""
    ends: float
    """When its time is up, on the monotonic clock."""
    tries_end: float
    """When it is given up: the same, but for a hook that has to leave others their share."""
    next_try: float
    """The same as `again_at`, in seconds since the epoch."""
    is_for_next_hook: bool = False
    """Whether it goes on with the hooks after that one, which has succeeded since or was given up."""


class Edges(NamedTuple):
    """What the loop acts through."""

    journal: Journal
    """Opened already, unless it could not be: then that is tried again, and nothing is approved meanwhile."""
    poll: Worker
    """Around `ImdsDesk.poll`."""
    heard: Heard
    """The same desk's."""
    approve: Worker
    """Around `ImdsDesk.approve`, of a desk of its own."""
    members: Worker
    """Around `MembersDesk.ask`."""
    start_step: Callable[[Work, str], Running]
    """Starts a step, on the VM of this name."""
    has_hooks: Callable[[str], bool]
    """Whether the directory of this stage has a hook to run."""
    watch: Callable[[int], None]
    """Wakes the loop when this descriptor becomes readable, and no longer for the one before; -1 is none."""
    log: Log
    tell: Callable[[Record, State], None]
    """Is given each record that others may want to know of, and the state after it."""


class Agent:
    """The loop and everything it holds.

    :param state: what the journal's records amount to
    :param boot_id: of the machine as it runs now; None where there is no such thing
    """

    def __init__(self, config: Config, clocks: Clocks, edges: Edges, state: State, boot_id: Optional[str]) -> None:
        self._recorder = Recorder(config, clocks, edges.journal, edges.log, edges.tell, state)
        self._clocks = clocks
        self._edges = edges
        self._members = MembersState(self._recorder, edges.members)
        self._deadlines = Deadlines(self._recorder)
        self._leaving = Leaving(self._recorder, self._deadlines, self._members)
        self._held_back: FrozenSet[str] = frozenset()
        """The ids of the events whose drain waits until enough other members are in rotation."""
        self._was_in = False
        """Whether this machine was in rotation at the last turn,"""
        self._in_since = clocks.monotonic()
        """and since when."""
        self._next_poll = clocks.monotonic()
        self._readiness = Readiness(clocks.monotonic, edges.log)
        self._out_since: Optional[float] = None
        self._is_said_long = False
        """Whether it was logged that this machine is out for long."""
        self._document: Optional[Document] = None
        """What IMDS told last."""
        self._is_last_before_dry_run = False
        """Whether what was begun is to be brought to its end, and nothing approved, before a dry run begins."""
        self._is_quiet = False
        """Whether the poll under way goes on by itself as long as nothing new comes."""
        self._counted_polls = 0
        """Of the answers that told nothing new."""
        self._doubt_until: Optional[float] = None
        self._ended_since: Dict[str, float] = {}
        """Since when events that were to take this machine away have been over."""
        self._withheld: Dict[str, str] = {}
        """Why events are not approved now, by their ids."""
        self._without_plan: FrozenSet[str] = frozenset()
        """The ids of events for which nobody has configured anything."""
        self._checks = Checks(lambda work: edges.start_step(work, self.state.vm_name or ""))
        self._local_time: Any = None
        """Once a policy asks for it."""
        self._running: Optional[Running] = None
        self._running_until: Optional[float] = None
        self._settled: Optional[State] = None
        """The state in which there was nothing left to do, """
        self._settled_waiting: FrozenSet[str] = frozenset()
        """and the events for which it was too early then."""
        self._is_taken_over = False
        """Whether what is running was told to end, to be run again or never."""
        self._approvals = Approvals()
        self._retry: Optional[Retry] = None
        self._tries_end = 0.0
        """Until when the step that is running may be tried."""
        self._steps = Steps(clocks)
        self._gone_since: Dict[str, float] = {}
        """Since when events that are tracked have not been listed any more."""
        self._is_known_vm = boot_id == state.boot_id or not state.tracked
        """Whether what is tracked is known to be this VM's: it was here before it booted, or IMDS has said so."""
        self._recorder.note_records()
        self._note_policies()
        if boot_id != state.boot_id:
            self._commit({"kind": "boot" if state.boot_id is not None else "first_start", "boot_id": boot_id})

    @property
    def config(self) -> Config:
        """What is in force."""
        return self._recorder.config

    @property
    def state(self) -> State:
        """All that is known."""
        return self._recorder.state

    @property
    def counters(self) -> Counters:
        """What the metrics count."""
        return self._recorder.counters

    def _commit(self, *records: Record) -> None:
        self._recorder.commit(*records)

    # --- the loop -----------------------------------------------------------------------------

    def turn(self) -> float:
        """Take in what came, decide, act.

        :returns: how many seconds may pass before the next turn, if nothing comes in the meantime
        """
        now = self._clocks.monotonic()
        self._follow_clock(now)
        self._collect_poll(now)
        self._collect_approval(now)
        heard = self._members.collect(now)
        self._collect_step()
        self._readiness.turn(self.config.ready_checks, now)
        self._note_time_out(now)
        self._recorder.turn(now)
        self._end_hold()
        self._weigh_approvals(now)
        # A drain by hand has nothing to ask of IMDS; what Azure has announced may be over by now.
        is_by_hand = self._is_known_vm and self.state.tracked and all(one.is_manual for one in self.state.tracked)
        if self._document is not None or is_by_hand:
            self._hold_back(now, heard)
            self._decide(now)
        if self._document is not None:
            self._ask_for_approval(now)
            self._members.ask(now, all_members=self._leaving.is_wanted)
        if now >= self._next_poll:
            known = self._document if self._may_be_quiet() else None
            if self._edges.poll.submit(known):
                self._is_quiet = known is not None
                # From start to start, so that the pace is what was configured, whatever an answer takes.
                self._next_poll = max(self._next_poll + self.config.imds.poll_interval, now)
        return self._seconds_to_sleep(now)

    def stop(self) -> None:
        """End what is running. It is taken up again at the next start."""
        if self._running is not None:
            self._running.end("the agent is stopping")
        self._checks.stop()
        self._readiness.stop()
        self._edges.watch(-1)

    def is_idle(self) -> bool:
        """Whether no step is under way."""
        return (
            (self._running is None or self._running.poll() is not None)
            and self._checks.is_idle()
            and self._readiness.is_idle()
        )

    def obey(self, asked: Mapping[str, Any]) -> str:
        """Do what somebody on this machine asks for by hand, once it is written down.

        :returns: how things are then
        :raises RequestError: if it cannot be done
        """
        self._commit(*records_of(self.state, asked, self._clocks.wall()))
        # Whoever asks means this machine.
        self._is_known_vm = True
        if asked.get("request") == RESTORE:
            self._recorder.note(identity_trouble=None)
        self._recorder.note_records()
        # Before anybody asks whether this machine is willing.
        self._weigh_approvals(self._clocks.monotonic())
        rules = self.config.rules
        agreed = [one for one in shared_events(self.state, rules) if is_ready(one, plan_of(rules, one))]
        said = answer_to(self.state, asked, agreed, self.config.quorum)
        if self._recorder.health.journal_trouble is not None:
            said += (
                "; the agent will have forgotten it when it starts again: %s" % self._recorder.health.journal_trouble
            )
        return "dry run: would be: " + said if self.config.dry_run else said

    def note_hook(self, work: Work, hook: str) -> None:
        """Note that one of a step's hooks has succeeded, before the next begins: it is not run again with the step."""
        self._commit(hook_ended(work, hook))
        if self._retry is not None and work.stage != RESTORE and self._retry.work.is_same_as(work):
            self._retry = self._retry._replace(tries_end=self._retry.ends, is_for_next_hook=True)

    # --- what others see ----------------------------------------------------------------------

    def respond(self, path: str) -> Optional[Tuple[int, str, bytes]]:
        """Answer one HTTP request; None for a path that is not there."""
        if path == "/readyz":
            why_out = "out of rotation" if self.state.is_out else None
            if why_out is None and self._readiness.failing:
                why_out = "not ready: %s" % plain(", ".join(self._readiness.failing))
            text = why_out or "in rotation"
            if self.config.dry_run:
                text, why_out = "in rotation; dry run: would be %s" % text, None
            return 200 if why_out is None else 503, "text/plain; charset=utf-8", text.encode("utf-8") + b"\n"
        if path == "/healthz":
            lines = ["running", *self.troubles]
            return 200, "text/plain; charset=utf-8", "".join(line + "\n" for line in lines).encode("utf-8")
        if path == "/status":
            return 200, "application/json", json.dumps(self.status(), indent=1, sort_keys=True).encode("ascii") + b"\n"
        if path == "/metrics":
            unwritten = len(self._edges.journal.unwritten)
            heard = self._edges.heard
            self.counters.add("foghorn_polls_total", heard.unchanged - self._counted_polls, result="answered")
            self._counted_polls = heard.unchanged
            text = render(self.status(), heard.last_answer or 0.0, unwritten, self.counters)
            return 200, "text/plain; version=0.0.4", text.encode("utf-8")
        return None

    def status(self) -> Dict[str, Any]:
        """What `/status` answers."""
        work = self._running.work if self._running else None
        now = datetime.fromtimestamp(self._clocks.wall(), timezone.utc)
        health = self._current_health()._replace(last_answer=self._edges.heard.last_answer)
        return describe(
            self.state,
            self.config.rules,
            work,
            health,
            now,
            self._withheld,
            self._members.waiting(),
            self._readiness.describe(),
            self._failing(),
            self.config.dry_run,
            self._without_plan,
            dict(self._leaving.describe(), rotation_seconds=self._seconds_in_rotation()),
        )

    def _failing(self) -> List[Failing]:
        """The steps that have failed: for good, and lately."""
        found = failures(self.state)
        retry = self._retry
        if retry is not None and not retry.is_for_next_hook and is_wanted(self.state, self.config.rules, retry.work):
            work, is_running = retry.work, self._running is not None and self._running.work.is_same_as(retry.work)
            found.append(
                Failing(
                    work.event.event_id,
                    work.stage,
                    work.step.name,
                    retry.outcome.reason,
                    None if is_running else retry.next_try,
                    True,
                )
            )
        return found

    def _note_time_out(self, now: float) -> None:
        is_in = not (self.state.is_out or self._readiness.failing)
        if is_in is not self._was_in:
            self._was_in, self._in_since = is_in, now
        if not self.state.is_out:
            self._out_since, self._is_said_long = None, False
        elif self._out_since is None:
            self._out_since = now
        elif not self._is_said_long and now - self._out_since >= SHORTEST_GRACE_OF_REPAIRS:
            self._is_said_long = True
            self._edges.log(
                levels.WARNING,
                "out of rotation for %d minutes: a scale set with automatic instance repairs may take this machine for "
                "broken and replace it. Suspend the repairs, or protect the instance"
                % (SHORTEST_GRACE_OF_REPAIRS / 60),
            )

    @property
    def troubles(self) -> List[str]:
        """What is wrong now with what the agent needs, and with what it does, a line for each thing."""
        dry = ["dry run: nothing is done"] if self.config.dry_run else []
        return dry + troubles(self._current_health()) + [as_failure(one) for one in self._failing()]

    def _current_health(self) -> Health:
        """With the doubts that come and go with the state."""
        if not self.state.tracked:
            return self._recorder.health
        old = self._members.old_words()
        doubts = ["what %s said last is too old to go by" % ", ".join(old) if old else None, self._leaving.trouble]
        return self._recorder.health._replace(
            identity_trouble=self._recorder.health.identity_trouble or doubt_about_name(self.state),
            members_trouble="; ".join(doubt for doubt in doubts if doubt) or None,
        )

    def _seconds_in_rotation(self) -> Optional[float]:
        return round(self._clocks.monotonic() - self._in_since, 3) if self._was_in else None

    # --- how it is run ------------------------------------------------------------------------

    def note_endpoint(self, trouble: Optional[str]) -> None:
        """Note where the endpoint cannot listen, for whoever asks; None once it can."""
        self._recorder.note(endpoint_trouble=trouble)

    def note_configuration(self, trouble: Optional[str], modified: Optional[float]) -> None:
        """Note what was made of the configuration's file.

        :param trouble: what is wrong with it, so that another one is used; None once it is good
        :param modified: when it was written, in seconds since the epoch
        """
        self._recorder.note(configuration_trouble=trouble, configuration_modified=modified)

    def note_dry_run(self, is_wanted: bool) -> None:
        """Note whether a dry run is to begin as soon as this machine is in rotation."""
        self._is_last_before_dry_run = is_wanted

    def use(self, config: Config) -> None:
        """Go on with another configuration, from the next turn on. What is running and still wanted goes on."""
        self._recorder.config = config
        self._note_policies()
        self._settled = None
        # When each event's work has to be done, and begins, is found anew: both depend on its plan.
        self._deadlines.forget_plans()
        if self._document is not None:
            self._deadlines.find(self._clocks.monotonic())

    # --- taking in ----------------------------------------------------------------------------

    def _collect_poll(self, now: float) -> None:
        for result in self._edges.poll.collect():
            if isinstance(result, Poll):
                self.counters.add("foghorn_polls_total", result="answered")
                self._take_in(result, now)
            else:
                self.counters.add("foghorn_polls_total", result="failed")
                self._note_trouble(result)

    def _take_in(self, poll: Poll, now: float) -> None:
        wall = self._clocks.wall()
        if self._recorder.health.trouble is not None:
            self._edges.log(levels.NOTICE, "IMDS answers again")
        self._recorder.note(trouble=None)
        if not poll.is_identity_new and renamed(self.state, poll.document):
            # Before it is made of it that the event is over for this machine.
            self._edges.heard.is_identity_wanted = True
            return
        vm_id = poll.vm_id or self.state.vm_id
        if is_another_vm(self.state.vm_id, vm_id):
            text = told_of_original(self.state)
            self._edges.log(levels.WARNING, text)
            self._recorder.note(identity_trouble=text if self.state.is_out else None)
        if (vm_id, poll.vm_name) != (self.state.vm_id, self.state.vm_name):
            self._commit({"kind": "identity", "vm_id": vm_id, "vm_name": poll.vm_name})
        self._is_known_vm = True
        in_doubt = self._is_in_doubt(poll.document, now)
        self._commit(*observe(self.state, poll.document, wall, in_doubt, self._missed(poll.document, now, wall)))
        told = () if self._document is None else self._document.events
        for event in poll.document.events:
            if event.is_of_unknown_vms and event not in told:
                self._edges.log(
                    levels.WARNING,
                    "which machines the %s %s hits cannot be read: nobody approves it, and nothing is taken for over"
                    " that it may be" % (event.event_type, event.event_id),
                )
        self._note_survival(now)
        self._document = poll.document
        if self._is_quiet:
            self._next_poll = poll.began + self.config.imds.poll_interval
        self._deadlines.find(now)

    def _may_be_quiet(self) -> bool:
        """Whether a document that is the one before would change nothing."""
        return not self.state.tracked and self._doubt_until is None and self._recorder.health.trouble is None

    def _is_in_doubt(self, document: Document, now: float) -> bool:
        if restarted(self._document or remembered(self.state), document):
            self._doubt_until = now + SECONDS_OF_DOUBT
            if not self.state.in_doubt:
                self._commit({"kind": "doubt"})
        elif self.state.in_doubt and self._doubt_until is None:
            # How long it had lasted when the agent ended is not known, nor how long ago that was.
            self._doubt_until = now + SECONDS_OF_DOUBT
        # It has its full length, whatever is listed in the meantime, and under which number.
        if self._doubt_until is not None and now >= self._doubt_until:
            self._doubt_until = None
        return self._doubt_until is not None

    def _missed(self, document: Document, now: float, wall: float) -> List[str]:
        """The events that are not listed, and not over either: they may take this machine away now, or yet."""
        listed = {event.event_id.lower() for event in document.events}
        gone = {
            one.event_id: seconds_to_miss(one, self.config.rules, wall)
            for one in self.state.tracked
            if one.event_id.lower() not in listed
        }
        self._gone_since = {event_id: self._gone_since.get(event_id, now) for event_id in gone}
        return [event_id for event_id, seconds in gone.items() if now - self._gone_since[event_id] < seconds]

    def _follow_clock(self, now: float) -> None:
        """Have all that goes by the wall clock go by it as it is now, should somebody have put it right."""
        step = self._steps.look()
        if not step:
            return
        text = "the wall clock was put %s by %.0f s" % ("on" if step > 0 else "back", abs(step))
        concerned = bool(self.state.tracked or self.state.hold)
        if self.state.hold is not None:
            self._commit({"kind": "clock", "by": step})
        self._settled = None
        self._deadlines.forget_starts()
        if self._document is not None:
            self._deadlines.find(now)
        if concerned:
            text += ": deadlines go by it as it is now, and a hold keeps its length"
            self._recorder.note(clock_trouble=text)
        self._edges.log(levels.WARNING if concerned else levels.NOTICE, text)

    def _note_policies(self) -> None:
        has_hooks = any(self._edges.has_hooks(stage) for stage in (DRAIN, SHUTDOWN))
        self._recorder.note(policies_trouble=doubt_about_policies(self.config.rules, has_hooks))

    def _note_survival(self, now: float) -> None:
        ended_events = [one for one in self.state.tracked if one.is_final]
        self._ended_since = {one.event_id: self._ended_since.get(one.event_id, now) for one in ended_events}
        for event_id, since in self._ended_since.items():
            if now - since >= SECONDS_TO_SURVIVE:
                self._commit({"kind": "survived", "event_id": event_id})

    def _note_trouble(self, error: BaseException) -> None:
        if self._recorder.health.trouble is None:
            self._edges.log(levels.WARNING, "IMDS cannot be read: %s" % error)
        self._recorder.note(trouble=str(error))
        if isinstance(error, OutOfTime) and error.retry_after is not None:
            wait = min(error.retry_after, _LONGEST_OBEDIENCE)
            self._next_poll = max(self._next_poll, self._clocks.monotonic() + wait)

    def _collect_step(self) -> None:
        if self._running is None:
            return
        outcome = self._running.poll()
        if outcome is None:
            self._edges.watch(self._running.fileno)
            return
        work, was_taken_over = self._running.work, self._is_taken_over
        self._let_go()
        if not was_taken_over:
            self._note_outcome(work, outcome)

    def _let_go(self) -> None:
        self._running = None
        self._is_taken_over = False
        self._edges.watch(-1)

    def _note_outcome(self, work: Work, outcome: StepOutcome) -> None:
        one = self.state.find(work.event.event_id)
        if one is None:
            return
        if work.is_look:
            # Written down before it is stopped: afterwards nobody could tell.
            self._commit(found(work, outcome))
            return
        again_in = self._schedule_retry(work, outcome)
        if again_in is not None and work.stage != RESTORE:
            self._count_step(work, "tried again")
            self._commit(tried(work, outcome))
            self._edges.log(
                levels.WARNING,
                "%s: %s failed: %s; it is tried again in %g s" % (work.stage, work.step.name, outcome.reason, again_in),
                event_id=work.event.event_id,
            )
            return
        self._end_tries(one, work, outcome, self._tries_end)

    def _schedule_retry(self, work: Work, outcome: StepOutcome) -> Optional[float]:
        """Have a step tried again that failed by itself, as long as its time allows; a restore for ever."""
        before = self._retry if self._retry is not None and self._retry.work.is_same_as(work) else None
        if before is not None and work.stage != RESTORE and before.outcome.hook != outcome.hook:
            before = None
        waited = 0.0 if before is None else before.wait
        self._retry = None
        if outcome.succeeded or outcome.cut_off:
            return None
        is_restore = work.stage == RESTORE
        shortest, longest = (_RESTORE_RETRY, _LONGEST_RESTORE_RETRY) if is_restore else (_STEP_RETRY, _LONGEST_RETRY)
        wait = min(longest, max(shortest, 2 * waited))
        now = self._clocks.monotonic()
        again_at = now + wait
        tries_end = self._share_ends(work, outcome, now) if before is None else before.tries_end
        if not is_restore and again_at >= tries_end:
            return None
        self._retry = Retry(work, outcome, again_at, wait, self._tries_end, tries_end, self._clocks.wall() + wait)
        return wait

    def _share_ends(self, work: Work, outcome: StepOutcome, now: float) -> float:
        """Until when a step, or the hook of it that has failed, is tried again."""
        if not outcome.hooks_left:
            return self._tries_end
        # The deadline may have come nearer since the step began; after it, a step has as much time as without one.
        left = self._deadlines.left(work.event.event_id, now)
        ends = self._tries_end if left is None or left <= 0 else min(self._tries_end, now + left)
        return share_of(outcome, now, ends)

    def _end_tries(self, one: Tracked, work: Work, outcome: StepOutcome, ends: float) -> None:
        """A step is not tried again. If that was one of its hooks, the others still have their turn.

        :param ends: when the time of the step is up, on the monotonic clock
        """
        now = self._clocks.monotonic()
        is_last = not outcome.hooks_left or now >= ends
        stops = plan_of(self.config.rules, one).on_failure == STOP and not outcome.cut_off
        if outcome.succeeded or is_last or stops or work.stage == RESTORE:
            self._conclude(one, work, outcome)
            return
        self._retry = Retry(work, outcome, now, 0.0, ends, ends, self._clocks.wall(), is_for_next_hook=True)
        self._commit(hook_given_up(work, outcome))
        self._edges.log(
            levels.ERROR,
            "%s: %s: hook %s is given up, those after it are run" % (work.stage, work.step.name, outcome.reason),
            event_id=work.event.event_id,
        )

    def _conclude(self, one: Tracked, work: Work, outcome: StepOutcome) -> None:
        plan = plan_of(self.config.rules, one)
        if work.stage != RESTORE:
            outcome = with_hooks_given_up(work, plan, one.progress(work.stage).hook_failures, outcome)
        result = "succeeded" if outcome.succeeded else "failed"
        self._count_step(work, result)
        self._commit(ended(work, plan, outcome))
        self._edges.log(
            levels.INFO if outcome.succeeded else levels.ERROR,
            "%s: %s %s in %.1f s%s"
            % (work.stage, work.step.name, result, outcome.seconds, ": " + outcome.reason if outcome.reason else ""),
            event_id=work.event.event_id,
        )

    def _count_step(self, work: Work, result: str) -> None:
        if self.config.dry_run:
            self.counters.add("foghorn_dry_run_would_total", what=work.stage)
        else:
            self.counters.add("foghorn_steps_total", stage=work.stage, result=result)

    # --- deciding and acting ------------------------------------------------------------------

    def _hold_back(self, now: float, heard: Optional[Round]) -> None:
        early = self._deadlines.too_early(self._withheld, now)
        is_in = not self.state.is_out and self._document is not None
        self._held_back = self._leaving.turn(now, is_in, early, heard)

    def _decide(self, now: float) -> None:
        waiting = self._deadlines.too_early(self._withheld, now) | self._held_back
        if self.state is self._settled and waiting == self._settled_waiting:
            return
        rules = self.config.rules
        while True:
            self._commit(*transitions(self.state, rules, waiting))
            work = next_work(self.state, rules, self._deadlines.all_left(now), waiting)
            is_waiting = False
            if work is not None and self._retry is not None and self._retry.work.is_same_as(work):
                is_running = self._running is not None and self._running.work.is_same_as(work)
                if work.stage != RESTORE and now >= self._retry.tries_end and not is_running:
                    # Another event had its turn in the meantime.
                    self._give_up(self._retry)
                    continue
                is_waiting = now < self._retry.again_at
                work = None if is_waiting else self._within_its_time(work, self._retry, now)
            if self._running is not None:
                if self._running.work.is_same_as(work) and not self._is_taken_over:
                    self._tighten(now)
                    return
                self._take_over(self._running, work)
                if self._running.poll() is None:
                    return
                self._let_go()
            if work is None:
                # Until something new is known, there is nothing to decide. A restore may only be waiting.
                self._settled, self._settled_waiting = None if is_waiting else self.state, waiting
                return
            running = self._begin(work)
            outcome = running.poll()
            if outcome is None:
                return
            # It took no time at all, so that the next may begin in this very turn.
            self._let_go()
            self._note_outcome(work, outcome)

    def _give_up(self, retry: Retry) -> None:
        one = self.state.find(retry.work.event.event_id)
        self._retry = None
        if one is not None and retry.is_for_next_hook:
            no_time = StepOutcome(False, "no time is left for the other hooks", None, "", 0.0, cut_off=True)
            self._conclude(one, retry.work, no_time)
        elif one is not None:
            self._end_tries(one, retry.work, retry.outcome, retry.ends)

    def _within_its_time(self, work: Work, retry: Retry, now: float) -> Work:
        """The same, with no more time than the tries before have left it."""
        if work.stage == RESTORE:
            return work
        share = None if retry.is_for_next_hook else retry.tries_end - now
        return work._replace(seconds=min(work.seconds, retry.ends - now), hook_seconds=share)

    def _begin(self, work: Work) -> Running:
        if not work.is_look:
            self._commit(_step_begun(work, undo_with(self.config.rules, work, self.state.find(work.event.event_id))))
            work = work._replace(hooks_done=self.state.progress(work.event.event_id, work.stage).hooks)
        is_retried = self._retry is not None and self._retry.work.is_same_as(work)
        if self._retry is None or not is_retried:
            self._tries_end = self._clocks.monotonic() + work.seconds
        else:
            self._tries_end = self._retry.ends
        self._running = self._edges.start_step(work, self.state.vm_name or "")
        self._running_until = self._deadlines.of(work.event.event_id)
        self._edges.watch(self._running.fileno)
        return self._running

    def _take_over(self, running: Running, work: Optional[Work]) -> None:
        """End what is running in favour of this work, which begins once it has ended: no two steps run side by side."""
        is_eviction = work is not None and work.stage != RESTORE and work.event.event_type == "Preempt"
        reason = "its event is over" if work is None or work.stage == RESTORE else "taken over by a more urgent event"
        if not self._is_taken_over:
            self._is_taken_over = True
            message = "%s: %s is ended: %s" % (running.work.stage, running.work.step.name, reason)
            self._edges.log(levels.NOTICE, message, event_id=running.work.event.event_id)
        running.end(reason, _GRACE_BEFORE_EVICTION if is_eviction else None)

    def _tighten(self, now: float) -> None:
        assert self._running is not None
        work = self._running.work
        deadline = self._deadlines.of(work.event.event_id)
        if work.stage == RESTORE or deadline is None:
            return
        if self._running_until is None or deadline < self._running_until:
            self._running_until = deadline
            self._running.shorten(max(0.0, deadline - now))

    def _end_hold(self) -> None:
        hold = self.state.hold
        if hold is not None and hold.until is not None and self._clocks.wall() >= hold.until:
            self._commit({"kind": "released"})

    def _weigh_approvals(self, now: float) -> None:
        """Find out which events are not to be approved now, whatever is ready, and why."""
        if not self.state.tracked and not self._checks.is_busy:
            self._withheld = {}
            self._without_plan = frozenset()
            return
        self._note_without_plan()
        candidates = awaiting_approval(self.state, self.config.rules)
        self._checks.turn([Wanted(one, plan) for one, plan in candidates if plan.check], now)
        wall = self._clocks.wall()
        withheld: Dict[str, str] = {}
        for one, plan in candidates:
            reason = None
            if self._is_last_before_dry_run:
                reason = "a dry run is wanted"
            if reason is None and self.state.is_incomplete:
                reason = "records of the journal are missing"
            if reason is None and self.state.hold is not None:
                reason = "held by hand until %s" % end_of(self.state.hold.until)
            if reason is None and plan.approve_between:
                reason = why_closed(plan.approve_between, wall, self._clocks_of_zones())
            if reason is None and one.event_id in self._without_plan:
                reason = nothing_configured_for(one.event.event_type)
            if reason is None and plan.check:
                reason = self._checks.trouble_with(one.event_id)
            if reason is not None:
                withheld[one.event_id] = reason
            if reason != self._withheld.get(one.event_id):
                message = "may be approved from now on" if reason is None else "is not approved now: %s" % reason
                self._edges.log(levels.NOTICE, "%s %s" % (one.event.event_type, message), event_id=one.event_id)
        self._withheld = withheld

    def _note_without_plan(self) -> None:
        found = set()
        hooks: Dict[str, bool] = {}

        def has_hooks(stage: str) -> bool:
            # Looked for once in a turn, however many events there are.
            if stage not in hooks:
                hooks[stage] = self._edges.has_hooks(stage)
            return hooks[stage]

        for one in self.state.tracked:
            plan = plan_of(self.config.rules, one)
            if one.over or one.is_manual or not has_nothing_to_do(one, plan, has_hooks):
                continue
            found.add(one.event_id)
            # The others are said to be withheld.
            if plan.approve == NEVER and one.event_id not in self._without_plan:
                message = nothing_configured_for(one.event.event_type)
                self._edges.log(levels.NOTICE, message, event_id=one.event_id)
        self._without_plan = frozenset(found)

    def _clocks_of_zones(self) -> Any:
        # Only here: most policies may approve at any time.
        from foghorn_core.maintenance_policy.zones import LocalTime

        self._local_time = self._local_time or LocalTime()
        return self._local_time

    def _ask_for_approval(self, now: float) -> None:
        if self._edges.approve.is_busy:
            return
        members = self._members
        ready = to_approve(self.state, self.config.rules, members.words, members.silent, self._withheld, members.stale)
        self._approvals.keep({one.event_id for one in self.state.tracked})
        due = self._approvals.due([event.event_id for event in ready], now)
        if not due or not self._recorder.is_up_to_date:
            return
        if self.config.dry_run:
            self._say_what_would_be_approved([event for event in ready if event.event_id in due])
            return
        # Written down before it is sent: after a crash it is known that Azure may have heard it.
        self._commit({"kind": "approving", "event_ids": due})
        if self._edges.journal.unwritten:
            return
        self._approvals.send(due)
        self._edges.approve.submit(due)

    def _say_what_would_be_approved(self, due: Sequence[Event]) -> None:
        for event in due:
            self.counters.add("foghorn_dry_run_would_total", what="approve")
            self._edges.log(levels.NOTICE, "would approve %s" % event.event_type, event_id=event.event_id)
            # Once is enough.
            self._approvals.end(event.event_id)

    def _collect_approval(self, now: float) -> None:
        for result in self._edges.approve.collect():
            if isinstance(result, BaseException):
                self.counters.add("foghorn_approvals_total", result="failed")
                self._edges.log(levels.ERROR, "the approval did not arrive, and will be sent again: %s" % result)
                self._approvals.fail(result, now)
            else:
                self.counters.add("foghorn_approvals_total", result="accepted")
                self._approvals.arrive(result, now)
                self._commit({"kind": "approved", "event_ids": list(result)})

    # --- sleeping -----------------------------------------------------------------------------

    def _seconds_to_sleep(self, now: float) -> float:
        seconds = self._seconds_to_act(now)
        looks = self._readiness.seconds_to_next(now)
        return seconds if looks is None else min(seconds, looks)

    def _seconds_to_act(self, now: float) -> float:
        if self._running is not None or self._checks.is_busy:
            # Limits, pauses and counts of connections are checked at least twice a second.
            return 0.2
        if self._retry is not None and now < self._retry.again_at:
            return min(_LONGEST_SLEEP, self._retry.again_at - now)
        if self._edges.poll.is_busy:
            # The next poll has to wait for the answer, which wakes the loop.
            is_idle = self._is_quiet and self._recorder.is_up_to_date
            return _LONGEST_IDLE_SLEEP if is_idle else _LONGEST_SLEEP
        return max(0.0, min(_LONGEST_SLEEP, self._next_poll - now))


def _step_begun(work: Work, undo: Optional[Undo]) -> Record:
    record: Record = {
        "kind": "step_begun",
        "event_id": work.event.event_id,
        "stage": work.stage,
        "name": work.step.name,
        "seconds": round(work.seconds, 3),
    }
    return record if undo is None else dict(record, undo=undo_as_json(undo))
