# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions that run their module and turn a lost machine into a failure."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleAuthenticationFailure, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.foghorn.azure_events.plugins.action import (
    connections_drained,
    haproxy_server,
    health_probe_file,
    load_balancer_member,
    maintenance_watch,
    ordered_services,
    own_directory,
    rotation_claim,
    rotation_command,
    wait_until,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils import unreachable

ALL = (connections_drained, haproxy_server, health_probe_file, load_balancer_member, rotation_command)


def made(kind: Any, delegate_to: str = "", **options: Any) -> Any:
    """One for a task with these options, whose connection is not used."""
    task = SimpleNamespace(
        action="x", args=options, async_val=60, check_mode=False, delegate_to=delegate_to, diff=False
    )
    connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/nowhere"), _new_stdin=None)
    return kind.ActionModule(task, connection, None, None, None, None)


@pytest.mark.parametrize("kind", ALL)
def test_given_a_task_in_the_background_then_so_is_the_module(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ActionBase, "_execute_module", lambda _self, **how: {"is_background": how["wrap_async"]})

    assert made(kind).run(None, {})["is_background"] is True


@pytest.mark.parametrize(
    ("kind", "delegate_to", "options", "said"),
    [
        (connections_drained, "", {}, "The machine could not be reached while it was waiting for the end of its c"),
        (
            health_probe_file,
            "",
            {"rotation": "in"},
            "The machine could not be reached while it was restored to rotation: ",
        ),
        (haproxy_server, "edge1", {}, "edge1: It could not be reached: gone"),
        (haproxy_server, "", {}, "It could not be reached: gone"),
        (rotation_command, "edge1", {"name": "mark"}, "mark: It could not be reached: gone"),
        (load_balancer_member, "edge1", {}, "edge1 could not be reached to ask Azure: gone"),
    ],
)
def test_given_a_machine_that_is_lost_meanwhile_then_that_is_a_failure_of_the_task(
    kind: Any, delegate_to: str, options: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_whatever: Any, **_how: Any) -> dict[str, Any]:
        raise AnsibleConnectionFailure("gone")

    monkeypatch.setattr(ActionBase, "_execute_module", lost)
    monkeypatch.setattr(unreachable, "TRIED_FOR", 0.0)

    answer = made(kind, delegate_to, **options).run(None, {"inventory_hostname": "web1"})

    assert (answer["failed"], answer["changed"]) == (True, False)
    assert answer["msg"].startswith(said)


@pytest.mark.parametrize(
    ("kind", "delegate_to", "error", "attempts"),
    [
        (haproxy_server, "edge1", AnsibleConnectionFailure, 2),
        (load_balancer_member, "edge1", AnsibleConnectionFailure, 2),
        (haproxy_server, "edge1", AnsibleAuthenticationFailure, 1),
        (connections_drained, "", AnsibleConnectionFailure, 1),
    ],
)
def test_given_a_machine_that_drops_a_connection_when_many_hosts_ask_it_then_it_is_asked_again_unless_it_refuses_them(
    kind: Any, delegate_to: str, error: type[Exception], attempts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def dropped_once(*_whatever: Any, **_how: Any) -> dict[str, Any]:
        seen.append("asked")
        if len(seen) == 1:
            raise error("Connection reset by peer")
        return {"changed": True}

    monkeypatch.setattr(ActionBase, "_execute_module", dropped_once)
    monkeypatch.setattr(random, "uniform", lambda _least, _most: 0.0)

    answer = made(kind, delegate_to).run(None, {"inventory_hostname": "web1"})

    assert (len(seen), answer.get("failed", False)) == (attempts, attempts == 1)


@pytest.mark.parametrize(
    "kind",
    [*ALL, maintenance_watch, ordered_services, own_directory, rotation_claim, wait_until],
)
def test_given_a_machine_that_is_lost_before_ansible_has_removed_its_files_then_the_answer_stands(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_whatever: Any, **_how: Any) -> dict[str, Any]:
        raise AnsibleConnectionFailure("gone")

    monkeypatch.setattr(ActionBase, "_low_level_execute_command", lost)
    action = made(kind)
    action._task.async_val = 0
    # As without pipelining, which is Ansible's default.
    action._cleanup_remote_tmp = True
    action._connection._shell = SimpleNamespace(tmpdir="/ansible-tmp-1", remove=lambda *_what, **_how: "rm")

    action.cleanup()

    assert action._connection._shell.tmpdir is None


def test_given_connections_that_remain_then_the_operator_sees_which(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {"remaining": ["10.0.0.9:443"], "timed_out": True}
    monkeypatch.setattr(ActionBase, "_execute_module", lambda _self, **_how: answer)

    made(connections_drained).run(None, {"inventory_hostname": "web1"})

    assert "[web1]: Time ran out, connections remain: 10.0.0.9:443" in capsys.readouterr().err


@pytest.mark.parametrize(("out_for", "ago"), [(30.0, 30.0), (None, 0.0), (-3600.0, 0.0), ("x", 0.0)])
def test_given_a_machine_that_says_for_how_long_it_is_out_then_since_is_by_the_controllers_clock(
    out_for: object, ago: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ActionBase, "_execute_module", lambda _self, **_how: {"out_for": out_for})
    begun = time.time()

    answer = made(health_probe_file).run(None, {"inventory_hostname": "web1"})

    assert begun - ago <= answer["since"] <= time.time() - ago
