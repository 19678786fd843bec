# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Are all variables of a run what they ought to be, before the first host is touched?"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from .treatment import PolicyError, read_policy

ROLES = ("load_balancer_removal", "graceful_shutdown")
PREFIX = "handle_events_"

_ROLES_DIRECTORY = Path(__file__).parents[3] / "roles"
# So many hosts are named that have a mistake in common.
_MOST_NAMED = 3

Spec = dict[str, Any]


def role_arguments(role: str) -> Spec:
    """Read which variables a role of this collection takes, in any of its entry points."""
    text = (_ROLES_DIRECTORY / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    entry_points = yaml.safe_load(text)["argument_specs"].values()
    return {name: spec for entry in entry_points for name, spec in (entry.get("options") or {}).items()}


def mistakes(hosts: Sequence[Mapping[str, Any]], own: Spec) -> list[str]:
    """Name everything that is wrong with the variables of hosts, each mistake once, with the hosts that have it.

    :param hosts: the variables of each host, with its `inventory_hostname`; a value is read only if its name is ours
    :param own: the variables of the playbook, as an argument spec
    """
    specs = dict(own)
    for role in ROLES:
        specs.update(role_arguments(role))
    found: dict[str, list[str]] = {}
    for variables in hosts:
        for mistake in _mistakes_of(variables, own, specs):
            found.setdefault(mistake, []).append(str(variables["inventory_hostname"]))
    return ["%s (%s)" % (mistake, _some(names)) for mistake, names in found.items()]


def _mistakes_of(variables: Mapping[str, Any], own: Spec, specs: Spec) -> list[str]:
    prefixes = (PREFIX, *("%s_" % role for role in ROLES))
    names = sorted(name for name in variables if isinstance(name, str) and name.startswith(prefixes))
    told = [_unknown(name, specs) for name in names if name not in specs]
    values = {}
    for name in names:
        if name not in specs:
            continue
        try:
            value = variables[name]
        except AnsibleError as error:
            told.append("%s: %s" % (name, error))
            continue
        is_empty = isinstance(value, str) and not value.strip()
        # A survey hands over an empty text where nothing was answered.
        if value is not None and not (is_empty and name in own):
            values[name] = value
    # What is missing is the role's business: a variable that it requires may be set when it is called.
    chosen = {name: dict(specs[name], required=False) for name in values}
    told += ArgumentSpecValidator(chosen).validate(values).error_messages
    try:
        read_policy({name[len(PREFIX) :]: value for name, value in values.items() if name in own})
    except PolicyError as error:
        told.append(str(error))
    return told


def _unknown(name: str, specs: Spec) -> str:
    close = difflib.get_close_matches(name, specs, n=1)
    return "%s: there is no such variable%s" % (name, ": did you mean %s?" % close[0] if close else "")


def _some(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return "%s and %d more hosts" % (", ".join(names[:_MOST_NAMED]), len(names) - _MOST_NAMED)
