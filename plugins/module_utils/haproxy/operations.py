# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of haproxy_server.

Everything that could forbid the change is looked at before the first command. From then on nothing is raised: whatever
goes wrong is in the outcome, together with what was found before, so that it can be restored.
"""

import difflib
import time
from contextlib import suppress
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from ..scheduled_events.deadline import Deadline
from .answers import Process, Sessions, read_old_workers, read_process, read_servers, read_sessions, shared_sockets
from .choice import called, find_ambiguous, is_at, read_endpoint
from .options import Order
from .plan import DRAIN, MAINTENANCE, READY, Goal, Record, ServerState, commands_for, goal_of, goal_of_record, record_of
from .runtime_api import HaproxyError, Refused, RuntimeApi, Unintelligible, Unreachable, not_admin

POLL_INTERVAL = 0.5  # seconds between two looks while sessions go on
CONFIRM_INTERVAL = 0.1  # seconds until a second check that nothing is left
GRACE = 5.0  # seconds for ended sessions to disappear
_ROUNDS = 3  # attempts to set a state that somebody else keeps setting back
_FEW = 8  # servers; for more, one table of all is shorter than a table each
_FROM_IN_TO_OUT = (READY, DRAIN, MAINTENANCE)
_ENABLED = 0x04  # bit of an agent check's state

_Place = Tuple[str, str]


class UnknownServer(HaproxyError):
    """There is no such server or backend. The message says what there is."""


class SeenServer(NamedTuple):
    """A server as it was last seen, with its sessions."""

    found: ServerState
    sessions: int
    queued: int
    sessions_of_old_processes: Optional[int]
    """None: unknown."""


class Outcome(NamedTuple):
    """The result of an order."""

    changed: bool
    before: List[Record]
    goals: List[Goal]
    servers: List[SeenServer]
    commands: List[str]
    """The commands that HAProxy got, or in a dry run would get."""
    waited: float
    """Seconds."""
    reloads: int
    set_again: int
    """How often a setting had to be repeated because it was lost or set back."""
    sessions_shut_down: int
    timed_out: bool
    """Whether sessions were left in the end, and that is the failure."""
    warnings: List[str]
    failure: Optional[str]
    """None: the order was carried out."""


def carry_out(
    api: RuntimeApi,
    master: Optional[RuntimeApi],
    order: Order,
    dry_run: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    keep: Callable[[Sequence[Record], Sequence[ServerState]], None] = lambda _before, _found: None,
) -> Outcome:
    """Do what is ordered.

    :param master: where processes are asked that were replaced but still have sessions
    :param dry_run: only say what would be done
    :param keep: writes down how the servers are, before anything is changed; what it raises changes nothing
    :raises HaproxyError: if nothing was changed, because HAProxy cannot be asked, does not have the servers, or does
        not let this be changed
    """
    process = api.show("show info", read_process)
    _check_alone(api, process)
    everything = api.show("show servers state", read_servers)
    if master is not None:
        master.show("show proc", read_old_workers)
    work = _Work(api, master, process, clock, sleep)
    if order.restore is not None:
        goals, missing = work.find_recorded(order.restore, everything)
    else:
        goals, missing = _find(order, everything), None
    work.begin(goals, everything)
    if order.state in (DRAIN, MAINTENANCE) and order.backends is None:
        work.warn_of_other_names(goals, everything)
    if order.restore is None and order.state is None:
        work.finish()
    elif dry_run:
        work.rehearse()
        work.finish()
    else:
        keep(*work.found)
        work.guarded(lambda: work.change(goals, order))
    return work.outcome(missing)


def list_servers(
    api: RuntimeApi, server: Optional[str] = None, backends: Optional[Sequence[str]] = None
) -> List[Tuple[ServerState, bool]]:
    """Read which servers there are, and how each is, in the order of the configuration.

    :param server: only those that are `called` so; None: all
    :param backends: only those in these; None: in all
    :returns: each with whether it is a backup
    :raises HaproxyError: if HAProxy cannot be asked
    """
    _check_alone(api, api.show("show info", read_process))
    backups = {(one.backend, one.server) for one in api.show("show stat -1 4 -1", read_sessions) if one.is_backup}
    listed = api.show("show servers state", read_servers)
    chosen = [found for found in listed if backends is None or found.backend in backends]
    chosen = chosen if server is None else called(chosen, server)
    return [(found, (found.backend, found.server) in backups) for found in chosen]


def _check_alone(api: RuntimeApi, process: Process) -> None:
    """Make sure that it is always the same process that answers.

    :raises HaproxyError: if several do in turns, of which a command would reach one
    """
    if process.processes > 1:
        shared = api.show("show cli sockets", shared_sockets)
        if shared:
            raise HaproxyError(
                "HAProxy %s runs %d processes with separate states, and any of them may answer at %s. Nothing "
                "was changed. Give each a socket with `process`, and run the task once for each; or use threads "
                "(nbthread)" % (process.version, process.processes, ", ".join(shared))
            )


def _find(order: Order, everything: Sequence[ServerState]) -> List[Goal]:
    """Choose the servers that are meant.

    :raises UnknownServer: if there is none, or not in each backend that was named
    """
    backends = {found.backend for found in everything}
    for backend in order.backends or ():
        if backend not in backends:
            raise UnknownServer("backend: HAProxy has no backend %r. It has %s" % (backend, _listed(backends, backend)))
    server = str(order.server)
    pool = [found for found in everything if order.backends is None or found.backend in order.backends]
    chosen = called(pool, server)
    address = server if any(found.server != server for found in chosen) else None
    ambiguous = find_ambiguous(chosen, server)
    if ambiguous:
        raise UnknownServer("server: " + ambiguous)
    if not chosen:
        names = _names(pool, server)
        where = "any backend" if order.backends is None else " or ".join(order.backends)
        raise UnknownServer(
            "server: HAProxy has no server %r in %s. It has %s" % (server, where, _listed(names, server))
        )
    for backend in order.backends or ():
        if backend not in {found.backend for found in chosen}:
            names = _names([found for found in everything if found.backend == backend], server)
            raise UnknownServer(
                "server: HAProxy has no server %r in backend %r. It has %s" % (server, backend, _listed(names, server))
            )
    goals = [goal_of(found, order.state or found.state, order.keep_maintenance) for found in chosen]
    return [goal._replace(address=address) for goal in goals]


def _names(servers: Sequence[ServerState], wanted: str) -> Set[str]:
    """Name servers; with their addresses if an address is wanted."""
    is_address = read_endpoint(wanted) is not None
    return {found.server + (" at %s" % (found.address or "no address") if is_address else "") for found in servers}


def _listed(names: Set[str], wanted: str, most: int = 20) -> str:
    """List the existing names, the most similar first."""
    alike = difflib.get_close_matches(wanted, sorted(names), n=most, cutoff=0.6)
    ordered = alike + sorted(names.difference(alike))
    more = len(ordered) - most
    return (", ".join(ordered[:most]) or "none") + (", and %d more" % more if more > 0 else "")


class _Look(NamedTuple):
    """One observation."""

    servers: Dict[_Place, ServerState]
    sessions: Dict[_Place, Sessions]
    old: Dict[_Place, int]

    @property
    def total(self) -> int:
        """All sessions, including those that wait for a place at the server."""
        return sum(seen.current + seen.queued for seen in self.sessions.values()) + sum(self.old.values())


class _Work:
    """One order while it is carried out."""

    def __init__(
        self,
        api: RuntimeApi,
        master: Optional[RuntimeApi],
        process: Process,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._api = api
        self._master = master
        self._process = process
        self._clock = clock
        self._sleep = sleep
        self._goals = []  # type: List[Goal]
        self._before = []  # type: List[Record]
        self._last = _Look({}, {}, {})
        self._told = []  # type: List[str]
        self._waited = 0.0
        self._reloads = 0
        self._set_again = 0
        self._shut_down = 0
        self._timed_out = False
        self._warnings = []  # type: List[str]
        if process.processes > 1:
            self._warnings.append(
                "HAProxy runs %d processes with separate states: this is one of them. Run the task for the"
                " socket of each" % process.processes
            )
        self._failure = None  # type: Optional[str]
        self._is_in_doubt = False

    def find_recorded(
        self, records: Sequence[Record], everything: Sequence[ServerState]
    ) -> Tuple[List[Goal], Optional[str]]:
        """Find what is to be restored, and say what of it there is no more."""
        goals = {}  # type: Dict[_Place, Goal]
        missing = []
        for record in records:
            of_record = self._find_recorded(record, everything)
            if not of_record:
                at = " at %s" % record.address if record.address else ""
                missing.append("%s/%s%s" % (record.backend, record.server, at))
            for found in of_record:
                goal = goal_of_record(record, found)
                if goal is None:
                    self._warnings.append(
                        "%s stays in maintenance: HAProxy's configuration has disabled it since it was taken out"
                        % found.place
                    )
                    goal = Goal(found.backend, found.server, found.state, address=record.address)
                # Of two records, one by name and one by address, the later one holds what the first removal has set.
                other = goals.get((goal.backend, goal.server))
                if other is None or _FROM_IN_TO_OUT.index(goal.state) < _FROM_IN_TO_OUT.index(other.state):
                    goals[goal.backend, goal.server] = goal
        if not missing:
            return list(goals.values()), None
        said = "restore: HAProxy at %s no longer has %s. It has %s. All others are as recorded" % (
            self._api.address,
            ", ".join(missing),
            _listed({found.place for found in everything}, missing[0]),
        )
        return list(goals.values()), said

    def _find_recorded(self, record: Record, everything: Sequence[ServerState]) -> List[ServerState]:
        """Find the servers that a record is about. One that has another address by now is another machine's."""
        of_backend = [found for found in everything if found.backend == record.backend]
        named = [found for found in of_backend if found.server == record.server]
        if record.address is None:
            return named
        at_address = [found for found in of_backend if is_at(found, str(record.address))]
        if any(found in at_address for found in named):
            return named
        for found in named:
            if found.address and found.state not in (READY, record.state):
                self._warnings.append(
                    "%s stays in %s: it was at %s when it was taken out, and is at %s now. Set state to ready unless "
                    "somebody else has taken it out" % (found.place, found.state, record.address, found.address)
                )
        # The one without an address is nobody's: whoever gets it must not stay out for this machine.
        return (at_address if len(at_address) == 1 else []) + [found for found in named if not found.address]

    def begin(self, goals: Sequence[Goal], everything: Sequence[ServerState]) -> None:
        """Keep the records of the state before the change."""
        self._goals = list(goals)
        chosen = {(goal.backend, goal.server) for goal in goals}
        found = {(seen.backend, seen.server): seen for seen in everything if (seen.backend, seen.server) in chosen}
        self._before = [record_of(found[goal.backend, goal.server], goal.address) for goal in goals]
        self._last = _Look(found, {}, {})

    @property
    def found(self) -> Tuple[List[Record], List[ServerState]]:
        """The servers before the change: what can be restored of each, and how it is."""
        return self._before, list(self._last.servers.values())

    def warn_of_other_names(self, goals: Sequence[Goal], everything: Sequence[ServerState]) -> None:
        """Say where the machine goes on to get requests, because it is called otherwise there."""
        chosen = {(goal.backend, goal.server) for goal in goals}
        machines = {seen.machine for seen in everything if (seen.backend, seen.server) in chosen and seen.machine}
        others = [
            "%s at %s" % (seen.place, seen.machine)
            for seen in everything
            if seen.machine in machines and (seen.backend, seen.server) not in chosen and seen.effective_state == READY
        ]
        if others:
            self._warnings.append(
                "the same machine is in rotation under another name: %s. Take that out as well, or set backend "
                "to the backends to change" % ", ".join(others)
            )

    def rehearse(self) -> None:
        """Say what HAProxy would be told.

        :raises Refused: if it would not do it
        """
        self._told = [command for goal in self._goals for command in commands_for(goal, self._find(goal))]
        if self._told:
            level = self._api.show("show cli level", str.strip)
            if level in ("operator", "user"):
                raise Refused(not_admin(self._api.address, self._told[0]), level)

    def guarded(self, act: Callable[[], None]) -> None:
        """Act; what goes wrong once something was changed, or may have been, is a part of the outcome.

        :raises HaproxyError: if nothing was changed
        """
        try:
            act()
        except HaproxyError as error:
            if not self._told and not self._is_in_doubt:
                raise
            self._failure = str(error)
            if not isinstance(error, Unreachable):
                with suppress(HaproxyError):
                    self._refresh()

    def change(self, goals: Sequence[Goal], order: Order) -> None:
        """Set what is ordered, waiting for sessions to end where that is ordered."""
        if not order.wait:
            self._settle()
        else:
            deadline = Deadline(order.deadline, self._clock)
            try:
                if order.restore is None:
                    self._run_empty(goals, order, deadline)
                else:
                    self._bring_back(goals, deadline)
            finally:
                self._waited = order.deadline - deadline.remaining()
        self.finish()

    def _run_empty(self, goals: Sequence[Goal], order: Order, deadline: Deadline) -> None:
        # Maintenance at once sends the server's clients away; draining first sends away nobody.
        self._goals = [goal._replace(state=DRAIN) if self._find(goal).state != MAINTENANCE else goal for goal in goals]
        self._settle()
        empty = self._wait(deadline)
        # In maintenance no client comes back to a session that was ended.
        if order.state == MAINTENANCE and (empty or order.shutdown_sessions):
            self._goals = list(goals)
            self._settle()
        if not empty and order.shutdown_sessions:
            self._shut_down_sessions()
            empty = self._wait(Deadline(GRACE, self._clock))
        if not empty:
            self._timed_out = True
            self._failure = self._still_busy(order)

    def _bring_back(self, goals: Sequence[Goal], deadline: Deadline) -> None:
        # HAProxy takes a server that leaves maintenance for up until its first check. Drained, it is checked as well.
        leaving = [goal for goal in goals if goal.state == READY and self._find(goal).state == MAINTENANCE]
        self._goals = [goal._replace(state=DRAIN) if goal in leaving else goal for goal in goals]
        self._settle()
        left = deadline.remaining()
        while leaving and left > 0:
            with suppress(Unreachable):
                self._last = look = self._look()
                places = [(goal.backend, goal.server) for goal in leaving if self._find(goal).state == DRAIN]
                if all(look.sessions[place].is_checked for place in places):
                    break
            self._sleep(min(POLL_INTERVAL, left))
            left = deadline.remaining()
        self._goals = [goal._replace(state=end.state) for goal, end in zip(self._goals, goals)]
        self._settle()

    def finish(self) -> None:
        """Read the present state, and warn about surprises."""
        self._last = self._look()
        for goal in self._goals:
            found = self._last.servers.get((goal.backend, goal.server))
            if found is not None and found.effective_state != found.state:
                self._warnings.append(
                    "%s is set to %s, but in %s: it tracks another server, or its name does not resolve"
                    " (srv_admin_state %d)" % (found.place, found.state, found.effective_state, found.admin_state)
                )
        if self._reloads and self._master is None:
            self._warnings.append(
                "HAProxy was reloaded meanwhile. The previous process may still have sessions with the server, "
                "which this socket does not show. Set master_socket to count them"
            )

    def outcome(self, missing: Optional[str]) -> Outcome:
        """Sum up."""
        return Outcome(
            changed=bool(self._told),
            before=self._before,
            goals=self._goals,
            servers=[self._seen(goal) for goal in self._goals if (goal.backend, goal.server) in self._last.servers],
            commands=self._told,
            waited=self._waited,
            reloads=self._reloads,
            set_again=self._set_again,
            sessions_shut_down=self._shut_down,
            timed_out=self._timed_out,
            warnings=self._warnings,
            failure=self._failure or missing,
        )

    def _seen(self, goal: Goal) -> SeenServer:
        place = (goal.backend, goal.server)
        seen = self._last.sessions.get(place)
        return SeenServer(
            self._last.servers[place],
            seen.current if seen else 0,
            seen.queued if seen else 0,
            None if self._master is None else self._last.old.get(place, 0),
        )

    def _find(self, goal: Goal) -> ServerState:
        return self._last.servers[goal.backend, goal.server]

    def _settle(self) -> None:
        """Set what is not as it should be, and make sure that it stays."""
        for attempt in range(_ROUNDS):
            if not self._set():
                return
            if attempt:
                self._set_again += 1
                self._explain(self._last)
            self._refresh()
        if self._set():
            raise Refused(
                "HAProxy at %s accepted %r, but the state did not change. Does an agent check or somebody else "
                "reset it, or does another process answer at this socket?" % (self._api.address, self._told[-1]),
                "",
            )

    def _set(self) -> bool:
        """Set what is not as it should be; False if all is."""
        is_all = True
        for number, goal in enumerate(self._goals):
            found = self._last.servers.get((goal.backend, goal.server))
            for command in commands_for(goal, found) if found is not None else ():
                is_all = False
                try:
                    self._tell(command)
                except Refused as error:
                    if " static " not in error.answer:
                        raise
                    # By a static algorithm, where the configuration has another weight by now. It stays with that.
                    self._goals[number] = goal._replace(weight=None)
                    self._warnings.append(str(error))
        return not is_all

    def _tell(self, command: str) -> None:
        try:
            self._api.do(command)
        except Unreachable:
            # HAProxy may have done it before its answer was lost.
            self._is_in_doubt = True
            raise
        self._told.append(command)

    def _wait(self, deadline: Deadline) -> bool:
        """Wait until no session is left; False if some are at the deadline."""
        quiet = 0
        while True:
            left = deadline.remaining()
            try:
                self._last = look = self._look()
                self._accept_maintenance(look)
                again = self._set()
            except Unreachable:
                # HAProxy may be restarting.
                if left <= 0:
                    raise
                self._sleep(min(POLL_INTERVAL, left))
                continue
            if again:
                self._set_again += 1
                self._explain(look)
            quiet = 0 if again or look.total else quiet + 1
            if quiet == 2 or (quiet and left <= 0):
                return True
            if left <= 0:
                return False
            self._sleep(min(CONFIRM_INTERVAL if quiet or again else POLL_INTERVAL, left))

    def _accept_maintenance(self, look: _Look) -> None:
        """Leave a server alone that somebody has put into maintenance meanwhile: that is more than the order asks
        for.
        """
        for number, goal in enumerate(self._goals):
            if goal.state == DRAIN and look.servers[goal.backend, goal.server].state == MAINTENANCE:
                self._goals[number] = goal._replace(state=MAINTENANCE)
                self._warnings.append("%s was put in maintenance meanwhile, and stays there" % goal.place)

    def _explain(self, look: _Look) -> None:
        if self._set_again == 1:
            agents = [found.place for found in look.servers.values() if found.agent_state & _ENABLED]
            self._warnings.append(
                "the state was lost and was set again: %s"
                % (
                    "HAProxy was reloaded or restarted, and lost it"
                    if self._reloads
                    else "somebody else changed it"
                    + (", or the agent check of %s answered `ready`" % ", ".join(agents) if agents else "")
                )
            )

    def _shut_down_sessions(self) -> None:
        for place, seen in sorted(self._last.sessions.items()):
            if seen.current + seen.queued:
                self._tell("shutdown sessions server %s/%s" % place)
                self._shut_down += seen.current + seen.queued

    def _still_busy(self, order: Order) -> str:
        busy = [
            "%s/%s has %d sessions and %d in its queue" % (seen.backend, seen.server, seen.current, seen.queued)
            for _place, seen in sorted(self._last.sessions.items())
            if seen.current + seen.queued
        ]
        busy += [
            "%s/%s has %d sessions in processes that were replaced, which cannot be ended from here" % (*place, count)
            for place, count in sorted(self._last.old.items())
            if count
        ]
        advice = (
            "A drained server still accepts clients with a persistent session: set state to maintenance"
            if order.shutdown_sessions and order.state == DRAIN
            else "Raise the deadline, or set shutdown_sessions to end them"
        )
        return "at the deadline of %g s %s. %s. The server stays out until it is restored" % (
            order.deadline,
            ", ".join(busy),
            advice,
        )

    def _look(self) -> _Look:
        """Read the state and sessions of the servers of the order."""
        for _round in range(_ROUNDS):
            self._refresh()
            servers = self._last.servers
            sessions = self._sessions(servers)
            # A reload between the two commands may have changed the numbers of the backends.
            if len(sessions) == len(servers):
                return _Look(servers, sessions, self._old_sessions(servers))
        raise Unintelligible(
            "HAProxy at %s does not report the sessions of %s"
            % (self._api.address, ", ".join("%s/%s" % place for place in sorted(set(servers).difference(sessions))))
        )

    def _refresh(self) -> None:
        """Read the state of the servers of the order, and whether the same HAProxy still answers."""
        process = self._api.show("show info", read_process)
        if process.pid != self._process.pid or process.uptime < self._process.uptime:
            self._reloads += 1
        self._process = process
        chosen = {(goal.backend, goal.server) for goal in self._goals}
        backends = sorted({goal.backend for goal in self._goals})
        command = "show servers state" + (" %s" % backends[0] if len(backends) == 1 else "")
        found = [seen for seen in self._api.show(command, _read_if_there) if (seen.backend, seen.server) in chosen]
        addresses = {(goal.backend, goal.server): goal.address for goal in self._goals if goal.address is not None}
        found = [seen for seen in found if not _has_moved(seen, addresses.get((seen.backend, seen.server)))]
        gone = chosen.difference((seen.backend, seen.server) for seen in found)
        if gone:
            raise UnknownServer(
                "HAProxy at %s no longer has %s%s: its configuration was changed meanwhile, or the server's address"
                % (
                    self._api.address,
                    ", ".join("%s/%s" % place for place in sorted(gone)),
                    "".join(" at %s" % address for address in sorted({addresses[p] for p in gone if p in addresses})),
                )
            )
        self._last = _Look({(seen.backend, seen.server): seen for seen in found}, self._last.sessions, self._last.old)

    def _sessions(self, servers: Dict[_Place, ServerState]) -> Dict[_Place, Sessions]:
        if len(servers) > _FEW:
            commands = ["show stat -1 4 -1"]
        else:
            commands = ["show stat %d 4 %d" % (seen.backend_id, seen.server_id) for seen in servers.values()]
        table = [row for command in commands for row in self._api.show(command, read_sessions)]
        return {(row.backend, row.server): row for row in table if (row.backend, row.server) in servers}

    def _old_sessions(self, servers: Dict[_Place, ServerState]) -> Dict[_Place, int]:
        old = {}  # type: Dict[_Place, int]
        if self._master is None:
            return old
        for pid in self._master.show("show proc", read_old_workers):
            try:
                table = self._master.show("@!%d show stat -1 4 -1" % pid, read_sessions)
            except Unintelligible:
                # It has ended since.
                if pid in self._master.show("show proc", read_old_workers):
                    raise
                continue
            for row in table:
                place = (row.backend, row.server)
                if place in servers:
                    old[place] = old.get(place, 0) + row.current + row.queued
        return old


def _has_moved(seen: ServerState, address: Optional[str]) -> bool:
    """Whether a server that was chosen by its address is another machine's now. Without an address it is nobody's."""
    return address is not None and bool(seen.address) and not is_at(seen, address)


def _read_if_there(text: str) -> List[ServerState]:
    """Read the servers of a backend that there may no longer be."""
    return [] if text.startswith("Can't find") else read_servers(text)
