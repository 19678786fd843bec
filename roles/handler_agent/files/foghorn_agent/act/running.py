# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step under way, of whatever kind: it never blocks, and it can be cut short at any moment."""

import json
import os
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.document import event_as_azure

from ..decide.decisions import Work, is_too_short
from ..decide.outcome import StepOutcome
from ..decide.policy import CHECK, COMMAND, HOOKS, PAUSE, WAIT_CONNECTIONS, Step
from ..io import log as levels
from ..io.log import Log
from ..platform import connections, ownership, process, services
from .steps import Child, hook_commands

_CUT_OFF = "cut off at the deadline"
_SHARE_IS_UP = "cut off, to leave the following hooks time before the deadline"
_LONGEST_VALUE = 8192  # characters of an environment variable
_CONNECTIONS_INTERVAL = 0.5  # seconds
_MOST_LINES = 100  # of what one program said, in the log
_LONGEST_LINE = 500  # characters


class StepContext(NamedTuple):
    """Where steps run."""

    hooks_directory: str
    clock: Callable[[], float]
    """Monotonic, in seconds."""
    say: Callable[[Work, str, str], None] = lambda _work, _program, _output: None
    """Receives the output of each program of a step when the program has ended. Without a program, the step itself
    reports.
    """
    note_hook: Callable[[Work, str], None] = lambda _work, _hook: None
    """Receives the name of each hook that has succeeded, before the next begins."""
    may_go_on: Callable[[], bool] = lambda: True
    """Whether the next hook may begin: what was received is written down, or cannot be."""
    make_room: Callable[[], bool] = lambda: False
    """Gives back descriptors, and says whether there were any."""
    is_dry: bool = False
    """Whether steps only report what they would do. Only pauses take time then."""


