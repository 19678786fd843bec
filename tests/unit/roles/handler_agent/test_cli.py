# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands, by the built program in real processes, and what they print.

Runs on Python 3.6 and later.
"""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Tuple

import pytest
from edge_helpers import PATIENCE, HttpServer
from foghorn_agent import __version__
from foghorn_agent.cli import USAGE, Arguments, UsageError, as_history_line, main, parse_arguments
from foghorn_agent.io.journal import Journal
from real_agent import RealAgent, build, wait_for
from rehearsal import Life, Rehearsal

# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def machine(program: Path, tmp_path: Path) -> RealAgent:
    tmp_path.chmod(0o755)
    return RealAgent(program, tmp_path / "machine", NOWHERE)


@pytest.fixture
def journal(machine: RealAgent) -> List[Dict[str, Any]]:
    """The journal of a whole life, in the machine's state directory."""
    records = Rehearsal([Life("Freeze")]).run().history
    (machine.directory / "state").mkdir()
    one = Journal(str(machine.directory / "state"))
    one.open()
    one.append(*records)
    one.close()
    return records


@pytest.fixture
def status(machine: RealAgent) -> Generator[Dict[str, Any], None, None]:
    """The status that the machine's endpoint answers: that of a drain."""
    rehearsal = Rehearsal([Life("Reboot")])
    rehearsal.run_until(4.0)
    content: Dict[str, Any] = json.loads(json.dumps(rehearsal.status()))
    body = json.dumps(content).encode("ascii")
    with HttpServer(lambda _heard: (200, {}, body), int(machine.url.rpartition(":")[2])):
        yield content


Say = Callable[..., Tuple[int, str, str]]


@pytest.fixture
def say(machine: RealAgent, capsys: "pytest.CaptureFixture[str]") -> Say:
    """A command within this process: its exit status, its output and its errors."""

    def run(*arguments: str) -> Tuple[int, str, str]:
        capsys.readouterr()
        status = main([*arguments, "--config", str(machine.config)])
        return (status, *capsys.readouterr())

    return run


# --- the command line -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run"], Arguments("run")),
        (["--config", "/x", "status", "--json"], Arguments("status", "/x", True)),
        (["history", "--config=/x"], Arguments("history", "/x")),
        (["--help"], Arguments("help")),
        (["-h"], Arguments("help")),
        (["help"], Arguments("help")),
        (["explain", "--help"], Arguments("help")),
        (["forget", "-h"], Arguments("help")),
        (["--version"], Arguments("version")),
        (["explain", "Reboot", "--notice", "5m"], Arguments("explain", event_type="Reboot", notice=300.0)),
        (["explain", "--notice=900"], Arguments("explain", notice=900.0)),
        (["hold", "--for=2h"], Arguments("hold", seconds=7200.0)),
        (["hold", "--for", "90"], Arguments("hold", seconds=90.0)),
        (["forget", "E-1", "--config", "x"], Arguments("forget", "x", event_id="E-1")),
    ],
)
def test_given_arguments_when_parsed_then_they_mean_what_they_say(words: List[str], expected: Arguments) -> None:
    assert parse_arguments(words) == expected


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "give a command"),
        (["explode"], "explode is not a command"),
        (["run", "status"], "one command at a time, not run and status"),
        (["status", "--jsn"], "--jsn is not an option, or lacks its value"),
        (["status", "--config"], "--config is not an option, or lacks its value"),
        (["run", "--json"], "--json is for status, history, drain, restore and wait-back"),
        (["run", "--config", "-"], "--config - is for check-config and explain"),
        (["wait-back"], "wait-back needs --for with a time, as in --for 5m"),
        (["hold", "--wait", "5"], "--wait is for drain and restore"),
        (["forget"], "forget needs the id of one event, as status shows it"),
        (["forget", "E-1", "E-2"], "forget needs the id of one event, as status shows it"),
        (["hold", "--for", "ever"], "--for ever: expected a time like 90s, 15m, 2h or 7d, up to 30d"),
        (["hold", "--for"], "--for is not an option, or lacks its value"),
        (["drain", "--for=2h"], "--for is for hold and wait-back"),
    ],
)
def test_given_invalid_arguments_when_parsed_then_the_error_says_why(
    words: List[str], complaint: str, capsys: "pytest.CaptureFixture[str]"
) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_arguments(words)
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[0] == "foghorn-agent: %s" % complaint


