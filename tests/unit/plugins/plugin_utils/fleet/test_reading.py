# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a host that was asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    event_as_dict,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.balancers import Balancers, of_host
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Attempt, Host, PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.orders import note_asked
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.plan import make_plan
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.reading import (
    REMOVAL,
    check_alike,
    is_off,
    note_host,
    read_host,
    read_reading,
)

from .conftest import NOW, event

ROLES = Path(__file__).resolve().parents[5] / "roles"
POOL = "/subscriptions/1/resourceGroups/Shop/providers/Microsoft.Network/loadBalancers/lb/backendAddressPools/web"
OTHER = POOL.replace("/web", "/api")
LEASE = {"owner": "handle_events", "breaks": False}
GATEWAY_POOL = POOL.replace("loadBalancers", "applicationGateways")


def reading(**given: Any) -> dict[str, Any]:
    """A host that has answered, and these things of it."""
    answer = {"vm_name": "web_1", "events": []}
    nothing = {"lease_view": {}, "traces": [], "is_marked": False, "agent": {}, "policy": {}, "variables": {}}
    return note_host("web-1", **{"answer": answer, **nothing, **given})


def test_given_no_variables_then_the_defaults_of_the_roles_are_used() -> None:
    defaults = yaml.safe_load((ROLES / "load_balancer_removal" / "defaults" / "main.yml").read_text(encoding="utf-8"))

    assert {name: defaults["load_balancer_removal_" + name] for name in REMOVAL} == REMOVAL


@pytest.mark.parametrize(
    ("found", "events", "kept_out_by", "unmanaged", "is_unknown"),
    [
        ({"agent": {"in_rotation": True}}, False, "", "", False),
        ({"agent": {"in_rotation": False}}, False, "its agent says so", "", False),
        ({"agent": {"in_rotation": False, "drained_by_hand": {}}}, False, "its agent says so", "", False),
        (
            {"agent": {"in_rotation": False, "drained_by_hand": {"drain": "succeeded"}}},
            False,
            "drained by hand, its agent says",
            "",
            False,
        ),
        # It is hit: its agent brings it back.
        ({"agent": {"in_rotation": False}}, True, "", "", False),
        ({"unmanaged": "no agent"}, True, "", "no agent", True),
        ({"agent": {"events": [{"event_id": "a", "nothing_configured": True}]}}, True, "", "nothing configured", False),
    ],
)
def test_given_a_windows_host_then_its_agent_alone_says_where_it_is_and_who_handles_it(
    found: dict[str, Any], events: bool, kept_out_by: str, unmanaged: str, is_unknown: bool
) -> None:
    listed = [event_as_dict(event(resources=("web_1",), event_id="A"), "web_1", datetime.now(UTC))] if events else []
    noted = reading(
        answer={"vm_name": "web_1", "events": listed},
        agent=found.get("agent", {}) if events else {},
        found={"system": "Windows", **found},
    )

    assert noted["kept_out_by"] == kept_out_by
    assert noted["is_drained"] == bool(kept_out_by)
    assert unmanaged in noted["unmanaged"]
    assert bool(noted["unmanaged"]) == bool(unmanaged)
    assert (of_host(noted, Balancers())["groups"] == []) is is_unknown


def test_given_an_idle_host_when_noted_then_it_is_one_that_a_plan_reads() -> None:
    host = read_host(reading(policy={"minimum_in_service": "50%"}))

    assert (host.name, host.vm_name, host.events, host.minimum) == ("web-1", "web_1", (), "50%")
    assert not host.is_drained
    assert not host.needs_restore


def test_given_a_host_that_could_not_be_asked_when_noted_then_nothing_is_known_of_it() -> None:
    host = read_host(reading(answer={"unreachable": True, "msg": "Connection timed out"}))

    assert (host.vm_name, host.events) == (None, ())


def test_given_owners_of_claims_when_noted_then_they_are_reported() -> None:
    tried = [{"event_id": "A", "seconds_ago": 5.0, "reason": "db did not stop"}]
    lease_view = {"leased": "another run", "keep_out_reason": "to be deleted", "approving": ["B"], "tried": tried}

    host = read_host(reading(lease_view=lease_view))

    assert (host.leased, host.keep_out_reason, host.approving) == ("another run", "to be deleted", ("B",))
    assert [attempt.event_id for attempt in host.tried] == ["A"]


