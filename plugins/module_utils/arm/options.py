# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The options that the modules of the control plane share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError

# Azure allows fewer characters in names of resources and groups. These cannot be in any name.
_NAME = re.compile(r"[\w()-](?:[\w.()-]{0,88}[\w()-])?\Z")

_SUBSCRIPTION = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


ArgumentSpec = dict[str, dict[str, Any]]


class Places(NamedTuple):
    """Where somebody wants to look. Neither: where the sign-in belongs."""

    subscriptions: tuple[str, ...] = ()
    management_group: str | None = None
    """Its id, the last part of its resource id: all subscriptions below it, at whatever depth."""


def read_places(options: Mapping[str, Any]) -> Places:
    """Check where is looked.

    :raises OptionError: if one of them cannot be, or if both are given
    """
    places = Places(tuple(read_subscriptions(options)), read_optional_name(options, "management_group"))
    if places.subscriptions and places.management_group is not None:
        raise OptionError(
            "management_group excludes subscriptions: it includes all subscriptions below it. Set one of them"
        )
    return places


def read_name(options: Mapping[str, Any], option: str) -> str:
    """Check the name of a resource or a resource group.

    :raises OptionError: if it cannot be one
    """
    value = str(options[option]).strip()
    if not _NAME.match(value):
        raise OptionError("%s: %r is not a name in Azure. Give the name alone, not the id" % (option, options[option]))
    return value


def read_optional_name(options: Mapping[str, Any], option: str) -> str | None:
    """Check the name of a resource or a resource group, if one is given.

    :raises OptionError: if it cannot be one
    """
    return read_name(options, option) if options.get(option) is not None else None


def read_subscriptions(options: Mapping[str, Any]) -> list[str]:
    """Check the subscriptions whose events are read.

    :returns: empty if none was given
    :raises OptionError: on the first that cannot be one
    """
    subscriptions = [str(one).strip() for one in options.get("subscriptions") or ()]
    for one in subscriptions:
        if not _SUBSCRIPTION.match(one):
            raise OptionError("subscriptions: %r is not the id of a subscription, which is a GUID" % one)
    return subscriptions


def places_arguments() -> ArgumentSpec:
    """Options that say in which subscriptions is looked."""
    return {"subscriptions": {"type": "list", "elements": "str"}, "management_group": {"type": "str"}}


def scale_set_arguments() -> ArgumentSpec:
    """Options that name one scale set."""
    return {"resource_group": {"type": "str", "required": True}, "name": {"type": "str", "required": True}}
