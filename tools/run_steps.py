# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run targets of the Makefile in lanes side by side, all of them even if some fail, and end with a summary.

usage: run_steps.py MAKE TARGET… [-- TARGET…]…
The targets of one lane run one after the other; `--` begins the next lane. What a target prints appears in one piece
when it has ended; until then a line now and then tells how far it is. Exits 1, naming them, if any target failed.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

HEARTBEAT = 30.0
"""Seconds between two lines that tell of a running target."""


class Result(NamedTuple):
    target: str
    passed: bool
    seconds: float

    def __str__(self) -> str:
        return f"--- {self.target:<24} {'passed' if self.passed else 'FAILED'} {self.seconds:7.1f} s"


class Screen:
    """Standard output, shared by the lanes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def show(self, *lines: object) -> None:
        with self._lock:
            print(*lines, sep="\n", flush=True)


def main() -> int:
    make, *arguments = sys.argv[1:]
    began = time.monotonic()
    results: list[Result] = []
    screen = Screen()
    stop = threading.Event()
    with TemporaryDirectory(prefix="run-steps-") as scratch:
        lanes = [
            threading.Thread(target=run_lane, args=(make, targets, Path(scratch), screen, results, stop))
            for targets in split(arguments)
        ]
        for lane in lanes:
            lane.start()
        try:
            for lane in lanes:
                lane.join()
        except KeyboardInterrupt:
            # The running targets were interrupted by the same key.
            stop.set()
            for lane in lanes:
                lane.join()
            return 130
    failed = [result.target for result in results if not result.passed]
    screen.show("", "=== summary", *results)
    screen.show(f"{len(results) - len(failed)} of {len(results)} steps passed in {time.monotonic() - began:.0f} s")
    if failed:
        print(f"error: failed: {', '.join(failed)}; `make {failed[0]}` runs one alone", file=sys.stderr)
    return 1 if failed else 0


def split(arguments: Iterable[str]) -> list[list[str]]:
    """The lanes that the arguments name."""
    lanes: list[list[str]] = [[]]
    for argument in arguments:
        if argument == "--":
            lanes.append([])
        else:
            lanes[-1].append(argument)
    return lanes


def run_lane(
    make: str, targets: list[str], scratch: Path, screen: Screen, results: list[Result], stop: threading.Event
) -> None:
    for target in targets:
        if not stop.is_set():
            results.append(run_target(make, target, scratch / target, screen))


def run_target(make: str, target: str, output: Path, screen: Screen) -> Result:
    began = time.monotonic()
    screen.show(f"... {target}: begins")
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [make, "--no-print-directory", target], stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
        while True:
            try:
                status = process.wait(HEARTBEAT)
                break
            except subprocess.TimeoutExpired:
                screen.show(f"... {target}: {time.monotonic() - began:.0f} s; {last_line(output)}")
    result = Result(target, status == 0, time.monotonic() - began)
    printed = output.read_text(encoding="utf-8", errors="replace").rstrip()
    screen.show("", f"=== {target}", *filter(None, [printed]), result)
    return result


def last_line(output: Path) -> str:
    """What the target printed last, for those who wait."""
    lines = output.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing printed yet")


if __name__ == "__main__":
    sys.exit(main())
