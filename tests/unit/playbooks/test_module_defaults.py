# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a play says once for all its modules has to be known from its first task on.

ansible-core before 2.19 works the module defaults out for every task, whatever its module is: also for the one that
reads the playbook's variables. Later ones do so for the modules that they are for.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
PLAYS: list[Any] = [
    pytest.param(play, id=f"{path.stem}: {play['name']}")
    for path in sorted(PLAYBOOKS.glob("*.yml"))
    for play in yaml.safe_load(path.read_text())
    if "module_defaults" in play
]


@pytest.mark.parametrize("play", PLAYS)
def test_given_module_defaults_when_the_play_reads_variables_itself_then_none_of_these_is_in_them(
    play: dict[str, Any],
) -> None:
    first = play["tasks"][0].get("ansible.builtin.import_tasks", "")
    reads = first.endswith("check_ansible.yml")

    assert not (reads and "__" in json.dumps(play["module_defaults"]))
