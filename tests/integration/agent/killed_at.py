# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the agent's program, and kills it with SIGKILL at the point that the environment names.

usage: FOGHORN_KILL_AT=KIND:NUMBER:SIDE killed_at.py PROGRAM ARGUMENT...

KIND is `fsync`, `GET` or `POST`; the process dies `before` or `after` the call of that number, which counts from 1.
Without FOGHORN_KILL_AT it only runs the program.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

program = sys.argv.pop(1)
sys.path.insert(0, program)
# As the program does it.
sys.modules["ssl"] = None  # type: ignore[assignment]

from foghorn_agent import cli  # noqa: E402 - found on the path set above
from foghorn_core.scheduled_events.client import ImdsClient  # noqa: E402

kind, number, side = (os.environ.get("FOGHORN_KILL_AT") or "nothing:0:before").split(":")
calls = {"fsync": 0, "GET": 0, "POST": 0}


def killing(function: Callable[..., Any], kind_of: Callable[..., str]) -> Callable[..., Any]:
    """Die before or after the call that was chosen."""

    def call(*arguments: Any) -> Any:
        this = kind_of(*arguments)
        calls[this] += 1
        is_chosen = (this, calls[this]) == (kind, int(number))
        if is_chosen and side == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return function(*arguments)
        finally:
            if is_chosen:
                os.kill(os.getpid(), signal.SIGKILL)

    return call


os.fsync = killing(os.fsync, lambda _descriptor: "fsync")
ImdsClient._exchange = killing(  # type: ignore[method-assign]
    ImdsClient._exchange, lambda _client, request, *_rest: request.partition(b" ")[0].decode("ascii")
)

sys.exit(cli.main())
