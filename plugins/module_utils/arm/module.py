# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where does Ansible meet this? The modules of the control plane: their arguments and their way of failing.

Ansible has no compiled code of a module: each task compiles all that is imported. So each function imports what its own
module needs.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..scheduled_events.deadline import Deadline
from ..scheduled_events.errors import DocumentError, OptionError, StillScheduled
from ..scheduled_events.options import read_seconds
from .client import ArmClient, interrupted
from .cloud import CERT_VALIDATION_MODES
from .credentials import AUTH_SOURCES, choose
from .errors import ArmError, MissingLibrary, Unfinished
from .options import read_name, read_places

if TYPE_CHECKING:
    from . import acknowledgement, protection, rolling_upgrade, scale_set

ArgumentSpec = dict[str, dict[str, Any]]

DEFAULT_TIMEOUT = 1800.0  # seconds
REQUIRED_LIBRARIES = "azure-identity, azure-mgmt-core and requests"


def sign_in_arguments() -> ArgumentSpec:
    """Options that say who asks ARM, where, and for how long at most."""
    return {
        "auth_source": {"type": "str", "choices": list(AUTH_SOURCES)},
        "profile": {"type": "str"},
        "subscription_id": {"type": "str"},
        "client_id": {"type": "str"},
        "secret": {"type": "str", "no_log": True},
        "tenant": {"type": "str"},
        "x509_certificate_path": {"type": "path"},
        "thumbprint": {"type": "str"},
        "federated_token_file": {"type": "path", "no_log": False},
        "cloud_environment": {"type": "str"},
        "adfs_authority_url": {"type": "str"},
        "base_url": {"type": "str"},
        "disable_instance_discovery": {"type": "bool"},
        "cert_validation_mode": {"type": "str", "choices": list(CERT_VALIDATION_MODES)},
        "timeout": {"type": "float", "default": DEFAULT_TIMEOUT},
        "api_profile": {"type": "str"},
        "log_mode": {"type": "str"},
        "log_path": {"type": "str"},
        "ad_user": {"type": "str"},
        "password": {"type": "str", "no_log": True},
    }


def notification_arguments() -> ArgumentSpec:
    """Options that say which notifications are wanted, on which resource."""
    from .notification import ENABLED, STATES

    return {
        "resource_group": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "default": ENABLED, "choices": list(STATES)},
        "not_before_timeout": {"type": "str"},
        "os_image_notification": {"type": "bool"},
        "wait": {"type": "bool", "default": True},
    }


def rollout_arguments() -> ArgumentSpec:
    """Options that say what becomes of a scale set's instances."""
    from .rollout import NONE, UPDATES

    return {
        "update_instances": {"type": "str", "default": NONE, "choices": list(UPDATES)},
        "batch_size": {"type": "str", "default": "20%"},
        "max_unavailable": {"type": "str", "default": "20%"},
        "update_protected": {"type": "bool", "default": False},
    }


def progress_arguments() -> ArgumentSpec:
    """The option by which the action of a module's name hears how far the module is."""
    return {"progress_file": {"type": "path"}}


def places_arguments() -> ArgumentSpec:
    """Options that say in which subscriptions is looked."""
    return {"subscriptions": {"type": "list", "elements": "str"}, "management_group": {"type": "str"}}


def scale_set_choice_arguments() -> ArgumentSpec:
    """Options that say which scale sets are read."""
    return {
        "resource_group": {"type": "str"},
        "name": {"type": "str"},
        **places_arguments(),
        "tags": {"type": "dict"},
        "instances": {"type": "bool", "default": True},
    }


def policy_arguments() -> ArgumentSpec:
    """Options that say which policy is wanted, on which resource."""
    from . import policy

    return {
        "resource_group": {"type": "str", "required": True},
        **{kind: {"type": "str"} for kind in policy.KINDS},
        **{approval: {"type": "bool"} for approval in policy.APPROVALS},
        "publish": {"type": "bool"},
        "publish_api_version": {"type": "str"},
        "wait": {"type": "bool", "default": True},
    }


