# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the services of a machine: the arguments of service_state_info and its way of failing."""

import os
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from .service_states import ServiceStateError, is_asked, read_record, state_of

ArgumentSpec = Dict[str, Dict[str, Any]]


def service_arguments() -> ArgumentSpec:
    """Make the argument spec of service_state_info."""
    return {
        "services": {"type": "list", "elements": "raw", "default": []},
        "record": {"type": "path"},
        "expected": {"type": "str", "default": "any", "choices": ["any", "running", "stopped"]},
    }


def run_service_states(module: AnsibleModule) -> None:
    """Do the work of service_state_info on the machine: its action knows what to make of the states."""
    services, path = module.params["services"], module.params["record"]
    try:
        if path is not None:
            services = _read(path) if os.path.exists(path) else []
        states = {
            one["name"]: state_of(one["name"], [str(part) for part in one.get("status") or ()], module.run_command)
            for one in services
            if is_asked(one)
        }
    except (AttributeError, OSError, ServiceStateError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, recorded=services if path is not None else None, states=states)


def _read(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as stream:
            return read_record(stream.read())
    except ServiceStateError as error:
        raise ServiceStateError("%s: %s" % (path, error)) from error
