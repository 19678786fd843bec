# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rulebook asks for is checked before anything is asked of anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.options import Options, read_options

GUID = "11111111-aaaa-4bbb-8ccc-555555555555"
AGENTS = {"web_0": "http://127.0.0.1:9797/"}


def _ignore(_text: str) -> None:
    pass


def read(**given: Any) -> Options:
    return read_options(given, _ignore)


def test_given_agents_alone_when_they_are_read_then_the_rest_has_its_defaults() -> None:
    options = read(agents=AGENTS)

    assert options.agents == {"web_0": "http://127.0.0.1:9797"}
    assert (options.source, options.interval, options.timeout, options.parallel) == ("agents", 10, 10, 50)
    assert (options.hosts, options.secrets) == (None, ())


def test_given_a_secret_that_others_may_read_when_it_is_read_then_it_is_refused_with_the_remedy(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret").write_text("s" * 40 + "\n")
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(OptionError, match=r"secret_file: \S*secret: .*\(mode 644\): chmod 0600 it") as raised:
        read(agents=AGENTS, secret_file=str(tmp_path / "secret"))
    assert "sss" not in str(raised.value)


def test_given_no_secret_when_agents_are_asked_then_a_warning_says_what_that_means() -> None:
    told: list[str] = []
    read_options({"agents": AGENTS}, told.append)

    assert len(told) == 1
    assert told[0].startswith("secret_file is not set: agents on other machines refuse to answer")


def test_given_agents_and_a_secret_in_files_when_they_are_read_then_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "agents.yml").write_text("web_0: http://127.0.0.1:9797\n")
    (tmp_path / "secret").write_text("s" * 40 + "\n")
    (tmp_path / "secret").chmod(0o600)

    options = read(agents_file=str(tmp_path / "agents.yml"), secret_file=str(tmp_path / "secret"))

    assert list(options.agents) == ["web_0"]
    assert options.secrets == (b"s" * 40,)


def test_given_empty_texts_when_they_are_read_then_they_count_as_not_set() -> None:
    assert read(agents=AGENTS, secret_file="", auth_source=None, endpoint="").secrets == ()


def test_given_reminders_when_they_are_read_then_the_default_is_the_last_hour() -> None:
    assert read(agents=AGENTS).remind is None
    assert read(agents=AGENTS, remind_every="300").remind == (300.0, 3600.0)
    assert read(agents=AGENTS, remind_every=300, remind_within=604800).remind == (300.0, 604800.0)


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "web",
        ["web"],
        [{"name": "web"}],
        [{"resource_group": "shop", "name": "web", "more": 1}],
        [{"resource_group": "shop", "name": "web/../other"}],
        [{"resource_group": "shop", "name": 1}],
    ],
)
def test_given_invalid_scale_sets_when_they_are_read_then_the_option_is_named(given: Any) -> None:
    with pytest.raises(OptionError, match=r"^scale_sets: "):
        read(source="lifecycle_hooks", scale_sets=given)


def test_given_scale_sets_when_they_are_read_then_they_are_asked_every_half_minute() -> None:
    options = read(source="lifecycle_hooks", scale_sets=[{"resource_group": "shop", "name": "web"}])
    assert (options.scale_sets, options.interval) == ((("shop", "web"),), 30)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "agents"),
        ({"source": "event_grid"}, "source"),
        ({"agents": {}}, "agents"),
        ({"agents": ["http://127.0.0.1"]}, "agents"),
        ({"agents": {"web_0": "https://127.0.0.1"}}, "agents: web_0"),
        ({"agents": {1: "http://127.0.0.1"}}, "1"),
        ({"agents": AGENTS, "agents_file": "x"}, "agents"),
        ({"agents_file": "/does/not/exist"}, "agents_file"),
        ({"agents": AGENTS, "secret_file": "/does/not/exist"}, "secret_file"),
        ({"agents": AGENTS, "secret_file": "/dev/null"}, "secret_file"),
        ({"agents": AGENTS, "parallel": 0}, "parallel"),
        ({"agents": AGENTS, "parallel": "many"}, "parallel"),
        ({"agents": AGENTS, "interval": 0.1}, "interval"),
        ({"agents": AGENTS, "interval": "often"}, "interval"),
        ({"agents": AGENTS, "announce_between": "at night"}, "announce_between"),
        ({"agents": AGENTS, "announce_between": [{"from": "25:00"}]}, r"announce_between\[0\]\.from"),
        ({"agents": AGENTS, "remind_every": 5}, "remind_every"),
        ({"agents": AGENTS, "remind_every": "often"}, "remind_every"),
        ({"agents": AGENTS, "remind_within": 600}, "remind_every"),
        ({"agents": AGENTS, "remind_every": 60, "remind_within": 0}, "remind_within"),
        ({"agents": AGENTS, "remind_every": 60, "remind_within": "nan"}, "remind_within"),
        ({"agents": AGENTS, "remind_every": 60, "remind_within": "soon"}, "remind_within"),
        ({"agents": AGENTS, "timeout": -1}, "timeout"),
        ({"agents": AGENTS, "timeuot": 5}, "timeuot"),
        # Nobody would read the queue that ansible-rulebook then waits for.
        ({"agents": AGENTS, "feedback": True, "eda_feedback_queue": object()}, "feedback"),
        ({"agents": AGENTS, "endpoint": "http://127.0.0.1"}, "endpoint"),
        ({"source": "imds", "endpoint": "ftp://x"}, "endpoint"),
        ({"source": "imds", "endpoint": 3}, "endpoint"),
        ({"source": "imds", "api_version": "newest"}, "api_version"),
        ({"source": "imds", "connect_timeout": "soon"}, "connect_timeout"),
        ({"source": "resource_graph", "auth_source": "guess"}, "auth_source"),
        ({"source": "resource_graph", "auth_source": "msi", "subscriptions": ["x"]}, "subscriptions"),
        (
            {
                "source": "resource_graph",
                "auth_source": "msi",
                "subscriptions": ["11111111-aaaa-4bbb-8ccc-555555555555"],
                "management_group": "shop",
            },
            "management_group",
        ),
        ({"agents": AGENTS, "management_group": "shop"}, "management_group"),
        ({"source": "resource_graph", "auth_source": "msi", "interval": 1}, "interval"),
    ],
)
def test_given_an_invalid_value_when_it_is_read_then_the_option_is_named(given: Any, named: str) -> None:
    with pytest.raises(OptionError, match="^'?" + named):
        read(**given)
