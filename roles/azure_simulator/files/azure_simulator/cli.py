# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: ``azure-in-miniature {serve,event,withdraw,status,fault,advance,log}``."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import __version__
from .arm import certificate
from .arm.faults import ERRORS, OUTCOMES
from .arm.faults import KINDS as ARM_KINDS
from .client import ARM_FAULTS, FAULTS, ControlClient, ControlError
from .config import load
from .events import EVENT_SOURCES, EVENT_TYPES
from .faults import KINDS, METHODS
from .reading import Invalid
from .table import describe_entry, render

if TYPE_CHECKING:
    # Only this part needs aiohttp: a command that talks to a simulator does not.
    from .server import Server

_AIOHTTP = "aiohttp>=3.8"

CONTROL_VARIABLE = "FOGHORN_SIMULATOR_CONTROL"

_STARTING = 15.0  # seconds

_NOBODY_READS = 128 + 13
"""The status of a program that `head` and the like have read enough of: SIGPIPE, a name that Windows lacks."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, 1 when it failed, 2 when the configuration is wrong, 141 when nobody reads on."""
    try:
        try:
            return _run(_parser().parse_args(arguments))
        finally:
            # Flush now. Otherwise the interpreter finds out at its exit that nobody reads any more.
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return _NOBODY_READS


