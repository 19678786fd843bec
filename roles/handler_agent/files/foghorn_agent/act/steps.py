# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command as a child process, without ever waiting for it.

Whatever the command does (ignore SIGTERM, fork, flood its output, never read its input), a call of ours
comes back at once, and the command is over soon after its time is.
"""

import contextlib
import errno
import fcntl
import os
import re
import signal
import stat
import subprocess
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence

from foghorn_core.files.ownership import UnsafePath, check_path

GRACE = 5.0  # seconds between SIGTERM and SIGKILL

# Steps do not inherit the agent's environment: they behave identically however the agent was started.
_ENVIRONMENT = {
    # The system's directories come first: on some distributions, others than root may write below /usr/local.
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin",
    "LANG": "C.UTF-8",
    "HOME": "/root",
}
_SYSTEMCTL = ("/usr/bin/systemctl", "/bin/systemctl")
_UMASK = 0o022
_OOM_SCORE = "/proc/self/oom_score_adj"
_LONGEST_OUTPUT = 8 * 1024  # bytes
_CHUNK = 64 * 1024  # bytes: what a pipe holds
_CHUNKS_AT_ONCE = 4
_SET_PIPE_SIZE = 1031  # fcntl.F_SETPIPE_SZ, which has a name from Python 3.10 on
_LARGEST_PIPE = 1024 * 1024  # bytes
_LEFTOVERS_GRACE = 1.0  # seconds
# A process that hangs in the kernel, on a dead file server say, does not even die of SIGKILL.
_PATIENCE_AFTER_KILL = 2.0  # seconds
# Python ignores these for itself, and subprocess sees to them.
_RESTORED_BY_POPEN = (signal.SIGPIPE, signal.SIGXFSZ)

_HOOK_NAME = re.compile(r"[ -~]+\Z")
# Hidden files, what editors and package managers leave behind, what somebody has disabled, and notes for people.
_NO_HOOK = re.compile(r"\.|README|.*(?:~|#|\.(?:bak|disabled|rpmnew|rpmsave|rpmorig|dpkg-[a-z]+))\Z")


# Of the process, and of the machine.
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)


class StepOutcome(NamedTuple):
    """How a step ended."""

    succeeded: bool
    reason: str
    """Why it failed: `exit status 3`, `killed by SIGKILL`, or why it was ended early."""
    exit_status: Optional[int]
    """None if it did not exit by itself."""
    output: str
    """The last 8 KiB of its standard output and error. An ellipsis marks what was cut off."""
    seconds: float
    cut_off: bool = False
    """Whether it failed because the plan had no more time for it."""
    hook: str = ""
    """With a directory of hooks: the name of the hook that failed, if one did."""
    hooks_left: int = 0
    """How many hooks come after that one."""


class Child:
    """One command under way, in a session and process group of its own. Start it from the main thread.

    It has ended when its process group has. What it leaves behind in the group gets SIGTERM and, a second
    later, SIGKILL, so that no step works beside the leftovers of the one before; a daemon that is to stay
    leaves the group, as daemons do, and brings its own output. The outcome is that of the command itself,
    however. It is never a success once it was told to end.

    Of a process that cannot be killed the outcome says so, and the agent goes on without it.

    :param argv: the absolute path of the program, and its arguments
    :param environment: beside PATH, LANG and HOME. What no environment can hold, a NUL, is left out
    :param stdin: what the command may read, of any size
    :param limit_seconds: how long it may take, from now
    :param limit_reason: the outcome's reason should it take longer
    :param is_cut: whether the limit is the plan's deadline, so that the outcome says that it was cut off
    :param clock: monotonic, in seconds
    :param grace_seconds: between SIGTERM and SIGKILL
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
        self._input = memoryview(stdin)
        self._output = bytearray()
        self._output_is_cut = False
        self._own_outcome: Optional[StepOutcome] = None
        self._outcome: Optional[StepOutcome] = None
        try:
            try:
                self._process = _start(self.argv, environment)
            except OSError as error:
                if error.errno not in NO_DESCRIPTORS or not make_room():
                    raise
                self._process = _start(self.argv, environment)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            hint = ": chmod +x it, if it is to run" if isinstance(error, PermissionError) else ""
            self._outcome = StepOutcome(False, "could not be started: %s%s" % (error, hint), None, "", 0.0)
            return
        self._stdin = _without_blocking(self._process.stdin)
        self._stdout = _without_blocking(self._process.stdout)
        if len(stdin) > _CHUNK:
            # Write all of it into the pipe at once if the system allows it. Otherwise `poll` writes it piece by
            # piece.
            _enlarge(self._stdin, len(stdin))
        self._give_input()

    def fileno(self) -> int:
        """What becomes readable when there is output to take in; -1 when there is nothing to watch.

        It closes within `poll`: ask after each one.
        """
        return -1 if self._outcome is not None or self._stdout.closed else int(self._stdout.fileno())

    def poll(self) -> Optional[StepOutcome]:
        """Move data, enforce the limit, and give the outcome once there is one. Never waits."""
        if self._outcome is None:
            self._outcome = self._advance()
            if self._outcome is not None:
                self._stdin.close()
                self._stdout.close()
        return self._outcome

    def shorten(self, limit_seconds: float, reason: str) -> None:
        """Leave it only so many seconds from now, if that is less than it has: the deadline has come nearer."""
        ends = self._clock() + limit_seconds
        if ends < self._ends:
            self._ends = ends
            self._limit_reason = reason
            self._limit_is_deadline = True

    def end(self, reason: str, grace_seconds: Optional[float] = None) -> None:
        """Tell it to end, by SIGTERM now and SIGKILL after the grace. The first reason given stands."""
        if self.poll() is None and self._own_outcome is None:
            self._cut(reason, self._grace if grace_seconds is None else grace_seconds)

    def _advance(self) -> Optional[StepOutcome]:
        self._give_input()
        status = None if self._own_outcome is not None else self._reap()
        # Read after the process was checked: everything that it wrote before it ended is in the pipe by then.
        self._take_output()
        if status is not None:
            self._own_outcome = self._judge(status)
        now = self._clock()
        if self._own_outcome is not None:
            if not self._group_is_alive():
                return self._own_outcome
            self._cut("", _LEFTOVERS_GRACE)
        elif now >= self._ends:
            self._is_cut_off = self._is_cut_off or (self._kill_at is None and self._limit_is_deadline)
            self._cut(self._limit_reason, self._grace)
        if self._kill_at is not None and now >= self._kill_at:
            self._signal_group(signal.SIGKILL)
            if now >= self._kill_at + _PATIENCE_AFTER_KILL:
                return self._own_outcome or self._outcome_now("%s, and SIGKILL did not end it" % self._cut_reason, None)
        return None

    def _cut(self, reason: str, grace: float) -> None:
        kill_at = self._clock() + grace
        if self._kill_at is None:
            self._cut_reason = reason
            self._kill_at = kill_at
            self._signal_group(signal.SIGTERM)
        self._kill_at = min(self._kill_at, kill_at)

    def _judge(self, status: int) -> StepOutcome:
        exit_status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        if self._cut_reason is not None:
            reason = self._cut_reason
        elif exit_status is None:
            reason = "killed by %s" % _signal_name(os.WTERMSIG(status))
        else:
            reason = "exit status %d" % exit_status if exit_status else ""
        return self._outcome_now(reason, exit_status)

    def _outcome_now(self, reason: str, exit_status: Optional[int]) -> StepOutcome:
        seconds = self._clock() - self._began
        return StepOutcome(not reason, reason, exit_status, self._output_as_text(), seconds, self._is_cut_off)

    def _reap(self) -> Optional[int]:
        """The status that the command ended with. Not by Popen, which takes a lost status for success."""
        try:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG)
        except ChildProcessError:
            self._process.returncode = -1
            self._cut_reason = self._cut_reason or "its exit status was lost"
            return -1
        if pid == 0:
            return None
        # This keeps Popen from waiting for it again.
        self._process.returncode = status
        return status

    def _group_is_alive(self) -> bool:
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def _signal_group(self, number: int) -> None:
        # Otherwise the process has just ended, or its id belongs to another user now: the next poll finds out.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _give_input(self) -> None:
        if self._stdin.closed:
            return
        try:
            # As much as the pipe takes; None is nothing.
            self._input = self._input[self._stdin.write(self._input) or 0 :]
        except BrokenPipeError:
            # The command does not read its input, as many do not.
            self._input = self._input[:0]
        if not self._input:
            self._stdin.close()

    def _take_output(self) -> None:
        if self._stdout.closed:
            return
        for _unused in range(_CHUNKS_AT_ONCE):
            chunk = self._stdout.read(_CHUNK)
            if chunk is None:
                return
            if not chunk:
                self._stdout.close()
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
    check_path(directory)
    try:
        names = sorted(os.listdir(directory))
    except OSError as error:
        raise UnsafePath("%s: cannot be read: %s" % (directory, error.strerror)) from None
    found: List[str] = []
    failing: List[str] = []
    for name in names:
        if _NO_HOOK.match(name):
            continue
        path = os.path.join(directory, name)
        mode = os.stat(check_path(path)).st_mode
        if not stat.S_ISREG(mode):
            continue
        if not _HOOK_NAME.match(name):
            raise UnsafePath(
                "%s: %a: the name of a hook has printable ASCII characters only: rename it" % (directory, name)
            )
        (found if is_executable(mode) else failing).append(path)
    return found + failing


