# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one shape: nothing in it is a template, and the same announcement has the same UUID."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import jinja2
import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import parse_event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.announcement import (
    KEY,
    harmless_meta,
    of_event,
    without_templates,
)
from hypothesis import given
from hypothesis import strategies as st

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def announced(**fields: Any) -> Any:
    content = {"EventId": "AA-1", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web_0"], **fields}
    return of_event(parse_event(content), "agent", NOW)


def test_given_an_event_when_it_is_announced_then_it_has_the_fields_of_the_module_and_who_told_of_it() -> None:
    seen = announced(NotBefore="Sun, 22 Nov 2026 12:15:00 GMT")[KEY]

    assert (seen["kind"], seen["told_by"], seen["resource_id"]) == ("scheduled_event", "agent", None)
    assert (seen["event_id"], seen["resources"], seen["seconds_until_start"]) == ("AA-1", ["web_0"], 900)
    assert "affects_this_vm" not in seen
    assert "this_vm_leads" not in seen


def test_given_the_same_event_in_another_case_when_it_is_announced_again_then_its_uuid_is_the_same() -> None:
    assert announced()["meta"]["uuid"] == announced(EventId="aa-1", Description="other")["meta"]["uuid"]


def test_given_another_status_or_another_id_when_it_is_announced_then_its_uuid_is_another() -> None:
    uuids = {announced(**one)["meta"]["uuid"] for one in ({}, {"EventStatus": "Started"}, {"EventId": "AA-2"})}

    assert len(uuids) == 3


@pytest.mark.parametrize("text", ["{{ 7 * 7 }}", "{% set x = 1 %}", "{# gone #}", "{{{ 7 }}}", "{{{{", "a {{'{{'}} b"])
def test_given_a_template_anywhere_in_an_event_when_it_is_announced_then_it_is_none_any_more(text: str) -> None:
    told = announced(Description=text, EventType=text, Resources=[text], Extra={text: [text]})

    for opening in ("{{", "{%", "{#"):
        assert opening not in " ".join(texts(told))


@given(st.text(alphabet="{%#}x ", max_size=12))
def test_given_any_braces_when_they_are_made_harmless_then_jinja_gives_them_back_as_they_are(text: str) -> None:
    harmless = without_templates(text)

    assert jinja2.Environment(keep_trailing_newline=True).from_string(harmless).render() == harmless
    assert len(harmless) == len(text)


def test_given_meta_of_another_source_when_it_is_handed_on_then_it_gives_no_orders_to_ansible() -> None:
    meta = harmless_meta({"headers": {"X": "{{ 1 }}"}, "__ansible_type": "x", "odd": object(), "n": 1})

    assert meta == {"headers": {"X": "\ufffd{ 1 }}"}, "\ufffd_ansible_type": "x", "odd": "object", "n": 1}
    assert harmless_meta("no object") == {}


def test_given_meta_that_is_nested_without_end_when_it_is_handed_on_then_it_is_cut_off() -> None:
    nested: dict[str, Any] = {}
    nested["within"] = nested

    assert len(json.dumps(harmless_meta(nested))) < 1000


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []
