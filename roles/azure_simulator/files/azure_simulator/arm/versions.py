# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The supported api-versions, and the version in which each member of a body appeared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import ArmError, unknown_member

COMPUTE = (
    "2015-06-15",
    "2016-03-30",
    "2016-04-30-preview",
    "2017-03-30",
    "2017-12-01",
    "2018-04-01",
    "2018-06-01",
    "2018-10-01",
    "2019-03-01",
    "2019-07-01",
    "2019-12-01",
    "2020-06-01",
    "2020-12-01",
    "2021-03-01",
    "2021-04-01",
    "2021-07-01",
    "2021-11-01",
    "2022-03-01",
    "2022-08-01",
    "2022-11-01",
    "2023-03-01",
    "2023-07-01",
    "2023-09-01",
    "2024-03-01",
    "2024-07-01",
    "2024-11-01",
    "2025-04-01",
    "2025-11-01",
    "2026-03-01",
    "2026-04-01",
)
NETWORK = (
    "2018-11-01",
    "2019-04-01",
    "2019-11-01",
    "2020-05-01",
    "2020-11-01",
    "2021-02-01",
    "2021-05-01",
    "2021-08-01",
    "2022-01-01",
    "2022-05-01",
    "2022-07-01",
    "2022-09-01",
    "2022-11-01",
    "2023-02-01",
    "2023-04-01",
    "2023-05-01",
    "2023-06-01",
    "2023-09-01",
    "2023-11-01",
    "2024-01-01",
    "2024-03-01",
    "2024-05-01",
    "2024-07-01",
    "2024-10-01",
    "2025-01-01",
    "2025-03-01",
    "2025-05-01",
    "2025-07-01",
    "2025-09-01",
    "2026-01-01",
    "2026-03-01",
)
MAINTENANCE = ("2023-10-01-preview", "2025-10-01-preview", "2025-11-01", "2026-02-01-preview")
RESOURCE_GRAPH = ("2019-04-01", "2020-04-01-preview", "2021-03-01", "2021-06-01-preview", "2022-10-01", "2024-04-01")

SUBSCRIPTIONS = ("2016-06-01", "2018-06-01", "2019-06-01", "2019-11-01", "2020-01-01", "2021-01-01", "2022-12-01")
AUTHORIZATION = ("2015-07-01", "2018-07-01", "2020-04-01-preview", "2022-04-01")
FEATURES = ("2015-12-01", "2021-07-01")

SUPPORTED: Mapping[str, tuple[str, ...]] = {
    "microsoft.compute": COMPUTE,
    "microsoft.network": NETWORK,
    "microsoft.maintenance": MAINTENANCE,
    "microsoft.resourcegraph": RESOURCE_GRAPH,
    "microsoft.resources": SUBSCRIPTIONS,
    "microsoft.authorization": AUTHORIZATION,
    "microsoft.features": FEATURES,
}
"""By provider, in lower case."""

ETAGS_SINCE = "2024-03-01"
"""The first Compute version that shows and checks ETags."""

HOOKS_SINCE = "2025-11-01"
"""The first Compute version that has lifecycle hooks, and their events."""

ACKNOWLEDGE_LIST_SINCE = "2025-10-01-preview"

_DATE = re.compile(r"\d{4}-\d\d-\d\d(-preview)?")


def check(provider: str, resource_type: str, location: str, version: str | None, newest: str = "") -> None:
    """Refuse an api-version that is missing or that the provider does not know.

    ``newest``: of Compute; a cloud may lag behind. Empty: all that there are.
    """
    if version is None:
        raise ArmError(
            400,
            "MissingApiVersionParameter",
            "The api-version query parameter (?api-version=) is required for all requests.",
        )
    supported = SUPPORTED[provider.lower()]
    if newest and supported is COMPUTE:
        supported = tuple(one for one in supported if one <= newest)
    if version in supported:
        return
    if not _DATE.fullmatch(version):
        raise ArmError(
            400,
            "InvalidApiVersionParameter",
            f"The api-version '{version}' is invalid. The supported versions are '{','.join(reversed(supported))}'.",
        )
    raise ArmError(
        400,
        "NoRegisteredProviderFound",
        f"No registered resource provider found for location '{location}' and API version '{version}' for type "
        f"'{resource_type}'. The supported api-versions are '{', '.join(supported)}'. "
        f"The supported locations are '{location}'.",
    )


Shape = Mapping[str, Any]
"""What an object may hold: member name to (since, type name, shape of the member or None for anything)."""

_SWITCH: Shape = {"automaticallyApprove": ("2024-03-01", "", None)}

_EVENTS_PROFILE: Shape = {
    "terminateNotificationProfile": (
        "2019-03-01",
        "TerminateNotificationProfile",
        {"enable": ("", "", None), "notBeforeTimeout": ("", "", None)},
    ),
    "osImageNotificationProfile": (
        "2022-11-01",
        "OSImageNotificationProfile",
        {"enable": ("", "", None), "notBeforeTimeout": ("", "", None)},
    ),
}

