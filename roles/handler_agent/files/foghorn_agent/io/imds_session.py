# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks IMDS: who is this machine, what is announced for it, and lets events begin. Blocks: for a worker's thread."""

import time
from typing import Callable, NamedTuple, Optional, Sequence, Tuple

from foghorn_core.scheduled_events.client import ImdsClient
from foghorn_core.scheduled_events.deadline import Deadline
from foghorn_core.scheduled_events.document import Document
from foghorn_core.scheduled_events.errors import DocumentError, OutOfTime, Refused
from foghorn_core.scheduled_events.event import same_name

from ..config import Config
from .clock import Clocks

_SECONDS_BESIDE = 2.0
"""After which a question is asked once more beside the first: an answer that is lost is not to cost an eviction."""
_LONGEST_WAIT = 3.0  # seconds between two tries, whatever IMDS asks for
_SECONDS_FOR_IDENTITY = 10.0
"""For how long the events of a machine whose name is configured wait for the answer to who it is."""


class Poll(NamedTuple):
    """What IMDS told."""

    vm_id: Optional[str]
    """None if it did not."""
    vm_name: str
    document: Document
    began: float = 0.0
    """When it was asked, on the monotonic clock."""
    is_identity_new: bool = True
    """Whether it was asked just now who this machine is, too."""
    other_name: Optional[str] = None
    """What IMDS calls this VM, if another name is configured."""


class PollStats:
    """What the poll's thread has heard. It alone writes here; the loop reads when somebody asks."""

    def __init__(self) -> None:
        self.is_identity_wanted = True
        """Whether it is to be asked who this machine is. The loop may want it anew."""
        self.unchanged = 0
        """How many answers told nothing new, and were not handed on."""
        self.last_answer: Optional[float] = None
        """Seconds since the epoch."""


class ImdsSession:
    """Asks IMDS, in a worker's thread. Each session has a connection of its own.

    :param config: the agent's
    :param clocks: the agent's
    :param sleep: waits between polls, in seconds
    """

    def __init__(self, config: Config, clocks: Clocks, sleep: Callable[[float], None] = time.sleep) -> None:
        self.poll_stats = PollStats()
        self._imds = config.imds
        self._clocks = clocks
        self._sleep = sleep
        self._is_closed = False
        self._client = ImdsClient(
            self._imds.endpoint,
            self._imds.api_version,
            self._imds.connect_timeout,
            clock=clocks.monotonic,
            wall_clock=clocks.wall,
            hedge_after=_SECONDS_BESIDE,
            longest_wait=_LONGEST_WAIT,
        )
        self._identity: Tuple[Optional[str], str, Optional[str]] = (None, "", None)
        self._answered = False

    def poll(self, known: Optional[Document]) -> Poll:
        """Read the document; the first time also who this machine is.

        :param known: ask again and again, at the pace that is configured, for as long as this is all that comes. For
            most of a machine's life it is, and to wake the loop for it each time would double what a poll costs
        """
        while True:
            began = self._clocks.monotonic()
            seconds = self._imds.timeout if self._answered else self._imds.first_timeout
            deadline = Deadline(seconds, self._clocks.monotonic)
            is_identity_new = self.poll_stats.is_identity_wanted
            if is_identity_new:
                self._identity = self._ask_identity(deadline)
                self.poll_stats.is_identity_wanted = False
            document = self._client.read_document(deadline)
            self._answered = True
            self.poll_stats.last_answer = self._clocks.wall()
            if document is not known or is_identity_new or self._is_closed:
                vm_id, vm_name, other_name = self._identity
                return Poll(vm_id, vm_name, document, began, is_identity_new, other_name)
            self.poll_stats.unchanged += 1
            self._sleep(max(0.0, began + self._imds.poll_interval - self._clocks.monotonic()))

    def close(self) -> None:
        """Stop asking."""
        self._is_closed = True

    def approve(self, event_ids: Sequence[str]) -> Sequence[str]:
        """Let these events begin."""
        self._client.approve(event_ids, Deadline(self._imds.timeout, self._clocks.monotonic))
        return event_ids

    def _ask_identity(self, deadline: Deadline) -> Tuple[Optional[str], str, Optional[str]]:
        configured = self._imds.vm_name
        if configured is not None or self._identity[1]:
            deadline = Deadline(min(_SECONDS_FOR_IDENTITY, deadline.remaining()), self._clocks.monotonic)
        try:
            compute = self._client.read_compute(deadline)
        except (Refused, OutOfTime, DocumentError):
            # An IMDS without instance metadata, as mock servers are, or one whose other half is down: the events are
            # what counts, and a configured name will do, or what was told before.
            if self._identity[1]:
                return self._identity
            if configured is None:
                raise
            return None, configured, None
        told = compute.get("name")
        name = configured or told
        if not isinstance(name, str) or not name:
            raise DocumentError("IMDS does not say the name of this VM: set imds.vm_name")
        other_name = told if isinstance(told, str) and told and not same_name(told, name) else None
        vm_id = compute.get("vmId")
        return vm_id if isinstance(vm_id, str) else None, name, other_name
