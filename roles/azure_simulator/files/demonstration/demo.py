# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three web servers go through Azure's maintenance under traffic, with foghorn.azure_events or without.

Everything is real but Azure: web servers, HTTP clients, ansible-playbook, and HAProxy if it is asked for. Azure, with
its load balancer, is the simulator of this collection.
Nothing leaves loopback, nothing needs root, and whatever was started is ended again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
SIMULATOR = HERE.parent
sys.path.insert(0, str(SIMULATOR))

import haproxy  # noqa: E402
import journal  # noqa: E402
import picture  # noqa: E402
import timeline  # noqa: E402
import verdict  # noqa: E402
from azure_simulator.client import ControlClient, ControlError  # noqa: E402  # found on the path set above
from service import Machine, ServiceError, free_port  # noqa: E402

MACHINES = {"web_0": "127.0.0.11", "web_1": "127.0.0.12", "web_2": "127.0.0.13"}
SPEED = 15.0
"""How many times faster than a real one Azure's clock runs: 15 minutes of notice are one."""

NOTICE_IN_PINGS = 25.0
"""How many times as long as Ansible's shortest run a notice must last at least: approving takes about ten."""
MINIMUM_IN_SERVICE = 1
PLAYBOOK = "foghorn.azure_events.handle_events"

UP_LIMIT = 60.0
"""Seconds for the simulator and the web servers to come up."""

PLAYBOOK_LIMIT = 600.0
"""Seconds for one run of the playbook: many times what it takes on a slow machine."""

SETTLE_LIMIT = 60.0
"""Seconds for an event to end and its machines to come back, beyond what Azure's clock says."""

RECOVERY = 5.0
"""Seconds between two impacts without a handler, so that one is over before the next begins."""

CALM = 2.0
"""Seconds of traffic before the first announcement and after the last maintenance."""

_TICK = 0.2
_COLOURS = {"red": "31;1", "green": "32", "yellow": "33", "magenta": "35;1", "grey": "90", "bold": "1"}


class Maintenance(NamedTuple):
    """What Azure will do. Times are seconds of Azure's clock, but ``duration`` as the document says it.

    Azure goes on listing an event for about ten minutes after it has begun. Here it is fewer, to be done within two.
    """

    event_type: str
    resources: tuple[str, ...]
    notice: float
    impact: float
    linger: float
    duration: int = -1


WAVES = (
    (
        Maintenance("Reboot", ("web_0",), notice=900, impact=60, linger=75),
        Maintenance("Freeze", ("web_1",), notice=900, impact=45, linger=60, duration=45),
    ),
    (Maintenance("Redeploy", ("web_1", "web_2"), notice=900, impact=60, linger=75),),
    (Maintenance("Terminate", ("web_2",), notice=900, impact=15, linger=45),),
)
"""What is announced together is handled by one run of the playbook. Every machine is hit, two of them twice."""

Waves = Sequence[Sequence[Maintenance]]


class DemoError(Exception):
    """The demo cannot go on; the text says why."""


FAILURES = (DemoError, ServiceError, ControlError)
"""What ends a demo with a message rather than a traceback."""


def colour(text: str, name: str) -> str:
    """Colour a text for a terminal."""
    return f"\033[{_COLOURS[name]}m{text}\033[0m" if name in _COLOURS else text


def plain(text: str, _name: str) -> str:
    """Return a text unchanged."""
    return text


