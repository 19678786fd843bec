# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the file that a probe endpoint looks at: the arguments of health_probe_file."""

import time
from typing import Any, Callable, Dict

from ansible.module_utils.basic import AnsibleModule

from .files.writing import remove
from .polling import other_status, poll_until
from .probe_file import MEANS, PRESENT, put_back, take_out
from .url_status import status_of

OUT = "out"
IN = "in"

# Seconds that a machine in rotation has for an answer with 200.
_BEFORE_REMOVAL = 5.0

ArgumentSpec = Dict[str, Dict[str, Any]]


def probe_file_arguments() -> ArgumentSpec:
    """Make the argument spec of health_probe_file."""
    return {
        "rotation": {"type": "str", "required": True, "choices": [OUT, IN]},
        "path": {"type": "path"},
        "takes_out": {"type": "str", "default": PRESENT, "choices": list(MEANS)},
        "record": {"type": "path", "required": True},
        "url": {"type": "str"},
        "url_timeout": {"type": "float", "default": 60.0},
        "noticed_within": {"type": "float", "default": 0.0},
    }


def run_probe_file(module: AnsibleModule) -> None:
    """Do the work of health_probe_file."""
    record = module.params["record"]
    try:
        result = _take_out(module, record) if module.params["rotation"] == OUT else _put_back(module, record)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def _take_out(module: AnsibleModule, record: str) -> Dict[str, Any]:
    url, path = module.params["url"], module.params["path"]

    def succeeds() -> bool:
        why = _look(module, lambda url: other_status(url, status_of), _BEFORE_REMOVAL)
        if why:
            # A misspelt URL fails before and after, and confirms nothing.
            module.warn("Before the removal: %s: %s: nothing confirms that the machine leaves rotation" % (url, why))
        return bool(url) and not why

    removal = take_out(path, module.params["takes_out"], record, bool(module.check_mode), succeeds)
    if not module.check_mode:
        _see(
            module,
            "Wait until the probe endpoint fails",
            lambda url: "" if other_status(url, status_of) else "it answers with 200",
        )
    return {
        "changed": removal.changed,
        # Seconds, because its clock may be wrong.
        "out_for": None if removal.since is None else time.time() - removal.since,
        "confirmed": bool(url) and removal.confirms,
        "diff": _diff(removal.changed, "in rotation\n", "out of rotation\n"),
    }


def _put_back(module: AnsibleModule, record: str) -> Dict[str, Any]:
    changed, recorded = put_back(record, bool(module.check_mode))
    if recorded and not module.check_mode:
        _see(module, "Wait until the probe endpoint succeeds", lambda url: other_status(url, status_of))
        remove(record)
        time.sleep(max(module.params["noticed_within"], 0.0))
    diff = _diff(changed, "out of rotation\n", "in rotation\n")
    return {"changed": changed or recorded, "out_for": None, "confirmed": False, "diff": diff}


def _diff(changed: bool, before: str, after: str) -> Dict[str, str]:
    return {"before": before if changed else "", "after": after if changed else ""}


def _see(module: AnsibleModule, what: str, look: Callable[[str], str]) -> None:
    """Wait until the endpoint answers as it should; fail if it does not in time."""
    why = _look(module, look, module.params["url_timeout"])
    if why:
        module.fail_json(msg="%s: %s: %s" % (what, module.params["url"], why))


def _look(module: AnsibleModule, look: Callable[[str], str], most: float) -> str:
    """Wait until the endpoint answers as it should; say why it does not. Without a URL nobody is asked.

    :param most: seconds, if `url_timeout` is longer
    """
    url = module.params["url"]
    within = min(module.params["url_timeout"], most)
    return poll_until(lambda: look(url), within, time.monotonic, time.sleep) if url else ""
