# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/contents.md has all that is offered, and nothing that is not there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_given_what_the_collection_offers_when_its_contents_are_read_then_the_table_has_all_of_it_and_no_more() -> None:
    page = (ROOT / "docs" / "contents.md").read_text(encoding="utf-8")
    told = {name for cell in re.findall(r"^\|([^|]*)\|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}

    plugins = [
        path.stem
        for kind, suffix in (("callback", "py"), ("lookup", "py"), ("modules", "py"), ("filter", "yml"))
        for path in (ROOT / "plugins" / kind).glob(f"[!_]*.{suffix}")
        # What only our own playbooks call is no offer.
        if "Internal: may change without notice" not in path.read_text(encoding="utf-8")
    ]
    plugins += [path.stem for path in (ROOT / "plugins" / "modules").glob("*.ps1")]
    playbooks = [path.stem for path in (ROOT / "playbooks").glob("*.yml")]
    roles = [path.parents[1].name for path in (ROOT / "roles").glob("*/meta/main.yml")]
    assert told == {*plugins, *playbooks, *roles}
