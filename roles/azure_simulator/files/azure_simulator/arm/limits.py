# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which limit a request counts against: Resource Manager's, and Compute's own."""

from __future__ import annotations

from typing import NamedTuple


class _Limits(NamedTuple):
    """The names of Compute's limits for one type of resource, by what is done."""

    one: str
    all: str
    put: str
    update: str
    delete: str
    act: str


_VMS = _Limits("LowCostGet", "HighCostGet", "PutVM", "UpdateVM", "DeleteVM", "UpdateVM")
# The first that fits.
_COUNTED = (
    (
        "virtualmachinescalesets/virtualmachines",
        _Limits(
            "GetVMScaleSetVM",
            "HighCostGetVMScaleSet",
            "UpdateVMScaleSetVM",
            "UpdateVMScaleSetVM",
            "DeleteVMScaleSetVM",
            "VMScaleSetVMActions",
        ),
    ),
    (
        "virtualmachinescalesets",
        _Limits(
            "GetVMScaleSet",
            "HighCostGetVMScaleSet",
            "CreateVMScaleSet",
            "UpdateVMScaleSet",
            "DeleteVMScaleSet",
            "VMScaleSetActions",
        ),
    ),
    ("virtualmachines", _VMS),
    ("availabilitysets", _VMS),
    ("operations", _Limits(*["GetOperation"] * len(_Limits._fields))),
)
_LISTED = ("virtualmachines", "virtualmachinescalesets", "availabilitysets")
_LIKE_A_DELETION = ("deallocate", "simulateeviction")  # of a VM


def counted_as(method: str) -> str:
    """What Resource Manager counts a request as: a read, a write or a delete."""
    return {"GET": "read", "DELETE": "delete"}.get(method, "write")


def operation_group(method: str, path: str) -> str:
    """What Compute counts a request as. Empty: another provider answers it, perhaps below a resource of Compute.

    Sources of the names: azure-cli's recordings test_vm_redeploy and test_vm_simulate_eviction (LowCostGet,
    HighCostGet, UpdateVM, DeleteVM), test_vmss_terminate_notification and test_vmss_simulate_eviction (of scale sets
    and their instances), azure-sdk-for-js (PutVM, of availability sets as well), and
    https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits. That of a write or a deletion of an
    instance is a guess.
    """
    lower = path.lower()
    kind = resource_type(lower).removeprefix("locations/")
    limits = next((limits for prefix, limits in _COUNTED if kind.startswith(prefix)), None)
    is_compute = lower.rpartition("/providers/")[2].startswith("microsoft.compute/")
    if limits is None or not is_compute or "networkinterfaces" in kind:
        return ""
    last = lower.rpartition("/")[2]
    if method == "GET":
        return limits.all if last in _LISTED else limits.one
    if method == "POST":
        return limits.delete if limits is _VMS and last in _LIKE_A_DELETION else limits.act
    return {"PUT": limits.put, "DELETE": limits.delete}.get(method, limits.update)


def resource_type(path: str) -> str:
    """The type of a resource without its provider, like virtualMachineScaleSets/virtualMachines."""
    segments = path.strip("/").split("/")
    lower = [segment.lower() for segment in segments]
    if "providers" not in lower:
        return ""
    return "/".join(segments[lower.index("providers") + 2 :: 2])