def test_given_a_wrong_command_when_the_program_runs_then_its_exit_status_says_so(machine: RealAgent) -> None:
    run = machine.run("explode")
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr.startswith(b"foghorn-agent: explode is not a command\n")


# --- check-config -----------------------------------------------------------------------------------


def test_given_a_program_that_others_can_change_when_checked_then_it_is_named(
    tmp_path: Path, machine: RealAgent
) -> None:
    program = build(tmp_path / "open")
    program.chmod(0o777)
    run = subprocess.run(
        [sys.executable, "-IS", str(program), "check-config", "--config", str(machine.config)],
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
    )
    assert b"warning: %s: others than root can write" % bytes(program) in run.stderr


def test_given_several_mistakes_when_checked_then_each_has_a_line_with_file_and_path(
    machine: RealAgent, say: Say
) -> None:
    machine.config.write_text('{"margin": -1, "imds": {"timeout": 1}, "x": 1}')
    status, output, errors = say("check-config")
    assert (status, output) == (3, "")
    assert [line.split(": ")[:2] for line in errors.splitlines()] == [
        [str(machine.config), "margin"],
        [str(machine.config), "imds.timeout"],
        [str(machine.config), "x"],
    ]


@pytest.mark.parametrize(
    ("content", "status", "output", "errors"),
    [
        (
            b'{"policies": [{"match": {"event_types": ["Preempt", "Terminate", "Redeploy", "Reboot"]}, "drain": []}]}',
            0,
            (
                "standard input: no policy covers Freeze: the hooks in /etc/foghorn/hooks.d run, and it is not"
                " approved\n"
                "standard input: good, with 1 policy of its own\n"
            ),
            "",
        ),
        (b'{"margin": -1}', 3, "", "standard input: margin: expected seconds from 0 to 86400, got -1\n"),
        (b"{", 3, "", "standard input: is not JSON: "),
    ],
)
def test_given_a_configuration_on_standard_input_when_checked_then_no_file_is_needed(
    content: bytes,
    status: int,
    output: str,
    errors: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: "pytest.CaptureFixture[str]",
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["check-config", "--config", "-"]) == status
    said = capsys.readouterr()
    assert said.out == output
    assert said.err.startswith(errors)
    assert bool(said.err) is bool(errors)


@pytest.mark.parametrize("command", ["status", "history"])
def test_given_a_configuration_that_others_can_write_when_any_command_runs_then_it_is_refused(
    command: str, machine: RealAgent, say: Say
) -> None:
    machine.config.chmod(0o666)
    status, _output, errors = say(command)
    assert status == 3
    assert "others than root can write" in errors


# --- status -----------------------------------------------------------------------------------------


def test_given_a_drain_when_the_status_is_asked_for_then_it_is_a_short_table(status: Dict[str, Any], say: Say) -> None:
    exit_status, output, errors = say("status")
    assert (exit_status, errors) == (0, "")
    lines = output.splitlines()
    assert lines[0] == "web_0  OUT OF ROTATION"
    assert lines[-1] == "running  drain: deregister"
    assert len(lines) == 5
    assert status["events"]


def test_given_a_drain_when_the_status_is_asked_for_as_json_then_it_is_all_of_it(
    status: Dict[str, Any], say: Say
) -> None:
    assert json.loads(say("status", "--json")[1]) == status


