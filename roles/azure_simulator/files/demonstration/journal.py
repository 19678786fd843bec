# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of JSON lines that several processes write to and one reads as it grows."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any


def write(path: Path, **entry: Any) -> None:
    """Append one entry; ``at`` (epoch seconds) is now unless it is given."""
    line = json.dumps({"at": round(time.time(), 3)} | entry) + "\n"
    # A single write in append mode: lines of different processes never mix.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class Reader:
    """Reads what was written since it read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the new entries, none while the file does not exist."""
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                content = stream.read()
        except FileNotFoundError:
            return []
        complete = content[: content.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [json.loads(line) for line in complete.splitlines()]
