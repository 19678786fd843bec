#!/usr/bin/python
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The module health_probe_file."""

DOCUMENTATION = r"""
module: health_probe_file
short_description: Take a machine out of rotation with the file that its probe endpoint checks, and restore it
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Records the change and then makes it, in one call. The restore follows the record, whatever the options are then.
  - A machine that somebody else has taken out is left alone, without a record.
  - Waits until the endpoint answers as it should, if O(url) is set. It does not wait for connections to end. The role
    P(foghorn.azure_events.load_balancer_removal#role) does.
  - If the machine is unreachable, the module fails, so that a C(rescue) can handle it.
extends_documentation_fragment:
  - foghorn.azure_events.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows whether the machine leaves rotation, or returns to it.
  idempotent:
    support: full
options:
  rotation:
    description: Whether to take the machine V(out) of rotation, or put it V(in) again.
    type: str
    required: true
    choices: [out, in]
  path:
    description:
      - The file that the endpoint checks. Required for O(rotation=out).
      - Its directory may belong to the user of the application. The module then changes nothing outside it, and refuses
        a path with a symbolic link that such a user could have placed. While the machine is out, a user who may write
        the directory can put it in rotation again, so a directory that only root may write is better.
      - With O(takes_out=absent), the file is renamed in its directory, to a hidden name.
    type: path
  takes_out:
    description: Whether the machine is out while the file is present, or while it is absent.
    type: str
    default: present
    choices: [present, absent]
  record:
    description:
      - Path of the record. Its directory is created if missing. No user except root and the user of the task may be
        able to change it, or a directory above it.
      - The module removes the record when the machine is restored, and keeps it if O(url) does not answer with 200.
    type: path
    required: true
  url:
    description:
      - URL of the probe endpoint, as the machine itself reaches it. The endpoint must stop answering with 200 when the
        machine is out, and answer with 200 when it is restored. If not set, the module does not ask.
      - If the endpoint does not answer with 200 within five seconds before the removal, the module warns, and
        RV(confirmed) is V(false).
    type: str
  url_timeout:
    description: After how many seconds the module fails if O(url) does not answer as it should.
    type: float
    default: 60
  noticed_within:
    description: With O(rotation=in), how many seconds to wait at the end, for the load balancer to notice.
    type: float
    default: 0
"""

EXAMPLES = r"""
- name: Take the machine out of rotation
  foghorn.azure_events.health_probe_file:
    rotation: out
    path: /var/lib/foghorn/out_of_rotation
    record: /var/lib/myself/probe.json

- name: Restore it
  foghorn.azure_events.health_probe_file:
    rotation: in
    record: /var/lib/myself/probe.json
"""

RETURN = r"""
confirmed:
  description:
    - With O(rotation=out), whether O(url) answered with 200 before the removal, so that its failure confirms the
      removal. V(false) without O(url), and for a service that had failed already.
  returned: success
  type: bool
  sample: true
since:
  description:
    - Since when the machine is out, in seconds since the epoch by the controller's clock. If the file that takes it out
      existed before, the time of that file.
  returned: success
  type: float
  sample: 1788220800.0
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
