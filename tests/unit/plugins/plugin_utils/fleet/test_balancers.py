# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts do the same work, by what their balancers say."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import (
    of_host,
    read_balancers,
)


def web(name: str, balancers: tuple[str, ...] = ("lb1", "lb2"), **details: Any) -> dict[str, Any]:
    """A host behind HAProxy."""
    asked = [{"name": balancer, "socket": ""} for balancer in balancers]
    return {
        "name": name,
        "haproxy": {"balancers": asked, "server": details.pop("server", name), "backends": details.pop("backends", [])},
        "methods": ["haproxy"],
        **details,
    }


def server(place: str, state: str = "ready", operational: str = "running", weight: int = 1) -> dict[str, Any]:
    backend, name = place.split("/")
    up = {"effective_state": state, "operational_state": operational, "weight": weight}
    return {"backend": backend, "server": name, **up}


def answer(balancer: str, *places: str) -> dict[str, Any]:
    return {"__balancer": {"name": balancer}, "servers": [server(place) for place in places]}


def groups(hosts: list[dict[str, Any]], *answers: dict[str, Any]) -> dict[str, list[str]]:
    balancers = read_balancers(hosts, answers)
    return {host["name"]: of_host(host, balancers)["groups"] for host in hosts}


def test_given_two_tiers_behind_the_same_balancers_then_they_are_two_groups() -> None:
    hosts = [web("web1"), web("web2"), web("app1"), web("app2")]
    places = ("web/web1", "web/web2", "app/app1", "app/app2")

    assert groups(hosts, answer("lb1", *places), answer("lb2", *places)) == {
        "web1": ["backend web"],
        "web2": ["backend web"],
        "app1": ["backend app"],
        "app2": ["backend app"],
    }


def test_given_a_server_of_two_backends_then_its_host_counts_in_both() -> None:
    hosts = [web("a", ("lb1",)), web("b", ("lb1",)), web("c", ("lb1",))]

    found = groups(hosts, answer("lb1", "web/a", "web/b", "api/b", "api/c"))

    assert found == {"a": ["backend web"], "b": ["backend web", "backend api"], "c": ["backend api"]}


def test_given_backends_with_just_the_same_servers_then_they_are_one_group() -> None:
    hosts = [web("a", ("lb1",)), web("b", ("lb1",))]
    places = [f"{backend}/{name}" for backend in ("w", "x", "y", "z") for name in ("a", "b")]

    assert groups(hosts, answer("lb1", *places)) == {name: ["backend w, x, y and 1 more"] for name in ("a", "b")}


def test_given_backends_of_one_name_with_other_servers_then_they_are_two_groups() -> None:
    hosts = [web("a", ("blue",)), web("b", ("blue",)), web("c", ("green",))]

    assert groups(hosts, answer("blue", "web/a", "web/b"), answer("green", "web/c")) == {
        "a": ["backend web on blue"],
        "b": ["backend web on blue"],
        "c": ["backend web on green"],
    }


def test_given_backends_that_a_host_names_then_only_these_count() -> None:
    hosts = [web("a", ("lb1",), backends=["api"]), web("b", ("lb1",))]

    assert groups(hosts, answer("lb1", "web/a", "api/a", "api/b"))["a"] == ["backend api"]


def test_given_another_name_in_haproxy_then_it_is_searched_by_that() -> None:
    assert groups([web("a", ("lb1",), server="A_1")], answer("lb1", "web/a", "api/A_1"))["a"] == ["backend api"]


def test_given_a_group_set_by_the_operator_then_it_is_used() -> None:
    assert groups([web("a", ("lb1",), group="mine")], answer("lb1", "web/a"))["a"] == ["mine"]


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        ({"msg": "refused\x1b[2J", "failed": True}, r"lb1: HAProxy was not asked: refused\x1b[2J"),
        ({"unreachable": True}, "lb1: HAProxy was not asked: no answer"),
        ({"servers": []}, "lb1: HAProxy was not asked: no answer"),
        ({"servers": [7]}, "lb1: HAProxy was not asked: its answer cannot be read: "),
        ({"servers": [{"backend": "web"}]}, "lb1: HAProxy was not asked: its answer cannot be read: "),
        ({"servers": 7}, "lb1: HAProxy was not asked: its answer cannot be read: "),
    ],
)
def test_given_a_balancer_that_does_not_answer_then_it_is_named_and_what_the_others_say_counts(
    failed: dict[str, Any], said: str
) -> None:
    hosts = [web("a", pools=["backend web"]), web("b", ("lb1",), pools=["backend web"])]

    found = read_balancers(hosts, [{"__balancer": {"name": "lb1"}, **failed}, answer("lb2", "api/a")])

    assert found.remarks[0].startswith(said)
    assert len(found.remarks) == 1
    assert of_host(hosts[0], found)["groups"] == ["backend api"]
    assert of_host(hosts[1], found)["groups"] == ["backend web"]


