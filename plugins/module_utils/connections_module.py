# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Where Ansible meets the connections of a machine: the arguments of connections_drained and its way of waiting."""

import time
from typing import Any, Callable, Dict, Iterable

from ansible.module_utils.basic import AnsibleModule

from .connections.established import count_established, range_of
from .scheduled_events.deadline import read_seconds
from .scheduled_events.errors import OptionError

POLL_INTERVAL = 0.5  # seconds

ArgumentSpec = Dict[str, Dict[str, Any]]


def drained_arguments() -> ArgumentSpec:
    """Make the argument spec of connections_drained."""
    return {
        "ports": {"type": "list", "elements": "int", "required": True},
        "addresses": {"type": "list", "elements": "str", "default": []},
        "excluded_addresses": {"type": "list", "elements": "str", "default": []},
        "delay": {"type": "float", "default": 0.0},
        "timeout": {"type": "float", "default": 300.0},
    }


def run_drained(
    module: AnsibleModule,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    proc: str = "/proc/net",
) -> None:
    """Do the work of connections_drained: options, wait, result."""
    given = module.params
    begin = clock()
    try:
        for option in ("addresses", "excluded_addresses"):
            check_networks(option, given[option])
        ends = begin + read_seconds(given, "timeout")
        if module.check_mode:
            module.exit_json(changed=False, remaining=[], elapsed=0.0)
        if given["delay"] > 0:
            sleep(given["delay"])
        while True:
            now = clock()
            found = count_established(set(given["ports"]), given["excluded_addresses"], proc, given["addresses"])
            # With very many connections, counting takes at most a tenth of the time.
            pause = max(POLL_INTERVAL, 10 * (clock() - now))
            if not found or clock() >= ends:
                break
            sleep(min(pause, max(ends - clock(), 0.0)))
    except (OptionError, OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    remaining = ["port %d (%d)" % one for one in sorted(found.items())]
    module.exit_json(changed=False, remaining=remaining, elapsed=round(clock() - begin, 3))


def check_networks(option: str, values: Iterable[str]) -> None:
    """Check the values of an option.

    :raises OptionError: on the first that is neither an IP address nor a network
    """
    for value in values:
        try:
            range_of(str(value))
        except ValueError:
            raise OptionError(
                "%s: %r is neither an IP address nor a network. Write 10.0.9.4 or 10.1.0.0/24" % (option, value)
            ) from None
