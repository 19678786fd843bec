# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services are stopped, how, how long may each of them take, and which are running?"""

from __future__ import annotations

import math
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    LONGEST_RECORDED,
    ServiceError,
    problem,
    read_record,
    read_services,
    running,
    stop_limit,
)
from hypothesis import given
from hypothesis import strategies as st


def test_given_a_mere_name_when_it_is_read_then_it_is_a_unit_with_all_defaults() -> None:
    assert read_services(["nginx"]) == [
        {
            "name": "nginx",
            "stop": [],
            "start": [],
            "status": [],
            "stop_tasks": "",
            "start_tasks": "",
            "timeout": 90.0,
            "reserve": 0.0,
            "on_failure": "fail",
            "healthy": {},
        }
    ]


def test_given_what_was_read_when_it_is_read_again_then_it_is_the_same() -> None:
    services = read_services(
        [
            "nginx",
            {"name": "app", "stop": ["stop", 1], "healthy": {"port": "8080"}, "reserve": 5, "on_failure": "abort"},
            {"name": "db", "stop_tasks": "/x/stop.yml", "start_tasks": "/x/start.yml"},
        ]
    )

    assert read_services(services) == services
    assert services[1]["healthy"] == {"port": 8080, "host": "127.0.0.1", "url": "", "command": [], "within": 60.0}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("nginx", "'nginx' is not a list. Write [nginx]"),
        ({"name": "nginx"}, "is not a list"),
        ([5], "[0]: 5 is neither the name of a unit nor a mapping with a name"),
        (["nginx", {"stop": ["x"]}], "[1].name: None is not a name"),
        ([" "], "[0].name: ' ' is not a name"),
        (["nginx", {"name": "nginx"}], "[1].name: 'nginx' is there twice"),
        ([{"name": "a", "stopp": []}], "[0]: has 'stopp', which is none of name, stop, start"),
        ([{"name": "a", "stop": "systemctl stop a"}], "[0].stop: 'systemctl stop a' is not a list of arguments"),
        ([{"name": "a", "stop": ["x"], "stop_tasks": "/t"}], "[0]: has both stop and stop_tasks"),
        ([{"name": "a", "stop_tasks": "/t"}], "nothing that starts it again"),
        ([{"name": "a", "stop_tasks": "t.yml", "start": ["x"]}], "[0].stop_tasks: 't.yml' is not an absolute path"),
        ([{"name": "a", "timeout": 0}], "[0].timeout: 0 is not a time. Give seconds, 1 to 86400"),
        ([{"name": "a", "timeout": True}], "[0].timeout: True is not a time"),
        ([{"name": "a", "timeout": "nan"}], "[0].timeout: 'nan' is not a time"),
        ([{"name": "a", "timeout": "soon"}], "[0].timeout: 'soon' is not a time"),
        ([{"name": "a", "timeout": 10, "reserve": 11}], "[0].reserve: 11 is more than its timeout of 10"),
        ([{"name": "a", "on_failure": "explode"}], "'explode' is not one of fail, abort, ignore"),
        ([{"name": "a", "healthy": 80}], "[0].healthy: 80 is not a mapping"),
        ([{"name": "a", "healthy": {"within": 5}}], "[0].healthy: says nothing that could be looked at"),
        ([{"name": "a", "healthy": {"port": 65536}}], "[0].healthy.port: 65536 is not a TCP port"),
        ([{"name": "a", "healthy": {"port": True}}], "[0].healthy.port: True is not a TCP port"),
        ([{"name": "a", "healthy": {"porrt": 1}}], "[0].healthy: has 'porrt'"),
    ],
)
def test_given_what_cannot_be_meant_when_it_is_read_then_the_error_says_where_and_what_to_write(
    entries: Any, message: str
) -> None:
    with pytest.raises(ServiceError) as error:
        read_services(entries)

    assert message in str(error.value)


def services(*times: tuple[float, float]) -> list[dict[str, Any]]:
    """Services by their timeout and reserve."""
    return read_services(
        [
            {"name": str(number), "timeout": timeout, "reserve": reserve}
            for number, (timeout, reserve) in enumerate(times)
        ]
    )


@pytest.mark.parametrize(
    ("times", "left", "expected"),
    [
        ([(90, 0)], math.inf, 90),
        ([(90, 0), (30, 0)], 120, 90),
        ([(90, 0), (30, 0)], 60, 45),
        ([(600, 0), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 100, 40),
        ([(600, 10), (60, 60)], 65, 5),
        ([(600, 10), (60, 60)], 60, 0),
        ([(60, 60)], 45, 45),
        ([(60, 0)], -1, 0),
    ],
)
def test_given_time_when_a_service_stops_then_it_leaves_what_is_reserved_and_the_shares_of_the_others(
    times: list[tuple[float, float]], left: float, expected: float
) -> None:
    assert stop_limit(services(*times), left) == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.floats(1, 900), st.floats(0, 1)), min_size=1, max_size=6),
    st.floats(-10, 4000),
)
def test_given_services_that_use_up_their_time_when_they_stop_then_all_have_stopped_by_the_deadline(
    times: list[tuple[float, float]], left: float
) -> None:
    ahead = services(*((timeout, timeout * part) for timeout, part in times))
    used = 0.0
    for number in range(len(ahead)):
        limit = stop_limit(ahead[number:], left - used)
        assert 0 <= limit <= ahead[number]["timeout"] * (1 + 1e-9)
        used += limit

    assert used <= max(0.0, left) + 1e-6