class Demo:
    """The fleet, its load, and what is known of both. A context manager: leaving it ends every process."""

    def __init__(self, speed: float, paint: timeline.Paint, program: str | None = None) -> None:
        """``program``: HAProxy, if the clients ask that and not the load balancer of Azure."""
        self.speed = speed
        self._program = program
        self._haproxy: haproxy.Haproxy | None = None
        self._standings: dict[str, haproxy.Standing] = {}
        self._paint = paint
        self._cleanup = contextlib.ExitStack()
        self._begin = time.time()
        self._log: list[dict[str, Any]] = []
        self._told = 0  # how far the simulator's log was read
        self._journal: list[dict[str, Any]] = []
        self._load: list[dict[str, Any]] = []
        self._rotation: set[str] = set()
        self._deleted: set[str] = set()
        self.keep_directory = False

    def __enter__(self) -> Demo:
        with contextlib.ExitStack() as undo:
            self._directory = Path(tempfile.mkdtemp(prefix="foghorn-demo-"))
            undo.callback(self._remove_directory)
            self._machines = self._directory / "machines"
            self._machines.mkdir()
            self._ansible_log = self._directory / "ansible.log"
            self._ansible_config = self._directory / "ansible.cfg"
            self._ansible_config.touch()  # an empty one: settings in the user's home must not change the run
            self._services = journal.Reader(self._machines / "journal")
            self._requests = journal.Reader(self._directory / "load")
            undo.callback(self._kill_machines)
            self._cleanup = undo.pop_all()
        return self

    def __exit__(self, *_unused: object) -> None:
        self._cleanup.close()

    # -- setting up -------------------------------------------------------------------------------

    def start(self) -> None:
        """Bring up web servers, balancer and load; returns when all machines are in rotation."""
        self._web_port = free_port(*MACHINES.values())
        for vm, address in MACHINES.items():
            Machine(self._machines / vm).create(address, self._web_port)
        starts = [
            subprocess.Popen([sys.executable, str(HERE / "service.py"), "start", str(self._machines), vm])
            for vm in MACHINES
        ]
        for start in starts:
            self._cleanup.callback(start.wait)
        simulator = self._start_simulator()
        self._control = ControlClient(simulator["control"])
        self._imds_port = int(simulator["imds"]["web_0"].rpartition(":")[2])
        for vm, start in zip(MACHINES, starts, strict=True):
            if start.wait() != 0:
                raise DemoError(f"the web server of {vm} did not start")
        self.control = simulator["control"]
        front = simulator["load_balancers"]["front"]
        if self._program is not None:
            front = self._start_haproxy(self._program)
        self._begin = time.time()
        self.say(f"simulator and web servers are up, clients ask {'HAProxy at ' if self._haproxy else ''}{front}")
        self.wait_until(lambda: self._rotation == set(MACHINES), UP_LIMIT, "the machines were not all in rotation")
        self._load_generator = self._start_process(
            "load_generator.py",
            "--target",
            front,
            "--journal",
            str(self._directory / "load"),
        )
        self.wait_until(lambda: bool(self._load), UP_LIMIT, "the load generator sent nothing")
        rate = sum(self._load[0]["sent"].values())
        self.say(f"traffic: about {rate} requests a second")

    def _start_haproxy(self, program: str) -> str:
        """Have HAProxy run before the web servers; returns where clients ask it."""
        self._haproxy = haproxy.Haproxy(program, self._directory / "haproxy", self._web_port)
        with (self._haproxy.directory / "log").open("wb") as log:
            process = subprocess.Popen(
                self._haproxy.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._haproxy.directory,
                start_new_session=True,
            )
        self._cleanup.callback(_end, process)
        deadline = time.monotonic() + UP_LIMIT
        while not self._haproxy.standings():
            if process.poll() is not None or time.monotonic() > deadline:
                said = (self._haproxy.directory / "log").read_text(errors="replace")
                raise DemoError(f"HAProxy did not start:\n{said}")
            time.sleep(_TICK)
        return f"{haproxy.ADDRESS}:{self._haproxy.port}"

    def _start_simulator(self) -> dict[str, Any]:
        config = self._directory / "fleet.yml"
        values = {"python": sys.executable, "service": HERE / "service.py", "machines": self._machines}
        template = string.Template((HERE / "fleet.yml").read_text(encoding="utf-8"))
        # JSON is YAML, whatever characters a path may hold.
        quoted = {key: json.dumps(str(value)) for key, value in values.items()}
        config.write_text(template.substitute(quoted, speed=self.speed, port=self._web_port), encoding="utf-8")
        path = os.pathsep.join(filter(None, [str(SIMULATOR), os.environ.get("PYTHONPATH")]))
        process = self._start_process(
            "-m",
            "azure_simulator",
            "serve",
            "--config",
            str(config),
            environment={"PYTHONPATH": path},
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], UP_LIMIT)[0]:
            raise DemoError(f"the simulator was not ready within {UP_LIMIT:g} s")
        line = process.stdout.readline()
        if not line:
            raise DemoError(f"the simulator ended with status {process.wait()} before it was ready")
        ready: dict[str, Any] = json.loads(line)
        return ready

    def _start_process(
        self, *arguments: str, environment: dict[str, str] | None = None, stdout: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a Python of ours, which ends with the demo."""
        if arguments[0].endswith(".py"):
            arguments = (str(HERE / arguments[0]), *arguments[1:])
        # A session of its own: Ctrl-C reaches the demo alone, which then ends everything in order.
        process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        self._cleanup.callback(_end, process)
        return process

    # -- what happens -----------------------------------------------------------------------------

    def say(self, text: str, vm: str = "", at: float | None = None, tint: str = "") -> None:
        """Print a line with the seconds since the beginning."""
        seconds = (time.time() if at is None else at) - self._begin
        print(f"{max(0.0, seconds):6.1f}  {vm:<5}  {self._paint(text, tint)}", flush=True)

    def look(self) -> None:
        """Read and print what has happened since the last call."""
        entries = self._control.log(self._told)
        self._told = entries[-1]["seq"] if entries else self._told
        entries = [entry for entry in entries if entry["kind"] != "request"]
        services, requests = self._services.read(), self._requests.read()
        if self._haproxy is not None:
            # Azure's own balancer runs as well, without clients.
            rotation, drains = self._ask_haproxy(self._haproxy)
            entries = [entry for entry in entries if entry["kind"] != "rotation"] + rotation
            services += drains
        self._log += entries
        self._journal += services
        self._load += requests
        if any(entry["what"] == "second" for entry in requests):
            # For the page.
            seconds = [entry for entry in self._load if entry["what"] == "second"]
            self._control.load(*(sum(sum(second[key].values()) for second in seconds) for key in ("sent", "lost")))
        lines = [(e["at"], self._tell_azure(e)) for e in entries] + [(e["at"], _tell_service(e)) for e in services]
        lines += [(e["at"], _tell_loss(e)) for e in requests]
        for at, line in sorted((line for line in lines if line[1]), key=lambda line: line[0]):
            assert line is not None
            self.say(line[1], line[0], at, line[2])

    def _ask_haproxy(self, balancer: haproxy.Haproxy) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """What HAProxy has taken in or out of rotation since the last call, and what it drains."""
        rotation, drains, at = [], [], time.time()
        standings = balancer.standings()
        for vm, now in standings.items():
            before = self._standings.get(vm, haproxy.Standing(False, False))
            if now.drained != before.drained:
                what = "draining" if now.drained else "ready"
                drains.append({"at": at, "vm": vm, "what": what, "by": "HAProxy"})
            if now.serves != before.serves:
                rotation.append({"at": at, "kind": "rotation", "vm": vm, "what": "in" if now.serves else "out"})
        self._standings.update(standings)
        return rotation, drains

    def _tell_azure(self, entry: dict[str, Any]) -> tuple[str, str, str] | None:
        vm, what = entry["vm"] or "", entry.get("what", "")
        if entry["kind"] == "rotation":
            (self._rotation.add if what == "in" else self._rotation.discard)(vm)
            return vm, "in rotation" if what == "in" else "out of rotation", "green" if what == "in" else "yellow"
        if entry["kind"] == "command" and entry["error"]:
            raise DemoError(f"{' '.join(entry['command'])} {entry['error']}: {entry['output']}")
        if entry["kind"] == "approval":
            return vm, f"approves the {entry['event_type']} of {', '.join(entry['resources'])}", "bold"
        if entry["kind"] == "impact":
            if what == "deleted":
                self._deleted.add(vm)
            told = {"start": "begins", "end": "is over, the machine is back"}.get(what, "has deleted the machine")
            return vm, f"{entry['event_type']} {told}", "magenta"
        if entry["kind"] == "event" and what not in ("Scheduled", "Started"):
            return "", f"{entry['event_type']} of {', '.join(entry['resources'])} is {what.lower()}", "bold"
        return None

    def wait_until(self, condition: Callable[[], object], seconds: float, complaint: str) -> None:
        """Follow the run until the condition holds. Raises DemoError after that many seconds."""
        deadline = time.monotonic() + seconds
        while True:
            self.look()
            if condition():
                return
            if time.monotonic() > deadline:
                raise DemoError(f"{complaint} after {seconds:g} s")
            time.sleep(_TICK)

    def watch(self, seconds: float) -> None:
        """Follow the run for that many seconds."""
        over = time.monotonic() + seconds
        while (left := over - time.monotonic()) > 0:
            self.look()
            time.sleep(min(_TICK, left))

    # -- maintenance ------------------------------------------------------------------------------

    @staticmethod
    def pause() -> None:
        """Print an empty line."""
        print(flush=True)

    def announce(self, maintenance: Maintenance) -> dict[str, Any]:
        """Have Azure announce it; returns the event's record."""
        details = {k: v for k, v in maintenance._asdict().items() if k not in ("event_type", "resources")}
        event = self._control.event(maintenance.event_type, list(maintenance.resources), **details)
        left = event["not_before"] - event["created"]
        names = ", ".join(maintenance.resources)
        notice = timeline.minutes(maintenance.notice)
        self.say(f"Azure announces a {maintenance.event_type} of {names} in {left:.0f} s ({notice} min)", tint="bold")
        return event

    def handle(self) -> None:
        """Run the playbook once; raises DemoError when it fails."""
        variables = {
            "demo_imds_port": self._imds_port,
            "demo_machines": str(self._machines),
            "demo_web_port": self._web_port,
            "demo_minimum_in_service": MINIMUM_IN_SERVICE,
            "demo_haproxy_socket": str(self._haproxy.socket) if self._haproxy else "",
        }
        command = [sys.executable, "-m", "ansible", "playbook", PLAYBOOK, "-i", str(HERE / "inventory.yml")]
        command += ["-e", json.dumps(variables)]
        environment = {
            "ANSIBLE_CONFIG": str(self._ansible_config),  # unless the environment names one
            **os.environ,
            "ANSIBLE_FORCE_COLOR": "0",
            "ANSIBLE_LOCAL_TEMP": str(self._directory / "ansible" / "tmp"),
            "ANSIBLE_REMOTE_TMP": str(self._directory / "ansible" / "tmp"),
        }
        self.say(f"ansible-playbook {PLAYBOOK} -i inventory.yml")
        with self._ansible_log.open("ab") as log:
            begun = log.tell()
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self._directory,
                start_new_session=True,
            )
        with contextlib.ExitStack() as undo:
            undo.callback(_end, process)
            self.wait_until(lambda: process.poll() is not None, PLAYBOOK_LIMIT, "ansible-playbook had not ended")
        if process.returncode != 0:
            output = self._ansible_log.read_bytes()[begun:].decode(errors="replace")
            raise DemoError(f"ansible-playbook ended with status {process.returncode}:\n{output}")
        self.say("ansible-playbook is done")

    def settle(self, wave: Sequence[Maintenance]) -> None:
        """Wait until all events are over, this wave's the last, and every machine that is left is in rotation."""
        longest = max(event["not_before"] for event in self._events()) - time.time()
        longest += max(maintenance.linger for maintenance in wave) / self.speed
        self.wait_until(
            lambda: (
                self._rotation - self._deleted == set(MACHINES) - self._deleted
                and all(event["ended"] for event in self._events())
            ),
            max(0.0, longest) + SETTLE_LIMIT,
            "the maintenance was not over and all machines back in rotation",
        )

    def _events(self) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = self._control.status()["events"]
        return events

    def story(self, handled: bool) -> timeline.Story:
        """End the load, and return all that has happened. ``handled``: whether the playbook ran."""
        _end(self._load_generator)
        self.look()
        return timeline.Story(
            begin=self._begin,
            end=time.time(),
            speed=self.speed,
            vms=tuple(MACHINES),
            events=self._events(),
            log=self._log,
            journal=self._journal,
            load=self._load,
            handled=handled,
        )

    # -- the end ----------------------------------------------------------------------------------

    def _kill_machines(self) -> None:
        for vm in MACHINES:
            machine = Machine(self._machines / vm)
            with contextlib.suppress(Exception):
                machine.kill()

    def _remove_directory(self) -> None:
        if self.keep_directory:
            print(f"The records are in {self._directory}", file=sys.stderr)
        else:
            shutil.rmtree(self._directory, ignore_errors=True)


