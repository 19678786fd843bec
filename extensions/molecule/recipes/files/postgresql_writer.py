# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""postgresql_writer.py PASSWORD UNTIL HOST HOST - commits one row after the other on whichever host takes it.

Ends when there is a file UNTIL, and prints as JSON how many rows were acknowledged, which of them each host does not
have then, for how long none was taken, and how often both hosts said that they were primaries.
"""

import json
import os
import subprocess
import sys
import time

SECONDS_FOR_AN_ANSWER = 20
SECONDS_IN_ALL = 240


def ask(where: str, statement: str) -> str:
    """What it answers. Raises OSError if it answers with an error."""
    done = subprocess.run(
        ["psql", "-XAtqw", "-d", where + " dbname=postgres user=app connect_timeout=2", "-c", statement],
        capture_output=True,
        text=True,
        timeout=SECONDS_FOR_AN_ANSWER,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(done.stderr.strip()[-200:])
    return done.stdout.strip()


def are_primaries(hosts: list[str]) -> bool:
    answers: list[str] = []
    for host in hosts:
        try:
            answers.append(ask("host=" + host, "SELECT pg_is_in_recovery()"))
        except OSError as error:
            answers.append(str(error))
    return answers == ["f"] * len(hosts)


def main() -> None:
    password, until, *hosts = sys.argv[1:]
    os.environ["PGPASSWORD"] = password
    began = last = time.monotonic()
    written, refusals, pause, doubled = 0, 0, 0.0, 0
    errors: set[str] = set()
    while not os.path.exists(until) and time.monotonic() - began < SECONDS_IN_ALL:
        try:
            ask(
                "host=%s target_session_attrs=read-write" % ",".join(hosts),
                # It may be there although that was not said.
                "INSERT INTO written VALUES (%d) ON CONFLICT DO NOTHING" % written,
            )
        except OSError as error:
            refusals += 1
            errors.add(str(error))
            # While none takes it, and thereafter, is when there may be two.
            doubled += are_primaries(hosts)
            continue
        written += 1
        pause, last = max(pause, time.monotonic() - last), time.monotonic()
        if written % 20 == 0:
            doubled += are_primaries(hosts)
    there = {host: set(ask("host=" + host, "SELECT number FROM written").split()) for host in hosts}
    told = {
        "acknowledged": written,
        "lost": {host: [number for number in range(written) if str(number) not in there[host]] for host in hosts},
        "longest_pause": pause,
        "refusals": refusals,
        "errors": sorted(errors),
        "times_with_two_primaries": doubled,
    }
    sys.stdout.write(json.dumps(told))


main()
