# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The services that graceful_shutdown stops: how, within which time, and which of them run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..module_utils import service_states

DEFAULT_TIMEOUT = 90.0  # seconds; systemd's DefaultTimeoutStopSec
DEFAULT_HEALTHY_WITHIN = 60.0  # seconds
LONGEST_TIME = 86400.0  # seconds

FAIL, ABORT, IGNORE = "fail", "abort", "ignore"
ON_FAILURE = (FAIL, ABORT, IGNORE)

ANY, RUNNING, STOPPED = "any", "running", "stopped"
"""What is expected of services."""


class Answer(NamedTuple):
    """A machine's answer about its services."""

    services: list[dict[str, Any]]
    """The services that ran before they were stopped, or those in the record."""
    states: Mapping[str, str]
    """By name, the states that were asked for."""
    stretch: dict[str, Any]
    """How far the machine has come, see `module_utils.service_order.Stretch`."""
    next: dict[str, Any] | None
    """The service that tasks stop or start next: `name`, `tasks`, and the `seconds` that they may take."""
    changed: bool
    is_complete: bool
    """Whether the answer names its services and says how far it has come."""
    expected: list[dict[str, Any]]
    """The services whose state the machine must report."""


_COMMANDS = ("stop", "start", "status")
_TASKS = ("stop_tasks", "start_tasks")
_KEYS = ("name", *_COMMANDS, *_TASKS, "timeout", "reserve", "on_failure", "healthy")
_HEALTHY_KEYS = ("port", "host", "url", "command", "within")


class ServiceError(ValueError):
    """A service is described wrongly. The message names the service, the mistake and the remedy."""


def read_services(entries: Any) -> list[dict[str, Any]]:
    """Check the services, and fill in what was left out.

    :param entries: names of units, or mappings with more than a name
    :returns: mappings that have every key; what was not said is empty
    :raises ServiceError: on the first entry that cannot be meant
    """
    services, mistakes = _read_all(entries)
    if mistakes:
        raise ServiceError(mistakes[0])
    return services


def mistakes_in(entries: Any) -> list[str]:
    """List what is wrong with services, a message for each; empty if `read_services` accepts them."""
    return _read_all(entries)[1]


def _read_all(entries: Any) -> tuple[list[dict[str, Any]], list[str]]:
    if isinstance(entries, (str, Mapping)) or not isinstance(entries, Sequence):
        return [], [": %r is not a list. Write [nginx], or one entry a line" % (entries,)]
    services: list[dict[str, Any]] = []
    mistakes: list[str] = []
    for number, entry in enumerate(entries):
        try:
            service = _read_service(entry, "[%d]" % number)
        except ServiceError as error:
            mistakes.append(str(error))
            continue
        if service["name"] in [other["name"] for other in services]:
            mistakes.append("[%d].name: %r is there twice. Give each service a name" % (number, service["name"]))
        services.append(service)
    return services, mistakes


def read_answer(said: Mapping[str, Any], own: Sequence[Mapping[str, Any]], is_stop: bool, is_first: bool) -> Answer:
    """Read what a machine says of its services. One that was taken over may say anything.

    Commands and checks run on the machine, so that its record decides them, whatever the variables say by now. Files of
    tasks are the controller's, and so is their time: both come from the operator.

    :param own: the services that the operator names, as `read_services` returns them
    :param is_stop: whether they are stopped; if not, those of the machine's record are started
    :param is_first: whether this is the first stretch, before which nobody knows which of them run
    :raises ServiceError: if tasks are to stop or start a service and the operator names none
    """
    states = said.get("states")
    told = said.get("services")
    named = [one for one in told if isinstance(one, Mapping)] if isinstance(told, list) else []
    names = [str(one.get("name")) for one in named]
    services = [dict(one) for one in own if one["name"] in names] if is_stop else [dict(one) for one in named]
    given = said.get("stretch")
    stretch = _read_stretch(given if isinstance(given, Mapping) else {})
    # A service that the machine leaves out must not count as stopped. After the first stretch the machine leaves out
    # services whose failure does not count.
    judged = [dict(one) for one in own if is_first or one["on_failure"] != IGNORE] if is_stop else services
    is_told = (is_stop and is_first) or not stretch["next"]
    return Answer(
        services,
        {str(name): str(state) for name, state in states.items()} if isinstance(states, Mapping) else {},
        stretch,
        _next(str(said.get("stranger") or ""), stretch, own, is_stop),
        bool(said.get("changed")),
        isinstance(given, Mapping) and isinstance(told, list),
        [one for one in judged if is_told and service_states.is_asked(one)],
    )


