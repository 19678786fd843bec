# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does another VM's agent say?"""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Mapping

import pytest
from edge_helpers import PATIENCE, wait_until
from foghorn_agent.http.members import Job, MemberError, MembersSession, ask_agent
from foghorn_core.scheduled_events.event import NameKey, name_key
from foghorn_core.scheduled_events.signature import secret_of_question, sign_answer

STATUS = {"vm_name": "web_1", "events": [{"event_id": "E-1", "ready": True}]}
Talk = Callable[[socket.socket], None]


class Member:
    """Takes one connection and does with it what the test says."""

    def __init__(self, talk: Talk) -> None:
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE)
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        self.request = b""
        self._talk = talk
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # The client may be gone before we have said all.
        with contextlib.suppress(OSError), self._listener.accept()[0] as connection:
            connection.settimeout(PATIENCE)
            while b"\r\n\r\n" not in self.request:
                self.request += connection.recv(4096)
            self._talk(connection)

    def close(self) -> None:
        self._thread.join(PATIENCE)
        self._listener.close()


@pytest.fixture
def member() -> Generator[Callable[[Talk], Member], None, None]:
    members: List[Member] = []

    def make(talk: Talk) -> Member:
        members.append(Member(talk))
        return members[-1]

    yield make
    for one in members:
        one.close()


def saying(data: bytes) -> Talk:
    return lambda connection: connection.sendall(data)


def answer(body: bytes, status: bytes = b"200 OK", length: Any = None) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body) if length is None else length, body)


@pytest.mark.parametrize(("below", "asked"), [("/", b"/status"), ("/agents/web_1", b"/agents/web_1/status")])
def test_given_a_member_when_asked_then_its_status_is_read(
    member: Callable[[Talk], Member], below: str, asked: bytes
) -> None:
    one = member(saying(answer(json.dumps(STATUS).encode())))
    assert ask_agent(one.url + below, PATIENCE) == STATUS
    host = one.url[len("http://") :].encode()
    assert one.request.startswith(b"GET %s HTTP/1.1\r\nHost: %s\r\n" % (asked, host))
    assert b"\r\nConnection: close\r\n" in one.request


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "cannot be reached: closed without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "sent an invalid answer: 'SSH-2.0-OpenSSH_9.2' is not a status line"),
        (answer(b"", b"404 Not Found"), "answered 404 Not Found"),
        (answer(b"", b"302 Found"), "answered 302 Found"),
        (answer(b'{"events": []}', length=999), "sent an invalid answer: the answer broke off"),
        (answer(b"<html>"), "answered, but with not JSON"),
        (answer(b"[" * 100000), "nested too deeply"),
        (answer(b"[]"), "not with a status"),
        (answer(b"{}"), "not with a status"),
        (answer(b'{"events": [1]}'), "not with a status"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (2**20 + 1), "more than 128 KiB"),
    ],
)
def test_given_an_answer_that_is_no_status_when_asked_then_it_is_an_error_that_says_so(
    member: Callable[[Talk], Member], data: bytes, complaint: str
) -> None:
    one = member(saying(data))
    with pytest.raises(MemberError, match=complaint) as raised:
        ask_agent(one.url, PATIENCE)
    assert one.url in str(raised.value)


def test_given_a_member_that_says_nothing_when_asked_then_it_is_an_error_in_time(
    member: Callable[[Talk], Member],
) -> None:
    hang_up = threading.Event()

    def talk(_connection: socket.socket) -> None:
        hang_up.wait(PATIENCE)

    one = member(talk)
    with pytest.raises(MemberError, match=r"did not answer within 0.1 s"):
        ask_agent(one.url, 0.1)
    hang_up.set()


def test_given_a_url_of_another_form_when_asked_then_it_is_refused() -> None:
    with pytest.raises(ValueError, match="must begin with http://"):
        ask_agent("ftp://127.0.0.1", PATIENCE)


# --- members of a quorum, side by side


SECRET = b"s" * 32


