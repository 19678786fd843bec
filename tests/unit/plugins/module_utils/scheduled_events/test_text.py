# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of somebody else's text are handed on?"""

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import as_plain, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Reboot of web_0 – soon", "Reboot of web_0 – soon"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("\u202eevil\u2028", "\\u202eevil\\u2028"),
        ("\ud800", "\\ud800"),
    ],
)
def test_given_any_text_when_shown_then_it_is_one_line_that_a_terminal_only_shows(text: str, shown: str) -> None:
    assert plain(text) == shown
    assert plain(text).isprintable()


def test_given_data_when_shown_then_all_text_in_it_is_what_a_terminal_only_shows() -> None:
    data = {"na\x1bme": ["a\x1b", b"\x1b", ("\u202e", 1, None, True, 1.5)], "empty": {}}
    assert as_plain(data) == {"na\\x1bme": ["a\\x1b", "b'\\x1b'", ["\\u202e", 1, None, True, 1.5]], "empty": {}}
