# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which approvals are sent now, and together with which? Pure but for what it remembers."""

from typing import Any, Collection, Dict, List, Sequence, Set

from foghorn_core.scheduled_events.errors import Refused

_FIRST_RETRY = 2.0  # seconds between approvals that did not arrive
_LONGEST_RETRY = 30.0
_ONCE_MORE = 30.0  # seconds after one that did arrive, as long as the event has not begun


class Approvals:
    """What became of the approvals that were sent. Times are on the monotonic clock."""

    def __init__(self) -> None:
        self._sent: Sequence[str] = ()
        self._again_at: Dict[str, float] = {}
        self._waited: Dict[str, float] = {}
        """How long each that did not arrive waits for its next try."""
        self._alone: Set[str] = set()
        """Those that were refused together: one of them may have been the reason."""

    def due(self, event_ids: Sequence[str], now: float) -> List[str]:
        """Those of these events that are to be approved now, in one request."""
        due = [event_id for event_id in event_ids if now >= self._again_at.get(event_id, now)]
        alone = [event_id for event_id in due if event_id in self._alone]
        return alone[:1] or due

    def send(self, event_ids: Sequence[str]) -> None:
        """Note that these are being sent."""
        self._sent = event_ids

    def fail(self, error: BaseException, now: float) -> None:
        """Note that what was sent did not arrive, or was refused."""
        if isinstance(error, Refused) and len(self._sent) > 1:
            self._alone.update(self._sent)
            return
        for event_id in self._sent:
            wait = min(_LONGEST_RETRY, max(_FIRST_RETRY, 2 * self._waited.get(event_id, 0.0)))
            self._waited[event_id] = wait
            self._again_at[event_id] = now + wait

    def arrive(self, event_ids: Sequence[Any], now: float) -> None:
        """Note that these arrived."""
        for event_id in event_ids:
            self._again_at[event_id] = now + _ONCE_MORE
            self._waited.pop(event_id, None)
            self._alone.discard(event_id)

    def end(self, event_id: str) -> None:
        """Never send this one."""
        self._again_at[event_id] = float("inf")

    def keep(self, event_ids: Collection[str]) -> None:
        """Forget all but these."""
        self._again_at = {key: at for key, at in self._again_at.items() if key in event_ids}
        self._waited = {key: wait for key, wait in self._waited.items() if key in event_ids}
        self._alone.intersection_update(event_ids)
