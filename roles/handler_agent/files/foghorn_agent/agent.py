# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The main loop of the agent.

One loop: take in what came, decide, write down, and act when that is written. Nothing in it waits for anything but
the selector, so that a slow step, a silent IMDS, a hostile client or a disk that hangs cannot keep an eviction from
being noticed.
"""

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .act.readiness import Readiness
from .act.running import Running
from .act.work_at_hand import SECONDS_TO_LOOK_AGAIN, WorkAtHand
from .announcements import Announcements
from .answers import Answers
from .approvals import Approvals
from .config import Config
from .deadlines import Deadlines
from .decide.decisions import Work, is_ready, plan_of
from .decide.doubts import doubt_about_policies
from .decide.manual import answer_to, records_of
from .decide.policy import DRAIN, RESTORE, SHUTDOWN
from .decide.quorum import shared_events
from .decide.state import Record, State
from .http.metrics import Counters
from .io import log as levels
from .io.clock import Clocks, Steps
from .io.disk import Disk
from .io.imds_session import PollStats
from .io.journal import Journal
from .io.log import Log
from .io.workers import Worker
from .leaving import Leaving
from .members_state import MembersState, Round
from .recorder import Recorder

_LONGEST_SLEEP = 1.0  # seconds
_LONGEST_IDLE_SLEEP = 10.0  # seconds, while the poll goes on by itself


class Ports(NamedTuple):
    """What the loop acts through."""

    journal: Journal
    """Open already, unless it could not be opened: then the agent tries again, and approves nothing meanwhile."""
    disk: Disk
    """What writes it."""
    poll: Worker
    """Around `ImdsSession.poll`."""
    poll_stats: PollStats
    """The same session's."""
    approve: Worker
    """Around `ImdsSession.approve`, of a session of its own."""
    members: Worker
    """Around `MembersSession.ask`."""
    start_step: Callable[[Work, str], Running]
    """Starts a step, for the VM of this name."""
    has_hooks: Callable[[str], bool]
    """Whether the directory of this stage has a hook to run."""
    watch: Callable[[int], None]
    """Wakes the loop when this descriptor becomes readable, and no longer for the one before; -1 is none."""
    log: Log
    notify: Callable[[Record, State], None]
    """Receives each record that others may want to know of, and the state after it."""


