# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Announces an event for each of some machines, all at the same moment: announce.py CONTROL EVENT MACHINE…

EVENT is what POST events takes, as JSON, but for the resources. Prints the ids of the events as a JSON list.
"""

import json
import sys
import urllib.request

control, event, *machines = sys.argv[1:]
ids = []
for machine in machines:
    body = json.dumps({**json.loads(event), "resources": [machine]}).encode()
    request = urllib.request.Request(f"{control}/events", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        ids.append(json.load(answer)["event_id"])
print(json.dumps(ids))
