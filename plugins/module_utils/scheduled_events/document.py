# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is an event?

The document that `GET /metadata/scheduledevents` answers, read strictly where a mistake could harm
(what is not a document is never "no events") and generously where the service has varied over the
years: both date forms, words in any case, numbers as strings, fields that a version does not have
yet, types, statuses and fields that it does not have yet today. For a field that cannot be read, neither
its event nor those beside it are lost. Its texts are somebody else's: see `text`.

Source: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events
"""

import json
import math
import re
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple, TypeVar, Union

from .errors import DocumentError
from .text import harmless_fields, harmless_name, harmless_prose, harmless_word

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
# A preview: there are metadata services that lack it.
NEWEST_API_VERSION = API_VERSIONS[-1]
# The newest that is generally available.
GENERAL_API_VERSION = "2020-07-01"

# The preview is the only version that writes an underscore before the names in Resources.
UNDERSCORED_NAMES_API_VERSION = API_VERSIONS[0]

# The most destructive first: of two events at the same instant the earlier one here is the more urgent.
EVENT_TYPES = ("Preempt", "Terminate", "Redeploy", "Reboot", "SpotRebalanceRecommendation", "Freeze")
# What may come, and may not: these never start, and there is nothing to approve. A policy is for one of them only if
# it names the type.
ADVISORY_EVENT_TYPES = ("SpotRebalanceRecommendation",)
# After these the VM is gone: deleted, or for a Spot VM at least deallocated.
FINAL_EVENT_TYPES = ("Preempt", "Terminate")
EVENT_SOURCES = ("Platform", "User")
SCHEDULED = "Scheduled"
STARTED = "Started"
EVENT_STATUSES = (SCHEDULED, STARTED)
# Stands for an id, a type or a status that cannot be read, and begins the name of the field that quotes it.
UNREADABLE = "Unreadable"

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
# What tells one name from another, see `name_key`.
NameKey = Tuple[str, str]

# A field that we do not know is handed on as it came, and a wrong value is quoted: both are written as JSON
# once more. Deeper than this nobody means it, and the writer's own recursion would end before the reader's did.
_DEEPEST_VALUE = 32  # levels
_LONGEST_NUMBER = 18  # digits
# Of any number in JSON. Python takes time by the square of it, and 128 bits need 39.
_LONGEST_NUMERAL = 100  # characters
_LONGEST_QUOTE = 200

_Word = TypeVar("_Word", str, Optional[str])

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
# Mon, 19 Sep 2016 18:29:47 GMT, or +0200 in its place. strptime would read the names in the machine's locale.
_RFC_1123 = re.compile(
    r"(?:[a-z]{3}, )?([0-9]{1,2}) ([a-z]{3}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) "
    r"(?:gmt|utc|z|([+-])([0-9]{2})([0-9]{2}))\Z"
)
# 2016-09-19T18:29:47Z, with or without a fraction. Without a zone it is UTC: IMDS knows no other.
_ISO_8601 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[t ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?"
    r"(?:z|([+-])([0-9]{2}):?([0-9]{2}))?\Z"
)


class Event(NamedTuple):
    """One event, in Azure's own field names and values.

    `event_type`, `event_status` and `event_source` may hold values that this version does not know.
    `None` stands for what the service did not say (an older api-version, an empty `NotBefore`).
    """

    event_id: str
    event_type: str
    event_status: str
    resources: Tuple[str, ...]
    not_before: Optional[datetime] = None
    """Earliest start, UTC."""
    event_source: Optional[str] = None
    resource_type: Optional[str] = None
    description: Optional[str] = None
    duration_in_seconds: Optional[int] = None
    """Expected interruption; 0 is none, -1 is unknown to Azure."""
    other_fields: Mapping[str, Any] = {}
    """Fields that this version does not know, as they came but for what `text` replaces."""

    @property
    def is_scheduled(self) -> bool:
        """Announced, not yet begun: the only time at which an approval means anything."""
        return self.event_status == SCHEDULED or (self.is_advisory and self.event_status == STARTED)

    @property
    def is_started(self) -> bool:
        """Under way. Not the end: an event that is over is no longer listed."""
        return self.event_status == STARTED and not self.is_advisory

    @property
    def is_final(self) -> bool:
        """Whether it takes the VM away, so that nothing is left to be restored: deleted or deallocated."""
        return self.event_type in FINAL_EVENT_TYPES

    @property
    def is_advisory(self) -> bool:
        """Whether it only says what may come: it never starts, and approving it has no effect."""
        return self.event_type in ADVISORY_EVENT_TYPES

    @property
    def is_of_unknown_vms(self) -> bool:
        """Whether it cannot be read whom it hits, so that it may be anybody."""
        return UNREADABLE + "Resources" in self.other_fields

    @property
    def is_shared(self) -> bool:
        """Whether it hits more than one VM, so that one approval decides for all of them."""
        return len({name_key(name) for name in self.resources}) > 1

    @property
    def leader(self) -> Optional[str]:
        """The VM that approves for all: the first of the resources. None if no resource is named."""
        return self.resources[0] if self.resources else None

    def affects(self, vm_name: str) -> bool:
        """Whether it hits the VM of this Azure name: the whole name, without case, never a part of it."""
        return any(same_name(name, vm_name) for name in self.resources)

    def is_led_by(self, vm_name: str) -> bool:
        """Whether this VM is the one to approve it."""
        return self.leader is not None and same_name(self.leader, vm_name)

    def is_freeze_of_at_most(self, seconds: float) -> bool:
        """Whether it is a pause that Azure expects to last this long or less. An unknown duration is not short."""
        duration = self.duration_in_seconds
        return self.event_type == "Freeze" and duration is not None and 0 <= duration <= seconds

    def seconds_until_start(self, now: datetime) -> Optional[int]:
        """Whole seconds of notice left at `now`: 0 once started or overdue, None when Azure did not say."""
        if self.is_started:
            return 0
        if self.not_before is None:
            return None
        return max(0, (self.not_before - now) // timedelta(seconds=1))


class Document(NamedTuple):
    """All events that this VM is told of, at one moment."""

    incarnation: int
    """Changes with the events. Compare for different, never for greater: it may start again."""
    events: Tuple[Event, ...]


def same_name(one: str, other: str) -> bool:
    """Whether two VM names, or two event ids, mean the same: equal as a whole, without case."""
    return name_key(one) == name_key(other)


def may_be(event: Event, event_id: str) -> bool:
    """Whether an event that is listed is the one of this id, or may be: one whose id cannot be read may be any."""
    return event.event_id == UNREADABLE or same_name(event.event_id, event_id)


def name_key(name: str) -> NameKey:
    """What two spellings of one name have in common, and two names have not."""
    # In lower case alone, the sign for kelvin is a k, and names of others would become ours.
    return name.lower(), name.upper()


def in_order_of_urgency(events: Iterable[Event]) -> List[Event]:
    """Sort: what has started, then what may start at any moment, then by the earliest start.

    At the same instant the more destructive type comes first; the event id settles the rest, so that
    the order is the same wherever it is computed. An advisory event has no start: it comes with what may
    start at any moment, but behind every eviction.
    """
    listed = list(events)
    last_eviction = max((_urgency(event) for event in listed if event.event_type == "Preempt"), default=())

    def key(event: Event) -> Tuple[Any, ...]:
        own = _urgency(event)
        return max(own, last_eviction + own) if event.is_advisory else own

    return sorted(listed, key=key)


def _urgency(event: Event) -> Tuple[Any, ...]:
    if event.is_started:
        group, start = 0, 0.0
    elif event.not_before is None:
        group, start = 1, 0.0
    else:
        group, start = 2, event.not_before.timestamp()
    harm = EVENT_TYPES.index(event.event_type) if event.event_type in EVENT_TYPES else len(EVENT_TYPES)
    return group, start, harm, event.event_id.lower()


def parse_document(body: Union[bytes, str], api_version: str = NEWEST_API_VERSION) -> Document:
    """Read a document.

    What is told of an event but cannot be read is treated as if it were not told, and quoted in a field that is called
    `Unreadable` and its name. Without its id, its type or its status, it is an event of an unknown one, `Unreadable`:
    it is listed, hits its machines, and is never approved without its id or status. Whom an event hits that cannot be
    read, or names no machines that can be, is not known (`is_of_unknown_vms`): nobody is prepared for it, it is never
    approved, and as long as it is listed, no event that it may be is over.

    :param body: what `GET /metadata/scheduledevents` answered with status 200
    :param api_version: the version that was asked for
    :raises DocumentError: if it is anything but a document, an error body included
    """
    content = parse_json(body)
    if not isinstance(content, dict):
        raise DocumentError("not a document of Scheduled Events: expected a JSON object, got %s" % _quote(content))
    if "Events" not in content:
        raise DocumentError("not a document of Scheduled Events: it has no Events: %s" % _quote(content))
    events = content["Events"]
    if not isinstance(events, list):
        raise DocumentError("Events: expected a list, got %s" % _quote(events))
    if "DocumentIncarnation" not in content:
        raise DocumentError("not a document of Scheduled Events: it has no DocumentIncarnation")
    return Document(
        incarnation=_integer(content["DocumentIncarnation"], "DocumentIncarnation"),
        events=_each_once(parse_listed(event, "Events[%d]" % index, api_version) for index, event in enumerate(events)),
    )


def parse_event(content: Any, path: str = "event", api_version: str = NEWEST_API_VERSION) -> Event:
    """Read one event, as it stands in a document or as `event_as_azure` has written it.

    :param content: an object of JSON
    :param path: where it was found, for the errors
    :param api_version: the version that was asked for
    :raises DocumentError: if it is no event
    """
    if not isinstance(content, dict):
        raise DocumentError("%s: expected an object, got %s" % (path, _quote(content)))
    unknown = {name: value for name, value in content.items() if name not in _FIELDS}
    event = Event(
        event_id=_required_word(content, "EventId", path),
        event_type=_as_azure_spells(_required_word(content, "EventType", path), EVENT_TYPES),
        event_status=_as_azure_spells(_required_word(content, "EventStatus", path), EVENT_STATUSES),
        resources=_parse_resources(content, path, api_version),
        not_before=_optional_date(content, "NotBefore", path),
        event_source=_as_azure_spells(_optional_word(content, "EventSource", path), EVENT_SOURCES),
        resource_type=_optional_word(content, "ResourceType", path),
        description=_optional_prose(content, "Description", path),
        duration_in_seconds=_optional_integer(content, "DurationInSeconds", path),
        other_fields=_other_values(unknown, path + "."),
    )
    # Azure documents neither for what never starts: nobody must wait for an instant that means nothing.
    return event._replace(not_before=None, duration_in_seconds=None) if event.is_advisory else event


def parse_metadata(body: Union[bytes, str]) -> Dict[str, Any]:
    """Read what IMDS says of the machine itself.

    :raises DocumentError: if it is not a JSON object, or has in it what no event may have either
    """
    content = parse_json(body)
    if not isinstance(content, dict):
        raise DocumentError("not instance metadata: expected a JSON object, got %s" % _quote(content))
    return _other_values(content, "")


def parse_json(body: Union[bytes, str]) -> Any:
    """Read JSON from anything that a server may have sent.

    What is no UTF-8 comes as U+FFFD: for one description that is written badly, no event is lost.

    :raises DocumentError: if it is not JSON, has a field twice or a number that none can mean, or is nested beyond
        reason
    """
    try:
        # Bytes are decoded here: json would guess UTF-16 and UTF-32 as well, which IMDS never sends.
        text = body.decode("utf-8-sig", "replace") if isinstance(body, bytes) else body
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_int=_parse_int,
            parse_float=_parse_float,
            object_pairs_hook=_parse_object,
        )
    except RecursionError:
        raise DocumentError("not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise DocumentError("not JSON: %s: %s" % (error, _quote(body))) from None


def parse_date(text: str) -> datetime:
    """Read `Mon, 19 Sep 2016 18:29:47 GMT` or `2016-09-19T18:29:47Z`, to the second.

    :returns: the instant, in UTC
    :raises ValueError: if it is neither form, or no such date
    """
    lowered = text.strip().lower()
    match = _RFC_1123.match(lowered)
    if match:
        day, month, year, hour, minute, second = match.groups()[:6]
        if month in _MONTHS:
            return _at_offset(_utc(year, _MONTHS.index(month) + 1, day, hour, minute, second), *match.groups()[6:])
    match = _ISO_8601.match(lowered)
    if match:
        return _at_offset(_utc(*match.groups()[:6]), *match.groups()[6:])
    raise ValueError("neither an RFC 1123 nor an ISO 8601 date")


def format_date(instant: datetime) -> str:
    """Write an instant as RFC 3339 in UTC, to the second: `2016-09-19T18:29:47Z`."""
    # isoformat, unlike strftime, writes years before 1000 with four digits everywhere.
    return instant.astimezone(timezone.utc).replace(tzinfo=None, microsecond=0).isoformat() + "Z"


def event_as_azure(event: Event) -> Dict[str, Any]:
    """Write an event in Azure's own field names, so that `parse_document` reads the same event again."""
    fields = {
        "EventId": event.event_id,
        "EventType": event.event_type,
        "EventStatus": event.event_status,
        "EventSource": event.event_source,
        "ResourceType": event.resource_type,
        "Resources": list(event.resources),
        "Description": event.description,
        "DurationInSeconds": event.duration_in_seconds,
        "NotBefore": None if event.not_before is None else format_date(event.not_before),
    }  # type: Dict[str, Any]
    return dict(event.other_fields, **{name: value for name, value in fields.items() if value is not None})


