# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which words are Azure's, and which are one of them misspelt."""

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import EVENT_TYPES
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.words import (
    nearest,
    read_sources,
    read_statuses,
    read_types,
    unknown_types,
    warning_of,
)


def test_given_known_words_in_any_case_when_read_then_they_are_spelt_as_azure_does() -> None:
    assert read_types(["reboot", "PREEMPT"]) == ("Reboot", "Preempt")
    assert read_sources(["platform", "USER"]) == ("Platform", "User")
    assert read_statuses(["scheduled", "Started"]) == ("Scheduled", "Started")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("Rebot", "Reboot"),
        ("Reboat", "Reboot"),
        ("Rebooot", "Reboot"),
        ("rebooted", "Reboot"),
        (" Reboot", "Reboot"),
        ("Preemption", "Preempt"),
        ("Redploy", "Redeploy"),
        ("Redeployment", "Redeploy"),
        ("Terminated", "Terminate"),
        ("Freez", "Freeze"),
        ("SpotRebalance", None),
        ("SpotRebalanceRecomendation", "SpotRebalanceRecommendation"),
        ("Resize", None),
        ("Restart", None),
        ("Migrate", None),
        ("x" * 100_000, None),
        ("", None),
    ],
)
def test_given_a_word_when_compared_then_only_a_similar_word_is_taken_for_a_misspelt_type(
    word: str, meant: str
) -> None:
    assert nearest(word, EVENT_TYPES) == meant


def test_given_a_type_that_is_nearly_a_known_one_when_read_then_it_is_refused_with_what_was_meant() -> None:
    with pytest.raises(ValueError, match=r"^'Rebot' is not one of Preempt, .*, Freeze: did you mean Reboot\?$"):
        read_types(["Freeze", "Rebot"])


def test_given_a_type_that_azure_may_add_when_read_then_it_is_taken_and_can_be_reported_once() -> None:
    assert read_types(["Migrate", "migrate", "freeze"]) == ("Migrate", "migrate", "Freeze")
    assert unknown_types(["Migrate", "reboot", "Migrate"]) == ["Migrate"]
    assert warning_of("Migrate").startswith("'Migrate' is not an event type that this version knows (Preempt, ")


def test_given_a_custom_word_when_read_then_it_is_a_known_one() -> None:
    known = (*EVENT_TYPES, "Manual")
    assert read_types(["manual"], known) == ("Manual",)
    assert unknown_types(["manual"], known) == []
    with pytest.raises(ValueError, match=r"did you mean Manual\?"):
        read_types(["Manuel"], known)


def test_given_another_source_or_status_when_read_then_it_is_refused_however_it_is_spelt() -> None:
    with pytest.raises(ValueError, match=r"^'Usr' is not one of Platform, User: did you mean User\?$"):
        read_sources(["Usr"])
    with pytest.raises(ValueError, match=r"^'Guest' is not one of Platform, User$"):
        read_sources(["Guest"])
    with pytest.raises(ValueError, match=r"^'Completed' is not one of Scheduled, Started$"):
        read_statuses(["Completed"])
    assert read_statuses(["completed"], ("Scheduled", "Completed")) == ("Completed",)
