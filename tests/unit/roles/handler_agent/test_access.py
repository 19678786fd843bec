# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may see what over HTTP? Runs on Python 3.6 and later."""

from ipaddress import ip_network
from pathlib import Path
from typing import Any, Dict, Optional, Tuple

import pytest
from foghorn_agent.config import Config, Quorum
from foghorn_agent.http.access import Access
from foghorn_agent.http.endpoint import Asked
from foghorn_core.scheduled_events.signature import is_answer_signed, new_nonce, sign_question

SECRET = b"s" * 32
STATUS = b'{"vm_name": "web_0", "events": []}'


def respond(path: str) -> Optional[Tuple[int, str, bytes]]:
    return {
        "/readyz": (503, "text/plain", b"out of rotation\n"),
        "/healthz": (200, "text/plain", b"running\njournal: /var/lib/foghorn is read-only\n"),
        "/status": (200, "application/json", STATUS),
        "/metrics": (200, "text/plain", b"metrics\n"),
    }.get(path)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    file = tmp_path / "secret"
    file.write_bytes(SECRET)
    file.chmod(0o600)
    return file


def access(secret_file: Optional[Path] = None, vm_name: Optional[str] = "web_0", **networks: Any) -> Access:
    quorum = Quorum(secret_file=None if secret_file is None else str(secret_file))
    return Access(respond, lambda: vm_name, lambda: Config(quorum=quorum, **networks))


def from_elsewhere(path: str, headers: Optional[Dict[str, str]] = None) -> Asked:
    return Asked(path, "10.0.0.9", False, headers or {})


def signed(vm_name: str = "web_0", secret: bytes = SECRET, nonce: str = "") -> Dict[str, str]:
    return {key.lower(): value for key, value in sign_question((secret,), nonce or new_nonce(), vm_name).items()}


def status_for(asked: Asked, one: Access) -> Optional[int]:
    answer = one.respond(asked)
    return None if answer is None else answer.status


@pytest.mark.parametrize(
    ("path", "own", "others"),
    [
        ("/readyz", 503, 503),
        ("/healthz", 200, 200),
        ("/status", 200, 403),
        ("/metrics", 200, 403),
        ("/drain", None, None),
    ],
)
def test_given_a_path_when_asked_for_then_others_learn_only_whether_the_machine_is_in_rotation(
    path: str, own: Optional[int], others: Optional[int]
) -> None:
    assert status_for(Asked(path, "127.0.0.1", True), access()) == own
    assert status_for(from_elsewhere(path), access()) == others


def test_given_a_problem_when_others_ask_for_health_then_they_learn_that_the_agent_runs_and_no_more() -> None:
    own, others = access().respond(Asked("/healthz", "127.0.0.1", True)), access().respond(from_elsewhere("/healthz"))
    assert own is not None
    assert others is not None
    assert own.body == b"running\njournal: /var/lib/foghorn is read-only\n"
    assert others.body == b"running\n"


def test_given_a_refusal_when_it_is_read_then_it_says_who_may_ask_and_nothing_of_the_machine() -> None:
    answer = access().respond(from_elsewhere("/status"))
    assert answer is not None
    assert b"Only this machine and the members of its quorum" in answer.body
    assert b"web_0" not in answer.body


def test_given_networks_of_scrapers_when_they_ask_then_they_get_the_metrics_and_nothing_else() -> None:
    one = access(metrics_from=(ip_network("10.0.0.0/24"),))
    assert status_for(from_elsewhere("/metrics"), one) == 200
    assert status_for(Asked("/metrics", "::ffff:10.0.0.9", False), one) == 200
    assert status_for(Asked("/metrics", "10.0.1.9", False), one) == 403
    assert status_for(from_elsewhere("/status"), one) == 403


# --- members


@pytest.mark.parametrize("host", ["10.0.0.9", "127.0.0.1", "fe80::1%eth0"])
def test_given_a_member_when_it_asks_then_the_answer_is_signed_for_its_nonce(secret_file: Path, host: str) -> None:
    nonce = new_nonce()
    asked = Asked("/status", host, host == "127.0.0.1", signed(vm_name="WEB_0", nonce=nonce))
    answer = access(secret_file).respond(asked)
    assert answer is not None
    assert (answer.status, answer.body) == (200, STATUS)
    name, _colon, signature = answer.headers.strip().partition(": ")
    assert is_answer_signed((SECRET,), nonce, {name.lower(): signature}, answer.body)


@pytest.mark.parametrize(
    "headers",
    [
        signed(secret=b"x" * 32),
        signed(vm_name="web_1"),
        dict(signed(), **{"foghorn-nonce": "1"}),
        {"foghorn-signature": "0" * 64},
    ],
)
@pytest.mark.parametrize("host", ["10.0.0.9", "127.0.0.1"])
def test_given_a_signature_that_is_not_a_members_when_it_asks_then_it_is_refused(
    secret_file: Path, headers: Dict[str, str], host: str
) -> None:
    # On this machine, too: who signs wants to know whether both hold the same secret.
    assert status_for(Asked("/status", host, host == "127.0.0.1", headers), access(secret_file)) == 403


def test_given_no_secret_here_when_a_member_asks_then_it_is_refused(secret_file: Path) -> None:
    assert status_for(from_elsewhere("/status", signed()), access()) == 403
    assert status_for(from_elsewhere("/status", signed()), access(secret_file, vm_name=None)) == 403
    secret_file.chmod(0o640)
    assert status_for(from_elsewhere("/status", signed()), access(secret_file)) == 403
    secret_file.unlink()
    assert status_for(from_elsewhere("/status", signed()), access(secret_file)) == 403


def test_given_an_exchange_of_the_secret_when_a_member_asks_then_no_restart_is_needed(secret_file: Path) -> None:
    one = access(secret_file)
    new = b"n" * 32
    assert status_for(from_elsewhere("/status", signed(secret=new)), one) == 403
    secret_file.write_bytes(new + b"\n" + SECRET)
    assert status_for(from_elsewhere("/status", signed(secret=new)), one) == 200
    assert status_for(from_elsewhere("/status", signed()), one) == 200
    secret_file.write_bytes(new)
    assert status_for(from_elsewhere("/status", signed()), one) == 403


def test_given_a_signature_when_another_path_is_asked_for_then_it_opens_nothing(secret_file: Path) -> None:
    assert status_for(from_elsewhere("/metrics", signed()), access(secret_file)) == 403


# --- who is let in


@pytest.mark.parametrize(
    ("host", "is_let_in"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::7", True),
        ("11.1.2.3", False),
        ("fd01::7", False),
        ("fe80::1%eth0", False),
        ("127.0.0.1", True),
        ("::1", True),
        # Of a UNIX socket.
        ("", True),
        # Without Azure's probe the machine would be out of rotation for good.
        ("168.63.129.16", True),
        ("fe80::1234:5678:9abc%eth0", True),
    ],
)
def test_given_networks_then_only_clients_in_them_this_machine_and_azures_probe_may_connect(
    host: str, is_let_in: bool
) -> None:
    one = access(allow_from=(ip_network("10.0.0.0/8"), ip_network("fd00::/64")))
    assert one.admits(host) is is_let_in
    assert access().admits(host)
