# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The clouds of Azure and the addresses at which each signs in.

Microsoft's own three are known here. Any other tells its addresses itself, at `/metadata/endpoints`.

Source: https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure,
https://learn.microsoft.com/azure/china/resources-developer-guide and
https://learn.microsoft.com/azure-stack/user/azure-stack-rest-api-use
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from ..scheduled_events.url import hide_password, is_loopback, parse_url

VALIDATE = "validate"
IGNORE = "ignore"
CERT_VALIDATION_MODES = (VALIDATE, IGNORE)

_FORM = "https://HOST[:PORT]"

# Every cloud has this version, with one cloud in the answer.
_ENDPOINTS = "/metadata/endpoints?api-version=2015-01-01"


class Cloud(NamedTuple):
    """The endpoints of one Azure cloud."""

    arm: str
    """Azure Resource Manager, without a slash at the end."""
    authority: str
    """The sign-in service, which issues tokens."""
    scope: str
    """The audience of a token."""
    asks_microsoft: bool = True
    """Whether the sign-in library may verify the authority with Microsoft: only for Microsoft's own clouds."""
    verify: bool = True
    """Whether certificates are checked."""
    endpoints: str | None = None
    """Where this cloud publishes the endpoints that are empty here. None: all are known."""

    @property
    def speaks_tls(self) -> bool:
        """False only for a cloud on this very machine."""
        return self.arm.startswith("https://")


PUBLIC = Cloud(
    "https://management.azure.com", "https://login.microsoftonline.com", "https://management.azure.com/.default"
)
CLOUDS = {
    "AzureCloud": PUBLIC,
    "AzureUSGovernment": Cloud(
        "https://management.usgovcloudapi.net",
        "https://login.microsoftonline.us",
        "https://management.core.usgovcloudapi.net/.default",
    ),
    "AzureChinaCloud": Cloud(
        "https://management.chinacloudapi.cn",
        "https://login.chinacloudapi.cn",
        "https://management.chinacloudapi.cn/.default",
    ),
}
_BY_LOWER_NAME = {name.lower(): cloud for name, cloud in CLOUDS.items()}
# The names that other tools use.
_BY_LOWER_NAME.update(
    {
        "azurepubliccloud": PUBLIC,
        "azureusgovernmentcloud": CLOUDS["AzureUSGovernment"],
        "azurechina": CLOUDS["AzureChinaCloud"],
    }
)


def read_cloud(
    name: str | None,
    base_url: str | None = None,
    authority: str | None = None,
    cert_validation_mode: str | None = None,
    authority_name: str = "adfs_authority_url",
) -> Cloud:
    """Find the cloud that these options describe.

    :param name: one of `CLOUDS`, without regard to case, or the address of another one's ARM; None: the public one
    :param base_url: ARM's address in place of the cloud's own
    :param authority: the sign-in address in place of the cloud's own; https is meant where it has no scheme
    :param authority_name: what an error calls it
    :returns: the cloud; with `endpoints` set, see `complete`
    :raises OptionError: on the first that cannot be meant
    """
    name = (name or "AzureCloud").strip()
    if "://" in name:
        arm = read_url("cloud_environment", name)
        cloud = Cloud(arm, "", "", endpoints=arm + _ENDPOINTS)
    elif name.lower() in _BY_LOWER_NAME:
        cloud = _BY_LOWER_NAME[name.lower()]
    else:
        raise OptionError(
            "cloud_environment: %r is not one of %s, nor the address (https://HOST) of another cloud's Azure Resource"
            " Manager" % (name, ", ".join(CLOUDS))
        )
    if cert_validation_mode not in (None, *CERT_VALIDATION_MODES):
        raise OptionError(
            "cert_validation_mode: %r is not one of %s" % (cert_validation_mode, ", ".join(CERT_VALIDATION_MODES))
        )
    if base_url:
        arm = read_url("base_url", base_url)
        cloud = cloud._replace(arm=arm)
    if authority:
        authority = authority.strip()
        cloud = _sign_in_at(
            cloud, read_url(authority_name, authority if "://" in authority else "https://" + authority)
        )
    return cloud._replace(verify=cert_validation_mode != IGNORE)


def complete(cloud: Cloud, told: Any) -> Cloud:
    """Fill in what a cloud tells of itself.

    :param told: the JSON at `endpoints`
    :returns: the cloud with all addresses; those that were set stay
    :raises ValueError: if it does not tell where to sign in, and for what
    :raises OptionError: if it is an address that no secret should be sent to
    """
    authentication = told.get("authentication") if isinstance(told, dict) else None
    authentication = authentication if isinstance(authentication, dict) else {}
    login, audiences = authentication.get("loginEndpoint"), authentication.get("audiences")
    if not isinstance(login, str) or not isinstance(audiences, list) or not audiences:
        raise ValueError("without authentication.loginEndpoint or authentication.audiences")
    if not cloud.authority:
        cloud = _sign_in_at(cloud, read_url("authentication.loginEndpoint of cloud_environment", login))
    # A slash at the end is part of the audience's name, and two in a row are correct.
    return cloud._replace(scope="%s/.default" % audiences[0], endpoints=None)


def _sign_in_at(cloud: Cloud, authority: str) -> Cloud:
    is_theirs = authority in {one.authority for one in CLOUDS.values()}
    return cloud._replace(authority=authority, asks_microsoft=cloud.asks_microsoft and is_theirs)


def read_url(name: str, url: str) -> str:
    """Check an address to which tokens or secrets will be sent, so that nobody on the way can read them.

    :returns: the address without a slash at its end
    :raises OptionError: if it is none, or goes over the network without TLS
    """
    try:
        parts = parse_url(url.strip(), _FORM)
    except ValueError as error:
        raise OptionError("%s: %r %s" % (name, hide_password(url), error)) from None
    if parts.query:
        raise OptionError("%s: %r must have the form %s" % (name, url, _FORM))
    if parts.scheme == "http" and not is_loopback(parts.host):
        raise OptionError(
            "%s: %r would send tokens where others can read them. Plain http is for a simulator on this machine only:"
            " use https" % (name, url)
        )
    return url.strip().rstrip("/")
