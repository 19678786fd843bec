# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What a host has answered, beside what the operator's variables say of it.

Read here, it costs the controller some milliseconds a host. As templates of a playbook it took sixty.
"""

import json
from collections.abc import Mapping
from typing import Any

import jinja2
import jinja2.meta

from ..trust import describe_forgery, forged
from ..typed import typed
from .policy import PREFIX, Policy
from .reading import REMOVAL, is_off

MARKER = "/var/lib/foghorn/out_of_rotation"
"""The default of load_balancer_removal_health_probe_file."""

_POLICY = (*Policy._fields, "expected_hosts")

_SAID_OF_HOSTS = {
    "group": "handle_events_group",
    "state_directory": "handle_events_state_directory",
    "before_tasks": "handle_events_before_tasks",
    "after_batch_tasks": "handle_events_after_batch_tasks",
    "services": "graceful_shutdown_services",
    **{
        name: "load_balancer_removal_" + name
        for name in (
            *REMOVAL,
            "health_probe_url",
            "machine_is_away",
            "haproxy_hosts",
            "haproxy_server",
            "haproxy_socket",
            "azure_host",
        )
    },
}

_SAID_OF_POWER = {"is_off": "handle_events_is_off", "powerstate": "powerstate"}


class Variables:
    """The variables of the hosts of an inventory, of which there may be ten thousand."""

    def __init__(self, hostvars: Any) -> None:
        self._hostvars = hostvars
        self._of_groups: dict[str, Any] = {}

    def of(self, name: str) -> "HostVariables":
        """Those of a host."""
        return HostVariables(name, self._hostvars, self._of_groups)


class HostVariables:
    """The variables of a host: a template is evaluated only where there is one."""

    def __init__(self, name: str, hostvars: Any, of_groups: dict[str, Any]) -> None:
        self.name = name
        self._hostvars = hostvars
        self._raw: Mapping[str, Any] = hostvars.raw_get(name)
        self._of_groups = of_groups
        self.facts = [str(fact) for fact in self._raw.get("ansible_facts") or ()]
        """The names of its facts."""
        self.refused = describe_forgery(forged(self.facts))
        """Why the operator's variables cannot be told from its own, in words; empty if they can."""
        self.is_off = False
        """Whether it is off on purpose: its templates may lack what the inventory knows of running machines alone."""

    def raw(self, name: str) -> Any:
        """A variable as it is: what a task has registered is text of the host, and no template whatever is in it."""
        return self._raw.get(name)

    def get(self, name: str) -> Any:
        """The value that the operator has given to a variable; None if there is none, or if it does not matter."""
        value = None if self.refused or self.is_off else self._raw.get(name)
        if value is None:
            return None
        text = json.dumps(value, default=str)
        if "{{" not in text and "{%" not in text:
            # As JSON: text that Ansible Vault has encrypted is no str, before ansible-core 2.19.
            return json.loads(text)
        if not _has_groups_alone(text):
            return self._hostvars[self.name][name]
        # The same for all hosts.
        if text not in self._of_groups:
            self._of_groups[text] = self._hostvars[self.name][name]
        return self._of_groups[text]


def answer_of(host: HostVariables) -> dict[str, Any]:
    """What `note_asked` takes: what ask.yml has registered of a host, and what its variables say."""
    host.is_off = is_off({name: host.get(of) for name, of in _SAID_OF_POWER.items()})
    found = _mapping(host.raw("__handle_events_found"))
    scheduled = found.get("scheduled") or {}
    demand = host.raw("__handle_events_demand")
    refused = host.get("__handle_events_refusal") if demand else ""
    mistake = refused or host.raw("__asked_python")
    variables = {name: host.get(variable) for name, variable in _SAID_OF_HOSTS.items()}
    marker = _marker_of(host)
    return {
        "answer": {"msg": mistake} if mistake else scheduled if "claims" in found else found,
        "found": found,
        "lease": {
            "owner": host.raw("__handle_events_owner"),
            "breaks": bool(typed(host.get("handle_events_break_leases") or False, "bool")),
            "vm": {name: _mapping(scheduled).get(name) or "" for name in ("resource_id", "vm_id")},
        },
        "traces": _traces(found, marker),
        "is_marked": _is_marked(host, found, marker),
        # Only where the host is hit.
        "agent": _mapping(found.get("agent")) if _mapping(scheduled).get("events") else {},
        "facts": host.facts,
        "policy": _policy_of(host),
        "demand": host.get("__handle_events_demanded") or {},
        "variables": {
            **variables,
            "is_off": host.is_off,
            "azure_vm_id": host.get("load_balancer_removal_azure_vm_id") or host.get("id"),
            "commands_say": _commands_say(host),
        },
    }


