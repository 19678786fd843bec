# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Plans the commands that bring a server of HAProxy to the desired state.

HAProxy keeps the administrative state of a server as bits. Two of them are set by commands (`set server`), the others
come from what the server tracks, from name resolution and from the configuration, and no command takes them away. The
bit of the configuration only says that the server began as `disabled`: it stays when the server is put in service.
Source: HAProxy's management guide, "show servers state"; include/haproxy/server-t.h; HAProxy 2.6.12, tried.
"""

from typing import List, NamedTuple, Optional

FORCED_MAINTENANCE = 0x01
INHERITED_MAINTENANCE = 0x02
CONFIGURED_MAINTENANCE = 0x04
FORCED_DRAIN = 0x08
INHERITED_DRAIN = 0x10
RESOLUTION_MAINTENANCE = 0x20

DRAIN = "drain"
MAINTENANCE = "maintenance"
READY = "ready"
STATES = (DRAIN, MAINTENANCE, READY)
LARGEST_WEIGHT = 256

_COMMANDS = {DRAIN: "drain", MAINTENANCE: "maint", READY: "ready"}


class ServerState(NamedTuple):
    """A server in one backend, as HAProxy shows it."""

    backend: str
    server: str
    backend_id: int
    server_id: int
    operational_state: int
    """0 stopped, 1 starting, 2 running, 3 stopping."""
    admin_state: int
    weight: int
    """The user's weight, 0 to 256: the configured one unless it was changed since."""
    agent_state: int = 0
    address: str = ""
    """The IP address. Empty if HAProxy does not show it, or does not know it yet."""
    port: int = 0

    @property
    def place(self) -> str:
        """Its name in commands."""
        return "%s/%s" % (self.backend, self.server)

    @property
    def machine(self) -> str:
        """The machine's identity: its address; with the port if HAProxy itself runs there. Empty if it is not known."""
        is_here = self.address == "::1" or self.address.startswith("127.")
        return "%s port %d" % (self.address, self.port) if is_here else self.address

    @property
    def is_up(self) -> bool:
        """Whether its checks succeed, or it has none."""
        return self.operational_state in (1, 2)

    @property
    def state(self) -> str:
        """The settings of this server itself, which can be set again."""
        if self.admin_state & FORCED_MAINTENANCE:
            return MAINTENANCE
        return DRAIN if self.admin_state & FORCED_DRAIN else READY

    @property
    def effective_state(self) -> str:
        """The effective state, including what it inherits."""
        if self.admin_state & (FORCED_MAINTENANCE | INHERITED_MAINTENANCE | RESOLUTION_MAINTENANCE):
            return MAINTENANCE
        return DRAIN if self.admin_state & (FORCED_DRAIN | INHERITED_DRAIN) else READY


class Record(NamedTuple):
    """The state of a server before the change, from which it can be restored exactly."""

    backend: str
    server: str
    state: str
    admin_state: int
    weight: Optional[int]
    """None: leave the weight unchanged."""
    address: Optional[str] = None
    """The address by which the server was chosen, and by which it is found again. None: by its name."""


class Goal(NamedTuple):
    """How a server in one backend should be."""

    backend: str
    server: str
    state: str
    weight: Optional[int] = None
    """None: any weight."""
    address: Optional[str] = None
    """The address by which the server was chosen. None: by its name."""

    @property
    def place(self) -> str:
        """Its name in commands."""
        return "%s/%s" % (self.backend, self.server)


def record_of(found: ServerState, address: Optional[str] = None) -> Record:
    """Keep what can be restored."""
    return Record(found.backend, found.server, found.state, found.admin_state, found.weight, address)


def goal_of(found: ServerState, state: str, keep_maintenance: bool = False) -> Goal:
    """Say how a server should be that was found like this."""
    if keep_maintenance and found.state == MAINTENANCE:
        state = MAINTENANCE
    return Goal(found.backend, found.server, state)


def goal_of_record(record: Record, found: ServerState) -> Optional[Goal]:
    """Say how a server should be again; None if it is no longer ours to restore.

    A server that the configuration has disabled since, and that is as the configuration left it, was taken out by
    whoever wrote that.
    """
    began_disabled = found.admin_state & CONFIGURED_MAINTENANCE and not record.admin_state & CONFIGURED_MAINTENANCE
    if began_disabled and found.state == MAINTENANCE and record.state != MAINTENANCE:
        return None
    return Goal(found.backend, found.server, record.state, record.weight, record.address)


def commands_for(goal: Goal, found: ServerState) -> List[str]:
    """Say what to tell HAProxy, in this order; nothing if all is as it should be.

    The weight comes first, so that a server takes up its work with it.
    """
    commands = []
    if goal.weight is not None and goal.weight != found.weight:
        commands.append("set server %s weight %d" % (goal.place, goal.weight))
    if goal.state != found.state:
        commands.append("set server %s state %s" % (goal.place, _COMMANDS[goal.state]))
    return commands
