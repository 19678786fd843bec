# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reasons to doubt what the agent knows, each a line for the reader; empty means none. Pure."""

from typing import Optional, Sequence

from foghorn_core.scheduled_events.event import ADVISORY_EVENT_TYPES, EVENT_TYPES

from .policy import MANUAL, NEVER, Rule, default_plan
from .state import State


def doubt_about_records(state: State, kept_at: str) -> Optional[str]:
    """The gaps of the journal.

    :param kept_at: where a journal that could not be read as a whole is kept
    """
    if not (state.unreadable or state.is_incomplete):
        return None
    what = "%d records of the journal cannot be read; the journal is kept at %s" % (state.unreadable, kept_at)
    if not state.unreadable:
        what = "records of a journal before this one could not be read; it is kept at %s" % kept_at
    if not state.is_incomplete:
        return what + ": their events are over; foghorn-agent restore clears this message"
    return what + ": nothing is approved or restored; check and repair the machine, then run foghorn-agent restore"


def doubt_about_name(state: State) -> Optional[str]:
    """Tracked events that name this VM by a name that it no longer has."""
    name = state.vm_name or ""
    strange = [
        one.event_id for one in state.tracked if one.over is None and not one.is_manual and not one.event.affects(name)
    ]
    if not strange:
        return None
    former = " or ".join(state.former_names)
    what = ", ".join(strange)
    return "this VM is now called %s, and was called %s when %s was announced: it is tracked while it is listed" % (
        name,
        former,
        what,
    )


def doubt_about_policies(rules: Sequence[Rule], has_hooks: bool) -> Optional[str]:
    """Name the words in the policies that nobody knows, and the types of events for which nothing prepares this VM.

    :param has_hooks: whether there is a hook; without one, a policy of hooks alone prepares nothing
    """
    own = [rule for rule in rules if not rule.plan.is_default]
    unknown = sorted({word for rule in own for word in rule.match.unknown_types((*EVENT_TYPES, MANUAL))})
    uncovered = [
        each
        for each in EVENT_TYPES
        if own
        and not has_hooks
        and each not in ADVISORY_EVENT_TYPES
        # What is never approved by default passes by itself.
        and default_plan(each).approve != NEVER
        and not any(
            not rule.plan.rests_on_hooks and (rule.match.event_types is None or rule.match.names(each)) for rule in own
        )
    ]
    found = ["%s is not an event type that this version knows" % ", ".join(unknown)] if unknown else []
    if uncovered:
        found.append("no policy and no hook prepares this machine for %s: add one" % ", ".join(uncovered))
    return "; ".join(found) or None


def describe_source_vm(state: State) -> str:
    """What is known of the VM that this disk was copied from, for the person who has to clean up the copy.

    :param state: of the other VM
    """
    text = "this disk belonged to another VM, %s" % (state.vm_name or "of an unknown name")
    if not state.is_out:
        return text
    owners = ["%s %s" % (one.event.event_type, one.event_id) for one in state.tracked if one.took_out]
    text += ", while that was out of rotation for %s" % (", ".join(owners) or "unknown work")
    stopped = [unit for unit, runs in state.found if runs]
    if stopped:
        text += "; it had stopped %s" % ", ".join(stopped)
    return text + "; none of it is undone here"
