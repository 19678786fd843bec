# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets a directory that no other user can change: the arguments of own_directory."""

from typing import Any, Dict, List, Optional

from ansible.module_utils.basic import AnsibleModule

from .files.directory import open_own_directory

ArgumentSpec = Dict[str, Dict[str, Any]]


def own_directory_arguments() -> ArgumentSpec:
    """Make the argument spec of own_directory."""
    return {
        "path": {"type": "path", "required": True},
        "create": {"type": "bool", "default": True},
        "group_may_write": {"type": "bool", "default": False},
        "mode": {"type": "str", "default": "0755", "choices": ["0755", "0700"]},
    }


def run_own_directory(module: AnsibleModule) -> None:
    """Do the work of own_directory."""
    given = module.params
    try:
        files = _files(given["path"], None, given["group_may_write"])
        changed = files is None and given["create"]
        if changed and not module.check_mode:
            files = _files(given["path"], int(given["mode"], 8), given["group_may_write"])
    except OSError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, files=files or [])


def _files(path: str, new_mode: Optional[int], trusts_group: bool) -> Optional[List[str]]:
    try:
        with open_own_directory(path, new_mode, trusts_group) as directory:
            return sorted(directory.names())
    except FileNotFoundError:
        return None
