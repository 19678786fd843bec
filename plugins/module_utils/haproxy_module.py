# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets HAProxy: the arguments of haproxy_server and haproxy_server_info, and their way of failing."""

from typing import Any, Dict, Optional

from ansible.module_utils.basic import AnsibleModule

from .files.records import Owner
from .haproxy.operations import Outcome, carry_out, list_servers
from .haproxy.options import (
    AS_RECORDED,
    DEFAULT_DEADLINE,
    DEFAULT_SOCKET,
    DEFAULT_TIMEOUT,
    Order,
    read_address,
    read_order,
    read_selection,
)
from .haproxy.plan import DRAIN, MAINTENANCE, STATES, ServerState
from .haproxy.records import BadRecord, list_records, read_owner
from .haproxy.removal import put_back, take_out
from .haproxy.runtime_api import HaproxyError, RuntimeApi
from .scheduled_events.deadline import read_seconds
from .scheduled_events.errors import OptionError

_OPERATIONAL = {0: "stopped", 1: "starting", 2: "running", 3: "stopping"}

ArgumentSpec = Dict[str, Dict[str, Any]]


def server_arguments() -> ArgumentSpec:
    """Make the argument spec of haproxy_server."""
    return {
        "socket": {"type": "str", "default": DEFAULT_SOCKET},
        "master_socket": {"type": "str"},
        "server": {"type": "str"},
        "backend": {"type": "list", "elements": "str"},
        "state": {"type": "str", "choices": [*STATES, AS_RECORDED]},
        "record": {
            "type": "dict",
            "options": {
                "directory": {"type": "path", "required": True},
                "machine": {"type": "str", "default": ""},
                "vm_id": {"type": "str", "default": ""},
            },
        },
        "keep_maintenance": {"type": "bool", "default": False},
        "restore": {
            "type": "list",
            "elements": "dict",
            "options": {
                "backend": {"type": "str", "required": True},
                "server": {"type": "str", "required": True},
                "state": {"type": "str", "choices": list(STATES), "required": True},
                "admin_state": {"type": "int", "default": 0},
                "weight": {"type": "int"},
                "address": {"type": "str"},
            },
        },
        "wait": {"type": "bool", "default": False},
        "deadline": {"type": "float", "default": DEFAULT_DEADLINE},
        "shutdown_sessions": {"type": "bool", "default": False},
        "timeout": {"type": "float", "default": DEFAULT_TIMEOUT},
    }


def server_info_arguments() -> ArgumentSpec:
    """Make the argument spec of haproxy_server_info."""
    options = {name: server_arguments()[name] for name in ("socket", "server", "backend", "timeout")}
    return dict(options, record_directories={"type": "list", "elements": "path"})


def run_server_info(module: AnsibleModule) -> None:
    """Do the work of haproxy_server_info: options, run, result."""
    try:
        server, backends = read_selection(module.params)
        api = RuntimeApi(read_address("socket", module.params["socket"]), read_seconds(module.params, "timeout"))
        servers = list_servers(api, server, backends)
    except (OptionError, HaproxyError) as error:
        module.fail_json(msg=str(error))
    described = [dict(_describe(found), is_backup=is_backup) for found, is_backup in servers]
    more = {}  # type: Dict[str, Any]
    if module.params["record_directories"] is not None:
        kept = []
        for directory in module.params["record_directories"]:
            try:
                kept += list_records(directory, module.params["socket"])
            except OSError as error:
                module.warn("record_directories: %s" % error)
        more["records"] = [{"server": server, "vm_id": vm_id} for server, vm_id in kept]
    module.exit_json(changed=False, servers=described, **more)


def run_server(module: AnsibleModule) -> None:
    """Do the work of haproxy_server: options, run, result."""
    try:
        order = read_order(module.params)
        timeout = read_seconds(module.params, "timeout")
        api = RuntimeApi(read_address("socket", module.params["socket"]), timeout)
        master = None
        if module.params["master_socket"] is not None:
            address = read_address("master_socket", module.params["master_socket"])
            master = RuntimeApi(address, timeout, is_master=True)
        owner = _read_owner(module.params["record"], order)
        more = {}  # type: Dict[str, Any]
        outcome = None  # type: Optional[Outcome]
        if owner is None:
            outcome = carry_out(api, master, order, module.check_mode)
        elif order.state != AS_RECORDED:
            vm_id = module.params["record"]["vm_id"]
            outcome = take_out(api, master, order, module.params["socket"], owner, vm_id, module.check_mode)
        else:
            returned = put_back(api, order, module.params["socket"], owner, module.check_mode)
            more = {"serving": returned.serving, "out": returned.out}
            if returned.out:
                module.warn(
                    "Not in rotation, as it was before, or because its record is lost: %s" % ", ".join(returned.out)
                )
            outcome = returned.outcome
    except (OptionError, HaproxyError, BadRecord, OSError) as error:
        module.fail_json(msg=str(error))
    if outcome is None:
        module.exit_json(changed=False, **more)
        return
    for warning in outcome.warnings:
        module.warn(warning)
    result = dict(_report(outcome), **more)
    if module._diff:
        result["diff"] = {"before": _before(outcome), "after": _after(outcome, module.check_mode)}
    if outcome.failure is not None:
        # The change was made: the failure reports it like a success.
        module.fail_json(msg=outcome.failure, **result)
    module.exit_json(**result)


def _read_owner(options: Any, order: Order) -> Optional[Owner]:
    owner = read_owner(options, order.server)
    if owner is None and order.state == AS_RECORDED:
        raise OptionError("state: as_recorded needs record, where the state before the removal is kept")
    if owner is not None and order.state not in (DRAIN, MAINTENANCE, AS_RECORDED):
        raise OptionError("record: is for state drain, maintenance and as_recorded. Omit it, or set one of these")
    return owner


def _before(outcome: Outcome) -> Dict[str, Any]:
    return {
        "%s/%s" % (record.backend, record.server): {"state": record.state, "weight": record.weight}
        for record in outcome.before
    }


def _after(outcome: Outcome, predicted: bool) -> Dict[str, Any]:
    after = {seen.found.place: {"state": seen.found.state, "weight": seen.found.weight} for seen in outcome.servers}
    if predicted:
        for goal in outcome.goals:
            after[goal.place]["state"] = goal.state
            if goal.weight is not None:
                after[goal.place]["weight"] = goal.weight
    return after


def _describe(found: ServerState) -> Dict[str, Any]:
    return {
        "backend": found.backend,
        "server": found.server,
        "address": found.address or None,
        "port": found.port or None,
        "state": found.state,
        "effective_state": found.effective_state,
        "admin_state": found.admin_state,
        "operational_state": _OPERATIONAL.get(found.operational_state, "unknown"),
        "weight": found.weight,
    }


def _report(outcome: Outcome) -> Dict[str, Any]:
    """Put an outcome into words and numbers that a playbook can work with."""
    return {
        "changed": outcome.changed,
        "before": [dict(record._asdict()) for record in outcome.before],
        "servers": [
            dict(
                _describe(seen.found),
                sessions=seen.sessions,
                queued=seen.queued,
                sessions_of_old_processes=seen.sessions_of_old_processes,
            )
            for seen in outcome.servers
        ],
        "commands": outcome.commands,
        "waited": round(outcome.waited, 3),
        "reloads": outcome.reloads,
        "set_again": outcome.set_again,
        "sessions_shut_down": outcome.sessions_shut_down,
        "timed_out": outcome.timed_out,
    }
