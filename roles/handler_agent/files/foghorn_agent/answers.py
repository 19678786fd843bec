# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent reports about itself and its machine."""

import json
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Tuple

from foghorn_core.scheduled_events.text import plain

from .act.readiness import Readiness
from .act.work_at_hand import WorkAtHand
from .approvals import Approvals
from .decide.doubts import doubt_about_name
from .decide.policy import SHORTEST_GRACE_OF_REPAIRS
from .http.metrics import render
from .http.status import Health, as_failure, describe, list_problems
from .io import log as levels
from .io.imds_session import PollStats
from .leaving import Leaving
from .members_state import MembersState
from .recorder import Recorder


class Answers:
    """Answers whoever asks over HTTP.

    :param poll_stats: when IMDS answered, as its session notes it
    """

    def __init__(
        self,
        recorder: Recorder,
        poll_stats: PollStats,
        members: MembersState,
        work: WorkAtHand,
        approvals: Approvals,
        leaving: Leaving,
        readiness: Readiness,
    ) -> None:
        self._recorder = recorder
        self._poll_stats = poll_stats
        self._members = members
        self._work = work
        self._approvals = approvals
        self._leaving = leaving
        self._readiness = readiness
        self._counted_polls = 0
        """Counts the answers that had nothing new."""
        self._was_in = False
        """Whether this machine was in rotation at the last turn,"""
        self._in_since = recorder.clocks.monotonic()
        """and since when."""
        self._out_since: Optional[float] = None
        self._is_said_long = False
        """Whether the log says already that this machine has been out for long."""

    def respond(self, path: str) -> Optional[Tuple[int, str, bytes]]:
        """Answer one HTTP request; None for a path that is not there."""
        if path == "/readyz":
            why_out = "out of rotation" if self._recorder.state.is_out else None
            if why_out is None and self._readiness.failing:
                why_out = "not ready: %s" % plain(", ".join(self._readiness.failing))
            text = why_out or "in rotation"
            if self._recorder.config.dry_run:
                text, why_out = "in rotation; dry run: would be %s" % text, None
            return 200 if why_out is None else 503, "text/plain; charset=utf-8", text.encode("utf-8") + b"\n"
        if path == "/healthz":
            lines = ["running", *self.problems]
            return 200, "text/plain; charset=utf-8", "".join(line + "\n" for line in lines).encode("utf-8")
        if path == "/status":
            return 200, "application/json", json.dumps(self.status(), indent=1, sort_keys=True).encode("ascii") + b"\n"
        if path == "/metrics":
            polls = self._poll_stats
            self._recorder.counters.add("foghorn_polls_total", polls.unchanged - self._counted_polls, result="answered")
            self._counted_polls = polls.unchanged
            unwritten = len(self._recorder.unwritten)
            text = render(self.status(), polls.last_answer or 0.0, unwritten, self._recorder.counters)
            return 200, "text/plain; version=0.0.4", text.encode("utf-8")
        return None

    def status(self) -> Dict[str, Any]:
        """The document for `/status`."""
        now = datetime.fromtimestamp(self._recorder.clocks.wall(), timezone.utc)
        health = self._current_health()._replace(
            last_answer=self._poll_stats.last_answer, is_up_to_date=self._recorder.is_up_to_date
        )
        return describe(
            self._recorder.state,
            self._recorder.config.rules,
            self._work.running,
            health,
            now,
            self._approvals.withheld,
            self._members.waiting(),
            self._readiness.describe(),
            self._work.failing(),
            self._recorder.config.dry_run,
            self._approvals.without_plan,
            dict(self._leaving.describe(), rotation_seconds=self._seconds_in_rotation()),
            self._recorder.config.journal_directory,
        )

    @property
    def problems(self) -> List[str]:
        """One line for each problem with what the agent needs or does."""
        dry = ["dry run: nothing is done"] if self._recorder.config.dry_run else []
        return dry + list_problems(self._current_health()) + [as_failure(one) for one in self._work.failing()]

    def _current_health(self) -> Health:
        """The agent's health, with the doubts that depend on the state."""
        old = self._members.old_words()
        doubts = ["the last answer of %s is too old" % ", ".join(old) if old else None, self._leaving.problem]
        return self._recorder.health._replace(
            identity_problem=self._recorder.health.identity_problem or doubt_about_name(self._recorder.state),
            members_problem="; ".join(doubt for doubt in doubts if doubt) or None,
        )

    def _seconds_in_rotation(self) -> Optional[float]:
        return round(self._recorder.clocks.monotonic() - self._in_since, 3) if self._was_in else None

    def turn(self, now: float) -> None:
        """Note for how long this machine has been in rotation, or out of it.

        :param now: on the monotonic clock
        """
        is_in = not (self._recorder.state.is_out or self._readiness.failing)
        if is_in is not self._was_in:
            self._was_in, self._in_since = is_in, now
        if not self._recorder.state.is_out:
            self._out_since, self._is_said_long = None, False
        elif self._out_since is None:
            self._out_since = now
        elif not self._is_said_long and now - self._out_since >= SHORTEST_GRACE_OF_REPAIRS:
            self._is_said_long = True
            self._recorder.log(
                levels.WARNING,
                "out of rotation for %d minutes: a scale set with automatic instance repairs may consider this "
                "machine unhealthy and replace it. Suspend the repairs, or protect the instance"
                % (SHORTEST_GRACE_OF_REPAIRS / 60),
            )
