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
  diff_mode:
    support: full
    details: Shows whether the machine leaves rotation, or returns to it.
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

import time
from typing import Any, Callable, Dict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files.writing import remove
from ..module_utils.polling import other_status, poll_until
from ..module_utils.probe_file import MEANS, PRESENT, put_back, take_out
from ..module_utils.url_status import status_of

OUT = "out"
IN = "in"

# Seconds that a machine in rotation has for an answer with 200.
_BEFORE_REMOVAL = 5.0


def main() -> None:
    """Run the module."""
    run(
        AnsibleModule(
            argument_spec={
                "rotation": {"type": "str", "required": True, "choices": [OUT, IN]},
                "path": {"type": "path"},
                "takes_out": {"type": "str", "default": PRESENT, "choices": list(MEANS)},
                "record": {"type": "path", "required": True},
                "url": {"type": "str"},
                "url_timeout": {"type": "float", "default": 60.0},
                "noticed_within": {"type": "float", "default": 0.0},
            },
            required_if=[("rotation", "out", ("path",))],
            supports_check_mode=True,
        )
    )


def run(module: AnsibleModule) -> None:
    """Do the work of health_probe_file."""
    record = module.params["record"]
    try:
        result = _take_out(module, record) if module.params["rotation"] == OUT else _put_back(module, record)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**result)


def _take_out(module: AnsibleModule, record: str) -> Dict[str, Any]:
    url, path = module.params["url"], module.params["path"]

    def succeeds() -> bool:
        why = _look(module, lambda url: other_status(url, status_of), _BEFORE_REMOVAL)
        if why:
            # A misspelt URL fails before and after, and confirms nothing.
            module.warn("Before the removal: %s: %s: nothing confirms that the machine leaves rotation" % (url, why))
        return bool(url) and not why

    removal = take_out(path, module.params["takes_out"], record, bool(module.check_mode), succeeds)
    if not module.check_mode:
        _see(
            module,
            "Wait until the probe endpoint fails",
            lambda url: "" if other_status(url, status_of) else "it answers with 200",
        )
    return {
        "changed": removal.changed,
        # Seconds, because its clock may be wrong.
        "out_for": None if removal.since is None else time.time() - removal.since,
        "confirmed": bool(url) and removal.confirms,
        "diff": _diff(removal.changed, "in rotation\n", "out of rotation\n"),
    }


def _put_back(module: AnsibleModule, record: str) -> Dict[str, Any]:
    changed, recorded = put_back(record, bool(module.check_mode))
    if recorded and not module.check_mode:
        _see(module, "Wait until the probe endpoint succeeds", lambda url: other_status(url, status_of))
        remove(record)
        time.sleep(max(module.params["noticed_within"], 0.0))
    diff = _diff(changed, "out of rotation\n", "in rotation\n")
    return {"changed": changed or recorded, "out_for": None, "confirmed": False, "diff": diff}


def _diff(changed: bool, before: str, after: str) -> Dict[str, str]:
    return {"before": before if changed else "", "after": after if changed else ""}


def _see(module: AnsibleModule, what: str, look: Callable[[str], str]) -> None:
    """Wait until the endpoint answers as it should; fail if it does not in time."""
    why = _look(module, look, module.params["url_timeout"])
    if why:
        module.fail_json(msg="%s: %s: %s" % (what, module.params["url"], why))


def _look(module: AnsibleModule, look: Callable[[str], str], most: float) -> str:
    """Wait until the endpoint answers as it should; say why it does not. Without a URL nobody is asked.

    :param most: seconds, if `url_timeout` is longer
    """
    url = module.params["url"]
    within = min(module.params["url_timeout"], most)
    return poll_until(lambda: look(url), within, time.monotonic, time.sleep) if url else ""


if __name__ == "__main__":
    main()
