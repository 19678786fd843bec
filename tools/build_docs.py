# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the site: the guides, and what modules, plugins, roles, playbooks and rulebooks say of themselves.

usage: build_docs.py SOURCE HTML

The pages are put together in the directory SOURCE, at the places that they have in the repository, so that their links
hold, and written to HTML. Nothing is fetched. It fails at any warning of Sphinx, at a link within the site that leads
nowhere, and at a misspelt word.
"""

import html.parser
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "tools" / "site"
# Beside the guides in docs.
PAGES = ("CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
REFERENCE = "collections"
EXTENSIONS = ROOT / "extensions" / "eda"


class _Links(html.parser.HTMLParser):
    """The addresses that a page leads to, and the ids that others may lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids.update(filter(None, (named.get("id"), named.get("name") if tag == "a" else None)))
        self.targets += filter(None, (named.get("href"), named.get("src")))


def main() -> None:
    source, html_directory = Path(sys.argv[1]), Path(sys.argv[2])
    for directory in (source, html_directory):
        shutil.rmtree(directory, ignore_errors=True)
    source.mkdir(mode=0o700, parents=True)
    guides = [*PAGES, *_below("docs"), *_below("roles")]
    for name in guides:
        _write(source / name, _with_links_of_the_site(name))
    for pattern in ("*.svg", "*.png"):
        for image in (ROOT / "docs").glob(pattern):
            shutil.copy(image, source / "docs")
    shutil.copy(SITE / "conf.py", source)
    _write(source / "index.md", (SITE / "index.md").read_text(encoding="utf-8").replace("](../../", "]("))
    shutil.copy(ROOT / "galaxy.yml", source)
    (source / "_static").mkdir()
    shutil.copy(SITE / "site.css", source / "_static")
    _write(source / "reference" / "playbooks.md", describe_playbooks())
    _write(source / "reference" / "event_driven.md", describe_event_driven())
    _run_antsibull(source / REFERENCE)
    _run("codespell", "--quiet-level=35", *(str(ROOT / name) for name in guides), str(SITE))
    options = ["-q", "-W", "--keep-going", "-j", "auto", "-d", str(source.with_name(source.name + "-doctrees"))]
    _run("sphinx-build", *options, str(source), str(html_directory))
    dead = list(find_dead_links(html_directory))
    if dead:
        sys.exit("links that lead nowhere:\n  " + "\n  ".join(dead))
    print(f"documentation: {html_directory}/index.html")


def _below(directory: str) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in sorted((ROOT / directory).rglob("*.md"))]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _run(program: str, *arguments: str) -> None:
    done = subprocess.run([str(Path(sys.executable).with_name(program)), *arguments], check=False)
    if done.returncode:
        sys.exit(f"{program} ended with status {done.returncode}")


