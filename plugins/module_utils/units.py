# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which units systemd does not know on this machine."""

from typing import List, Sequence

from ansible.module_utils.basic import AnsibleModule

_NOT_FOUND = "LoadState=not-found"


def unknown_units(module: AnsibleModule, names: Sequence[str]) -> List[str]:
    """Return those of the units that systemd has never heard of; none where there is no systemd that answers."""
    program = module.get_bin_path("systemctl") if names else None
    if program is None:
        return []
    status, answer, _error = module.run_command([program, "show", "--property=LoadState", "--", *names])
    states = [line for line in answer.splitlines() if line]
    # One for each, in order.
    if status != 0 or len(states) != len(names):
        return []
    return [name for name, state in zip(names, states) if state == _NOT_FOUND]