def policy_choice_arguments() -> ArgumentSpec:
    """Options that say whose policies are read."""
    from . import policy

    return {"resource_group": {"type": "str"}, **places_arguments(), **{kind: {"type": "str"} for kind in policy.KINDS}}


def rights_arguments() -> ArgumentSpec:
    """Options that say what somebody wants to do, and where."""
    from . import rights

    return {
        "scopes": {"type": "list", "elements": "str"},
        "needs": {"type": "list", "elements": "str", "default": [], "choices": list(rights.RIGHTS)},
    }


def acknowledgement_arguments() -> ArgumentSpec:
    """Options that choose events, and say for which VMs."""
    from ..imds_module import filter_arguments
    from ..scheduled_events.approval import OWN, SCOPES

    return {
        "event_ids": {"type": "list", "elements": "str"},
        "vm_names": {"type": "list", "elements": "str"},
        "resource_group": {"type": "str"},
        "scope": {"type": "str", "default": OWN, "choices": list(SCOPES)},
        **filter_arguments(),
        **places_arguments(),
        "wait": {"type": "bool", "default": False},
    }


def target_arguments() -> ArgumentSpec:
    """Options that name one machine."""
    return {
        "resource_group": {"type": "str"},
        "name": {"type": "str"},
        "scale_set": {"type": "str"},
        "instance_id": {"type": "str"},
        "id": {"type": "str"},
    }


def target_rules(required: bool = True, places: bool = False) -> dict[str, Any]:
    """What goes with what among these options.

    :param required: whether one must be named
    :param places: whether there are `places_arguments` as well, for where none is named
    """
    return {
        "mutually_exclusive": [
            ("id", "name", "scale_set", *(("subscriptions", "management_group") if places else ())),
            ("id", "resource_group"),
        ],
        "required_together": [("scale_set", "instance_id")],
        "required_by": {"name": ["resource_group"], "scale_set": ["resource_group"]},
        **({"required_one_of": [("id", "name", "scale_set")]} if required else {}),
    }


def window_choice_arguments() -> ArgumentSpec:
    """Options that say whose windows are read."""
    return {**target_arguments(), **places_arguments()}


def action_arguments() -> ArgumentSpec:
    """Options that name a machine on which something is done."""
    return {**target_arguments(), "wait": {"type": "bool", "default": True}}


def update_run_arguments() -> ArgumentSpec:
    """Options that name a run of updates."""
    return {"run_id": {"type": "str", "required": True}}


def eviction_arguments() -> ArgumentSpec:
    """Options that name a Spot machine."""
    return {
        **target_arguments(),
        "confirm": {"type": "bool", "default": False},
    }


def protection_arguments() -> ArgumentSpec:
    """Options that say which instances are protected, from what."""
    from . import protection

    return {
        "resource_group": {"type": "str", "required": True},
        "scale_set": {"type": "str", "required": True},
        "instances": {"type": "list", "elements": "str", "required": True},
        **{part: {"type": "bool"} for part in protection.PARTS},
    }


def repairs_arguments() -> ArgumentSpec:
    """Options that say whether the automatic repairs of a scale set run."""
    from . import repairs

    return {
        "resource_group": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "required": True, "choices": list(repairs.STATES)},
    }


def rolling_upgrade_arguments() -> ArgumentSpec:
    """Options that say what becomes of a scale set's rolling upgrade."""
    from . import rolling_upgrade

    return {
        "resource_group": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "default": rolling_upgrade.STARTED, "choices": list(rolling_upgrade.STATES)},
        "upgrade": {"type": "str", "default": rolling_upgrade.OS_IMAGE, "choices": list(rolling_upgrade.WHAT)},
        "wait": {"type": "bool", "default": True},
    }


def scale_set_arguments() -> ArgumentSpec:
    """Options that name one scale set."""
    return {"resource_group": {"type": "str", "required": True}, "name": {"type": "str", "required": True}}


