# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by the simulator in the instant before an event hits a machine: prints as JSON how it is just then.

Said by both balancers, and by the machine's disk: which of its services have been stopped, and in which order. Its
argument is the directory of the lab's machines.
"""

import csv
import json
import os
import sys
import urllib.request
from pathlib import Path

# As Azure calls it, which is not what the inventory does.
name = os.environ["FOGHORN_VM"].replace("shop_", "web")
said = {}
for balancer in ("balancer", "balancer-2"):
    with urllib.request.urlopen(f"http://{balancer}:8404/;csv", timeout=30) as answer:
        table = answer.read().decode().removeprefix("# ").splitlines()
    # In each backend.
    servers = [row for row in csv.DictReader(table) if row["svname"] == name]
    said[balancer] = [{column: row[column] for column in ("pxname", "status", "scur", "qcur")} for row in servers]
stops = Path(sys.argv[1], name, "disk/var/log/stops")
stopped = stops.read_text().split() if stops.exists() else []
print(json.dumps({"machine": name, "balancers": said, "stopped": stopped}))
