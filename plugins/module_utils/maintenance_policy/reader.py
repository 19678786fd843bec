# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads what the operator wrote, and reports all mistakes at once, each with its path."""

import json
import re
from typing import Any, Callable, List, Mapping, Optional, Sequence, Set, Tuple

from ..scheduled_events.words import nearest

_LONGEST_TIME = 86400.0  # seconds
_LONGEST_QUOTE = 120
_NUMBER = re.compile(r" *[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})? *\Z")
_OF_SECRET_URLS = re.compile("[@?]")
_YES = ("true", "yes", "on", "1")
_NO = ("false", "no", "off", "0")


class Section:
    """One dictionary of a configuration: gives what is asked for, and notes what is wrong or was never asked for.

    A text that says a number, a truth or the JSON of a list counts as that: a survey of AWX hands over nothing else,
    nor does ansible-core before 2.19 where a template made the value.

    :param path: where it was found, for the mistakes
    :param mistakes: to which those are added
    :param is_secret: whether any value in it may be a secret, so that a mistake names its type only
    """

    def __init__(self, content: Any, path: str, mistakes: List[str], is_secret: bool = False) -> None:
        self.path = path
        self.mistakes = mistakes
        self._is_secret = is_secret
        self._asked: Set[str] = set()
        self._children: List[Section] = []
        self.is_object = isinstance(content, Mapping)
        """Whether it is a dictionary at all; one that is not has no more mistakes."""
        if not self.is_object:
            self.mistake("", content, "an object")
            content = {}
        self.content: Mapping[str, Any] = content

    def has(self, name: str) -> bool:
        """Whether there is a value of that name; from now on the name is a known one."""
        self._asked.add(name)
        return self.content.get(name) is not None

    def where(self, name: str) -> str:
        """The path of a value in it."""
        return ".".join(part for part in (self.path, name) if part) or "configuration"

    def mistake(self, name: str, value: Any, expected: str, is_secret: bool = False) -> None:
        """Record that a value is wrong."""
        shown = _type_of(value) if is_secret or self._is_secret else quote(value)
        self.mistakes.append("%s: expected %s, got %s" % (self.where(name), expected, shown))

    def checked(
        self, name: str, default: Any, expected: str, check: Callable[[Any], bool], is_secret: bool = False
    ) -> Any:
        """A value. The default if it is missing, or if it is wrong, which is recorded."""
        if not self.has(name):
            return default
        value = self.content[name]
        if check(value):
            return value
        self.mistake(name, value, expected, is_secret)
        return default

    def seconds(self, name: str, default: float, least: float = 0.001, most: float = _LONGEST_TIME) -> float:
        """A time."""
        return self.number(name, default, "seconds from %g to %d" % (least, most), least, most)

    def number(
        self, name: str, default: float, expected: str = "a number, 0 or more", least: float = 0.0, most: float = 1e15
    ) -> float:
        """A number. The default if it is missing, or if it is wrong, which is recorded."""
        if not self.has(name):
            return default
        number = as_number(self.content[name])
        # Written so that a NaN fails as well.
        if number is not None and least <= number <= most:
            return number
        self.mistake(name, self.content[name], expected)
        return default

    def text(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """A text that is not empty."""
        result = self.checked(name, default, "text", lambda value: isinstance(value, str) and bool(value.strip()))
        return None if result is None else str(result)

    def word(self, name: str, default: Any, words: Sequence[str]) -> Any:
        """One of these words, in any case."""
        if not self.has(name):
            return default
        value = self.content[name]
        found = next((word for word in words if isinstance(value, str) and value.lower() == word), None)
        if found is None:
            self.mistake(name, value, "one of " + ", ".join(words))
        return default if found is None else found

    def boolean(self, name: str) -> Optional[bool]:
        """True or false; None where it is missing."""
        if not self.has(name):
            return None
        value = self.content[name]
        word = str(value).strip().lower()
        if word in _YES + _NO:
            return word in _YES
        self.mistake(name, value, "true or false")
        return None

    def texts(self, name: str, words: Optional[Sequence[str]] = None) -> Optional[Tuple[str, ...]]:
        """A list of texts, of these words in any case if any are given. None if it is missing."""
        expected = "a list of texts" if words is None else "a list of " + ", ".join(words)
        result = self.checked(
            name,
            None,
            expected,
            lambda value: (
                is_list(value)
                and all(isinstance(one, str) and one and (words is None or one.lower() in words) for one in value)
            ),
        )
        if result is None:
            return None
        return tuple(str(one) if words is None else one.lower() for one in result)

    def words(self, name: str, read: Callable[[Sequence[str]], Tuple[str, ...]]) -> Optional[Tuple[str, ...]]:
        """A list of words that `read` knows. None if it is missing. An empty one would match nothing."""
        given = self.checked(
            name,
            None,
            "a list of texts, at least one",
            lambda value: is_list(value) and bool(value) and all(isinstance(one, str) and one for one in value),
        )
        try:
            return None if given is None else read(given)
        except ValueError as error:
            self.mistakes.append("%s: %s" % (self.where(name), error))
            return None

    def section(self, name: str) -> "Section":
        """A dictionary in it. An empty one if it is missing."""
        return self._child(name, self.content.get(name) if self.has(name) else {}, self._is_secret)

    def sections(self, name: str, are_secret: bool = False) -> "List[Section]":
        """A list of dictionaries in it. An empty one if it is missing."""
        if not self.has(name):
            return []
        value = self.content[name]
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                pass
        if not is_list(value):
            self.mistake(name, value, "a list", are_secret)
            return []
        are_secret = are_secret or self._is_secret
        return [self._child("%s[%d]" % (name, index), content, are_secret) for index, content in enumerate(value)]

    def finish(self) -> None:
        """Record every name that nothing asked for: most likely a typing error."""
        for name in self.content:
            if name not in self._asked:
                known = sorted(self._asked)
                meant = nearest(str(name), known) if known else None
                hint = ": did you mean %s?" % meant if meant else "."
                self.mistakes.append(
                    "%s: is not an option here%s Known are %s" % (self.where(str(name)), hint, ", ".join(known))
                )
        for child in self._children:
            child.finish()

    def _child(self, name: str, content: Any, is_secret: bool) -> "Section":
        child = Section(content, ".".join(part for part in (self.path, name) if part), self.mistakes, is_secret)
        self._children.append(child)
        return child


def as_number(value: Any) -> Optional[float]:
    """The number that a value is or, as text, says; None if it is none."""
    if isinstance(value, str) and _NUMBER.match(value):
        return float(value)
    # A whole number may be beyond any float.
    is_number = isinstance(value, float) or (isinstance(value, int) and abs(value) < 1e18)
    return float(value) if is_number and not isinstance(value, bool) else None


def is_list(value: Any) -> bool:
    """Whether it is a list, be it one of Ansible's."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def quote(value: Any) -> str:
    """Show a value in an error: enough to recognise it, however large it is.

    Only the type of what may hold a secret: an object, and what may be a URL with a password or a query.
    """
    parts = value if is_list(value) else (value,)
    if any(isinstance(part, (Mapping, list)) and part for part in parts):
        return _type_of(value)
    try:
        shown = json.dumps(value)
    except (TypeError, ValueError):
        shown = repr(value)
    return _type_of(value) if _OF_SECRET_URLS.search(shown) else shown[:_LONGEST_QUOTE]


def _type_of(value: Any) -> str:
    if isinstance(value, str):
        return "a text"
    if isinstance(value, Mapping):
        return "an object"
    if is_list(value):
        return "a list"
    return "null" if value is None else "true or false" if isinstance(value, bool) else "a number"
