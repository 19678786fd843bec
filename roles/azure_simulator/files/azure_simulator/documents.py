# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each api-version shows of the scheduled events."""

from __future__ import annotations

import json
from email.utils import formatdate
from typing import Any

from .events import RECOMMENDATION
from .world import Feed, Notice

VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
    "2024-07-09",
)
"""The api-versions of /metadata/scheduledevents, oldest first. Each adds to the one before."""

PREVIEW = VERSIONS[0]
"""The one version that does not insist on the Metadata header and puts ``_`` before names."""

_TYPE_SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01", RECOMMENDATION: "2024-07-09"}
_DESCRIPTION_SINCE = "2019-04-01"
_SOURCE_SINCE = "2019-08-01"
_DURATION_SINCE = "2020-07-01"


def render(feed: Feed, version: str) -> bytes:
    """The document's JSON, as one of :data:`VERSIONS` has it."""
    events = [_event(notice, version) for notice in feed.notices if knows_type(notice.event_type, version)]
    return json.dumps({"DocumentIncarnation": feed.incarnation, "Events": events}, separators=(",", ":")).encode()


def knows_type(event_type: str, version: str) -> bool:
    """Whether a version has events of this type."""
    return version >= _TYPE_SINCE.get(event_type, PREVIEW)


def _event(notice: Notice, version: str) -> dict[str, Any]:
    prefix = "_" if version == PREVIEW else ""
    event: dict[str, Any] = {
        "EventId": notice.event_id,
        "EventStatus": notice.status,
        "EventType": notice.event_type,
        "ResourceType": "VirtualMachine",
        "Resources": [prefix + name for name in notice.resources],
        "NotBefore": "" if notice.not_before is None else formatdate(notice.not_before, usegmt=True),
    }
    if version >= _DESCRIPTION_SINCE:
        event["Description"] = notice.description
    if version >= _SOURCE_SINCE:
        event["EventSource"] = notice.source
    if version >= _DURATION_SINCE:
        event["DurationInSeconds"] = notice.duration
    if notice.event_type == RECOMMENDATION:
        # Documented for what starts only.
        del event["NotBefore"], event["DurationInSeconds"]
    return event
