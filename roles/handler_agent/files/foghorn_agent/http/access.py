# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may see what over HTTP.

Whether the machine is in rotation is for everybody who is let in. What happens to it, and when, is for the machine
itself and for whoever proves to hold the members' secret.
"""

import ipaddress
from typing import Callable, Optional, Sequence, Tuple, Union

from foghorn_core.scheduled_events.signature import SIGNATURE_HEADER, nonce_of_question, secret_of_question, sign_answer

from ..config import AZURE_PROBES, Config, Network
from ..io.secrets import NoSecret, read_members_secrets
from .endpoint import Asked, Response

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

# Only the platform can send from these addresses. Without its probe the machine would be out of rotation.
_AZURE_PROBES = frozenset(map(ipaddress.ip_address, AZURE_PROBES))
_HEALTH = "/healthz"
_STATUS = "/status"
_METRICS = "/metrics"
_SIGNATURE = SIGNATURE_HEADER.lower()
_REFUSED = (
    b"Only this machine and the members of its quorum may ask for this, and for /metrics the networks of metrics_from."
    b"\nEverybody else may ask for /readyz and /healthz.\n"
)
_NOT_SIGNED = b"This was not signed with a secret that the members of this machine's quorum hold.\n"


class Access:
    """Stands between the endpoint and what answers for a path.

    :param respond: gives the answer for a path; None: there is no such path
    :param vm_name: gives the name of this VM, as far as it is known
    :param config: gives the configuration, which may be another one from now on
    """

    def __init__(
        self,
        respond: Callable[[str], Optional[Tuple[int, str, bytes]]],
        vm_name: Callable[[], Optional[str]],
        config: Callable[[], Config],
    ) -> None:
        self._respond = respond
        self._vm_name = vm_name
        self._config = config

    def admits(self, host: str) -> bool:
        """Whether a client at this address may connect at all."""
        allowed = self._config().allow_from
        if not allowed or not host:
            return True
        address = _address(host)
        return address.is_loopback or address in _AZURE_PROBES or _is_among(address, allowed)

    def respond(self, asked: Asked) -> Optional[Response]:
        """Answer a request, or refuse it; None: there is no such path."""
        if asked.path == _STATUS and _SIGNATURE in asked.headers:
            return self._respond_to_member(asked)
        if (
            asked.path in (_STATUS, _METRICS)
            and not asked.is_local
            and not (asked.path == _METRICS and _is_among(_address(asked.host), self._config().metrics_from))
        ):
            return Response(403, "text/plain; charset=utf-8", _REFUSED)
        answer = self._respond(asked.path)
        if answer is None:
            return None
        if asked.path == _HEALTH and not asked.is_local:
            # The whole text names files, addresses and settings: the first line is enough.
            return Response(answer[0], answer[1], answer[2].partition(b"\n")[0] + b"\n")
        return Response(*answer)

    def _respond_to_member(self, asked: Asked) -> Optional[Response]:
        nonce, secret = nonce_of_question(asked.headers), None
        secret_file = self._config().quorum.secret_file
        if secret_file is not None:
            try:
                secrets = read_members_secrets(secret_file)
            except NoSecret:
                # The reason is shown where the members are asked, and to the owner of this machine.
                secrets = ()
            secret = secret_of_question(secrets, asked.headers, self._vm_name() or "")
        answer = self._respond(asked.path)
        if nonce is None or secret is None or answer is None:
            return Response(403, "text/plain; charset=utf-8", _NOT_SIGNED)
        status, content_type, body = answer
        return Response(status, content_type, body, "%s: %s\r\n" % (SIGNATURE_HEADER, sign_answer(secret, nonce, body)))


def _address(host: str) -> Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    # A socket for both families sees IPv4 addresses mapped to IPv6.
    return getattr(address, "ipv4_mapped", None) or address


def _is_among(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)
