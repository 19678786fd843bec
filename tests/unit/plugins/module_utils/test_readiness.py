# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is this machine ready for maintenance?"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.readiness import (
    look_at_agent,
    look_at_imds,
    look_at_probe,
    proxies_in_the_way,
    run_readiness_info,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.options import ConnectionOptions
from azure_simulator.testing import Simulator

IMDS = "169.254.169.254"


@pytest.fixture(name="azure", scope="module")
def fixture_azure() -> Iterator[Simulator]:
    with Simulator({"vms": [{"name": "web_0", "address": "127.0.81.1", "scale_set": "web"}]}) as azure:
        yield azure


def connection(endpoint: str) -> ConnectionOptions:
    return ConnectionOptions(endpoint=endpoint, timeout=30, connect_timeout=0.2)


@pytest.fixture(name="silent")
def fixture_silent() -> Iterator[str]:
    """An address at which nobody listens."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield "http://127.0.0.1:%d" % closed.getsockname()[1]


def test_given_a_metadata_service_then_it_shows_who_the_vm_is_and_which_versions_answer(azure: Simulator) -> None:
    findings, told = look_at_imds(connection(azure.imds["web_0"]))
    assert [finding.severity for finding in findings] == ["ok", "ok"]
    assert (told["name"], told["scale_set"]) == ("web_0", "web")
    assert told["api_versions"] == ["2024-07-09", "2020-07-01"]
    assert told["resource_id"].endswith("/virtualMachineScaleSets/web/virtualMachines/0")


@pytest.mark.parametrize("status", [400, 404])
def test_given_a_metadata_service_without_the_newest_version_then_rebalance_recommendations_cannot_arrive(
    azure: Simulator, status: int
) -> None:
    azure.fault("status", status=status, api_versions=["2024-07-09"], count=1)
    findings, told = look_at_imds(connection(azure.imds["web_0"]))
    assert told["api_versions"] == ["2020-07-01"]
    assert findings[1].severity == "note"
    assert "Rebalance recommendations cannot arrive: it does not have version 2024-07-09" in findings[1].found


def test_given_a_metadata_service_that_has_no_version_of_events_then_that_is_wrong(azure: Simulator) -> None:
    azure.fault("status", status=400, paths=["/metadata/scheduledevents"], count=2)
    findings, told = look_at_imds(connection(azure.imds["web_0"]))
    assert (findings[1].check, findings[1].severity, told["api_versions"]) == ("scheduled events", "error", [])


def test_given_nobody_at_the_endpoint_then_it_is_wrong_and_says_what_to_ask(silent: str) -> None:
    findings, told = look_at_imds(connection(silent))
    assert [(finding.check, finding.severity) for finding in findings] == [("metadata service", "error")]
    assert "is this an Azure VM?" in findings[0].found
    assert told["name"] is None


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, []),
        ({"http_proxy": "http://user:secret@proxy:3128"}, ["http_proxy"]),
        ({"HTTP_PROXY": "http://proxy", "all_proxy": "http://proxy"}, ["HTTP_PROXY", "all_proxy"]),
        # Only https.
        ({"https_proxy": "http://proxy"}, []),
        ({"http_proxy": "http://proxy", "no_proxy": "localhost, 169.254.169.254"}, []),
        ({"http_proxy": "http://proxy", "NO_PROXY": "*"}, []),
        ({"http_proxy": "http://proxy", "no_proxy": "localhost"}, ["http_proxy"]),
        ({"http_proxy": ""}, []),
    ],
)
def test_given_an_environment_then_the_variables_in_the_way_are_named_without_what_is_in_them(
    environment: dict[str, str], named: list[str]
) -> None:
    assert proxies_in_the_way(environment, IMDS) == named


def agent(tmp_path: Path, answer: tuple[int, str, str]) -> tuple[str, str]:
    command = tmp_path / "foghorn-agent"
    command.touch()
    found = look_at_agent(
        str(command), lambda asked: answer if asked == [str(command), "status", "--json"] else (9, "", "")
    )
    return found.severity, found.found


def test_given_no_agent_then_it_says_so_and_nothing_is_wrong(tmp_path: Path) -> None:
    found = look_at_agent(str(tmp_path / "nosuch"), lambda _asked: (0, "", ""))
    assert (found.severity, found.found) == ("note", "not installed: there is no %s/nosuch" % tmp_path)


def test_given_an_agent_that_answers_then_it_says_whether_the_vm_is_in_rotation(tmp_path: Path) -> None:
    assert agent(tmp_path, (0, '{"in_rotation": false}', "")) == ("ok", "answers: out of rotation, Python unknown")
    assert agent(tmp_path, (0, '{"in_rotation": true, "python": "3.9.18"}', "")) == (
        "ok",
        "answers: in rotation, Python 3.9.18",
    )


@pytest.mark.parametrize(
    "answer",
    [(1, "", "no answer\nfrom it"), (0, "{", ""), (0, "[]", ""), (3, "", "")],
    ids=["1", "broken", "list", "3"],
)
def test_given_an_agent_that_does_not_answer_then_that_is_wrong(tmp_path: Path, answer: tuple[int, str, str]) -> None:
    severity, found = agent(tmp_path, answer)
    assert severity == "error"
    assert found.startswith("installed, but does not answer: ")
    assert "\n" not in found


def test_given_a_probe_then_only_200_is_up(azure: Simulator, silent: str) -> None:
    control = azure.imds["web_0"]
    refused = look_at_probe(control + "/readyz")
    assert (refused.severity, refused.found[:8]) == ("error", "answers ")
    assert look_at_probe(silent + "/readyz").severity == "error"


class Ended(Exception):
    """The module has ended."""


class Module:
    """As much of an AnsibleModule as is used."""

    def __init__(self, **options: Any) -> None:
        self.params = {
            "timeout": 30.0,
            "connect_timeout": 0.2,
            "agent_command": "/nonexistent/agent",
            "probes": [],
            "units": [],
            **options,
        }
        self.run_command: Callable[..., Any] = lambda _asked: (1, "", "")
        self.result: dict[str, Any] = {}

    def exit_json(self, **result: Any) -> None:
        self.result = result

    def fail_json(self, **result: Any) -> None:
        self.result = result
        raise Ended


def test_given_a_vm_that_is_well_then_it_is_ready(azure: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    module: Any = Module(endpoint=azure.imds["web_0"])
    run_readiness_info(module)
    assert module.result["ready"] is True
    assert [(one["check"], one["severity"]) for one in module.result["checks"]] == [
        ("metadata service", "ok"),
        ("scheduled events", "ok"),
        ("proxy", "ok"),
        ("agent", "note"),
    ]
    assert json.dumps(module.result)


def test_given_a_proxy_then_its_variable_is_named_and_the_vm_is_ready_anyway(
    azure: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://user:secret@proxy.example:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    module: Any = Module(endpoint=azure.imds["web_0"])
    run_readiness_info(module)
    (proxy,) = [one for one in module.result["checks"] if one["check"] == "proxy"]
    assert (module.result["ready"], proxy["severity"]) == (True, "note")
    assert "http_proxy" in proxy["found"]
    assert "secret" not in proxy["found"]


def test_given_a_probe_that_does_not_answer_then_the_vm_is_not_ready(azure: Simulator, silent: str) -> None:
    module: Any = Module(endpoint=azure.imds["web_0"], probes=[silent + "/readyz"])
    run_readiness_info(module)
    assert module.result["ready"] is False
    assert module.result["checks"][-1]["check"] == "probe %s/readyz" % silent


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"endpoint": "https://127.0.0.1"}, "endpoint: 'https://127.0.0.1' must begin with http://"),
        ({"probes": ["127.0.0.1/readyz"]}, "probes: '127.0.0.1/readyz' cannot be asked. Give http://HOST"),
    ],
)
def test_given_an_invalid_value_then_the_error_names_option_value_and_remedy(
    options: dict[str, Any], said: str
) -> None:
    module: Any = Module(**{"endpoint": "http://127.0.0.1", **options})
    with pytest.raises(Ended):
        run_readiness_info(module)
    assert module.result["msg"].startswith(said)


def test_given_units_that_systemd_does_not_know_or_starts_again_then_they_are_named(azure: Simulator) -> None:
    module: Any = Module(endpoint=azure.imds["web_0"], units=["ngnix", "cups"])
    module.get_bin_path = lambda name: name
    told = "LoadState=not-found\n\nLoadState=loaded\nTriggeredBy=cups.socket\n"
    module.run_command = lambda asked: (0, told if "show" in asked else "active", "")

    run_readiness_info(module)

    found = {one["check"]: (one["severity"], one["found"]) for one in module.result["checks"]}
    assert found["unit ngnix"] == ("error", "systemd does not know it")
    assert found["unit cups"][0] == "note"
    assert "cups.socket" in found["unit cups"][1]
