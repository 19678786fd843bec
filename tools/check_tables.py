# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find rows of Markdown tables that are not one line each, have other cells than the row before, or have no head.

Such a row becomes a row of its own, loses cells, or is shown as text, and no builder of a site complains.

usage: check_tables.py DIRECTORY
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_FENCE = re.compile(r"\s*(```|~~~)")
_BORDER = re.compile(r"(?<!\\)\|")
_BELOW_A_HEAD = re.compile(r"\s*\|[-:| ]+\|\s*\Z")


def main() -> int:
    root = Path(sys.argv[1])
    complaints = [
        f"{path.relative_to(root)}:{number}: a broken row: {line[:80]}"
        for path in sorted(root.rglob("*.md"))
        for number, line in _broken_rows(path.read_text(encoding="utf-8"))
    ]
    print("\n".join(complaints) or "tables: no complaints")
    return 1 if complaints else 0


def _broken_rows(text: str) -> Iterator[tuple[int, str]]:
    is_fenced, borders = False, 0
    lines = text.splitlines()
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""], strict=True), 1):
        row = line.strip()
        if _FENCE.match(line):
            is_fenced = not is_fenced
        if is_fenced or not row.startswith("|"):
            # A table ends with an empty line.
            if borders and row:
                yield number, line
            borders = 0
            continue
        found = len(_BORDER.findall(row))
        if not row.endswith("|") or (found != borders if borders else not _BELOW_A_HEAD.match(following)):
            yield number, line
        borders = borders or found


if __name__ == "__main__":
    sys.exit(main())
