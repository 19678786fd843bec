# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command with its descendants, in a job object of its own, and pipes on which nothing waits."""

import contextlib
import ctypes
import os
import re
import socket
import subprocess
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import machine

LAST_RESORT = "TerminateJobObject"
"""What ends a command that does not end."""

# Steps do not inherit the agent's environment: they behave identically however the agent was started.
_KEPT = (
    *("ALLUSERSPROFILE", "CommonProgramFiles", "CommonProgramFiles(x86)", "COMPUTERNAME", "ComSpec"),
    *("NUMBER_OF_PROCESSORS", "OS", "PATHEXT", "PROCESSOR_ARCHITECTURE", "ProgramData", "ProgramFiles"),
    *("ProgramFiles(x86)", "ProgramW6432", "SystemDrive", "SystemRoot", "windir"),
)
_CHUNK = 64 * 1024  # bytes
_MOST_HELD = 256 * 1024  # bytes of output that are read ahead
_ENDED = 137  # as a command that was killed has on Linux
_JOB_LIMITS, _JOB_ACCOUNTING = 9, 1
_KILL_ON_JOB_CLOSE = 0x2000
_CREATE_SUSPENDED, _CREATE_NO_WINDOW = 0x4, 0x08000000

# cmd takes arguments apart anew, by rules in which these mean something, within quotation marks as well.
_NOT_FOR_CMD = re.compile(r'["%^&|<>!\r\n]')
_PROGRAMS = (".exe", ".com")
_BATCH = (".cmd", ".bat")
_POWERSHELL = ".ps1"


class _Limits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("times", ctypes.c_int64 * 2),
        ("flags", ctypes.c_uint32),
        ("working_set", ctypes.c_size_t * 2),
        ("active", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("classes", ctypes.c_uint32 * 2),
        ("io", ctypes.c_uint64 * 6),
        ("memory", ctypes.c_size_t * 4),
    )


class _Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = (
        ("times", ctypes.c_int64 * 4),
        ("faults", ctypes.c_uint32),
        ("total", ctypes.c_uint32),
        ("active", ctypes.c_uint32),
        ("terminated", ctypes.c_uint32),
    )


