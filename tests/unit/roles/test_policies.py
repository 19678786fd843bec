# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agent and controller read one language: what one takes the other takes, and both refuse in the same words."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    parse_event,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import (
    Policy,
    PolicyError,
    read_policy,
    rule_for,
)

ROOT = Path(__file__).resolve().parents[3]
LINKS = ROOT / ".cache" / "agent"

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
sys.path[:0] = [str(ROOT / "roles" / "handler_agent" / "files"), str(LINKS)]

from foghorn_agent.config import AZURE_PROBES, ConfigError, parse_config  # noqa: E402 - found on the path set above
from foghorn_agent.decide.policy import plan_for  # noqa: E402
from foghorn_core.scheduled_events.document import parse_event as parse_agents_event  # noqa: E402

TAKEN = [
    "match: {event_types: [Reboot]}",
    "match: {event_types: [reboot, PREEMPT]}",
    "match: {event_types: [Migrate]}",
    "match: {event_types: [SpotRebalanceRecommendation]}",
    "match: {event_types: null}",
    "match: {event_sources: [platform]}",
    "match: {event_statuses: [SCHEDULED, Started]}",
    "match: {description: '*Host*'}",
    "match: {shared: yes}",
    # As text, which is what a template gives on ansible-core before 2.19, and a survey on any.
    "match: {shared: 'no'}",
    "match: {no_longer_than: '10', notice_above: '900.5'}",
    "match: {no_longer_than: 10}",
    "match: {longer_than: 0, notice_below: 900.5}",
    "match: {notice_above: 604800}",
    "match: {}",
    "match: null",
    "approve: Never",
    "approve: WHEN_READY",
    "approve_between: []",
    "approve_between: [{}]",
    "approve_between: [{from: 22:30, to: 05:00}]",
    "approve_between: [{from: '22:30', to: '24:00'}]",
    "approve_between: [{from: 10:00, to: 24:00}]",
    "approve_between: [{days: [Mon, FRI]}]",
    "approve_between: [{days: []}]",
    "approve_between: [{days: [mon], time_zone: utc}]",
    "approve_between: [{to: '06:00', time_zone: +10:00}]",
    "approve_between: [{to: '06:00', time_zone: '-03:30'}]",
    "approve_between: [{time_zone: Etc/UTC}]",
]
REFUSED = {
    "match: {event_types: [Rebot]}": "match.event_types: 'Rebot' is not one of Preempt, Terminate, Redeploy, Reboot,",
    "match: {event_types: Reboot}": 'match.event_types: expected a list of texts, at least one, got "Reboot"',
    "match: {longer_than: 9, no_longer_than: 9}": "match.longer_than: expected less than no_longer_than, which is 9",
    "match: {notice_above: 9, notice_below: 6}": "match.notice_above: expected less than notice_below, which is 6",
    "match: {event_types: []}": "match.event_types: expected a list of texts, at least one, got []",
    "match: {event_types: [5]}": "match.event_types: expected a list of texts, at least one, got [5]",
    "match: {event_types: ['']}": 'match.event_types: expected a list of texts, at least one, got [""]',
    "match: {event_sources: [Usr]}": "match.event_sources: 'Usr' is not one of Platform, User: did you mean User?",
    "match: {event_sources: [Guest]}": "match.event_sources: 'Guest' is not one of Platform, User",
    "match: {event_statuses: [Completed]}": "match.event_statuses: 'Completed' is not one of Scheduled, Started",
    "match: {description: 5}": "match.description: expected text, got 5",
    "match: {description: ''}": 'match.description: expected text, got ""',
    "match: {shared: maybe}": 'match.shared: expected true or false, got "maybe"',
    "match: {no_longer_than: -1}": "match.no_longer_than: expected seconds from 0 to 2592000, got -1",
    "match: {longer_than: .inf}": "match.longer_than: expected seconds from 0 to 2592000, got Infinity",
    "match: {notice_above: .nan}": "match.notice_above: expected seconds from 0 to 2592000, got NaN",
    "match: {notice_below: true}": "match.notice_below: expected seconds from 0 to 2592000, got true",
    "match: {notice_below: soon}": 'match.notice_below: expected seconds from 0 to 2592000, got "soon"',
    "match: {notice_below: 'nan'}": 'match.notice_below: expected seconds from 0 to 2592000, got "nan"',
    "match: {notice_below: []}": "match.notice_below: expected seconds from 0 to 2592000, got []",
    "match: {event_type: [Reboot]}": "match.event_type: is not an option here: did you mean event_types? Known are",
    "match: [Reboot]": 'match: expected an object, got ["Reboot"]',
    "approve: maybe": "approve: expected one of never, when_ready",
    "approve: no": "approve: expected one of never, when_ready",
    "approve: []": "approve: expected one of never, when_ready",
    "approve_between: {from: '22:00'}": "approve_between: expected a list, got an object",
    "approve_between: [at night]": 'approve_between[0]: expected an object, got "at night"',
    "approve_between: [{days: 5}]": "approve_between[0].days: expected a list of mon, tue, wed, thu, fri, sat, sun",
    "approve_between: [{days: mon}]": "approve_between[0].days: expected a list of mon, tue, wed, thu, fri, sat, sun",
    "approve_between: [{days: [monday]}]": "approve_between[0].days: expected a list of mon, tue, wed, thu, fri, sat,",
    "approve_between: [{from: '9:00'}]": 'approve_between[0].from: expected a time of the day like 06:30, got "9:00"',
    "approve_between: [{to: '24:01'}]": 'approve_between[0].to: expected a time of the day like 06:30, got "24:01"',
    "approve_between: [{to: 1441}]": "approve_between[0].to: expected a time of the day like 06:30, got 1441",
    "approve_between: [{to: true}]": "approve_between[0].to: expected a time of the day like 06:30, got true",
    "approve_between: [{from: 22:30, to: 22:30}]": "approve_between[0].to: expected another time than that of from,",
    "approve_between: [{form: 22:30}]": "approve_between[0].form: is not an option here: did you mean from? Known are",
    "approve_between: [{time_zone: Europe/Atlantis}]": "approve_between[0].time_zone: expected UTC, +02:00 or a name",
    "approve_between: [{time_zone: '../UTC'}]": "approve_between[0].time_zone: expected UTC, +02:00 or a name like",
    "approve_between: [{time_zone: 1440}]": "approve_between[0].time_zone: expected UTC, +02:00 or a name like",
    "approve_between: [{time_zone: true}]": "approve_between[0].time_zone: expected UTC, +02:00 or a name like",
}


