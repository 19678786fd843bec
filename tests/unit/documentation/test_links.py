# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Links between the repository's own pages lead somewhere: to a file that is there, and to a heading in it."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# `safe.directory`: the checkout may belong to another user, as it does in many a CI system.
LISTING = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]
PAGES = sorted(
    name
    for name in subprocess.run(LISTING, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0")
    if name and (ROOT / name).is_file()
)


def prose(page: Path) -> str:
    """Return the page without its blocks of code."""
    return re.sub(r"^( *)```.*?^\1```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors that the page's headings get on GitHub and on Galaxy."""
    found: Counter[str] = Counter()
    named = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        named.add(anchor if not found[anchor] else "%s-%d" % (anchor, found[anchor]))
        found[anchor] += 1
    return named


def test_given_the_repository_when_its_pages_are_listed_then_the_readme_and_the_guides_are_among_them() -> None:
    assert {"README.md", "CONTRIBUTING.md", "docs/agent.md", "roles/handler_agent/README.md"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_given_a_page_when_its_links_are_followed_then_each_leads_to_a_file_and_a_heading(name: str) -> None:
    page = ROOT / name
    dead = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _separator, anchor = target.partition("#")
        other = (page.parent / file).resolve() if file else page
        if not other.exists() or (anchor and anchor not in anchors(other)):
            dead.append(target)

    assert dead == []


@pytest.mark.parametrize("name", PAGES)
def test_given_a_page_that_names_a_make_target_then_the_target_exists(name: str) -> None:
    makefile = "".join((ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "tests/steps.mk"))
    targets = set(" ".join(re.findall(r"^([a-z][a-z -]*):", makefile, re.MULTILINE)).split())
    told = set(re.findall(r"(?:^|`)make ([a-z][\w-]*)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))

    assert told <= targets
