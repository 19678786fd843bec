# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options of everything that asks the Instance Metadata Service of a VM."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  endpoint:
    description:
      - Address of the Instance Metadata Service (IMDS), as V(http://HOST[:PORT]), without a path.
      - The default is right on every Azure VM. Use another address for rehearsals with a simulator.
      - If not set, the environment variable E(FOGHORN_IMDS_ENDPOINT) is used.
      - Proxies are never used. Proxy variables of the environment are ignored.
    type: str
    default: http://169.254.169.254
  api_version:
    description:
      - The API version of Scheduled Events.
      - Older versions lack fields and event types. V(2024-07-09) is the newest, and the only one with
        V(SpotRebalanceRecommendation). It is a preview that not every metadata service has.
      - If not set, the newest version is used, or V(2020-07-01) if the metadata service does not have it.
    type: str
  timeout:
    description:
      - Seconds within which IMDS must answer, for all requests and retries together.
      - The first request for a day enables the service and may take two minutes.
      - A request without an answer is repeated after 10 seconds, and then at increasing intervals. The first request
        for events is repeated after 130 seconds.
      - Above 0, up to 86400.
    type: float
    default: 150
  connect_timeout:
    description:
      - Seconds within which a connection to IMDS must be established, so that a host outside Azure fails quickly.
      - Above 0, up to 86400.
    type: float
    default: 5
  vm_name:
    description:
      - The name of this VM in Azure. Events use this name, which is not the host name.
      - If not set, the module asks IMDS.
    type: str
"""

    AFFECTING = r"""
options:
  affecting:
    description:
      - Choose events that hit this VM (V(this_vm)), that hit only others (V(others)), or both (V(any)).
      - Azure shows the events of an availability set or placement group to all of its VMs.
    type: str
    choices: [any, this_vm, others]
    default: any
"""

    # Before the other fragments, whose words on attributes these replace.
    APPROVE = r"""
options:
  event_ids:
    description:
      - Choose these events, compared without case. An empty list chooses none.
      - If other filters are set as well, an event must pass them too.
      - Either this or O(event_types) is required, so that an empty variable approves nothing.
      - O(event_types) chooses all events of these types that this VM sees. In an availability set or placement group
        these include events of other VMs. O(scope=own) refuses those; O(affecting=this_vm) does not choose them.
    type: list
    elements: str
  scope:
    description:
      - Which of the chosen events this VM may approve.
      - V(own) approves events that hit this VM and no other. The module fails and approves nothing if one of the chosen
        events is still V(Scheduled) and hits another VM as well, or does not hit this VM at all, whatever its status.
        For events that several VMs share, use V(leader).
      - V(leader) approves events that hit this VM as the first of their resources, and returns a reason for the others.
        If all VMs of a shared event run this task, one of them approves. Use it when all of them are ready.
      - V(any) approves every chosen event, including events that hit only other VMs.
    type: str
    choices: [own, leader, any]
    default: own
  as_seen:
    description:
      - The events that the VMs were prepared for, as M(foghorn.azure_events.scheduled_events_info) returned them, on
        Windows M(foghorn.azure_events.win_scheduled_events_info).
      - An event whose type or VMs have changed since is not approved, and the reason is returned. Events that are not
        in this list are not compared.
    type: list
    elements: dict
    default: []
  wait:
    description:
      - Wait until each approved event has started or is no longer listed.
      - Most events take this VM down when they start, and end this task with it.
    type: bool
    default: false
  wait_timeout:
    description:
      - Maximum seconds to wait with O(wait=true). After that the module fails, and the approval remains.
      - Above 0, up to 86400.
    type: float
    default: 300
attributes:
  check_mode:
    details: Reads the events and predicts what would be approved.
  diff_mode:
    support: full
    details: Shows the status of each chosen event before and after. Without O(wait=true) the status after is the
      expected one, because Azure may take its time.
  idempotent:
    support: partial
    details: >-
      Azure does not show that an event was approved. Until it starts, a second run approves it again, which is
      harmless, and reports a change.
"""
