# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is known of a host after it was asked.

Of each host of a fleet, whether it is hit or not: in a template, each of these values would cost as much as all of them
do here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.inventory.manager import split_host_pattern
from ansible.module_utils.parsing.convert_bool import boolean

from ...module_utils.scheduled_events.document import event_from_dict
from ...module_utils.scheduled_events.event import Event
from ...module_utils.scheduled_events.text import plain
from ..typed import typed
from .agent import has_taken_out, is_at_work_on
from .balancers import pool_group
from .clocks import ClockReading
from .demand import NO_LIMIT
from .host import Attempt, Host, PlanError

REMOVAL: Mapping[str, Any] = {
    "methods": ["health_probe"],
    "ports": [],
    "connections_timeout": 300,
    "health_probe_interval": 15,
    "health_probe_threshold": 2,
    "health_probe_margin": 5,
    "haproxy_backends": [],
    "azure_pools": [],
    "gateway_pools": [],
}
"""The values of load_balancer_removal that hold where no others are given."""

_LISTS = ("methods", "ports", "haproxy_hosts", "haproxy_backends", "azure_pools", "gateway_pools", "services")
"""The variables that are lists, and that may be given as text."""

_BALANCERS = ("haproxy", "azure_load_balancer", "application_gateway", "command")
"""The ways out of rotation that need a balancer's answer, and fail if it refuses."""

STOP_TIMEOUT = 90
"""Seconds that a service of graceful_shutdown may take if it does not say."""

GATEWAY_SECONDS = 300
"""Seconds that Azure takes for a change of an application gateway, if the operator does not say: minutes."""

_PER_GROUP = ("minimum_in_service", "expected_hosts")

# The ways out of rotation that need to know which VM in Azure a host is.
_NEED_ID = frozenset(["azure_load_balancer", "application_gateway"])
_LONGEST_ID = 300  # characters

_IDLE = "not handled: its agent has nothing configured for its events: add a policy to handler_agent_policies"

