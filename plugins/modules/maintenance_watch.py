#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The documentation of the action maintenance_watch, which runs on the controller."""

DOCUMENTATION = r"""
module: maintenance_watch
short_description: Wait until the maintenance of a VM is over, and say what is waited for
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - "Internal: may change without notice. The playbook C(handle_events) waits by it."
  - Looks at the scheduled events of a host again and again, from the controller, until they are over, or until any
    host of the same task has news, however long that takes.
  - Prints a line when the wait begins and when what is waited for changes, on the standard error output, where it is
    in the way of no callback.
  - A host that cannot be reached meanwhile is neither an error nor the end. It is looked at until it can be reached
    again.
  - The waits of all hosts end as soon as that of one of them does, so that none is held up by another.
extends_documentation_fragment:
  - foghorn.azure_events.imds
  - foghorn.azure_events.attributes
  - foghorn.azure_events.attributes.actiongroup_imds
attributes:
  check_mode:
    support: full
    details: This action reads only, but for the lease that it renews.
  diff_mode:
    support: N/A
    details: This action reads only, but for the lease that it renews.
  idempotent:
    support: full
    details: This action reads only, but for the lease that it renews.
options:
  progress:
    description:
      - How far the wait has come. What an order of M(foghorn.azure_events.maintenance_step) says at first, then
        RV(progress).
      - One of O(progress) and O(known) is required.
    type: dict
  known:
    description:
      - The events that are known of a host which waits for its batch, as
        M(foghorn.azure_events.scheduled_events_info) returned them. Its wait ends as soon as others are listed.
    type: list
    elements: dict
  lease:
    description:
      - The O(foghorn.azure_events.rotation_claim#module:directory), the
        O(foghorn.azure_events.rotation_claim#module:run) and the O(foghorn.azure_events.rotation_claim#module:seconds)
        of the host's lease, which is renewed every minute while the host answers.
      - Nothing is renewed without it.
    type: dict
  policy:
    description: As for M(foghorn.azure_events.maintenance_step).
    type: dict
    default: {}
  poll_interval:
    description:
      - Seconds between two looks.
      - For so long a deletion that is no longer listed, and had not started, is looked for before it is taken for
        withdrawn.
    type: float
    default: 5
  poll_timeout:
    description:
      - Seconds that one look may take, the connection included, before it counts as one without an answer.
      - A host that loses its network, or its power, ends no connection, and SSH alone would wait for it for a quarter
        of an hour.
    type: float
    default: 90
  until:
    description: When the wait is to end at the latest, in seconds since the epoch.
    type: float
  job_run:
    description:
      - Which run waits, as for M(foghorn.azure_events.maintenance_step), where the wait is to end as soon as a later
        job of the template of an automation controller waits for the end of this one.
      - The controller is asked twice a minute, with the credential in the environment.
    type: dict
  is_crowded:
    description:
      - Whether more hosts wait than are looked at side by side, so that some of them have to wait for others.
      - The wait lasts ten seconds at most then.
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
    - RV(ignore:over) says whether the wait has ended, RV(ignore:restore) whether the host may go back then, and
      RV(ignore:outcome) why, in words.
    - RV(ignore:gave_up) says that the wait took too long, and RV(ignore:lost) who has taken the host over meanwhile.
    - What else there is, is for this action itself.
  returned: if O(progress) is given
  type: dict
"""
