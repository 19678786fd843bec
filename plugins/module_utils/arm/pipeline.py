# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The pipeline of azure-core that sends requests to ARM: retries, sign-in, limits, within one deadline.

Source: https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Protocol
from urllib.parse import parse_qs

from ..scheduled_events.deadline import Deadline
from ..scheduled_events.masking import mask
from ..scheduled_events.text import sanitize_line
from ..scheduled_events.url import Url, hide_password, is_loopback, parse_url
from .cloud import Cloud
from .errors import ArmError, MissingLibrary, OutOfTime

_CONNECT_TIMEOUT = 10.0  # seconds
_READ_TIMEOUT = 60.0  # seconds
# A page of Resource Graph has 16 MB at most.
_LARGEST_ANSWER = 32 * 1024 * 1024  # bytes
_CHUNK = 64 * 1024  # bytes
_LONGEST_QUOTE = 200  # characters
# What a sign-in sends in secret.
_SECRET_FIELDS = ("client_secret", "client_assertion")
_SECRET_HEADERS = ("Authorization", "X-IDENTITY-HEADER")
_MOST_RETRIES = 10
_QUOTA_RESETS_AFTER = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])")
_SCHEMES = ("http", "https")

# The answer of a gateway, or of a service that broke down on the way: 503 is of one that has not begun.
_SAYS_NOTHING_OF_THE_REQUEST = frozenset([500, 502, 504])


class Asker(Protocol):
    """Who asks, and waits: `client.ArmClient`."""

    deadline: Deadline
    asked: str
    """The present work, for errors."""

    def wait(self, seconds: float, what: str) -> None:
        """Sleep, if the time limit allows it. Raises `OutOfTime`."""


Judge = Callable[[Url], None]
"""Raises `ArmError` if nothing may be sent there."""


class Transport:
    """The transport of an azure-core pipeline, which sends and waits within the deadline.

    Everything is sent by way of it, so it judges each URL: those that an answer has led to, and those of the sign-in.
    """

    def __init__(self, asker: Asker, inner: Any, judge: Judge) -> None:
        self._asker = asker
        self._inner = inner
        self._judge = judge
        self._is_throttled = False
        self.may_have_acted = False
        """Whether an answer was lost since this was last set to False, and Azure may have acted upon the request."""

    def __enter__(self) -> Transport:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._inner.__exit__(*exc_info)

    def open(self) -> None:
        self._inner.open()

    def close(self) -> None:
        self._inner.close()

    def check(self, link: Any) -> None:
        """Refuse to send anything to where it must not go.

        :raises ArmError: if it must not go there, or another parser could read another host in the link
        """
        try:
            url = parse_url(link)
        except (TypeError, ValueError) as error:
            # A query may hold a token.
            shown = sanitize_line(hide_password(str(link)).partition("?")[0], _LONGEST_QUOTE)
            raise ArmError("Azure's answer leads to %r: nothing was sent there. A URL %s" % (shown, error)) from None
        self._judge(url)

    def send(self, request: Any, **kwargs: Any) -> Any:
        self.check(request.url)
        remaining = self._asker.deadline.remaining()
        if remaining <= 0:
            self.sleep(0)
        kwargs["connection_timeout"] = min(kwargs.get("connection_timeout", _CONNECT_TIMEOUT), remaining)
        kwargs["read_timeout"] = min(kwargs.get("read_timeout", _READ_TIMEOUT), remaining)
        from azure.core.exceptions import ServiceRequestError

        try:
            response = self._send_in_time(request, remaining, kwargs)
        except Exception as error:
            self.may_have_acted = self.may_have_acted or not isinstance(error, ServiceRequestError)
            raise
        self.may_have_acted = self.may_have_acted or response.status_code in _SAYS_NOTHING_OF_THE_REQUEST
        _tell_when_to_retry(response)
        self._is_throttled = response.status_code == 429
        return response

    def _send_in_time(self, request: Any, seconds: float, kwargs: Mapping[str, Any]) -> Any:
        """Send, and wait for the whole answer.

        A timeout of requests is for each piece of an answer: one that drips would never end. So somebody else waits
        for it, and is left behind when time is over; it reads no more than `_LARGEST_ANSWER`.
        """
        outcome: list[tuple[Any, BaseException | None]] = []

        def send() -> None:
            try:
                outcome.append((self._inner.send(request, **kwargs), None))
            except Exception as error:  # noqa: BLE001 - raised where it is waited for
                outcome.append((None, error))

        worker = threading.Thread(target=send, daemon=True)
        worker.start()
        worker.join(seconds)
        if not outcome:
            raise OutOfTime(
                "%s: the answer was incomplete after %g s: check again later, or raise timeout"
                % (self._asker.asked, self._asker.deadline.seconds)
            )
        response, error = outcome[0]
        if error is not None:
            raise error
        return response

    def sleep(self, duration: float) -> None:
        what = "Azure was not done"
        if self._is_throttled:
            what = "Azure throttles requests (429) and accepts none for %g s. The request was not repeated" % duration
        self._asker.wait(duration, "%s: %s" % (self._asker.asked, what))


def _tell_when_to_retry(response: Any) -> None:
    """Have a throttled answer say when to ask again in the way that azure-core's retries understand.

    Resource Graph says when its quota is there again, and often nothing else.

    Source: https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests
    """
    said = response.headers.get("Retry-After")
    if said:
        understood = _read_retry_after(said)
        del response.headers["Retry-After"]
        if understood is not None:
            response.headers["Retry-After"] = understood
    if response.status_code == 429 and not response.headers.get("Retry-After"):
        match = _QUOTA_RESETS_AFTER.match(response.headers.get("x-ms-user-quota-resets-after") or "")
        if match:
            hours, minutes, seconds = (int(part) for part in match.groups())
            response.headers["Retry-After"] = str(max(1, hours * 3600 + minutes * 60 + seconds))