@pytest.mark.parametrize(
    ("given", "is_drained"),
    [
        ({"traces": ["/var/lib/foghorn/load_balancer_removal/health_probe.json"]}, True),
        ({"lease_view": {"by_others": "by hand since noon"}}, True),
        ({"lease_view": {"by_others": "", "needs_restore": True}}, False),
        ({"is_marked": True}, True),
        # That is our own mark.
        ({"is_marked": True, "lease_view": {"needs_restore": True}}, False),
        # Its agent's probe endpoint answers for it, and says that it serves; or that it does not, for which it is
        # responsible itself.
        ({"is_marked": True, "agent": {"in_rotation": True}}, True),
        ({"is_marked": True, "agent": {"in_rotation": False}}, False),
    ],
)
def test_given_traces_claims_or_a_marker_when_noted_then_the_host_is_drained_if_another_owner_did_that(
    given: dict[str, Any], is_drained: bool
) -> None:
    assert reading(**given)["is_drained"] is is_drained


@pytest.mark.parametrize(
    ("variables", "groups"),
    [
        ({}, [""]),
        ({"methods": ["haproxy"], "haproxy_backends": ["web", "api"]}, ["backend web", "backend api"]),
        ({"methods": ["haproxy"]}, [""]),
        (
            {"methods": ["azure_load_balancer"], "azure_pools": [POOL, OTHER]},
            ["pool " + POOL.lower(), "pool " + OTHER.lower()],
        ),
        # Asked of Azure, if a host is hit.
        ({"methods": ["azure_load_balancer"], "azure_pools": []}, [""]),
        # Not in use.
        ({"azure_pools": [POOL]}, [""]),
        (
            {"methods": ["health_probe", "application_gateway"], "gateway_pools": [GATEWAY_POOL]},
            ["pool " + GATEWAY_POOL.lower()],
        ),
    ],
)
def test_given_the_pools_that_a_host_leaves_when_noted_then_those_of_the_same_are_a_group(
    variables: dict[str, Any], groups: list[str]
) -> None:
    assert reading(variables=variables)["pools"] == groups


@pytest.mark.parametrize(
    ("variables", "said", "asked"),
    [
        ({"methods": ["azure_load_balancer"], "azure_vm_id": "/a"}, "/b", {"vm_id": "/a", "host": "localhost"}),
        ({"methods": ["application_gateway"], "azure_host": "jump"}, "/b", {"vm_id": "/b", "host": "jump"}),
        ({"methods": ["azure_load_balancer"]}, "", {}),
        ({"methods": ["azure_load_balancer"], "azure_pools": [POOL]}, "/b", {}),
        ({"methods": ["azure_load_balancer"], "group": "web"}, "/b", {}),
        ({"methods": ["haproxy"]}, "/b", {}),
    ],
)
def test_given_pools_that_only_azure_knows_when_noted_then_it_is_known_which_vm_to_ask_for(
    variables: dict[str, Any], said: str, asked: dict[str, str]
) -> None:
    answer = {"vm_name": "web_1", "events": [], "resource_id": said}

    assert reading(answer=answer, variables=variables)["azure"] == asked


def test_given_neither_group_nor_pool_when_noted_then_its_scale_set_is_its_group() -> None:
    answer = {"vm_name": "web_1", "events": [], "scale_set": "web"}

    assert reading(answer=answer)["pools"] == ["web"]
    assert reading(answer=answer)["group"] == reading(answer=answer, variables={"group": ""})["group"] == ""
    assert reading(answer=answer, variables={"group": "shop"})["group"] == "shop"


def test_given_a_host_behind_haproxy_when_noted_then_the_balancer_to_ask_and_the_server_are_known() -> None:
    behind = {"methods": ["haproxy"], "haproxy_hosts": ["lb1", "lb2"]}

    assert reading(variables=behind)["haproxy"] == {
        "balancers": [{"name": "lb1", "socket": ""}, {"name": "lb2", "socket": ""}],
        "records": "/var/lib/foghorn/handle_events",
        "server": "web-1",
        "backends": [],
    }
    named = {**behind, "haproxy_server": "w", "haproxy_backends": ["api"], "haproxy_socket": "/s"}
    assert reading(variables=named)["haproxy"]["server"] == "w"
    assert reading(variables=named)["haproxy"]["backends"] == ["api"]
    assert reading(variables=named)["haproxy"]["balancers"][0] == {"name": "lb1", "socket": "/s"}
    assert reading(variables={"haproxy_hosts": ["lb1"]})["haproxy"] == {}
    assert reading(variables={"methods": ["haproxy"]})["haproxy"] == {}


