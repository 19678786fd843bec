# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bodies in docs/webhooks.md: does the agent take them, and are they what the receivers want?"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from foghorn_agent.config import Webhook, parse_config
from foghorn_agent.decide.state import TOLD, State, Tracked
from foghorn_agent.service import _body_of
from foghorn_core.scheduled_events.event import Event

ROOT = Path(__file__).resolve().parents[3]

PAGE = (ROOT / "docs" / "webhooks.md").read_text()
EVENT = Event(
    "E-1", "Reboot", "Scheduled", ("web_0",), datetime(2026, 1, 1, 0, 15, tzinfo=UTC), "Platform",
    description='Host "maintenance"',
)  # fmt: skip
STATE = State(vm_name="web_0", tracked=(Tracked(EVENT, EVENT),))
DRAIN = {"kind": "stage", "stage": "drain", "state": "begun", "event_id": "E-1", "at": 1767225600.0}


def webhook_below(heading: str) -> Webhook:
    """The one that the page shows below a heading, as the agent reads it."""
    section = PAGE.partition("\n## %s\n" % heading)[2].partition("\n## ")[0]
    example = yaml.safe_load(section.partition("```yaml\n")[2].partition("```")[0])
    (webhook,) = parse_config({"webhooks": example["handler_agent_webhooks"]}).webhooks
    return webhook


def sent_to(heading: str) -> Any:
    content, content_type = _body_of(webhook_below(heading), "drain", DRAIN, STATE)
    assert content_type == "application/json"
    return json.loads(content)


def test_given_the_body_for_slack_when_sent_then_it_is_a_message() -> None:
    assert sent_to("Slack") == {"text": ":construction: web_0: drain begun (Reboot E-1)"}


def test_given_the_body_for_teams_when_sent_then_it_is_an_adaptive_card() -> None:
    (attachment,) = sent_to("Microsoft Teams")["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card: dict[str, Any] = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert card["body"][0] == {"type": "TextBlock", "text": "web_0: drain begun (Reboot E-1)", "wrap": True}
    assert card["body"][1]["facts"] == [
        {"title": "Starts", "value": "2026-01-01T00:15:00Z"},
        {"title": "Description", "value": 'Host "maintenance"'},
    ]


def test_given_the_body_for_alertmanager_when_sent_then_it_is_a_silence_of_an_hour_for_this_machine() -> None:
    assert webhook_below("Silences in Alertmanager").states == ("begun",)
    assert sent_to("Silences in Alertmanager") == {
        "matchers": [{"name": "instance", "value": "web_0([.:].*)?", "isRegex": True, "isEqual": True}],
        "startsAt": "2026-01-01T00:00:00Z",
        "endsAt": "2026-01-01T01:00:00Z",
        "createdBy": "foghorn-agent",
        "comment": "web_0: drain begun (Reboot E-1)",
    }


def test_given_the_webhook_for_awx_when_sent_then_a_job_is_launched_once_with_the_event_as_a_variable() -> None:
    webhook = webhook_below("AWX and Event-Driven Ansible")
    assert (webhook.stages, webhook.states) == (("drain",), ("begun",))
    sent = sent_to("AWX and Event-Driven Ansible")
    assert list(sent) == ["extra_vars"]
    assert sent["extra_vars"]["azure_event"]["data"]["event_id"] == "E-1"


@pytest.mark.parametrize("word", TOLD)
def test_given_what_webhooks_receive_then_the_argument_spec_names_it(word: str) -> None:
    options = yaml.safe_load((ROOT / "roles/handler_agent/meta/argument_specs.yml").read_text())["argument_specs"]
    described = options["main"]["options"]["handler_agent_webhooks"]["description"]
    assert "V(%s)" % word in next(line for line in described if line.startswith("C(stages)"))
