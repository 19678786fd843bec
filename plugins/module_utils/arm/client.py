# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How is ARM asked?

One client for all modules of the control plane, on azure-mgmt-core: its retries, its sign-in, its polling
of long-running operations. All of them wait through one clock, so that a task never takes longer than it
was allowed to. What comes back is JSON or one clear error.

Source: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations and
https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling
"""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Optional, TypeVar
from urllib.parse import quote, urlencode, urljoin, urlsplit

from ..scheduled_events.deadline import Deadline
from .cloud import Cloud, complete
from .credentials import MSI, SignIn, describe, make_credential
from .errors import ArmError, Busy, Changed, MissingLibrary, NotFound, OperationFailed, OutOfTime, UnknownVersion

COMPUTE_API_VERSION = "2026-04-01"
_SUBSCRIPTIONS_API_VERSION = "2022-12-01"

# A write that met another one is tried again, from reading on.
MOST_EDITS = 8
_EDIT_PAUSE = 1.0  # seconds
# Where Azure does not say when to ask again.
POLL_INTERVAL = 5.0  # seconds
_CONNECT_TIMEOUT = 10.0  # seconds
_READ_TIMEOUT = 60.0  # seconds
# A page of Resource Graph has 16 MB at most.
_LARGEST_ANSWER = 32 * 1024 * 1024  # bytes
_DEEPEST_ANSWER = 100  # levels
_CHUNK = 64 * 1024  # bytes
_MASK = b"********"
_MOST_RETRIES = 10
_STABLE_VERSION = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b(?!-)")
_QUOTA_RESETS_AFTER = re.compile(r"([0-9]{1,3}):([0-5][0-9]):([0-5][0-9])")
# Headers, in lower case, that lead to a long-running operation.
_FOLLOWED_BY = frozenset(["location", "azure-asyncoperation", "operation-location"])
# Refused is the look at the operation, and not what it does.
_SAYS_NOTHING_OF_THE_END = frozenset([401, 403, 404, 408, 410, 429])
_PORTS = {"http": 80, "https": 443}
_LONGEST_QUOTE = 600  # characters
_LONGEST_MESSAGE = 4000  # characters
# Another operation holds the resource: it will be over by itself.
_BUSY_CODES = frozenset(
    [
        "anotheroperationinprogress",
        "retryableerror",
        "retryableerrorduetoanotheroperation",
        "conflictingconcurrentwritenotallowed",
    ]
)
# As a rule its message lists those that there are.
_UNKNOWN_VERSION_CODES = frozenset(
    ["noregisteredproviderfound", "invalidapiversionparameter", "invalidresourcetype", "unsupportedapiversion"]
)
# These say the same, but also things that will never pass: here the message tells.
_PERHAPS_BUSY_CODES = frozenset(["conflict", "operationnotallowed"])
_BUSY_MESSAGE = re.compile(
    r"concurrent request|another operation|operation[^.]* in progress|operation[^.]* (?:currently|still) running",
    re.IGNORECASE,
)

# The answer of a gateway, or of a service that broke down on the way: 503 is of one that has not begun.
_SAYS_NOTHING_OF_THE_REQUEST = frozenset([500, 502, 504])
_READING_METHODS = frozenset(["GET", "HEAD"])

Json = dict[str, Any]
_View = TypeVar("_View")


class Permission(NamedTuple):
    """What a request needs, for the message when it is missing."""

    action: str
    role: str
    """A built-in role that grants it."""


_LIST_SUBSCRIPTIONS = Permission("Microsoft.Resources/subscriptions/read", "Reader")


class Answer(NamedTuple):
    """One answer, or what a long-running operation came to."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    content: Any


Write = Optional[Callable[[], Answer]]
"""What writes a change; None: there is nothing to write."""


