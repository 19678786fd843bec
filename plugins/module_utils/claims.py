# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Claims and the lease of a machine: who wants it out of rotation, and which run works on it.

An owner claims the machine before it is taken out, and gives the claim up after it was restored: as long as there is
a claim, there is something to be restored, whatever died in between. A run leases the machine while it works on it, so
that two never do at once. Both are kept in one file on the machine, where they outlast any controller, and each change
of it is one atomic step.
"""

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from .files.directory import Directory, new_name, open_own_directory
from .files.ownership import UnsafePath
from .scheduled_events.text import sanitize_line

FILE = "claims.json"
_LOCK = ".claims.lock"
# Seconds. A change takes milliseconds: a process that holds the lock for longer is stopped, or hangs on its disk.
_LOCKED_WITHIN = 20.0
_LOCK_INTERVAL = 0.05
# Bytes. Claims, attempts and their texts are bounded, and together far smaller.
_LARGEST_FILE = 1024 * 1024
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_LONGEST_TEXT = 200
_LONGEST_ID = 300
_MOST_IDS = 100
# Seconds. No event is announced for longer ahead than a week.
_LONGEST_ATTEMPT = 8 * 86400.0
# The owner whose claim the playbook handle_events restores.
BY_EVENT = "handle_events"
# For callers that know no other run to be alive: any lease is taken over.
ANY = "any"


class ClaimError(Exception):
    """What was asked for cannot be done. The message says why, and what to do."""


class Leased(ClaimError):
    """Another run is at work on the machine."""


class Shared(ClaimError):
    """The directory is that of another VM."""


class Vm(NamedTuple):
    """Whose the claims are, as the metadata service says."""

    resource_id: str = ""
    """Its id in Azure. A VM that is made again under the same name has the same one. Empty: unknown."""
    vm_id: str = ""
    """Its unique id, which that VM does not have. Empty: unknown."""


class Run(NamedTuple):
    """A run of a playbook."""

    run_id: str
    playbook: str = ""
    by: str = ""
    """The user and the process, for people."""
    process: Optional[Dict[str, Any]] = None
    """The facts by which a controller finds out whether it is alive."""


class ClaimRequest(NamedTuple):
    """An owner's entry in its claim."""

    owner: str
    reason: str = ""
    is_final: bool = False
    """Whether it is for an event that deletes the machine."""
    starts_at: Optional[float] = None
    """When the last of its events may start, in seconds since the epoch."""
    approving: Sequence[str] = ()
    """Ids of events whose approval may have been sent."""
    left_out: bool = False
    """Whether its event is over and the machine stays out, because it is to be deleted."""
    seen: Optional[Sequence[str]] = None
    """Ids of the events that the claim is for. The time of the first mention is kept. None: those of the earlier
    entry.
    """


class State(NamedTuple):
    """The claims and the lease of a machine."""

    lease: Optional[Dict[str, Any]] = None
    """Of the run at work on it: `id`, `playbook`, `by`, `process`, `until`, in seconds since the epoch, and whether it
    is `returning` the machine to rotation.
    """
    claims: Mapping[str, Dict[str, Any]] = {}
    """By owner: `since`, `noted_at`, `by`, `reason`, `boot_id`, `is_final`, `starts_at`, `approving`, `left_out_at`,
    and `seen`, by the id of an event when it was first said.
    """
    tried: Mapping[str, Dict[str, Any]] = {}
    """By the id of an event for which the machine was taken out in vain: `at` and `reason`."""
    vm: Vm = Vm()
    """Whose they are."""

    def as_dict(self) -> Dict[str, Any]:
        """Write it."""
        return {
            "lease": self.lease,
            "claims": dict(self.claims),
            "tried": dict(self.tried),
            "vm": dict(self.vm._asdict()),
        }

    def holder(self, now: float) -> Optional[Dict[str, Any]]:
        """The lease in force."""
        return self.lease if self.lease is not None and now < self.lease["until"] else None


def boot_id() -> Optional[str]:
    """An id that changes whenever the machine boots. None where there is none."""
    try:
        with open(_BOOT_ID) as stream:
            return stream.read().strip()
    except OSError:
        return None


def present(paths: Sequence[str]) -> List[str]:
    """Those of the paths that are there, links that lead nowhere included.

    :raises ClaimError: if it cannot be looked: what cannot be seen is not known to be missing
    """
    found = []
    for path in paths:
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ClaimError("%s: %s: run with the rights to see it" % (path, error.strerror)) from error
        found.append(path)
    return found


