#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module haproxy_server_info."""

DOCUMENTATION = r"""
module: haproxy_server_info
short_description: List the servers of HAProxy with their states
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Reads the servers of each backend, and which of them are in rotation, with the runtime API of HAProxy. Runs on the
    HAProxy host, or reaches it over TCP. C(level operator) is sufficient.
  - The playbook C(foghorn.azure_events.handle_events) finds out with it which machines do the same work.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.reads_only
options:
  socket:
    description:
      - HAProxy's C(stats socket), as a path, or as host and port like V(127.0.0.1:9999) or V([::1]:9999).
    type: str
    default: /run/haproxy/admin.sock
  server:
    description:
      - Only servers of this name, or if there is none, at this address, as
        O(foghorn.azure_events.haproxy_server#module:server).
    type: str
  backend:
    description: Only the servers of these backends.
    type: list
    elements: str
  record_directories:
    description:
      - Return RV(records) from these directories, each that of an
        O(foghorn.azure_events.haproxy_server#module:record).
    type: list
    elements: path
  timeout:
    description:
      - Seconds for one command of the runtime API. Above 0, up to 86400.
    type: float
    default: 10
seealso:
  - module: foghorn.azure_events.haproxy_server
  - name: HAProxy's management guide
    description: The runtime API and its states.
    link: https://docs.haproxy.org/2.6/management.html
"""

EXAMPLES = r"""
- name: Read which servers there are
  foghorn.azure_events.haproxy_server_info:
  register: balancer

- name: Name those of the backend web that are in rotation
  ansible.builtin.debug:
    msg: >-
      {{
        balancer.servers | selectattr('backend', 'eq', 'web') | selectattr('effective_state', 'eq', 'ready')
        | selectattr('operational_state', 'eq', 'running') | map(attribute='server')
      }}
"""

RETURN = r"""
servers:
  description: The servers, in the order of HAProxy's configuration. A server in two backends is listed twice.
  returned: success
  type: list
  elements: dict
  sample:
    - backend: web
      server: web_0
      address: 10.0.0.4
      port: 80
      state: ready
      effective_state: ready
      admin_state: 0
      operational_state: running
      weight: 100
      is_backup: false
  contains:
    backend:
      description: The backend.
      type: str
    server:
      description: The server.
      type: str
    address:
      description: Its IP address, as RV(foghorn.azure_events.haproxy_server#module:servers[].address).
      type: str
    port:
      description: Its port.
      type: int
    state:
      description: The state that is set for the server itself, V(drain), V(maintenance) or V(ready).
      type: str
    effective_state:
      description: The effective state, including the state of a server that it tracks.
      type: str
    admin_state:
      description:
        - The bits of C(srv_admin_state), as in RV(foghorn.azure_events.haproxy_server#module:before[].admin_state).
      type: int
    operational_state:
      description: Result of its health checks, V(stopped), V(starting), V(running), V(stopping) or V(unknown).
      type: str
    weight:
      description: The weight.
      type: int
    is_backup:
      description: Whether it is a C(backup) server, which serves only if no other server does.
      type: bool
records:
  description: The records of machines that were taken out of this HAProxy.
  returned: if O(record_directories) is set
  type: list
  elements: dict
  sample:
    - server: web_0
      vm_id: 7f1a6e2c-5d3b-4c8f-9a0e-1b2c3d4e5f60
  contains:
    server:
      description: The server that was taken out.
      type: str
    vm_id:
      description: The unique id of the VM. Empty if it was not known.
      type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.haproxy_module import run_server_info, server_info_arguments


def main() -> None:
    """Run the module."""
    run_server_info(AnsibleModule(argument_spec=server_info_arguments(), supports_check_mode=True))


if __name__ == "__main__":
    main()
