# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Stops services one after the other within the time that is left, and starts them again in the reverse order.

A service that tasks of the controller stop or start ends a stretch: they run, and then the next stretch begins behind
it. Services are mappings with every key of `graceful_shutdown_services`.
"""

import os
import socket
from typing import Any, Callable, Container, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from .polling import TIMEOUT, other_status, poll_until
from .service_states import ENDED, RUNNING, STARTING, STOPPED, UNKNOWN, Runner, ServiceStateError, is_asked, state_of

ABORT, IGNORE = "abort", "ignore"

Service = Mapping[str, Any]

# Exit statuses of timeout: the time was up; and the command had to be killed then.
_OUT_OF_TIME = (124, 137)
# Seconds. What timeout takes to end what does not end by itself.
_FOR_KILLING = 1
_CHECK_TIMEOUT = 10
_DOWN = (STOPPED, ENDED, UNKNOWN)
_UP = (RUNNING, ENDED)


class World(NamedTuple):
    """What a stretch needs of the machine."""

    run: Runner
    status_of: Callable[[str, int], int]
    """Asks a URL within so many seconds; returns the status of the answer."""
    clock: Callable[[], float]
    """Seconds, from any beginning."""
    sleep: Callable[[float], None]
    is_dry: bool = False
    """Whether nothing is stopped or started, so that no state changes."""


class Stretch(NamedTuple):
    """How far it has come."""

    failures: Tuple[str, ...]
    """The services that did not stop or start, each with the reason."""
    ignored: Tuple[str, ...] = ()
    """The same of those whose failure does not count."""
    aborted: str = ""
    """The service behind which the others were left running."""
    next: str = ""
    """The service that tasks stop or start now."""
    seconds: int = 0
    """How long these may take."""
    tried: bool = False
    """Whether any command was run to stop or start a service."""
    warnings: Tuple[str, ...] = ()
    """What systemctl has said of stops that succeeded: that a socket would start the unit again."""


def share(ahead: Sequence[Service], left: float) -> int:
    """How long the first of the services that are ahead may take to stop, in whole seconds.

    With too little time for all, each gets what it reserves, and a share of the rest by what it may take. If there is
    less than what is reserved, the last ones come first: what is stopped last holds the data.

    :param left: seconds that are left for all of them
    """
    first = ahead[0]
    reserved = sum(service["reserve"] for service in ahead)
    wanted = sum(service["timeout"] for service in ahead) - reserved
    beyond = left - reserved
    if beyond < 0:
        return int(max(first["reserve"] + beyond, 0))
    part = 1.0 if wanted <= beyond else beyond / wanted
    return int(first["reserve"] + (first["timeout"] - first["reserve"]) * part)


def stop(services: Sequence[Service], before: Stretch, why: str, seconds: float, world: World) -> Stretch:
    """Stop services in their order, up to one that tasks stop. Others go on if one fails, unless it says otherwise.

    :param services: those that were running, all of them
    :param before: what the stretch before has come to, which ended at a service for tasks
    :param why: what went wrong with those tasks, if anything did
    :param seconds: within which all must have stopped
    """
    ends = world.clock() + seconds
    failures, ignored, tried = list(before.failures), list(before.ignored), before.tried
    warnings = list(before.warnings)
    for index, service in enumerate(services):
        if before.next:
            # What came before it was dealt with.
            if service["name"] != before.next:
                continue
            before = Stretch(())
            limit = share(services[index:], ends - world.clock() - _FOR_KILLING)
            why = why or _await(service, _DOWN, world.clock() + limit, world)
        else:
            limit = share(services[index:], ends - world.clock() - _FOR_KILLING)
            if limit > 0 and service["stop_tasks"]:
                return Stretch(tuple(failures), tuple(ignored), "", service["name"], limit, tried, tuple(warnings))
            tried = tried or limit > 0
            why = _stop(service, limit, world, warnings)
        if why and service["on_failure"] == IGNORE:
            ignored.append("%s (%s)" % (service["name"], why))
        elif why:
            failures.append("%s (%s)" % (service["name"], why))
            if service["on_failure"] == ABORT:
                return Stretch(tuple(failures), tuple(ignored), service["name"], tried=tried, warnings=tuple(warnings))
    failures += _lost(before)
    return Stretch(tuple(failures), tuple(ignored), tried=tried, warnings=tuple(warnings))


def start(services: Sequence[Service], states: Mapping[str, str], before: Stretch, why: str, world: World) -> Stretch:
    """Start services, up to one that tasks start, and see each of them healthy. Others go on if one fails.

    :param services: those that were stopped, the last of them first
    :param states: by name, how they are now
    :param before: see `stop`
    :param why: see `stop`
    """
    failures, tried = list(before.failures), before.tried
    for service in services:
        name = service["name"]
        if before.next:
            if name != before.next:
                continue
            before = Stretch(())
            why = why or _await(service, _UP, world.clock() + service["timeout"], world)
        elif states.get(name) == RUNNING:
            why = ""
        elif states.get(name) == STARTING:
            # Whatever starts it otherwise: systemctl waits for the start that is under way, as at a boot.
            tried = True
            why = _start({**service, "start": []}, world)
        elif service["start_tasks"]:
            return Stretch(tuple(failures), next=name, seconds=int(service["timeout"]), tried=tried)
        else:
            tried = True
            why = _start(service, world)
        why = why or unhealthy(service["healthy"], world)
        if why:
            failures.append("%s (%s)" % (name, why))
    return Stretch((*failures, *_lost(before)), tried=tried)


def _lost(before: Stretch) -> List[str]:
    """The service to go on behind, if there is no such service: then nothing was done."""
    return ["%s (it is no longer one of the services)" % before.next] if before.next else []


def unhealthy(healthy: Mapping[str, Any], world: World) -> str:
    """Wait until a service that was started is healthy; say why it is not if it is not in time."""
    if not healthy:
        return ""
    looks = []  # type: List[Tuple[str, Callable[[], str]]]
    if healthy["port"]:
        looks.append(("Wait until the service accepts connections", lambda: _refused(healthy["host"], healthy["port"])))
    if healthy["url"]:
        looks.append(("Wait until the service answers with 200", lambda: other_status(healthy["url"], world.status_of)))
    if healthy["command"]:
        looks.append(
            ("Wait until the service's own check succeeds", lambda: _run(_CHECK_TIMEOUT, healthy["command"], world.run))
        )
    for what, look in looks:
        why = poll_until(look, healthy["within"], world.clock, world.sleep)
        if why:
            return "%s: %s" % (what, why)
    return ""


def _stop(service: Service, limit: int, world: World, warnings: List[str]) -> str:
    if limit <= 0:
        return "no time was left"
    ends = world.clock() + limit
    command = service["stop"] or ["systemctl", "stop", "--", service["name"]]

    def run(command: List[str]) -> Sequence[Any]:
        answer = world.run(command)
        said = " ".join(str(answer[2] or "").split())
        if answer[0] == 0 and said and is_systemctl:
            warnings.append("%s: %s" % (service["name"], said))
        return answer

    is_systemctl = os.path.basename(command[0]) == "systemctl"
    why = _run(limit, command, run)
    return why or _await(service, _DOWN, ends, world)


def _start(service: Service, world: World) -> str:
    ends = world.clock() + service["timeout"]
    command = service["start"] or ["systemctl", "start", "--", service["name"]]
    why = _run(int(service["timeout"]), command, world.run)
    return "Start the service: %s" % why if why else _await(service, _UP, ends, world)


def _await(service: Service, wanted: Container[str], ends: float, world: World) -> str:
    """Wait until a service has a state: many commands return before they have their effect. Say why it has not if it
    has not in time.

    :param ends: when the time is up, by the world's clock
    """
    act = "stop" if wanted is _DOWN else "start"
    if world.is_dry or not is_asked(service) or not (service["status"] or service[act] or service[act + "_tasks"]):
        # systemctl itself waits.
        return ""

    def look() -> str:
        command = ["timeout", "-k", "1", str(max(1, int(ends - world.clock())))]
        try:
            state = state_of(service["name"], service["status"], lambda status: world.run([*command, *status]))
        except ServiceStateError as error:
            return str(error)
        return "" if state in wanted else "it is %s" % state

    why = poll_until(look, max(0.0, ends - world.clock()), world.clock, world.sleep)
    return why and "Wait until the service is %s: %s" % ("down" if wanted is _DOWN else "up", why)


def _run(seconds: int, command: List[str], run: Runner) -> str:
    """Run a command, and end it when the time is up; say what went wrong."""
    code, said, error = run(["timeout", "-k", "1", str(seconds), *command])
    if code == 0:
        return ""
    if code in _OUT_OF_TIME:
        return "out of time"
    return "exit status %s: %s" % (code, str(error or said or "").strip() or "no output")


def _refused(host: str, port: int) -> str:
    try:
        socket.create_connection((host, port), TIMEOUT).close()
    except OSError as error:
        return str(error)
    return ""


def filled(entry: Mapping[str, Any]) -> Dict[str, Any]:
    """Fill in what the record of an earlier version, or of a person, may not say of a service."""
    default = {
        "status": [],
        "stop": [],
        "start": [],
        "start_tasks": "",
        "stop_tasks": "",
        "timeout": 90.0,
        "healthy": {},
    }
    looked_at = {"port": 0, "host": "127.0.0.1", "url": "", "command": [], "within": 60.0}
    service = {**default, **entry}
    return {**service, "healthy": {**looked_at, **service["healthy"]} if service["healthy"] else {}}
