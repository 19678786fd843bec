#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action maintenance_step, which runs on the controller."""

DOCUMENTATION = r"""
module: maintenance_step
short_description: Decide what comes next in a run on a fleet
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - "Internal: may change without notice. The playbooks C(handle_events) and
    C(redeploy_early) decide by it and carry its orders out."
  - Takes what hosts have reported, and returns what each of them has to do next. All decisions of a run are made here,
    for all hosts at once.
  - What is known of the run is kept in the temporary directory of C(ansible-playbook), and goes with it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    support: full
    details: Nothing is changed. In check mode the orders are those of a prediction.
  diff_mode:
    support: N/A
    details: Nothing is changed.
  idempotent:
    support: N/A
    details: Each step goes on from the one before.
options:
  state:
    description:
      - V(checked) fails if variables of O(hosts) are wrong, or if the tags of the run choose nothing.
      - V(begun) tells this run from all others, and says how it stands to a host.
      - V(listed) notes all hosts of a fleet by their variables, and returns whom to ask about them.
      - V(chosen) returns which of them to ask themselves, once Azure was asked about all.
      - V(asked) notes what hosts have answered, and returns which balancers to ask about them, and which other hosts.
      - V(planned) makes the plan for all hosts.
      - V(advanced) takes the reports of a batch, and returns its next orders.
      - V(ended) returns what became of all hosts.
      - V(upgrades) says what is to be done about what Azure asks before it upgrades the image of scale sets.
      - V(status) says of each host whether it is out of rotation, why, and what to do next.
    type: str
    required: true
    choices: [checked, begun, status, listed, chosen, asked, planned, advanced, ended, upgrades]
  run:
    description:
      - Which run it is, the RV(run) of O(state=begun).
      - Required unless O(state=checked), O(state=begun) or O(state=status).
    type: dict
  policy:
    description: The variables of C(handle_events) without that prefix.
    type: dict
    default: {}
  reports:
    description: By host, what it has answered or done.
    type: dict
    default: {}
  haproxys:
    description: What M(foghorn.azure_events.haproxy_server_info) returned of each balancer.
    type: list
    elements: dict
    default: []
  azure:
    description: What M(foghorn.azure_events.vm_pool_info) returned.
    type: dict
  beyond:
    description: By the hosts that a limit leaves out of the run, their groups.
    type: dict
    default: {}
  demand:
    description: What is demanded of the hosts of this run; empty if it is about their events.
    type: str
    default: ""
    choices: ["", move, upgrade]
  hosts:
    description: The names of all hosts of a fleet, or of those whose variables are to be checked.
    type: list
    elements: str
    default: []
  announced:
    description: What M(foghorn.azure_events.vm_events_info) returned of them.
    type: dict
    default: {}
  directory:
    description: The directory on the controller with the list of hosts that a run has begun to work on.
    type: str
    default: ""
  is_kept:
    description: Whether that directory outlasts the run.
    type: bool
    default: true
  arguments:
    description: The specification of the variables of a playbook.
    type: dict
    default: {}
  prefixes:
    description: How the names of variables begin that the playbook takes.
    type: list
    elements: str
    default: []
  roles:
    description: The roles whose variables it takes.
    type: list
    elements: str
    default: []
  alike:
    description: The variables that hold for the whole run.
    type: list
    elements: str
    default: []
  playbook:
    description: What is run.
    type: str
    default: ""
  job:
    description:
      - Of which job of an automation controller, C(id), C(template), C(user), and, where its template never has two
        jobs at a time, C(template_id) and C(controller).
    type: dict
    default: {}
  found:
    description: What M(foghorn.azure_events.rotation_claim_info) returned of a host.
    type: dict
    default: {}
  lease:
    description:
      - C(owner), for whom the run acts; C(breaks), whether it takes over any lease; and C(left_out_for), for how many
        seconds a host stays out that is to be deleted.
    type: dict
    default: {}
  scale_sets:
    description: The scale sets, each with C(resource_group) and C(name).
    type: list
    elements: dict
    default: []
  answers:
    description: What M(foghorn.azure_events.vmss_lifecycle_hook_event_info) returned of each.
    type: list
    elements: dict
    default: []
  members:
    description:
      - By host, its C(resource_id), what it has C(asked), what to C(answer), and whether its upgrade C(was_begun).
    type: dict
    default: {}
  options:
    description: C(hold), C(margin), C(scheduling) and C(may_schedule) of an upgrade.
    type: dict
    default: {}
  inventory:
    description: Where the inventory is, for the commands that are shown.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Decide what comes next
  foghorn.azure_events.maintenance_step:
    state: advanced
    run: "{{ run }}"
    reports: "{{ reports }}"
  register: next
  run_once: true
"""

