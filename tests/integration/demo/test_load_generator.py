# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as a lost request, against a server that does one thing to every connection."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import journal
import pytest
from load_generator import KEPT, SHORT, Load

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST_ANSWER = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
TIMEOUT = 0.5

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Outcome:
    """What a load generator wrote down."""

    def __init__(self, log: Path) -> None:
        entries = journal.Reader(log).read()
        seconds = [entry for entry in entries if entry["what"] == "second"]
        self.sent = {kind: sum(second["sent"][kind] for second in seconds) for kind in (SHORT, KEPT)}
        self.lost = {kind: sum(second["lost"][kind] for second in seconds) for kind in (SHORT, KEPT)}
        self.reasons = {entry["connection"]: entry["reason"] for entry in entries if entry["what"] == "lost"}
        self.connections = 0


def _load(
    behaviour: Behaviour | None, log: Path, requests: int = 3, answer: re.Pattern[bytes] | None = None
) -> Outcome:
    """Send to a server that behaves so (None: to nobody) until so many requests of each kind are over."""

    async def run() -> int:
        connections = 0
        writers = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            writers.append(writer)
            assert behaviour is not None
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await behaviour(reader, writer)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        if behaviour is None:
            server.close()
            await server.wait_closed()
        load = Load("127.0.0.1", port, TIMEOUT, log, answer)
        running = asyncio.create_task(load.run(short_rate=20, clients=1, kept_rate=20))
        while min(load._sent.values()) < requests and not journal.Reader(log).read():
            await asyncio.sleep(0.01)
        load.stop()
        await running
        for writer in writers:
            writer.close()
        server.close()
        return connections

    connections = asyncio.run(run())
    outcome = Outcome(log)
    outcome.connections = connections
    return outcome


async def _request(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b"\r\n\r\n")


async def _answer_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await _request(reader):
        writer.write(ANSWER)


async def _answer_and_say_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(LAST_ANSWER)


async def _answer_and_hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(ANSWER)
    writer.close()


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.close()


async def _cut_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(ANSWER[:-1])
    writer.close()


async def _reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    await reader.read()
    writer.close()


async def _stop_the_computer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await _request(reader):
        # Those who ask are of the same process: nobody's time goes on meanwhile.
        time.sleep(1.5 * TIMEOUT)
        writer.write(ANSWER)


async def _be_unavailable(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")


async def _speak_otherwise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _request(reader)
    writer.write(b"220 mail.example.com\r\n\r\n")


def test_given_answers_when_loaded_then_nothing_is_lost_and_kept_connections_are_kept(tmp_path: Path) -> None:
    outcome = _load(_answer_for_ever, tmp_path / "log")
    assert min(outcome.sent.values()) >= 3
    assert outcome.lost == {SHORT: 0, KEPT: 0}
    assert outcome.connections == outcome.sent[SHORT] + 1


def test_given_a_computer_that_stands_still_for_longer_than_the_time_limit_when_loaded_then_nothing_is_lost(
    tmp_path: Path,
) -> None:
    outcome = _load(_stop_the_computer, tmp_path / "log", requests=2)
    assert min(outcome.sent.values()) >= 2
    assert outcome.lost == {SHORT: 0, KEPT: 0}


@pytest.mark.parametrize("behaviour", [_answer_and_say_close, _answer_and_hang_up])
def test_given_a_connection_that_ends_after_an_answer_when_loaded_then_another_is_opened_and_nothing_is_lost(
    behaviour: Behaviour, tmp_path: Path
) -> None:
    outcome = _load(behaviour, tmp_path / "log")
    assert outcome.lost == {SHORT: 0, KEPT: 0}
    assert outcome.connections == outcome.sent[SHORT] + outcome.sent[KEPT]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (None, "refused"),
        (_hang_up, "closed without a response"),
        (_cut_off, "cut off in its response"),
        (_reset, "reset"),
        (_stay_silent, f"no response within {TIMEOUT:g} s"),
        (_be_unavailable, "status 503"),
        (_speak_otherwise, "no HTTP"),
    ],
)
def test_given_a_server_that_fails_when_loaded_then_every_request_is_lost_and_the_reason_is_reported(
    behaviour: Behaviour | None, reason: str, tmp_path: Path
) -> None:
    outcome = _load(behaviour, tmp_path / "log")
    assert min(outcome.sent.values()) >= 1
    assert outcome.lost == outcome.sent
    assert outcome.reasons == {SHORT: reason, KEPT: reason}


@pytest.mark.parametrize(
    ("expected", "lost"), [(rb"ok|fine", {}), (rb"o", dict.fromkeys((SHORT, KEPT), "another answer"))]
)
def test_given_the_answer_expected_when_loaded_then_what_is_not_wholly_that_is_lost(
    expected: bytes, lost: dict[str, str], tmp_path: Path
) -> None:
    assert _load(_answer_for_ever, tmp_path / "log", answer=re.compile(expected)).reasons == lost


def test_given_a_rate_when_loaded_then_no_more_than_that_is_sent(tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # When a client leaves, Python 3.11.2 reports it only at the end, and closes nothing.
        with contextlib.suppress(asyncio.IncompleteReadError):
            await _answer_for_ever(reader, writer)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        load = Load("127.0.0.1", server.sockets[0].getsockname()[1], TIMEOUT, tmp_path / "log")
        asyncio.get_running_loop().call_later(1.0, load.stop)
        await load.run(short_rate=10, clients=2, kept_rate=10)
        server.close()

    asyncio.run(run())
    sent = Outcome(tmp_path / "log").sent
    # On a machine that is busy there may be fewer.
    assert 1 <= sent[SHORT] <= 12
    assert 1 <= sent[KEPT] <= 12
