# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The document of the metadata service.

The document that `GET /metadata/scheduledevents` answers, read strictly where a mistake could harm
(what is not a document is never "no events") and generously where the service has varied over the
years: both date forms, words in any case, numbers as strings, fields that a version does not have
yet, types, statuses and fields that it does not have yet today. For a field that cannot be read, neither
its event nor those beside it are lost. Its texts are somebody else's: see `text`.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

import re
from datetime import datetime
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Tuple, TypeVar, Union

from .dates import format_date, parse_date
from .errors import DocumentError
from .event import (
    EVENT_SOURCES,
    EVENT_STATUSES,
    EVENT_TYPES,
    SCHEDULED,
    STARTED,
    UNREADABLE,
    Event,
    NameKey,
    name_key,
    same_name,
)
from .strict_json import DEEPEST_VALUE, has_nan_or_infinity, is_deeper_than, parse_json, quote
from .text import sanitize_fields, sanitize_name, sanitize_prose, sanitize_word

# Oldest first. Each adds to the one before it.
API_VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
    "2024-07-09",
)
# A preview: some metadata services lack it.
NEWEST_API_VERSION = API_VERSIONS[-1]
# The newest that is generally available.
GENERAL_API_VERSION = "2020-07-01"

# The names of the fields of an event: Azure's, and those of the modules and the lookup.
_FIELDS = {
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
_LONGEST_NUMBER = 18  # digits
_Word = TypeVar("_Word", str, Optional[str])
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")


class Document(NamedTuple):
    """All events that this VM sees at one moment."""

    incarnation: int
    """Changes with the events. Compare for different, never for greater: it may start again."""
    events: Tuple[Event, ...]


def parse_document(body: Union[bytes, str]) -> Document:
    """Read a document.

    What is told of an event but cannot be read is treated as if it were not told, and quoted in a field that is called
    `Unreadable` and its name. Without its id, its type or its status, it is an event of an unknown one, `Unreadable`:
    it is listed, hits its machines, and is never approved without its id or status. Whom an event hits that cannot be
    read, or names no machines that can be, is not known (`is_of_unknown_vms`): nobody is prepared for it, it is never
    approved, and as long as it is listed, no event that it may be is over.

    :param body: what `GET /metadata/scheduledevents` answered with status 200
    :raises DocumentError: if it is anything but a document, an error body included
    """
    content = parse_json(body)
    if not isinstance(content, dict):
        raise DocumentError("not a document of Scheduled Events: expected a JSON object, got %s" % quote(content))
    if "Events" not in content:
        raise DocumentError("not a document of Scheduled Events: it has no Events: %s" % quote(content))
    events = content["Events"]
    if not isinstance(events, list):
        raise DocumentError("Events: expected a list, got %s" % quote(events))
    if "DocumentIncarnation" not in content:
        raise DocumentError("not a document of Scheduled Events: it has no DocumentIncarnation")
    return Document(
        incarnation=_integer(content["DocumentIncarnation"], "DocumentIncarnation"),
        events=_each_once(parse_listed(event, "Events[%d]" % index) for index, event in enumerate(events)),
    )


def parse_event(content: Any, path: str = "event") -> Event:
    """Read one event, as it stands in a document or as `event_as_azure` has written it.

    :param content: an object of JSON
    :param path: where it was found, for the errors
    :raises DocumentError: if it is no event
    """
    if not isinstance(content, dict):
        raise DocumentError("%s: expected an object, got %s" % (path, quote(content)))
    unknown = {name: value for name, value in content.items() if name not in _FIELDS}
    event = Event(
        event_id=_required_word(content, "EventId", path),
        event_type=_as_azure_spells(_required_word(content, "EventType", path), EVENT_TYPES),
        event_status=_as_azure_spells(_required_word(content, "EventStatus", path), EVENT_STATUSES),
        resources=_parse_resources(content, "Resources", path),
        not_before=_optional_date(content, "NotBefore", path),
        event_source=_as_azure_spells(_optional_word(content, "EventSource", path), EVENT_SOURCES),
        resource_type=_optional_word(content, "ResourceType", path),
        description=_optional_prose(content, "Description", path),
        duration_in_seconds=_optional_integer(content, "DurationInSeconds", path),
        other_fields=_other_values(unknown, path + "."),
    )
    # Azure documents neither for events that never start: nobody may wait for an instant without a meaning.
    return event._replace(not_before=None, duration_in_seconds=None) if event.is_advisory else event


def parse_metadata(body: Union[bytes, str]) -> Dict[str, Any]:
    """Read what IMDS says of the machine itself.

    :raises DocumentError: if it is not a JSON object, or has in it what no event may have either
    """
    content = parse_json(body)
    if not isinstance(content, dict):
        raise DocumentError("not instance metadata: expected a JSON object, got %s" % quote(content))
    return _other_values(content, "")


def event_as_azure(event: Event) -> Dict[str, Any]:
    """Write an event in Azure's own field names, so that `parse_document` reads the same event again."""
    fields: Dict[str, Any] = {
        "EventId": event.event_id,
        "EventType": event.event_type,
        "EventStatus": event.event_status,
        "EventSource": event.event_source,
        "ResourceType": event.resource_type,
        "Resources": list(event.resources),
        "Description": event.description,
        "DurationInSeconds": event.duration_in_seconds,
        "NotBefore": None if event.not_before is None else format_date(event.not_before),
    }
    return dict(event.other_fields, **{name: value for name, value in fields.items() if value is not None})


def event_as_dict(event: Event, vm_name: str, now: datetime) -> Dict[str, Any]:
    """Write an event as the modules and the lookup return it, seen from the VM `vm_name` at `now`.

    `other_fields` is there only when Azure sent fields that this version does not know.
    """
    result: Dict[str, Any] = {
        "event_id": event.event_id,
        "event_type": event.event_type,
        "event_status": event.event_status,
        "event_source": event.event_source,
        "resource_type": event.resource_type,
        "resources": list(event.resources),
        "description": event.description,
        "duration_in_seconds": event.duration_in_seconds,
        "not_before": None if event.not_before is None else format_date(event.not_before),
        "seconds_until_start": event.seconds_until_start(now),
        "affects_this_vm": event.affects(vm_name),
        "shared": event.is_shared,
        "leader": event.leader,
        "this_vm_leads": event.is_led_by(vm_name),
    }
    if event.other_fields:
        result["other_fields"] = dict(event.other_fields)
    return result


def event_from_dict(content: Any, path: str = "event") -> Event:
    """Read an event as `event_as_dict` has written it. What depends on who looked, and when, is left out.

    :param path: where it was found, for the errors
    :raises DocumentError: if it is no event
    """
    if not isinstance(content, dict):
        raise DocumentError("%s: expected an object, got %s" % (path, quote(content)))
    other_fields = content.get("other_fields", {})
    if not isinstance(other_fields, dict):
        raise DocumentError("%s.other_fields: expected an object, got %s" % (path, quote(other_fields)))
    fields = dict(other_fields)
    fields.update((azure, content.get(ours)) for azure, ours in _FIELDS.items())
    return parse_event(fields, path)


def parse_listed(content: Any, path: str = "event") -> Event:
    """Read one event among others, as far as it can be read.

    To refuse the list for one field would be to miss the other events in it; to leave the event out, to take it for
    over.
    """
    try:
        return parse_event(content, path)
    except DocumentError:
        if not isinstance(content, dict):
            content = {UNREADABLE + "Event": quote(content)}
        return parse_event(_as_far_as_can_be_read(content, path), path)


def _as_far_as_can_be_read(content: Dict[str, Any], path: str) -> Dict[str, Any]:
    readers: Dict[str, Callable[[Dict[str, Any], str, str], object]] = {
        "EventId": _required_word,
        "EventType": _required_word,
        "EventStatus": _required_word,
        "EventSource": _optional_word,
        "ResourceType": _optional_word,
        "Description": _optional_prose,
        "DurationInSeconds": _optional_integer,
        "NotBefore": _optional_date,
        "Resources": _parse_resources,
    }
    readable: Dict[str, Any] = {}
    quoted = {}
    for name, value in dict(dict.fromkeys(readers), **content).items():
        try:
            readers.get(name, _other_value)(content, name, path)
            readable[name] = value
        except DocumentError:
            quoted[UNREADABLE + name] = quote(value)
    if not {"EventId", "Resources"}.issubset(readable):
        # An approval would have to name it, and to speak for all VMs that it hits.
        readable["EventStatus"] = UNREADABLE
    missing: Dict[str, Any] = dict.fromkeys(("EventId", "EventType", "EventStatus"), UNREADABLE)
    return {**missing, "Resources": [], **readable, **quoted}


def _each_once(events: Iterable[Event]) -> Tuple[Event, ...]:
    by_id: Dict[NameKey, List[Event]] = {}
    for event in events:
        by_id.setdefault(name_key(event.event_id), []).append(event)
    return tuple(_worst_of(same) for same in by_id.values())


def _worst_of(events: List[Event]) -> Event:
    """Events of one id as one: whoever is ready for it is ready for each of them, on all machines that they name.

    An approval may start all of them. To refuse the document for it would be to miss the other events in it; to leave
    these out, to take them for over.
    """
    first = events[0]
    if all(event == first for event in events):
        return first
    names: Dict[NameKey, str] = {}
    for event in events:
        for name in event.resources:
            names.setdefault(name_key(name), name)
    statuses = {event.event_status for event in events}
    starts = [event.not_before for event in events if event.not_before is not None]
    durations = [event.duration_in_seconds for event in events]
    known_durations = [duration for duration in durations if duration is not None and duration >= 0]
    return min(events, key=_harm)._replace(
        event_id=first.event_id,
        # Only an event that is Scheduled in all of them can still be approved.
        event_status=STARTED if STARTED in statuses else max(statuses - {SCHEDULED}, default=SCHEDULED),
        resources=tuple(names.values()),
        not_before=min(starts) if len(starts) == len(events) else None,
        duration_in_seconds=max(known_durations) if len(known_durations) == len(events) else -1,
    )


def _harm(event: Event) -> float:
    """The smaller, the more is lost. An unknown type may do more than pause the machine, an advisory does nothing."""
    if event.is_advisory:
        return len(EVENT_TYPES)
    known = event.event_type in EVENT_TYPES
    return EVENT_TYPES.index(event.event_type) if known else EVENT_TYPES.index("Freeze") - 0.5


def _parse_resources(content: Dict[str, Any], name: str, path: str) -> Tuple[str, ...]:
    names = content.get(name)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DocumentError("%s.%s: expected a list of VM names, got %s" % (path, name, quote(names)))
    # The first version wrote an underscore before each name, and later ones were seen to. No name begins with its own.
    return tuple(sanitize_word(name.lstrip("_") or name) for name in names)


def _required_word(content: Dict[str, Any], name: str, path: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise DocumentError("%s.%s: expected text, got %s" % (path, name, quote(value)))
    return sanitize_word(value)


def _optional_text(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise DocumentError("%s.%s: expected text, got %s" % (path, name, quote(value)))
    return value


def _optional_word(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = _optional_text(content, name, path)
    return None if value is None else sanitize_word(value)


def _optional_prose(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = _optional_text(content, name, path)
    return None if value is None else sanitize_prose(value)


def _as_azure_spells(word: _Word, known: Iterable[str]) -> _Word:
    # Decisions compare: in another case, a deletion that has begun would be neither. What is unknown stays as it is.
    return next((one for one in known if word is not None and same_name(one, word)), word)


def _other_value(content: Dict[str, Any], name: str, path: str) -> Dict[str, Any]:
    return _other_values({name: content[name]}, path + ".")


def _other_values(fields: Dict[str, Any], prefix: str) -> Dict[str, Any]:
    for name, value in fields.items():
        if is_deeper_than(DEEPEST_VALUE, value):
            raise DocumentError("%s: nested deeper than %d levels" % (prefix + sanitize_name(name), DEEPEST_VALUE))
        if has_nan_or_infinity(value):
            raise DocumentError("%s: has a number in it that JSON cannot write" % (prefix + sanitize_name(name)))
    return sanitize_fields(fields)


def _optional_integer(content: Dict[str, Any], name: str, path: str) -> Optional[int]:
    value = content.get(name)
    if value is None or value == "":
        return None
    return _integer(value, "%s.%s" % (path, name))


def _optional_date(content: Dict[str, Any], name: str, path: str) -> Optional[datetime]:
    value = _optional_text(content, name, path)
    if value is None or not value.strip():
        return None
    try:
        return parse_date(value)
    except ValueError as error:
        raise DocumentError("%s.%s: %s: %s" % (path, name, error, quote(value))) from None


def _integer(value: Any, path: str) -> int:
    number = None
    if isinstance(value, str):
        if len(value) <= _LONGEST_NUMBER and _INTEGER.match(value.strip()):
            # Stripped: int accepts fewer separators as white space than strip does.
            number = int(value.strip())
    elif isinstance(value, float):
        # Neither an infinity nor a NaN is valid.
        if value.is_integer():
            number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None or abs(number) >= 10**_LONGEST_NUMBER:
        raise DocumentError("%s: expected a whole number, got %s" % (path, quote(value)))
    return number
