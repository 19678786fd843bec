# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a question a member's, and an answer to it its own? Runs on Python 3.6 and later."""

import hashlib
import hmac
from typing import Dict, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.signature import (
    is_answer_signed,
    new_nonce,
    nonce_of_question,
    parse_secrets,
    secret_of_question,
    sign_answer,
    sign_question,
)

OLD, NEW, OTHERS = (bytes([letter]) * 32 for letter in b"onx")
NONCE = "0123456789abcdef" * 2
BODY = b'{"vm_name": "web_1", "events": [{"event_id": "E-1", "ready": true}]}'


def received(headers: Dict[str, str]) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def answered(signature: str) -> Dict[str, str]:
    return {"foghorn-signature": signature}


# --- the format: what others have to do to speak with an agent


def test_given_the_documented_format_when_a_question_is_signed_then_it_is_that() -> None:
    expected = hmac.new(NEW, b"foghorn question 1\n" + NONCE.encode() + b"\nweb_1", hashlib.sha256).hexdigest()
    assert sign_question((NEW,), NONCE, "WEB_1") == {"Foghorn-Nonce": NONCE, "Foghorn-Signature": expected}


def test_given_the_documented_format_when_an_answer_is_signed_then_it_is_that() -> None:
    expected = hmac.new(NEW, b"foghorn answer 1\n" + NONCE.encode() + b"\n" + BODY, hashlib.sha256).hexdigest()
    assert sign_answer(NEW, NONCE, BODY) == expected


# --- questions


@pytest.mark.parametrize("name", ["web_1", "WEB_1", "w\u00e9b", "\udc80"])
def test_given_a_members_question_when_it_arrives_then_it_is_known(name: str) -> None:
    assert secret_of_question((NEW,), received(sign_question((NEW,), NONCE, name)), name.upper()) == NEW


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"foghorn-nonce": NONCE},
        {"foghorn-signature": sign_question((NEW,), NONCE, "web_1")["Foghorn-Signature"]},
        received(sign_question((OTHERS,), NONCE, "web_1")),
        # For another machine, as when what one of them was asked is sent on to the next.
        received(sign_question((NEW,), NONCE, "web_10")),
        dict(received(sign_question((NEW,), NONCE, "web_1")), **{"foghorn-nonce": "f" * 32}),
        dict(received(sign_question((NEW,), NONCE, "web_1")), **{"foghorn-signature": "\u00e9" * 64}),
        dict(received(sign_question((NEW,), NONCE, "web_1")), **{"foghorn-signature": ","}),
        # An answer is no question, although the same secret has signed it.
        {"foghorn-nonce": NONCE, "foghorn-signature": sign_answer(NEW, NONCE, b"web_1")},
        # What can be foreseen, and what is no nonce at all.
        received(sign_question((NEW,), "0" * 31, "web_1")),
        received(sign_question((NEW,), "0" * 65, "web_1")),
        received(sign_question((NEW,), "x" * 32, "web_1")),
        received(sign_question((NEW,), NONCE + "\n", "web_1")),
    ],
)
def test_given_any_other_signature_when_it_arrives_then_it_is_not_a_members(headers: Dict[str, str]) -> None:
    assert secret_of_question((NEW,), headers, "web_1") is None


def test_given_many_signatures_when_the_right_one_comes_late_then_it_does_not_count() -> None:
    right = sign_question((NEW,), NONCE, "web_1")["Foghorn-Signature"]
    headers = {"foghorn-nonce": NONCE, "foghorn-signature": ",".join(["0" * 64] * 100 + [right])}
    assert secret_of_question((NEW,), headers, "web_1") is None


@pytest.mark.parametrize(
    ("asking", "asked", "agreed"),
    [
        ((NEW, OLD), (OLD,), OLD),
        ((OLD,), (NEW, OLD), OLD),
        ((NEW, OLD), (NEW, OLD), NEW),
        ((NEW,), (NEW, OLD), NEW),
        ((NEW, OLD), (NEW,), NEW),
    ],
)
def test_given_an_exchange_of_secrets_when_one_is_held_by_both_then_they_understand_each_other(
    asking: Tuple[bytes, ...], asked: Tuple[bytes, ...], agreed: bytes
) -> None:
    question = received(sign_question(asking, NONCE, "web_1"))
    assert secret_of_question(asked, question, "web_1") == agreed
    assert is_answer_signed(asking, NONCE, answered(sign_answer(agreed, NONCE, BODY)), BODY)


def test_given_nonces_when_they_are_made_then_no_two_are_the_same_and_each_can_be_used() -> None:
    nonces = {new_nonce() for _unused in range(1000)}
    assert len(nonces) == 1000
    assert all(nonce_of_question({"foghorn-nonce": nonce}) == nonce for nonce in nonces)


# --- answers


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, BODY),
        (answered(""), BODY),
        (answered(sign_answer(OTHERS, NONCE, BODY)), BODY),
        # The answer to an earlier question.
        (answered(sign_answer(NEW, "f" * 32, BODY)), BODY),
        (answered(sign_answer(NEW, NONCE, BODY)), BODY.replace(b"E-1", b"E-2")),
        (answered(sign_answer(NEW, NONCE, BODY)), BODY[:-1]),
        (answered(sign_answer(NEW, NONCE, BODY)), BODY + b"\n"),
        (answered(sign_answer(NEW, NONCE, BODY)[:-1]), BODY),
        (answered(sign_answer(NEW, NONCE, BODY) + "0"), BODY),
        # The question, sent back.
        (answered(sign_question((NEW,), NONCE, "web_1")["Foghorn-Signature"]), b"web_1"),
    ],
)
def test_given_an_answer_that_is_not_to_this_question_when_it_is_read_then_it_is_not_signed(
    headers: Dict[str, str], body: bytes
) -> None:
    assert not is_answer_signed((NEW,), NONCE, headers, body)


# --- secrets


@pytest.mark.parametrize(
    ("content", "secrets"),
    [
        (NEW, (NEW,)),
        (NEW + b"\n", (NEW,)),
        (b"\r\n" + NEW + b" \r\n\n" + OLD + b"\n", (NEW, OLD)),
        (b"!" * 256, (b"!" * 256,)),
    ],
)
def test_given_lines_of_secrets_when_they_are_read_then_the_first_is_the_one_in_use(
    content: bytes, secrets: Tuple[bytes, ...]
) -> None:
    assert parse_secrets(content) == secrets


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "holds no secret"),
        (b" \n\t\n", "holds no secret"),
        (b"s" * 31, "line 1 is no secret: give 32 to 256 characters"),
        (b"s" * 257, "line 1 is no secret"),
        (NEW + b"\n" + b"sesame sesame sesame sesame sesame", "line 2 is no secret"),
        (b"s\xc3\xa9same" * 10, "line 1 is no secret"),
        (NEW + b"\0", "line 1 is no secret"),
        (b"\n".join([NEW, OLD, OTHERS]), "holds 3 lines"),
    ],
)
def test_given_input_that_is_no_secret_when_it_is_read_then_the_error_says_so_without_it(
    content: bytes, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint) as raised:
        parse_secrets(content)
    assert "same" not in str(raised.value)
    assert "nnn" not in str(raised.value)
