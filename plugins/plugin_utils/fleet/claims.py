# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What the claims and the lease on a host mean for this run.

What is known is what rotation_claim_info returned on the host. All instants in it are by the host's own clock.
"""

import getpass
import multiprocessing
import os
import socket
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...module_utils.claims import BY_EVENT, State, Vm, of_vm
from ...module_utils.scheduled_events.text import plain
from .clocks import as_utc
from .host import Attempt

BY_HAND = "by_hand"
_IN_WORDS = {BY_EVENT: "for maintenance", BY_HAND: "by hand"}

Found = Mapping[str, Any]

_LONGEST_NAME = 100  # characters
# Seconds after its event at which a machine that was to be deleted, and has not booted, is restored all the same.
_STAYS_OUT_FOR = 600.0


class LeaseView(NamedTuple):
    """How this run stands to a host."""

    leased: str = ""
    """Who else is working on it, in words; empty if nobody is."""
    take_over: str = ""
    """The lease that may be taken over, because its run is dead or the operator says so."""
    abandoned: str = ""
    """Why the host may stay out although another run has leased it, in words; empty unless it is claimed for this
    owner, and the other run is not known to be alive."""
    needs_restore: bool = False
    """Whether an earlier run has taken it out for this owner and not restored it."""
    by_others: str = ""
    """Who else wants it out, in words; empty if nobody does."""
    keep_out_reason: str = ""
    """Why it is not to be restored yet although its event is no longer listed; empty if it is."""
    approving: tuple[str, ...] = ()
    """Ids of events whose approval an earlier run may have sent."""
    tried: tuple[Attempt, ...] = ()
    """For which events it was taken out in vain, the latest last."""
    claimed: tuple[str, ...] = ()
    """Everybody who wants it out of rotation, in words."""
    seen: Mapping[str, float] = {}
    """By the id of an event in lower case, how many seconds ago a run first took the machine out for it."""


def describe_run(playbook: str, job: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Tell this run from all others, as rotation_claim takes it.

    :param job: of an automation controller: its `id`, its `template` and its `user`, each as far as it is known; and
        if there is never more than one job of its template at a time, the name of its `controller` and `template_id`
    """
    process = _process(_controller())
    if job and _as_number(job.get("id")) is not None and job.get("controller") and job.get("template_id"):
        alone = {"controller": str(job["controller"]), "template": str(job["template_id"]), "id": int(job["id"])}
        process = dict(process or {}, job=alone)
    return {
        "id": str(uuid.uuid4()),
        "playbook": playbook,
        "by": _describe_job(job) if job and job.get("id") else "%s on %s" % (_user(), socket.gethostname()),
        "process": process,
    }


def _describe_job(job: Mapping[str, Any]) -> str:
    """Name a job by its number, template and user: in a job's container every user is root, and the host name is
    random.
    """
    # A schedule launches without a user.
    user = plain(job.get("user") or "nobody")[:_LONGEST_NAME]
    template = " (%s)" % plain(job["template"])[:_LONGEST_NAME] if job.get("template") else ""
    return "%s, job %s%s" % (user, plain(job["id"])[:_LONGEST_NAME], template)