def _read_stretch(given: Mapping[str, Any]) -> dict[str, Any]:
    seconds = given.get("seconds")
    return {
        **{name: [str(one) for one in given.get(name) or ()] for name in ("failures", "ignored", "warnings")},
        **{name: str(given.get(name) or "") for name in ("aborted", "next")},
        "seconds": int(seconds) if isinstance(seconds, (int, float)) else 0,
        "tried": bool(given.get("tried")),
    }


def _next(
    stranger: str, stretch: Mapping[str, Any], own: Sequence[Mapping[str, Any]], is_stop: bool
) -> dict[str, Any] | None:
    """Which tasks stop or start a service next, and how long they may take."""
    name = stranger or stretch["next"]
    if not name:
        return None
    mine = next((one for one in own if one["name"] == name), {})
    path = mine.get("stop_tasks" if is_stop else "start_tasks")
    if stranger or not path:
        raise ServiceError(
            ": services.json on the machine says that %r is started by tasks, and this variable has no start_tasks"
            " for it. Name the service with its stop_tasks and start_tasks; a machine chooses no file on the"
            " controller" % name
        )
    longest = int(mine["timeout"])
    return {"name": name, "tasks": path, "seconds": max(1, min(stretch["seconds"], longest)) if is_stop else longest}


def judge(answer: Answer, is_stop: bool, is_dry: bool) -> str:
    """Say what went wrong, once no service for tasks is left; empty if nothing went wrong, or more is to come.

    :param is_stop: see `read_answer`
    :param is_dry: whether nothing was stopped or started
    """
    unknown = problem((), answer.states)
    if unknown:
        return unknown
    if answer.stretch["failures"] and not answer.next:
        what = ", ".join(answer.stretch["failures"])
        if not is_stop:
            return "These services did not start: %s" % what
        aborted = answer.stretch["aborted"]
        left = ". Those after %s were left running" % aborted if aborted else ""
        return "These services did not stop: %s%s" % (what, left)
    if not answer.is_complete:
        return "The machine returned no result"
    unanswered = silent(answer.expected, answer.states)
    if unanswered:
        return unanswered
    counting = [one for one in answer.expected if not is_stop or one["on_failure"] != IGNORE]
    expected = ANY if is_dry or answer.next else STOPPED if is_stop else RUNNING
    return problem(counting, answer.states, expected)


def silent(services: Sequence[Mapping[str, Any]], states: Mapping[str, str]) -> str:
    """Which services did a machine say nothing of, although it was asked?

    A service without a state would count as stopped: the machine would be approved for with it running.

    :param services: those that the machine was asked for, with `name`, `status` and `stop_tasks`
    :param states: by name, what it answered
    :returns: a sentence that can be shown, empty if it answered for all of them
    """
    unanswered = [
        str(one["name"])
        for one in services
        if service_states.is_asked(one) and states.get(one["name"]) not in service_states.STATES
    ]
    return "The machine did not report whether these services run: %s" % ", ".join(unanswered) if unanswered else ""


def running(services: Sequence[Mapping[str, Any]], states: Mapping[str, str]) -> list[dict[str, Any]]:
    """Which of these services are running, as far as anybody knows?

    One that is stopped by tasks and has no status counts as running: its tasks find out.

    :param services: as `read_services` returns them
    :param states: by name, the state of each that was asked for
    :returns: in the order of the services
    """
    return [
        dict(service)
        for service in services
        if states.get(service["name"]) == service_states.RUNNING or not service_states.is_asked(service)
    ]


def problem(services: Sequence[Mapping[str, Any]], states: Mapping[str, str], expected: str = ANY) -> str:
    """What is wrong with these services?

    :param services: see `running`
    :param states: see `running`
    :param expected: `ANY`, `RUNNING` or `STOPPED`. A unit that has done its work and ended, as a oneshot does, need not
        run
    :returns: a sentence that can be shown, empty if all is well
    """
    unknown = [name for name, state in states.items() if state == service_states.UNKNOWN]
    if unknown:
        return (
            "graceful_shutdown_services: systemd does not know %s. Name the unit as systemctl list-units --all does, "
            "or give commands for status, stop and start." % ", ".join(unknown)
        )
    up = [service["name"] for service in running(services, states)]
    ended = [name for name, state in states.items() if state == service_states.ENDED]
    down = [service["name"] for service in services if service["name"] not in up + ended]
    if expected == STOPPED and up:
        return "These services are still running although their stop succeeded: %s" % ", ".join(up)
    if expected == RUNNING and down:
        return "These services are not running although their start succeeded: %s" % ", ".join(down)
    return ""


