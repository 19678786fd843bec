# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells others, by HTTP, what the agent does: AWX, Event-Driven Ansible, any URL.

The agent only keeps the queue. Each request is sent by a process of its own, which may wait, fail, and load
the 5 MiB that TLS takes, all without the agent noticing.
"""

import contextlib
import ipaddress
import json
import os
import random
import re
import stat
from collections import deque
from datetime import datetime, timedelta, timezone
from string import Template
from typing import IO, Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple
from urllib.parse import urlsplit

from foghorn_core.document import Event, event_as_dict, format_date
from foghorn_core.text import plain

from .steps import Child, StepOutcome

TYPE_PREFIX = "io.foghorn.azure_events."
CLOUD_EVENT = "application/cloudevents+json; charset=utf-8"
PLAIN_JSON = "application/json"
PLAIN_TEXT = "text/plain; charset=utf-8"

_FIRST_BACKOFF = 1.0  # seconds
_LONGEST_BACKOFF = 60.0  # seconds
_LONGEST_RETRY_AFTER = 3600.0  # seconds
_LONGEST_SECRET = 4096  # bytes
_LONGEST_QUOTE = 200  # characters
_PASSING_STATUSES = frozenset([408, 425, 429]) | frozenset(range(500, 600))
_SECRET = re.compile(r"[\t -~]+\Z")
_LATER = re.compile(r"in_([0-9]{1,7})\Z")
_DEEPEST_BODY = 32  # levels
# A part of a path that is as long as this is most likely a key, as in the URLs of Slack and Teams.
_LONG_PART = 20  # characters
_SHORTEST_SECRET = 6  # characters; what is shorter is in many a harmless word
_TIME_TO_START = 5.0  # seconds that the sending process has besides the request's own
_LONGEST_ANSWER = 64 * 1024  # bytes


class Request(NamedTuple):
    """One request to send."""

    url: str
    body: str
    content_type: str = CLOUD_EVENT
    method: str = "POST"
    headers: Sequence[Sequence[str]] = ()
    """Names and values."""
    secret_file: Optional[str] = None
    """Read when the request is sent, by the process that sends it."""
    secret_header: str = "Authorization"
    secret_prefix: str = "Bearer "
    ca_file: Optional[str] = None
    """Certificates, in PEM, of those who may vouch for the server. None: those that the system trusts."""
    timeout: float = 10.0
    """Seconds in all."""
    proxy: Optional[str] = None
    """`http://HOST[:PORT]`. None: there is none, whatever the environment says."""


class Delivery(NamedTuple):
    """What became of one try."""

    delivered: bool
    may_retry: bool
    detail: str
    """What came back, for a log. The secret is never in it."""
    retry_after: Optional[float] = None
    """Seconds that the server asked to wait."""
    warning: Optional[str] = None
    """What was delivered, and yet not taken as it was meant."""


class Report(NamedTuple):
    """What became of a request, for a log."""

    request: Request
    delivered: bool
    is_final: bool
    """False: it will be tried again."""
    attempts: int
    detail: str
    warning: Optional[str] = None
    """What was delivered, and yet not taken as it was meant."""


class Counts(NamedTuple):
    """What became of all requests so far."""

    delivered: int = 0
    retried: int = 0
    failed: int = 0
    """Given up."""
    dropped: int = 0
    """Pushed out of the queue by newer ones."""


def cloud_event(
    stage: str, vm_name: str, event_id: str, source: str, time: datetime, data: Mapping[str, Any]
) -> Dict[str, Any]:
    """Make a CloudEvents 1.0 envelope. Its id is made of the arguments alone, so that a repetition has the same.

    :param stage: what happened, like `drain` or `approved`: the last part of the type
    :param source: who says so: a URI reference, such as the VM's resource id
    :param time: when it happened, to the microsecond, which tells a stage that ran twice from one that ran once
    """
    moment = time.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
    return {
        "specversion": "1.0",
        "id": "/".join((vm_name, event_id, stage, moment)),
        "source": source,
        "type": TYPE_PREFIX + stage,
        "subject": vm_name,
        "time": moment,
        "datacontenttype": PLAIN_JSON,
        "data": dict(data),
    }


def wrap(event: Mapping[str, Any], keys: Sequence[str]) -> Dict[str, Any]:
    """Put an envelope where a receiver wants it: AWX takes variables, under `extra_vars` and a name."""
    wrapped = dict(event)
    for key in reversed(keys):
        wrapped = {key: wrapped}
    return wrapped


# What a body may be made of, besides `in_SECONDS`.
FIELDS = (
    "text",
    "stage",
    "state",
    "time",
    "vm_name",
    "event_id",
    "event_type",
    "event_status",
    "event_source",
    "description",
    "resources",
    "not_before",
    "duration_in_seconds",
)


def fields_of(
    stage: str, record: Mapping[str, Any], event: Optional[Event], vm_name: str, event_id: str, time: datetime
) -> Dict[str, str]:
    """What a body may be made of, for one thing that happened. What is not known is empty.

    :param event: the one that it is about; None where there is none, or it is forgotten by now
    """
    told = event_as_dict(event, vm_name, time) if event is not None else {}
    told.update(
        stage=stage,
        # How far a stage has come, or how an event came to its end.
        state=record.get("state") or record.get("how"),
        time=format_date(time),
        vm_name=vm_name,
        event_id=event_id,
        resources=" ".join(told.get("resources", ())),
    )
    fields = {name: "" if told.get(name) is None else plain(str(told[name])) for name in FIELDS}
    of = " ".join(one for one in (fields["event_type"], fields["event_id"]) if one)
    words = " ".join(one for one in (stage, fields["state"]) if one)
    fields["text"] = "%s: %s%s" % (vm_name, words, " (%s)" % of if of else "")
    return fields


def fill(template: Any, fields: Mapping[str, str], time: datetime) -> Any:
    """Put the fields into every text of a body; names and all other values stay as they are.

    So what comes out is JSON of the same form whatever an event says: no quotation mark in it ends a text.

    :param time: that `in_SECONDS` is counted from
    """
    if isinstance(template, dict):
        return {name: fill(value, fields, time) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, fields, time) for value in template]
    return _Template(template).substitute(_Fields(fields, time)) if isinstance(template, str) else template


def troubles_with(template: Any, depth: int = 0) -> List[str]:
    """What is wrong with a body: fields that there are not, and dollars that begin none."""
    if depth > _DEEPEST_BODY:
        return ["is nested deeper than %d levels" % _DEEPEST_BODY]
    if isinstance(template, dict):
        template = list(template.values())
    if isinstance(template, list):
        return [trouble for value in template for trouble in troubles_with(value, depth + 1)]
    troubles = []
    for match in _Template.pattern.finditer(template if isinstance(template, str) else ""):
        name = match.group("named") or match.group("braced")
        if match.group("invalid") is not None:
            troubles.append("a $ begins no field: write $$ for a dollar")
        elif name is not None and name not in FIELDS and not _LATER.match(name):
            troubles.append("$%s is no field, only %s, in_SECONDS" % (name, ", ".join(FIELDS)))
    return troubles


class _Template(Template):
    flags = re.ASCII


class _Fields(Dict[str, str]):
    """The fields, and as many times as are asked for."""

    def __init__(self, fields: Mapping[str, str], time: datetime) -> None:
        super().__init__(fields)
        self._time = time

    def __missing__(self, name: str) -> str:
        match = _LATER.match(name)
        if match is None:
            raise KeyError(name)
        return format_date(self._time + timedelta(seconds=int(match.group(1))))


class WebhookQueue:
    """Sends requests in the order in which they came, one at a time, and repeats those that may yet succeed.

    While a URL does not answer, what goes to the others goes on. No method ever waits, or raises.

    :param command: what reads a request on its standard input and sends it: this program, running `send`
    :param clock: monotonic, in seconds
    :param jitter: gives a number from 0 to 1
    :param capacity: requests; more than that, and the oldest is dropped
    :param patience_seconds: how long a request is tried
    """

    def __init__(
        self,
        command: Sequence[str],
        clock: Callable[[], float],
        jitter: Callable[[], float] = random.random,
        capacity: int = 100,
        patience_seconds: float = 3600.0,
    ) -> None:
        self.counts = Counts()
        self._command = command
        self._clock = clock
        self._jitter = jitter
        self._capacity = capacity
        self._patience = patience_seconds
        self._waiting: Deque[_Waiting] = deque()
        self._current: Optional[_Waiting] = None
        self._child: Optional[Child] = None
        self._troubled: Dict[str, _Trouble] = {}
        self._reports: List[Report] = []
        self._is_closed = False

    def __len__(self) -> int:
        """How many requests are still to be dealt with."""
        return len(self._waiting) + (self._current is not None)

    def add(self, request: Request) -> None:
        """Have a request sent, once those before it have been."""
        self._waiting.append(_Waiting(request, self._clock(), 0))
        self._drop_oldest()

    def fileno(self) -> int:
        """What becomes readable when `poll` has something to do, besides the time; -1: nothing does."""
        return -1 if self._child is None else self._child.fileno()

    def poll(self) -> List[Report]:
        """Take the sending further; give what has become of requests since the last call."""
        if self._child is not None:
            outcome = self._child.poll()
            if outcome is not None:
                self._child = None
                self._conclude(outcome)
        if self._child is None:
            self._start_next()
        reports, self._reports = self._reports, []
        return reports

    def close(self) -> None:
        """End what is being sent. What waits is not sent any more, and not repeated."""
        self._is_closed = True
        self._waiting.clear()
        if self._child is not None:
            self._child.end("the agent stops", grace_seconds=0)

    def is_idle(self) -> bool:
        """Whether nothing is being sent."""
        return self._child is None or self._child.poll() is not None

    def _start_next(self) -> None:
        now = self._clock()
        for waiting in self._waiting:
            trouble = self._troubled.get(waiting.request.url)
            if trouble is None or now >= trouble.until:
                self._waiting.remove(waiting)
                self._current = waiting._replace(attempts=waiting.attempts + 1)
                timeout = waiting.request.timeout
                self._child = Child(
                    self._command,
                    {},
                    json.dumps(waiting.request._asdict()).encode("ascii"),
                    timeout + _TIME_TO_START,
                    "no answer within %g s" % timeout,
                    self._clock,
                    grace_seconds=0,
                )
                return

    def _conclude(self, outcome: StepOutcome) -> None:
        assert self._current is not None
        waiting, self._current = self._current, None
        url = waiting.request.url
        delivery = _read_delivery(outcome)
        detail = delivery.detail
        if delivery.delivered:
            self._troubled.pop(url, None)
            self._count(delivered=1)
            self._report(waiting, detail, delivered=True, warning=delivery.warning)
            return
        now = self._clock()
        if delivery.may_retry and not self._is_closed:
            trouble = self._troubled[url] = self._next_trouble(url, delivery, now)
            if trouble.until - waiting.added < self._patience:
                self._count(retried=1)
                self._report(waiting, detail, is_final=False)
                self._waiting.appendleft(waiting)
                self._drop_oldest()
                return
            detail += "; given up after %d s" % (now - waiting.added)
        self._count(failed=1)
        self._report(waiting, detail)

    def _next_trouble(self, url: str, delivery: Delivery, now: float) -> "_Trouble":
        failures = self._troubled[url].failures + 1 if url in self._troubled else 1
        wait = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(failures - 1, 10)) * (0.5 + 0.5 * self._jitter())
        return _Trouble(now + max(wait, min(delivery.retry_after or 0.0, _LONGEST_RETRY_AFTER)), failures)

    def _drop_oldest(self) -> None:
        if len(self._waiting) > self._capacity:
            self._count(dropped=1)
            self._report(self._waiting.popleft(), "dropped: %d newer ones are waiting" % self._capacity)

    def _count(self, **more: int) -> None:
        self.counts = self.counts._replace(**{name: getattr(self.counts, name) + one for name, one in more.items()})

    def _report(
        self,
        waiting: "_Waiting",
        detail: str,
        delivered: bool = False,
        is_final: bool = True,
        warning: Optional[str] = None,
    ) -> None:
        self._reports.append(Report(waiting.request, delivered, is_final, waiting.attempts, detail, warning))


class _Waiting(NamedTuple):
    request: Request
    added: float
    attempts: int


class _Trouble(NamedTuple):
    until: float
    failures: int


def _read_delivery(outcome: StepOutcome) -> Delivery:
    said = outcome.output.strip().rpartition("\n")[2]
    if outcome.succeeded:
        try:
            return Delivery(**json.loads(said))
        except (ValueError, TypeError):
            pass
    reason = outcome.reason or "no result"
    return Delivery(False, True, "%s: %s" % (reason, said[-_LONGEST_QUOTE:]) if said else reason)


# What follows runs in the process that sends one request.


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
    # The agent itself has no use for them, nor for the 4 MiB that OpenSSL takes.
    import http.client
    import ssl

    try:
        response, answer = _exchange(request, target, headers)
    # CertificateError was a ValueError, and nothing else, in Python 3.6.
    except (OSError, http.client.HTTPException, ssl.CertificateError) as error:
        return Delivery(False, True, _redacted("%s: %s" % (type(error).__name__, error), request, secret))
    detail = "%d %s" % (response.status, response.reason)
    if 300 <= response.status < 400:
        end = shown_url(response.getheader("Location", "its end"))
        detail += ": redirects are not followed, set url to %s" % end
    elif response.status >= 400 and answer.strip():
        detail += ": %s" % answer.decode("utf-8", "replace")
    detail = _redacted(detail, request, secret)
    if 200 <= response.status < 300:
        return Delivery(True, False, detail, warning=_dropped_by_awx(answer))
    return Delivery(
        False, response.status in _PASSING_STATUSES, detail, _seconds(response.getheader("Retry-After", ""))
    )


def _exchange(request: Request, target: "Target", headers: Mapping[str, str]) -> Tuple[Any, bytes]:
    """Send the request and read the answer: the response, and as much of its body as came in time."""
    import http.client
    import socket
    import ssl
    import threading

    via = target if request.proxy is None else split_url(request.proxy)
    connection = http.client.HTTPConnection(via.host, via.port, timeout=request.timeout)
    path = target.path
    if request.proxy is not None and target.is_secure:
        connection.set_tunnel(target.host, target.port)
    elif request.proxy is not None:
        path = "http://%s%s" % (headers["Host"], target.path)
    is_late = threading.Event()
    with contextlib.ExitStack() as opened:
        opened.callback(connection.close)
        connection.connect()
        # The same connection by another descriptor: whatever TLS does with the first one, this ends it. The timeout of
        # a socket begins anew with each byte.
        same = opened.enter_context(connection.sock.dup())

        def hang_up() -> None:
            is_late.set()
            with contextlib.suppress(OSError):
                same.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(request.timeout, hang_up)
        opened.callback(timer.join)
        opened.callback(timer.cancel)
        timer.start()
        try:
            if target.is_secure:
                context = _context(request.ca_file, ssl)
                connection.sock = context.wrap_socket(connection.sock, server_hostname=target.host)
            connection.request(request.method, path, request.body.encode("utf-8"), dict(headers))
            response = connection.getresponse()
        except (OSError, http.client.HTTPException):
            if is_late.is_set():
                raise OSError("no answer within %g s" % request.timeout) from None
            raise
        return response, _read_answer(response, http.client.HTTPException)


class Target(NamedTuple):
    """A URL, taken apart."""

    is_secure: bool
    host: str
    port: int
    path: str
    """With the query."""


def split_url(url: str) -> Target:
    """Take a URL apart.

    :raises ValueError: if it is not of the form `http[s]://HOST[:PORT][/PATH][?QUERY]`
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError("url: %s: %s" % (shown_url(url), error)) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url: %s does not have the form https://HOST[:PORT]/PATH" % shown_url(url))
    if parts.username is not None:
        raise ValueError("url: has a user name in it: put the secret in secret_file")
    if parts.fragment or any(character <= " " or character > "~" for character in url):
        raise ValueError(
            "url: %s has a fragment, spaces or characters beyond ASCII in it: encode them" % shown_url(url)
        )
    is_secure = parts.scheme == "https"
    path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return Target(is_secure, parts.hostname, port if port is not None else 443 if is_secure else 80, path)


