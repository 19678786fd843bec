# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a filter hands to a playbook is no template, on any ansible-core that is supported."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

TEMPLATE = "{{ 6 * 7 }}"


@pytest.mark.parametrize("returned", [TEMPLATE, [TEMPLATE], {"told": {"by": [TEMPLATE]}}, {TEMPLATE: (TEMPLATE,)}])
def test_trap_11_given_a_template_in_what_a_filter_returns_then_it_stays_text(returned: Any) -> None:
    marked = untrusted(lambda: returned)()

    assert "42" not in str(Templar(loader=DataLoader()).template(marked))
