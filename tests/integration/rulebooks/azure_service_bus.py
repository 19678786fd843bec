# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the source of azure.azcollection: its queue is a directory, and its messages are the files in that.

It hands on what that source does: the body, read as JSON, and the id of the message.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Hand on each message once, until cancelled."""
    if not args["conn_str"].startswith("Endpoint=sb://"):
        raise ValueError("conn_str: no connection string of Service Bus")
    handed_on = set()
    while True:
        for message in sorted(Path(args["queue_name"]).glob("*.json")):
            if message.name not in handed_on:
                handed_on.add(message.name)
                await queue.put({"body": json.loads(message.read_text()), "meta": {"message_id": message.stem}})
        await asyncio.sleep(0.2)
