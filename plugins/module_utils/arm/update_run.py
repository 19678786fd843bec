# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of update_run_cancel.

Azure Update Manager tells of a run of updates half an hour before it begins, and then begins it, whatever became of the
preparations. Until ten minutes before its beginning the run can be cancelled: a `PUT` of its id.

Source: https://learn.microsoft.com/rest/api/maintenance/apply-updates/create-or-update-or-cancel and
https://learn.microsoft.com/azure/update-manager/manage-pre-post-events
"""

from __future__ import annotations

import re

from ..scheduled_events.errors import OptionError
from .answers import Json
from .client import ArmClient, Permission
from .errors import ArmError, UnknownVersion

# The newest version that is known to cancel, and the one of Microsoft's own sample.
API_VERSIONS = ("2023-10-01-preview", "2023-09-01-preview")
CANCEL = Permission("Microsoft.Maintenance/applyUpdates/write", "Contributor")

_RUN_ID = re.compile(
    r"/subscriptions/[\w-]{1,64}/resourceGroups/[\w().-]{1,90}/providers/Microsoft\.Maintenance"
    r"/maintenanceConfigurations/[\w().-]{1,128}/providers/Microsoft\.Maintenance/applyUpdates/[\w.-]{1,128}\Z",
    re.IGNORECASE | re.ASCII,
)
_BODY: Json = {"properties": {"status": "Cancel"}}
_CANCELLED = frozenset(["cancelled", "canceled"])


def is_run_id(text: str) -> bool:
    """Whether this is the id of a run of updates."""
    return _RUN_ID.match(text) is not None


def cancel(client: ArmClient, run_id: str, dry_run: bool = False) -> str | None:
    """Cancel a run of updates, for all of its machines. Its schedule stays, with the runs to come.

    :param run_id: as the event before the run has it in `data.correlationId`
    :param dry_run: ask nothing
    :returns: the status that Azure answers with; None if it was not asked
    :raises OptionError: if that is no id of a run
    :raises ArmError: if that fails, as it does once it is too late, or if Azure answers with another status
    """
    if not is_run_id(run_id):
        raise OptionError(
            "run_id: %r is not the id of an update run: give data.correlationId of the event before it, like "
            "/subscriptions/…/maintenanceConfigurations/…/providers/Microsoft.Maintenance/applyUpdates/…" % run_id
        )
    if dry_run:
        return None
    try:
        content = _put(client, run_id, API_VERSIONS[0])
    except UnknownVersion:
        content = _put(client, run_id, API_VERSIONS[1])
    status = str((content.get("properties") or {}).get("status"))
    if status.lower() not in _CANCELLED:
        raise ArmError(
            "%s: the cancellation was sent, but Azure reports the status %s: it may still begin. Check Update "
            "Manager's history" % (run_id, status)
        )
    return status


def _put(client: ArmClient, run_id: str, version: str) -> Json:
    content = client.write("PUT", run_id, _BODY, None, CANCEL, api_version=version).content
    return content if isinstance(content, dict) else {}