def test_given_the_clocks_of_the_round_trip_when_noted_then_they_are_kept_together() -> None:
    found = {"asked_at": 1.0, "answered_at": 2.0, "now": 1.5, "claims": {}}

    assert reading(found=found)["clock"] == {"asked_at": 1.0, "answered_at": 2.0, "said": 1.5}
    assert reading(found={"msg": "unreachable"})["clock"] == {}


@pytest.mark.parametrize("said", ["inf", "nan", -1, 1e12, "noon", None, [1]])
def test_given_a_host_whose_clock_is_no_time_when_noted_then_it_counts_as_silent(said: Any) -> None:
    answer = {"vm_name": "vm_0", "events": []}
    found = {"asked_at": 1.0, "answered_at": 2.0, "now": said, "claims": {}}

    noted = note_asked("web1", {"answer": answer, "found": found, "lease": LEASE}, {})

    assert (noted["vm_name"], noted["clock"]) == (None, {})
    assert noted["refused"].startswith("its answers cannot be read")


def test_given_an_application_gateway_when_noted_then_the_minutes_that_it_takes_are_planned_for_on_both_ways() -> None:
    both = {"methods": ["health_probe", "application_gateway"]}

    def ways(**variables: Any) -> tuple[float, float]:
        noted = reading(variables=variables)
        return noted["settle_seconds"], noted["return_seconds"]

    assert ways() == (35, 20)
    assert ways(methods=["application_gateway"]) == (300, 300)
    assert ways(**both) == (35 + 300, 20 + 300)


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({}, 0),
        ({"ports": [443]}, 300),
        ({"ports": [443], "connections_timeout": "20"}, 20),
        ({"methods": ["haproxy"], "connections_timeout": 20}, 20),
        ({"methods": ["command"], "connections_timeout": 20}, 0),
    ],
)
def test_given_connections_that_are_waited_for_when_noted_then_so_long(
    variables: dict[str, Any], seconds: float
) -> None:
    assert reading(variables=variables)["connection_seconds"] == seconds


def test_given_services_when_noted_then_all_of_them_may_take_their_time() -> None:
    services = ["nginx", {"name": "db", "timeout": "30"}, {"name": "queue"}]

    noted = reading(variables={"services": services})

    assert noted["stop_seconds"] == 90 + 30 + 90
    # Two intervals of the probe and a margin, the connections, the services.
    assert noted["step_seconds"] == 35 + 300 + 210


EVENT = event_as_dict(event(event_id="A"), "vm_0", datetime.fromtimestamp(NOW, UTC))


@pytest.mark.parametrize(
    ("variables", "is_prepared", "rests_on_probe"),
    [
        ({}, False, False),
        ({"services": []}, False, False),
        ({"services": ["nginx"]}, True, False),
        ({"health_probe_url": "http://127.0.0.1/readyz"}, True, True),
        ({"health_probe_url": "http://127.0.0.1/readyz", "services": ["nginx"]}, True, False),
        # Nobody asks it.
        ({"health_probe_url": "http://127.0.0.1/readyz", "methods": ["instance_protection"]}, False, False),
        ({"before_tasks": "/srv/before.yml"}, True, False),
        ({"methods": ["health_probe"]}, False, False),
        ({"methods": ["instance_protection", "health_probe"]}, False, False),
        ({"methods": ["haproxy"]}, True, False),
        ({"methods": ["command"]}, True, False),
    ],
)
def test_given_what_is_stopped_or_confirms_that_a_host_is_out_then_it_counts_as_prepared(
    variables: dict[str, Any], is_prepared: bool, rests_on_probe: bool
) -> None:
    noted = reading(variables=variables)

    assert (noted["is_prepared"], noted["rests_on_probe"]) == (is_prepared, rests_on_probe)


