# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Chooses and reads the credentials that sign in.

The options and variables are those of azure.azcollection, with azure-identity's spelling of the variables
beside them, so that neither a playbook nor a credential of AWX needs a change. What is used is decided
from values alone (`choose`); only `make_credential` needs azure-identity.

Source: https://docs.ansible.com/ansible/latest/scenario_guides/guide_azure.html and
https://learn.microsoft.com/python/api/overview/azure/identity-readme
"""

from __future__ import annotations

import configparser
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus

from ..scheduled_events.errors import OptionError
from .cloud import Cloud, read_cloud
from .errors import MissingLibrary

AUTO = "auto"
PARAMETERS = "parameters"
ENV = "env"
CREDENTIAL_FILE = "credential_file"
CLI = "cli"
MSI = "msi"
AUTH_SOURCES = (AUTO, CLI, CREDENTIAL_FILE, ENV, MSI)

# Each option, and its variables: the first one that is set counts.
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "profile": ("AZURE_PROFILE",),
    "subscription_id": ("AZURE_SUBSCRIPTION_ID",),
    "client_id": ("AZURE_CLIENT_ID",),
    "secret": ("AZURE_SECRET", "AZURE_CLIENT_SECRET"),
    "tenant": ("AZURE_TENANT", "AZURE_TENANT_ID"),
    "x509_certificate_path": ("AZURE_X509_CERTIFICATE_PATH", "AZURE_CLIENT_CERTIFICATE_PATH"),
    "thumbprint": ("AZURE_THUMBPRINT",),
    "federated_token_file": ("AZURE_FEDERATED_TOKEN_FILE",),
    "cloud_environment": ("AZURE_CLOUD_ENVIRONMENT",),
    "adfs_authority_url": ("AZURE_ADFS_AUTHORITY_URL", "AZURE_AUTHORITY_HOST"),
    "cert_validation_mode": ("AZURE_CERT_VALIDATION_MODE", "AZURE_CERT_VALIDATION"),
    "disable_instance_discovery": ("AZURE_DISABLE_INSTANCE_DISCOVERY",),
    # Known only to be refused with a reason.
    "ad_user": ("AZURE_AD_USER",),
    "base_url": ("FOGHORN_ARM_BASE_URL",),
}
# Options of azure.azcollection that belong to its shared credentials, and have no meaning here.
IGNORED = ("api_profile", "log_mode", "log_path")
# Options that would make somebody else sign in: they are refused.
REFUSED = ("ad_user", "password")

AUTH_SOURCE_VARIABLE = "ANSIBLE_AZURE_AUTH_SOURCE"
DEFAULT_PROFILE = "default"

# With one of these, a client id in the environment is that of a service principal.
_BESIDE_A_CLIENT = frozenset(["subscription_id", "secret", "x509_certificate_path", "federated_token_file"])
_PRINCIPAL = "the credentials of a service principal"
_EXPLAIN_PERSON = (
    "signing in with a person's name and password is not supported, because Azure asks people for a second factor. Use"
    " %s (client_id, secret, tenant), a managed identity (auth_source msi), or az login (auth_source cli)" % _PRINCIPAL
)
_CLI_TIMEOUT = 60  # seconds
_MSI = "managed identity"
# The end of the address that Azure Stack Hub tells where AD FS signs in.
_AD_FS = "/adfs"


class SignIn(NamedTuple):
    """The chosen sign-in. Never print it: it may hold a secret."""

    source: str
    """`parameters`, or one of `AUTH_SOURCES` but `auto`."""
    cloud: Cloud
    subscription_id: str | None = None
    """None: the identity sees only one subscription."""
    client_id: str | None = None
    tenant: str | None = None
    secret: str | None = None
    certificate_path: str | None = None
    thumbprint: str | None = None
    federated_token_file: str | None = None
    ignored: tuple[str, ...] = ()
    """Options that were set and have no effect here."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be seen anywhere: the secret, also as a form or an address spells it, longest first."""
        if not self.secret:
            return ()
        spellings = {self.secret, quote(self.secret), quote(self.secret, safe=""), quote_plus(self.secret)}
        return tuple(sorted(spellings, key=len, reverse=True))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about this way of signing in, to be shown before it is used."""
        ignored = (
            ("%s are not used by this collection and were ignored" % ", ".join(self.ignored),) if self.ignored else ()
        )
        if self.cloud.verify:
            return ignored
        return (
            *ignored,
            "cert_validation_mode: ignore: anybody on the network path to %s can read the credentials and "
            "act as you. Trust the cloud's own certificate authority (REQUESTS_CA_BUNDLE) instead" % self.cloud.arm,
        )


def choose(options: Mapping[str, Any], environment: Mapping[str, str] | None = None, home: str | None = None) -> SignIn:
    """Find out who signs in: with `auto` from the parameters, the environment, the credential file, the CLI.

    :param options: what was set in the task; what was not is None or absent
    :param environment: None: the process's own
    :param home: the directory that holds `.azure`; None: the user's
    :raises OptionError: if nothing usable is there, or if what is there is not complete
    """
    _refuse_person(options)
    environment = os.environ if environment is None else environment
    source = options.get("auth_source") or environment.get(AUTH_SOURCE_VARIABLE) or AUTO
    if source not in AUTH_SOURCES:
        raise OptionError("auth_source: %r is not one of %s" % (source, ", ".join(AUTH_SOURCES)))
    set_here = {name: options[name] for name in VARIABLES if options.get(name) not in (None, "")}
    set_there = _from_environment(environment)
    directory = os.path.join(home or os.path.expanduser("~"), ".azure")

    def from_file(profile: str) -> dict[str, str]:
        return _read_profile(os.path.join(directory, "credentials"), profile)

    found: Mapping[str, Any]
    if source == AUTO:
        source, found = _first_of_all(set_here, set_there, from_file)
    elif source == ENV:
        found = from_file(set_there["profile"]) if "profile" in set_there else set_there
    elif source == CREDENTIAL_FILE:
        profile = set_here.get("profile") or set_there.get("profile") or DEFAULT_PROFILE
        found = from_file(profile)
        if not found:
            raise OptionError("profile: %r is not in %s" % (profile, os.path.join(directory, "credentials")))
    elif source == MSI:
        found = {name: place[name] for place in (set_there, set_here) for name in ("client_id",) if name in place}
    else:
        found = {}
    if source == CLI:
        chosen = set_here.get("subscription_id") or set_there.get("subscription_id")
        found = _login_of_cli(environment.get("AZURE_CONFIG_DIR") or directory, chosen)

    # The cloud is chosen independently of the identity: first the task, then the credentials, then the environment.
    def surrounding(name: str) -> Any:
        return next((place[name] for place in (set_here, found, set_there) if name in place), None)

    cloud = read_cloud(
        surrounding("cloud_environment"),
        surrounding("base_url"),
        surrounding("adfs_authority_url"),
        surrounding("cert_validation_mode"),
        _name_of_authority(environment, surrounding("adfs_authority_url")),
    )
    if _read_flag("disable_instance_discovery", surrounding("disable_instance_discovery")):
        cloud = cloud._replace(asks_microsoft=False)
    sign_in = SignIn(
        source=source,
        cloud=cloud,
        subscription_id=surrounding("subscription_id"),
        client_id=found.get("client_id"),
        tenant=found.get("tenant"),
        secret=found.get("secret"),
        certificate_path=found.get("x509_certificate_path"),
        thumbprint=found.get("thumbprint"),
        federated_token_file=found.get("federated_token_file"),
        ignored=_set_among(IGNORED, options),
    )
    if source not in (CLI, MSI):
        _check_complete(sign_in, found.get("ad_user"))
    return sign_in


def _refuse_person(options: Mapping[str, Any]) -> None:
    for name in _set_among(REFUSED, options):
        raise OptionError("%s: %s" % (name, _EXPLAIN_PERSON))


def _set_among(names: Sequence[str], options: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name in names if options.get(name) not in (None, ""))


def make_credential(sign_in: SignIn, transport: Any, import_identity: Callable[[], Any] | None = None) -> Any:
    """Make the credential of azure-identity that signs in like this.

    :param transport: of azure-core, for whatever the credential sends
    :raises MissingLibrary: if azure-identity is not installed
    :raises OptionError: if a file that it names cannot be used
    """
    identity = (import_identity or _import_identity)()
    cloud = sign_in.cloud
    if sign_in.source == CLI:
        # Without a tenant the CLI gives a token of whichever tenant is its present one.
        chosen = {"subscription": sign_in.subscription_id} if sign_in.subscription_id else {}
        try:
            return identity.AzureCliCredential(process_timeout=_CLI_TIMEOUT, **chosen)
        except TypeError:
            raise MissingLibrary(
                "azure-identity 1.21 or later, to ask the Azure CLI for a subscription's token"
            ) from None
        except ValueError as error:
            raise OptionError("subscription_id: %r: %s" % (sign_in.subscription_id, error)) from None
    if sign_in.source == MSI:
        chosen = {"client_id": sign_in.client_id} if sign_in.client_id else {}
        return identity.ManagedIdentityCredential(transport=transport, **chosen)
    authority, tenant = cloud.authority, sign_in.tenant
    if authority.lower().endswith(_AD_FS):
        # It has no other tenant.
        authority, tenant = authority[: -len(_AD_FS)], _AD_FS[1:]
    common: dict[str, Any] = {"authority": authority, "transport": transport}
    if not cloud.asks_microsoft:
        common["disable_instance_discovery"] = True
    try:
        if sign_in.secret:
            return identity.ClientSecretCredential(tenant, sign_in.client_id, sign_in.secret, **common)
        if sign_in.certificate_path:
            return _from_certificate(identity, sign_in._replace(tenant=tenant), common)
        return identity.WorkloadIdentityCredential(
            tenant_id=tenant,
            client_id=sign_in.client_id,
            token_file_path=sign_in.federated_token_file,
            **common,
        )
    except (ValueError, OSError) as error:
        raise OptionError("signing in with %s: %s" % (describe(sign_in), error)) from None


def describe(sign_in: SignIn) -> str:
    """Name the way of signing in, as an error does."""
    if sign_in.source == CLI:
        return "the Azure CLI's login (auth_source cli)"
    if sign_in.source == MSI:
        return "%s (auth_source msi)" % (_MSI if not sign_in.client_id else "%s %s" % (_MSI, sign_in.client_id))
    how = "a secret" if sign_in.secret else "a certificate" if sign_in.certificate_path else "a federated token"
    return "%s of client %s (auth_source %s)" % (how, sign_in.client_id, sign_in.source)


def _first_of_all(
    set_here: Mapping[str, Any], set_there: Mapping[str, str], from_file: Callable[[str], dict[str, str]]
) -> tuple[str, Mapping[str, Any]]:
    if "profile" in set_here:
        found = from_file(set_here["profile"])
        if not found:
            raise OptionError("profile: %r is not in ~/.azure/credentials" % set_here["profile"])
        return CREDENTIAL_FILE, found
    if "client_id" in set_here:
        return PARAMETERS, set_here
    if "profile" in set_there:
        found = from_file(set_there["profile"])
        if not found:
            raise OptionError("AZURE_PROFILE: %r is not in ~/.azure/credentials" % set_there["profile"])
        return CREDENTIAL_FILE, found
    # A client id alone is no credential: it may belong to a managed identity.
    if "ad_user" in set_there or ("client_id" in set_there and not _BESIDE_A_CLIENT.isdisjoint(set_there)):
        return ENV, set_there
    found = from_file(DEFAULT_PROFILE)
    return (CREDENTIAL_FILE, found) if found else (CLI, {})


def _name_of_authority(environment: Mapping[str, str], value: Any) -> str:
    """Where the sign-in address was set, for an error."""
    variables = [name for name in VARIABLES["adfs_authority_url"] if value and environment.get(name) == value]
    return variables[0] if variables else "adfs_authority_url"


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for option, variables in VARIABLES.items():
        for variable in variables:
            if environment.get(variable):
                found.setdefault(option, environment[variable])
    return found


def _read_profile(path: str, profile: str) -> dict[str, str]:
    """Read a section of the credential file; empty if there is no such file or section."""
    # A secret may contain a percent sign.
    parser = configparser.RawConfigParser()
    try:
        with open(path, encoding="utf-8") as stream:
            parser.read_file(stream)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError("%s cannot be read: %s" % (path, error)) from None
    except configparser.Error as error:
        # The parser's own message quotes the line, which may be the secret.
        raise OptionError("%s is not an INI file: %s" % (path, type(error).__name__)) from None
    if not parser.has_section(profile):
        return {}
    return {name: value.strip() for name, value in parser.items(profile) if name in VARIABLES and value.strip()}


def _login_of_cli(directory: str, subscription_id: str | None) -> dict[str, str]:
    """The subscription, and the cloud that it is in: the one that was chosen, or that `az account set` chose.

    :returns: empty, or with nothing but what was chosen, if the CLI does not say
    """
    found = {"subscription_id": subscription_id} if subscription_id else {}
    try:
        with open(os.path.join(directory, "azureProfile.json"), encoding="utf-8-sig") as stream:
            known = json.load(stream)["subscriptions"]
        if subscription_id:
            login = next(one for one in known if str(one["id"]).lower() == subscription_id.lower())
        else:
            login = next(one for one in known if one.get("isDefault"))
            found["subscription_id"] = str(login["id"])
        found["cloud_environment"] = str(login["environmentName"])
    except (OSError, ValueError, AttributeError, KeyError, TypeError, StopIteration):
        pass
    return found


def _read_flag(name: str, value: Any) -> bool:
    """Read what is a boolean in a task, and a word in the environment or a file."""
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    word = str(False if value is None else value).strip().lower()
    if word not in words:
        raise OptionError("%s: %r is neither true nor false" % (name, value))
    return words[word]


def _check_complete(sign_in: SignIn, user: str | None) -> None:
    given = {
        "client_id": sign_in.client_id,
        "tenant": sign_in.tenant,
        "secret, x509_certificate_path or federated_token_file": (
            sign_in.secret or sign_in.certificate_path or sign_in.federated_token_file
        ),
    }
    missing = [name for name, value in given.items() if not value]
    if missing and user:
        raise OptionError("auth_source %s: ad_user: %s" % (sign_in.source, _EXPLAIN_PERSON))
    if missing:
        raise OptionError(
            "auth_source %s: %s are not complete, missing: %s. Set them, or choose another auth_source of %s"
            % (sign_in.source, _PRINCIPAL, " and ".join(missing), ", ".join(AUTH_SOURCES))
        )


def _from_certificate(identity: Any, sign_in: SignIn, common: Mapping[str, Any]) -> Any:
    path = str(sign_in.certificate_path)
    with open(path, "rb") as stream:
        content = stream.read()
    if sign_in.thumbprint:
        _check_thumbprint(path, content, sign_in.thumbprint)
    return identity.CertificateCredential(sign_in.tenant, sign_in.client_id, certificate_data=content, **common)


def _check_thumbprint(path: str, content: bytes, thumbprint: str) -> None:
    # azure-identity computes the thumbprint that it sends. A given thumbprint selects the certificate.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    actual = x509.load_pem_x509_certificate(content).fingerprint(hashes.SHA1()).hex()
    if actual != thumbprint.replace(":", "").strip().lower():
        raise OptionError(
            "thumbprint: %s is not that of the certificate in %s, which is %s" % (thumbprint, path, actual.upper())
        )


def _import_identity() -> Any:
    try:
        from azure import identity
    except ImportError as error:
        raise MissingLibrary("azure-identity (%s)" % error) from None
    return identity
