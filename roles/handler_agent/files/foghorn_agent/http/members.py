# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the agents of other VMs about their progress. Blocks: for a worker's thread."""

import socket
import threading
from collections import deque
from typing import Any, Deque, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

from foghorn_core.scheduled_events.client import split_url
from foghorn_core.scheduled_events.deadline import Deadline
from foghorn_core.scheduled_events.errors import DocumentError, ProtocolError, TooLarge
from foghorn_core.scheduled_events.event import NameKey, name_key
from foghorn_core.scheduled_events.http_connection import Answer, HttpConnection
from foghorn_core.scheduled_events.signature import is_answer_signed, new_nonce, sign_question
from foghorn_core.scheduled_events.strict_json import parse_json

from ..decide.quorum import ANOTHER_MACHINE, NOT_ASKED, NOT_SIGNED, OTHER_SECRET
from ..io.secrets import NoSecret, read_members_secrets

_PATH = "/status"
_LARGEST_ANSWER = 128 * 1024  # bytes
_HEADERS = {"Accept": "application/json", "Connection": "close"}
# An event affects at most one update domain of a placement group, which has up to a hundred machines.
MOST_MEMBERS = 100
_MOST_AT_ONCE = 32


class MemberError(OSError):
    """A member gave no status that can be used. The message says which member, and what it did.

    :param reason: the same in a word or two
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Job(NamedTuple):
    """Members to be asked."""

    urls: Mapping[NameKey, str]
    """By the keys of their names."""
    timeout: float
    """Seconds for all of them."""
    secret_file: Optional[str]


class Question(NamedTuple):
    """To one member."""

    name: NameKey
    url: str
    nonce: str
    headers: Mapping[str, str]


def ask_agent(url: str, timeout: float) -> Dict[str, Any]:
    """Read the status of this machine's own agent, which needs no signature.

    :param url: `http://HOST[:PORT][/PATH]`
    :param timeout: seconds for all of it
    :returns: at least `events`, a list of objects
    :raises MemberError: if it did not answer with a status in time
    :raises ValueError: if the URL has another form
    """
    return _status_of(url, _fetch(url, {}, timeout))


class MembersSession:
    """Asks the members side by side, so that none of them keeps another from being heard.

    Each is asked in a thread of its own, and there are not more of these than are bounded. The name of a host may take
    as long to be looked up as the system's resolver likes: who asks does not wait for that, and asks again when it has
    ended.
    """

    def __init__(self) -> None:
        self._under_way: Set[NameKey] = set()
        self._ended = threading.Semaphore(0)
        """Released when a request ends, of this round or an earlier one: there is room for another."""
        self._round = 0
        self._slow: Dict[NameKey, int] = {}
        """The members that did not answer in time, and in which round. They come last, those that waited longest
        first.
        """

    def ask(self, job: Job) -> "Dict[NameKey, Any]":
        """Ask other agents for their `/status`. One that does not answer as it should gives a `MemberError`."""
        urls, timeout, secret_file = job
        deadline = Deadline(timeout)
        try:
            if secret_file is None:
                raise NoSecret("quorum.secret_file is not set")
            secrets = read_members_secrets(secret_file)
        except NoSecret as error:
            return {name: MemberError(str(error), "no secret here") for name in urls}
        questions: List[Question] = []
        for name in sorted(urls, key=lambda one: (self._slow.get(one, 0), one))[:MOST_MEMBERS]:
            nonce = new_nonce()
            headers = sign_question(secrets, nonce, name[0])
            questions.append(Question(name, urls[name], nonce, headers))
        self._round += 1
        asked, answers = self._fetch_all(questions, deadline)
        late = MemberError("did not answer within %g s" % timeout, "no answer")
        results: Dict[NameKey, Any] = {
            name: MemberError("more members than the agent asks", "too many") for name in urls
        }
        for question in questions:
            answer = answers.get(question.name, late)
            results[question.name] = answer if isinstance(answer, Exception) else _heard(question, secrets, answer)
        self._slow = {name: number for name, number in self._slow.items() if name in urls}
        for name in asked:
            if name not in answers or _is_slow(answers[name]):
                self._slow[name] = self._round
            else:
                self._slow.pop(name, None)
        return results

    def _fetch_all(self, questions: "List[Question]", deadline: Deadline) -> "Tuple[List[NameKey], Dict[NameKey, Any]]":
        """Which members were asked, and what they answered in time."""
        left: Deque[Question] = deque(one for one in questions if one.name not in self._under_way)
        expected = len(left)
        asked = [one.name for one in questions if one.name in self._under_way]
        answers: Dict[NameKey, Any] = {}

        def fetch(question: Question) -> None:
            try:
                answers[question.name] = _fetch(question.url, question.headers, deadline.remaining())
            except Exception as error:  # noqa: BLE001 - the error is the answer
                answers[question.name] = error
            finally:
                self._under_way.discard(question.name)
                self._ended.release()

        while True:
            # A member that was not asked for lack of time is not slow.
            while left and len(self._under_way) < _MOST_AT_ONCE and deadline.remaining() > 0:
                question = left.popleft()
                self._under_way.add(question.name)
                asked.append(question.name)
                try:
                    threading.Thread(target=fetch, args=(question,), name="member", daemon=True).start()
                except RuntimeError as error:
                    # The system has no more threads.
                    self._under_way.discard(question.name)
                    answers[question.name] = MemberError("%s could not be asked: %s" % (question.url, error), NOT_ASKED)
            if len(answers) == expected or not self._ended.acquire(timeout=max(0.0, deadline.remaining())):
                # A copy: late threads still write into the other.
                return asked, dict(answers)


def _fetch(url: str, headers: Mapping[str, str], timeout: float) -> Answer:
    host, port, path = split_url(url)
    deadline = Deadline(timeout)
    connection = HttpConnection(host, port)
    try:
        connection.open(deadline.remaining())
        request = connection.request("GET", path + _PATH, dict(_HEADERS, **headers))
        return connection.exchange(request, deadline, _LARGEST_ANSWER)
    except socket.timeout:
        raise MemberError("%s did not answer within %g s" % (url, timeout), "no answer") from None
    except socket.gaierror as error:
        raise MemberError("%s cannot be reached: %s" % (url, error), "unknown name") from None
    except ConnectionRefusedError as error:
        raise MemberError("%s cannot be reached: %s" % (url, error), "refused") from None
    except OSError as error:
        raise MemberError("%s cannot be reached: %s" % (url, error), "unreachable") from None
    except ProtocolError as error:
        raise MemberError("%s sent an invalid answer: %s" % (url, error), "no agent") from None
    except TooLarge:
        raise MemberError("%s answered with more than %d KiB" % (url, _LARGEST_ANSWER // 1024), "no agent") from None
    finally:
        connection.close()


def _is_slow(answer: Any) -> bool:
    return isinstance(answer, MemberError) and answer.reason == "no answer"


def _heard(question: Question, secrets: "Tuple[bytes, ...]", answer: Answer) -> Any:
    """A member's answer: its status, or the error that it amounts to."""
    url = question.url
    if answer.status == 403:
        return MemberError("%s refused: it holds another secret, or has another name" % url, OTHER_SECRET)
    # Checked before anything else is done with it: it may come from anybody.
    if answer.status == 200 and not is_answer_signed(secrets, question.nonce, answer.headers, answer.body):
        return MemberError("%s answered without the members' signature" % url, NOT_SIGNED)
    try:
        status = _status_of(url, answer)
    except MemberError as error:
        return error
    if name_key(str(status.get("vm_name"))) != question.name:
        return MemberError("%s is %r" % (url, str(status.get("vm_name"))[:100]), ANOTHER_MACHINE)
    return status


def _status_of(url: str, answer: Answer) -> Dict[str, Any]:
    if answer.status != 200:
        raise MemberError("%s answered %d %s" % (url, answer.status, answer.reason[:100]), "no agent")
    try:
        status = parse_json(answer.body)
    except DocumentError as error:
        raise MemberError("%s answered, but with %s" % (url, error), "no agent") from None
    events = status.get("events") if isinstance(status, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise MemberError("%s answered, but not with a status: %r" % (url, answer.body[:100]), "no agent")
    return dict(status)