def path_of_systemctl() -> str:
    """Where the system has systemctl, whatever lies in directories that come first on the PATH."""
    return next(filter(os.path.exists, _SYSTEMCTL), _SYSTEMCTL[0])


def has_hooks(directory: str) -> bool:
    """Whether a hook directory has anything to run. What may not be run is something, too: its step says so."""
    try:
        return bool(hook_commands(directory))
    except UnsafePath:
        return True


def is_executable(mode: int) -> bool:
    """Whether somebody may execute a file with this mode. Root, too, may execute it only then."""
    return bool(mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))


def _start(argv: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    # As bytes: under the C locale, Python 3.6 would refuse to turn anything but ASCII into them.
    arguments = [argument.encode("utf-8", "surrogateescape") for argument in argv]
    variables = {
        name.encode("utf-8", "replace"): value.replace("\0", "").encode("utf-8", "replace")
        for name, value in dict(_ENVIRONMENT, **environment).items()
    }
    # No preexec_fn: it may deadlock in a process with threads. The child inherits what is set here for a moment.
    restore = _set_what_is_inherited()
    try:
        return subprocess.Popen(
            arguments,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            close_fds=True,
            cwd="/",
            env=variables,
            start_new_session=True,
        )
    finally:
        restore()


def _set_what_is_inherited() -> Callable[[], None]:
    """Set umask, signal mask, ignored signals and the OOM score as a command expects them; give what sets them back."""
    score = _set_oom_score("0")
    mask = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    umask = os.umask(_UMASK)
    # A child keeps ignoring a signal that is ignored, and resets one that has a handler. For this moment the signals
    # therefore have a handler that does nothing.
    ignored = [
        number
        for number in range(1, signal.NSIG)
        if number not in _RESTORED_BY_POPEN and signal.getsignal(number) == signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, lambda _number, _frame: None)

    def restore() -> None:
        if score is not None:
            _set_oom_score(score)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        os.umask(umask)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return restore


def _set_oom_score(score: str) -> Optional[str]:
    """Set our own score for the kernel's choice of whom to kill when memory is short; give the one before.

    The agent is spared. What it starts is not: a hook that eats the memory would take everything else with it.

    :returns: None where nothing was changed: it is the same already, or cannot be changed
    """
    try:
        with open(_OOM_SCORE, "r+") as file:
            before = file.read().strip()
            if before == score:
                return None
            file.seek(0)
            file.write(score)
    except OSError:
        return None
    return before


def _without_blocking(pipe: Any) -> Any:
    os.set_blocking(pipe.fileno(), False)
    return pipe


def _enlarge(pipe: Any, size: int) -> None:
    # Otherwise the limit is higher than this user may set.
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe.fileno(), _SET_PIPE_SIZE, min(size, _LARGEST_PIPE))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number
