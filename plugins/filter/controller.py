# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter of the playbook controller_setup. The YAML file of its name documents it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.controller import (
    Group,
    SetupError,
    Site,
    make_job_templates,
    make_schedules,
    make_workflows,
)


def controller_objects(
    data: Mapping[str, Any],
    site: Mapping[str, Any],
    groups: Sequence[Mapping[str, Any]] = (),
    only: Collection[str] = (),
    collection: str = "",
) -> dict[str, Any]:
    """Return the objects to set up."""
    if collection and not _is_installed(collection):
        raise AnsibleFilterError(
            "controller_setup_collection is %s, which is not installed here. Install it, as with ansible-galaxy"
            " collection install %s, or set controller_setup_file" % (collection, collection)
        )
    # Templates of ansible-core 2.16 to 2.18 make text of numbers.
    here = Site(**{**site, **{name: int(site[name]) for name in ("forks", "every_minutes") if name in site}})
    grouped = [Group(**group) for group in groups]
    try:
        return {
            "job_templates": make_job_templates(data["job_templates"], here, grouped, only),
            "schedules": make_schedules(data["job_templates"], here, grouped, only),
            "workflow_job_templates": make_workflows(
                data["workflow_job_templates"], data["job_templates"], here, grouped, only
            ),
        }
    except SetupError as error:
        raise AnsibleFilterError(str(error)) from error


def _is_installed(collection: str) -> bool:
    try:
        return find_spec("ansible_collections." + collection) is not None
    except ModuleNotFoundError:
        return False


class FilterModule:
    """Offers the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name it."""
        return {"controller_objects": controller_objects}
