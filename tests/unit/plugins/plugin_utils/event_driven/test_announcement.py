# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one shape: there is no text of others in it, and the same announcement has the same UUID."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    parse_event,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import sanitize_word
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.announcement import (
    KEY,
    LIFECYCLE_HOOK,
    SCHEDULED_EVENT,
    announcement,
    of_event,
    only_words_again,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events.strategies import (
    json_values,
)
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def announced(kind: Any = SCHEDULED_EVENT, **fields: Any) -> Any:
    content = {"EventId": "AA-1", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web_0"], **fields}
    return of_event(parse_event(content), "agent", NOW, kind=kind)


def test_given_an_event_when_it_is_announced_then_it_has_the_fields_of_the_module_and_its_origin() -> None:
    seen = announced(NotBefore="Sun, 22 Nov 2026 12:15:00 GMT")[KEY]

    assert (seen["kind"], seen["reported_by"], seen["resource_id"]) == ("scheduled_event", "agent", None)
    assert (seen["event_id"], seen["resources"], seen["seconds_until_start"]) == ("AA-1", ["web_0"], 900)
    assert "affects_this_vm" not in seen
    assert "this_vm_leads" not in seen


def test_given_the_same_event_in_another_case_when_it_is_announced_again_then_its_uuid_is_the_same() -> None:
    assert announced()["meta"]["uuid"] == announced(EventId="aa-1", Description="other")["meta"]["uuid"]


def test_given_another_status_id_or_kind_when_it_is_announced_then_its_uuid_is_another() -> None:
    others: list[dict[str, str]] = [{}, {"EventStatus": "Started"}, {"EventId": "AA-2"}, {"kind": LIFECYCLE_HOOK}]

    assert len({announced(**one)["meta"]["uuid"] for one in others}) == 4


HEADER = "#jinja2:variable_start_string:'[%',variable_end_string:'%]'\n[% lookup('pipe', 'id') %]"
HARMLESS = re.compile(r"[A-Za-z0-9._/()+=:-]*\Z")


@pytest.mark.parametrize("text", [HEADER, "{{ 7 * 7 }}", "{% set x = 1 %}", "#jinja2:", "a b", "web_0\n", "$(id)", "é"])
def test_trap_11_given_text_of_others_anywhere_in_an_event_when_it_is_announced_then_it_is_in_base_64_only(
    text: str,
) -> None:
    event = {"EventId": text, "EventType": text, "Resources": [text, "web_1"], "Extra": {text: [text]}}
    seen = announced(Description=text, **event)[KEY]

    assert all(HARMLESS.match(one) for one in texts(seen))
    assert (seen["event_id"], seen["event_type"], seen["leader"]) == (None, None, None)
    assert (seen["resources"], seen["names_left_out"]) == (["web_1"], True)
    rest = json.loads(base64.b64decode(seen["texts"]))
    assert rest["other_fields"] == {"Extra": {sanitize_word(text): [text]}}
    assert rest["description"] == text


def test_given_an_event_of_words_then_nothing_is_left_out_and_its_description_can_be_decoded() -> None:
    seen = announced(Description="Host server is undergoing maintenance.")[KEY]

    assert seen["names_left_out"] is False
    assert json.loads(base64.b64decode(seen["texts"])) == {"description": "Host server is undergoing maintenance."}
    assert announced(Description=None)[KEY]["texts"] is None


@given(st.dictionaries(st.text(max_size=5) | st.sampled_from(["resources", "vm_name", "end", "texts"]), json_values))
def test_given_any_content_when_it_is_announced_twice_then_it_is_harmless_and_both_are_equal(content: Any) -> None:
    seen = announcement(content, ["a"])

    assert all(HARMLESS.match(one) for one in texts(seen))
    assert only_words_again(seen) == seen


def test_given_our_format_from_another_sender_then_it_is_not_passed_on_unchanged() -> None:
    event = {KEY: {"description": HEADER, "event_id": "AA-1", "x": HEADER}, "meta": {"hosts": [HEADER], "y": HEADER}}

    seen = only_words_again(event)

    assert all(HARMLESS.match(one) for one in texts(seen))
    assert seen[KEY]["event_id"] == "AA-1"
    assert seen["meta"]["hosts"] == ["no-host-for-"]
    assert only_words_again({KEY: HEADER, "meta": HEADER})[KEY] == {"texts": None}


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []
