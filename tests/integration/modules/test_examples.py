# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in the documentation run as they are pasted; only the endpoint is the simulator's."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure_simulator.testing import Simulator

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"

# What a load balancer might have to put a machine in a pool.
POOL = """#!/bin/sh
cd "$(dirname "$0")" || exit 2
case $1 in
leave) rm -f "in_pool_$2" ;;
join) touch "in_pool_$2" ;;
has) test -e "in_pool_$2" ;;
esac
"""

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-777777777777"

FLEET = {
    "imds": {"rate_limit": 1000},
    "vms": [
        {"name": f"web_{number}", "address": f"127.0.4.{number + 1}", "availability_set": "web"} for number in range(3)
    ],
    "arm": {
        "subscription_id": SUBSCRIPTION,
        "availability_sets": [
            {
                "name": "web",
                "properties": {
                    "scheduledEventsPolicy": {
                        "scheduledEventsAdditionalPublishingTargets": {
                            "eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2020-07-01"}
                        }
                    }
                },
            }
        ],
    },
}


def examples(plugin: str) -> str:
    """The EXAMPLES of a plugin's file."""
    for node in ast.parse((PLUGINS / plugin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES":
            return str(ast.literal_eval(node.value))
    raise LookupError(plugin)


def examples_of_page(page: str) -> str:
    """The tasks in a page of documentation."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return "".join(re.findall(r"^```yaml\n(- name: .*?)^```$", text, re.DOTALL | re.MULTILINE))


@pytest.fixture(name="azure")
def fixture_azure() -> Iterator[Simulator]:
    """A fleet in which web_0 will be restarted and paused, and web_2 is left alone."""
    with Simulator(FLEET) as azure:
        azure.event("Reboot", ["web_0", "web_1"], impact=0)
        azure.event("Freeze", "web_0", impact=0)
        yield azure


def defaults(azure: Simulator) -> dict[str, Any]:
    """As a user sets the endpoint for a rehearsal: once, for the whole action group."""
    return {"group/foghorn.azure_events.imds": {"endpoint": azure.imds["web_0"]}}


def signed_in(azure: Simulator, vm: str) -> dict[str, str]:
    """The environment of a controller that signs in with the managed identity of a VM, and asks its IMDS."""
    return {
        "FOGHORN_IMDS_ENDPOINT": azure.imds[vm],
        "FOGHORN_ARM_BASE_URL": azure.arm,
        "ANSIBLE_AZURE_AUTH_SOURCE": "msi",
        "AZURE_POD_IDENTITY_AUTHORITY_HOST": azure.imds[vm],
        "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
    }


def test_the_examples_of_the_info_module_run(play: Callable[..., Any], azure: Simulator) -> None:
    tasks = examples("modules/scheduled_events_info.py").replace("http://127.0.0.1:8080", azure.imds["web_1"])

    played = play(tasks, module_defaults=defaults(azure))

    assert played.failed == []
    assert len(played["Read all events that this VM is notified of"]["events"]) == 2
    shown = [result["msg"] for result in played["Show what will happen to this VM, the most urgent first"]["results"]]
    assert [message.split(" in ")[0] for message in shown] == ["Reboot", "Freeze"]
    down = played["Read only what will take this VM down"]["events"]
    assert [event["event_type"] for event in down] == ["Reboot"]
    assert played["Read against a simulator"]["vm_name"] == "web_1"


def test_the_examples_of_the_approve_module_run(play: Callable[..., Any], azure: Simulator) -> None:
    played = play(examples("modules/scheduled_event_approve.py"), module_defaults=defaults(azure))

    assert played.failed == []
    reboot = played["Let every reboot and redeployment begin that this VM leads"]
    assert [event["event_type"] for event in reboot["approved"]] == ["Reboot"]
    urgent = played["Approve the most urgent event, once for all of its VMs"]
    assert [event["reason"] for event in urgent["not_approved"]] == ["already started"]
    freeze = played["Approve a freeze and wait until it has begun"]
    assert [event["event_status"] for event in freeze["events"]] == ["Started"]
    assert {event["status"] for event in azure.status()["events"]} == {"Started"}


def test_the_examples_of_the_lookup_run(play: Callable[..., Any], azure: Simulator) -> None:
    played = play(
        examples("lookup/scheduled_events.py"),
        options=("--extra-vars", "azure_vm_name=web_0"),
        environment=signed_in(azure, "web_2"),
    )

    assert played.failed == []
    assert played["Go on only if nothing is announced for this VM"]["msg"] == "All assertions passed"
    announced = played["Show what will hit two VMs of the controller's availability set"]["msg"]
    assert sorted(event["event_type"] for event in announced) == ["Freeze", "Reboot"]
    assert played["Name the VMs that will be restarted"]["msg"] == ["web_0", "web_1"]
    grouped = played["Make a group of the hosts in the inventory that anything in the subscription is announced for"]
    assert [result["add_host"]["host_name"] for result in grouped["results"]] == ["localhost"]


def test_the_examples_of_the_command_module_remove_and_restore(play: Callable[..., Any], tmp_path: Path) -> None:
    command, member = tmp_path / "pool", tmp_path / "in_pool_web1"
    command.write_text(POOL)
    command.chmod(0o755)
    member.touch()
    tasks = examples("modules/rotation_command.py").replace("/usr/local/sbin/pool", str(command))

    played = play(tasks.replace("/var/lib/rotation", str(tmp_path / "rotation")))

    assert played.failed == []
    removed = played["Take a machine out of a pool"]
    restored = played["Restore it in the pool, if it was taken out of it"]
    assert (removed["changed"], restored["changed"], member.exists()) == (True, True, True)


def test_the_examples_of_the_filter_for_text_run(play: Callable[..., Any]) -> None:
    played = play(yaml.safe_load((PLUGINS / "filter" / "typed.yml").read_text(encoding="utf-8"))["EXAMPLES"])

    assert played.failed == []
    assert played["Check the ports that a survey has named"]["msg"] == "All assertions passed"


RESOURCES = {
    "defaults": {"Redeploy": {"impact": 0}},
    "vms": [
        {"name": "web_{0..2}", "address": "127.0.4.16/28", "scale_set": "web", "resource_group": "shop"},
        {"name": "database", "address": "127.0.4.32", "resource_group": "shop"},
        {"name": "worker-7", "address": "127.0.4.33", "resource_group": "rehearsal", "spot": True},
        {
            "name": "workers_{0..3}",
            "address": "127.0.4.48/28",
            "scale_set": "workers",
            "resource_group": "rehearsal",
            "spot": True,
        },
    ],
    "arm": {
        "subscription_id": SUBSCRIPTION,
        "operation_seconds": 0,
        "instance_seconds": 0.1,
        "retry_after": 1,
        "scale_sets": [
            {
                "name": "web",
                "tags": {"Environment": "production"},
                "properties": {
                    "automaticRepairsPolicy": {"enabled": True},
                    "virtualMachineProfile": {
                        "extensionProfile": {
                            "extensions": [{"name": "health", "properties": {"type": "ApplicationHealthLinux"}}]
                        }
                    },
                },
            }
        ],
        "maintenance_windows": [{"vms": ["database"]}],
        "update_runs": [
            {"configuration": "patches", "resource_group": "shop", "begins": 2400, "name": "20261122150000"}
        ],
        "lifecycle_hook_events": [
            {"scale_set": "web", "type": "UpgradeAutoOSRollingBatchStarting", "vms": ["web_0", "web_1"]}
        ],
        "load_balancers": [{"name": "front", "resource_group": "shop", "pools": {"web": ["web_1"]}}],
        "application_gateways": [{"name": "gate", "resource_group": "shop", "pools": {"web": ["web_1"]}}],
    },
}
GROUP = "/subscriptions/%s/resourceGroups/shop/providers" % SUBSCRIPTION
IDS = {
    "web_3_id": GROUP + "/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/1",
    "event": {
        "azure_maintenance": {
            "run_id": GROUP + "/Microsoft.Maintenance/maintenanceConfigurations/patches/providers/Microsoft.Maintenance"
            "/applyUpdates/20261122150000"
        }
    },
    "pool_id": GROUP + "/Microsoft.Network/loadBalancers/front/backendAddressPools/web",
    "gateway_pool_id": GROUP + "/Microsoft.Network/applicationGateways/gate/backendAddressPools/web",
}
MODULES = [
    "application_gateway_member",
    "application_gateway_member_info",
    "load_balancer_member",
    "load_balancer_member_info",
    "maintenance_rights_info",
    "maintenance_window_info",
    "vm_address_info",
    "vm_events_info",
    "vm_maintenance",
    "vm_pool_info",
    "vm_redeploy",
    "vmss_terminate_notification",
    "vmss_terminate_notification_info",
    "vm_terminate_notification",
    "scheduled_events_policy",
    "scheduled_events_policy_info",
    "simulate_eviction",
    "vmss_automatic_repairs",
    "vmss_instance_protection",
    "vmss_lifecycle_hook_event_info",
    "vmss_lifecycle_hook_event",
    "vmss_lifecycle_hooks",
    "vmss_lifecycle_hooks_info",
    "vmss_rolling_upgrade",
    "vmss_rolling_upgrade_info",
    "update_run_cancel",
]
NAMED_EVENT = "602D9444-D2CD-49C7-8624-8643E7171297"


class Examples:
    """What became of the examples of the modules that ask Azure Resource Manager, and of what they asked it for."""

    def __init__(self, played: Any, approved: Any, events: dict[str, dict[str, Any]]) -> None:
        self.played = played
        self.approved = approved
        self.events = events


@pytest.fixture(scope="module", name="run")
def fixture_run(play: Callable[..., Any]) -> Iterator[Examples]:
    """One playbook runs the modules' examples, another those that need events that the first has had published."""
    with Simulator(RESOURCES) as azure:
        environment = {**signed_in(azure, "database"), "PRELOAD": "azure.identity azure.mgmt.core requests"}
        text = "".join(examples("modules/%s.py" % module) for module in MODULES)
        played = play(text, options=("--extra-vars", json.dumps(IDS)), environment=environment)
        azure.event("Reboot", "web_2", event_id=NAMED_EVENT)
        azure.event("Reboot", ["web_0", "web_1"])
        tasks = examples("modules/scheduled_event_acknowledge.py") + examples_of_page("terminate_notifications.md")
        approved = play(tasks, environment=environment)
        yield Examples(played, approved, {event["resources"][0]: event for event in azure.status()["events"]})


class TestTheExamplesOfTheControlPlane:
    def test_all_modules_have_examples(self) -> None:
        runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
        assert sorted([*MODULES, "scheduled_event_acknowledge"]) == sorted(runtime["action_groups"]["arm"])

    def test_all_examples_run(self, run: Examples) -> None:
        assert run.played.failed == []
        assert run.approved.failed == []

    def test_the_examples_of_the_scale_set_module_enable_and_disable_the_notification(self, run: Examples) -> None:
        enabled = run.played["Announce deletions 10 minutes ahead, on all instances"]
        images = run.played["Announce upgrades of the OS image as well, for instances to come"]
        disabled = run.played["Delete without an announcement"]
        assert enabled["after"]["terminate_notification"] == {"enabled": True, "not_before_timeout": "PT10M"}
        assert enabled["updated_instances"] == ["web_0", "web_1", "web_2"]
        assert images["after"]["os_image_notification"]["enabled"] is True
        assert disabled["after"]["terminate_notification"]["enabled"] is False

    def test_the_examples_of_the_info_module_name_the_instances_without_notification(self, run: Examples) -> None:
        found = run.played["Read all scale sets of the subscription"]["scale_sets"]
        tagged = run.played["Read what those in production announce, but not their instances"]["scale_sets"]
        assert [(scale_set["name"], "instances" in scale_set) for scale_set in tagged] == [("web", False)]
        untold = run.played["Name the instances that would be deleted without an announcement"]["msg"]
        assert [scale_set["name"] for scale_set in found] == ["web", "workers"]
        # Those of web still have the model with the announcement, which Azure does not show.
        assert untold == ["web_0", "web_1", "web_2", "workers_0", "workers_1", "workers_2", "workers_3"]

    def test_the_example_of_the_vm_module_enables_the_notification(self, run: Examples) -> None:
        result = run.played["Announce the deletion of a VM 5 minutes ahead"]
        assert result["after"]["terminate_notification"] == {"enabled": True, "not_before_timeout": "PT5M"}

    def test_the_examples_of_the_policy_module_publish_and_approve(self, run: Examples) -> None:
        published = run.played["Publish the events of a scale set, so that the controller sees them"]
        restarted = run.played["Let restarts that users ask for happen at once"]
        assert (published["before"]["publish"], published["after"]["publish"]) == (False, True)
        assert restarted["after"]["approve_user_initiated_reboot"] is True

    def test_the_examples_of_the_load_balancer_module_remove_and_restore(self, run: Examples) -> None:
        removed = run.played["Take a VM out of every pool that it is in"]
        restored = run.played["Restore it in exactly these"]
        assert (removed["changed"], restored["changed"]) == (True, True)

    def test_the_examples_of_the_gateway_module_remove_and_restore(self, run: Examples) -> None:
        removed = run.played["Take it out of these pools of the gateway"]
        restored = run.played["Restore it in exactly these pools of the gateway"]
        assert (removed["changed"], restored["changed"]) == (True, True)

    def test_the_examples_of_the_balancer_info_modules_return_the_members_and_change_nothing(
        self, run: Examples
    ) -> None:
        front, gate = (run.played["Read in which pools of %s a VM is" % of] for of in ("load balancers", "gateways"))
        named = run.played["Read whether a pool has a machine by its name"]
        assert [member["pool"].rpartition("/")[2] for member in front["members"] + gate["members"]] == ["web", "web"]
        assert named["members"] == []
        assert not any(one["changed"] for one in (front, gate, named))

    def test_the_examples_of_the_modules_on_hosts_leave_them(self, run: Examples) -> None:
        named = run.played["Name the machines whose maintenance may be begun now"]["msg"]
        maintained = run.played["Have a VM maintained now, if that is planned"]
        assert (named, maintained["reason"], maintained["changed"]) == (["database"], None, True)
        assert run.played["Move a VM to another host"]["id"].endswith("/virtualMachines/database")
        moved = run.played["Move an instance of a scale set to another host"]["id"]
        assert moved.endswith("/virtualMachineScaleSets/web/virtualMachines/1")

    def test_the_examples_of_the_repairs_and_protection_modules_suspend_and_resume_what_azure_does(
        self, run: Examples
    ) -> None:
        suspended = run.played["Have Azure replace no instance while some are out of rotation"]
        resumed = run.played["Let repairs go on"]
        assert (suspended["after"], resumed["after"]) == ({"state": "suspended"}, {"state": "running"})
        protected = run.played["Have nothing done to an instance while it is drained"]["instances"]
        unprotected = run.played["Treat it like the others again"]["instances"]
        assert [one["after"]["scale_set_actions"] for one in protected + unprotected] == [True, False]

    def test_the_examples_of_the_rolling_upgrade_modules_upgrade_and_show_it(self, run: Examples) -> None:
        upgraded = run.played["Bring the instances of a scale set to the latest image"]
        waited = run.played["Wait until the current rolling upgrade is over"]
        cancelled = run.played["Call an upgrade off"]
        read = run.played["Read the progress of the rolling upgrade"]
        assert [one["changed"] for one in (upgraded, waited, cancelled)] == [True, False, False]
        assert upgraded["upgrade"]["status"] == "Completed"
        assert read["upgrade"] == cancelled["upgrade"] == upgraded["upgrade"]
        assert [(one["started_by"], one["image"]["sku"]) for one in read["os_upgrade_history"]] == [("User", "server")]

    def test_the_examples_of_the_hooks_modules_add_and_remove_the_hooks(self, run: Examples) -> None:
        asked = run.played["Be asked before each batch, for an hour"]
        alone = run.played["Be asked before each batch, and of nothing else"]
        no_more = run.played["Be asked no more"]
        hooks = [{"type": "UpgradeAutoOSRollingBatchStarting", "wait_duration": "PT1H", "default_action": "Approve"}]
        assert [one["after"]["hooks"] for one in (asked, alone, no_more)] == [hooks, hooks, []]
        assert [one["changed"] for one in (asked, alone, no_more)] == [True, False, True]
        read = run.played["Read whether Azure asks"]
        assert read["hooks"] == []
        assert "enableAutomaticOSUpgrade" in read["obstacles"][1]

    def test_the_examples_of_the_hook_event_modules_delay_and_approve_the_upgrade(self, run: Examples) -> None:
        (asked,) = run.played["Read which instances Azure asks about"]["events"]
        delayed = run.played["Have Azure wait half an hour longer"]["event"]
        one = run.played["Let Azure upgrade one instance, which is drained"]["event"]
        rest = run.played["Let Azure upgrade all that still wait"]["event"]
        assert asked["wait_until"] < delayed["wait_until"]
        assert [[target["state"] for target in event["targets"]] for event in (asked, delayed, one, rest)] == [
            ["Waiting"] * 2,
            ["Waiting"] * 2,
            ["Approved", "Waiting"],
            ["Approved"] * 2,
        ]

    def test_the_examples_of_the_rights_module_show_the_commands_that_help(self, run: Examples) -> None:
        assert run.played["Find out whether events of this subscription can be seen and approved"]["lacking"] == [
            "see_events",
            "approve",
        ]
        (role, *publish) = run.played["Show the commands that give what is missing"]["msg"]
        assert "--assignee 78315a30-673a-4a46-8e5c-ce59dbc6adf8 " in role
        assert {command.split(" --ids ")[0] for command in publish} <= {"az vm update", "az vmss update"}

    def test_the_examples_of_the_policy_info_module_name_what_publishes_nothing(self, run: Examples) -> None:
        told = run.played["Name what publishes no events, and follows nothing that could"]["msg"]
        assert told == ["database"]

    def test_the_examples_of_the_vm_events_module_name_whom_azure_says_nothing_of(self, run: Examples) -> None:
        listed = run.played["Read which of these machines have announced maintenance"]
        asked = run.played["Name the machines that have to be asked themselves"]["msg"]
        assert (listed["hit"], [one["vm_id"] for one in listed["unlisted"]]) == ([], asked)

    def test_the_examples_of_the_eviction_module_evict(self, run: Examples) -> None:
        assert {vm for vm, event in run.events.items() if event["event_type"] == "Preempt"} == {"worker-7", "workers_3"}

    def test_the_examples_of_the_acknowledge_module_approve(self, run: Examples) -> None:
        drained = run.approved["Approve what hits only these two VMs, once both are drained"]
        named = run.approved["Approve one event, whomever it hits, and wait until it has begun"]
        assert [event["resources"] for event in drained["approved"]] == [["web_0", "web_1"]]
        assert [event["event_id"] for event in named["approved"]] == [NAMED_EVENT]
        assert {run.events[vm]["status"] for vm in ("web_0", "web_2")} <= {"Started", "Completed"}

    def test_the_examples_of_the_page_show_what_is_announced(self, run: Examples) -> None:
        shown = run.approved["Show everything that is announced in the subscription"]["msg"]
        assert {event["event_type"] for event in shown} == {"Reboot"}
        assert run.approved["Publish the events of a scale set"]["changed"] is False
        assert run.approved["Announce deletions 10 minutes ahead, on all instances"]["changed"] is True
