# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each playbook checks before it does anything: its hosts are there, its variables known, its systems Linux."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
# These select their hosts in other ways.
OTHERS = {"prepare_for_updates", "rehearse", "rehearse_end"}
# One has no variables of its own; those of the other are a role's, which checks them.
WITHOUT_VARIABLES = {"rehearse_end", "terminate_notifications"}
# Only with hosts that somebody has named.
NAMED = ("drain", "restore", "redeploy_early", "handle_os_upgrades", "rehearse", "rehearse_end", "trial")
WITH_HOSTS = sorted(path.stem for path in PLAYBOOKS.glob("*.yml") if f"{path.stem}_hosts" in path.read_text())


@pytest.mark.parametrize("name", sorted({*WITH_HOSTS} - OTHERS))
def test_given_a_playbook_with_a_variable_for_its_hosts_then_it_checks_that_the_inventory_has_them(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())

    checks = [play["vars"] for play in plays if play.get("ansible.builtin.import_playbook") == "plays/check_hosts.yml"]

    assert checks == [{"__checked_hosts": f"{name}_hosts"}]


@pytest.mark.parametrize("name", sorted({path.stem for path in PLAYBOOKS.glob("*.yml")} - WITHOUT_VARIABLES))
def test_given_a_playbook_with_variables_then_it_checks_all_that_begin_with_its_name(name: str) -> None:
    found = [
        task["vars"]
        for play in yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())
        for listed in play.get("tasks", ())
        for task in (listed, *listed.get("block", ()))
        if task.get("ansible.builtin.import_tasks") == "tasks/check_variables.yml"
    ]

    assert {variables["__checked_prefix"] for variables in found} == {f"{name}_"}
    assert all(variables["__checked_arguments"] for variables in found)


@pytest.mark.parametrize("name", ["rehearse", "trial", "verify_image"])
def test_given_a_playbook_for_linux_alone_then_it_refuses_windows_hosts_before_it_does_anything(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())
    files = [task.get("ansible.builtin.import_tasks") for play in plays for task in play.get("tasks", ())]

    before = files[: files.index("tasks/check_linux.yml")]

    assert set(before) <= {"tasks/check_ansible.yml", "tasks/check_variables.yml"}


PATTERNS: dict[str, tuple[Any, list[str]]] = {
    "that leave one out": ("all:!web1", ["web2", "db"]),
    "with commas": ("web1, db", ["web1", "db"]),
    "with a range": ("web[1:1]", ["web2"]),
    "that begin like a list": ("[dw]*1", ["web1"]),
    "in a list": (["all", "!web1"], ["web2", "db"]),
    "of a survey without an answer": ("", ["web1", "web2", "db"]),
    "that are null": (None, ["web1", "web2", "db"]),
    "that match nothing": ("nobody", []),
}


def test_given_patterns_in_any_form_then_their_hosts_are_meant() -> None:
    meant = yaml.safe_load((PLAYBOOKS / "vars" / "handle_events.yml").read_text())["__handle_events_meant"]
    program = f"""if True:
        import json
        from ansible.parsing.dataloader import DataLoader
        from ansible.plugins.loader import init_plugin_loader
        from ansible.template import Templar
        init_plugin_loader()
        try:
            from ansible.template import trust_as_template
        except ImportError:
            trust_as_template = str
        groups = {{"all": ["web1", "web2", "db"], "web": ["web1", "web2"], "ungrouped": ["db"]}}
        patterns = {[pattern for pattern, _hosts in PATTERNS.values()]!r}
        each = [Templar(DataLoader(), {{"groups": groups, "handle_events_hosts": pattern}}) for pattern in patterns]
        print(json.dumps([templar.template(trust_as_template({meant!r})) for templar in each]))
    """
    output = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    listed = dict(zip(PATTERNS, json.loads(output), strict=True))

    assert listed == {name: hosts for name, (_given, hosts) in PATTERNS.items()}


def test_given_a_playbook_whose_hosts_must_be_named_when_the_name_is_empty_then_a_check_stops_it() -> None:
    """From the inventory, where the play takes all hosts, and with --extra-vars, where it would take none."""
    named = {name: f"{name.removesuffix('_end')}_hosts" for name in NAMED}
    plays = {name: yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())[0] for name in named}
    texts = {}
    for name, play in plays.items():
        asserted = [
            task["ansible.builtin.assert"]["that"] for task in play["tasks"] if "ansible.builtin.assert" in task
        ]
        condition = asserted[0] if isinstance(asserted[0], str) else asserted[0][0]
        texts[name] = {"hosts": play["hosts"], "is_named": f"{{{{ {condition} }}}}"}
    program = f"""if True:
        import json
        from ansible.parsing.dataloader import DataLoader
        from ansible.plugins.loader import init_plugin_loader
        from ansible.template import Templar
        init_plugin_loader()
        try:
            from ansible.template import trust_as_template
        except ImportError:
            trust_as_template = str
        found = []
        for name, texts in {texts!r}.items():
            for value in ("", None, [], "web1", ["web1"]):
                variables = {{"groups": {{"all": ["web1"]}}, {named!r}[name]: value}}
                templar = Templar(DataLoader(), variables)
                read = {{key: templar.template(trust_as_template(text)) for key, text in texts.items()}}
                found.append((name, value, bool(read["hosts"]), read["is_named"]))
        print(json.dumps(found))
    """
    output = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout

    assert [
        (name, value)
        for name, value, has_hosts, is_named in json.loads(output)
        if (has_hosts, is_named) != (True, bool(value))
    ] == []
