# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why may what the agent knows not be so? Each doubt is a line for whoever asks; empty is none. Pure."""

from typing import Optional

from .state import State


def doubt_about_records(state: State, kept_at: str) -> Optional[str]:
    """What the journal lacks.

    :param kept_at: where a journal that could not be read as a whole is kept
    """
    if not (state.unreadable or state.is_incomplete):
        return None
    what = "%d records of the journal cannot be read, which is kept at %s" % (state.unreadable, kept_at)
    if not state.unreadable:
        what = "records of a journal before this one could not be read; it is kept at %s" % kept_at
    if not state.is_incomplete:
        return what + ": what they told is over; foghorn-agent restore ends this message"
    return what + ": nothing is approved or restored; put the machine in order, and then run foghorn-agent restore"


def doubt_about_name(state: State) -> Optional[str]:
    """Which events are tracked that know this VM by a name that it no longer has."""
    name = state.vm_name or ""
    strange = [
        one.event_id
        for one in state.tracked
        if one.over is None and not one.is_manual and not one.event.affects(name) and state.hits_me(one.event)
    ]
    if not strange:
        return None
    return "this VM is called %s now, and was called %s when %s came: it is tracked on, as long as it is listed" % (
        name,
        " or ".join(state.former_names),
        ", ".join(strange),
    )


def told_of_original(state: State) -> str:
    """What is known of the VM whose disk this was, for whoever has to put its copy in order.

    :param state: of the other VM
    """
    text = "this disk was that of another VM, %s" % (state.vm_name or "of an unknown name")
    if not state.is_out:
        return text
    owners = ["%s %s" % (one.event.event_type, one.event_id) for one in state.tracked if one.took_out]
    text += ", while that was out of rotation for %s" % (", ".join(owners) or "what is not known any more")
    stopped = [unit for unit, runs in state.found if runs]
    if stopped:
        text += "; it had stopped %s" % ", ".join(stopped)
    return text + "; here nothing of that is undone"
