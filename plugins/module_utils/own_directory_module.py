# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets a directory that no other user can change: the arguments of own_directory."""

import os
import random
import re
from typing import Any, Dict, List, Optional

from ansible.module_utils.basic import AnsibleModule

from .files.directory import open_own_directory

_ID = re.compile("[0-9a-f]{32}\\Z")

ArgumentSpec = Dict[str, Dict[str, Any]]


def own_directory_arguments() -> ArgumentSpec:
    """Make the argument spec of own_directory."""
    return {
        "path": {"type": "path", "required": True},
        "create": {"type": "bool", "default": True},
        "group_may_write": {"type": "bool", "default": False},
        "mode": {"type": "str", "default": "0755", "choices": ["0755", "0700"]},
        "id_file": {"type": "str"},
        "lines": {"type": "dict", "default": {}},
        "contents": {"type": "list", "elements": "str", "default": []},
    }


def run_own_directory(module: AnsibleModule) -> None:
    """Do the work of own_directory."""
    given = module.params
    try:
        files = _files(given["path"], None, given["group_may_write"])
        changed = files is None and given["create"]
        if changed and not module.check_mode:
            files = _files(given["path"], int(given["mode"], 8), given["group_may_write"])
        result: Dict[str, Any] = {"changed": changed, "files": files or []}
        if given["id_file"] is not None:
            result.update(_identify(given, result, module.check_mode))
        added = [_add(module, name, lines, result["files"]) for name, lines in sorted(given["lines"].items())]
        result["changed"] = result["changed"] or any(added)
        if given["contents"]:
            result["contents"] = _contents(given["path"], given["contents"], result["files"], given["group_may_write"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def what_is_in(path: str, id_file: str, contents: List[str]) -> Dict[str, Any]:
    """Say which files there are, the id, and the contents of some; nothing if the directory does not exist.

    :raises OSError: if they cannot be read
    :raises ValueError: if another user could change them
    """
    given = {"path": path, "create": False, "group_may_write": False, "id_file": id_file}
    found: Dict[str, Any] = {"files": _files(path, None, False) or []}
    found.update(_identify(given, found))
    return dict(found, contents=_contents(path, contents, found["files"], False))


def _contents(path: str, names: List[str], files: List[str], trusts_group: bool) -> Dict[str, str]:
    wanted = [name for name in names if name in files]
    if not wanted:
        return {}
    with open_own_directory(path, None, trusts_group) as directory:
        return {name: directory.read(name) for name in wanted}


def _add(module: AnsibleModule, name: str, lines: List[Any], files: List[str]) -> bool:
    """Append lines to a file that it does not have."""
    given = module.params
    if name in ("", ".", "..") or "/" in name or not isinstance(lines, list):
        raise ValueError("lines: %r is no name of a file with a list of lines. Give a name without a directory" % name)
    before = _contents(given["path"], [name], files, given["group_may_write"]).get(name, "")
    missing = [line for line in map(str, lines) if line not in before.splitlines()]
    if missing and not module.check_mode:
        text = before if not before or before.endswith("\n") else before + "\n"
        with open_own_directory(given["path"], None, given["group_may_write"]) as directory:
            directory.replace(name, text + "".join(line + "\n" for line in dict.fromkeys(missing)), 0o644)
    return bool(missing)


def _files(path: str, new_mode: Optional[int], trusts_group: bool) -> Optional[List[str]]:
    try:
        with open_own_directory(path, new_mode, trusts_group) as directory:
            return sorted(directory.names())
    except FileNotFoundError:
        return None


def _identify(given: Dict[str, Any], found: Dict[str, Any], is_dry: bool = False) -> Dict[str, Any]:
    """Read the id, or write one. An id that is none is an error only where it is needed."""
    name = given["id_file"]
    if name in ("", ".", "..") or "/" in name:
        raise ValueError("id_file: %r is no name of a file. Give a name without a directory" % name)
    if name in found["files"]:
        with open_own_directory(given["path"], None, given["group_may_write"]) as directory:
            text = directory.read(name).strip()
        if not _ID.match(text) and given["create"]:
            raise ValueError(
                "%s holds no id, 32 hexadecimal digits. Remove it if no record is to be found by it"
                % os.path.join(given["path"], name)
            )
        return {"id": text if _ID.match(text) else ""}
    if not given["create"]:
        return {"id": ""}
    new = "%032x" % random.SystemRandom().getrandbits(128)
    if not is_dry:
        with open_own_directory(given["path"], None, given["group_may_write"]) as directory:
            directory.replace(name, new, 0o600)
    return {"id": new, "changed": True, "files": sorted([*found["files"], name])}
