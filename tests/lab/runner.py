# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make lab` does: have trees, install the collection as a user does, run the scenarios, leave nothing behind."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import yaml

from . import trees
from .commands import CommandError, ask, directory_of, ssh_connections_of
from .confinement import enter, first_process, keep_mounts_private, remove_cgroup, start_confined
from .host import PYTHON, cgroup_of_lab

LANES = 3
"""How many scenarios run side by side, each in a lab of its own. More keep two processors no busier."""

LONGEST = ("playbooks", "rolling")
"""What takes longest begins first, so that no lane is left alone with it at the end."""

INOTIFY_INSTANCES = 1024
"""How many a lab needs at the most."""

HEARTBEAT = 30.0
"""Seconds between two lines that tell of a running scenario."""

_ROOT = Path(__file__).resolve().parents[2]
_SCENARIOS = _ROOT / "extensions" / "molecule"


class Lab(NamedTuple):
    """A running lab, as seen from outside."""

    name: str
    first: int
    """The process id of its first process."""
    environment: Mapping[str, str]
    """For commands that run in it."""


class Result(NamedTuple):
    """What became of a scenario."""

    name: str
    passed: bool
    seconds: float

    def __str__(self) -> str:
        return f"--- {self.name:<24} {'passed' if self.passed else 'FAILED'} {self.seconds:7.1f} s"


def run(name: str, tarball: Path, scenarios: Sequence[str]) -> int:
    """Run the scenarios named, or all, a few side by side; 1 if any failed. Raises CommandError."""
    known = sorted(path.parent.name for path in _SCENARIOS.glob("*/molecule.yml"))
    for scenario in scenarios:
        if scenario not in known:
            raise CommandError(f"{scenario}: no scenario; there are {', '.join(known)}")
    keep_mounts_private()
    began = time.monotonic()
    chosen = list(scenarios) or known
    made = Trees({suite for scenario in chosen for suite in suites_of(scenario)})
    # Those that need less begin while the rest is being made.
    waiting = deque(sorted(chosen, key=lambda scenario: (len(suites_of(scenario)), scenario not in LONGEST)))
    # The lanes end when their labs have ended, so the labs have to be left first.
    with ThreadPoolExecutor(LANES) as lanes, contextlib.ExitStack() as stack:
        names = [name, *(f"{name}{number}" for number in range(2, LANES + 1))][: len(chosen)]
        labs = [stack.enter_context(a_lab(each, tarball)) for each in names]
        stack.callback(waiting.clear)
        test = _test_live if len(chosen) == 1 else _test
        running = [lanes.submit(_test_all, lab, waiting, made, test) for lab in labs]
        results = [result for lane in running for result in lane.result()]
    failed = [result.name for result in results if not result.passed]
    passed = f"{len(results) - len(failed)} of {len(results)} scenarios passed in {time.monotonic() - began:.0f} s"
    _show("", "=== summary", *results, passed)
    if failed:
        print(f"error: failed: {', '.join(failed)}; `make lab SCENARIO={failed[0]}` runs one alone", file=sys.stderr)
    return 1 if failed else 0


def shell(name: str, tarball: Path) -> int:
    """Give the user a shell in an empty lab, which ends with it."""
    keep_mounts_private()
    Trees(set(trees.SUITES)).wait_for(trees.SUITES)
    with a_lab(name, tarball) as lab:
        print("`molecule converge -s SCENARIO` makes its hosts, `python -m tests.lab` tells what else can be done.")
        return subprocess.run([*enter(lab.first), "bash", "--norc"], env=lab.environment, check=False).returncode


def execute(name: str, host: str, words: Sequence[str]) -> int:
    """Run a command on a host, as its root; its status is ours. Raises CommandError."""
    status = ask(name, {"do": "status"})
    if host not in status["hosts"]:
        raise CommandError(f"{host}: no host of this lab, which has {', '.join(status['hosts']) or 'none'}")
    leader = status["hosts"][host]["leader"]
    if leader is None:
        raise CommandError(f"{host} is {status['hosts'][host]['state']}: nothing can run on it")
    there = ["nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wdns=/", "--"]
    clean = [
        "env",
        "-i",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin",
        f"TERM={os.environ.get('TERM', 'dumb')}",
    ]
    outside = os.readlink("/proc/self/ns/net") != status["namespace"]
    first = int((directory_of(name) / "first-process").read_text().split()[0])
    return subprocess.run(
        [*(enter(first) if outside else []), *there, *clean, *(words or ["bash"])], check=False
    ).returncode


