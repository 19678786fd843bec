# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world to act on, a simulator to ask, and a client that says exactly what came back."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from azure_simulator.clock import ManualClock
from azure_simulator.config import parse
from azure_simulator.testing import Simulator
from azure_simulator.world import World

START = 1_600_000_000.0
PATIENCE = 30.0

FLEET: dict[str, Any] = {
    "vms": [
        {"name": "web_0", "address": "127.0.77.10", "availability_set": "web"},
        {"name": "web_1", "address": "127.0.77.11", "availability_set": "web"},
        {"name": "db", "address": "127.0.77.20"},
    ]
}


class Answer(NamedTuple):
    """A response of the metadata service."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def make_world(**config: Any) -> World:
    """A world whose clock, which starts at 1 600 000 000, is moved by hand: ``make_world(vms=[…], imds={…})``."""
    return World(parse({**FLEET, **config}), ManualClock(START))


def pass_time(world: World, seconds: float) -> None:
    """Let simulated seconds go by in a world."""
    assert isinstance(world.clock, ManualClock)
    world.clock.move_to(world.clock.now() + seconds)
    world.sync()


@pytest.fixture
def simulate() -> Iterator[Callable[..., Simulator]]:
    """Start simulators that stop with the test; by default without a rate limit and with a manual clock."""
    with ExitStack() as running:

        def start(directory: Any = None, **config: Any) -> Simulator:
            whole = {**FLEET, "clock": {"manual": True}, **config}
            whole["imds"] = {"rate_limit": None, **config.get("imds", {})}
            return running.enter_context(Simulator(whole, directory))

        yield start


@pytest.fixture
def azure(simulate: Callable[..., Simulator]) -> Simulator:
    """One that is set up as it is by default."""
    return simulate()


def ask(
    url: str,
    path: str = "/metadata/scheduledevents?api-version=2020-07-01",
    method: str = "GET",
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    source: str | None = None,
) -> Answer:
    """One request to a VM's metadata service, with a connection of its own."""
    connection = http.client.HTTPConnection(
        url.removeprefix("http://"), timeout=PATIENCE, source_address=(source, 0) if source else None
    )
    try:
        connection.request(method, path, body, {"Metadata": "true"} if headers is None else dict(headers))
        response = connection.getresponse()
        return Answer(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


def approve(url: str, *event_ids: str) -> Answer:
    """POST StartRequests for event ids."""
    return ask(url, method="POST", body=json.dumps({"StartRequests": [{"EventId": i} for i in event_ids]}))


def eventually(what: Callable[[], Any]) -> None:
    """Wait until a condition is true; fail if it does not become true."""
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
