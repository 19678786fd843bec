# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of Resource Manager on request: answers that go wrong, operations that fail, instances that never update."""

from __future__ import annotations

import fnmatch
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from .. import faults
from ..faults import METHODS, FaultPlan
from ..reading import Fields
from .errors import (
    ArmError,
    busy,
    concurrent,
    conflict,
    disallowed,
    forbidden,
    linked_forbidden,
    locked,
    subscription_throttled,
    throttled,
)
from .limits import counted_as, operation_group
from .outcomes import CANCELED, FAILED, NEVER, Ending

ERROR = "error"
OPERATION = "operation"
STUCK = "stuck"
CONCURRENT_EDIT = "concurrent_edit"

WIRE_KINDS = faults.KINDS
"""The kinds that IMDS has as well."""

KINDS = (ERROR, OPERATION, STUCK, CONCURRENT_EDIT, *WIRE_KINDS)
ERRORS = (
    "throttled",
    "subscription_throttled",
    "busy",
    "forbidden",
    "linked",
    "policy",
    "locked",
    "conflict",
    "concurrent",
    "not_found",
    "unavailable",
)
OUTCOMES = (FAILED, CANCELED, NEVER)

_EVERYTHING = ("/subscriptions/*", "/providers/*")
_LINKED_ACTION = "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action"
_LINKED_SCOPE = (
    "/subscriptions/of-others/resourceGroups/theirs/providers/Microsoft.ManagedIdentity/userAssignedIdentities/x"
)
_MEANT_FOR = {
    "error": (ERROR,),
    "retry_after": (ERROR,),
    "outcome": (OPERATION,),
    "code": (ERROR, OPERATION),
    "message": (ERROR, OPERATION),
    "vms": (STUCK,),
}


@dataclass(frozen=True)
class ArmFaultPlan:
    """What goes wrong.

    ``paths`` are patterns (``*`` is anything) of whole paths, compared without case. ``count`` requests or
    ``lasting`` real seconds, whatever is over first; without both the fault stays until it is removed.
    """

    kind: str
    paths: tuple[str, ...]
    methods: tuple[str, ...]
    count: int | None
    lasting: float | None
    error: str | None
    retry_after: int
    outcome: str
    code: str | None
    message: str | None
    vms: tuple[str, ...]
    wire: FaultPlan | None

    def hits(self, method: str, path: str, kinds: Container[str]) -> bool:
        """Whether it applies to this request, and is of one of these kinds."""
        return (
            self.kind in kinds
            and (not self.methods or method in self.methods)
            and any(fnmatch.fnmatchcase(path.lower(), pattern.lower()) for pattern in self.paths)
        )

    def holds_back(self, vm: str) -> bool:
        """Whether it keeps this instance from getting the latest model."""
        return self.kind == STUCK and vm in self.vms

    def record(self) -> dict[str, Any]:
        """The plan as the control API shows it."""
        return {
            "kind": self.kind,
            "paths": list(self.paths),
            "methods": list(self.methods),
            "error": self.error,
            "outcome": self.outcome if self.kind == OPERATION else None,
            "vms": list(self.vms),
        }

    def failure(self, client: str, path: str, method: str) -> ArmError:
        """The error that the kind ``error`` answers with."""
        error = self._named(client, path, method)
        if self.code is not None:
            error.code = self.code
        if self.message is not None:
            error.message = self.message
        return error

    def _named(self, client: str, path: str, method: str) -> ArmError:
        if self.error == "throttled":
            return throttled(operation_group(method, path) or "HighCostGet", self.retry_after)
        if self.error == "subscription_throttled":
            subscription = path.strip("/").split("/")[1] if path.lower().startswith("/subscriptions/") else "tenant"
            return subscription_throttled(subscription, client, counted_as(method), self.retry_after)
        if self.error == "busy":
            return busy(self.retry_after)
        if self.error == "forbidden":
            return forbidden(client, action_of(method, path), path)
        if self.error == "linked":
            return linked_forbidden(client, action_of(method, path), path, _LINKED_ACTION, _LINKED_SCOPE)
        if self.error == "policy":
            return disallowed(path)
        if self.error == "locked":
            return locked(path, method)
        if self.error == "concurrent":
            return concurrent()
        if self.error == "not_found":
            return ArmError(404, "ResourceNotFound", f"The Resource at '{path}' was not found.")
        if self.error == "unavailable":
            return ArmError(503, "ServiceUnavailable", "The service is unavailable. Please try again later.")
        return conflict("The operation is not allowed: another operation on the resource is in progress.")

    def verdict(self) -> Ending:
        """How the kind ``operation`` makes an operation end."""
        if self.outcome == NEVER:
            return Ending(NEVER)
        if self.outcome == CANCELED:
            code, message = "OperationPreempted", "Operation execution has been preempted by a more recent operation."
        else:
            code, message = "InternalExecutionError", "An internal execution error occurred. Please retry later."
        return Ending(self.outcome, ArmError(409, self.code or code, self.message or message))


