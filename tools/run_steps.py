# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run targets of the Makefile in lanes side by side, all of them even if some fail, and end with a summary.

usage: run_steps.py MAKE TARGET… [-- TARGET…]… [++ TARGET…]
The targets of one lane run one after the other; `--` begins the next lane. The targets after `++` belong to none: a
lane that has done its own takes the next of them, in their order. What a target prints appears in one piece
when it has ended; until then a line now and then tells how far it is. A line of its output that begins with
`skipped: ` tells what this machine cannot do; the summary shows all of them. Exits 1, naming them, if a target failed.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

HEARTBEAT = 30.0
"""Seconds between two lines that tell of a running step."""

SKIPPED = "skipped: "
"""Begins a line that tells what a step left out."""

_TELLS_WHY = ("FAILED tests/", "ERROR tests/", "fatal: ", "failed: [", "error: ")
"""How lines of pytest, Ansible and others begin that say why a step failed."""

_REASONS = 5
"""How many of them the summary shows, of at most so many characters each."""
_REASON_LENGTH = 300


class Result(NamedTuple):
    """What became of a step: its time, that of the processors on it, and what it says that it left out.

    Time of processors that nobody has waited for is not in it: that of daemons.
    """

    name: str
    passed: bool
    seconds: float
    processor_seconds: float | None = None
    skipped: tuple[str, ...] = ()
    was_interrupted: bool = False
    """Whether somebody pressed Ctrl-C."""
    reasons: tuple[str, ...] = ()
    """What it printed of its failure, for a reader who has the end of the output only."""

    def __str__(self) -> str:
        outcome = "passed" if self.passed else "FAILED"
        line = f"--- {self.name:<24} {outcome} {self.seconds:7.1f} s"
        if self.processor_seconds is not None:
            line += f", processors {self.processor_seconds:6.1f} s"
        remarks = [*(f"{SKIPPED}{what}" for what in self.skipped), *self.reasons]
        return "\n".join([line, *(f"!!!   {remark}" for remark in remarks)])


class Screen:
    """Standard output, shared by the lanes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def show(self, *lines: object) -> None:
        """Print these lines together."""
        with self._lock:
            print(*lines, sep="\n", flush=True)


def main() -> int:
    make, *arguments = sys.argv[1:]
    began = time.monotonic()
    screen = Screen()
    stop = threading.Event()
    lanes, shared = split(arguments)
    with TemporaryDirectory(prefix="run-steps-") as scratch, ThreadPoolExecutor(len(lanes)) as pool:
        try:
            running = [pool.submit(run_lane, make, targets, shared, Path(scratch), screen, stop) for targets in lanes]
            results = [result for lane in running for result in lane.result()]
        except KeyboardInterrupt:
            # The running targets were interrupted by the same key.
            stop.set()
        if stop.is_set():
            return 128 + signal.SIGINT
    return summarise(results, "steps", time.monotonic() - began, "make ", screen)


def split(arguments: Iterable[str]) -> tuple[list[list[str]], deque[str]]:
    """The lanes that the arguments name, and what any lane may do."""
    lanes: list[list[str]] = [[]]
    shared: list[str] = []
    targets = lanes[0]
    for argument in arguments:
        if argument == "--":
            targets = []
            lanes.append(targets)
        elif argument == "++":
            targets = shared
        else:
            targets.append(argument)
    return lanes, deque(shared)


def run_lane(
    make: str, own: list[str], shared: deque[str], scratch: Path, screen: Screen, stop: threading.Event
) -> list[Result]:
    results = []
    for target in _one_by_one(own, shared):
        if stop.is_set():
            break
        output = scratch / target
        result = run_step(target, [make, "--no-print-directory", target], output, screen)
        screen.show("", f"=== {target}", *filter(None, [printed(output)]), result)
        results.append(result)
        if result.was_interrupted:
            # Whoever pressed the key meant all of them; this lane may hear of it before the main thread does.
            stop.set()
    return results


def _one_by_one(own: list[str], shared: deque[str]) -> Iterator[str]:
    yield from own
    while True:
        try:
            yield shared.popleft()
        except IndexError:
            return


def run_step(
    name: str, command: Sequence[str], output: Path, screen: Screen, environment: Mapping[str, str] | None = None
) -> Result:
    """Run a command with its output in a file, and tell now and then how far it is."""
    began = time.monotonic()
    screen.show(f"... {name}: begins")
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, env=environment
        )
        ended = threading.Event()
        heart = threading.Thread(target=_beat, args=(name, began, output, screen, ended))
        heart.start()
        try:
            _pid, status, usage = os.wait4(process.pid, 0)
        finally:
            ended.set()
            heart.join()
        # It has been waited for: Popen must not wait again.
        process.returncode = os.waitstatus_to_exitcode(status)
    lines = printed(output).split("\n")
    why = [line[:_REASON_LENGTH] for line in lines if process.returncode and line.startswith(_TELLS_WHY)]
    return Result(
        name,
        process.returncode == 0,
        time.monotonic() - began,
        usage.ru_utime + usage.ru_stime,
        tuple(line.removeprefix(SKIPPED) for line in lines if line.startswith(SKIPPED)),
        process.returncode in (-signal.SIGINT, 128 + signal.SIGINT),
        tuple(why[:_REASONS]),
    )


def _beat(name: str, began: float, output: Path, screen: Screen, ended: threading.Event) -> None:
    while not ended.wait(HEARTBEAT):
        screen.show(f"... {name}: {time.monotonic() - began:.0f} s; {last_line(output)}")


def printed(output: Path) -> str:
    """What a step printed."""
    return output.read_text(encoding="utf-8", errors="replace").rstrip()


def last_line(output: Path) -> str:
    """What it printed last, for those who wait."""
    lines = printed(output).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing printed yet")


def summarise(results: Sequence[Result], what: str, seconds: float, again: str, screen: Screen) -> int:
    """Show the end of a run; return its exit status.

    :param what: the steps are called
    :param again: and the name of one is what runs it alone
    """
    failed = [result.name for result in results if not result.passed]
    screen.show("", "=== summary", *results)
    short = sum(len(result.skipped) for result in results)
    screen.show(
        f"{len(results) - len(failed)} of {len(results)} {what} passed in {seconds:.0f} s"
        + (f"; NOT ALL WAS TESTED, {short} skipped, see above" if short else "")
    )
    if failed:
        print(f"error: failed: {', '.join(failed)}; `{again}{failed[0]}` runs one alone", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
