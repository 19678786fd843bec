# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends one request of a webhook, in a process of its own, which may wait and fail without the agent noticing."""

import contextlib
import io
import json
import re
import socket
from typing import IO, Any, Dict, List, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import urlsplit

from foghorn_core.scheduled_events.deadline import Deadline
from foghorn_core.scheduled_events.http_connection import connect, time_left
from foghorn_core.scheduled_events.masking import mask
from foghorn_core.scheduled_events.text import plain
from foghorn_core.scheduled_events.url import is_loopback, parse_url

from ..platform import ownership
from .webhooks import LONGEST_QUOTE, Delivery, Request, shown_url

_LONGEST_SECRET = 4096  # bytes
_SHORTEST_SECRET = 6  # characters; a shorter secret may be part of an ordinary word
_LONGEST_ANSWER = 64 * 1024  # bytes
_PASSING_STATUSES = frozenset([408, 425, 429]) | frozenset(range(500, 600))
_SECRET = re.compile(r"[\t -~]+\Z")


def send(stdin: IO[str], stdout: IO[str]) -> None:
    """Read a `Request` as JSON, send it, and write the `Delivery` as JSON."""
    json.dump(deliver(Request(**json.load(stdin)))._asdict(), stdout)


def deliver(request: Request) -> Delivery:
    """Send a request, once. Waits for the answer, for as long as the request says and no longer.

    TLS is always verified, no redirect is followed, and no proxy is used but the request's own. The status decides:
    once it has come, an answer that goes on for ever was an answer.
    """
    try:
        target = split_url(request.url)
        headers = _headers(request, target)
        secret = ""
        if request.secret_file is not None:
            require_secrecy(request.url)
            secret = read_secret(request.secret_file)
            headers[request.secret_header] = request.secret_prefix + secret
    except ValueError as error:
        return Delivery(False, False, str(error))
    hidden = _secrets_of(request, secret)
    # Only this process needs these modules, and the 4 MiB that OpenSSL takes.
    import http.client

    try:
        response, answer = _exchange(request, target, headers)
    # CertificateError was a ValueError, and nothing else, in Python 3.6. Any other quotes a header that cannot be sent.
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Delivery(False, True, _line(mask("%s: %s" % (type(error).__name__, error), hidden)))
    told = mask(answer.decode("utf-8", "replace"), hidden)
    detail = "%d %s" % (response.status, mask(response.reason, hidden))
    if 300 <= response.status < 400:
        end = shown_url(mask(response.getheader("Location", "its end"), hidden))
        detail += ": redirects are not followed, set url to %s" % end
    elif response.status >= 400 and told.strip():
        detail += ": %s" % told
    detail = _line(detail)
    if 200 <= response.status < 300:
        return Delivery(True, False, detail, warning=_dropped_by_awx(told))
    return Delivery(
        False, response.status in _PASSING_STATUSES, detail, _seconds(response.getheader("Retry-After", ""))
    )


def _exchange(request: Request, target: "Target", headers: Mapping[str, str]) -> Tuple[Any, bytes]:
    """Send the request and read the answer: the response, and as much of its body as came in time."""
    import http.client
    import ssl

    deadline = Deadline(request.timeout)

    def bound(sock: Any) -> Any:
        """Give what a socket does next the time that is left. For each part of it, it begins anew."""
        sock.settimeout(time_left(deadline))
        return sock

    via = target if request.proxy is None else split_url(request.proxy)
    connection: Any = http.client.HTTPConnection(via.host, via.port)

    def response_class(sock: Any, *arguments: Any, **options: Any) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(sock, *arguments, **options)
        response.fp = io.BufferedReader(_Bounded(response.fp.detach(), sock, deadline))
        return response

    connection.response_class = response_class
    path = target.path
    if request.proxy is not None and not target.is_secure:
        path = "http://%s%s" % (headers["Host"], target.path)
    with contextlib.closing(connection):
        try:
            connection.sock = connect(via.host, via.port, deadline)
            if request.proxy is not None and target.is_secure:
                _open_tunnel(bound(connection.sock), target, response_class)
            if target.is_secure:
                context = _context(request.ca_file, ssl)
                connection.sock = context.wrap_socket(bound(connection.sock), server_hostname=target.host)
            bound(connection.sock)
            connection.request(request.method, path, request.body.encode("utf-8"), dict(headers))
            response = connection.getresponse()
        except (OSError, http.client.HTTPException):
            if deadline.remaining() <= 0:
                raise OSError("no answer within %g s" % request.timeout) from None
            raise
        return response, _read_answer(response, http.client.HTTPException)


