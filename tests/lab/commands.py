# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telling a running lab what to do: one line of JSON to its socket, one back."""

import json
import os
import socket
from pathlib import Path
from typing import Any

RUN = Path("/run/foghorn-lab")


class CommandError(Exception):
    """The lab did not do it; the message says why."""


def chosen_lab() -> str:
    """The name of the lab that is meant: two labs with different names may run side by side."""
    return os.environ.get("LAB") or "foghorn"


def directory_of(lab: str) -> Path:
    """Where a lab keeps its socket, its keys and what its hosts are made of."""
    return RUN / lab


def ssh_connections_of(lab: str) -> Path:
    """Where ssh keeps the connections to a lab's hosts, by their names."""
    return directory_of(lab) / "hosts" / "ssh"


def ask(lab: str, request: dict[str, Any]) -> Any:
    """Have a lab do what `request` says, and return its answer. Raises CommandError."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(directory_of(lab) / "socket"))
        except (FileNotFoundError, ConnectionRefusedError):
            raise CommandError(
                f"no lab named {lab} is running: `make lab` runs one with its scenarios, `make lab-shell` an empty one"
            ) from None
        with connection.makefile("rw", encoding="utf-8") as stream:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            line = stream.readline()
    if not line:
        raise CommandError(f"the lab {lab} ended meanwhile")
    answer = json.loads(line)
    if "error" in answer:
        raise CommandError(answer["error"])
    return answer["result"]
