# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of services that are stopped and started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.service_module import (
    run_ordered_services,
    service_arguments,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.services import judge, read_answer, read_services


class EndedError(Exception):
    """What the module ends with."""


class Module:
    """A call of ordered_services on a machine with one service."""

    check_mode = False
    status = 0

    def __init__(self, **params: Any) -> None:
        self.params = {name: spec.get("default") for name, spec in service_arguments().items()} | params

    def run_command(self, command: Any, **_options: Any) -> tuple[int, str, str]:
        if "status" in command:
            return Module.status, "", ""
        Module.status = 3 if "stop" in command else 0
        return 0, "", ""

    def exit_json(self, **result: Any) -> None:
        raise EndedError(result)

    fail_json = exit_json


def diff_of(state: str, record: Path, services: list[dict[str, Any]]) -> dict[str, str]:
    with pytest.raises(EndedError) as ended:
        run_ordered_services(Module(state=state, record=str(record), services=read_services(services)))
    diff: dict[str, str] = ended.value.args[0]["diff"]
    return diff


def test_given_services_whose_state_cannot_be_told_when_stopped_then_they_are_named_and_the_others_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: Any, handle_exceptions: bool = True, **_options: Any) -> tuple[int, str, str]:
        if "missing" in command:
            raise EndedError if handle_exceptions else FileNotFoundError(2, "No such file or directory", "missing")
        if "broken" in command:
            return 9, "", "no database"
        return (0, "LoadState=not-found", "") if "show" in command else Module.run_command(module, command)

    module: Any = Module(
        state="stopped",
        record=str(tmp_path / "services"),
        services=read_services(
            [
                {"name": "odd", "status": ["broken"], "stop": ["stop"], "timeout": 1},
                {"name": "gone", "status": ["missing"], "stop": ["stop"], "timeout": 1},
                "ngnix",
                {"name": "queue", **{do: ["queue", do] for do in ("status", "stop")}},
            ]
        ),
    )
    monkeypatch.setattr(Module, "status", 0)
    module.run_command = run

    with pytest.raises(EndedError) as ended:
        run_ordered_services(module)

    result = ended.value.args[0]
    failures = result["stretch"]["failures"]
    assert failures[0].startswith("odd (its state is unknown: odd: broken ended with exit status 9")
    assert "No such file or directory: 'missing'" in failures[1]
    assert failures[2].startswith("ngnix (systemd does not know it")
    assert [one["name"] for one in result["services"]] == ["odd", "gone", "queue"]
    assert Module.status == 3


def test_given_a_unit_that_never_comes_up_when_stopped_and_started_then_it_is_stopped_and_its_record_stays(
    tmp_path: Path,
) -> None:
    record = tmp_path / "services"
    active = "activating"

    def run(command: list[str], **_options: Any) -> tuple[int, str, str]:
        nonlocal active
        active = {"stop": "inactive", "start": "activating"}.get(command[-3], active)
        return 0, f"LoadState=loaded\nActiveState={active}", ""

    def states_when(state: str) -> Any:
        module: Any = Module(state=state, record=str(record), services=read_services(["web"]))
        module.run_command = run
        with pytest.raises(EndedError) as ended:
            run_ordered_services(module)
        return ended.value.args[0]["states"]

    assert states_when("stopped") == {"web": "stopped"}
    assert states_when("restored") == {"web": "starting"}
    assert record.exists()


def test_given_a_unit_that_stops_with_a_service_when_this_is_started_then_both_run_again(tmp_path: Path) -> None:
    up = {"base", "base.socket", "app.service", "listed", "all.target"}
    behind = "app.service base.socket listed.service all.target"
    started = []

    def run(command: list[str], **_options: Any) -> tuple[int, str, str]:
        names = command[command.index("--") + 1 :]
        if "stop" in command:
            up.clear()
        if "start" in command:
            up.update(names)
            started.append(command[-3:])
        told = [
            f"Id={name}\nLoadState=loaded\nActiveState={'active' if name in up else 'inactive'}\n"
            f"RequiredBy={behind if name == 'base' else ''}\nCanStart=yes\n"
            for name in names
        ]
        return 0, "\n".join(told), ""

    def told_when(state: str) -> list[tuple[str, float]]:
        services = read_services(["listed", {"name": "base", "timeout": 200}])
        module: Any = Module(state=state, record=str(tmp_path / "services"), services=services)
        module.run_command = run
        with pytest.raises(EndedError) as ended:
            run_ordered_services(module)
        return [(one["name"], one["timeout"]) for one in ended.value.args[0]["services"]]

    assert told_when("stopped") == [("listed", 90.0), ("base", 200.0)]
    # systemd starts no socket whose service runs.
    assert told_when("restored") == [
        *((name, 200.0) for name in ("base.socket", "base", "app.service", "all.target")),
        ("listed", 90.0),
    ]
    assert up == {"base", "base.socket", "app.service", "listed", "all.target"}
    assert ["--job-mode=ignore-dependencies", "--", "all.target"] in started