def read(directory: str) -> State:
    """Read what is known of this machine.

    :raises ClaimError: if the file is none of ours
    """
    path = os.path.join(directory, FILE)
    try:
        with open_own_directory(directory) as place:
            content = json.loads(place.read(FILE, _LARGEST_FILE))
        vm = content.get("vm") or {}
        vm = Vm(str(vm.get("resource_id") or ""), str(vm.get("vm_id") or ""))
        state = State(content["lease"], content["claims"], content["tried"], vm)
        if state.lease is not None:
            state.lease["until"] = float(state.lease["until"])
        return state._replace(
            claims={str(owner): dict(claim) for owner, claim in state.claims.items()},
            tried={str(event_id): dict(one, at=float(one["at"])) for event_id, one in state.tried.items()},
        )
    except (FileNotFoundError, NotADirectoryError):
        return State()
    except UnsafePath as error:
        raise ClaimError(str(error)) from error
    except OSError as error:
        raise ClaimError("%s: %s: run with the rights to read it" % (path, error.strerror)) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ClaimError(
            "%s is damaged: %s. Make sure that the machine is in rotation, then delete the file" % (path, error)
        ) from error


def of_vm(state: State, vm: Vm, directory: str) -> State:
    """What of it is about this VM.

    What somebody wanted of a VM that had its name and its disk before is wanted of this one no longer: what was taken
    out is restored by the next run of handle_events. The directory of any other VM is refused, because that one may be
    alive, and share the directory with this one.

    :raises Shared: if it is that of another VM
    """
    theirs = state.vm
    if theirs.resource_id and vm.resource_id and theirs.resource_id.lower() != vm.resource_id.lower():
        raise Shared(
            "%s is the directory of another VM, %s. Set handle_events_state_directory to a directory that each VM has"
            " for itself; or, if the disk came from that VM, make sure that this one is in rotation, and delete the"
            " directory" % (directory, sanitize_line(theirs.resource_id, _LONGEST_ID))
        )
    if theirs.vm_id and vm.vm_id and theirs.vm_id.lower() != vm.vm_id.lower():
        left = next(iter(state.claims.values()), None)
        noted = {BY_EVENT: dict(left, is_final=False, left_out_at=None)} if left else {}
        state = State(claims=noted)
    return state._replace(vm=Vm(vm.resource_id or theirs.resource_id, vm.vm_id or theirs.vm_id))


def lease(state: State, run: Run, seconds: float, now: float, take_over: str = "", is_returning: bool = False) -> State:
    """Begin to work on the machine, or go on.

    :param seconds: for so long, unless it is leased again
    :param take_over: the id of a run that is known to be dead, or `any`
    :param is_returning: whether the run is about to restore the machine
    :raises Leased: if another run is at work on it
    """
    holder = state.holder(now)
    if holder is not None and take_over not in (ANY, holder["id"]) and holder["id"] != run.run_id:
        raise Leased(describe_lease(holder))
    return state._replace(
        lease={
            "id": run.run_id,
            "playbook": run.playbook,
            "by": sanitize_line(run.by, _LONGEST_TEXT),
            "process": run.process,
            "until": now + seconds,
            "returning": is_returning,
        }
    )


def is_out(state: State, owner: str, now: float) -> bool:
    """Whether the run at work on the machine has it out for somebody else than this owner, and leaves it there yet."""
    holder = state.holder(now)
    return holder is not None and not holder.get("returning") and any(name != owner for name in state.claims)


def renew(state: State, run: Run, seconds: float, now: float, is_returning: bool = False) -> State:
    """Go on working on the machine.

    Whoever returns it does so also where nothing is noted on it: a Redeploy empties an ephemeral OS disk, and what
    the machine has left its balancers with is noted there.

    :raises Leased: if it was lost: another run took it over when it had ended
    :raises ClaimError: if nothing is noted on the machine any more
    """
    if state.lease is None and not state.claims:
        if is_returning:
            return lease(state, run, seconds, now, is_returning=True)
        raise ClaimError(
            "Nothing of this run is noted on the machine any more: its disk is new, or another run has taken it over."
            " It has ended since. Run again"
        )
    if state.lease is None or state.lease["id"] != run.run_id:
        holder = state.holder(now)
        raise Leased(
            "This run's lease of the machine ended, and another run has taken it over. "
            + (describe_lease(holder) if holder else "It has ended since. Run again")
        )
    return lease(state, run, seconds, now, is_returning=is_returning)


def claim(state: State, run: Run, request: ClaimRequest, now: float) -> State:
    """Note that an owner wants the machine out of rotation, or what has become of its claim."""
    before = state.claims.get(request.owner, {})
    after = {
        "since": before.get("since", now),
        "noted_at": now,
        "by": sanitize_line(run.by, _LONGEST_TEXT),
        "reason": sanitize_line(request.reason, _LONGEST_TEXT),
        "boot_id": boot_id(),
        "is_final": request.is_final,
        "starts_at": request.starts_at,
        "approving": [sanitize_line(event_id, _LONGEST_TEXT) for event_id in request.approving][:_MOST_IDS],
        "left_out_at": now if request.left_out else None,
        "seen": _seen(before.get("seen") or {}, request.seen, now),
    }
    return state._replace(claims=dict(state.claims, **{request.owner: after}))


