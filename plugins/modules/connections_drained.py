#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module connections_drained."""

DOCUMENTATION = r"""
module: connections_drained
short_description: Wait until clients have closed their connections
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Waits until no TCP connection to these ports of the machine is established. Connections that the machine passes on
    to a container count, too, if root runs it (C(become=true)); to others the kernel does not show them.
  - When time runs out, it returns what remains, and does not fail.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: In check mode it does not wait, because nobody was told to leave.
  diff_mode:
    support: N/A
    details: Nothing is changed.
options:
  ports:
    description: The ports.
    type: list
    elements: int
    required: true
  addresses:
    description:
      - Addresses or networks of the machine whose connections count. V(0.0.0.0) is all of IPv4, V(::) all. By default
        all count.
    type: list
    elements: str
    default: []
  excluded_addresses:
    description: Connections from these addresses or networks do not count.
    type: list
    elements: str
    default: []
  delay:
    description: Seconds before the first look.
    type: float
    default: 0
  timeout:
    description: Seconds to wait, O(delay) included. It looks at least once.
    type: float
    default: 300
seealso:
  - module: ansible.builtin.wait_for
"""

EXAMPLES = r"""
- name: Wait until the clients of the web server have gone
  foghorn.azure_events.connections_drained:
    ports: [80, 443]
    excluded_addresses: [168.63.129.16, "fe80::1234:5678:9abc", 10.0.9.0/24]
    timeout: 120
"""

RETURN = r"""
remaining:
  description: The ports that still have connections, with their number. Empty if none has.
  returned: success
  type: list
  elements: str
  sample: [port 443 (2)]
elapsed:
  description: Seconds that it waited.
  returned: success
  type: float
  sample: 12.5
"""

import time
from typing import Callable

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.connections.established import check_networks, count_established
from ..module_utils.scheduled_events.deadline import read_seconds

POLL_INTERVAL = 0.5  # seconds


def main() -> None:
    """Run the module."""
    run(
        AnsibleModule(
            argument_spec={
                "ports": {"type": "list", "elements": "int", "required": True},
                "addresses": {"type": "list", "elements": "str", "default": []},
                "excluded_addresses": {"type": "list", "elements": "str", "default": []},
                "delay": {"type": "float", "default": 0.0},
                "timeout": {"type": "float", "default": 300.0},
            },
            supports_check_mode=True,
        )
    )


def run(
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
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    remaining = ["port %d (%d)" % one for one in sorted(found.items())]
    module.exit_json(changed=False, remaining=remaining, elapsed=round(clock() - begin, 3))


if __name__ == "__main__":
    main()
