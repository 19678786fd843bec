# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows machine for the tests: a Windows Python under Wine. tools/test_wine.sh makes the world that it needs.

Standard streams are pipes: under Wine, programs cannot write to regular files that they did not open themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
PATIENCE = 300.0  # seconds; machines are slow and shared
WORTH_A_BOOT = 4.0  # seconds of a processor
PYTHON = Path(os.environ.get("WINDOWS_PYTHON_DIRECTORY", "")) / "python.exe"
PREFIX = Path(os.environ.get("WINEPREFIX", ""))
DATA = PREFIX / "drive_c/ProgramData/foghorn"
STAGES = {"drain": ["deregister", "wait"], "shutdown": ["stop"], "restore": ["start", "register"]}


def windows(path: Path) -> str:
    """The path under which Windows finds a file of this machine."""
    drive_c = PREFIX / "drive_c"
    if path.is_relative_to(drive_c):
        return str(PureWindowsPath("C:/", *path.relative_to(drive_c).parts))
    return str(PureWindowsPath("Z:/", *path.parts[1:]))


class Program:
    """A program of Windows under way, whose output is kept."""

    def __init__(self, argv: Sequence[str | Path]) -> None:
        self.process = subprocess.Popen(
            ["wine", *[str(word) for word in argv]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._pieces: list[bytes] = []
        self._is_over = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.2)
            if ready:
                piece = os.read(self.process.stdout.fileno(), 65536)
                self._pieces.append(piece)
            if (ready and not piece) or (not ready and self._is_over.is_set()):
                return

    @property
    def output(self) -> str:
        """What it has said by now."""
        return b"".join(self._pieces).decode("utf-8", "replace").replace("\r\n", "\n")

    def wait(self) -> int:
        """Wait until it has ended; its status."""
        status = self.process.wait(PATIENCE)
        self.close()
        return status

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self.process.kill()
        self.wait()

    def close(self) -> None:
        """Give back its streams. Something that it has started may have its output open still."""
        self._is_over.set()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()


def run(*argv: str | Path) -> Program:
    """Run a program of Windows to its end."""
    program = Program(argv)
    assert program.process.stdin is not None
    program.process.stdin.close()
    program.wait()
    return program


def run_python(code: str) -> str:
    """What a program says in the Windows Python, with the agent to import."""
    paths = [windows(ROOT / "roles/handler_agent/files"), windows(ROOT / ".cache/agent")]
    program = run(PYTHON, "-IS", "-c", f"import sys; sys.path[:0] = {paths!r}\n{code}")
    assert program.process.returncode == 0, program.output
    return program.output


def wait_for(ask: Callable[[], Any], said: Callable[[], str] = lambda: "", seconds: float = PATIENCE) -> Any:
    """Ask until the answer is true; give it."""
    ends = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < ends, f"nothing came; it said:\n{said()}"
        time.sleep(0.1)
    return answer


@pytest.fixture(scope="session")
def _prefix() -> None:
    """The machine's disk and registry."""
    if not (PREFIX / "made").exists():
        subprocess.run(["rm", "-rf", str(PREFIX)], check=True)
        subprocess.run(["wineboot", "--init"], check=True, capture_output=True, timeout=PATIENCE)
        # Python 3.9 and later refuse older ones.
        version = ["reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"]
        subprocess.run(["wine", *version], check=True, capture_output=True, timeout=PATIENCE)
        subprocess.run(["wineserver", "--wait"], check=True, timeout=PATIENCE)
        (PREFIX / "made").touch()


class Machine:
    """The machine, up and running: its services end with the last program of a user."""

    def begin(self) -> None:
        """Boot."""
        self._keeper = Program([PYTHON, "-IS", "-c", "import sys; print('up', flush=True); sys.stdin.read()"])
        wait_for(lambda: "up" in self._keeper.output, lambda: self._keeper.output)

    def end(self) -> None:
        """Leave no process behind."""
        subprocess.run(["wineserver", "--kill"], check=False, timeout=PATIENCE)
        self._keeper.wait()

    def begin_anew_if_busy(self) -> None:
        """Sockets of a program that was killed under Wine may keep wineserver busy until it ends."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            # It may have ended in between.
            with contextlib.suppress(OSError):
                name, _, numbers = stat.read_text().partition("(")[2].rpartition(")")
                state, *more = numbers.split()
                if name.startswith("wineserver") and state != "Z":
                    ticks += int(more[10]) + int(more[11])
        if ticks / os.sysconf("SC_CLK_TCK") > WORTH_A_BOOT:
            self.end()
            self.begin()


@pytest.fixture(scope="module", autouse=True)
def machine(_prefix: None) -> Iterator[Machine]:
    """The machine, for each file of tests."""
    machine = Machine()
    machine.begin()
    yield machine
    machine.end()


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent's program, built."""
    target = tmp_path_factory.mktemp("program") / "foghorn-agent.pyz"
    build = ROOT / "roles/handler_agent/files/build_program.py"
    subprocess.run([sys.executable, str(build), str(target)], check=True)
    return target


@pytest.fixture
def azure(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    """Azure, with two VMs that one event can hit; a parameter is its clock."""
    vms = [{"name": name, "address": f"127.0.60.1{len(name)}", "availability_set": "a"} for name in ("win", "other")]
    with Simulator({"vms": vms, "imds": {"rate_limit": None}, "clock": getattr(request, "param", {})}) as simulator:
        yield simulator


class Agent:
    """A machine on which the program runs: its files, its configuration, its process."""

    def __init__(self, program: Path, directory: Path, endpoint: str, **settings: Any) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.program = program
        self.port = free_port()
        self.notes = directory / "notes"
        self.config = directory / "agent.json"
        self._process: Program | None = None
        script = directory / "step.py"
        script.write_text(
            "import sys, time\n"
            f"file = open({windows(self.notes)!r}, 'a')\n"
            "print('begin', sys.argv[1], file=file, flush=True)\n"
            "time.sleep(float(sys.argv[2]))\n"
            "print('end', sys.argv[1], file=file, flush=True)\n"
        )
        self.settings: dict[str, Any] = {
            "imds": {"endpoint": endpoint, "poll_interval": 0.25},
            "listen": [{"address": "127.0.0.1", "port": self.port}],
            "hooks_directory": windows(directory / "hooks.d"),
            "state_directory": windows(directory / "state"),
            "margin": 1,
            "policies": [
                {
                    "approve": "when_ready",
                    **{stage: [self.step(name) for name in names] for stage, names in STAGES.items()},
                }
            ],
            **settings,
        }
        self.write()

    def policy(self, **more: Any) -> dict[str, Any]:
        """One whose steps note what they do."""
        stages = {stage: [self.step(name) for name in names] for stage, names in STAGES.items()}
        return {"approve": "when_ready", **stages, **more}

    def step(self, name: str, seconds: float = 0.05, **more: Any) -> dict[str, Any]:
        """A step that notes its beginning and its end."""
        command = [windows(PYTHON), "-IS", windows(self.directory / "step.py"), name, str(seconds)]
        return {"command": command, "name": name, **more}

    def write(self) -> None:
        """Write the configuration."""
        self.config.write_text(json.dumps(self.settings))

    def begin(self) -> None:
        """Start the agent, and wait until it answers."""
        self._process = Program([PYTHON, "-IS", self.program, "run", "--config", windows(self.config)])
        self.wait_for(lambda: self.get("/readyz") is not None)

    @property
    def process(self) -> Program:
        """The agent's process."""
        assert self._process is not None
        return self._process

    def wait_for(self, ask: Callable[[], Any]) -> Any:
        """Ask until the answer is true."""
        return wait_for(ask, lambda: self.process.output)

    def get(self, path: str) -> tuple[int, str] | None:
        """What the endpoint answers; None if nobody does."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.port}{path}", timeout=PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return None

    def is_ready(self) -> bool:
        """Whether the balancer's probe is answered that it may send."""
        answer = self.get("/readyz")
        return answer is not None and answer[0] == 200

    def is_restored(self) -> bool:
        """Whether the machine is back after its last step."""
        return self.noted()[-1:] == STAGES["restore"][-1:] and self.is_ready()

    def status(self) -> dict[str, Any]:
        """What /status says."""
        answer = self.get("/status")
        assert answer is not None
        status: dict[str, Any] = json.loads(answer[1])
        return status

    def run(self, *words: str) -> Program:
        """Run another command of the program with the same configuration."""
        return run(PYTHON, "-IS", self.program, *words, "--config", windows(self.config))

    def noted(self, what: str = "end") -> list[str]:
        """The steps that have begun, or ended, in their order."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [line.split()[1] for line in lines if line.split()[0] == what]

    def end(self) -> None:
        """Leave no process behind."""
        if self._process is not None:
            self._process.kill()


def install(program: Path, *words: str, python: str | Path = PYTHON) -> tuple[int, dict[str, Any], str]:
    """Run `install --json`, or another command: its status, what it says as JSON, and what it says."""
    done = run(python, "-IS", program, *words, "--json")
    says = json.loads(done.output) if done.output.startswith("{") else {}
    return done.process.returncode, says, done.output


@contextlib.contextmanager
def installed_agent(program: Path, directory: Path, endpoint: str) -> Iterator[Agent]:
    """The service on this machine, and an agent that only says what is configured and answers."""
    here = Agent(program, directory, endpoint)
    for name in ("hooks_directory", "state_directory"):
        del here.settings[name]
    (directory / "given").mkdir()
    here.config = directory / "given/agent.json"
    here.write()
    status, _says, output = install(program, "install", "--files", windows(directory / "given"))
    assert status == 0, output
    try:
        wait_for(here.is_ready)
        yield here
    finally:
        install(program, "uninstall")


@pytest.fixture
def agent(program: Path, azure: Simulator, tmp_path: Path, machine: Machine) -> Iterator[Callable[..., Agent]]:
    """Make an agent; its settings are keywords."""
    machine.begin_anew_if_busy()
    made: list[Agent] = []

    def make(name: str = "agent", vm: str = "win", **settings: Any) -> Agent:
        made.append(Agent(program, tmp_path / name, azure.imds[vm], **settings))
        return made[-1]

    yield make
    for each in made:
        each.end()
