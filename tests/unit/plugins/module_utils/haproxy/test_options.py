# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may a user set?"""

from typing import Any, Dict

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.options import (
    Order,
    read_address,
    read_order,
    read_selection,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.haproxy.plan import Record
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st

RECORD = {"backend": "web", "server": "web_0", "state": "ready", "admin_state": 4, "weight": 100}


def read(**options: Any) -> Order:
    defaults: Dict[str, Any] = {"deadline": 300}
    return read_order(dict(defaults, **options))


def test_given_a_server_when_options_are_read_then_it_is_only_read() -> None:
    assert read(server="web_0") == Order(server="web_0")


def test_given_a_record_when_options_are_read_then_it_is_what_will_be_restored() -> None:
    assert read(restore=[RECORD]).restore == (Record("web", "web_0", "ready", 4, 100),)


def test_given_what_is_to_be_listed_when_options_are_read_then_nothing_means_all() -> None:
    assert read_selection({}) == (None, None)
    assert read_selection({"server": "web_0", "backend": ["web"]}) == ("web_0", ("web",))
    with pytest.raises(OptionError, match=r"^server: 'a;b' is not a name"):
        read_selection({"server": "a;b"})


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "server, restore: give exactly one"),
        ({"server": "a", "restore": []}, "server, restore: give exactly one"),
        ({"restore": [], "state": "drain"}, "restore: .* Omit state and backend"),
        ({"restore": [], "backend": ["web"]}, "restore: .* Omit state and backend"),
        ({"server": "a", "state": "maint"}, "state: 'maint' is not one of drain, maintenance, ready"),
        ({"server": "a", "backend": []}, "backend: is empty"),
        ({"server": "a", "wait": True}, "wait: .* Set state to drain or maintenance"),
        ({"server": "a", "state": "ready", "wait": True}, "wait: .* Set state to drain or maintenance"),
        ({"server": "a", "state": "drain", "shutdown_sessions": True}, "shutdown_sessions: .* Set wait"),
        ({"server": "a", "state": "ready", "keep_maintenance": True}, "keep_maintenance: .* Set state to drain"),
        ({"server": "a", "deadline": 0}, "deadline: 0 is not a time"),
        ({"server": "a", "deadline": float("nan")}, "deadline: nan is not a time"),
        ({"restore": [dict(RECORD, weight=257)]}, "restore: weight 257 is not a weight of HAProxy, 0 to 256"),
        ({"restore": [dict(RECORD, state="up")]}, "restore: state 'up' is not one of"),
        ({"restore": [dict(RECORD, backend="")]}, "restore: backend: '' is not a name"),
        ({"restore": [dict(RECORD, address="web_0")]}, "restore: address 'web_0' is not an address, as 10.0.0.4"),
        ({"server": "[web_0]"}, "server: '\\[web_0\\]' is not a name"),
        ({"server": "fe80::1%;quit"}, "server: 'fe80::1%;quit' is not a name"),
    ],
)
def test_given_invalid_options_when_they_are_read_then_the_error_names_them(
    options: Dict[str, Any], complaint: str
) -> None:
    with pytest.raises(OptionError, match="^%s" % complaint):
        read(**options)


@pytest.mark.parametrize("server", ["10.0.0.4", "10.0.0.4:80", "2001:DB8::4", "[2001:db8::4]", "[2001:db8::4]:80"])
def test_given_an_address_when_it_is_read_then_it_stands_for_a_server(server: str) -> None:
    assert read(server=server).server == server
    assert read(restore=[dict(RECORD, address=server)]).restore == (Record("web", "web_0", "ready", 4, 100, server),)


@given(st.from_regex(r"\A[a-z_.:-]*[^A-Za-z0-9_:.\[-](?s:.*)\Z"))
def test_given_a_name_that_could_end_the_command_when_it_is_read_then_it_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match="is not a name in HAProxy's configuration"):
        read(server=name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/run/haproxy/admin.sock", "/run/haproxy/admin.sock"),
        ("127.0.0.1:9999", "127.0.0.1:9999"),
        ("balancer.example:1", "balancer.example:1"),
        ("[::1]:65535", "[::1]:65535"),
        ("[fe80::1%eth0]:9999", "[fe80::1%eth0]:9999"),
    ],
)
def test_given_an_address_when_it_is_read_then_it_is_shown_as_it_was_given(text: str, shown: str) -> None:
    assert str(read_address("socket", text)) == shown


@pytest.mark.parametrize(
    "text",
    ["", "admin.sock", "~/admin.sock", "host", "host:", ":9999", "::1:9999", "host:0", "host:65536", "a b:1", "/a\0b"],
)
def test_given_input_that_is_no_address_when_it_is_read_then_the_error_shows_how_one_looks(text: str) -> None:
    with pytest.raises(OptionError, match=r"^master_socket: .* or \[::1\]:9999"):
        read_address("master_socket", text)


@given(st.floats(0, 86400, exclude_min=True))
def test_given_a_time_up_to_a_day_when_it_is_read_then_it_is_taken(seconds: float) -> None:
    assert read(server="web_0", deadline=seconds).deadline == seconds