def opinion_of_the_agent(rule: Any) -> tuple[Any, list[str]]:
    """What it takes from a policy, or what it says against it."""
    try:
        read = parse_config({"policies": [rule]}).rules[0]
    except ConfigError as error:
        return None, list(error.mistakes)
    return (read.match, read.plan.approve_between), []


def opinion_of_the_controller(rule: Any) -> tuple[Any, list[str]]:
    """The same."""
    try:
        read = read_policy({"policies": [rule]}).policies[0]
    except PolicyError as error:
        return None, [mistake.removeprefix("handle_events_") for mistake in error.mistakes]
    return (read.match, read.approve_between or ()), []


@pytest.mark.parametrize("text", TAKEN)
def test_given_a_policy_when_agent_and_controller_read_it_then_both_take_it_for_the_same(text: str) -> None:
    rule = yaml.safe_load("{%s}" % text)

    (of_agent, refused), (of_controller, also_refused) = opinion_of_the_agent(rule), opinion_of_the_controller(rule)

    assert refused == also_refused == []
    # Of classes of the same name, each imported as its program does.
    assert repr(of_agent) == repr(of_controller)


@pytest.mark.parametrize("text", REFUSED)
def test_given_a_policy_with_a_mistake_when_agent_and_controller_read_it_then_both_refuse_it_alike(text: str) -> None:
    rule = yaml.safe_load("{%s}" % text)

    of_agent, of_controller = opinion_of_the_agent(rule)[1], opinion_of_the_controller(rule)[1]

    assert len(of_agent) == len(of_controller) == 1
    assert of_agent[0].startswith("policies[0]." + REFUSED[text])
    # The agent can also approve with a quorum, and be drained by hand.
    assert of_agent[0].replace(", quorum", "").replace(", Manual", "") == of_controller[0]


@pytest.mark.parametrize("types", [None, ("Reboot",), ("spotrebalancerecommendation",)])
def test_given_an_advisory_event_then_only_a_policy_that_names_its_type_is_for_it(
    types: tuple[str, ...] | None,
) -> None:
    rule = {"approve": "never", "match": {} if types is None else {"event_types": list(types)}}
    fields = {"EventId": "e", "EventType": "SpotRebalanceRecommendation", "EventStatus": "Scheduled", "Resources": []}
    event = parse_event(fields)
    is_named = types is not None and types[0].startswith("spot")

    plan = plan_for(parse_config({"policies": [dict(rule, drain=[])]}).rules, parse_agents_event(fields), 900.0)
    decided = rule_for(event, read_policy({"policies": [rule]}), 0.0)

    assert plan.takes_out is is_named
    assert plan.rule == ("policies[0]" if is_named else "no rule")
    assert decided.ignore is not is_named
    assert rule_for(event, Policy(), 0.0).ignore


def test_given_defaults_when_connections_are_waited_for_then_neither_counts_azures_probes() -> None:
    defaults = yaml.safe_load((ROOT / "roles" / "load_balancer_removal" / "defaults" / "main.yml").read_text("utf-8"))
    assert tuple(defaults["load_balancer_removal_excluded_addresses"]) == AZURE_PROBES
