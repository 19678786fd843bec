# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator decided, as it comes out of variables."""

from __future__ import annotations

from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.treatment import Policy, read_policy


def test_given_no_variables_then_the_policy_has_its_defaults() -> None:
    assert read_policy({}) == Policy()


def test_given_variables_as_text_then_they_are_read_as_what_they_mean() -> None:
    values = {"minimum_in_service": 2, "margin": "45", "end_timeout": 60, "approve": False}

    policy = read_policy(values)

    assert policy == Policy(minimum_in_service="2", margin=45.0, end_timeout=60.0, approve=False)
