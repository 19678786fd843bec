# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which servers are meant?"""

from typing import Any, Dict, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.choice import called, find_ambiguous
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.plan import ServerState


def server(place: str, address: str, port: int = 80) -> ServerState:
    backend, name = place.split("/")
    return ServerState(backend, name, 3, 1, 2, 0, 100, address=address, port=port)


# As HAProxy shows them. Slots of a template have no address as long as they are not used.
SERVERS = [
    server("web/app1", "10.0.0.4"),
    server("web/app2", "2001:db8::4"),
    server("web/app3", ""),
    server("web/app4", "::ffff:10.0.0.6"),
    server("api/app1", "10.0.0.4", 8080),
    server("api/10.0.0.5", "10.0.0.7"),
    server("api/other", "10.0.0.5"),
]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("app1", ["web/app1", "api/app1"]),
        ("10.0.0.4", ["web/app1", "api/app1"]),
        ("10.0.0.4:8080", ["api/app1"]),
        ("10.0.0.40", []),
        ("2001:DB8:0:0::4", ["web/app2"]),
        ("[2001:db8::4]", ["web/app2"]),
        ("[2001:db8::4]:80", ["web/app2"]),
        ("[2001:db8::4]:81", []),
        ("10.0.0.6", ["web/app4"]),
        # A name comes first.
        ("10.0.0.5", ["api/10.0.0.5"]),
        # The inventory may have a name of DNS as the address of a host.
        ("app1.example.com", []),
        ("0.0.0.0", []),
        ("", []),
    ],
)
def test_given_a_name_or_an_address_when_servers_are_chosen_then_the_spelling_of_an_address_does_not_matter(
    name: str, places: List[str]
) -> None:
    assert [one.place for one in called(SERVERS, name)] == places


@pytest.mark.parametrize(
    ("address", "ports", "example"),
    [("10.0.0.4", {"app1": 80, "app2": 81}, "10.0.0.4:80"), ("2001:db8::4", {"a": 1, "b": 1}, "[2001:db8::4]:80")],
)
def test_given_two_servers_of_a_backend_at_one_address_when_it_is_given_then_they_are_named_with_the_remedy(
    address: str, ports: Dict[str, int], example: str
) -> None:
    alike: List[Any] = [server("web/" + name, address, port) for name, port in ports.items()]
    apart = [server("api/app1", address)]

    said = str(find_ambiguous(called([*apart, *alike], address), address))

    assert "%s is the address of %s in backend web. Give the name" % (address, " and ".join(ports)) in said
    assert said.endswith(example)
    assert find_ambiguous(called(apart, address), address) is None


def test_given_two_servers_of_a_backend_with_one_name_when_it_is_given_then_that_is_reported() -> None:
    alike: List[Any] = [server("web/app1", "10.0.0.4"), server("web/app1", "10.0.0.5"), server("api/app1", "10.0.0.4")]

    assert str(find_ambiguous(called(alike, "app1"), "app1")).startswith("backend web has 2 servers app1, of which")
    assert find_ambiguous(called(alike[1:], "app1"), "app1") is None