def lifecycle_hooks_arguments() -> ArgumentSpec:
    """Options that say which lifecycle hooks a scale set has."""
    from . import lifecycle_hooks

    return {
        **scale_set_arguments(),
        "state": {"type": "str", "default": lifecycle_hooks.PRESENT, "choices": list(lifecycle_hooks.STATES)},
        "hooks": {
            "type": "list",
            "elements": "dict",
            "options": {
                "type": {"type": "str", "required": True, "choices": list(lifecycle_hooks.TYPES)},
                "wait_duration": {"type": "str"},
                "default_action": {"type": "str", "choices": list(lifecycle_hooks.DEFAULT_ACTIONS)},
            },
        },
        "exclusive": {"type": "bool", "default": False},
        "types": {"type": "list", "elements": "str", "choices": list(lifecycle_hooks.TYPES)},
    }


def hook_event_choice_arguments() -> ArgumentSpec:
    """Options that say which events of lifecycle hooks are read."""
    from . import lifecycle_hook_events

    return {
        "resource_group": {"type": "str", "required": True},
        "scale_set": {"type": "str", "required": True},
        "name": {"type": "str"},
        "states": {"type": "list", "elements": "str", "choices": list(lifecycle_hook_events.EVENT_STATES)},
        "types": {"type": "list", "elements": "str"},
    }


def hook_event_arguments() -> ArgumentSpec:
    """Options that say what becomes of an event of a lifecycle hook."""
    from . import lifecycle_hook_events

    return {
        "resource_group": {"type": "str", "required": True},
        "scale_set": {"type": "str", "required": True},
        "name": {"type": "str"},
        "state": {"type": "str", "required": True, "choices": list(lifecycle_hook_events.STATES)},
        "instances": {"type": "list", "elements": "str"},
        "until": {"type": "str"},
        "by": {"type": "str"},
    }


def membership_arguments() -> ArgumentSpec:
    """Options that name a VM, and say what becomes of it in its pools."""
    from . import membership

    return {
        "vm_id": {"type": "str"},
        "pools": {"type": "list", "elements": "str"},
        "method": {"type": "str", "default": membership.MEMBERSHIP, "choices": list(membership.METHODS)},
        "remove": {"type": "bool", "default": False},
        "restore": {
            "type": "list",
            "elements": "dict",
            "options": {
                "kind": {"type": "str", "required": True, "choices": list(membership.KINDS)},
                "pool": {"type": "str", "required": True},
                "resource": {"type": "str"},
                "interface": {"type": "str"},
                "ip_configuration": {"type": "str"},
                "address": {"type": "str"},
                "admin_state": {"type": "str"},
                "entry": {"type": "dict"},
            },
        },
    }


def address_arguments() -> ArgumentSpec:
    """Options that name a VM, and say where it is reached."""
    return {"vm_id": {"type": "str", "required": True}, "host": {"type": "str"}}


def pool_arguments() -> ArgumentSpec:
    """The option that names VMs whose pools, or events, are looked up."""
    return {"vm_ids": {"type": "list", "elements": "str", "required": True}}


def gateway_arguments() -> ArgumentSpec:
    """Options that say who is in an application gateway's pools, and what becomes of it."""
    from . import gateway

    records = {
        "type": "list",
        "elements": "dict",
        "options": {
            "kind": {"type": "str", "required": True, "choices": list(gateway.KINDS)},
            "pool": {"type": "str", "required": True},
            "resource": {"type": "str"},
            "interface": {"type": "str"},
            "ip_configuration": {"type": "str"},
            "entry": {"type": "dict"},
            "servers": {"type": "list", "elements": "str"},
        },
    }
    return {
        "vm_id": {"type": "str"},
        "addresses": {"type": "list", "elements": "str"},
        "pools": {"type": "list", "elements": "str"},
        "remove": dict(records),
        "restore": dict(records),
        "wait": {"type": "bool", "default": True},
        "wait_timeout": {"type": "float", "default": gateway.DEFAULT_WAIT},
    }


