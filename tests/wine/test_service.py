# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does the program install itself, and does the service manager run it?"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from .conftest import (
    DATA,
    PREFIX,
    PYTHON,
    Agent,
    Program,
    install,
    installed_agent,
    run,
    run_python,
    wait_for,
    windows,
)

PROGRAMS = PREFIX / "drive_c/Program Files/foghorn"


def uninstall(program: Path) -> tuple[int, dict[str, Any], str]:
    return install(program, "uninstall")


@pytest.fixture
def installed(program: Path, azure: Simulator, tmp_path: Path) -> Iterator[Agent]:
    """`installed_agent`, with an Azure of its own."""
    with installed_agent(program, tmp_path / "source", azure.imds["win"]) as here:
        yield here


def test_given_a_machine_when_the_program_is_installed_then_its_service_takes_it_through_an_event(
    installed: Agent, azure: Simulator
) -> None:
    azure.event("Reboot", "win", impact=1, linger=1)
    wait_for(lambda: not installed.is_ready())
    wait_for(installed.is_ready)
    assert installed.noted()[-1] == "register"
    assert (DATA / "state/journal.jsonl").exists()
    # Commands by hand find it without being told where it is.
    there = windows(PROGRAMS / "python/python.exe"), "-IS", windows(PROGRAMS / "foghorn-agent.pyz")
    assert "out of rotation" in run(*there, "drain").output
    wait_for(lambda: not installed.is_ready())
    status, _says, output = install(PROGRAMS / "foghorn-agent.pyz", "uninstall")
    assert (status, "nothing was removed" in output) == (4, True)
    assert run(*there, "restore").process.returncode == 0


def test_given_an_installed_program_when_it_is_installed_again_then_only_what_differs_is_changed(
    installed: Agent, program: Path
) -> None:
    given = windows(installed.config.parent)
    again = install(program, "install", "--files", given)
    assert (again[0], again[1]) == (0, {"changed": False, "changes": []})

    installed.settings["margin"] = 2
    installed.write()
    expected = {"changed": True, "changes": [windows(DATA / "agent.json"), "reload of foghorn-agent"]}
    assert install(program, "install", "--check", "--files", given)[1] == expected
    assert json.loads((DATA / "agent.json").read_text())["margin"] == 1
    assert install(program, "install", "--files", given)[1] == expected
    assert json.loads((DATA / "agent.json").read_text())["margin"] == 2
    # It is not started again for that.
    assert installed.is_ready()

    installed.settings["margin"] = "soon"
    installed.write()
    status, _says, output = install(program, "install", "--files", given)
    assert (status, "margin: expected" in output) == (3, True)
    assert json.loads((DATA / "agent.json").read_text())["margin"] == 2

    (installed.config.parent / "else").write_text("")
    status, _says, output = install(program, "install", "--files", given)
    assert (status, "else: expected agent.json" in output) == (1, True)


def test_given_an_update_that_fails_when_it_has_stopped_the_service_then_the_service_runs_again(
    installed: Agent, program: Path, tmp_path: Path
) -> None:
    newer = tmp_path / "python"
    shutil.copytree(PYTHON.parent, newer)
    (newer / "NEWS.txt").write_text("a fault less")
    in_the_way = PROGRAMS / "python.new"
    in_the_way.write_text("no directory")

    status, _says, output = install(program, "install", python=newer / "python.exe")

    assert (status, "python.new" in output) == (1, True), output
    wait_for(installed.is_ready, seconds=30)
    in_the_way.unlink()
    status, says, _output = install(program, "install", python=newer / "python.exe")
    assert (status, says["changes"][-1]) == (0, "restart of foghorn-agent")
    assert (PROGRAMS / "python/NEWS.txt").exists()


def test_given_a_service_when_it_is_stopped_then_it_ends_soon_and_can_be_removed(
    installed: Agent, program: Path
) -> None:
    began = time.monotonic()
    stopped = run("net", "stop", "foghorn-agent")
    assert stopped.process.returncode == 0, stopped.output
    wait_for(lambda: installed.get("/readyz") is None)
    assert time.monotonic() - began < 60
    status, says, output = uninstall(program)
    assert (status, says["changed"]) == (0, True), output
    assert not DATA.exists()
    assert not PROGRAMS.exists()
    assert uninstall(program)[1] == {"changed": False, "changes": [], "left": []}


def test_given_services_when_they_are_stopped_and_started_by_steps_then_the_service_manager_does_it(
    program: Path,
) -> None:
    def service(*words: str) -> Program:
        return run(PYTHON, "-IS", program, "service", *words)

    try:
        assert service("start", "Spooler").process.returncode == 0
        assert service("is-active", "Spooler.service").output == "active\n"
        assert service("stop", "Spooler").output == "stopped spooler\n"
        assert service("stop", "Spooler").output == ""
        is_active = service("is-active", "Spooler")
        assert (is_active.process.returncode, is_active.output) == (3, "inactive\n")
        assert service("is-active", "nothing").output == "unknown\n"
        missing = service("stop", "nothing")
        assert (missing.process.returncode, "nothing: " in missing.output) == (1, True)
        assert service("stop", "a.timer").process.returncode == 2
    finally:
        service("stop", "Spooler")


def test_given_this_machine_then_its_boot_has_one_name() -> None:
    said = run_python("from foghorn_agent.platform import machine; print(machine.boot_id())")
    assert len(said.strip()) == 32
    assert run_python("from foghorn_agent.platform import machine; print(machine.boot_id())") == said
