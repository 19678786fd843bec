# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which events are meant?

Azure tells every VM of a set about the events of all of them, so that whoever acts has to say which
ones are meant.
"""

from typing import FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from .event import Event, name_key, same_name

ANY = "any"
THIS_VM = "this_vm"
OTHERS = "others"
AFFECTING = (ANY, THIS_VM, OTHERS)


class Selection(NamedTuple):
    """A choice of events. None does not restrict; what is empty chooses nothing."""

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
    """The events that hit at least one of these VMs, and those of which cannot be read whom they hit."""
    wanted = frozenset(name_key(name) for name in vm_names)
    return [
        event
        for event in events
        if event.is_of_unknown_vms or not wanted.isdisjoint(name_key(name) for name in event.resources)
    ]


def _allows(condition: Optional[FrozenSet[str]], word: Optional[str]) -> bool:
    return condition is None or (word is not None and word.lower() in condition)
