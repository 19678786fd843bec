# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that does not have all hosts of a group is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.completeness import hold_unsound
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.host import Host, PlanError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy


def host(name: str, group: str = "backend web", **details: Any) -> Host:
    return Host(name=name, **{"vm_name": name, "groups": (group,), **details})


def held(hosts: list[Host]) -> dict[str, str]:
    return {one.name: one.held for one in hold_unsound(hosts, Policy()) if one.held}


def refusal(*hosts: Host) -> str:
    with pytest.raises(PlanError) as caught:
        hold_unsound(hosts, Policy())
    return str(caught.value)


def test_given_servers_that_are_no_hosts_of_the_run_then_it_is_refused_and_they_are_named() -> None:
    others = ("web3", "web4", "web5", "web6")

    said = refusal(host("web1", peers_outside_run=others), host("web2", peers_outside_run=others))

    assert said.startswith("backend web: the run has 2 of its 6 hosts, and not web3, web4, web5 and 1 more. The run")
    assert "set handle_events_expected_hosts" in said


def test_given_a_number_of_the_operators_then_it_counts_and_not_what_balancers_say() -> None:
    assert not held([host("web1", peers_outside_run=("sorry",), expected=1)])
    assert not held([host("web1", expected=0)])

    assert refusal(host("web1", expected=6)).startswith("backend web: the run has 1 of its 6 hosts. ")


def test_given_a_host_that_did_not_answer_then_it_may_be_one_that_only_its_balancer_knows() -> None:
    lost = host("web2", "", vm_name=None)

    assert not held([host("web1", peers_outside_run=("vm-2",)), lost])
    assert not held([host("web1", expected=2), lost])
    assert "2 of its 3 hosts, and not vm-2, vm-3" in refusal(host("web1", peers_outside_run=("vm-2", "vm-3")), lost)


def test_given_hosts_without_a_group_then_they_are_called_all() -> None:
    assert refusal(host("web1", "", expected=2)).startswith("all: the run has 1 of its 2 hosts. ")


@pytest.mark.parametrize(
    ("unsound", "why"),
    [
        ([host("web1", peers_outside_run=("web2",))], "backend web: the run has 1 of its 2 hosts, and not web2"),
        ([host("web1", expected=3)], "backend web: the run has 1 of its 3 hosts"),
        ([host("web1", expected=1), host("web2", expected=2)], "handle_events_expected_hosts: 1 on web1, 2 on web2"),
        ([host("web1", minimum="1"), host("web2", minimum="50%")], "handle_events_minimum_in_service: 1 on web1, 50%"),
    ],
)
def test_given_a_group_that_is_not_sound_then_only_its_own_hosts_are_held_back(unsound: list[Host], why: str) -> None:
    found = held([*unsound, host("app1", "backend app"), host("app2", "backend app")])

    assert found.keys() == {one.name for one in unsound}
    assert all(text.startswith(why) for text in found.values())


def test_given_hosts_that_did_not_answer_then_they_decide_nothing() -> None:
    lost = host("mon1", "", vm_name=None, minimum="50%", expected=1)
    of_group = host("db3", "backend db", vm_name=None, minimum="1", expected=9)
    db = [host(name, "backend db", minimum="2", expected=3) for name in ("db1", "db2")]

    assert not held([*db, of_group, lost])
    assert not held([host("web1", "", minimum="2"), lost])


def test_given_two_numbers_for_one_group_then_both_are_named() -> None:
    assert refusal(host("a", expected=1), host("b", expected=2)).startswith(
        "handle_events_expected_hosts: 1 on a, 2 on b, which are in one group: 'backend web'."
    )


def test_given_what_may_be_the_reason_then_it_is_reported_as_well() -> None:
    with pytest.raises(PlanError, match=r"its number of hosts\. web2: HAProxy on lb1 has no server web2"):
        hold_unsound([host("web1", peers_outside_run=("w2",))], Policy(), ["web2: HAProxy on lb1 has no server web2"])


def test_given_a_number_below_0_then_it_is_refused() -> None:
    assert refusal(host("web1", expected=-1)) == "handle_events_expected_hosts: -1 on web1: it must be 0 or more"


def test_given_complete_groups_then_nothing_is_reported() -> None:
    assert not held([host("web1"), host("web2", expected=2), host("app1", "backend app", expected=1)])
