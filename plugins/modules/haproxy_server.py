#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module haproxy_server."""

DOCUMENTATION = r"""
module: haproxy_server
short_description: Take a server of HAProxy out of rotation, and restore its former state
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Sets a server to drain, maintenance or ready in all of its backends, with the runtime API of HAProxy. Runs on the
    HAProxy host, or reaches it over TCP.
  - Optionally waits until the server has no sessions and no queued requests. A reload of HAProxy forgets the state.
    While it waits, the module checks the state each time and sets it again.
  - Returns the former state in RV(before). With O(restore), it sets exactly this state again, including the weight.
    With O(record), it keeps the former state in a file.
  - Checks everything that could prevent the change before it changes anything.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
options:
  socket:
    description:
      - HAProxy's C(stats socket), as a path, or as host and port like V(127.0.0.1:9999) or V([::1]:9999).
      - To change anything it needs C(level admin).
    type: str
    default: /run/haproxy/admin.sock
  master_socket:
    description:
      - The socket of HAProxy's master process (C(-S), on Debian V(/run/haproxy-master.sock)), as O(socket).
      - After a reload, the old process runs until its last session has ended. Its sessions count only if this is set.
        The module cannot end them.
    type: str
  server:
    description:
      - The server's name in HAProxy's configuration. Case matters.
      - If no server has this name, the IP address at which HAProxy reaches it, for example for the servers of a
        C(server-template). Like V(10.0.0.4) or V(2001:db8::4), or with the port, V(10.0.0.4:80) or
        V([2001:db8::4]:80). If a backend has several servers there, the module fails and names them.
      - Required unless O(restore) is given.
    type: str
  backend:
    description:
      - Backends to act on. The server must be in each.
      - If not given, every backend with a server of this name.
    type: list
    elements: str
  state:
    description:
      - V(drain) accepts no new clients. Clients that a cookie or a stick table binds to the server still come. Health
        checks continue.
      - V(maintenance) accepts no clients, and health checks stop. Clients that are bound to the server go elsewhere.
        HAProxy takes a server that leaves maintenance for up until its first health check.
      - V(ready) puts the server in rotation as soon as its health checks and the server that it tracks allow it.
      - V(as_recorded) restores what O(record) has, and then removes that. Without a record, nothing is changed.
      - If neither this nor O(restore) is given, the module only reads.
    type: str
    choices: [drain, maintenance, ready, as_recorded]
  record:
    description:
      - With O(state=drain) and O(state=maintenance), the former state is written down before anything is changed, and
        is kept until O(state=as_recorded) has restored it. What an earlier removal has written down stays. If it cannot
        be written, nothing is changed.
      - Beside HAProxy, so that a machine is restored that is away.
    type: dict
    suboptions:
      directory:
        description:
          - The directory of records, of any number of machines. It is created if it is missing. No user except root and
            the user of the task may be able to change it, or a directory above it.
        type: path
        required: true
      machine:
        description:
          - What tells the machine from others, 32 hexadecimal digits that only the machine has. With it, the machine's
            record is found under whichever server it was taken out, and a record of another machine is not restored.
          - Without it, records are those of O(server).
        type: str
        default: ""
      vm_id:
        description: The unique id of the VM, for who reads records of VMs that are gone.
        type: str
        default: ""
  keep_maintenance:
    description:
      - With O(state=drain), leave a server alone that is in maintenance. Draining it would admit clients that are bound
        to it.
    type: bool
    default: false
  restore:
    description:
      - The RV(before) of an earlier task, to be restored. Not together with O(server), O(backend) or O(state).
      - A server that HAProxy's configuration has since disabled stays in maintenance, with a warning.
      - If a server no longer exists, all others are restored, and then the module fails.
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
        description: The former state of the server.
        type: str
        choices: [drain, maintenance, ready]
        required: true
      admin_state:
        description: The bits of C(srv_admin_state). They show whether the configuration had disabled the server.
        type: int
        default: 0
      weight:
        description: The weight, 0 to 256. If not given, it is not changed.
        type: int
      address:
        description:
          - The address by which the server was chosen. The server that has this address now is restored, whatever its
            name. A server that has another address now is left alone, with a warning if it is still out.
        type: str
  wait:
    description:
      - Wait until the server has no sessions and no queued requests, in all of the backends.
      - An idle client connection is not a session. Its next request goes to another server.
      - With O(state=maintenance) the server is drained first, and set to maintenance when it is idle, or at the
        O(deadline) with O(shutdown_sessions).
      - With O(state=as_recorded), wait until the server is up in each backend where it was, before its record is
        removed. From maintenance it is drained until its first health check.
      - Not with O(state=ready).
    type: bool
    default: false
  deadline:
    description:
      - Maximum seconds to wait with O(wait=true). After that the module fails, and the server stays out, or its record
        is kept. A running command may add up to O(timeout).
      - Above 0, up to 86400.
    type: float
    default: 300
  shutdown_sessions:
    description:
      - At the O(deadline), end the remaining sessions instead of failing. Clients see a broken connection.
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
    details: Reads the state, and predicts the commands in RV(commands). Does not wait.
  diff_mode:
    support: full
    details: Shows state and weight in each backend before and after.
notes:
  - The state belongs to one HAProxy. If several balance the same servers, run the task for each of them.
  - An agent check that answers V(ready) resets the server. While the module waits, it sets the state again, and warns.
  - Servers that track this one follow it.
  - A machine may have other names in other backends. Without O(backend), the module warns if the machine stays in
    rotation under another name at the same address.
  - Tested with HAProxy 2.6; by hand with 2.0, 2.2, 2.4, 2.8, 3.0, 3.2 and 3.4. The module reads tables by column
    names, which are those of versions 1.8 to 3.4.
  - Before 2.5, HAProxy may run several processes (C(nbproc)), each with its own state. If they share a socket, the
    module fails, because a command would reach only one of them.
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

- name: Drain it, and write down how it was
  foghorn.azure_events.haproxy_server:
    server: web_0
    state: drain
    record:
      directory: /var/lib/foghorn/haproxy

- name: Restore it as it is written down, and wait until it is up
  foghorn.azure_events.haproxy_server:
    server: web_0
    state: as_recorded
    record:
      directory: /var/lib/foghorn/haproxy
    wait: true

- name: Put it in rotation, however it was
  foghorn.azure_events.haproxy_server:
    server: web_0
    state: ready
"""

