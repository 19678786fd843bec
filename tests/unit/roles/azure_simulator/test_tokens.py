# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Managed identity."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from azure_simulator.config import parse
from azure_simulator.testing import Simulator
from azure_simulator.tokens import claims_of, grant

from .conftest import ask

PATH = "/metadata/identity/oauth2/token?api-version=2018-02-01"
ARM = "https%3A%2F%2Fmanagement.azure.com%2F"


def test_given_a_resource_when_a_token_is_asked_for_then_it_has_the_real_shape(
    simulate: Callable[..., Simulator],
) -> None:
    azure = simulate(seed=3)
    token = ask(azure.imds["web_0"], f"{PATH}&resource={ARM}").json
    assert set(token) == {
        "access_token",
        "client_id",
        "expires_in",
        "expires_on",
        "ext_expires_in",
        "not_before",
        "resource",
        "token_type",
    }
    assert all(isinstance(value, str) for value in token.values())
    assert (token["resource"], token["token_type"]) == ("https://management.azure.com/", "Bearer")
    assert abs(int(token["expires_on"]) - time.time() - int(token["expires_in"])) < 60
    claims = claims_of(token["access_token"], seed=3)
    assert claims is not None
    assert (claims["aud"], claims["appid"]) == ("https://management.azure.com/", token["client_id"])


@pytest.mark.parametrize(
    ("query", "description"),
    [
        ("", "Required query variable 'resource' is missing"),
        ("&resource=", "Required query variable 'resource' is missing"),
        (f"&resource={ARM}&client_id=e0f0c4d5-0000-4000-8000-000000000000", "Identity not found"),
        (f"&resource={ARM}&msi_res_id=/x", "Identity not found"),
    ],
)
def test_given_a_request_that_cannot_be_granted_when_asked_then_the_error_says_why(
    simulate: Callable[..., Simulator], query: str, description: str
) -> None:
    answer = ask(simulate().imds["web_0"], PATH + query)
    assert answer.status == 400
    assert answer.json == {"error": "invalid_request", "error_description": description}


def test_given_the_vms_own_identity_when_named_then_it_is_granted(simulate: Callable[..., Simulator]) -> None:
    url = simulate().imds["web_0"]
    client_id = ask(url, f"{PATH}&resource={ARM}").json["client_id"]
    assert ask(url, f"{PATH}&resource={ARM}&client_id={client_id}").status == 200


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.!.c", "a.e30.c"])
def test_given_a_token_that_was_not_made_here_when_checked_then_it_is_refused(token: str) -> None:
    assert claims_of(token, seed=0) is None


def test_given_a_token_of_another_simulator_when_checked_then_it_is_refused() -> None:
    vm = parse({"vms": [{"name": "a", "address": "127.0.0.1"}]}).vms["a"]
    token = grant(vm, "x", seed=1, now=0)["access_token"]
    assert claims_of(token, seed=1) is not None
    assert claims_of(token, seed=2) is None
