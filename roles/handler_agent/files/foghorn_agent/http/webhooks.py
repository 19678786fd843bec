# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells others, by HTTP, what the agent does: AWX, Event-Driven Ansible, any URL.

The agent only keeps the queue. Each request is sent by a process of its own, which may wait, fail, and load
the 5 MiB that TLS takes, all without the agent noticing.
"""

import json
import random
from collections import deque
from datetime import datetime, timezone
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence
from urllib.parse import urlsplit

from foghorn_core.scheduled_events.text import plain

from ..act.steps import Child
from ..decide.outcome import StepOutcome

TYPE_PREFIX = "io.foghorn.azure_events."
CLOUD_EVENT = "application/cloudevents+json; charset=utf-8"
PLAIN_JSON = "application/json"
PLAIN_TEXT = "text/plain; charset=utf-8"

_FIRST_BACKOFF = 1.0  # seconds
_LONGEST_BACKOFF = 60.0  # seconds
_LONGEST_RETRY_AFTER = 3600.0  # seconds
LONGEST_QUOTE = 200  # characters
_TIME_TO_START = 5.0  # seconds that the sending process has besides the request's own


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
    """Certificates, in PEM, of the authorities that may sign the server's. None: the system's."""
    timeout: float = 10.0
    """Seconds in all."""
    proxy: Optional[str] = None
    """`http://HOST[:PORT]`. None: no proxy, whatever the environment says."""


class Delivery(NamedTuple):
    """The result of one try."""

    delivered: bool
    may_retry: bool
    detail: str
    """The answer, for a log. It never contains the secret."""
    retry_after: Optional[float] = None
    """Seconds until the next try, if the server asked for a wait."""
    warning: Optional[str] = None
    """A warning: the request was delivered, and the receiver ignored a part of it."""


class Report(NamedTuple):
    """The result of a request, for a log."""

    request: Request
    delivered: bool
    is_final: bool
    """False: it will be tried again."""
    detail: str
    warning: Optional[str] = None
    """A warning: the request was delivered, and the receiver ignored a part of it."""


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
        self._command = command
        self._clock = clock
        self._jitter = jitter
        self._capacity = capacity
        self._patience = patience_seconds
        self._waiting: Deque[_Waiting] = deque()
        self._current: Optional[_Waiting] = None
        self._child: Optional[Child] = None
        self._failing: Dict[str, _Failing] = {}
        self._reports: List[Report] = []
        self._is_closed = False

    def __len__(self) -> int:
        """How many requests are still to be dealt with."""
        return len(self._waiting) + (self._current is not None)

    def add(self, request: Request) -> None:
        """Have a request sent, once those before it have been."""
        self._waiting.append(_Waiting(request, self._clock()))
        self._drop_oldest()

    def fileno(self) -> int:
        """The descriptor that becomes readable when `poll` has work, apart from timers. -1: none."""
        return -1 if self._child is None else self._child.fileno()

    def poll(self) -> List[Report]:
        """Continue the sending. Returns the results of requests since the last call."""
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
        """End the running request. Waiting requests are dropped, and nothing is repeated."""
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
            failing = self._failing.get(waiting.request.url)
            if failing is None or now >= failing.until:
                self._waiting.remove(waiting)
                self._current = waiting
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
            self._failing.pop(url, None)
            self._report(waiting, detail, delivered=True, warning=delivery.warning)
            return
        now = self._clock()
        if delivery.may_retry and not self._is_closed:
            failing = self._failing[url] = self._next_failure(url, delivery, now)
            if failing.until - waiting.added < self._patience:
                self._report(waiting, detail, is_final=False)
                self._waiting.appendleft(waiting)
                self._drop_oldest()
                return
            detail += "; given up after %d s" % (now - waiting.added)
        self._report(waiting, detail)

    def _next_failure(self, url: str, delivery: Delivery, now: float) -> "_Failing":
        failures = self._failing[url].failures + 1 if url in self._failing else 1
        wait = min(_LONGEST_BACKOFF, _FIRST_BACKOFF * 2.0 ** min(failures - 1, 10)) * (0.5 + 0.5 * self._jitter())
        return _Failing(now + max(wait, min(delivery.retry_after or 0.0, _LONGEST_RETRY_AFTER)), failures)

    def _drop_oldest(self) -> None:
        if len(self._waiting) > self._capacity:
            self._report(self._waiting.popleft(), "dropped: %d newer ones are waiting" % self._capacity)

    def _report(
        self,
        waiting: "_Waiting",
        detail: str,
        delivered: bool = False,
        is_final: bool = True,
        warning: Optional[str] = None,
    ) -> None:
        self._reports.append(Report(waiting.request, delivered, is_final, detail, warning))


class _Waiting(NamedTuple):
    request: Request
    added: float


class _Failing(NamedTuple):
    until: float
    failures: int


def _read_delivery(outcome: StepOutcome) -> Delivery:
    said = outcome.output.strip().rpartition("\n")[2]
    try:
        return Delivery(**json.loads(said))
    except (ValueError, TypeError):
        pass
    reason = outcome.reason or "no result"
    return Delivery(False, True, "%s: %s" % (reason, said[-LONGEST_QUOTE:]) if said else reason)


def shown_url(url: str) -> str:
    """A URL as a log may show it: without its path and its query, which may be keys."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "a URL that cannot be read"
    path = "/…" if parts.path.strip("/") or parts.query else "/"
    host = "[%s]" % host if ":" in host else host
    return plain("%s://%s%s%s" % (parts.scheme, host, "" if port is None else ":%d" % port, path)[:LONGEST_QUOTE])
