# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do others hear of it, and is the agent never kept? With real servers, and real TLS."""

import http.server
import io
import json
import os
import shutil
import ssl
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, NamedTuple, Optional, Tuple

import pytest
from edge_helpers import AGENT, PATIENCE, Clock, wait_until
from foghorn_agent.webhooks import (
    PLAIN_JSON,
    Counts,
    Delivery,
    Report,
    Request,
    WebhookQueue,
    cloud_event,
    deliver,
    read_secret,
    send,
    split_url,
    wrap,
)

WHEN = datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=timezone.utc)
SENDER = [
    sys.executable,
    "-c",
    "import sys; sys.path.insert(0, %r); from foghorn_agent.webhooks import send; send(sys.stdin, sys.stdout)"
    % str(AGENT),
]


class Heard(NamedTuple):
    method: str
    path: str
    headers: Dict[str, str]
    body: bytes


class Receiver:
    """A server that notes what it hears, and answers what it is told to."""

    def __init__(self, context: Optional[ssl.SSLContext] = None) -> None:
        self.heard: List[Heard] = []
        self.answers: List[Tuple[int, Dict[str, str], bytes]] = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.heard.append(Heard(self.command, self.path, headers, body))
                status, fields, answer = receiver.answers.pop(0) if receiver.answers else (202, {}, b"")
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_PUT = do  # noqa: N815 - named by the standard library

            def log_message(self, *_args: Any) -> None:
                pass

        class Server(http.server.HTTPServer):
            def handle_error(self, *_args: Any) -> None:
                """A client that does not trust us is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.url = "http%s://127.0.0.1:%d/hook" % ("s" if context else "", self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(PATIENCE)
        self._server.server_close()


@pytest.fixture
def receiver() -> Generator[Receiver, None, None]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("s3cret\n")
    path.chmod(0o600)
    return path


# --- the envelope


def test_given_what_happened_when_put_in_an_envelope_then_it_is_a_cloud_event() -> None:
    event = cloud_event("drain", "web_1", "E-1", "/subscriptions/s/web_1", WHEN, {"state": "succeeded"})
    assert event == {
        "specversion": "1.0",
        "id": "web_1/E-1/drain/2026-01-01T12:00:00.250000Z",
        "source": "/subscriptions/s/web_1",
        "type": "io.foghorn.azure_events.drain",
        "subject": "web_1",
        "time": "2026-01-01T12:00:00.250000Z",
        "datacontenttype": "application/json",
        "data": {"state": "succeeded"},
    }


def test_given_the_same_thing_in_another_zone_when_put_in_an_envelope_then_its_id_is_the_same() -> None:
    elsewhere = WHEN.astimezone(timezone(timedelta(hours=2)))
    one, other = (cloud_event("drain", "web_1", "E-1", "/x", when, {}) for when in (WHEN, elsewhere))
    assert one == other


def test_given_a_stage_that_runs_again_when_put_in_an_envelope_then_its_id_is_another() -> None:
    later = WHEN + timedelta(milliseconds=1)
    one, other = (cloud_event("drain", "web_1", "E-1", "/x", when, {}) for when in (WHEN, later))
    assert one["id"] != other["id"]


def test_given_a_receiver_that_wants_variables_when_wrapped_then_the_envelope_lies_below_the_keys() -> None:
    assert wrap({"id": "1"}, ["extra_vars", "azure_event"]) == {"extra_vars": {"azure_event": {"id": "1"}}}
    assert wrap({"id": "1"}, []) == {"id": "1"}


# --- one delivery


def test_given_a_receiver_when_delivered_then_it_hears_the_body_as_it_is(receiver: Receiver) -> None:
    body = json.dumps({"id": "é"}, ensure_ascii=False)
    assert deliver(Request(receiver.url + "?key=1", body)) == Delivery(True, False, "202 Accepted")
    (heard,) = receiver.heard
    assert (heard.method, heard.path, heard.body) == ("POST", "/hook?key=1", body.encode("utf-8"))
    assert heard.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
    assert heard.headers["host"] == receiver.url[7:-5]
    assert heard.headers["user-agent"] == "foghorn-agent"
    assert "authorization" not in heard.headers


def test_given_method_type_and_headers_when_delivered_then_they_are_used(receiver: Receiver) -> None:
    headers = [["X-Trace", "1"], ["user-agent", "ours"]]
    deliver(Request(receiver.url, "{}", content_type=PLAIN_JSON, method="PUT", headers=headers))
    (heard,) = receiver.heard
    assert heard.method == "PUT"
    assert heard.headers["content-type"] == "application/json"
    assert heard.headers["x-trace"] == "1"
    assert heard.headers["user-agent"] == "ours"


def test_given_a_secret_when_delivered_then_it_is_the_bearer(receiver: Receiver, secret_file: Path) -> None:
    deliver(Request(receiver.url, "{}", secret_file=str(secret_file)))
    assert receiver.heard[0].headers["authorization"] == "Bearer s3cret"


def test_given_a_secret_for_another_header_when_delivered_then_it_is_there(
    receiver: Receiver, secret_file: Path
) -> None:
    deliver(Request(receiver.url, "{}", secret_file=str(secret_file), secret_header="X-Key", secret_prefix=""))
    assert receiver.heard[0].headers["x-key"] == "s3cret"


@pytest.mark.parametrize(
    ("status", "fields", "answer", "expected"),
    [
        (200, {}, b"ignored", Delivery(True, False, "200 OK")),
        (200, {"Transfer-Encoding": "chunked"}, b"7\r\nbroken", Delivery(True, False, "200 OK")),
        (400, {}, b"no\r\nsuch\tthing", Delivery(False, False, "400 Bad Request: no such thing")),
        (403, {}, b"not s3cret", Delivery(False, False, "403 Forbidden: not ***")),
        (403, {}, b"x" * 180 + b"s3cret", Delivery(False, False, "403 Forbidden: " + "x" * 180 + "***")),
        (404, {}, b"", Delivery(False, False, "404 Not Found")),
        (408, {}, b"", Delivery(False, True, "408 Request Timeout")),
        (429, {"Retry-After": "7"}, b"", Delivery(False, True, "429 Too Many Requests", 7.0)),
        (503, {"Retry-After": "soon"}, b"", Delivery(False, True, "503 Service Unavailable")),
        (500, {}, b"\xff" * 1000, Delivery(False, True, "500 Internal Server Error: " + "\ufffd" * 173)),
        (
            302,
            {"Location": "http://127.0.0.1:1/"},
            b"",
            Delivery(False, False, "302 Found: redirects are not followed, set url to http://127.0.0.1:1/"),
        ),
    ],
)
def test_given_an_answer_when_delivered_then_it_is_judged(
    receiver: Receiver, secret_file: Path, status: int, fields: Dict[str, str], answer: bytes, expected: Delivery
) -> None:
    receiver.answers.append((status, fields, answer))
    assert deliver(Request(receiver.url, "{}", secret_file=str(secret_file))) == expected


def test_given_a_refusal_when_there_was_no_secret_then_it_is_told_as_it_is(receiver: Receiver) -> None:
    receiver.answers.append((400, {}, b"no"))
    assert deliver(Request(receiver.url, "{}")) == Delivery(False, False, "400 Bad Request: no")


def test_given_nobody_listening_when_delivered_then_it_may_be_tried_again() -> None:
    delivery = deliver(Request("http://127.0.0.1:1/", "{}"))
    assert delivery[:2] == (False, True)
    assert delivery.detail.startswith("ConnectionRefusedError: ")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"url": "ftp://127.0.0.1/"}, "does not have the form https://HOST"),
        ({"headers": [["X Y", "1"]]}, "headers: X Y"),
        ({"headers": [["X", "1\r\nY: 2"]]}, "headers: X"),
        ({"secret_file": "/nonexistent"}, "secret_file: /nonexistent: No such file"),
    ],
)
def test_given_a_request_that_cannot_be_sent_when_delivered_then_it_is_given_up_with_the_reason(
    receiver: Receiver, change: Dict[str, Any], complaint: str
) -> None:
    delivery = deliver(Request(receiver.url, "{}")._replace(**change))
    assert delivery[:2] == (False, False)
    assert complaint in delivery.detail
    assert receiver.heard == []


def test_given_proxies_in_the_environment_when_delivered_then_none_is_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert deliver(Request(receiver.url, "{}")).delivered


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Tuple[str, str]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make a certificate")
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = str(directory / "certificate.pem"), str(directory / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command, *names, "-keyout", key, "-out", certificate],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return certificate, key


@pytest.fixture
def secure_receiver(certificate: Tuple[str, str]) -> Generator[Receiver, None, None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    receiver = Receiver(context)
    yield receiver
    receiver.close()


def test_given_a_server_that_our_ca_vouches_for_when_delivered_then_it_hears(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    assert deliver(Request(secure_receiver.url, "{}", ca_file=certificate[0])).delivered
    assert secure_receiver.heard[0].headers["host"] == secure_receiver.url[8:-5]


def test_given_a_server_that_nobody_vouches_for_when_delivered_then_it_hears_nothing(
    secure_receiver: Receiver, secret_file: Path
) -> None:
    delivery = deliver(Request(secure_receiver.url, "{}", secret_file=str(secret_file)))
    assert delivery[:2] == (False, True)
    assert "CERTIFICATE_VERIFY_FAILED" in delivery.detail
    assert secure_receiver.heard == []


def test_given_a_server_by_another_name_when_delivered_then_it_hears_nothing(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    url = secure_receiver.url.replace("127.0.0.1", "localhost")
    delivery = deliver(Request(url, "{}", ca_file=certificate[0]))
    assert delivery[:2] == (False, True)
    assert "localhost" in delivery.detail
    assert secure_receiver.heard == []


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_given_a_ca_file_that_is_none_when_delivered_then_the_error_names_it(
    secure_receiver: Receiver, tmp_path: Path, content: Optional[str]
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    delivery = deliver(Request(secure_receiver.url, "{}", ca_file=str(path)))
    assert "ca_file: %s: " % path in delivery.detail
    assert secure_receiver.heard == []


# --- its parts


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://awx.example", (True, "awx.example", 443, "/")),
        ("http://awx.example/a/b?c=d", (False, "awx.example", 80, "/a/b?c=d")),
        ("https://[2001:db8::1]:8443/a", (True, "2001:db8::1", 8443, "/a")),
        ("HTTPS://awx.example:443/a", (True, "awx.example", 443, "/a")),
    ],
)
def test_given_a_url_when_taken_apart_then_all_parts_are_there(url: str, parts: Tuple[Any, ...]) -> None:
    assert split_url(url) == parts


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("", "does not have the form"),
        ("https:///path", "does not have the form"),
        ("file:///etc/passwd", "does not have the form"),
        ("https://x:y/", "url: 'https://x:y/'"),
        ("https://[::1/", "Invalid IPv6 URL"),
        ("https://user:hunter2@x/", "put the secret in secret_file"),
        ("https://x/#y", "fragment"),
        ("https://x/a b", "spaces"),
        ("https://é/", "beyond ASCII"),
    ],
)
def test_given_something_else_when_taken_apart_then_it_is_refused_and_no_password_is_told(
    url: str, complaint: str
) -> None:
    with pytest.raises(ValueError, match="url: ") as raised:
        split_url(url)
    assert complaint in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://[::1]:8080/", "[::1]:8080"),
        ("https://awx.example/", "awx.example"),
        ("https://awx.example:80/", "awx.example:80"),
    ],
)
def test_given_a_url_when_asked_then_the_host_is_as_http_wants_it(url: str, host: str) -> None:
    from foghorn_agent.webhooks import _headers

    _is_secure, name, port, _path = split_url(url)
    assert _headers(Request(url, "{}"), name, port)["Host"] == host


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o602])
def test_given_a_secret_that_everybody_may_use_when_read_then_it_is_refused_with_the_remedy(
    secret_file: Path, mode: int
) -> None:
    secret_file.chmod(mode)
    with pytest.raises(ValueError, match=r"everybody may use it \(mode %o\): chmod o=" % mode):
        read_secret(str(secret_file))


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines", b"s3cr\xe9t", b"s3cret" * 1000])
def test_given_something_that_is_no_secret_when_read_then_it_is_refused_and_not_told(
    secret_file: Path, content: bytes
) -> None:
    secret_file.write_bytes(content)
    with pytest.raises(ValueError, match="holds no secret") as raised:
        read_secret(str(secret_file))
    assert "s3cr" not in str(raised.value)


def test_given_a_request_on_standard_input_when_sent_then_the_delivery_is_on_standard_output(
    receiver: Receiver,
) -> None:
    output = io.StringIO()
    send(io.StringIO(json.dumps(Request(receiver.url, "{}", headers=(("X", "1"),))._asdict())), output)
    assert Delivery(**json.loads(output.getvalue())) == Delivery(True, False, "202 Accepted")
    assert receiver.heard[0].headers["x"] == "1"


# --- the queue


class Queue:
    """A queue, and all that it reported."""

    def __init__(self, queue: WebhookQueue, clock: Clock) -> None:
        self.queue = queue
        self.clock = clock
        self.reports: List[Report] = []

    def wait_for(self, count: int) -> List[Report]:
        """Poll until so many reports have come."""

        def has_come() -> bool:
            self.reports += self.queue.poll()
            return len(self.reports) >= count

        wait_until(has_come, self.queue)
        return self.reports

    def stays_idle(self) -> bool:
        """Whether nothing is being sent, nor begun."""
        self.reports += self.queue.poll()
        return self.queue.fileno() == -1


@pytest.fixture
def make_queue(clock: Clock) -> Generator[Callable[..., Queue], None, None]:
    queues: List[WebhookQueue] = []

    def make(command: Optional[List[str]] = None, **options: Any) -> Queue:
        queues.append(WebhookQueue(command or SENDER, clock, lambda: 1.0, **options))
        return Queue(queues[-1], clock)

    yield make
    for queue in queues:
        queue.close()
        while len(queue):
            queue.poll()
            time.sleep(0.001)


def python(program: str) -> List[str]:
    return [sys.executable, "-S", "-c", program]


def test_given_requests_when_queued_then_they_are_delivered_one_after_the_other_in_order(
    make_queue: Callable[..., Queue], receiver: Receiver
) -> None:
    queue = make_queue()
    requests = [Request(receiver.url, json.dumps({"id": number})) for number in range(3)]
    for request in requests:
        queue.queue.add(request)
    assert len(queue.queue) == 3
    reports = queue.wait_for(3)
    assert reports == [Report(request, True, True, 1, "202 Accepted") for request in requests]
    assert [heard.body for heard in receiver.heard] == [request.body.encode() for request in requests]
    assert queue.queue.counts == Counts(delivered=3)
    assert len(queue.queue) == 0
    assert queue.stays_idle()


def test_given_an_error_that_may_pass_when_its_time_has_come_then_the_very_same_is_sent_again(
    make_queue: Callable[..., Queue], receiver: Receiver, clock: Clock
) -> None:
    receiver.answers += [(503, {}, b""), (503, {}, b"")]
    queue = make_queue()
    queue.queue.add(Request(receiver.url, '{"id": "stable"}'))
    queue.wait_for(1)
    assert queue.stays_idle()
    clock.advance(0.9)
    assert queue.stays_idle()
    clock.advance(0.1)
    queue.wait_for(2)
    clock.advance(1.9)
    assert queue.stays_idle()
    clock.advance(0.1)
    reports = queue.wait_for(3)
    assert [(report.delivered, report.is_final, report.attempts) for report in reports] == [
        (False, False, 1),
        (False, False, 2),
        (True, True, 3),
    ]
    assert len({heard.body for heard in receiver.heard}) == 1
    assert queue.queue.counts == Counts(delivered=1, retried=2)


def test_given_a_server_that_asks_to_wait_when_it_is_tried_again_then_not_before(
    make_queue: Callable[..., Queue], receiver: Receiver, clock: Clock
) -> None:
    receiver.answers.append((429, {"Retry-After": "30"}, b""))
    queue = make_queue()
    queue.queue.add(Request(receiver.url, "{}"))
    queue.wait_for(1)
    clock.advance(29.9)
    assert queue.stays_idle()
    clock.advance(0.1)
    assert queue.wait_for(2)[1].delivered


def test_given_an_error_that_stays_when_reported_then_it_is_given_up_at_once(
    make_queue: Callable[..., Queue], receiver: Receiver
) -> None:
    receiver.answers.append((401, {}, b"who are you"))
    queue = make_queue()
    queue.queue.add(Request(receiver.url, "{}"))
    (report,) = queue.wait_for(1)
    assert report[1:] == (False, True, 1, "401 Unauthorized: who are you")
    assert queue.queue.counts == Counts(failed=1)


def test_given_a_server_that_never_works_when_the_patience_is_over_then_it_is_given_up(
    make_queue: Callable[..., Queue], clock: Clock
) -> None:
    failing = python('print(\'{"delivered": false, "may_retry": true, "detail": "500"}\')')
    queue = make_queue(failing, patience_seconds=200.0)
    queue.queue.add(Request("http://127.0.0.1:1/", "{}"))
    waits = []
    while not (queue.reports and queue.reports[-1].is_final):
        queue.wait_for(len(queue.reports) + 1)
        waited = 0
        while not queue.reports[-1].is_final and queue.stays_idle():
            clock.advance(1)
            waited += 1
        waits.append(waited)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 0]
    assert queue.reports[-1].detail == "500; given up after 183 s"
    assert queue.queue.counts == Counts(retried=8, failed=1)


def test_given_a_url_in_trouble_when_others_are_told_then_they_hear_at_once_and_it_hears_in_order(
    make_queue: Callable[..., Queue], receiver: Receiver, clock: Clock
) -> None:
    receiver.answers.append((500, {}, b""))
    other = Receiver()
    try:
        queue = make_queue()
        for body in ("1", "2"):
            queue.queue.add(Request(receiver.url, body))
        queue.queue.add(Request(other.url, "3"))
        queue.wait_for(2)
        assert [heard.body for heard in other.heard] == [b"3"]
        assert queue.stays_idle()
        clock.advance(1)
        queue.wait_for(4)
        assert [heard.body for heard in receiver.heard] == [b"1", b"1", b"2"]
    finally:
        other.close()


def test_given_a_full_queue_when_more_is_added_then_the_oldest_is_dropped_and_reported(
    make_queue: Callable[..., Queue],
) -> None:
    queue = make_queue(python("import time; time.sleep(60)"), capacity=2)
    for body in "123":
        queue.queue.add(Request("http://127.0.0.1:1/", body))
    assert len(queue.queue) == 2
    (report,) = queue.queue.poll()
    assert (report.request.body, report.delivered, report.is_final) == ("1", False, True)
    assert report.detail == "dropped: 2 newer ones are waiting"
    assert queue.queue.counts == Counts(dropped=1)


def test_given_a_full_queue_when_what_is_being_sent_fails_then_it_is_the_oldest_and_is_dropped(
    make_queue: Callable[..., Queue],
) -> None:
    queue = make_queue(python("import sys; sys.exit('broken')"), capacity=2)
    queue.queue.add(Request("http://127.0.0.1:1/", "1"))
    queue.queue.poll()
    for body in "23":
        queue.queue.add(Request("http://127.0.0.1:1/", body))
    reports = queue.wait_for(2)
    assert [(report.request.body, report.is_final) for report in reports] == [("1", False), ("1", True)]
    assert queue.queue.counts == Counts(retried=1, dropped=1)


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("import sys; sys.exit('Traceback\\nKeyError: broken')", "exit status 1: KeyError: broken"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL"),
        ("pass", "no result"),
        ("print('rubbish')", "no result: rubbish"),
        ("print('{\"delivered\": true}')", 'no result: {"delivered": true}'),
        ("print('[]')", "no result: []"),
    ],
)
def test_given_a_sender_that_breaks_when_reported_then_it_is_tried_again(
    make_queue: Callable[..., Queue], program: str, detail: str
) -> None:
    queue = make_queue(python(program))
    queue.queue.add(Request("http://127.0.0.1:1/", "{}"))
    (report,) = queue.wait_for(1)
    assert report[1:] == (False, False, 1, detail)


def test_given_no_such_sender_when_polled_then_nothing_is_raised_and_it_is_tried_again(
    make_queue: Callable[..., Queue],
) -> None:
    queue = make_queue(["/nonexistent"])
    queue.queue.add(Request("http://127.0.0.1:1/", "{}"))
    (report,) = queue.wait_for(1)
    assert not report.is_final
    assert report.detail.startswith("could not be started")


def test_given_a_sender_that_hangs_when_its_time_is_over_then_it_is_ended_and_tried_again(
    make_queue: Callable[..., Queue], clock: Clock
) -> None:
    queue = make_queue(python("import time; time.sleep(60)"))
    queue.queue.add(Request("http://127.0.0.1:1/", "{}", timeout=5))
    queue.queue.poll()
    clock.advance(5)
    (report,) = queue.wait_for(1)
    assert (report.is_final, report.detail) == (False, "no answer within 5 s")


def test_given_requests_under_way_when_closed_then_nothing_more_is_sent(
    make_queue: Callable[..., Queue], clock: Clock
) -> None:
    queue = make_queue(python("import time; time.sleep(60)"))
    for _unused in range(2):
        queue.queue.add(Request("http://127.0.0.1:1/", "{}"))
    queue.queue.poll()
    queue.queue.close()
    (report,) = queue.wait_for(1)
    assert (report.is_final, report.detail) == (True, "the agent stops")
    assert len(queue.queue) == 0
    clock.advance(100)
    assert queue.stays_idle()


def test_given_many_requests_when_polled_then_each_poll_returns_while_the_sender_works(
    make_queue: Callable[..., Queue],
) -> None:
    queue = make_queue(python("import time; time.sleep(60)"))
    for _unused in range(50):
        queue.queue.add(Request("http://127.0.0.1:1/", "{}"))
        assert queue.queue.poll() == []
    assert queue.queue.fileno() >= 0


def test_given_the_module_when_imported_then_neither_ssl_nor_http_comes_with_it() -> None:
    program = "import sys; sys.path.insert(0, %r); import foghorn_agent.webhooks; print(sorted(sys.modules))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program % str(AGENT)],
        env=environment,
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    loaded = done.stdout.decode()
    for heavy in ("ssl", "http.client", "email", "logging", "asyncio", "urllib.request", "argparse", "concurrent"):
        assert repr(heavy) not in loaded
