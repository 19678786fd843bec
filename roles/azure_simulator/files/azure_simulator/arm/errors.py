# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Resource Manager says when it refuses, in its own words and envelopes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class ArmError(Exception):
    """A refusal. ``wrapped`` is False for the few answers that come without ``error`` around them."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        target: str | None = None,
        details: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
        wrapped: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.target = target
        self.details = list(details)
        self.headers = dict(headers or {})
        self.wrapped = wrapped

    def inner(self) -> dict[str, Any]:
        """The error itself, as an operation's status shows it too."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.target is not None:
            error["target"] = self.target
        if self.details:
            error["details"] = self.details
        return error

    def body(self) -> dict[str, Any]:
        """The whole answer."""
        return {"error": self.inner()} if self.wrapped else self.inner()


def invalid(target: str, message: str) -> ArmError:
    """An impossible value."""
    return ArmError(400, "InvalidParameter", message, target)


def unknown_member(member: str, owner: str, path: str) -> ArmError:
    """A member that the body's type does not have, in this api-version or at all."""
    message = f"Could not find member '{member}' on object of type '{owner}'. Path '{path}', line 1, position 1."
    return ArmError(400, "BadRequest", message, path)


def not_found(resource_type: str, name: str, group: str) -> ArmError:
    """No such resource."""
    return ArmError(
        404,
        "ResourceNotFound",
        f"The Resource '{resource_type}/{name}' under resource group '{group}' was not found. "
        "For more details please go to https://aka.ms/ARMResourceNotFoundFix",
    )


def no_such_child(resource_id: str) -> ArmError:
    """What Network says of a part of a resource that is not there."""
    return ArmError(404, "NotFound", f"Resource {resource_id} not found.")


def no_such_entity() -> ArmError:
    """What Compute says of instances, of what belongs to a scale set, and of evicted VMs that are not there."""
    return ArmError(404, "NotFound", "The entity was not found in this Azure location.")


def precondition_failed(given: str, current: str) -> ArmError:
    """An If-Match of Compute that does not match."""
    return ArmError(
        412,
        "PreconditionFailed",
        f"The condition '{given}' set in the If-Match header is not met: the ETag of the resource is '{current}'.",
    )


def etag_mismatch(given: str, current: str, resource_id: str) -> ArmError:
    """An If-Match of Network that does not match."""
    message = f"Etag provided in if-match header {given} does not match etag {current} of resource {resource_id}"
    return ArmError(
        412,
        "PreconditionFailed",
        "Precondition failed.",
        details=[{"code": "PreconditionFailedEtagMismatch", "message": f"{message} in NRP data store.", "details": []}],
    )


def forbidden(client: str, action: str, scope: str) -> ArmError:
    """A caller without the permission."""
    return ArmError(
        403,
        "AuthorizationFailed",
        f"The client '{client}' with object id '{client}' does not have authorization to perform action '{action}' "
        f"over scope '{scope}' or the scope is invalid. "
        "If access was recently granted, please refresh your credentials.",
    )


def linked_forbidden(client: str, action: str, scope: str, linked_action: str, linked_scope: str) -> ArmError:
    """A caller without a permission on what the resource is linked to."""
    return ArmError(
        403,
        "LinkedAuthorizationFailed",
        f"The client '{client}' with object id '{client}' has permission to perform action '{action}' on scope "
        f"'{scope}'; however, it does not have permission to perform action(s) '{linked_action}' on the linked "
        f"scope(s) '{linked_scope}' (respectively) or the linked scope(s) are invalid.",
    )


def disallowed(path: str) -> ArmError:
    """A policy of the organization that forbids it; no role would help."""
    name = path.rsplit("/", 1)[-1]
    policy = '{"policyAssignment":{"name":"Only what was agreed"}}'
    message = f"Resource '{name}' was disallowed by policy. Policy identifiers: '[{policy}]'."
    return ArmError(403, "RequestDisallowedByPolicy", message, name)


def locked(path: str, method: str) -> ArmError:
    """A lock on the resource group, or the subscription: a conflict that does not pass by itself."""
    verb = "delete" if method == "DELETE" else "write"
    scope = path.partition("/providers/")[0] or path
    return ArmError(
        409,
        "ScopeLocked",
        f"The scope '{path}' cannot perform {verb} operation because following scope(s) are locked: '{scope}'. Please "
        "remove the lock and try again.",
    )


def concurrent() -> ArmError:
    """Another request is changing the resource. It will be over by itself."""
    return ArmError(
        409,
        "Conflict",
        "The request failed due to conflict with a concurrent request. To resolve it, please refer to "
        "https://aka.ms/activitylog to get more details on the conflicting requests.",
    )


def conflict(message: str) -> ArmError:
    """Another operation holds the resource."""
    return ArmError(409, "OperationNotAllowed", message)


def marked_for_deletion(vm: str, operation: str = "startTenantUpdate") -> ArmError:
    """A VM that is being deleted: nothing of it is changed any more, and none of its interfaces.

    Source of the words: https://github.com/hashicorp/terraform-provider-azurerm/issues/6669.
    """
    return conflict(
        f"Operation '{operation}' is not allowed on VM '{vm}' since the VM is marked for deletion. You can only retry "
        "the Delete operation (or wait for an ongoing one to complete)."
    )


def throttled(group: str, retry_after: int) -> ArmError:
    """Compute's own limit; as a rule without ``error`` around it."""
    return ArmError(
        429,
        "OperationNotAllowed",
        "The server rejected the request because too many requests have been received for this subscription.",
        details=[
            {
                "code": "TooManyRequests",
                "target": group,
                "message": f'{{"operationGroup":"{group}","allowedRequestCount":0,"measuredRequestCount":1}}',
            }
        ],
        headers={
            "Retry-After": str(retry_after),
            "x-ms-ratelimit-remaining-resource": f"Microsoft.Compute/{group}SubscriptionMaximum;0",
        },
        wrapped=False,
    )


def subscription_throttled(subscription: str, caller: str, kind: str, retry_after: int) -> ArmError:
    """Resource Manager's own limit, of one caller in one subscription. Compute's is `throttled`."""
    return ArmError(
        429,
        "SubscriptionRequestsThrottled",
        f"Number of '{kind}' requests for subscription '{subscription}' actor '{caller}' exceeded. Please try "
        f"again after '{retry_after}' seconds after additional tokens are available. "
        "Refer to https://aka.ms/arm-throttling for additional information.",
        headers={"Retry-After": str(retry_after), f"x-ms-ratelimit-remaining-subscription-{kind}s": "0"},
    )


def superseded(operation: str, other: str) -> ArmError:
    """The error of a change of a gateway when another change begins."""
    kind = "PutApplicationGatewayOperation"
    message = f"Operation {kind} ({operation}) was canceled and superseded by operation {kind} ({other})."
    return ArmError(
        409,
        "Canceled",
        "Operation was canceled.",
        details=[{"code": "CanceledAndSupersededDueToAnotherOperation", "message": message}],
    )


def busy(retry_after: int) -> ArmError:
    """The other reason for 429: another operation holds the resource."""
    message = "The request failed due to conflict with a concurrent request. Please retry later."
    return ArmError(
        429,
        "RetryableError",
        "A retryable error occurred.",
        details=[{"code": "RetryableErrorDueToAnotherOperation", "message": message}],
        headers={"Retry-After": str(retry_after)},
    )
