# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook refuses, before anything else, an ansible-core that would execute what an event says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fixed_core import mistakes_in_version

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
CHECK = "tasks/check_ansible.yml"


@pytest.mark.parametrize(
    "version",
    [
        *("2.14.18", "2.15.13", "2.16.0", "2.16.13", "2.16.14rc1"),
        *("2.17.0b1", "2.17.0", "2.17.6", "2.17.7rc1"),
        *("2.18.0b1", "2.18.0rc2", "2.18.0", "2.18.1rc1"),
    ],
)
def test_given_a_version_that_executes_what_an_event_says_or_is_too_old_then_it_is_refused(version: str) -> None:
    assert mistakes_in_version(version)


@pytest.mark.parametrize(
    "version",
    ["2.16.14", "2.16.19", "2.17.7", "2.17.14", "2.18.1", "2.18.12", "2.19.0b1", "2.19.0", "2.20.0rc1", "2.21.1"],
)
def test_given_a_version_in_which_that_is_fixed_then_it_is_accepted(version: str) -> None:
    assert not mistakes_in_version(version)


@pytest.mark.parametrize("playbook", sorted(path.name for path in PLAYBOOKS.glob("*.yml")))
def test_given_any_playbook_then_the_check_is_its_first_task(playbook: str) -> None:
    first_play = yaml.safe_load((PLAYBOOKS / playbook).read_text())[0]

    assert "roles" not in first_play
    assert "pre_tasks" not in first_play
    assert first_play["gather_facts"] is False
    assert first_play["tasks"][0]["ansible.builtin.import_tasks"] == CHECK


def test_given_a_version_that_is_refused_then_the_fixed_ones_are_named() -> None:
    (told,) = mistakes_in_version("2.17.6")

    for version in ("2.16.14", "2.17.7", "2.18.1", "2.19"):
        assert version in told


def test_given_the_check_then_the_process_that_leads_the_run_has_all_filters_for_its_workers() -> None:
    task, *_others = yaml.safe_load((PLAYBOOKS / CHECK).read_text())
    program = f"""if True:
        import sys
        from ansible.parsing.dataloader import DataLoader
        from ansible.plugins.loader import init_plugin_loader
        from ansible.template import Templar
        init_plugin_loader()
        try:
            from ansible.template import trust_as_template
        except ImportError:
            trust_as_template = str
        print(Templar(DataLoader()).template(trust_as_template({task["run_once"]!r})))
        print(*(name for name in sys.modules if ".azure_events.plugins.filter." in name))
    """
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    answer, loaded = output.splitlines()

    assert answer == "True"
    assert {name.split(".")[-1] for name in loaded.split()} == {
        path.stem for path in (PLAYBOOKS.parent / "plugins" / "filter").glob("*.py")
    }
