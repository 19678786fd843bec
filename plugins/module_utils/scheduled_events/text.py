# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Makes text from elsewhere safe to print and to pass on.

What Azure sends is written by others, and ends up in terminals, logs, metrics and results that programs read. What
could mislead a reader is replaced here, at the door, by U+FFFD, one for each character, before anything is compared:

* everywhere, control characters but tab and line ends, halves of characters (which no encoding can write), and what
  turns the direction of writing around;
* in words, which are ids, names of VMs, types and the like, also tabs, line ends and all that is not seen.

A word that was changed means nothing that it did not mean before: no id and no VM of Azure has U+FFFD in it, so it
matches none. All that is left is data: a template or a command stays as it is, and whoever uses it must not run it.
"""

import re
from typing import Any, Dict, Mapping

# Terminals act on the C0 and the C1 characters. Python holds a lone surrogate, and fails when it is to be written.
_HARMFUL = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069"
# And what would make two words look alike, or one word two lines.
_HARMFUL_IN_WORDS = _HARMFUL + "\t\n\r\xad\u061c\u180e\u200b-\u200f\u2028\u2029\u2060-\u206f\ufeff\ufff9-\ufffb"
_IN_PROSE = re.compile("[%s]" % _HARMFUL)
_IN_WORDS = re.compile("[%s\U000e0000-\U000e007f]" % _HARMFUL_IN_WORDS)


def sanitize_prose(text: str) -> str:
    """Text that is meant for people, and may have several lines."""
    return _replace(_IN_PROSE, text)


def sanitize_word(text: str) -> str:
    """An id, a name, a type: text that is compared, and stands in lines with others."""
    return _replace(_IN_WORDS, text)


def sanitize_line(text: str, longest: int) -> str:
    """Text to be quoted in a message: one line of at most `longest` characters."""
    # Cut twice: what is cleaned need not be long, and what is left may be shorter.
    line = sanitize_word(" ".join(text[: 4 * longest].split()))
    return line if len(line) <= longest else line[:longest] + "…"


def plain(value: Any) -> str:
    """Any value shown on one line: an escape like `\\x1b` stands for each character that does not simply show itself.

    For what reaches a terminal or a log by another way than through the door: old journals, other programs, errors.
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def as_plain(value: Any) -> Any:
    """Data for a report: all text in it, names too, as `plain` shows it."""
    if isinstance(value, (str, bytes)):
        return plain(value)
    if isinstance(value, Mapping):
        return {plain(name): as_plain(one) for name, one in value.items()}
    return [as_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def sanitize_fields(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """An object of JSON with all text in it, names too. It must not be nested deeply."""
    return {sanitize_name(name): _sanitize_value(value) for name, value in fields.items()}


def sanitize_name(name: str) -> str:
    """The name of a field that we do not know.

    One that begins with two underscores is marked with U+FFFD: in what Ansible reads, `__ansible_type` and the like
    are no names but orders.
    """
    word = sanitize_word(name)
    return "\ufffd" + word[1:] if word.startswith("__") else word


def _sanitize_value(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_prose(value)
    if isinstance(value, dict):
        return sanitize_fields(value)
    if isinstance(value, list):
        return [_sanitize_value(child) for child in value]
    return value


def _replace(what: "re.Pattern[str]", text: str) -> str:
    # Untouched text stays the object that it is: Ansible marks its own as unsafe, and a copy would lose the mark.
    return what.sub("\ufffd", text) if what.search(text) else text
