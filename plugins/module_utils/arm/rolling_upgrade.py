# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The work of vmss_rolling_upgrade and vmss_rolling_upgrade_info.

A rolling upgrade brings the instances of a scale set to the latest image, or to the latest extensions, batch by batch,
and stops where too many are unhealthy. Azure runs one at a time, and goes by the set's rollingUpgradePolicy.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-configure-rolling-upgrades
and https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-automatic-upgrade
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from .answers import Json
from .client import POLL_INTERVAL, ArmClient, Permission, reporting
from .errors import ArmError, Busy, NotFound, OperationFailed, OutOfTime, Unfinished

KIND = "virtualMachineScaleSets"
SINCE = "2017-03-30"
"""The first version of Compute that has rolling upgrades."""
EXTENSIONS_SINCE = "2018-10-01"
"""The first that upgrades extensions so."""

STARTED = "started"
FINISHED = "finished"
CANCELLED = "cancelled"
STATES = (STARTED, FINISHED, CANCELLED)

OS_IMAGE = "os_image"
EXTENSIONS = "extensions"
_ACTIONS = {OS_IMAGE: "osRollingUpgrade", EXTENSIONS: "extensionRollingUpgrade"}
WHAT = tuple(_ACTIONS)

# Azure's states while it runs, and those in which it ended without having upgraded everything.
_UNDER_WAY = frozenset(["rollingforward", "rollingback"])
_BROKEN_OFF = frozenset(["faulted", "cancelled", "canceled"])
# Azure's extensions that report the health of an application.
_HEALTH_EXTENSIONS = frozenset(["applicationhealthlinux", "applicationhealthwindows"])
# Azure may show an upgrade a moment after it has begun it.
_LOOKS_FOR_IT = 3
_NEEDS_HEALTH = (
    "A rolling upgrade needs to know which instances are healthy: give %s the Application Health extension%s"
)

READ_SET = Permission("Microsoft.Compute/virtualMachineScaleSets/read", "Reader")
READ = Permission("Microsoft.Compute/virtualMachineScaleSets/rollingUpgrades/read", "Reader")
READ_HISTORY = Permission("Microsoft.Compute/virtualMachineScaleSets/osUpgradeHistory/read", "Reader")
CANCEL = Permission("Microsoft.Compute/virtualMachineScaleSets/rollingUpgrades/action", "Virtual Machine Contributor")


class Upgrade(NamedTuple):
    """A rolling upgrade, as it was read."""

    status: str
    """In Azure's word: RollingForward, RollingBack, Completed, Cancelled, Faulted."""
    start_time: str | None
    successful: int = 0
    failed: int = 0
    in_progress: int = 0
    pending: int = 0
    error: str | None = None
    """Azure's own message, if it says why it stopped."""

    @property
    def is_under_way(self) -> bool:
        """Whether Azure is still working on it."""
        return self.status.lower() in _UNDER_WAY

    @property
    def is_completed(self) -> bool:
        """Whether it has upgraded all instances."""
        return self.status.lower() == "completed"

    @property
    def is_broken_off(self) -> bool:
        """Whether it ended without having upgraded everything."""
        return self.status.lower() in _BROKEN_OFF

    @property
    def progress(self) -> str:
        """Its progress, for people."""
        return "%d instances upgraded, %d failed, %d in progress, %d pending" % (
            self.successful,
            self.failed,
            self.in_progress,
            self.pending,
        )


class UpgradeChange(NamedTuple):
    """What was done, or in check mode would be."""

    changed: bool
    scale_set_id: str
    upgrade: Upgrade | None
    """The latest upgrade, as last read. None: there has never been one."""
    reason: str | None = None
    """Why nothing was done. None: something was."""
    warnings: tuple[str, ...] = ()


def bring_to(
    client: ArmClient,
    resource_group: str,
    name: str,
    state: str,
    what: str = OS_IMAGE,
    wait: bool = True,
    dry_run: bool = False,
) -> UpgradeChange:
    """Start a rolling upgrade of a scale set, wait for the end of one, or cancel it.

    :param state: one of `STATES`
    :param what: is brought to its latest version by one that is started: one of `WHAT`
    :param wait: until the upgrade is over; must be True for `FINISHED`
    :param dry_run: look, but change nothing and wait for nothing
    :raises Unfinished: if the upgrade has not upgraded everything, or is not over within the time limit
    :raises ArmError: if it could not be started or cancelled
    """
    client.need_compute(EXTENSIONS_SINCE if what == EXTENSIONS else SINCE, "rolling upgrades of scale sets")
    path = client.compute_id(resource_group, KIND, name)
    resource = client.get(path, READ_SET)
    upgrade = read_latest(client, path)
    found = UpgradeChange(False, path, upgrade)
    if state == CANCELLED:
        return _cancel(client, found, wait, dry_run)
    if upgrade is not None and upgrade.is_under_way:
        going_on = found._replace(reason="a rolling upgrade is under way already, since %s" % upgrade.start_time)
        return _follow(client, going_on) if wait and not dry_run else going_on
    if state == FINISHED:
        return found._replace(reason="no rolling upgrade is under way")
    found = found._replace(changed=True, warnings=_warnings(resource))
    return found if dry_run else _start(client, found, what, wait)