def _read_retry_after(text: str) -> str | None:
    """Whole seconds, or a date: what every version of azure-core understands. None: it is neither."""
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        return str(math.ceil(seconds)) if math.isfinite(seconds) else None
    try:
        parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return text


def open_transport(asker: Asker, verify: bool, through_proxy: bool, judge: Judge) -> Transport:
    try:
        from azure.core.pipeline.transport import RequestsTransport
    except ImportError as error:
        raise MissingLibrary("azure-mgmt-core and requests (%s)" % error) from None
    inner = RequestsTransport(connection_verify=verify, use_env_settings=through_proxy)
    inner.open()
    for scheme in _SCHEMES:
        inner.session.mount(scheme + "://", _make_adapter(asker))
    return Transport(asker, inner, judge)


def _make_adapter(asker: Asker) -> Any:
    """Make what requests sends through: it takes an answer of limited size, with the caller's secrets masked in it."""
    from azure.core.exceptions import ServiceResponseError
    from requests import RequestException
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    class Adapter(HTTPAdapter):
        def send(self, request: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            """Send, and read all of the answer."""
            response = super().send(request, **dict(kwargs, stream=True))
            content = bytearray()
            try:
                for chunk in response.iter_content(_CHUNK):
                    content += chunk
                    if asker.deadline.remaining() <= 0:
                        # Nobody waits for it any more.
                        response.close()
                        raise OutOfTime(asker.asked)
                    if len(content) > _LARGEST_ANSWER:
                        response.close()
                        raise ArmError(
                            "%s had no usable answer: it has more than %d MiB" % (asker.asked, _LARGEST_ANSWER // 2**20)
                        )
            except RequestException as error:
                # azure-core takes an answer that stops in the middle for a request that was not sent.
                raise ServiceResponseError(error, error=error) from error
            # An error may quote the request. In Latin-1, each byte is a character.
            response._content = mask(content.decode("latin-1"), _secrets_of(request)).encode("latin-1")
            return response

    return Adapter(max_retries=Retry(total=False, redirect=False, raise_on_status=False))


def _secrets_of(request: Any) -> list[str]:
    """The secrets in a request."""
    body = request.body if isinstance(request.body, str) else (request.body or b"").decode("latin-1")
    fields = parse_qs(body) if "client_" in body else {}
    headers = [str(request.headers.get(name, "")) for name in _SECRET_HEADERS]
    return [*headers, *(value for name in _SECRET_FIELDS for value in fields.get(name, ()))]


def open_pipeline(transport: Transport, cloud: Cloud, credential: Any = None) -> Any:
    """Make what sends requests to a cloud, as somebody or (without a credential) as nobody."""
    try:
        from azure.core.pipeline import policies
        from azure.mgmt.core import ARMPipelineClient
        from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy
    except ImportError as error:
        raise MissingLibrary("azure-mgmt-core and requests (%s)" % error) from None

    authentication = [] if credential is None else [ARMChallengeAuthenticationPolicy(credential, cloud.scope)]
    return ARMPipelineClient(
        base_url=cloud.arm,
        transport=transport,
        # Left out on purpose: the policy that registers a missing resource provider. A module must not do that
        # unasked.
        policies=[
            policies.RequestIdPolicy(),
            policies.UserAgentPolicy(base_user_agent="foghorn.azure_events"),
            _make_retries(policies.RetryPolicy),
            # Checked here too: signing in comes next, and sends nothing for a link that is not followed.
            policies.CustomHookPolicy(raw_request_hook=lambda request: transport.check(request.http_request.url)),
            *authentication,
        ],
    )


def _make_retries(policy: Any) -> Any:
    """Make a policy of azure-core's that repeats what may be repeated.

    azure-core repeats a POST that was answered with 500 or 504 in any case, and the machine would be redeployed twice.
    """

    class Retries(policy):
        def is_retry(self, settings: Mapping[str, Any], response: Any) -> bool:
            """Whether an answer is one to send the request again for."""
            may_have_arrived = response.http_response.status_code in _SAYS_NOTHING_OF_THE_REQUEST
            if may_have_arrived and response.http_request.method not in settings["methods"]:
                return False
            return bool(super().is_retry(settings, response))

    return Retries(retry_total=_MOST_RETRIES, retry_status=_MOST_RETRIES, retry_backoff_max=30)


def only_to(cloud: Cloud) -> Judge:
    """Tokens go only to the cloud's own ARM, whatever link an answer has."""
    own = parse_url(cloud.arm)

    def judge(url: Url) -> None:
        # ARM has a host for each region below its own.
        is_below = own.scheme == "https" and url.host.endswith("." + own.host)
        if (url.scheme, url.port) != (own.scheme, own.port) or not (url.host == own.host or is_below):
            raise ArmError(
                "Azure's answer leads to %s://%s:%d, which is not %s: nothing was sent there. Is base_url or"
                " cloud_environment right?" % (url.scheme, url.host, url.port, cloud.arm)
            )

    return judge


def only_in_secret(url: Url) -> None:
    """Secrets go over the network only with TLS, whatever token endpoint the sign-in service names."""
    if url.scheme != "https" and not is_loopback(url.host):
        raise ArmError(
            "The sign-in service leads to http://%s, where others could read the secret: nothing was sent there. Is"
            " adfs_authority_url or cloud_environment right?" % url.host
        )


def anywhere(_url: Url) -> None:
    """The token of a managed identity comes from this machine, and no secret is sent for it."""
