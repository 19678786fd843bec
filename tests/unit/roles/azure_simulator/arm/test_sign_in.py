# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signing in with azure-identity, and what Resource Manager makes of tokens."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from azure.core.exceptions import ClientAuthenticationError
from azure.identity import (
    CertificateCredential,
    ClientAssertionCredential,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)
from azure.mgmt.compute import ComputeManagementClient
from azure_simulator import tokens
from azure_simulator.arm import certificate

from tests.simulated_cloud import CLIENT, SCOPE, TENANT

Start = Callable[..., Any]

FEDERATED = {"issuer": "https://token.example/", "subject": "repo:foghorn"}


def jwt(**claims: Any) -> str:
    def part(content: Any) -> str:
        return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()

    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2lnbmF0dXJl"


def assertion(**more: Any) -> str:
    claims = {
        "iss": FEDERATED["issuer"],
        "sub": FEDERATED["subject"],
        "aud": "api://AzureADTokenExchange",
        "exp": time.time() + 600,
    }
    return jwt(**{**claims, **more})


def at(azure: Any) -> dict[str, Any]:
    return {
        "authority": azure.azure.arm_tls,
        "disable_instance_discovery": True,
        "connection_verify": azure.trust,
    }


def federated(azure: Any, token: str) -> ClientAssertionCredential:
    return ClientAssertionCredential(TENANT, CLIENT, lambda: token, **at(azure))


def test_given_the_secret_when_signing_in_then_the_token_opens_resource_manager(azure: Any) -> None:
    token = azure.credential.get_token(SCOPE)
    assert 3500 < token.expires_on - time.time() < 3700
    assert azure.raw("GET", azure.path("virtualMachines?api-version=2026-04-01"), token=token.token).status == 200


@pytest.mark.parametrize(
    ("secret", "tenant", "code"), [("wrong", TENANT, "AADSTS7000215"), ("x", CLIENT, "Unable to get authority")]
)
def test_given_a_wrong_secret_or_tenant_when_signing_in_then_azure_identity_says_so(
    azure: Any, secret: str, tenant: str, code: str
) -> None:
    with (
        azure.sign_in(secret, tenant) as credential,
        pytest.raises((ClientAuthenticationError, ValueError), match=code),
    ):
        credential.get_token(SCOPE)


@pytest.mark.parametrize("is_registered", [True, False])
def test_given_a_certificate_when_signing_in_then_only_the_one_that_is_registered_counts(
    cloud: Start, throwaway: Any, tmp_path: Path, is_registered: bool
) -> None:
    own = throwaway if is_registered else certificate.make(tmp_path)
    both = tmp_path / "both.pem"
    both.write_bytes(own.certificate.read_bytes() + own.private_key.read_bytes())
    registered = {"client_id": CLIENT, "certificate": str(throwaway.certificate)}
    azure = cloud(arm={"clients": [registered]})
    refusal = pytest.raises(ClientAuthenticationError, match="AADSTS700027")
    with (
        CertificateCredential(TENANT, CLIENT, str(both), **at(azure)) as credential,
        contextlib.nullcontext() if is_registered else refusal,
    ):
        assert credential.get_token(SCOPE).token


def test_given_a_federated_token_when_signing_in_then_issuer_and_subject_count(cloud: Start, tmp_path: Path) -> None:
    azure = cloud(arm={"clients": [{"client_id": CLIENT, "federated": FEDERATED, "secret": "x"}]})
    file = tmp_path / "token"
    file.write_text(assertion())
    with WorkloadIdentityCredential(
        tenant_id=TENANT, client_id=CLIENT, token_file_path=str(file), **at(azure)
    ) as credential:
        assert credential.get_token(SCOPE).token


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"sub": "repo:else"}, "AADSTS700213"),
        ({"iss": "https://other.example/"}, "AADSTS700213"),
        ({"aud": "api://else"}, "AADSTS700212"),
        ({"aud": "api://AzureADTokenExchange2"}, "AADSTS700212"),
        ({"exp": 1}, "AADSTS700024"),
        (None, "AADSTS50027"),
        ("W10.W10.c2lnbmF0dXJl", "AADSTS50027"),
    ],
)
def test_given_a_federated_token_of_somebody_else_or_none_when_signing_in_then_it_is_refused(
    cloud: Start, claims: dict[str, Any] | str | None, code: str
) -> None:
    azure = cloud(arm={"clients": [{"client_id": CLIENT, "federated": FEDERATED, "secret": "x"}]})
    token = assertion(**claims) if isinstance(claims, dict) else claims or "nonsense"
    with federated(azure, token) as credential, pytest.raises(ClientAuthenticationError, match=code):
        credential.get_token(SCOPE)


