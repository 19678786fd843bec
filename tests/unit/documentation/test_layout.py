# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""CONTRIBUTING shows every room of the house, docs/contents.md all that is offered, and neither what is not there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# `safe.directory`: the checkout may belong to another user, as it does in many a CI system.
LISTING = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
# Their own rooms are listed one by one.
HALLS = ("extensions", "plugins", "plugins/module_utils", "plugins/plugin_utils", "roles", "tests")


def shown() -> list[str]:
    """Return the directories of the layout, as paths from the top."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    layout = re.search(r"## Layout\n\n```text\n(.*?)```", text, re.DOTALL)
    assert layout
    paths = []
    above: list[str] = []
    for line in layout.group(1).splitlines():
        entry = re.match(r"( *)(\S+/(?:, \S+/)*)(?:  |$)", line)
        if entry and len(entry.group(1)) <= 2 * len(above):
            above = above[: len(entry.group(1)) // 2]
            names = [name.rstrip("/") for name in entry.group(2).split(", ")]
            paths += ["/".join([*above, name]) for name in names]
            above.append(names[-1])
    return paths


def there() -> set[str]:
    """Return the directories at the top and in the halls."""
    listing = subprocess.run(LISTING, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    above = {str(path) for name in listing.split("\0") if (ROOT / name).is_file() for path in Path(name).parents}
    return {path for path in above if path != "." and ("/" not in path or path.rpartition("/")[0] in HALLS)}


def test_given_the_layout_when_its_paths_are_looked_up_then_each_is_a_directory() -> None:
    assert [path for path in shown() if not (ROOT / path).is_dir()] == []


def test_given_the_rooms_that_are_there_when_the_layout_is_read_then_it_shows_each_of_them() -> None:
    assert there() - set(shown()) == set()


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
