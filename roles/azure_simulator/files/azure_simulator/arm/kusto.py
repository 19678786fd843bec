# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small part of the Kusto query language that questions about scheduled events need.

A table, then any of: ``where`` (comparisons, in, contains, has, startswith, and, or, not, brackets),
``project``, ``extend``, ``order by``/``sort by``, ``take``/``limit``, ``count``. Names compare with
case, as ``==`` does; ``=~`` and ``in~`` do not.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

Row = dict[str, Any]
Value = Callable[[Row], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_][\w$]*)(?P<tilde>~)?|(?P<sign>==|=~|!=|!~|<=|>=|!(?=[a-z])|[|(),.\[\]=<>]))"
)
_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "tostring": lambda value: "" if value is None else str(value),
    "tolower": lambda value: str(value or "").lower(),
    "toupper": lambda value: str(value or "").upper(),
    "toint": int,
    "isempty": lambda value: value in (None, ""),
    "isnotempty": lambda value: value not in (None, ""),
    "array_length": lambda value: len(value) if isinstance(value, list) else None,
}


class QueryError(ValueError):
    """A query that is wrong, or beyond this part of the language."""


class _Token(NamedTuple):
    kind: str
    text: str


def run(query: str, tables: Mapping[str, Sequence[Row]]) -> list[Row]:
    """The rows that a query gives; raises :class:`QueryError`."""
    parser = _Parser(query)
    table = parser.name("a table")
    if table.lower() not in tables:
        raise QueryError(f"'{table}' is not a table here: known are {', '.join(sorted(tables))}")
    rows = [dict(row) for row in tables[table.lower()]]
    while parser.accept("|"):
        rows = _stage(parser, rows)
    if parser.peek() is not None:
        raise QueryError(f"'{parser.rest()}' was not expected")
    return rows


def _stage(parser: _Parser, rows: list[Row]) -> list[Row]:
    verb = parser.name("an operator").lower()
    if verb == "where":
        holds = parser.disjunction()
        return [row for row in rows if holds(row)]
    if verb in ("project", "extend"):
        columns = parser.columns()
        kept: Callable[[Row], Row] = dict if verb == "extend" else (lambda _row: {})
        return [kept(row) | {name: value(row) for name, value in columns} for row in rows]
    if verb in ("order", "sort"):
        if parser.name("by").lower() != "by":
            raise QueryError(f"'{verb}' needs 'by'")
        for value, descending in reversed(parser.keys()):
            rows = sorted(rows, key=functools.partial(_sort_key, value), reverse=descending)
        return rows
    if verb in ("take", "limit"):
        return rows[: parser.number()]
    if verb == "count":
        return [{"Count": len(rows)}]
    raise QueryError(f"the operator '{verb}' is not known here")


def _sort_key(value: Callable[[Row], Any], row: Row) -> tuple[int, Any]:
    return _sortable(value(row))