def test_given_a_unit_that_stopped_with_a_service_and_is_gone_by_now_when_started_then_the_service_runs_again(
    tmp_path: Path,
) -> None:
    up, known = {"base", "mounted.mount"}, {"base", "mounted.mount"}

    def run(command: list[str], **_options: Any) -> tuple[int, str, str]:
        name = command[-1]
        if "stop" in command:
            up.clear()
            known.remove("mounted.mount")
        if "start" in command:
            up.add(name)
        behind = "mounted.mount" if name == "base" else ""
        load, active = "loaded" if name in known else "not-found", "active" if name in up else "inactive"
        return 0, f"Id={name}\nLoadState={load}\nActiveState={active}\nRequiredBy={behind}\nCanStart=yes\n", ""

    def states_when(state: str) -> Any:
        services = read_services(["base"])
        module: Any = Module(state=state, record=str(tmp_path / "services"), services=services)
        module.run_command = run
        with pytest.raises(EndedError) as ended:
            run_ordered_services(module)
        return ended.value.args[0]["states"]

    states_when("stopped")
    assert states_when("restored") == {"base": "running"}
    assert not (tmp_path / "services").exists()


def test_given_a_service_whose_state_cannot_be_told_when_started_then_it_is_named_and_the_others_are_started(
    tmp_path: Path,
) -> None:
    record = tmp_path / "services"
    started = []

    def run(command: list[str], **_options: Any) -> tuple[int, str, str]:
        if "missing" in command:
            raise FileNotFoundError(2, "No such file or directory", "missing")
        if "start" in command:
            started.append(command[-1])
        return 0, f"LoadState=loaded\nActiveState={'active' if 'web' in started else 'inactive'}", ""

    odd = {"name": "odd", "status": ["missing"], "start": ["odd", "start"], "stop": ["x"], "timeout": 1}
    record.write_text(json.dumps(read_services(["web", odd])))
    module: Any = Module(state="restored", record=str(record), services=read_services(["web", odd]))
    module.run_command = run

    with pytest.raises(EndedError) as ended:
        run_ordered_services(module)

    assert started == ["start", "web"]
    (failure,) = ended.value.args[0]["stretch"]["failures"]
    assert failure.startswith("odd (Wait until the service is up: ")
    assert record.exists()


def test_given_commands_with_a_password_when_stopped_and_started_then_the_diff_shows_names_and_states_only(
    tmp_path: Path,
) -> None:
    record = tmp_path / "services"
    service = {"name": "queue", **{do: ["queue", do, "--password=hunter2"] for do in ("status", "stop", "start")}}

    assert diff_of("stopped", record, [service]) == {"before": "queue: running\n", "after": "queue: stopped\n"}
    assert "hunter2" in record.read_text()
    assert diff_of("restored", record, []) == {"before": "queue: stopped\n", "after": "queue: running\n"}
    assert diff_of("restored", record, []) == {"before": "", "after": ""}


def test_given_a_unit_that_is_gone_by_now_when_started_then_it_is_named_and_the_others_are_started(
    tmp_path: Path,
) -> None:
    record = tmp_path / "services"
    up = set()

    def run(command: list[str], **_options: Any) -> tuple[int, str, str]:
        name = command[-1]
        if "start" in command:
            up.add(name)
        load, active = "loaded" if name == "web" else "not-found", "active" if name in up else "inactive"
        return 0, f"LoadState={load}\nActiveState={active}", ""

    # podman generates none of its units if one of their files is wrong.
    record.write_text(json.dumps(read_services(["web", "container"])))
    module: Any = Module(state="restored", record=str(record))
    module.run_command = run

    with pytest.raises(EndedError) as ended:
        run_ordered_services(module)

    result = ended.value.args[0]
    assert up == {"web"}
    said = judge(read_answer(result, [], is_stop=False, is_first=True), is_stop=False, is_dry=False)
    assert said == "These services did not start: container (systemd no longer knows it)"
    assert record.exists()
