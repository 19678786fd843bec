# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""An announcement, as rulebooks get it.

The one shape in which rulebooks see maintenance, wherever it was heard of: all of it under one key, and what
ansible-rulebook itself reads under `meta`.

The texts in it are somebody else's. ansible-rulebook gives every event to a playbook as extra variables, which Ansible
takes for its operator's own words and runs as templates, with any delimiters if the text begins with a header of
`#jinja2:`. So no text goes out but words: ids, types, statuses, times, and names of machines, of letters, digits and
what else Azure has in them. All the others travel as one text in base 64, which is no template whatever is in it.
"""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from ...module_utils.arm.lifecycle_hook_events import WAITING
from ...module_utils.scheduled_events.dates import format_date, parse_date
from ...module_utils.scheduled_events.document import event_as_dict
from ...module_utils.scheduled_events.event import Event, name_key
from ...module_utils.scheduled_events.text import sanitize_word
from .hosts import UNKNOWN

KEY = "azure_maintenance"

SCHEDULED_EVENT = "scheduled_event"
AGENT = "agent"
UPDATE_MANAGER = "update_manager"
LIFECYCLE_HOOK = "lifecycle_hook"

Json = dict[str, Any]

_NAMESPACE = uuid.UUID("6f1e4b0a-92cd-5f0c-8d5e-2f5f6d1b7a43")
_WORD = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_ID = re.compile(r"[A-Za-z0-9._/()-]{1,2048}\Z")
_BASE_64 = re.compile(r"[A-Za-z0-9+/=]+\Z")
_OF_A_VM = ("affects_this_vm", "this_vm_leads")


def of_event(
    event: Event,
    reported_by: str,
    now: datetime,
    resource_id: str | None = None,
    kind: str = SCHEDULED_EVENT,
    said: tuple[str, ...] = (),
) -> Json:
    """Announce a scheduled event, or that of a lifecycle hook, in one of its statuses.

    :param reported_by: where it was heard of: `agent`, `imds`, `resource_graph`, `event_grid`, `lifecycle_hooks`
    :param resource_id: of the VM, scale set or availability set that it was published for, where that is known
    :param said: what else makes it this announcement, where whoever says so may lie: receivers must not take it for the
        announcement that somebody else makes of the event
    """
    content = {"kind": kind, "reported_by": reported_by, "resource_id": resource_id, **fields_of(event, now)}
    return announcement(content, (kind, event.event_id, event.event_status, *said))


def event_of_hook(asked: Mapping[str, Any]) -> Event:
    """Describe a question of a lifecycle hook as an event that begins by itself when Azure waits no longer.

    :param asked: as `lifecycle_hook_events.describe` returns it
    """
    waits_until = asked["wait_until"]
    return Event(
        event_id=str(asked["name"]),
        event_type=str(asked["type"]),
        resource_type="VirtualMachineScaleSet",
        resources=tuple(str(one["vm_name"]) for one in asked["targets"] if one["vm_name"] and one["state"] == WAITING),
        event_status=str(asked["state"]),
        not_before=parse_date(waits_until) if waits_until else None,
        description="",
        event_source="Platform",
        duration_in_seconds=-1,
    )


def fields_of(event: Event, now: datetime) -> Json:
    """Describe an event as it is for all VMs."""
    seen = event_as_dict(event, "", now)
    return {name: value for name, value in seen.items() if name not in _OF_A_VM}


def announcement(content: Mapping[str, Any], identity: Iterable[str]) -> Json:
    """Wrap an announcement as ansible-rulebook expects it.

    :param content: what is told
    :param identity: what makes it this announcement and no other; the same gives the same `meta.uuid`, at any time
    """
    return {KEY: only_words(content), "meta": {"uuid": identify(identity)}}


def only_words(content: Mapping[str, Any]) -> Json:
    """The fields that rulebooks see: words of known fields, and everything else as `texts`, JSON in base 64."""
    told: Json = {name: read(content[name]) for name, read in _READERS.items() if name in content}
    told_again = {"names_left_out", "texts"}
    rest = {
        name: value
        for name, value in content.items()
        if value is not None and name not in told_again and told.get(name) != value
    }
    if content.keys() & _NAMES:
        told["names_left_out"] = bool(rest.keys() & _NAMES) or content.get("names_left_out") is True
    if told.get("texts") is None:
        told["texts"] = base64.b64encode(json.dumps(rest).encode("ascii")).decode("ascii") if rest else None
    return told


def only_words_again(event: Mapping[str, Any]) -> Json:
    """Accept an event that is already in this shape, whoever sent it."""
    content, meta = event[KEY], event.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    kept: Json = {"uuid": _word(meta.get("uuid")) or str(uuid.uuid4())}
    if "hosts" in meta:
        # Never an empty limit, which would mean every host.
        kept["hosts"] = _words(meta["hosts"]) or [UNKNOWN]
    return {KEY: only_words(content if isinstance(content, dict) else {}), "meta": kept}


def identify(identity: Iterable[str]) -> str:
    """A UUID that is made of these words alone, in any case."""
    words = ["\x1f".join(name_key(word)) for word in identity]
    return str(uuid.uuid5(_NAMESPACE, "\x1e".join(words).encode("unicode_escape").decode("ascii")))


def word(value: Any) -> str | None:
    """A text that is compared and is printed in lines with others; None if it is no text, or empty."""
    return sanitize_word(value) if isinstance(value, str) and value else None


def date(value: Any) -> str | None:
    """An instant in RFC 3339; None if it is not one."""
    try:
        return format_date(parse_date(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and _WORD.match(value) else None


def _id(value: Any) -> str | None:
    return value if isinstance(value, str) and _ID.match(value) else None


def _words(value: Any) -> list[str]:
    return [one for one in value if _word(one)] if isinstance(value, (list, tuple)) else []


def _ids(value: Any) -> list[str]:
    return [one for one in value if _id(one)] if isinstance(value, (list, tuple)) else []


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _base_64(value: Any) -> str | None:
    return value if isinstance(value, str) and _BASE_64.match(value) else None


_NAMES = {"resources", "leader", "vm_name"}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        (
            *(
                "kind",
                "reported_by",
                "event_id",
                "event_type",
                "event_status",
                "event_source",
                "resource_type",
                "leader",
            ),
            *("vm_name", "stage", "state", "how", "phase", "status"),
        ),
        _word,
    ),
    **dict.fromkeys(("resource_id", "run_id", "maintenance_configuration"), _id),
    **dict.fromkeys(("not_before", "at", "start", "end", "cancel_before"), date),
    **dict.fromkeys(("duration_in_seconds", "seconds_until_start"), _number),
    "shared": _flag,
    "resources": _words,
    "event_ids": _words,
    "subscriptions": _ids,
    "texts": _base_64,
}
