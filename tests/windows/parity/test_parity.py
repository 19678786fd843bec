# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The C# core answers as the Python core does, on Mono, which is nearest to .NET Framework here, and on .NET 10."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.windows.conftest import CORE, PATIENCE, ROOT
from tests.windows.parity import python_side
from tests.windows.parity.python_side import SEED

DOCUMENTS = 20_000
HTTP_ANSWERS = 3_000
# The tests of the Python core, and how many calls of each kind they make at least.
RECORDED = [
    f"tests/unit/plugins/module_utils/scheduled_events/test_{name}.py" for name in ("client", "operations", "options")
]
CALLS = {"read_document": 300, "approve_events": 40, "approve": 20, "read_identity": 20, "list_events": 4}

Ask = Callable[[list[dict[str, Any]]], list[Any]]


@pytest.fixture(scope="session", name="program")
def fixture_program(compile_csharp: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("parity") / "parity.exe"
    assert compile_csharp(*CORE, Path(__file__).with_name("Parity.cs"), out=program) == ""
    return program


@pytest.fixture(scope="session", name="ask", params=["Mono", ".NET"])
def fixture_ask(request: pytest.FixtureRequest, program: Path) -> Ask:
    """Put questions to the C# core."""
    if request.param == "Mono" and shutil.which("mono") is None:
        pytest.skip("no Mono")

    def ask(questions: list[dict[str, Any]]) -> list[Any]:
        asked, answered = program.with_name("questions"), program.with_name("answers")
        asked.write_text("".join(json.dumps(question) + "\n" for question in questions), encoding="ascii")
        load = f"$null = [Reflection.Assembly]::LoadFrom('{program}')"
        main = f"exit [Parity.Program]::Main([string[]]@('{asked}', '{answered}'))"
        on_net = [os.environ["PWSH_ENGINE"] + "/pwsh", "-NoProfile", "-Command", f"{load}; {main}"]
        command = ["mono", str(program), str(asked), str(answered)] if request.param == "Mono" else on_net
        run = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False
        )
        assert run.returncode == 0, run.stdout
        return [json.loads(line) for line in answered.read_text(encoding="utf-8").splitlines()]

    return ask


@pytest.fixture(scope="session", name="recorded")
def fixture_recorded(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What the tests of the Python core ask it, and what it answers."""
    table = tmp_path_factory.mktemp("recorded") / "table"
    environment = {
        **os.environ,
        "PARITY_TABLE": str(table),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / ".cache" / "collections")]),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.windows.parity.recorder",
        "-o",
        f"cache_dir={table}.cache",
    ]
    run = subprocess.run(
        [*command, *RECORDED], cwd=ROOT, env=environment, text=True, timeout=PATIENCE, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    *rows, _left_out = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    return rows


@pytest.fixture(scope="session", name="documents")
def fixture_documents() -> tuple[list[dict[str, Any]], list[Any]]:
    questions = list(python_side.document_questions(SEED, DOCUMENTS))
    return questions, [python_side.answer(question) for question in questions]


def test_given_any_document_then_both_read_the_same_or_refuse_it(
    ask: Ask, documents: tuple[list[dict[str, Any]], list[Any]]
) -> None:
    questions, expected = documents
    refused = sum("refused" in answer for answer in expected)

    assert_no_difference(questions, expected, ask(questions))
    assert len(questions) / 10 < refused < len(questions) * 9 / 10


def test_given_any_answer_in_http_then_both_read_the_same_or_refuse_it(ask: Ask) -> None:
    questions = list(python_side.http_questions(SEED, HTTP_ANSWERS))
    expected = [python_side.answer(question) for question in questions]
    refused = sum("refused" in answer for answer in expected)

    assert_no_difference(questions, expected, ask(questions))
    assert len(questions) / 10 < refused < len(questions) * 9.5 / 10


def test_given_what_the_tests_of_the_python_core_ask_then_requests_and_results_are_the_same(
    ask: Ask, recorded: list[dict[str, Any]]
) -> None:
    questions = [row["question"] for row in recorded]
    calls = Counter(call["call"] for question in questions for call in question.get("calls", ()))

    assert_no_difference(questions, [row["answer"] for row in recorded], ask(questions))
    assert all(calls[call] >= least for call, least in CALLS.items()), calls
    assert sum(question["ask"] == "options" for question in questions) >= 40


@pytest.mark.parametrize(
    ("environment", "asked"),
    [(None, "http://169.254.169.254"), ("", "http://169.254.169.254"), ("http://127.0.0.1:9", "http://127.0.0.1:9")],
)
def test_given_no_endpoint_then_the_real_one_would_be_asked_unless_the_environment_names_another(
    ask: Ask, environment: str | None, asked: str
) -> None:
    options = {"endpoint": "http://169.254.169.254", "timeout": 150, "connect_timeout": 5}
    question = {"ask": "options", "of": "connection", "environment": environment, "options": options}

    assert ask([question])[0]["endpoint"] == asked


@pytest.mark.parametrize("has_cluster", [False, True])
def test_given_no_connection_then_the_route_is_named_where_there_is_a_failover_cluster(
    ask: Ask, has_cluster: bool
) -> None:
    options = {"endpoint": "http://169.254.169.254", "timeout": 150, "connect_timeout": 5}
    (answer,) = ask([{"ask": "module", "has_cluster": has_cluster, "options": options}])

    assert "IMDS at http://169.254.169.254 did not answer within 5 s (" in answer["failure"]
    assert ("route add 169.254.169.254/32 ADDRESS metric 1 -p" in answer["failure"]) == has_cluster
    assert answer["result"]["last_outcome"] == "ConnectionRefusedError: refused"


def test_given_an_answer_that_differs_then_it_is_shown() -> None:
    question = next(python_side.document_questions(SEED, 0))
    answer = python_side.answer(question)
    other = json.loads(json.dumps(answer))
    other["events"][0]["event_id"] += "-"

    assert python_side.differences([question], [answer], [answer]) == []
    assert len(python_side.differences([question], [answer], [other])) == 1


def assert_no_difference(questions: list[dict[str, Any]], expected: list[Any], found: list[Any]) -> None:
    different = python_side.differences(questions, expected, found)
    shown = "\n".join(one[:4000] for one in different[:3])
    assert not different, f"PARITY_SEED={SEED}: {len(different)} of {len(questions)} differ\n{shown}"
