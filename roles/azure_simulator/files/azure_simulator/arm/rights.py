# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What callers may do, as Microsoft.Authorization tells and every provider heeds it; and preview features.

Sources of the shapes: the examples of the REST specification, Microsoft.Authorization 2022-04-01 (permissions,
roleAssignments) and Microsoft.Features 2021-07-01.
"""

from __future__ import annotations

import re
import uuid

from .config import ArmConfig, PermissionConfig, RoleConfig
from .errors import ArmError, invalid
from .routing import ArmAnswer, ArmRequest, Pager, Router

AUTHORIZATION = "Microsoft.Authorization"
FEATURES = "Microsoft.Features"

_SCOPES = (
    "/subscriptions/{subscription}",
    "/subscriptions/{subscription}/resourceGroups/{group}",
    "/subscriptions/{subscription}/resourceGroups/{group}/providers/Microsoft.Compute/{type}/{name}",
)
_FEATURE = "/subscriptions/{subscription}/providers/Microsoft.Features/providers/{namespace}/features/{feature}"
_AT_SCOPE = "atscope()"
_WHERE = "/providers/Microsoft.Authorization/"


class Rights:
    """The handlers. All callers have the same permissions here."""

    def __init__(self, config: ArmConfig, pager: Pager) -> None:
        self._permissions = config.permissions
        self._features = {name.lower(): state for name, state in config.features.items()}
        self._roles = config.role_assignments
        self._pager = pager

    def routes(self, router: Router) -> None:
        """Make them known."""
        for scope in _SCOPES:
            router.add("GET", f"{scope}{_WHERE}permissions", AUTHORIZATION, self.permissions)
            router.add("GET", f"{scope}{_WHERE}roleAssignments", AUTHORIZATION, self.assignments, query=["$filter"])
        router.add("GET", _FEATURE, FEATURES, self.feature)

    def permits(self, action: str, resource_id: str) -> bool:
        """Whether callers may do this to a resource."""
        return any(
            _has(one.actions, action) and not _has(one.not_actions, action) and _holds(one, resource_id)
            for one in self._permissions
        )

    def permissions(self, request: ArmRequest) -> ArmAnswer:
        """The caller's permissions, one for each role that gives some."""
        shown = [
            {"actions": [*one.actions], "notActions": [*one.not_actions], "dataActions": [], "notDataActions": []}
            for one in self._permissions
            if _holds(one, _scope_of(request))
        ]
        return self._pager.page(request, shown)

    def assignments(self, request: ArmRequest) -> ArmAnswer:
        """The roles that are assigned on a scope or above."""
        wanted = request.query.get("$filter", "")
        if wanted.lower() != _AT_SCOPE:
            raise invalid("$filter", f"The filter '{wanted}' is not supported by this simulator; only 'atScope()' is.")
        scope = _scope_of(request)
        return self._pager.page(
            request, [_shown(role, request.names["subscription"]) for role in self._roles if _holds(role, scope)]
        )

    def feature(self, request: ArmRequest) -> ArmAnswer:
        """Whether a subscription has a preview feature."""
        namespace, feature = request.names["namespace"], request.names["feature"]
        state = self._features.get(f"{namespace}/{feature}".lower())
        if state is None:
            raise ArmError(404, "FeatureNotFound", f"The feature '{feature}' could not be found.")
        shown = {
            "properties": {"state": state},
            "id": request.path,
            "type": "Microsoft.Features/providers/features",
            "name": f"{namespace}/{feature}",
        }
        return ArmAnswer(200, shown)


def _has(patterns: tuple[str, ...], action: str) -> bool:
    return any(
        re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), action, re.IGNORECASE)
        for pattern in patterns
    )


def _scope_of(request: ArmRequest) -> str:
    return request.path[: request.path.lower().rindex(_WHERE.lower())]


def _holds(role: RoleConfig | PermissionConfig, scope: str) -> bool:
    return f"{scope}/".lower().startswith(f"{role.scope.rstrip('/')}/".lower())


def _shown(role: RoleConfig, subscription: str) -> dict[str, object]:
    name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{role.scope}/{role.role}/{role.principal_id}".lower()))
    place = f"/subscriptions/{subscription}/providers/Microsoft.Authorization"
    return {
        "properties": {
            "roleDefinitionId": f"{place}/roleDefinitions/{role.role}",
            "principalId": role.principal_id,
            "principalType": role.principal_type,
            "scope": role.scope,
        },
        "id": f"{role.scope.rstrip('/')}{_WHERE}roleAssignments/{name}",
        "type": "Microsoft.Authorization/roleAssignments",
        "name": name,
    }