def suites_of(scenario: str) -> set[str]:
    """The Debian suites that a scenario's hosts start from."""
    description = yaml.safe_load((_SCENARIOS / scenario / "molecule.yml").read_text())
    return {host.get("suite", "bookworm") for host in description["platforms"] if "image" not in host}


class Trees:
    """Makes in the background what is missing of these suites' trees."""

    def __init__(self, suites: set[str]) -> None:
        self._failures: dict[str, str] = {}
        missing = sorted(suite for suite in suites if not trees.path_of(suite).is_dir())
        if missing:
            print(f"set-up: making {', '.join(missing)} in {trees.KEPT_IN}, once; a minute or two …", flush=True)
        self._threads = {suite: threading.Thread(target=self._make, args=(suite,), daemon=True) for suite in missing}
        for thread in self._threads.values():
            thread.start()

    def wait_for(self, suites: Sequence[str] | set[str]) -> None:
        """Wait until these are there. Raises CommandError if one cannot be made."""
        for suite in suites:
            if suite in self._threads:
                self._threads[suite].join()
            if suite in self._failures:
                raise CommandError(self._failures[suite])

    def _make(self, suite: str) -> None:
        try:
            trees.make(suite)
        except (trees.TreeError, OSError) as error:
            self._failures[suite] = str(error)


@contextlib.contextmanager
def a_lab(name: str, tarball: Path) -> Iterator[Lab]:
    """A lab of this name, for as long as the block runs. Raises CommandError if there is one already."""
    place = directory_of(name)
    place.mkdir(parents=True, exist_ok=True)
    cache = _ROOT / ".cache" / "lab" / name
    with _locked(place / "lock", name), _signals_as_exceptions():
        cgroup = cgroup_of_lab(name)
        _end_what_is_left(place)
        _remove_cgroup_soon(cgroup)
        _let_many_watch()
        collections = _install(tarball, cache / "collections")
        package = collections / "ansible_collections/foghorn/azure_events/roles/azure_simulator/files"
        logs = cache / "logs"
        arguments = ["--simulator", str(package), "--logs", str(logs)]
        command = [sys.executable, "-m", "tests.lab", "supervise", *arguments]
        supervisor = start_confined(command, {**os.environ, "LAB": name})
        try:
            assert supervisor.stdout is not None
            if supervisor.stdout.readline() != b"ready\n":
                raise CommandError("the lab did not start; what it wrote above says why")
            first = first_process(supervisor)
            (place / "first-process").write_text(f"{first} {_start_time(first)}")
            yield Lab(name, first, _environment(name, collections, cache))
        finally:
            supervisor.kill()
            supervisor.wait()
            _remove_cgroup_soon(cgroup)
            shutil.rmtree(place)