RETURN = r"""
before:
  description: The state before any change, for O(restore). One entry for each backend.
  returned: when HAProxy has the server
  type: list
  elements: dict
  sample:
    - backend: web
      server: web_0
      state: ready
      admin_state: 0
      weight: 100
      address:
  contains:
    backend: &backend
      description: The backend.
      type: str
    server: &server
      description: The server.
      type: str
    state: &state
      description: The state that was set for the server itself, V(drain), V(maintenance) or V(ready).
      type: str
    admin_state:
      description:
        - The bits of C(srv_admin_state). 1, maintenance was set; 2, it tracks a server in maintenance; 4, the
          configuration has C(disabled), which stays set when it is ready; 8, drain was set; 16, it tracks a drained
          server; 32, its name does not resolve.
      type: int
    weight: &weight
      description: The weight.
      type: int
    address:
      description: The address in O(server) by which it was chosen. V(none) if it was chosen by its name.
      type: str
servers:
  description: The server in each of the backends, as last seen.
  returned: when HAProxy has the server
  type: list
  elements: dict
  sample:
    - backend: web
      server: web_0
      address: 10.0.0.4
      port: 80
      state: drain
      effective_state: drain
      admin_state: 8
      operational_state: running
      weight: 100
      sessions: 0
      queued: 0
      sessions_of_old_processes: 0
  contains:
    backend: *backend
    server: *server
    address:
      description: Its IP address. V(none) if HAProxy does not know it, or its name does not resolve.
      type: str
    port:
      description: Its port.
      type: int
    state: *state
    effective_state:
      description: The effective state, including the state of a server that it tracks.
      type: str
    admin_state:
      description: The bits of C(srv_admin_state), as in RV(before).
      type: int
    operational_state:
      description: Result of its health checks, V(stopped), V(starting), V(running), V(stopping) or V(unknown).
      type: str
    weight: *weight
    sessions:
      description: Number of sessions.
      type: int
    queued:
      description: Number of queued requests.
      type: int
    sessions_of_old_processes:
      description: Sessions and queued requests in old processes after a reload. Null without O(master_socket).
      type: int
commands:
  description: The commands that were sent to HAProxy, or in check mode would be.
  returned: when HAProxy has the server
  type: list
  elements: str
  sample: [set server web/web_0 state drain]
waited:
  description: Seconds until the sessions had ended.
  returned: when HAProxy has the server
  type: float
  sample: 12.6
reloads:
  description: How often HAProxy was reloaded or restarted during the wait.
  returned: when HAProxy has the server
  type: int
  sample: 0
set_again:
  description: How often the state was lost and set again.
  returned: when HAProxy has the server
  type: int
  sample: 0
sessions_shut_down:
  description: How many remaining sessions and queued requests were ended at the deadline.
  returned: when HAProxy has the server
  type: int
  sample: 0
serving:
  description: Where the machine gets requests, as backend and server. Not in check mode.
  returned: with O(state=as_recorded)
  type: list
  elements: str
  sample: [web/web_0]
out:
  description:
    - Where it does not, and why, for example because somebody else had drained it before it was recorded. Not in check
      mode.
  returned: with O(state=as_recorded)
  type: list
  elements: str
  sample: [api/web_0 is in maintenance]
timed_out:
  description: Whether the module failed because sessions remained at the O(deadline).
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
