# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The client of the metadata service.

The one module of the core that does I/O: plain HTTP to the Instance Metadata Service, over a
connection that is kept, with retries on exactly the answers that deserve one, and never for longer
than the caller allows. No proxy is ever used, whatever the environment says.

Sources: https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events and
https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
"""

import json
import math
import random
import re
import socket
import time
from datetime import datetime, timezone
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple

from .dates import parse_date
from .deadline import Deadline
from .document import API_VERSIONS, GENERAL_API_VERSION, NEWEST_API_VERSION, Document, parse_document, parse_metadata
from .errors import DocumentError, OutOfTime, ProtocolError, Refused, TooLarge, Unreachable
from .http_connection import Answer, HttpConnection, first_to_come
from .strict_json import parse_json
from .text import sanitize_line, sanitize_word
from .url import parse_url

DEFAULT_ENDPOINT = "http://169.254.169.254"
DEFAULT_TIMEOUT = 150.0
DEFAULT_CONNECT_TIMEOUT = 5.0
INSTANCE_API_VERSION = "2021-12-13"

EVENTS_PATH = "/metadata/scheduledevents"
COMPUTE_PATH = "/metadata/instance/compute"

# 410: the service is moving. 429: over 5 requests a second, by anything on this VM.
_PASSING_STATUSES = frozenset([410, 429]) | frozenset(range(500, 600))
# What broke down, or a gateway before it, may have acted.
_SAY_NOTHING_OF_THE_REQUEST = frozenset([500, 502, 504])
_RETRIED_STATUSES = {
    # 404: nobody has asked for the events of this VM before, and the service is not enabled yet.
    EVENTS_PATH: _PASSING_STATUSES | frozenset([404]),
    COMPUTE_PATH: _PASSING_STATUSES,
}

_HEADERS = {"Metadata": "true", "Accept": "application/json"}
_HEADERS_WITH_BODY = dict(_HEADERS, **{"Content-Type": "application/json"})

# An answer can be lost with the host's own restart, and would be waited for in vain. Each further attempt gets twice
# the time, so that a service that is slow gets its answer out.
_PATIENCE = 10.0  # seconds
# Whoever asks for the events first enables the service, which takes up to two minutes.
_PATIENCE_AT_FIRST = 130.0  # seconds

_FORM = "http://HOST[:PORT]"
_FIRST_BACKOFF = 0.5  # seconds
_LONGEST_BACKOFF = 10.0  # seconds
# More than Azure will ever send: 2,500 events, of which each is told.
_LARGEST_ANSWER = 1024 * 1024  # bytes
_LONGEST_QUOTE = 300  # characters
# What an answer says of a version that it does not have. An address or XML that it repeats has `version=`.
_INVALID_VERSION = re.compile(r"(?is)(?=.*version(?!\s*=))(?=.*(?:invalid|unsupported|unknown|not (?:support|valid)))")
# A machine may be moved, at any time, to a host whose metadata service has another newest version.
_NEWEST_AGAIN_AFTER = 3600.0  # seconds


class _Request(NamedTuple):
    """What IMDS is asked."""

    name: str
    """Method and URL."""
    content: bytes
    """As it is sent."""
    path: str
    older: "Optional[_Request]" = None
    """The same in the version that every metadata service has, for one that lacks this version."""


class Identity(NamedTuple):
    """Which VM this is."""

    vm_name: str
    scale_set: str
    """The name of its scale set; empty if it is in none."""
    resource_id: str = ""
    """Its id in Azure, which tells it from VMs of the same name in other resource groups; empty if it was not told."""
    vm_id: str = ""
    """Its unique id, which a VM that is made again under the same name does not have; empty if it was not told."""


class ImdsClient:
    """Asks one IMDS, over one connection, which is opened when needed. A context manager; not thread-safe.

    :param endpoint: `http://HOST[:PORT]`
    :param api_version: of Scheduled Events. None: the newest; a metadata service that refuses it is asked at once with
        the newest that is generally available, and if it has that, an hour later with the newest again
    :param connect_timeout: seconds within which the first connection must be made. Until one is, this is
        the limit for all tries together; after that, the limit for each new connection
    :param clock: monotonic, in seconds
    :param wall_clock: seconds since the epoch, for a `Retry-After` that is a date
    :param jitter: gives a number from 0 to 1
    :param hedge_after: seconds after which a request whose answer has not begun is sent over a second connection,
        beside the first: its answer may be lost, or just take long. An answer that has begun may take as long. None:
        there is only one connection
    :param longest_wait: seconds between two tries, whatever IMDS asks for
    :raises ValueError: if the endpoint is not of that form, or the version nothing that can be in a URL
    """

    def __init__(
        self,
        endpoint: str = DEFAULT_ENDPOINT,
        api_version: Optional[str] = None,
        connect_timeout: float = DEFAULT_CONNECT_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
        hedge_after: Optional[float] = None,
        longest_wait: float = math.inf,
    ) -> None:
        self._host, self._port = split_endpoint(endpoint)
        self._hedge_after = hedge_after
        self._longest_wait = longest_wait
        self.endpoint = endpoint.rstrip("/")
        self.api_version = api_version
        self.connect_timeout = connect_timeout
        self._clock = clock
        self._wall_clock = wall_clock
        self._sleep = sleep
        self._jitter = jitter
        self._was_reached = False
        self._is_enabled = False
        self._connection = HttpConnection(self._host, self._port)
        self._newest_again = -math.inf
        self._request_for_events = self._about_events("GET")
        # Most answers are the same as the one before: whoever asks every second need not parse each of them.
        self._latest: Optional[Tuple[bytes, Document]] = None

    def __enter__(self) -> "ImdsClient":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def lacks_newest_version(self) -> bool:
        """Whether, within the last hour, this metadata service refused the newest version and answered the older."""
        return self._clock() < self._newest_again

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        self._connection.close()

    def read_document(self, deadline: Deadline) -> Document:
        """Ask for the events of this VM's scope. The first call ever may take two minutes: it enables the service.

        :raises ImdsError: if there is no answer that can be used within the deadline
        :raises DocumentError: if the answer is not a document
        """
        answer = self._ask(self._request_for_events, deadline)
        if self._latest is None or answer.body != self._latest[0]:
            try:
                self._latest = answer.body, parse_document(answer.body)
            except DocumentError as error:
                raise self._unusable(error) from None
        return self._latest[1]

    def approve(self, event_ids: Sequence[str], deadline: Deadline) -> None:
        """Let these events start now, for all of their resources. Safe to repeat.

        :param event_ids: exactly as the document writes them
        :raises ImdsError: if IMDS did not accept within the deadline
        """
        body = json.dumps({"StartRequests": [{"EventId": event_id} for event_id in event_ids]}).encode("ascii")
        self._ask(self._about_events("POST", body), deadline)

    def read_compute(self, deadline: Deadline) -> Dict[str, Any]:
        """Ask who this VM is: `name`, `vmId`, `resourceId`, `vmScaleSetName`, `zone` and more.

        :raises ImdsError: if there is no answer that can be used within the deadline
        :raises DocumentError: if the answer is not a JSON object
        """
        answer = self._ask(self._prepare("GET", COMPUTE_PATH, INSTANCE_API_VERSION), deadline)
        try:
            return parse_metadata(answer.body)
        except DocumentError as error:
            raise self._unusable(error) from None

    def read_identity(self, deadline: Deadline) -> Identity:
        """Ask for the Azure name of this VM, which events use, and is not the hostname; and for its scale set.

        :raises ImdsError: if there is no answer that can be used within the deadline
        :raises DocumentError: if the answer has no name in it
        """
        try:
            compute = self.read_compute(deadline)
        except Refused as error:
            raise Refused(
                "%s. The name of this VM is not known: set vm_name" % error,
                error.attempts,
                error.last_outcome,
                error.status,
            ) from None
        name = compute.get("name")
        if not isinstance(name, str) or not name:
            raise DocumentError("IMDS at %s does not say the name of this VM: set vm_name" % self.endpoint)
        others = [compute.get(key) for key in ("vmScaleSetName", "resourceId", "vmId")]
        return Identity(sanitize_word(name), *(sanitize_word(one) if isinstance(one, str) else "" for one in others))

    def _unusable(self, error: DocumentError) -> DocumentError:
        return DocumentError("The answer of IMDS at %s cannot be used: %s" % (self.endpoint, error))

    def _prepare(self, method: str, path: str, api_version: str, body: Optional[bytes] = None) -> _Request:
        target = "%s?api-version=%s" % (path, api_version)
        headers = _HEADERS if body is None else _HEADERS_WITH_BODY
        return _Request(
            "%s %s%s" % (method, self.endpoint, target),
            self._connection.request(method, target, headers, body),
            path,
        )

    def _about_events(self, method: str, body: Optional[bytes] = None) -> _Request:
        if self.api_version is not None:
            return self._prepare(method, EVENTS_PATH, self.api_version, body)
        older = self._prepare(method, EVENTS_PATH, GENERAL_API_VERSION, body)
        return self._prepare(method, EVENTS_PATH, NEWEST_API_VERSION, body)._replace(older=older)

    def _ask(self, request: _Request, deadline: Deadline) -> Answer:
        began = self._clock()
        may_enable = request is self._request_for_events and not self._is_enabled
        if request.older is not None and self.lacks_newest_version:
            request = request.older
        patience = _PATIENCE_AT_FIRST if may_enable else _PATIENCE
        attempts = 0
        lacks_newest = may_have_acted = False
        while True:
            attempts += 1
            reused = self._connection.is_ready()
            was_sent = False
            retry_after = 0.0
            try:
                if not reused:
                    self._connect(began, deadline)
                attempt = Deadline(min(patience, deadline.remaining()), self._clock)
                was_sent = True
                answer = self._exchange(request.content, attempt)
            except TooLarge:
                raise DocumentError("IMDS answered with more than %d MiB" % (_LARGEST_ANSWER // 2**20)) from None
            except (OSError, ProtocolError) as error:
                outcome = _describe_error(error)
                if isinstance(error, socket.timeout):
                    patience *= 2
                # The server had closed a connection that stood idle: nothing failed, and nothing to wait for.
                wait = 0.0 if reused and _is_hangup(error) else self._backoff(attempts)
                may_have_acted = may_have_acted or was_sent
            else:
                is_empty = _is_empty(request, answer)
                if 200 <= answer.status < 300 and not is_empty:
                    self._is_enabled = self._is_enabled or request.path == EVENTS_PATH
                    if lacks_newest:
                        self._newest_again = self._clock() + _NEWEST_AGAIN_AFTER
                    return answer
                if request.older is not None and answer.status in (400, 404):
                    # Whatever it says of it: the answer to the older version tells what is wrong, if anything.
                    request, attempts, lacks_newest = request.older, attempts - 1, True
                    continue
                outcome = _describe_answer(answer) + (" without a body" if is_empty else "")
                is_passing = is_empty or answer.status in _RETRIED_STATUSES[request.path]
                if not is_passing or _refuses_version(answer):
                    raise self._refused(request, answer, attempts, outcome, may_have_acted)
                may_have_acted = may_have_acted or answer.status in _SAY_NOTHING_OF_THE_REQUEST
                retry_after = self._retry_after(answer)
                wait = min(max(self._backoff(attempts), retry_after), self._longest_wait)
            self._pause(wait, request, began, deadline, attempts, outcome, retry_after)

    def _pause(
        self,
        wait: float,
        request: _Request,
        began: float,
        deadline: Deadline,
        attempts: int,
        outcome: str,
        retry_after: float,
    ) -> None:
        """Sleep before the next try, unless that would come too late: after a sleep that has lasted longer as well."""
        while True:
            waited = self._clock() - began
            if not self._was_reached and waited + wait >= self.connect_timeout:
                raise Unreachable(
                    "IMDS at %s did not answer within %g s (%s, the last: %s): is this an Azure VM? Set endpoint to "
                    "the address of its IMDS, or raise connect_timeout"
                    % (self.endpoint, self.connect_timeout, _times(attempts), outcome),
                    attempts,
                    outcome,
                )
            if wait >= deadline.remaining():
                raise OutOfTime(
                    "%s had no usable answer within %g s (%s, the last: %s): try again later, or raise timeout"
                    % (request.name, deadline.seconds, _times(attempts), outcome),
                    attempts,
                    outcome,
                    retry_after if retry_after > 0 else None,
                )
            if wait <= 0:
                return
            self._sleep(wait)
            wait = 0.0

    def _refused(self, request: _Request, answer: Answer, attempts: int, outcome: str, may_have_acted: bool) -> Refused:
        advice = ""
        if request.path == EVENTS_PATH and _refuses_version(answer):
            # The versions that such an answer lists are those of the whole metadata service.
            tried = (self.api_version,) if self.api_version else (NEWEST_API_VERSION, GENERAL_API_VERSION)
            others = [version for version in reversed(API_VERSIONS) if version not in tried]
            advice = ". Set api_version to one of Scheduled Events: %s" % ", ".join(others)
        elif "location" in answer.headers:
            advice = ". Redirects are not followed: set endpoint to IMDS itself"
        return Refused(
            "%s was refused: %s%s" % (request.name, outcome, advice), attempts, outcome, answer.status, may_have_acted
        )

    def _exchange(self, content: bytes, attempt: Deadline) -> Answer:
        first, patience = self._connection, self._hedge_after
        if patience is None:
            return first.exchange(content, attempt, _LARGEST_ANSWER)
        first.send(content, attempt)
        chosen = first_to_come([first], min(patience, attempt.remaining()))
        if chosen is None:
            chosen = self._ask_hedged(first, content, attempt, patience)
        return chosen.receive(Deadline(min(patience, attempt.remaining()), self._clock), _LARGEST_ANSWER)

    def _ask_hedged(self, first: HttpConnection, content: bytes, attempt: Deadline, patience: float) -> HttpConnection:
        """Ask over a second connection, too, and go on with the one whose answer comes first."""
        second = HttpConnection(self._host, self._port)
        chosen: Optional[HttpConnection] = None
        try:
            second.open(min(patience, attempt.remaining()))
            second.send(content, attempt)
            chosen = first_to_come([first, second], attempt.remaining())
        except OSError:
            chosen = first_to_come([first], attempt.remaining())
        finally:
            for connection in (first, second):
                if connection is not chosen:
                    connection.close()
        if chosen is None:
            raise socket.timeout("timed out")
        self._connection = chosen
        return chosen

    def _connect(self, began: float, deadline: Deadline) -> None:
        limit = self.connect_timeout
        if not self._was_reached:
            limit -= self._clock() - began
        self._connection.open(min(limit, deadline.remaining()))
        self._was_reached = True

    def _backoff(self, attempts: int) -> float:
        longest = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(attempts - 1, 10))
        return longest * (0.5 + 0.5 * self._jitter())

    def _retry_after(self, answer: Answer) -> float:
        value = answer.headers.get("retry-after", "").strip()
        # Not isdigit, which takes a superscript for a digit where float does not.
        if value.isdecimal() and len(value) < 10:
            return float(value)
        try:
            return (parse_date(value) - datetime.fromtimestamp(self._wall_clock(), timezone.utc)).total_seconds()
        except ValueError:
            return 0.0


def split_endpoint(endpoint: str) -> "tuple[str, int]":
    """Take `http://HOST[:PORT]` apart into host and port. A slash at its end may stay.

    :raises ValueError: if it is anything else. IMDS speaks neither TLS nor passwords, and its paths are its own
    """
    host, port, path = split_url(endpoint)
    if path:
        raise ValueError("must not have a path, because IMDS has its own: leave %s out" % path)
    return host, port


def split_url(url: str) -> "tuple[str, int, str]":
    """Take `http://HOST[:PORT][/PATH]` apart into host, port and path, which does not end in a slash.

    :raises ValueError: if it is anything else
    """
    if not url.lower().startswith("http:"):
        raise ValueError("must begin with http://, because IMDS supports only HTTP")
    parts = parse_url(url, _FORM)
    if "?" in url:
        raise ValueError("must have the form %s" % _FORM)
    return parts.host, parts.port, parts.path.rstrip("/")


def _is_hangup(error: Exception) -> bool:
    return isinstance(error, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError))


def _describe_error(error: Exception) -> str:
    if isinstance(error, socket.timeout):
        return "no answer in time"
    return "%s: %s" % (type(error).__name__, error) if str(error) else type(error).__name__


def _describe_answer(answer: Answer) -> str:
    said = _error_text(answer)
    return "%d %s%s" % (answer.status, sanitize_line(answer.reason, _LONGEST_QUOTE), ": %s" % said if said else "")


def _error_text(answer: Answer) -> str:
    said = _field_of(answer, "error")
    text = said if isinstance(said, str) else answer.body[: 4 * _LONGEST_QUOTE].decode("utf-8", "replace")
    return sanitize_line(text, _LONGEST_QUOTE)


def _is_empty(request: _Request, answer: Answer) -> bool:
    """Whether nothing came of what was to be read, which happens and passes."""
    return 200 <= answer.status < 300 and request.name.startswith("GET") and not answer.body.strip()


def _refuses_version(answer: Answer) -> bool:
    if answer.status not in (400, 404):
        return False
    return _field_of(answer, "newest-versions") is not None or bool(_INVALID_VERSION.match(_error_text(answer)))


def _field_of(answer: Answer, name: str) -> Any:
    try:
        content = parse_json(answer.body)
    except DocumentError:
        return None
    return content.get(name) if isinstance(content, dict) else None


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else "%d attempts" % attempts