def test_given_servers_of_a_template_then_their_hosts_are_found_by_address() -> None:
    listed = [{**server(f"web/app{number}"), "address": f"10.0.0.{number}"} for number in (1, 2, 3)]
    hosts = [web(name, ("lb1",), server=f"10.0.0.{number}") for number, name in ((1, "a"), (2, "b"))]

    found = read_balancers(hosts, [{"__balancer": {"name": "lb1"}, "servers": listed}])

    assert of_host(hosts[0], found)["groups"] == ["backend web"]
    assert of_host(hosts[0], found)["peers_outside_run"] == ["app3"]


def test_given_a_host_that_is_several_servers_of_a_template_then_they_are_named_and_its_removal_would_fail() -> None:
    listed = [{**server(f"web/app{number}"), "address": "10.0.0.4", "port": number} for number in (1, 2)]

    found = read_balancers(
        [web("a", ("lb1",), server="10.0.0.4")], [{"__balancer": {"name": "lb1"}, "servers": listed}]
    )

    assert "on lb1, 10.0.0.4 is the address of app1 and app2 in backend web. Give the name" in found.unknown["a"]


def test_given_a_host_that_no_balancer_has_then_it_is_named_with_the_remedy() -> None:
    hosts = [web("a"), web("b")]

    found = read_balancers(hosts, [answer("lb1", "web/a"), answer("lb2", "web/a")])

    remedy = "set load_balancer_removal_haproxy_server to its name or address"
    assert found.remarks == [f"b: HAProxy on lb1 and lb2 has no server b: {remedy}"]
    assert list(found.unknown) == ["b"]
    assert of_host(hosts[1], found)["groups"] == [""]


@pytest.mark.parametrize(
    ("states", "details", "is_down"),
    [
        ([("ready", "stopped")], {}, True),
        ([("maintenance", "stopped")], {}, True),
        ([("drain", "running")], {}, True),
        ([("ready", "running", 0)], {}, True),
        ([("ready", "running", 0), ("ready", "running", 100)], {}, False),
        ([("ready", "stopped"), ("ready", "running")], {}, False),
        ([("ready", "starting")], {}, False),
        ([("maintenance", "stopped")], {"needs_restore": True}, False),
        ([("maintenance", "stopped")], {"is_drained": True}, False),
        ([("maintenance", "stopped")], {"leased": "another run"}, False),
        ([("maintenance", "stopped")], {"agent": {"in_rotation": False}}, False),
    ],
)
def test_given_a_server_that_no_balancer_has_in_service_then_its_host_is_down_unless_it_was_taken_out(
    states: list[tuple[Any, ...]], details: dict[str, Any], is_down: bool
) -> None:
    host = web("a", **details)
    answers = [
        {"__balancer": {"name": f"lb{number}"}, "servers": [server("web/a", *state)]}
        for number, state in enumerate(states, start=1)
    ]

    assert of_host(host, read_balancers([host], answers))["is_down"] == is_down


BALANCES = (
    "it is a balancer for a, b, and its own balancer is not configured: set load_balancer_removal_methods for it, to"
    " [command] for example, or leave it out of handle_events_hosts"
)


@pytest.mark.parametrize(
    ("itself", "is_alone"),
    [
        ({"methods": ["health_probe"]}, True),
        ({"methods": ["haproxy"], "haproxy": web("lb1")["haproxy"]}, True),
        ({"methods": []}, True),
        ({"methods": ["health_probe"], "is_confirmed": True}, False),
        ({"methods": ["command"]}, False),
        ({"methods": ["azure_load_balancer"]}, False),
        ({"methods": ["health_probe"], "group": "balancers"}, False),
    ],
)
def test_given_a_balancer_in_the_play_then_it_is_left_alone_unless_its_own_balancer_is_configured(
    itself: dict[str, Any], is_alone: bool
) -> None:
    hosts = [web("a"), web("b"), {"name": "lb1", "haproxy": {}, **itself}]

    found = read_balancers(hosts, [answer("lb1", "web/a", "web/b")])

    assert of_host(hosts[2], found)["skip_reason"] == (BALANCES if is_alone else "")
    assert (of_host(hosts[2], found)["groups"] == []) == is_alone


def test_given_servers_that_balance_for_each_other_then_they_are_servers() -> None:
    hosts = [web("a", ("a", "b")), web("b", ("a", "b"))]

    found = read_balancers(hosts, [answer("a", "web/a", "web/b"), answer("b", "web/a", "web/b")])

    assert (found.alone, found.remarks) == ({}, [])
    assert of_host(hosts[0], found)["groups"] == ["backend web"]