def _seen(before: Mapping[str, float], event_ids: Optional[Sequence[str]], now: float) -> Dict[str, float]:
    if event_ids is None:
        return dict(before)
    keys = [sanitize_line(event_id, _LONGEST_TEXT).lower() for event_id in event_ids][:_MOST_IDS]
    return {key: float(before.get(key, now)) for key in keys}


def release(state: State, run: Run, owner: str = "") -> State:
    """Stop working on the machine; with an owner, give up its claim too.

    :raises Leased: if another run is at work on it
    """
    if state.lease is not None and state.lease["id"] != run.run_id:
        raise Leased(describe_lease(state.lease))
    return state._replace(lease=None, claims={name: one for name, one in state.claims.items() if name != owner})


def note_tried(state: State, tried: Mapping[str, str], now: float) -> State:
    """Note for which events the machine was taken out in vain, and forget what cannot matter any more.

    :param tried: by the ids of events, what went wrong; an empty text forgets the event
    """
    noted = {event_id: one for event_id, one in state.tried.items() if now < one["at"] + _LONGEST_ATTEMPT}
    for event_id, reason in tried.items():
        key = sanitize_line(event_id, _LONGEST_TEXT).lower()
        noted.pop(key, None)
        if reason:
            noted[key] = {"at": now, "reason": sanitize_line(reason, _LONGEST_TEXT)}
    return state._replace(tried=dict(list(noted.items())[-_MOST_IDS:]))


def describe_lease(holder: Dict[str, Any]) -> str:
    """Say who is at work on the machine."""
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(holder["until"]))
    return "%s of %s is working on it, and holds its lease until %s by its clock" % (
        holder["playbook"],
        holder["by"],
        until,
    )


@contextlib.contextmanager
def locked(directory: str, within: float = _LOCKED_WITHIN) -> Iterator[None]:
    """Keep everybody else from changing the claims. Makes the directory when it is not there.

    The lock is a file that nobody else can open: to lock what others may read, they need no right to write.

    :param within: seconds that another process may keep the lock
    :raises ClaimError: if it cannot be made or opened, belongs to somebody else, or is not free in time
    """
    try:
        with _locked(directory, time.monotonic() + within):
            yield
    except UnsafePath as error:
        raise ClaimError(str(error)) from error
    except OSError as error:
        raise ClaimError("%s: %s: run with the rights to write there" % (directory, error.strerror)) from error


@contextlib.contextmanager
def _locked(directory: str, deadline: float) -> Iterator[None]:
    while True:
        # An application that runs as another user looks for a file in the directory above.
        with open_own_directory(directory, new_mode=0o755) as place:
            try:
                descriptor = place.open_own(_LOCK, os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:
                # The earlier owner has removed the directory.
                continue
            try:
                _lock(descriptor, os.path.join(directory, _LOCK), deadline)
                # The earlier owner may have removed it, and another user created it again.
                if _is_same(descriptor, place):
                    yield
                    return
            finally:
                os.close(descriptor)


def _lock(descriptor: int, path: str, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise ClaimError(
                    "%s is locked by another process, which does not finish: find it with fuser, and end it" % path
                ) from error
        time.sleep(_LOCK_INTERVAL)


def _is_same(descriptor: int, place: Directory) -> bool:
    there = place.status(_LOCK)
    return there is not None and os.path.samestat(os.fstat(descriptor), there)


def write(directory: str, state: State, records: Sequence[str] = ()) -> None:
    """Write down what is known of this machine, in one step; without anything to know, leave nothing behind.

    :param records: names of files in the directory that are there as long as the machine was not restored
    :raises ClaimError: if nobody claims the machine any more, and records say that it was not restored
    """
    with open_own_directory(directory) as place:
        if not state.claims:
            left = sorted(set(place.names()).intersection(records))
            if left and read(directory).claims:
                raise ClaimError("%s still holds %s: not all was restored" % (directory, ", ".join(left)))
            if state.lease is None and not state.tried:
                for name in (new_name(FILE), FILE, _LOCK):
                    with contextlib.suppress(FileNotFoundError):
                        place.remove(name)
                # Files of others stay, and the directory with them.
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
                return
        # Everybody may read which owners have the machine out.
        place.replace(FILE, json.dumps(state.as_dict()), 0o644)
