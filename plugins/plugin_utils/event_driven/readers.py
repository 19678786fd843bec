# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The places from which events are read: agents, Resource Graph, the metadata service.

Four ways, each a coroutine that reads all there is once. What blocks runs in a thread that nobody has to wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...module_utils.arm.client import ArmClient
from ...module_utils.arm.credentials import SignIn
from ...module_utils.arm.errors import ArmError
from ...module_utils.arm.lifecycle_hook_events import ACTIVE
from ...module_utils.arm.lifecycle_hook_events import list_events as list_hook_events
from ...module_utils.arm.lifecycle_hooks import KIND as SCALE_SETS
from ...module_utils.arm.options import Places
from ...module_utils.arm.resource_graph import list_events, subscriptions_of
from ...module_utils.scheduled_events.deadline import Deadline
from ...module_utils.scheduled_events.document import event_from_dict
from ...module_utils.scheduled_events.errors import DocumentError, OptionError
from ...module_utils.scheduled_events.event import UNREADABLE, Event, same_name
from ...module_utils.scheduled_events.operations import open_client
from ...module_utils.scheduled_events.options import ConnectionOptions
from ...module_utils.scheduled_events.signature import is_answer_signed, new_nonce, sign_question
from ...module_utils.scheduled_events.strict_json import parse_json
from ...module_utils.scheduled_events.text import sanitize_line
from .announcement import LIFECYCLE_HOOK, SCHEDULED_EVENT, event_of_hook
from .hosts import group_of
from .options import AGENTS, IMDS, LIFECYCLE_HOOKS, Options

if TYPE_CHECKING:
    import aiohttp

_LARGEST_ANSWER = 1024 * 1024  # bytes
_LONGEST_BACKOFF = 300.0  # seconds
_LONGEST_QUOTE = 200  # characters
# More would push what others say out of the source's memory.
_MOST_EVENTS = 100

_Result = TypeVar("_Result")


class Found(NamedTuple):
    """An event, as one source reports it."""

    event: Event
    reported_by: str
    """The kind of source."""
    resource_id: str | None = None
    is_finished: bool = False
    kind: str = SCHEDULED_EVENT
    reporter: str = ""
    """The VM whose agent says so; empty if Azure does."""

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it this event of this reporter: an agent may lie, and changes nothing of what others say."""
        return self.kind, self.event.event_id, self.reporter

    @property
    def statement(self) -> tuple[str, ...]:
        """All that is said of the event but its status: members of a shared event say the same."""
        others = sorted(self.event.other_fields.items())
        return "statement", self.kind, repr(self.event._replace(event_status="", other_fields={})), repr(others)

    @property
    def group_id(self) -> str | None:
        """The id of the resource group of its VMs, where that is known."""
        return group_of(self.resource_id)


class Reading(NamedTuple):
    """The result of one reading."""

    found: list[Found]
    problems: Mapping[str, str] = {}
    """The problem of each source, by the source's name."""


class Reader(NamedTuple):
    """A way to read events, which is open as long as its context."""

    read: Callable[[], Awaitable[Reading]]
    close: Callable[[], Awaitable[None]]


class NoAnswer(Exception):
    """An agent gave no usable status. The message says what it answered."""


def open_reader(options: Options, clock: Callable[[], float] = time.monotonic) -> Reader:
    """Create the reader for these options. Call it in a running event loop."""
    if options.source == AGENTS:
        agents = Agents(options, clock)
        return Reader(agents.read, agents.close)

    async def nothing_to_close() -> None:
        pass

    if options.source == IMDS:
        return Reader(lambda: _read_imds(options.connection), nothing_to_close)
    if options.sign_in is None:
        raise OptionError("source: %s needs a sign-in to Azure" % options.source)
    sign_in = options.sign_in
    if options.source == LIFECYCLE_HOOKS:
        return Reader(lambda: _read_hooks(sign_in, options.scale_sets, options.timeout), nothing_to_close)
    return Reader(lambda: _read_resource_graph(sign_in, options.places, options.timeout), nothing_to_close)


class Agents:
    """Asks the agents of many VMs for their status, so many at a time.

    One that does not answer is asked less and less often, up to every five minutes, so that those who are gone do not
    hold up the others.
    """

    def __init__(self, options: Options, clock: Callable[[], float]) -> None:
        try:
            # This package is missing where ansible-core's own tests import this file; ansible-rulebook brings it.
            import aiohttp
        except ImportError as error:
            raise OptionError("source: agents needs the Python library aiohttp (%s)" % error) from None

        self._failure = aiohttp.ClientError
        self._options = options
        self._clock = clock
        self._problems: dict[str, str] = {}
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._turns = asyncio.Semaphore(options.parallel)
        # No proxy, whatever the environment says, no cookies, and no kept connections, which agents do not support.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=options.parallel, force_close=True),
            timeout=aiohttp.ClientTimeout(total=options.timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "foghorn-eda"},
        )

    async def read(self) -> Reading:
        """Ask all agents that are due."""
        now = self._clock()
        due = [name for name in self._options.agents if self._not_before.get(name, now) <= now]
        tasks = [asyncio.ensure_future(self._ask_in_turn(name)) for name in due]
        try:
            events = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        problems = {
            "the agent of %s at %s" % (name, self._options.agents[name]): problem
            for name, problem in self._problems.items()
        }
        found = [Found(event, "agent", reporter=name) for name, some in zip(due, events, strict=True) for event in some]
        return Reading(found, problems)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _ask_in_turn(self, name: str) -> list[Event]:
        async with self._turns:
            try:
                events = await self._ask(name)
            except (NoAnswer, DocumentError) as error:
                self._note(name, str(error))
            except asyncio.TimeoutError:
                self._note(name, "no answer within %g s" % self._options.timeout)
            except (self._failure, OSError, ValueError) as error:
                self._note(name, sanitize_line("%s: %s" % (type(error).__name__, error), _LONGEST_QUOTE))
            else:
                for kept in (self._problems, self._failures, self._not_before):
                    kept.pop(name, None)
                return events
        return []

    async def _ask(self, name: str) -> list[Event]:
        secrets = self._options.secrets
        nonce = new_nonce()
        headers = sign_question(secrets, nonce, name) if secrets else {}
        url = self._options.agents[name] + "/status"
        async with self._session.get(url, headers=headers, allow_redirects=False) as response:
            body = await _read_body(response)
            if secrets and response.status in (401, 403):
                raise NoAnswer("answered %d: does it hold the same secret, and is it %s?" % (response.status, name))
            if response.status != 200:
                raise NoAnswer("answered %d %s" % (response.status, sanitize_line(response.reason or "", 100)))
            given = {key.lower(): value for key, value in response.headers.items()}
        if secrets and not is_answer_signed(secrets, nonce, given, body):
            raise NoAnswer("the answer is not signed with the secret in secret_file: give the agent the same one")
        return events_of_status(body, name)

    def _note(self, name: str, problem: str) -> None:
        failures = self._failures[name] = min(self._failures.get(name, 0) + 1, 30)
        wait = min(_LONGEST_BACKOFF, self._options.interval * 2.0 ** (failures - 1))
        self._not_before[name] = self._clock() + wait
        self._problems[name] = problem


