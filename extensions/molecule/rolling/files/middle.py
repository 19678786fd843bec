# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens while the first machines wait for the one with the downloads: both balancers are reloaded.

It waits until each of them has the machine with its download draining, and the others of its turn and backend, whose
number is the argument, out of rotation. The downloads may come to their end when it is done.
"""

import csv
import subprocess
import sys
import time
import urllib.request

BALANCERS = ("balancer", "balancer-2")
PERIOD = 0.5  # seconds


def is_reached(balancer: str, others: int) -> bool:
    """Whether the balancer's own statistics say so. One that is too busy to answer is asked again."""
    try:
        with urllib.request.urlopen(f"http://{balancer}:8404/;csv", timeout=30) as answer:
            rows = list(csv.DictReader(answer.read().decode().removeprefix("# ").splitlines()))
    except OSError:
        return False
    states = {(row["pxname"], row["svname"]): row["status"] for row in rows}
    out = sum(backend == "web" and status == "MAINT" for (backend, _server), status in states.items())
    return states["long", "web1"].startswith("DRAIN") and out == others


def run(host: str, *command: str) -> None:
    """Run a command on a machine of the lab."""
    subprocess.run([sys.executable, "-m", "tests.lab", "exec", host, *command], check=True)


def main() -> None:
    others = int(sys.argv[1])
    for balancer in BALANCERS:
        while not is_reached(balancer, others):
            time.sleep(PERIOD)
    for balancer in BALANCERS:
        run(balancer, "systemctl", "reload", "haproxy.service")
    run("web1", "rm", "/run/hold-long")


main()