def describe(client: ArmClient, resource_group: str, name: str) -> Json:
    """Read the latest rolling upgrade of a scale set, and the history of those of its image, as the info module does.

    :raises ArmError: if that fails; `NotFound` if there is no such set
    """
    client.need_compute("2018-10-01", "the history of upgrades of scale sets")
    path = client.compute_id(resource_group, KIND, name)
    client.get(path, READ_SET)
    history = [_describe_past(one) for one in client.list_all(path + "/osUpgradeHistory", READ_HISTORY)]
    return {"id": path, "upgrade": as_dict(read_latest(client, path)), "os_upgrade_history": history}


def read_latest(client: ArmClient, scale_set_id: str) -> Upgrade | None:
    """The rolling upgrade of a scale set that is under way, or was the last; None if there was none.

    :raises ArmError: if that fails
    """
    try:
        return parse_upgrade(client.get(scale_set_id + "/rollingUpgrades/latest", READ))
    except NotFound:
        return None


def parse_upgrade(content: Mapping[str, Any]) -> Upgrade:
    """Read a `RollingUpgradeStatusInfo`, or an element of the history, which has the same in it."""
    properties = content.get("properties") or {}
    status = properties.get("runningStatus") or {}
    progress = properties.get("progress") or {}
    error = properties.get("error") or {}
    return Upgrade(
        status=str(status.get("code") or ""),
        start_time=status.get("startTime"),
        successful=int(progress.get("successfulInstanceCount") or 0),
        failed=int(progress.get("failedInstanceCount") or 0),
        in_progress=int(progress.get("inProgressInstanceCount") or 0),
        pending=int(progress.get("pendingInstanceCount") or 0),
        error=error.get("message"),
    )


def as_dict(upgrade: Upgrade | None) -> Json | None:
    """Write an upgrade as the modules return it."""
    return None if upgrade is None else {**upgrade._asdict(), "under_way": upgrade.is_under_way}


def _describe_past(content: Mapping[str, Any]) -> Json:
    properties = content.get("properties") or {}
    return {
        **(as_dict(parse_upgrade(content)) or {}),
        "end_time": (properties.get("runningStatus") or {}).get("endTime"),
        "started_by": properties.get("startedBy"),
        "image": properties.get("targetImageReference") or {},
    }


def _start(client: ArmClient, found: UpgradeChange, what: str, wait: bool) -> UpgradeChange:
    action = _ACTIONS[what]
    needs = Permission("Microsoft.Compute/virtualMachineScaleSets/%s/action" % action, "Virtual Machine Contributor")
    while True:
        try:
            client.post("%s/%s" % (found.scale_set_id, action), None, needs, wait=wait)
            break
        except (OperationFailed, OutOfTime) as error:
            raise Unfinished(str(error), _seen_last(client, found)) from error
        except ArmError as error:
            upgrade = read_latest(client, found.scale_set_id) if error.status == 409 else None
            if upgrade is not None and upgrade.is_under_way:
                # Azure, or another run, was faster.
                going_on = found._replace(
                    changed=False, upgrade=upgrade, reason="another rolling upgrade has just begun"
                )
                return _follow(client, going_on) if wait else going_on
            if error.may_have_begun:
                begun = _begun_all_the_same(client, found)
                if begun is not None:
                    return _follow(client, begun) if wait else begun
            if not isinstance(error, Busy):
                raise _explain_health(error, _name(found)) from error
            client.wait(POLL_INTERVAL, str(error).rstrip("."))
    with reporting(client, lambda: found):
        upgrade = read_latest(client, found.scale_set_id)
    if not wait:
        return found._replace(upgrade=upgrade)
    if not _is_new(found, upgrade):
        return found._replace(changed=False, upgrade=upgrade, reason="Azure found nothing to upgrade")
    return _follow(client, found._replace(upgrade=upgrade))


