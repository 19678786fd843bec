# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipe docs/recipes/spot_worker.md, as it stands there: its worker and its hooks run, its policies decide.

Only paths are others, and time passes for the agent when told.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from foghorn_agent.decide.decisions import Work
from rehearsal import DEALLOCATED, Life, Rehearsal

from .recipes import hook_of, play_of, role_of, run_as_the_agent_does

RECIPE = "spot_worker.md"
ADVICE = "SpotRebalanceRecommendation"
PATIENCE = 60.0  # seconds
# A job of as many parts as its file says: each takes a moment, and the checkpoint says how many are done.
WORK = """#!/bin/sh
trap 'echo "$done" > "$2"; exit 75' TERM
done=0
if [ -e "$2" ]; then done=$(cat "$2"); fi
while [ "$done" -lt "$(cat "$1")" ]; do sleep 0.02; done=$((done + 1)); echo "${1##*/}" > PROGRESS; done
echo "${1##*/} $done" >> RESULTS
"""


class Worker(Rehearsal):
    """A Spot VM with the recipe's worker, whose agent has the recipe's policies and runs its hooks."""

    def __init__(self, directory: Path, *lives: Life) -> None:
        self.jobs = directory / "jobs"
        self.results = directory / "results"
        self.paused = directory / "paused"
        self.progress = directory / "progress"
        (self.jobs / "waiting").mkdir(parents=True)
        work = directory / "work"
        work.write_text(WORK.replace("RESULTS", str(self.results)).replace("PROGRESS", str(self.progress)))
        work.chmod(0o755)
        self._paths = {"/srv/jobs": self.jobs, "/run/worker.paused": self.paused, "/usr/local/bin/work": work}
        scripts = [
            task["ansible.builtin.copy"]["content"]
            for task in play_of(RECIPE)["pre_tasks"]
            if "ansible.builtin.copy" in task and task["ansible.builtin.copy"]["dest"] == "/usr/local/bin/worker"
        ]
        (self._script,) = map(self._with_paths, scripts)
        self.process = self._start()
        super().__init__(lives, settings={"policies": role_of(RECIPE)["handler_agent_policies"]})
        self.stages_with_hooks = {"drain", "restore"}
        self.step_seconds.update({"stop worker.service": 1.0, "start worker.service": 1.0})

    def _with_paths(self, script: str) -> str:
        for path, here in self._paths.items():
            script = script.replace(path, str(here))
        return script

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(["/bin/sh", "-c", self._script], start_new_session=True)

    def stop(self) -> None:
        """As systemd does: all processes of the unit get the signal."""
        os.killpg(self.process.pid, signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0

    def put(self, name: str, parts: int) -> None:
        """Put a job into the queue."""
        (self.jobs / "new").write_text(str(parts))
        (self.jobs / "new").rename(self.jobs / "waiting" / name)

    def step_begins(self, work: Work) -> None:
        """Do for real what the step does."""
        super().step_begins(work)
        if work.step.stops:
            self.stop()
        elif work.step.starts:
            self.process = self._start()
        else:
            done = run_as_the_agent_does(self._with_paths(hook_of(RECIPE, work.stage)), PATH="/usr/bin:/bin")
            assert done.returncode == 0, done.stderr

    @property
    def taken(self) -> list[str]:
        """The jobs that it has."""
        return sorted(path.name for path in self.jobs.glob("running/*/*"))

    @property
    def waiting(self) -> list[str]:
        """Those in the queue."""
        return sorted(path.name for path in (self.jobs / "waiting").iterdir())


def until(is_so: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Worker]:
    """It hears twice that an eviction is likely; the second time, one follows."""
    worker = Worker(
        tmp_path,
        Life(ADVICE, notice=1e6, withdrawn_after=60.0, event_id="LIKELY"),
        Life(ADVICE, notice=1e6, withdrawn_after=60.0, announced_at=1000.0, event_id="LIKELY AGAIN"),
        Life("Preempt", notice=30.0, announced_at=1030.0, fate=DEALLOCATED, event_id="EVICTION", impact=60.0),
    )
    yield worker
    if worker.process.poll() is None:
        worker.stop()


def test_given_the_recipe_when_an_eviction_is_likely_and_then_comes_then_no_job_is_taken_and_none_is_lost(
    machine: Worker,
) -> None:
    machine.put("a", 5)
    until(lambda: machine.results.exists())
    # Nothing comes of the first recommendation. While it is in force, the job under way goes on, and no other begins.
    machine.put("b", 40)
    until(lambda: machine.taken == ["b"])
    machine.run_until(20.0)
    assert machine.steps() == ["hooks"]
    machine.put("c", 100000)
    until(lambda: machine.results.read_text() == "a 5\nb 40\n")
    time.sleep(0.2)
    assert (machine.taken, machine.waiting) == ([], ["c"])
    machine.run_until(600.0)
    assert machine.paused.exists()
    machine.run_until(700.0)
    assert not machine.paused.exists()
    until(lambda: machine.taken == ["c"])
    # After the second one the machine is evicted: what runs is in the queue again, with all that it has done.
    machine.run_until(1020.0)
    assert machine.paused.exists()
    until(lambda: machine.progress.read_text() == "c\n")
    machine.run_until(1040.0)
    assert machine.steps("shutdown") == ["stop worker.service"]
    # The drain is not run again.
    assert machine.steps("drain") == ["hooks", "hooks"]
    assert (machine.taken, machine.waiting) == ([], ["c"])
    assert int((machine.jobs / "checkpoints" / "c").read_text()) > 0
    assert machine.approvals == []
    # Another worker, or this one when it is allocated again, goes on from there.
    done = int((machine.jobs / "checkpoints" / "c").read_text())
    (machine.jobs / "waiting" / "c").write_text(str(done + 2))
    machine.run()
    assert not machine.paused.exists()
    until(lambda: machine.results.read_text().splitlines()[2:] == ["c %d" % (done + 2)])
    until(lambda: (machine.taken, machine.waiting, list((machine.jobs / "checkpoints").iterdir())) == ([], [], []))
