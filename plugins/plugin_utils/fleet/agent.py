# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads what the handler agent of a host reports.

An agent is a dict as `foghorn-agent status --json` prints it. One that runs and does not answer is any other dict.
"""

from collections.abc import Mapping
from typing import Any

AgentDict = dict[str, Any]

# After one of these states, the next is a matter of seconds, and only the agent decides about it.
_PHASES_AT_WORK = ("drain", "shutdown", "approving", "approved")


def has_taken_out(agent: Mapping[str, Any]) -> bool:
    """Whether the agent has taken its host out of rotation. If the agent does not answer, that is not known."""
    return agent.get("in_rotation") is False


def is_at_work_on(agent: Mapping[str, Any], event_id: str) -> bool:
    """Whether it is preparing its host for an event, or has let it begin."""
    return any(
        event["event_id"].lower() == event_id.lower() and event["phase"] in _PHASES_AT_WORK
        for event in agent.get("events", ())
    )
