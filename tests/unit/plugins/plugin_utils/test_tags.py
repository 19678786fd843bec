# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tags that choose no task of a run are a mistake: the playbooks of this collection have none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible import context
from ansible.utils.context_objects import CLIArgs
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.tags import mistakes_in_tags

REFUSED = "%s: no task of this run is selected."


@pytest.mark.parametrize(
    ("tags", "skipped", "said"),
    [
        (["all"], [], ""),
        (["of_another_task"], [], ""),
        (["always_included"], [], ""),
        (["all"], ["some"], ""),
        (["mistyped"], [], "--tags mistyped"),
        (["mistyped", "too"], ["some"], "--tags mistyped,too --skip-tags some"),
        (["all"], ["of_another_task", "plain"], "--tags all --skip-tags of_another_task,plain"),
    ],
)
def test_given_tags_then_they_are_refused_only_if_they_choose_no_task_of_any_playbook(
    tags: list[str], skipped: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: list[dict[str, Any]] = [
        {"debug": {}, "tags": ["of_another_task"]},
        {"block": [{"debug": {}, "tags": ["plain"]}]},
        {"debug": {}, "tags": ["always"]},
    ]
    if tags == ["always_included"]:
        # What it includes may have tags.
        own.append({"include_tasks": "more.yml", "tags": ["always"]})
    site = tmp_path / "site.yml"
    site.write_text(yaml.safe_dump([{"hosts": "all", "gather_facts": False, "tasks": own}]))
    arguments = {"tags": tags, "skip_tags": skipped, "args": ["foghorn.azure_events.handle_events", str(site)]}
    monkeypatch.setattr(context, "CLIARGS", CLIArgs(arguments))

    told = mistakes_in_tags()

    assert [text.startswith(REFUSED % said) for text in told] == ([True] if said else [])


@pytest.mark.parametrize(("name", "is_refused"), [("foghorn.azure_events.drain", True), ("theirs.own.site", False)])
def test_given_a_playbook_of_a_collection_then_only_ours_are_known_to_have_no_tags(
    name: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "CLIARGS", CLIArgs({"tags": ["any"], "skip_tags": [], "args": [name]}))

    assert bool(mistakes_in_tags()) is is_refused