class Process:
    """One command under way, with what it starts. None of them outlives the agent.

    :param argv: the absolute path of the program or script, and its arguments
    :param environment: beside what every command has. What no environment can hold, a NUL, is left out
    :param stdin: what the command may read, of any size
    :raises OSError, ValueError, subprocess.SubprocessError: if it cannot be started
    """

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], stdin: bytes) -> None:
        self._job = _Job()
        self._was_ended = False
        self._output = bytearray()
        self._output_changed = threading.Condition()
        self._is_closed = False
        # What Windows can wait for, beside sockets, the loop cannot: threads wait, and say so here.
        self._reader, self._writer = socket.socketpair()
        try:
            for end in (self._reader, self._writer):
                end.setblocking(False)
            self._process = _start(command_line(argv), environment, self._job)
        except (OSError, ValueError, subprocess.SubprocessError):
            self._reader.close()
            self._writer.close()
            self._job.close()
            raise
        for function in (lambda: self._give_input(stdin), self._take_output, self._wait):
            threading.Thread(target=function, name="step", daemon=True).start()

    def fileno(self) -> int:
        """What becomes readable when there is output to take in, or the command has ended."""
        return -1 if self._is_closed else self._reader.fileno()

    def poll(self) -> Optional[str]:
        """Say what is wrong with the end of the command itself, as `exit status 3`; empty if nothing is, and None while
        it has not ended.
        """
        # Before the look: what happens after it is said again.
        with contextlib.suppress(OSError):
            while self._reader.recv(4096):
                pass
        status = self._process.poll()
        if status is None:
            return None
        if self._was_ended:
            return "killed"
        return "exit status %s" % _shown(status) if status else ""

    def read(self) -> bytes:
        """Take the next piece of its output and of its errors; nothing if there is none by now."""
        with self._output_changed:
            chunk = bytes(self._output)
            self._output.clear()
            self._output_changed.notify()
        return chunk

    def is_alive(self) -> bool:
        """Whether any process of its job is left."""
        return self._job.active() > 0

    def end_softly(self) -> None:
        """End all of them: on Windows nothing tells any process to end, and waits for it."""
        self.end()

    def end(self) -> None:
        """End all of them."""
        self._was_ended = self._was_ended or self._process.poll() is None
        self._job.end()

    def close(self) -> None:
        """Give back what it needs, and end what still runs."""
        with self._output_changed:
            self._is_closed = True
            self._output_changed.notify()
        self._job.close()
        self._reader.close()

    def _give_input(self, stdin: bytes) -> None:
        # The command need not read its input, and many do not.
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(stdin)
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()

    def _take_output(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                chunk = self._process.stdout.read(_CHUNK)
                with self._output_changed:
                    while len(self._output) > _MOST_HELD and not self._is_closed:
                        self._output_changed.wait()
                    if not chunk or self._is_closed:
                        break
                    self._output += chunk
                self._wake()
        self._process.stdout.close()

    def _wait(self) -> None:
        self._process.wait()
        self._wake()

    def _wake(self) -> None:
        # It is closed, or has been told often enough.
        with contextlib.suppress(OSError):
            self._writer.send(b"\0")


class _Job:
    """A job object: what runs in it, with all that it starts, ends when it is closed or this process ends."""

    def __init__(self) -> None:
        from . import win32

        self._win32 = win32
        self._lock = threading.Lock()
        self._handle = win32.kernel32.CreateJobObjectW(None, None)
        limits = _Limits(flags=_KILL_ON_JOB_CLOSE)
        done = self._handle and win32.kernel32.SetInformationJobObject(
            self._handle, _JOB_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        if not done:
            raise win32.last_error("job object")

    def take(self, process: int) -> None:
        """Have a process in it, by its handle.

        :raises OSError: if it cannot be
        """
        if not self._win32.kernel32.AssignProcessToJobObject(self._handle, process):
            raise self._win32.last_error("job object")

    def active(self) -> int:
        """How many processes run in it."""
        found = _Accounting()
        if self._handle:
            self._win32.kernel32.QueryInformationJobObject(
                self._handle, _JOB_ACCOUNTING, ctypes.byref(found), ctypes.sizeof(found), None
            )
        return int(found.active)

    def end(self) -> None:
        """End what runs in it."""
        if self._handle:
            self._win32.kernel32.TerminateJobObject(self._handle, _ENDED)

    def close(self) -> None:
        """Give it back."""
        handle, self._handle = self._handle, None
        if handle:
            self._win32.kernel32.CloseHandle(handle)


def is_executable(path: str) -> bool:
    """Whether the agent knows how to run a file: by its suffix.

    :raises OSError: if it is not there
    """
    os.stat(path)
    return _suffix(path) in (*_PROGRAMS, *_BATCH, _POWERSHELL)


def problem_with_command(argv: Sequence[str]) -> Optional[str]:
    """What keeps a command from being run as it is written; None for nothing."""
    if _suffix(argv[0]) not in (*_PROGRAMS, *_BATCH, _POWERSHELL):
        return "%s: expected a file that ends in .exe, .ps1, .cmd or .bat" % argv[0]
    if _suffix(argv[0]) in _BATCH and any(_NOT_FOR_CMD.search(argument) for argument in argv):
        return '%s: cmd would change an argument with any of "%%^&|<>!: call an .exe or .ps1 instead' % argv[0]
    return None


def command_line(argv: Sequence[str]) -> Union[str, List[str]]:
    """What starts a program or script: the program itself, PowerShell or cmd.

    :raises ValueError: if it cannot be run as it is written
    """
    problem = problem_with_command(argv)
    if problem is not None:
        raise ValueError(problem)
    system = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32")
    if _suffix(argv[0]) in _BATCH:
        # With /s, cmd takes off the outer quotation marks and nothing else.
        quoted = " ".join('"%s"' % argument for argument in argv)
        return '"%s" /d /s /c "%s"' % (os.path.join(system, "cmd.exe"), quoted)
    if _suffix(argv[0]) == _POWERSHELL:
        powershell = os.path.join(system, "WindowsPowerShell", "v1.0", "powershell.exe")
        return [powershell, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", *argv]
    return list(argv)


def environment_with(variables: Mapping[str, str]) -> Dict[str, str]:
    """What a command finds in its environment."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    root = kept.get("SystemRoot", r"C:\Windows")
    system = os.path.join(root, "System32")
    kept["PATH"] = ";".join(
        [system, root, os.path.join(system, "Wbem"), os.path.join(system, "WindowsPowerShell", "v1.0")]
    )
    kept["TEMP"] = kept["TMP"] = os.path.join(root, "Temp")
    kept.update((name, value.replace("\0", "")) for name, value in variables.items())
    return kept


def _start(command: Union[str, List[str]], environment: Mapping[str, str], job: _Job) -> Any:
    from . import win32

    # Suspended until it is in its job: what it starts would be outside of it.
    process: Any = subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=machine.ROOT,
        env=environment_with(environment),
        creationflags=_CREATE_SUSPENDED | _CREATE_NO_WINDOW,
    )
    handle = int(process._handle)
    try:
        job.take(handle)
        win32.ntdll.NtResumeProcess(handle)
    except OSError:
        process.kill()
        raise
    return process


def _suffix(path: str) -> str:
    return os.path.splitext(path)[1].lower()


def _shown(status: int) -> str:
    # What Windows ends a process with has such numbers: 0xC0000005 is an access violation.
    return "0x%08X" % status if status > 0xFFFF else str(status)
