# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebooks as they are shipped, run by a real ansible-rulebook, to the end of the playbooks that they run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.policy import Policy

from tests.integration.playbooks.fleet import Fleet
from tests.processes import with_descendants

ROOT = Path(__file__).resolve().parents[3]
BIN = ROOT / ".cache" / "venv-rulebook" / "bin"
RULEBOOKS = ROOT / "extensions" / "eda" / "rulebooks"
PATIENCE = 400.0  # seconds

# tools/make_rulebook_venv.sh has said so loudly, and what to do.
needs_rulebook = pytest.mark.skipif(
    not (BIN / "ansible-rulebook").exists(), reason="ansible-rulebook is not there, which needs Java 17"
)


SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-101010101010"
VM_ID = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/%s"
# As a list it has to come through ansible-rulebook's templates.
SETS = [{"resource_group": "rg", "name": "web"}]
ALWAYS = [{"from": "00:00", "to": "24:00", "time_zone": "UTC"}]
# Where extra variables are templates, this is one, whatever opens and closes those.
HOSTILE = "#jinja2:variable_start_string:'[%%',variable_end_string:'%%]'\n[%% lookup('pipe', 'touch %s/hacked') %%]"
TEMPLATE = "/api/v2/unified_job_templates/"
JOB_TEMPLATES = [
    "Handle maintenance",
    "Move machines early",
    "Handle image upgrades",
    "Prepare for updates",
    "Restore machines",
    "Notify of an event",
]
CONFIGURATION = (
    "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555/resourceGroups/rg/providers/Microsoft.Maintenance"
    "/maintenanceConfigurations/"
)


def launch(name: str) -> str:
    """Where a job template is launched."""
    return "/api/v2/job_templates/%d/launch/" % JOB_TEMPLATES.index(name)


