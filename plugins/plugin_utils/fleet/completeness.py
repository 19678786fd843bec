# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether the run has all hosts of each group.

A slice of a job, a limit, or an inventory that was read in part leaves hosts out. The minimum in service would then
hold for the others alone, and several such runs would empty a group together.
"""

from collections.abc import Iterable, Sequence

from .balancers import few
from .groups import is_of_unknown_group, members_of_groups, minimums, voters
from .host import Host, PlanError
from .policy import Policy

_EXPECTED = "handle_events_expected_hosts"


def hold_unsound(hosts: Sequence[Host], policy: Policy, remarks: Sequence[str] = ()) -> list[Host]:
    """Hold back the hosts of groups that the run does not have all hosts of, or that have two minimums. The others are
    none of their business.

    :param hosts: all hosts of the run, with what their balancers say
    :param remarks: what is most likely not meant, in words: it may be why
    :raises PlanError: if no group is left, naming each group
    """
    for host in hosts:
        if host.expected is not None and host.expected < 0:
            raise PlanError("%s: %d on %s: it must be 0 or more" % (_EXPECTED, host.expected, host.name))
    members = members_of_groups(hosts)
    lost = sum(1 for host in hosts if is_of_unknown_group(host))
    incomplete = {name: why for name, of_group in members.items() if (why := _why_incomplete(name, of_group, lost))}
    mistaken = {name: why for name, of_group in members.items() if (why := _why_mistaken(name, of_group, policy))}
    if not incomplete and not mistaken:
        return list(hosts)
    if len({**incomplete, **mistaken}) == len(members):
        raise PlanError(next(iter(mistaken.values()), "") or _refusal(incomplete.values(), remarks))
    reasons = {name: _refusal([why], remarks) for name, why in incomplete.items()} | mistaken
    return [
        host._replace(held=next((reasons[name] for name in host.groups if name in reasons), host.held))
        for host in hosts
    ]


def _why_incomplete(name: str, of_group: Sequence[Host], lost: int) -> str:
    """Say how many hosts of a group the run has, if these are not all; empty if they are.

    :param lost: how many hosts did not answer and may be of any group
    """
    expected = [host.expected for host in voters(of_group) if host.expected is not None]
    known = [host for host in of_group if not is_of_unknown_group(host)]
    # A host that did not answer may be one of those that only its balancer knows.
    strangers = sorted({other for host in known for other in host.peers_outside_run})
    beyond = max(expected) - len(known) if expected else len(strangers)
    if beyond <= lost:
        return ""
    what = "%s: the run has %d of its %d hosts" % (name or "all", len(known) + lost, len(known) + beyond)
    return what if expected else "%s, and not %s" % (what, few(strangers))


def _why_mistaken(name: str, of_group: Sequence[Host], policy: Policy) -> str:
    expected = {host.expected: host for host in voters(of_group) if host.expected is not None}
    if len(expected) > 1:
        (one, first), (other, second) = list(expected.items())[:2]
        return "%s: %d on %s, %d on %s, which are in one group: %r. Give all hosts of a group the same number" % (
            _EXPECTED,
            one,
            first.name,
            other,
            second.name,
            name,
        )
    texts = minimums(of_group, policy)
    if len(texts) > 1:
        (text, first), (another, second) = list(texts.items())[:2]
        return (
            "handle_events_minimum_in_service: %s on %s, %s on %s, which are in one group: %r. Give hosts of a group"
            " the same, or hosts that do other work another handle_events_group"
            % (text, first.name, another, second.name, name)
        )
    return ""


def _refusal(incomplete: Iterable[str], remarks: Sequence[str]) -> str:
    return (
        "%s. The run could not count how many of the others stay in service. Name all of them in "
        "handle_events_hosts, without a limit and without slices, and check that the inventory is "
        "complete; or set %s, for each group, to its number of hosts%s"
        % ("; ".join(incomplete), _EXPECTED, "".join(". " + remark for remark in remarks))
    )