def test_given_no_agent_when_the_status_is_asked_for_then_the_error_names_where_it_asked_and_what_to_do(
    machine: RealAgent, say: Say
) -> None:
    status, output, errors = say("status")
    assert (status, output) == (1, "")
    assert "no answer from %s: " % machine.url in errors
    assert "Is it running? systemctl status foghorn-agent\n" in errors


@pytest.mark.parametrize(
    ("listen", "complaint"),
    [
        ([], "listen is empty in the configuration"),
        ([{"address": "::1", "port": 9}], "no answer from http://[::1]:9"),
        ([{"address": "0.0.0.0", "port": 9}], "no answer from http://127.0.0.1:9"),
        ([{"address": "::", "port": 9}], "no answer from http://[::1]:9"),
    ],
)
def test_given_where_the_agent_listens_when_the_status_is_asked_for_then_it_is_asked_there(
    listen: Any, complaint: str, tmp_path: Path, capsys: "pytest.CaptureFixture[str]"
) -> None:
    tmp_path.chmod(0o755)
    config = tmp_path / "agent.json"
    config.write_text(json.dumps({"listen": listen}))
    config.chmod(0o644)
    assert main(["status", "--config", str(config)]) == 1
    assert complaint in capsys.readouterr().err


# --- history ----------------------------------------------------------------------------------------


def test_given_a_journal_when_the_history_is_requested_then_each_record_has_a_line_oldest_first(
    journal: List[Dict[str, Any]], say: Say
) -> None:
    status, output, errors = say("history")
    assert (status, errors) == (0, "")
    lines = output.splitlines()
    assert len(lines) == len([record for record in journal if record["kind"] != "incarnation"])
    assert lines[2] == "2026-01-01T00:00:03Z  seen         Freeze Scheduled  E-1"
    assert lines[4] == "2026-01-01T00:00:03Z  step_begun   drain deregister 39.333  E-1"
    assert lines[5] == "2026-01-01T00:00:06Z  step_ended   drain deregister 3.0 succeeded  E-1"
    assert "approving" in output


def test_given_a_journal_when_the_history_is_requested_as_json_then_it_has_every_record(
    journal: List[Dict[str, Any]], say: Say
) -> None:
    assert [json.loads(line) for line in say("history", "--json")[1].splitlines()] == journal


def test_given_no_journal_when_the_history_is_asked_for_then_the_error_says_so(say: Say) -> None:
    status, _output, errors = say("history")
    assert status == 1
    assert "the agent has not run here yet" in errors


