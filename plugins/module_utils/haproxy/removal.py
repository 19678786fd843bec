# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""How the servers of a machine leave, with a record of what was found, and return by it."""

import time
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from ..files.records import Owner
from ..scheduled_events.deadline import Deadline
from .answers import read_servers
from .choice import called
from .operations import POLL_INTERVAL, Outcome, carry_out
from .options import Order
from .plan import MAINTENANCE, READY, Record, ServerState
from .records import Kept, find, forget, keep
from .runtime_api import RuntimeApi


class Returned(NamedTuple):
    """What became of a return."""

    outcome: Optional[Outcome]
    """None: there was no record."""
    serving: List[str]
    """Where the machine gets requests. Empty in a dry run."""
    out: List[str]
    """Where it does not, and why: somebody else may keep it out, or its record may be lost. Empty in a dry run."""


def take_out(
    api: RuntimeApi,
    master: Optional[RuntimeApi],
    order: Order,
    socket: str,
    owner: Owner,
    vm_id: str,
    dry_run: bool,
) -> Outcome:
    """Write down how the servers are, and then do what is ordered.

    :param vm_id: Azure's unique id of the VM; empty if it is not known
    :raises HaproxyError: if nothing was changed
    :raises OSError: the same, because there can be no record
    :raises BadRecord: the same, because of a record that is none
    """

    def write(before: Sequence[Record], found: Sequence[ServerState]) -> None:
        was_up = tuple(one.backend for one in found if one.is_up and one.state != MAINTENANCE)
        keep(owner, socket, Kept("", owner.name, vm_id, tuple(before), was_up))

    return carry_out(api, master, order, dry_run, keep=write)


def put_back(
    api: RuntimeApi,
    order: Order,
    socket: str,
    owner: Owner,
    dry_run: bool,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Returned:
    """Restore what the records of the machine say, and forget them; with `order.wait`, once it serves again.

    :raises HaproxyError: if HAProxy could not be asked, or nothing was changed
    :raises OSError: if the records cannot be read or removed
    :raises BadRecord: if one is none
    """
    records = find(owner, socket)
    outcome = None
    if records:
        before = tuple(record for kept in records for record in kept.before)
        deadline = Deadline(order.deadline, clock)
        restore = Order(restore=before, wait=order.wait, deadline=order.deadline)
        outcome = carry_out(api, None, restore, dry_run, clock, sleep)
        if outcome.failure is None and not dry_run:
            # So that the next machine leaves only when this one serves. What was down before need not come up.
            places = [(backend, kept.called) for kept in records for backend in kept.was_up if order.wait]
            down = _wait_until_up(api, places, deadline, sleep)
            if down:
                outcome = outcome._replace(
                    failure="%s: not up after %g s. Its record stays: restore it again when its checks succeed"
                    % (", ".join(down), order.deadline)
                )
            else:
                forget(owner, records)
    if dry_run:
        return Returned(outcome, [], [])
    names = sorted({kept.called for kept in records}) or [owner.name]
    backends = tuple(record.backend for kept in records for record in kept.before) or order.backends
    return Returned(outcome, *_look_for(api, names, backends))


def _wait_until_up(
    api: RuntimeApi, places: Sequence[Tuple[str, str]], deadline: Deadline, sleep: Callable[[float], None]
) -> List[str]:
    """Name what is down at the deadline, of backends and what the server is called there."""
    while places:
        everything = api.show("show servers state", read_servers)
        down = [
            "%s/%s" % (backend, name)
            for backend, name in places
            if not any(found.is_up for found in called([one for one in everything if one.backend == backend], name))
        ]
        left = deadline.remaining()
        if not down or left <= 0:
            return down
        sleep(min(POLL_INTERVAL, left))
    return []


def _look_for(api: RuntimeApi, names: Sequence[str], backends: Optional[Sequence[str]]) -> Tuple[List[str], List[str]]:
    everything = api.show("show servers state", read_servers)
    pool = [found for found in everything if backends is None or found.backend in backends]
    places = [found for name in names for found in called(pool, name)]
    if not places:
        return [], ["no server %s" % " or ".join(names)]
    serving = [found for found in places if found.effective_state == READY and found.is_up and found.weight]
    return [found.place for found in serving], [_why_out(found) for found in places if found not in serving]


def _why_out(found: ServerState) -> str:
    what = "in %s" % found.effective_state if found.effective_state != READY else "down, or has the weight 0"
    return "%s is %s" % (found.place, what)
