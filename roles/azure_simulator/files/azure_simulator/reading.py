# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading what people wrote: every mistake is named with its path, and all of them at once."""

from __future__ import annotations

import difflib
import ipaddress
import math
import uuid
from collections.abc import Iterator, Sequence
from typing import Any


class Invalid(ValueError):
    """What was written cannot be used; ``mistakes`` holds one line for each reason."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = list(mistakes)


def is_number(value: object) -> bool:
    """True for a finite int or float; a boolean is not a number here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


class Fields:
    """The fields of one mapping. Each is asked for by name; :meth:`close` reports those nobody asked for.

    Every getter returns its default when the field is absent or wrong, so that reading goes on and
    finds the other mistakes too. Whoever made ``mistakes`` raises :class:`Invalid` in the end.
    """

    def __init__(self, raw: object, path: str, mistakes: list[str]) -> None:
        self.path = path
        self.mistakes = mistakes
        self._known: set[str] = set()
        self._raw: dict[Any, Any] = {}
        if isinstance(raw, dict):
            self._raw = raw
        elif raw is not None:
            mistakes.append(f"{path or 'configuration'}: {raw!r} is not a mapping of names to values")

    def at(self, key: str) -> str:
        """The path of a field, as it is named in messages."""
        return f"{self.path}.{key}" if self.path else key

    def wrong(self, key: str, what: str) -> None:
        """Report a mistake in a field."""
        self.mistakes.append(f"{self.at(key)}: {what}")

    def has(self, key: str) -> bool:
        """Whether the field was given, be it null."""
        self._known.add(key)
        return key in self._raw

    def raw(self, key: str) -> Any:
        """The field as it was written; None when absent."""
        self._known.add(key)
        return self._raw.get(key)

    def required(self, key: str, what: str) -> None:
        """Report the field when it is absent or null."""
        if self.raw(key) is None:
            self.wrong(key, f"is missing: {what}")

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str | None:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            self.wrong(key, f"{value!r} is not a text (quote it if it looks like a number)")
            return default
        if choices and value not in choices:
            self.wrong(key, f"{value!r} is not one of {', '.join(choices)}")
            return default
        return value

    def number(
        self, key: str, default: float, minimum: float = 0, above: bool = False, maximum: float = math.inf
    ) -> float:
        """A number of at least ``minimum`` (more than it with ``above``) and at most ``maximum``."""
        value = self.raw(key)
        if value is None:
            return default
        if not is_number(value):
            self.wrong(key, f"{value!r} is not a number")
            return default
        if value < minimum or (above and value == minimum) or value > maximum:
            bound = f"more than {minimum:g}" if above else f"at least {minimum:g}"
            upper = "" if maximum == math.inf else f" and at most {maximum:g}"
            self.wrong(key, f"{value!r} must be {bound}{upper}")
            return default
        return float(value)

    def optional_number(self, key: str, above: bool = False) -> float | None:
        """Like :meth:`number`, None when absent or null."""
        return None if self.raw(key) is None else self.number(key, 0, 0, above)

    def integer(self, key: str, default: int, minimum: int, maximum: int) -> int:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            self.wrong(key, f"{value!r} is not a whole number")
            return default
        if not minimum <= value <= maximum:
            self.wrong(key, f"{value!r} must lie between {minimum} and {maximum}")
            return default
        return value

    def optional_integer(self, key: str, minimum: int, maximum: int) -> int | None:
        """Like :meth:`integer`, None when absent or null."""
        return None if self.raw(key) is None else self.integer(key, minimum, minimum, maximum)

    def flag(self, key: str, default: bool) -> bool:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.wrong(key, f"{value!r} is not true or false")
            return default
        return value

    def texts(self, key: str, choices: Sequence[str] = ()) -> tuple[str, ...] | None:
        """A list of one or more texts; one text alone stands for a list of it. None when absent."""
        value = self.raw(key)
        if value is None:
            return None
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not items:
            self.wrong(key, f"{value!r} is not a list of texts")
            return None
        for number, item in enumerate(items):
            if not isinstance(item, str) or not item:
                self.wrong(f"{key}[{number}]", f"{item!r} is not a text")
                return None
            if choices and item not in choices:
                self.wrong(f"{key}[{number}]", f"{item!r} is not one of {', '.join(choices)}")
                return None
        return tuple(items)

    def items(self, key: str) -> list[Any]:
        """A list of anything; empty when absent."""
        value = self.raw(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self.wrong(key, f"{value!r} is not a list")
            return []
        return value

    def each(self, key: str) -> Iterator[Fields]:
        """The fields of each mapping in a list. Each is closed when the next one is asked for."""
        for number, item in enumerate(self.items(key)):
            fields = Fields(item, f"{self.at(key)}[{number}]", self.mistakes)
            yield fields
            fields.close()

    def mapping(self, key: str) -> Fields:
        """The fields of a mapping inside this one; empty when absent."""
        return Fields(self.raw(key), self.at(key), self.mistakes)

    def string_map(self, key: str) -> dict[str, str]:
        """A mapping of texts to texts (numbers are taken as texts); empty when absent."""
        value = self.raw(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.wrong(key, f"{value!r} is not a mapping of names to values")
            return {}
        result = {}
        for name, item in value.items():
            if not isinstance(name, str) or not (isinstance(item, str) or is_number(item)):
                self.wrong(key, f"{name!r}: {item!r} is not a name with a text")
            else:
                result[name] = str(item)
        return result

    def address(self, key: str) -> str | None:
        """An IP address to serve on or to be recognised by; None when absent or wrong."""
        value = self.text(key)
        if value is None:
            return None
        mistake = address_mistake(value)
        if mistake:
            self.wrong(key, mistake)
            return None
        return canonical(value)

    def guid(self, key: str) -> str | None:
        """A GUID in its usual writing with hyphens, as it was written; None when absent or wrong."""
        value = self.text(key)
        if value is None:
            return None
        try:
            if str(uuid.UUID(value)) == value.lower():
                return value
        except ValueError:
            pass
        self.wrong(key, f"{value!r} is not a GUID like 602d9444-d2cd-49c7-8624-8643e7171297")
        return None

    def close(self) -> None:
        """Report the fields that nobody asked for."""
        for key in self._raw:
            if key not in self._known:
                near = difflib.get_close_matches(str(key), sorted(self._known), n=1)
                known = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(self._known))}"
                self.wrong(str(key), f"is not an option here: {known}")


def address_mistake(value: str) -> str | None:
    """Why a text is not an IP address one may listen on; None when it is."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return f"{value!r} is not an IP address"
    if address.is_unspecified:
        return f"{value!r} would listen on every network of this machine: give one address"
    return None


def canonical(address: str) -> str:
    """An IP address as the system writes it."""
    return str(ipaddress.ip_address(address))


def format_host(address: str, port: int) -> str:
    """``address:port`` as a URL wants it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
