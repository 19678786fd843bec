# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each kind of credential that can be had without Azure, with Microsoft's own libraries, against the simulator.

Where it is found, and what is refused before anything is sent: tests/unit/plugins/module_utils/arm/test_credentials.py.
"""

from __future__ import annotations

import base64
import json
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import CLIENT, SECRET, SUBSCRIPTION, TENANT, Controller

Start = Callable[..., Controller]
READ: dict[str, Any] = {"resource_group": "rg", "name": "web", "instances": False}
ISSUER = "https://issuer.example"


def read(here: Controller, **sign_in: Any) -> dict[str, Any]:
    return here.module("vmss_terminate_notification_info", **READ, **sign_in)


def token_of(here: Controller) -> str:
    """A token for Resource Manager, of the managed identity of a VM."""
    request = urllib.request.Request(
        here.azure.imds["db"]
        + "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://management.azure.com",
        headers={"Metadata": "true"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["access_token"])


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    for name in names or ("CLIENT_ID", "SECRET", "TENANT", "SUBSCRIPTION_ID"):
        monkeypatch.delenv("AZURE_" + name)


def test_given_parameters_then_they_sign_in_and_the_secret_is_nowhere(
    controller: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = controller()
    without(monkeypatch)
    result = read(here, client_id=CLIENT, secret=SECRET, tenant=TENANT, subscription_id=SUBSCRIPTION)
    assert result["auth_source_used"] == "parameters"


def test_given_a_managed_identity_then_it_signs_in_over_plain_http_on_this_machine(
    controller: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = controller()
    without(monkeypatch)
    monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", here.azure.imds["db"])
    result = read(here, auth_source="msi", base_url=here.azure.arm, subscription_id=SUBSCRIPTION)
    assert result.get("auth_source_used") == "msi", result


def test_given_the_login_of_the_cli_then_its_subscription_is_used(
    controller: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = controller()
    without(monkeypatch)
    (tmp_path / ".azure").mkdir()
    profile = {"subscriptions": [{"id": SUBSCRIPTION, "isDefault": True, "environmentName": "AzureCloud"}]}
    (tmp_path / ".azure" / "azureProfile.json").write_text(json.dumps(profile))
    # What `az account get-access-token` prints, with a token of a managed identity in the place of a person's.
    token = {"accessToken": token_of(here), "expires_on": int(time.time()) + 3600, "tokenType": "Bearer"}
    az = tmp_path / "bin" / "az"
    az.parent.mkdir()
    az.write_text("#!/bin/sh\ncat <<'END'\n%s\nEND\n" % json.dumps(token))
    az.chmod(0o755)
    monkeypatch.setenv("PATH", str(az.parent), prepend=":")
    result = read(here)
    assert result.get("auth_source_used") == "cli", result
    assert result["subscription_id"] == SUBSCRIPTION


def test_given_a_federated_token_then_it_signs_in(
    controller: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    federated = {"issuer": ISSUER, "subject": "a-job"}
    here = controller(arm={"clients": [{"client_id": CLIENT, "federated": federated}]})
    claims = {"iss": ISSUER, "sub": "a-job", "aud": "api://AzureADTokenExchange", "exp": int(time.time()) + 3600}
    token = ".".join(
        base64.urlsafe_b64encode(part).decode().rstrip("=")
        for part in (b'{"alg":"RS256"}', json.dumps(claims).encode(), b"signature")
    )
    (tmp_path / "token").write_text(token)
    without(monkeypatch, "SECRET")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    result = read(here)
    assert result.get("auth_source_used") == "env", result


def test_given_a_certificate_then_it_signs_in(
    controller: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key, pem = tmp_path / "key.pem", tmp_path / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-noenc", "-subj", "/CN=us", "-days", "2"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(pem)], check=True, capture_output=True)
    fingerprint = ["openssl", "x509", "-in", str(pem), "-noout", "-fingerprint", "-sha1"]
    thumbprint = (
        subprocess.run(fingerprint, check=True, capture_output=True, text=True).stdout.strip().rpartition("=")[2]
    )
    pem.write_bytes(pem.read_bytes() + key.read_bytes())
    here = controller(arm={"clients": [{"client_id": CLIENT, "thumbprint": thumbprint}]})
    without(monkeypatch)
    result = read(
        here,
        client_id=CLIENT,
        tenant=TENANT,
        subscription_id=SUBSCRIPTION,
        x509_certificate_path=str(pem),
        thumbprint=thumbprint,
    )
    assert result.get("auth_source_used") == "parameters", result


def test_given_the_address_of_a_cloud_then_it_shows_where_to_sign_in(
    controller: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = controller()
    for name in ("FOGHORN_ARM_BASE_URL", "AZURE_ADFS_AUTHORITY_URL"):
        monkeypatch.delenv(name)
    result = read(here, cloud_environment=here.azure.arm_tls)
    assert result.get("auth_source_used") == "env", result
    assert result["scale_sets"][0]["name"] == "web"


def test_given_a_wrong_secret_then_the_error_says_who_where_and_why_without_it(
    controller: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = controller()
    monkeypatch.setenv("AZURE_SECRET", "wrong." + SECRET[::-1])
    result = read(here)
    assert "Signing in with a secret of client %s (auth_source env)" % CLIENT in result["msg"]
    assert "AADSTS7000215" in result["msg"]
    assert SECRET[::-1] not in json.dumps(result)


def test_given_the_libraries_are_not_installed_then_one_error_names_them(
    controller: Start, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here = controller()
    (tmp_path / "shadow" / "azure").mkdir(parents=True)
    (tmp_path / "shadow" / "azure" / "__init__.py").write_text("raise ImportError('not here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"), prepend=":")
    result = read(here)
    assert "azure-identity, azure-mgmt-core and requests" in result["msg"]
    assert "Traceback" not in result["msg"]
