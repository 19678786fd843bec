# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the file that a probe endpoint looks at: the arguments of health_probe_file."""

from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from .probe_file import MEANS, PRESENT, ProbeFileError, Record, put_back, take_out

OUT = "out"
IN = "in"

ArgumentSpec = Dict[str, Dict[str, Any]]


def probe_file_arguments() -> ArgumentSpec:
    """Make the argument spec of health_probe_file."""
    return {
        "rotation": {"type": "str", "required": True, "choices": [OUT, IN]},
        "path": {"type": "path"},
        "takes_out": {"type": "str", "default": PRESENT, "choices": list(MEANS)},
        "record": {"type": "path", "required": True},
        "kept": {"type": "path", "required": True},
    }


def run_probe_file(module: AnsibleModule) -> None:
    """Do the work of health_probe_file."""
    given, dry = module.params, bool(module.check_mode)
    record = Record(given["record"], given["kept"])
    try:
        if given["rotation"] == OUT:
            removal = take_out(given["path"], given["takes_out"], record, dry)
            texts = {"before": removal.before, "after": removal.after}
            header = {"before_header": record.path, "after_header": record.path}
            module.exit_json(changed=removal.changed, since=removal.since, recorded=True, diff={**texts, **header})
        changed, recorded = put_back(record, dry)
    except (OSError, ProbeFileError) as error:
        module.fail_json(msg=str(error))
    texts = {"before": "out of rotation\n" if changed else "", "after": "in rotation\n" if changed else ""}
    module.exit_json(changed=changed, since=None, recorded=recorded, diff=texts)
