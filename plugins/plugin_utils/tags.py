# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether the tags of a run select any of its tasks.

Our playbooks have none of their own. Those of a playbook that imports ours may choose other plays in it, and leave ours
out: that is no mistake. A run that chooses nothing would end as if all had been done.
"""

from __future__ import annotations

import os

from ansible import context
from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.playbook import Playbook
from ansible.playbook.block import Block
from ansible.playbook.task import Task
from ansible.vars.manager import VariableManager

_EVERYTHING = ["all"]
_DYNAMIC = ("include_tasks", "include_role")


def mistakes_in_tags() -> list[str]:
    """Say that --tags and --skip-tags choose no task of all playbooks of this run, if that is so."""
    chosen = list(context.CLIARGS.get("tags") or _EVERYTHING)
    skipped = list(context.CLIARGS.get("skip_tags") or [])
    if (chosen == _EVERYTHING and not skipped) or any(map(_has_chosen, context.CLIARGS.get("args") or ())):
        return []
    options = ["--%s %s" % (name, ",".join(tags)) for name, tags in (("tags", chosen), ("skip-tags", skipped)) if tags]
    return [
        "%s: no task of this run is selected. The playbooks of this collection have no tags: omit the "
        "option, or give a tag of your own import_playbook" % " ".join(options)
    ]


def _has_chosen(name: str) -> bool:
    """Whether any task of a playbook is chosen that is not always chosen; true if that cannot be determined."""
    if not os.path.exists(name):
        # It has the name of a collection before it. Ours have no tags.
        return not name.startswith("foghorn.azure_events.")
    loader = DataLoader()
    try:
        playbook = Playbook.load(name, VariableManager(loader=loader), loader)
        return any(
            _is_chosen(task)
            for play in playbook.get_plays()
            for block in play.compile()
            for task in _tasks_of(block.filter_tagged_tasks({}))
        )
    except AnsibleError:
        return True


def _tasks_of(block: Block) -> list[Task]:
    parts = [*block.block, *block.rescue, *block.always]
    return [task for part in parts for task in (_tasks_of(part) if isinstance(part, Block) else [part])]


def _is_chosen(task: Task) -> bool:
    if "always" in task.tags:
        # The tasks that it includes may have tags.
        return task.action.rpartition(".")[2] in _DYNAMIC
    return not task.implicit