def test_given_a_managed_identity_when_its_vm_asks_imds_for_a_token_then_resource_manager_accepts_it(
    azure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", azure.azure.imds["db"])
    with (
        ManagedIdentityCredential() as credential,
        ComputeManagementClient(
            credential,
            azure.compute._config.subscription_id,
            base_url=azure.azure.arm_tls,
            credential_scopes=[SCOPE],
            connection_verify=azure.trust,
        ) as compute,
    ):
        assert compute.virtual_machines.get("rg", "db").name == "db"


def claims(**more: Any) -> dict[str, Any]:
    # They are made when the tests are collected, which may be long before one of them runs.
    return {"aud": "https://management.azure.com/", "exp": 4_102_444_800, "oid": "x", **more}


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (None, "AuthenticationFailed"),
        ("nonsense", "InvalidAuthenticationToken"),
        (tokens.sign(claims(), seed=99), "InvalidAuthenticationToken"),
        (tokens.sign(claims(exp=1), seed=0), "ExpiredAuthenticationToken"),
        (tokens.sign(claims(aud="https://vault.azure.net"), seed=0), "InvalidAuthenticationTokenAudience"),
    ],
)
def test_given_no_good_token_when_asking_then_401_says_why_and_how_to_get_one(
    azure: Any, token: str | None, code: str
) -> None:
    answer = azure.raw("GET", azure.path("virtualMachines?api-version=2026-04-01"), token=token)
    assert (answer.status, answer.code) == (401, code)
    assert answer.headers["WWW-Authenticate"].startswith("Bearer authorization_uri=")


@pytest.mark.parametrize(
    "audience",
    [
        "https://management.azure.com",
        "https://management.core.usgovcloudapi.net/",
        "https://management.chinacloudapi.cn/",
    ],
)
def test_given_any_clouds_audience_when_asking_then_the_token_is_accepted(azure: Any, audience: str) -> None:
    token = tokens.sign(claims(aud=audience), seed=0)
    assert azure.raw("GET", azure.path("virtualMachines?api-version=2026-04-01"), token=token).status == 200


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials", "client_id": TENANT}, "unauthorized_client"),
        ({"grant_type": "client_credentials", "client_id": CLIENT}, "invalid_client"),
        ({"grant_type": "client_credentials", "client_id": CLIENT, "client_assertion": "x"}, "invalid_request"),
        (
            {
                "grant_type": "client_credentials",
                "client_id": CLIENT,
                "client_secret": "correct horse battery staple",
                "scope": "openid",
            },
            "invalid_scope",
        ),
    ],
)
def test_given_a_wrong_request_for_a_token_when_sent_then_the_error_is_oauths(
    azure: Any, form: dict[str, str], error: str
) -> None:
    answer = azure.raw("POST", f"/{TENANT}/oauth2/v2.0/token", urlencode(form), token=None)
    assert answer.status in (400, 401)
    assert answer.json["error"] == error
    assert answer.json["error_description"].startswith(f"AADSTS{answer.json['error_codes'][0]}: ")


def test_given_an_unknown_tenant_when_a_token_is_asked_for_then_the_error_is_oauths(azure: Any) -> None:
    answer = azure.raw(
        "POST", f"/{CLIENT}/oauth2/v2.0/token", urlencode({"grant_type": "client_credentials"}), token=None
    )
    assert (answer.status, answer.json["error"], answer.json["error_codes"]) == (400, "invalid_request", [90002])


def test_given_instance_discovery_when_asked_then_the_tenants_own_discovery_is_named(azure: Any) -> None:
    found = azure.raw("GET", "/common/discovery/instance?api-version=1.1", token=None).json
    assert found["tenant_discovery_endpoint"].endswith(f"/{TENANT}/v2.0/.well-known/openid-configuration")


def test_given_no_sign_in_when_asked_for_its_addresses_then_it_returns_them(azure: Any) -> None:
    told = azure.raw("GET", "/metadata/endpoints?api-version=2015-01-01", token=None)
    assert told.status == 200
    assert told.json["authentication"]["loginEndpoint"] == azure.azure.arm + "/"
    assert told.json["authentication"]["audiences"][0] == "https://management.core.windows.net/"


@pytest.mark.parametrize("query", ["", "?api-version=2099-01-01"])
def test_given_another_version_when_asked_for_its_addresses_then_it_is_refused(cloud: Start, query: str) -> None:
    refused = cloud().raw("GET", "/metadata/endpoints" + query, token=None)
    assert (refused.status, refused.code) == (400, "InvalidApiVersionParameter")
