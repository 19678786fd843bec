# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether the run has all hosts of each group.

A slice of a job, a limit, or an inventory that was read in part leaves hosts out. The minimum in service would then
hold for the others alone, and several such runs would empty a group together.
"""

from collections.abc import Sequence

from .balancers import few
from .groups import is_of_unknown_group, members_of_groups
from .host import Host, PlanError

_EXPECTED = "handle_events_expected_hosts"


def check_complete(hosts: Sequence[Host], remarks: Sequence[str] = ()) -> None:
    """Refuse a run that does not have all hosts of each group.

    :param hosts: all hosts of the run, with what their balancers say
    :param remarks: what is most likely not meant, in words: it may be why
    :raises PlanError: naming each group that has fewer hosts than its balancers count, or than the operator says
    """
    wrong = []
    for host in hosts:
        if host.expected is not None and host.expected < 0:
            raise PlanError("%s: %d on %s: it must be 0 or more" % (_EXPECTED, host.expected, host.name))
    for name, members in members_of_groups(hosts).items():
        told = {host.expected: host for host in members if host.expected is not None}
        if len(told) > 1:
            (one, first), (other, second) = list(told.items())[:2]
            raise PlanError(
                "%s: %d on %s, %d on %s, which are in one group: %r. Give all hosts of a group the same number"
                % (_EXPECTED, one, first.name, other, second.name, name)
            )
        for expected in told:
            if len(members) < expected:
                wrong.append("%s: the run has %d of its %d hosts" % (name or "all", len(members), expected))
        # A host that did not answer may be one of those that only its balancer knows.
        strangers = sorted({other for host in members for other in host.beside})
        missing = len(strangers) - sum(1 for host in members if is_of_unknown_group(host))
        if not told and missing > 0:
            wrong.append(
                "%s: the run has %d of its %d hosts, and not %s"
                % (name or "all", len(members), len(members) + missing, few(strangers))
            )
    if wrong:
        raise PlanError(
            "%s. The run could not count how many of the others stay in service. Name all of them in "
            "handle_events_hosts, without a limit and without slices, and check that the inventory is "
            "complete; or set %s, for each group, to its number of hosts%s"
            % ("; ".join(wrong), _EXPECTED, "".join(". " + remark for remark in remarks))
        )
