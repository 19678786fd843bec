# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may a user set?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.options import (
    Places,
    read_name,
    read_places,
    read_subscriptions,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

GUID = "5B2F6A3C-1111-4c4d-9a51-000000000001"


@pytest.mark.parametrize("name", ["web", "Web-1_b", "shop.(test)", "x", "a" * 90, "größe"])
def test_given_a_name_then_it_is_taken(name: str) -> None:
    assert read_name({"name": " %s " % name}, "name") == name


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "/subscriptions/x", "a b", "web.", ".web", "a" * 91, "x?y", "x%2F", "a\nb"]
)
def test_given_something_that_is_no_name_then_it_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=r"resource_group: .* is not a name in Azure"):
        read_name({"resource_group": name}, "resource_group")


def test_given_subscriptions_then_they_are_taken() -> None:
    assert read_subscriptions({"subscriptions": [" %s" % GUID]}) == [GUID]


@pytest.mark.parametrize("options", [{}, {"subscriptions": None}, {"subscriptions": []}])
def test_given_no_subscriptions_then_the_one_of_the_sign_in_is_used(options: dict[str, list[str]]) -> None:
    assert read_subscriptions(options) == []


def test_given_a_management_group_then_it_replaces_subscriptions() -> None:
    assert read_places({"management_group": " shop "}) == Places((), "shop")
    assert read_places({"subscriptions": [GUID]}) == Places((GUID,), None)
    assert read_places({}) == Places()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"management_group": "shop", "subscriptions": [GUID]}, "management_group excludes subscriptions"),
        ({"management_group": "/providers/Microsoft.Management/managementGroups/shop"}, "Give the name alone"),
        ({"management_group": ""}, "management_group: '' is not a name"),
    ],
)
def test_given_an_invalid_management_group_then_it_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_places(options)
