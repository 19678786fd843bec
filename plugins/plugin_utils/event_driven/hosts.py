# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Finds the hosts of the inventory that an event hits.

ansible-rulebook limits what it runs to `meta.hosts`, as `--limit` does. An event names VMs as Azure does, and whoever
can announce one chooses these names: so no name goes there that was not made of the operator's pattern or found in
the operator's inventory, none that Ansible would take for a pattern, and never nothing at all, which would be
everything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...module_utils.arm.machines import Reference, read_reference
from ...module_utils.scheduled_events.errors import OptionError
from ...module_utils.scheduled_events.event import NameKey, name_key
from .data_file import parse_data

HostMap = Callable[[Sequence[str], "str | None"], list[str]]
"""The hosts of VMs, by their names in Azure and the id of their resource group, if it is known."""

UNKNOWN = "no-host-for-"
"""The prefix of a VM's name if no host has that VM: Ansible finds no such host, and runs nothing."""

_VM_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}\Z")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]")
_PLACES = ("{name}", "{lower_name}")
# Ansible's own groups.
_RESERVED = ("all", "ungrouped")
_GROUP = re.compile(r"/subscriptions/[^/]+/resourceGroups/[^/]+", re.IGNORECASE)


def read_host_map(options: Mapping[str, Any], log: Callable[[str], None]) -> HostMap | None:
    """Check the options `hosts_pattern`, `hosts_inventory` and `hosts_variable`.

    :param log: told when the inventory cannot be read any more, and what was known before goes on to count
    :returns: None if none was set: then nothing is limited
    :raises OptionError: on the first that cannot be meant
    """
    pattern, inventory = options.get("hosts_pattern"), options.get("hosts_inventory")
    variable = options.get("hosts_variable", "azure_vm_name")
    if pattern is not None and inventory is not None:
        raise OptionError("hosts_pattern and hosts_inventory: set one of them, not both")
    if pattern is not None:
        return _from_pattern(pattern)
    if inventory is None:
        return None
    if not isinstance(inventory, str) or not inventory:
        raise OptionError("hosts_inventory: %r is not a path" % (inventory,))
    if not isinstance(variable, str) or not variable:
        raise OptionError("hosts_variable: %r is not the name of a variable" % (variable,))
    return _Inventory(inventory, variable, log)


def group_of(resource_id: str | None) -> str | None:
    """The id of a resource's resource group, which is the beginning of the resource's own id."""
    match = _GROUP.match(resource_id or "")
    return match.group() if match else None


def _from_pattern(pattern: Any) -> HostMap:
    if not isinstance(pattern, str) or not any(place in pattern for place in _PLACES):
        raise OptionError(
            "hosts_pattern: %r does not contain the VM's name: put {name} or {lower_name} into it, as in"
            " {lower_name}.example.com" % (pattern,)
        )

    def hosts_of(names: Sequence[str], _group_id: str | None) -> list[str]:
        return _each_once(_filled(pattern, name) or _unknown(name) for name in names)

    return hosts_of


def _filled(pattern: str, name: str) -> str | None:
    if not _VM_NAME.match(name):
        return None
    host = pattern.replace("{name}", name).replace("{lower_name}", name.lower())
    return None if host.lower() in _RESERVED else host


class _Inventory:
    """Hosts by the name or the id of their VM, from a file that is read again when it has changed."""

    def __init__(self, path: str, variable: str, log: Callable[[str], None]) -> None:
        self._path = path
        self._variable = variable
        self._log = log
        self._has_problem = False
        self._stamp: tuple[int, int] | None = None
        self._hosts: dict[NameKey, list[tuple[Reference, str]]] = {}
        self._read()

    def __call__(self, names: Sequence[str], group_id: str | None) -> list[str]:
        try:
            self._read()
        except OptionError as error:
            if not self._has_problem:
                self._log("%s. The hosts that were in it before stay in effect" % error)
            self._has_problem = True
        else:
            self._has_problem = False
        return _each_once(self._host_of(name, group_id) or _unknown(name) for name in names)

    def _host_of(self, name: str, group_id: str | None) -> str | None:
        found = [
            host
            for reference, host in self._hosts.get(name_key(name), ())
            if group_id is None or reference.group_id is None or reference.group_id.lower() == group_id.lower()
        ]
        # It cannot be decided which of several hosts is meant.
        return found[0] if len(set(found)) == 1 else None

    def _read(self) -> None:
        try:
            status = os.stat(self._path)
            stamp = status.st_mtime_ns, status.st_size
            if stamp == self._stamp:
                return
            with open(self._path, encoding="utf-8") as stream:
                content = parse_data(stream.read())
        except (OSError, ValueError) as error:
            raise OptionError("hosts_inventory: %s cannot be read: %s" % (self._path, error)) from None
        found: dict[NameKey, list[tuple[Reference, str]]] = {}
        for host, variables in _host_variables(content).items():
            reference = self._reference(host, variables)
            found.setdefault(name_key(reference.name), []).append((reference, host))
        self._hosts, self._stamp = found, stamp

    def _reference(self, host: str, variables: Mapping[str, Any]) -> Reference:
        value: Any = variables
        for part in self._variable.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        try:
            return read_reference(str(value or host))
        except OptionError as error:
            raise OptionError("hosts_variable: %s of the host %s: %s" % (self._variable, host, error)) from None


def _host_variables(content: Any) -> dict[str, dict[str, Any]]:
    """The variables of each host, from the output of `ansible-inventory --list` or an inventory in YAML."""
    if not isinstance(content, dict):
        raise OptionError("hosts_inventory: it contains no inventory, which is a dictionary of groups")
    found: dict[str, dict[str, Any]] = {}
    meta = content.get("_meta")
    if isinstance(meta, dict):
        _add(found, meta.get("hostvars"))
    _add_groups(found, content)
    return found


def _add_groups(found: dict[str, dict[str, Any]], groups: Mapping[str, Any]) -> None:
    for name, group in groups.items():
        if name == "_meta" or not isinstance(group, dict):
            continue
        hosts = group.get("hosts")
        _add(found, dict.fromkeys(hosts, None) if isinstance(hosts, list) else hosts)
        if isinstance(group.get("children"), dict):
            _add_groups(found, group["children"])


def _add(found: dict[str, dict[str, Any]], hosts: Any) -> None:
    for host, variables in (hosts if isinstance(hosts, dict) else {}).items():
        found.setdefault(str(host), {}).update(variables if isinstance(variables, dict) else {})


def _unknown(name: str) -> str:
    return UNKNOWN + _NOT_IN_NAMES.sub("_", name[:80])


def _each_once(hosts: Iterable[str]) -> list[str]:
    # An empty list would limit nothing.
    return list(dict.fromkeys(hosts)) or [UNKNOWN + "nobody"]
