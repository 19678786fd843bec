# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Takes a URL apart, in the one way in which every other parser does.

The code that judges a URL and the code that sends the request often use different parsers. `https://evil\\.azure.com`
has the host `evil\\.azure.com` for one, and `evil` for the other. A URL that could be read in two ways is refused here,
so that the connection goes to the host that was judged.
"""

import ipaddress
import re
from typing import NamedTuple

# Without an underscore, the instance web_0 of a scale set could not be asked.
_LABEL = r"[a-z0-9_][a-z0-9_-]{0,62}"
_URL = re.compile(
    r"(https?)://(?:(%s(?:\.%s)*\.?)|\[([0-9a-f:.]+)\])(?::([0-9]{0,5}))?(/[^?#]*)?(?:\?([^#]*))?\Z" % (_LABEL, _LABEL),
    re.IGNORECASE,
)
# Some parsers drop a tab or a line end, some end the host at a backslash, and some make another host of non-ASCII text.
_PLAIN = re.compile(r"[!-\[\]-~]*\Z")
_USER_INFO = re.compile("//.*@", re.DOTALL)
_LONGEST_HOST = 253  # characters, by RFC 1035
_PORTS = {"http": 80, "https": 443}


class Url(NamedTuple):
    """The parts of a URL."""

    scheme: str
    """`http` or `https`."""
    host: str
    """A name or an IP address, in lower case and without brackets."""
    port: int
    path: str
    """Empty, or begins with a slash."""
    query: str
    """Without the question mark; empty if there is none."""


def parse_url(url: str, form: str = "https://HOST[:PORT]/PATH") -> Url:
    """Take a URL apart.

    :param form: the form that is wanted here, for the error
    :raises ValueError: if it has another form, a user name or a fragment, or two parsers could read it differently. The
        message has no part of the URL in it, which may be a secret
    """
    if not _PLAIN.match(url):
        raise ValueError("must not contain spaces or non-ASCII characters, control characters or backslashes")
    match = _URL.match(url)
    if match is None:
        raise ValueError("must have the form %s" % form)
    scheme, name, address, digits, path, query = match.groups()
    if len(name or "") > _LONGEST_HOST or (address and not _is_ipv6(address)):
        raise ValueError("must have the form %s" % form)
    port = int(digits) if digits else _PORTS[scheme.lower()]
    if not 1 <= port <= 65535:
        raise ValueError("must have a port from 1 to 65535")
    return Url(scheme.lower(), (name or address).lower(), port, path or "", query or "")


def hide_password(url: str) -> str:
    """A URL that was refused, for an error: a password in it must not get into a log."""
    return _USER_INFO.sub("//…@", url)


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine, by its literal address or as localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True
