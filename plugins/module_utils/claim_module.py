# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the claims on a machine: the arguments of rotation_claim and its twin, their way of failing."""

import json
import math
import os
import time
from typing import Any, Dict, Tuple

from ansible.module_utils.basic import AnsibleModule

from . import claims
from .agent_status import agent_status
from .claims import ClaimError, ClaimRequest, Leased, Run, State
from .imds_module import connection_arguments, events_of_this_vm
from .own_directory_module import what_is_in
from .units import look_at_units

LEASED = "leased"
RENEWED = "renewed"
RELEASED = "released"

ArgumentSpec = Dict[str, Dict[str, Any]]


def claim_arguments() -> ArgumentSpec:
    """Make the argument spec of rotation_claim."""
    return {
        "directory": {"type": "path", "required": True},
        "state": {"type": "str", "required": True, "choices": [LEASED, RENEWED, RELEASED]},
        "run": {
            "type": "dict",
            "required": True,
            "options": {
                "id": {"type": "str", "required": True},
                "playbook": {"type": "str", "default": ""},
                "by": {"type": "str", "default": ""},
                "process": {"type": "dict"},
            },
        },
        "seconds": {"type": "float", "default": 600.0},
        "take_over": {"type": "str", "default": ""},
        "beside": {"type": "bool", "default": False},
        "returning": {"type": "bool", "default": False},
        "owner": {"type": "str", "default": ""},
        "reason": {"type": "str", "default": ""},
        "is_final": {"type": "bool", "default": False},
        "starts_at": {"type": "float"},
        "approving": {"type": "list", "elements": "str", "default": []},
        "left_out": {"type": "bool", "default": False},
        "seen": {"type": "list", "elements": "str"},
        "tried": {"type": "dict", "default": {}},
        "records": {"type": "list", "elements": "str", "default": []},
        "id_file": {"type": "str"},
        "contents": {"type": "list", "elements": "str", "default": []},
        "vm": {"type": "dict", "options": {"resource_id": {"type": "str"}, "vm_id": {"type": "str"}}},
    }


def claim_info_arguments() -> ArgumentSpec:
    """Make the argument spec of rotation_claim_info."""
    return {
        "directory": {"type": "path", "required": True},
        "paths": {"type": "list", "elements": "path", "default": []},
        "units": {"type": "list", "elements": "str", "default": []},
        "agent": {"type": "list", "elements": "str", "default": []},
        "events": {"type": "bool", "default": False},
        **connection_arguments(),
    }


def run_claim(module: AnsibleModule) -> None:
    """Do the work of rotation_claim."""
    params = module.params
    if not 0 < params["seconds"] < math.inf:
        module.fail_json(msg="seconds: %s is not a number of seconds above 0" % params["seconds"])
    now = time.time()
    try:
        beside = {} if params["id_file"] is None else _what_is_in(params)
        before, after = _change(module, now)
        # The time of the last work on the machine is not a change of its claims.
        texts = [json.dumps(_without_instants(state), indent=2, sort_keys=True) + "\n" for state in (before, after)]
        module.exit_json(
            changed=texts[0] != texts[1],
            diff={"before": texts[0], "after": texts[1]},
            others=sorted(name for name in after.claims if name != params["owner"]),
            **_as_result(after, now),
            **beside,
        )
    except Leased as error:
        module.fail_json(msg="%s: %s" % (params["directory"], error), leased=True)
    except (ClaimError, OSError, ValueError) as error:
        module.fail_json(msg=str(error), leased=False)


def run_claim_info(module: AnsibleModule) -> None:
    """Do the work of rotation_claim_info."""
    params = module.params
    now = time.time()
    try:
        units = look_at_units(module, params["units"])
        found = {
            "present": claims.present(params["paths"]),
            "unknown_units": units.unknown,
            "triggered_units": units.triggered,
            "agent": agent_status(module, params["agent"]),
            **_as_result(claims.read(params["directory"]), now),
        }
    except ClaimError as error:
        module.fail_json(msg=str(error))
    if params["events"]:
        found["scheduled"] = events_of_this_vm(module)
        if "msg" in found["scheduled"]:
            module.fail_json(msg=found["scheduled"]["msg"], **found)
    module.exit_json(**found)


def _what_is_in(params: Dict[str, Any]) -> Dict[str, Any]:
    return what_is_in(params["directory"], params["id_file"], params["contents"])


def _change(module: AnsibleModule, now: float) -> Tuple[State, State]:
    directory = module.params["directory"]
    state = module.params["state"]
    said = module.params["vm"] or {}
    vm = claims.Vm(said.get("resource_id") or "", said.get("vm_id") or "")
    if module.check_mode or (state == RELEASED and not os.path.isdir(directory)):
        before = claims.of_vm(claims.read(directory), vm, directory)
        return before, _next(module.params, before, now)
    with claims.locked(directory):
        before = claims.of_vm(claims.read(directory), vm, directory)
        after = _next(module.params, before, now)
        claims.write(directory, after, module.params["records"])
    return before, after


def _next(params: Dict[str, Any], before: State, now: float) -> State:
    run = Run(params["run"]["id"], params["run"]["playbook"], params["run"]["by"], params["run"]["process"])
    before = claims.note_tried(before, {str(name): str(why or "") for name, why in params["tried"].items()}, now)
    if params["state"] == RELEASED:
        return claims.release(before, run, params["owner"])
    if params["state"] == RENEWED:
        after = claims.renew(before, run, params["seconds"], now, params["returning"])
    else:
        after = _lease(params, before, run, now)
    # Who is about to restore it gives its claim up, or has to see who else has one. Where none is noted, as on a new
    # disk, a restore that fails is to be done again.
    if not params["owner"] or (params["returning"] and before.claims):
        return after
    request = ClaimRequest(
        params["owner"],
        params["reason"],
        params["is_final"],
        params["starts_at"],
        params["approving"],
        params["left_out"],
        params["seen"],
    )
    return claims.claim(after, run, request, now)


def _lease(params: Dict[str, Any], before: State, run: Run, now: float) -> State:
    try:
        return claims.lease(before, run, params["seconds"], now, params["take_over"], params["returning"])
    except Leased:
        if params["beside"] and claims.is_out(before, params["owner"], now):
            return before
        raise


def _as_result(state: State, now: float) -> Dict[str, Any]:
    return {
        "lease": state.holder(now),
        "claims": dict(state.claims),
        "tried": dict(state.tried),
        "vm": dict(state.vm._asdict()),
        "boot_id": claims.boot_id(),
        "now": now,
    }


def _without_instants(state: State) -> Dict[str, Any]:
    return {
        "claims": {
            owner: {name: value for name, value in claim.items() if name not in ("noted_at", "left_out_at", "seen")}
            for owner, claim in state.claims.items()
        },
        "tried": {event_id: one["reason"] for event_id, one in state.tried.items()},
    }
