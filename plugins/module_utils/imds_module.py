# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the core: the modules that ask IMDS, their arguments and their way of failing."""

from typing import Any, Callable, Dict, Mapping

from ansible.module_utils.basic import AnsibleModule, env_fallback

from .scheduled_events.client import DEFAULT_CONNECT_TIMEOUT, DEFAULT_ENDPOINT, DEFAULT_TIMEOUT, ImdsClient
from .scheduled_events.deadline import read_seconds
from .scheduled_events.document import event_from_dict
from .scheduled_events.errors import ApprovalRefused, DocumentError, ImdsError, OptionError, StillScheduled
from .scheduled_events.operations import Approval, approve_events, list_events, open_client
from .scheduled_events.options import ConnectionOptions, read_connection
from .scheduled_events.selection import AFFECTING, ANY, THIS_VM, Selection, read_selection, warnings_for

ArgumentSpec = Dict[str, Dict[str, Any]]
Work = Callable[[ImdsClient, ConnectionOptions, Selection], Dict[str, Any]]


def connection_arguments() -> ArgumentSpec:
    """Options that say how to reach IMDS."""
    return {
        "endpoint": {"type": "str", "default": DEFAULT_ENDPOINT, "fallback": (env_fallback, ["FOGHORN_IMDS_ENDPOINT"])},
        "api_version": {"type": "str"},
        "timeout": {"type": "float", "default": DEFAULT_TIMEOUT},
        "connect_timeout": {"type": "float", "default": DEFAULT_CONNECT_TIMEOUT},
        "vm_name": {"type": "str"},
    }


def selection_arguments() -> ArgumentSpec:
    """Options that choose events, as this VM sees them."""
    return {
        "event_types": {"type": "list", "elements": "str"},
        "event_sources": {"type": "list", "elements": "str"},
        "event_statuses": {"type": "list", "elements": "str"},
        "affecting": {"type": "str", "default": ANY, "choices": list(AFFECTING)},
    }


def run_info(module: AnsibleModule) -> None:
    """Do the work of scheduled_events_info."""
    _run(module, _read_events)


def events_of_this_vm(module: AnsibleModule) -> Dict[str, Any]:
    """What scheduled_events_info returns for the events that hit this VM; if it fails, only `msg` and what it adds.

    :param module: with the `connection_arguments`
    """
    return _answer(module, dict(module.params, affecting=THIS_VM), _read_events)


def _read_events(client: ImdsClient, connection: ConnectionOptions, selection: Selection) -> Dict[str, Any]:
    # A playbook for both systems reads this: facts need not have been gathered.
    return dict(list_events(client, connection, selection)._asdict(), changed=False, system="Linux")


def run_approval(module: AnsibleModule) -> None:
    """Do the work of scheduled_event_approve."""

    def work(client: ImdsClient, connection: ConnectionOptions, selection: Selection) -> Dict[str, Any]:
        if selection.event_ids is None and selection.event_types is None:
            raise OptionError(
                "event_ids, event_types: none of them is set, and only what you select is approved: name the events"
                " that this VM is prepared for, or their types"
            )
        wait_timeout = read_seconds(module.params, "wait_timeout")
        try:
            approval = approve_events(
                client,
                connection,
                selection,
                scope=module.params["scope"],
                wait_timeout=wait_timeout if module.params["wait"] else None,
                dry_run=module.check_mode,
                as_seen=[
                    event_from_dict(event, "as_seen[%d]" % at) for at, event in enumerate(module.params["as_seen"])
                ],
            )
        except StillScheduled as error:
            # The approval was sent: the failure reports it like a success.
            module.fail_json(msg=str(error), **_report(module, error.result))
        return _report(module, approval)

    _run(module, work)


def _report(module: AnsibleModule, approval: Approval) -> Dict[str, Any]:
    for warning in approval.warnings:
        module.warn(warning)
    report = {
        "changed": approval.changed,
        "vm_name": approval.vm_name,
        "approved": approval.approved,
        "not_approved": approval.not_approved,
        "events": approval.events,
    }  # type: Dict[str, Any]
    if module._diff:
        report["diff"] = {"before": approval.before, "after": approval.after}
    return report


def _run(module: AnsibleModule, work: Work) -> None:
    """Do the work and end the module: with the result, or with one clear error."""
    answer = _answer(module, module.params, work)
    if "msg" in answer:
        module.fail_json(**answer)
    module.exit_json(**answer)


def _answer(module: AnsibleModule, params: Mapping[str, Any], work: Work) -> Dict[str, Any]:
    """Check the options and do the work. One clear `msg` says why something could not be done."""
    try:
        connection = read_connection(params)
        selection = read_selection(params)
        for warning in warnings_for(params):
            module.warn(warning)
        with open_client(connection) as client:
            return work(client, connection, selection)
    except (OptionError, ApprovalRefused, DocumentError) as error:
        return {"msg": str(error)}
    except ImdsError as error:
        return {"msg": str(error), "requests_tried": error.attempts, "last_outcome": error.last_outcome}