class Crowd:
    """Many members, each with an address of its own, all served at once."""

    def __init__(self) -> None:
        self.urls: Dict[NameKey, str] = {}
        self.asked: List[str] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._listeners: List[socket.socket] = []
        self._threads: List[threading.Thread] = []
        self.is_over = threading.Event()

    def add(self, name: str, talk: Callable[[bytes, socket.socket], None]) -> None:
        """One that gets the request, and says what it likes."""
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        self._listeners.append(listener)
        self.urls[name_key(name)] = "http://127.0.0.1:%d" % listener.getsockname()[1]
        thread = threading.Thread(target=self._serve, args=(name, listener, talk), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, name: str, listener: socket.socket, talk: Callable[[bytes, socket.socket], None]) -> None:
        with contextlib.suppress(OSError):
            while True:
                with listener.accept()[0] as connection:
                    if self.is_over.is_set():
                        return
                    self.asked.append(name)
                    with self._lock:
                        self._at_once += 1
                        self.most_at_once = max(self.most_at_once, self._at_once)
                    with contextlib.suppress(OSError):
                        request = b""
                        while b"\r\n\r\n" not in request:
                            request += connection.recv(4096)
                        talk(request, connection)
                    with self._lock:
                        self._at_once -= 1

    def hang(self, _request: bytes, _connection: socket.socket) -> None:
        """Never answer."""
        self.is_over.wait(PATIENCE)

    def drip(self, _request: bytes, connection: socket.socket) -> None:
        """Send a byte now and then."""
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not self.is_over.wait(0.05):
            connection.sendall(b"x")

    def close(self) -> None:
        self.is_over.set()
        for listener in self._listeners:
            with contextlib.suppress(OSError):
                socket.create_connection(listener.getsockname(), PATIENCE).close()
        for thread in self._threads:
            thread.join(PATIENCE)
        for listener in self._listeners:
            listener.close()


@pytest.fixture
def crowd() -> Generator[Crowd, None, None]:
    crowd = Crowd()
    yield crowd
    crowd.close()


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    file = tmp_path / "members.secret"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    return file


def honest(name: str, body: bytes = b"", secret: bytes = SECRET) -> Callable[[bytes, socket.socket], None]:
    """Answer as an agent does, if the question is signed for it."""

    def talk(request: bytes, connection: socket.socket) -> None:
        headers = {
            line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in request.decode().splitlines()[1:]
        }
        known = secret_of_question((secret,), headers, name)
        if known is None:
            connection.sendall(answer(b"", b"403 Forbidden"))
            return
        said = body or json.dumps(dict(STATUS, vm_name=name)).encode()
        signature = sign_answer(known, headers["foghorn-nonce"], said).encode()
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nFoghorn-Signature: %s\r\n\r\n%s" % (len(said), signature, said)
        )

    return talk


def reasons(answers: Mapping[NameKey, Any]) -> Dict[str, str]:
    """Why there is no answer, by name; of those that gave one, their name."""
    return {key[0]: one.reason if isinstance(one, MemberError) else str(one["vm_name"]) for key, one in answers.items()}


def test_given_members_when_asked_then_each_status_is_that_of_its_member(crowd: Crowd, secret_file: Path) -> None:
    for name in ("web_1", "WEB_2"):
        crowd.add(name, honest(name))
    answers = MembersSession().ask(Job(crowd.urls, PATIENCE, str(secret_file)))
    assert reasons(answers) == {"web_1": "web_1", "web_2": "WEB_2"}
    assert answers[name_key("web_1")]["events"] == STATUS["events"]


def test_given_fourteen_that_hang_or_drip_when_asked_then_they_hide_nobody_and_take_no_longer_than_they_may(
    crowd: Crowd, secret_file: Path
) -> None:
    for number in range(14):
        crowd.add("bad_%02d" % number, crowd.drip if number % 2 else crowd.hang)
    crowd.add("web_1", honest("web_1"))
    began = time.monotonic()
    answers = reasons(MembersSession().ask(Job(crowd.urls, 2.0, str(secret_file))))
    assert time.monotonic() - began < 2.0 + PATIENCE / 4
    assert answers.pop("web_1") == "web_1"
    assert set(answers.values()) == {"no answer"}
    assert len(answers) == 14


def test_given_more_members_than_are_asked_at_once_when_some_hang_then_the_next_time_these_come_last(
    crowd: Crowd, secret_file: Path
) -> None:
    for number in range(40):
        crowd.add("bad_%02d" % number, crowd.hang)
    crowd.add("web_1", honest("web_1"))
    session = MembersSession()
    assert reasons(session.ask(Job(crowd.urls, 1.0, str(secret_file))))["web_1"] == "no answer"
    assert crowd.most_at_once <= 32
    wait_until(lambda: not session._under_way)
    assert reasons(session.ask(Job(crowd.urls, 3.0, str(secret_file))))["web_1"] == "web_1"


