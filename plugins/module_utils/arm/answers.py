# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads answers of ARM: JSON, errors with their codes, and the two errors with a remedy, busy and unknown version.

Values and pure functions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_DEEPEST_ANSWER = 100  # levels
_STABLE_VERSION = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b(?!-)")
_LONGEST_QUOTE = 600  # characters
LONGEST_MESSAGE = 4000  # characters
# Another operation holds the resource: it will be over by itself.
_BUSY_CODES = frozenset(
    [
        "anotheroperationinprogress",
        "retryableerror",
        "retryableerrorduetoanotheroperation",
        "conflictingconcurrentwritenotallowed",
    ]
)
# These codes also stand for permanent causes: here the message decides.
_PERHAPS_BUSY_CODES = frozenset(["conflict", "operationnotallowed", "referencedresourcenotprovisioned"])
# A later operation took the place of this one: what is there now has to be read.
_SUPERSEDED_CODES = frozenset(["canceledandsupersededduetoanotheroperation", "operationpreempted"])
_BUSY_MESSAGE = re.compile(
    r"concurrent request|another operation|operation[^.]* in progress|operation[^.]* (?:currently|still) running"
    r"|resource is in (?:updating|deleting) state",
    re.IGNORECASE,
)

Json = dict[str, Any]


class Answer(NamedTuple):
    """One answer, or the result of a long-running operation."""

    status: int
    headers: Mapping[str, str]
    """Header names in lower case."""
    content: Any


def encode(body: Json) -> bytes:
    """Write a request's body: the keys in their order, nothing between them."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def is_updating(resource: Json) -> bool:
    """Whether an operation is at work on a resource."""
    return _state_of(resource) == "updating"


def has_failed(resource: Json) -> bool:
    """Whether the last operation on a resource failed: it may not be in effect. One of Network is to be written again.

    Source: https://learn.microsoft.com/azure/networking/troubleshoot-failed-state
    """
    return _state_of(resource) == "failed"


def _state_of(resource: Json) -> str:
    return str((resource.get("properties") or {}).get("provisioningState")).lower()


def answer_of(response: Any) -> Answer:
    body = response.read() if hasattr(response, "read") else response.body()
    try:
        content = json.loads(body) if body.strip() else None
    except ValueError:
        content = body.decode("utf-8", "replace")
    if _is_deeper_than(_DEEPEST_ANSWER, content):
        raise RecursionError
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, content)


def _is_deeper_than(levels: int, content: Any) -> bool:
    layer = [content]
    for _level in range(levels):
        layer = [
            child
            for value in layer
            if isinstance(value, (dict, list))
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    return any(isinstance(value, (dict, list)) for value in layer)


def error_of(content: Any) -> tuple[str | None, str]:
    """Code and message of an error, with or without the envelope, with what it is about, and those of its details."""
    if not isinstance(content, dict):
        return None, shorten(content) if content else ""
    error = content.get("error")
    error = error if isinstance(error, dict) else content
    code = error.get("code")
    messages = [_message_of(error)] if error.get("message") else []
    for detail in _details_of(error):
        if detail.get("message") and detail["message"] != error.get("message"):
            messages.append(": ".join(str(part) for part in (detail.get("code"), _message_of(detail)) if part))
    return (str(code) if code else None), shorten("; ".join(messages), LONGEST_MESSAGE)


def _message_of(error: Mapping[str, Any]) -> str:
    message, target = str(error["message"]), error.get("target")
    is_told = not isinstance(target, str) or target.lower() in message.lower()
    return message if is_told else "%s (%s)" % (message, target)


def _details_of(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def versions_in(content: Any) -> tuple[str, ...]:
    """The stable api-versions that an error lists."""
    error = content.get("error") if isinstance(content, dict) else None
    message = str(error.get("message")) if isinstance(error, dict) else ""
    return tuple(_STABLE_VERSION.findall(message.partition("supported")[2]))


def is_busy(message: str, content: Any) -> bool:
    codes = _codes_in(content)
    return bool(codes & _BUSY_CODES or (codes & _PERHAPS_BUSY_CODES and _BUSY_MESSAGE.search(message)))


def is_superseded(content: Any) -> bool:
    return bool(_codes_in(content) & _SUPERSEDED_CODES)


def _codes_in(content: Any) -> set[str]:
    """The codes of an error and of its details, in lower case."""
    if not isinstance(content, dict):
        return set()
    error = content.get("error")
    error = error if isinstance(error, dict) else content
    return {str(one.get("code")).lower() for one in (error, *_details_of(error))}


def shorten(value: Any, longest: int = _LONGEST_QUOTE) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    if len(text) <= longest:
        return text
    # The subject of a refusal is at its end: the linked scope that a right is missing on.
    return "%s … %s" % (text[: longest // 2], text[-longest // 2 :])