def _tell_service(entry: dict[str, Any]) -> tuple[str, str, str] | None:
    told = {
        "draining": ("drains: answers the balancer's probe with 503", "yellow"),
        "ready": ("ends its drain", ""),
        "started": ("web server started", ""),
        "stopped": ("web server stopped after its last request", ""),
        "killed": ("web server killed", "red"),
        "frozen": ("web server paused", "red"),
        "thawed": ("web server resumed", ""),
    }[entry["what"]]
    if entry.get("by") == "HAProxy" and entry["what"] == "draining":
        told = ("drains: HAProxy sends it no new requests", "yellow")
    return entry["vm"], *told


def _tell_loss(entry: dict[str, Any]) -> tuple[str, str, str] | None:
    lost = sum(entry["lost"].values()) if entry["what"] == "second" else 0
    return ("", f"{lost} requests lost within a second", "red") if lost else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all that it started there."""
    for number, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
        if process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()


def with_handler(demo: Demo, waves: Waves, ping: Callable[[], float]) -> None:
    """Announce one wave after the other, as early as this machine needs it then, and run the playbook for each.

    :param ping: says how many seconds Ansible's shortest run takes now: other things may have begun to run here
    """
    for wave in waves:
        demo.pause()
        needed = NOTICE_IN_PINGS * ping() * demo.speed
        for maintenance in wave:
            demo.announce(maintenance._replace(notice=max(maintenance.notice, needed)))
        demo.handle()
        demo.settle(wave)


def without_handler(demo: Demo, waves: Waves, instants: Sequence[float] = ()) -> None:
    """Announce the same, as early as one impact is over before the next begins: nobody uses the notice.

    :param instants: when to announce each instead, in seconds since the first
    """
    free_from, begun, due = 0.0, time.time(), iter(instants)
    for wave in waves:
        for maintenance in wave:
            at = free_from - maintenance.notice / demo.speed if not instants else begun + next(due)
            demo.watch(at - time.time())
            demo.pause()
            event = demo.announce(maintenance)
            free_from = event["not_before"] + maintenance.impact / demo.speed + RECOVERY
    demo.settle(waves[-1])


def speed_for(ping: float) -> float:
    """How fast Azure's clock may run so that a busy machine is still ready in time."""
    shortest_notice = min(maintenance.notice for wave in WAVES for maintenance in wave)
    return min(SPEED, max(1.0, shortest_notice / NOTICE_IN_PINGS // ping))


def seconds_of_a_ping() -> float:
    """How long Ansible's shortest run takes. Raises DemoError when Ansible does not work at all."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "ansible", "adhoc", "all", "-i", "localhost,", "-c", "local"]
    command += ["-e", json.dumps({"ansible_python_interpreter": sys.executable}), "-m", "ansible.builtin.ping"]
    ping = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if ping.returncode != 0:
        raise DemoError(f"{' '.join(command)} ended with status {ping.returncode}:\n{ping.stdout}{ping.stderr}")
    return time.monotonic() - begun


@contextlib.contextmanager
def _signals_as_exit() -> Iterator[None]:
    """Have SIGTERM and SIGHUP unwind the stack, as Ctrl-C does."""

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _introduce(handler: bool, waves: Waves, speed: float, program: str | None) -> None:
    count = len(MACHINES)
    what = ", ".join(f"{m.event_type} of {' and '.join(m.resources)}" for wave in waves for m in wave)
    balancer = "HAProxy" if program else "a load balancer"
    print(f"{count} web servers on {count} VMs behind {balancer}, under traffic. Azure will do: {what}.")
    print(f"Azure's clock runs {speed:g} times faster: 15 minutes of notice take {900 / speed:.0f} s.")
    print(f"{PLAYBOOK} handles each event." if handler else "Nobody handles the events.")
    print("    s  machine", flush=True)


class Shown(NamedTuple):
    """Where else a run is shown: files for all that was written down and for its picture, and a page meanwhile."""

    record: Path | None = None
    picture: Path | None = None
    live: bool = False
    like: Path | None = None
    """The record of another run, at whose times all is announced without a handler."""


def run(
    handler: bool,
    waves: Waves,
    speed: float,
    paint: timeline.Paint,
    program: str | None = None,
    shown: Shown = Shown(),
) -> int:
    """Run it all, behind HAProxy if that is given; returns the exit status."""
    _introduce(handler, waves, speed, program)
    with _signals_as_exit(), Demo(speed, paint, program) as demo:
        found: list[str] = []
        try:
            demo.start()
            if shown.live:
                demo.say(f"watch it in a browser: {demo.control}/", tint="bold")
            try:
                demo.watch(CALM)
                if handler:
                    with_handler(demo, waves, seconds_of_a_ping)
                else:
                    without_handler(demo, waves, picture.instants_of(shown.like) if shown.like else ())
                demo.watch(CALM)
            except FAILURES as error:
                found.append(str(error))
            story = demo.story(handler)
            print("\n" + timeline.tell(story, paint))
            if shown.record is not None:
                picture.save(story, shown.record)
            if shown.picture is not None:
                shown.picture.parent.mkdir(parents=True, exist_ok=True)
                shown.picture.write_text(picture.draw([story]), encoding="utf-8")
                print(f"picture: {shown.picture}")
            if handler:
                found += verdict.complaints(story, MINIMUM_IN_SERVICE)
        except FAILURES as error:
            found.append(str(error))
        for complaint in found:
            print(paint(f"PROBLEM: {complaint}", "red"))
        if found and handler:
            slower = max(1, int(speed) // 2)
            print(
                f"If this computer is busy, give it more time: make demo SPEED={slower}, or with the playbook"
                f" -e demo_speed={slower}"
            )
        demo.keep_directory = bool(found)
        return 1 if found else 0


def main() -> int:
    """Read the command line and run."""
    names = [maintenance.event_type.lower() for wave in WAVES for maintenance in wave]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--handler", choices=["on", "off"], default="on", help="with this collection, or without (default: on)"
    )
    parser.add_argument(
        "--balancer",
        choices=["azure", "haproxy"],
        default="azure",
        help="what clients ask: a load balancer of Azure's, or a real HAProxy (default: azure)",
    )
    parser.add_argument("--only", choices=names, action="append", help="only maintenance of this type (repeatable)")
    parser.add_argument(
        "--speed",
        type=float,
        help=f"how many times faster than a real one Azure's clock runs (default: {SPEED:g}, less on a busy machine)",
    )
    parser.add_argument("--output", type=Path, help="a file for the log (default: standard output)")
    parser.add_argument("--watch", action="store_true", help="print the address of the live page")
    parser.add_argument("--picture", type=Path, help="a file for a picture of the run, an animated SVG")
    parser.add_argument(
        "--like", type=Path, help="without a handler: the record of a run, whose announcements are repeated"
    )
    parser.add_argument("--record", type=Path, help="a file for the record of the run, for picture.py")
    options = parser.parse_args()
    if options.speed is not None and not 1 <= options.speed <= 100:
        parser.error(f"--speed {options.speed:g}: give a number from 1 to 100")
    if options.output is None:
        return _run_as(options, names)
    with (
        options.output.open("w", encoding="utf-8") as output,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        return _run_as(options, names)


def _run_as(options: argparse.Namespace, names: Sequence[str]) -> int:
    handler = options.handler == "on"
    chosen = [[m for m in wave if m.event_type.lower() in (options.only or names)] for wave in WAVES]
    program = haproxy.find_program() if options.balancer == "haproxy" else None
    if options.balancer == "haproxy" and program is None:
        print(f"error: {haproxy.NOT_INSTALLED}", file=sys.stderr)
        return 1
    paint = colour if sys.stdout.isatty() else plain
    try:
        speed = options.speed or (speed_for(seconds_of_a_ping()) if handler else SPEED)
        return run(
            handler,
            [wave for wave in chosen if wave],
            speed,
            paint,
            program,
            Shown(options.record, options.picture, options.watch, options.like),
        )
    except DemoError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