class Running:
    """One step under way. `poll` until it gives an outcome.

    :param work: the step, and how long it may take
    :param vm_name: of this machine
    """

    def __init__(self, work: Work, vm_name: str, surroundings: StepContext) -> None:
        self.work = work
        self._vm_name = vm_name
        self._around = surroundings
        self._began = surroundings.clock()
        self._ends = self._began + work.seconds
        self._is_cut = work.is_cut
        self._is_short = work.is_short
        self._child: Optional[Child] = None
        self._hooks_left: List[str] = []
        self._is_noted = False
        """Whether the end of the child was noted."""
        self._ended_for: Optional[str] = None
        self._next_count = self._began
        self._outcome: Optional[StepOutcome] = None
        self._start()

    @property
    def fileno(self) -> int:
        """The descriptor that becomes readable when there is something to read. -1: none."""
        return -1 if self._child is None else self._child.fileno()

    def poll(self) -> Optional[StepOutcome]:
        """Take the step further. It gives the outcome once it has ended."""
        if self._child is not None:
            return self._poll_child()
        if self._outcome is None:
            self._outcome = self._poll_waiting()
            if self._outcome is not None and self._outcome.output:
                self._around.say(self.work, "", self._outcome.output)
        return self._outcome

    def shorten(self, seconds: float) -> None:
        """Reduce the time that is left to this many seconds: the deadline has come nearer."""
        ends = self._around.clock() + seconds
        if ends < self._ends:
            self._ends = ends
            self._is_cut = True
            self._is_short = is_too_short(self.work.step, seconds)
            if self._child is not None:
                seconds, reason, _is_cut = self._limit()
                self._child.shorten(seconds, reason)

    def end(self, reason: str, grace_seconds: Optional[float] = None) -> None:
        """End the step now. Its processes are told to end, and killed when the grace is over."""
        self._ended_for = reason
        self._hooks_left = []
        if self._child is not None:
            self._child.end(reason, grace_seconds)

    def _start(self) -> None:
        step = self.work.step
        if self.work.seconds <= 0:
            self._outcome = self._failed(_CUT_OFF, cut_off=True)
        elif self.work.is_look:
            self._run_program(services.command_to("is-active", step.stops))
        elif self._around.is_dry and self.work.stage != CHECK and step.kind != PAUSE:
            # A check changes nothing, and the approval of an event depends on it.
            self._outcome = self._would()
            self._around.say(self.work, "", self._outcome.output or self._outcome.reason)
        elif step.kind == COMMAND:
            self._run_program(_command_of(step))
        elif step.kind == HOOKS:
            directory = os.path.join(self._around.hooks_directory, self.work.stage)
            try:
                hooks = hook_commands(directory)
                self._hooks_left = [hook for hook in hooks if os.path.basename(hook) not in self.work.hooks_done]
            except ownership.UnsafePath as error:
                self._outcome = self._failed(str(error))
            else:
                self._run_next_hook(self.work.hook_seconds)

    def _would(self) -> StepOutcome:
        """Report a step in a dry run. It fails for the reasons that would keep the real step from starting."""
        step = self.work.step
        if step.kind == WAIT_CONNECTIONS:
            ports = ", ".join(str(port) for port in step.ports)
            return self._succeeded("would wait for the connections on port %s, %g s at most" % (ports, step.timeout))
        try:
            if step.kind == HOOKS:
                hooks = hook_commands(os.path.join(self._around.hooks_directory, self.work.stage))
                for hook in hooks:
                    if not process.is_executable(hook):
                        return self._failed("%s: is not executable" % os.path.basename(hook))
                    self._around.note_hook(self.work, os.path.basename(hook))
                return self._succeeded("would run %s" % (", ".join(map(os.path.basename, hooks)) or "no hook"))
        except ownership.UnsafePath as error:
            return self._failed(str(error))
        problem = ownership.problem_with(_command_of(step)[0])
        if problem is not None:
            return self._failed(problem)
        if step.stops or step.starts:
            return self._succeeded("would %s %s" % ("stop" if step.stops else "start", step.stops or step.starts))
        # Readers of the log may not be allowed to see its arguments.
        return self._succeeded("would run %s" % step.argv[0])

    def _run_program(self, argv: List[str]) -> None:
        # Checked at each start, as a hook is: the program may have changed since the configuration was checked.
        problem = ownership.problem_with(argv[0])
        if problem is None:
            self._run(argv)
        else:
            self._outcome = self._failed(problem)

    def _run_next_hook(self, share: Optional[float] = None) -> None:
        if self._hooks_left:
            self._run([self._hooks_left.pop(0)], share)
        else:
            self._child = None
            self._outcome = self._succeeded("")

    def _run(self, argv: List[str], share: Optional[float] = None) -> None:
        work = self.work
        self._is_noted = False
        seconds, reason, is_cut = self._limit(share)
        self._child = Child(
            argv,
            environment_for(work, self._vm_name),
            input_for(work, self._vm_name),
            seconds,
            reason,
            self._around.clock,
            is_cut=is_cut,
            make_room=self._around.make_room,
        )

    def _limit(self, share: Optional[float] = None) -> Tuple[float, str, bool]:
        """How long what runs now may take, in seconds, the reason if that is not enough, and if that is the deadline.

        :param share: of a hook that is tried again, what the tries before have left it
        """
        seconds, reason = self._seconds_left(), _CUT_OFF
        if self._is_short and self._hooks_left:
            # One hook that hangs must not use up the time of the others, which may matter more.
            own = seconds / (len(self._hooks_left) + 1)
            seconds, reason = own if share is None else min(own, share), _SHARE_IS_UP
        elif not self._is_cut:
            reason = "timed out after %g s, its timeout" % self.work.step.timeout
        longest = self.work.step.hook_timeout
        if longest is not None and longest < seconds:
            # It failed before its time was up, and is tried again.
            return longest, "timed out after %g s, its hook_timeout" % longest, False
        return seconds, reason, self._is_cut

    def _poll_child(self) -> Optional[StepOutcome]:
        assert self._child is not None
        outcome = self._child.poll()
        if outcome is None:
            return None
        hook = os.path.basename(self._child.argv[0])
        is_noted, self._is_noted = self._is_noted, True
        if outcome.output and not is_noted:
            self._around.say(self.work, hook, outcome.output)
        if self.work.step.kind != HOOKS:
            return outcome
        if outcome.succeeded and not is_noted and self.work.stage != CHECK:
            self._around.note_hook(self.work, hook)
        if not outcome.succeeded:
            reason = "%s: %s" % (hook, outcome.reason)
            return outcome._replace(reason=reason, hook=hook, hooks_left=len(self._hooks_left))
        if self._seconds_left() <= 0 and self._hooks_left:
            return self._failed("%s: %s" % (os.path.basename(self._hooks_left[0]), _CUT_OFF), cut_off=True)
        if self._around.may_go_on():
            self._run_next_hook()
        return self._outcome

    def _poll_waiting(self) -> Optional[StepOutcome]:
        if self._ended_for is not None:
            return self._failed(self._ended_for)
        now = self._around.clock()
        step = self.work.step
        if step.kind == PAUSE:
            if now < self._ends:
                return None
            # What it waited for may have needed more time.
            return self._failed(_CUT_OFF, cut_off=True) if self._is_cut else self._succeeded("")
        if now < self._next_count:
            return None
        try:
            left = sum(connections.count_established(step.ports, step.ignored).values())
        except (OSError, ValueError) as error:
            return self._failed("connections cannot be counted: %s" % error)
        counted = self._around.clock()
        # With very many connections, counting takes at most a tenth of the time.
        self._next_count = counted + max(_CONNECTIONS_INTERVAL, 10 * (counted - now))
        if left == 0:
            problem = connections.problem_with_containers()
            return self._succeeded("" if problem is None else "those of containers were not counted: %s" % problem)
        if now < self._ends:
            return None
        if self._is_cut:
            return self._failed("%s with %d connections left" % (_CUT_OFF, left), cut_off=True)
        # This is the limit of the wait and no failure: clients that are still connected had this time to finish.
        return self._succeeded("%d connections were left" % left)

    def _seconds_left(self) -> float:
        return self._ends - self._around.clock()

    def _succeeded(self, output: str) -> StepOutcome:
        return StepOutcome(True, "", output, self._around.clock() - self._began)

    def _failed(self, reason: str, cut_off: bool = False) -> StepOutcome:
        return StepOutcome(False, reason, "", self._around.clock() - self._began, cut_off)


