# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are asked themselves, once Azure was asked about all: nobody is overlooked."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.contacts import (
    VARIABLES,
    Contacts,
    choose_contacts,
    describe_others,
    is_back,
    note_resting,
    others_to_ask,
    share_a_group,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import note_host, read_host
from hypothesis import given
from hypothesis import strategies as st

PLACE = "/subscriptions/S/resourceGroups/rg/providers/Microsoft.Compute"
NAMES = ["a", "b", "c", "d"]


def host(name: str, **variables: Any) -> dict[str, Any]:
    """A host with a resource id, unless it is given another."""
    variables = {"id": f"{PLACE}/virtualMachines/{name}", **variables}
    assert set(variables) <= set(VARIABLES), "nobody would read it"
    return note_resting(name, variables)


def behind(name: str, **variables: Any) -> dict[str, Any]:
    """The same behind HAProxy."""
    removal = {"methods": ["haproxy"], "haproxy_hosts": ["lb"], "haproxy_socket": "/s", "haproxy_server": name}
    removal |= {"haproxy_backends": []}
    return host(name, **{f"load_balancer_removal_{one}": value for one, value in removal.items()}, **variables)


def haproxy(**servers: str) -> list[dict[str, Any]]:
    """What the balancer lb says: by the name of a server, its state."""
    known = [
        {"backend": "web", "server": name, "effective_state": state, "operational_state": "running"}
        for name, state in servers.items()
    ]
    return [{"__balancer": {"name": "lb"}, "servers": known}]


def azure(*hit: str, **unlisted: str) -> dict[str, Any]:
    """What Azure says of the hosts."""
    return {
        "hit": [{"vm_id": f"{PLACE}/virtualMachines/{name}", "event_ids": ["E"]} for name in hit],
        "unlisted": [{"vm_id": f"{PLACE}/virtualMachines/{name}", "reason": why} for name, why in unlisted.items()],
    }


def answered(name: str, events: int = 0, **details: Any) -> dict[str, Any]:
    """What a host has answered that was asked."""
    event = {"event_id": "E", "event_type": "Reboot", "event_status": "Scheduled", "resources": [name]}
    answer = {"vm_name": name, "events": [event] * events, "resource_id": f"{PLACE}/virtualMachines/{name}"}
    return {**note_host(name, answer, {}, (), False, {}, {}, {}), **details}


def test_given_a_host_that_is_not_asked_then_it_counts_as_one_that_is_well() -> None:
    found = read_host(note_resting("i7", {"id": f"{PLACE}/virtualMachineScaleSets/web/virtualMachines/7"}))

    assert (found.vm_name, found.is_in_service, found.events) == ("web_7", True, ())


def test_given_hosts_that_are_off_on_purpose_then_none_of_them_is_asked_whatever_is_known_of_it() -> None:
    hosts = [host("a", powerstate="deallocated"), note_resting("b", {"handle_events_is_off": "true"}), host("c")]

    found = choose_contacts(hosts, [], azure("a"), {"b": ""})

    assert found.names == ()
    resting = [one for one in found.resting if one["name"] != "c"]
    assert others_to_ask(resting, [answered("c", events=1, group="")], []) == []


def test_given_several_reasons_then_each_host_is_asked_once_and_counted_with_its_reason() -> None:
    hosts = [host(name) for name in "abcdef"] + [note_resting("g", {}), note_resting("h", {"id": "/nonsense"})]

    found = choose_contacts(hosts, [], azure("b", c="its policy publishes nothing"), dict.fromkeys("bd", ""))

    assert found.names == ("b", "c", "d", "g", "h")
    assert [one["name"] for one in found.resting] == ["a", "e", "f"]
    assert found.lines[0] == "Azure was asked about 6 hosts: it lists events for 1 of them"
    assert "1 asked themselves, because its policy publishes nothing: c" in found.lines
    assert "1 asked themselves, because an earlier run may have left them out: d" in found.lines
    assert "1 asked themselves, because they have no resource id: set handle_events_vm_id: g" in found.lines
    assert any("'/nonsense' is not the id of a VM" in line for line in found.lines)
    assert found.lines[-1].startswith("3 others not asked")


@given(
    hit=st.sets(st.sampled_from(NAMES)),
    noted=st.sets(st.sampled_from(NAMES)),
    silent=st.sets(st.sampled_from(NAMES), max_size=3),
    down=st.sets(st.sampled_from(NAMES)),
)
def test_given_any_fleet_then_each_host_with_a_possible_event_is_asked_and_the_others_are_not(
    hit: set[str], noted: set[str], silent: set[str], down: set[str]
) -> None:
    hosts = [behind(name) for name in NAMES]
    states = haproxy(**{name: "maint" if name in down else "ready" for name in NAMES})

    found = choose_contacts(hosts, states, azure(*hit, **dict.fromkeys(silent, "why")), dict.fromkeys(noted, ""))

    assert set(found.names) == hit | noted | silent | down
    assert {*found.names, *(one["name"] for one in found.resting)} == set(NAMES)


def test_given_a_host_that_has_another_name_since_it_was_left_out_then_it_is_asked() -> None:
    noted = {"old": f"{PLACE}/VirtualMachines/B", "gone": ""}

    assert choose_contacts([host("a"), host("b")], [], azure(), noted).names == ("b",)


