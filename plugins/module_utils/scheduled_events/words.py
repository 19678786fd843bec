# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Recognises Azure's words, and words that are one of them misspelt.

A condition on a word that Azure never sends matches nothing, so the event it should block goes ahead. So a word that
is unknown is refused, but for types of events: Azure adds some, and then only what is nearly a known one is refused.
"""

from typing import Any, List, Optional, Sequence, Tuple

from .errors import OptionError
from .event import EVENT_SOURCES, EVENT_STATUSES, EVENT_TYPES, same_name

# Of two words, what they have in common in proportion to their letters. Preemption and Preempt have 0.82, Resize and
# Freeze 0.67.
_NEARLY = 0.75


def read_types(given: Sequence[str], known: Sequence[str] = EVENT_TYPES) -> Tuple[str, ...]:
    """Spell types of events as Azure does. One that Azure may add one day is taken as it is.

    :raises ValueError: with the first that is nearly a known one
    """
    return tuple(_read(word, known, False) for word in given)


def read_sources(given: Sequence[str]) -> Tuple[str, ...]:
    """Spell sources of events as Azure does.

    :raises ValueError: with the first that is none
    """
    return tuple(_read(word, EVENT_SOURCES, True) for word in given)


def read_statuses(given: Sequence[str], known: Sequence[str] = EVENT_STATUSES) -> Tuple[str, ...]:
    """Spell statuses of events as Azure does.

    :raises ValueError: with the first that is none
    """
    return tuple(_read(word, known, True) for word in given)


def unknown_types(words: Sequence[str], known: Sequence[str] = EVENT_TYPES) -> List[str]:
    """The types that this version does not know, each once. Whoever asks for one should be told."""
    return [word for word in dict.fromkeys(words) if _spelled(word, known) is None]


def warning_of(word: str) -> str:
    """What to say of a type that this version does not know."""
    return "%r is not an event type that this version knows (%s): it is matched as written" % (
        word,
        ", ".join(EVENT_TYPES),
    )


def nearest(word: str, known: Sequence[str]) -> Optional[str]:
    """The known word that this one most likely stands for; None if it is like none of them."""
    likeness, _negative, found = max((_likeness(word, one), -index, one) for index, one in enumerate(known))
    return found if likeness >= _NEARLY else None


def _read(word: str, known: Sequence[str], are_all: bool) -> str:
    spelled = _spelled(word, known)
    if spelled is not None:
        return spelled
    meant = nearest(word, known)
    if meant is None and not are_all:
        return word
    remedy = "" if meant is None else ": did you mean %s?" % meant
    raise ValueError("%r is not one of %s%s" % (word, ", ".join(known), remedy))


def _spelled(word: str, known: Sequence[str]) -> Optional[str]:
    return next((one for one in known if same_name(one, word)), None)


def _likeness(one: str, other: str) -> float:
    """0 to 1: the letters that both have in the same order, in proportion to all of them.

    Of the standard library difflib can do this; it would stay in the agent's memory.
    """
    row = [0] * (len(other) + 1)
    for letter in one.lower()[: 2 * len(other)]:
        above = list(row)
        for index, letter_of_other in enumerate(other.lower()):
            row[index + 1] = above[index] + 1 if letter == letter_of_other else max(above[index + 1], row[index])
    return 2.0 * row[-1] / (len(one) + len(other))


def read_vm_names(names: Sequence[Any]) -> List[str]:
    """Check names of VMs.

    :raises OptionError: on the first that cannot be one
    """
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise OptionError("%r is not the name of a VM. Give Azure's names, as text" % (name,))
    return [name.strip() for name in names]