class Receiver(ThreadingHTTPServer):
    """A chat, an Alertmanager, and a controller that has job templates of controller_setup."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[tuple[str, Any]] = []

    @property
    def url(self) -> str:
        return "http://127.0.0.1:%d" % self.server_port


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        asks = {"ask_%s_on_launch" % what: False for what in ("inventory", "labels", "limit", "variables")}
        templates = [
            {
                "id": number,
                "type": "job_template",
                "name": f"Azure events: {name}",
                "related": {"launch": launch(name)},
                **asks,
            }
            for number, name in enumerate(JOB_TEMPLATES)
        ]
        wanted = parse_qs(urlsplit(self.path).query).get("name", [""])[0]
        job = {"id": 1, "type": "job", "url": "/api/v2/jobs/1/", "status": "successful", "created": "", "artifacts": {}}
        found = [one for one in templates if one["name"] == wanted] if self.path.startswith(TEMPLATE) else [job]
        self._answer({"version": "24.6.1", "results": found, "next": None, **job})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, json.loads(body)))
        self._answer({"id": 1, "url": "/api/v2/jobs/1/"})

    def _answer(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(name="receiver")
def fixture_receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        thread = threading.Thread(target=receiver.serve_forever)
        thread.start()
        yield receiver
        receiver.shutdown()
        thread.join()


class ServiceBus:
    """A queue to which Event Grid delivers, and a collection azure.azcollection whose source reads it."""

    def __init__(self, directory: Path) -> None:
        self.collections = directory / "collections"
        self.queue = directory / "queue"
        self.queue.mkdir()
        collection = self.collections / "ansible_collections" / "azure" / "azcollection"
        sources = collection / "extensions" / "eda" / "plugins" / "event_source"
        sources.mkdir(parents=True)
        (collection / "galaxy.yml").write_text("{namespace: azure, name: azcollection, version: 3.12.0}\n")
        shutil.copy(Path(__file__).with_name("azure_service_bus.py"), sources)
        self._count = 0

    def deliver(self, phase: str, configuration: str = "patches") -> str:
        """Deliver an event of Azure Update Manager's, as Microsoft's sample of one is; returns the id of the run."""
        self._count += 1
        run = f"{CONFIGURATION}{configuration}/providers/Microsoft.Maintenance/applyUpdates/20261122150000"
        begins = datetime.now(UTC) + timedelta(minutes=40)
        body = {
            "topic": CONFIGURATION + configuration,
            "subject": CONFIGURATION + configuration,
            "eventType": f"Microsoft.Maintenance.{phase}MaintenanceEvent",
            "id": run,
            "eventTime": "2026-11-22T14:20:00.0000000Z",
            "data": {
                "CorrelationId": run,
                "MaintenanceConfigurationId": CONFIGURATION + configuration,
                "StartDateTime": begins.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "EndDateTime": (begins + timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "CancellationCutOffDateTime": (begins - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "ResourceSubscriptionIds": ["11111111-aaaa-4bbb-8ccc-555555555555"],
            },
            "dataVersion": "1.0",
            "metadataVersion": "1",
        }
        written = self.queue / f"{self._count}.new"
        written.write_text(json.dumps(body))
        written.rename(self.queue / f"{self._count}.json")
        return run


class Rulebook:
    """A run of ansible-rulebook."""

    def __init__(self, fleet: Fleet, rulebook: Path, controller: str, collections: Path, **variables: Any) -> None:
        inventory, environment = fleet.path / "inventory", fleet.environment
        content = yaml.safe_load(fleet.write_inventory().read_text())
        # Of a file alone, those beside it would stay behind.
        for path, part in ((Path("group_vars/all.yml"), content["all"].pop("vars")), (Path("hosts.yml"), content)):
            (inventory / path).parent.mkdir(parents=True, exist_ok=True)
            (inventory / path).write_text(yaml.safe_dump(part))
        (fleet.path / "vars.yml").write_text(json.dumps(variables))
        self._output = fleet.path / "rulebook.txt"
        environment["PATH"] = os.pathsep.join([str(BIN), environment["PATH"]])
        environment["ANSIBLE_COLLECTIONS_PATH"] += os.pathsep + str(collections)
        arguments = ["--rulebook", str(rulebook), "--inventory", str(inventory), "--vars", str(fleet.path / "vars.yml")]
        arguments += ["--controller-url", controller, "--controller-token", "of-no-use-elsewhere"]
        with self._output.open("w") as stream:
            self._process = subprocess.Popen(
                [str(BIN / "ansible-rulebook"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                cwd=fleet.path,
                env=environment,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        """What it has printed so far, without colours."""
        return re.sub(r"\x1b\[[0-9;]*m", "", self._output.read_text())

    def wait_until(self, condition: Any) -> None:
        """Wait until a condition is true; fail the test if the run ends before."""
        limit = time.monotonic() + PATIENCE
        while not condition():
            assert self._process.poll() is None, f"it ended early:\n{self.output}"
            assert time.monotonic() < limit, f"waited in vain:\n{self.output}"
            time.sleep(0.25)

    def kill(self) -> None:
        """End it, and the playbooks that it has started: these are in sessions of their own, and would go on."""
        if self._process.poll() is None:
            for pid in with_descendants(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self._process.wait(PATIENCE)


def moves(fleet: Fleet) -> list[str]:
    """The ids of the redeployments that somebody has asked Azure for."""
    events = fleet.azure.status()["events"]
    wanted = [event for event in events if (event["event_type"], event["event_source"]) == ("Redeploy", "User")]
    return [event["event_id"] for event in wanted]


def is_over(fleet: Fleet, event_id: str) -> bool:
    """Let a minute pass, and say whether an event is over then."""
    fleet.azure.advance(60)
    return str(fleet.record(event_id)["status"]) == "Completed"


@needs_rulebook
def test_given_rulebooks_as_shipped_when_maintenance_updates_and_an_eviction_are_announced_then_their_playbooks_run(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In one process, because each takes seconds to start.
    together = tmp_path / "together.yml"
    rulesets = []
    names = sorted(path.stem for path in RULEBOOKS.glob("*.yml"))
    assert len(names) == 10
    for name in names:
        for ruleset in yaml.safe_load((RULEBOOKS / f"{name}.yml").read_text()):
            rulesets.append({**ruleset, "name": f"{name}: {ruleset['name']}"})
    together.write_text(yaml.safe_dump(rulesets))
    directory = tmp_path / "fleet"
    directory.mkdir()
    service_bus = ServiceBus(tmp_path)
    # An image is about to be upgraded as well, of a machine that is no host of the inventory.
    asks = {"scale_set": "web", "type": "UpgradeAutoOSRollingBatchStarting"}
    arm = {"subscription_id": SUBSCRIPTION, "operation_seconds": 1, "retry_after": 1, "lifecycle_hook_events": [asks]}
    vms = [{"name": f"vm_{n}", "address": f"127.0.103.{n + 1}", "availability_set": "web"} for n in range(2)]
    vms += [{"name": "web_0", "address": "127.0.103.9", "scale_set": "web"}]
    with Fleet(directory, 103, 2, arm=arm, vms=vms) as fleet:
        rebooted, evicted = fleet.hosts
        # As the identity of the controller's machine signs it in.
        monkeypatch.setenv("FOGHORN_ARM_BASE_URL", fleet.azure.arm)
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", fleet.azure.imds[rebooted.vm.lower()])
        for host in fleet.hosts:
            host.variables.update(
                redeploy_early_endpoint=fleet.azure.imds[host.vm.lower()],
                redeploy_early_sign_in={"auth_source": "msi", "subscription_id": SUBSCRIPTION},
                redeploy_early_poll_interval=1,
                handle_os_upgrades_endpoint=fleet.azure.imds[host.vm.lower()],
                handle_os_upgrades_sign_in={"auth_source": "msi", "subscription_id": SUBSCRIPTION},
                # As the inventory plugin azure_rm calls it.
                id=VM_ID % host.vm.lower(),
            )
        rulebook = Rulebook(
            fleet,
            together,
            receiver.url,
            service_bus.collections,
            maintenance_source="imds",
            maintenance_endpoint=fleet.azure.imds[rebooted.vm.lower()],
            maintenance_interval=1,
            maintenance_redeploy_between=ALWAYS,
            maintenance_notify_urls=[receiver.url + "/chat"],
            maintenance_alertmanager_url=receiver.url,
            maintenance_service_bus="Endpoint=sb://example.servicebus.windows.net/;SharedAccessKeyName=listen",
            maintenance_service_bus_queue=str(service_bus.queue),
            maintenance_update_configuration="patches",
            maintenance_update_hosts=evicted.name,
            maintenance_upgrade_scale_sets=SETS,
            maintenance_upgrade_hosts="all",
            maintenance_upgrade_auth_source="msi",
            maintenance_upgrade_subscription=SUBSCRIPTION,
        )
        try:
            reboot = fleet.event("Reboot", rebooted, description=HOSTILE % tmp_path)
            rulebook.wait_until(lambda: fleet.is_approved(reboot))
            assert not rebooted.is_serving()
            fleet.azure.advance(20000)  # seconds; longer than any event
            rulebook.wait_until(rebooted.is_back)

            service_bus.deliver("Pre", "others")
            run_id = service_bus.deliver("Pre")
            rulebook.wait_until(lambda: (evicted.state / claims.FILE).exists())
            rulebook.wait_until(lambda: list(claims.read(str(evicted.state)).claims) == ["updates"])
            rulebook.wait_until(lambda: not evicted.is_serving() and claims.read(str(evicted.state)).lease is None)
            assert rebooted.is_serving(), "nobody updates it"
            service_bus.deliver("Post")
            rulebook.wait_until(evicted.is_back)

            failing = fleet.event("Redeploy", rebooted, notice=5 * 86400)
            rulebook.wait_until(lambda: moves(fleet))
            (moving,) = moves(fleet)
            rulebook.wait_until(lambda: fleet.is_approved(moving))
            assert not rebooted.is_serving(), "moved while it served"
            rulebook.wait_until(lambda: is_over(fleet, moving))
            rulebook.wait_until(rebooted.is_back)
            assert fleet.record(failing)["status"] == "Canceled", "the old host does not matter to it any more"
            assert moves(fleet) == [moving]

            fleet.event("Preempt", evicted)
            wanted = {"/chat", "/api/v2/silences", *map(launch, JOB_TEMPLATES)}
            rulebook.wait_until(lambda: wanted <= {path for path, _body in receiver.received})
        finally:
            rulebook.kill()

        assert not (tmp_path / "hacked").exists()
        assert re.search(r"^%s +: ok=.* failed=0 " % rebooted.name, rulebook.output, re.MULTILINE), rulebook.output
    told = dict(receiver.received)
    for template in ("Handle maintenance", "Move machines early", "Handle image upgrades"):
        assert told[launch(template)]["limit"] == "all,localhost", "nothing but the fleet"
    variables = told[launch("Move machines early")]["extra_vars"]
    assert (variables["redeploy_early_hosts"], variables["redeploy_early_between"]) == ("all", ALWAYS)
    variables = told[launch("Handle image upgrades")]["extra_vars"]
    assert (variables["handle_os_upgrades_hosts"], variables["handle_os_upgrades_scale_sets"]) == ("all", SETS)
    variables = told[launch("Prepare for updates")]["extra_vars"]
    assert variables["prepare_for_updates_hosts"] == evicted.name
    assert variables["prepare_for_updates_run_id"] == run_id, "that of no other configuration, which came before"
    assert datetime.fromisoformat(variables["prepare_for_updates_start"]) > datetime.now(UTC)
    variables = told[launch("Restore machines")]["extra_vars"]
    assert (variables["restore_hosts"], variables["restore_owner"]) == (evicted.name, "updates")
    variables = told[launch("Notify of an event")]["extra_vars"]
    assert (variables["notify_event"]["event_type"], variables["notify_urls"]) == ("Preempt", [receiver.url + "/chat"])
    assert told["/chat"]["event"]["event_type"] == "Preempt"
    assert told["/chat"]["text"].startswith("Preempt of vm_1: ")
    (matcher,) = told["/api/v2/silences"]["matchers"]
    assert re.fullmatch(matcher["value"], "vm_1:9100")
    assert not re.fullmatch(matcher["value"], "vm_10")


# The same functions by which ansible-rulebook reads a rulebook.
READ = """
import sys, yaml
from ansible_rulebook.rules_parser import parse_rule_sets
from ansible_rulebook.validators import Validate
for path in sys.argv[1:]:
    with open(path) as stream:
        content = yaml.safe_load(stream)
    Validate.rulebook(content)
    print(len(parse_rule_sets(content, {})[0].rules))
