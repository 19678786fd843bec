# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do others hear of it, and is the agent never kept? With real servers, and real TLS."""

import contextlib
import json
import select
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from base64 import b64encode
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple

import pytest
from ansible_collections.foghorn.azure_events.tests.ports import addresses_of, silent_address
from edge_helpers import AGENT, PATIENCE, Clock, Receiver, wait_until
from foghorn_agent.http.bodies import FIELDS, fields_of, fill, problems_with
from foghorn_agent.http.delivery import _headers, deliver, read_secret, require_secrecy, split_url
from foghorn_agent.http.webhooks import (
    PLAIN_JSON,
    Delivery,
    Report,
    Request,
    WebhookQueue,
    cloud_event,
    shown_url,
    wrap,
)
from foghorn_core.scheduled_events.event import Event
from foghorn_core.scheduled_events.masking import MASK

WHEN = datetime(2026, 1, 1, 12, 0, 0, 250000, tzinfo=timezone.utc)
# Where the agent's package and the core are found.
PATHS = [str(AGENT), str(AGENT.parents[2] / ".cache" / "agent")]
SENDER = [
    sys.executable,
    "-c",
    "import sys; sys.path[:0] = %r; from foghorn_agent.http.delivery import send; send(sys.stdin, sys.stdout)" % PATHS,
]


class Tunnel:
    """A proxy that lets one connection through."""

    def __init__(self, target: Tuple[str, int]) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE)
        self._target = target
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self.asked = b""
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        client, _address = self._listener.accept()
        with client, socket.create_connection(self._target, PATIENCE) as server:
            # Python 3.6 sends it piece by piece.
            while not self.asked.endswith(b"\r\n\r\n"):
                self.asked += client.recv(65536)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            others = {client: server, server: client}
            while True:
                for one in select.select(list(others), [], [], PATIENCE)[0]:
                    try:
                        data = one.recv(65536)
                        others[one].sendall(data)
                    except ConnectionError:
                        # Who finds another's certificate may hang up in the middle.
                        return
                    if not data:
                        return

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._listener.close()


@pytest.fixture
def receiver() -> Generator[Receiver, None, None]:
    with Receiver() as receiver:
        yield receiver


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


def test_given_a_receiver_that_wants_variables_when_wrapped_then_the_envelope_lies_below_the_keys() -> None:
    assert wrap({"id": "1"}, ["extra_vars", "azure_event"]) == {"extra_vars": {"azure_event": {"id": "1"}}}
    assert wrap({"id": "1"}, []) == {"id": "1"}


# --- one delivery


def test_given_a_receiver_when_delivered_then_it_receives_the_body_as_it_is(receiver: Receiver) -> None:
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


@pytest.mark.parametrize(
    ("place", "header", "sent"),
    [({}, "authorization", "Bearer s3cret"), ({"secret_header": "X-Key", "secret_prefix": ""}, "x-key", "s3cret")],
)
def test_given_a_secret_when_delivered_then_it_is_the_bearer_token_or_in_its_own_header(
    receiver: Receiver, secret_file: Path, place: Dict[str, Any], header: str, sent: str
) -> None:
    deliver(Request(receiver.url, "{}", secret_file=str(secret_file))._replace(**place))
    assert receiver.heard[0].headers[header] == sent


@pytest.mark.parametrize(
    ("status", "fields", "answer", "expected"),
    [
        (200, {}, b"ignored", Delivery(True, False, "200 OK")),
        (200, {"Transfer-Encoding": "chunked"}, b"7\r\nbroken", Delivery(True, False, "200 OK")),
        (400, {}, b"no\r\nsuch\tthing", Delivery(False, False, "400 Bad Request: no such thing")),
        (403, {}, b"not s3cret", Delivery(False, False, "403 Forbidden: not ********")),
        (403, {}, b"x" * 180 + b"s3cret", Delivery(False, False, "403 Forbidden: " + "x" * 180 + "*****")),
        (404, {}, b"", Delivery(False, False, "404 Not Found")),
        (408, {}, b"", Delivery(False, True, "408 Request Timeout")),
        (429, {"Retry-After": "7"}, b"", Delivery(False, True, "429 Too Many Requests", 7.0)),
        (503, {"Retry-After": "soon"}, b"", Delivery(False, True, "503 Service Unavailable")),
        (503, {"Retry-After": "²"}, b"", Delivery(False, True, "503 Service Unavailable")),
        (500, {}, b"\xff" * 1000, Delivery(False, True, "500 Internal Server Error: " + "\ufffd" * 173)),
        (
            302,
            {"Location": "https://x/y?sig=geheim"},
            b"",
            Delivery(False, False, "302 Found: redirects are not followed, set url to https://x/…"),
        ),
    ],
)
def test_given_an_answer_when_delivered_then_it_is_judged(
    receiver: Receiver, secret_file: Path, status: int, fields: Dict[str, str], answer: bytes, expected: Delivery
) -> None:
    receiver.answers.append((status, fields, answer))
    assert deliver(Request(receiver.url, "{}", secret_file=str(secret_file))) == expected


