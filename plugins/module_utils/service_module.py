# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the services of a machine: the arguments of ordered_services and what it does there."""

import json
import math
import time
from contextlib import suppress
from typing import Any, Dict, List, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule

from .files.writing import remove, text_of, write_text
from .service_order import IGNORE, Stretch, World, filled, start, stop
from .service_states import (
    ENDED,
    RUNNING,
    STARTING,
    STOPPING,
    UNKNOWN,
    Runner,
    ServiceStateError,
    is_asked,
    read_record,
    state_of,
    stopped_with,
)
from .url_status import status_of

STOPPED = "stopped"
RESTORED = "restored"

ArgumentSpec = Dict[str, Dict[str, Any]]
Services = List[Dict[str, Any]]


def service_arguments() -> ArgumentSpec:
    """Make the argument spec of ordered_services."""
    return {
        "state": {"type": "str", "required": True, "choices": [STOPPED, RESTORED]},
        "services": {"type": "list", "elements": "raw", "default": []},
        "record": {"type": "path", "required": True},
        "seconds": {"type": "float"},
        "deadline": {"type": "float"},
        "after": {"type": "dict"},
        "failure": {"type": "str", "default": ""},
    }


def run_ordered_services(module: AnsibleModule) -> None:
    """Do the work of ordered_services on the machine: its action knows what to make of the answer."""
    try:
        result = _stop(module) if module.params["state"] == STOPPED else _restore(module)
    except (AttributeError, KeyError, OSError, TypeError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def _stop(module: AnsibleModule) -> Dict[str, Any]:
    given = module.params
    services, before = given["services"], _before(given["after"])
    states, is_noted = {}, False  # type: Dict[str, str], bool
    if not before.next:
        states, wrong = _states_or_failures(module, services)
        # The others are stopped all the same.
        before = before._replace(failures=wrong)
        services = [one for one in services if states.get(one["name"], RUNNING) == RUNNING]
        is_noted = _note(given["record"], _with_those_behind(module, services), bool(module.check_mode))
    seconds = math.inf if given["seconds"] is None else given["seconds"]
    done = stop(services, before, given["failure"], seconds, _world(module))
    states = {name: state for name, state in states.items() if state != UNKNOWN}
    if not (done.next or done.failures):
        # A command that succeeds, or a unit of another name, has stopped nothing yet.
        states.update(_states_to_stop(module, [one for one in services if one["on_failure"] != IGNORE]))
    return _result(services, states, done, is_noted or done.tried, _diff(services, "running", "stopped"))


def _restore(module: AnsibleModule) -> Dict[str, Any]:
    given = module.params
    text = text_of(given["record"])
    try:
        services = _sockets_first([filled(one) for one in read_record(text)])
    except ServiceStateError as error:
        raise ServiceStateError("%s: %s" % (given["record"], error)) from error
    own = {one["name"]: one for one in given["services"]}
    stranger = next((one["name"] for one in services if one["start_tasks"] and not _has_tasks(own, one)), "")
    if stranger:
        return {"changed": False, "states": {}, "stranger": stranger}
    states = {}  # type: Dict[str, str]
    for one in services:
        # One whose state cannot be told is started, as if it were down, and keeps no other down.
        with suppress(ServiceStateError):
            states.update(_states(module, [one]))
    gone = [one for one in services if states.get(one["name"]) == UNKNOWN]
    before = _before(given["after"])
    if not before.next:
        # One that only stopped with another, and is gone with that, as a mount of its files, is no failure.
        missed = [one["name"] for one in gone if not one.get("stopped_with")]
        before = before._replace(failures=tuple("%s (systemd no longer knows it)" % name for name in missed))
    services = [one for one in services if one not in gone]
    states = {name: state for name, state in states.items() if state != UNKNOWN}
    up = [name for name, state in states.items() if state == RUNNING]
    looked_at = [dict(one, healthy={}) for one in services] if module.check_mode else services
    done = start(looked_at, states, before, given["failure"], _world(module))
    is_over = bool(services) and not done.next and not done.failures
    if is_over and not module.check_mode:
        # What was started may have ended at once.
        states = _states(module, services)
        is_over = set(states.values()) <= {RUNNING, ENDED}
        if is_over:
            remove(given["record"])
    down = [one for one in services if one["name"] not in up]
    return _result(services, states, done, is_over or done.tried, _diff(down, "stopped", "running"))


def _sockets_first(services: Services) -> Services:
    """The same, with the sockets that stopped with a service before it: systemd refuses a socket whose service runs."""
    sockets = [one for one in services if one.get("stopped_with") and one["name"].endswith(".socket")]
    others = [one for one in services if one not in sockets]
    return [each for one in others for each in (*(s for s in sockets if s["stopped_with"] == one["name"]), one)]


def _has_tasks(own: Dict[str, Dict[str, Any]], recorded: Dict[str, Any]) -> bool:
    return bool(own.get(recorded["name"], {}).get("start_tasks"))


def _before(after: Any) -> Stretch:
    return (
        Stretch((), next="")
        if not after
        else Stretch(**{**after, **{name: tuple(after[name]) for name in ("failures", "warnings") if name in after}})
    )


def _states(module: AnsibleModule, services: Services) -> Dict[str, str]:
    return {
        one["name"]: state_of(one["name"], [str(part) for part in one["status"]], _runner(module))
        for one in services
        if is_asked(one)
    }


def _states_to_stop(module: AnsibleModule, services: Services) -> Dict[str, str]:
    """The same for services that are stopped: one that is being started is to be kept from that, and one that is being
    stopped is to be waited for.
    """
    states = _states(module, services)
    return {name: RUNNING if state in (STARTING, STOPPING) else state for name, state in states.items()}


def _states_or_failures(module: AnsibleModule, services: Services) -> Tuple[Dict[str, str], Tuple[str, ...]]:
    """The states, and what is wrong with services whose state cannot be told. These count as running, but for unknown
    units.
    """
    states = {}  # type: Dict[str, str]
    wrong = []
    for one in services:
        try:
            states.update(_states_to_stop(module, [one]))
        except ServiceStateError as error:
            states[one["name"]] = RUNNING
            wrong.append("%s (its state is unknown: %s)" % (one["name"], error))
        if states.get(one["name"]) == UNKNOWN:
            wrong.append(
                "%s (systemd does not know it: name the unit as systemctl list-units --all does, or give commands for"
                " status, stop and start)" % one["name"]
            )
    return states, tuple(wrong)


def _with_those_behind(module: AnsibleModule, services: Services) -> Services:
    """The services, each behind the units that systemd stops with it: nothing else would start these again."""
    noted = []  # type: Services
    for one in services:
        named = {called for each in (*services, *noted) for called in (each["name"], each["name"] + ".service")}
        is_unit = is_asked(one) and not one["status"]
        behind = stopped_with(one["name"], _runner(module)) if is_unit else []
        about = {"timeout": one["timeout"], "stopped_with": one["name"]}
        noted += [{"name": each, "start": _start_of(each), **about} for each in reversed(behind) if each not in named]
        noted.append(one)
    return noted


def _start_of(unit: str) -> List[str]:
    """A target would start all that it wants, also what did not run before; what stopped with it is noted itself."""
    alone = ["systemctl", "start", "--job-mode=ignore-dependencies", "--", unit]
    return alone if unit.endswith(".target") else []


def _note(path: str, services: Services, is_dry: bool) -> bool:
    """Write down what will be stopped, before it is: without a record nothing would ever be started again.

    :returns: whether that is new
    """
    before = text_of(path)
    line = json.dumps(services)
    is_noted = not services or line in before.splitlines()
    after = before if is_noted else "\n".join([*before.splitlines(), line, ""])
    if after != before and not is_dry:
        # Commands may hold what others are not to know.
        write_text(path, after, 0o600)
    return after != before


def _diff(services: Services, before: str, after: str) -> Dict[str, str]:
    """Names and states only: commands may hold what others are not to know."""
    return {
        side: "".join("%s: %s\n" % (one["name"], state) for one in services)
        for side, state in (("before", before), ("after", after))
    }


def _runner(module: AnsibleModule) -> Runner:
    def run(command: List[str]) -> Sequence[Any]:
        try:
            # Otherwise a command that is not there would end the module, and all other services would go on. Ansible
            # reads no answer that is not UTF-8, as messages of a machine with another locale are.
            return tuple(module.run_command(command, handle_exceptions=False, errors="replace"))
        except OSError as error:
            return 127, "", str(error)

    return run


def _world(module: AnsibleModule) -> World:
    # Whatever is there: nothing is stopped or started.
    run = (lambda _command: (0, "", "")) if module.check_mode else _runner(module)
    return World(run, status_of, time.monotonic, time.sleep, bool(module.check_mode))


def _result(
    services: Services, states: Dict[str, str], done: Stretch, is_changed: bool, diff: Dict[str, str]
) -> Dict[str, Any]:
    return {
        "changed": is_changed,
        "services": services,
        "states": states,
        "stretch": dict(done._asdict()),
        "diff": diff if is_changed else {"before": "", "after": ""},
    }