def run_scale_set_notification(module: AnsibleModule) -> None:
    """Do the work of vmss_terminate_notification."""
    from . import scale_set
    from .notification import read_wish
    from .rollout import NONE, read_care

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        wish = read_wish(options)
        rollout = scale_set.Rollout(options["update_instances"], read_care(options), options["update_protected"])
        if rollout.which != NONE and not options["wait"]:
            raise OptionError(
                "wait: false does not go with update_instances: %s, because instances can only be brought to the new"
                " model once it is there. Set wait to true, or update_instances to none" % rollout.which
            )
        group, name = read_name(options, "resource_group"), read_name(options, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            try:
                outcome = scale_set.notify(client, group, name, wish, rollout, options["wait"], module.check_mode)
            except Unfinished as error:
                module.fail_json(msg=str(error), **_said_by(client), **_report_scale_set(module, group, error.outcome))
            return _report_scale_set(module, group, outcome)

        return work

    _run(module, prepare)


def run_scale_set_info(module: AnsibleModule) -> None:
    """Do the work of vmss_terminate_notification_info."""
    from . import repairs, scale_set
    from .resource_graph import subscriptions_of

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        group = read_name(options, "resource_group") if options["resource_group"] is not None else None
        name = read_name(options, "name") if options["name"] is not None else None
        places = read_places(options)

        def work(client: ArmClient) -> dict[str, Any]:
            subscriptions = subscriptions_of(client, places)
            found = scale_set.describe_all(client, group, name, options["instances"], subscriptions, options["tags"])
            for one in found:
                if one["error"] is not None:
                    module.warn("%s could not be read to its end: %s" % (one["id"], one["error"]))
                    continue
                danger = repairs.explain_danger(one["name"], one["automatic_repairs"])
                if danger is not None:
                    module.warn(danger)
            return {"changed": False, "scale_sets": found}

        return work

    _run(module, prepare)


def run_vm_notification(module: AnsibleModule) -> None:
    """Do the work of vm_terminate_notification."""
    from . import virtual_machine
    from .notification import as_dict, read_wish

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        wish = read_wish(options)
        group, name = read_name(options, "resource_group"), read_name(options, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = virtual_machine.notify(client, group, name, wish, options["wait"], module.check_mode)
            _warn(module, outcome.warnings)
            return {
                "changed": outcome.changed,
                "id": outcome.resource.get("id"),
                "name": outcome.resource.get("name"),
                "resource_group": group,
                "location": outcome.resource.get("location"),
                **virtual_machine.describe(outcome.resource),
                **_before_and_after(module, as_dict(outcome.before), as_dict(outcome.after)),
            }

        return work

    _run(module, prepare)


def run_policy(module: AnsibleModule) -> None:
    """Do the work of scheduled_events_policy."""
    from . import policy

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        wish = policy.read_wish(options)
        option = next(kind for kind in policy.KINDS if options[kind] is not None)
        group, name = read_name(options, "resource_group"), read_name(options, option)

        def work(client: ArmClient) -> dict[str, Any]:
            kind = policy.KINDS[option]
            outcome = policy.set_policy(client, kind, group, name, wish, options["wait"], module.check_mode)
            _warn(module, outcome.warnings)
            return {
                "changed": outcome.changed,
                "id": outcome.resource.get("id"),
                **_before_and_after(module, outcome.before, outcome.after),
            }

        return work

    _run(module, prepare)


def run_policy_info(module: AnsibleModule) -> None:
    """Do the work of scheduled_events_policy_info."""
    from . import policy
    from .resource_graph import subscriptions_of

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        group = read_name(options, "resource_group") if options["resource_group"] is not None else None
        option = next((kind for kind in policy.KINDS if options[kind] is not None), None)
        name = read_name(options, option) if option is not None else None
        places = read_places(options)

        def work(client: ArmClient) -> dict[str, Any]:
            subscriptions = subscriptions_of(client, places)
            return {"changed": False, "resources": policy.describe_all(client, group, option, name, subscriptions)}

        return work

    _run(module, prepare)


def run_rights_info(module: AnsibleModule) -> None:
    """Do the work of maintenance_rights_info."""
    from . import rights

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        given, needs = module.params["scopes"], module.params["needs"]
        scopes = rights.read_scopes(given or ())

        def work(client: ArmClient) -> dict[str, Any]:
            # An empty list is of somebody who has no scopes, not of somebody who means all.
            own = rights.read_scopes(["/subscriptions/%s" % client.subscription_id]) if given is None else scopes
            checks = rights.inspect(client, own)
            return {
                "changed": False,
                "checks": [rights.as_row(check, needs) for check in checks],
                "lacking": rights.lacking(checks, needs),
            }

        return work

    _run(module, prepare)


def run_acknowledgement(module: AnsibleModule) -> None:
    """Do the work of scheduled_event_acknowledge."""
    from ..scheduled_events.options import read_selection, warnings_for
    from . import acknowledgement
    from .machines import read_references
    from .resource_graph import subscriptions_of

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        selection = read_selection(options)
        for warning in warnings_for(options):
            module.warn(warning)
        vms = read_references(options["vm_names"] or ())
        group = read_name(options, "resource_group") if options["resource_group"] is not None else None
        places = read_places(options)

        def work(client: ArmClient) -> dict[str, Any]:
            try:
                result = acknowledgement.acknowledge(
                    client,
                    subscriptions_of(client, places),
                    selection,
                    vms,
                    options["scope"],
                    options["wait"],
                    module.check_mode,
                    group,
                )
            except (StillScheduled, Unfinished) as error:
                # What was approved is approved: the failure reports it like a success.
                report = _report_approval(module, error.result if isinstance(error, StillScheduled) else error.outcome)
                module.fail_json(msg=str(error), **_said_by(client), **report, **_doubt(error.__cause__))
            return _report_approval(module, result)

        return work

    _run(module, prepare)


def run_eviction(module: AnsibleModule) -> None:
    """Do the work of simulate_eviction."""
    from . import eviction
    from .target import read_target

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        target = read_target(options)
        if not options["confirm"]:
            raise OptionError(
                "confirm: false, so nothing was done. This module does not pretend: Azure takes %s away, about 30"
                " seconds after it runs. Set confirm to true to do that" % target.words
            )

        def work(client: ArmClient) -> dict[str, Any]:
            return {"changed": True, "id": eviction.evict(client, target, module.check_mode)}

        return work

    _run(module, prepare)


def run_redeployment(module: AnsibleModule) -> None:
    """Do the work of vm_redeploy."""
    from . import maintenance
    from .target import read_target

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        target = read_target(options)

        def work(client: ArmClient) -> dict[str, Any]:
            done = maintenance.redeploy(client, target, options["wait"], module.check_mode)
            return {"changed": True, "id": done}

        return work

    _run(module, prepare)


def run_maintenance(module: AnsibleModule) -> None:
    """Do the work of vm_maintenance."""
    from . import maintenance
    from .target import read_target

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        target = read_target(options)

        def work(client: ArmClient) -> dict[str, Any]:
            path, window, reason = maintenance.maintain(client, target, options["wait"], module.check_mode)
            return {"changed": reason is None, "id": path, "reason": reason, "window": window}

        return work

    _run(module, prepare)


def run_windows(module: AnsibleModule) -> None:
    """Do the work of maintenance_window_info."""
    from . import maintenance
    from .resource_graph import subscriptions_of
    from .target import read_target

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        names_one = any(options[option] is not None for option in ("id", "name", "scale_set"))
        target = read_target(options) if names_one else None
        group = read_name(options, "resource_group") if options["resource_group"] is not None else None
        places = read_places(options)

        def work(client: ArmClient) -> dict[str, Any]:
            if target is None:
                subscriptions = subscriptions_of(client, places)
                return {"changed": False, "machines": maintenance.list_windows(client, group, subscriptions)}
            window = maintenance.read_window(client, target)
            found = {"id": target.path(client), "name": target.vm_name(client), **(window or {})}
            return {"changed": False, "machines": [found] if window else []}

        return work

    _run(module, prepare)


def run_protection(module: AnsibleModule) -> None:
    """Do the work of vmss_instance_protection."""
    from . import protection

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        wish = protection.read_wish(options)
        group, name = read_name(options, "resource_group"), read_name(options, "scale_set")
        instances = protection.read_instances(name, options["instances"])

        def work(client: ArmClient) -> dict[str, Any]:
            try:
                outcome = protection.protect(client, group, name, instances, wish, module.check_mode)
            except Unfinished as error:
                module.fail_json(msg=str(error), **_said_by(client), **_report_protection(module, error.outcome))
            return _report_protection(module, outcome)

        return work

    _run(module, prepare)


def run_repairs(module: AnsibleModule) -> None:
    """Do the work of vmss_automatic_repairs."""
    from . import repairs

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        group, name = read_name(options, "resource_group"), read_name(options, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = repairs.set_state(client, group, name, options["state"], module.check_mode)
            _warn(module, outcome.warnings)
            return {
                "changed": outcome.changed,
                "id": outcome.scale_set_id,
                **_before_and_after(module, {"state": outcome.before}, {"state": outcome.after}),
            }

        return work

    _run(module, prepare)


def run_rolling_upgrade(module: AnsibleModule) -> None:
    """Do the work of vmss_rolling_upgrade."""
    from . import rolling_upgrade

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        group, name = read_name(options, "resource_group"), read_name(options, "name")
        state, what, wait = options["state"], options["upgrade"], options["wait"]
        if state == rolling_upgrade.FINISHED and not wait:
            raise OptionError(
                "wait: false does not go with state: %s, which is to wait. Look with vmss_rolling_upgrade_info" % state
            )

        def work(client: ArmClient) -> dict[str, Any]:
            try:
                outcome = rolling_upgrade.bring_to(client, group, name, state, what, wait, module.check_mode)
            except Unfinished as error:
                module.fail_json(msg=str(error), **_said_by(client), **_report_rolling_upgrade(module, error.outcome))
            return _report_rolling_upgrade(module, outcome)

        return work

    _run(module, prepare)


def run_rolling_upgrade_info(module: AnsibleModule) -> None:
    """Do the work of vmss_rolling_upgrade_info."""
    from . import rolling_upgrade

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        group, name = read_name(module.params, "resource_group"), read_name(module.params, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            return {"changed": False, **rolling_upgrade.describe(client, group, name)}

        return work

    _run(module, prepare)


def run_update_cancellation(module: AnsibleModule) -> None:
    """Do the work of update_run_cancel."""
    from . import update_run

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        run_id = module.params["run_id"]

        def work(client: ArmClient) -> dict[str, Any]:
            return {"changed": True, "id": run_id, "status": update_run.cancel(client, run_id, module.check_mode)}

        return work

    _run(module, prepare)


def _report_rolling_upgrade(module: AnsibleModule, outcome: rolling_upgrade.UpgradeChange) -> dict[str, Any]:
    from . import rolling_upgrade

    _warn(module, outcome.warnings)
    return {
        "changed": outcome.changed,
        "id": outcome.scale_set_id,
        "reason": outcome.reason,
        "upgrade": rolling_upgrade.as_dict(outcome.upgrade),
    }


def _report_protection(module: AnsibleModule, outcome: protection.ProtectionChange) -> dict[str, Any]:
    report: dict[str, Any] = {
        "changed": outcome.changed,
        "id": outcome.scale_set_id,
        "instances": list(outcome.instances),
    }
    if module._diff:
        report["diff"] = {
            when: {one["instance_id"]: one[when] for one in outcome.instances} for when in ("before", "after")
        }
    return report


def run_lifecycle_hooks(module: AnsibleModule) -> None:
    """Do the work of vmss_lifecycle_hooks."""
    from . import lifecycle_hooks

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        wish = lifecycle_hooks.read_wish(options)
        group, name = read_name(options, "resource_group"), read_name(options, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = lifecycle_hooks.set_hooks(client, group, name, wish, module.check_mode)
            if outcome.obstacles and outcome.after:
                module.warn("No hook of %s will ever ask: %s" % (name, "; ".join(outcome.obstacles)))
            return {
                "changed": outcome.changed,
                "id": outcome.resource.get("id"),
                "obstacles": list(outcome.obstacles),
                **_before_and_after(module, {"hooks": outcome.before}, {"hooks": outcome.after}),
            }

        return work

    _run(module, prepare)


def run_lifecycle_hooks_info(module: AnsibleModule) -> None:
    """Do the work of vmss_lifecycle_hooks_info."""
    from . import lifecycle_hooks

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        group, name = read_name(module.params, "resource_group"), read_name(module.params, "name")

        def work(client: ArmClient) -> dict[str, Any]:
            return {"changed": False, **lifecycle_hooks.read_hooks(client, group, name)}

        return work

    _run(module, prepare)


def run_hook_event_info(module: AnsibleModule) -> None:
    """Do the work of vmss_lifecycle_hook_event_info."""
    from . import lifecycle_hook_events

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        group, scale_set = read_name(options, "resource_group"), read_name(options, "scale_set")
        choice = (options["name"], options["states"], options["types"])

        def work(client: ArmClient) -> dict[str, Any]:
            return {"changed": False, "events": lifecycle_hook_events.list_events(client, group, scale_set, *choice)}

        return work

    _run(module, prepare)


def run_hook_event(module: AnsibleModule) -> None:
    """Do the work of vmss_lifecycle_hook_event."""
    from . import lifecycle_hook_events

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        options = module.params
        answer = lifecycle_hook_events.read_answer(options)
        group, scale_set = read_name(options, "resource_group"), read_name(options, "scale_set")
        name = read_name(options, "name") if options["name"] is not None else None

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = lifecycle_hook_events.answer_event(client, group, scale_set, name, answer, module.check_mode)
            report: dict[str, Any] = {
                "changed": outcome.changed,
                "reason": outcome.reason,
                "answered": list(outcome.answered),
                "event": outcome.after,
            }
            if module._diff:
                report["diff"] = {"before": outcome.before or {}, "after": outcome.after or {}}
            return report

        return work

    _run(module, prepare)


def run_membership(module: AnsibleModule) -> None:
    """Do the work of load_balancer_member."""
    from . import membership

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        order = membership.read_order(module.params)

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = membership.carry_out(client, order, module.check_mode)
            _warn(module, outcome.warnings)
            return {"changed": outcome.changed, "before": outcome.before}

        return work

    _run(module, prepare)


def run_address_info(module: AnsibleModule) -> None:
    """Do the work of vm_address_info."""
    from . import address

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        question = address.read_question(module.params)

        def work(client: ArmClient) -> dict[str, Any]:
            found = address.look_up(client, question)
            held = found.is_held if module.params["host"] else None
            return {"changed": False, "addresses": found.private, "held": held, "scale_set": found.scale_set}

        return work

    _run(module, prepare)


def run_pool_info(module: AnsibleModule) -> None:
    """Do the work of vm_pool_info."""
    from . import pools

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        vm_ids = pools.read_vm_ids(module.params)

        def work(client: ArmClient) -> dict[str, Any]:
            found, members = pools.find_pools(client, vm_ids)
            return {
                "changed": False,
                "pools": [{"id": pool, "members": of_pool} for pool, of_pool in members.items()],
                "vms": [{"vm_id": vm_id, "pools": of_vm} for vm_id, of_vm in zip(vm_ids, found, strict=True)],
            }

        return work

    _run(module, prepare)


def run_events_info(module: AnsibleModule) -> None:
    """Do the work of vm_events_info."""
    from . import announcements

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        vm_ids = announcements.read_vm_ids(module.params)

        def work(client: ArmClient) -> dict[str, Any]:
            found = announcements.find_announcements(client, vm_ids)
            return {
                "changed": False,
                "hit": [
                    {"vm_id": vm_id, "event_ids": [one.event.event_id for one in events]}
                    for vm_id, events in found.events.items()
                ],
                "unlisted": [{"vm_id": vm_id, "reason": why} for vm_id, why in found.unlisted.items()],
            }

        return work

    _run(module, prepare)


def run_gateway(module: AnsibleModule) -> None:
    """Do the work of application_gateway_member."""
    from . import gateway

    def prepare() -> Callable[[ArmClient], dict[str, Any]]:
        order = gateway.read_order(module.params)

        def work(client: ArmClient) -> dict[str, Any]:
            outcome = gateway.carry_out(client, order, module.check_mode)
            _warn(module, outcome.warnings)
            return {"changed": outcome.changed, "before": outcome.before, "remaining": outcome.remaining}

        return work

    _run(module, prepare)


def _report_approval(module: AnsibleModule, result: acknowledgement.Acknowledgement) -> dict[str, Any]:
    _warn(module, tuple(result.warnings))
    report: dict[str, Any] = {
        "changed": result.changed,
        "approved": result.approved,
        "not_approved": result.not_approved,
    }
    if module._diff:
        report["diff"] = {"before": result.before, "after": result.after}
    return report


def _report_scale_set(module: AnsibleModule, group: str, outcome: scale_set.ScaleSetChange) -> dict[str, Any]:
    from .notification import as_dict

    _warn(module, outcome.warnings)
    found = outcome.scale_set
    return {
        "changed": outcome.changed,
        "id": found.resource_id,
        "name": found.name,
        "resource_group": group,
        "location": found.location,
        "orchestration_mode": found.orchestration_mode,
        "upgrade_mode": found.upgrade_mode,
        "updated_instances": list(outcome.updated),
        "outdated_instances": list(outcome.outdated),
        "protected_instances": list(outcome.protected),
        "gone_instances": list(outcome.gone),
        **_before_and_after(module, as_dict(outcome.before), as_dict(outcome.after), list(outcome.updated)),
    }


def _before_and_after(
    module: AnsibleModule, before: dict[str, Any], after: dict[str, Any], updated: list[str] | None = None
) -> dict[str, Any]:
    result: dict[str, Any] = {"before": before, "after": after}
    if module._diff:
        result["diff"] = {"before": before, "after": dict(after, updated_instances=updated) if updated else after}
    return result


def _warn(module: AnsibleModule, warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        module.warn(warning)


def _said_by(client: ArmClient) -> dict[str, Any]:
    return {"auth_source_used": client.sign_in.source, "subscription_id": client.known_subscription_id}


def _run(module: AnsibleModule, prepare: Callable[[], Callable[[ArmClient], dict[str, Any]]]) -> None:
    """Check the options, sign in, do the work, and end the module: with the result, or with one clear error."""
    with _clear_errors(module):
        work = prepare()
        timeout = read_seconds(module.params, "timeout")
        sign_in = choose(module.params)
        # Those that the module was not given as arguments are no secrets to Ansible yet.
        module.no_log_values.update(sign_in.secrets)
        _warn(module, sign_in.warnings)
        with ArmClient(sign_in, Deadline(timeout)) as client:
            client.tell = _writer(module.params.get("progress_file"))
            try:
                with _heard_out():
                    result = {**work(client), **_said_by(client)}
            except KeyboardInterrupt:
                doubt = {"may_still_happen": True} if client.may_have_begun else {}
                module.fail_json(msg=interrupted(client), **_said_by(client), **doubt)
    module.exit_json(**result)


def _writer(path: str | None) -> Callable[[str], None]:
    """What writes a line to a file that is there, in place of the one before. If it cannot, the work goes on."""

    def write(line: str) -> None:
        if path is not None:
            with suppress(OSError), open(path, "r+", encoding="utf-8") as file:
                # Of what was longer, the end stands behind the line for a moment.
                file.write(line + "\n")
                file.truncate()

    return write


@contextmanager
def _heard_out() -> Iterator[None]:
    """Let SIGTERM be what Ctrl-C is: Ansible and AWX end a task with it, and somebody wants to know how far it is."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:
        # Only the main thread hears signals.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _doubt(error: BaseException | None) -> dict[str, bool]:
    """What a failure returns where Azure may do all the same what it was asked for."""
    return {"may_still_happen": True} if isinstance(error, ArmError) and error.may_have_begun else {}


@contextmanager
def _clear_errors(module: AnsibleModule) -> Iterator[None]:
    try:
        yield
    except MissingLibrary as error:
        module.fail_json(msg="%s (%s)" % (missing_required_lib(REQUIRED_LIBRARIES), error))
    except ArmError as error:
        module.fail_json(msg=str(error), **_doubt(error))
    except (OptionError, DocumentError) as error:
        module.fail_json(msg=str(error))
