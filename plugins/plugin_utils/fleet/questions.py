# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What playbooks ask outside the steps of a run: about one host, and about Azure's image upgrades."""

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils.claims import Shared
from ...module_utils.scheduled_events.text import as_plain, plain
from .answers import answer_of, status_of
from .claims import describe_run
from .host import PlanError
from .orders import view_asked
from .os_upgrades import UpgradeOptions, decide, note_member
from .reading import UNREADABLE
from .status import describe_status
from .steps import Call, said_by


def begin(call: Call) -> dict[str, Any]:
    """Give this run an id that tells it from all others, and say how it stands to a given host."""
    run = describe_run(call.arguments["playbook"], call.arguments["job"])
    try:
        return {"run": run, "lease_view": view_asked(call.arguments, run)}
    except Shared as error:
        raise PlanError(str(error)) from error
    except UNREADABLE as error:
        raise PlanError("what the host has answered cannot be read: %s" % error) from error


def decide_upgrades(call: Call) -> dict[str, Any]:
    """Say what to do about Azure's questions before it upgrades an image."""
    found = [
        {
            "resource_group": one["resource_group"],
            "name": one["name"],
            "events": answer.get("events") or [],
            "failure": "" if "events" in answer else plain(str(answer.get("msg") or "no answer")),
        }
        for one, answer in zip(call.arguments["scale_sets"], call.arguments["answers"], strict=False)
    ]
    given = {name: member for name, member in call.arguments["members"].items() if member}
    asked = said_by(given, call, answer_of)
    members = {
        name: note_member({**member, "asked": asked[name]}, call.arguments["run"]) for name, member in given.items()
    }
    return decide(found, members, UpgradeOptions(**call.arguments["options"]), call.now)


def status(call: Call) -> dict[str, Any]:
    """Say of each host whether it is out of rotation, why, and what to do next."""
    lines = [
        line
        for name, host in said_by(call.arguments["hosts"], call, status_of).items()
        for line in describe_status(
            name,
            host["found"],
            host.get("agent"),
            host.get("traces") or (),
            host.get("answer"),
            tuple(call.arguments["inventory"]),
        )
    ]
    return {"lines": as_plain(lines)}


QUESTIONS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "begin": begin,
    "decide_upgrades": decide_upgrades,
    "status": status,
}
