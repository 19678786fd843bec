# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to both cores, and what the Python core answers: documents, HTTP answers, and what its own tests ask.

A question is an object with an `ask`; what belongs to it and what its answer has, Parity.cs reads and writes.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import random
import re
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events import approval, document, errors
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.dates import format_date
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import (
    UNREADABLE,
    in_order_of_urgency,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.http_connection import (
    HttpConnection,
    _Stream,
)

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
# Another one each day, which a run prints at its beginning.
SEED = int(os.environ.get("PARITY_SEED") or datetime.now(UTC).strftime("%Y%m%d"))
NOW = datetime(2016, 9, 19, 18, 14, 47, tzinfo=UTC)
VM = "web_0"
LARGEST = 4096  # bytes of an HTTP answer's body

# Beyond these, C# has no integers: 96 bits.
LARGEST_INTEGER = 2**96
# Python's own words stand behind these: of the reader of JSON, of repr.
OWN_WORDS = re.compile(
    r"(not JSON: |, got |it has no Events: |\.NotBefore: |a header|status line|a chunk).*", re.DOTALL
)

VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.0,
    2.5,
    -0.0,
    1e18,
    10**17,
    10**18,
    2**63,
    2**70,
    10**40,
    "",
    " ",
    "web_0",
    "WEB_0",
    "_web_0",
    "Started",
    "started",
    "\u017ftarted",
    "Freeze",
    "SpotRebalanceRecommendation",
    "terminate",
    "-7",
    " 9 ",
    "+3",
    "1_0",
    "9" * 18,
    "9" * 19,
    "\u0663",
    "Mon, 19 Sep 2016 18:29:47 GMT",
    "19 sep 2016 18:29:60 +0230",
    "2016-09-19T18:29:47.123Z",
    "2016-02-30T00:00:00Z",
    "2016-09-19 18:29:47+02:00",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-00:01",
    "2016-09-19T24:00:00Z",
    "2016-9-1T1:1:1Z",
    "\x1b[2J",
    "\u202e",
    "\ud800",
    "\U0001f389",
    "\U000e0041",
    "\u200b",
    "a\tb\nc",
    "\x1f9",
    "\u2028",
    "__ansible_unsafe",
    "\u212a",
    [],
    {},
    ["web_0"],
    ["_web_0", "__web_1", "_"],
    ["web_0", "web_1"],
    ["web_1", "WEB_1", "web_0"],
    [1],
    [[]],
    {"__a": {"b": ["\x9b"]}},
    {"": 0},
]
NAMES = [
    "EventId",
    "EventType",
    "EventStatus",
    "Resources",
    "NotBefore",
    "EventSource",
    "ResourceType",
    "Description",
    "DurationInSeconds",
    "New",
    "__new",
    "eventid",
    "Unreadable",
    "UnreadableResources",
    "\x1bname",
    "",
]
BYTES = [
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xe2\x82",
    b"\xf0\x9f\x8e",
    b"\xed\xa0\x80",
    b"\xf4\x90",
    b"\\u0000",
    b"\\ud83d",
    b"\\ude00",
    b"NaN",
    b"1e999",
    b"-",
    b"01",
    b'"',
    b"{",
    b"]",
    b",",
    b"\xef\xbb\xbf",
    b"1.e3",
    b"2.50",
    b"-0",
    b"1E5",
]


def bodies() -> list[bytes]:
    """All fixtures: documents, what is none, and what wants to be executed."""
    files = [*sorted((FIXTURES / "documents").iterdir()), *sorted((FIXTURES / "not_documents").iterdir())]
    return [path.read_bytes() for path in (*files, FIXTURES / "hostile.json")]


def document_questions(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """The fixtures, and this number of broken ones, from this seed."""
    chance = random.Random(seed)
    originals = bodies()
    for body in originals:
        yield _about(body)
    yield _about(b"\xef\xbb\xbf" + originals[0])
    for depth in (30, 31, 32, 33, 34, 900, 100000):
        nested = b"[" * depth + b"]" * depth
        yield _about(b'{"DocumentIncarnation": 1, "Events": [{"EventId": "a", "New": %s}]}' % nested)
    parsed = [json.loads(body) for body in originals if body.startswith(b"{")]
    for _number in range(count):
        yield _about(_spoilt(chance, copy.deepcopy(chance.choice(parsed))))


def _about(body: bytes) -> dict[str, Any]:
    return {"ask": "document", "now": format_date(NOW), "body": _base64(body)}


def _spoilt(chance: random.Random, content: dict[str, Any]) -> bytes:
    """A document with a few values, names or bytes of it changed, and some events more than once."""
    events = content.get("Events")
    for _number in range(chance.randint(0, 4)):
        if isinstance(events, list) and events:
            event = chance.choice(events)
            if chance.random() < 0.3:
                twin = dict(event) if isinstance(event, dict) else event
                events.insert(chance.randint(0, len(events)), twin)
                event = twin
            if isinstance(event, dict):
                if chance.random() < 0.15:
                    event.pop(chance.choice(NAMES), None)
                else:
                    event[chance.choice(NAMES)] = _value(chance)
            if chance.random() < 0.05:
                events[chance.randrange(len(events))] = _value(chance)
    if chance.random() < 0.05:
        content[chance.choice(["DocumentIncarnation", "Events"])] = _value(chance)
    if chance.random() < 0.02:
        content.pop(chance.choice(list(content)))
    body = json.dumps(content, ensure_ascii=chance.random() < 0.5, allow_nan=False).encode("utf-8", "surrogatepass")
    if chance.random() < 0.3:
        at = chance.randint(0, len(body))
        body = body[:at] + chance.choice(BYTES) + body[at + chance.randint(0, 3) :]
    return body


def _value(chance: random.Random) -> Any:
    # What is changed later must not be part of another.
    return copy.deepcopy(chance.choice(VALUES))


HTTP = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: a\r\n b\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\nTrailer: x\r\n\r\n",
    b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 3\r\n\r\nlater",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 429 Too Many\xe9 \x85\r\nContent-Length: 2\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\n{}",
    b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabcdef",
    b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 101 + b"\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 103 Early\r\n\r\n" * 11,
    b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000,
    b"",
]
HTTP_BYTES = [
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b":",
    b"\x00",
    b"\x7f",
    b"9",
    b"-1",
    b"f",
    b"Content-Length: 4\r\n",
    b"chunked",
    b"HTTP/1.2",
    b"close",
    b"\xe9",
    b"Transfer-Encoding: gzip\r\n",
]


