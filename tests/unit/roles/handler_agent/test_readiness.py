# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an application that died seen, and its machine out of rotation? Runs on Python 3.6 and later."""

import contextlib
import socket
import threading
import time
from pathlib import Path
from typing import Any, Dict, Generator, List, Sequence, Tuple

import pytest
from edge_helpers import PATIENCE, Clock, Heard, HttpServer, wait_until
from foghorn_agent.act.readiness import Check, Readiness, look
from rehearsal import UNAPPROVED, Life, Rehearsal


class Application(HttpServer):
    """A page that answers with the status that is set."""

    def __init__(self) -> None:
        self.status = 200
        self.asked: List[str] = []
        super().__init__(self._answer)

    def _answer(self, heard: Heard) -> Tuple[int, Dict[str, str], bytes]:
        self.asked.append(heard.path)
        return self.status, {}, b"well"


@pytest.fixture
def application() -> Generator[Application, None, None]:
    application = Application()
    yield application
    with contextlib.suppress(OSError):
        application.close()


class Looks:
    """The checks, with what the agent's loop does for them."""

    def __init__(self, clock: Clock, *checks: Check) -> None:
        self.clock = clock
        self.checks: Sequence[Check] = checks
        self.log: List[Tuple[int, str]] = []
        self.readiness = Readiness(clock, lambda priority, message, **_fields: self.log.append((priority, message)))

    def look(self) -> List[str]:
        """Let each finish its next check; return the names of those that fail."""
        self.clock.advance(60.0)
        self.readiness.turn(self.checks, self.clock())
        wait_until(self.is_done)
        return self.readiness.failing

    def is_done(self) -> bool:
        # So that a program's time runs out.
        self.clock.advance(0.01)
        self.readiness.turn(self.checks, self.clock())
        return self.readiness.seconds_to_next(self.clock()) != 0.2


@pytest.fixture
def begin(clock: Clock) -> Generator[Any, None, None]:
    begun: List[Looks] = []

    def begin(*checks: Check) -> Looks:
        begun.append(Looks(clock, *checks))
        return begun[-1]

    yield begin
    for one in begun:
        one.readiness.stop()
        wait_until(one.readiness.is_idle)


def page(port: int, **details: Any) -> Check:
    return Check("http", "web", "http://127.0.0.1:%d/health?full=1" % port, **details)


def test_given_an_application_when_it_dies_and_comes_back_then_the_machine_goes_out_and_returns(
    begin: Any, application: Application
) -> None:
    looks = begin(page(application.port))
    assert looks.look() == []
    assert application.asked == ["/health?full=1"]
    application.status = 503
    # Once may be chance.
    assert looks.look() == []
    assert looks.look() == ["web"]
    assert looks.readiness.describe() == [
        {"name": "web", "ready": False, "detail": "503 Service Unavailable", "failures": 2}
    ]
    application.status = 302
    assert looks.look() == []
    assert [message for _priority, message in looks.log] == [
        "check web failed: 503 Service Unavailable: the machine is not ready",
        "check web succeeds again",
    ]


def test_given_an_application_that_was_never_seen_well_when_checked_then_the_first_failure_counts(
    begin: Any, application: Application
) -> None:
    looks = begin(page(application.port))
    application.close()
    # Not even looked at yet.
    looks.readiness.turn(looks.checks, looks.clock())
    assert looks.readiness.failing == ["web"]
    wait_until(looks.is_done)
    assert looks.readiness.failing == ["web"]
    assert looks.readiness.describe()[0]["detail"] == "refused"


def test_given_a_check_that_hangs_when_the_loop_runs_then_it_waits_for_nothing_and_checks_once(begin: Any) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        looks = begin(page(silent.getsockname()[1], timeout=1.0), Check("tcp", "port", address=silent.getsockname()))
        began = time.monotonic()
        for _turn in range(50):
            looks.clock.advance(1.0)
            looks.readiness.turn(looks.checks, looks.clock())
        assert time.monotonic() - began < 1.0
        wait_until(looks.is_done)
        assert looks.readiness.failing == ["web"]
        assert looks.readiness.describe()[0]["detail"] == "no answer within 1 s"