def test_given_a_name_whose_look_up_hangs_when_asked_again_then_nobody_waits_for_it_and_it_is_not_asked_twice(
    crowd: Crowd, secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up: List[bytes] = []
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *details: Any) -> Any:
        if host == b"slow.example":
            looked_up.append(host)
            crowd.is_over.wait(PATIENCE)
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return resolve(host, *details)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    crowd.add("web_1", honest("web_1"))
    crowd.urls[name_key("web_2")] = "http://slow.example:9797"
    session = MembersSession()
    for _round in range(2):
        assert reasons(session.ask(Job(crowd.urls, 1.0, str(secret_file)))) == {"web_1": "web_1", "web_2": "no answer"}
    assert looked_up == [b"slow.example"]
    crowd.is_over.set()


def test_given_more_members_than_azure_ever_hits_then_the_number_asked_is_limited(secret_file: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d" % taken.getsockname()[1]
        urls = {name_key("web_%03d" % number): url for number in range(150)}
        answers = reasons(MembersSession().ask(Job(urls, PATIENCE, str(secret_file))))
    assert sorted(answers.values()) == ["refused"] * 100 + ["too many"] * 50


def test_given_a_system_without_threads_when_asked_then_it_is_that_members_error(
    crowd: Crowd, secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd.add("web_1", honest("web_1"))

    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        session = MembersSession()
        assert reasons(session.ask(Job(crowd.urls, 1.0, str(secret_file)))) == {"web_1": "not asked yet"}
    assert reasons(session.ask(Job(crowd.urls, PATIENCE, str(secret_file)))) == {"web_1": "web_1"}


@pytest.mark.parametrize(
    ("talk", "reason"),
    [
        (honest("web_1", secret=b"x" * 32), "other secret"),
        (honest("web_2"), "other secret"),
        (honest("web_1", b'{"vm_name": "web_2", "events": []}'), "another machine"),
        (honest("web_1", b'{"events": []}'), "another machine"),
        (honest("web_1", b"[]"), "no agent"),
        (lambda _request, one: one.sendall(answer(json.dumps(STATUS).encode())), "not signed"),
        (lambda _request, one: one.sendall(b"SSH-2.0-OpenSSH_9.2\r\n"), "no agent"),
        (lambda _request, _one: None, "unreachable"),
    ],
)
def test_given_an_answer_that_is_not_a_members_when_received_then_the_reason_says_what_is_wrong(
    crowd: Crowd, secret_file: Path, talk: Callable[[bytes, socket.socket], None], reason: str
) -> None:
    crowd.add("web_1", talk)
    assert reasons(MembersSession().ask(Job(crowd.urls, PATIENCE, str(secret_file)))) == {"web_1": reason}


def test_given_a_recorded_answer_when_it_is_replayed_then_it_does_not_count(crowd: Crowd, secret_file: Path) -> None:
    overheard: List[bytes] = []

    class Wire:
        def sendall(self, data: bytes) -> None:
            overheard.append(data)

    def talk(request: bytes, connection: socket.socket) -> None:
        if not overheard:
            honest("web_1")(request, Wire())  # type: ignore[arg-type]
        connection.sendall(overheard[0])

    crowd.add("web_1", talk)
    session = MembersSession()
    assert reasons(session.ask(Job(crowd.urls, PATIENCE, str(secret_file)))) == {"web_1": "web_1"}
    assert reasons(session.ask(Job(crowd.urls, PATIENCE, str(secret_file)))) == {"web_1": "not signed"}


def test_given_a_name_that_nobody_knows_when_asked_then_the_reason_says_so(
    secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def getaddrinfo(*_details: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    answers = MembersSession().ask(Job({name_key("web_1"): "http://web-1.example"}, PATIENCE, str(secret_file)))
    assert reasons(answers) == {"web_1": "unknown name"}


def test_given_no_secret_when_members_are_to_be_asked_then_nobody_is_and_the_error_names_the_file(
    crowd: Crowd, secret_file: Path
) -> None:
    crowd.add("web_1", honest("web_1"))
    secret_file.chmod(0o644)
    answers = MembersSession().ask(Job(crowd.urls, PATIENCE, str(secret_file)))
    assert reasons(answers) == {"web_1": "no secret here"}
    assert str(secret_file) in str(answers[name_key("web_1")])
    assert reasons(MembersSession().ask(Job(crowd.urls, PATIENCE, None))) == {"web_1": "no secret here"}
    assert crowd.asked == []
