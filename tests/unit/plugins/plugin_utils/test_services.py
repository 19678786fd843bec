# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services are stopped, how, how long may each of them take, and which are running?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import (
    ServiceError,
    judge,
    problem,
    read_answer,
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
            {"name": "workers [all]", "status": ["w"], "stop": ["w"], "start": ["w"]},
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
        (["worker@*"], "[0].name: 'worker@*' is a pattern"),
        ([{"name": "a", "stopp": []}], "[0]: has the unknown key 'stopp'. Known are name, stop, start"),
        ([{"name": "a", "stop": "systemctl stop a"}], "[0].stop: 'systemctl stop a' is not a list of arguments"),
        ([{"name": "a", "stop": ["x"], "stop_tasks": "/t"}], "[0]: has both stop and stop_tasks"),
        ([{"name": "a", "stop_tasks": "/t"}], "no start"),
        ([{"name": "a", "stop_tasks": "t.yml", "start": ["x"]}], "[0].stop_tasks: 't.yml' is not an absolute path"),
        ([{"name": "a", "timeout": 0}], "[0].timeout: 0 is not a time. Give seconds, 1 to 86400"),
        ([{"name": "a", "timeout": True}], "[0].timeout: True is not a time"),
        ([{"name": "a", "timeout": "nan"}], "[0].timeout: 'nan' is not a time"),
        ([{"name": "a", "timeout": "soon"}], "[0].timeout: 'soon' is not a time"),
        ([{"name": "a", "timeout": 10, "reserve": 11}], "[0].reserve: 11 is more than its timeout of 10"),
        ([{"name": "a", "on_failure": "explode"}], "'explode' is not one of fail, abort, ignore"),
        ([{"name": "a", "healthy": 80}], "[0].healthy: 80 is not a mapping"),
        ([{"name": "a", "healthy": {"within": 5}}], "[0].healthy: contains nothing to check"),
        ([{"name": "a", "healthy": {"port": 65536}}], "[0].healthy.port: 65536 is not a TCP port"),
        ([{"name": "a", "healthy": {"port": True}}], "[0].healthy.port: True is not a TCP port"),
        ([{"name": "a", "healthy": {"porrt": 1}}], "[0].healthy: has the unknown key 'porrt'"),
    ],
)
def test_given_an_invalid_value_when_it_is_read_then_the_error_says_where_and_what_to_write(
    entries: Any, message: str
) -> None:
    with pytest.raises(ServiceError) as error:
        read_services(entries)

    assert message in str(error.value)


def units(*names: str) -> list[dict[str, Any]]:
    return read_services(list(names))


def test_given_states_then_what_runs_is_reported_in_the_order_of_the_services() -> None:
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

    assert silent(services, states) == (named and "The machine did not report whether these services run: " + named)


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
EVIL = {"name": "db", "stop_tasks": "/tmp/evil.yml", "start_tasks": "/tmp/evil.yml", "timeout": 5}
COME_TO_DATABASE = {"stretch": {"next": "db", "seconds": 80000, "failures": []}, "states": {}, "services": [EVIL]}


@pytest.mark.parametrize(("is_stop", "path"), [(True, "/operator/stop.yml"), (False, "/operator/start.yml")])
def test_given_a_machine_that_names_files_of_tasks_when_it_is_read_then_the_operator_s_are_taken_and_his_time(
    is_stop: bool, path: str
) -> None:
    answer = read_answer(COME_TO_DATABASE, read_services([DATABASE]), is_stop, is_first=False)

    assert answer.next == {"name": "db", "tasks": path, "seconds": 2000}


@pytest.mark.parametrize("said", [COME_TO_DATABASE, {"stranger": "db", "states": {}}])
def test_given_a_machine_whose_service_is_started_by_tasks_and_the_operator_names_none_then_it_is_refused_by_name(
    said: dict[str, Any],
) -> None:
    with pytest.raises(ServiceError, match="'db' is started by tasks, and this variable has no start_tasks"):
        read_answer(said, read_services(["nginx", {"name": "db", "stop": ["x"]}]), is_stop=False, is_first=True)


WEB = {"name": "web", "status": ["test"]}
TOY = {"name": "toy", "status": ["test"], "on_failure": "ignore"}


def judged(is_stop: bool = True, is_dry: bool = False, is_first: bool = True, **said: Any) -> str:
    own = read_services([WEB, TOY])
    return judge(read_answer({"services": own, **said}, own, is_stop, is_first), is_stop, is_dry)


DONE = {"failures": [], "ignored": [], "aborted": "", "next": ""}


def test_given_all_that_have_stopped_when_judged_then_nothing_is_wrong_and_what_may_continue_does_not_count() -> None:
    assert judged(states={"web": "stopped", "toy": "running"}, stretch=DONE) == ""


def test_given_one_that_still_runs_when_judged_then_it_is_named_but_not_where_nothing_was_stopped() -> None:
    states = {"web": "running", "toy": "stopped"}

    assert judged(states=states, stretch=DONE) == "These services are still running although their stop succeeded: web"
    assert judged(states=states, stretch=DONE, is_dry=True) == ""


def test_given_one_that_does_not_run_when_judged_after_the_start_then_it_is_named() -> None:
    said = judged(is_stop=False, states={"web": "stopped", "toy": "running"}, stretch=DONE)

    assert said == "These services are not running although their start succeeded: web"


def test_given_failures_when_judged_then_they_are_named_and_what_was_left_running() -> None:
    failed = {**DONE, "failures": ["web (out of time)"], "aborted": "web"}

    assert judged(states={}, stretch=failed) == (
        "These services did not stop: web (out of time). Those after web were left running"
    )
    assert judged(is_stop=False, states={}, stretch=failed) == "These services did not start: web (out of time)"


SILENT = "The machine returned no result"
SILENT_ABOUT_WEB = "The machine did not report whether these services run: web"


def test_given_a_machine_that_leaves_a_service_out_when_it_comes_to_one_for_tasks_then_that_is_no_answer() -> None:
    own = read_services([WEB, DATABASE])

    assert judge(read_answer(COME_TO_DATABASE, own, is_stop=True, is_first=True), True, False) == SILENT_ABOUT_WEB
    said = {**COME_TO_DATABASE, "states": {"web": "stopped"}}
    assert judge(read_answer(said, own, is_stop=True, is_first=True), True, False) == ""


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, SILENT),
        ({"states": {"web": "stopped"}}, SILENT),
        ({"states": {}, "stretch": DONE}, "The machine did not report whether these services run: web, toy"),
        ({"states": {"web": "gone", "toy": "running"}, "stretch": DONE}, SILENT_ABOUT_WEB),
        ({"states": {"toy": "stopped"}, "stretch": DONE, "services": []}, SILENT_ABOUT_WEB),
        ({"states": {}, "stretch": DONE, "is_first": False, "services": []}, SILENT_ABOUT_WEB),
        ({"states": {"web": "stopped", "toy": "stopped"}, "stretch": DONE, "services": None}, SILENT),
        (
            {"states": {"web": "running", "toy": "stopped"}, "stretch": DONE, "services": []},
            "These services are still running although their stop succeeded: web",
        ),
        ({"states": "web", "stretch": 5}, SILENT),
    ],
)
def test_given_a_machine_that_answers_something_else_when_judged_then_nothing_counts_as_stopped(
    said: dict[str, Any], message: str
) -> None:
    assert judged(**said) == message
