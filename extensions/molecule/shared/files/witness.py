# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by the simulator in the instant before an event hits a machine: prints what the balancer says of it, as JSON."""

import csv
import json
import os
import time
import urllib.request

for _attempt in range(20):
    with urllib.request.urlopen("http://balancer:8404/;csv", timeout=30) as answer:
        table = answer.read().decode().removeprefix("# ").splitlines()
    server = next(row for row in csv.DictReader(table) if row["svname"] == os.environ["FOGHORN_VM"])
    # While it asks, it does not say what the answer was.
    if not server["check_status"].startswith("*"):
        break
    time.sleep(0.1)
print(json.dumps({name: server[name] for name in ("status", "check_status", "check_code", "chkdown", "scur")}))
