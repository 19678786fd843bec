# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are secrets hidden, however a text spells them?"""

import base64
import html
import json
import time
from typing import Callable
from urllib.parse import quote, quote_plus

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.masking import MASK, mask

SECRET = "S3cr/t \"é'~<&>%41+\\x"


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


SPELLINGS = {
    "as it is": lambda text: text,
    "in a URL": lambda text: quote(text),
    "in a URL, slashes too": lambda text: quote(text, safe=""),
    "in a URL, in lower case": lambda text: "".join("%%%02x" % byte for byte in text.encode()),
    "in a form": quote_plus,
    "in JSON": in_json,
    "in JSON, with its letters": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "in JSON of PHP": lambda text: in_json(text).replace("/", "\\/"),
    "in JSON, all escaped": lambda text: "".join("\\u%04X" % ord(one) for one in text),
    "in JSON in JSON": lambda text: in_json(in_json(text)),
    "in JSON in a URL": lambda text: quote(in_json(text)),
    "in a URL twice": lambda text: quote(quote(text, safe=""), safe=""),
    "in HTML": html.escape,
    "in HTML, as numbers": lambda text: "".join("&#%d;" % ord(one) for one in text),
    "in HTML, as hexadecimal numbers": lambda text: "".join("&#x%x;" % ord(one) for one in text),
    "as Python shows it": lambda text: repr(text)[1:-1],
    "as Python shows bytes": lambda text: repr(text.encode())[2:-1],
    "in base 64": lambda text: base64.b64encode(text.encode()).decode(),
    "in base 64, after a byte": lambda text: base64.b64encode(b"a" + text.encode() + b"b").decode(),
    "in base 64, after two bytes": lambda text: base64.urlsafe_b64encode(b"ab" + text.encode() + b"cd").decode(),
    "in base 64, in lines": lambda text: base64.encodebytes(text.encode() * 9).decode().strip(),
    "in base 64, in lines in JSON": lambda text: in_json(base64.encodebytes(text.encode() * 9).decode()),
    "in hexadecimal digits": lambda text: text.encode().hex(),
    "in base 64 in a URL": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
}  # type: dict[str, Callable[[str], str]]


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
def test_given_a_secret_in_any_spelling_when_masked_then_nothing_of_it_is_left(spelled: Callable[[str], str]) -> None:
    text = spelled(SECRET)
    masked = mask("before %s after" % text, [SECRET])
    assert masked.startswith("before ")
    assert masked.endswith(" after")
    left = masked[len("before ") : -len(" after")]
    # Of base 64, characters remain that hold bits of what is beside it.
    assert left.replace(MASK, "").strip("=") == "" or (MASK in left and len(left) <= len(MASK) + 10)


@pytest.mark.parametrize(
    "echoed",
    [
        "Bearer token-of-the-test",
        "token-of-the-test",
        "bearer%20token-of-the-test",
        '{"authorization": "Bearer token-of-the-test"}',
    ],
)
def test_given_a_header_with_a_token_when_the_token_is_echoed_then_it_is_hidden(echoed: str) -> None:
    assert "token-of" not in mask(echoed, ["Bearer token-of-the-test"])


def test_given_basic_credentials_when_they_are_echoed_decoded_then_user_and_password_are_hidden() -> None:
    header = "Basic " + base64.b64encode(b"operator:hunter2").decode()
    masked = mask("no user operator with hunter2, nor operator:hunter2, nor %s" % header, [header])
    assert masked == "no user * with *, nor *, nor *".replace("*", MASK)


def test_given_a_secret_that_a_url_escapes_when_it_is_echoed_unescaped_then_it_is_hidden() -> None:
    assert mask("sig a/b+c= is wrong", ["a%2Fb%2Bc%3D"]) == "sig %s is wrong" % MASK


def test_given_a_secret_that_ends_in_a_backslash_when_it_is_in_json_then_it_is_hidden() -> None:
    assert mask(json.dumps({"a": "secret\\"}), ["secret\\"]) == '{"a": "%s"}' % MASK


def test_given_secrets_that_overlap_when_masked_then_no_part_of_either_is_left() -> None:
    assert mask("xabcdefx", ["abcd", "cdef", ""]) == "x%sx" % MASK


@pytest.mark.parametrize("piece", [" ", "\n", "\\", "%", "%25", "\\\\", "&#", "\\u00", "secre"])
def test_given_a_large_hostile_text_when_masked_then_it_takes_no_time_worth_mentioning(piece: str) -> None:
    begun = time.process_time()
    assert mask(piece * 20_000 + "secret", ["secret"]).endswith(MASK)
    # A hundred times what it takes: what grows with the square of the text takes longer still.
    assert time.process_time() - begun < 5


def test_given_a_text_without_the_secret_when_masked_then_it_is_as_it_was() -> None:
    text = 'a %zz "b\\u00e9" &amp; \\\\ %41'
    assert mask(text, ["secret", "Bearer other"]) == text


def test_given_escapes_that_never_end_when_masked_then_the_work_does() -> None:
    nested = SECRET
    for _level in range(12):
        nested = quote(nested, safe="") + "%2525252525"
    assert mask("%s and %s" % (SECRET, nested), [SECRET]).startswith("%s and " % MASK)
