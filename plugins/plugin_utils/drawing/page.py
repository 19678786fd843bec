# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A report as one HTML file that needs no other: it runs no script, loads nothing, and can be sent by mail."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>%s</title>
<style>
:root{color-scheme:light dark}
body{background:#fff;color:#1f2328;font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1000px;
padding:0 1rem 2rem}
@media (prefers-color-scheme:dark){body{background:#0d1117;color:#f0f6fc}}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.5rem 0 .5rem}.wide{overflow-x:auto}
table{border-collapse:collapse}th,td{text-align:left;padding:.25rem 1rem .25rem 0;border-bottom:1px solid #8886;
vertical-align:top}.verdict{font-weight:600}.passed{color:#1a7f37}.failed{color:#cf222e}
@media (prefers-color-scheme:dark){.passed{color:#3fb950}.failed{color:#f85149}}
</style>
</head>
<body>
"""


class Table(NamedTuple):
    """A table of text with a head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Section(NamedTuple):
    """A part of a page. Its empty parts are left out."""

    title: str
    svg: str = ""
    """A drawing. All else on the page is text."""
    table: Table | None = None
    items: Sequence[str] = ()


def write_page(title: str, passed: bool, verdict: str, sections: Sequence[Section]) -> str:
    """Put a report together. All of it is text but the drawings.

    :param verdict: in a sentence
    """
    tint = "passed" if passed else "failed"
    parts = [_HEAD % escape(title), f"<h1>{escape(title)}</h1>"]
    parts.append(f'<p class="verdict {tint}">{escape(verdict)}</p>')
    for section in sections:
        parts.append(f"<h2>{escape(section.title)}</h2>")
        if section.svg:
            parts.append(f'<div class="wide">{section.svg}</div>')
        if section.table is not None:
            parts.append(_table(section.table))
        if section.items:
            parts.append("<ul>%s</ul>" % "".join(f"<li>{escape(item)}</li>" for item in section.items))
    return "\n".join([*parts, "</body>", "</html>", ""])


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join("<tr>%s</tr>" % "".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
