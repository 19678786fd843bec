# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook with a variable for its hosts fails if the inventory has no such host."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
# These select their hosts in other ways.
OTHERS = {"prepare_for_updates", "rehearse", "rehearse_end"}
WITH_HOSTS = sorted(path.stem for path in PLAYBOOKS.glob("*.yml") if f"{path.stem}_hosts" in path.read_text())


@pytest.mark.parametrize("name", sorted({*WITH_HOSTS} - OTHERS))
def test_given_a_playbook_with_a_variable_for_its_hosts_then_it_checks_that_the_inventory_has_them(name: str) -> None:
    plays = yaml.safe_load((PLAYBOOKS / f"{name}.yml").read_text())

    checks = [play["vars"] for play in plays if play.get("ansible.builtin.import_playbook") == "plays/check_hosts.yml"]

    assert checks == [{"__checked_hosts": f"{name}_hosts"}]