def _command_of(step: Step) -> List[str]:
    """What is run for a step with a command."""
    if step.stops:
        return services.command_to("stop", step.stops)
    return services.command_to("start", step.starts) if step.starts else list(step.argv)


def say_output(log: Log, work: Work, program: str, output: str) -> None:
    """Log what a step has said, a line for each of its lines that is not empty, as far as there are not too many.

    What comes last matters most. Characters that a terminal would act upon are shown and not sent.

    :param program: what has said it; empty if that was the step itself
    """
    lines = [line for line in (line.strip() for line in output.splitlines()) if line]
    # If the step is a single program, the log names the step.
    hook = "%s: " % program if program and work.step.kind == HOOKS else ""
    head = "%s %s: %s: %s: %s" % (work.event.event_type, work.event.event_id, work.stage, work.step.name, hook)
    if len(lines) > _MOST_LINES:
        dropped = len(lines) - _MOST_LINES
        lines[:dropped] = ["%d earlier lines are omitted" % dropped]
    for line in lines:
        shown = line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"
        log(levels.INFO, head + shown, event_id=work.event.event_id, stage=work.stage, step=work.step.name)


def environment_for(work: Work, vm_name: str) -> Dict[str, str]:
    """The environment variables that tell a step about the event. No value is ever read by a shell of ours."""
    event = work.event
    values = {
        "STAGE": work.stage,
        "VM_NAME": vm_name,
        "EVENT_ID": event.event_id,
        "EVENT_TYPE": event.event_type,
        "EVENT_STATUS": event.event_status,
        "EVENT_SOURCE": event.event_source or "",
        "RESOURCES": " ".join(event.resources),
        "DESCRIPTION": event.description or "",
        "DURATION_IN_SECONDS": "" if event.duration_in_seconds is None else str(event.duration_in_seconds),
        "NOT_BEFORE": "" if event.not_before is None else format_date(event.not_before),
        "SECONDS_LEFT": "%d" % max(0, work.seconds),
        "REBOOTED": "1" if work.rebooted else "0",
        "OUTCOME": work.outcome,
    }
    return {"FOGHORN_" + name: value.replace("\0", "")[:_LONGEST_VALUE] for name, value in values.items()}


def input_for(work: Work, vm_name: str) -> bytes:
    """What a step reads on its standard input: the same, as JSON, with the event in Azure's own names."""
    content: Dict[str, Any] = {
        "stage": work.stage,
        "vm_name": vm_name,
        "event": event_as_azure(work.event),
        "seconds_left": work.seconds,
        "rebooted": work.rebooted,
        "outcome": work.outcome or None,
    }
    return json.dumps(content).encode("ascii") + b"\n"
