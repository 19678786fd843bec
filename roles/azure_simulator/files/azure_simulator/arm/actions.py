# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute over HTTP: instance views, and what an owner may do to machines that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .errors import ArmError, invalid
from .ownership import ResourceLookup
from .power import DEALLOCATE, MAINTAIN, POWER_OFF, REDEPLOY, REIMAGE, RESTART, START, Power
from .resources import ComputeResources, Machine, ScaleSet, enabled
from .routing import COMPUTE, INSTANCE, SET, VM, ArmAnswer, ArmRequest, Handler, Links, Router
from .views import REPAIRS, instance_view, set_view

_ACTIONS = (RESTART, REDEPLOY, POWER_OFF, DEALLOCATE, START, REIMAGE, MAINTAIN)
_SWITCHES = ("skipShutdown",)
"""Query parameters that are accepted and change nothing: how a machine is switched off makes no difference here."""


class Actions:
    """The handlers."""

    def __init__(self, resources: ComputeResources, links: Links) -> None:
        self._resources = resources
        self._links = links
        self._lookup = ResourceLookup(resources)
        self._power = Power(resources)

    def routes(self, router: Router) -> None:
        """Add the routes."""
        for action in _ACTIONS:
            query = _SWITCHES if action == POWER_OFF else ()
            router.add("POST", f"{VM}/{action}", COMPUTE, self._on_vm(action), query)
            router.add("POST", f"{INSTANCE}/{action}", COMPUTE, self._on_instance(action), query)
            router.add("POST", f"{SET}/{action}", COMPUTE, self._on_set(action), query)
        router.add("GET", f"{VM}/instanceView", COMPUTE, self.view_vm)
        router.add("GET", f"{INSTANCE}/instanceView", COMPUTE, self.view_instance)
        router.add("GET", f"{SET}/instanceView", COMPUTE, self.view_set)
        router.add("POST", f"{SET}/setOrchestrationServiceState", COMPUTE, self.set_service)

    # -- views ------------------------------------------------------------------------------------------------

    def view_vm(self, request: ArmRequest) -> ArmAnswer:
        """The state of one VM."""
        return ArmAnswer(200, instance_view(self._lookup.vm(request), self._resources))

    def view_instance(self, request: ArmRequest) -> ArmAnswer:
        """The state of one instance. Members of flexible sets are VMs, and are asked for as VMs."""
        scale_set, machine = self._lookup.instance(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.virtualMachines.instanceView.GET")
        return ArmAnswer(200, instance_view(machine, self._resources))

    def view_set(self, request: ArmRequest) -> ArmAnswer:
        """What a set's instances are doing, in numbers; there is none of a flexible one.

        Source of the refusal: https://github.com/hashicorp/nomad-autoscaler/issues/1096
        """
        scale_set = self._lookup.scale_set(request)
        refuse_flexible(scale_set, "VirtualMachineScaleSets.instanceView.GET")
        return ArmAnswer(200, set_view(scale_set, self._resources))

    # -- actions ----------------------------------------------------------------------------------------------

    def _on_vm(self, action: str) -> Handler:
        def handle(request: ArmRequest) -> ArmAnswer:
            machine = self._lookup.vm(request)
            if action == REIMAGE and self._resources.set_of(machine) is None:
                _check_reimage(request, machine)
            return self._act(request, action, [machine], machine.vm.resource_id, machine.vm.location)

        return handle

    def _on_instance(self, action: str) -> Handler:
        def handle(request: ArmRequest) -> ArmAnswer:
            scale_set, machine = self._lookup.instance(request)
            refuse_flexible(scale_set, f"VirtualMachineScaleSets.virtualMachines.{action}.POST")
            return self._act(request, action, [machine], machine.vm.resource_id, scale_set.location)

        return handle

    def _on_set(self, action: str) -> Handler:
        def handle(request: ArmRequest) -> ArmAnswer:
            scale_set = self._lookup.scale_set(request)
            machines = self._chosen(request, scale_set)
            return self._act(request, action, machines, scale_set.resource_id, scale_set.location)

        return handle

    def _chosen(self, request: ArmRequest, scale_set: ScaleSet) -> list[Machine]:
        """The instances that a body names; all that are not protected where it names none."""
        ids = request.document().get("instanceIds") if request.body.strip() else None
        if ids is None or ids == ["*"]:
            return [m for m in self._resources.instances(scale_set, ["*"]) if not _is_protected(m)]
        if not isinstance(ids, list) or not ids or not all(isinstance(one, str) for one in ids):
            raise invalid("instanceIds", "The value of parameter instanceIds is invalid.")
        return self._resources.instances(scale_set, ids)

    def _act(
        self, request: ArmRequest, action: str, machines: Sequence[Machine], target: str, location: str
    ) -> ArmAnswer:
        operation = self._power.act(action, machines, target, location, request.wanted)
        return ArmAnswer(202, None, self._links.accepted(request, operation, request.names["subscription"]))

    def set_service(self, request: ArmRequest) -> ArmAnswer:
        """Suspend or resume what works for a set in the background: its automatic repairs."""
        scale_set = self._lookup.scale_set(request)
        document = request.document()
        action = _one_of(document, "action", ("Suspend", "Resume"))
        _one_of(document, "serviceName", (REPAIRS,))
        if scale_set.repairs == "NotRunning":
            raise ArmError(
                409,
                "OperationNotAllowed",
                "Operation 'setOrchestrationServiceState' is not allowed on Virtual Machine Scale Set "
                f"'{scale_set.name}' since the service '{REPAIRS}' is not enabled.",
            )

        def done(status: str) -> None:
            if status == "Succeeded":
                scale_set.repairs_suspended = action == "Suspend"

        seconds = self._resources.config.operation_seconds
        operation = self._resources.begin(
            "setOrchestrationServiceState", scale_set.resource_id, scale_set.location, done, request.wanted, seconds
        )
        return ArmAnswer(202, None, self._links.accepted(request, operation, scale_set.subscription))


def refuse_flexible(scale_set: ScaleSet, operation: str) -> None:
    """Refuse what only uniform sets have."""
    if scale_set.flexible:
        raise ArmError(
            400,
            "OperationNotAllowed",
            f"Operation '{operation}' is not allowed on Virtual Machine Scale Set '{scale_set.name}'.",
        )


def _is_protected(machine: Machine) -> bool:
    return enabled((machine.properties.get("protectionPolicy") or {}).get("protectFromScaleSetActions"))


def _check_reimage(request: ArmRequest, machine: Machine) -> None:
    """A single VM is reimaged only from its image's profile or its ephemeral disk."""
    document = request.document() if request.body.strip() else {}
    if not document.get("osProfile"):
        raise ArmError(
            409,
            "OperationNotAllowed",
            f"Operation 'reimage' is not allowed on VM '{machine.name}' since it has no ephemeral OS disk: give an "
            "osProfile.",
        )


def _one_of(document: Mapping[str, object], name: str, allowed: Sequence[str]) -> str:
    value = document.get(name)
    for one in allowed:
        if str(value).lower() == one.lower():
            return one
    raise invalid(name, f"The value '{value}' of parameter '{name}' is invalid here: known are {', '.join(allowed)}.")