def test_given_no_balancer_then_groups_are_as_the_variables_say() -> None:
    assert groups([{"name": "a", "pools": ["pool x"]}, {"name": "b", "group": "g"}, {"name": "c"}]) == {
        "a": ["pool x"],
        "b": ["g"],
        "c": [""],
    }


POOL = "/subscriptions/s/resourceGroups/Shop/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/web"


def test_given_what_azure_says_then_the_members_of_a_pool_are_a_group_beside_the_backends() -> None:
    hosts = [
        {"name": "a", "azure": {"vm_id": "/a", "host": "localhost"}},
        {"name": "b", "azure": {"vm_id": "/b", "host": "localhost"}, "pools": ["set"]},
        web("c", ("lb1",), azure={"vm_id": "/c", "host": "localhost"}),
    ]
    of_vms = {"/a": [POOL], "/b": [], "/c": [POOL]}
    azure = {
        "vms": [{"vm_id": vm_id, "pools": pools} for vm_id, pools in of_vms.items()],
        "pools": [{"id": POOL, "members": ["/a", "/c"]}],
    }

    found = read_balancers(hosts, [answer("lb1", "web/c")], azure)

    assert [of_host(host, found)["groups"] for host in hosts] == [
        ["pool " + POOL.lower()],
        ["set"],
        ["backend web", "pool " + POOL.lower()],
    ]
    assert found.remarks == []


def test_given_hosts_that_azure_was_not_asked_about_then_they_are_in_the_pools_that_name_them() -> None:
    hosts = [
        {"name": "asked", "azure": {"vm_id": "/a", "host": "localhost"}},
        {"name": "resting", "azure": {"vm_id": "/B", "host": "localhost"}},
        {"name": "elsewhere", "azure": {"vm_id": "/c", "host": "localhost"}},
    ]
    azure = {"vms": [{"vm_id": "/a", "pools": ["/p"]}], "pools": [{"id": "/p", "members": ["/a", "/b"]}]}

    found = read_balancers(hosts, [], azure)

    assert {name: groups for name, groups in found.groups.items() if groups} == {
        "asked": ["pool /p"],
        "resting": ["pool /p"],
    }


@pytest.mark.parametrize(
    ("azure", "said"),
    [({"msg": "no rights", "failed": True}, "no rights"), ({"vms": 7}, "no answer"), ({"vms": [{}]}, "no answer")],
)
def test_given_azure_that_does_not_say_then_it_is_remarked_and_groups_are_as_the_variables_say(
    azure: dict[str, Any], said: str
) -> None:
    host = {"name": "a", "azure": {"vm_id": "/a", "host": "localhost"}, "pools": ["set"]}

    found = read_balancers([host], [], azure)

    assert found.remarks == ["Azure was not asked which pools hosts are in: " + said]
    assert of_host(host, found)["groups"] == ["set"]


def peers(hosts: list[dict[str, Any]], *answers: dict[str, Any], **more: Any) -> dict[str, list[str]]:
    balancers = read_balancers(hosts, answers, **more)
    return {host["name"]: of_host(host, balancers)["peers_outside_run"] for host in hosts}


def test_given_servers_in_service_that_are_no_hosts_of_the_run_then_they_are_beside_those_of_their_backend() -> None:
    hosts = [web("web1", ("lb1",), server="w1"), web("app1", ("lb1",), group="app")]
    told = answer("lb1", "web/w1", "web/w2", "app/app1", "app/app2", "other/z")
    told["servers"] += [
        server("web/slot", "maintenance"),
        server("web/down", operational="stopped"),
        server("web/drained", weight=0),
        dict(server("web/sorry"), is_backup=True),
    ]

    assert peers(hosts, told) == {"web1": ["w2"], "app1": ["app2"]}


def test_given_members_of_a_pool_that_are_no_hosts_of_the_run_then_they_are_beside_its_hosts() -> None:
    ids = [f"/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/vm{n}" for n in range(3)]
    ids.append(ids[0].replace("virtualMachines/vm0", "virtualMachineScaleSets/set/virtualMachines/7"))
    hosts = [
        {"name": "a", "azure": {"vm_id": ids[0]}, "resource_id": ""},
        {"name": "b", "azure": {}, "resource_id": ids[1].upper()},
    ]
    azure = {"vms": [{"vm_id": ids[0], "pools": ["/p"]}], "pools": [{"id": "/p", "members": ids}]}

    assert peers(hosts, azure=azure) == {"a": ["vm2", "7 of set"], "b": []}

    # Azure keeps the interface of a VM that was stopped in the pool.
    azure["pools"][0]["out_of_service"] = [ids[2]]
    assert peers(hosts, azure=azure) == {"a": ["7 of set"], "b": []}
    assert "vm2" in read_balancers(hosts, [], azure).remarks[0]


