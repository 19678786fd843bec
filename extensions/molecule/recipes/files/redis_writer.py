# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""redis_writer.py PASSWORD UNTIL HOST HOST - writes one key after the other to whichever host takes it.

Ends when there is a file UNTIL, and prints as JSON how many writes were acknowledged, which of them each host does not
have then, and for how long none was taken.
"""

import json
import os
import socket
import sys
import time

SECONDS_FOR_AN_ANSWER = 5
SECONDS_IN_ALL = 240


class Refused(Exception):
    """The server answered with an error."""


class Server:
    """A connection that speaks as much of RESP as is needed."""

    def __init__(self, host: str, password: str) -> None:
        self._socket = socket.create_connection((host, 6379), SECONDS_FOR_AN_ANSWER)
        self._stream = self._socket.makefile("rb")
        self.ask("AUTH", password)

    def ask(self, *words: str) -> str | None:
        parts = "".join("$%d\r\n%s\r\n" % (len(word), word) for word in words)
        self._socket.sendall(("*%d\r\n%s" % (len(words), parts)).encode())
        line = self._stream.readline().decode().rstrip()
        if not line:
            raise ConnectionResetError
        if line.startswith("-"):
            raise Refused(line)
        if line.startswith("$"):
            length = int(line[1:])
            return None if length < 0 else self._stream.read(length + 2)[:-2].decode()
        return line[1:]

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def missing(host: str, password: str, written: int) -> list[int]:
    server = Server(host, password)
    lost = [number for number in range(written) if server.ask("GET", "key:%d" % number) != str(number)]
    server.close()
    return lost


def main() -> None:
    password, until, *hosts = sys.argv[1:]
    began = last = time.monotonic()
    written, pause = 0, 0.0
    refusals: set[str] = set()
    taken_by: list[str] = []
    server: Server | None = None
    while not os.path.exists(until) and time.monotonic() - began < SECONDS_IN_ALL:
        try:
            server = server or Server(hosts[0], password)
            server.ask("SET", "key:%d" % written, str(written))
        except (OSError, Refused) as error:
            refusals.add(str(error)[:60])
            if server:
                server.close()
            server, hosts = None, hosts[::-1]
            time.sleep(0.05)
            continue
        written += 1
        pause, last = max(pause, time.monotonic() - last), time.monotonic()
        if taken_by[-1:] != hosts[:1]:
            taken_by.append(hosts[0])
        time.sleep(0.005)
    if server:
        server.close()
    told = {
        "acknowledged": written,
        "lost": {host: missing(host, password, written) for host in hosts},
        "longest_pause": pause,
        "refusals": sorted(refusals),
        "taken_by": taken_by,
    }
    sys.stdout.write(json.dumps(told))


main()
