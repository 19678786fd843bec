# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What playbooks ask outside the steps of a run: about variables, about one host, and about Azure's image upgrades."""

from collections.abc import Callable, Mapping
from typing import Any

from ...module_utils.claims import Shared
from ...module_utils.scheduled_events.text import as_plain, plain
from ..fixed_core import mistakes_in_version
from ..tags import mistakes_in_tags
from .claims import describe_run
from .host import PlanError
from .orders import view_asked
from .os_upgrades import UpgradeOptions, decide, note_member
from .reading import UNREADABLE
from .status import describe_status
from .steps import Call
from .variables import differs, mistakes, unmatched

_NOT_BY_INVENTORY = (
    "%s is %s in the inventory, where it chooses nobody, and the play would take %s too."
    " Name the hosts with --extra-vars."
)


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
    members = {name: note_member(member, call.arguments["run"]) for name, member in call.arguments["members"].items()}
    return decide(found, members, UpgradeOptions(**call.arguments["options"]), call.now)


def status(call: Call) -> dict[str, Any]:
    """Say of each host whether it is out of rotation, why, and what to do next."""
    lines = [
        line
        for name, host in call.arguments["reports"].items()
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


def check_variables(
    arguments: Mapping[str, Any],
    hostvars: Any,
    of_play: Mapping[str, Any],
) -> dict[str, Any]:
    """Name what is wrong with the variables of hosts, of the play, and with the tags of the run, or begin the run.

    :param hostvars: by host, its variables of the inventory and of the command line
    :param of_play: all variables of the host that the task is for, those of its play and of its role included
    """
    own = str(of_play["inventory_hostname"])
    # What the play itself sets holds for all of its hosts.
    alike = [name for name in arguments["alike"] if not differs(name, of_play, hostvars[own])]
    found = mistakes_in_version(of_play["ansible_version"]["full"])
    if arguments["strangers"]:
        found.append(
            _NOT_BY_INVENTORY % (arguments["chosen_by"], of_play[arguments["chosen_by"]], arguments["strangers"][0])
        )
    found += mistakes(
        [of_play if name == own else hostvars[name] for name in arguments["hosts"]],
        arguments["arguments"],
        tuple(arguments["prefixes"]),
        tuple(arguments["roles"]),
        alike,
    )
    names = [*of_play["groups"], *(name for group in of_play["groups"].values() for name in group)]
    found += unmatched(arguments["arguments"], of_play, names) + mistakes_in_tags()
    if found:
        return {"failed": True, "msg": as_plain(found)}
    return {"run": describe_run(arguments["playbook"], arguments["job"])} if arguments["playbook"] else {}


QUESTIONS: Mapping[str, Callable[[Call], dict[str, Any]]] = {
    "begin": begin,
    "decide_upgrades": decide_upgrades,
    "status": status,
}
