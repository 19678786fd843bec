# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's command line. See docs/lab.md."""

import argparse
import json
import os
import sys
from pathlib import Path

from . import trees
from .commands import CommandError, ask, chosen_lab
from .confinement import keep_mounts_private, run_as_first_process
from .host import HostError

ON_ONE_HOST = {
    "power-cut": "ends it at once, and lets it boot",
    "power-off": "ends it at once",
    "power-on": "lets it boot",
    "reboot": "reboots it in order",
    "redeploy": "reboots it in order, with an empty temporary disk",
    "freeze": "pauses it",
    "thaw": "lets it go on",
    "unplug": "pulls its network cable, also for the next boot",
    "plug-in": "undoes that",
    "destroy": "ends it at once and for good",
}


def main() -> int:
    options = _parser().parse_args()
    try:
        return _run(options)
    except (CommandError, HostError, trees.TreeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(options: argparse.Namespace) -> int:
    lab = chosen_lab()
    if options.command == "run":
        from .runner import run

        return run(lab, Path(options.tarball), options.scenarios)
    if options.command == "shell":
        from .runner import shell

        return shell(lab, Path(options.tarball))
    if options.command == "supervise":
        from .supervisor import supervise

        return run_as_first_process(lambda: supervise(lab, Path(options.simulator), Path(options.logs)))
    if options.command == "trees":
        keep_mounts_private()
        for suite in options.suites or trees.SUITES:
            print(trees.make(suite))
        return 0
    if options.command == "exec":
        from .runner import execute

        return execute(lab, options.host, options.words)
    request = {"do": options.command}
    if options.command == "up":
        request.update(json.load(sys.stdin))
    elif options.command == "impact":
        for name in ("vm", "event_type", "phase"):
            request[name] = os.environ[f"FOGHORN_{name.upper()}"]
    elif options.command in ON_ONE_HOST:
        request["host"] = options.host
    answer = ask(lab, request)
    if answer is not None:
        print(json.dumps(answer, indent=2))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab", description="Real machines. The environment's LAB names the lab (default: foghorn)."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run scenarios, all if none is named")
    run.add_argument("--tarball", required=True, help="the collection, as `make build` makes it")
    run.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    shell = commands.add_parser("shell", help="a shell in an empty lab, for molecule")
    shell.add_argument("--tarball", required=True, help="the collection, as `make build` makes it")
    make = commands.add_parser("trees", help="make the systems that hosts start from")
    make.add_argument("suites", nargs="*", choices=[[], *trees.SUITES], metavar="SUITE")

    commands.add_parser("status", help="what hosts there are, and how they are")
    execute = commands.add_parser("exec", help="run a command on a host, as root")
    execute.add_argument("host")
    execute.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    for name, meaning in ON_ONE_HOST.items():
        commands.add_parser(name, help=meaning).add_argument("host")

    commands.add_parser("up", help="make hosts; standard input: {scenario, hosts, simulator}")
    commands.add_parser("down", help="take them down")
    commands.add_parser("impact", help="what the simulator calls when an event hits a VM")
    supervise = commands.add_parser("supervise", help="be the first process of a lab")
    supervise.add_argument("--simulator", required=True)
    supervise.add_argument("--logs", required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main())