def _open_tunnel(sock: Any, target: "Target", response_class: Any) -> None:
    """Have a proxy connect to the target. Before Python 3.13, http.client asks for an IPv6 address without brackets."""
    address = "%s:%d" % (_in_url(target.host), target.port)
    sock.sendall(("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (address, address)).encode("ascii"))
    with contextlib.closing(response_class(sock, method="CONNECT")) as response:
        response.begin()
        if response.status != 200:
            raise OSError("Tunnel connection failed: %d %s" % (response.status, response.reason))


class _Bounded(io.RawIOBase):
    """What a socket receives until an instant, as if it had ended then: its own timeout starts again with each byte."""

    def __init__(self, stream: Any, sock: Any, deadline: Deadline) -> None:
        self._stream = stream
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        try:
            self._sock.settimeout(time_left(self._deadline))
            return self._stream.readinto(buffer)
        except socket.timeout:
            return 0

    def close(self) -> None:
        self._stream.close()
        super().close()


class Target(NamedTuple):
    """A URL, taken apart."""

    is_secure: bool
    host: str
    port: int
    path: str
    """With the query."""


def split_url(url: str) -> Target:
    """Take a URL apart.

    :raises ValueError: if it is not of the form `http[s]://HOST[:PORT][/PATH][?QUERY]`. The message does not quote it,
        since it may be a secret
    """
    try:
        parts = parse_url(url)
    except ValueError as error:
        raise ValueError("url: %s. Put a password in secret_file, and encode special characters" % error) from None
    path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return Target(parts.scheme == "https", parts.host, parts.port, path)


def require_secrecy(url: str) -> None:
    """Refuse to send a secret where anybody on the way can read it.

    :raises ValueError: if the URL is neither https nor on this machine
    """
    target = split_url(url)
    if not target.is_secure and not is_loopback(target.host):
        raise ValueError("url: a secret is sent only over https")


def read_secret(path: str) -> str:
    """Read a secret: one line, in a file that is root's alone.

    :raises ValueError: if there is none, or it is no secret. The message does not have it in it
    """
    try:
        secret = ownership.read_private(path, _LONGEST_SECRET).decode("latin-1").strip()
    except ownership.UnsafePath as error:
        raise ValueError("secret_file: %s" % error) from None
    if not _SECRET.match(secret):
        raise ValueError(
            "secret_file: %s: holds no secret: give one line of ASCII, up to %d bytes" % (path, _LONGEST_SECRET)
        )
    return secret


def _headers(request: Request, target: Target) -> Dict[str, str]:
    host = _in_url(target.host)
    usual = 443 if target.is_secure else 80
    headers = {
        "Host": host if target.port == usual else "%s:%d" % (host, target.port),
        "Content-Type": request.content_type,
        "User-Agent": "foghorn-agent",
        "Connection": "close",
    }
    for name, value in request.headers:
        if not re.match(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", name) or not re.match(r"[\t -~]*\Z", value):
            raise ValueError("headers: %s: is not an HTTP header field" % name)
        # A configured header may replace one of these, in upper or lower case.
        headers = {ours: kept for ours, kept in headers.items() if ours.lower() != name.lower()}
        headers[name] = value
    return headers


def _in_url(host: str) -> str:
    return "[%s]" % host if ":" in host else host


def _context(ca_file: Optional[str], ssl: Any) -> Any:
    try:
        if ca_file is not None:
            ownership.check_path(ca_file)
        return ssl.create_default_context(cafile=ca_file)
    except ownership.UnsafePath as error:
        raise OSError("ca_file: %s" % error) from None
    except OSError as error:
        raise OSError("ca_file: %s: %s" % (ca_file, error)) from None


def _read_answer(response: Any, http_error: Any) -> bytes:
    try:
        return bytes(response.read(_LONGEST_ANSWER))
    except (OSError, http_error):
        # The status has come, and it decides: an error here would repeat a delivered request.
        return b""


def _secrets_of(request: Request, secret: str) -> List[str]:
    """What of a request is nobody's business: a receiver may quote it."""
    parts = urlsplit(request.url)
    hidden = [parts.query, *(value for _name, value in request.headers)]
    hidden += [value for pair in parts.query.split("&") for value in pair.split("=")[1:]]
    hidden += parts.path.split("/")
    return [secret, *(word for word in hidden if len(word) >= _SHORTEST_SECRET)]


def _line(text: str) -> str:
    """A text for a log, on one line and short. Mask it before: the rest of a secret that is cut off is not found."""
    return " ".join(text.split())[:LONGEST_QUOTE]


def _dropped_by_awx(answer: str) -> Optional[str]:
    """The variables that AWX ignored in a launch, although it answered 201."""
    try:
        content = json.loads(answer)
        ignored = content.get("ignored_fields") if isinstance(content, dict) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(ignored, dict) or not ignored:
        return None
    variables = ignored.get("extra_vars")
    names = [name for name in ignored if name != "extra_vars"]
    names += ["extra_vars.%s" % name for name in variables] if isinstance(variables, dict) else []
    names += ["extra_vars"] if variables is not None and not isinstance(variables, dict) else []
    return "AWX dropped %s: set ask_variables_on_launch, or the ask_… of that name, on the job template" % plain(
        ", ".join(sorted(names))[:LONGEST_QUOTE]
    )


def _seconds(text: str) -> Optional[float]:
    return float(text) if text.isdecimal() else None
