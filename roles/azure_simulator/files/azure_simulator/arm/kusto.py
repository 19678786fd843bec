# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The small part of the Kusto query language that questions about scheduled events and machines need.

A table, then any of: ``where`` (``==``, ``!=``, ``=~``, ``in``, ``in~``, joined by ``and``), ``project``, ``extend``,
``summarize count()``, ``order by``/``sort by``, ``take``/``limit``. Values are texts, numbers, ``true`` and ``false``,
columns and their members (``properties.EventStatus``, ``tags['Name']``), and ``tostring`` or ``tolower`` of those.
Everything else is refused by its name: a question that is only half understood gets a wrong answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple

Row = dict[str, Any]
Value = Callable[[Row], Any]
Condition = Callable[[Row], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*~?)|(?P<sign>==|=~|!=|!~|<=|>=|[|(),.=<>\[\]!]))"
)
_FUNCTIONS: Mapping[str, Callable[[Any], str]] = {
    "tostring": lambda value: "" if value is None else str(value),
    "tolower": lambda value: str(value or "").lower(),
}
_OPERATORS = "where, project, extend, summarize, order by, sort by, take, limit"
_TRUTHS = {"true": True, "false": False}
_COMPARISONS = "==, !=, =~, in, in~"


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
    if not parser.is_over:
        raise QueryError(f"'{parser.rest()}' is not known here after what is before it")
    return rows


def _stage(parser: _Parser, rows: list[Row]) -> list[Row]:
    verb = parser.name("an operator").lower()
    if verb == "where":
        conditions = parser.conditions()
        return [row for row in rows if all(holds(row) for holds in conditions)]
    if verb == "project":
        columns = parser.columns()
        return [{name: value(row) for name, value in columns} for row in rows]
    if verb == "extend":
        columns = parser.columns()
        return [{**row, **{name: value(row) for name, value in columns}} for row in rows]
    if verb == "summarize":
        name, keys = parser.grouping()
        return _count(rows, name, keys)
    if verb in ("order", "sort"):
        if parser.accept("by") is None:
            raise QueryError(f"'{verb}' needs 'by'")
        for value, descending in reversed(parser.keys()):
            rows = sorted(rows, key=lambda row: _sortable(value(row)), reverse=descending)
        return rows
    if verb in ("take", "limit"):
        return rows[: parser.number()]
    raise QueryError(f"the operator '{verb}' is not known here: known are {_OPERATORS}")


def _count(rows: Sequence[Row], name: str, keys: Sequence[tuple[str, Value]]) -> list[Row]:
    """How many rows there are of each kind: the kinds in the order of their first rows."""
    groups: dict[tuple[Any, ...], int] = {} if keys else {(): 0}
    for row in rows:
        kind = tuple(value(row) for _name, value in keys)
        groups[kind] = groups.get(kind, 0) + 1
    return [{**dict(zip((key for key, _value in keys), kind)), name: count} for kind, count in groups.items()]


