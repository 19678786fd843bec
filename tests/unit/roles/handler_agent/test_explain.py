# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What would be done about an event, when, and why?

Runs on Python 3.6 and later.
"""

import io
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, List, Optional

import pytest
from foghorn_agent import cli
from foghorn_agent.config import parse_config
from foghorn_agent.decide.explain import explain, sample_event
from foghorn_agent.decide.in_service import Keep
from rehearsal import QUORUM

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
WEB = {
    "name": "web",
    "match": {"event_types": ["Reboot", "SpotRebalanceRecommendation"], "event_sources": ["Platform"]},
    "drain": [{"command": ["/bin/true"], "name": "deregister"}, {"pause": 30}],
    "shutdown": [{"stop": "nginx"}],
    "restore": [{"start": "nginx"}],
    "approve": "quorum",
    "approve_between": [{"from": "01:00", "to": "05:00"}],
}


def lines(
    event_type: str,
    notice: Any = None,
    source: str = "Platform",
    is_shared: bool = False,
    keep: Optional[Keep] = None,
) -> List[str]:
    rules = parse_config({"policies": [WEB], "quorum": QUORUM}).rules
    return explain(rules, sample_event(event_type, notice, source, is_shared, "web_0", NOW), NOW, keep)


def test_given_an_event_that_a_policy_is_for_when_explained_then_each_step_has_its_time_and_all_is_reported() -> None:
    assert lines("Reboot", is_shared=True) == [
        "Reboot of web_0 and another VM, from Platform, which may start in 900 s",
        "  web matches",
        "  drain: out of rotation",
        "    deregister: in 0 s, for 60 s at most",
        "    pause: in 60 s, for 30 s at most",
        "  shutdown: out of rotation",
        "    stop nginx: in 90 s, for 60 s at most",
        "  the first of its machines approves it when all are ready, as approve_between allows",
        "  restore, when it is over: start nginx",
    ]


def test_given_little_time_when_explained_then_each_step_has_its_share() -> None:
    assert "    stop nginx: in 60 s, for 30 s at most, of the 60 s that it may take" in lines("Reboot", 100.0)


def test_given_an_event_of_another_source_when_explained_then_it_says_why_the_policy_does_not_match() -> None:
    explained = lines("Reboot", source="User")
    assert explained[1] == "  web does not match: event_sources is Platform"
    assert "  maintenance matches, the built-in default" in explained
    assert "  it is approved when all is done, if a hook has prepared this machine" in explained


def test_given_what_is_only_advisory_when_explained_then_it_begins_at_once_and_there_is_nothing_to_approve() -> None:
    explained = lines("SpotRebalanceRecommendation")
    assert explained[0].endswith("which may start at any moment")
    assert "    deregister: in 0 s, for 60 s at most" in explained
    assert "  there is nothing to approve" in explained
    other = lines("SpotRebalanceRecommendation", source="User")
    assert "  unknown type does not match: what is only advisory has to be named in event_types" in other
    assert "  nothing is done, and the machine stays in rotation" in other


def test_given_members_that_are_to_stay_when_explained_then_it_is_reported_for_how_long_it_waits() -> None:
    waits = "  all of it begins once enough other members stay in rotation, to keep 2 in service, "
    # Its steps may take 150 s, and have to be done 10 s before the start.
    in_the_end = "and after 738 s in any case, with the times below shifted by as much"
    assert waits + in_the_end in lines("Reboot", keep=Keep(2))
    assert waits + "however long that takes" in lines("SpotRebalanceRecommendation", keep=Keep(2))
    at_once = "  nothing of it waits to keep 50% in service: there is no time for that"
    for event_type, notice in (("Reboot", 100.0), ("Preempt", None)):
        assert at_once in lines(event_type, notice, keep=Keep(50, True))
    assert not any("in service" in line for line in lines("Reboot"))


def test_given_a_freeze_when_explained_then_its_work_begins_late_and_nobody_approves() -> None:
    explained = lines("Freeze")
    assert "    the hooks of the stage: in 600 s, for 290 s at most, of the 300 s that it may take" in explained
    assert "  nobody here approves it: it starts by the clock" in explained


def run(tmp_path: Path, *arguments: str) -> str:
    config = tmp_path / "agent.json"
    config.write_text(json.dumps({"policies": [dict(WEB, approve="when_ready")]}))
    config.chmod(0o600)
    output = io.StringIO()
    asked = cli.parse_arguments(["explain", "--config", str(config), *arguments])
    assert cli._COMMANDS["explain"](asked, output) == 0
    return output.getvalue()


def test_given_no_type_when_asked_then_each_type_is_explained(tmp_path: Path) -> None:
    heads = [line.split()[0] for line in run(tmp_path).splitlines() if not line.startswith(" ")]
    assert heads == ["Preempt", "Terminate", "Redeploy", "Reboot", "SpotRebalanceRecommendation", "Freeze"]


def test_given_a_type_and_more_when_asked_then_that_is_explained(tmp_path: Path) -> None:
    text = run(tmp_path, "reboot", "--notice", "60", "--source=user", "--shared")
    assert text.startswith("Reboot of this VM and another VM, from User, which may start in 60 s\n")


def test_given_a_document_when_asked_then_its_events_are_explained(tmp_path: Path) -> None:
    event = {"EventId": "A", "EventType": "Terminate", "EventStatus": "Started", "Resources": ["web_0"]}
    document = tmp_path / "document.json"
    document.write_text(json.dumps({"DocumentIncarnation": 1, "Events": [event]}))
    text = run(tmp_path, "--document", str(document))
    assert text.startswith("Terminate of web_0, from an unknown source, which may start at any moment\n")
    assert "  it can be approved no more\n" in text
    # Half each of the half minute that is hoped for.
    assert text.count(", for 15 s at most") == 2
    with pytest.raises(cli.Failed, match="--document"):
        run(tmp_path, "--document", str(tmp_path / "none.json"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["status", "--notice", "9"],
        ["status", "--shared"],
        ["status", "--document", "x"],
        ["explain", "--notice", "-9"],
        ["explain", "--notice", "soon"],
        ["explain", "Reboot", "--document", "x"],
        ["explain", "Reboot", "Freeze"],
        ["explain", "--source"],
    ],
)
def test_given_an_invalid_value_when_asked_then_it_is_refused(arguments: List[str]) -> None:
    with pytest.raises(cli.UsageError):
        cli.parse_arguments(arguments)


@pytest.mark.parametrize("arguments", [["Rebot"], ["Reboot", "--source", "Somebody"]])
def test_given_a_word_that_azure_does_not_have_when_asked_then_it_is_refused(
    arguments: List[str], tmp_path: Path
) -> None:
    with pytest.raises(cli.UsageError, match="is not one of"):
        run(tmp_path, *arguments)