"""


@needs_rulebook
def test_given_the_rulebooks_and_those_of_the_page_when_ansible_rulebook_reads_them_then_it_understands_each_of_them(
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs" / "event_driven.md").read_text(encoding="utf-8")
    shown = [text for text in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "rules:" in text]
    assert shown
    for number, text in enumerate(shown):
        (tmp_path / f"{number}.yml").write_text(text)
    paths = [str(path) for path in [*sorted(RULEBOOKS.glob("*.yml")), *tmp_path.glob("*.yml")]]

    command = [str(BIN / "python"), "-c", READ, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(paths) > 0


@pytest.mark.parametrize("path", sorted(RULEBOOKS.glob("*_job.yml")), ids=lambda path: path.stem)
def test_given_a_rulebook_for_a_controller_when_it_is_compared_with_its_twin_then_only_the_actions_differ(
    path: Path,
) -> None:
    def without_actions(rulebook: Path) -> Any:
        rulesets = yaml.safe_load(rulebook.read_text(encoding="utf-8"))
        for ruleset in rulesets:
            for rule in ruleset["rules"]:
                (kind,) = rule.pop("action")
                assert kind == ("run_job_template" if rulebook == path else "run_playbook")
        return rulesets

    assert without_actions(path) == without_actions(path.with_name(path.name.replace("_job", "")))


@pytest.mark.parametrize(
    "path",
    [
        path
        for name in ("handle_events", "os_upgrades", "redeploy_early")
        for path in sorted(RULEBOOKS.glob(name + "*.yml"))
    ],
    ids=lambda path: path.stem,
)
def test_given_what_runs_for_the_whole_fleet_when_its_rulebook_is_read_then_nothing_limits_it_and_one_runs_at_a_time(
    path: Path,
) -> None:
    for ruleset in yaml.safe_load(path.read_text(encoding="utf-8")):
        assert ruleset["hosts"] == "all,localhost"
        assert ruleset["execution_strategy"] == "parallel", "only so do locks count"
        for source in ruleset["sources"]:
            assert not any(name.startswith("hosts_") for name in source["foghorn.azure_events.scheduled_events"])
        for rule in ruleset["rules"]:
            (action,) = rule["action"].values()
            assert action["lock"] == "fleet"
            assert "limit" not in action.get("job_args", {})


@pytest.mark.parametrize("path", sorted(RULEBOOKS.glob("handle_events*.yml")), ids=lambda path: path.stem)
def test_given_events_that_are_hours_away_when_their_rulebook_is_read_then_it_runs_again_when_they_are_near(
    path: Path,
) -> None:
    """The playbook leaves them alone until handle_events_approve_within seconds before their start."""
    (ruleset,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    (source,) = ruleset["sources"]
    options = source["foghorn.azure_events.scheduled_events"]

    assert options["remind_within"] == "{{ maintenance_remind_within | default(%d) }}" % Policy().approve_within
    # Between handle_events_begin_within, when it meets what may not be approved, and the start, more than once.
    assert options["remind_every"] == "{{ maintenance_remind_every | default(300) }}"


@pytest.mark.parametrize("path", sorted(RULEBOOKS.glob("redeploy_early*.yml")), ids=lambda path: path.stem)
def test_given_a_job_for_the_night_when_its_rulebook_is_read_then_it_begins_only_then_and_one_at_a_time(
    path: Path,
) -> None:
    (ruleset,) = yaml.safe_load(path.read_text(encoding="utf-8"))
    (source,) = ruleset["sources"]
    (rule,) = ruleset["rules"]
    (action,) = rule["action"].values()
    variables = action.get("job_args", action)["extra_vars"]

    # Without a default: nobody's night is another's.
    nights = [source["foghorn.azure_events.scheduled_events"]["announce_between"], variables["redeploy_early_between"]]
    assert nights == ["{{ maintenance_redeploy_between }}"] * 2
    assert (ruleset["execution_strategy"], action["lock"]) == ("parallel", "fleet")
    assert "retries" not in action, "what Azure refuses is for somebody to look at, or for the next night"
