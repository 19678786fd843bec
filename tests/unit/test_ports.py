# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports that tests give to servers: can another take one before the server does?"""

import socket
from pathlib import Path

import pytest

from tests.ports import ADDRESS, free_ports


def test_given_ports_when_taken_then_no_client_could_have_had_one() -> None:
    first_of_clients = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    if first_of_clients < 20000:
        pytest.skip("clients may have any port here")

    ports = free_ports(3)

    assert len(set(ports)) == 3
    assert max(ports) < first_of_clients


def test_given_a_port_that_is_taken_when_others_are_asked_for_then_it_is_not_among_them() -> None:
    with socket.create_server((ADDRESS, free_ports(1)[0])) as server:
        assert server.getsockname()[1] not in free_ports(1000)