def report_of(host: HostVariables) -> dict[str, Any]:
    """What has become of the latest orders of a host, as `read_reports` takes it; empty if it has none.

    A host that is still in the batch has carried out its orders, or has noted a failure: its `task`, what that has
    said as `answer`, and with which `link`, how many orders before it have succeeded.
    """
    rounds = _mapping(_mapping(host.raw("__handle_events_next")).get("orders"))
    orders = [one for one in _list(rounds.get(host.name)) if "do" in one]
    if not orders:
        return {}
    number, last = orders[0]["number"], orders[-1]["do"]
    answer = _mapping(host.raw("__handle_events_answer"))
    failure = _mapping(host.raw("__handle_events_failure"))
    is_of_these = failure.get("number") == number
    report = {
        "number": number,
        "failure": {name: failure.get(name) for name in ("link", "task", "answer")} if is_of_these else {},
        "answer": {} if last in ("stop", "after_batch") else answer_of(host) if last == "ask" else answer,
    }
    if last == "drain":
        report["listed"] = answer
        report["remaining"] = _remaining(host)
        report["confirmed"] = _mapping(host.raw("__load_balancer_removal_health_probe_found")).get("confirmed", True)
        report["warnings"] = _leaving(host, number)
    elif last == "restore":
        report["claims"] = _mapping(host.raw("__handle_events_renewed")).get("claims")
        report["owner"] = host.raw("__handle_events_owner")
        report.update(_kept_out(host))
    if orders[0]["do"] == "stop":
        stretch = _mapping(_mapping(host.raw("__graceful_shutdown_done")).get("stretch"))
        report["stop_warnings"] = _list(stretch.get("warnings"))
    return report


def _remaining(host: HostVariables) -> list[Any]:
    """The connections that remained when time ran out, by the tasks of the role that wait for them."""
    sessions = _list(_mapping(host.raw("__load_balancer_removal_haproxy_sessions")).get("results"))
    return [
        *_list(_mapping(host.raw("__load_balancer_removal_connections")).get("remaining")),
        *(one.get("msg") for one in map(_mapping, sessions) if one.get("timed_out")),
        *_list(_mapping(host.raw("__load_balancer_removal_gateway_drained")).get("remaining")),
    ]


def _kept_out(host: HostVariables) -> dict[str, list[str]]:
    """Where HAProxy keeps a host out that was restored, and whether it serves elsewhere."""
    results = _list(_mapping(host.raw("__load_balancer_removal_haproxy_done")).get("results"))
    seen = [one for one in map(_mapping, results) if "out" in one]
    out = [
        "%s: %s" % (one.get("__load_balancer_removal_haproxy_balancer"), ", ".join(map(str, _list(one["out"]))))
        for one in seen
        if one["out"]
    ]
    serves = any(one.get("serving") for one in seen)
    return {"kept_out": [] if serves else out, "partly_out": out if serves else []}


def _leaving(host: HostVariables, number: Any) -> list[Any]:
    """Which balancers the host leaves by itself, as the role has noted in this attempt."""
    noted = _mapping(host.raw("__load_balancer_removal_noted"))
    attempt = "%s %s" % (_mapping(host.raw("__handle_events_this_run")).get("id"), number)
    return _list(noted.get("leaving")) if noted.get("attempt") == attempt else []


def status_of(host: HostVariables) -> dict[str, Any]:
    """What the playbook status has registered of a host, as `describe_status` takes it."""
    found = _mapping(host.raw("__handle_events_found"))
    asked = _mapping(host.raw("__status_events"))
    marker = _marker_of(host)
    return {
        "found": found,
        "agent": _mapping(found.get("agent")),
        "answer": {} if asked.get("skipped") else asked,
        "traces": _traces(found, marker) + ([marker] if _is_marked(host, found, marker) else []),
    }


def _marker_of(host: HostVariables) -> Any:
    """The file of the probe endpoint."""
    return host.get("load_balancer_removal_health_probe_file") or MARKER


def _traces(found: Mapping[str, Any], marker: Any) -> list[Any]:
    """The records that are there of whoever has used the role directly."""
    return [path for path in _list(found.get("present")) if path != marker]


def _is_marked(host: HostVariables, found: Mapping[str, Any], marker: Any) -> bool:
    """Whether the file of the probe endpoint says that the host is out. On Windows no file says so."""
    methods = host.get("load_balancer_removal_methods")
    if "health_probe" not in typed(REMOVAL["methods"] if methods is None else methods, "list"):
        return False
    means_out = (host.get("load_balancer_removal_health_probe_file_state") or "present") == "present"
    return found.get("system") != "Windows" and (marker in _list(found.get("present"))) == means_out


def _policy_of(host: HostVariables) -> dict[str, Any]:
    values = {name: host.get(PREFIX + name) for name in _POLICY}
    policy = {name: "" if value is None else value for name, value in values.items()}
    return {**policy, "minimum_in_service": str(policy["minimum_in_service"]) or Policy().minimum_in_service}


def _commands_say(host: HostVariables) -> bool:
    """Whether each command has one that says whether the host is in."""
    commands = typed(host.get("load_balancer_removal_commands") or [], "list", "dict")
    return all("status" in command for command in commands)


def _mapping(value: Any) -> Mapping[str, Any]:
    """A dictionary that a host has said; an empty one if it is none."""
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _has_groups_alone(text: str) -> bool:
    """Whether templates have no variable but the groups of the inventory."""
    try:
        return jinja2.meta.find_undeclared_variables(jinja2.Environment().parse(json.loads(text))) <= {"groups"}
    except (AttributeError, TypeError, jinja2.TemplateError):
        return False