RETURN = r"""
run:
  description: What tells this run from all others, as M(foghorn.azure_events.rotation_claim) takes it.
  returned: with O(state=begun)
  type: dict
lease_view:
  description: How the run stands to the host. Empty if no host was given, or nothing is known of it.
  returned: with O(state=begun)
  type: dict
demands:
  description: By host, what is to be done with it.
  returned: with O(state=upgrades)
  type: dict
delays:
  description: The events that are to wait, each with C(until).
  returned: with O(state=upgrades)
  type: list
  elements: dict
answers:
  description: What to answer.
  returned: with O(state=upgrades)
  type: list
  elements: dict
failures:
  description: What went wrong.
  returned: with O(state=upgrades)
  type: list
  elements: str
orders:
  description: By host, what is to be done there, and all that is needed for it.
  returned: with O(state=advanced) and O(state=ended)
  type: dict
lines:
  description: What to tell the operator.
  returned: with O(state=chosen), O(state=planned), O(state=advanced) and O(state=status)
  type: list
  elements: str
news:
  description: A line for each change of a host, for P(foghorn.azure_events.fleet#callback).
  returned: with O(state=advanced)
  type: list
  elements: str
status:
  description: How many hosts of each group are in service, and what is waited for.
  returned: with O(state=planned) and O(state=advanced)
  type: str
is_over:
  description: Whether nothing is left to be done in this batch.
  returned: with O(state=advanced)
  type: bool
rounds:
  description: How many rounds to go through before looking whether there is more to do.
  returned: with O(state=advanced)
  type: int
longest_step:
  description: The longest that any task which lies ahead of a host of the batch may take, in seconds.
  returned: with O(state=advanced)
  type: float
vm_ids:
  description: The ids of machines to look up in Azure.
  returned: with O(state=listed) and O(state=asked)
  type: list
  elements: str
haproxys:
  description: The balancers to ask, each with C(name) and C(socket).
  returned: with O(state=listed) and O(state=asked)
  type: list
  elements: dict
host:
  description: From where to ask Azure.
  returned: with O(state=listed) and O(state=asked)
  type: str
others:
  description: The hosts that are to be asked before there is a plan.
  returned: with O(state=asked)
  type: list
  elements: str
contacts:
  description: The hosts to ask themselves.
  returned: with O(state=chosen)
  type: list
  elements: str
planned:
  description: The plan, where there is nobody to ask.
  returned: with O(state=chosen)
  type: dict
turns:
  description: The hosts of each batch, in order.
  returned: with O(state=planned)
  type: list
  elements: list
involved:
  description: The hosts of which there is something to tell at the end.
  returned: with O(state=planned)
  type: list
  elements: str
hosts:
  description: All hosts of the run.
  returned: with O(state=planned)
  type: list
  elements: str
plan:
  description: What was planned, in parts.
  returned: with O(state=planned)
  type: dict
report:
  description:
    - RV(ignore:lines) has a line for each host, RV(ignore:by_host) what went wrong on each, and RV(ignore:hosts) what
      became of each, for programs.
  returned: with O(state=ended)
  type: dict
"""
