# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plugin of pytest that writes down what the Python core's own tests ask the core, and what comes of it.

`python -m pytest -p tests.windows.parity.recorder TESTS` writes to the file that PARITY_TABLE names, one JSON object a
line: the question to the C# core, and the answer of the Python core. A question is either about options, or a dialogue:
the calls of one client, one after the other, and what its connection did meanwhile.

What depends on real time, or on what the modules do not use, is left out, and named in the last line.
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events import (
    client,
    document,
    errors,
    http_connection,
    operations,
    options,
    selection,
)

from tests.windows.parity.python_side import VM, refusal

_rows: list[dict[str, Any]] = []
_left_out: list[str] = []


class _Connection(http_connection.HttpConnection):
    """The real one, which writes down what it did."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self.transcript: list[list[Any]] = []
        self.requests: list[str] = []
        self.clock: Callable[[], float] = lambda: 0.0

    def is_ready(self) -> bool:
        ready: bool = super().is_ready()
        self.transcript.append(["ready", ready])
        return ready

    def open(self, seconds: float) -> None:
        try:
            super().open(seconds)
        except OSError as error:
            self.transcript.append(["open", _named(error), None, self.clock()])
            raise
        self.transcript.append(["open", None, None, self.clock()])

    def exchange(self, request: bytes, deadline: Any, largest: int) -> Any:
        self.requests.append(_base64(request))
        try:
            answer = super().exchange(request, deadline, largest)
        except (OSError, errors.HttpError) as error:
            self.transcript.append(["exchange", _named(error), None, self.clock()])
            raise
        told = {**answer._asdict(), "headers": dict(answer.headers), "body": _base64(answer.body)}
        self.transcript.append(["exchange", None, told, self.clock()])
        return answer


def _named(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout: timed out"
    return "%s: %s" % (type(error).__name__, error)


class _Dialogue:
    """The calls of one client."""

    def __init__(self, of: Any) -> None:
        self.client = of
        self.calls: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.slept: list[float] = []
        self.woke: list[float] = []
        """What the clock said after each sleep: it may have lasted longer."""
        self.is_inside = False
        self.is_repeatable = of._hedge_after is None and math.isinf(of._longest_wait) and hasattr(of._clock, "slept")
        of._connection.clock = of._clock
        of._sleep = self.noting(of._sleep)

    def noting(self, sleep: Callable[[float], None]) -> Callable[[float], None]:
        """Sleep, and write down how long."""

        def noted(seconds: float) -> None:
            self.slept.append(seconds)
            sleep(seconds)
            self.woke.append(self.client._clock())

        return noted

    def call(self, call: dict[str, Any], work: Callable[[], Any], as_told: Callable[[Any], Any], wall: float) -> Any:
        """Do it, and write down what it asked, how long it slept and how it ended; but not what it calls itself."""
        if self.is_inside:
            return work()
        self.is_inside = True
        self.calls.append({**call, "now": self.client._clock(), "wall": wall})
        self.client._connection.requests.clear()
        self.slept.clear()
        try:
            result = work()
            told = as_told(result)
            return result
        except errors.StillScheduled as error:
            told = {"late": str(error), **_as_told(error.result)}
            raise
        except errors.ScheduledEventsError as error:
            told = refusal(error)
            raise
        except BaseException:
            self.is_repeatable, told = False, None
            raise
        finally:
            requests = list(self.client._connection.requests)
            self.results.append({"result": told, "requests": requests, "slept": list(self.slept)})
            self.is_inside = False

    def row(self) -> dict[str, Any]:
        of = self.client
        question = {
            "ask": "dialogue",
            "endpoint": of.endpoint,
            "api_version": of.api_version,
            "connect_timeout": of.connect_timeout,
            "jitter": of._jitter(),
            "transcript": of._connection.transcript,
            "woke": self.woke,
            "calls": self.calls,
        }
        return {"question": question, "answer": self.results}


def _as_told(approval: Any) -> dict[str, Any]:
    return dict(approval._asdict())


_dialogues: list[_Dialogue] = []


def _record_clients(patch: Callable[[Any, str, Any], None]) -> None:
    def begin(original: Any) -> Any:
        def __init__(self: Any, *arguments: Any, **keywords: Any) -> None:  # noqa: N807
            original(self, *arguments, **keywords)
            self.dialogue = _Dialogue(self)
            _dialogues.append(self.dialogue)

        return __init__

    def called(name: str, call: Callable[[Any], dict[str, Any]], as_told: Callable[[Any, float], Any]) -> None:
        original = getattr(client.ImdsClient, name)

        def recorded(self: Any, *arguments: Any) -> Any:
            wall = self._wall_clock()
            asked = {"call": name, "vm_name": None, **_deadline(self, arguments[-1]), **call(arguments)}
            return self.dialogue.call(
                asked, lambda: original(self, *arguments), lambda result: as_told(result, wall), wall
            )

        patch(client.ImdsClient, name, recorded)

    patch(client, "HttpConnection", _Connection)
    patch(client.ImdsClient, "__init__", begin(client.ImdsClient.__init__))
    called("read_document", lambda _arguments: {}, lambda read, wall: [read.incarnation, _events(read.events, wall)])
    called("approve", lambda arguments: {"event_ids": list(arguments[0])}, lambda _nothing, _wall: None)
    compute = client.ImdsClient.read_compute

    def read_compute(self: Any, deadline: Any) -> Any:
        # The modules ask by read_identity.
        self.dialogue.is_repeatable &= self.dialogue.is_inside
        return compute(self, deadline)

    patch(client.ImdsClient, "read_compute", read_compute)
    called("read_identity", lambda _arguments: {}, lambda identity, _wall: list(identity))


def _deadline(of: Any, deadline: Any) -> dict[str, float]:
    """How long it is, and when it began: several calls may share one."""
    return {"timeout": deadline.seconds, "began": of._clock() - deadline.seconds + deadline.remaining()}


def _events(events: Iterable[Any], wall: float) -> list[dict[str, Any]]:
    now = datetime.fromtimestamp(wall, UTC)
    return [document.event_as_dict(event, VM, now) for event in events]


def _record_operations(patch: Callable[[Any, str, Any], None]) -> None:
    def recorded(name: str, as_told: Callable[[Any], Any]) -> None:
        original = getattr(operations, name)

        def record(of: Any, connection: Any, selection: Any, *arguments: Any, **keywords: Any) -> Any:
            given = keywords.get("clocks") or next(
                (one for one in arguments if isinstance(one, operations.Clocks)), None
            )
            clocks = given or operations.Clocks()
            scope = next((one for one in arguments if isinstance(one, str)), keywords.get("scope", "own"))
            if given is None or any(isinstance(one, (list, tuple)) and one for one in arguments if one is not given):
                # In real time; or of the lookup, which chooses by several names.
                of.dialogue.is_repeatable = False
            asked = {
                "call": name,
                "timeout": connection.timeout,
                "began": of._clock(),
                "vm_name": connection.vm_name,
                "selection": _listed(selection._asdict()),
                "scope": scope,
                "wait_timeout": keywords.get("wait_timeout"),
                "dry_run": keywords.get("dry_run", False),
                "as_seen": [document.event_as_dict(one, VM, clocks.utc_now()) for one in keywords.get("as_seen", ())],
            }
            noted = clocks._replace(sleep=of.dialogue.noting(clocks.sleep))
            arguments = tuple(noted if one is given else one for one in arguments)
            if "clocks" in keywords:
                keywords["clocks"] = noted
            wall = clocks.utc_now().timestamp()
            return of.dialogue.call(
                asked, lambda: original(of, connection, selection, *arguments, **keywords), as_told, wall
            )

        patch(operations, name, record)

    recorded("list_events", lambda listing: list(listing))
    recorded("approve_events", lambda approval: {"late": None, **_as_told(approval)})


def _listed(fields: dict[str, Any]) -> dict[str, Any]:
    """What is a set in no order, in one; what is a tuple as it is."""
    return {
        name: sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
        for name, value in fields.items()
    }


def _record_options(patch: Callable[[Any, str, Any], None]) -> None:
    def recorded(module: Any, name: str, of: str, as_told: Callable[[Any], Any]) -> None:
        original = getattr(module, name)

        def record(given: Any, *arguments: Any) -> Any:
            try:
                result = original(given, *arguments)
                told = as_told(result)
                return result
            except errors.OptionError as error:
                told = refusal(error)
                raise
            finally:
                # Ansible itself refuses what is none of the choices of affecting.
                if not arguments and not str(told.get("refused")).startswith("affecting"):
                    asked = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
                    question = {"ask": "options", "of": of, "environment": None, "options": asked}
                    _rows.append({"question": question, "answer": told})

        patch(module, name, record)

    recorded(options, "read_connection", "connection", lambda read: dict(read._asdict()))
    recorded(selection, "read_selection", "selection", lambda read: _listed(read._asdict()))
    recorded(selection, "warnings_for", "warnings", lambda read: {"warnings": read})


def pytest_configure() -> None:
    """Before the tests are imported, which take the names of what they try."""
    _record_clients(setattr)
    _record_operations(setattr)
    _record_options(setattr)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A test's clients have made their last call."""
    for dialogue in _dialogues:
        if not dialogue.calls:
            continue
        if dialogue.is_repeatable:
            _rows.append(dialogue.row())
        else:
            _left_out.append(item.name)
    _dialogues.clear()


def pytest_sessionfinish() -> None:
    """Write the table."""
    with open(os.environ["PARITY_TABLE"], "w", encoding="utf-8") as table:
        for row in _rows:
            try:
                table.write(json.dumps(row, allow_nan=False) + "\n")
            except (TypeError, ValueError):
                _left_out.append(str(row))
        table.write(json.dumps({"left_out": _left_out}) + "\n")


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
