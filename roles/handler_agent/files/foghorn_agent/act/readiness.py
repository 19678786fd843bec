# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the application is healthy enough for the machine to be in rotation.

The probe asks the agent, which lives on when the application has died. So the agent looks after it, now and then and
beside its loop, and the probe gets what was found last: a check that hangs holds up nobody.
"""

import socket
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from foghorn_core.scheduled_events.deadline import Deadline
from foghorn_core.scheduled_events.errors import ProtocolError, TooLarge
from foghorn_core.scheduled_events.http_connection import HttpConnection
from foghorn_core.scheduled_events.url import parse_url

from ..io import log as levels
from ..io.log import Log
from ..io.workers import Worker
from ..platform import ownership
from .steps import Child

HTTP = "http"
TCP = "tcp"
KINDS = (HTTP, TCP, "command")

_LARGEST_PAGE = 1024 * 1024  # bytes
_LOOK_AGAIN = 0.2  # seconds, while one is under way


class Check(NamedTuple):
    """One look at the application. Times are in seconds."""

    kind: str
    name: str
    url: str = ""
    """With `http`: any answer from 200 to 399 is good."""
    address: Tuple[str, int] = ("127.0.0.1", 0)
    """With `tcp`: where a connection has to be taken."""
    argv: Tuple[str, ...] = ()
    """With `command`: has to end with 0."""
    interval: float = 5.0
    timeout: float = 2.0
    failures: int = 2
    """This many failures in a row take the machine out. One success brings it back."""


class Readiness:
    """Looks, remembers, and says what was found.

    :param clock: monotonic, in seconds
    """

    def __init__(self, clock: Callable[[], float], log: Log) -> None:
        self._clock = clock
        self._log = log
        self._checks: Sequence[Check] = ()
        self._slots: List[_Slot] = []
        self._ending: List[Union[_OnNetwork, _OnMachine]] = []

    @property
    def failing(self) -> List[str]:
        """The names of the checks that keep the machine out of rotation. A check that never succeeded counts as
        failed.
        """
        return [slot.check.name for slot in self._slots if not slot.is_ready]

    def describe(self) -> List[Dict[str, Any]]:
        """The checks for `/status`, each with its last result."""
        return [
            {"name": slot.check.name, "ready": bool(slot.is_ready), "detail": slot.detail, "failures": slot.failed}
            for slot in self._slots
        ]

    def turn(self, checks: Sequence[Check], now: float) -> None:
        """Take the checks further.

        :param checks: those of the configuration as it is now
        :param now: on the monotonic clock
        """
        if checks is not self._checks:
            self._use(checks)
        self._ending = [look for look in self._ending if not look.is_over()]
        for slot in self._slots:
            if slot.is_busy:
                found = slot.look.poll()
                if found is not None:
                    slot.is_busy = False
                    self._conclude(slot, found)
            elif now >= slot.next_at:
                slot.next_at = now + slot.check.interval
                slot.is_busy = True
                slot.look.begin()

    def seconds_to_next(self, now: float) -> Optional[float]:
        """For how long there is nothing to do. None: for ever."""
        if self._ending or any(slot.is_busy for slot in self._slots):
            return _LOOK_AGAIN
        return min((max(0.0, slot.next_at - now) for slot in self._slots), default=None)

    def stop(self) -> None:
        """End what is under way. No `turn` may follow."""
        for slot in self._slots:
            slot.look.end()

    def is_idle(self) -> bool:
        """Whether everything that was told to end has ended."""
        return all(look.is_over() for look in [slot.look for slot in self._slots] + self._ending)

    def _use(self, checks: Sequence[Check]) -> None:
        kept = {slot.check: slot for slot in self._slots}
        for check, slot in kept.items():
            if check not in checks:
                slot.look.end()
                self._ending.append(slot.look)
        self._checks = checks
        self._slots = [kept.get(check) or _Slot(check, self._clock) for check in checks]

    def _conclude(self, slot: "_Slot", found: str) -> None:
        slot.detail = found
        slot.failed = slot.failed + 1 if found else 0
        was_ready = slot.is_ready
        if not found:
            slot.is_ready = True
        elif was_ready is None or slot.failed >= slot.check.failures:
            slot.is_ready = False
        if slot.is_ready is False and was_ready is not False:
            self._log(levels.WARNING, "check %s failed: %s: the machine is not ready" % (slot.check.name, found))
        elif slot.is_ready and was_ready is False:
            self._log(levels.NOTICE, "check %s succeeds again" % slot.check.name)


class _Slot:
    """The state of one check."""

    def __init__(self, check: Check, clock: Callable[[], float]) -> None:
        self.check = check
        self.look: Union[_OnNetwork, _OnMachine] = (
            _OnNetwork(check) if check.kind in (HTTP, TCP) else _OnMachine(check, clock)
        )
        self.next_at = 0.0
        self.is_busy = False
        self.is_ready: Optional[bool] = None
        self.failed = 0
        self.detail = "not checked yet"


class _OnNetwork:
    """A check that waits in a thread of its own."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._worker = Worker(look, "ready")

    def begin(self) -> None:
        self._worker.submit(self._check)

    def poll(self) -> Optional[str]:
        for result in self._worker.collect():
            return result if isinstance(result, str) else "could not be checked: %s" % result
        return None

    def end(self) -> None:
        self._worker.close()

    def is_over(self) -> bool:
        # The thread ends by itself, and with the process at the latest.
        return True


class _OnMachine:
    """A check that is a program."""

    def __init__(self, check: Check, clock: Callable[[], float]) -> None:
        self._check = check
        self._clock = clock
        self._child: Optional[Child] = None
        self._problem: Optional[str] = None

    def begin(self) -> None:
        # Checked each time, as the program of a step is.
        self._problem = ownership.problem_with(self._check.argv[0])
        if self._problem is None:
            reason = "timed out after %g s, its timeout" % self._check.timeout
            self._child = Child(self._check.argv, {}, b"", self._check.timeout, reason, self._clock, grace_seconds=0.0)

    def poll(self) -> Optional[str]:
        if self._problem is not None:
            return self._problem
        outcome = self._child.poll() if self._child is not None else None
        return None if outcome is None else outcome.reason if not outcome.succeeded else ""

    def end(self) -> None:
        if self._child is not None:
            self._child.end("its result is no longer needed", 0.0)

    def is_over(self) -> bool:
        return self._child is None or self._child.poll() is not None


def look(check: Check) -> str:
    """Look once, over the network. Blocks: for a worker's thread.

    :returns: what is wrong, in a few words; nothing if it is well
    """
    try:
        return _look_at_page(check) if check.kind == HTTP else _look_at_port(check)
    except socket.timeout:
        return "no answer within %g s" % check.timeout
    except ConnectionRefusedError:
        return "refused"
    except OSError as error:
        return str(error)
    except ProtocolError as error:
        return "not HTTP: %s" % error
    except TooLarge:
        return "an answer of more than %d KiB" % (_LARGEST_PAGE // 1024)


def _look_at_page(check: Check) -> str:
    parts = parse_url(check.url)
    deadline = Deadline(check.timeout)
    connection = HttpConnection(parts.host, parts.port)
    target = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    try:
        connection.open(deadline.remaining())
        request = connection.request("GET", target, {"Connection": "close"})
        answer = connection.exchange(request, deadline, _LARGEST_PAGE)
    finally:
        connection.close()
    return "" if 200 <= answer.status < 400 else "%d %s" % (answer.status, answer.reason[:100])


def _look_at_port(check: Check) -> str:
    socket.create_connection(check.address, check.timeout).close()
    return ""
