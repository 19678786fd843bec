# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which units systemd does not know on this machine, and which it may start by itself while they are stopped."""

from typing import Dict, List, NamedTuple, Sequence

from ansible.module_utils.basic import AnsibleModule

_NOT_FOUND = "not-found"


class Units(NamedTuple):
    """What systemd says of units, by the names that were asked for."""

    unknown: List[str]
    """Those that it has never heard of."""
    triggered: Dict[str, List[str]]
    """Of each that others would start again, as a socket, a timer or a unit with Upholds= does, those others: what is
    active of them, and is not asked for itself.
    """


def look_at_units(module: AnsibleModule, names: Sequence[str]) -> Units:
    """Ask systemd about units. Nothing is known where there is no systemd that answers."""
    program = module.get_bin_path("systemctl") if names else None
    if program is None:
        return Units([], {})
    kinds = ("TriggeredBy", "UpheldBy")
    show = [program, "show", "--property=LoadState", *("--property=" + kind for kind in kinds), "--", *names]
    status, answer, _error = module.run_command(show)
    told = [dict(line.split("=", 1) for line in part.splitlines() if "=" in line) for part in answer.split("\n\n")]
    told = [one for one in told if "LoadState" in one]
    # One for each, in order.
    if status != 0 or len(told) != len(names):
        return Units([], {})
    triggers = {
        name: [one for kind in kinds for one in properties.get(kind, "").split() if one not in names]
        for name, properties in zip(names, told)
    }
    active = _active(module, program, [one for of_unit in triggers.values() for one in of_unit])
    found = {name: [one for one in of_unit if one in active] for name, of_unit in triggers.items()}
    return Units(
        [name for name, one in zip(names, told) if one["LoadState"] == _NOT_FOUND],
        {name: of_unit for name, of_unit in found.items() if of_unit},
    )


def _active(module: AnsibleModule, program: str, names: List[str]) -> List[str]:
    if not names:
        return []
    # Its exit status is that of the worst of them.
    _status, answer, _error = module.run_command([program, "is-active", "--", *names])
    return [name for name, state in zip(names, answer.split()) if state == "active"]
