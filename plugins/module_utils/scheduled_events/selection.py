# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Selects events by their properties.

Azure tells every VM of a set about the events of all of them, so that whoever acts has to say which
ones are meant.
"""

from typing import Any, Callable, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .errors import OptionError
from .event import EVENT_STATUSES, Event, name_key, same_name
from .words import read_sources, read_statuses, read_types, unknown_types, warning_of

ANY = "any"
THIS_VM = "this_vm"
OTHERS = "others"
AFFECTING = (ANY, THIS_VM, OTHERS)


class Selection(NamedTuple):
    """A choice of events. None does not restrict. Empty chooses nothing."""

    event_ids: Optional[Tuple[str, ...]] = None
    event_types: Optional[FrozenSet[str]] = None
    event_sources: Optional[FrozenSet[str]] = None
    event_statuses: Optional[FrozenSet[str]] = None
    affecting: str = ANY

    def chooses(self, event: Event, vm_name: str) -> bool:
        """Whether this event is meant, seen from the VM `vm_name`. Words are compared without case.

        Whom it affects is no reason to leave out one of which that cannot be read.
        """
        return (
            (self.event_ids is None or any(same_name(event_id, event.event_id) for event_id in self.event_ids))
            and _allows(self.event_types, event.event_type)
            and _allows(self.event_sources, event.event_source)
            and _allows(self.event_statuses, event.event_status)
            and (
                self.affecting == ANY
                or event.is_of_unknown_vms
                or (self.affecting == THIS_VM) == event.affects(vm_name)
            )
        )


def any_of(words: Optional[Iterable[str]]) -> Optional[FrozenSet[str]]:
    """Make one condition of a `Selection` from the words that a user gave, or from None."""
    return None if words is None else frozenset(word.lower() for word in words)


def affecting_any_of(events: Iterable[Event], vm_names: Iterable[str]) -> List[Event]:
    """The events that hit at least one of these VMs, and those whose VMs cannot be read."""
    wanted = frozenset(name_key(name) for name in vm_names)
    return [
        event
        for event in events
        if event.is_of_unknown_vms or not wanted.isdisjoint(name_key(name) for name in event.resources)
    ]


def read_selection(options: Mapping[str, Any], statuses: Sequence[str] = EVENT_STATUSES) -> Selection:
    """Check the options that choose events.

    :param statuses: those that events may have where they are read
    :raises OptionError: on the first that cannot be meant
    """
    affecting = options.get("affecting") or ANY
    _check_words("affecting", [affecting], AFFECTING)
    event_ids = options.get("event_ids")
    for event_id in event_ids or ():
        if not event_id.strip():
            raise OptionError(
                "event_ids: %r is not an event id. Give those that scheduled_events_info returns" % event_id
            )
    return Selection(
        event_ids=None if event_ids is None else tuple(event_id.strip() for event_id in event_ids),
        event_types=_read_words(options, "event_types", read_types),
        event_sources=_read_words(options, "event_sources", read_sources),
        event_statuses=_read_words(options, "event_statuses", lambda given: read_statuses(given, statuses)),
        affecting=affecting,
    )


def warnings_for(options: Mapping[str, Any]) -> List[str]:
    """Warnings about this choice of events."""
    return ["event_types: %s" % warning_of(word) for word in unknown_types(options.get("event_types") or ())]


def _allows(condition: Optional[FrozenSet[str]], word: Optional[str]) -> bool:
    return condition is None or (word is not None and word.lower() in condition)


def _read_words(
    options: Mapping[str, Any], name: str, read: Callable[[Sequence[str]], Sequence[str]]
) -> Optional[FrozenSet[str]]:
    given = options.get(name)
    try:
        return any_of(None if given is None else read(given))
    except ValueError as error:
        raise OptionError("%s: %s" % (name, error)) from None


def _check_words(name: str, words: Sequence[str], allowed: Sequence[str]) -> None:
    for word in words:
        if word not in allowed:
            raise OptionError("%s: %r is not one of %s" % (name, word, ", ".join(allowed)))
