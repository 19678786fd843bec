#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module haproxy_server."""

DOCUMENTATION = r"""
module: haproxy_server
short_description: Take a server of HAProxy out of rotation, and restore it as it was
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Drains a server, puts it in maintenance or prepares it, in every backend that it is in, through the runtime API
    of HAProxy. Runs on the host of HAProxy, or reaches it over TCP.
  - Waits, on request, until the server has neither sessions nor requests in its queue. A reload of HAProxy forgets what
    was set; while it waits, the module looks each time and sets it again.
  - Returns what it found before, in RV(before). Given to O(restore), exactly this is set again, weight included.
  - Looks at everything that could forbid the change before it changes anything.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
options:
  socket:
    description:
      - Where HAProxy listens for commands, its C(stats socket). The path of a socket, or host and port as
        V(127.0.0.1:9999) or V([::1]:9999).
      - To change anything it needs C(level admin).
    type: str
    default: /run/haproxy/admin.sock
  master_socket:
    description:
      - The socket of HAProxy's master process (C(-S), on Debian V(/run/haproxy-master.sock)), as O(socket).
      - After a reload, the process before lives on until its last session has ended. Its sessions are counted only if
        this is given. They cannot be ended from here.
    type: str
  server:
    description:
      - The server's name in HAProxy's configuration. Case matters.
      - Required unless O(restore) is given.
    type: str
  backend:
    description:
      - Backends to act on. The server must be in each.
      - If not given, every backend that has a server of this name.
    type: list
    elements: str
  state:
    description:
      - V(drain) takes no new clients. Those that are bound to the server, by a cookie or a stick table, still come.
        Health checks go on.
      - V(maintenance) takes no clients at all, and is not checked. Clients that are bound to the server go elsewhere.
      - V(ready) is in rotation, as soon as its checks and what it tracks allow it.
      - If neither this nor O(restore) is given, the module only reads.
    type: str
    choices: [drain, maintenance, ready]
  keep_maintenance:
    description:
      - With O(state=drain), leave a server alone that is in maintenance already. Draining it would let clients that
        are bound to it in again.
    type: bool
    default: false
  restore:
    description:
      - What RV(before) was, to be restored. Not together with O(server), O(backend) or O(state).
      - A server that HAProxy's configuration has disabled since is left in maintenance, with a warning.
      - If a server is no longer there, all others are restored, and then the module fails.
    type: list
    elements: dict
    suboptions:
      backend:
        description: The backend.
        type: str
        required: true
      server:
        description: The server.
        type: str
        required: true
      state:
        description: What was set at the server.
        type: str
        choices: [drain, maintenance, ready]
        required: true
      admin_state:
        description: The bits of C(srv_admin_state). They tell whether the configuration had disabled the server.
        type: int
        default: 0
      weight:
        description: The weight, 0 to 256. If not given, it stays as it is.
        type: int
  wait:
    description:
      - Wait until the server has no sessions and nothing in its queue, in all of the backends.
      - A client's idle connection is no session. Its next request goes to another server.
      - With O(state=maintenance) the server is drained first, and put in maintenance when it is empty, or at the
        O(deadline) with O(shutdown_sessions).
      - Needs O(state=drain) or O(state=maintenance).
    type: bool
    default: false
  deadline:
    description:
      - Seconds to wait at most with O(wait=true). Then the module fails, and the server stays out. A command that is
        under way may add up to O(timeout).
      - Above 0, up to 86400.
    type: float
    default: 300
  shutdown_sessions:
    description:
      - At the O(deadline), end the sessions that remain, rather than fail. Clients see a broken connection.
      - Needs O(wait=true).
    type: bool
    default: false
  timeout:
    description:
      - Seconds for one command of the runtime API. Above 0, up to 86400.
    type: float
    default: 10
attributes:
  check_mode:
    support: full
    details: Reads, and predicts in RV(commands) what HAProxy would be told. Does not wait.
  diff_mode:
    support: full
    details: Shows state and weight in each backend before and after.
  idempotent:
    support: full
notes:
  - The state is that of one HAProxy. Where several balance the same servers, run the task for each of them.
  - An agent check that answers V(ready) sets the server back. While it waits, the module sets it again, and warns.
  - Servers that track this one follow it.
  - A machine may have other names in other backends. Where O(backend) is not given, the module warns if it stays in
    rotation under another name at the same address.
  - Tried with HAProxy 2.6. The tables of 1.8 to 3.0 are read by the names of their columns.
  - Before 2.5, HAProxy may run several processes (C(nbproc)), each with states of its own. If they share a socket the
    module fails, because a command would reach one of them.
seealso:
  - module: foghorn.azure_events.scheduled_event_approve
  - module: foghorn.azure_events.scheduled_events_info
  - name: HAProxy's management guide
    description: The runtime API and its states.
    link: https://docs.haproxy.org/2.6/management.html
"""