@pytest.mark.parametrize(
    ("of_agent", "is_left_to_it"),
    [
        ([{"event_id": "a", "phase": "drain", "nothing_configured": True}], False),
        ([{"event_id": "a", "phase": "drain", "nothing_configured": False}], True),
        ([], True),
    ],
)
def test_given_an_agent_with_nothing_to_do_for_the_event_then_its_host_counts_as_one_without(
    of_agent: list[dict[str, Any]], is_left_to_it: bool
) -> None:
    agent = {"in_rotation": False, "events": of_agent}

    found = reading(answer={"vm_name": "web-1", "events": [EVENT]}, agent=agent)

    assert (found["agent"] == agent, found["idle_agent"]) == (is_left_to_it, not is_left_to_it)


@pytest.mark.parametrize(
    ("variables", "is_seen"),
    [
        ({}, False),
        ({"health_probe_url": "http://127.0.0.1/readyz"}, True),
        ({"methods": ["haproxy"], "haproxy_hosts": ["lb1"]}, True),
        ({"methods": ["haproxy"]}, False),
        ({"methods": ["command"], "commands_say": True}, True),
        ({"methods": ["health_probe", "azure_load_balancer"]}, False),
        ({"methods": ["azure_load_balancer"]}, True),
        # It holds no traffic back.
        ({"methods": ["instance_protection"]}, False),
    ],
)
def test_given_the_ways_back_into_rotation_then_a_host_is_seen_back_if_each_is_checked(
    variables: dict[str, Any], is_seen: bool
) -> None:
    assert read_host(reading(variables=variables)).is_seen is is_seen


GARBAGE: list[Any] = ["text", 7, ["x"], [{"event_id": 5}], {"a": 1}, [[]], [None]]


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("where", ["events", "vm_name", "agent", "tried", "seen", "approving"])
def test_given_a_host_that_answers_garbage_then_it_is_noted_so_that_a_plan_for_all_can_be_made(
    where: str, garbage: Any
) -> None:
    asked: dict[str, Any] = {
        "answer": {"vm_name": "web_1", "events": []} | ({where: garbage} if where in ("events", "vm_name") else {}),
        "found": {"claims": {"handle_events": {"since": 0, where: garbage}}, "now": 0, "tried": {}, where: garbage},
        "lease": LEASE,
        "agent": {"events": garbage} if where == "agent" else {},
        "variables": {"group": "web"},
    }

    noted = note_asked("web-1", asked, {})

    hosts = [read_host(noted), read_host(reading(answer={"vm_name": "web_2", "events": []}))]
    plan = make_plan(hosts, Policy(), 0.0)
    assert noted["group"] == "web"
    assert (plan.unanswered == ["web-1"]) == noted["refused"].startswith("its answers cannot be read: ")


def test_given_a_host_that_answers_what_is_right_then_nothing_is_refused() -> None:
    assert note_host("web-1", {"vm_name": "web_1", "events": []}, {}, (), False, {}, {}, {})["refused"] == ""


def as_returned(event: Event, now: float) -> dict[str, Any]:
    """The event as scheduled_events_info returns it."""
    return event_as_dict(event, "vm_0", datetime.fromtimestamp(now, UTC))


def test_given_a_host_as_a_playbook_knows_it_when_read_then_all_is_there() -> None:
    reboot = event()

    tried = {"event_id": "E", "seconds_ago": 60.0, "reason": "no stop"}
    host = read_host(
        {
            "name": "h0",
            "vm_name": "vm_0",
            "events": [as_returned(reboot, NOW)],
            "stop_seconds": "7",
            "tried": [tried],
        }
    )

    assert host == Host("h0", "vm_0", (reboot,), stop_seconds=7.0, tried=(Attempt("E", 60.0, "no stop"),))


def test_given_what_holds_for_the_run_and_differs_between_hosts_when_checked_then_both_are_named() -> None:
    def hosts(**second: Any) -> list[dict[str, Any]]:
        policy = {"margin": 30.0, "minimum_in_service": "50%"}
        return [{"name": "h0", "policy": policy}, {"name": "h1", "policy": policy | second}, {"name": "h2"}]

    check_alike(hosts(margin="30.0", minimum_in_service="1"))
    with pytest.raises(PlanError, match=r"handle_events_margin: 30\.0 on h0, 45 on h1\. It holds for the whole run"):
        check_alike(hosts(margin=45))


