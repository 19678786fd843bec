# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What undoes the steps that were begun.

It is written down with each step that begins, as the plan has it that is in force then: whatever the policies, the
name or the version say when the machine is to come back, what was taken out is restored. Pure.
"""

from typing import Any, Dict, Mapping, NamedTuple, Tuple

from .policy import DRAIN, RESTORE, SHUTDOWN, Plan, Step, keyed

# Defaults for the fields of a step. Every step has the first three.
_USUAL = dict(list(Step("", "", 0.0)._asdict().items())[3:])


class Undo(NamedTuple):
    """What undoes the steps of one event."""

    steps: Tuple[Step, ...] = ()
    """In the order in which they are to be run."""
    stops: Tuple[Tuple[str, str], ...] = ()
    """The units that are stopped, each with the key of its step: a unit is started only if it ran before."""

    def left_over(self, other: "Undo") -> "Undo":
        """This undo, followed by the other one. Steps in both run at their place in the other one."""
        keys = {key for key, _step in keyed(other.steps)}
        steps = tuple(step for key, step in keyed(self.steps) if key not in keys)
        return Undo(steps + other.steps, tuple(dict.fromkeys(self.stops + other.stops)))


def undo_of(plan: Plan) -> Undo:
    """What undoes a plan, according to the plan itself."""
    steps = keyed(plan.steps(DRAIN)) + keyed(plan.steps(SHUTDOWN))
    return Undo(plan.steps(RESTORE), tuple((step.stops, key) for key, step in steps if step.stops))


def undo_as_json(undo: Undo) -> Dict[str, Any]:
    """Write it down."""
    return {
        "steps": [
            {name: value for name, value in step._asdict().items() if name not in _USUAL or value != _USUAL[name]}
            for step in undo.steps
        ],
        "stops": [list(each) for each in undo.stops],
    }


def read_undo(content: Mapping[str, Any]) -> Undo:
    """Read it again. What a later version has added is left out.

    :raises KeyError, TypeError, ValueError: if it cannot be read
    """
    return Undo(
        tuple(_read_step(each) for each in content["steps"]),
        tuple((str(each[0]), str(each[1])) for each in content["stops"]),
    )


def _read_step(content: Mapping[str, Any]) -> Step:
    fields = {name: value for name, value in content.items() if name in Step._fields}
    for name in ("argv", "ports", "ignored"):
        fields[name] = tuple(fields.get(name, ()))
    return Step(**fields)
