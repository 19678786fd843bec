# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests and answers of Resource Manager, and which path leads where."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple
from urllib.parse import quote

from .errors import ArmError
from .operations import Operation
from .outcomes import Ending

COMPUTE = "Microsoft.Compute"
# Paths of its resources.
SUBSCRIPTION = f"/subscriptions/{{subscription}}/providers/{COMPUTE}"
GROUP = f"/subscriptions/{{subscription}}/resourceGroups/{{group}}/providers/{COMPUTE}"
SET = f"{GROUP}/virtualMachineScaleSets/{{set}}"
INSTANCE = f"{SET}/virtualMachines/{{instance}}"
VM = f"{GROUP}/virtualMachines/{{vm}}"


@dataclass
class ArmRequest:
    """One request, its target taken apart. ``base`` is the address it was sent to, for links."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    base: str
    caller: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    wanted: Ending | None = None
    concurrent_edit: bool = False

    def document(self) -> dict[str, Any]:
        """The body as a JSON object; refuses anything else."""
        try:
            document = json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise ArmError(
                400,
                "InvalidRequestContent",
                f"The request content was invalid and could not be deserialized: '{error}'.",
            ) from error
        if not isinstance(document, dict):
            raise ArmError(400, "InvalidRequestContent", "The request content was invalid: it is not a JSON object.")
        return document


class ArmAnswer(NamedTuple):
    """An answer before it is sent; ``body`` None is an empty one."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}


Handler = Callable[[ArmRequest], ArmAnswer]


class Route(NamedTuple):
    """A method and path that lead to a handler."""

    method: str
    segments: tuple[str, ...]
    provider: str
    handler: Handler
    query: frozenset[str] | None
    """What a query may say, in lower case, besides what each may; None: anything."""

    def check_query(self, query: Mapping[str, str]) -> None:
        """Refuse by its name what would make a difference in Azure, and does not here."""
        for name in query:
            if self.query is not None and name.lower() not in self.query | _ALWAYS:
                raise ArmError(
                    400,
                    "InvalidParameter",
                    f"The query parameter '{name}' is not supported here, by this simulator or at all.",
                    name,
                )


_RETRY_AFTER = 10  # real seconds
_ALWAYS = frozenset(["api-version", "$skiptoken"])


class Router:
    """Finds the handler of a path. Fixed segments are compared without case, as Resource Manager does."""

    def __init__(self) -> None:
        self._routes: list[Route] = []

    def add(
        self, method: str, template: str, provider: str, handler: Handler, query: Collection[str] | None = ()
    ) -> None:
        """Have paths like ``/a/{name}`` handled.

        ``provider`` says which api-versions count, ``query`` what may be asked besides; None: anything.
        """
        known = None if query is None else frozenset(name.lower() for name in query)
        self._routes.append(Route(method, tuple(template.strip("/").split("/")), provider, handler, known))

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route and the names in the path; refuses what leads nowhere with 404, or 405."""
        segments = path.strip("/").split("/")
        allowed = []
        for route in self._routes:
            names = _match(route.segments, segments)
            if names is None:
                continue
            if route.method == method:
                return route, names
            allowed.append(route.method)
        if allowed:
            message = f"The http method '{method}' is not supported for a resource of this type."
            raise ArmError(405, "HttpMethodNotSupported", message, headers={"Allow": ", ".join(allowed)})
        raise ArmError(404, "InvalidResourceType", f"The resource type could not be found at '{path}'.")


def _match(template: tuple[str, ...], segments: list[str]) -> dict[str, str] | None:
    if len(template) != len(segments):
        return None
    names = {}
    for wanted, given in zip(template, segments):
        if wanted.startswith("{"):
            names[wanted[1:-1]] = given
        elif wanted.lower() != given.lower():
            return None
    return names


class Pager:
    """Cuts lists into pages joined by nextLink, which repeats a filter as it was decoded.

    Source: https://github.com/Azure/azure-rest-api-specs/issues/25640
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def page(self, request: ArmRequest, items: list[Any]) -> ArmAnswer:
        """One page of a list."""
        token = request.query.get("$skiptoken", request.query.get("$skipToken", "0"))
        if not token.isdecimal():
            raise ArmError(400, "InvalidParameter", "The $skipToken is invalid.", "$skipToken")
        start = int(token)
        body: dict[str, Any] = {"value": items[start : start + self._size]}
        if start + self._size < len(items):
            rest = {**request.query, "$skiptoken": str(start + self._size)}
            body["nextLink"] = f"{request.base}{request.path}?" + "&".join(
                f"{key}={value if key == '$filter' else quote(value, safe='')}" for key, value in rest.items()
            )
        return ArmAnswer(200, body)


class Links:
    """Where operations are polled, and the headers that say so."""

    def __init__(self, retry_after: int | None) -> None:
        self._retry_after = retry_after

    def again(self, operation: Operation) -> dict[str, str]:
        """The header that says when to ask again, which Compute leaves out.

        Source: recordings of Azure/azure-xplat-cli and Azure/azure-sdk-for-ruby; those of azure-cli never have it.
        """
        seconds = self._retry_after
        if seconds is None and operation.provider != COMPUTE:
            seconds = _RETRY_AFTER
        return {} if seconds is None else {"Retry-After": str(seconds)}

    def polling(self, request: ArmRequest, operation: Operation, subscription: str) -> str:
        """The address of an operation; its query does not matter."""
        return (
            f"{request.base}/subscriptions/{subscription}/providers/{operation.provider}/locations/"
            f"{operation.location}/operations/{operation.operation_id}"
            f"?p={subscription}&api-version={request.version}&t=1&c=MII&s=c2lnbmF0dXJl&h=aGFzaA"
        )

    def asynchronous(self, request: ArmRequest, operation: Operation, subscription: str) -> dict[str, str]:
        """The headers of a 200 or 201 whose work goes on."""
        return {
            "Azure-AsyncOperation": self.polling(request, operation, subscription),
            "Azure-AsyncNotification": "Enabled",
        }

    def located(self, request: ArmRequest, operation: Operation, subscription: str) -> dict[str, str]:
        """The headers of a 202 whose answer is fetched from Location."""
        where = self.polling(request, operation, subscription)
        return {"Location": f"{where}&monitor=true", **self.again(operation)}

    def accepted(self, request: ArmRequest, operation: Operation, subscription: str) -> dict[str, str]:
        """The headers of a 202."""
        where = self.polling(request, operation, subscription)
        return {
            "Azure-AsyncOperation": where,
            "Azure-AsyncNotification": "Enabled",
            "Location": f"{where}&monitor=true",
            **self.again(operation),
        }
