# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hypothesis generates: events, documents, and how Azure may write them."""

import string
from datetime import datetime, timezone
from email.utils import format_datetime
from typing import Any, Dict, Optional

from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import Document
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from hypothesis import strategies as st

VM_NAMES = ("web_0", "web_1", "web_10", "WEB_1", "db")

instants = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(timezone.utc)
).map(lambda instant: instant.replace(microsecond=0))


def _values(text: "st.SearchStrategy[str]", names: "st.SearchStrategy[str]") -> "st.SearchStrategy[Any]":
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
        lambda children: st.lists(children, max_size=4) | st.dictionaries(names, children, max_size=4),
        max_leaves=12,
    )


json_values = _values(st.text(), st.text(max_size=12))

# Text that comes through unchanged: neither controls, nor what is not seen, nor halves of characters.
_readable = st.characters(blacklist_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))
_readable_values = _values(
    st.text(_readable), st.text(_readable, max_size=12).filter(lambda name: not name.startswith("__"))
)

words = st.text(string.ascii_letters, min_size=1, max_size=12)

_AZURE_FIELDS = {
    "EventId": "event_id",
    "EventType": "event_type",
    "EventStatus": "event_status",
    "EventSource": "event_source",
    "ResourceType": "resource_type",
    "Resources": "resources",
    "Description": "description",
    "DurationInSeconds": "duration_in_seconds",
    "NotBefore": "not_before",
}

_unknown_fields: "st.SearchStrategy[Dict[str, Any]]" = st.dictionaries(
    words.map(lambda word: "New" + word), _readable_values, max_size=2
)

events = st.builds(
    Event,
    event_id=st.uuids().map(lambda uuid: str(uuid).upper()),
    event_type=st.sampled_from(["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "Defragment"]),
    event_status=st.sampled_from(["Scheduled", "Started", "Paused"]),
    resources=st.lists(st.sampled_from(VM_NAMES), max_size=4).map(tuple),
    not_before=st.none() | instants,
    event_source=st.none() | st.sampled_from(["Platform", "User", "Moon"]),
    resource_type=st.none() | st.just("VirtualMachine"),
    description=st.none() | st.text(_readable, max_size=20),
    duration_in_seconds=st.none() | st.integers(-1, 10000),
    other_fields=_unknown_fields,
)

event_lists = st.lists(events, max_size=6, unique_by=lambda event: event.event_id)

documents = st.builds(Document, incarnation=st.integers(0, 10**9), events=event_lists.map(tuple))


def as_azure_writes(document: Document, iso_dates: bool, numbers_as_text: bool, empty_for_none: bool) -> Dict[str, Any]:
    """Write a document in one of the forms that were seen.

    :param iso_dates: as Microsoft's mock server does, or as IMDS does
    :param empty_for_none: an empty NotBefore, or none at all
    """

    def number(value: int) -> Any:
        return str(value) if numbers_as_text else value

    def date(instant: Optional[datetime]) -> str:
        if instant is None:
            return ""
        if iso_dates:
            return instant.isoformat().replace("+00:00", "Z")
        return format_datetime(instant, usegmt=True)

    def write(event: Event) -> Dict[str, Any]:
        content = {name: getattr(event, field) for name, field in _AZURE_FIELDS.items()}
        content["Resources"] = list(event.resources)
        if event.duration_in_seconds is not None:
            content["DurationInSeconds"] = number(event.duration_in_seconds)
        content["NotBefore"] = date(event.not_before)
        written = {name: value for name, value in content.items() if value is not None}
        if event.not_before is None and not empty_for_none:
            del written["NotBefore"]
        return dict(written, **event.other_fields)

    return {"DocumentIncarnation": number(document.incarnation), "Events": [write(event) for event in document.events]}
