# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A list, on the controller, of hosts that a run may have left out of rotation, for runs that do not ask every host.

A file for each host, written before the first thing is done to it, and removed once it is back. It holds the id of the
VM, so that a host that has another name in the inventory since is found as well. What is on the host itself decides
what is done about it, so the directory may be shared with other users.
"""

import contextlib
import urllib.parse
from collections.abc import Mapping

from ...module_utils.files.directory import open_directory


def noted_in(directory: str) -> dict[str, str]:
    """The noted hosts: by the name in the inventory, the id of the VM; empty if it was not known.

    :raises OSError: if that cannot be read
    """
    with contextlib.suppress(FileNotFoundError), open_directory(directory) as place:
        return {
            urllib.parse.unquote(name): place.read(name, of_anybody=True)
            for name in place.names()
            # What a process that died has left: no name begins like that, see `_file_name`.
            if not name.startswith(".")
        }
    return {}


def note(directory: str, vm_ids: Mapping[str, str]) -> None:
    """Note hosts that are about to be taken out.

    :param vm_ids: by the name of each in the inventory, the id of its VM; empty if it is not known
    :raises OSError: if that cannot be written
    """
    if not vm_ids:
        return
    with open_directory(directory, new_mode=0o700) as place:
        for name, vm_id in vm_ids.items():
            place.replace(_file_name(name), vm_id, 0o600)


def forget(directory: str, vm_ids: Mapping[str, str]) -> None:
    """Forget hosts that are back, by their names and by their VMs.

    :param vm_ids: see `note`; hosts that are not noted are ignored
    :raises OSError: if that cannot be written
    """
    noted = noted_in(directory) if vm_ids else {}
    known = {vm_id.lower() for vm_id in vm_ids.values() if vm_id}
    back = [name for name, vm_id in noted.items() if name in vm_ids or vm_id.lower() in known]
    if back:
        with open_directory(directory) as place:
            for name in back:
                with contextlib.suppress(FileNotFoundError):
                    place.remove(_file_name(name))


def _file_name(name: str) -> str:
    # A name in an inventory may be anything, and a single dot is not a file name.
    return urllib.parse.quote(name, safe="").replace(".", "%2E")