EXAMPLES = r"""
- name: Read how a server is
  foghorn.azure_events.haproxy_server:
    server: web_0
  register: found

- name: Drain it, and wait up to two minutes until its last request has ended
  foghorn.azure_events.haproxy_server:
    server: web_0
    state: drain
    wait: true
    deadline: 120
  register: removed

- name: Restore it as it was, in every backend
  foghorn.azure_events.haproxy_server:
    restore: "{{ removed.before }}"

- name: Let nobody in, and end after 30 seconds what has not ended by itself
  foghorn.azure_events.haproxy_server:
    socket: 127.0.0.1:9999
    server: web_0
    backend: [web]
    state: maintenance
    wait: true
    deadline: 30
    shutdown_sessions: true

- name: Put it in rotation, however it was
  foghorn.azure_events.haproxy_server:
    server: web_0
    state: ready
"""

RETURN = r"""
before:
  description: What was found before anything was changed, for O(restore). One entry for each backend.
  returned: when HAProxy has the server
  type: list
  elements: dict
  sample:
    - backend: web
      server: web_0
      state: ready
      admin_state: 0
      weight: 100
  contains:
    backend:
      description: The backend.
      type: str
      returned: always
    server:
      description: The server.
      type: str
      returned: always
    state:
      description: What was set at the server itself, V(drain), V(maintenance) or V(ready).
      type: str
      returned: always
    admin_state:
      description:
        - The bits of C(srv_admin_state). 1 maintenance was set; 2 it tracks a server in maintenance; 4 it began as
          C(disabled), which stays when it is put in service; 8 drain was set; 16 it tracks a drained server; 32 its
          name does not resolve.
      type: int
      returned: always
    weight:
      description: The weight.
      type: int
      returned: always
servers:
  description: The server in each of the backends as it was last seen.
  returned: when HAProxy has the server
  type: list
  elements: dict
  sample:
    - backend: web
      server: web_0
      state: drain
      effective_state: drain
      admin_state: 8
      operational_state: running
      weight: 100
      sessions: 0
      queued: 0
      sessions_of_old_processes: 0
  contains:
    backend:
      description: The backend.
      type: str
      returned: always
    server:
      description: The server.
      type: str
      returned: always
    state:
      description: What is set at the server itself.
      type: str
      returned: always
    effective_state:
      description: How HAProxy treats it, with what it inherits from a server that it tracks.
      type: str
      returned: always
    admin_state:
      description: The bits of C(srv_admin_state), as in RV(before).
      type: int
      returned: always
    operational_state:
      description: What its checks say, V(stopped), V(starting), V(running), V(stopping) or V(unknown).
      type: str
      returned: always
    weight:
      description: The weight.
      type: int
      returned: always
    sessions:
      description: How many sessions it has.
      type: int
      returned: always
    queued:
      description: How many requests wait for it.
      type: int
      returned: always
    sessions_of_old_processes:
      description: Sessions and queue in processes that a reload has replaced. Null without O(master_socket).
      type: int
      returned: always
commands:
  description: What HAProxy was told, or in check mode would be.
  returned: when HAProxy has the server
  type: list
  elements: str
  sample: [set server web/web_0 state drain]
waited:
  description: Seconds that it took until the sessions had ended.
  returned: when HAProxy has the server
  type: float
  sample: 12.6
reloads:
  description: How often HAProxy was reloaded or started anew meanwhile.
  returned: when HAProxy has the server
  type: int
  sample: 0
set_again:
  description: How often the state was gone while it was waited, and was set again.
  returned: when HAProxy has the server
  type: int
  sample: 0
sessions_shut_down:
  description: How many sessions and queued requests were left at the deadline and were ended.
  returned: when HAProxy has the server
  type: int
  sample: 0
timed_out:
  description: Whether the module failed because sessions were left at the O(deadline).
  returned: when HAProxy has the server
  type: bool
  sample: false
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.haproxy_module import run_server, server_arguments


def main() -> None:
    """Run the module."""
    run_server(AnsibleModule(argument_spec=server_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
