# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines, their Azure and their agents, in memory: time moves only when told, an agent can be killed anywhere.

The machines keep the promises: whoever breaks one (approves what is not ready, restores in the middle of
maintenance, restores what was not removed) is told so at once, by an AssertionError.

Runs on Python 3.6 and later.
"""

import json
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, cast

from ansible_collections.foghorn.azure_events.tests.sizes import sample
from foghorn_agent.act.running import Running
from foghorn_agent.agent import Agent, Ports
from foghorn_agent.config import parse_config
from foghorn_agent.decide.decisions import Work
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.decide.policy import CHECK, DRAIN, HOOKS, RESTORE, SHUTDOWN
from foghorn_agent.decide.quorum import ANOTHER_MACHINE
from foghorn_agent.decide.state import State, replay
from foghorn_agent.http.members import Job, MemberError
from foghorn_agent.io.clock import Clocks
from foghorn_agent.io.imds_session import Poll, PollStats
from foghorn_agent.io.journal import JournalError
from foghorn_core.scheduled_events.document import Document
from foghorn_core.scheduled_events.errors import OutOfTime, Refused
from foghorn_core.scheduled_events.event import Event, NameKey, name_key

VM_NAME = "web_0"
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)
LONGEST_REHEARSAL = 2000  # seconds
MOST_TURNS = 100  # of an agent in a second of these
# What becomes of a machine that Azure takes away.
DELETED = "deleted"
DEALLOCATED = "deallocated"  # and started again some time later, with its disk
UNHARMED = "unharmed"

STEP_SECONDS = {"deregister": 3.0, "wait": 2.0, "stop": 4.0, "flush": 3.0, "start": 3.0, "register": 2.0, "hooks": 1.0}
POLICY: Dict[str, Any] = {
    # Windows runs no file of another name.
    "drain": [
        {"command": ["/bin/deregister.exe"], "name": "deregister"},
        {"command": ["/bin/wait.exe"], "name": "wait"},
    ],
    "shutdown": [{"command": ["/bin/stop.exe"], "name": "stop"}],
    "restore": [
        {"command": ["/bin/start.exe"], "name": "start"},
        {"command": ["/bin/register.exe"], "name": "register"},
    ],
    "approve": "quorum",
    "margin": 2,
}
# Never read: here the members hear each other without a network.
QUORUM = {"secret_file": "/etc/foghorn/members.secret"}
# One that leaves the start to Azure, and does all that it does before at once.
UNAPPROVED: Dict[str, Any] = dict(POLICY, approve="never", begin_before=604800)
# One whose service is a unit of systemd.
UNIT_POLICY: Dict[str, Any] = dict(
    POLICY,
    shutdown=[{"stop": "web", "name": "stop"}],
    restore=[{"start": "web.service", "name": "start"}, POLICY["restore"][1]],
)


class Killed(BaseException):
    """The agent was killed at the point that was chosen."""


class Life(NamedTuple):
    """What is to become of one event. Times are in seconds from its announcement."""

    event_type: str
    notice: float = 120.0
    impact: float = 5.0
    """From the start until the machine runs again."""
    linger: float = 20.0
    """From the start until it is no longer listed."""
    withdrawn_after: Optional[float] = None
    announced_at: float = 3.0
    resources: Tuple[str, ...] = (VM_NAME,)
    event_id: str = "E-1"
    fate: str = DELETED
    """What a Preempt or a Terminate does."""


class Happening:
    """One event of the rehearsed Azure."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.announced: Optional[float] = None
        self.approved = 0
        self.started: Optional[float] = None
        self.ended: Optional[float] = None

    @property
    def is_listed(self) -> bool:
        return self.announced is not None and self.ended is None

    def affects(self, vm_name: str) -> bool:
        return vm_name in self.life.resources

    def as_event(self) -> Event:
        assert self.announced is not None
        event = self._as_event(self.announced)
        return event._replace(not_before=None, duration_in_seconds=None) if event.is_advisory else event

    def _as_event(self, announced: float) -> Event:
        return Event(
            self.life.event_id,
            self.life.event_type,
            "Scheduled" if self.started is None else "Started",
            self.life.resources,
            None if self.started is not None else EPOCH + timedelta(seconds=announced + self.life.notice),
            "Platform",
            "VirtualMachine",
            "rehearsed",
            -1,
        )


