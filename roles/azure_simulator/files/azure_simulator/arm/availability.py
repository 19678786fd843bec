# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Microsoft.Compute over HTTP: availability sets. All of it is done at once."""

from __future__ import annotations

import copy

from . import versions
from .documents import show_availability_set
from .errors import ArmError, conflict
from .ownership import ResourceLookup, is_listed
from .policies import check_policy
from .resources import AvailabilitySet, ComputeResources, merge, plain_location
from .routing import COMPUTE, GROUP, SUBSCRIPTION, ArmAnswer, ArmRequest, Pager, Router

_ONE = f"{GROUP}/availabilitySets/{{name}}"

_KEPT = ("platformUpdateDomainCount", "platformFaultDomainCount")
"""The members of a set that cannot be changed."""


class AvailabilitySets:
    """The handlers."""

    def __init__(self, resources: ComputeResources, pager: Pager) -> None:
        self._resources = resources
        self._pager = pager
        self._lookup = ResourceLookup(resources)

    def routes(self, router: Router) -> None:
        """Add the routes."""
        router.add("GET", f"{SUBSCRIPTION}/availabilitySets", COMPUTE, self.list_all)
        router.add("GET", f"{GROUP}/availabilitySets", COMPUTE, self.list_all)
        router.add("GET", _ONE, COMPUTE, self.get)
        router.add("PUT", _ONE, COMPUTE, self.put)
        router.add("PATCH", _ONE, COMPUTE, self.patch)
        router.add("DELETE", _ONE, COMPUTE, self.delete)

    def list_all(self, request: ArmRequest) -> ArmAnswer:
        """All of a subscription, or of a resource group in it."""
        shown = [
            show_availability_set(found, self._resources, request.version)
            for found in self._resources.availability_sets.values()
            if is_listed(request, found.subscription, found.group, found.location)
        ]
        return self._pager.page(request, shown)

    def get(self, request: ArmRequest) -> ArmAnswer:
        """One of them."""
        return self._show(request, self._lookup.availability_set(request))

    def put(self, request: ArmRequest) -> ArmAnswer:
        """Replace one, or create it."""
        location = request.document().get("location")
        if not isinstance(location, str):
            message = "The location property is required for this definition."
            raise ArmError(400, "LocationRequired", message, "location")
        key = self._lookup.availability_set_id(request)
        found = self._resources.availability_sets.get(key)
        if found is None:
            names = request.names
            found = AvailabilitySet(names["subscription"], names["group"], names["name"], plain_location(location))
            found.sku = {"name": "Classic"}
            self._change(request, found, replace=True)
            self._resources.availability_sets[key] = found
        elif plain_location(found.location) != plain_location(location):
            message = f"The resource '{found.name}' already exists in location '{found.location}'."
            raise ArmError(409, "InvalidResourceLocation", message)
        else:
            self._change(request, found, replace=True)
        return self._show(request, found)

    def patch(self, request: ArmRequest) -> ArmAnswer:
        """Merge a few members into one."""
        found = self._lookup.availability_set(request)
        self._change(request, found, replace=False)
        return self._show(request, found)

    def delete(self, request: ArmRequest) -> ArmAnswer:
        """Delete one that is empty."""
        key = self._lookup.availability_set_id(request)
        found = self._resources.availability_sets.get(key)
        if found is None:
            return ArmAnswer(204)
        if self._resources.members_of(found):
            raise conflict(
                f"Availability Set '{found.name}' cannot be deleted. Before deleting an Availability Set please ensure "
                "that it does not contain any VM."
            )
        del self._resources.availability_sets[key]
        return ArmAnswer(200)

    def _show(self, request: ArmRequest, found: AvailabilitySet) -> ArmAnswer:
        return ArmAnswer(200, show_availability_set(found, self._resources, request.version))

    @staticmethod
    def _change(request: ArmRequest, found: AvailabilitySet, replace: bool) -> None:
        document = request.document()
        patch = dict(document.get("properties") or {})
        versions.check_members(patch, "AvailabilitySetProperties", versions.AVAILABILITY_SET, request.version)
        patch.pop("virtualMachines", None)
        properties = copy.deepcopy(found.properties)
        if replace:
            properties = {key: properties[key] for key in _KEPT}
        merge(properties, patch)
        check_policy(properties.get("scheduledEventsPolicy"))
        found.properties = properties
        if "tags" in document or replace:
            found.tags = dict(document.get("tags") or {})
        if isinstance(document.get("sku"), dict):
            merge(found.sku, document["sku"])
