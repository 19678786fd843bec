# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the sockets taken that the service manager hands over, and no others?

Runs on Python 3.6 and later.
"""

import subprocess
import sys
from typing import Dict

import pytest
from edge_helpers import PATIENCE, environment_of_agent
from foghorn_agent.platform.posix.listening import inherited_sockets

# As systemd does it: the descriptors from 3 on, and in the environment how many there are and for whom.
CHILD = """
import os, socket

held = [socket.socket(family) for family in (socket.AF_INET, socket.AF_INET6)]
for one, host in zip(held, ("127.0.0.1", "::1")):
    one.bind((host, 0))
    one.listen(5)
deaf = socket.socket()
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
local = socket.socket(socket.AF_UNIX)
file = open("/dev/null")
things = [*held, deaf, datagrams, local, file]
copies = [os.dup(thing.fileno()) for thing in things]
from foghorn_agent.http.endpoint import is_at
from foghorn_agent.platform.posix.listening import inherited_sockets
for number, copy in enumerate(copies, 3):
    os.dup2(copy, number)
environment = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(things))}
sockets = inherited_sockets(environment)
print([one.fileno() for one in sockets])
print([one.family.name for one in sockets])
print([os.get_inheritable(one.fileno()) for one in sockets])
print([one.getsockname()[0] for one in sockets])
address = sockets[0].getsockname()
others = [("127.0.0.1", address[1]), ("127.0.0.1", 1), ("::1", address[1])]
print([is_at(sockets[0], other) for other in others])
os._exit(0)
"""


def test_given_sockets_and_other_things_when_taken_then_only_those_that_listen_for_tcp_are() -> None:
    run = subprocess.run(
        [sys.executable, "-u", "-c", CHILD],
        env=environment_of_agent(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    said = run.stdout.decode("ascii").splitlines()
    assert said[0] == "[3, 4]"
    assert said[1] == "['AF_INET', 'AF_INET6']"
    assert said[2] == "[False, False]"
    assert said[3] == "['127.0.0.1', '::1']"
    assert said[4] == "[True, False, False]"


@pytest.mark.parametrize(
    "environment", [{}, {"LISTEN_PID": "1", "LISTEN_FDS": "1"}, {"LISTEN_FDS": "1"}, {"LISTEN_PID": "me"}]
)
def test_given_sockets_for_no_process_or_another_when_taken_then_there_are_none(
    environment: Dict[str, str],
) -> None:
    assert inherited_sockets(environment) == []


@pytest.mark.parametrize("count", ["", "some", "0", "-1"])
def test_given_no_valid_number_when_taken_then_there_is_none(count: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getpid", lambda: 42)
    assert inherited_sockets({"LISTEN_PID": "42", "LISTEN_FDS": count}) == []
