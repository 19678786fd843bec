# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a machine that can be down: the local one, unless a file in FLEET_DOWN, named like the host, says so.

What the machine's Python is sent, which is the modules, a fork of this process runs. It has most of what a module
imports in memory already; an interpreter of its own would compile it all again, each time, which takes three times as
long as everything else that happens for a task. That modules bring all that they need is for the tests of the modules
to show.
"""

from __future__ import annotations

import base64
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from datetime import UTC, datetime
from typing import Any, BinaryIO

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: machine
short_description: local connection to a machine that can be down
description:
  - Fails as ssh does while the file HOST exists in the directory that FLEET_DOWN names.
  - Waits for an answer as long as there is HOST.unplugged.
  - With a shell of Windows, the machine stands in for a Windows machine, of which only the agent is asked.
author: The foghorn.azure_events contributors (!UNKNOWN)
extends_documentation_fragment: [connection_pipelining]
"""

_ENCODED = "-EncodedCommand "


class Connection(LocalConnection):
    """Reaches the machine when it is up."""

    transport = "machine"

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        """Run a command, if the machine is up."""
        self._check()
        if not in_data and _ENCODED in cmd:
            return self._as_windows(base64.b64decode(cmd.partition(_ENCODED)[2]).decode("utf-16-le"))
        # Modules, and nothing else, come this way.
        if in_data:
            fault = self._next_fault(in_data)
            _strike(fault, "before")
            answer = _run_here(in_data, self._play_context.remote_addr)
            _strike(fault, "after")
            return answer
        status, stdout, stderr = super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        return status, stdout, stderr

    def put_file(self, *args: Any, **kwargs: Any) -> Any:
        """Copy a file, if the machine is up."""
        self._check()
        return super().put_file(*args, **kwargs)

    def _as_windows(self, script: str) -> tuple[int, bytes, bytes]:
        """Answer as a Windows machine does whose agent is asked, by the command of an agent here, if there is one."""
        clock = b"foghorn-clock %sZ\r\n" % datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f0").encode()
        name = self._play_context.remote_addr
        agent = os.path.join(os.path.dirname(os.environ["FLEET_DOWN"]), name, "foghorn-agent")
        if not os.path.exists(agent):
            return 0, clock + b"foghorn-agent is not installed\r\n", b""
        words = shlex.split(script.partition("& $python -IS $program ")[2].partition(";")[0])
        if words == ["service", "is-active", "foghorn-agent"]:
            return 1, clock, b""
        done = subprocess.run([agent, *words], capture_output=True, check=False)
        # Some connections say only that a command has failed.
        return min(done.returncode, 1), clock + done.stdout, done.stderr

    def _next_fault(self, module: bytes) -> list[str]:
        """What the test wants to go wrong with this module on this machine: one line for each that is run there, or a
        line that names the module that it is for.
        """
        faults = self._marker(".faults")
        if not os.path.exists(faults):
            return []
        with open(faults) as stream:
            first, *rest = stream.read().splitlines() or [""]
        if len(first.split()) > len(("moment", "what")) and first.split()[-1].encode() not in module:
            return []
        with open(faults, "w") as stream:
            stream.write("\n".join(rest))
        return first.split()

    def _marker(self, suffix: str) -> str:
        """The file in which a test says what is wrong with this machine: nothing, where tests say no such things."""
        directory = os.environ.get("FLEET_DOWN")
        return os.path.join(directory, self._play_context.remote_addr + suffix) if directory else ""

    def _check(self) -> None:
        # As over SSH, nothing shows that no more data will come.
        while os.path.exists(self._marker(".unplugged")):
            time.sleep(0.1)
        if os.path.exists(self._marker("")):
            raise AnsibleConnectionFailure("connection refused")


def _strike(fault: list[str], moment: str) -> None:
    """Lose the connection, or the controller, before or after a module has run."""
    if not fault or fault[0] != moment:
        return
    if fault[1] == "lost":
        raise AnsibleConnectionFailure("connection lost")
    # Workers are children of the run. One that is killed leaves them behind.
    controller = os.getppid()
    os.kill(controller, getattr(signal, fault[1]))
    while os.getppid() == controller:
        time.sleep(0.05)
    os._exit(1)


def _run_here(program: bytes, machine: str) -> tuple[int, bytes, bytes]:
    """Run what Python would read from its standard input; returns exit status, output and errors.

    Programs that stand in for those of a machine find its name in FLEET_MACHINE.
    """
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            os.environ["FLEET_MACHINE"] = machine
            _become(program, stdout, stderr)
        _pid, status, usage = os.wait4(pid, 0)
        # For benchmarks: what the machine has done, and not the controller.
        if "FLEET_MODULE_SECONDS" in os.environ:
            with open(os.environ["FLEET_MODULE_SECONDS"], "a") as seconds:
                seconds.write(f"{usage.ru_utime + usage.ru_stime}\n")
        stdout.seek(0)
        stderr.seek(0)
        return os.waitstatus_to_exitcode(status), stdout.read(), stderr.read()


def _become(program: bytes, stdout: BinaryIO, stderr: BinaryIO) -> None:
    status: Any = 1
    try:
        for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), stdout.fileno(), stderr.fileno())):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        sys.argv = ["-"]
        try:
            exec(compile(program, "<stdin>", "exec"), {"__name__": "__main__"})
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except BaseException:  # noqa: BLE001 - as the interpreter does
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status if isinstance(status, int) else 1)
