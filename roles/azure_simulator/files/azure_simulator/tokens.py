# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Managed identity: tokens that look like Azure's and that only this simulator accepts."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any

from .machines import VmConfig

LIFETIME = 86400
"""Seconds a token is valid."""


def grant(vm: VmConfig, resource: str, seed: int, now: float) -> dict[str, str]:
    """The answer of the token endpoint: every value a text. ``now`` is real wall-clock time."""
    issued = int(now)
    claims = {
        "aud": resource,
        "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
        "iat": issued,
        "nbf": issued,
        "exp": issued + LIFETIME,
        "appid": vm.client_id,
        "oid": vm.vm_id,
        "tid": "00000000-0000-0000-0000-000000000000",
        "xms_mirid": vm.resource_id,
    }
    return {
        "access_token": _sign(claims, seed),
        "client_id": vm.client_id,
        "expires_in": str(LIFETIME),
        "expires_on": str(issued + LIFETIME),
        "ext_expires_in": str(LIFETIME),
        "not_before": str(issued),
        "resource": resource,
        "token_type": "Bearer",
    }


def sign(claims: dict[str, Any], seed: int) -> str:
    """A token that says this, and that :func:`claims_of` accepts."""
    return _sign(claims, seed)


def claims_of(token: str, seed: int) -> dict[str, Any] | None:
    """What a token says; None when this simulator did not make it. Whether it has expired is not checked."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(_decode(parts[1]))
    except ValueError:
        return None
    if not isinstance(claims, dict) or not hmac.compare_digest(_sign(claims, seed), token):
        return None
    return claims


def _sign(claims: dict[str, Any], seed: int) -> str:
    head = _encode(json.dumps({"typ": "JWT", "alg": "HS256"}).encode())
    body = _encode(json.dumps(claims).encode())
    seal = hmac.new(f"azure_simulator {seed}".encode(), f"{head}.{body}".encode(), hashlib.sha256).digest()
    return f"{head}.{body}.{_encode(seal)}"


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
