# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing that a managed host has said chooses a file, a host or a path on the controller.

Facts, registered results and records are a host's word. In playbooks and roles each expression that decides one of
these either goes through the filter `trusted`, or names variables only that are set in PINNED, or not from a host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import jinja2.meta
import pytest
import yaml

ROOT = Path(__file__).parents[3]
FILES = sorted([*(ROOT / "playbooks").rglob("*.yml"), *(ROOT / "roles").glob("*/tasks/**/*.yml")])
INCLUDES = ("include_tasks", "import_tasks", "include_vars", "include_role", "import_role", "import_playbook")
ON_CONTROLLER = ("dest", "path", "paths", "src", "chdir", "creates", "removes", "argv", "cmd")

# Fixed before the first contact with a host, and why no host decides it.
PINNED = {
    "__handle_events_report_path": "set_fact in begin.yml",
    "__handler_agent_built": "set_fact in build.yml",
    "__handler_agent_build": "registered on the controller itself, from tempfile",
    "__checked_prefix": "a literal of the playbook that includes the file",
    "__chosen": "looked up before the first contact",
    "__checked_beside": "looked up before the first contact",
    "__checked_hosts": "a literal of the playbook that imports the file",
    "__pattern": "a variable of localhost, which no managed host sets",
    "__handle_events_balancers": "from the hosts' variables, which note_asked leaves out where a host has set them",
    "__handle_events_orders": "as the next",
    "__handle_events_order": "its do is one of the steps of fleet/run.py, by the action maintenance_step",
    "__handle_events_tasks": "include_vars, which no fact of a host outranks",
    "__handle_events_files": "include_vars as well, of the three before and of what maintenance_step returns",
    "__handle_events_part": "the number of a loop",
    "__handle_events_next": "what the action maintenance_step has returned chooses one of two files that stand there",
    "__balancer": "from the hosts' variables, which note_asked leaves out where a host has set them",
    "__controller_setup_collection": "one of two names, checked before that, in a play of the controller alone",
    "item": "an item of a list that stands in the file",
}
BEFORE_CONTACT = {
    "handle_events_hosts",
    "drain_hosts",
    "restore_hosts",
    "status_hosts",
    "doctor_hosts",
    "install_agent_hosts",
    "trial_hosts",
    "verify_image_hosts",
    "redeploy_early_hosts",
    "handle_os_upgrades_hosts",
    "prepare_for_updates_hosts",
    "ansible_limit",
}


# Facts cannot be called like these.
MAGIC = ("inventory_hostname", "ansible_playbook_python", "role_path")


class Decision(NamedTuple):
    """An expression that decides something on the controller."""

    where: str
    kind: str
    text: str


def tasks(content: Any) -> Iterator[dict[str, Any]]:
    """All tasks and plays in a file, at any depth."""
    if isinstance(content, list):
        for one in content:
            yield from tasks(one)
    elif isinstance(content, dict):
        yield content
        for key in ("tasks", "pre_tasks", "post_tasks", "handlers", "block", "rescue", "always"):
            yield from tasks(content.get(key, []))


def decisions() -> Iterator[Decision]:
    for path in FILES:
        where = str(path.relative_to(ROOT))
        for task in tasks(yaml.safe_load(path.read_text(encoding="utf-8"))):
            name = f"{where}: {task.get('name', '')}"
            place = task.get("delegate_to")
            if place is not None:
                yield Decision(name, "delegate_to", str(place))
            for key, value in task.items():
                module = key.rpartition(".")[2]
                if module in INCLUDES:
                    arguments = value if isinstance(value, dict) else {"file": value}
                    for argument in ("file", "name", "tasks_from"):
                        yield Decision(name, module, str(arguments.get(argument, "")))
                elif place == "localhost" and isinstance(value, dict) and "." in key:
                    for argument in ON_CONTROLLER:
                        yield Decision(name, argument, str(value.get(argument, "")))


def lookups() -> Iterator[Decision]:
    for path in FILES:
        for call in re.findall(r"(?:lookup|query)\([^()]*(?:\([^()]*\)[^()]*)*\)", path.read_text(encoding="utf-8")):
            yield Decision(str(path.relative_to(ROOT)), "lookup", "{{ %s }}" % call)


def names_in(text: str) -> set[str]:
    """The variables of an expression; filters and tests are none."""
    environment = jinja2.Environment(autoescape=True)
    environment.filters = AnyName()
    environment.tests = AnyName()
    return jinja2.meta.find_undeclared_variables(environment.parse(text))


class AnyName(dict[str, Any]):
    """Knows every filter."""

    def __contains__(self, _name: object) -> bool:
        return True

    def get(self, _name: str, _default: Any = None) -> Any:
        return lambda value, *_args, **_kwargs: value

    __getitem__ = get


def role_variables() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in [*(ROOT / "roles").glob("*/vars/main.yml"), *(ROOT / "playbooks" / "vars").glob("*.yml")]:
        found.update({name: str(text) for name, text in yaml.safe_load(path.read_text(encoding="utf-8")).items()})
    return found


VARIABLES = role_variables()


def is_ours(decision: Decision) -> bool:
    if "{{" not in decision.text or "foghorn.azure_events.trusted" in decision.text:
        return True
    names = names_in(decision.text) - {"lookup", "query", *MAGIC}
    return all(
        name in PINNED or name in BEFORE_CONTACT or "foghorn.azure_events.trusted" in VARIABLES.get(name, "")
        for name in names
    )


def test_there_are_decisions_to_check() -> None:
    kinds = {decision.kind for decision in [*decisions(), *lookups()] if "{{" in decision.text}

    assert {"delegate_to", "include_tasks", "dest", "lookup"} <= kinds


@pytest.mark.parametrize("decision", [one for one in [*decisions(), *lookups()] if "{{" in one.text], ids=str)
def test_what_decides_on_the_controller_never_comes_from_a_host(decision: Decision) -> None:
    assert is_ours(decision), f"{decision.where}: {decision.kind}: {decision.text}"


def test_given_what_a_host_has_said_then_it_is_found() -> None:
    assert not is_ours(Decision("", "delegate_to", "{{ (record.content | b64decode).splitlines()[0] }}"))
    assert is_ours(Decision("", "delegate_to", "{{ named | foghorn.azure_events.trusted(among=groups['lb']) }}"))
