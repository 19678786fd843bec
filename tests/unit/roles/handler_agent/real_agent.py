# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The built program, in processes of its own, as systemd runs it.

It runs isolated, so the guard against other addresses than loopback is not in it: each configuration has to name an
endpoint. Runs on Python 3.6 and later.
"""

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

from ansible_collections.foghorn.azure_events.tests.ports import free_port
from edge_helpers import AGENT, PATIENCE

SECRET = "a secret of the members, of all of them".replace(" ", "-")
STAGES = {"drain": ["deregister", "wait"], "shutdown": ["stop"], "restore": ["start", "register"]}


def build(target: Path) -> Path:
    """Build the program."""
    subprocess.run([sys.executable, str(AGENT / "build_program.py"), str(target)], check=True, timeout=PATIENCE)
    return target


class RealAgent:
    """A machine on which the program runs: its files, its configuration, its process.

    Its steps note in a file that they begin and end, and when.

    :param launcher: what runs in place of the program, with the program's path as its first argument
    """

    def __init__(
        self,
        program: Path,
        directory: Path,
        endpoint: str,
        settings: Optional[Dict[str, Any]] = None,
        launcher: Optional[Path] = None,
    ) -> None:
        directory.mkdir(mode=0o755, exist_ok=True)
        assert endpoint.startswith("http://127."), endpoint
        self.directory = directory
        self.url = "http://127.0.0.1:%d" % free_port()
        self.notes = directory / "notes"
        self.output = directory / "output"
        self.command = [sys.executable, "-IS", *([str(launcher)] if launcher else []), str(program)]
        self.config = directory / "agent.json"
        self.secret_file = directory / "members.secret"
        self.secret_file.write_text(SECRET)
        self.secret_file.chmod(0o600)
        self._process: Optional[subprocess.Popen[bytes]] = None
        content: Dict[str, Any] = {
            "imds": {"endpoint": endpoint, "poll_interval": 0.25},
            "listen": [{"address": "127.0.0.1", "port": int(self.url.rpartition(":")[2])}],
            "hooks_directory": str(directory / "hooks.d"),
            "state_directory": str(directory / "state"),
            "margin": 1,
            "quorum": {"secret_file": str(self.secret_file)},
            "policies": [dict({"approve": "quorum"}, **{stage: self._steps(stage) for stage in STAGES})],
        }
        content.update(settings or {})
        self.config.write_text(json.dumps(content))
        self.config.chmod(0o644)

    def set(self, name: str, value: Any) -> None:
        """Change the configuration."""
        self.config.write_text(json.dumps(dict(json.loads(self.config.read_text()), **{name: value})))

    def _steps(self, stage: str) -> List[Dict[str, Any]]:
        # O_APPEND: each line goes in as a whole.
        script = "echo begin $0 $(date +%%s.%%N) >> %s; sleep 0.05; echo end $0 $(date +%%s.%%N) >> %s"
        line = script % (self.notes, self.notes)
        return [{"command": ["/bin/sh", "-c", line, name], "name": name} for name in STAGES[stage]]

    def begin(self, environment: Optional[Dict[str, str]] = None) -> None:
        """Start the agent."""
        with self.output.open("ab") as output:
            self._process = subprocess.Popen(
                [*self.command, "run", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=dict({"PATH": "/usr/bin:/bin"}, **(environment or {})),
            )

    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait; return the exit status."""
        self.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait until the process has ended; return its exit status."""
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        """Run another command of the program with the same configuration."""
        return subprocess.run(
            [*self.command, *arguments, "--config", str(self.config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE,
            check=False,
        )

    def ask(self, path: str) -> Optional[int]:
        """The status that the endpoint answers; None if nobody does."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(self.url + path, timeout=PATIENCE) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return int(error.code)
        except OSError:
            return None

    def noted(self, what: str) -> List[str]:
        """The steps that have begun, or ended, in their order."""
        return [name for kind, name, _at in self._notes() if kind == what]

    def times(self, what: str, name: str) -> List[float]:
        """When a step began, or ended: seconds since the epoch."""
        return [at for kind, step, at in self._notes() if (kind, step) == (what, name)]

    def _notes(self) -> "List[tuple[str, str, float]]":
        if not self.notes.exists():
            return []
        words = [line.split() for line in self.notes.read_text().splitlines()]
        return [(kind, name, float(at)) for kind, name, at in words]

    def close(self) -> None:
        """Leave no process behind."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait(PATIENCE)


def wait_for(ask: Callable[[], Any], agents: Sequence[RealAgent]) -> Any:
    """Ask until the answer is true. If it never is, show what the agents said."""
    ends = time.monotonic() + PATIENCE
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > ends:
            said = [agent.output.read_text() for agent in agents if agent.output.exists()]
            raise AssertionError("nothing came; the agents said:\n" + "\n".join(said))
        time.sleep(0.05)
