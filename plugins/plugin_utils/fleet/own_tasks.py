# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Checks that the operator's own files of tasks would not end the run.

What Ansible cannot parse ends `ansible-playbook` when it comes to the file, with hosts out. So each file is read before
anything is touched, and with it the files and roles that it includes by a literal name. A name with a template is known
only when its task comes. A file or a role that is not found is not missed here, because an earlier task may make it; it
fails one task of one host.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.block import Block
from ansible.playbook.role.include import RoleInclude
from ansible.playbook.role_include import IncludeRole
from ansible.playbook.task import Task
from ansible.playbook.task_include import TaskInclude

_COLLECTION = Path(__file__).parents[3]
# Ansible takes the first file that exists.
_EXTENSIONS = (".yml", ".yaml", ".json", "")
_PARTS_OF_ROLE = ("meta", "defaults", "vars", "handlers", "tasks")
_HOLD_TASKS = ("handlers", "tasks")

# A file, the directory of the role that it belongs to, and whether it must contain tasks.
_Included = tuple[Path, Path | None, bool]


class _Entry(dict[Any, Any]):
    """A mapping of a YAML file, with the line where it begins."""

    line: int = 0


class _AnyTag(yaml.SafeLoader):
    """Reads what Ansible reads: a tag like !vault or !unsafe says how a text is used, which does not matter here."""


def _construct_entry(loader: yaml.SafeLoader, node: yaml.MappingNode) -> Iterator[_Entry]:
    entry = _Entry()
    entry.line = node.start_mark.line + 1
    yield entry
    entry.update(loader.construct_mapping(node))


_AnyTag.add_constructor("tag:yaml.org,2002:map", _construct_entry)
_AnyTag.add_multi_constructor("!", lambda _loader, _suffix, node: str(node.value))


class _TasksError(ValueError):
    """A file of tasks cannot be included. The message says why, and where."""


@functools.cache
def why_no_tasks(path: str, role: str = "") -> str:
    """Why a file cannot be included as tasks; nothing if it can, or is encrypted. Of each file once: a fleet has few.

    :param path: the absolute path of the file
    :param role: the role of this collection that includes it, if one does
    """
    try:
        _Reader().check(Path(os.path.normpath(path)), _COLLECTION / "roles" / role if role else None)
    except _TasksError as error:
        return str(error)
    return ""


class _Reader:
    """Reads files, and what they include, each once: some include themselves."""

    def __init__(self) -> None:
        self._loader = DataLoader()
        # The directory of roles beside the playbook or role.
        self._loader.set_basedir(str(_COLLECTION / "playbooks"))
        self._seen: set[Path] = set()

    def check(self, path: Path, role: Path | None, holds_tasks: bool = True) -> None:
        """Check a file.

        :param role: the directory of the role that the file is included from
        :param holds_tasks: whether it is to be a list of tasks
        :raises _TasksError: if Ansible cannot parse it
        """
        if path in self._seen or _COLLECTION in path.parents:
            return
        self._seen.add(path)
        content = read_yaml(path)
        if holds_tasks and content is not None:
            self._check_tasks(content, "it", path, role)

    def _check_tasks(self, tasks: Any, what: str, path: Path, role: Path | None) -> None:
        if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
            raise _TasksError("%s is no list of tasks" % what)
        for task in tasks:
            try:
                self._check_task(task, path, role)
            except AnsibleError as error:
                raise _TasksError("line %d: %s" % (task.line, _in_one_line(error))) from error

    def _check_task(self, task: _Entry, path: Path, role: Path | None) -> None:
        if Block.is_block(task):
            parts = {name: task[name] for name in ("block", "rescue", "always") if task.get(name) is not None}
            # Without its content, which is parsed by itself.
            Block.load({**task, **{name: [] for name in parts}}, loader=self._loader)
            for name, part in parts.items():
                self._check_tasks(part, "line %d: %s" % (task.line, name), path, role)
            return
        # With any prefix, as ansible.builtin.include_tasks.
        action = Task.load(dict(task), loader=self._loader).action.rpartition(".")[2]
        if action in ("include_tasks", "import_tasks"):
            included = _find_tasks(TaskInclude.load(dict(task), loader=self._loader).args["_raw_params"], path, role)
        elif action in ("include_role", "import_role"):
            included = self._find_role(IncludeRole.load(dict(task), loader=self._loader).args)
        else:
            return
        for file, of_role, holds_tasks in included:
            try:
                self.check(file, of_role, holds_tasks)
            except _TasksError as error:
                raise _TasksError("line %d includes %s: %s" % (task.line, file, error)) from error

    def _find_role(self, arguments: Mapping[str, Any]) -> list[_Included]:
        """The files of a role that Ansible reads when it includes it."""
        name = arguments.get("name", arguments.get("role"))
        if not _is_literal(name):
            return []
        try:
            role = Path(RoleInclude.load(name, play=None, loader=self._loader).get_role_path())
        except AnsibleError:
            return []
        found: list[_Included] = []
        for part in _PARTS_OF_ROLE:
            entry = arguments.get("%s_from" % part, "main")
            places = [role / part / (entry + extension) for extension in _EXTENSIONS] if _is_literal(entry) else []
            found += [(place, role, part in _HOLD_TASKS) for place in places if place.is_file()][:1]
        return found


def _find_tasks(name: Any, path: Path, role: Path | None) -> list[_Included]:
    """The file of tasks that a file includes, where Ansible searches for it."""
    places = [path.parent] if role is None else [role / "tasks", path.parent]
    # Without `..`, so that a file that includes itself through others is recognised.
    files = [Path(os.path.normpath(place / name)) for place in places if _is_literal(name)]
    return [(file, role, True) for file in files if file.is_file()][:1]


def _is_literal(name: Any) -> bool:
    return isinstance(name, str) and "{{" not in name and "{%" not in name


def read_yaml(path: Path) -> Any:
    """Read a file as Ansible does, without its templates and secrets; None if it is encrypted as a whole.

    :raises ValueError: if it cannot be read
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise _TasksError("it cannot be read: %s" % (getattr(error, "strerror", None) or error)) from error
    if text.startswith("$ANSIBLE_VAULT"):
        return None
    stream = io.StringIO(text)
    # For the messages of the parser.
    stream.name = str(path)
    try:
        return yaml.load(stream, Loader=_AnyTag)
    except yaml.YAMLError as error:
        raise _TasksError("it is no YAML: %s" % _in_one_line(error)) from error


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())
