# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether a value that decides something on the controller comes from the operator.

Any module may return `ansible_facts`, and ansible-core prefers them to the inventory and to the defaults of roles. A
managed host that was taken over could set our variables with them, and choose what runs on the controller.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

_OURS = (
    "handle_events|load_balancer_removal|graceful_shutdown|handler_agent|terminate_notifications|azure_simulator"
    "|redeploy_early|handle_os_upgrades|prepare_for_updates|rehearse|trial|verify_image|controller_setup"
)
# Variables of others may begin like those of the playbooks drain, restore and status. Variables that begin with `__`
# are private, and no fact has such a name. The inventory plugin azure_rm has the id of a VM as `id`, and whether it is
# off as `powerstate`.
_FORGED = re.compile(
    "(?:__|(?:%s)_|(?:drain|restore|status)_(?:hosts|serial|reason|regardless|owner)$|(?:id|powerstate)$)" % _OURS
)
_MOST_NAMED = 3


class TrustError(ValueError):
    """A value comes from a managed host, or a host may not choose it. The message names it, and the remedy."""


def forged(facts: Iterable[str]) -> list[str]:
    """Name the facts of a host that would set variables of this collection.

    :param facts: the names of the host's facts, without the prefix `ansible_`
    """
    return sorted(name for name in map(str, facts) if _FORGED.match(name))


def describe_forgery(names: Collection[str]) -> str:
    """Say what is wrong with a host whose facts have these names; empty if nothing is."""
    if not names:
        return ""
    shown = sorted(names)[:_MOST_NAMED]
    return (
        "its ansible_facts hold %s, which only the operator may set: it is refused. Set variables in the "
        "inventory or with --extra-vars, never with cacheable facts, and find out who changed this host"
        % ", ".join(shown + ["%d more" % (len(names) - len(shown))] * (len(names) > len(shown)))
    )


def check_origin(value: Any, facts: Iterable[str], among: Collection[Any] | None, what: str) -> Any:
    """Return a value that decides something on the controller, if its source is trusted.

    :param value: the value
    :param facts: the names of the host's facts, without the prefix `ansible_`
    :param among: what the operator allows; None if the value comes from the operator's variables itself
    :param what: what the value is, for messages
    :raises TrustError: if the facts of the host set variables of ours, or the value is none of `among`
    """
    complaint = describe_forgery(forged(facts))
    if complaint:
        raise TrustError(complaint)
    if among is not None and value not in among:
        raise TrustError(
            "%s: %r is not one of the values that this run's variables and inventory allow: %s"
            % (what, value, ", ".join(map(str, among)) or "nothing")
        )
    return value
