# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a machine is where somebody wants it by hand, out of rotation or back in it, by what /status says. Pure."""

from typing import Any, List, Mapping, NamedTuple, Optional

from .decide.state import FAILED, SUCCEEDED


class Reached(NamedTuple):
    """How far it is."""

    is_reached: bool
    is_final: bool
    """Whether waiting changes nothing: it is reached, or has failed."""
    said: str
    """How things are, in one line: if it is not reached, what or who is in the way."""


def is_drained(status: Mapping[str, Any]) -> Reached:
    """Whether the machine is out of rotation by hand, with all that its drain does."""
    drained = status.get("drained_by_hand") or {}
    if drained.get("drain") == SUCCEEDED:
        return Reached(True, True, "out of rotation until it is restored by hand")
    if drained.get("drain") == FAILED:
        return Reached(False, True, "the drain failed: %s" % (_failures(status) or "history says why"))
    if not drained:
        return Reached(False, True, "somebody has restored it meanwhile")
    step = _step(status)
    return Reached(False, False, "still drains%s" % (": %s" % step if step else ""))


def is_back(status: Mapping[str, Any]) -> Reached:
    """Whether the machine is in rotation, and the agent has nothing more to restore."""
    if status.get("in_rotation") and not status.get("out_of_rotation"):
        return Reached(True, True, "in rotation")
    keepers = ["whoever drained it by hand"] if status.get("drained_by_hand") else []
    keepers += [
        "%s %s" % (event.get("event_type"), event.get("event_id"))
        for event in status.get("events") or []
        if event.get("keeps_out")
    ]
    checks = [str(check.get("name")) for check in status.get("checks") or [] if not check.get("ready")]
    if keepers:
        return Reached(False, False, "still out of rotation, for %s" % ", ".join(keepers))
    if status.get("out_of_rotation"):
        return Reached(False, False, "is being restored: %s" % (_failures(status) or _step(status) or "soon"))
    return Reached(False, False, "not ready: %s" % ", ".join(checks))


def _step(status: Mapping[str, Any]) -> Optional[str]:
    step = status.get("step")
    return "%s: %s" % (step.get("stage"), step.get("name")) if step else None


def _failures(status: Mapping[str, Any]) -> str:
    failing: List[Mapping[str, Any]] = status.get("failing") or []
    return "; ".join("%s: %s: %s" % (one.get("stage"), one.get("name"), one.get("error")) for one in failing)