def with_output(machine: RealAgent, where: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """A command whose output the shell sends elsewhere."""
    return subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" ' + where, "sh", *machine.command, *arguments, "--config", str(machine.config)],
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("arguments", [("history", "--json"), ("version",)])
def test_given_a_closed_pipe_when_printing_then_it_ends_quietly_and_is_not_taken_for_a_success(
    arguments: Any, journal: List[Dict[str, Any]], machine: RealAgent
) -> None:
    assert journal
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [*machine.command, *arguments, "--config", str(machine.config)],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    os.close(writer)
    assert (run.returncode, run.stderr) == (141, b"")


def test_given_a_full_disk_when_printing_then_a_line_says_so(machine: RealAgent) -> None:
    run = with_output(machine, ">/dev/full", "version")
    assert (run.returncode, run.stderr) == (1, b"foghorn-agent: [Errno 28] No space left on device\n")


def test_given_no_output_at_all_when_a_command_runs_then_its_status_says_what_came_of_it(machine: RealAgent) -> None:
    assert (with_output(machine, ">&-", "version").returncode, with_output(machine, ">&-", "help").stderr) == (0, b"")
    assert with_output(machine, "2>&-", "mystery").returncode == 2


def test_given_somebody_who_waits_when_they_interrupt_it_then_it_ends_quietly(
    machine: RealAgent,
) -> None:
    asked = threading.Event()

    def answer(_heard: object) -> Tuple[int, Dict[str, str], bytes]:
        asked.set()
        return 503, {}, b""

    command = [*machine.command, "wait-back", "--for", "1h", "--config", str(machine.config)]
    with HttpServer(answer, int(machine.url.rpartition(":")[2])), subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as waiting:
        assert asked.wait(PATIENCE)
        waiting.send_signal(signal.SIGINT)
        said, _errors = waiting.communicate(timeout=PATIENCE)
    assert (waiting.returncode, said) == (130, b"")


@pytest.mark.parametrize(
    ("record", "line"),
    [
        ({"kind": "seen", "event": {}}, "--------------------  seen         ? ?"),
        ({"kind": "approving", "event_ids": ["A", "B"]}, "--------------------  approving      A B"),
        (
            {"kind": "step_ended", "stage": "drain", "name": "x", "reason": "exit status 1", "succeeded": False},
            "--------------------  step_ended   drain x exit status 1 failed",
        ),
        (
            {
                "kind": "stage",
                "stage": "restore",
                "state": "succeeded",
                "back_from": [{"event_id": "A", "outcome": "completed"}, {"event_id": "B", "outcome": "withdrawn"}, 3],
            },
            "--------------------  stage        restore succeeded  A completed, B withdrawn",
        ),
        ({"kind": "boot", "at": 0.0, "boot_id": "b"}, "1970-01-01T00:00:00Z  boot"),
        ({}, "--------------------  None"),
    ],
)
def test_given_any_record_when_written_for_a_person_then_it_is_one_line(record: Dict[str, Any], line: str) -> None:
    assert as_history_line(record) == line


@pytest.mark.parametrize(
    ("command", "printed", "complaint"),
    [
        ("version", "foghorn-agent %s\n" % __version__, ""),
        ("help", USAGE, ""),
        # What it says besides is advice: the machine's only policy is for every event.
        ("check-config", ": good, with 1 policy of its own\n", ": warning: policies[0]: "),
    ],
)
def test_given_a_command_when_run_then_it_prints_what_was_asked_for_and_nothing_else(
    command: str, printed: str, complaint: str, say: Say
) -> None:
    status, output, errors = say(command)
    assert status == 0
    assert output.endswith(printed)
    assert all(complaint in line for line in errors.splitlines())
    assert bool(errors) is bool(complaint)


# --- run --------------------------------------------------------------------------------------------


def test_given_a_webhook_to_send_when_the_program_runs_then_it_sends_it_and_reports_the_result(program: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-E", "-s", str(program), "send-webhook"],
        input=json.dumps({"url": NOWHERE + "/hook", "body": "{}"}).encode("ascii"),
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    delivery = json.loads(run.stdout.decode("ascii"))
    assert delivery["delivered"] is False
    assert "refused" in delivery["detail"]


# --- by hand ----------------------------------------------------------------------------------------


def test_given_no_agent_when_a_manual_command_is_given_then_it_says_where_to_look(say: Say) -> None:
    status, _output, errors = say("drain")
    assert status == 1
    assert errors.endswith("state: systemctl status foghorn-agent\n")


def test_given_an_agent_when_somebody_waits_for_a_drain_and_a_restore_then_they_hear_when_it_is_done(
    machine: RealAgent,
) -> None:
    machine.begin()
    try:
        wait_for(lambda: machine.ask("/readyz") == 200, [machine])
        drained = machine.run("drain", "--wait", "60s", "--json")
        assert (drained.returncode, json.loads(drained.stdout.decode("ascii"))["reached"]) == (0, True)
        assert machine.ask("/readyz") == 503
        waited = machine.run("wait-back", "--for", "1s")
        assert (waited.returncode, waited.stdout) == (4, b"still out of rotation, for whoever drained it by hand\n")
        restored = machine.run("restore", "--wait", "60s")
        assert (restored.returncode, restored.stdout) == (0, b"in rotation\n")
    finally:
        machine.close()
