# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The client of ARM: reads, lists, writes, edits and waits.

One client for all modules of the control plane, on azure-mgmt-core: its retries, its sign-in, its polling
of long-running operations. All of them wait through one clock, so that a task never takes longer than it
was allowed to. What comes back is JSON or one clear error.

Source: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations and
https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional, TypeVar
from urllib.parse import quote, urlencode

from ..scheduled_events.deadline import Deadline
from ..scheduled_events.masking import mask
from .answers import (
    LONGEST_MESSAGE,
    Answer,
    Json,
    answer_of,
    encode,
    error_of,
    has_failed,
    is_busy,
    is_superseded,
    is_updating,
    shorten,
    versions_in,
)
from .cloud import Cloud, complete
from .credentials import CLI, MSI, SignIn, describe, make_credential
from .errors import (
    ArmError,
    Busy,
    Changed,
    Lost,
    NotFound,
    OperationFailed,
    OutOfTime,
    Superseded,
    Unfinished,
    UnknownVersion,
)
from .pipeline import Transport, anywhere, only_in_secret, only_to, open_pipeline, open_transport

COMPUTE_API_VERSION = "2026-04-01"
_SUBSCRIPTIONS_API_VERSION = "2022-12-01"

# A write that met another one is repeated, beginning with the read.
MOST_EDITS = 8
_EDIT_PAUSE = 1.0  # seconds
# Where Azure does not say when to ask again, as Compute never does. Of one operation, Compute allows 15 reads a minute.
# Source: https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits
POLL_INTERVAL = 5.0  # seconds
# Headers, in lower case, that lead to a long-running operation.
_FOLLOWED_BY = frozenset(["location", "azure-asyncoperation", "operation-location"])
# Network says with 429, too, that another operation holds the resource, and with 400 that one holds what it names.
_BUSY = frozenset([400, 409, 429])
# The look at the operation was refused, and not the operation.
_SAYS_NOTHING_OF_THE_END = frozenset([401, 403, 404, 408, 410, 429])
# Its message usually lists the valid versions.
_UNKNOWN_VERSION_CODES = frozenset(
    ["noregisteredproviderfound", "invalidapiversionparameter", "invalidresourcetype", "unsupportedapiversion"]
)
# With these, azure-identity signs a managed identity in with its federated token, at the sign-in service.
_OF_A_WORKLOAD = ("AZURE_AUTHORITY_HOST", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE")
_QUERY = re.compile(r"\?[^\s\"'()<>]+")
_ASCII = "".join(map(chr, range(128)))
_IN_PATHS = "/%:@!$&'()*+,;=~"
_READING_METHODS = frozenset(["GET", "HEAD"])
_View = TypeVar("_View")


class Permission(NamedTuple):
    """The permission that a request needs, for the message when it is missing."""

    action: str
    role: str
    """A built-in role that grants it."""
    where: str = "on the resource or above"


_LIST_SUBSCRIPTIONS = Permission("Microsoft.Resources/subscriptions/read", "Reader")

Write = Optional[Callable[[], Answer]]
"""Writes a change. None: there is nothing to write."""


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
        """The present work, for errors."""
        self.tell: Callable[[str], None] = lambda _line: None
        """Receives the progress of long work."""
        self._sleep = sleep
        self.sign_in = sign_in
        if sign_in.cloud.endpoints:
            self.sign_in = sign_in._replace(cloud=self._discover(sign_in.cloud, sign_in.cloud.endpoints))
        self._cloud = self.sign_in.cloud
        self._transport = self._open_transport_to(self._cloud)
        self._pipeline = open_pipeline(self._transport, self._cloud, credential or self._make_credential())
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
        """Whether Azure may still be working on the last request."""
        return self._may_have_begun

    @property
    def known_subscription_id(self) -> str | None:
        """The subscription that was set, or found since. None: no request has needed one so far."""
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
            raise OutOfTime("%s within %g s: check again later, or raise timeout" % (what, self.deadline.seconds))
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
            if not isinstance(following, str):
                raise ArmError("GET %s has a nextLink that is no text: %s" % (self._shown(path), shorten(following)))
            if following in seen:
                raise ArmError("GET %s never ends: Azure returned the same nextLink twice" % self._shown(path))
            seen.add(following)
            page = self.get(self._cloud.arm + following if following.startswith("/") else following, needs, "")

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
        """The same, once the operations of others that hold the resource are over; again, if one of them took the place
        of this one and it is repeatable.

        :raises ArmError: if that fails; `OutOfTime` if they are not over within the time limit
        """
        while True:
            try:
                return self.post(path, body, needs, api_version, wait, repeatable)
            except (Busy, Superseded) as error:
                if isinstance(error, Superseded) and not repeatable:
                    raise
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
        has happened. It counts as what it is, a change that was made here. So does one that a later operation took the
        place of, if the resource shows it: the later operation began with it. And so does one whose operation Azure
        does not show: Network does not know those of changes that were made at once, and a role on the resource alone
        does not reach them. If the resource then shows that it failed, so has the change.

        Source: https://github.com/Azure/azure-cli/issues/3330, https://github.com/hashicorp/go-azure-sdk/issues/989 and
        https://github.com/MicrosoftDocs/azure-docs/issues/111535

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
                if has_failed(answer.content):
                    raise OperationFailed("%s was changed, and then shows that this failed" % self._shown(path))
                if not is_updating(answer.content):
                    return unanswered[-1], answer
                self.wait(POLL_INTERVAL, "%s is still being changed" % self._shown(path))
                continue
            try:
                return found, write()
            except (Changed, Busy, Superseded, Lost) as error:
                if error.may_have_begun or isinstance(error, Superseded):
                    unanswered.append(found)
                overtaken += not isinstance(error, Busy)
                if overtaken == MOST_EDITS:
                    raise
                # Operations on a large set take long: only the task's time limit applies.
                pause = _EDIT_PAUSE if isinstance(error, Changed) else POLL_INTERVAL
                self.wait(pause, str(error).rstrip("."))

    def read_after(self, answer: Answer, path: str, needs: Permission) -> Json:
        """The resource after a change: as the answer shows it, otherwise as it is read now."""
        content = answer.content
        return content if isinstance(content, dict) and "properties" in content else self.get(path, needs)

    def _make_credential(self) -> Any:
        # This machine itself gives out a managed identity's tokens; in a pod with a workload identity the cloud does.
        is_local = self.sign_in.source == MSI and not all(map(os.environ.get, _OF_A_WORKLOAD))
        judge = anywhere if is_local else only_in_secret
        transport = open_transport(self, self._cloud.verify, through_proxy=not is_local, judge=judge)
        return make_credential(self.sign_in, transport)

    def _open_transport_to(self, cloud: Cloud) -> Transport:
        # A proxy is for the way out, and a simulator runs on this machine.
        return open_transport(self, cloud.verify, through_proxy=cloud.speaks_tls, judge=only_to(cloud))

    def _discover(self, cloud: Cloud, endpoints: str) -> Cloud:
        """Ask a cloud for its endpoints, which are public."""
        pipeline = open_pipeline(self._open_transport_to(cloud), cloud)
        from azure.core.rest import HttpRequest

        asked = self.asked = "GET %s" % endpoints
        with pipeline, self._clear_errors(asked):
            answer = answer_of(pipeline.send_request(HttpRequest("GET", endpoints)))
        try:
            return complete(cloud, answer.content)
        except ValueError as error:
            raise ArmError(
                "%s was answered with %d, %s. Is cloud_environment the address of an Azure Resource Manager?"
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
            raise ArmError(
                "GET %s did not answer with a JSON object: %s" % (self._shown(path), shorten(answer.content))
            )
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
                    raise ArmError("%s was accepted, but Azure returned no address to poll for its result" % asked)
                return self._poll(asked, needs)
        except ArmError as error:
            error.may_have_begun = self._may_have_begun
            raise

    @contextmanager
    def _clear_errors(self, asked: str) -> Iterator[None]:
        """Turn exceptions of the libraries into the errors of this package."""
        from azure.core.exceptions import AzureError, ClientAuthenticationError

        try:
            yield
        except RecursionError:
            raise ArmError("%s had no usable answer: its JSON is nested too deeply" % asked) from None
        except ClientAuthenticationError as error:
            if isinstance(error.__cause__, ArmError):
                raise error.__cause__ from None
            raise ArmError(self._explain_sign_in(error)) from None
        except OSError as error:
            # A federated token, the key of Azure Arc, a bundle of certificates.
            raise ArmError(
                "%s was not sent: %s. Check the file and who may read it" % (asked, self._redact(str(error)))
            ) from None
        except (AzureError, AttributeError, TypeError, ValueError) as error:
            # azure-core takes each answer for what it should be, and fails somehow if it is not.
            raise ArmError(
                "%s had no usable answer: %s. Is base_url or cloud_environment right, and is the network up?"
                # Exceptions of requests quote the URL, and a link of Azure's has a signature in its query.
                % (asked, self._redact(_QUERY.sub("?…", str(error))))
            ) from None

    def _send_first(self, request: Any, repeatable: bool) -> Answer:
        """Send a request that may begin something, and note whether it may have."""
        from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError

        self._may_have_begun = request.method != "GET"
        self._transport.may_have_acted = False
        try:
            answer = self._send(request, repeatable)
        except (ClientAuthenticationError, ServiceRequestError, OSError):
            # There was nothing to sign in to or with, or to ask.
            self._may_have_begun = False
            raise
        # Refused, perhaps because it has happened already, and the answer to an earlier attempt was lost.
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
        return answer_of(self._last.http_response)

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
            answer = answer_of(error.response)
            if answer.status >= 400:
                if 400 <= answer.status < 500 and answer.status not in _SAYS_NOTHING_OF_THE_END:
                    # The end of the operation itself, where it is followed by Location.
                    self._may_have_begun = False
                try:
                    # A role on the resource alone does not reach its operations.
                    its_own = Permission("to read operations", needs.role, "on the resource group or above")
                    self._check("%s was accepted, but later" % asked, answer, its_own)
                except Superseded:
                    raise
                except ArmError as refusal:
                    # This is not a refusal of the request itself: it must not be sent again.
                    kind = Lost if answer.status in (403, 404) else ArmError
                    raise kind(str(refusal), refusal.status, refusal.code) from None
            if isinstance(error.inner_exception, BadResponse):
                raise ArmError(
                    "%s was accepted, but Azure's answer does not contain its result: %s"
                    % (asked, shorten(answer.content)),
                    answer.status,
                ) from None
            self._may_have_begun = False
            status = str(polling.status())
            code, message = error_of(answer.content)
            raise (Superseded if is_superseded(answer.content) else OperationFailed)(
                "%s was accepted, but the operation ended as %s: %s"
                % (asked, status, self._redact(": ".join(filter(None, [code, message])) or "Azure gave no reason")),
                answer.status,
                code,
            ) from None
        final = polling.resource()
        # An operation that ends without a body has no result to show.
        return Answer(204, {}, None) if final is None else answer_of(final.http_response)

    def _check(self, asked: str, answer: Answer, needs: Permission) -> None:
        """Turn an answer that is no success into an error with a remedy."""
        if answer.status < 400:
            return
        code, message = error_of(answer.content)
        said = "%s was refused: %d%s" % (asked, answer.status, "".join(" %s" % code if code else ""))
        if not (code or message) and answer.content:
            # Some services write its names with capitals.
            message = shorten(answer.content)
        if message:
            said += ": " + self._redact(message)
        kind: type[ArmError] = ArmError
        if answer.status == 401:
            said += ". ARM did not accept %s: does it belong to this tenant and cloud?" % describe(self.sign_in)
        elif answer.status == 403 and str(code).lower() == "authorizationfailed":
            # A policy or a linked resource refuses with other codes (and a lock with a conflict): no role would help.
            said = ("%s was refused (403 %s): %s lacks the permission %s here. The role %s grants it, %s%s") % (
                asked,
                code,
                describe(self.sign_in),
                needs.action,
                needs.role,
                needs.where,
                ". Azure said: " + self._redact(message) if message else "",
            )
        elif str(code).lower() in _UNKNOWN_VERSION_CODES:
            unknown = UnknownVersion(said, answer.status, code)
            unknown.supported = versions_in(answer.content)
            raise unknown
        elif answer.status == 404:
            kind = NotFound
            said += ". Check the names, resource_group and subscription_id"
        elif is_superseded(answer.content):
            kind = Superseded
        elif answer.status in _BUSY and is_busy(message, answer.content):
            kind = Busy
        elif answer.status == 412:
            kind = Changed
        raise kind(said, answer.status, code)

    def _explain_sign_in(self, error: Exception) -> str:
        # Only the first line: the lines below are hints for programmers.
        said = str(getattr(error, "message", None) or error).strip() or "no reason given"
        reason = self._redact(said.splitlines()[0])
        # A managed identity's tokens, and those of the CLI, come from this machine.
        where = "" if self.sign_in.source in (CLI, MSI) else " at %s" % self._cloud.authority
        return "Signing in with %s%s failed: %s. Check the credentials, or choose another auth_source" % (
            describe(self.sign_in),
            where,
            reason.rstrip("."),
        )

    def _only_subscription(self) -> str:
        try:
            listed = list(self.list_all("/subscriptions", _LIST_SUBSCRIPTIONS, _SUBSCRIPTIONS_API_VERSION))
        except ArmError as error:
            if error.status not in (403, 404):
                raise
            raise ArmError(
                "subscription_id is not set, and the subscription could not be determined: set it, or "
                "AZURE_SUBSCRIPTION_ID. %s" % error,
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
            # An opaque link from ARM. Names of resources may have letters that no URL has, and a filter has spaces.
            address, mark, options = path.partition("?")
            return quote(address, safe=_ASCII) + mark + quote(options, safe=_ASCII.replace(" ", ""))
        query = {"api-version": api_version, **query}
        # The names that a user gave are escaped already.
        return "%s%s?%s" % (self._cloud.arm, quote(path, safe=_IN_PATHS), urlencode(query, quote_via=quote))

    def _shown(self, path: str) -> str:
        # Without the query, which may hold a token in a link from ARM.
        return (self._cloud.arm + path if path.startswith("/") else path).partition("?")[0]

    def _redact(self, text: str) -> str:
        return shorten(mask(text, [self.sign_in.secret or ""]), LONGEST_MESSAGE)


@contextmanager
def reporting(client: ArmClient, so_far: Callable[[], Any], done: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Report what was done, where an error or somebody ends work that has several parts.

    :param so_far: the outcome so far; None: nothing was done, and the error stays as it is
    :param done: what to say to somebody who has stopped the work, see `interrupted`
    :raises Unfinished: with the outcome so far
    """
    try:
        yield
    except (ArmError, KeyboardInterrupt) as error:
        outcome = so_far()
        if outcome is None:
            raise
        raise Unfinished(str(error) if isinstance(error, ArmError) else interrupted(client, done()), outcome) from error


def interrupted(client: ArmClient, done: str = "") -> str:
    """One line for somebody who has stopped a task.

    :param done: what is done, as far as is known
    """
    return "Interrupted at %s%s. %s. Run the task again: it reads the current state and continues" % (
        client.asked or "the beginning",
        done and ": " + done,
        "Azure continues the operations that it has accepted"
        if client.may_have_begun
        else "Azure runs no operation of this task",
    )


def _segment(name: str) -> str:
    return quote(name, safe="")
