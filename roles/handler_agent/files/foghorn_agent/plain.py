# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes somebody else's text fit to be shown.

Whoever can announce an event chooses its texts, and a terminal does what some characters say: it moves the cursor,
writes the clipboard, sets the title, turns the direction of reading. A line break would forge a line of its own.
"""

from typing import Any


def plain(value: Any) -> str:
    """The text on one line, with an escape like `\\x1b` in place of each character that does not simply show itself."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )
