# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command with its descendants: a session and process group of its own, and pipes on which nothing waits."""

import contextlib
import os
import signal
import stat
import subprocess
from typing import Any, Callable, Mapping, Optional, Sequence

LAST_RESORT = "SIGKILL"
"""What ends a command that does not end."""

# Steps do not inherit the agent's environment: they behave identically however the agent was started.
_ENVIRONMENT = {
    # The system's directories come first: on some distributions, others than root may write below /usr/local.
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin",
    "LANG": "C.UTF-8",
    "HOME": "/root",
}
_UMASK = 0o022
_OOM_SCORE = "/proc/self/oom_score_adj"
_CHUNK = 64 * 1024  # bytes: what a pipe holds
# Python ignores these for itself, and subprocess sees to them.
_RESTORED_BY_POPEN = (signal.SIGPIPE, signal.SIGXFSZ)


class Process:
    """One command under way, with what it starts in its process group. Start it from the main thread.

    :param argv: the absolute path of the program, and its arguments
    :param environment: beside PATH, LANG and HOME. What no environment can hold, a NUL, is left out
    :param stdin: what the command may read, of any size
    :raises OSError, ValueError, subprocess.SubprocessError: if it cannot be started
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], stdin: bytes) -> None:
        self._process = _start(argv, environment)
        self._ending: Optional[str] = None
        self._input = memoryview(stdin)
        self._stdin = _without_blocking(self._process.stdin)
        self._stdout = _without_blocking(self._process.stdout)
        self._give_input()

    def fileno(self) -> int:
        """What becomes readable when there is output to take in; -1 when there is nothing to watch."""
        return -1 if self._stdout.closed else int(self._stdout.fileno())

    def poll(self) -> Optional[str]:
        """Give it more of its input, and say what is wrong with the end of the command itself, as `exit status 3`;
        empty if nothing is, and None while it has not ended.
        """
        self._give_input()
        if self._ending is None:
            self._ending = self._reap()
        return self._ending

    def read(self) -> bytes:
        """Take the next piece of its output and of its errors; nothing if there is none by now."""
        if self._stdout.closed:
            return b""
        chunk: Optional[bytes] = self._stdout.read(_CHUNK)
        if chunk == b"":
            self._stdout.close()
        return chunk or b""

    def is_alive(self) -> bool:
        """Whether any process of its group is left."""
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def end_softly(self) -> None:
        """Tell all of them to end."""
        self._signal(signal.SIGTERM)

    def end(self) -> None:
        """End all of them."""
        self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Give back what it needs. What still runs is left to itself."""
        self._stdin.close()
        self._stdout.close()

    def _signal(self, number: int) -> None:
        # Otherwise the process has just ended, or its id belongs to another user now: the next poll finds out.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _reap(self) -> Optional[str]:
        # Not by Popen, which takes a lost status for success.
        try:
            pid, status = os.waitpid(self._process.pid, os.WNOHANG)
        except ChildProcessError:
            self._process.returncode = -1
            return "its exit status was lost"
        if pid == 0:
            return None
        # This keeps Popen from waiting for it again.
        self._process.returncode = status
        if not os.WIFEXITED(status):
            return "killed by %s" % _signal_name(os.WTERMSIG(status))
        return "exit status %d" % os.WEXITSTATUS(status) if status else ""

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


def problem_with_command(_argv: Sequence[str]) -> Optional[str]:
    """What keeps a command from being run as it is written: nothing."""
    return None


def is_executable(path: str) -> bool:
    """Whether somebody may execute a file. Root, too, may execute it only then.

    :raises OSError: if it is not there
    """
    return bool(os.stat(path).st_mode & (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH))


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


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number
