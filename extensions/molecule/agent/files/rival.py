# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another user of the machine, who wants the agent's port, and beside it a balancer that probes, until a file is there.

    python3 rival.py FILE PORT

Says at the end how often the port was had, and how the probes fared.
"""

import collections
import json
import os
import socket
import sys
import threading
import time


def main() -> None:
    end, port = sys.argv[1], int(sys.argv[2])
    taken: collections.Counter[str] = collections.Counter()
    thief = threading.Thread(target=steal, args=(port, end, taken))
    thief.start()
    answers: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    while not os.path.exists(end):
        began = time.monotonic()
        answers[probe(port)] += 1
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.02)
    thief.join()
    print(json.dumps({"taken": taken, "answers": answers, "slowest": slowest}))


def steal(port: int, end: str, taken: "collections.Counter[str]") -> None:
    while not os.path.exists(end):
        for host in ("127.0.0.1", "0.0.0.0"):
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    sock.bind((host, port))
                    sock.listen()
                    taken["taken"] += 1
                except OSError:
                    taken["refused"] += 1
        time.sleep(0.0005)


def probe(port: int) -> str:
    try:
        with socket.create_connection(("127.0.0.1", port), 20) as sock:
            sock.settimeout(20)
            sock.sendall(b"GET /readyz HTTP/1.1\r\n\r\n")
            return sock.recv(4096).split(b"\r\n")[0].decode("ascii")
    except OSError as error:
        return type(error).__name__


if __name__ == "__main__":
    main()
