# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Signs questions to an agent, and checks that the answer is its own.

Both sides hold a secret that nobody else has. A question names whom it is for and carries a nonce, which is never used
twice; the answer is signed together with the nonce of its question, so that an old one, one to somebody else, or one
that was changed on its way is recognised without any clock:

    GET /status HTTP/1.1
    Foghorn-Nonce: 32 to 64 hexadecimal digits
    Foghorn-Signature: HMAC-SHA256(secret, "foghorn question 1\\n" + nonce + "\\n" + the VM's name in lower case)

    HTTP/1.1 200 OK
    Foghorn-Signature: HMAC-SHA256(secret, "foghorn answer 1\\n" + nonce + "\\n" + the body, byte by byte)

A signature is written in hexadecimal digits. While secrets are exchanged both sides may hold two: a question is signed
with each, the signatures separated by a comma, and the answer with the one that the other side holds as well.

Pure, but for the randomness of a nonce. The hash functions are imported when they are needed: an agent that nobody
asks has no room for them.
"""

import os
import re
from typing import Dict, Mapping, Optional, Sequence, Tuple

NONCE_HEADER = "Foghorn-Nonce"
SIGNATURE_HEADER = "Foghorn-Signature"

SHORTEST_SECRET = 32  # characters
LONGEST_SECRET = 256
MOST_SECRETS = 2
"""The present secret, and the one before."""
LARGEST_SECRETS = 1024
"""Bytes of a file of secrets."""

_NONCE_SIZE = 16  # bytes
_NONCE = re.compile(r"[0-9a-fA-F]{32,64}\Z")
_SECRET = re.compile(rb"[!-~]{%d,%d}\Z" % (SHORTEST_SECRET, LONGEST_SECRET))
_QUESTION = b"foghorn question 1"
_ANSWER = b"foghorn answer 1"


def parse_secrets(content: bytes) -> Tuple[bytes, ...]:
    """Read secrets from what a file holds: one on a line, the one in use first, then the one before it, if any.

    :raises ValueError: if that is not what it holds. The message has no secret in it
    """
    secrets = tuple(line.strip() for line in content.splitlines() if line.strip())
    if not secrets:
        raise ValueError("holds no secret: give a line of %d or more random characters" % SHORTEST_SECRET)
    if len(secrets) > MOST_SECRETS:
        raise ValueError("holds %d lines: give the secret in use and, at most, the one before it" % len(secrets))
    for number, secret in enumerate(secrets, 1):
        if not _SECRET.match(secret):
            raise ValueError(
                "line %d is no secret: give %d to %d characters of ASCII, without spaces"
                % (number, SHORTEST_SECRET, LONGEST_SECRET)
            )
    return secrets


def new_nonce() -> str:
    """An unpredictable number for one question."""
    return os.urandom(_NONCE_SIZE).hex()


def sign_question(secrets: Sequence[bytes], nonce: str, vm_name: str) -> Dict[str, str]:
    """The headers of a question to the agent of a VM.

    :param secrets: as `parse_secrets` gives them
    :param nonce: a new one
    :param vm_name: of the VM in Azure
    """
    signatures = [_sign(secret, _QUESTION, nonce, _as_signed(vm_name)) for secret in secrets]
    return {NONCE_HEADER: nonce, SIGNATURE_HEADER: ",".join(signatures)}


def secret_of_question(secrets: Sequence[bytes], headers: Mapping[str, str], vm_name: str) -> Optional[bytes]:
    """The secret with which a question was signed, and its answer is to be; None if it is of nobody we know.

    :param headers: of the question, with names in lower case
    :param vm_name: of this VM, for which the question has to be
    """
    nonce = nonce_of_question(headers)
    if nonce is None:
        return None
    given = headers.get(SIGNATURE_HEADER.lower(), "").split(",", MOST_SECRETS)[:MOST_SECRETS]
    found = None
    for secret in secrets:
        expected = _sign(secret, _QUESTION, nonce, _as_signed(vm_name))
        for signature in given:
            # Compared in constant time: the duration must not show how much was right.
            if _is_same(expected, signature) and found is None:
                found = secret
    return found


def nonce_of_question(headers: Mapping[str, str]) -> Optional[str]:
    """The nonce of a question; None if it has none that can be used.

    :param headers: of the question, with names in lower case
    """
    nonce = headers.get(NONCE_HEADER.lower(), "")
    return nonce if _NONCE.match(nonce) else None


def sign_answer(secret: bytes, nonce: str, body: bytes) -> str:
    """The signature of an answer.

    :param secret: that the question was signed with
    :param nonce: of the question
    """
    return _sign(secret, _ANSWER, nonce, body)


def is_answer_signed(secrets: Sequence[bytes], nonce: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether an answer is to this question, as it was sent, and of somebody who holds one of the secrets.

    :param nonce: of the question
    :param headers: of the answer, with names in lower case
    """
    given = headers.get(SIGNATURE_HEADER.lower(), "")
    matches = [_is_same(_sign(secret, _ANSWER, nonce, body), given) for secret in secrets]
    return any(matches)


def _as_signed(vm_name: str) -> bytes:
    return vm_name.lower().encode("utf-8", "backslashreplace")


def _sign(secret: bytes, kind: bytes, nonce: str, content: bytes) -> str:
    import hmac

    return hmac.new(secret, b"\n".join((kind, nonce.encode("ascii"), content)), "sha256").hexdigest()


def _is_same(expected: str, given: str) -> bool:
    import hmac

    return hmac.compare_digest(expected.encode("ascii"), given.strip().lower().encode("utf-8", "backslashreplace"))