# What reading somebody else's text may end in, where nothing of it is as it ought to be.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def note_host(
    name: str,
    answer: Mapping[str, Any],
    lease_view: Mapping[str, Any],
    traces: Sequence[str],
    is_marked: bool,
    agent: Mapping[str, Any],
    policy: Mapping[str, Any],
    variables: Mapping[str, Any],
    found: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Note what is known of a host, as `read_host` reads it, with its policy.

    A host that was taken over may answer anything, and must not end the run for all others: see `note_unreadable`.

    :param answer: what scheduled_events_info returned, or any failure
    :param lease_view: who wants the host out, from `lease_view`; empty if that is not known
    :param traces: what was found of those who take it out by hand
    :param is_marked: whether its probe endpoint is told to be down
    :param agent: what its agent says, if it has one that takes care of the events
    :param variables: `group`, `services`, `before_tasks` and `after_batch_tasks`, and those of
        load_balancer_removal without that prefix; None if not given
    :param found: what rotation_claim_info returned
    :raises UNREADABLE: if something of it is not as it ought to be
    """
    variables = {**variables, **{one: typed(variables.get(one), "list") for one in _LISTS}}
    needs_restore = bool(lease_view.get("needs_restore"))
    by_others = bool(lease_view.get("by_others")) or bool(traces)
    removal = {name: default if variables.get(name) is None else variables[name] for name, default in REMOVAL.items()}
    events = answer.get("events") or []
    idle_agent = _is_idle(agent, events)
    agent = {} if idle_agent else agent
    windows = found if found is not None and found.get("system") == "Windows" else {}
    unmanaged = str(windows.get("unmanaged") or "")
    # Nothing else tells of a Windows host that it is out.
    out_by_agent = "" if events else _out_by_agent(windows.get("agent") or {})
    is_prepared = bool(
        variables.get("services")
        or variables.get("before_tasks")
        or any(method in _BALANCERS for method in removal["methods"])
    )
    has_probe = bool(variables.get("health_probe_url")) and "health_probe" in removal["methods"]
    is_away = boolean(variables.get("machine_is_away") or False, strict=False)
    is_drained = by_others or bool(out_by_agent) or (is_marked and not needs_restore and agent.get("in_rotation", True))
    noted = {
        "name": name,
        "vm_name": answer.get("vm_name"),
        "events": events,
        "needs_restore": needs_restore,
        "is_drained": is_drained,
        "kept_out_by": (lease_view.get("by_others") or out_by_agent or "drained by hand") if is_drained else "",
        "agent": agent,
        "idle_agent": idle_agent,
        "unmanaged": plain(_IDLE if idle_agent and windows else unmanaged),
        "is_prepared": is_prepared or has_probe,
        "rests_on_probe": has_probe and not is_prepared,
        "leased": lease_view.get("leased") or "",
        "take_over": lease_view.get("take_over") or "",
        "abandoned": lease_view.get("abandoned") or "",
        "keep_out_reason": lease_view.get("keep_out_reason") or "",
        "approving": lease_view.get("approving") or [],
        "tried": lease_view.get("tried") or [],
        "seen": lease_view.get("seen") or {},
        "group": variables.get("group") or "",
        # Unless a balancer says more.
        "pools": _pools(removal) or [answer.get("scale_set") or ""],
        "azure": _azure(variables, removal, answer),
        "haproxy": _haproxy(name, variables, removal),
        "methods": list(removal["methods"]),
        "is_confirmed": bool(variables.get("health_probe_url")),
        "is_seen": _is_seen(variables, removal["methods"]),
        "minimum": policy.get("minimum_in_service"),
        "expected": policy.get("expected_hosts"),
        "policy": policy,
        "would_fail": [*_unknown_units(found or {}), *_wrong_identity(variables, removal, answer)],
        "remarks": _triggered_units(found or {}),
        "has_more": bool(variables.get("after_batch_tasks")),
        "by_probe_alone": list(removal["methods"]) == ["health_probe"] and not is_away,
        "refused": "",
        "is_off": is_off(variables),
        "resource_id": answer.get("resource_id"),
        "vm_id": answer.get("vm_id"),
        "clock": {"asked_at": found["asked_at"], "answered_at": found["answered_at"], "said": found["now"]}
        if found and "asked_at" in found and "now" in found
        else {},
        **_seconds(variables, removal),
    }
    host = read_host(noted)
    is_at_work_on(host.agent or {}, "")
    if not isinstance(host.vm_name, str | None):
        raise TypeError("vm_name is no text")
    return noted


def note_unreadable(
    name: str, error: Exception, policy: Mapping[str, Any], variables: Mapping[str, Any]
) -> dict[str, Any]:
    """Note that a host's answers cannot be read."""
    refused = "its answers cannot be read: %s. Find out who changed this host" % plain(str(error))[:200]
    return dict(note_host(name, {}, {}, (), False, {}, policy, variables), refused=refused)


def _unknown_units(found: Mapping[str, Any]) -> list[str]:
    """What is seen before anything is announced. Ours are the names; the host says which of them it does not know."""
    return [
        "graceful_shutdown_services: %s: systemd has no such unit here. Correct the name, or install it" % plain(name)
        for name in found.get("unknown_units") or ()
    ]


def is_off(variables: Mapping[str, Any]) -> bool:
    """Whether a host is off on purpose: the operator says so, or the inventory plugin azure_rm."""
    said = variables.get("is_off")
    if said not in (None, ""):
        return bool(boolean(said, strict=False))
    return str(variables.get("powerstate") or "").lower() in ("stopped", "deallocated")


def _triggered_units(found: Mapping[str, Any]) -> list[str]:
    return [
        "%s is started again by %s, even after the run has stopped it: name that before it in"
        " graceful_shutdown_services" % (plain(name), plain(" and ".join(map(str, triggers))))
        for name, triggers in (found.get("triggered_units") or {}).items()
    ]


