# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site: what its tool makes of comments, markup and links, and that every page is in its navigation.

The whole site is built by `make docs`, which takes about a minute.
"""

import re
from pathlib import Path

import pytest

from tools import build_docs

ROOT = Path(__file__).resolve().parents[3]
INDEX = (ROOT / "tools" / "site" / "index.md").read_text(encoding="utf-8")


def test_given_the_pages_of_the_repository_then_each_is_in_the_navigation_once() -> None:
    listed = re.findall(r"^([\w/]+)$", "".join(re.findall(r"```\{toctree\}\n(.*?)```", INDEX, re.DOTALL)), re.MULTILINE)
    pages = [*build_docs.PAGES, *build_docs._below("docs"), *build_docs._below("roles")]
    generated = ["collections/index", "reference/event_driven", "reference/playbooks"]

    assert sorted(listed) == sorted([name.removesuffix(".md") for name in pages] + generated)


def test_given_the_playbooks_then_each_has_a_section_with_its_command_and_links_to_its_guide() -> None:
    page = build_docs.describe_playbooks()
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))

    assert set(sections) == {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
    assert [
        name for name, text in sections.items() if f"ansible-playbook foghorn.azure_events.{name}" not in text
    ] == []
    assert "[doctor](../docs/doctor.md)" in sections["doctor"]
    assert "| `trial_event` | The event to cause. Default is none. One of `Redeploy`, `Reboot`" in sections["trial"]
    assert "SPDX" not in page


def test_given_what_events_are_driven_by_then_source_filter_and_each_rulebook_are_described() -> None:
    page = build_docs.describe_event_driven()

    rulebooks = [path.stem for path in (ROOT / "extensions" / "eda" / "rulebooks").glob("*.yml")]
    assert [name for name in rulebooks if f"## Rulebook {name}\n" not in page] == []
    assert "## Event source scheduled_events\n" in page
    assert "## Event filter " in page
    assert "| `interval` |" in page
    assert not re.search(r"\b[OVCMPU]\(", page)


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        (
            "[the module](../plugins/modules/haproxy_server.py)",
            "[the module](../collections/haproxy_server_module.rst)",
        ),
        ("[variables](../playbooks/vars/trial.yml)", "[variables](../reference/playbooks.md#trial)"),
        ("[agent](elsewhere.md#the-port)", "[agent](elsewhere.md#the-port)"),
        ("[site](https://example.com/a)", "[site](https://example.com/a)"),
        ("[`template.json`](../extensions/template.json)", "`template.json`"),
        ("[templates](../extensions/packer)", "templates (`extensions/packer`)"),
        ("```yaml\n[a](../b.py)\n```", "```yaml\n[a](../b.py)\n```"),
    ],
)
def test_given_a_link_of_a_guide_then_it_leads_to_a_page_of_the_site_or_is_the_name_of_the_file(
    link: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(f"{link}\n", encoding="utf-8")
    monkeypatch.setattr(build_docs, "ROOT", tmp_path)

    assert build_docs._with_links_of_the_site("docs/page.md") == f"{shown}\n"


def test_given_links_that_lead_to_no_page_or_heading_then_each_is_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"></h1><a href="docs/a.html#here">a</a><a href="gone.html">b</a>')
    (tmp_path / "docs" / "a.html").write_text('<p id="here"><a href="../index.html#top">c</a><a href="#missing">d</a>')

    assert sorted(build_docs.find_dead_links(tmp_path)) == ["docs/a.html: #missing", "index.html: gone.html"]