def shown_url(url: str) -> str:
    """A URL as a log may show it: without its query, and without what in its path is most likely a key."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "a URL that cannot be read"
    path = "/".join("***" if len(part) >= _LONG_PART else part for part in parts.path.split("/"))
    host = "[%s]" % host if ":" in host else host
    return plain("%s://%s%s%s" % (parts.scheme, host, "" if port is None else ":%d" % port, path)[:_LONGEST_QUOTE])


def require_secrecy(url: str) -> None:
    """Refuse to send a secret where anybody on the way can read it.

    :raises ValueError: if the URL is neither https nor on this machine
    """
    parts = urlsplit(url)
    if parts.scheme == "https":
        return
    try:
        is_here = parts.hostname == "localhost" or ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise ValueError("url: %s: a secret is sent by https only" % shown_url(url))


def read_secret(path: str) -> str:
    """Read a secret: one line, in a file that not everybody may read.

    :raises ValueError: if there is none, or it is no secret. The message does not have it in it
    """
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_LONGEST_SECRET + 1)
    except OSError as error:
        raise ValueError("secret_file: %s: %s" % (path, error.strerror)) from None
    if mode & stat.S_IRWXO:
        raise ValueError("secret_file: %s: everybody may use it (mode %o): chmod o= it" % (path, stat.S_IMODE(mode)))
    secret = content.decode("latin-1").strip()
    if not _SECRET.match(secret) or len(content) > _LONGEST_SECRET:
        raise ValueError(
            "secret_file: %s: holds no secret: give one line of ASCII, up to %d bytes" % (path, _LONGEST_SECRET)
        )
    return secret


def _headers(request: Request, target: Target) -> Dict[str, str]:
    host = "[%s]" % target.host if ":" in target.host else target.host
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
        # A header may be given to replace one of ours, however it is spelled.
        headers = {ours: kept for ours, kept in headers.items() if ours.lower() != name.lower()}
        headers[name] = value
    return headers


def _context(ca_file: Optional[str], ssl: Any) -> Any:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise OSError("ca_file: %s: %s" % (ca_file, error)) from None


def _read_answer(response: Any, http_error: Any) -> bytes:
    try:
        return bytes(response.read(_LONGEST_ANSWER))
    except (OSError, http_error):
        # The status has come, and it decides: were this an error, what was delivered would be sent again.
        return b""


def _redacted(text: str, request: Request, secret: str) -> str:
    """A text for a log, on one line and short, with nothing in it that is nobody's business."""
    parts = urlsplit(request.url)
    hidden = [secret, parts.query, *(value for _name, value in request.headers)]
    hidden += [value for pair in parts.query.split("&") for value in pair.split("=")[1:]]
    hidden += [part for part in parts.path.split("/") if len(part) >= _LONG_PART]
    # Before anything is cut off: a part of it might stay otherwise. The longest first: one may be in the other.
    for word in sorted(hidden, key=len, reverse=True):
        if word and (word == secret or len(word) >= _SHORTEST_SECRET):
            text = text.replace(word, "***")
    return " ".join(text.split())[:_LONGEST_QUOTE]


def _dropped_by_awx(answer: bytes) -> Optional[str]:
    """What a launch of AWX's says that it has left out, although it answered 201."""
    try:
        content = json.loads(answer.decode("utf-8"))
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
        ", ".join(sorted(names))[:_LONGEST_QUOTE]
    )


def _seconds(text: str) -> Optional[float]:
    return float(text) if text.isdigit() and len(text) < 10 else None