def _run(options: argparse.Namespace) -> int:
    try:
        return int(options.run(options))
    except Invalid as error:
        for mistake in error.mistakes:
            print(mistake, file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except (ControlError, OSError) as error:
        print(f"azure_simulator: {error}", file=sys.stderr)
        return 1


def _forget_output() -> None:
    """Discard what is still buffered, so that the interpreter exits quietly."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="azure-in-miniature", description="A simulator of Azure Scheduled Events.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    serve = commands.add_parser("serve", help="run the simulator until it is interrupted")
    serve.add_argument("--config", type=Path, required=True, help="YAML (.yml, .yaml) or JSON")
    serve.add_argument("--check", action="store_true", help="only check the configuration")
    serve.set_defaults(run=_serve)

    remote = argparse.ArgumentParser(add_help=False)
    remote.add_argument(
        "--control",
        default=os.environ.get(CONTROL_VARIABLE, "http://127.0.0.1:8700"),
        help=f"the simulator's control address (default: ${CONTROL_VARIABLE}, else %(default)s)",
    )

    event = commands.add_parser("event", parents=[remote], help="announce an event")
    event.add_argument("event_type", choices=EVENT_TYPES, metavar="TYPE", help=", ".join(EVENT_TYPES))
    event.add_argument("resources", nargs="+", metavar="VM", help="the VMs that it hits")
    event.add_argument("--notice", type=float, help="simulated seconds until NotBefore")
    event.add_argument("--impact", type=float, help="simulated seconds of impact")
    event.add_argument("--linger", type=float, help="simulated seconds from the start until it leaves the list")
    event.add_argument("--approval-delay", type=float, help="simulated seconds from an approval to the start")
    event.add_argument("--duration", type=int, help="DurationInSeconds: -1 unknown, 0 no impact expected")
    event.add_argument("--source", dest="event_source", choices=EVENT_SOURCES)
    event.add_argument("--description")
    event.add_argument("--event-id", help="a GUID of your choice")
    event.add_argument("--started", action="store_const", const="Started", dest="status", help="announce it as started")
    event.add_argument("--becomes", choices=["Freeze", "Preempt"], help="what a Reboot or a recommendation turns into")
    event.set_defaults(run=_event)

    withdraw = commands.add_parser("withdraw", parents=[remote], help="withdraw a scheduled event")
    withdraw.add_argument("event_id")
    withdraw.set_defaults(run=_withdraw)

    status = commands.add_parser("status", parents=[remote], help="show polls, events, and which VMs are in rotation")
    status.add_argument("--json", action="store_true", help="print the JSON of the control API")
    status.set_defaults(run=_status)

    on_the_wire = argparse.ArgumentParser(add_help=False)
    on_the_wire.add_argument("--method", action="append", dest="methods", choices=METHODS, help="may be repeated")
    on_the_wire.add_argument("--status", type=int, help="HTTP status of the answer (kind status)")
    on_the_wire.add_argument("--body", help="body of the answer (kinds status, garbage)")
    on_the_wire.add_argument(
        "--header", action="append", dest="headers", metavar="NAME: VALUE", help="header of the answer (kind status)"
    )
    on_the_wire.add_argument("--seconds", type=float, help="real seconds of a silence or a slow answer")
    on_the_wire.add_argument("--bytes-per-second", type=float, help="bytes per second of a slow answer")
    on_the_wire.add_argument("--count", type=int, help="end after this many answers")
    on_the_wire.add_argument(
        "--applied", action="store_true", default=None, help="process the request, but lose the answer"
    )
    on_the_wire.add_argument("--for", type=float, help="end after this many real seconds")

    fault = commands.add_parser(
        "fault", parents=[remote, on_the_wire], help="inject or remove a fault of the metadata service"
    )
    fault.add_argument("kind", choices=[*KINDS, "list", "remove", "clear"])
    fault.add_argument("fault_id", nargs="?", help="with remove: the id of the fault")
    fault.add_argument("--vm", default="*", help="only requests of this VM (default: all)")
    fault.add_argument("--path", action="append", dest="paths", help="only paths with this prefix; may be repeated")
    fault.add_argument(
        "--api-version",
        action="append",
        dest="api_versions",
        help="only requests for this API version; may be repeated",
    )
    fault.set_defaults(run=_fault)

    arm_fault = commands.add_parser(
        "arm-fault", parents=[remote, on_the_wire], help="inject or remove a fault of Resource Manager"
    )
    arm_fault.add_argument("kind", choices=[*ARM_KINDS, "list", "remove", "clear"])
    arm_fault.add_argument("fault_id", nargs="?", help="with remove: the id of the fault")
    arm_fault.add_argument(
        "--path", action="append", dest="paths", help="only paths that match this (* stands for anything)"
    )
    arm_fault.add_argument("--error", choices=ERRORS, help="the error to answer with (kind error)")
    arm_fault.add_argument("--retry-after", type=int, help="seconds (kind error)")
    arm_fault.add_argument("--outcome", choices=OUTCOMES, help="how the operation ends (kind operation)")
    arm_fault.add_argument("--code", help="code of the error (kinds error, operation)")
    arm_fault.add_argument("--message", help="message of the error (kinds error, operation)")
    arm_fault.add_argument("--vm", action="append", dest="vms", help="the instance (kind stuck); may be repeated")
    arm_fault.set_defaults(run=_arm_fault)

    throwaway = commands.add_parser("certificate", help="make a self-signed certificate for arm.tls")
    throwaway.add_argument("directory", type=Path, help="where certificate.pem and private_key.pem are written")
    throwaway.set_defaults(run=_certificate)

    advance = commands.add_parser("advance", parents=[remote], help="advance a manual clock")
    advance.add_argument("seconds", type=float)
    advance.set_defaults(run=_advance)

    log = commands.add_parser("log", parents=[remote], help="what happened")
    log.add_argument("--after", type=int, default=0, metavar="SEQ", help="only entries after this one")
    log.add_argument("--json", action="store_true", help="print one JSON object per line")
    log.set_defaults(run=_log)
    return parser


def _serve(options: argparse.Namespace) -> int:
    config = load(options.config)
    if options.check:
        return 0
    try:
        from .server import Server
    except ImportError as error:
        # The package itself is complete: the library that it imports is missing or cannot be loaded.
        print(
            f"azure_simulator: serve needs aiohttp ({error}): {sys.executable} -m pip install '{_AIOHTTP}'",
            file=sys.stderr,
        )
        return 1
    return asyncio.run(_serve_until_told(lambda: Server(config)))


async def _serve_until_told(make_server: Callable[[], Server]) -> int:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    # Not by the loop: on Windows it does not support signals.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_signal: loop.call_soon_threadsafe(over.set))
    server = make_server()
    await server.start()
    try:
        print(json.dumps(server.ready()), flush=True)
        await over.wait()
    finally:
        await server.stop()
    return 0


def _print(answer: Any) -> int:
    print(json.dumps(answer, indent=2))
    return 0


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def _client(options: argparse.Namespace) -> ControlClient:
    # What is pasted right behind `serve &` comes before a slow machine has started the simulator.
    return ControlClient(options.control, patience=_STARTING)


def _event(options: argparse.Namespace) -> int:
    names = "notice impact linger approval_delay duration event_source description event_id status becomes"
    details = _given(options, *names.split())
    return _print(_client(options).event(options.event_type, options.resources, **details))


def _withdraw(options: argparse.Namespace) -> int:
    return _print(_client(options).withdraw(options.event_id))


def _status(options: argparse.Namespace) -> int:
    status = _client(options).status()
    if options.json:
        return _print(status)
    print(render(status))
    return 0


def _fault(options: argparse.Namespace) -> int:
    names = "vm paths methods api_versions status body seconds bytes_per_second count for applied"
    return _change_faults(options, FAULTS, names)


def _arm_fault(options: argparse.Namespace) -> int:
    names = "paths methods error retry_after outcome code message vms status body seconds bytes_per_second count for"
    return _change_faults(options, ARM_FAULTS, f"{names} applied")


def _change_faults(options: argparse.Namespace, where: str, names: str) -> int:
    """Add, list or end faults; of the options those with these names describe one."""
    client = _client(options)
    if options.kind == "remove":
        if options.fault_id is None:
            raise Invalid([f"{options.command} remove: name the fault, see {options.command} list"])
        client.end_faults(where, options.fault_id)
        return 0
    if options.fault_id is not None:
        raise Invalid([f"{options.command} {options.kind}: {options.fault_id!r} is one argument too many"])
    if options.kind == "clear":
        client.end_faults(where)
        return 0
    if options.kind == "list":
        return _print(client.call("GET", where))
    details = _given(options, *names.split())
    if options.headers:
        details["headers"] = dict(_header(header) for header in options.headers)
    print(client.add_fault(where, kind=options.kind, **details))
    return 0


def _certificate(options: argparse.Namespace) -> int:
    made = certificate.make(options.directory)
    return _print({name: str(path) for name, path in made._asdict().items()})


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Invalid([f"--header: {text!r} is not NAME: VALUE"])
    return name.strip(), value.strip()


def _advance(options: argparse.Namespace) -> int:
    return _print({"now": _client(options).advance(options.seconds)})


def _log(options: argparse.Namespace) -> int:
    for entry in _client(options).log(options.after):
        print(json.dumps(entry) if options.json else describe_entry(entry))
    return 0
