# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of ansible-playbook that are forks of a process which has imported it: a start would take a second each time.

Those forks share what Ansible has made of modules to send them to a machine, too. Everything else of a run is as it
would be without: arguments, environment, session, output, exit status. A process for each set of variables that are
read once, at the start, is started when it is asked first, and ends with the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

_FIRST = "ansible.cli.playbook"
_OURS = "ansible_collections.foghorn.azure_events.plugins."
_MODULES = (
    "ansible.executor.playbook_executor",
    "ansible.module_utils.basic",
    "ansible.plugins.strategy.linear",
    *(f"{_OURS}action.{name}" for name in ("check_variables", "maintenance_step", "maintenance_watch")),
    *(f"{_OURS}action.{name}" for name in ("ordered_services", "wait_until")),
    *(f"{_OURS}module_utils.{name}_module" for name in ("claim", "imds", "probe_file", "service")),
)
_READ_ONCE = ("ANSIBLE_", "PYTHON", "LC_", "PRELOAD", "TMPDIR")
_LIMIT = 1 << 20  # bytes of a request
_PR_SET_PDEATHSIG = 1


class Playbook:
    """A running ansible-playbook, as subprocess.Popen has it."""

    def __init__(
        self, arguments: Sequence[str], output: IO[Any], environment: Mapping[str, str], cwd: Path | None = None
    ) -> None:
        """Start it with these arguments; standard output and errors go to the same file."""
        self.returncode: int | None = None
        request = {"arguments": list(arguments), "environment": dict(environment), "cwd": str(cwd or Path.cwd())}
        self._answers, answers = socket.socketpair()
        socket.send_fds(_server_for(environment), [json.dumps(request).encode()], [output.fileno(), answers.fileno()])
        answers.close()
        self.pid = int(self._answers.recv(16))

    def poll(self) -> int | None:
        """Its exit status, None as long as it is running."""
        return self._take(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raise TimeoutExpired after so many seconds."""
        status = self._take(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("ansible-playbook", timeout or 0)
        return status

    def _take(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._answers], [], [], timeout)[0]:
            # Nothing comes from a server that was killed.
            self.returncode = int(self._answers.recv(16) or "1")
            self._answers.close()
        return self.returncode

    def __del__(self) -> None:
        self._answers.close()


def run(
    *arguments: str, environment: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 1800
) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook to its end; its errors are in its output.

    :param environment: more variables than those of the tests
    :param timeout: seconds, on a busy machine
    """
    with tempfile.TemporaryFile("w+") as output:
        status = Playbook(arguments, output, {**os.environ, **(environment or {})}, cwd).wait(timeout)
        output.seek(0)
        return subprocess.CompletedProcess(arguments, status, output.read())


_servers: dict[frozenset[tuple[str, str]], tuple[subprocess.Popen[bytes], socket.socket]] = {}


def _server_for(environment: Mapping[str, str]) -> socket.socket:
    """What runs are asked of that have these variables."""
    read_once = frozenset(item for item in environment.items() if item[0].startswith(_READ_ONCE))
    if read_once not in _servers:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LIMIT)
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        _servers[read_once] = process, ours
    return _servers[read_once][1]


@atexit.register
def _end() -> None:
    """Wait for the servers, so that their time is counted as ours."""
    for process, channel in _servers.values():
        channel.close()
        process.wait()


def _serve(channel: socket.socket) -> None:
    """Fork for each request, until nobody can ask any more."""
    _end_with_parent()
    _import()
    answers: dict[int, int] = {}

    def bury(*_signal: object) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                answer = answers.pop(pid)
                # Who asked may have gone.
                with contextlib.suppress(OSError):
                    os.write(answer, str(os.waitstatus_to_exitcode(status)).encode())
                os.close(answer)

    signal.signal(signal.SIGCHLD, bury)
    while True:
        message, (*files,), _flags, _address = socket.recv_fds(channel, _LIMIT, 2)
        if not message:
            return
        output, answer = files
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            channel.close()
            os.close(answer)
            _become(output, **json.loads(message))
        os.close(output)
        answers[pid] = answer
        os.write(answer, str(pid).encode())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def _end_with_parent() -> None:
    """End this process, with its workers, if the tests are killed before they clean up."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _import() -> None:
    from ansible import cli

    importlib.import_module(_FIRST)
    # It finds the collections, which takes longer than all that follows here.
    cli.init_plugin_loader()
    cli.init_plugin_loader = lambda *_arguments: None
    for name in (*_MODULES, *os.environ.get("PRELOAD", "").split()):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # A fork copies each object that its garbage collector visits.
    gc.collect()
    gc.freeze()


def _become(output: int, arguments: list[str], environment: dict[str, str], cwd: str) -> None:
    """Be a run."""
    status: Any = 1
    try:
        os.setsid()
        _end_with_parent()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        for number in (1, 2):
            os.dup2(output, number)
        os.close(output)
        random.seed()
        sys.argv = ["ansible-playbook", *arguments]
        try:
            importlib.import_module(_FIRST).main()
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except BaseException:  # noqa: BLE001 - as the interpreter does
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        # What the process has made at its start is removed at its end, and used by others until then.
        os._exit(status if isinstance(status, int) else 1)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
