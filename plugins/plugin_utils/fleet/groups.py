# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Groups of hosts that do the same work: how many of each are in service, and how many more may leave it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .host import Host, PlanError
from .policy import Policy


class GroupState(NamedTuple):
    """Hosts that do the same work."""

    name: str
    size: int
    minimum: int
    """How many must stay in service."""
    in_service: int
    """How many are in service now."""
    away: frozenset[str]
    """The hosts that are not in service."""

    def summarize(self) -> str:
        """Say how many there are, how many are in service, and how many must stay."""
        return "%s: %d of %d in service, %d must stay" % (self.name or "all", self.in_service, self.size, self.minimum)

    def describe(self) -> str:
        """Say why no further host can be spared."""
        of_group = " of %s" % self.name if self.name else ""
        if self.minimum > self.size:
            return "handle_events_minimum_in_service is %d, and there are only %d hosts%s" % (
                self.minimum,
                self.size,
                of_group,
            )
        return "%d of %d hosts%s are in service, and %d must stay" % (
            self.in_service,
            self.size,
            of_group,
            self.minimum,
        )


def members_of_groups(hosts: Sequence[Host]) -> dict[str, list[Host]]:
    """Say which hosts each group has, by its name.

    A host that did not answer, and whose group is unknown, counts in those groups that miss a host: it may be that one.
    """
    members: dict[str, list[Host]] = {}
    for host in hosts:
        for group in host.groups:
            members.setdefault(group, []).append(host)
    if len(members) > 1:
        lost = [host for host in members.get("", ()) if is_of_unknown_group(host)]
        if len(lost) == len(members.get("", ())):
            members.pop("", None)
        for name, of_group in members.items():
            expected = max(host.expected or 0 for host in of_group)
            if name and (any(host.peers_outside_run for host in of_group) or expected > len(of_group)):
                of_group += lost
    return members


def voters(of_group: Sequence[Host]) -> Sequence[Host]:
    """The hosts whose variables decide about their group: a host that did not answer decides nothing, unless all are
    lost.
    """
    return [host for host in of_group if host.vm_name is not None] or of_group


def count_groups(hosts: Sequence[Host], policy: Policy) -> dict[str, GroupState]:
    members = members_of_groups(hosts)
    groups = {}
    names = {name: {host.name for host in of_group} for name, of_group in members.items()}
    for name, of_group in members.items():
        texts = minimums(of_group, policy)
        away = frozenset(host.name for host in of_group if not host.is_in_service)
        is_part = any(names[name] < larger for larger in names.values())
        minimum = max(_minimum_in_service(text, len(of_group), is_part) for text in texts)
        groups[name] = GroupState(name, len(of_group), minimum, len(of_group) - len(away), away)
    return groups


def minimums(of_group: Sequence[Host], policy: Policy) -> dict[str, Host]:
    """The minimums that the hosts of a group have, each with one of them: more than one is a mistake."""
    return {str(policy.minimum_in_service if host.minimum is None else host.minimum): host for host in voters(of_group)}


def is_of_unknown_group(host: Host) -> bool:
    """Whether a host may be of any group, because it did not answer and nothing else tells its group."""
    return host.vm_name is None and host.groups == ("",)


def read_minimum(text: str) -> tuple[int, bool]:
    """Read how many hosts stay in service: a number, and whether it is a percentage.

    :raises PlanError: if it is neither
    """
    digits = text.strip()
    percent = digits.endswith("%")
    digits = digits[:-1].strip() if percent else digits
    if not (digits.isascii() and digits.isdecimal()) or (percent and int(digits) > 100):
        raise PlanError(
            "handle_events_minimum_in_service: %r is neither a number of hosts nor a percentage: write for example"
            " 2, or 50%%" % (text,)
        )
    return int(digits), percent


def _minimum_in_service(text: str, count: int, is_part: bool) -> int:
    """How many hosts of a group stay in service.

    :param is_part: whether another group has all its hosts, and more. A number is meant for that one
    """
    number, percent = read_minimum(text)
    if percent:
        # Rounded up. Unless it is 100 %, one host may always go: otherwise a fleet of one could never be maintained.
        return count if number == 100 else min(-(-number * count // 100), count - 1)
    # A number larger than the group holds back this group only.
    return min(number, count - 1) if is_part else number


def away_hosts(by_name: Mapping[str, Host], groups: Mapping[str, GroupState], awaits_answers: bool) -> list[str]:
    """Hosts that are not in service. If answers are awaited, hosts without one may be."""
    away = [name for group in groups.values() for name in group.away]
    return [name for name in away if not awaits_answers or by_name[name].vm_name is not None]


class Capacity:
    """How many more hosts of each group may leave service."""

    def __init__(self, by_name: Mapping[str, Host], groups: Mapping[str, GroupState], away: Iterable[str]) -> None:
        self._by_name = by_name
        self._groups = groups
        self._out: dict[str, set[str]] = {name: set() for name in groups}
        self.take(away)

    def take(self, names: Iterable[str]) -> None:
        """Count these hosts as out."""
        for name in names:
            for group, out in self._out.items():
                if group in self._by_name[name].groups or name in self._groups[group].away:
                    out.add(name)

    def shortage(self, names: Sequence[str], may_exceed: bool) -> GroupState | None:
        """The first group that cannot spare these hosts.

        :param may_exceed: whether the platform takes them at one instant. Then they may be more than a group has room
            for, if all its others are in service: no waiting would change that
        """
        for name in sorted({name for host in names for name in self._by_name[host].groups}):
            group = self._groups[name]
            capacity = group.size - group.minimum
            mine = {host for host in names if name in self._by_name[host].groups}
            others = len(self._out[name] - mine)
            is_beyond_all_capacity = may_exceed and len(mine) > capacity > 0 and others == 0
            if not mine.issubset(self._out[name]) and others + len(mine) > capacity and not is_beyond_all_capacity:
                return group
        return None
