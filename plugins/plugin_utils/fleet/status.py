# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Which hosts are out of rotation, what each waits for, and the command to type next."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.claims import BY_EVENT, Shared
from ...module_utils.scheduled_events.text import plain
from .agent import has_taken_out
from .claims import BY_HAND, Found, LeaseView, is_alive, lease_view, of_this_vm
from .clocks import as_utc
from .host import describe_attempt
from .reading import UNREADABLE
from .silence import explain

_AGENT_COMMAND = "foghorn-agent"


def describe_status(
    name: str,
    found: Found,
    agent: Mapping[str, Any] | None = None,
    traces: Sequence[str] = (),
    answer: Mapping[str, Any] | None = None,
    inventory: Sequence[str] = (),
) -> list[str]:
    """Say whether a host is out of rotation, for whom, who is at work on it, what it waits for, and what to do next.

    :param agent: what its handler agent says of itself
    :param traces: paths that say that somebody has taken it out, if they are there
    :param answer: what scheduled_events_info returned, if it was asked
    :param inventory: the inventories of this run, for commands to type
    """
    if found.get("claims") is None:
        why = explain(str(found.get("msg") or "it could not be reached"))
        return [
            "%s: nothing is known: %s" % (name, why),
            "%s: next: correct that, then %s" % (name, _command("status", inventory, status_hosts=name)),
        ]
    try:
        return _describe(name, of_this_vm(found, answer or {}), agent, traces, answer, inventory)
    except Shared as error:
        why = plain(str(error))
    except UNREADABLE as error:
        why = "its answer cannot be read: %s. Find out who changed this host" % plain(str(error))[:200]
    return ["%s: nothing is known: %s" % (name, why)]


def _describe(
    name: str,
    found: Found,
    agent: Mapping[str, Any] | None,
    traces: Sequence[str],
    answer: Mapping[str, Any] | None,
    inventory: Sequence[str],
) -> list[str]:
    if found.get("unmanaged"):
        return ["%s: %s" % (name, plain(str(found["unmanaged"])))]
    view = lease_view(found)
    lines = ["%s: out %s" % (name, claim) for claim in view.claimed]
    if agent and has_taken_out(agent):
        events = ", ".join(str(event.get("event_id")) for event in agent.get("events") or ())
        lines.append("%s: out, its agent says%s" % (name, ": %s" % events if events else ""))
    there = [path for path in traces if path in (found.get("present") or ())]
    if there and not lines:
        lines.append("%s: out, taken out by somebody else: %s exists" % (name, " and ".join(there)))
    lines = lines or ["%s: in rotation, as far as these playbooks know" % name]
    lines += ["%s: was taken out %s" % (name, describe_attempt(one)) for one in view.tried]
    lines += ["%s: %s" % (name, view.leased)] if view.leased else []
    lines += ["%s: waits for: %s" % (name, what) for what in _waits_for(view, answer)]
    return lines + ["%s: next: %s" % (name, what) for what in _next(name, found, agent, there, inventory)]


def _waits_for(view: LeaseView, answer: Mapping[str, Any] | None) -> list[str]:
    if not view.needs_restore:
        return []
    if view.keep_out_reason:
        return [view.keep_out_reason]
    if not answer or answer.get("events") is None:
        why = explain(str((answer or {}).get("msg") or "it was not asked"))
        return ["unknown: its metadata service did not list its events: %s" % why]
    if not answer["events"]:
        return ["a run that restores it: its event is no longer listed"]
    approving = {str(event_id).lower() for event_id in view.approving}
    return [
        "%s %s, which has status %s%s"
        % (
            event["event_type"],
            event["event_id"],
            event["event_status"],
            " and was approved, or may have been" if str(event["event_id"]).lower() in approving else "",
        )
        for event in answer["events"]
    ]


def _next(
    name: str,
    found: Found,
    agent: Mapping[str, Any] | None,
    there: Sequence[str],
    inventory: Sequence[str],
) -> list[str]:
    """The command to type, if there is anything to do."""
    lease = found.get("lease") or {}
    if lease and is_alive(lease):
        return ["nothing: that run is working on this controller"]
    claims = found.get("claims") or {}
    if lease and claims:
        return [
            "%s, once the lease has ended, at %s; or now with --extra-vars handle_events_break_leases=true, if that run"
            " has certainly ended"
            % (
                _command("handle_events" if BY_EVENT in claims else "restore", inventory),
                as_utc(float(lease["until"])),
            )
        ]
    told = []
    if BY_EVENT in claims:
        told.append(_command("handle_events", inventory))
    if BY_HAND in claims:
        told.append(_command("restore", inventory, restore_hosts=name) + ", when the work on it is done")
    others = [owner for owner in claims if owner not in (BY_EVENT, BY_HAND)]
    told += [_command("restore", inventory, restore_hosts=name, restore_owner=owner) for owner in others]
    if agent and agent.get("drained_by_hand"):
        is_windows = found.get("system") == "Windows"
        command = _command("restore", inventory, restore_hosts=name) if is_windows else "foghorn-agent restore, on it"
        told.append("%s, when the work on it is done" % command)
    elif agent and has_taken_out(agent):
        told.append("nothing, its agent restores it; %s history, on it, shows the progress" % _AGENT_COMMAND)
    if there and not told:
        told.append("find out who created %s, and ask them to restore it" % " and ".join(there))
    return told


def _command(playbook: str, inventory: Sequence[str], **variables: str) -> str:
    words = ["ansible-playbook", "foghorn.azure_events.%s" % playbook]
    for source in inventory:
        words += ["-i", source]
    words.append("--become")
    for key, value in variables.items():
        words += ["--extra-vars", "%s=%s" % (key, value)]
    return " ".join(map(shlex.quote, words))
