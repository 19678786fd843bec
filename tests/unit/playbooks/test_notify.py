# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What notify sends to a chat is what the chat shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

ROOT = Path(__file__).parents[3]
(PLAY,) = yaml.safe_load((ROOT / "playbooks" / "notify.yml").read_text())
TASKS = {task["name"]: task for task in PLAY["tasks"]}
EVENT = {"event_id": "E-1", "event_type": "Preempt", "event_status": "Scheduled", "resources": ["{{ 7 * 7 }}"]}
TEXT = "Preempt of {{ 7 * 7 }}: Scheduled"


def trusted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: trusted(each) for name, each in value.items()}
    if isinstance(value, list):
        return [trusted(each) for each in value]
    return trust_as_template(value) if isinstance(value, str) else value


def sent(task: str, argument: str, **given: Any) -> Any:
    variables = {**trusted(PLAY["vars"]), "notify_event": EVENT, **given}
    return Templar(DataLoader(), variables).template(trusted(TASKS[task]["ansible.builtin.uri"][argument]))


def sent_to(url: str) -> Any:
    return sent("Notify people", "body", item=url)


@pytest.mark.parametrize("host", ["prod-00.westeurope.logic.azure.com:443", "x.0a.environment.api.powerplatform.com"])
def test_given_a_workflow_of_teams_when_people_are_notified_then_it_gets_a_card(host: str) -> None:
    body = sent_to(f"https://{host}/workflows/1")

    (attachment,) = body["attachments"]
    assert (body["type"], body["text"], body["event"]) == ("message", TEXT, EVENT)
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert attachment["content"]["body"] == [{"type": "TextBlock", "text": TEXT, "wrap": True}]


def test_given_another_chat_when_people_are_notified_then_it_gets_the_text_and_the_event_alone() -> None:
    assert sent_to("https://hooks.slack.com/logic.azure.com/x") == {"text": TEXT, "event": EVENT}


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_given_the_url_of_an_alertmanager_with_a_slash_when_alerts_are_silenced_then_it_is_the_same(end: str) -> None:
    silences = sent("Silence the alerts about the machines", "url", notify_alertmanager_url=f"http://a/am{end}")

    assert silences == "http://a/am/api/v2/silences"


def test_given_labels_with_a_domain_or_a_port_when_alerts_are_silenced_then_those_of_the_machine_are() -> None:
    event = {**EVENT, "resources": ["web-1"]}
    given = {"notify_event": event, "__notify_now": "0", "__notify_until": "60"}
    (matcher,) = sent("Silence the alerts about the machines", "body", **given)["matchers"]

    labels = ("web-1", "web-1:9100", "web-1.example.com:9100", "web-10", "web-1-b")
    assert [label for label in labels if re.fullmatch(matcher["value"], label)] == list(labels[:3])