def test_given_a_program_when_it_fails_or_hangs_then_its_end_is_what_counts(begin: Any, tmp_path: Path) -> None:
    flag, program = tmp_path / "well", tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o777)
    looks = begin(
        Check("command", "flag", argv=("/bin/test", "-e", str(flag)), failures=1),
        Check("command", "slow", argv=("/bin/sleep", "600"), timeout=0.2),
        Check("command", "absent", argv=("/absent",)),
        Check("command", "anybody's", argv=(str(program),)),
    )
    flag.touch()
    assert looks.look() == ["slow", "absent", "anybody's"]
    flag.unlink()
    assert looks.look() == ["flag", "slow", "absent", "anybody's"]
    assert [one["detail"].partition(":")[0] for one in looks.readiness.describe()] == [
        "exit status 1",
        "timed out after 0.2 s, its timeout",
        "/absent",
        str(program),
    ]
    assert "others than root can write" in looks.readiness.describe()[-1]["detail"]


def test_given_another_configuration_when_a_check_stays_then_what_was_found_stays_and_others_end(
    begin: Any, application: Application
) -> None:
    looks = begin(page(application.port), Check("command", "slow", argv=("/bin/sleep", "600"), timeout=600.0))
    looks.clock.advance(60.0)
    looks.readiness.turn(looks.checks, looks.clock())
    wait_until(lambda: looks.is_done() or looks.readiness.failing == ["slow"])
    looks.checks = (page(application.port),)
    looks.readiness.turn(looks.checks, looks.clock())
    assert looks.readiness.failing == []
    wait_until(looks.is_done)
    assert looks.readiness.is_idle()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP: 'SSH-2.0-OpenSSH_9.2' is not a status line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", "an answer of more than 1024 KiB"),
        (b"", "closed without an answer"),
    ],
)
def test_given_input_that_is_no_page_when_checked_then_it_is_reported(said: bytes, found: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)

        def serve() -> None:
            with listener.accept()[0] as connection:
                connection.recv(4096)
                connection.sendall(said)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert look(page(listener.getsockname()[1], timeout=PATIENCE)).startswith(found)
        thread.join(PATIENCE)


# --- the agent


def test_given_an_application_that_died_when_the_agent_is_asked_then_every_answer_says_so(
    application: Application,
) -> None:
    checks = [{"tcp": application.port, "name": "database", "failures": 1, "interval": 1}]
    machine = Rehearsal(settings={"ready_checks": checks})
    machine.tick()

    def probe() -> int:
        time.sleep(0.005)
        machine.tick()
        return machine.answer("/readyz")[0]

    try:
        wait_until(lambda: probe() == 200)
        assert machine.status()["in_rotation"] is True
        application.close()
        # At the moment of its death a connection may also be reset.
        wait_until(lambda: probe() == 503 and machine.status()["checks"][0]["detail"] == "refused")
        assert machine.answer("/readyz") == (503, "not ready: database\n")
        assert machine.answer("/healthz")[0] == 200
        assert machine.status()["in_rotation"] is False
        assert 'foghorn_check_ready{check="database"} 0.0' in machine.answer("/metrics")[1]
    finally:
        machine.running.stop()


def test_given_a_machine_that_is_out_for_long_when_ten_minutes_are_over_then_it_is_warned_of_repairs_once() -> None:
    machine = Rehearsal([Life("Reboot", notice=1800.0)], policy=UNAPPROVED)

    def warnings() -> List[str]:
        return machine.messages("automatic instance repairs")

    machine.run_until(595.0)
    assert warnings() == []
    machine.run_until(900.0)
    assert len(warnings()) == 1
    assert warnings()[0].startswith("out of rotation for 10 minutes: a scale set with automatic instance repairs may ")
