# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer has its time, its size and its depth, and does not show what it was asked with."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from typing import Any, BinaryIO

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import Permission
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, OutOfTime

from .scripted_arm import COMPUTE, FakeTime, Step, dialogue, ok, refused

NEEDS = Permission("Microsoft.Compute/virtualMachines/read", "Reader")
VM = COMPUTE + "/virtualMachines/web_0"
PATIENCE = 30  # seconds: machines are slow
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def dripping(head: bytes, drop: bytes) -> Step:
    def write(stream: BinaryIO) -> None:
        stream.write(head)
        while True:
            stream.write(drop)
            stream.flush()
            time.sleep(0.05)

    return Step(write=write)


def endless(stream: BinaryIO) -> None:
    stream.write(HEAD + b"\r\n")
    while True:
        stream.write(b" " * 2**20)


class RealTime(FakeTime):
    """A clock that goes by itself."""

    def clock(self) -> float:
        return time.monotonic()


@pytest.mark.parametrize("step", [dripping(HEAD + b"\r\n", b" "), dripping(HEAD, b"X: x\r\n")], ids=["body", "headers"])
def test_given_an_answer_that_drips_when_time_is_over_then_it_is_not_waited_for(step: Step) -> None:
    with dialogue(step, timeout=1, time=RealTime()) as (_arm, client):
        began = time.monotonic()
        with pytest.raises(OutOfTime, match="was incomplete after 1 s"):
            client.get(VM, NEEDS)
        assert time.monotonic() - began < PATIENCE


def test_given_an_answer_without_end_then_no_more_is_read_than_azure_would_send() -> None:
    with dialogue(Step(write=endless)) as (_arm, client), pytest.raises(ArmError, match="it has more than 32 MiB"):
        client.get(VM, NEEDS)


@pytest.mark.parametrize("levels", [101, 100_000])
@pytest.mark.parametrize("status", [200, 400])
def test_given_json_that_is_nested_too_deeply_then_it_is_one_clear_error(levels: int, status: int) -> None:
    body = b'{"a":' + b"[" * levels + b"]" * levels + b"}"
    head = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    with (
        dialogue(Step(write=lambda stream: write(stream, head + body))) as (_arm, client),
        pytest.raises(ArmError, match="its JSON is nested too deeply"),
    ):
        client.get(VM, NEEDS)


def write(stream: BinaryIO, content: bytes) -> None:
    stream.write(content)


@pytest.mark.parametrize(
    "step",
    [
        refused(400, "Bearer token-of-the-test", "you sent token-of-the-test"),
        Step(400, "you sent Bearer token-of-the-test"),
        Step(400, "you sent " + b64encode(b"Authorization: Bearer token-of-the-test").decode()),
        ok(["token-of-the-test"]),
    ],
)
def test_given_an_answer_that_quotes_the_token_then_no_error_shows_it(step: Step) -> None:
    with dialogue(step) as (_arm, client), pytest.raises(ArmError) as error:
        client.get(VM, NEEDS)

    assert "token-of-the-test" not in str(error.value)
    assert b64encode(b"token-of-the-test").decode()[:20] not in str(error.value)
    assert "********" in str(error.value)


def test_given_an_answer_of_reasonable_depth_then_it_is_read() -> None:
    content: Any = {"a": json.loads("[" * 99 + "]" * 99)}
    with dialogue(ok(content)) as (_arm, client):
        assert client.get(VM, NEEDS) == content
