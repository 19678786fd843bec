# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a host says reaches the terminal as anything but text."""

from __future__ import annotations

import os
import re
import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.callback.fleet import STEP, CallbackModule

# It clears the screen in C0 and C1, begins a link, turns the direction of writing, and rings.
HOSTILE = "a\x1b[2J\x9b2J\x1b]8;;http://evil\x07\u202eb\u2066\x00\x85\u2028\x0c\ufeff\ud800c\r"


class Screen:
    """What is displayed."""

    verbosity = 1
    columns = 80

    def __init__(self) -> None:
        self.text = ""

    def display(self, text: str, *_color: Any, **_options: Any) -> None:
        self.text += text + "\n"

    warning = display


@pytest.fixture
def screen() -> Screen:
    return Screen()


@pytest.fixture
def callback(screen: Screen) -> CallbackModule:
    shown = CallbackModule()
    shown._display = screen
    return shown


def result(action: str = "ansible.builtin.command", **content: Any) -> Any:
    """A result of a task, whose name and host are hostile as well."""
    task = SimpleNamespace(action=action, get_name=lambda: HOSTILE)
    return SimpleNamespace(result=content, task=task, host=SimpleNamespace(get_name=lambda: HOSTILE))


def assert_harmless(screen: Screen) -> None:
    assert "a" in screen.text
    strange = {one for one in screen.text if unicodedata.category(one)[0] in "CZ" and one not in " \n\t"}
    assert strange == set()


@pytest.mark.parametrize(
    "diff",
    [
        {"before": HOSTILE, "after": HOSTILE + HOSTILE},
        {"before": "x\n", "after": "y\n", "before_header": HOSTILE, "after_header": HOSTILE},
        {"before": {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}, "after": {HOSTILE: None}},
        {"before": None, "after": HOSTILE.encode("utf-8", "surrogatepass")},
        {"before": 7, "after": [HOSTILE]},
        {"prepared": HOSTILE},
        {"prepared": HOSTILE.encode("utf-8", "surrogatepass")},
        {"prepared": {"a": HOSTILE}},
        [{"prepared": HOSTILE}, HOSTILE, {"dst_larger": HOSTILE, "prepared": "a"}],
    ],
)
def test_given_a_hostile_difference_when_shown_then_it_is_text(
    callback: CallbackModule, screen: Screen, diff: Any
) -> None:
    callback.v2_on_file_diff(result(changed=True, diff=diff))
    assert_harmless(screen)
    screen.text = ""
    callback.v2_on_file_diff(result(results=[{"changed": True, "diff": diff}, HOSTILE]))
    assert_harmless(screen)


def test_given_an_honest_difference_when_shown_then_its_lines_and_tabs_stay(
    callback: CallbackModule, screen: Screen
) -> None:
    callback.v2_on_file_diff(result(changed=True, diff={"before": "all:\n\tmake a\n", "after": "all:\n\tmake b\n"}))
    assert "-\tmake a\n+\tmake b\n" in screen.text


@pytest.mark.parametrize("name", ["msg", "module_stderr", "stderr", "module_stdout", "stdout"])
@pytest.mark.parametrize("content", [HOSTILE, [HOSTILE], {HOSTILE: [HOSTILE]}])
def test_given_a_hostile_failure_when_shown_then_it_is_text(
    callback: CallbackModule, screen: Screen, name: str, content: Any
) -> None:
    hostile = result(**{name: content}, warnings=[HOSTILE], _ansible_item_label=HOSTILE)
    callback.v2_runner_on_failed(hostile)
    callback.v2_runner_item_on_failed(hostile)
    callback.v2_runner_on_unreachable(hostile)
    assert_harmless(screen)


def test_given_hostile_results_when_shown_then_they_are_text(callback: CallbackModule, screen: Screen) -> None:
    callback.v2_runner_on_ok(result("debug", msg=HOSTILE))
    callback.v2_runner_on_ok(result("debug", **{HOSTILE: HOSTILE}))
    callback.v2_runner_on_ok(result(STEP, news=["a FAILED: " + HOSTILE, HOSTILE], status=HOSTILE))
    callback.v2_runner_on_ok(result(changed=True, warnings=[HOSTILE]))
    stats = SimpleNamespace(
        processed={HOSTILE: 1}, summarize=lambda _host: dict.fromkeys(("ok", "changed", "unreachable", "failures"), 0)
    )
    callback.v2_playbook_on_stats(stats)
    assert_harmless(screen)


def test_given_a_message_a_change_or_a_warning_of_a_task_when_shown_then_it_has_its_host_and_nothing_else(
    callback: CallbackModule, screen: Screen
) -> None:
    def shown(action: str, **content: Any) -> list[str]:
        screen.text = ""
        task = SimpleNamespace(action=action, get_name=lambda: "Do it")
        host = SimpleNamespace(get_name=lambda: "web1")
        callback.v2_runner_on_ok(SimpleNamespace(result=content, task=task, host=host))
        return [re.sub(r"^[\d:]{8} ", "", line) for line in screen.text.splitlines()]

    assert shown("ansible.builtin.debug", msg="hello") == ["web1: hello"]
    assert shown("debug", msg=["one", "two"]) == ["one", "two"]
    noise = {
        "_ansible_verbose_always": True,
        "changed": False,
        "failed": False,
        "invocation": {},
        "stderr": "x",
        "module_stdout": "y",
    }
    assert shown("debug", port=80, **noise) == ["web1: 80"]
    assert shown("command", changed=True, warnings=["careful"]) == ["web1: changed: Do it", "careful"]
    assert shown("command", msg="hello") == []


def test_given_a_run_that_ends_before_its_hosts_are_back_then_they_and_the_remedy_are_named(
    callback: CallbackModule, screen: Screen
) -> None:
    callback.v2_runner_on_ok(result(STEP, out=["web1", "web2"], status="2 out"))
    callback.v2_runner_on_ok(result(STEP, lines=[]))
    callback._end(os.getpid() + 1)
    assert "interrupted" not in screen.text
    callback._end(os.getpid())
    assert "out of rotation, or about to leave it: web1, web2. Run the same command again" in screen.text
    screen.text = ""
    callback.v2_playbook_on_stats(SimpleNamespace(processed={}))
    callback._end(os.getpid())
    assert screen.text == ""
