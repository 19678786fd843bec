# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One hostile document through every door of the agent: nothing in it is run, forged, or obeyed by a terminal.

Runs on Python 3.6 and later.
"""

import io
import json
import unicodedata
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.tests.hostile import hostile_document, what_was_run
from edge_helpers import SAMPLE, wait_until
from foghorn_agent.act.running import Running, StepContext, input_for
from foghorn_agent.cli import _show, as_history_line
from foghorn_agent.decide.decisions import Work
from foghorn_agent.decide.policy import COMMAND, Step
from foghorn_agent.decide.state import replay, summarise
from foghorn_agent.http.status import as_table
from foghorn_agent.io import log as levels
from foghorn_agent.io.log import open_log
from foghorn_core.scheduled_events.document import Document, event_as_azure, parse_document
from foghorn_core.scheduled_events.event import Event
from rehearsal import UNAPPROVED, VM_NAME, Rehearsal


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    directory = tmp_path / "proof"
    directory.mkdir()
    return directory


@pytest.fixture
def document(proof: Path) -> Document:
    return parse_document(hostile_document(proof, VM_NAME))


@pytest.fixture
def rehearsal(document: Document, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    """A machine that has read it, and works on it."""
    one = Rehearsal(policy=UNAPPROVED)
    monkeypatch.setattr(type(one.azure), "tick", lambda azure, seconds: setattr(azure, "now", azure.now + seconds))
    one.azure.listed = document.events
    one.run_until(10.0)
    assert len(one.state.tracked) == len(document.events)
    return one


def assert_only_shows_itself(text: str) -> None:
    """A terminal shows it and does nothing else. Line ends are ours."""
    bad = {character for character in text.replace("\n", "") if unicodedata.category(character)[0] in "CZ"} - {" "}
    assert not bad, "a terminal would obey %s" % sorted(map(ascii, bad))


def test_given_a_hostile_event_when_a_step_runs_for_it_then_shell_and_environment_hand_it_on_unrun(
    document: Document, proof: Path
) -> None:
    script = 'test -n "$FOGHORN_EVENT_ID" && echo $FOGHORN_DESCRIPTION $FOGHORN_RESOURCES "$FOGHORN_EVENT_TYPE" && cat'
    for event in document.events:
        step = Step(COMMAND, "it", 60.0, argv=("/bin/sh", "-c", script))
        work = Work(event, "drain", "key", step, 60.0, False, False)
        running = Running(work, VM_NAME, StepContext("/nowhere", lambda: 0.0))
        outcome = wait_until(running.poll)
        assert outcome.succeeded, outcome
        content = json.loads(input_for(work, VM_NAME).decode("ascii"))
        assert content["event"] == event_as_azure(event)
    assert what_was_run(proof) == []


def test_given_hostile_events_when_shown_as_a_table_then_each_is_one_line_that_only_shows_itself(
    rehearsal: Rehearsal, document: Document
) -> None:
    table = as_table(rehearsal.status())
    assert_only_shows_itself(table)
    assert len(table.splitlines()) <= 4 + len(document.events)


def test_given_hostile_problem_when_shown_as_a_table_then_it_only_shows_itself(rehearsal: Rehearsal) -> None:
    status = rehearsal.status()
    status.update(problems={"IMDS": "\x1b[2J\nOUT", "journal": "\x07"}, vm_name="\u202eweb")
    status["step"] = {"stage": "drain", "name": "\x1b]0;x\x07"}
    status["events"][0].update(event_id="\x1b[31m\r\n\x9b2J\u202e", event_type="\ud800", resources=["\u2028"])
    table = as_table(status)
    assert_only_shows_itself(table)
    assert "\\x1b[31m\\r\\n\\x9b2J\\u202e" in table


def test_given_hostile_events_when_the_history_is_shown_then_each_record_is_one_line_that_only_shows_itself(
    rehearsal: Rehearsal,
) -> None:
    for record in [*rehearsal.history, {"kind": "\x1b[2J", "reason": "\n\u202e", "stage": {"\x1b": 1}}]:
        line = as_history_line(record)
        assert "\n" not in line
        assert_only_shows_itself(line)


def test_given_hostile_events_when_metrics_are_scraped_then_each_line_is_ours(rehearsal: Rehearsal) -> None:
    text = rehearsal.answer("/metrics")[1]
    assert_only_shows_itself(text)
    assert all(
        line.startswith(("# HELP foghorn_", "# TYPE foghorn_")) or SAMPLE.match(line) for line in text.splitlines()
    )
    assert not [line for line in text.splitlines() if line.startswith("forged")]


def test_given_hostile_events_when_the_status_is_asked_for_then_it_is_ascii_and_complete(rehearsal: Rehearsal) -> None:
    content = json.loads(rehearsal.answer("/status")[1].encode("utf-8").decode("ascii"))
    assert len(content["events"]) == len(rehearsal.state.tracked)


def test_given_hostile_events_when_something_is_logged_then_each_message_is_one_line_that_only_shows_itself(
    rehearsal: Rehearsal, capfd: "pytest.CaptureFixture[str]"
) -> None:
    log = open_log(None)
    said = rehearsal.messages()
    said += ["\x1b[2J\x1b]52;c;dG91Y2g=\x07", "one\r\n<0>two", "\u202e\u2066\u2028", "\ud800"]
    for message in said:
        log(levels.INFO, message, event_id=message)
    lines = capfd.readouterr().err
    assert len(lines.splitlines()) == len(said)
    assert_only_shows_itself(lines)


def test_given_hostile_events_when_the_journal_is_replayed_then_the_state_is_the_same(rehearsal: Rehearsal) -> None:
    assert replay(rehearsal.history) == rehearsal.state
    assert replay(json.loads(json.dumps(summarise(rehearsal.state)))) == rehearsal.state


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_given_a_terminal_of_any_encoding_when_something_is_shown_then_it_can_be(encoding: str) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    _show("Düsseldorf €", output)
    output.flush()
    assert output.buffer.getvalue().decode(encoding).startswith("D")


def test_given_an_event_with_halves_of_characters_when_a_step_is_started_then_it_starts() -> None:
    event = Event("E-1", "Reboot", "Scheduled", (VM_NAME, "\ud800"), description="\udfff")
    step = Step(COMMAND, "it", 60.0, argv=("/bin/sh", "-c", 'printf %s "$FOGHORN_DESCRIPTION"'))
    running = Running(
        Work(event, "drain", "key", step, 60.0, False, False), VM_NAME, StepContext("/nowhere", lambda: 0.0)
    )
    assert wait_until(running.poll).output == "?"
