# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Orders that a host carries out one after the other in one round.

Each round costs time on the controller. Nobody else has a say in what follows the lease of a host; nor, where none of
its events hits another host, in what follows the stop of its services. An order is carried out only if those before it
have succeeded, and each is reported: `advance` takes the reports in as if there had been a round for each.
"""

from collections.abc import Sequence

from .advance import advance
from .run import Order, OrderReport, Run, Step

_NEXT = {Step.LEASE: Step.DRAIN, Step.STOP: Step.NOTE, Step.NOTE: Step.APPROVE}


def chain(run: Run, orders: Sequence[Order], now: float) -> tuple[Run, list[Order], float]:
    """Give with each order those that follow it if it succeeds on all hosts.

    :param run: the run that has given the orders
    :param now: seconds since the epoch
    :returns: the run, the orders, and how many seconds a lease must last at least, see `Run.longest_step`
    """
    links: dict[str, list[Order]] = {order.host: [] for order in orders}
    longest, ahead, last = run.longest_step, run, list(orders)
    # A demand may be for all of its hosts or for none of them.
    while last and last[0].do in _NEXT and run.demand is None:
        ahead, following = advance(ahead, [OrderReport(order.host, order.do) for order in last], now)
        if not _may_follow(ahead, last, following):
            break
        longest = max(longest, ahead.longest_step)
        for order in following:
            links[order.host].append(order._replace(number=run.number))
        last = following
    hosts = {name: run.hosts[name]._replace(then=tuple(order.do for order in links[name])) for name in links}
    given = [order._replace(then=links[order.host]) for order in orders]
    return run._replace(hosts={**run.hosts, **hosts}), given, longest


def _may_follow(run: Run, last: Sequence[Order], following: Sequence[Order]) -> bool:
    """Whether no answer of another host could forbid what would follow."""
    hosts = {order.host for order in last}
    if not following or any(order.host not in hosts or order.do is not _NEXT[last[0].do] for order in following):
        return False
    plans = run.batch.event_plans if run.batch else ()
    return last[0].do is Step.LEASE or not any(
        len(event_plan.hosts) > 1 for event_plan in plans if not hosts.isdisjoint(event_plan.hosts)
    )
