# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A HAProxy of the demo's own before its web servers, and what it says of them."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import socket
import string
from pathlib import Path
from typing import NamedTuple

from service import free_port

ADDRESS = "127.0.0.1"
NOT_INSTALLED = "HAProxy is not installed here: install it (package haproxy), or run the demo without BALANCER=haproxy"

_CONFIGURATION = Path(__file__).with_name("haproxy.cfg")
# Distributions install it here, which is not on every PATH.
_SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"
_PATIENCE = 10.0  # seconds that it may take to answer


class Standing(NamedTuple):
    """How HAProxy has a server."""

    serves: bool
    """It gets new requests."""
    drained: bool
    """It was told to take no new requests."""


def find_program() -> str | None:
    """Where HAProxy is; None: not installed."""
    return shutil.which("haproxy", path=os.pathsep.join([os.environ.get("PATH", ""), _SYSTEM_PATH]))


class Haproxy:
    """Its configuration in a directory, and its runtime API. Who runs the `command` there has it."""

    def __init__(self, program: str, directory: Path, web_port: int) -> None:
        self.directory = directory
        self.port = free_port(ADDRESS)
        self.socket = directory / "admin.sock"
        self.command = [program, "-db", "-f", "haproxy.cfg"]
        directory.mkdir()
        template = string.Template(_CONFIGURATION.read_text(encoding="utf-8"))
        text = template.substitute(front_port=self.port, port=web_port)
        (directory / "haproxy.cfg").write_text(text, encoding="utf-8")

    def standings(self) -> dict[str, Standing]:
        """Return how each server stands; nothing while HAProxy does not answer."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(str(self.socket))
            connection.sendall(b"show stat\n")
            parts = list(iter(lambda: connection.recv(65536), b""))
            return read_standings(b"".join(parts).decode())
        return {}


def read_standings(statistics: str) -> dict[str, Standing]:
    """Read what `show stat` says of the servers of the backend web."""
    rows = csv.DictReader(statistics.removeprefix("# ").splitlines())
    return {
        row["svname"]: Standing(row["status"].startswith("UP"), row["status"].startswith(("DRAIN", "MAINT")))
        for row in rows
        if row["pxname"] == "web" and row["svname"] != "BACKEND"
    }