def event_as_dict(event: Event, vm_name: str, now: datetime) -> Dict[str, Any]:
    """Write an event as the modules and the lookup return it, seen from the VM `vm_name` at `now`.

    `other_fields` is there only when Azure sent fields that this version does not know.
    """
    result = {
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
    }  # type: Dict[str, Any]
    if event.other_fields:
        result["other_fields"] = dict(event.other_fields)
    return result


def event_from_dict(content: Any, path: str = "event") -> Event:
    """Read an event as `event_as_dict` has written it. What depends on who looked, and when, is left out.

    :param path: where it was found, for the errors
    :raises DocumentError: if it is no event
    """
    if not isinstance(content, dict):
        raise DocumentError("%s: expected an object, got %s" % (path, _quote(content)))
    other_fields = content.get("other_fields", {})
    if not isinstance(other_fields, dict):
        raise DocumentError("%s.other_fields: expected an object, got %s" % (path, _quote(other_fields)))
    fields = dict(other_fields)
    fields.update((azure, content.get(ours)) for azure, ours in _FIELDS.items())
    return parse_event(fields, path)


def parse_listed(content: Any, path: str = "event", api_version: str = NEWEST_API_VERSION) -> Event:
    """Read one event among others, as far as it can be read.

    To refuse the list for one field would be to miss the other events in it; to leave the event out, to take it for
    over.
    """
    try:
        return parse_event(content, path, api_version)
    except DocumentError:
        if not isinstance(content, dict):
            content = {UNREADABLE + "Event": _quote(content)}
        return parse_event(_as_far_as_can_be_read(content, path, api_version), path, api_version)