def _read_service(entry: Any, where: str) -> dict[str, Any]:
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping):
        raise ServiceError("%s: %r is neither the name of a unit nor a mapping with a name" % (where, entry))
    _check_keys(entry, _KEYS, where)
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip():
        raise ServiceError(
            "%s.name: %r is not a name. Give that of the systemd unit, or one of your own" % (where, name)
        )
    service: dict[str, Any] = {"name": name.strip()}
    service.update((key, _read_command(entry, key, where)) for key in _COMMANDS)
    service.update((key, _read_tasks(entry, key, where)) for key in _TASKS)
    for command, tasks in (("stop", "stop_tasks"), ("start", "start_tasks")):
        if service[command] and service[tasks]:
            raise ServiceError("%s: has both %s and %s. Omit one of them" % (where, command, tasks))
    if service["stop_tasks"] and not (service["start"] or service["start_tasks"]):
        raise ServiceError("%s: has stop_tasks, and no start. Give start_tasks or start as well" % where)
    own = [service[one] or service["stop_tasks" if one == "status" else one + "_tasks"] for one in _COMMANDS]
    if not all(own) and set("*?[").intersection(name):
        raise ServiceError(
            "%s.name: %r is a pattern, by which systemctl stops units and starts none. Name each unit, like app@1"
            % (where, name)
        )
    service["timeout"] = _read_seconds(entry, "timeout", DEFAULT_TIMEOUT, 1.0, where)
    service["reserve"] = _read_seconds(entry, "reserve", 0.0, 0.0, where)
    if service["reserve"] > service["timeout"]:
        raise ServiceError(
            "%s.reserve: %g is more than its timeout of %g. Raise timeout, or reserve less"
            % (where, service["reserve"], service["timeout"])
        )
    service["on_failure"] = entry.get("on_failure") or FAIL
    if service["on_failure"] not in ON_FAILURE:
        raise ServiceError("%s.on_failure: %r is not one of %s" % (where, service["on_failure"], ", ".join(ON_FAILURE)))
    service["healthy"] = _read_healthy(entry.get("healthy"), where + ".healthy")
    return service


def _read_healthy(content: Any, where: str) -> dict[str, Any]:
    if not content:
        return {}
    if not isinstance(content, Mapping):
        raise ServiceError("%s: %r is not a mapping. Give port, url or command" % (where, content))
    _check_keys(content, _HEALTHY_KEYS, where)
    port = content.get("port") or 0
    if isinstance(port, bool) or not str(port).isdecimal() or int(port) > 65535:
        raise ServiceError("%s.port: %r is not a TCP port, 1 to 65535" % (where, port))
    healthy = {
        "port": int(port),
        "host": str(content.get("host") or "127.0.0.1"),
        "url": str(content.get("url") or ""),
        "command": _read_command(content, "command", where),
        "within": _read_seconds(content, "within", DEFAULT_HEALTHY_WITHIN, 1.0, where),
    }
    if not (healthy["port"] or healthy["url"] or healthy["command"]):
        raise ServiceError("%s: contains nothing to check. Give port, url or command" % where)
    return healthy


def _check_keys(content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in content:
        if key not in known:
            raise ServiceError("%s: has the unknown key %r. Known are %s" % (where, key, ", ".join(known)))


def _read_command(content: Mapping[str, Any], key: str, where: str) -> list[str]:
    command = content.get(key) or []
    if isinstance(command, (str, Mapping)) or not isinstance(command, Sequence):
        raise ServiceError(
            "%s.%s: %r is not a list of arguments, like [systemctl, stop, nginx]" % (where, key, command)
        )
    return [str(argument) for argument in command]


def _read_tasks(content: Mapping[str, Any], key: str, where: str) -> str:
    path = content.get(key) or ""
    if not isinstance(path, str) or (path and not path.startswith("/")):
        # The directory that a relative path starts from depends on who includes the role.
        raise ServiceError(
            "%s.%s: %r is not an absolute path. Write {{ playbook_dir }}/tasks.yml for a file beside the playbook"
            % (where, key, path)
        )
    return path


def _read_seconds(content: Mapping[str, Any], key: str, default: float, least: float, where: str) -> float:
    value = content.get(key)
    if value is None or value == "":
        return default
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    # Written so that NaN fails as well.
    if not least <= seconds <= LONGEST_TIME:
        raise ServiceError("%s.%s: %r is not a time. Give seconds, %g to %g" % (where, key, value, least, LONGEST_TIME))
    return seconds