def _wrong_identity(variables: Mapping[str, Any], removal: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    """What is seen of an id in the inventory without asking Azure: the role would take that VM out of its pools."""
    named, said = str(variables.get("azure_vm_id") or ""), str(answer.get("resource_id") or "")
    if not named or not said or named.lower() == said.lower() or not _NEED_ID.intersection(removal["methods"]):
        return []
    return [
        "load_balancer_removal_azure_vm_id, or id: %s is not this VM, which says that it is %s: that one would leave"
        " its pools instead. Correct the inventory" % (named, plain(said)[:_LONGEST_ID])
    ]


def _out_by_agent(agent: Mapping[str, Any]) -> str:
    """Who keeps a host out that is not hit, in words; empty if its agent says that it is in rotation."""
    if not has_taken_out(agent):
        return ""
    return "drained by hand, its agent says" if agent.get("drained_by_hand") else "its agent says so"


def _is_idle(agent: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an agent says that it has nothing to do for these events: then it approves none of them."""
    idle = {str(event["event_id"]).lower() for event in agent.get("events", ()) if event.get("nothing_configured")}
    return bool(events) and all(str(event["event_id"]).lower() in idle for event in events)


def _is_seen(variables: Mapping[str, Any], methods: Sequence[str]) -> bool:
    """Whether each way back into rotation ends with a look at whether it was one."""
    says = {
        "health_probe": bool(variables.get("health_probe_url")),
        "haproxy": bool(variables.get("haproxy_hosts")),
        "command": bool(variables.get("commands_say")),
    }
    ways = [says.get(method, True) for method in methods if method in (*says, *_BALANCERS)]
    return bool(ways) and all(ways)


def _seconds(variables: Mapping[str, Any], removal: Mapping[str, Any]) -> dict[str, float]:
    """How long the roles may take for each part of the way out and back."""
    methods = removal["methods"]
    interval, margin = float(removal["health_probe_interval"]), float(removal["health_probe_margin"])
    probing = interval * float(removal["health_probe_threshold"]) + margin
    # On the way out, and again on the way back.
    change = GATEWAY_SECONDS if "application_gateway" in methods else 0.0
    is_probed = "health_probe" in methods
    waits = removal["ports"] or "haproxy" in methods or "application_gateway" in methods
    stop = sum(
        float(service.get("timeout", STOP_TIMEOUT)) if isinstance(service, Mapping) else STOP_TIMEOUT
        for service in variables.get("services") or ()
    )
    longest = float(removal["connections_timeout"])
    return {
        "settle_seconds": (probing if is_probed else 0.0) + change,
        "connection_seconds": longest if waits else 0.0,
        "return_seconds": (interval + margin if is_probed else 0.0) + change,
        "stop_seconds": stop,
        # The longest time that any one task may take.
        "step_seconds": probing + longest + change + stop,
    }


def _haproxy(name: str, variables: Mapping[str, Any], removal: Mapping[str, Any]) -> dict[str, Any]:
    """The HAProxys to ask about the host, and the question; empty if the host is behind none."""
    hosts = variables.get("haproxy_hosts") or ()
    if "haproxy" not in removal["methods"] or not hosts:
        return {}
    return {
        "balancers": [{"name": str(host), "socket": variables.get("haproxy_socket") or ""} for host in hosts],
        "server": variables.get("haproxy_server") or name,
        "backends": list(removal["haproxy_backends"]),
        "records": str(variables.get("state_directory") or "/var/lib/foghorn/handle_events"),
    }


def _azure(variables: Mapping[str, Any], removal: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, str]:
    """Which VM to look up in Azure, and from where, to know its pools; nothing if the operator names them.

    What a host says of itself is good enough to count it: to change anything, the role asks Azure whether it is true.
    """
    vm_id = variables.get("azure_vm_id") or answer.get("resource_id")
    is_asked = any(
        method in removal["methods"] and not removal[named]
        for method, named in (("azure_load_balancer", "azure_pools"), ("application_gateway", "gateway_pools"))
    )
    if not is_asked or not vm_id or variables.get("group"):
        return {}
    return {"vm_id": vm_id, "host": variables.get("azure_host") or "localhost"}


def _pools(removal: Mapping[str, Any]) -> list[str]:
    """The balancers' pools of the host, as far as its variables tell: its groups unless more is known."""
    return [
        "backend " + name if method == "haproxy" else pool_group(name)
        for method, variable in (
            ("haproxy", "haproxy_backends"),
            ("azure_load_balancer", "azure_pools"),
            ("application_gateway", "gateway_pools"),
        )
        if method in removal["methods"]
        for name in removal[variable]
    ]


def read_host(content: Mapping[str, Any]) -> Host:
    """Read what is known of a host.

    :raises DocumentError: if one of its events is none
    """
    return Host(
        name=content["name"],
        # Templates of ansible-core 2.16 turn none into an empty text.
        vm_name=content.get("vm_name") or None,
        events=_read_events(content.get("events"), content["name"]),
        needs_restore=bool(content.get("needs_restore")),
        settle_seconds=float(content.get("settle_seconds") or 0),
        connection_seconds=float(content.get("connection_seconds") or 0),
        stop_seconds=float(content.get("stop_seconds") or 0),
        return_seconds=float(content.get("return_seconds") or 0),
        step_seconds=float(content.get("step_seconds") or 0),
        agent=content.get("agent") or None,
        groups=tuple(map(str, content["groups"])) if "groups" in content else (str(content.get("group") or ""),),
        resource_id=str(content.get("resource_id") or ""),
        clock=_read_clock(content["clock"]) if content.get("clock") else None,
        skip_reason=str(content.get("skip_reason") or ""),
        is_down=bool(content.get("is_down")),
        minimum=None if content.get("minimum") in (None, "") else str(content["minimum"]),
        expected=None if content.get("expected") in (None, "") else int(content["expected"]),
        peers_outside_run=tuple(map(str, content.get("peers_outside_run") or ())),
        is_out=bool(content.get("is_out")),
        is_drained=bool(content.get("is_drained")),
        kept_out_by=str(content.get("kept_out_by") or ""),
        failed=bool(content.get("failed")),
        leased=str(content.get("leased") or ""),
        take_over=str(content.get("take_over") or ""),
        abandoned=str(content.get("abandoned") or ""),
        keep_out_reason=str(content.get("keep_out_reason") or ""),
        approving=tuple(content.get("approving") or ()),
        tried=tuple(Attempt(**one) for one in content.get("tried") or ()),
        seen={str(event_id): float(ago) for event_id, ago in (content.get("seen") or {}).items()},
        is_prepared=bool(content.get("is_prepared", True)),
        rests_on_probe=bool(content.get("rests_on_probe")),
        is_seen=bool(content.get("is_seen", True)),
        idle_agent=bool(content.get("idle_agent")),
        would_fail=tuple(map(str, content.get("would_fail") or ())),
        remarks=tuple(map(str, content.get("remarks") or ())),
        unmanaged=str(content.get("unmanaged") or ""),
        by_probe_alone=bool(content.get("by_probe_alone")),
    )


def _read_clock(content: Mapping[str, Any]) -> ClockReading:
    said = float(content["said"])
    if not 0 <= said < NO_LIMIT:
        raise ValueError("its clock says %r" % (content["said"],))
    return ClockReading(float(content["asked_at"]), float(content["answered_at"]), said)


def check_selectable(names: Sequence[str]) -> None:
    """Refuse hosts that a play does not select by their names: a batch would go on without them.

    :raises PlanError: if there are any
    """
    for name in names:
        if split_host_pattern([name]) != [name] or name[0] in "!&":
            raise PlanError(
                "%r: Ansible does not select this host by its name: give it one in the inventory without spaces and"
                " commas" % (name,)
            )


def check_alike(contents: Sequence[Mapping[str, Any]]) -> None:
    """Refuse variables that hold for the whole run and differ between hosts.

    :raises PlanError: if it is not
    """
    # A host that did not answer decides nothing.
    answered = [content for content in contents if content.get("vm_name")] or contents
    decided = [(content["name"], content["policy"]) for content in answered if content.get("policy")]
    for name, values in decided[1:]:
        for key, value in values.items():
            first, expected = decided[0][0], decided[0][1].get(key)
            if key not in _PER_GROUP and str(value) != str(expected):
                raise PlanError(
                    "handle_events_%s: %s on %s, %s on %s. It holds for the whole run: set it for all hosts alike, or"
                    " run the playbook once for each" % (key, expected, first, value, name)
                )


def read_reading(content: Mapping[str, Any]) -> tuple[Event, ...] | None:
    """Read the events of what scheduled_events_info returned; None if it failed.

    :raises DocumentError: if one of them is none
    """
    return None if content.get("events") is None else _read_events(content["events"], "reading")


def _read_events(content: Any, where: str) -> tuple[Event, ...]:
    return tuple(event_from_dict(event, "%s: events[%d]" % (where, index)) for index, event in enumerate(content or ()))