class ArmClient:
    """Asks one ARM as one identity. A context manager; not thread-safe.

    :param credential: of azure-identity, or anything with its `get_token`
    :param deadline: for everything that this client does, waits included
    :param sleep: seconds
    :raises MissingLibrary: if azure-mgmt-core or requests is not installed
    :raises ArmError: if the cloud has to be asked for its addresses, and that fails
    """

    def __init__(
        self,
        sign_in: SignIn,
        deadline: Deadline,
        credential: Any = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.deadline = deadline
        self.asked = ""
        """What is under way, for errors."""
        self.tell: Callable[[str], None] = lambda _line: None
        """Told how far long work is, for whoever watches it."""
        self._sleep = sleep
        self.sign_in = sign_in
        if sign_in.cloud.endpoints:
            self.sign_in = sign_in._replace(cloud=self._discover(sign_in.cloud, sign_in.cloud.endpoints))
        self._cloud = self.sign_in.cloud
        self._transport = self._open_transport_to(self._cloud)
        self._pipeline = _open_pipeline(self._transport, self._cloud, credential or self._make_credential())
        self._subscription_id = sign_in.subscription_id
        self._compute_version = COMPUTE_API_VERSION
        self._compute_since = ("", "")
        self._may_have_begun = False

    def __enter__(self) -> ArmClient:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._pipeline.close()

    @property
    def subscription_id(self) -> str:
        """The subscription that was set, or the only one that this identity sees."""
        if self._subscription_id is None:
            self._subscription_id = self._only_subscription()
        return self._subscription_id

    @property
    def may_have_begun(self) -> bool:
        """Whether Azure may be at work on what it was asked for last."""
        return self._may_have_begun

    @property
    def known_subscription_id(self) -> str | None:
        """The subscription that was set, or found out since; None: no request has needed one so far."""
        return self._subscription_id

    def compute_id(self, resource_group: str, kind: str, *names: str) -> str:
        """The id of a resource of Microsoft.Compute, below a subscription and resource group.

        :param kind: `virtualMachines`, `virtualMachineScaleSets`, `availabilitySets`
        """
        return "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/%s/%s" % (
            _segment(self.subscription_id),
            _segment(resource_group),
            kind,
            "/".join(_segment(name) for name in names),
        )

    def need_compute(self, version: str, what: str) -> None:
        """Say since which api-version Microsoft.Compute knows what will be asked for.

        A cloud that lags behind (Azure Stack Hub, a sovereign one) is asked in the newest version that it has, as
        long as that is not older.

        :param what: for the error
        :raises ArmError: if it has been found out already that this cloud has none
        """
        self._compute_since = max(self._compute_since, (version, what))
        if self._compute_version < version:
            raise ArmError(self._explain_version([self._compute_version]))

    def wait(self, seconds: float, what: str) -> None:
        """Sleep, if the time limit allows it.

        :param what: what is waited for, for the error
        :raises OutOfTime: if the time limit would end before
        """
        if seconds >= self.deadline.remaining():
            raise OutOfTime("%s within %g s: look again later, or set timeout higher" % (what, self.deadline.seconds))
        self._sleep(seconds)

    def get(self, path: str, needs: Permission, api_version: str = COMPUTE_API_VERSION, **query: str) -> Json:
        """Read a resource.

        :raises ArmError: if that fails; `NotFound` if there is none
        """
        content: Json = self._read(path, needs, api_version, query).content
        return content

    def list_all(
        self, path: str, needs: Permission, api_version: str = COMPUTE_API_VERSION, **query: str
    ) -> Iterator[Json]:
        """Read all pages of a list.

        :raises ArmError: if that fails
        """
        page = self.get(path, needs, api_version, **query)
        seen = set()
        while True:
            yield from page.get("value") or []
            following = page.get("nextLink")
            if not following:
                return
            if following in seen:
                raise ArmError("GET %s has no end: the same nextLink came twice" % self._shown(path))
            seen.add(following)
            page = self.get(urljoin(self._cloud.arm, following), needs, "")

    def post(
        self,
        path: str,
        body: Json | None,
        needs: Permission,
        api_version: str = COMPUTE_API_VERSION,
        wait: bool = True,
        repeatable: bool = False,
    ) -> Answer:
        """Run an action of a resource.

        :param wait: to its end, if it is a long-running one
        :param repeatable: whether twice is the same as once, so that it may be sent again where its answer was lost
        :raises ArmError: if that fails
        """
        return self._request("POST", path, api_version, needs, body=body, wait=wait, repeatable=repeatable)

    def post_when_free(
        self,
        path: str,
        body: Json | None,
        needs: Permission,
        api_version: str = COMPUTE_API_VERSION,
        wait: bool = True,
        repeatable: bool = False,
    ) -> Answer:
        """The same, once the operations of others that hold the resource are over.

        :raises ArmError: if that fails; `OutOfTime` if they are not over within the time limit
        """
        while True:
            try:
                return self.post(path, body, needs, api_version, wait, repeatable)
            except Busy as error:
                self.wait(POLL_INTERVAL, str(error).rstrip("."))

    def write(
        self,
        method: str,
        path: str,
        body: Json,
        etag: str | None,
        needs: Permission,
        wait: bool = True,
        api_version: str = COMPUTE_API_VERSION,
    ) -> Answer:
        """Write a resource, unless it is another one by now. Where the answer is lost, it is written again.

        :param method: `PATCH` or `PUT`
        :param etag: the one that was read; None: Azure showed none
        :param wait: until the operation has ended
        :raises ArmError: if that fails; `Changed` if the resource is not the one that was read any more
        """
        headers = {"If-Match": etag} if etag else {}
        return self._request(method, path, api_version, needs, body=body, headers=headers, wait=wait, repeatable=True)

    def edit(
        self,
        path: str,
        read: Permission,
        plan: Callable[[Json, str | None], tuple[_View, Write]],
        api_version: str = COMPUTE_API_VERSION,
    ) -> tuple[_View, Answer | None]:
        """Read a resource and change it; when somebody else was faster, from reading on again.

        Somebody else may have been this client: a change whose answer is lost is sent again, and refused because it
        has happened. It counts as what it is, a change that was made here.

        :param plan: given the resource and its etag, None if Azure shows none: what it found, and what writes the
            change, None if nothing is to be written
        :returns: what `plan` found before the change, or when there was none to make; and the answer to the change, or
            the resource as it was read after it, None if nothing was written
        :raises ArmError: if that fails
        """
        overtaken = 0
        unanswered: list[_View] = []
        while True:
            answer = self._read(path, read, api_version)
            found, write = plan(answer.content, answer.content.get("etag") or answer.headers.get("etag"))
            if write is None:
                if not unanswered:
                    return found, None
                if not is_updating(answer.content):
                    return unanswered[-1], answer
                self.wait(POLL_INTERVAL, "%s is still being changed" % self._shown(path))
                continue
            try:
                return found, write()
            except (Changed, Busy) as error:
                if error.may_have_begun:
                    unanswered.append(found)
                overtaken += isinstance(error, Changed)
                if overtaken == MOST_EDITS:
                    raise
                # Operations on a large set take their time: the task's time limit is the only one.
                pause = _EDIT_PAUSE if isinstance(error, Changed) else POLL_INTERVAL
                self.wait(pause, str(error).rstrip("."))

    def _make_credential(self) -> Any:
        # A managed identity's tokens come from this very machine.
        is_local = self.sign_in.source == MSI
        return make_credential(self.sign_in, _open_transport(self, self._cloud.verify, through_proxy=not is_local))

    def _open_transport_to(self, cloud: Cloud) -> _Transport:
        # A proxy is for the way out, and a simulator is on this machine.
        return _open_transport(self, cloud.verify, through_proxy=cloud.speaks_tls)

    def _discover(self, cloud: Cloud, endpoints: str) -> Cloud:
        """Ask a cloud for its addresses, which it tells anybody."""
        pipeline = _open_pipeline(self._open_transport_to(cloud), cloud)
        from azure.core.rest import HttpRequest

        asked = self.asked = "GET %s" % endpoints
        with pipeline, self._clear_errors(asked):
            answer = _answer_of(pipeline.send_request(HttpRequest("GET", endpoints)))
        try:
            return complete(cloud, answer.content)
        except ValueError as error:
            raise ArmError(
                "%s was answered with %d, and %s. Is cloud_environment the address of an Azure Resource Manager?"
                % (asked, answer.status, error),
                answer.status,
            ) from None

    def _read(
        self,
        path: str,
        needs: Permission,
        api_version: str = COMPUTE_API_VERSION,
        query: Mapping[str, str] | None = None,
    ) -> Answer:
        answer = self._request("GET", path, api_version, needs, query=query)
        if not isinstance(answer.content, dict):
            raise ArmError("GET %s did not answer with a JSON object: %s" % (self._shown(path), _quote(answer.content)))
        return answer

    def _request(
        self,
        method: str,
        path: str,
        api_version: str,
        needs: Permission,
        body: Json | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        wait: bool = True,
        repeatable: bool = False,
    ) -> Answer:
        is_compute = api_version == COMPUTE_API_VERSION
        if is_compute:
            api_version = self._compute_version
        try:
            return self._request_in_version(method, path, api_version, needs, body, headers, query, wait, repeatable)
        except UnknownVersion as error:
            if not is_compute or api_version != COMPUTE_API_VERSION or not error.supported:
                raise
            self._compute_version = self._newest_of(error.supported)
        return self._request_in_version(
            method, path, self._compute_version, needs, body, headers, query, wait, repeatable
        )

    def _newest_of(self, supported: Sequence[str]) -> str:
        since, _what = self._compute_since
        known = [version for version in supported if since <= version <= COMPUTE_API_VERSION]
        if not known:
            raise ArmError(self._explain_version(supported))
        return max(known)

    def _explain_version(self, supported: Sequence[str]) -> str:
        since, what = self._compute_since
        return "%s cannot do that: %s need Microsoft.Compute %s or later, and its newest is %s" % (
            self._cloud.arm,
            what,
            since,
            max(supported),
        )

    def _request_in_version(
        self,
        method: str,
        path: str,
        api_version: str,
        needs: Permission,
        body: Json | None,
        headers: Mapping[str, str] | None,
        query: Mapping[str, str] | None,
        wait: bool,
        repeatable: bool,
    ) -> Answer:
        from azure.core.rest import HttpRequest

        asked = self.asked = "%s %s" % (method, self._shown(path))
        all_headers = {"Accept": "application/json", **(headers or {})}
        content = None
        if body is not None:
            all_headers["Content-Type"] = "application/json"
            content = encode(body)
        url = self._url(path, api_version, query or {})
        try:
            with self._clear_errors(asked):
                first = self._send_first(HttpRequest(method, url, headers=all_headers, content=content), repeatable)
                self._check(asked, first, needs)
                if not wait or method == "GET":
                    return first
                if method == "POST" and first.status == 202 and not _FOLLOWED_BY.intersection(first.headers):
                    raise ArmError("%s was accepted, but Azure does not say where its end can be seen" % asked)
                return self._poll(asked, needs)
        except ArmError as error:
            error.may_have_begun = self._may_have_begun
            raise

    @contextmanager
    def _clear_errors(self, asked: str) -> Iterator[None]:
        """Say in our words what the libraries raise."""
        from azure.core.exceptions import AzureError, ClientAuthenticationError

        try:
            yield
        except RecursionError:
            raise ArmError("%s had no usable answer: its JSON is nested too deeply" % asked) from None
        except ClientAuthenticationError as error:
            if isinstance(error.__cause__, ArmError):
                raise error.__cause__ from None
            raise ArmError(self._explain_sign_in(error)) from None
        except AzureError as error:
            raise ArmError(
                "%s had no usable answer: %s. Is base_url or cloud_environment right, and is the network up?"
                % (asked, self._redact(str(error)))
            ) from None

    def _send_first(self, request: Any, repeatable: bool) -> Answer:
        """Send what may begin something, and note whether it may have."""
        from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

        self._may_have_begun = request.method != "GET"
        self._transport.may_have_acted = False
        try:
            answer = self._send(request, repeatable)
        except (ClientAuthenticationError, ServiceRequestError):
            # Nobody was there to sign in to, or to ask.
            self._may_have_begun = False
            raise
        # Refused: but perhaps because it has happened, where the answer to an earlier attempt was lost.
        if 400 <= answer.status < 500 and not self._transport.may_have_acted:
            self._may_have_begun = False
        return answer

    def _send(self, request: Any, repeatable: bool) -> Answer:
        self._last = self._pipeline.send_request(
            request,
            _return_pipeline_response=True,
            enforce_https=self._cloud.speaks_tls,
            retry_on_methods=_READING_METHODS | ({request.method} if repeatable else set()),
        )
        return _answer_of(self._last.http_response)

    def _poll(self, asked: str, needs: Permission) -> Answer:
        """Follow a long-running operation to its end; an answer that was final already stays as it is."""
        from azure.core.exceptions import HttpResponseError
        from azure.core.polling.base_polling import BadResponse
        from azure.mgmt.core.polling.arm_polling import ARMPolling

        polling = ARMPolling(POLL_INTERVAL, enforce_https=self._cloud.speaks_tls)
        try:
            polling.initialize(self._pipeline, self._last, lambda response: response)
            polling.run()
        except HttpResponseError as error:
            if error.response is None:
                raise
            answer = _answer_of(error.response)
            if answer.status >= 400:
                if 400 <= answer.status < 500 and answer.status not in _SAYS_NOTHING_OF_THE_END:
                    # The operation's own end, where it is followed by Location.
                    self._may_have_begun = False
                try:
                    self._check("%s was accepted, but later" % asked, answer, needs)
                except ArmError as refusal:
                    # Not as what the request itself would have been refused for: it must not be sent again.
                    raise ArmError(str(refusal), refusal.status, refusal.code) from None
            if isinstance(error.inner_exception, BadResponse):
                raise ArmError(
                    "%s was accepted, but Azure's answer does not say what became of it: %s"
                    % (asked, _quote(answer.content)),
                    answer.status,
                ) from None
            self._may_have_begun = False
            status = str(polling.status())
            code, message = _error_of(answer.content)
            raise OperationFailed(
                "%s was accepted, but the operation ended as %s: %s"
                % (asked, status, self._redact(": ".join(filter(None, [code, message])) or "Azure gave no reason")),
                answer.status,
                code,
            ) from None
        final = polling.resource()
        # What comes to its end without a body has none to show.
        return Answer(204, {}, None) if final is None else _answer_of(final.http_response)

    def _check(self, asked: str, answer: Answer, needs: Permission) -> None:
        """Turn an answer that is no success into an error that says what to do."""
        if answer.status < 400:
            return
        code, message = _error_of(answer.content)
        said = "%s was refused: %d%s" % (asked, answer.status, "".join(" %s" % code if code else ""))
        if message:
            said += ": " + self._redact(message)
        kind: type[ArmError] = ArmError
        if answer.status == 401:
            said += ". ARM did not accept %s: is it of this tenant and cloud?" % describe(self.sign_in)
        elif answer.status == 403 and str(code).lower() == "authorizationfailed":
            # A policy or a linked resource refuses with other codes (and a lock with a conflict): no role would help.
            said = (
                "%s was refused (403 %s): %s must not do %s here. The role %s grants it, on the resource or above%s"
                % (
                    asked,
                    code,
                    describe(self.sign_in),
                    needs.action,
                    needs.role,
                    ". Azure said: " + self._redact(message) if message else "",
                )
            )
        elif str(code).lower() in _UNKNOWN_VERSION_CODES:
            unknown = UnknownVersion(said, answer.status, code)
            unknown.supported = _versions_in(answer.content)
            raise unknown
        elif answer.status == 404:
            kind = NotFound
            said += ". Check the names, resource_group and subscription_id"
        elif answer.status == 409 and _is_busy(code, message, answer.content):
            kind = Busy
        elif answer.status == 412:
            kind = Changed
        raise kind(said, answer.status, code)

    def _explain_sign_in(self, error: Exception) -> str:
        # Only the first line: below it are hints for programmers.
        said = str(getattr(error, "message", None) or error).strip() or "no reason given"
        reason = self._redact(said.splitlines()[0])
        return "Signing in with %s at %s failed: %s. Check the credentials, or choose another auth_source" % (
            describe(self.sign_in),
            self._cloud.authority,
            reason.rstrip("."),
        )

    def _only_subscription(self) -> str:
        try:
            listed = list(self.list_all("/subscriptions", _LIST_SUBSCRIPTIONS, _SUBSCRIPTIONS_API_VERSION))
        except ArmError as error:
            if error.status not in (403, 404):
                raise
            raise ArmError(
                "subscription_id is not set, and which one it is cannot be found out: set it, or AZURE_SUBSCRIPTION_ID."
                " %s" % error,
                error.status,
                error.code,
            ) from None
        seen = [str(one["subscriptionId"]) for one in listed if one.get("subscriptionId")]
        if len(seen) != 1:
            raise ArmError(
                "subscription_id is not set, and %s sees %d subscriptions, not one: set it, or AZURE_SUBSCRIPTION_ID"
                % (describe(self.sign_in), len(seen))
            )
        return seen[0]

    def _url(self, path: str, api_version: str, query: Mapping[str, str]) -> str:
        if not path.startswith("/"):
            # A link that ARM gave, opaque.
            return path
        return "%s%s?%s" % (self._cloud.arm, path, urlencode({"api-version": api_version, **query}, quote_via=quote))

    def _shown(self, path: str) -> str:
        # Without the query: in a link of ARM's that may hold a token.
        return (self._cloud.arm + path if path.startswith("/") else path).partition("?")[0]

    def _redact(self, text: str) -> str:
        for secret in self.sign_in.secrets:
            text = text.replace(secret, "********")
        return _quote(text, _LONGEST_MESSAGE)


def interrupted(client: ArmClient, done: str = "") -> str:
    """One line for somebody who has stopped a task.

    :param done: what is done, as far as is known
    """
    return "Interrupted at %s%s. %s. Run the task again: it looks at what is there, and continues" % (
        client.asked or "the beginning",
        done and ": " + done,
        "Azure goes on with what it has accepted" if client.may_have_begun else "Azure is at work on nothing of it",
    )


def encode(body: Json) -> bytes:
    """Write a request's body: the keys in their order, nothing between them."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


class _Transport:
    """What a pipeline of azure-core's sends through, and waits through: within the deadline."""

    def __init__(self, client: ArmClient, inner: Any) -> None:
        self._client = client
        self._inner = inner
        self._is_throttled = False
        self.may_have_acted = False
        """Whether an answer was lost since this was last set to False, and Azure may have acted upon the request."""

    def __enter__(self) -> _Transport:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._inner.__exit__(*exc_info)

    def open(self) -> None:
        self._inner.open()

    def close(self) -> None:
        self._inner.close()

    def send(self, request: Any, **kwargs: Any) -> Any:
        remaining = self._client.deadline.remaining()
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
                "%s: the answer was not whole within %g s: look again later, or set timeout higher"
                % (self._client.asked, self._client.deadline.seconds)
            )
        response, error = outcome[0]
        if error is not None:
            raise error
        return response

    def sleep(self, duration: float) -> None:
        what = "Azure was not done"
        if self._is_throttled:
            what = "Azure has had too many requests (429), and wants none for %g s. It was not asked again" % duration
        self._client.wait(duration, "%s: %s" % (self._client.asked, what))


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


