# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does a resource's notification look like, and what differs from what is wanted?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.answers import encode
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.notification import (
    DesiredState,
    Notification,
    Notifications,
    as_dict,
    format_timeout,
    parse_profile,
    profile_to_send,
    read_desired_state,
    read_timeout,
    settle,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st


def profile(enable: Any, timeout: Any = "PT5M") -> dict[str, Any]:
    return {"terminateNotificationProfile": {"enable": enable, "notBeforeTimeout": timeout}}


def sent(desired: DesiredState, current: Any) -> bytes:
    """The profile that brings a resource with the profile `current` to what is desired, as it goes over the wire."""
    before = parse_profile(current)
    return encode(profile_to_send(before, settle(desired, before)))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("PT5M", 300),
        ("pt15m", 900),
        ("PT300S", 300),
        ("PT5M30S", 330),
        ("PT5M0.0S", 300),
        ("5m", 300),
        ("5 min", 300),
        ("600s", 600),
        ("00:05:00", 300),
        ("0:15:00", 900),
        (" 5 ", 300),
        ("15", 900),
        ("7.5", 450),
        (10, 600),
        (5.0, 300),
    ],
)
def test_given_a_time_in_any_of_the_forms_then_it_is_read_in_seconds(value: Any, seconds: int) -> None:
    assert read_timeout(value) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "PT4M59S",
        "PT15M1S",
        "4",
        "16",
        "-5",
        "15:00",
        "300s5",
        "PT",
        "",
        "5 minutes",
        "5.0001",
        "٥",
        "PT5M\n5",
        "NaN",
        None,
    ],
)
def test_given_anything_else_then_it_is_refused_with_the_value_and_the_range(value: Any) -> None:
    with pytest.raises(OptionError) as error:
        read_timeout(value)
    message = str(error.value)
    assert message.startswith("not_before_timeout: %r" % (value,))
    assert "from 5 to 15 minutes" in message


@given(st.integers(300, 900))
def test_given_any_time_in_the_range_then_writing_and_reading_it_round_trips(seconds: int) -> None:
    assert read_timeout(format_timeout(seconds)) == seconds


@pytest.mark.parametrize(("seconds", "text"), [(300, "PT5M"), (900, "PT15M"), (330, "PT5M30S"), (0, "PT0S")])
def test_given_seconds_then_they_are_written_as_azure_does(seconds: int, text: str) -> None:
    assert format_timeout(seconds) == text


def test_given_a_resource_without_a_profile_when_enabling_then_the_whole_part_is_sent_with_azures_default() -> None:
    assert (
        sent(DesiredState(True), None) == b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT5M"}}'
    )


def test_given_a_disabled_profile_with_the_right_timeout_when_enabling_then_it_is_not_up_to_date() -> None:
    assert (
        sent(DesiredState(True, 600), profile(False, "PT10M"))
        == b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT10M"}}'
    )


def test_given_another_timeout_then_the_part_is_sent_with_the_wanted_one() -> None:
    assert (
        sent(DesiredState(True, 600), profile(True, "PT5M"))
        == b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT10M"}}'
    )


def test_given_no_timeout_is_wanted_then_the_one_that_is_set_stays() -> None:
    assert sent(DesiredState(True), profile(True, "PT12M")) == b"{}"


@pytest.mark.parametrize("timeout", ["PT5M", "PT300S", "pt5m", "00:05:00"])
def test_given_the_same_time_in_another_form_then_nothing_is_sent(timeout: str) -> None:
    assert sent(DesiredState(True, 300), profile(True, timeout)) == b"{}"


def test_given_an_enabled_profile_when_disabling_then_its_timeout_stays() -> None:
    assert (
        sent(DesiredState(False), profile(True, "PT10M"))
        == b'{"terminateNotificationProfile":{"enable":false,"notBeforeTimeout":"PT10M"}}'
    )


@pytest.mark.parametrize("current", [None, {}, {"terminateNotificationProfile": None}, profile(False), profile(None)])
def test_given_nothing_is_announced_when_disabling_then_nothing_is_sent(current: Any) -> None:
    assert sent(DesiredState(False, 600), current) == b"{}"


def test_given_os_images_are_wanted_as_well_then_both_parts_are_sent_as_documented() -> None:
    assert sent(DesiredState(True, 300, os_image=True), None) == (
        b'{"terminateNotificationProfile":{"enable":true,"notBeforeTimeout":"PT5M"},'
        b'"osImageNotificationProfile":{"enable":true,"notBeforeTimeout":"PT15M"}}'
    )


def test_given_only_os_images_differ_then_only_that_part_is_sent() -> None:
    assert (
        sent(DesiredState(True, 300, os_image=True), profile(True))
        == b'{"osImageNotificationProfile":{"enable":true,"notBeforeTimeout":"PT15M"}}'
    )


def test_given_no_wish_for_os_images_then_they_stay_unchanged() -> None:
    current = {"osImageNotificationProfile": {"enable": True, "notBeforeTimeout": "PT15M"}}
    assert b"osImage" not in sent(DesiredState(True, 300), current)


def test_given_a_timeout_that_cannot_be_read_then_it_is_another_one() -> None:
    assert parse_profile(profile(True, "P1D")).terminate == Notification(True, None)
    assert sent(DesiredState(True), profile(True, "P1D")) != b"{}"


def test_given_the_options_of_a_task_then_they_become_the_desired_state() -> None:
    options = {"state": "disabled", "not_before_timeout": "10", "os_image_notification": False}
    assert read_desired_state(options) == DesiredState(False, 600, False)


def test_given_a_bad_timeout_when_disabling_then_it_is_refused_anyway() -> None:
    with pytest.raises(OptionError):
        read_desired_state({"state": "disabled", "not_before_timeout": "20", "os_image_notification": None})


def test_given_notifications_then_they_are_returned_with_the_names_of_the_options() -> None:
    assert as_dict(Notifications(Notification(True, 300), Notification())) == {
        "terminate_notification": {"enabled": True, "not_before_timeout": "PT5M"},
        "os_image_notification": {"enabled": False, "not_before_timeout": None},
    }


@given(
    st.booleans(),
    st.none() | st.integers(300, 900),
    st.none() | st.booleans(),
    st.booleans(),
    st.none() | st.integers(300, 900),
    st.booleans(),
)
def test_given_any_current_and_desired_state_then_one_request_is_enough(
    terminate: bool, timeout: int | None, os_image: bool | None, is_on: bool, has: int | None, os_is_on: bool
) -> None:
    desired = DesiredState(terminate, timeout, os_image)
    before = Notifications(Notification(is_on, has), Notification(os_is_on, 900 if os_is_on else None))
    wanted = settle(desired, before)
    assert settle(desired, wanted) == wanted
    assert profile_to_send(wanted, wanted) == {}
    assert wanted.terminate.enable == terminate
