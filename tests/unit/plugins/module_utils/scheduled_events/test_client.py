# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How is IMDS asked?"""

import json
import socket
import threading
import time
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.client import (
    COMPUTE_PATH,
    DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_TIMEOUT,
    EVENTS_PATH,
    ImdsClient,
    split_endpoint,
    split_url,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    API_VERSIONS,
    GENERAL_API_VERSION,
    Document,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import (
    DocumentError,
    ImdsError,
    OutOfTime,
    Refused,
    Unreachable,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events.scripted_imds import (
    DeafHost,
    FakeClock,
    ScriptedImds,
    Step,
    chunked,
    compute,
    document,
    drip,
    event,
    events,
    hang_up,
    ok,
    raw,
    reset,
    silence,
    status,
    truncated,
)
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
WALL_CLOCK = 1793000000.0  # seconds since the epoch
MIB = 2**20
NONE = Document(1, ())

# Real seconds that a test may take at most where the client has to give up after one: machines are slow.
PATIENCE = 30


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def client_of(url: str, clock: FakeClock, jitter: float = 1.0, **options: Any) -> ImdsClient:
    """A client whose time is the clock's, and whose backoff is as long as jitter can make it."""
    return ImdsClient(
        url,
        options.pop("api_version", GENERAL_API_VERSION),
        clock=clock,
        wall_clock=lambda: WALL_CLOCK + clock.now - 1000,
        sleep=clock.sleep,
        jitter=lambda: jitter,
        **options,
    )


@contextmanager
def dialogue(clock: FakeClock, *script: Step, **options: Any) -> Iterator[Tuple[ScriptedImds, ImdsClient]]:
    """An IMDS that plays this script, and a client of it."""
    with ScriptedImds(*script) as imds, client_of(imds.url, clock, **options) as client:
        yield imds, client


def limit(clock: FakeClock, seconds: float = 150) -> Deadline:
    return Deadline(seconds, clock)


def lost(clock: FakeClock, seconds: float) -> Step:
    """Let the clock go on by these seconds, and begin an answer that does not come to its end."""

    def answer(handler: Any) -> None:
        clock.now += seconds
        # Wakes the client, which waits in real time: it then reads its clock.
        handler.wfile.write(b"H")
        silence()(handler)

    return answer


def begun(handler: Any) -> None:
    """Begin an answer, and go no further."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    silence()(handler)


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield "http://127.0.0.1:%d" % bound.getsockname()[1]


class TestTheRequest:
    @pytest.mark.parametrize("api_version", API_VERSIONS)
    def test_reading_asks_for_the_api_version_with_the_metadata_header(
        self, clock: FakeClock, api_version: str
    ) -> None:
        with dialogue(clock, events(), api_version=api_version) as (imds, client):
            assert client.read_document(limit(clock)) == NONE

        request = imds.requests[0]
        assert (request.method, request.target) == ("GET", "/metadata/scheduledevents?api-version=" + api_version)
        assert request.headers.get_all("Metadata") == ["true"]
        assert request.headers.get_all("Host") == ["127.0.0.1:%d" % imds.port]
        assert "X-Forwarded-For" not in request.headers
        assert request.body == b""

    def test_approving_posts_the_ids_exactly_as_given_all_in_one_request(self, clock: FakeClock) -> None:
        with dialogue(clock, ok("")) as (imds, client):
            client.approve(["aB-1", "CD-2"], limit(clock))

        request = imds.requests[0]
        assert (request.method, request.target) == ("POST", "/metadata/scheduledevents?api-version=2020-07-01")
        assert request.headers.get_all("Metadata") == ["true"]
        assert request.headers.get_all("Content-Type") == ["application/json"]
        assert json.loads(request.body.decode("ascii")) == {"StartRequests": [{"EventId": "aB-1"}, {"EventId": "CD-2"}]}

    @pytest.mark.parametrize(("value", "scale_set"), [("web", "web"), ("", ""), (None, ""), (["web"], "")])
    def test_the_scale_set_comes_with_the_name(self, clock: FakeClock, value: Any, scale_set: str) -> None:
        with dialogue(clock, ok({"name": "web_0", "vmScaleSetName": value})) as (_imds, client):
            assert client.read_identity(limit(clock)).scale_set == scale_set

    @pytest.mark.parametrize(("value", "its_id"), [("/subscriptions/s", "/subscriptions/s"), (None, ""), (7, "")])
    def test_the_ids_come_with_the_name(self, clock: FakeClock, value: Any, its_id: str) -> None:
        with dialogue(clock, ok({"name": "web_0", "resourceId": value, "vmId": value})) as (_imds, client):
            identity = client.read_identity(limit(clock))
            assert (identity.resource_id, identity.vm_id) == (its_id, its_id)

    def test_who_this_vm_is_comes_from_the_instance_metadata(self, clock: FakeClock) -> None:
        with dialogue(clock, compute("web_0"), compute("web_0")) as (imds, client):
            assert client.read_compute(limit(clock)) == {"name": "web_0", "location": "westeurope"}
            assert client.read_identity(limit(clock)) == ("web_0", "", "", "")

        assert imds.requests[0].target == "/metadata/instance/compute?api-version=2021-12-13"
        assert imds.requests[0].headers.get_all("Metadata") == ["true"]

    def test_given_nothing_but_an_endpoint_then_the_real_clock_and_the_newest_version_are_used(self) -> None:
        with ScriptedImds(status(503), events()) as imds, ImdsClient(imds.url) as client:
            began = time.monotonic()
            assert client.read_document(Deadline(PATIENCE)) == NONE

        assert time.monotonic() - began >= 0.25
        assert imds.requests[0].target.endswith("=2024-07-09")

    @pytest.mark.parametrize(
        ("endpoint", "parts"),
        [
            ("http://169.254.169.254", ("169.254.169.254", 80)),
            ("http://127.0.0.1:8080/", ("127.0.0.1", 8080)),
            ("HTTP://Imds.Example:/", ("imds.example", 80)),
            ("http://[::1]:8080", ("::1", 8080)),
            ("http://[fd00::1]", ("fd00::1", 80)),
        ],
    )
    def test_an_endpoint_has_a_host_and_perhaps_a_port(self, endpoint: str, parts: Any) -> None:
        assert split_endpoint(endpoint) == parts

    def test_a_url_may_have_a_path(self) -> None:
        assert split_url("http://[::1]:8080/a/b/") == ("::1", 8080, "/a/b")

    def test_given_an_invalid_endpoint_then_no_client_is_made(self) -> None:
        with pytest.raises(ValueError, match="must begin with http://"):
            ImdsClient("https://127.0.0.1")

    @pytest.mark.parametrize("upper", [False, True])
    def test_trap_9_proxies_are_never_used_whatever_the_environment_says(
        self, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, upper: bool
    ) -> None:
        with ScriptedImds() as proxy, ScriptedImds(compute("web_0"), events(), ok("")) as imds:
            for name in ("http_proxy", "https_proxy", "all_proxy"):
                monkeypatch.setenv(name.upper() if upper else name, proxy.url)
            with client_of(imds.url, clock) as client:
                client.read_identity(limit(clock))
                client.read_document(limit(clock))
                client.approve(["A"], limit(clock))

        assert proxy.connections == 0
        assert all(request.target.startswith("/metadata/") for request in imds.requests)


class TestTheConnection:
    def test_given_many_requests_then_one_connection_serves_them_all(self, clock: FakeClock) -> None:
        script = (compute("web_0"), events(), ok(""), status(503), chunked(document()), events())
        with dialogue(clock, *script) as (imds, client):
            client.read_identity(limit(clock))
            client.read_document(limit(clock))
            client.approve(["A"], limit(clock))
            client.read_document(limit(clock))
            client.read_document(limit(clock))

        assert len(imds.requests) == 6
        assert imds.connections == 1

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_given_the_server_closed_it_while_idle_then_another_takes_its_place_without_delay(
        self, clock: FakeClock, method: str
    ) -> None:
        with dialogue(clock, events(), events()) as (imds, client):
            client.read_document(limit(clock))
            imds.close_connections()
            if method == "GET":
                assert client.read_document(limit(clock)) == NONE
            else:
                client.approve(["A"], limit(clock))

        assert imds.connections == 2
        assert sum(clock.slept) == 0

    def test_given_a_new_connection_is_closed_without_an_answer_then_the_next_try_waits(self, clock: FakeClock) -> None:
        with dialogue(clock, events(), hang_up(), hang_up(), events()) as (imds, client):
            client.read_document(limit(clock))
            client.read_document(limit(clock))

        # The first hang-up may have been for idleness. The second was not.
        assert clock.slept == [1.0]
        assert imds.connections == 3

    def test_given_an_answer_that_says_close_then_the_next_request_opens_another(self, clock: FakeClock) -> None:
        closing = status(200, document(), {"Connection": "close"})
        with dialogue(clock, closing, events()) as (imds, client):
            client.read_document(limit(clock))
            client.read_document(limit(clock))

        assert imds.connections == 2
        assert clock.slept == []

    def test_given_an_answer_of_http_1_0_without_a_length_then_its_end_is_the_end(self, clock: FakeClock) -> None:
        body = json.dumps(document(event("A", "web_0"))).encode("ascii")
        with dialogue(clock, raw(b"HTTP/1.0 200 OK\r\n\r\n" + body)) as (_imds, client):
            assert [one.event_id for one in client.read_document(limit(clock)).events] == ["A"]

    def test_given_an_answer_in_chunks_then_it_is_put_together(self, clock: FakeClock) -> None:
        with dialogue(clock, chunked(document(event("A", "web_0")))) as (_imds, client):
            assert [one.event_id for one in client.read_document(limit(clock)).events] == ["A"]

    def test_given_an_answer_broke_off_then_the_rest_of_it_is_never_taken_for_the_next(self, clock: FakeClock) -> None:
        with dialogue(clock, truncated(document(event("A"))), events()) as (imds, client):
            assert client.read_document(limit(clock)) == NONE

        assert [request.connection for request in imds.requests] == [1, 2]

    def test_given_it_was_closed_then_the_next_request_opens_another(self, clock: FakeClock) -> None:
        with dialogue(clock, events(), events()) as (imds, client):
            client.read_document(limit(clock))
            client.close()
            client.read_document(limit(clock))

        assert imds.connections == 2
        assert clock.slept == []

    def test_on_leaving_the_client_the_connection_is_closed(self, clock: FakeClock) -> None:
        with ScriptedImds(events(), events()) as imds:
            client = client_of(imds.url, clock)
            with client:
                client.read_document(limit(clock))
            client.read_document(limit(clock))
            client.close()

        assert [request.connection for request in imds.requests] == [1, 2]


READ: Dict[str, Callable[[ImdsClient, Deadline], Any]] = {
    EVENTS_PATH: ImdsClient.read_document,
    COMPUTE_PATH: ImdsClient.read_compute,
}
RETRIED = {
    EVENTS_PATH: {404, 410, 429, *range(500, 600)},
    COMPUTE_PATH: {410, 429, *range(500, 600)},
}


class TestRetries:
    @pytest.mark.parametrize("path", [EVENTS_PATH, COMPUTE_PATH])
    def test_exactly_these_statuses_are_retried(self, clock: FakeClock, path: str) -> None:
        retried = set()
        refused = set()
        script: List[Step] = []
        for code in range(300, 600):
            script += [status(code), events()] if code in RETRIED[path] else [status(code)]

        with dialogue(clock, *script) as (_imds, client):
            for code in range(300, 600):
                try:
                    READ[path](client, limit(clock))
                    retried.add(code)
                except Refused as error:
                    refused.add((error.status, error.attempts))

        assert retried == RETRIED[path]
        assert refused == {(code, 1) for code in range(300, 600) if code not in RETRIED[path]}
        assert clock.slept == [0.5] * len(retried)

    @pytest.mark.parametrize(
        "failure",
        [
            hang_up(),
            reset(),
            truncated(document(event("A"))),
            raw(b"\x00\xff garbage\r\n\r\n"),
            raw(b"HTTP/2 200\r\n\r\n"),
            raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000),
            raw(b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 200 + b"\r\n"),
            raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"),
            raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n"),
        ],
        ids=[
            "hang-up",
            "reset",
            "truncated",
            "garbage",
            "unknown protocol",
            "endless header",
            "too many headers",
            "truncated chunk",
            "no chunk",
        ],
    )
    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_given_a_broken_answer_then_the_request_is_repeated_after_a_while(
        self, clock: FakeClock, failure: Step, method: str
    ) -> None:
        with dialogue(clock, failure, events()) as (imds, client):
            if method == "GET":
                assert client.read_document(limit(clock)) == NONE
            else:
                client.approve(["A"], limit(clock))

        assert [request.method for request in imds.requests] == [method, method]
        assert imds.requests[0].body == imds.requests[1].body
        assert clock.slept == [0.5]

    # Met in https://github.com/maksim-paskal/aks-node-termination-handler/pull/70.
    @pytest.mark.parametrize("empty", [ok(b""), ok(b" \r\n"), status(204), raw(b"HTTP/1.1 200 OK\r\n\r\n")])
    @pytest.mark.parametrize("path", [EVENTS_PATH, COMPUTE_PATH])
    def test_trap_3_given_an_answer_with_nothing_in_it_then_it_is_asked_again(
        self, clock: FakeClock, path: str, empty: Step
    ) -> None:
        with dialogue(clock, empty, events()) as (_imds, client):
            assert READ[path](client, limit(clock))

        assert clock.slept == [0.5]

    def test_given_nothing_but_empty_answers_then_the_error_says_so(self, clock: FakeClock) -> None:
        with dialogue(clock, *[status(204), ok(b"")]) as (_imds, client), pytest.raises(OutOfTime) as caught:
            client.read_document(limit(clock, 1))

        assert (caught.value.attempts, caught.value.last_outcome) == (2, "200 OK without a body")

    @pytest.mark.parametrize("step", [ok(b""), status(204)])
    def test_given_an_approval_when_its_answer_has_nothing_in_it_then_it_was_accepted(
        self, clock: FakeClock, step: Step
    ) -> None:
        with dialogue(clock, step) as (_imds, client):
            client.approve(["A"], limit(clock))

    def test_given_connections_are_refused_after_it_was_reached_then_it_is_tried_until_time_runs_out(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, events(), events(), connect_timeout=5) as (imds, client):
            client.read_document(limit(clock))
            imds.refuse_connections()
            imds.close_connections()
            clock.while_asleep[7] = imds.accept_connections
            assert client.read_document(limit(clock)) == NONE

        assert clock.slept == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]

    def test_given_connections_are_refused_at_first_then_it_is_tried_within_the_connect_timeout(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, events(), connect_timeout=5) as (imds, client):
            imds.refuse_connections()
            clock.while_asleep[1] = imds.accept_connections
            assert client.read_document(limit(clock)) == NONE

        assert clock.slept == [0.5, 1.0]

    @pytest.mark.parametrize(
        ("jitter", "waits"),
        [(1.0, [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]), (0.0, [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0])],
    )
    def test_each_wait_is_twice_the_one_before_up_to_ten_seconds_and_at_least_half_of_it(
        self, clock: FakeClock, jitter: float, waits: List[float]
    ) -> None:
        with dialogue(clock, *[status(503)] * 7, events(), jitter=jitter) as (_imds, client):
            client.read_document(limit(clock))

        assert clock.slept == waits

    @pytest.mark.parametrize("code", [404, 410, 429, 500, 503])
    @pytest.mark.parametrize(
        ("retry_after", "wait"),
        [
            ("7", 7.0),
            (" 120 ", 120.0),
            ("0", 0.5),
            (formatdate(WALL_CLOCK + 30, usegmt=True), 30.0),
            (formatdate(WALL_CLOCK - 30, usegmt=True), 0.5),
        ],
    )
    def test_given_retry_after_as_seconds_or_as_a_date_then_no_try_comes_before(
        self, clock: FakeClock, code: int, retry_after: str, wait: float
    ) -> None:
        with dialogue(clock, status(code, headers={"Retry-After": retry_after}), events()) as (_imds, client):
            client.read_document(limit(clock))

        assert clock.slept == [wait]

    @pytest.mark.parametrize("retry_after", ["", "soon", "-5", "1.5", "\u00b2", "9" * 400, "Tue, 31 Feb 2026 GMT"])
    def test_given_retry_after_that_says_nothing_then_the_usual_wait_holds(
        self, clock: FakeClock, retry_after: str
    ) -> None:
        with dialogue(clock, status(429, headers={"Retry-After": retry_after}), events()) as (_imds, client):
            client.read_document(limit(clock))

        assert clock.slept == [0.5]

    @pytest.mark.parametrize("retry_after", ["150", "86400", formatdate(WALL_CLOCK + 151, usegmt=True)])
    def test_given_retry_after_beyond_the_limit_then_it_fails_at_once(self, clock: FakeClock, retry_after: str) -> None:
        step = status(429, headers={"Retry-After": retry_after})
        with dialogue(clock, step) as (_imds, client), pytest.raises(OutOfTime):
            client.read_document(limit(clock, 150))

        assert clock.slept == []


def versions_asked(imds: ScriptedImds) -> List[str]:
    return [request.method + request.target.rpartition("=")[2] for request in imds.requests]


# Recorded in https://github.com/MicrosoftDocs/azure-compute-docs/pull/289: it lists the versions of the whole service.
UNKNOWN_VERSION = status(400, (FIXTURES / "not_documents" / "bad_request.json").read_bytes())
HOUR = 3600.0


class TestASecondConnectionBesideTheFirst:
    # Real seconds: what is waited for is a socket.
    SOON = 0.1

    def test_given_an_answer_that_is_lost_then_it_is_asked_for_once_more_and_that_connection_is_kept(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, silence(), events(), events(), hedge_after=self.SOON) as (imds, client):
            for _time in range(2):
                assert client.read_document(limit(clock)) == NONE
        assert [request.connection for request in imds.requests] == [1, 2, 2]
        assert imds.requests[0].target == imds.requests[1].target
        assert clock.slept == []

    def test_given_an_answer_that_only_takes_long_then_it_is_not_cut_off(self, clock: FakeClock) -> None:
        asked_beside = threading.Event()

        def slow(handler: Any) -> None:
            assert asked_beside.wait(PATIENCE)
            events()(handler)

        def beside(handler: Any) -> None:
            asked_beside.set()
            silence()(handler)

        with dialogue(clock, slow, beside, events(), hedge_after=self.SOON) as (imds, client):
            for _time in range(2):
                assert client.read_document(limit(clock)) == NONE
        assert [request.connection for request in imds.requests] == [1, 2, 1]

    def test_given_no_answer_on_either_then_both_are_given_up_and_there_is_no_third(self) -> None:
        with ScriptedImds(silence(), silence()) as imds:
            client = ImdsClient(imds.url, hedge_after=self.SOON)
            with pytest.raises(OutOfTime, match="no answer in time"):
                client.read_document(Deadline(4 * self.SOON))
        assert imds.connections == 2

    def test_given_no_second_connection_can_be_had_then_the_first_is_waited_for(
        self, clock: FakeClock, nobody: str
    ) -> None:
        refused = threading.Event()

        def slow(handler: Any) -> None:
            assert refused.wait(PATIENCE)
            events()(handler)

        with dialogue(clock, slow, hedge_after=self.SOON) as (imds, client):
            client._port = split_endpoint(nobody)[1]
            threading.Timer(5 * self.SOON, refused.set).start()
            assert client.read_document(limit(clock)) == NONE
        assert imds.connections == 1

    def test_given_an_answer_that_has_begun_and_goes_no_further_then_it_is_asked_again(self) -> None:
        with ScriptedImds(begun, events()) as imds, ImdsClient(imds.url, hedge_after=self.SOON) as client:
            assert client.read_document(Deadline(PATIENCE)) == NONE
        assert imds.connections == 2

    def test_given_an_answer_in_time_then_there_is_no_second_connection(self, clock: FakeClock) -> None:
        with dialogue(clock, events(), events(), hedge_after=PATIENCE) as (imds, client):
            for _time in range(2):
                assert client.read_document(limit(clock)) == NONE
        assert imds.connections == 1

    def test_given_retry_after_that_is_longer_than_any_wait_then_it_is_asked_after_that(self, clock: FakeClock) -> None:
        busy = status(429, headers={"Retry-After": "3600"})
        with dialogue(clock, busy, events(), longest_wait=3.0) as (_imds, client):
            assert client.read_document(limit(clock)) == NONE
        assert clock.slept == [3.0]


class TestTheVersion:
    """Without one, the newest that the metadata service has."""

    @pytest.mark.parametrize(
        "lacking",
        [
            status(404, "<html>"),
            status(404, document()),
            status(404, {"error": "Invalid version requested"}),
            UNKNOWN_VERSION,
            status(400, {"newest-versions": ["2024-07-09"]}),
            status(400, {"error": "Bad request"}),
            status(400, "Bad Request"),
            status(400),
        ],
    )
    def test_given_a_service_that_lacks_the_newest_then_the_older_is_asked_for_at_once_and_for_an_hour(
        self, clock: FakeClock, lacking: Step
    ) -> None:
        answers = (events(event("A", "web_0")), events(), ok(""), lacking, events(), ok(""))
        with dialogue(clock, lacking, *answers, api_version=None) as (imds, client):
            assert [one.event_id for one in client.read_document(limit(clock)).events] == ["A"]
            clock.now += HOUR - 1
            assert client.read_document(limit(clock)) == NONE
            client.approve(["A"], limit(clock))
            clock.now += 1
            assert client.read_document(limit(clock)) == NONE
            client.approve(["A"], limit(clock))

        assert versions_asked(imds) == [
            *("GET2024-07-09", "GET2020-07-01", "GET2020-07-01", "POST2020-07-01"),
            *("GET2024-07-09", "GET2020-07-01", "POST2020-07-01"),
        ]
        assert clock.slept == []

    def test_given_a_service_that_has_it_again_after_an_hour_then_it_is_kept(self, clock: FakeClock) -> None:
        with dialogue(clock, status(404), events(), events(), events(), api_version=None) as (imds, client):
            client.read_document(limit(clock))
            clock.now += HOUR
            client.read_document(limit(clock))
            client.read_document(limit(clock))

        assert versions_asked(imds)[2:] == ["GET2024-07-09", "GET2024-07-09"]

    def test_given_a_machine_that_was_moved_when_it_approves_then_the_approval_is_sent_again_as_it_was(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, events(), status(404), ok(""), api_version=None) as (imds, client):
            client.read_document(limit(clock))
            client.approve(["A"], limit(clock))

        assert versions_asked(imds) == ["GET2024-07-09", "POST2024-07-09", "POST2020-07-01"]
        assert imds.requests[1].body == imds.requests[2].body

    def test_given_the_older_is_not_found_either_then_the_service_is_not_enabled_yet(self, clock: FakeClock) -> None:
        script = (status(404, headers={"Retry-After": "60"}), status(404), status(404), events())
        with dialogue(clock, *script, api_version=None) as (imds, client):
            assert client.read_document(limit(clock)) == NONE

        assert versions_asked(imds) == ["GET2024-07-09", *["GET2020-07-01"] * 3]
        assert clock.slept == [0.5, 1.0]

    @pytest.mark.parametrize("body", [b"", {"error": "Bad request"}])
    def test_given_a_request_that_both_versions_refuse_then_it_is_refused_and_the_newest_is_asked_the_next_time(
        self, clock: FakeClock, body: Any
    ) -> None:
        script = (status(400, body), status(400, body), events())
        with dialogue(clock, *script, api_version=None) as (imds, client):
            with pytest.raises(Refused) as caught:
                client.approve(["A"], limit(clock))
            client.read_document(limit(clock))

        assert versions_asked(imds) == ["POST2024-07-09", "POST2020-07-01", "GET2024-07-09"]
        assert caught.value.attempts == 1
        assert "api_version" not in str(caught.value)

    def test_given_neither_version_is_known_then_the_error_names_older_ones(self, clock: FakeClock) -> None:
        with dialogue(clock, UNKNOWN_VERSION, UNKNOWN_VERSION, api_version=None) as (_imds, client), pytest.raises(
            Refused
        ) as caught:
            client.read_document(limit(clock))

        assert ". Set api_version to one of Scheduled Events: 2019-08-01, 2019-04-01, " in str(caught.value)

    @pytest.mark.parametrize("code", [410, 429, 503])
    def test_given_a_failure_that_passes_then_the_newest_is_asked_for_again(self, clock: FakeClock, code: int) -> None:
        with dialogue(clock, status(code), events(), api_version=None) as (imds, client):
            client.read_document(limit(clock))

        assert versions_asked(imds) == ["GET2024-07-09"] * 2

    def test_given_a_version_then_no_other_is_asked_for(self, clock: FakeClock) -> None:
        with dialogue(clock, status(404), events(), api_version="2024-07-09") as (imds, client):
            client.read_document(limit(clock))

        assert versions_asked(imds) == ["GET2024-07-09"] * 2


class TestTheTimeLimit:
    def test_trap_9_the_defaults_leave_time_for_the_slow_first_call_and_for_a_connection(self) -> None:
        assert DEFAULT_TIMEOUT > 130
        assert DEFAULT_CONNECT_TIMEOUT >= 5

    def test_given_only_failures_then_it_says_how_often_it_tried_and_what_came_last(self, clock: FakeClock) -> None:
        script = [hang_up(), status(429), *[status(503, {"error": "The service is\n busy."})] * 3]
        with dialogue(clock, *script) as (imds, client), pytest.raises(OutOfTime) as caught:
            client.read_document(limit(clock, 15))

        assert str(caught.value) == (
            "GET %s/metadata/scheduledevents?api-version=2020-07-01 had no usable answer within 15 s (5 attempts, the"
            " last: 503 Service Unavailable: The service is busy.): try again later, or raise timeout" % imds.url
        )
        assert caught.value.attempts == 5
        assert caught.value.last_outcome == "503 Service Unavailable: The service is busy."
        assert clock.slept == [0.5, 1.0, 2.0, 4.0]

    @pytest.mark.parametrize(
        ("last", "retry_after"), [(status(429, headers={"Retry-After": "30"}), 30.0), (status(503), None)]
    )
    def test_given_retry_after_then_the_error_passes_it_on(
        self, last: Step, retry_after: Optional[float], clock: FakeClock
    ) -> None:
        with dialogue(clock, last) as (_imds, client), pytest.raises(OutOfTime) as caught:
            client.read_document(limit(clock, 0.4))

        assert caught.value.retry_after == retry_after

    def test_given_several_requests_under_one_limit_then_it_holds_for_all_together(self, clock: FakeClock) -> None:
        with dialogue(clock, status(503), compute("web_0"), status(503)) as (_imds, client):
            deadline = limit(clock, 1)
            client.read_identity(deadline)
            with pytest.raises(OutOfTime) as caught:
                client.read_document(deadline)

        assert caught.value.attempts == 1

    def test_given_the_slow_first_call_then_it_is_waited_for(self, clock: FakeClock) -> None:
        def answer_late(handler: Any) -> None:
            clock.now += 120
            events()(handler)

        with dialogue(clock, answer_late) as (imds, client):
            assert client.read_document(limit(clock, 150)) == NONE

        assert len(imds.requests) == 1

    @pytest.mark.parametrize(
        "ask",
        [ImdsClient.read_identity, lambda client, deadline: client.approve(["A"], deadline)],
        ids=["identity", "approval"],
    )
    def test_given_an_answer_is_lost_then_it_is_asked_for_again_over_another_connection_long_before_the_limit(
        self, clock: FakeClock, ask: Callable[[ImdsClient, Deadline], Any]
    ) -> None:
        with dialogue(clock, lost(clock, 10), compute("web_0")) as (imds, client):
            ask(client, limit(clock))

        assert [request.connection for request in imds.requests] == [1, 2]
        assert clock.now == 1000 + 10.5

    def test_given_a_service_that_was_enabled_then_a_lost_answer_costs_ten_seconds(self, clock: FakeClock) -> None:
        with dialogue(clock, events(), lost(clock, 10), events()) as (imds, client):
            client.read_document(limit(clock))
            client.read_document(limit(clock))

        assert [request.connection for request in imds.requests] == [1, 1, 2]
        assert clock.now == 1000 + 10.5

    def test_given_a_service_that_may_have_to_be_enabled_then_a_lost_answer_costs_as_long_as_that_may_take(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, compute("web_0"), status(404), lost(clock, 130), events()) as (_imds, client):
            deadline = limit(clock)
            client.read_identity(deadline)
            assert client.read_document(deadline) == NONE

        assert deadline.remaining() == 150 - 0.5 - 130 - 1

    def test_given_a_service_that_is_slow_for_a_while_then_each_attempt_gets_twice_the_time(
        self, clock: FakeClock
    ) -> None:
        def answer_late(handler: Any) -> None:
            clock.now += 39
            compute("web_0")(handler)

        with dialogue(clock, lost(clock, 10), lost(clock, 20), answer_late) as (imds, client):
            assert client.read_identity(limit(clock)) == ("web_0", "", "", "")

        assert len(imds.requests) == 3

    def test_given_nothing_but_lost_answers_then_the_limit_holds(self, clock: FakeClock) -> None:
        script = [lost(clock, 10), lost(clock, 4.5)]
        with dialogue(clock, *script) as (_imds, client), pytest.raises(OutOfTime) as caught:
            client.read_identity(limit(clock, 15))

        assert (caught.value.attempts, caught.value.last_outcome) == (2, "no answer in time")
        assert clock.now == 1000 + 15

    def test_given_the_limit_has_passed_then_nothing_is_asked(self, clock: FakeClock) -> None:
        with dialogue(clock) as (imds, client):
            deadline = limit(clock, 1)
            clock.now += 1
            with pytest.raises(OutOfTime) as caught:
                client.read_document(deadline)

        assert imds.connections == 0
        assert caught.value.last_outcome == "no answer in time"

    def test_given_the_limit_has_passed_then_nothing_is_asked_over_an_open_connection_either(
        self, clock: FakeClock
    ) -> None:
        with dialogue(clock, events()) as (imds, client):
            deadline = limit(clock, 1)
            client.read_document(deadline)
            clock.now += 1
            with pytest.raises(OutOfTime):
                client.approve(["A"], deadline)

        assert imds.asked == [("GET", EVENTS_PATH)]

    @pytest.mark.parametrize(
        "step",
        [
            silence(),
            drip(b"HTTP/1.1 200 OK\r\nX-Slow: yes\r\n", 0.05),
            drip(b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
        ],
        ids=["silence", "slow headers", "for ever to be continued"],
    )
    def test_given_a_server_that_takes_its_time_then_the_limit_holds_in_real_seconds(self, step: Step) -> None:
        with ScriptedImds(step) as imds, ImdsClient(imds.url) as client:
            began = time.monotonic()
            with pytest.raises(OutOfTime) as caught:
                client.read_document(Deadline(1.0))
            took = time.monotonic() - began

        assert 0.9 < took < PATIENCE
        assert (caught.value.attempts, caught.value.last_outcome) == (1, "no answer in time")

    def test_given_a_body_that_comes_byte_by_byte_then_the_limit_holds_in_real_seconds(self) -> None:
        def answer(handler: Any) -> None:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            drip(b"1\r\n \r\n", 0.05)(handler)

        with ScriptedImds(answer) as imds, ImdsClient(imds.url) as client:
            began = time.monotonic()
            with pytest.raises(OutOfTime):
                client.read_document(Deadline(1.0))
            took = time.monotonic() - began

        assert 0.9 < took < PATIENCE


class TestAHostThatIsNoAzureVm:
    def test_given_no_connection_stands_within_the_connect_timeout_then_the_error_says_what_to_do(self) -> None:
        with DeafHost() as host, ImdsClient(host.url, connect_timeout=0.5) as client:
            began = time.monotonic()
            with pytest.raises(Unreachable) as caught:
                client.read_document(Deadline(150))
            took = time.monotonic() - began

        assert 0.4 < took < PATIENCE
        assert str(caught.value) == (
            "IMDS at %s did not answer within 0.5 s (1 attempt, the last: no answer in time): is this an Azure VM?"
            " Set endpoint to the address of its IMDS, or raise connect_timeout" % host.url
        )

    def test_given_a_time_limit_below_the_connect_timeout_then_it_holds(self) -> None:
        with DeafHost() as host, ImdsClient(host.url, connect_timeout=60) as client, pytest.raises(OutOfTime):
            client.read_document(Deadline(0.3))

    def test_given_connections_are_refused_then_the_connect_timeout_is_for_all_tries_together(
        self, clock: FakeClock, nobody: str
    ) -> None:
        with client_of(nobody, clock, connect_timeout=5) as client, pytest.raises(Unreachable) as caught:
            client.read_document(limit(clock))

        assert clock.slept == [0.5, 1.0, 2.0]
        assert caught.value.attempts == 4
        assert caught.value.last_outcome.startswith("ConnectionRefusedError: ")
        assert str(caught.value).startswith("IMDS at %s did not answer within 5 s (4 attempts, the last: " % nobody)

    def test_given_a_sleep_that_used_the_connect_timeout_up_then_no_other_attempt_is_begun(
        self, clock: FakeClock, nobody: str
    ) -> None:
        def oversleep() -> None:
            clock.now += 60

        clock.while_asleep[0] = oversleep
        with client_of(nobody, clock, connect_timeout=5) as client, pytest.raises(Unreachable) as caught:
            client.read_document(limit(clock))

        assert caught.value.attempts == 1
        assert caught.value.last_outcome.startswith("ConnectionRefusedError: ")


class TestRefusals:
    def refusal(self, clock: FakeClock, step: Step, read: Callable[[ImdsClient, Deadline], Any]) -> Refused:
        """What the client says when IMDS answers so."""
        with dialogue(clock, step) as (imds, client), pytest.raises(Refused) as caught:
            read(client, limit(clock))
        assert clock.slept == []
        assert str(caught.value).startswith("GET %s/metadata/" % imds.url)
        return caught.value

    @pytest.mark.parametrize(
        "unknown",
        [
            UNKNOWN_VERSION,
            status(400, "Bad request. api-version is invalid or was not specified"),
            status(400, {"Error": {"Code": "UnsupportedApiVersion"}}),
            status(404, {"error": "Invalid version requested"}),
            status(404, "The API version is not supported"),
        ],
    )
    def test_given_an_unknown_api_version_then_the_error_names_others_of_scheduled_events(
        self, clock: FakeClock, unknown: Step
    ) -> None:
        error = self.refusal(clock, unknown, ImdsClient.read_document)

        named = str(error).rpartition(". Set api_version to one of Scheduled Events: ")[2].split(", ")
        assert named == [version for version in reversed(API_VERSIONS) if version != GENERAL_API_VERSION]
        assert error.attempts == 1
        assert error.last_outcome in str(error)

    @pytest.mark.parametrize(
        "body", ["No resource matches /metadata/scheduledevents?api-version=invalid", '<?xml version="1.0"?>Invalid']
    )
    def test_given_not_found_that_does_not_speak_of_the_version_then_the_service_is_not_enabled_yet(
        self, clock: FakeClock, body: str
    ) -> None:
        with dialogue(clock, status(404, body), events()) as (_imds, client):
            assert client.read_document(limit(clock)) == NONE

    def test_given_the_instance_metadata_know_other_versions_then_api_version_is_not_to_blame(
        self, clock: FakeClock
    ) -> None:
        body = {"error": "Bad request.", "newest-versions": ["2021-02-01"]}

        assert "api_version" not in str(self.refusal(clock, status(400, body), ImdsClient.read_compute))

    @pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
    def test_given_a_redirect_then_it_is_not_followed(self, clock: FakeClock, code: int) -> None:
        with ScriptedImds() as elsewhere:
            step = status(code, headers={"Location": elsewhere.url})
            error = self.refusal(clock, step, ImdsClient.read_document)

        assert elsewhere.connections == 0
        assert str(error).endswith("Redirects are not followed: set endpoint to IMDS itself")

    def test_given_a_redirect_of_a_post_then_the_approval_goes_nowhere_else(self, clock: FakeClock) -> None:
        with ScriptedImds() as elsewhere:
            step = status(307, headers={"Location": elsewhere.url})
            with dialogue(clock, step) as (_imds, client), pytest.raises(Refused):
                client.approve(["A"], limit(clock))

        assert elsewhere.connections == 0

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            (b"", "403 Forbidden"),
            (b"  no\n  entry ", "403 Forbidden: no entry"),
            ({"error": "no entry"}, "403 Forbidden: no entry"),
            ({"error": {"code": 7}}, '403 Forbidden: {"error": {"code": 7}}'),
            ({"newest-versions": "all"}, '403 Forbidden: {"newest-versions": "all"}'),
            ([1], "403 Forbidden: [1]"),
            (b"\xff!", "403 Forbidden: \ufffd!"),
            (b"x" * 5000, "403 Forbidden: " + "x" * 300 + "…"),
            ({"error": "\x1b[2J\x9b1m\u202e\ud800\nno entry"}, "403 Forbidden: \ufffd[2J\ufffd1m\ufffd\ufffd no entry"),
            ({"error": "x" * 301}, "403 Forbidden: " + "x" * 300 + "…"),
            ({"error": "x" * 300}, "403 Forbidden: " + "x" * 300),
        ],
        ids=lambda value: repr(value)[:40],
    )
    def test_given_any_body_then_the_error_quotes_what_it_says_on_one_line(
        self, clock: FakeClock, body: Any, said: str
    ) -> None:
        error = self.refusal(clock, status(403, body), ImdsClient.read_document)

        assert error.last_outcome == said
        assert str(error).endswith(" was refused: " + said)

    def test_given_a_reason_with_escape_sequences_then_it_is_quoted_without_them(self, clock: FakeClock) -> None:
        error = self.refusal(clock, raw(b"HTTP/1.1 403 No\x1b[2J\x9b1m\r\n\r\n"), ImdsClient.read_document)

        assert error.last_outcome == "403 No\ufffd[2J\ufffd1m"

    def test_given_the_name_of_this_vm_cannot_be_asked_then_the_error_says_how_to_do_without(
        self, clock: FakeClock
    ) -> None:
        error = self.refusal(clock, status(404), ImdsClient.read_identity)

        assert str(error).endswith(". The name of this VM is not known: set vm_name")
        assert (error.status, error.attempts, error.last_outcome) == (404, 1, "404 Not Found")


class TestAnswersThatCannotBeUsed:
    @pytest.mark.parametrize("body", [b"<html>", {"error": "moved"}, [], b"null"])
    def test_trap_3_given_status_200_without_a_document_then_it_is_an_error_that_names_the_endpoint(
        self, clock: FakeClock, body: Any
    ) -> None:
        with ScriptedImds(ok(body)) as imds, client_of(imds.url, clock) as client, pytest.raises(
            DocumentError
        ) as error:
            client.read_document(limit(clock))

        assert str(error.value).startswith("The answer of IMDS at %s cannot be used: not " % imds.url)

    @pytest.mark.parametrize("body", [b"<html>", [], b"null"])
    def test_given_no_instance_metadata_then_the_error_names_the_endpoint(self, clock: FakeClock, body: Any) -> None:
        with ScriptedImds(ok(body)) as imds, client_of(imds.url, clock) as client, pytest.raises(
            DocumentError
        ) as error:
            client.read_identity(limit(clock))

        assert str(error.value).startswith("The answer of IMDS at %s cannot be used: not " % imds.url)

    @pytest.mark.parametrize("body", [{}, {"name": None}, {"name": ""}, {"name": 7}])
    def test_given_instance_metadata_without_a_name_then_the_error_says_to_set_it(
        self, clock: FakeClock, body: Any
    ) -> None:
        with ScriptedImds(ok(body)) as imds, client_of(imds.url, clock) as client, pytest.raises(
            DocumentError
        ) as error:
            client.read_identity(limit(clock))

        assert str(error.value) == "IMDS at %s does not say the name of this VM: set vm_name" % imds.url

    def test_given_a_name_with_misleading_characters_then_they_are_removed(self, clock: FakeClock) -> None:
        answers = [ok({"name": "web_0\n\x1b[2J\ud800", "__ansible_type": {"tags": ["\x9b"]}})] * 2
        with dialogue(clock, *answers) as (_imds, client):
            assert client.read_identity(limit(clock)).vm_name == "web_0\ufffd\ufffd[2J\ufffd"
            assert client.read_compute(limit(clock))["\ufffd_ansible_type"] == {"tags": ["\ufffd"]}

    def test_given_instance_metadata_nested_too_deeply_then_they_cannot_be_used(self, clock: FakeClock) -> None:
        with dialogue(clock, ok(b'{"name": "web_0", "tags": ' + b"[" * 40 + b"]" * 40 + b"}")) as (
            _imds,
            client,
        ), pytest.raises(DocumentError, match="tags: nested deeper than 32 levels"):
            client.read_identity(limit(clock))

    @pytest.mark.parametrize("length", ["Content-Length: %d\r\n" % MIB, ""])
    def test_given_an_answer_of_1_mib_then_it_is_read(self, clock: FakeClock, length: str) -> None:
        body = json.dumps(document()).encode("ascii").ljust(MIB)
        answer = raw(("HTTP/1.1 200 OK\r\n%s\r\n" % length).encode("ascii") + body)
        with dialogue(clock, answer) as (_imds, client):
            assert client.read_document(limit(clock)) == NONE

    def test_given_a_larger_answer_is_announced_then_none_of_it_is_read(self, clock: FakeClock) -> None:
        answer = raw(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (MIB + 1))
        with dialogue(clock, answer) as (_imds, client), pytest.raises(
            DocumentError, match="IMDS answered with more than 1 MiB"
        ):
            client.read_document(limit(clock))

    def test_given_a_larger_answer_of_unknown_length_then_it_is_read_no_further(self, clock: FakeClock) -> None:
        answer = drip_megabytes()
        with dialogue(clock, answer) as (_imds, client), pytest.raises(
            DocumentError, match="IMDS answered with more than 1 MiB"
        ):
            client.read_document(limit(clock))

    @given(
        st.binary(max_size=100)
        | st.builds(
            lambda start, headers, body: b"HTTP/1.%d %d Fine\r\n%s\r\n\r\n%s" % (*start, b"\r\n".join(headers), body),
            st.tuples(st.integers(0, 1), st.integers(0, 700)),
            st.lists(
                st.sampled_from(
                    [
                        b"Content-Length: 3",
                        b"Content-Length: -1",
                        b"Content-Length: many",
                        b"Transfer-Encoding: chunked",
                        b"Connection: keep-alive",
                        b"Retry-After: \xb2",
                        b"Location: \xff",
                        b": nameless",
                        b" folded",
                    ]
                )
                | st.binary(max_size=20),
                max_size=4,
            ),
            st.binary(max_size=20)
            | st.just(b'{"DocumentIncarnation": 1, "Events": []}')
            | st.just(b"2\r\n{}\r\n0\r\n\r\n"),
        )
    )
    def test_any_bytes_are_a_document_or_one_of_our_errors_or_another_try(self, content: bytes) -> None:
        class OneMoreTry(Exception):
            pass

        def sleep(_seconds: float) -> None:
            raise OneMoreTry

        with ScriptedImds(raw(content)) as imds, ImdsClient(imds.url, sleep=sleep) as client:
            try:
                assert isinstance(client.read_document(Deadline(PATIENCE)), Document)
            except (ImdsError, DocumentError, OneMoreTry):
                pass


def drip_megabytes() -> Step:
    """Answer without a length, and without an end."""

    def answer(handler: Any) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not handler.server.imds.over.is_set():
            handler.wfile.write(b" " * MIB)

    return answer