def test_given_facts_that_set_our_variables_then_the_host_is_asked_and_they_do_not_count() -> None:
    forged = note_resting("a", {"id": f"{PLACE}/virtualMachines/other"}, refused="its ansible_facts hold id")

    found = choose_contacts([forged, host("other")], [], azure(), {})

    assert found.names == ("a",)
    assert forged["resource_id"] is None


@pytest.mark.parametrize(
    "variables",
    [
        {"load_balancer_removal_methods": {"haproxy": 5}},
        {"load_balancer_removal_haproxy_hosts": {"lb": 5}, "load_balancer_removal_methods": ["haproxy"]},
        {"handle_events_expected_hosts": "many"},
    ],
)
def test_given_invalid_variables_then_the_host_is_asked_where_they_are_checked(variables: Any) -> None:
    found = choose_contacts([host("a", **variables), host("b")], [], azure(), {})

    assert found.names == ("a",)
    assert "their variables cannot be read" in found.lines[1]


def test_given_two_hosts_with_one_id_then_both_are_asked() -> None:
    twins = [host("a"), host("b", handle_events_vm_id=f"{PLACE}/virtualMachines/A"), host("c")]

    assert choose_contacts(twins, [], azure(), {}).names == ("a", "b")


@pytest.mark.parametrize("announced", [{"msg": "403"}, {"hit": None, "unlisted": []}, {"failed": True}])
def test_given_azure_was_not_asked_then_the_run_does_not_assume_that_nothing_is_announced(
    announced: dict[str, Any],
) -> None:
    with pytest.raises(PlanError, match="handle_events_ask: Azure was not asked for events"):
        choose_contacts([host("a")], [], announced, {})


@pytest.mark.parametrize("hosts", [[host("a")], [note_resting("a", {})]])
def test_given_azure_can_say_nothing_about_any_host_then_the_run_is_refused(hosts: list[dict[str, Any]]) -> None:
    with pytest.raises(PlanError, match="Azure lists the events of no host"):
        choose_contacts(hosts, [], azure(a="no role"), {})


def test_given_no_lasting_list_then_every_host_needs_a_balancer_that_reports_it() -> None:
    hosts = [behind("a"), host("b")]
    with pytest.raises(PlanError, match=r"handle_events_out_directory is not set.* for b no balancer"):
        choose_contacts(hosts, haproxy(a="ready"), azure(), {}, keeps_list=False)

    assert choose_contacts(hosts[:1], haproxy(a="ready"), azure(), {}, keeps_list=False).names == ()


def test_given_a_balancer_that_does_not_answer_then_its_hosts_are_not_counted_by_it() -> None:
    hosts = [behind("a"), behind("b", handle_events_group="x"), behind("c", handle_events_group="x")]

    assert others_to_ask(hosts[2:], [answered("b", 1, group="x")], [{"__balancer": {"name": "lb"}, "msg": "no"}]) == [
        "c"
    ]
    assert others_to_ask(hosts[2:], [answered("b", 1, group="x")], haproxy(b="ready", c="ready")) == []


def test_given_groups_that_nobody_counts_then_others_are_asked_only_where_there_is_something_to_do() -> None:
    resting = [host("b", handle_events_group="x"), host("c", handle_events_group="y"), host("d")]

    assert others_to_ask(resting, [answered("a", 0, group="x")], []) == []
    assert others_to_ask(resting, [answered("a", 1, group="x")], []) == ["b"]
    assert others_to_ask(resting, [answered("a", 0, group="y", needs_restore=True)], []) == ["c"]
    # Its scale set is known, and theirs is not: it may be the same.
    assert others_to_ask(resting, [answered("a", 1, pools=["a scale set"])], []) == ["d"]
    assert describe_others(["b"])[0].startswith("1 of them asked anyway")
    assert describe_others([]) == []


def test_given_an_event_that_azure_does_not_list_yet_for_another_vm_then_that_is_asked_as_well() -> None:
    shared = answered("a", 1)
    shared["events"][0]["resources"] = ["a", "B"]

    assert others_to_ask([behind("b"), behind("c")], [shared], haproxy(b="ready", c="ready")) == ["b"]


def test_given_a_plan_then_only_hosts_that_share_a_group_with_an_asked_host_count() -> None:
    resting: list[dict[str, Any]] = [{"groups": ["x", "y"]}, {"groups": ["z"]}]

    assert share_a_group(resting, [{"groups": ["y"]}]) == resting[:1]


def test_given_what_a_host_says_then_it_is_back_only_if_nobody_has_left_it_out_or_is_at_work_on_it() -> None:
    well = answered("a")
    doubts: list[dict[str, Any]] = [{"needs_restore": True}, {"leased": "by alice"}, {"vm_name": None}]

    assert is_back(well)
    assert [is_back({**well, **doubt}) for doubt in doubts] == [False] * 3


def test_given_no_hosts_then_nobody_is_asked() -> None:
    assert choose_contacts([], [], azure(), {}) == Contacts(
        (), [], ("Azure was asked about 0 hosts: it lists events for 0 of them",)
    )
