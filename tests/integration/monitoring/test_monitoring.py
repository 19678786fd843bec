# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Prometheus scrapes a real agent that takes its machine through a reboot: the dashboard and the alerts.

Where Prometheus is not installed this is skipped, unless MONITORING_TESTS=required.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from ansible_collections.foghorn.azure_events.tests.ports import free_port
from azure_simulator.testing import Simulator

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "unit" / "roles" / "handler_agent"))

from real_agent import RealAgent, build, wait_for  # noqa: E402 - found on the path set above

MONITORING = ROOT / "extensions" / "monitoring"
RULES = MONITORING / "prometheus_rules.yml"
ALERTS = [rule["alert"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "grafana_dashboard.json").read_text())
QUERIES = {
    panel["title"]: target["expr"]
    .replace("$__rate_interval", "10s")
    .replace("$job", "foghorn")
    .replace("$instance", ".*")
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}
PATIENCE = 60.0


def find(program: str) -> str:
    """Where a program of Prometheus is."""
    found = shutil.which(program)
    if found is None:
        reason = "there is no %s: install prometheus" % program
        if os.environ.get("MONITORING_TESTS") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


class Recorded(NamedTuple):
    """What a Prometheus took in during a run. Instants are seconds since the epoch."""

    url: str
    begin: float
    end: float

    def ask(self, path: str, **query: Any) -> Any:
        """Ask its API."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def series(self, query: str) -> list[dict[str, Any]]:
        """What a query gives over the run, once a second."""
        found: list[dict[str, Any]] = self.ask("query_range", query=query, start=self.begin, end=self.end, step=1)[
            "result"
        ]
        return found


@pytest.fixture(scope="module", name="recorded")
def fixture_recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Two agents under Prometheus, one of which takes its machine through a reboot, with a step that fails."""
    program = find("prometheus")
    directory = tmp_path_factory.mktemp("run")
    config = {"clock": {"speed": 20}, "vms": [{"name": f"web_{n}", "address": f"127.0.0.{71 + n}"} for n in range(2)]}
    with Simulator(config) as azure:
        built = build(directory / "program")
        agents = [RealAgent(built, directory / vm, azure.imds[vm]) for vm in ("web_0", "web_1")]
        failing = {"command": ["/bin/false"], "name": "stop"}
        agents[1].set("policies", [{"shutdown": [failing], "approve": "when_ready"}])
        port = free_port()
        scrape = {
            "job_name": "foghorn",
            "scrape_interval": "500ms",
            "scrape_timeout": "400ms",
            "static_configs": [{"targets": [agent.url.removeprefix("http://") for agent in agents]}],
        }
        settings = directory / "prometheus.yml"
        settings.write_text(yaml.safe_dump({"scrape_configs": [scrape], "rule_files": [str(RULES)]}))
        with (directory / "log").open("wb") as log:
            prometheus = subprocess.Popen(
                [
                    program,
                    f"--config.file={settings}",
                    f"--storage.tsdb.path={directory / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        begin = time.time()
        recorded = Recorded(f"http://127.0.0.1:{port}", begin, begin)
        try:
            for agent in agents:
                agent.begin()
            wait_for(lambda: all(agent.ask("/healthz") == 200 for agent in agents), agents)
            wait_for(lambda: _is_up(recorded), agents)
            for vm in ("web_0", "web_1"):
                azure.event("Reboot", [vm], notice=120, impact=20, linger=40)
            wait_for(lambda: "start" in agents[0].noted("end"), agents)
            wait_for(lambda: all(event["ended"] for event in azure.status()["events"]), agents)
            time.sleep(2)  # for the last of it to be scraped
            yield recorded._replace(end=time.time())
        finally:
            for agent in agents:
                agent.close()
            prometheus.terminate()
            prometheus.wait(PATIENCE)


def _is_up(recorded: Recorded) -> bool:
    try:
        return len(recorded.ask("query", query="foghorn_in_rotation")["result"]) == 2
    except OSError:
        return False


@pytest.mark.parametrize("title", QUERIES)
def test_given_a_real_run_when_the_dashboard_asks_then_each_of_its_queries_has_data(
    recorded: Recorded, title: str
) -> None:
    found = recorded.series(QUERIES[title])

    values = [value for series in found for _at, value in series["values"]]
    assert values, QUERIES[title]
    assert any(value != "NaN" for value in values)


def test_given_a_real_run_then_the_dashboard_shows_what_happened(recorded: Recorded) -> None:
    steps = {
        (series["metric"]["stage"], series["metric"]["result"]): float(series["values"][-1][1])
        for series in recorded.series(QUERIES["Steps"])
    }
    assert steps["shutdown", "succeeded"] == 1
    assert steps["shutdown", "failed"] >= 1
    (approvals,) = recorded.series(QUERIES["Approvals"])
    assert (approvals["metric"]["result"], approvals["values"][-1][1]) == ("accepted", "1")
    (least,) = recorded.series(QUERIES["Least notice left"])
    assert 0 <= min(float(value) for _at, value in least["values"]) <= 120
    (out,) = recorded.series(QUERIES["Out of rotation"])
    assert {"0", "1"} <= {value for _at, value in out["values"]}


def test_given_series_of_a_real_run_when_promtool_tests_the_rules_then_the_step_that_failed_is_alerted_and_no_more(
    recorded: Recorded, tmp_path: Path
) -> None:
    """Silences and machines that stay in rotation would be found: the series of the run have neither."""
    taken = recorded.series('{__name__=~"foghorn_.*",__name__!~".*_bucket"}')
    length = round(recorded.end - recorded.begin) + 1
    # promtool's clock begins at 0, and so must all that is compared with it.
    moved = {"foghorn_last_answer_timestamp_seconds": recorded.begin}
    series = []
    for one in taken:
        name = one["metric"]["__name__"]
        by_second = {round(at - recorded.begin): float(value) - moved.get(name, 0.0) for at, value in one["values"]}
        labels = ",".join(f'{key}="{value}"' for key, value in one["metric"].items() if key != "__name__")
        values = " ".join(str(by_second.get(second, "_")) for second in range(length))
        series.append({"series": f"{name}{{{labels}}}", "values": values})
    (failed,) = [
        {key: value for key, value in one["metric"].items() if key != "__name__"}
        for one in taken
        if one["metric"]["__name__"] == "foghorn_steps_total" and one["metric"]["result"] == "failed"
    ]
    expected = {"FoghornStepFailed": failed}
    tests = [
        {"eval_time": f"{length - 1}s", "alertname": alert, "exp_alerts": _alerts(alert, expected)} for alert in ALERTS
    ]
    _promtool(tmp_path, [{"interval": "1s", "input_series": series, "alert_rule_test": tests}])


MACHINE = 'instance="web1:9797",job="foghorn"'
# Each alert: series that make it fire, when, and the labels by which it is known.
FIRING: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "FoghornMetadataServiceSilent": ({f"foghorn_last_answer_timestamp_seconds{{{MACHINE}}}": "0x600"}, "3m", {}),
    "FoghornInRotationShortlyBeforeEvent": (
        {
            f'foghorn_seconds_until_start{{event_id="A",type="Preempt",{MACHINE}}}': "30-1x29",
            f"foghorn_in_rotation{{{MACHINE}}}": "1x60",
        },
        "15s",
        {"event_id": "A", "type": "Preempt"},
    ),
    "FoghornStepFailed": (
        {f'foghorn_steps_total{{stage="drain",result="failed",{MACHINE}}}': "_x30 1x60"},
        "60s",
        {"stage": "drain", "result": "failed"},
    ),
    "FoghornApprovalFailed": (
        {f'foghorn_approvals_total{{result="failed",{MACHINE}}}': "1x1000 2x100"},
        "1030s",
        {"result": "failed"},
    ),
    "FoghornOutOfRotationWithoutEvent": ({f"foghorn_in_rotation{{{MACHINE}}}": "0x1200"}, "16m", {}),
    "FoghornProblem": ({f'foghorn_problems{{with="clock",{MACHINE}}}': "1x600"}, "6m", {"with": "clock"}),
    "FoghornJournalUnwritten": ({f"foghorn_journal_unwritten{{{MACHINE}}}": "3x600"}, "2m", {}),
    "FoghornUnexpectedError": ({f"foghorn_errors_total{{{MACHINE}}}": "1x60"}, "30s", {}),
}


@pytest.mark.parametrize("alert", ALERTS)
def test_given_what_an_alert_is_for_when_promtool_tests_it_then_it_fires_and_no_other_does(
    tmp_path: Path, alert: str
) -> None:
    given, at, labels = FIRING[alert]
    machine = {"instance": "web1:9797", "job": "foghorn"}
    series = [{"series": name, "values": values} for name, values in given.items()]
    tests = [
        {"eval_time": at, "alertname": name, "exp_alerts": _alerts(name, {alert: machine | labels})} for name in ALERTS
    ]
    _promtool(tmp_path, [{"interval": "1s", "input_series": series, "alert_rule_test": tests}])


def test_given_a_drain_in_time_or_a_dry_run_when_little_notice_is_left_then_nobody_is_woken(tmp_path: Path) -> None:
    starts = f'foghorn_seconds_until_start{{event_id="A",type="Reboot",{MACHINE}}}'
    rotation, dry = f"foghorn_in_rotation{{{MACHINE}}}", f"foghorn_dry_run{{{MACHINE}}}"
    cases = [{starts: "30-1x29", rotation: "1x5 0x60"}, {starts: "30-1x29", rotation: "1x60", dry: "1x60"}]
    test = {"eval_time": "20s", "alertname": "FoghornInRotationShortlyBeforeEvent", "exp_alerts": []}
    _promtool(
        tmp_path,
        [
            {
                "interval": "1s",
                "input_series": [{"series": name, "values": values} for name, values in case.items()],
                "alert_rule_test": [test],
            }
            for case in cases
        ],
    )


def _alerts(alert: str, expected: dict[str, dict[str, str]]) -> list[dict[str, Any]]:
    if alert not in expected:
        return []
    rule = next(
        rule
        for group in yaml.safe_load(RULES.read_text())["groups"]
        for rule in group["rules"]
        if rule["alert"] == alert
    )
    return [{"exp_labels": rule["labels"] | expected[alert]}]


def _promtool(directory: Path, tests: list[dict[str, Any]]) -> None:
    # What is said of an alert is for people; promtool would compare it as well.
    bare = yaml.safe_load(RULES.read_text())
    for group in bare["groups"]:
        for rule in group["rules"]:
            del rule["annotations"]
    (directory / "rules.yml").write_text(yaml.safe_dump(bare))
    file = directory / "test.yml"
    file.write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1s", "tests": tests}))
    done = subprocess.run(
        [find("promtool"), "test", "rules", str(file)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_given_rules_dashboard_and_guide_then_they_name_metrics_that_there_are_and_the_same_alerts() -> None:
    metrics = ROOT / "roles" / "handler_agent" / "files" / "foghorn_agent" / "http" / "metrics.py"
    known = set(re.findall(r'^    "(foghorn_\w+)": \("', metrics.read_text(encoding="utf-8"), re.MULTILINE))
    asked = RULES.read_text() + "".join(QUERIES.values())
    used = {re.sub(r"_seconds_(sum|count)$", "_seconds", name) for name in re.findall(r"\bfoghorn_\w+", asked)}

    assert used - {"foghorn_agent"} <= known
    guide = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(Foghorn\w+)` \|", guide, re.MULTILINE)) == set(ALERTS) == set(FIRING)