def _open_transport(client: ArmClient, verify: bool, through_proxy: bool) -> _Transport:
    try:
        from azure.core.pipeline.transport import RequestsTransport
    except ImportError as error:
        raise MissingLibrary("azure-mgmt-core and requests (%s)" % error) from None
    inner = RequestsTransport(connection_verify=verify, use_env_settings=through_proxy)
    inner.open()
    for scheme in _PORTS:
        inner.session.mount(scheme + "://", _make_adapter(client))
    return _Transport(client, inner)


def _make_adapter(client: ArmClient) -> Any:
    """Make what requests sends through: it takes an answer of limited size, with the caller's token masked in it."""
    from requests.adapters import HTTPAdapter
    from urllib3 import Retry

    class Adapter(HTTPAdapter):
        def send(self, request: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            """Send, and read all of the answer."""
            response = super().send(request, **dict(kwargs, stream=True))
            content = bytearray()
            for chunk in response.iter_content(_CHUNK):
                content += chunk
                if client.deadline.remaining() <= 0:
                    # Nobody waits for it any more.
                    response.close()
                    raise OutOfTime(client.asked)
                if len(content) > _LARGEST_ANSWER:
                    response.close()
                    raise ArmError(
                        "%s had no usable answer: it has more than %d MiB" % (client.asked, _LARGEST_ANSWER // 2**20)
                    )
            _scheme, _space, token = str(request.headers.get("Authorization", "")).partition(" ")
            # An error may quote what it was asked with.
            response._content = bytes(content).replace(token.encode(), _MASK) if token else bytes(content)
            return response

    return Adapter(max_retries=Retry(total=False, redirect=False, raise_on_status=False))


def _open_pipeline(transport: _Transport, cloud: Cloud, credential: Any = None) -> Any:
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
        # Not among them: the policy that registers a missing resource provider. A module that was not asked
        # to do that must not.
        policies=[
            policies.RequestIdPolicy(),
            policies.UserAgentPolicy(base_user_agent="foghorn.azure_events"),
            _make_retries(policies.RetryPolicy),
            policies.CustomHookPolicy(raw_request_hook=lambda request: _check_host(request, cloud)),
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


def is_updating(resource: Json) -> bool:
    """Whether an operation is at work on a resource."""
    return str((resource.get("properties") or {}).get("provisioningState")).lower() == "updating"


def _check_host(request: Any, cloud: Cloud) -> None:
    """Let no token go anywhere but to the cloud's own ARM, wherever a link in an answer leads.

    :raises ArmError: if the request would
    """
    url = request.http_request.url
    own, other = urlsplit(cloud.arm), urlsplit(url)
    # ARM has a host for each region below its own.
    is_below = own.scheme == "https" and (other.hostname or "").endswith("." + str(own.hostname))
    same_port = (other.port or _PORTS.get(other.scheme)) == (own.port or _PORTS[own.scheme])
    if other.scheme != own.scheme or not same_port or not (other.hostname == own.hostname or is_below):
        raise ArmError(
            "Azure's answer leads to %s://%s, which is not %s: nothing was sent there. Is base_url or"
            " cloud_environment right?" % (other.scheme, other.netloc.rpartition("@")[2], cloud.arm)
        )


def _answer_of(response: Any) -> Answer:
    body = response.read() if hasattr(response, "read") else response.body()
    try:
        content = json.loads(body) if body.strip() else None
    except ValueError:
        content = body.decode("utf-8", "replace")
    if _is_deeper_than(_DEEPEST_ANSWER, content):
        raise RecursionError
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, content)


def _is_deeper_than(levels: int, content: Any) -> bool:
    layer = [content]
    for _level in range(levels):
        layer = [
            child
            for value in layer
            if isinstance(value, (dict, list))
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    return any(isinstance(value, (dict, list)) for value in layer)


def _error_of(content: Any) -> tuple[str | None, str]:
    """Code and message of an error, with or without the envelope, that of the first detail added."""
    if not isinstance(content, dict):
        return None, _quote(content) if content else ""
    error = content.get("error")
    error = error if isinstance(error, dict) else content
    code = error.get("code")
    messages = [str(error["message"])] if error.get("message") else []
    for detail in _details_of(error):
        if detail.get("message") and str(detail["message"]) not in messages:
            messages.append(": ".join(str(part) for part in (detail.get("code"), detail["message"]) if part))
    return (str(code) if code else None), _quote("; ".join(messages), _LONGEST_MESSAGE)


def _details_of(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    details = error.get("details")
    return [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []


def _versions_in(content: Any) -> tuple[str, ...]:
    """The stable api-versions that an error says there are."""
    error = content.get("error") if isinstance(content, dict) else None
    message = str(error.get("message")) if isinstance(error, dict) else ""
    return tuple(_STABLE_VERSION.findall(message.partition("supported")[2]))


def _is_busy(code: str | None, message: str, content: Any) -> bool:
    error = content.get("error") if isinstance(content, dict) else None
    details = _details_of(error if isinstance(error, dict) else {})
    codes = {str(one).lower() for one in (code, *(detail.get("code") for detail in details))}
    return bool(codes & _BUSY_CODES or (codes & _PERHAPS_BUSY_CODES and _BUSY_MESSAGE.search(message)))


def _segment(name: str) -> str:
    return quote(name, safe="")


def _quote(value: Any, longest: int = _LONGEST_QUOTE) -> str:
    text = " ".join((value if isinstance(value, str) else repr(value)).split())
    if len(text) <= longest:
        return text
    # What a refusal is about stands at its end: the linked scope that a right is missing on.
    return "%s … %s" % (text[: longest // 2], text[-longest // 2 :])
