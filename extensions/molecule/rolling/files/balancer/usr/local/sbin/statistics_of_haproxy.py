# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write down again and again what HAProxy's own statistics say, by its socket, as lines of JSON.

`up`: the servers of the backends web and app that are in service. What went wrong is summed over all backends. `at`: a
moment at which it had been said.
"""

import csv
import json
import socket
import time
from typing import Any

SOCKET = "/run/haproxy/admin.sock"
PERIOD = 0.25  # seconds
WRONG = ("econ", "eresp", "wretr", "wredis", "cli_abrt", "srv_abrt", "hrsp_5xx")


def ask(command: str) -> str:
    """Return the answer to a command. Raises OSError where it is not whole."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(SOCKET)
        connection.sendall(f"{command}\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    if not answer.endswith("\n\n"):
        raise OSError(f"cut off after {len(answer)} characters")
    return answer


def look() -> "dict[str, Any]":
    """Return what is written down."""
    rows = list(csv.DictReader(ask("show stat").removeprefix("# ").splitlines()))
    servers = [row for row in rows if row["pxname"] in ("web", "app") and row["svname"] not in ("FRONTEND", "BACKEND")]
    backends = [row for row in rows if row["svname"] == "BACKEND"]
    return {
        "up": [row["svname"] for row in servers if row["status"].startswith("UP")],
        **{column: sum(int(row[column] or 0) for row in backends) for column in WRONG},
    }


def main() -> None:
    """Look until the process is ended. A HAProxy that is being replaced may not answer for a moment."""
    while True:
        try:
            print(json.dumps({**look(), "at": time.time()}), flush=True)
        except OSError as error:
            print(json.dumps({"at": time.time(), "missed": str(error)}), flush=True)
        time.sleep(PERIOD)


main()