def _cancel(client: ArmClient, found: UpgradeChange, wait: bool, dry_run: bool) -> UpgradeChange:
    nothing = "no rolling upgrade is under way"
    if found.upgrade is None or not found.upgrade.is_under_way:
        return found._replace(reason=nothing)
    if dry_run:
        return found._replace(changed=True)
    was_lost = False
    while True:
        try:
            client.post(found.scale_set_id + "/rollingUpgrades/cancel", None, CANCEL, wait=wait, repeatable=True)
            break
        except ArmError as error:
            if error.status != 409:
                raise
            was_lost = was_lost or error.may_have_begun
            upgrade = read_latest(client, found.scale_set_id)
            if upgrade is None or not upgrade.is_under_way:
                if was_lost and upgrade is not None and upgrade.is_broken_off:
                    # The earlier request has begun it, and its answer was lost.
                    return found._replace(changed=True, upgrade=upgrade)
                # It ended before the request arrived.
                return found._replace(upgrade=upgrade, reason=nothing)
            if not isinstance(error, Busy):
                raise
            client.wait(POLL_INTERVAL, str(error).rstrip("."))
    found = found._replace(changed=True)
    with reporting(client, lambda: found):
        while True:
            found = found._replace(upgrade=read_latest(client, found.scale_set_id))
            if not wait or found.upgrade is None or not found.upgrade.is_under_way:
                return found
            _pause(client, found, "was not cancelled")


def _follow(client: ArmClient, found: UpgradeChange) -> UpgradeChange:
    """Wait until the upgrade that was read is over, and look how it ended."""
    with reporting(client, lambda: found):
        while found.upgrade is not None and found.upgrade.is_under_way:
            _pause(client, found, "was not over")
            found = found._replace(upgrade=read_latest(client, found.scale_set_id))
    upgrade = found.upgrade
    if upgrade is not None and upgrade.is_broken_off:
        raise Unfinished(
            "The rolling upgrade of %s ended as %s (%s)%s"
            % (_name(found), upgrade.status, upgrade.progress, ": %s" % upgrade.error if upgrade.error else ""),
            found,
        )
    if upgrade is not None and upgrade.failed:
        warning = "The rolling upgrade of %s is over, but %d instances failed" % (_name(found), upgrade.failed)
        return found._replace(warnings=(*found.warnings, warning))
    return found


def _pause(client: ArmClient, found: UpgradeChange, what: str) -> None:
    progress = found.upgrade.progress if found.upgrade is not None else ""
    client.tell(progress)
    try:
        client.wait(POLL_INTERVAL, "The rolling upgrade of %s %s (%s)" % (_name(found), what, progress))
    except OutOfTime as error:
        raise Unfinished("%s. Azure continues it" % error, found) from error


def _seen_last(client: ArmClient, found: UpgradeChange) -> UpgradeChange:
    """The result of a start that failed, as far as it can be determined."""
    try:
        upgrade = read_latest(client, found.scale_set_id)
    except ArmError:
        # There is usually no time left to look: the earlier error says more.
        return found
    return found._replace(changed=_is_new(found, upgrade), upgrade=upgrade)


def _begun_all_the_same(client: ArmClient, found: UpgradeChange) -> UpgradeChange | None:
    """The upgrade that was started although the answer was lost. None if Azure shows none."""
    with contextlib.suppress(ArmError):
        for look in range(_LOOKS_FOR_IT):
            if look:
                client.wait(POLL_INTERVAL, "Azure did not say whether it upgrades %s" % _name(found))
            upgrade = read_latest(client, found.scale_set_id)
            if _is_new(found, upgrade):
                return found._replace(upgrade=upgrade)
    return None


def _is_new(found: UpgradeChange, upgrade: Upgrade | None) -> bool:
    """Whether this is another upgrade than the one that was found before."""
    return upgrade is not None and (found.upgrade is None or upgrade.start_time != found.upgrade.start_time)


def _name(found: UpgradeChange) -> str:
    return found.scale_set_id.rsplit("/", 1)[-1]


def _warnings(resource: Mapping[str, Any]) -> tuple[str, ...]:
    """What Azure is likely to refuse, checked before the request: check mode sends none."""
    properties = resource.get("properties") or {}
    model = properties.get("virtualMachineProfile") or {}
    extensions = (model.get("extensionProfile") or {}).get("extensions") or []
    types = {str((one.get("properties") or {}).get("type")).lower() for one in extensions}
    is_flexible = str(properties.get("orchestrationMode", "")).lower() == "flexible"
    probe = ((model.get("networkProfile") or {}).get("healthProbe") or {}).get("id")
    if types & _HEALTH_EXTENSIONS or (probe and not is_flexible):
        return ()
    return (_explanation(str(resource.get("name")), is_flexible),)


def _explanation(name: str, is_flexible: bool) -> str:
    # A probe does not show the health of a flexible set.
    return _NEEDS_HEALTH % (name, "" if is_flexible else ", or a probe of its load balancer")


def _explain_health(error: ArmError, name: str) -> ArmError:
    """Azure's refusal, with a remedy if the set does not report its instances' health."""
    if error.status == 400 and "health" in str(error).lower():
        return ArmError("%s. %s" % (str(error).rstrip("."), _explanation(name, False)), 400, error.code)
    return error