class Azure:
    """What announces, begins and ends events, and takes approvals. It shows every machine the same document."""

    def __init__(self, lives: Iterable[Life]) -> None:
        self.now = 0.0
        self.happenings = [Happening(life) for life in lives]
        self.machines: Dict[str, Rehearsal] = {}
        self.incarnation = 1
        self.listed: Tuple[Event, ...] = ()
        self.hidden_until = 0.0

    @property
    def is_over(self) -> bool:
        return all(one.ended is not None for one in self.happenings)

    def tick(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        for one in self.happenings:
            self._advance(one)
        shown = [one for one in self.happenings if one.is_listed] if self.now >= self.hidden_until else []
        listed = tuple(one.as_event() for one in shown)
        if listed != self.listed:
            self.listed = listed
            self.incarnation += 2

    def forget(self, seconds: float) -> None:
        """The service was disabled and is enabled again: it counts from the start, and lists nothing for a while."""
        self.hidden_until = self.now + seconds
        self.listed = ()
        self.incarnation = 1

    def approve(self, event_id: str, vm_name: str) -> None:
        """Take an approval, and judge it."""
        for one in self.happenings:
            if one.life.event_id == event_id:
                assert one.affects(vm_name), "approved an event of others"
                for name in one.life.resources:
                    if name in self.machines:
                        self.machines[name].assert_ready_for(event_id)
                one.approved += 1

    def _advance(self, one: Happening) -> None:
        life = one.life
        if one.announced is None:
            if self.now >= life.announced_at:
                one.announced = self.now
        elif one.ended is not None:
            return
        elif one.started is None:
            if life.withdrawn_after is not None and self.now - one.announced >= life.withdrawn_after:
                one.ended = self.now
            elif one.approved or self.now - one.announced >= life.notice:
                one.started = self.now
                for name in life.resources:
                    if name in self.machines:
                        self.machines[name].suffer(life)
        elif self.now - one.started >= life.linger:
            one.ended = self.now


class Step:
    """A step of the rehearsed machine: takes its time, and then is done."""

    def __init__(self, rehearsal: "Rehearsal", work: Work) -> None:
        self.work = work
        self.fileno = -1
        self._rehearsal = rehearsal
        self._began = rehearsal.now
        self._limit = work.seconds
        self._is_cut = work.is_cut
        self._ends_at: Optional[float] = None
        if not (work.is_look or work.stage == CHECK or rehearsal.config.dry_run):
            rehearsal.step_begins(work)

    def poll(self) -> Optional[StepOutcome]:
        took = self._rehearsal.now - self._began
        if self.work.is_look:
            is_active = self._rehearsal.unit_is_active
            return StepOutcome(is_active, "", "active\n" if is_active else "inactive\n", took)
        if self.work.stage == CHECK:
            self._rehearsal.checks.append((self._rehearsal.now, self.work.step.name))
            is_good = self.work.step.name not in self._rehearsal.failing
            return StepOutcome(is_good, "" if is_good else "exit status 1", "HighLatency fires\n", took)
        if self._rehearsal.config.dry_run:
            return StepOutcome(True, "", "would run", took)
        if self._ends_at is not None:
            return StepOutcome(False, "ended", "", took) if self._rehearsal.now >= self._ends_at else None
        name = self.work.step.name
        is_empty = self.work.step.kind == HOOKS and self.work.stage not in self._rehearsal.stages_with_hooks
        wanted = 0.0 if is_empty else self._rehearsal.step_seconds[name]
        if took >= min(self._limit, wanted):
            if wanted > self._limit or name in self._rehearsal.failing:
                return StepOutcome(False, "exit status 1", "", took, cut_off=wanted > self._limit and self._is_cut)
            if self.work.step.kind == HOOKS and not is_empty:
                self._rehearsal.running.note_hook(self.work, "10-hook")
            self._rehearsal.step_is_done(self.work)
            return StepOutcome(True, "", "", took)
        return None

    def shorten(self, seconds: float) -> None:
        limit = self._rehearsal.now - self._began + seconds
        if limit < self._limit:
            self._limit = limit
            self._is_cut = True

    def end(self, _reason: str, grace_seconds: Optional[float] = None) -> None:
        takes = self._rehearsal.now + min(
            self._rehearsal.dying_seconds, 5.0 if grace_seconds is None else grace_seconds
        )
        self._ends_at = takes if self._ends_at is None else min(self._ends_at, takes)


class Worker:
    """A worker whose job is done between two iterations, unless it is delayed."""

    def __init__(self, rehearsal: "Rehearsal", function: Any) -> None:
        self._rehearsal = rehearsal
        self._function = function
        self._results: List[Any] = []
        self.jobs: List[Any] = []
        self.is_held = False
        self.is_busy = False

    def submit(self, job: Any) -> bool:
        if self.is_busy:
            return False
        self._rehearsal.edge("before" + self._function.__name__)
        self.jobs.append(job)
        self.is_busy = True
        try:
            self._results.append(self._function(job))
        except AssertionError:
            raise
        except Exception as error:  # noqa: BLE001 - as the real one does
            self._results.append(error)
        self._rehearsal.edge("after" + self._function.__name__)
        return True

    def collect(self) -> List[Any]:
        if self.is_held or not self._results:
            return []
        results, self._results = self._results, []
        self._rehearsal.moves += 1
        self.is_busy = False
        return results


class Journal:
    """A journal whose records survive the agent."""

    path = "/var/lib/foghorn-agent/journal.jsonl"
    damaged_path = "/var/lib/foghorn-agent/journal.damaged.jsonl"

    def __init__(self, rehearsal: "Rehearsal") -> None:
        self._rehearsal = rehearsal
        self.is_open = not rehearsal.journal_is_away
        self.is_lost = False

    def open(self) -> List[Any]:
        if self._rehearsal.journal_is_away:
            raise JournalError("the journal is away")
        self.is_open = True
        self.is_lost = False
        return list(self._rehearsal.records)

    def lose(self, found: List[Any]) -> None:
        """Have it replaced by another, of these records."""
        self._rehearsal.records = found
        self.is_lost = True

    def keep_aside(self) -> None:
        self._rehearsal.kept_aside = list(self._rehearsal.records)

    def append(self, *records: Any) -> Optional[str]:
        if self.is_lost:
            return "the journal was removed or replaced"
        if self._rehearsal.disk_is_full:
            return "the journal cannot be written: No space left on device"
        for record in records:
            self._rehearsal.edge("before the record " + record["kind"])
            written = json.loads(json.dumps(record))
            self._rehearsal.records.append(written)
            self._rehearsal.history.append(written)
            if record["kind"] == "step_begun" and record["stage"] != RESTORE:
                # From here on nobody can know whether it had begun when the agent died.
                self._rehearsal.touched = True
        self._rehearsal.edge("after records")
        return None

    @property
    def is_large(self) -> bool:
        longest = self._rehearsal.longest_journal
        return longest is not None and len(self._rehearsal.records) > longest

    def begin_anew(self, summary: List[Any]) -> bool:
        self._rehearsal.edge("before a new journal")
        self._rehearsal.records = json.loads(json.dumps(summary))
        self._rehearsal.edge("after a new journal")
        return True


class Disk:
    """A disk that has done between two iterations what it was asked for, unless it hangs."""

    def __init__(self, rehearsal: "Rehearsal") -> None:
        self._rehearsal = rehearsal
        self._jobs: List[Any] = []
        self.began: Optional[float] = None

    def do(self, job: Any, then: Any = lambda _result: None) -> None:
        self._rehearsal.moves += 1
        self._jobs.append((job, then))
        self.began = self._rehearsal.now if self.began is None else self.began

    def collect(self) -> None:
        while self._jobs and not self._rehearsal.disk_hangs:
            self._rehearsal.moves += 1
            job, then = self._jobs.pop(0)
            self.began = self._rehearsal.now if self._jobs else None
            try:
                result = job()
            except JournalError as error:
                result = error
            then(result)


class Rehearsal:
    """The world around an agent, and the agent in it.

    :param lives: the events to come, where no Azure is given that knows them
    :param kill_at: number of the edge (a write to the journal, a word with IMDS) at which the agent is killed
    :param back_after: seconds until it is started again
    :param azure: shared with other machines
    """

    patience = 3600.0
    """Seconds until something must have become so."""

    def __init__(
        self,
        lives: Sequence[Life] = (),
        kill_at: Optional[int] = None,
        back_after: float = 2.0,
        policy: Any = None,
        vm_name: str = VM_NAME,
        azure: Optional[Azure] = None,
        settings: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.azure = azure or Azure(lives)
        self.azure.machines[vm_name] = self
        self.vm_name = vm_name
        self.vm_id: Optional[str] = "id of " + vm_name
        self.other_name: Optional[str] = None
        """What IMDS calls this VM, where another name is configured."""
        self.wall_step = 0.0
        self.kill_at = kill_at
        self.back_after = back_after
        self.edge_kinds: List[str] = []
        self.moves = 0
        """How often the agent has begun something, or got something back."""
        self.longest_journal: Optional[int] = None
        self.records: List[Dict[str, Any]] = []
        """What the journal holds."""
        self.history: List[Dict[str, Any]] = []
        """All that was ever written to it."""
        self.kept_aside: List[Dict[str, Any]] = []
        """What was kept of one that could not be read."""
        policy = policy or POLICY
        settings = dict(settings or {})
        settings["quorum"] = dict(QUORUM, **settings.get("quorum", {}))
        self.config = parse_config(dict({"policies": [policy]}, **settings))
        self._steps_before = {step["name"] for stage in (DRAIN, SHUTDOWN) for step in policy.get(stage, [])}
        self.step_seconds = dict(STEP_SECONDS)
        self.failing: Set[str] = set()
        self.stages_with_hooks: Set[str] = set()
        """The stages whose directories have a hook."""
        self.disk_is_full = False
        self.disk_hangs = False
        self.journal_is_away = False
        """Whether the journal can neither be read nor written when the agent starts."""
        self.dying_seconds = 0.0
        """How long a step goes on that was told to end, unless it is killed."""
        self.silent = False
        self.lost_answers = 0
        self.refusing = False
        self.is_unreachable = False
        """Whether other agents get no answer of this one."""
        self.boots = 0
        self.deleted = False
        self.agent: Optional[Agent] = None
        self.log: List[Tuple[int, str]] = []
        self.told: List[Dict[str, Any]] = []
        self._down_until = 0.0
        self._shown: Tuple[Event, ...] = ()
        self._may_repeat = False
        # The machine.
        self.touched = False
        self.unit_is_active = True
        """Whether its service runs."""
        self.stopped = False
        """Whether its service was stopped, and has not been started since."""
        self.done: Dict[str, Set[str]] = {}
        """By event id, the steps before it that have succeeded and still hold."""
        self.steps_begun: List[Tuple[float, str, str]] = []
        self.restored = 0
        self.approvals: List[Tuple[float, str]] = []
        self.drained_by_hand = False
        """Whether somebody wants the machine out."""
        self.is_held = False
        """Whether somebody wants nothing approved."""
        self.forgotten: Set[str] = set()
        """Ids of events that are to be left alone."""
        self.checks: List[Tuple[float, str]] = []

    @property
    def now(self) -> float:
        return self.azure.now

    @property
    def happenings(self) -> List[Happening]:
        return self.azure.happenings

    @property
    def running(self) -> Agent:
        """The agent, which must be running."""
        assert self.agent is not None
        return self.agent

    @property
    def state(self) -> State:
        """What the agent knows."""
        return self.running.state

    def status(self) -> Dict[str, Any]:
        """What the agent answers to `/status`."""
        return self.running.status()

    def answer(self, path: str) -> Tuple[int, str]:
        """What the agent answers: the status of HTTP, and the body."""
        response = self.running.respond(path)
        assert response is not None
        return response[0], response[2].decode("utf-8")

    def messages(self, words: str = "", priority: Optional[int] = None) -> List[str]:
        """What was logged with these words in it."""
        return [message for of, message in self.log if words in message and priority in (None, of)]

    def written(self, kind: str) -> List[Dict[str, Any]]:
        """All records of a kind that were ever written to the journal."""
        return [record for record in self.history if record["kind"] == kind]

    def steps(self, stage: Optional[str] = None) -> List[str]:
        """The names of the steps that were begun, of one stage or of all."""
        return [name for _at, of, name in self.steps_begun if stage in (None, of)]

    # --- running ------------------------------------------------------------------------------

    def run(self) -> "Rehearsal":
        """Let time pass until all is over, and some more."""
        quiet = 0.0
        while quiet < 60 and self.now < LONGEST_REHEARSAL and not self.deleted:
            self.tick()
            quiet = quiet + 1 if self.agent is not None and self.azure.is_over else 0
        return self

    def run_until(self, now: float) -> "Rehearsal":
        """Let time pass until then."""
        while self.now < now:
            self.tick()
        return self

    def tick_until(self, is_so: Callable[[], Any]) -> None:
        """Let time pass until the condition is true."""
        ends = self.now + self.patience
        while not is_so():
            assert self.now < ends, [message for _priority, message in self.log]
            self.tick()

    def tick(self, seconds: float = 1.0) -> None:
        """Let one second pass, for Azure, the machine and the agent."""
        self.azure.tick(seconds)
        self.live()

    def live(self) -> None:
        """The agent does what there is to do at this moment."""
        if self.deleted or self.now < self._down_until:
            return
        try:
            if self.agent is None:
                self._start_agent()
            # What takes no time happens at once, as in the real loop, which wakes for each result.
            for _turn in range(MOST_TURNS):
                happened = self._happened
                self.running.turn()
                if happened == self._happened:
                    return
            raise AssertionError("the loop does not come to rest")
        except Killed:
            self.kill()

    @property
    def _happened(self) -> Tuple[int, ...]:
        """How much has happened. After a turn that adds nothing, there is nothing to do until time moves on."""
        return self.moves, len(self.log), len(self.told)

    @property
    def edges(self) -> int:
        """How many points there were at which the agent may be killed."""
        return len(self.edge_kinds)

    def kills(self, *back_after: float) -> List[Tuple[int, float]]:
        """At which edge to kill the agent in a life like this one, and when it is back: everywhere, or a sample."""
        points = [(edge, back) for edge in range(1, self.edges + 1) for back in back_after]
        return sample(points, lambda point: self.edge_kinds[point[0] - 1])

    def ask(self, request: str, **more: Any) -> Optional[str]:
        """Ask the agent for something by hand. None: it was killed before it answered."""
        self.drained_by_hand = {"drain": True, "restore": False}.get(request, self.drained_by_hand)
        self.is_held = {"hold": True, "release": False}.get(request, self.is_held)
        if request == "forget":
            self.forgotten.add(more["event_id"])
        try:
            say = self.running.handle_command(dict(more, request=request))
            if say() is None:
                self.running._recorder.write(self.now)
                self.running._recorder.collect()
            return say()
        except Killed:
            self.kill()
            return None

    def kill(self) -> None:
        """The agent dies, and its children with it."""
        self._die(self.back_after)

    def reboot(self, seconds: float) -> None:
        """The machine boots, and its services start with it."""
        self.boots += 1
        self._die(seconds)
        self._services_start()

    def edge(self, kind: str) -> None:
        """A point at which the agent may be killed."""
        self.moves += 1
        self.edge_kinds.append(kind)
        if self.edges == self.kill_at:
            raise Killed

    def _die(self, seconds: float) -> None:
        self.agent = None
        self._down_until = max(self._down_until, self.now + seconds)
        # A step whose end was not written down may run again.
        self._may_repeat = bool(self.steps_begun) and self.steps_begun[-1][1] == RESTORE

    def _start_agent(self) -> None:
        self.poll_worker = Worker(self, self._poll)
        self.poll_stats = PollStats()
        self.approve_worker = Worker(self, self._approve)
        self.members_worker = Worker(self, self._ask_members)
        self.journal = Journal(self)
        edges = Ports(
            journal=self.journal,  # type: ignore[arg-type]
            disk=Disk(self),  # type: ignore[arg-type]
            poll=self.poll_worker,  # type: ignore[arg-type]
            poll_stats=self.poll_stats,
            approve=self.approve_worker,  # type: ignore[arg-type]
            members=self.members_worker,  # type: ignore[arg-type]
            start_step=self.start_step,
            has_hooks=lambda stage: stage in self.stages_with_hooks,
            watch=lambda _descriptor: None,
            log=lambda priority, message, **_fields: self.log.append((priority, message)),
            notify=lambda record, _state: self.told.append(record),
        )
        clocks = Clocks(lambda: self.now, self.wall)
        known = [] if self.journal_is_away else self.records
        self.agent = Agent(self.config, clocks, edges, replay(known), "boot-%d" % self.boots)

    def start_step(self, work: Work, _vm_name: str) -> Running:
        """Begin a step of this machine."""
        self.moves += 1
        return cast(Running, Step(self, work))

    def wall(self) -> float:
        return EPOCH.timestamp() + self.now + self.wall_step

    # --- what Azure does to it, and announces -------------------------------------------------

    def suffer(self, life: Life) -> None:
        """An event begins."""
        is_final = life.event_type in ("Preempt", "Terminate")
        if is_final and life.fate == UNHARMED:
            return
        if is_final and life.fate == DELETED:
            self.deleted = True
        if life.event_type == "Freeze":
            self._down_until = self.now + life.impact
        else:
            self.reboot(life.impact)

    def _poll(self, _job: Any) -> Poll:
        if self.silent:
            raise OutOfTime("silent", 1, "no answer in time")
        self._shown = self.azure.listed
        self.poll_stats.last_answer = self.wall()
        document = Document(self.azure.incarnation, self.azure.listed)
        return Poll(self.vm_id, self.vm_name, document, self.now, other_name=self.other_name)

    def _approve(self, event_ids: Sequence[str]) -> Sequence[str]:
        if self.lost_answers > 0:
            self.lost_answers -= 1
            raise OutOfTime("lost", 1, "no answer in time")
        if self.refusing:
            raise Refused("refused", 1, "400 Bad Request", 400)
        assert not self.is_held, "approved although somebody held it by hand"
        for event_id in event_ids:
            self.azure.approve(event_id, self.vm_name)
            self.approvals.append((self.now, event_id))
            self.edge("approved")
        return event_ids

    def _ask_members(self, job: Job) -> Dict[NameKey, Any]:
        answers: Dict[NameKey, Any] = {}
        for name in job.urls:
            other = self.azure.machines.get(name[0])
            if other is None or other.agent is None or other.is_unreachable or other.deleted:
                answers[name] = MemberError("%s cannot be reached" % name[0], "unreachable")
                continue
            status = json.loads(json.dumps(other.agent.status()))
            if name_key(str(status["vm_name"])) == name:
                answers[name] = status
            else:
                answers[name] = MemberError("%s is somebody else" % name[0], ANOTHER_MACHINE)
        return answers

    # --- the machine --------------------------------------------------------------------------

    def assert_ready_for(self, event_id: str) -> None:
        missing = self._steps_before - self.done.get(event_id, set())
        assert not missing, "approved before %s had done %s" % (self.vm_name, ", ".join(sorted(missing)))

    def step_begins(self, work: Work) -> None:
        self.steps_begun.append((self.now, work.stage, work.step.name))
        if work.stage == RESTORE:
            assert not self.drained_by_hand, "restored although somebody keeps it out by hand"
            assert self.touched or self._may_repeat, "restored what it had not removed"
            assert not any(self._is_near(event) for event in self._shown), "restored in the middle of maintenance"
        else:
            if work.step.name == "stop":
                self.stopped = self.stopped or self.unit_is_active
                self.unit_is_active = False
            # What is run again has to succeed again.
            self.done.setdefault(work.event.event_id, set()).discard(work.step.name)

    def _is_near(self, event: Event) -> bool:
        """Whether the machine has to be out of rotation for an event."""
        begin_before = self.config.rules[0].plan.begin_before
        if event.event_id in self.forgotten:
            return False
        if begin_before is None or event.not_before is None or not event.affects(self.vm_name):
            return event.affects(self.vm_name)
        return event.not_before.timestamp() - EPOCH.timestamp() - self.now <= begin_before

    def step_is_done(self, work: Work) -> None:
        name = work.step.name
        if work.stage != RESTORE:
            self.done[work.event.event_id].add(name)
        elif name == "start":
            self._services_start()
        elif name == "register":
            assert not self.stopped, "restored with its service stopped"
            self.done.clear()
            self.touched = False
            self._may_repeat = False
            self.restored += 1

    def _services_start(self) -> None:
        self.unit_is_active = self.unit_is_active or self.stopped
        self.stopped = False
        for done in self.done.values():
            done -= {"stop", "flush"}


def fleet_of(
    names: Sequence[str], lives: Iterable[Life], silent_after: float = 15.0, policy: Any = None, **settings: Any
) -> List[Rehearsal]:
    """Several machines of one Azure, whose agents know each other."""
    azure = Azure(lives)
    return [
        Rehearsal(
            policy=policy,
            vm_name=name,
            azure=azure,
            settings=dict(
                settings,
                quorum={
                    "members": {other: "http://%s:9797" % other.replace("_", "-") for other in names if other != name},
                    "silent_after": silent_after,
                },
            ),
        )
        for name in names
    ]


def tick_all(machines: Sequence[Rehearsal], seconds: int = 1) -> None:
    """Let time pass for all machines of one Azure."""
    for _second in range(seconds):
        machines[0].azure.tick(1.0)
        for machine in machines:
            machine.live()
