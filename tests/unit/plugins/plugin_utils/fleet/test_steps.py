# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the steps of a run refuse before they read anything of a host."""

from __future__ import annotations

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.answers import Variables
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import check_selectable
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.steps import STEPS, Call


@pytest.mark.parametrize(
    ("name", "is_selected"),
    [
        ("WEB-1.example.com", True),
        ("2001:db8::5", True),
        # Of a host and a group of one name, the host.
        ("databases", True),
        ("web[2]", True),
        ("web*", True),
        ("web two", False),
        ("web,2", False),
        ("web:two", False),
        ("!web3", False),
        ("&web4", False),
    ],
)
def test_given_the_name_of_a_host_then_it_is_refused_unless_a_play_selects_the_host_by_it(
    name: str, is_selected: bool
) -> None:
    inventory = InventoryManager(DataLoader(), sources=["db1,db2,"])
    inventory.add_group("databases")
    inventory.add_host("db1", "databases")
    inventory.add_host(name, "all")

    assert ([host.name for host in inventory.get_hosts([name])] == [name]) is is_selected
    if is_selected:
        check_selectable(["db1", name])
    else:
        with pytest.raises(PlanError, match="Ansible does not select this host by its name"):
            check_selectable(["db1", name])


@pytest.mark.parametrize("step", ["list", "record"])
def test_given_hosts_to_plan_for_then_their_names_are_checked_first(step: str) -> None:
    call = Call("", {"hosts": ["web two"]}, Variables({}), 0.0, True, pytest.fail)

    with pytest.raises(PlanError, match="'web two': "):
        STEPS[step](call)