def action_of(method: str, path: str) -> str:
    """The permission that a request needs, like Microsoft.Compute/virtualMachineScaleSets/write."""
    segments = path.strip("/").split("/")
    lower = [segment.lower() for segment in segments]
    if "providers" not in lower:
        return "Microsoft.Resources/subscriptions/read"
    rest = segments[len(lower) - 1 - lower[::-1].index("providers") + 1 :]
    provider, tail = rest[0], rest[1:]
    types = tail[::2]
    if method == "POST":
        verb = f"{tail[-1]}/action" if len(tail) % 2 else "action"
        types = tail[:-1:2] if len(tail) % 2 else types
    else:
        verb = {"GET": "read", "DELETE": "delete"}.get(method, "write")
    return "/".join([provider, *types, verb])


def read_fault(raw: object, path: str, mistakes: list[str], vms: Container[str]) -> ArmFaultPlan:
    """A fault as configuration and control API write it; adds to ``mistakes``."""
    fields = Fields(raw, path, mistakes)
    fields.required("kind", f"one of {', '.join(KINDS)}")
    kind = fields.text("kind", ERROR, KINDS) or ERROR
    plan = ArmFaultPlan(
        kind=kind,
        paths=fields.texts("paths") or _EVERYTHING,
        methods=fields.texts("methods", METHODS) or (),
        count=fields.optional_integer("count", 1, 10**9),
        lasting=fields.optional_number("for", above=True),
        error=fields.text("error", None, ERRORS),
        retry_after=fields.integer("retry_after", 1, 0, 3600),
        outcome=fields.text("outcome", FAILED, OUTCOMES) or FAILED,
        code=fields.text("code"),
        message=fields.text("message"),
        vms=fields.texts("vms") or (),
        wire=_wire(fields, raw, kind, vms),
    )
    if kind == ERROR:
        fields.required("error", f"one of {', '.join(ERRORS)}")
    if kind == STUCK:
        fields.required("vms", "the names of the instances that never get the latest model")
    for key, kinds in _MEANT_FOR.items():
        if fields.raw(key) is not None and kind not in kinds:
            fields.wrong(key, f"has no effect with the kind {kind}, only for {', '.join(kinds)}")
    fields.close()
    return plan


def _wire(fields: Fields, raw: object, kind: str, vms: Container[str]) -> FaultPlan | None:
    """The part that IMDS has as well: faults of the answer or of the connection."""
    own = ("status", "body", "headers", "seconds", "bytes_per_second", "applied")
    if kind not in WIRE_KINDS or not isinstance(raw, dict):
        return None
    for key in own:
        fields.has(key)
    part = {key: raw[key] for key in own if key in raw}
    return faults.read_fault({"vm": faults.EVERY_VM, "kind": kind, **part}, fields.path, fields.mistakes, vms)
