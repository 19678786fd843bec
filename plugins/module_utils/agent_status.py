# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What the handler agent of this machine says that it does."""

import json
from typing import Any, Dict, Sequence

from ansible.module_utils.basic import AnsibleModule

_SERVICE = "foghorn-agent.service"
# "activating" is also one that has crashed and is about to be started again.
_RUNNING = ("active", "activating", "reloading")
_TIMEOUT = 30  # seconds


def agent_status(module: AnsibleModule, command: Sequence[str]) -> Dict[str, Any]:
    """Ask the agent what it does; nothing is returned where there is none.

    :param command: that prints its status as JSON; nothing is asked if it is empty
    :returns: the status; with `problem` alone, of an agent that runs and does not answer: it is just starting, listens
        nowhere, or only root may read where it listens
    """
    if not command:
        return {}
    code, said, _error = module.run_command(["timeout", "-k", "1", str(_TIMEOUT), *command])
    status = _as_dict(said) if code == 0 else {}
    if status:
        return status
    systemctl = module.get_bin_path("systemctl")
    state = module.run_command([systemctl, "is-active", _SERVICE])[1] if systemctl else ""
    return {"problem": "does not answer"} if state.strip() in _RUNNING else {}


def _as_dict(text: str) -> Dict[str, Any]:
    try:
        status = json.loads(text)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}
