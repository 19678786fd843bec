#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action maintenance_watch, which runs on the controller."""

DOCUMENTATION = r"""
module: maintenance_watch
short_description: Wait until the maintenance of a VM is over, and report the progress
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - "Internal: may change without notice. The playbook C(handle_events) uses it to wait."
  - Polls the scheduled events of a host from the controller until they are over, or until any host of the same task
    has news.
  - Prints a line when the wait begins and when its reason changes, on the standard error output, so that it does not
    disturb a callback.
  - An unreachable host is not an error. It is polled until it can be reached again.
  - The wait of one host ends the waits of all hosts, so that no host delays another.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_imds
attributes:
  check_mode:
    details: This action reads only, but for the lease that it renews.
  diff_mode:
    support: N/A
    details: This action reads only, but for the lease that it renews.
  idempotent:
    details: This action reads only, but for the lease that it renews.
options:
  progress:
    description:
      - The state of the wait. At first, the value from the order of M(foghorn.azure_events.maintenance_step), then
        RV(progress).
      - One of O(progress) and O(known) is required.
    type: dict
  known:
    description:
      - The known events of a host that waits for its batch, as M(foghorn.azure_events.scheduled_events_info) returned
        them. The wait ends when other events are listed.
    type: list
    elements: dict
  lease:
    description:
      - The O(foghorn.azure_events.rotation_claim#module:directory), the
        O(foghorn.azure_events.rotation_claim#module:run) and the O(foghorn.azure_events.rotation_claim#module:seconds)
        of the host's lease, which is renewed every minute while the host answers.
      - If not set, no lease is renewed.
    type: dict
  policy:
    description: As for M(foghorn.azure_events.maintenance_step).
    type: dict
    default: {}
  poll_interval:
    description:
      - Seconds between two polls.
      - A deletion that is no longer listed, and had not started, counts as withdrawn after this time.
    type: float
    default: 5
  poll_timeout:
    description:
      - Seconds that one poll may take, including the connection. Longer polls count as unanswered.
      - A host without network or power does not close its connections, and SSH would wait 15 minutes for it.
    type: float
    default: 90
  until:
    description: The latest end of the wait, in seconds since the epoch.
    type: float
  job_run:
    description:
      - The run, as for M(foghorn.azure_events.maintenance_step). If set, the wait ends when a later job of the same
        template of an automation controller waits for this one.
      - Asks the controller twice a minute, with the credential in the environment.
    type: dict
  is_crowded:
    description:
      - Whether more hosts wait than Ansible polls in parallel.
      - If so, the wait lasts ten seconds at most, so that all hosts are polled.
    type: bool
    default: false
seealso:
  - module: foghorn.azure_events.scheduled_events_info
  - module: foghorn.azure_events.maintenance_step
"""

EXAMPLES = r"""
- name: Wait until the maintenance is over, or another host has news
  foghorn.azure_events.maintenance_watch:
    progress: "{{ progress }}"
    vm_name: web_0
  register: watched
"""

RETURN = r"""
progress:
  description:
    - RV(ignore:over) is whether the wait has ended, RV(ignore:restore) whether the host may be restored, and
      RV(ignore:outcome) the reason.
    - RV(ignore:gave_up) is whether the wait took too long, and RV(ignore:lost) which run took the host over.
    - The other keys are for this action.
  returned: if O(progress) is given
  type: dict
"""