def _sortable(value: Any) -> tuple[int, Any]:
    if isinstance(value, (int, float)):
        return 0, value
    return 1, str(value)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._at = 0

    def peek(self) -> _Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def rest(self) -> str:
        return " ".join(token.text for token in self._tokens[self._at :])

    def _next(self, wanted: str) -> _Token:
        token = self.peek()
        if token is None:
            raise QueryError(f"the query ends where {wanted} was expected")
        self._at += 1
        return token

    def accept(self, *texts: str) -> str | None:
        token = self.peek()
        if token is not None and token.kind != "text" and token.text.lower() in texts:
            self._at += 1
            return token.text.lower()
        return None

    def _expect(self, text: str) -> None:
        if self.accept(text) is None:
            raise QueryError(f"'{text}' was expected at '{self.rest()}'")

    def name(self, wanted: str) -> str:
        token = self._next(wanted)
        if token.kind != "name":
            raise QueryError(f"{wanted} was expected at '{token.text}'")
        return token.text

    def number(self) -> int:
        token = self._next("a number")
        if token.kind != "number" or "." in token.text:
            raise QueryError(f"a whole number was expected at '{token.text}'")
        return int(token.text)

    def columns(self) -> list[tuple[str, Value]]:
        columns = []
        while True:
            start = self._at
            token = self._next("a column")
            if token.kind == "name" and self.accept("="):
                columns.append((token.text, self.operand()))
            else:
                self._at = start
                value = self.operand()
                words = [t.text for t in self._tokens[start : self._at] if t.kind == "name"]
                columns.append(("_".join(words), value))
            if not self.accept(","):
                return columns

    def keys(self) -> list[tuple[Value, bool]]:
        keys = []
        while True:
            value = self.operand()
            keys.append((value, self.accept("asc", "desc") != "asc"))
            if not self.accept(","):
                return keys

    # -- conditions ---------------------------------------------------------------------------------

    def disjunction(self) -> Callable[[Row], bool]:
        parts = [self._conjunction()]
        while self.accept("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else lambda row: any(part(row) for part in parts)

    def _conjunction(self) -> Callable[[Row], bool]:
        parts = [self._condition()]
        while self.accept("and"):
            parts.append(self._condition())
        return parts[0] if len(parts) == 1 else lambda row: all(part(row) for part in parts)

    def _condition(self) -> Callable[[Row], bool]:
        if self.accept("not"):
            self._expect("(")
            inner = self.disjunction()
            self._expect(")")
            return lambda row: not inner(row)
        if self.accept("("):
            inner = self.disjunction()
            self._expect(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Callable[[Row], bool]:
        left = self.operand()
        negated = self.accept("!") is not None
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.text in (")", "|") or token.text.lower() in ("and", "or"):
            return lambda row: bool(left(row))
        self._at += 1
        sign = token.text.lower()
        if sign in ("in", "in~"):
            values = self._list()
            fold = sign.endswith("~")
            return lambda row: (_fold(left(row), fold) in [_fold(v(row), fold) for v in values]) != negated
        right = self.operand()
        compare = _COMPARISONS.get(sign)
        if compare is None:
            raise QueryError(f"the comparison '{token.text}' is not known here")
        return lambda row: compare(left(row), right(row)) != negated

    def _list(self) -> list[Value]:
        self._expect("(")
        values = [self.operand()]
        while self.accept(","):
            values.append(self.operand())
        self._expect(")")
        return values

    def operand(self) -> Value:
        token = self._next("a value")
        if token.kind == "text":
            text = re.sub(r"\\(.)", r"\1", token.text[1:-1])
            return lambda _row: text
        if token.kind == "number":
            number = float(token.text) if "." in token.text else int(token.text)
            return lambda _row: number
        if token.kind != "name":
            raise QueryError(f"a value was expected at '{token.text}'")
        if token.text.lower() in ("true", "false"):
            truth = token.text.lower() == "true"
            return lambda _row: truth
        if self.accept("("):
            return self._call(token.text)
        return self._path(token.text)

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise QueryError(f"the function '{name}' is not known here")
        inner = self.operand()
        self._expect(")")
        return lambda row: function(inner(row))

    def _path(self, first: str) -> Value:
        steps: list[str | int] = [first]
        while True:
            if self.accept("."):
                steps.append(self.name("a member"))
            elif self.accept("["):
                token = self._next("an index")
                steps.append(int(token.text) if token.kind == "number" else token.text[1:-1])
                self._expect("]")
            else:
                return lambda row: _walk(row, steps)


def _scan(text: str) -> list[_Token]:
    tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise QueryError(f"'{text[at:].strip()[:20]}' cannot be read")
        kind = str(match.lastgroup) if match.lastgroup != "tilde" else "name"
        tokens.append(_Token(kind, match.group().strip()))
        at = match.end()
    return tokens


def _walk(row: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        if isinstance(row, dict):
            row = row.get(step)
        elif isinstance(row, list) and isinstance(step, int) and step < len(row):
            row = row[step]
        else:
            return None
    return row


def _fold(value: Any, fold: bool = True) -> Any:
    return value.lower() if fold and isinstance(value, str) else value


def _text(value: Any) -> str:
    return str("" if value is None else value).lower()


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def safely(left: Any, right: Any) -> bool:
        try:
            return compare(left, right)
        except TypeError:
            return False

    return safely


def _has(left: Any, right: Any) -> bool:
    return re.search(rf"(?<!\w){re.escape(_text(right))}(?!\w)", _text(left)) is not None


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "=~": lambda left, right: _fold(left) == _fold(right),
    "!~": lambda left, right: _fold(left) != _fold(right),
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "contains": lambda left, right: _text(right) in _text(left),
    "startswith": lambda left, right: _text(left).startswith(_text(right)),
    "endswith": lambda left, right: _text(left).endswith(_text(right)),
    "has": _has,
}