@given(st.floats(1, 900), st.floats(1, 900), st.floats(0, 900))
def test_given_a_reserve_that_fits_when_those_before_use_all_their_time_then_the_last_has_it(
    first: float, reserve: float, beyond: float
) -> None:
    ahead = services((first, 0), (900, reserve))
    left = reserve + beyond

    assert stop_limit(ahead[1:], left - stop_limit(ahead, left)) >= reserve - 1e-6


def shown(name: str, active: str = "inactive", load: str = "loaded", kind: str = "simple") -> dict[str, Any]:
    """What systemctl says of a unit."""
    (service,) = read_services([name])
    text = f"Type={kind}\nLoadState={load}\nActiveState={active}"
    return {"item": service, "rc": 0, "stdout": text}


def asked(*answers: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Services, and what was registered."""
    return [answer["item"] for answer in answers], {"results": list(answers)}


@pytest.mark.parametrize(
    ("active", "is_running"),
    [
        *(
            (state, True)
            for state in ("active", "activating", "deactivating", "reloading", "refreshing", "maintenance")
        ),
        *((state, False) for state in ("inactive", "failed", "")),
    ],
)
def test_given_a_unit_when_systemd_says_its_state_then_only_what_is_down_is_down(active: str, is_running: bool) -> None:
    services, answers = asked(shown("nginx", active))

    assert running(services, answers) == (services if is_running else [])


@pytest.mark.parametrize(("rc", "is_running"), [(0, True), (1, False), (3, False)])
def test_given_a_command_for_the_status_when_it_ends_then_its_exit_status_counts(rc: int, is_running: bool) -> None:
    services = read_services([{"name": "app", "status": ["x"], "stop": ["x"]}])
    answers = {"results": [{"item": services[0], "rc": rc, "stdout": "ActiveState=active\nType=oneshot"}]}

    assert running(services, answers) == (services if is_running else [])
    assert bool(problem(services, answers, "running")) is not is_running


def test_given_a_service_that_only_its_tasks_know_of_then_it_counts_as_running_in_its_place() -> None:
    known = shown("nginx", "active")
    (by_tasks,) = read_services([{"name": "db", "stop_tasks": "/x.yml", "start_tasks": "/y.yml"}])

    assert running([by_tasks, known["item"]], {"results": [known]}) == [by_tasks, known["item"]]
    assert running([by_tasks], {"skipped": True, "results": []}) == [by_tasks]


@pytest.mark.parametrize(("load", "is_known"), [("loaded", True), ("masked", True), ("not-found", False), ("", False)])
def test_given_a_unit_that_systemd_does_not_know_then_it_is_named(load: str, is_known: bool) -> None:
    services, answers = asked(shown("nginx", "active", "not-found"), shown("ngnix", load=load))

    said = problem(services, answers)

    assert said.startswith("graceful_shutdown_services: systemd does not know ngnix. Name") is not is_known


def test_given_services_that_are_not_as_expected_then_they_are_named() -> None:
    services, answers = asked(
        shown("up", "active"),
        shown("down"),
        shown("done", kind="oneshot"),
        shown("broken", "failed", kind="oneshot"),
    )

    assert problem(services, answers) == ""
    assert problem(services, answers, "stopped").endswith("although their stop succeeded: up")
    assert problem(services, answers, "running").endswith("although their start succeeded: down, broken")


@pytest.mark.parametrize("where", ["unreachable", "results"])
def test_given_a_machine_that_is_lost_while_it_is_asked_then_nothing_is_known_of_its_services(where: str) -> None:
    services, answers = asked(shown("nginx", "active"))
    lost = {"item": services[0], "unreachable": True}
    answers = {"unreachable": True} if where == "unreachable" else {"results": [*answers["results"], lost]}

    assert "could not be reached" in problem(services, answers, "running")


def test_given_an_expectation_that_there_is_not_then_it_is_refused() -> None:
    with pytest.raises(ServiceError, match="expected: 'up' is not one of any, running, stopped"):
        problem([], {}, "up")


DATABASE = {"name": "db", "stop_tasks": "/operator/stop.yml", "start_tasks": "/operator/start.yml", "timeout": 2000}


def test_given_a_record_that_names_a_file_of_tasks_when_it_is_read_then_the_operator_s_file_is_taken() -> None:
    record = [{"name": "db", "stop_tasks": "/tmp/evil.yml", "start_tasks": "/tmp/evil.yml"}]

    assert [service["start_tasks"] for service in read_record(record, [DATABASE])] == ["/operator/start.yml"]


def test_given_a_record_that_adds_a_file_of_tasks_to_a_service_without_then_it_is_refused_by_name() -> None:
    record = [{"name": "nginx", "stop_tasks": "/tmp/evil.yml", "start_tasks": "/tmp/evil.yml"}]

    with pytest.raises(ServiceError, match="'nginx' is started by tasks, and this variable has no start_tasks"):
        read_record(record, ["nginx", DATABASE])


def test_given_a_record_of_commands_when_the_variables_have_changed_then_the_record_decides() -> None:
    record = [{"name": "nginx", "stop": ["stop-nginx"], "start": ["start-nginx"]}]

    assert [service["start"] for service in read_record(record, [])] == [["start-nginx"]]


def test_given_a_record_with_long_times_then_the_controller_waits_no_longer_than_the_operator_says() -> None:
    slow = {"timeout": 80000, "healthy": {"port": 80, "within": 80000}}

    other, ours = read_record([{"name": "x", **slow}, {"name": "db", **slow}], [DATABASE])

    assert (other["timeout"], other["healthy"]["within"]) == (LONGEST_RECORDED, LONGEST_RECORDED)
    assert (ours["timeout"], ours["healthy"]["within"]) == (2000.0, LONGEST_RECORDED)
