# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long do 20,000 announcements take, through the source and then through the filter?

The source asks 200 agents over HTTP, each of which tells of 100 events of its own. The filter gets as many deliveries
of Event Grid, and each of them a second time. Fails when both together take more than LIMIT times the processor time of
`json` writing and reading the same documents, the fake agents included. Only loopback addresses are used.
"""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / ".cache/collections/ansible_collections/foghorn/azure_events/extensions/eda/plugins"
AGENTS = 200
EVENTS = 100
LIMIT = 26.0
ROUNDS = 5

RESOURCE = "/subscriptions/0/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/web"


def event_id(number: int) -> str:
    """An event's id, as Azure makes them."""
    return "%08X-0000-4000-8000-000000000000" % number


def statuses() -> dict[str, bytes]:
    """What each agent answers, by its path."""
    found = {}
    for agent in range(AGENTS):
        events = [
            {
                "event_id": event_id(agent * EVENTS + number),
                "event_type": "Reboot",
                "event_status": "Scheduled",
                "event_source": "Platform",
                "resource_type": "VirtualMachine",
                "resources": ["web_%d" % agent],
                "description": "Virtual machine is going to be restarted as requested by authorized user.",
                "duration_in_seconds": 9,
                "not_before": "2026-11-22T12:15:00Z",
                "seconds_until_start": 900,
                "affects_this_vm": True,
                "shared": False,
                "leader": "web_%d" % agent,
                "this_vm_leads": True,
                "phase": "seen",
            }
            for number in range(EVENTS)
        ]
        found["/%d/status" % agent] = json.dumps({"vm_name": "web_%d" % agent, "events": events}).encode()
    return found


def deliveries() -> list[dict[str, Any]]:
    """What Event Grid delivers through Service Bus."""
    return [
        {
            "body": {
                "id": str(number),
                "eventType": "Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted",
                "subject": RESOURCE,
                "data": {
                    "resourceInfo": {
                        "id": "%s/providers/Microsoft.Maintenance/scheduledevents/%s" % (RESOURCE, event_id(number)),
                        "properties": {
                            "EventId": event_id(number),
                            "EventType": "Reboot",
                            "EventStatus": "Scheduled",
                            "EventSource": "Platform",
                            "ResourceType": "VirtualMachine",
                            "Resources": ["web_%d" % number],
                            "NotBefore": "Sun, 22 Nov 2026 12:15:00 GMT",
                            "Description": "Host maintenance",
                            "DurationInSeconds": 9,
                        },
                    }
                },
            },
            "meta": {"message_id": str(number)},
        }
        for number in range(AGENTS * EVENTS)
    ]


def time_source(url: str) -> float:
    """Seconds of work from the start of the source to the last event."""
    main = runpy.run_path(str(PLUGINS / "event_source" / "scheduled_events.py"))["main"]

    async def run() -> float:
        queue: asyncio.Queue[Any] = asyncio.Queue(1)
        began = time.process_time()
        task = asyncio.create_task(main(queue, {"agents": {"web_%d" % n: "%s/%d" % (url, n) for n in range(AGENTS)}}))
        for _number in range(AGENTS * EVENTS):
            await asyncio.wait_for(queue.get(), 120)
        took = time.process_time() - began
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return took

    return asyncio.run(run())


def time_filter() -> float:
    """Seconds of work for all deliveries, each of which comes twice."""
    main = runpy.run_path(str(PLUGINS / "event_filter" / "azure_maintenance_event.py"))["main"]
    events = deliveries()
    began = time.process_time()
    # What came before is given as an empty list, and what is new by itself.
    passed = sum(1 for event in events + events if main(event))
    took = time.process_time() - began
    assert passed == AGENTS * EVENTS, passed
    return took


def time_json() -> float:
    """Seconds of work for all that comes, written and read by `json` and nothing else: the least of some rounds."""
    documents = [*map(json.loads, statuses().values()), *deliveries()]
    taken = []
    for _round in range(ROUNDS):
        began = time.process_time()
        for document in documents:
            json.loads(json.dumps(document))
        taken.append(time.process_time() - began)
    return min(taken)


class Agents(BaseHTTPRequestHandler):
    """All agents, each at a path of its own."""

    answers = statuses()

    def do_GET(self) -> None:
        body = self.answers[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


def main() -> int:
    with ThreadingHTTPServer(("127.0.0.1", 0), Agents) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        source = time_source("http://127.0.0.1:%d" % server.server_port)
        server.shutdown()
    filtered = time_filter()
    bare = time_json()
    share = (source + filtered) / bare
    print(
        "%d events: source %.2f s, filter %.2f s for %d deliveries, json alone %.2f s: %.1f times that, at most %g"
        % (AGENTS * EVENTS, source, filtered, 2 * AGENTS * EVENTS, bare, share, LIMIT)
    )
    return int(share > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