_EVENTS_POLICY: Shape = {
    "userInitiatedReboot": ("", "UserInitiatedReboot", _SWITCH),
    "userInitiatedRedeploy": ("", "UserInitiatedRedeploy", _SWITCH),
    "allInstancesDown": ("2025-04-01", "AllInstancesDown", _SWITCH),
    "scheduledEventsAdditionalPublishingTargets": (
        "",
        "ScheduledEventsAdditionalPublishingTargets",
        {
            "eventGridAndResourceGraph": (
                "",
                "EventGridAndResourceGraph",
                {"enable": ("", "", None), "scheduledEventsApiVersion": ("2025-04-01", "", None)},
            )
        },
    ),
}


def _anything(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), ("", "", None))


_PROFILE_NAMES = (
    "osProfile storageProfile networkProfile securityProfile diagnosticsProfile extensionProfile licenseType "
    "billingProfile userData hardwareProfile interconnectBlockProfile securityPostureReference"
)
_HOOKS_MEMBER = (HOOKS_SINCE, "LifecycleHooksProfile", _anything("lifecycleHooks"))
_POLICY_MEMBER = ("2024-03-01", "ScheduledEventsPolicy", _EVENTS_POLICY)

SET_PROFILE: Shape = {
    **_anything(
        f"{_PROFILE_NAMES} priority evictionPolicy capacityReservation applicationProfile serviceArtifactReference "
        "timeCreated"
    ),
    "scheduledEventsProfile": ("2019-03-01", "ScheduledEventsProfile", _EVENTS_PROFILE),
}
SET_PROFILE_UPDATE: Shape = {
    **_anything(_PROFILE_NAMES),
    "scheduledEventsProfile": ("2019-03-01", "ScheduledEventsProfile", _EVENTS_PROFILE),
}
SET: Shape = {
    **_anything(
        "upgradePolicy automaticRepairsPolicy provisioningState overprovision doNotRunExtensionsOnOverprovisionedVMs "
        "uniqueId singlePlacementGroup zoneBalance platformFaultDomainCount proximityPlacementGroup hostGroup "
        "additionalCapabilities scaleInPolicy orchestrationMode spotRestorePolicy priorityMixPolicy timeCreated "
        "constrainedMaximumCapacity resiliencyPolicy zonalPlatformFaultDomainAlignMode skuProfile "
        "highSpeedInterconnectPlacement externalHealthPolicy"
    ),
    "virtualMachineProfile": ("", "VirtualMachineProfile", SET_PROFILE),
    "lifecycleHooksProfile": _HOOKS_MEMBER,
    "scheduledEventsPolicy": _POLICY_MEMBER,
}
SET_UPDATE: Shape = {
    **_anything(
        "upgradePolicy automaticRepairsPolicy overprovision doNotRunExtensionsOnOverprovisionedVMs "
        "singlePlacementGroup additionalCapabilities scaleInPolicy proximityPlacementGroup priorityMixPolicy "
        "spotRestorePolicy resiliencyPolicy zonalPlatformFaultDomainAlignMode skuProfile"
    ),
    "virtualMachineProfile": ("", "VirtualMachineProfile", SET_PROFILE_UPDATE),
    "lifecycleHooksProfile": _HOOKS_MEMBER,
}
MACHINE: Shape = {
    **_anything(
        "hardwareProfile flexProfile storageProfile additionalCapabilities osProfile networkProfile securityProfile "
        "diagnosticsProfile availabilitySet virtualMachineScaleSet proximityPlacementGroup priority evictionPolicy "
        "billingProfile host hostGroup provisioningState instanceView licenseType vmId extensionsTimeBudget "
        "platformFaultDomain userData capacityReservation interconnectBlockProfile applicationProfile timeCreated "
        "resiliencyProfile"
    ),
    "scheduledEventsProfile": ("2021-03-01", "ScheduledEventsProfile", _EVENTS_PROFILE),
    "scheduledEventsPolicy": _POLICY_MEMBER,
}
AVAILABILITY_SET: Shape = {
    **_anything(
        "platformUpdateDomainCount platformFaultDomainCount virtualMachines proximityPlacementGroup statuses "
        "virtualMachineScaleSetMigrationInfo"
    ),
    "scheduledEventsPolicy": _POLICY_MEMBER,
}


def check_members(value: object, owner: str, shape: Shape, version: str, path: str = "properties") -> None:
    """Refuse a body with a member that its type has not in this version, as Compute does."""
    if not isinstance(value, dict):
        return
    for name, item in value.items():
        member = shape.get(name)
        if member is None or version < member[0]:
            raise unknown_member(name, owner, f"{path}.{name}")
        if member[2] is not None:
            check_members(item, member[1], member[2], version, f"{path}.{name}")


def hide_members(value: dict[str, Any], shape: Shape, version: str) -> dict[str, Any]:
    """The same object without the members that the version does not know."""
    return dict(_seen(value, shape, version))


def _seen(value: Mapping[str, Any], shape: Shape, version: str) -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        member = shape.get(name)
        if member is not None and version < member[0]:
            continue
        if member is not None and member[2] is not None and isinstance(item, dict):
            yield name, hide_members(item, member[2], version)
        else:
            yield name, item