def http_questions(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Answers of servers, and this number of broken ones, each in a few pieces."""
    chance = random.Random(seed)
    answers = list(HTTP)
    for _number in range(count):
        answer = chance.choice(HTTP)
        for _change in range(chance.randint(1, 3)):
            at = chance.randint(0, len(answer))
            answer = (
                answer[:at] + chance.choice(HTTP_BYTES) * chance.randint(0, 2) + answer[at + chance.randint(0, 3) :]
            )
        answers.append(answer)
    for answer in answers:
        yield {"ask": "http", "largest": LARGEST, "pieces": [_base64(answer)] if answer else []}


def answer(question: dict[str, Any]) -> Any:
    """What the Python core makes of a question about a document or an HTTP answer."""
    try:
        return {"document": _of_document, "http": _of_http}[question["ask"]](question)
    except errors.ScheduledEventsError as error:
        return refusal(error)
    except OSError as error:
        return {"refused": str(error)}


def refusal(error: errors.ScheduledEventsError) -> dict[str, Any]:
    """An error as an answer."""
    told: dict[str, Any] = {"refused": "the answer is too large" if isinstance(error, errors.TooLarge) else str(error)}
    if isinstance(error, errors.ImdsError):
        told.update(attempts=error.attempts, outcome=error.last_outcome)
    return told


def _of_document(question: dict[str, Any]) -> dict[str, Any]:
    read = document.parse_document(base64.b64decode(question["body"]))
    scopes = {}
    for scope in approval.SCOPES:
        judged = approval.judge(read.events, approval.for_vm(VM), scope)
        remedy = (
            "Choose only events that hit this VM and no other; or, when all of their VMs are ready, set scope to"
            " leader or any"
        )
        scopes[scope] = [
            [event.event_id for event in judged.approve],
            [verdict.reason for verdict in judged.not_approved],
            approval.explain_refusal(judged.refused, "this VM is " + VM, remedy),
            [approval.describe_wait(wait) for wait in approval.waiting_terminates(judged.approve, read.events)],
        ]
    listed = [document.event_as_dict(event, VM, NOW) for event in read.events]
    again = [document.event_as_dict(document.event_from_dict(event, "as_seen"), VM, NOW) for event in listed]
    return {
        "incarnation": read.incarnation,
        "events": listed,
        "same": listed == again,
        "urgency": [event.event_id for event in in_order_of_urgency(read.events)],
        "scopes": scopes,
    }


def _of_http(question: dict[str, Any]) -> dict[str, Any]:
    client, server = socket.socketpair()
    with server:
        for piece in question["pieces"]:
            server.sendall(base64.b64decode(piece))
        server.shutdown(socket.SHUT_WR)
        connection = HttpConnection("127.0.0.1", 80)
        # What is asked for is not looked at: here only the answer matters.
        connection._stream = _StreamOfPair(client)
        try:
            told = connection.exchange(b"?", Deadline(30), question["largest"])
            return {
                "status": told.status,
                "reason": told.reason,
                "headers": dict(told.headers),
                "body": _base64(told.body),
                "kept": connection.is_open,
            }
        finally:
            connection.close()


class _StreamOfPair(_Stream):
    """Over a pair of local sockets, which have no option of TCP's."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(_WithoutOptions(connection))  # type: ignore[arg-type]


class _WithoutOptions:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def setsockopt(self, *_arguments: Any) -> None:
        """Leave it as it is."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def comparable(value: Any) -> Any:
    """An answer without what may differ: how a value that cannot be read is quoted, and Python's own words."""
    if isinstance(value, dict):
        return {
            name: "quoted" if name.startswith(UNREADABLE) and name != UNREADABLE else comparable(child)
            for name, child in value.items()
        }
    if isinstance(value, list):
        return [comparable(child) for child in value]
    if isinstance(value, str):
        return OWN_WORDS.sub(r"\1", value)
    if isinstance(value, int) and abs(value) >= LARGEST_INTEGER:
        return float(value)
    return value


def differences(questions: list[dict[str, Any]], expected: list[Any], found: list[Any]) -> list[str]:
    """Each question that the two answered differently, with both answers."""
    assert len(questions) == len(expected) == len(found)
    return [
        f"{json.dumps(question)}\n  Python: {json.dumps(comparable(python))}"
        f"\n  C#:     {json.dumps(comparable(csharp))}"
        for question, python, csharp in zip(questions, expected, found, strict=True)
        if comparable(python) != comparable(csharp)
    ]


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
