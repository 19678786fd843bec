#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module health_probe_file."""

DOCUMENTATION = r"""
module: health_probe_file
short_description: Take a machine out of rotation by a file that its probe endpoint looks at, and restore it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Writes down what it is about to do, and then does it, in one call. What is restored is what was written down,
    whatever the options say by then.
  - A machine that somebody else has taken out is left as it is, and nothing is written down.
  - Whether the endpoint answers as it should, and when the balancer has noticed, is not its business. The role
    P(foghorn.azure_events.load_balancer_removal#role) sees to that.
  - A machine that cannot be reached is a failure of this module, so that a C(rescue) can deal with it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows what is written down of a removal, and whether the machine comes back into rotation.
  idempotent:
    support: full
options:
  rotation:
    description: Whether the machine is to be V(out) of rotation, or V(in) again.
    type: str
    required: true
    choices: [out, in]
  path:
    description: The file that the endpoint looks at. Required for O(rotation=out).
    type: path
  takes_out:
    description: Which state of the file takes the machine out.
    type: str
    default: present
    choices: [present, absent]
  record:
    description:
      - Where it is written down what is to be undone. The directory is made when it is needed.
      - The file stays when the machine is restored. Remove it when the balancer has the machine again.
    type: path
    required: true
  kept:
    description: Where a file is kept meanwhile whose absence takes the machine out.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Take the machine out of rotation
  foghorn.azure_events.health_probe_file:
    rotation: out
    path: /var/lib/foghorn/out_of_rotation
    record: /var/lib/myself/probe.json
    kept: /var/lib/myself/probe.kept

- name: Restore it
  foghorn.azure_events.health_probe_file:
    rotation: in
    record: /var/lib/myself/probe.json
    kept: /var/lib/myself/probe.kept
"""

RETURN = r"""
since:
  description:
    - Since when the file is there that takes the machine out, if it was there before, in seconds since the epoch.
  returned: success
  type: float
  sample: 1788220800.0
recorded:
  description: Whether there is a record of what was done.
  returned: success
  type: bool
  sample: true
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.probe_file_module import probe_file_arguments, run_probe_file


def main() -> None:
    """Run the module."""
    run_probe_file(
        AnsibleModule(
            argument_spec=probe_file_arguments(),
            required_if=[("rotation", "out", ("path",))],
            supports_check_mode=True,
        )
    )


if __name__ == "__main__":
    main()