def is_alive(lease: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> bool | None:
    """Whether the run that holds a lease is alive; None if that is not known.

    It is known of one that runs here, and of an earlier job of the template of which `run` is a job, if a controller
    never has two of them at a time. Of any other run elsewhere, in another container, or before this machine has
    booted, it is not.

    :param run: this run, see `describe_run`
    """
    process = lease.get("process") or {}
    theirs, ours = process.get("job") or {}, ((run or {}).get("process") or {}).get("job") or {}
    if ours and all(theirs.get(key) == ours[key] for key in ("controller", "template")):
        number = _as_number(theirs.get("id"))
        if number is not None and number < ours["id"]:
            return False
    here = _process(os.getpid())
    if "pid" not in process or not here or any(process.get(key) != here[key] for key in ("boot_id", "namespace")):
        return None
    found = _process(int(process["pid"]))
    return found is not None and found["began"] == process.get("began")


def _as_number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else None


def lease_view(
    found: Found,
    owner: str = BY_EVENT,
    run: Mapping[str, Any] | None = None,
    break_lease: bool = False,
) -> LeaseView:
    """Say how a run stands to a host.

    :param owner: for whom it acts
    :param run: this run, see `describe_run`
    :param break_lease: whether the operator says that no other run is alive
    """
    lease = found.get("lease") or {}
    claims: Mapping[str, Mapping[str, Any]] = found.get("claims") or {}
    mine = claims.get(owner)
    leased, take_over, abandoned = "", "", ""
    if lease and lease["id"] != (run or {}).get("id", ""):
        alive = is_alive(lease, run)
        if break_lease or alive is False:
            take_over = str(lease["id"])
        else:
            leased = _describe_lease(lease)
        if leased and mine is not None and not alive:
            abandoned = (
                "out %s; %s. Whether that run is alive cannot be seen from here: run again then, or now with"
                " handle_events_break_leases=true if it has certainly ended" % (_describe_claim(owner, mine), leased)
            )
    return LeaseView(
        leased=leased,
        take_over=take_over,
        abandoned=abandoned,
        needs_restore=mine is not None,
        by_others=describe_others(claims, owner),
        keep_out_reason="" if mine is None else _why_kept_out(mine, found),
        approving=() if mine is None else tuple(mine.get("approving") or ()),
        tried=tuple(
            Attempt(str(event_id), max(0.0, float(found["now"]) - float(one["at"])), str(one.get("reason") or ""))
            for event_id, one in (found.get("tried") or {}).items()
        ),
        claimed=tuple(_describe_claim(name, one) for name, one in sorted(claims.items())),
        seen={
            str(event_id): max(0.0, float(found["now"]) - float(at))
            for event_id, at in ((mine or {}).get("seen") or {}).items()
        },
    )


def of_this_vm(found: Found, vm: Mapping[str, Any]) -> Found:
    """What was found on a host, as far as it is about this VM, see `of_vm`.

    :param vm: the `resource_id` and the `vm_id` that the host says it has, each as far as it is known
    :raises Shared: if it is that of another VM
    """
    whose = found.get("vm") or {}
    state = of_vm(
        State(found.get("lease"), found["claims"], found.get("tried") or {}, _read_vm(whose)),
        _read_vm(vm),
        "handle_events_state_directory",
    )
    return {**found, "lease": state.lease, "claims": state.claims, "tried": state.tried}


def _read_vm(vm: Mapping[str, Any]) -> Vm:
    return Vm(str(vm.get("resource_id") or ""), str(vm.get("vm_id") or ""))


def describe_others(claims: Mapping[str, Mapping[str, Any]], owner: str) -> str:
    """Say who else wants a host out; empty if nobody does."""
    others = (_describe_claim(name, one) for name, one in sorted(claims.items()) if name != owner)
    return plain(" and ".join(others))


def view_as_dict(view: LeaseView) -> dict[str, Any]:
    """Convert a view, and make all its texts harmless for a terminal."""
    written = {name: plain(value) if isinstance(value, str) else value for name, value in view._asdict().items()}
    tried = [dict(one._asdict(), event_id=plain(one.event_id), reason=plain(one.reason)) for one in view.tried]
    return dict(written, tried=tried, claimed=[plain(one) for one in view.claimed])


def _why_kept_out(claim: Mapping[str, Any], found: Found) -> str:
    """Whether the machine may be about to be deleted: it has not booted since, and its event has just ended."""
    if not claim.get("is_final") or claim.get("boot_id") != found.get("boot_id"):
        return ""
    gone_at = claim.get("left_out_at") or max(float(claim["noted_at"]), float(claim.get("starts_at") or 0))
    left = float(gone_at) + _STAYS_OUT_FOR - float(found["now"])
    if left <= 0:
        return ""
    return "its deletion is no longer listed: it is restored when it boots, or by a run in %d s or later" % left


def _describe_claim(owner: str, claim: Mapping[str, Any]) -> str:
    reason = claim.get("reason")
    return "%s since %s, by %s%s" % (
        _IN_WORDS.get(owner, "for %s" % owner),
        as_utc(float(claim["since"])),
        claim.get("by") or "an unknown user",
        ": %s" % reason if reason else "",
    )


def _describe_lease(lease: Mapping[str, Any]) -> str:
    return "%s of %s is working on it, and holds its lease until %s by its clock" % (
        lease.get("playbook") or "a run",
        lease.get("by") or "an unknown user",
        as_utc(float(lease["until"])),
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user id without a name.
        return str(os.getuid())


def _controller() -> int:
    """The process of ansible-playbook: actions run in it, or in a worker that it has forked."""
    parent = multiprocessing.parent_process()
    return os.getpid() if parent is None or parent.pid is None else parent.pid


def _process(pid: int) -> dict[str, Any] | None:
    """What identifies a process for ever; None if there is no such process, or it cannot be identified."""
    try:
        with open("/proc/%d/stat" % pid) as stream:
            fields = stream.read().rpartition(")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as stream:
            boot_id = stream.read().strip()
        if fields[0] == "Z":
            return None
        return {"boot_id": boot_id, "namespace": os.stat("/proc/self/ns/pid").st_ino, "pid": pid, "began": fields[19]}
    except (OSError, IndexError):
        return None
