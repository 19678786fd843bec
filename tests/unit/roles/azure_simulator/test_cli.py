# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line, as a process of its own and as a client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import azure_simulator
import pytest
from ansible_collections.foghorn.azure_events.tests import ports
from azure_simulator.cli import main
from azure_simulator.table import describe_entry, render
from azure_simulator.testing import Simulator

from .conftest import approve, ask

PACKAGES = str(Path(azure_simulator.__file__).parents[1])
Simulate = Callable[..., Simulator]
PATIENCE = 120.0  # seconds
AS_A_PROGRAM = "\nimport runpy\nrunpy.run_module('azure_simulator', run_name='__main__')"


def run(
    *arguments: str, first_on_path: str = "", stdout: int = subprocess.PIPE, before: str = ""
) -> subprocess.Popen[str]:
    """The simulator as a process; `before` is run by its Python first."""
    path = os.pathsep.join(filter(None, [first_on_path, PACKAGES, os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, *(["-c", before + AS_A_PROGRAM] if before else ["-m", "azure_simulator"]), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.yml"
    path.write_text(
        "control: {port: 0}\n"
        "imds: {port: 0}\n"
        "vms: [{name: web_0, address: 127.0.75.1}]\n"
        "load_balancers:\n"
        "- {name: front, listen: '127.0.0.1:0', members: [{vm: web_0, port: 9}]}\n",
        encoding="utf-8",
    )
    return path


# What Python on Windows lacks, or refuses.
AS_ON_WINDOWS = """
import asyncio, os, signal, sys
sys.modules["resource"] = None
for module, name in ((signal, "SIGPIPE"), (signal, "SIGKILL"), (os, "killpg"), (os, "getpgid")):
    delattr(module, name)
def add_signal_handler(*arguments):
    raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = add_signal_handler
"""


def test_given_what_windows_lacks_is_hidden_when_served_then_it_answers_and_a_signal_ends_it_well(
    config: Path,
) -> None:
    process = run("serve", "--config", str(config), before=AS_ON_WINDOWS)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        address = next(iter(ready["imds"].values()))
        request = urllib.request.Request(
            f"{address}/metadata/scheduledevents?api-version=2020-07-01", headers={"Metadata": "true"}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert json.load(answer)["Events"] == []
    finally:
        process.send_signal(signal.SIGTERM)
    _output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_given_a_configuration_when_served_then_a_ready_line_shows_where_and_a_signal_ends_it_well(
    config: Path, number: signal.Signals
) -> None:
    process = run("serve", "--config", str(config))
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["ready"] is True
        assert set(ready) == {"ready", "control", "imds", "load_balancers"}
        assert ready["load_balancers"]["front"].startswith("127.0.0.1:")
        assert ask(ready["imds"]["web_0"]).status == 200
        process.send_signal(number)
        _output, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.communicate()


def test_given_mistakes_when_served_or_checked_then_all_are_named_and_nothing_is_served(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "fleet.json"
    path.write_text('{"vms": [{"name": "a", "address": "127.0.0.300"}], "seed": "x"}', encoding="utf-8")
    for arguments in (["serve", "--config", str(path)], ["serve", "--check", "--config", str(path)]):
        assert main(arguments) == 2
        streams = capsys.readouterr()
        assert streams.err.splitlines() == [
            "seed: 'x' is not a whole number",
            "vms[0].address: '127.0.0.300' is not an IP address",
        ]
        assert streams.out == ""


def test_given_a_right_configuration_when_checked_then_nothing_is_reported(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--check", "--config", str(config)]) == 0
    assert capsys.readouterr() == ("", "")


def test_given_a_running_simulator_when_commanded_then_it_obeys(
    azure: Simulator, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOGHORN_SIMULATOR_CONTROL", azure.control)

    arguments = ["event", "Reboot", "web_0", "web_1", "--notice", "60", "--source", "User", "--description", "now"]
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["resources"], record["event_source"], record["description"]) == (["web_0", "web_1"], "User", "now")

    assert main(["advance", "30"]) == 0
    assert main(["withdraw", record["event_id"]]) == 0
    capsys.readouterr()

    assert main(["event", "Freeze", "db", "--started", "--duration", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "Started"

    assert main(["status", "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert [event["status"] for event in status["events"]] == ["Canceled", "Started"]

    assert main(["log", "--json"]) == 0
    assert [json.loads(line)["what"] for line in capsys.readouterr().out.splitlines()][:2] == ["Scheduled", "Canceled"]


def test_given_a_simulator_that_is_still_starting_when_commanded_then_the_command_waits_for_it(
    simulate: Simulate,
) -> None:
    (port,) = ports.free_ports(1)
    with ThreadPoolExecutor() as beside:
        command = beside.submit(main, ["event", "Reboot", "web_0", "--control", f"http://127.0.0.1:{port}"])
        time.sleep(0.5)
        azure = simulate(control={"port": port})
        assert command.result(PATIENCE) == 0
    assert len(azure.status()["events"]) == 1


def test_given_a_running_simulator_when_faults_are_commanded_then_they_come_and_go(
    azure: Simulator, capsys: pytest.CaptureFixture[str]
) -> None:
    control = ["--control", azure.control]
    fault = ["fault", "status", "--vm", "web_0", "--status", "429", "--header", "Retry-After: 3", "--count", "5"]
    assert main([*fault, "--path", "/metadata", "--method", "GET", "--body", "wait", *control]) == 0
    fault_id = capsys.readouterr().out.strip()
    answer = ask(azure.imds["web_0"])
    assert (answer.status, answer.headers["Retry-After"], answer.body) == (429, "3", b"wait")

    assert main(["fault", "list", *control]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(item["fault_id"], item["hits"], item["count_left"]) for item in listed] == [(fault_id, 1, 4)]

    assert main(["fault", "remove", fault_id, *control]) == 0
    assert ask(azure.imds["web_0"]).status == 200
    assert main(["fault", "reset", "--for", "60", *control]) == 0
    assert main(["fault", "clear", *control]) == 0
    assert ask(azure.imds["web_0"]).status == 200


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["withdraw", "nothing"], 1, "there is no event 'nothing'"),
        (["event", "Reboot", "nobody"], 1, "resources[0]: 'nobody' is not the name of a VM"),
        (["fault", "remove"], 2, "name the fault"),
        (["fault", "reset", "fault-1"], 2, "one argument too many"),
        (["fault", "status", "--header", "nonsense"], 2, "'nonsense' is not NAME: VALUE"),
    ],
)
def test_given_a_command_that_cannot_be_obeyed_when_given_then_it_fails_and_says_why(
    simulate: Simulate, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, error: str
) -> None:
    assert main([*arguments, "--control", simulate().control]) == status
    assert error in capsys.readouterr().err


def test_given_a_busy_fleet_when_status_is_read_by_a_person_then_it_is_readable(
    simulate: Simulate, capsys: pytest.CaptureFixture[str]
) -> None:
    azure = simulate(
        load_balancers=[{"name": "front", "listen": "127.0.0.1:0", "members": [{"vm": "web_0", "port": 9}]}],
        on_impact=[{"start": ["/bin/sh", "-c", "echo it broke; exit 1"]}],
    )
    azure.fault("status", "db", status=503, count=9)
    done = azure.event("Reboot", ["web_0"], becomes="Freeze")
    azure.event("Terminate", ["db"])
    ask(azure.imds["web_1"])
    for _turn in range(2):
        approve(azure.imds["web_1"], done["event_id"])
    while not azure.status()["commands"]["failed"]:
        pass
    assert main(["status", "--control", azure.control]) == 0
    rows = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]

    def row(beginning: str) -> str:
        return next(row for row in rows if row.startswith(beginning))

    assert "advanced by hand" in rows[0]
    assert row("web_0 ") == "web_0 frozen delivered never 0 0 front: OUT"
    assert row("web_1 ").startswith("web_1 running delivered 0s ago 1 2")
    assert "Reboot -> Freeze web_0 Started" in row(done["event_id"])
    assert "(+1) 900 s" in row(done["event_id"])
    assert any("Terminate db Scheduled" in row and "(in 5m00s) nobody -" in row for row in rows)
    assert row("fault-1 ") == "fault-1 db status 503 / all 0 9"
    assert "web_0 start ended with status 1 it broke" in row("/bin/sh")
    assert row("front 127.0.0.1:").endswith("0 0 0")


def test_given_a_fresh_fleet_when_its_status_is_rendered_then_empty_tables_are_left_out(simulate: Simulate) -> None:
    text = render(simulate(clock={"speed": 60}).status())
    assert "60 times as fast as real time" in text
    assert "EVENT " not in text
    assert "FAULT" not in text
    assert "BALANCER" not in text


def test_given_an_entry_of_the_log_when_described_then_it_is_one_line() -> None:
    entry = {"seq": 1, "at": 0, "kind": "event", "vm": None, "what": "Started", "resources": ["a", "b"], "empty": ""}
    assert describe_entry(entry) == "00:00:00  event     Started    -            resources=a,b"


def _without_aiohttp(directory: Path) -> str:
    """A place on the path that hides aiohttp."""
    (directory / "aiohttp.py").write_text('raise ModuleNotFoundError("No module named \'aiohttp\'", name="aiohttp")\n')
    return str(directory)


def test_given_no_aiohttp_when_a_client_command_runs_then_it_does_its_work(azure: Simulator, tmp_path: Path) -> None:
    process = run("event", "Reboot", "web_0", "--control", azure.control, first_on_path=_without_aiohttp(tmp_path))
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    assert json.loads(output)["resources"] == ["web_0"]


def test_given_no_aiohttp_when_served_then_it_says_what_to_install(config: Path, tmp_path: Path) -> None:
    process = run("serve", "--config", str(config), first_on_path=_without_aiohttp(tmp_path))
    output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (1, "")
    assert errors == (
        "azure_simulator: serve needs aiohttp (No module named 'aiohttp'):"
        f" {sys.executable} -m pip install 'aiohttp>=3.8'\n"
    )


def test_given_a_reader_that_has_gone_when_a_command_prints_then_it_ends_quietly(simulate: Simulate) -> None:
    _ends_quietly(["status", "--control", simulate().control])


def test_given_a_reader_that_has_gone_when_the_ready_line_is_printed_then_it_ends_quietly(config: Path) -> None:
    _ends_quietly(["serve", "--config", str(config)])


def _ends_quietly(command: list[str]) -> None:
    """Run a command whose output nobody reads any more: the status of SIGPIPE, and not a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = run(*command, stdout=writing)
    finally:
        os.close(writing)
    _output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (128 + signal.SIGPIPE, "")
