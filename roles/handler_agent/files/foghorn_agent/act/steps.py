# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command as a child process, without ever waiting for it.

Whatever the command does (ignore SIGTERM, fork, flood its output, never read its input), a call of ours
comes back at once, and the command is over soon after its time is.
"""

import os
import re
import subprocess
from typing import Callable, List, Mapping, Optional, Sequence

from ..decide.outcome import StepOutcome
from ..platform import machine, ownership, process

GRACE = 5.0  # seconds between the soft and the hard end

_LONGEST_OUTPUT = 8 * 1024  # bytes
_CHUNKS_AT_ONCE = 4
_LEFTOVERS_GRACE = 1.0  # seconds
# A process that hangs in the kernel, on a dead file server say, does not even die of SIGKILL.
_PATIENCE_AFTER_KILL = 2.0  # seconds

_HOOK_NAME = re.compile(r"[ -~]+\Z")
# Hidden files, what editors and package managers leave behind, what somebody has disabled, and notes for people.
_NO_HOOK = re.compile(r"\.|README|.*(?:~|#|\.(?:bak|disabled|rpmnew|rpmsave|rpmorig|dpkg-[a-z]+))\Z")


class Child:
    """One command under way, with its descendants. Start it from the main thread.

    It has ended when its descendants have. What it leaves behind of them is told to end and, a second later, killed,
    so that no step works beside the leftovers of the one before; a daemon that is to stay leaves the process group, as
    daemons do, and brings its own output. The outcome is that of the command itself, however. It is never a success
    once it was told to end.

    Of a process that cannot be killed the outcome says so, and the agent goes on without it.

    :param argv: the absolute path of the program, and its arguments
    :param environment: beside what every command has. What no environment can hold, a NUL, is left out
    :param stdin: what the command may read, of any size
    :param limit_seconds: how long it may take, from now
    :param limit_reason: the outcome's reason should it take longer
    :param is_cut: whether the limit is the plan's deadline, so that the outcome says that it was cut off
    :param clock: monotonic, in seconds
    :param grace_seconds: between the soft and the hard end
    :param make_room: gives back descriptors, if there are too few to start it, and says whether there were any
    """

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        stdin: bytes,
        limit_seconds: float,
        limit_reason: str,
        clock: Callable[[], float],
        grace_seconds: float = GRACE,
        is_cut: bool = False,
        make_room: Callable[[], bool] = lambda: False,
    ) -> None:
        self.argv = tuple(argv)
        self._clock = clock
        self._began = clock()
        self._ends = self._began + limit_seconds
        self._limit_reason = limit_reason
        self._limit_is_deadline = is_cut
        self._grace = grace_seconds
        self._is_cut_off = False
        self._cut_reason: Optional[str] = None
        self._kill_at: Optional[float] = None
        self._output = bytearray()
        self._output_is_cut = False
        self._own_outcome: Optional[StepOutcome] = None
        self._outcome: Optional[StepOutcome] = None
        try:
            try:
                self._process = process.Process(self.argv, environment, stdin)
            except OSError as error:
                if error.errno not in machine.NO_DESCRIPTORS or not make_room():
                    raise
                self._process = process.Process(self.argv, environment, stdin)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            hint = ": chmod +x it, if it is to run" if isinstance(error, PermissionError) else ""
            self._outcome = StepOutcome(False, "could not be started: %s%s" % (error, hint), "", 0.0)

    def fileno(self) -> int:
        """What becomes readable when there is output to take in; -1 when there is nothing to watch.

        It closes within `poll`: ask after each one.
        """
        return -1 if self._outcome is not None else self._process.fileno()

    def poll(self) -> Optional[StepOutcome]:
        """Move data, enforce the limit, and give the outcome once there is one. Never waits."""
        if self._outcome is None:
            self._outcome = self._advance()
            if self._outcome is not None:
                self._process.close()
        return self._outcome

    def shorten(self, limit_seconds: float, reason: str) -> None:
        """Leave it only so many seconds from now, if that is less than it has: the deadline has come nearer."""
        ends = self._clock() + limit_seconds
        if ends < self._ends:
            self._ends = ends
            self._limit_reason = reason
            self._limit_is_deadline = True

    def end(self, reason: str, grace_seconds: Optional[float] = None) -> None:
        """Tell it to end now, and kill it after the grace. The first reason given stands."""
        if self.poll() is None:
            self._cut(reason, self._grace if grace_seconds is None else grace_seconds)

    def _advance(self) -> Optional[StepOutcome]:
        problem = self._process.poll()
        # Read after the process was checked: everything that it wrote before it ended is in the pipe by then.
        self._take_output()
        if problem is not None and self._own_outcome is None:
            self._own_outcome = self._outcome_now(problem if self._cut_reason is None else self._cut_reason)
        now = self._clock()
        if self._own_outcome is not None:
            if not self._process.is_alive():
                return self._own_outcome
            self._cut("", _LEFTOVERS_GRACE)
        elif now >= self._ends:
            self._is_cut_off = self._is_cut_off or (self._kill_at is None and self._limit_is_deadline)
            self._cut(self._limit_reason, self._grace)
        if self._kill_at is not None and now >= self._kill_at:
            self._process.end()
            if now >= self._kill_at + _PATIENCE_AFTER_KILL:
                reason = "%s, and %s did not end it" % (self._cut_reason, process.LAST_RESORT)
                return self._own_outcome or self._outcome_now(reason)
        return None

    def _cut(self, reason: str, grace: float) -> None:
        kill_at = self._clock() + grace
        if self._kill_at is None:
            self._cut_reason = reason
            self._kill_at = kill_at
            self._process.end_softly()
        self._kill_at = min(self._kill_at, kill_at)

    def _outcome_now(self, reason: str) -> StepOutcome:
        seconds = self._clock() - self._began
        return StepOutcome(not reason, reason, self._output_as_text(), seconds, self._is_cut_off)

    def _take_output(self) -> None:
        for _unused in range(_CHUNKS_AT_ONCE):
            chunk = self._process.read()
            if not chunk:
                return
            self._output += chunk
            if len(self._output) > _LONGEST_OUTPUT:
                del self._output[:-_LONGEST_OUTPUT]
                self._output_is_cut = True

    def _output_as_text(self) -> str:
        output = bytes(self._output)
        if not self._output_is_cut:
            return output.decode("utf-8", "replace")
        # The cut may have gone through a character.
        start = next((index for index in range(3) if output[index] & 0xC0 != 0x80), 3)
        return "…" + output[start:].decode("utf-8", "replace")


def hook_commands(directory: str) -> List[str]:
    """Find the hooks of a directory, in lexical order. Without the directory there are none.

    Each file is a hook, except hidden files, `README*`, `*.disabled`, and what editors and package managers leave
    behind. A file that cannot be executed is a hook that fails: if it was skipped, the machine would look prepared.
    Such files come last, so that they take no time from the others.

    :raises UnsafePath: if others than root could change what is run, if it cannot be told, or if a name is not ASCII
    """
    if not os.path.lexists(directory):
        return []
    ownership.check_path(directory)
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise ownership.UnsafePath("%s: cannot be read: %s" % (directory, error.strerror)) from None
    found: List[str] = []
    failing: List[str] = []
    for name in names:
        if _NO_HOOK.match(name):
            continue
        path = os.path.join(directory, name)
        if not os.path.isfile(ownership.check_path(path)):
            continue
        if not _HOOK_NAME.match(name):
            raise ownership.UnsafePath(
                "%s: %a: the name of a hook has printable ASCII characters only: rename it" % (directory, name)
            )
        (found if process.is_executable(path) else failing).append(path)
    return found + failing


def has_hooks(directory: str) -> bool:
    """Whether a hook directory has anything to run. What may not be run is something, too: its step says so."""
    try:
        return bool(hook_commands(directory))
    except ownership.UnsafePath:
        return True
