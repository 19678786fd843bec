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
  - "Internal: may change without notice. The playbooks that work on a fleet, such as C(handle_events), execute its
    orders."
  - Reads what the hosts have registered, and returns the next order for each host. It makes all decisions of a run,
    for all hosts at once.
  - Keeps the state of the run in the temporary directory of C(ansible-playbook), which is deleted with it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    details: Nothing is changed. In check mode, the orders are a prediction.
  diff_mode:
    support: N/A
    details: Nothing is changed.
  idempotent:
    support: N/A
    details: Each step continues from the previous one.
options:
  state:
    description:
      - V(begin) identifies this run, and returns its relation to a host.
      - V(list) records all hosts of a fleet by their variables, and returns the balancers and VM ids to ask about.
      - V(choose) returns which hosts to ask, by the answer of Azure.
      - V(record) records the answers of O(hosts), and returns which balancers and other hosts to ask.
      - V(plan) returns the plan for all hosts.
      - V(advance) reads what O(hosts), the hosts of a batch, have registered, and returns their next orders.
      - V(report) returns the results of all hosts.
      - V(decide_upgrades) returns the answers to the lifecycle hook events of scale sets.
      - V(status) returns for each of O(hosts) whether it is out of rotation, why, and what to do next.
    type: str
    required: true
    choices: [begin, status, list, choose, record, plan, advance, report, decide_upgrades]
  run:
    description:
      - The run, as RV(run) of O(state=begin).
      - Required unless O(state=begin) or O(state=status).
    type: dict
  policy:
    description: The variables of C(handle_events) without that prefix.
    type: dict
    default: {}
  haproxys:
    description: The results of M(foghorn.azure_events.haproxy_server_info) for the balancers.
    type: list
    elements: dict
    default: []
  azure:
    description: The result of M(foghorn.azure_events.vm_pool_info).
    type: dict
  beyond:
    description: By host that a limit excludes from the run, its groups.
    type: dict
    default: {}
  demand:
    description: What the operator demands of the hosts; empty if the run handles their events.
    type: str
    default: ""
    choices: ["", move, upgrade, update]
  hosts:
    description:
      - The names of all hosts of a fleet, of those that were asked, or of a batch.
    type: list
    elements: str
    default: []
  announced:
    description: The result of M(foghorn.azure_events.vm_events_info) for the hosts.
    type: dict
    default: {}
  directory:
    description: The directory on the controller that lists the hosts that runs have drained.
    type: str
    default: ""
  is_kept:
    description: Whether O(directory) outlasts the run.
    type: bool
    default: true
  playbook:
    description: The name of the playbook.
    type: str
    default: ""
  job:
    description:
      - The job of the automation controller, with C(id), C(template) and C(user), and, if its template runs one job at
        a time, C(template_id) and C(controller).
    type: dict
    default: {}
  found:
    description: The result of M(foghorn.azure_events.rotation_claim_info) for a host.
    type: dict
    default: {}
  lease:
    description:
      - C(owner), the owner of the claims of this run; and C(breaks), whether it takes over any lease.
    type: dict
    default: {}
  scale_sets:
    description: The scale sets, each with C(resource_group) and C(name).
    type: list
    elements: dict
    default: []
  answers:
    description: The result of M(foghorn.azure_events.vmss_lifecycle_hook_event_info) for each scale set.
    type: list
    elements: dict
    default: []
  members:
    description:
      - By host, its C(resource_id), what to C(answer), and whether its upgrade C(was_begun).
    type: dict
    default: {}
  options:
    description: C(hold), C(margin), C(scheduling) and C(may_schedule) of an upgrade.
    type: dict
    default: {}
  inventory:
    description: The inventory sources, for the commands in messages.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Decide what comes next
  foghorn.azure_events.maintenance_step:
    state: advance
    run: "{{ run }}"
    hosts: "{{ ansible_play_batch }}"
  register: next
  run_once: true
"""

RETURN = r"""
run:
  description: The identity of this run, as M(foghorn.azure_events.rotation_claim) takes it.
  returned: with O(state=begin)
  type: dict
lease_view:
  description: The relation of the run to the host. Empty if no host was given, or its state is unknown.
  returned: with O(state=begin)
  type: dict
demands:
  description: By host, the demand.
  returned: with O(state=decide_upgrades)
  type: dict
delays:
  description: The events to delay, each with C(until).
  returned: with O(state=decide_upgrades)
  type: list
  elements: dict
answers:
  description: The answers to send.
  returned: with O(state=decide_upgrades)
  type: list
  elements: dict
failures:
  description: The failures.
  returned: with O(state=decide_upgrades)
  type: list
  elements: str
orders:
  description:
    - By host, its next orders and their data. Each is carried out if those before it have succeeded.
    - With O(state=advance), each has the C(file) of its tasks, and all hosts of the batch have equally many.
  returned: with O(state=advance) and O(state=report)
  type: dict
heeds_later_jobs:
  description: The host that watches whether a later job of the template waits. Empty if none does.
  returned: with O(state=advance)
  type: str
lines:
  description: Messages for the operator.
  returned: with O(state=choose), O(state=plan), O(state=advance) and O(state=status)
  type: list
  elements: str
news:
  description: A line for each change of a host, for P(foghorn.azure_events.fleet#callback).
  returned: with O(state=advance)
  type: list
  elements: str
status:
  description: The number of hosts in service of each group, and what the run waits for.
  returned: with O(state=plan) and O(state=advance)
  type: str
longest_step:
  description: The longest duration of any remaining task of the batch, in seconds.
  returned: with O(state=advance)
  type: float
vm_ids:
  description: The ids of the VMs to ask Azure about.
  returned: with O(state=list) and O(state=record)
  type: list
  elements: str
haproxys:
  description: The balancers to ask, each with C(name), C(socket) and the directories of its C(records).
  returned: with O(state=list) and O(state=record)
  type: list
  elements: dict
host:
  description: The host that asks Azure.
  returned: with O(state=list) and O(state=record)
  type: str
others:
  description: The hosts to ask before the plan.
  returned: with O(state=record)
  type: list
  elements: str
contacts:
  description: The hosts to ask.
  returned: with O(state=choose)
  type: list
  elements: str
planned:
  description: The plan, if no host has to be asked.
  returned: with O(state=choose)
  type: dict
turns:
  description: The hosts of each batch, in order.
  returned: with O(state=plan)
  type: list
  elements: list
involved:
  description: The hosts that the report will mention.
  returned: with O(state=plan)
  type: list
  elements: str
hosts:
  description: All hosts of the run.
  returned: with O(state=plan)
  type: list
  elements: str
plan:
  description: The hosts that are C(held) in service, and why.
  returned: with O(state=plan)
  type: dict
is_cancelled:
  description: Whether the run of updates could be cancelled. V(none) if nothing has tried to.
  returned: with O(state=report)
  type: bool
report:
  description:
    - RV(ignore:lines) has a line for each host, RV(ignore:by_host) the failures of each, and RV(ignore:hosts) the
      results of each, for programs.
  returned: with O(state=report)
  type: dict
"""