class Agent:
    """The loop and everything it holds.

    :param state: what the journal's records amount to
    :param boot_id: of the machine as it runs now; None where there is no such thing
    """

    def __init__(self, config: Config, clocks: Clocks, edges: Ports, state: State, boot_id: Optional[str]) -> None:
        self._recorder = Recorder(config, clocks, edges.journal, edges.disk, edges.log, edges.notify, state)
        self._clocks = clocks
        self._edges = edges
        self._members = MembersState(self._recorder, edges.members)
        self._deadlines = Deadlines(self._recorder)
        self._work = WorkAtHand(self._recorder, self._deadlines, edges.start_step, edges.watch)
        self._approvals = Approvals(self._recorder, self._members, edges.approve, edges.start_step, edges.has_hooks)
        self._leaving = Leaving(self._recorder, self._deadlines, self._members)
        self._readiness = Readiness(clocks.monotonic, edges.log)
        self._steps = Steps(clocks)
        # Events were tracked before the machine booted, or IMDS has to confirm the name.
        is_known_vm = boot_id == state.boot_id or not state.tracked
        self._announcements = Announcements(self._recorder, self._deadlines, edges.poll, edges.poll_stats, is_known_vm)
        self._answers = Answers(
            self._recorder, edges.poll_stats, self._members, self._work, self._approvals, self._leaving, self._readiness
        )
        self._recorder.note_records()
        self._note_policies()
        if boot_id != state.boot_id:
            self._recorder.commit({"kind": "boot" if state.boot_id is not None else "first_start", "boot_id": boot_id})

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._recorder.config

    @property
    def state(self) -> State:
        """The state: everything that is known."""
        return self._recorder.state

    @property
    def counters(self) -> Counters:
        """What the metrics count."""
        return self._recorder.counters

    # --- the loop -----------------------------------------------------------------------------

    def turn(self) -> float:
        """Take in what came, decide, act.

        :returns: how many seconds may pass before the next turn, if nothing comes in the meantime
        """
        try:
            return self._turn()
        finally:
            self._recorder.write(self._clocks.monotonic())

    def _turn(self) -> float:
        now = self._clocks.monotonic()
        self._recorder.collect()
        if self._recorder.is_read_anew:
            self._recorder.is_read_anew = False
            self._announcements.begin_anew()
        self._follow_clock(now)
        self._announcements.collect(now)
        self._approvals.collect(now)
        heard = self._members.collect(now)
        self._work.collect()
        self._readiness.turn(self.config.ready_checks, now)
        self._answers.turn(now)
        self._end_hold()
        self._approvals.weigh(now)
        self._act(now, heard)
        self._announcements.ask(now)
        return self._seconds_to_sleep(now)

    def stop(self) -> None:
        """End what is running. It is taken up again at the next start."""
        self._work.stop()
        self._approvals.checks.stop()
        self._approvals.still_down.stop()
        self._readiness.stop()
        self._edges.watch(-1)

    def is_idle(self) -> bool:
        """Whether no step is under way. What has become of steps is given to the disk."""
        self._recorder.collect()
        looks = (self._work, self._approvals.checks, self._approvals.still_down, self._readiness)
        is_idle = all(each.is_idle() for each in looks)
        self._recorder.write(self._clocks.monotonic())
        return is_idle

    @property
    def may_act(self) -> bool:
        """Whether all that was decided is written down, or cannot be."""
        return self._recorder.may_act

    def handle_command(self, asked: Mapping[str, Any]) -> Callable[[], Optional[str]]:
        """Carry out a request that somebody on this machine made by hand.

        :returns: what says how things are then, once that is written down; None before
        :raises RequestError: if it cannot be done
        """
        self._recorder.commit(*records_of(self.state, asked, self._clocks.wall()))
        # A request by hand is always about this machine.
        self._announcements.is_known_vm = True
        if asked.get("request") == RESTORE:
            self._recorder.note(identity_problem=None)
        self._recorder.note_records()
        # Decided before other members ask whether this machine is willing.
        self._approvals.weigh(self._clocks.monotonic())
        rules = self.config.rules
        agreed = [one for one in shared_events(self.state, rules) if is_ready(one, plan_of(rules, one))]
        said = answer_to(self.state, asked, agreed, self.config.quorum)
        said = "dry run: would be: " + said if self.config.dry_run else said

        def say() -> Optional[str]:
            problem = self._recorder.health.journal_problem
            if problem is not None:
                return "%s; it is lost when the agent restarts: %s" % (said, problem)
            return said if self.may_act else None

        return say

    def note_hook(self, work: Work, hook: str) -> None:
        """Note that one of a step's hooks has succeeded, before the next begins: it is not run again with the step."""
        self._work.note_hook(work, hook)

    # --- what others see ----------------------------------------------------------------------

    def respond(self, path: str) -> Optional[Tuple[int, str, bytes]]:
        """Answer one HTTP request; None for a path that is not there."""
        return self._answers.respond(path)

    def status(self) -> Dict[str, Any]:
        """The document for `/status`."""
        return self._answers.status()

    @property
    def problems(self) -> List[str]:
        """What is wrong now with what the agent needs, and with what it does, a line for each thing."""
        return self._answers.problems

    # --- how it is run ------------------------------------------------------------------------

    def note_endpoint(self, problem: Optional[str]) -> None:
        """Note that the endpoint cannot listen, and why. None once it can."""
        self._recorder.note(endpoint_problem=problem)

    def note_configuration(self, problem: Optional[str], modified: Optional[float]) -> None:
        """Note what was made of the configuration's file.

        :param problem: what is wrong with it, so that another one is used; None once it is good
        :param modified: when it was written, in seconds since the epoch
        """
        self._recorder.note(configuration_problem=problem, configuration_modified=modified)

    def note_dry_run(self, is_wanted: bool) -> None:
        """Note whether a dry run is to begin as soon as this machine is in rotation."""
        self._approvals.is_last_before_dry_run = is_wanted

    def use(self, config: Config) -> None:
        """Go on with another configuration, from the next turn on. What is running and still wanted goes on."""
        self._recorder.config = config
        self._note_policies()
        # When each event's work has to be done, and begins, is found anew: both depend on its plan.
        self._deadlines.forget()
        if self._announcements.document is not None:
            self._deadlines.find(self._clocks.monotonic())

    # --- what the loop does itself ------------------------------------------------------------

    def _follow_clock(self, now: float) -> None:
        """Adjust everything that depends on the wall clock after the clock was corrected."""
        step = self._steps.look()
        if not step:
            return
        text = "the wall clock was set %s by %.0f s" % ("forward" if step > 0 else "back", abs(step))
        concerned = bool(self.state.tracked or self.state.hold)
        self._recorder.commit({"kind": "clock", "by": step})
        self._deadlines.forget()
        if self._announcements.document is not None:
            self._deadlines.find(now)
        if concerned:
            text += ": deadlines follow the new time, and a hold keeps its length"
            self._recorder.note(clock_problem=text)
        self._recorder.log(levels.WARNING if concerned else levels.NOTICE, text)

    def _note_policies(self) -> None:
        has_hooks = any(self._edges.has_hooks(stage) for stage in (DRAIN, SHUTDOWN))
        self._recorder.note(policies_problem=doubt_about_policies(self.config.rules, has_hooks))

    def _act(self, now: float, heard: Optional[Round]) -> None:
        document, tracked = self._announcements.document, self.state.tracked
        # A drain by hand needs no answer from IMDS. Events announced by Azure may be over by now.
        is_by_hand = self._announcements.is_known_vm and tracked and all(one.is_manual for one in tracked)
        if document is not None or is_by_hand:
            early = self._deadlines.too_early(self._approvals.withheld, now)
            self._work.decide(now, early | self._leaving.turn(now, early, heard))
        if document is not None:
            self._approvals.ask(now)
            self._members.ask(now, all_members=self._leaving.is_wanted)

    def _end_hold(self) -> None:
        hold = self.state.hold
        if hold is not None and hold.until is not None and self._clocks.wall() >= hold.until:
            self._recorder.commit({"kind": "released"})

    def _seconds_to_sleep(self, now: float) -> float:
        seconds = self._seconds_to_act(now)
        looks = self._readiness.seconds_to_next(now)
        return seconds if looks is None else min(seconds, looks)

    def _seconds_to_act(self, now: float) -> float:
        if self._approvals.checks.is_busy or self._approvals.still_down.is_busy:
            return SECONDS_TO_LOOK_AGAIN
        work = self._work.seconds_to_act(now)
        if work is not None:
            return min(_LONGEST_SLEEP, work)
        poll = self._announcements.seconds_to_ask(now)
        if poll is not None:
            return min(_LONGEST_SLEEP, poll)
        # The next poll waits for the answer, which wakes the loop.
        is_idle = self._announcements.is_quiet and self._recorder.is_up_to_date
        return _LONGEST_IDLE_SLEEP if is_idle else _LONGEST_SLEEP