def _as_far_as_can_be_read(content: Dict[str, Any], path: str, api_version: str) -> Dict[str, Any]:
    readers: Dict[str, Callable[[Dict[str, Any], str, str], object]] = {
        "EventId": _required_word,
        "EventType": _required_word,
        "EventStatus": _required_word,
        "EventSource": _optional_word,
        "ResourceType": _optional_word,
        "Description": _optional_prose,
        "DurationInSeconds": _optional_integer,
        "NotBefore": _optional_date,
        "Resources": lambda content, _name, path: _parse_resources(content, path, api_version),
    }
    readable: Dict[str, Any] = {}
    quoted = {}
    for name, value in dict(dict.fromkeys(readers), **content).items():
        try:
            readers.get(name, _other_value)(content, name, path)
            readable[name] = value
        except DocumentError:
            quoted[UNREADABLE + name] = _quote(value)
    if not {"EventId", "Resources"}.issubset(readable):
        # An approval would have to name it, and be on behalf of all whom it hits.
        readable["EventStatus"] = UNREADABLE
    missing: Dict[str, Any] = dict.fromkeys(("EventId", "EventType", "EventStatus"), UNREADABLE)
    return {**missing, "Resources": [], **readable, **quoted}


def _each_once(events: Iterable[Event]) -> Tuple[Event, ...]:
    by_id = {}  # type: Dict[NameKey, List[Event]]
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
    names = {}  # type: Dict[NameKey, str]
    for event in events:
        for name in event.resources:
            names.setdefault(name_key(name), name)
    statuses = {event.event_status for event in events}
    starts = [event.not_before for event in events if event.not_before is not None]
    durations = [event.duration_in_seconds for event in events]
    known_durations = [duration for duration in durations if duration is not None and duration >= 0]
    return min(events, key=_harm)._replace(
        event_id=first.event_id,
        # Only what is Scheduled in all of them can still be approved.
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


def _parse_resources(content: Dict[str, Any], path: str, api_version: str) -> Tuple[str, ...]:
    names = content.get("Resources")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DocumentError("%s.Resources: expected a list of VM names, got %s" % (path, _quote(names)))
    if api_version == UNDERSCORED_NAMES_API_VERSION:
        # No VM name begins with an underscore of its own, so nothing is lost.
        names = [name[1:] if name.startswith("_") else name for name in names]
    return tuple(harmless_word(name) for name in names)


def _required_word(content: Dict[str, Any], name: str, path: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value:
        raise DocumentError("%s.%s: expected text, got %s" % (path, name, _quote(value)))
    return harmless_word(value)


def _optional_text(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise DocumentError("%s.%s: expected text, got %s" % (path, name, _quote(value)))
    return value


def _optional_word(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = _optional_text(content, name, path)
    return None if value is None else harmless_word(value)


def _optional_prose(content: Dict[str, Any], name: str, path: str) -> Optional[str]:
    value = _optional_text(content, name, path)
    return None if value is None else harmless_prose(value)


def _as_azure_spells(word: _Word, known: Iterable[str]) -> _Word:
    # Decisions compare: in another case, a deletion that has begun would be neither. What is unknown stays as it is.
    return next((one for one in known if word is not None and same_name(one, word)), word)


def _other_value(content: Dict[str, Any], name: str, path: str) -> Dict[str, Any]:
    return _other_values({name: content[name]}, path + ".")


def _other_values(fields: Dict[str, Any], prefix: str) -> Dict[str, Any]:
    for name, value in fields.items():
        if _is_deeper_than(_DEEPEST_VALUE, value):
            raise DocumentError("%s: nested deeper than %d levels" % (prefix + harmless_name(name), _DEEPEST_VALUE))
        if _has_no_number(value):
            raise DocumentError("%s: has a number in it that JSON cannot write" % (prefix + harmless_name(name)))
    return harmless_fields(fields)


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
        raise DocumentError("%s.%s: %s: %s" % (path, name, error, _quote(value))) from None


def _integer(value: Any, path: str) -> int:
    number = None
    if isinstance(value, str):
        if len(value) <= _LONGEST_NUMBER and _INTEGER.match(value.strip()):
            # Stripped: int takes fewer separators for white space than strip does.
            number = int(value.strip())
    elif isinstance(value, float):
        # Neither an infinity nor a NaN is.
        if value.is_integer():
            number = int(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    if number is None or abs(number) >= 10**_LONGEST_NUMBER:
        raise DocumentError("%s: expected a whole number, got %s" % (path, _quote(value)))
    return number


def _utc(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any) -> datetime:
    # A leap second has no datetime of its own; the second before it is the safe side of a deadline.
    return datetime(int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59), tzinfo=timezone.utc)


def _at_offset(local: datetime, sign: Optional[str], hours: Any, minutes: Any) -> datetime:
    """The instant at which a clock that is this far from UTC shows `local`. Without a sign it is UTC."""
    if sign is None:
        return local
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError("offset from UTC out of range")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    try:
        return local - offset if sign == "+" else local + offset
    except OverflowError:
        raise ValueError("date out of range") from None


def _is_deeper_than(levels: int, value: Any) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    return levels == 0 or any(_is_deeper_than(levels - 1, child) for child in _children(value))


def _has_no_number(value: Any) -> bool:
    """Whether an infinity or a NaN is in it, where JSON was read by something that takes them."""
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, (dict, list)) and any(_has_no_number(child) for child in _children(value))


def _children(value: Union[Dict[str, Any], List[Any]]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _refuse_constant(name: str) -> None:
    raise ValueError("%s is not a JSON number" % name)


def _parse_int(numeral: str) -> int:
    return int(_reasonable(numeral))


def _parse_float(numeral: str) -> float:
    number = float(_reasonable(numeral))
    if math.isinf(number):
        raise ValueError("%s is beyond any number" % numeral)
    return number


def _reasonable(numeral: str) -> str:
    if len(numeral) > _LONGEST_NUMERAL:
        raise ValueError("a number of %d characters" % len(numeral))
    return numeral


def _parse_object(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        # Readers differ in which of the two they take.
        raise ValueError("an object has a field twice")
    return fields


def _quote(value: Any) -> str:
    """Show a value in an error: enough to recognise it, however large it is."""
    if isinstance(value, (bytes, str)):
        # Cut before repr: a body may be megabytes long.
        shown = repr(value[: _LONGEST_QUOTE + 1])
    elif _is_deeper_than(_DEEPEST_VALUE, value):
        shown = "something nested deeper than %d levels" % _DEEPEST_VALUE
    else:
        shown = json.dumps(value)
    return shown if len(shown) <= _LONGEST_QUOTE else shown[:_LONGEST_QUOTE] + "…"
