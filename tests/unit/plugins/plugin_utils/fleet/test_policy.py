# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator decided, as it comes out of variables."""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import (
    Policy,
    PolicyError,
    read_policy,
)


def test_given_variables_as_text_then_they_are_read_as_what_they_mean() -> None:
    values = {"minimum_in_service": 2, "margin": "45", "end_timeout": 60, "approve": False}

    policy = read_policy(values)

    assert policy == Policy(minimum_in_service="2", margin=45.0, end_timeout=60.0, approve=False)


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_given_what_a_survey_leaves_empty_then_the_default_holds(nothing: str | None) -> None:
    assert read_policy(dict.fromkeys(Policy._fields, nothing)) == Policy()


def test_given_answers_of_a_survey_as_text_then_they_are_what_they_say() -> None:
    answers = {
        "minimum_in_service": "50%",
        "max_failed": "2",
        "margin": "10",
        "approve": "false",
        "approve_between": "[{from: '22:00', to: '05:00'}]",
        "policies": "[{match: {shared: true}, ignore: yes}]",
    }

    policy = read_policy(answers)

    assert policy[:3] == ("50%", 2, 10.0)
    assert not policy.approve
    assert [window.begins for window in policy.approve_between] == [1320]
    assert [(rule.match.shared, rule.ignore) for rule in policy.policies] == [(True, True)]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"margin": "soon"}, 'handle_events_margin: expected a number, 0 or more, got "soon"'),
        ({"margin": -1}, "handle_events_margin: expected a number, 0 or more, got -1"),
        ({"margin": "inf"}, 'handle_events_margin: expected a number, 0 or more, got "inf"'),
        ({"approve": "maybe"}, 'handle_events_approve: expected true or false, got "maybe"'),
        ({"approve_between": "at night"}, r'handle_events_approve_between\[0\]: expected an object, got "at night"'),
        ({"approve_between": {"from": "22:00"}}, "handle_events_approve_between: expected a list"),
        ({"approve_between": ["x"]}, r"handle_events_approve_between\[0\]: expected an object"),
        ({"policies": ["x"]}, r"handle_events_policies\[0\]: expected an object"),
        (
            {"policies": [{"aprove": "never"}]},
            r"handle_events_policies\[0\].aprove: is not an option here: did you mean approve",
        ),
        ({"policies": [{"approve": "quorum"}]}, r"handle_events_policies\[0\].approve: expected one of never, when"),
        ({"policies": [{"match": "x"}]}, r"handle_events_policies\[0\].match: expected an object"),
        (
            {"policies": [{"match": {"event_types": "x"}}]},
            r"policies\[0\].match.event_types: expected a list",
        ),
        ({"policies": [{"match": {"typ": "x"}}]}, r"handle_events_policies\[0\].match.typ: is not an option here"),
    ],
)
def test_given_invalid_input_then_it_is_refused_by_name(values: dict[str, object], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        read_policy(values)
