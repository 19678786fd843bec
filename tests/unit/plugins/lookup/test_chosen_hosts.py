# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts does an operator mean, however the patterns are handed over?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.foghorn.azure_events.plugins.lookup.chosen_hosts import LookupModule

GROUPS = {"all": ["web1", "web2", "db"], "web": ["web1", "web2"], "ungrouped": ["db"]}


@pytest.mark.parametrize(
    ("terms", "hosts"),
    [
        (["all"], ["web1", "web2", "db"]),
        (["all:!web1"], ["web2", "db"]),
        (["web1,db"], ["web1", "db"]),
        ([["web1", "db"]], ["web1", "db"]),
        (['["web1", "db"]'], ["web1", "db"]),
        (["nobody"], []),
    ],
)
def test_given_patterns_then_their_hosts_are_listed(terms: list[Any], hosts: list[str]) -> None:
    loader = DataLoader()
    lookup = LookupModule(loader=loader, templar=Templar(loader))

    assert lookup.run(terms, variables={"groups": GROUPS}) == hosts