def test_given_a_host_that_did_not_answer_when_read_then_it_has_no_name_in_azure() -> None:
    assert read_host({"name": "h0", "vm_name": "", "events": [], "agent": {}}) == Host("h0")


def test_given_a_reading_that_failed_when_read_then_it_is_not_taken_for_no_events() -> None:
    assert read_reading({"failed": True, "msg": "no answer"}) is None
    assert read_reading({"events": []}) == ()
    assert read_reading({"events": [as_returned(event(), NOW)]}) == (event(),)


def test_given_input_that_is_no_event_when_read_then_it_says_of_which_host() -> None:
    with pytest.raises(DocumentError, match=r"h0: events\[0\]\.EventId: expected text"):
        read_host({"name": "h0", "vm_name": "vm_0", "events": [{"event_type": "Reboot"}]})


def test_given_units_that_the_host_does_not_know_then_what_would_fail_is_known_before_anything_is_announced() -> None:
    host = read_host(of_host(reading(found={"unknown_units": ["ngnix"]}), Balancers()))

    assert host.would_fail == (
        "graceful_shutdown_services: ngnix: systemd has no such unit here. Correct the name, or install it",
    )
    assert read_host(reading()).would_fail == ()


def test_given_units_that_start_others_again_then_the_plan_has_a_remark_that_names_both() -> None:
    host = read_host(reading(found={"triggered_units": {"web.service": ["web.socket", "web.timer"]}}))

    (remark,) = make_plan([host], Policy(), NOW).remarks
    assert remark.startswith("web-1: web.service is started again by web.socket and web.timer, even after the run has")


@pytest.mark.parametrize(
    ("named", "said", "method", "is_wrong"),
    [
        ("/rg/web1", "/rg/web2", "azure_load_balancer", True),
        ("/rg/web1", "/rg/web2", "application_gateway", True),
        ("/rg/web1", "/rg/web2", "health_probe", False),
        ("/rg/web1", "/RG/Web1", "azure_load_balancer", False),
        (None, "/rg/web2", "azure_load_balancer", False),
        ("/rg/web1", None, "azure_load_balancer", False),
    ],
)
def test_given_an_id_in_the_inventory_when_the_host_is_another_vm_then_that_is_known_before_anything_is_announced(
    named: str | None, said: str | None, method: str, is_wrong: bool
) -> None:
    answer: dict[str, Any] = {"vm_name": "web1", "events": [], "resource_id": said}
    host = read_host(reading(answer=answer, variables={"azure_vm_id": named, "methods": [method]}))

    assert len(host.would_fail) == is_wrong
    assert not is_wrong or "/rg/web1 is not this VM, which says that it is /rg/web2" in host.would_fail[0]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"powerstate": "running"}, False),
        ({"powerstate": "deallocated"}, True),
        ({"powerstate": "stopped"}, True),
        ({"is_off": True}, True),
        ({"is_off": "true"}, True),
        ({"is_off": "false", "powerstate": "deallocated"}, False),
        ({"is_off": "", "powerstate": "deallocated"}, True),
    ],
)
def test_given_what_the_inventory_says_of_a_host_then_it_is_off_on_purpose_or_not(
    variables: dict[str, Any], expected: bool
) -> None:
    assert is_off(variables) is expected


def test_given_a_host_that_did_not_answer_when_its_policy_differs_then_that_is_none_of_the_others_business() -> None:
    contents: list[dict[str, Any]] = [
        {"name": "web1", "vm_name": "vm1", "policy": {"margin": 30}},
        {"name": "win1", "vm_name": None, "policy": {"margin": 60}},
    ]

    check_alike(contents)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, True),
        ({"methods": []}, False),
        ({"methods": ["haproxy"]}, False),
        ({"methods": ["health_probe", "command"]}, False),
        ({"machine_is_away": "true"}, False),
    ],
    ids=str,
)
def test_given_more_than_the_probe_endpoint_then_a_host_is_not_out_by_that_alone(
    variables: dict[str, Any], expected: bool
) -> None:
    assert read_host(reading(variables=variables)).by_probe_alone is expected