def test_given_nobody_listening_when_delivered_then_it_may_be_tried_again() -> None:
    delivery = deliver(Request("http://127.0.0.1:1/", "{}"))
    assert delivery[:2] == (False, True)
    assert delivery.detail.startswith("ConnectionRefusedError: ")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"url": "ftp://127.0.0.1/"}, "must have the form https://HOST"),
        ({"headers": [["X Y", "1"]]}, "headers: X Y"),
        ({"headers": [["X", "1\r\nY: 2"]]}, "headers: X"),
        ({"secret_file": "/nonexistent"}, "secret_file: /nonexistent: cannot be checked: /nonexistent: No such file"),
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


# --- what never comes to its end


@pytest.fixture
def dripping() -> Generator[Callable[[bytes, bytes], str], None, None]:
    """A server that answers with so much at once, and the rest of it again and again, for ever."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    listener.settimeout(PATIENCE)
    threads: List[threading.Thread] = []

    def serve(at_once: bytes, drip: bytes) -> None:
        connection, _address = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(at_once)
            ends = time.monotonic() + PATIENCE
            while time.monotonic() < ends:
                connection.sendall(drip)
                time.sleep(0.0005)

    def start(at_once: bytes, drip: bytes) -> str:
        threads.append(threading.Thread(target=serve, args=(at_once, drip)))
        threads[-1].start()
        return "http://127.0.0.1:%d/" % listener.getsockname()[1]

    yield start
    for thread in threads:
        thread.join(PATIENCE)
    listener.close()


@pytest.mark.parametrize(
    ("at_once", "drip"),
    [
        (b"HTTP/1.1 201 Created\r\nContent-Length: 1000000\r\n\r\n", b"x"),
        (b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"HTTP/1.1 201 Created\r\nX: ", b"x"),
    ],
)
def test_given_a_201_that_drips_forever_when_delivered_then_it_is_delivered_within_its_time(
    dripping: Callable[[bytes, bytes], str], at_once: bytes, drip: bytes
) -> None:
    began = time.monotonic()
    assert deliver(Request(dripping(at_once, drip), "{}", timeout=1.0)) == Delivery(True, False, "201 Created")
    assert time.monotonic() - began < PATIENCE / 2


def test_given_a_status_that_never_comes_when_delivered_then_it_may_be_tried_again(
    dripping: Callable[[bytes, bytes], str],
) -> None:
    delivery = deliver(Request(dripping(b"HTT", b"P"), "{}", timeout=0.5))
    assert delivery[:2] == (False, True)
    assert delivery.detail == "OSError: no answer within 0.5 s"


def test_given_a_receiver_with_an_address_that_does_not_answer_when_delivered_then_it_is_reached_by_the_next(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with silent_address() as silent:
        found = addresses_of(silent, ("127.0.0.1", receiver.port))
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: found)
        assert deliver(Request("http://dual-stack.example/hook", "{}", timeout=2.0)).delivered
    assert receiver.heard[0].headers["host"] == "dual-stack.example"


@pytest.mark.parametrize("body", ["{}", "x" * 32 * 1024 * 1024], ids=["small", "large"])
def test_given_a_receiver_that_takes_half_the_time_and_stalls_when_delivered_then_it_ends_in_time(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with silent_address() as silent, socket.socket() as stalled:
        stalled.bind(("127.0.0.1", 0))
        stalled.listen(1)
        found = addresses_of(silent, stalled.getsockname())
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_asked: found)
        began = time.monotonic()
        url = "http://dual-stack.example/" if len(body) > 2 else "https://dual-stack.example/"
        assert deliver(Request(url, body, timeout=4.0)).detail == "OSError: no answer within 4 s"
    assert time.monotonic() - began < 5.5


# --- what nobody else has to know


SLACK = "https://hooks.slack.com/services/T0001/B0001/0123456789abcdefghij0123"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://awx.example.com/api/v2/job_templates/42/launch/", "https://awx.example.com/…"),
        (SLACK, "https://hooks.slack.com/…"),
        ("https://x:8443/a?sig=geheim", "https://x:8443/…"),
        ("https://x:8443/?sig=geheim", "https://x:8443/…"),
        ("https://me:geheim@[::1]/", "https://[::1]/"),
        ("https://x:y/geheim", "a URL that cannot be read"),
    ],
)
def test_given_a_url_when_shown_then_nothing_secret_is_in_it(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_given_a_server_that_repeats_what_it_was_sent_when_delivered_then_no_secret_of_it_is_reported(
    receiver: Receiver, secret_file: Path
) -> None:
    url = receiver.url + "/0123456789abcdefghij0123?a=1&sig=geheimnis"
    receiver.answers.append((400, {}, b"/hook/0123456789abcdefghij0123?a=1&sig=geheimnis geheimnis s3cret kennwort"))
    request = Request(url, "{}", secret_file=str(secret_file), headers=[["X-Key", "kennwort"]])
    assert deliver(request).detail == "400 Bad Request: /hook/M?M M M M".replace("M", MASK)


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (401, b"unknown password: hunter2 of operator"),
        (401, b'{"password": "hunter2", "user": "operator"}'),
        (200, b'{"ignored_fields": {"hunter2": "", "operator": ""}}'),
    ],
)
def test_given_basic_credentials_when_the_server_repeats_them_decoded_then_they_are_not_reported(
    receiver: Receiver, secret_file: Path, status: int, answer: bytes
) -> None:
    secret_file.write_bytes(b64encode(b"operator:hunter2"))
    receiver.answers.append((status, {}, answer))
    delivery = deliver(Request(receiver.url, "{}", secret_file=str(secret_file), secret_prefix="Basic "))
    told = delivery.detail + (delivery.warning or "")
    assert MASK in told
    assert "hunter2" not in told
    assert "operator" not in told


def test_given_a_prefix_that_no_header_may_have_when_delivered_then_the_secret_is_not_reported(
    receiver: Receiver, secret_file: Path
) -> None:
    delivery = deliver(Request(receiver.url, "{}", secret_file=str(secret_file), secret_prefix="Bearer\n"))
    assert not delivery.delivered
    assert "s3cret" not in delivery.detail


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://awx.example.com/", "http://127.0.0.1.example.com/"])
def test_given_a_secret_and_plain_http_when_delivered_then_nothing_is_sent(secret_file: Path, url: str) -> None:
    delivery = deliver(Request(url, "{}", secret_file=str(secret_file)))
    assert delivery == Delivery(False, False, "url: a secret is sent only over https")


@pytest.mark.parametrize("url", ["https://awx.example.com/", "http://127.0.0.1/", "http://[::1]/", "http://localhost/"])
def test_given_tls_or_this_machine_when_a_secret_is_sent_then_it_may(url: str) -> None:
    require_secrecy(url)


# --- AWX


@pytest.mark.parametrize(
    ("answer", "dropped"),
    [
        ({"job": 1, "ignored_fields": {"extra_vars": {"azure_event": {"id": "s3cret"}}}}, "extra_vars.azure_event"),
        ({"job": 1, "ignored_fields": {"limit": "web_0", "extra_vars": "{}"}}, "extra_vars, limit"),
        ({"job": 1, "ignored_fields": {}}, None),
        ({"job": 1, "ignored_fields": "limit"}, None),
        ([], None),
    ],
)
def test_given_a_launch_that_drops_variables_when_delivered_then_their_names_are_reported(
    receiver: Receiver, answer: Any, dropped: Optional[str]
) -> None:
    receiver.answers.append((201, {}, json.dumps(answer).encode("ascii")))
    delivery = deliver(Request(receiver.url, "{}"))
    assert delivery[:3] == (True, False, "201 Created")
    assert (delivery.warning or "").startswith(
        "AWX dropped %s: set ask_variables_on_launch" % dropped if dropped else ""
    )
    assert (delivery.warning is None) is (dropped is None)


# --- bodies


def test_given_no_event_when_a_body_is_made_then_what_is_not_known_is_empty() -> None:
    fields = fields_of("boot", {}, None, "web_0", "", WHEN)
    assert {name for name, value in fields.items() if value} == {"text", "stage", "time", "vm_name"}
    assert fields["text"] == "web_0: boot"
    assert set(fields) == set(FIELDS)


def test_given_an_event_with_any_text_when_a_body_is_made_then_it_stays_json_of_the_same_form() -> None:
    event = Event("E-1", "Reboot", "Scheduled", ("web_0", "web_1"), None, None, None, '"}, $vm_name \n\x1b[31m', 7)
    fields = fields_of("over", {"how": "ended"}, event, "web_0", "E-1", WHEN)
    body = fill({"a": ["$description", 1, None, {"$stage": "${state}d$$"}]}, fields, WHEN)
    assert list(body) == ["a"]
    assert body["a"][1:] == [1, None, {"$stage": "endedd$"}]
    assert body["a"][0].startswith('"}, $vm_name ')
    assert "\x1b" not in body["a"][0]
    assert (fields["resources"], fields["duration_in_seconds"]) == ("web_0 web_1", "7")


def test_given_a_restore_when_a_body_is_made_then_it_says_what_the_machine_is_back_from() -> None:
    back_from = [
        {"event_id": "E-1", "event_type": "Reboot", "outcome": "completed"},
        {"event_id": "E-2", "event_type": "Freeze", "outcome": "withdrawn"},
    ]
    fields = fields_of("restore", {"state": "succeeded", "back_from": back_from[:1]}, None, "web_0", "", WHEN)
    assert fields["text"] == "web_0: restore succeeded (Reboot E-1 completed)"
    assert (fields["event_id"], fields["event_type"], fields["outcome"]) == ("E-1", "Reboot", "completed")
    fields = fields_of("restore", {"state": "succeeded", "back_from": back_from}, None, "web_0", "", WHEN)
    assert (fields["event_id"], fields["outcome"]) == ("E-1 E-2", "completed withdrawn")


def test_given_later_times_when_a_body_is_made_then_they_count_from_what_happened() -> None:
    assert fill("$in_0 ${in_3600}", {}, WHEN) == "2026-01-01T12:00:00Z 2026-01-01T13:00:00Z"


def test_given_input_that_is_no_field_when_checked_then_it_is_named() -> None:
    problem = "a $ begins no field: write $$ for a dollar; fields are %s, in_SECONDS" % ", ".join(FIELDS)
    assert problems_with(["$text", {"a": "pa$vm", "b": "${in_60}"}, 5, "$$"]) == [problem]
    assert problems_with(["5 $", "${}"]) == [problem] * 2
    deep: Any = "x"
    for _level in range(40):
        deep = [deep]
    assert problems_with(deep) == ["is nested deeper than 32 levels"]


# --- a proxy


def test_given_a_proxy_when_delivered_by_http_then_it_is_asked_for_the_whole_url(receiver: Receiver) -> None:
    proxy = receiver.url.replace("/hook", "")
    assert deliver(Request("http://chat.example.com/hook?a=1", "{}", proxy=proxy)).delivered
    (heard,) = receiver.heard
    assert heard.path == "http://chat.example.com/hook?a=1"
    assert heard.headers["host"] == "chat.example.com"


def test_given_a_proxy_that_does_not_let_us_when_delivered_then_it_is_reported(receiver: Receiver) -> None:
    # It knows no CONNECT.
    delivery = deliver(Request("https://chat.example.com/hook", "{}", proxy=receiver.url.replace("/hook", "")))
    assert delivery[:2] == (False, True)
    assert "Tunnel connection failed: 501" in delivery.detail


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
    with Receiver(context) as receiver:
        yield receiver


def test_given_a_server_that_our_ca_vouches_for_when_delivered_then_it_receives_the_request(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    assert deliver(Request(secure_receiver.url, "{}", ca_file=certificate[0])).delivered
    assert secure_receiver.heard[0].headers["host"] == secure_receiver.url[8:-5]


def test_given_a_server_that_nobody_vouches_for_when_delivered_then_it_receives_nothing(
    secure_receiver: Receiver, secret_file: Path
) -> None:
    delivery = deliver(Request(secure_receiver.url, "{}", secret_file=str(secret_file)))
    assert delivery[:2] == (False, True)
    assert "CERTIFICATE_VERIFY_FAILED" in delivery.detail
    assert secure_receiver.heard == []


def test_given_a_server_by_another_name_when_delivered_then_it_receives_nothing(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    url = secure_receiver.url.replace("127.0.0.1", "localhost")
    delivery = deliver(Request(url, "{}", ca_file=certificate[0]))
    assert delivery[:2] == (False, True)
    assert "localhost" in delivery.detail
    assert secure_receiver.heard == []


def test_given_a_proxy_when_delivered_by_https_then_tls_goes_through_it_to_the_very_end(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    target = ("127.0.0.1", int(secure_receiver.url.split(":")[2].partition("/")[0]))
    with contextlib.closing(Tunnel(target)) as proxy:
        assert deliver(Request(secure_receiver.url, "{}", ca_file=certificate[0], proxy=proxy.url)).delivered
    assert proxy.asked.startswith(b"CONNECT 127.0.0.1:%d HTTP/1." % target[1])
    assert secure_receiver.heard[0].path == "/hook"


def test_given_an_ipv6_address_and_a_proxy_when_delivered_by_https_then_the_proxy_is_asked_for_it_in_brackets(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    with contextlib.closing(Tunnel(("127.0.0.1", secure_receiver.port))) as proxy:
        deliver(Request("https://[2001:db8::1]:8443/hook", "{}", ca_file=certificate[0], proxy=proxy.url))
    assert proxy.asked.startswith(b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n")


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_given_an_invalid_ca_file_when_delivered_then_the_error_names_it(
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


@pytest.mark.parametrize("url", ["file:///etc/passwd", "https://user:hunter2@x/", "https://hunter2\\.x/"])
def test_given_something_else_when_taken_apart_then_it_is_refused_and_no_password_is_reported(url: str) -> None:
    with pytest.raises(ValueError, match=r"url: must .* Put a password in secret_file") as raised:
        split_url(url)
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
    assert _headers(Request(url, "{}"), split_url(url))["Host"] == host


def test_given_a_header_in_another_case_when_it_replaces_one_of_ours_then_that_is_not_sent_besides() -> None:
    request = Request("http://x", "{}", headers=[["user-agent", "ours"]])
    assert "User-Agent" not in _headers(request, split_url(request.url))


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602])
def test_given_a_secret_that_others_may_use_when_read_then_it_is_refused_with_the_remedy(
    secret_file: Path, mode: int
) -> None:
    secret_file.chmod(mode)
    with pytest.raises(ValueError, match=r"secret_file: \S*secret: others than root can .*\(mode %o\): chmod" % mode):
        read_secret(str(secret_file))


def test_given_certificates_that_others_can_change_when_delivered_then_nothing_is_sent(
    secure_receiver: Receiver, certificate: Tuple[str, str]
) -> None:
    Path(certificate[0]).chmod(0o666)
    delivery = deliver(Request(secure_receiver.url, "{}", ca_file=certificate[0]))
    assert not delivery.delivered
    assert "ca_file: %s: others than root can write" % certificate[0] in delivery.detail
    assert secure_receiver.heard == []


@pytest.mark.parametrize("content", [b"", b"\n", b"two\nlines", b"s3cr\xe9t", b"s3cret" * 1000])
def test_given_something_that_is_no_secret_when_read_then_it_is_refused_and_not_shown(
    secret_file: Path, content: bytes
) -> None:
    secret_file.write_bytes(content)
    with pytest.raises(ValueError, match=r"holds no secret|is larger than 4096 bytes") as raised:
        read_secret(str(secret_file))
    assert "s3cr" not in str(raised.value)


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
    assert reports == [Report(request, True, True, "202 Accepted") for request in requests]
    assert [heard.body for heard in receiver.heard] == [request.body.encode() for request in requests]
    assert len(queue.queue) == 0
    assert queue.stays_idle()


def test_given_an_error_that_may_pass_when_its_time_has_come_then_the_same_request_is_repeated(
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
    assert [(report.delivered, report.is_final) for report in reports] == [(False, False), (False, False), (True, True)]
    assert len({heard.body for heard in receiver.heard}) == 1


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
    assert report[1:4] == (False, True, "401 Unauthorized: who are you")


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


def test_given_a_url_that_fails_when_others_are_notified_then_they_do_not_wait_and_its_own_requests_stay_in_order(
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
    assert report[1:4] == (False, False, detail)


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
    # Plus what a process may need before it can read the clock itself.
    clock.advance(10)
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
