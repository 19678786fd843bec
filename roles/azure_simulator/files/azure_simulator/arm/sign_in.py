# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signing in: OpenID discovery and tokens as azure-identity asks for them, and whom a token identifies."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, Callable
from urllib.parse import parse_qsl

from .. import tokens
from .config import ArmConfig, ClientConfig
from .errors import ArmError
from .routing import ArmAnswer, ArmRequest

AUDIENCES = frozenset(
    {
        "https://management.azure.com",
        "https://management.core.windows.net",
        "https://management.usgovcloudapi.net",
        "https://management.core.usgovcloudapi.net",
        "https://management.chinacloudapi.cn",
        "https://management.core.chinacloudapi.cn",
    }
)
"""The audiences that a token for Resource Manager may have, in any cloud, without the slashes at the end."""

_DISCOVERY = re.compile(r"/([^/]+)(?:/v2\.0)?/\.well-known/openid-configuration")
_TOKEN = re.compile(r"/([^/]+)/oauth2/v2\.0/token")
_INSTANCE = "/common/discovery/instance"
_ENDPOINTS = "/metadata/endpoints"
_ENDPOINTS_VERSION = "2015-01-01"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_EXCHANGE = "api://AzureADTokenExchange"


class SignInError(Exception):
    """Sign-in refused; ``number`` is the AADSTS code that people search for."""

    def __init__(self, status: int, error: str, number: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.number = number


class SignIn:
    """The sign-in service of one tenant. ``wall`` is real time: tokens live in the clients' time."""

    def __init__(self, config: ArmConfig, seed: int, wall: Callable[[], float]) -> None:
        self._tenant = config.tenant_id
        self._lifetime = config.token_lifetime
        self._clients: Mapping[str, ClientConfig] = {client.client_id: client for client in config.clients}
        self._seed = seed
        self._wall = wall

    def answer(self, request: ArmRequest) -> ArmAnswer | None:
        """The answer to a request for this service; None when it is not for it."""
        discovery = _DISCOVERY.fullmatch(request.path)
        if discovery and request.method == "GET":
            return self._discovery(request, discovery.group(1))
        if request.path == _INSTANCE and request.method == "GET":
            tenant = f"{request.base}/{self._tenant}/v2.0/.well-known/openid-configuration"
            return ArmAnswer(200, {"tenant_discovery_endpoint": tenant, "api-version": "1.1", "metadata": []})
        if request.path == _ENDPOINTS and request.method == "GET":
            return _endpoints(request)
        token = _TOKEN.fullmatch(request.path)
        if token is None or request.method != "POST":
            return None
        try:
            return self._token(request, token.group(1))
        except SignInError as error:
            return ArmAnswer(
                error.status,
                {
                    "error": error.error,
                    "error_description": f"AADSTS{error.number}: {error}",
                    "error_codes": [error.number],
                },
            )

    # -- what there is ------------------------------------------------------------------------------

    def _known(self, tenant: str) -> bool:
        return tenant.lower() in (self._tenant, "common", "organizations")

    def _discovery(self, request: ArmRequest, tenant: str) -> ArmAnswer:
        if not self._known(tenant):
            message = f"AADSTS90002: Tenant '{tenant}' not found."
            return ArmAnswer(400, {"error": "invalid_tenant", "error_description": message, "error_codes": [90002]})
        own = f"{request.base}/{self._tenant}"
        return ArmAnswer(
            200,
            {
                "issuer": f"{own}/v2.0",
                "authorization_endpoint": f"{own}/oauth2/v2.0/authorize",
                "token_endpoint": f"{own}/oauth2/v2.0/token",
                "device_authorization_endpoint": f"{own}/oauth2/v2.0/devicecode",
                "jwks_uri": f"{own}/discovery/v2.0/keys",
                "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"],
                "response_types_supported": ["code", "id_token", "code id_token", "id_token token"],
                "subject_types_supported": ["pairwise"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "tenant_region_scope": "EU",
                "cloud_instance_name": "microsoftonline.com",
            },
        )

    # -- tokens ---------------------------------------------------------------------------------------

    def _token(self, request: ArmRequest, tenant: str) -> ArmAnswer:
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        if not self._known(tenant):
            raise SignInError(400, "invalid_request", 90002, f"Tenant '{tenant}' not found.")
        if form.get("grant_type") != "client_credentials":
            message = f"The app requested an unsupported grant type '{form.get('grant_type')}'."
            raise SignInError(400, "unsupported_grant_type", 70003, message)
        client = self._clients.get(form.get("client_id", "").lower())
        if client is None:
            message = f"Application with identifier '{form.get('client_id')}' was not found in the directory."
            raise SignInError(400, "unauthorized_client", 700016, message)
        self._prove(client, form)
        scope = form.get("scope", "").split(" ")[0]
        if not scope.endswith("/.default"):
            message = f"The provided value for the input parameter 'scope' is not valid: '{scope}'."
            raise SignInError(400, "invalid_scope", 70011, message)
        issued = int(self._wall())
        claims = {
            "aud": scope[: -len("/.default")],
            "iss": f"https://sts.windows.net/{self._tenant}/",
            "iat": issued,
            "nbf": issued,
            "exp": issued + self._lifetime,
            "appid": client.client_id,
            "oid": client.client_id,
            "tid": self._tenant,
        }
        return ArmAnswer(
            200,
            {
                "token_type": "Bearer",
                "expires_in": self._lifetime,
                "ext_expires_in": self._lifetime,
                "access_token": tokens.sign(claims, self._seed),
            },
            {"Cache-Control": "no-store, no-cache"},
        )

    def _prove(self, client: ClientConfig, form: Mapping[str, str]) -> None:
        """Refuse a client that cannot prove its identity."""
        if "client_assertion" in form:
            if form.get("client_assertion_type") != _ASSERTION:
                raise SignInError(400, "invalid_request", 900144, "The client_assertion_type is not supported.")
            self._check_assertion(client, form["client_assertion"])
        elif "client_secret" not in form:
            raise SignInError(
                401,
                "invalid_client",
                7000216,
                "'client_assertion', 'client_secret' or 'request' is required for the 'client_credentials' grant type.",
            )
        elif client.secret is None or form["client_secret"] != client.secret:
            message = f"Invalid client secret provided for app '{client.client_id}'."
            raise SignInError(401, "invalid_client", 7000215, message)

    def _check_assertion(self, client: ClientConfig, assertion: str) -> None:
        """A certificate is known by its thumbprint, a federated token by its issuer and subject.

        Signatures are not checked: nobody's trust depends on this service.
        """
        try:
            head, claims = (_segment(part) for part in assertion.split(".")[:2])
        except ValueError:
            raise SignInError(401, "invalid_client", 50027, "JWT token is invalid or malformed.") from None
        if float(claims.get("exp", 0)) <= self._wall():
            raise SignInError(401, "invalid_client", 700024, "Client assertion is not within its valid time range.")
        named = {_hex(head.get(name)) for name in ("x5t", "x5t#S256")} - {None}
        if named:
            if claims.get("iss") != client.client_id or not named & client.thumbprints:
                message = f"The certificate of the client assertion is not registered on '{client.client_id}'."
                raise SignInError(401, "invalid_client", 700027, message)
            return
        if client.federated_issuer is None or (claims.get("iss"), claims.get("sub")) != (
            client.federated_issuer,
            client.federated_subject,
        ):
            message = (
                f"No matching federated identity record found for presented assertion subject '{claims.get('sub')}'."
            )
            raise SignInError(401, "invalid_client", 700213, message)
        audience = claims.get("aud")
        if _EXCHANGE not in (audience if isinstance(audience, list) else [audience]):
            message = f"No matching federated identity record found for presented assertion audience '{audience}'."
            raise SignInError(401, "invalid_client", 700212, message)

    # -- who asks -----------------------------------------------------------------------------------------

    def caller(self, request: ArmRequest) -> str:
        """The object id of the caller. Refuses a request without a valid token."""
        header = request.headers.get("Authorization", "")
        kind, _unused, token = header.partition(" ")
        challenge = (
            f'Bearer authorization_uri="{request.base}/{self._tenant}", error="invalid_token", '
            'error_description="The access token is missing or cannot be used."'
        )
        headers = {"WWW-Authenticate": challenge}
        if not header:
            message = "Authentication failed. The 'Authorization' header is missing."
            raise ArmError(401, "AuthenticationFailed", message, headers=headers)
        claims = tokens.claims_of(token.strip(), self._seed) if kind.lower() == "bearer" else None
        if claims is None:
            raise ArmError(401, "InvalidAuthenticationToken", "The access token is invalid.", headers=headers)
        if claims["exp"] <= self._wall():
            message = "The access token expiry UTC time is earlier than current UTC time."
            raise ArmError(401, "ExpiredAuthenticationToken", message, headers=headers)
        audience = str(claims["aud"]).rstrip("/")
        if audience not in AUDIENCES and audience != request.base:
            message = (
                "The access token has been obtained for wrong audience or resource "
                f"'{claims['aud']}'. It should exactly match with one of the allowed audiences "
                "'https://management.core.windows.net/','https://management.azure.com/'."
            )
            raise ArmError(401, "InvalidAuthenticationTokenAudience", message, headers=headers)
        return str(claims["oid"])


def _endpoints(request: ArmRequest) -> ArmAnswer:
    """The endpoints that a cloud publishes: here all of them are at this address."""
    version = request.query.get("api-version")
    if version != _ENDPOINTS_VERSION:
        message = f"The api-version '{version}' is not supported here: use '{_ENDPOINTS_VERSION}'."
        raise ArmError(400, "InvalidApiVersionParameter", message)
    return ArmAnswer(
        200,
        {
            "galleryEndpoint": f"{request.base}/",
            "graphEndpoint": f"{request.base}/",
            "portalEndpoint": f"{request.base}/",
            "authentication": {
                "loginEndpoint": f"{request.base}/",
                "audiences": ["https://management.core.windows.net/", "https://management.azure.com/"],
            },
        },
    )


def _segment(part: str) -> dict[str, Any]:
    value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _hex(text: object) -> str | None:
    if not isinstance(text, str):
        return None
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex().upper()