def _run_antsibull(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    options = ["--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(directory)]
    _run("antsibull-docs", "collection", *options, "foghorn.azure_events")
    for page in directory.glob("*.rst"):
        # The theme shows what is on a page beside it, and calls a second list an error.
        text = re.sub(r"^\.\. contents::\n(?: .*\n)*", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        page.write_text(text, encoding="utf-8")


def _with_links_of_the_site(name: str) -> str:
    """Return a page; what it links beside other pages becomes the page about it, or its name."""

    def replace(match: re.Match[str]) -> str:
        text, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target) or path.endswith(".md"):
            return match[0]
        there = os.path.normpath(os.path.join(os.path.dirname(name), path))
        module = re.fullmatch(r"plugins/modules/(\w+)\.py", there)
        playbook = re.fullmatch(r"playbooks/vars/(\w+)\.yml", there)
        if module or playbook:
            page = f"{REFERENCE}/{module[1]}_module.rst" if module else "reference/playbooks.md"
            mark, anchor = ("#", playbook[1]) if playbook else (mark, anchor)
            return f"[{text}]({os.path.relpath(page, os.path.dirname(name) or '.')}{mark}{anchor})"
        return text if text.startswith("`") else f"{text} (`{there}`)"

    page = (ROOT / name).read_text(encoding="utf-8")
    # Code stays as it is.
    parts = re.split(r"(^ *```.*?^ *```$)", page, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if index % 2 else re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", replace, part)
        for index, part in enumerate(parts)
    )


def _comment_of(path: Path) -> str:
    """Return the comment at the head of a file, without its licence."""
    lines = path.read_text(encoding="utf-8").splitlines()
    body = lines[lines.index("---") + 1 :] if "---" in lines else lines
    found: list[str] = []
    for line in body:
        if not line.startswith("#"):
            if found:
                break
            continue
        found.append(line.removeprefix("#").removeprefix(" "))
    return "\n".join(found).strip()


def _as_markdown(comment: str) -> str:
    """Indented lines of a comment are commands; names of variables and files are code."""
    blocks = []
    for block in re.split(r"\n\s*\n", comment):
        if block.startswith("  "):
            blocks.append("```console\n%s\n```" % textwrap.dedent(block))
        else:
            text = re.sub(r"\b([a-z]+(?:_[a-z]+)+\*?|[\w/]+\.(?:yml|py))\b(?!\()", r"`\1`", block)
            blocks.append(re.sub(r"`?docs/`?([\w/]+)`?\.md`?", r"[\1](../docs/\1.md)", text))
    return "\n\n".join(blocks)


def describe_playbooks() -> str:
    """Return the page about the playbooks, from the comments at their heads and the descriptions of their variables."""
    parts = ["# Playbooks", "Call them by their full names. Each checks its variables before it touches a host."]
    for path in sorted((ROOT / "playbooks").glob("*.yml")):
        parts += [f"## {path.stem}", _as_markdown(_comment_of(path))]
        described = path.with_name("vars") / path.name
        loaded = yaml.safe_load(described.read_text(encoding="utf-8")) if described.is_file() else {}
        rows = [
            "| `%s` | %s |" % (name, _cell([spec["description"], _choices(spec)]))
            for name, spec in loaded.get(f"__{path.stem}_arguments", {}).items()
            if "description" in spec
        ]
        parts += ["\n".join(["| variable | meaning |", "|---|---|", *rows])] if rows else []
    return "\n\n".join(parts) + "\n"


def _choices(spec: dict[str, Any]) -> str:
    named = [f"C({choice})" for choice in spec.get("choices", []) if choice]
    return "One of %s." % ", ".join(named) if named else ""


def describe_event_driven() -> str:
    """Return the page about the event source, the event filter and the rulebooks."""
    parts = [
        "# Event source, event filter and rulebooks",
        "[The guide](../docs/event_driven.md) says how they work together.",
    ]
    for path in sorted([*EXTENSIONS.glob("plugins/event_source/*.py"), *EXTENSIONS.glob("plugins/event_filter/*.py")]):
        source = path.read_text(encoding="utf-8")
        documented = re.search(r'^DOCUMENTATION = r?"""(.*?)^"""', source, re.MULTILINE | re.DOTALL)
        if documented is None:
            continue
        about = yaml.safe_load(documented[1])
        kind = path.parent.name.replace("_", " ")
        parts += [f"## {kind.capitalize()} {path.stem}", _plain(about["short_description"]) + "."]
        parts += [_plain(text) for text in _as_list(about["description"])]
        rows = [
            "| `%s` | %s | %s |"
            % (option, spec.get("default", "required" if spec.get("required") else ""), _cell(spec["description"]))
            for option, spec in about.get("options", {}).items()
        ]
        parts.append("\n".join(["| option | default | meaning |", "|---|---|---|", *rows]))
        example = re.search(r'^EXAMPLES = r?"""(.*?)^"""', source, re.MULTILINE | re.DOTALL)
        if example:
            parts.append("```yaml\n%s\n```" % example[1].strip())
    for path in sorted(EXTENSIONS.glob("rulebooks/*.yml")):
        parts += [f"## Rulebook {path.stem}", _as_markdown(_comment_of(path))]
    return "\n\n".join(parts) + "\n"


def _as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _cell(value: str | list[str]) -> str:
    return " ".join(_plain(text) for text in _as_list(value)).replace("|", "\\|")


def _plain(text: str) -> str:
    """Turn Ansible's markup into Markdown."""
    text = re.sub(r"[MP]\(foghorn\.azure_events\.(\w+)(?:#\w+)?\)", r"`\1`", " ".join(text.split()))
    text = re.sub(r"U\(([^)]*)\)", r"<\1>", text)
    return re.sub(r"\b[OVCE]\(([^)]*)\)", r"`\1`", text)


def find_dead_links(directory: Path) -> Iterator[str]:
    """Yield what links within the site to a page, a file or a heading that is not there."""
    pages = {}
    for path in directory.rglob("*.html"):
        links = _Links()
        links.feed(path.read_text(encoding="utf-8"))
        pages[path] = links
    for path, links in pages.items():
        for target in dict.fromkeys(links.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists() or (
                parts.fragment and there in pages and unquote(parts.fragment) not in pages[there].ids
            ):
                yield f"{path.relative_to(directory)}: {target}"


if __name__ == "__main__":
    main()
