# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Hides secrets in a text, however the text spells them.

Receivers and services quote a request in their errors: a token without its `Bearer`, a password that they have decoded,
a URL or JSON with its escapes, all of it in base 64.
"""

import base64
import re
from bisect import bisect_right
from typing import Callable, Iterable, List, NamedTuple, Set, Tuple

MASK = "********"

_ESCAPE = re.compile(
    r"%(?P<percent>[0-9A-Fa-f]{2})|\\(?:u(?P<u>[0-9A-Fa-f]{4})|x(?P<x>[0-9A-Fa-f]{2})|(?P<itself>[\"'/\\])|[nr])"
    r"|&(?:#(?P<number>[0-9]{1,5})|#[xX](?P<hex>[0-9A-Fa-f]{1,5})|(?P<name>amp|lt|gt|quot|apos));|[\r\n]\s*"
)
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
# JSON in JSON in a URL.
_DEEPEST = 3
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9-]* +(?=\S)")
# Characters. A shorter user name or password, or a shorter piece in base 64, would be found in ordinary words.
_SHORTEST_PART = 3
_SHORTEST_BASE64 = 8


def mask(text: str, secrets: Iterable[str]) -> str:
    """Replace secrets in a text by `MASK`.

    Found are: each secret as it is; without the scheme before it, as in `Bearer`; the user and the password in one that
    is `Basic`; and each of these as a URL, JSON, HTML or Python escapes it, in hexadecimal digits, or in base 64, also
    as a part of something longer, and over several lines.

    :param secrets: empty ones are left out
    """
    needles = sorted(_needles(secrets), key=len, reverse=True)
    spans: List[Tuple[int, int]] = []
    view = _View(text, [])
    for _level in range(_DEEPEST + 1):
        for needle in needles:
            at = view.text.find(needle)
            while at >= 0:
                spans.append((view.original(at), view.original(at + len(needle))))
                at = view.text.find(needle, at + 1)
        deeper = view.unescaped()
        if deeper.text == view.text:
            break
        view = deeper
    return _without(text, sorted(spans))


class _View(NamedTuple):
    """A text whose escapes were replaced."""

    text: str
    steps: List[Callable[[int], int]]
    """How a place in it leads to the place in the original, the last step first."""

    def original(self, place: int) -> int:
        """The place in the original text at which the character at this place begins."""
        for step in self.steps:
            place = step(place)
        return place

    def unescaped(self) -> "_View":
        """The same with one more level of escapes replaced."""
        pieces: List[str] = []
        ours, theirs = [0], [0]
        end = length = 0
        for match in _ESCAPE.finditer(self.text):
            character = _character(match)
            pieces += [self.text[end : match.start()], character]
            length += match.start() - end
            # The character of the escape begins where the escape does, and what comes after it where it ends.
            ours += [length, length + len(character)]
            theirs += [match.start(), match.end()]
            end = match.end()
            length += len(character)
        pieces.append(self.text[end:])

        def step(place: int) -> int:
            nearest = bisect_right(ours, place) - 1
            return theirs[nearest] + place - ours[nearest]

        return _View("".join(pieces), [step, *self.steps])


def _character(match: "re.Match[str]") -> str:
    found = match.groupdict()
    if found["itself"]:
        return found["itself"]
    if found["name"]:
        return _ENTITIES[found["name"]]
    if found["number"]:
        return chr(int(found["number"]))
    digits = found["percent"] or found["u"] or found["x"] or found["hex"]
    # Else the end of a line, which programs put into long texts.
    return chr(int(digits, 16)) if digits else ""


def _needles(secrets: Iterable[str]) -> Set[str]:
    parts: Set[str] = set()
    for secret in secrets:
        bare = _SCHEME.sub("", secret, count=1)
        parts |= {secret, bare}
        parts |= {one for one in _user_and_password(bare) if len(one) >= _SHORTEST_PART}
    needles: Set[str] = set()
    for part in parts:
        view = _View(part, [])
        for _level in range(_DEEPEST):
            content = view.text.encode("utf-8", "surrogatepass")
            # In a URL, an escape stands for one byte, and a plus for a space.
            spelled = [view.text, content.decode("latin-1")]
            needles |= {*spelled, *(one.replace(" ", "+") for one in spelled), *_in_base64(content)}
            needles |= {content.hex(), content.hex().upper()}
            view = view.unescaped()
    return needles - {""}


def _user_and_password(credentials: str) -> List[str]:
    try:
        decoded = base64.b64decode(credentials + "=" * (-len(credentials) % 4), validate=True).decode("utf-8")
    except ValueError:
        return []
    user, colon, password = decoded.partition(":")
    return [decoded, user, password] if colon else []


def _in_base64(content: bytes) -> List[str]:
    """How the content looks in base 64 of something longer, where it may begin in three ways."""
    found = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + content).decode("ascii")
        # Without the characters that hold bits of what is before or after.
        whole = encoded[(before * 8 + 5) // 6 : (before + len(content)) * 8 // 6]
        if len(whole) >= _SHORTEST_BASE64:
            found += [whole, whole.replace("+", "-").replace("/", "_")]
    return found


def _without(text: str, spans: Iterable[Tuple[int, int]]) -> str:
    """The text with a mask in place of each stretch that one or several spans cover."""
    pieces: List[str] = []
    end = 0
    for begin, over in spans:
        if begin >= end:
            pieces += [text[end:begin], MASK]
        end = max(end, over)
    return "".join([*pieces, text[end:]])
