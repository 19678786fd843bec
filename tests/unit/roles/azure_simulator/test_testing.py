# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator inside a test, and how it begins and ends."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest
from azure_simulator import server
from azure_simulator.reading import Invalid
from azure_simulator.testing import Simulator

FLEET: dict[str, Any] = {"vms": [{"name": "a{0..2}", "address": "127.0.76.0/29"}]}


def test_given_no_ports_when_started_then_all_are_free_ones_and_imds_has_one_for_all() -> None:
    with Simulator(FLEET) as one, Simulator(FLEET) as other:
        assert one.control != other.control
        assert len({url.rsplit(":", 1)[1] for url in one.imds.values()}) == 1
        assert [url.rsplit(":", 1)[0] for url in one.imds.values()] == [f"http://127.0.76.{n}" for n in (1, 2, 3)]


def test_given_a_config_when_used_then_it_is_left_as_it_was() -> None:
    config = {"vms": [dict(FLEET["vms"][0])]}
    with Simulator(config):
        assert config == FLEET


def test_given_a_wrong_config_when_made_then_it_is_refused_before_anything_listens() -> None:
    threads = threading.active_count()
    with pytest.raises(Invalid):
        Simulator({})
    assert threading.active_count() == threads


def test_given_an_address_in_use_when_started_then_the_error_names_it_and_nothing_is_left() -> None:
    with socket.create_server(("127.0.76.1", 0)) as taken:
        port = taken.getsockname()[1]
        threads = threading.active_count()
        with pytest.raises(OSError, match=rf"imds: cannot listen on 127\.0\.76\.1:{port}: Address already in use"):
            Simulator({**FLEET, "imds": {"port": port}}).__enter__()
    with Simulator({**FLEET, "imds": {"port": port}}):
        pass
    assert threading.active_count() == threads


def test_given_a_balancers_address_in_use_when_started_then_what_listened_already_is_free_again() -> None:
    with socket.create_server(("127.0.76.9", 0)) as taken:
        port = taken.getsockname()[1]
        with socket.create_server(("127.0.76.1", 0)) as free:
            imds_port = free.getsockname()[1]
        config = {
            **FLEET,
            "imds": {"port": imds_port},
            "load_balancers": [
                {"name": "front", "listen": f"127.0.76.9:{port}", "members": [{"vm": "a0", "port": 9}]},
            ],
        }
        with pytest.raises(OSError, match="load balancer front: cannot listen on"):
            Simulator(config).__enter__()
        with Simulator({**FLEET, "imds": {"port": imds_port}}):
            pass


def test_given_a_free_port_that_is_not_free_everywhere_when_started_then_another_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bind = server._bind
    refused: list[int] = []

    def bind_but_refuse_once(address: str, port: int) -> socket.socket:
        if address == "127.0.76.2" and not refused:
            refused.append(port)
            raise OSError(98, "Address already in use")
        return bind(address, port)

    monkeypatch.setattr(server, "_bind", bind_but_refuse_once)
    with Simulator(FLEET) as azure:
        assert len({url.rsplit(":", 1)[1] for url in azure.imds.values()}) == 1
    assert refused


def test_given_a_simulator_that_is_not_running_when_called_then_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="use it in a with statement"):
        Simulator(FLEET).status()
