# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is known of one host of the inventory, before anything is planned for it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...module_utils.scheduled_events.event import Event, NameKey, name_key
from .agent import AgentDict, has_taken_out
from .clocks import ClockReading, why_wrong
from .demand import Demand


class PlanError(ValueError):
    """The hosts, or the operator's decisions, make no sense. The message says what to change."""


class Attempt(NamedTuple):
    """An attempt in vain: a host was taken out for an event, and a step failed on it or on another of its hosts."""

    event_id: str
    seconds_ago: float
    reason: str
    """What went wrong, in words."""


def describe_attempt(attempt: Attempt) -> str:
    """Say for which event, when, and what went wrong."""
    return "drained in vain for %s %d s ago: %s" % (attempt.event_id, attempt.seconds_ago, attempt.reason)


class Host(NamedTuple):
    """What is known of one host of the inventory."""

    name: str
    vm_name: str | None = None
    """Its name in Azure; None if it did not answer."""
    events: tuple[Event, ...] = ()
    needs_restore: bool = False
    """Whether an earlier run has left it out of rotation."""
    settle_seconds: float = 0.0
    """How long its balancers take to notice that it is out."""
    connection_seconds: float = 0.0
    """How long its connections may then take to end."""
    stop_seconds: float = 0.0
    """How long its services may take to stop, all together."""
    return_seconds: float = 0.0
    """How long its return to rotation takes."""
    step_seconds: float = 0.0
    """The longest that any one task on it may take."""
    agent: AgentDict | None = None
    """What its handler agent says of itself; None without one. An agent handles everything itself."""
    groups: tuple[str, ...] = ("",)
    """Groups of hosts that do the same work: the minimum in service holds for each group. None: it counts nowhere."""
    resource_id: str = ""
    """Its id in Azure, as it says itself; empty if it did not."""
    clock: ClockReading | None = None
    """What its clock said; None if that is not known."""
    held: str = ""
    """Why it stays in service whatever is announced, in words: it may be wrong about itself or about the time."""
    skip_reason: str = ""
    """Why it is never taken out of rotation, in words: it balances for the others, or is `unmanaged`."""
    minimum: str | None = None
    """The minimum in service of its group; None for that of the policy."""
    expected: int | None = None
    """The operator's number of hosts in its group; None if there is none."""
    peers_outside_run: tuple[str, ...] = ()
    """Names that do the same work, as balancers or the inventory say, and that are not hosts of this run."""
    is_out: bool = False
    """Whether this run has taken it out and not brought it back."""
    is_drained: bool = False
    """Whether somebody else has taken it out of rotation. This run will not bring it back."""
    kept_out_by: str = ""
    """Who did, in words."""
    is_down: bool = False
    """Whether its balancers say that it is not in service, for no known reason."""
    failed: bool = False
    """Whether a step of this run has failed on it."""
    leased: str = ""
    """Who else works on it, in words; empty if nobody does. Then it is left alone."""
    take_over: str = ""
    """The lease that may be taken over, because its run is dead or the operator says so."""
    abandoned: str = ""
    """Why it may stay out, in words: nobody knows whether the run that has leased it is alive, or it has lost its
    records.
    """
    keep_out_reason: str = ""
    """Why it stays out although none of its events is listed any more; empty if it returns."""
    approving: tuple[str, ...] = ()
    """Ids of events that an earlier run has approved, or may have."""
    tried: tuple[Attempt, ...] = ()
    """The attempts of earlier runs that were in vain."""
    seen: Mapping[str, float] = {}
    """By the id of an event in lower case, how many seconds ago a run first took the host out for it."""
    is_prepared: bool = True
    """Whether anything is stopped on it, or anything confirms that it is out of rotation."""
    rests_on_probe: bool = False
    """Whether only its own probe endpoint can confirm that, and nothing is stopped on it."""
    idle_agent: bool = False
    """Whether it has an agent that has nothing to do for its events, so that it is treated like a host without an
    agent.
    """
    would_fail: tuple[str, ...] = ()
    """What would fail on it if it were hit, in words, as far as that can be known beforehand."""
    remarks: tuple[str, ...] = ()
    """What is probably a mistake on it, in words."""
    is_seen: bool = True
    """Whether a balancer or a check says at its return that it is in rotation, and does not only take it for that."""
    unmanaged: str = ""
    """Why nothing handles it, in words: it runs Windows, and no agent that would."""
    by_probe_alone: bool = False
    """Whether its own probe endpoint is all that takes it out of rotation."""
    demand: Demand | None = None
    """The demand for it. A host with a demand has no events."""
    not_demanded: str = ""
    """Why the demand of this run is not for it, in words; empty if it is for it, or if there is nothing to say."""

    @property
    def is_in_service(self) -> bool:
        """Whether it does its work, as far as is known. A host that did not answer does not count."""
        by_agent = self.agent is not None and has_taken_out(self.agent)
        is_away = self.is_out or self.is_drained or self.needs_restore or by_agent or bool(self.leased) or self.is_down
        return self.vm_name is not None and not is_away

    @property
    def may_return(self) -> bool:
        """Whether it is away, and this run, its agent or another run may put it back."""
        is_with_others = self.is_drained or bool(self.keep_out_reason) or (self.is_down and not self.needs_restore)
        return self.vm_name is not None and not self.is_in_service and not is_with_others


def hold_doubtful(hosts: Sequence[Host]) -> list[Host]:
    """Hold back hosts whose clock is wrong, and hosts that claim to be the same VM.

    Of hosts that say to be one VM, only the first counts in its groups. Two VMs may have one name in two resource
    groups: then their ids tell them apart.
    """
    of_vm: dict[NameKey, list[Host]] = {}
    for host in hosts:
        if host.vm_name is not None:
            of_vm.setdefault(name_key(host.vm_name), []).append(host)
    twins: dict[str, Host] = {}
    for same_name in of_vm.values():
        for host in same_name if len(same_name) > 1 else ():
            other = next((one for one in same_name if one is not host and not _are_known_to_differ(one, host)), None)
            if other is not None:
                twins[host.name] = other
    found = []
    counted: set[str] = set()
    for host in hosts:
        twin = twins.get(host.name)
        if twin is not None:
            first = min(host.name, twin.name)
            why = (
                "%s and %s both report to be the VM %s: leave one of them out of handle_events_hosts, or"
                " check that each asks its own metadata service" % (first, max(host.name, twin.name), host.vm_name)
            )
            host = host._replace(held=why, groups=() if twin.name in counted else host.groups)
            counted.add(host.name)
        elif host.clock is not None and not host.held:
            host = host._replace(held=why_wrong(host.clock))
        found.append(host)
    return found


def _are_known_to_differ(one: Host, other: Host) -> bool:
    return bool(one.resource_id and other.resource_id) and one.resource_id.lower() != other.resource_id.lower()
