# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of the operator's own tasks are refused, because Ansible could not parse what they include?"""

from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.own_tasks import why_no_tasks

BROKEN = "- debug: [\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "task",
    [
        "include_tasks: broken.yml",
        "ansible.builtin.include_tasks: {file: broken.yml, apply: {become: true}}",
        "import_tasks: broken.yml",
        "import_tasks: {directory}/broken.yml",
    ],
)
def test_given_a_file_that_includes_one_that_is_no_yaml_then_both_and_their_lines_are_named(
    task: str, tmp_path: Path
) -> None:
    broken = write(tmp_path / "broken.yml", "- debug:\n" + BROKEN)
    path = write(tmp_path / "own.yml", "- debug:\n- " + task.replace("{directory}", str(tmp_path)))

    told = why_no_tasks(str(path))

    assert told.startswith(f"line 2 includes {broken}: it is no YAML: ")
    assert f'in "{broken}", line 3' in told


@pytest.mark.parametrize("part", ["block", "rescue", "always"])
def test_given_a_part_of_a_block_that_includes_what_is_no_yaml_then_it_is_named(part: str, tmp_path: Path) -> None:
    broken = write(tmp_path / "broken.yml", BROKEN)
    block = {"block": "[]"} | {part: "[include_tasks: broken.yml]"}
    path = write(tmp_path / "own.yml", "- {%s}\n" % ", ".join(f"{name}: {tasks}" for name, tasks in block.items()))

    assert why_no_tasks(str(path)).startswith(f"line 1 includes {broken}: it is no YAML: ")


def test_given_what_ansible_cannot_parse_below_blocks_and_files_that_include_each_other_then_its_line_is_named(
    tmp_path: Path,
) -> None:
    other = write(tmp_path / "more" / "other.yml", "- include_tasks: ../own.yml\n- {block: [], rescu: []}\n")
    text = "- block: [debug: ]\n  rescue:\n  - include_tasks: more/other.yml\n  - include_tasks: {fiel: x}\n"
    path = write(tmp_path / "own.yml", text)

    told = why_no_tasks(str(path))
    assert told.startswith(f"line 3 includes {other}: line 2: ")
    assert "'rescu' is not a valid attribute for a Block" in told

    write(other, "- include_tasks: ../own.yml\n")
    why_no_tasks.cache_clear()
    told = why_no_tasks(str(path))
    assert told.startswith("line 4: "), told
    assert "include_tasks" in told


@pytest.mark.parametrize("part", ["meta", "defaults", "vars", "handlers", "tasks"])
@pytest.mark.parametrize("action", ["include_role", "ansible.builtin.import_role"])
def test_given_a_role_with_a_file_that_is_no_yaml_then_it_is_named(part: str, action: str, tmp_path: Path) -> None:
    role = tmp_path / "roles" / "told"
    write(role / "tasks" / "main.yml", "- include_tasks: more.yml\n")
    write(role / "tasks" / "more.yml", "- debug:\n")
    write(role / "vars" / "main.yml", "a: 1\n")
    path = write(tmp_path / "own.yml", f"- {action}: {{name: {role}}}\n")
    assert why_no_tasks(str(path)) == ""

    broken = write(role / part / ("more.yml" if part == "tasks" else "main.yml"), BROKEN)
    why_no_tasks.cache_clear()
    told = why_no_tasks(str(path))
    assert told.startswith("line 1 includes ")
    assert f"{broken}: it is no YAML: " in told


@pytest.mark.parametrize(("part", "is_refused"), [("handlers", True), ("tasks", True), ("vars", False)])
def test_given_a_role_with_a_file_that_is_no_list_of_tasks_then_it_is_refused_only_where_ansible_wants_tasks(
    part: str, is_refused: bool, tmp_path: Path
) -> None:
    write(tmp_path / "role" / part / "main.yml", "a: 1\n")
    path = write(tmp_path / "own.yml", f"- include_role: {{name: {tmp_path}/role}}\n")

    assert ("it is no list of tasks" in why_no_tasks(str(path))) is is_refused


def test_given_tasks_of_a_service_then_what_they_include_is_searched_in_the_role_that_calls_them_as_well(
    tmp_path: Path,
) -> None:
    # The role has a file of this name, which Ansible takes.
    write(tmp_path / "start.yml", BROKEN)
    path = write(tmp_path / "own.yml", "- include_tasks: start.yml\n")

    assert why_no_tasks(str(path), "graceful_shutdown") == ""
    assert why_no_tasks(str(path)).startswith("line 1 includes ")


def test_given_names_that_are_known_only_later_then_nothing_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "broken.yml", BROKEN)
    names = ["{{ kind }}.yml", "not_there.yml"]
    text = "".join(f"- include_tasks: '{name}'\n" for name in names)
    text += "- include_role: {name: '{{ kind }}'}\n- include_role: {name: not_there}\n"
    write(tmp_path / "role" / "tasks" / "main.yml", BROKEN)
    text += f"- include_role: {{name: {tmp_path}/role, tasks_from: '{{{{ kind }}}}'}}\n"

    assert why_no_tasks(str(write(tmp_path / "own.yml", text))) == ""
    secret = write(tmp_path / "secret.yml", "$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    assert why_no_tasks(str(write(tmp_path / "with.yml", f"- include_tasks: {secret}\n"))) == ""