def _sortable(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, (int, float)) else (1, str(value))


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._at = 0

    @property
    def is_over(self) -> bool:
        return self._at == len(self._tokens)

    def rest(self) -> str:
        return " ".join(token.text for token in self._tokens[self._at :])

    def _next(self, wanted: str) -> _Token:
        if self.is_over:
            raise QueryError(f"the query ends where {wanted} was expected")
        self._at += 1
        return self._tokens[self._at - 1]

    def accept(self, *texts: str) -> str | None:
        token = None if self.is_over else self._tokens[self._at]
        if token is None or token.kind == "text" or token.text.lower() not in texts:
            return None
        self._at += 1
        return token.text.lower()

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
        if not token.text.isdecimal():
            raise QueryError(f"a whole number was expected at '{token.text}'")
        return int(token.text)

    def columns(self) -> list[tuple[str, Value]]:
        columns = []
        while True:
            start = self._at
            name = self.name("a column")
            if self.accept("=") is None:
                self._at = start
                value = self._value()
                columns.append((self._name_of(start), value))
            else:
                columns.append((name, self._value()))
            if not self.accept(","):
                return columns

    def _name_of(self, start: int) -> str:
        """The name that a column gets that has none of its own: its path, with or without ``tostring`` around it."""
        tokens = self._tokens[start : self._at]
        if tokens[1:2] == [_Token("sign", "(")]:
            if tokens[0].text.lower() != "tostring":
                raise QueryError(f"'{tokens[0].text}(…)' is known here with a name of its own only: name = …")
            tokens = tokens[2:-1]
        return "_".join(token.text.strip("'\"") for token in tokens if token.kind in ("name", "text"))

    def grouping(self) -> tuple[str, list[tuple[str, Value]]]:
        """What ``summarize`` says: the name of the count, and by what; the one aggregate that there is."""
        name = "count_"
        word = self.name("an aggregate")
        if self.accept("=") is not None:
            name, word = word, self.name("an aggregate")
        if word.lower() != "count":
            raise QueryError(f"the aggregate '{word}' is not known here: known is count()")
        self._expect("(")
        self._expect(")")
        if self.accept("by") is None:
            return name, []
        start = self._at
        keys = self.columns()
        # A member of an object has no type that could be grouped by, in Azure neither.
        self._refuse_dynamic(start)
        return name, keys

    def _refuse_dynamic(self, start: int) -> None:
        depth = 0
        for token in self._tokens[start : self._at]:
            depth += {"(": 1, ")": -1}.get(token.text if token.kind == "sign" else "", 0)
            if depth == 0 and token.kind == "sign" and token.text in (".", "["):
                raise QueryError("a group key is of a 'dynamic' type: use an explicit cast, tostring(…)")

    def keys(self) -> list[tuple[Value, bool]]:
        keys = []
        while True:
            value = self._value()
            keys.append((value, self.accept("asc", "desc") != "asc"))
            if not self.accept(","):
                return keys

    def conditions(self) -> list[Condition]:
        conditions = [self._comparison()]
        while self.accept("and"):
            conditions.append(self._comparison())
        return conditions

    def _comparison(self) -> Condition:
        left = self._value()
        token = self._next("a comparison")
        sign = token.text.lower()
        if sign in ("in", "in~"):
            fold = sign == "in~"
            values = self._list()
            return lambda row: _fold(left(row), fold) in [_fold(value(row), fold) for value in values]
        if sign not in ("==", "!=", "=~"):
            raise QueryError(f"the comparison '{token.text}' is not known here: known are {_COMPARISONS}")
        right = self._value()
        fold, wanted = sign == "=~", sign != "!="
        return lambda row: (_fold(left(row), fold) == _fold(right(row), fold)) is wanted

    def _list(self) -> list[Value]:
        self._expect("(")
        values = [self._value()]
        while self.accept(","):
            values.append(self._value())
        self._expect(")")
        return values

    def _value(self) -> Value:
        token = self._next("a value")
        constant: Any
        if token.kind == "text":
            constant = _unquote(token)
        elif token.kind == "number":
            constant = float(token.text) if "." in token.text else int(token.text)
        elif token.kind != "name":
            raise QueryError(f"'{token.text}' is not known here where a value was expected")
        elif token.text.lower() in _TRUTHS:
            constant = _TRUTHS[token.text.lower()]
        elif self.accept("("):
            return self._call(token.text)
        else:
            return self._path(token.text)
        return lambda _row: constant

    def _text(self) -> str:
        token = self._next("the name of a member")
        if token.kind != "text":
            raise QueryError(f"the index '{token.text}' is not known here: known are names of members")
        return _unquote(token)

    def _call(self, name: str) -> Value:
        function = _FUNCTIONS.get(name.lower())
        if function is None:
            raise QueryError(f"the function '{name}' is not known here: known are {', '.join(_FUNCTIONS)}")
        inner = self._value()
        self._expect(")")
        return lambda row: function(inner(row))

    def _path(self, first: str) -> Value:
        steps = [first]
        while True:
            if self.accept("."):
                steps.append(self.name("a member"))
            elif self.accept("["):
                steps.append(self._text())
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
        tokens.append(_Token(str(match.lastgroup), match.group().strip()))
        at = match.end()
    return tokens


def _unquote(token: _Token) -> str:
    return re.sub(r"\\(.)", r"\1", token.text[1:-1])


def _walk(row: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        row = row.get(step) if isinstance(row, dict) else None
    return row


def _fold(value: Any, fold: bool) -> Any:
    return value.lower() if fold and isinstance(value, str) else value