def _environment(name: str, collections: Path, cache: Path) -> dict[str, str]:
    """For what runs in the lab: no colours, no questions, and no home directory is touched."""
    place = directory_of(name)
    return {
        **os.environ,
        "LAB": name,
        "FOGHORN_LAB": str(place),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONPATH": str(PYTHON),
        "PYTHONUNBUFFERED": "1",
        "ANSIBLE_HOME": str(cache / "ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": str(ssh_connections_of(name)),
    }


def _install(tarball: Path, collections: Path) -> Path:
    """Install the collection as a user does, so that what scenarios call is what was built."""
    command = ["ansible-galaxy", "collection", "install", "--force", "--no-deps", "--offline", "-p", str(collections)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*command, str(tarball)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    if done.returncode != 0:
        raise CommandError(f"the collection cannot be installed: {done.stdout.strip()}")
    return collections


def _test_all(lab: Lab, waiting: deque[str], made: Trees, test: Callable[[Lab, str], Result]) -> list[Result]:
    """Run one waiting scenario after the other, as long as there are any."""
    results: list[Result] = []
    while True:
        try:
            scenario = waiting.popleft()
        except IndexError:
            return results
        made.wait_for(suites_of(scenario))
        results.append(test(lab, scenario))


def _test(lab: Lab, scenario: str) -> Result:
    """Test a scenario, tell now and then how far it is, and show what it printed if it failed."""
    log = _logs_of(lab, scenario) / "molecule.log"
    began = time.monotonic()
    _show(f"... {scenario}: begins")
    with log.open("wb") as stream, _start(lab, scenario, stdout=stream, stderr=subprocess.STDOUT) as process:
        while process.returncode is None:
            try:
                process.wait(HEARTBEAT)
            except subprocess.TimeoutExpired:
                last = _printed(log).rpartition("\n")[2].strip() or "nothing printed yet"
                _show(f"... {scenario}: {time.monotonic() - began:.0f} s; {last}")
    result = Result(scenario, process.returncode == 0, time.monotonic() - began)
    if not result.passed:
        _show("", f"=== {scenario}", _printed(log), f"{log.parent} has what its hosts wrote")
    _show(result)
    return result


def _test_live(lab: Lab, scenario: str) -> Result:
    """Test the only scenario, and show its output as it comes."""
    _logs_of(lab, scenario)
    began = time.monotonic()
    with _start(lab, scenario) as process:
        status = process.wait()
    result = Result(scenario, status == 0, time.monotonic() - began)
    _show(result)
    return result


def _show(*lines: object) -> None:
    """Print these lines together: the lanes share the screen."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def _printed(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace").rstrip()


def _start(lab: Lab, scenario: str, **output: Any) -> subprocess.Popen[bytes]:
    place = f"{directory_of(lab.name)}/hosts/molecule/{scenario}"
    return subprocess.Popen(
        [*enter(lab.first), "molecule", "test", "--scenario-name", scenario],
        env={**lab.environment, "MOLECULE_EPHEMERAL_DIRECTORY": place},
        stdin=subprocess.DEVNULL,
        **output,
    )


def _logs_of(lab: Lab, scenario: str) -> Path:
    """An empty directory for what a scenario's hosts write."""
    logs = _ROOT / ".cache" / "lab" / lab.name / "logs" / scenario
    if logs.exists():
        shutil.rmtree(logs)
    logs.mkdir(parents=True)
    return logs


@contextlib.contextmanager
def _locked(path: Path, name: str) -> Iterator[None]:
    with path.open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stream.seek(0)
            raise CommandError(
                f"process {stream.read() or '?'} runs the lab {name}: wait for it, or name another: make lab LAB=second"
            ) from None
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        yield


@contextlib.contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind what we are in, as SIGINT does."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_what_is_left(place: Path) -> None:
    """End the first process of a lab whose runner was killed, if it has not noticed yet; the kernel ends the rest."""
    file = place / "first-process"
    if file.exists():
        pid, started = file.read_text().split()
        if _start_time(int(pid)) == started:
            os.kill(int(pid), signal.SIGKILL)
            while _start_time(int(pid)) == started:
                time.sleep(0.05)
        file.unlink()


def _let_many_watch() -> None:
    """Each systemd takes seven of the kernel's inotify instances, and 128 for all machines is what Debian allows.

    It stays raised until the machine that runs the lab boots again: other labs may be running.
    """
    limit = Path("/proc/sys/fs/inotify/max_user_instances")
    if int(limit.read_text()) < INOTIFY_INSTANCES:
        limit.write_text(str(INOTIFY_INSTANCES))


def _start_time(pid: int) -> str | None:
    """When a process started, in ticks since boot: with its id it is known from all others."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return None


def _remove_cgroup_soon(cgroup: Path) -> None:
    """Remove the hosts' cgroups; their processes have been killed, and may need a moment to be gone."""
    deadline = time.monotonic() + 10
    while cgroup.exists():
        try:
            remove_cgroup(cgroup)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
