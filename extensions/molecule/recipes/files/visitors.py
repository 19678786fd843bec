# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""visitors.py MACHINE PATH - what comes to a web server by way of a balancer, until its probe and all connections end.

A download of PATH; four clients that keep their connection and ask for "/" ten times a second; and one that asks on a
connection of its own each time. As a balancer does, new connections are opened for as long as /readyz, probed once a
second, has not failed twice in a row. Prints as JSON what became of each.
"""

import http.client
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

SECONDS_FOR_AN_ANSWER = 60
SECONDS_IN_ALL = 150


class Visit:
    """What all of them share."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self.began = time.monotonic()
        self.is_open = True
        self.story: dict[str, Any] = {"answered": 0, "answered_while_out": 0, "closed_between": 0, "cut_off": []}
        self._lock = threading.Lock()

    def now(self) -> float:
        return round(time.monotonic() - self.began, 2)

    def count(self, what: str) -> None:
        with self._lock:
            self.story[what] += 1

    def note_cut_off(self, who: str, error: Exception) -> None:
        with self._lock:
            self.story["cut_off"].append("%s, after %s s: %r" % (who, self.now(), error))

    def ask(self, connection: http.client.HTTPConnection, path: str) -> int:
        """The length of the answer."""
        connection.request("GET", path)
        answer = connection.getresponse()
        length = len(answer.read())
        if answer.status != 200:
            raise http.client.HTTPException("status %d" % answer.status)
        self.count("answered" if self.is_open else "answered_while_out")
        return length

    def connect(self, port: int = 80, timeout: float = SECONDS_FOR_AN_ANSWER) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.machine, port, timeout=timeout)


def probe(visit: Visit) -> None:
    failures = 0
    while failures < 2:
        connection = visit.connect(9797, 5)
        status: int | str
        try:
            connection.request("GET", "/readyz")
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            status = repr(error)
        finally:
            connection.close()
        if status != 200:
            failures += 1
            visit.story.setdefault("probe", []).append(status)
        else:
            failures = 0
        time.sleep(1)
    visit.is_open = False
    visit.story["out"] = time.time()


def download(visit: Visit, path: str) -> None:
    connection = visit.connect()
    try:
        visit.story["downloaded"] = visit.ask(connection, path)
    except (OSError, http.client.HTTPException) as error:
        visit.note_cut_off("download", error)
    finally:
        connection.close()
        visit.story["download_ended"] = time.time()


def keep(visit: Visit) -> None:
    """Ask on one connection, and on the next when the server closes it."""
    connection, asked = visit.connect(), 0
    while visit.now() < SECONDS_IN_ALL:
        try:
            visit.ask(connection, "/")
            asked += 1
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError) as error:
            # Without a byte of an answer on a connection that was used before: clients ask again, on another one.
            if not asked:
                visit.note_cut_off("kept connection", error)
            visit.count("closed_between")
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            visit.note_cut_off("kept connection", error)
            connection.close()
        if connection.sock is None:
            if not visit.is_open:
                break
            connection, asked = visit.connect(), 0
        time.sleep(0.1)
    connection.close()
    visit.story["last_kept_ended"] = time.time()


def come_anew(visit: Visit) -> None:
    while visit.is_open and visit.now() < SECONDS_IN_ALL:
        connection = visit.connect()
        try:
            visit.ask(connection, "/")
        except (OSError, http.client.HTTPException) as error:
            visit.note_cut_off("new connection", error)
        finally:
            connection.close()
        time.sleep(0.1)


def main() -> None:
    machine, path = sys.argv[1:]
    visit = Visit(machine)
    parts: list[tuple[Callable[..., None], list[str]]] = [(probe, []), (download, [path]), (come_anew, [])]
    parts += [(keep, [])] * 4
    threads = [threading.Thread(target=part, args=(visit, *rest), daemon=True) for part, rest in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(1, SECONDS_IN_ALL + 10 - visit.now()))
    visit.story["unfinished"] = [thread.name for thread in threads if thread.is_alive()]
    sys.stdout.write(json.dumps(visit.story))


main()
