# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""wait_until through ansible-playbook, with modules of Ansible itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.tests.hostile import what_was_run


def wait(module: str, until: str, timeout: Any = 30, **options: Any) -> dict[str, Any]:
    return {
        "module": f"ansible.builtin.{module}",
        "arguments": options.pop("arguments", {}),
        "until": until,
        "timeout": timeout,
        "interval": 0.1,
        **options,
    }


def shell(command: str) -> dict[str, Any]:
    return {"arguments": {"argv": ["sh", "-c", command]}}


class Scene:
    """What became of each wait, and what was there meanwhile."""

    def __init__(self, results: Any, looks: Path, proof: Path) -> None:
        self.results = results
        self.looks = looks
        self.proof = proof

    def __getitem__(self, task: str) -> dict[str, Any]:
        result: dict[str, Any] = self.results[task]
        return result


@pytest.fixture(scope="module", name="scene")
def fixture_scene(tmp_path_factory: pytest.TempPathFactory, play: Any) -> Scene:
    looks = tmp_path_factory.mktemp("looks") / "looks"
    proof = tmp_path_factory.mktemp("proof")
    evil = "{{ lookup('pipe', 'touch %s/stdout') }}" % proof
    (proof.parent / "evil.txt").write_text(evil, encoding="utf-8")
    first, late = looks.with_name("first"), looks.with_name("late")
    seen_twice_after_it_was_told = (
        f"[ -e {first} ] || touch {first}; [ $(date +%s) -lt $(($(stat -c %Y {first}) + 12)) ] || echo >> {late};"
        f" [ $(wc -l < {late}) -ge 2 ]"
    )
    count = f"echo look >> {looks}; wc -l < {looks}; pwd"
    waits: dict[str, dict[str, Any]] = {
        "something": wait("command", "result.rc == 0 and result.stdout_lines[0] | int == wanted | int", **shell(count)),
        "never": wait("command", "result.rc == 7", timeout=0.3, **shell("echo so; exit 3")),
        "a failure": wait("command", "result.rc == 3", **shell("exit 3")),
        "a long look": wait("command", "result.rc == 0", poll_timeout=0.5, arguments={"argv": ["sleep", "20"]}),
        # The first poll takes too long, like that of a machine that boots.
        "a machine that was away": wait(
            "command",
            "result.rc | default(1) == 0",
            timeout=60,
            poll_timeout=8,
            may_be_away=True,
            **shell(f"[ -e {looks}.away ] || {{ touch {looks}.away; sleep 20; }}"),
        ),
        "a machine that stays away": wait(
            "command",
            "result.rc | default(1) == 0",
            timeout=0.3,
            poll_timeout=0.5,
            may_be_away=True,
            arguments={"argv": ["sleep", "20"]},
        ),
        "a hostile answer": wait("command", "answer in result.stdout", **shell(f"cat {proof.parent}/evil.txt")),
        "a job": wait("async_status", "result.finished | bool", arguments={"jid": "{{ job.ansible_job_id }}"}),
        "no module": wait("nonsense", "result is success"),
        "no time": wait("ping", "result is success", timeout="nan"),
        "less than no time": wait("ping", "result is success", timeout=-1),
        "forever": wait("ping", "result is success", timeout="inf"),
        "a long time": wait("command", "result.rc == 0", timeout=300, **shell(seen_twice_after_it_was_told)),
    }
    tasks: list[dict[str, Any]] = [
        {
            "name": "begin a job",
            "ansible.builtin.command": {"argv": ["sleep", "1"]},
            "async": 60,
            "poll": 0,
            "register": "job",
        }
    ]
    for name, options in waits.items():
        tasks.append({"name": name, "foghorn.azure_events.wait_until": options, "ignore_unreachable": True})
        if name == "a long time":
            tasks[-1]["connection"] = "machine"
        if name == "a failure":
            tasks[-1].update(register="the_failure", failed_when="the_failure.rc != 3")
    played = play(
        tasks,
        vars={"wanted": "{{ 2 + 1 }}", "answer": "lookup"},
        module_defaults={"ansible.builtin.command": {"chdir": str(proof.parent)}},
    )
    return Scene(played, looks, proof)


def test_it_polls_until_the_condition_is_true_and_returns_the_last_result(scene: Scene) -> None:
    assert scene["something"]["stdout_lines"][0] == "3"
    assert not scene["something"]["failed"]
    assert scene.looks.read_text(encoding="utf-8") == "look\n" * 3


def test_module_defaults_apply_to_the_polls(scene: Scene) -> None:
    assert scene["something"]["stdout_lines"][1] == str(scene.proof.parent)


def test_given_a_condition_that_never_becomes_true_then_it_fails_and_reports_condition_and_last_result(
    scene: Scene,
) -> None:
    never = scene["never"]

    assert never["failed"]
    # In words of Ansible's, which has others in each of its versions.
    assert never["msg"].startswith("the check did not succeed within 0.3 s: result.rc == 7; the last answer: ")
    assert "non-zero return code" in never["msg"]
    assert (never["rc"], never["stdout"]) == (3, "so")
    assert "FAILED - RETRYING" not in scene.results.output


def test_given_a_wait_for_a_failure_then_failed_when_decides(scene: Scene) -> None:
    assert not scene["a failure"]["failed"]
    assert scene["a failure"]["rc"] == 3


def test_given_a_poll_that_takes_too_long_then_the_host_is_unreachable(scene: Scene) -> None:
    assert scene["a long look"]["unreachable"]
    assert "ansible.builtin.command did not end within 0.5 s" in scene["a long look"]["msg"]


def test_given_a_host_that_may_be_away_when_a_poll_does_not_reach_it_then_it_is_polled_again(scene: Scene) -> None:
    assert not scene["a machine that was away"]["failed"]
    assert scene["a machine that was away"]["rc"] == 0
    stays = scene["a machine that stays away"]
    assert stays["failed"]
    assert not stays.get("unreachable")
    assert "did not end within 0.5 s" in stays["msg"]


def test_trap_11_given_a_template_in_an_answer_then_it_stays_text(scene: Scene) -> None:
    assert scene["a hostile answer"]["stdout"].startswith("{{ lookup(")
    assert what_was_run(scene.proof) == []


def test_given_a_module_with_an_action_of_its_own_then_that_runs_it(scene: Scene) -> None:
    assert not scene["a job"]["failed"]
    assert scene["a job"]["cmd"] == ["sleep", "1"]


def test_given_no_such_module_then_it_fails_at_once_and_names_it(scene: Scene) -> None:
    assert scene["no module"]["failed"]
    assert "ansible.builtin.nonsense was not found" in scene["no module"]["msg"]


@pytest.mark.parametrize(("task", "shown"), [("no time", "nan"), ("less than no time", "-1.0"), ("forever", "inf")])
def test_given_an_invalid_time_then_it_is_refused(scene: Scene, task: str, shown: str) -> None:
    assert scene[task]["failed"]
    assert scene[task]["msg"] == f"timeout is {shown}: it must be a number of seconds"


def test_long_waits_are_reported_and_short_ones_are_not(scene: Scene) -> None:
    told = re.findall(r"^\[localhost\]: (.+): \d+ s of at most", scene.results.output, re.MULTILINE)

    assert told.count("a long time") == 1
    assert "something" not in told