def events_of_status(body: bytes, vm_name: str) -> list[Event]:
    """The events in what the agent of a VM answers to `/status`.

    :raises DocumentError: if it is no status
    :raises NoAnswer: if it is that of another VM
    """
    status = parse_json(body)
    events = status.get("events") if isinstance(status, dict) else None
    if not isinstance(events, list):
        raise DocumentError("not the status of an agent: it has no list of events")
    # An agent that IMDS has not answered yet knows neither its VM's name nor any event.
    if events and not same_name(str(status.get("vm_name")), vm_name):
        raise NoAnswer("it is the agent of %s: correct its URL" % sanitize_line(str(status.get("vm_name")), 100))
    # The agent keeps an event for a while after its end.
    listed = [event_from_dict(one, "events") for one in events if not (isinstance(one, dict) and _is_over(one))]
    # It speaks for its own VM. Of others it may know as well, and their agents say so themselves.
    own = [event for event in listed if event.affects(vm_name)]
    if len(own) > _MOST_EVENTS:
        raise NoAnswer("it lists %d events, and no VM has more than %d" % (len(own), _MOST_EVENTS))
    return own


def _is_over(event: Mapping[str, Any]) -> bool:
    return event.get("phase") in ("ended", "withdrawn")


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise NoAnswer("answered with more than %d KiB" % (_LARGEST_ANSWER // 1024))
    return bytes(body)


async def _read_imds(connection: ConnectionOptions) -> Reading:
    def read(_stopped: threading.Event) -> Reading:
        with open_client(connection) as client:
            document = client.read_document(Deadline(connection.timeout))
        return Reading([Found(event, "imds") for event in document.events])

    return await in_thread(read)


async def _read_resource_graph(sign_in: SignIn, places: Places, timeout: float) -> Reading:
    def read(stopped: threading.Event) -> Reading:
        def sleep(seconds: float) -> None:
            if stopped.wait(seconds):
                raise _NobodyWaits

        with ArmClient(sign_in, Deadline(timeout), sleep=sleep) as client:
            own = client.known_subscription_id
            # At each reading, because subscriptions below a management group come and go.
            named = subscriptions_of(client, places)
            listed = list_events(client, named or ([own] if own else []), finished=True)
        # One unreadable row must not hide other events.
        unknown = [one.event for one in listed if one.event.event_status == UNREADABLE]
        problems = {"Resource Graph": "an event cannot be read: %s" % (unknown[0],)} if unknown else {}
        found = [Found(one.event, "resource_graph", one.resource_id, one.is_finished) for one in listed]
        return Reading(found, problems)

    return await in_thread(read)


async def _read_hooks(sign_in: SignIn, scale_sets: Sequence[tuple[str, str]], timeout: float) -> Reading:
    def read(stopped: threading.Event) -> Reading:
        def sleep(seconds: float) -> None:
            if stopped.wait(seconds):
                raise _NobodyWaits

        found: list[Found] = []
        problems: dict[str, str] = {}
        with ArmClient(sign_in, Deadline(timeout), sleep=sleep) as client:
            for group, name in scale_sets:
                resource_id = client.compute_id(group, SCALE_SETS, name)
                try:
                    listed = list_hook_events(client, group, name)
                except ArmError as error:
                    # The other scale sets are asked nevertheless.
                    problems["the scale set %s" % name] = str(error)
                    continue
                found += [
                    Found(event_of_hook(one), LIFECYCLE_HOOKS, resource_id, one["state"] != ACTIVE, LIFECYCLE_HOOK)
                    for one in listed
                ]
        return Reading(found, problems)

    return await in_thread(read)


class _NobodyWaits(Exception):
    """The rulebook has ended during a request to Azure."""


async def in_thread(function: Callable[[threading.Event], _Result]) -> _Result:
    """Run what blocks. When this is cancelled, the thread is told so, left to itself, and no obstacle to the end.

    :param function: given an event that is set when nobody waits any more
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Result] = loop.create_future()
    stopped = threading.Event()

    def settle(result: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = function(stopped)
        except Exception as caught:  # noqa: BLE001 - whoever waits raises it
            error = caught
        # The event loop may be closed by now.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="foghorn-eda", daemon=True).start()
    try:
        return await future
    finally:
        stopped.set()
