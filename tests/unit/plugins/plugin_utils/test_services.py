# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services are stopped, how, how long may each of them take, and which are running?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    LONGEST_RECORDED,
    ServiceError,
    problem,
    read_record,
    read_services,
    running,
    silent,
)


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


def units(*names: str) -> list[dict[str, Any]]:
    return read_services(list(names))


def test_given_states_then_what_runs_is_told_in_the_order_of_the_services() -> None:
    app, nginx, toy = units("app", "nginx", "toy")

    assert running([app, nginx, toy], {"nginx": "running", "app": "running", "toy": "stopped"}) == [app, nginx]


def test_given_a_service_that_only_its_tasks_know_of_then_it_counts_as_running_in_its_place() -> None:
    (nginx,) = units("nginx")
    (by_tasks,) = read_services([{"name": "db", "stop_tasks": "/x.yml", "start_tasks": "/y.yml"}])

    assert running([by_tasks, nginx], {"nginx": "running"}) == [by_tasks, nginx]
    assert running([by_tasks], {}) == [by_tasks]


@pytest.mark.parametrize(
    ("states", "named"),
    [
        ({"nginx": "stopped", "queue": "stopped"}, ""),
        ({"nginx": "stopped"}, "queue"),
        ({"nginx": "gone", "queue": "running"}, "nginx"),
        ({}, "nginx, queue"),
    ],
)
def test_given_services_that_a_machine_does_not_answer_for_then_they_are_named_and_do_not_count_as_stopped(
    states: dict[str, str], named: str
) -> None:
    tasks = {"name": "tasks", "stop_tasks": "/stop.yml", "start_tasks": "/start.yml"}
    services = read_services(["nginx", {"name": "queue", "status": ["true"]}, tasks])

    assert silent(services, states) == (named and "The machine did not say whether these services run: " + named)


def test_given_a_unit_that_systemd_does_not_know_then_it_is_named() -> None:
    said = problem(units("nginx", "ngnix"), {"nginx": "stopped", "ngnix": "unknown"})

    assert said.startswith("graceful_shutdown_services: systemd does not know ngnix. Name")


def test_given_services_that_are_not_as_expected_then_they_are_named() -> None:
    services = units("up", "down", "done", "lost")
    states = {"up": "running", "down": "stopped", "done": "ended"}

    assert problem(services, states) == ""
    assert problem(services, states, "stopped").endswith("although their stop succeeded: up")
    assert problem(services, states, "running").endswith("although their start succeeded: down, lost")


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