@pytest.mark.parametrize(
    ("details", "is_down"), [({}, True), ({"needs_restore": True}, False), ({"leased": "another run"}, False)]
)
def test_given_a_host_that_its_pool_has_down_then_it_is_down_unless_it_was_taken_out(
    details: dict[str, Any], is_down: bool
) -> None:
    host = {"name": "a", "azure": {"vm_id": "/A"}, **details}
    pools = [{"id": "/p", "members": ["/A"], "out_of_service": ["/a"]}, {"id": "/q", "members": ["/A"]}]
    azure = {"vms": [{"vm_id": "/A", "pools": ["/p"]}], "pools": pools}

    assert of_host(host, read_balancers([host], [], azure))["is_down"] == is_down
    azure["vms"][0]["pools"] = ["/p", "/q"]
    assert not of_host(host, read_balancers([host], [], azure))["is_down"]


def test_given_hosts_beyond_a_limit_then_they_count_in_a_group_that_no_balancer_reports() -> None:
    hosts = [{"name": "a"}, {"name": "b", "group": "web"}, web("c", ("lb1",))]
    assert peers(hosts, answer("lb1", "web/c"), beyond={"x": "", "y": "web"}) == {"a": ["x"], "b": ["y"], "c": []}


@pytest.mark.parametrize(
    ("details", "recorded", "is_reborn", "is_forgotten"),
    [
        ({"vm_id": "NEW"}, ["old"], True, False),
        # Its own record, without its own claim: whoever replaces its disk restores it.
        ({"vm_id": "OLD"}, ["old"], False, True),
        ({"vm_id": "NEW"}, ["other"], False, False),
        ({"vm_id": "NEW"}, [""], False, False),
        ({"vm_id": ""}, ["old"], False, False),
        ({"vm_id": "NEW"}, [], False, False),
    ],
)
def test_given_a_server_that_is_kept_out_for_a_vm_that_is_none_of_the_hosts_then_its_host_is_restored(
    details: dict[str, Any], recorded: list[str], is_reborn: bool, is_forgotten: bool
) -> None:
    host, other = web("a", ("lb1",), **details), web("b", ("lb1",), vm_id="other")
    records = [{"server": "a", "vm_id": vm_id} for vm_id in recorded] + [{"server": "b", "vm_id": "old"}]
    servers = [server("web/a", "drain"), server("web/b")]
    answers = [{"__balancer": {"name": "lb1"}, "servers": servers, "records": records}]

    known = of_host(host, read_balancers([host, other], answers))
    assert (known["needs_restore"], known["is_down"]) == (is_reborn, not is_reborn)
    assert bool(known["abandoned"]) == is_forgotten


@pytest.mark.parametrize("reason", ["needs_restore", "is_drained", "leased", "agent"])
def test_given_a_server_that_somebody_is_known_to_keep_out_then_what_its_record_says_does_not_matter(
    reason: str,
) -> None:
    host = web("a", ("lb1",), vm_id="NEW", **{reason: "yes"})
    records = [{"server": "a", "vm_id": vm_id} for vm_id in ("old", "new")]
    answers = [{"__balancer": {"name": "lb1"}, "servers": [server("web/a", "drain")], "records": records}]

    balancers = read_balancers([host], answers)
    assert not any("the VM that was in its place" in remark for remark in balancers.remarks)
    assert not balancers.forgotten


def test_given_two_balancers_that_keep_out_an_earlier_vm_then_its_successor_is_named_once() -> None:
    host = web("a", ("lb1", "lb2")) | {"vm_id": "new"}
    records = [{"server": "a", "vm_id": "old"}]
    answers = [
        {"__balancer": {"name": name}, "servers": [server("web/a", "drain")], "records": records}
        for name in ("lb1", "lb2")
    ]

    remarks = read_balancers([host], answers).remarks
    assert [("the VM that was in its place" in remark) for remark in remarks].count(True) == 1


@pytest.mark.parametrize("records", ["x", [1], [{"server": "a"}], {"a": "b"}, None])
def test_given_records_that_are_none_then_nobody_is_restored_by_them(records: Any) -> None:
    host = web("a", ("lb1",), vm_id="NEW")
    answers = [{"__balancer": {"name": "lb1"}, "servers": [server("web/a", "drain")], "records": records}]

    assert of_host(host, read_balancers([host], answers))["is_down"]
