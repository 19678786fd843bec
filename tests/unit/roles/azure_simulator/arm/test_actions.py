# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Instance views, and what owners do to machines, judged by Microsoft's client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from azure.core.exceptions import HttpResponseError

from tests.simulated_cloud import SUBSCRIPTION

from ..conftest import approve, ask

Start = Callable[..., Any]

APPROVING = {
    "scheduledEventsPolicy": {
        "userInitiatedReboot": {"automaticallyApprove": True},
        "userInitiatedRedeploy": {"automaticallyApprove": True},
    }
}
WINDOW = {"maintenance_windows": [{"vms": ["db", "web_1"], "begins": 100, "self_service": 1000}]}


def power(azure: Any, vm: str = "db") -> str:
    codes = [status.code for status in azure.compute.virtual_machines.instance_view("rg", vm).statuses]
    return str(codes[1])


def the_event(azure: Any) -> Any:
    (event,) = azure.azure.status()["events"]
    return event


def events(azure: Any, vm: str) -> Any:
    return ask(azure.azure.imds[vm]).json["Events"]


class TestViews:
    def test_given_a_set_when_its_view_is_read_then_it_counts_the_states_of_its_instances(self, cloud: Start) -> None:
        view = cloud().compute.virtual_machine_scale_sets.get_instance_view("rg", "web")
        counts = {one.code: one.count for one in view.virtual_machine.statuses_summary}
        assert counts == {"ProvisioningState/succeeded": 4, "PowerState/running": 4}
        assert [(one.service_name, one.service_state) for one in view.orchestration_services] == [
            ("AutomaticRepairs", "NotRunning")
        ]

    def test_given_an_instance_or_a_vm_then_its_view_says_what_it_does(self, azure: Any) -> None:
        instance = azure.compute.virtual_machine_scale_set_vms.get_instance_view("rg", "web", "2")
        assert [status.code for status in instance.statuses][1] == "PowerState/running"
        assert power(azure) == "PowerState/running"

    def test_given_a_member_of_a_flexible_set_then_it_is_seen_as_a_vm_only(self, azure: Any) -> None:
        with azure.refuses(400, "OperationNotAllowed"):
            azure.compute.virtual_machine_scale_sets.get_instance_view("rg", "api")
        with azure.refuses(400, "OperationNotAllowed"):
            azure.compute.virtual_machine_scale_set_vms.get_instance_view("rg", "api", "api_0a2b3c4d")
        with azure.refuses(400, "OperationNotAllowed"):
            azure.compute.virtual_machine_scale_set_vms.begin_redeploy("rg", "api", "api_0a2b3c4d")
        assert power(azure, "api_0a2b3c4d") == "PowerState/running"


class TestRepairs:
    def test_given_repairs_when_they_are_suspended_and_resumed_then_the_view_says_so(self, cloud: Start) -> None:
        policy = {"automaticRepairsPolicy": {"enabled": True}}
        azure = cloud(arm={"scale_sets": [{"name": "web", "properties": policy}]})
        sets = azure.compute.virtual_machine_scale_sets
        seen = []
        for action in ("Suspend", "Resume"):
            body = {"serviceName": "AutomaticRepairs", "action": action}
            sets.begin_set_orchestration_service_state("rg", "web", body).result()
            seen.append(sets.get_instance_view("rg", "web").orchestration_services[0].service_state)
        assert seen == ["Suspended", "Running"]

    def test_given_no_repairs_or_another_service_then_it_is_refused(self, azure: Any) -> None:
        begin = azure.compute.virtual_machine_scale_sets.begin_set_orchestration_service_state
        with azure.refuses(409, "OperationNotAllowed"):
            begin("rg", "web", {"serviceName": "AutomaticRepairs", "action": "Suspend"})
        with azure.refuses(400, "InvalidParameter"):
            begin("rg", "web", {"serviceName": "AutomaticZoneRebalancing", "action": "Suspend"})


class TestAnnouncedActions:
    @pytest.mark.parametrize(("action", "kind"), [("restart", "Reboot"), ("redeploy", "Redeploy")])
    def test_given_a_machine_that_asked_for_events_then_a_users_action_waits_for_its_approval(
        self, cloud: Start, action: str, kind: str
    ) -> None:
        azure = cloud(speed=None)
        assert events(azure, "db") == []
        poller = getattr(azure.compute.virtual_machines, f"begin_{action}")("rg", "db")
        (event,) = events(azure, "db")
        assert (event["EventType"], event["EventSource"], event["EventStatus"]) == (kind, "User", "Scheduled")
        assert (poller.done(), azure.azure.status()["vms"]["db"]["state"]) == (False, "running")
        approve(azure.azure.imds["db"], event["EventId"])
        assert azure.azure.status()["vms"]["db"]["state"] == {"Reboot": "rebooting", "Redeploy": "redeploying"}[kind]
        azure.azure.advance(121)
        poller.result()
        assert azure.azure.status()["vms"]["db"]["state"] == "running"

    @pytest.mark.parametrize("action", ["restart", "redeploy"])
    def test_given_the_policy_approves_then_the_event_appears_already_started(self, cloud: Start, action: str) -> None:
        azure = cloud(arm={"virtual_machines": [{"name": "db", "properties": APPROVING}]}, speed=None)
        events(azure, "db")
        getattr(azure.compute.virtual_machines, f"begin_{action}")("rg", "db", polling=False)
        assert (the_event(azure)["status"], the_event(azure)["event_source"]) == ("Started", "User")

    def test_given_a_member_then_its_sets_policy_counts(self, cloud: Start) -> None:
        azure = cloud(arm={"scale_sets": [{"name": "web", "properties": APPROVING}]}, speed=None)
        events(azure, "web_0")
        azure.compute.virtual_machine_scale_set_vms.begin_restart("rg", "web", "1", polling=False)
        assert (the_event(azure)["status"], the_event(azure)["resources"]) == ("Started", ["web_1"])

    def test_given_nobody_ever_asked_for_events_then_it_begins_at_once(self, cloud: Start) -> None:
        azure = cloud(speed=None)
        poller = azure.compute.virtual_machines.begin_restart("rg", "db")
        assert azure.azure.status()["vms"]["db"]["state"] == "rebooting"
        azure.azure.advance(31)
        poller.result()

    @pytest.mark.parametrize("asks", [True, False])
    def test_given_a_redeployment_that_takes_no_time_then_it_is_done_once_it_has_begun(
        self, cloud: Start, asks: bool
    ) -> None:
        azure = cloud(speed=None, defaults={"Redeploy": {"impact": 0}})
        if asks:
            events(azure, "db")
        poller = azure.compute.virtual_machines.begin_redeploy("rg", "db")
        if asks:
            approve(azure.azure.imds["db"], the_event(azure)["event_id"])
        poller.result()

    def test_given_a_set_when_some_are_restarted_then_each_has_an_event_of_its_own(self, cloud: Start) -> None:
        azure = cloud(speed=None)
        events(azure, "web_0")
        body = {"instanceIds": ["1", "3"]}
        azure.compute.virtual_machine_scale_sets.begin_restart("rg", "web", body, polling=False)
        assert [event["resources"] for event in azure.azure.status()["events"]] == [["web_1"], ["web_3"]]

    def test_given_the_event_is_withdrawn_then_the_operation_was_called_off(self, cloud: Start) -> None:
        azure = cloud(speed=None)
        events(azure, "db")
        poller = azure.compute.virtual_machines.begin_redeploy("rg", "db")
        azure.azure.withdraw(the_event(azure)["event_id"])
        with pytest.raises(HttpResponseError, match="called off"):
            poller.result()

    def test_given_a_stopped_machine_when_it_is_restarted_then_it_runs_again(self, azure: Any) -> None:
        azure.compute.virtual_machines.begin_power_off("rg", "db").result()
        azure.compute.virtual_machines.begin_restart("rg", "db").result()
        assert power(azure) == "PowerState/running"

    def test_given_a_redeployment_that_azure_has_planned_when_the_owner_redeploys_first_then_it_does_not_happen(
        self, cloud: Start
    ) -> None:
        azure = cloud(speed=None)
        over = azure.azure.event("Redeploy", "db", status="Started", linger=120)
        azure.azure.advance(121)
        planned = [azure.azure.event("Redeploy", "db"), azure.azure.event("Reboot", "db")]
        azure.compute.virtual_machines.begin_redeploy("rg", "db", polling=False)
        azure.azure.advance(121)
        statuses = {event["event_id"]: event["status"] for event in azure.azure.status()["events"]}
        assert [statuses[one["event_id"]] for one in (over, *planned)] == ["Completed", "Canceled", "Scheduled"]


class TestSilentActions:
    @pytest.mark.parametrize(("action", "after"), [("power_off", "stopped"), ("deallocate", "deallocated")])
    def test_given_a_machine_is_switched_off_then_there_is_no_event_and_it_starts_again(
        self, azure: Any, action: str, after: str
    ) -> None:
        events(azure, "db")
        vms = azure.compute.virtual_machines
        getattr(vms, f"begin_{action}")("rg", "db").result()
        assert (power(azure), azure.azure.status()["vms"]["db"]["state"]) == (f"PowerState/{after}", after)
        vms.begin_start("rg", "db").result()
        assert (power(azure), azure.azure.status()["events"]) == ("PowerState/running", [])

    def test_given_a_deallocated_machine_then_it_cannot_be_restarted_or_redeployed(self, azure: Any) -> None:
        vms = azure.compute.virtual_machines
        vms.begin_deallocate("rg", "db").result()
        for begin in (vms.begin_restart, vms.begin_redeploy):
            with azure.refuses(409, "OperationNotAllowed"):
                begin("rg", "db")

    def test_given_an_instance_is_reimaged_then_it_has_the_latest_model_and_nobody_was_notified(
        self, cloud: Start
    ) -> None:
        azure = cloud(arm={"scale_sets": [{"name": "web", "outdated": ["web_1"]}]})
        assert azure.outdated() == ["1"]
        azure.compute.virtual_machine_scale_set_vms.begin_reimage("rg", "web", "1").result()
        assert (azure.outdated(), azure.azure.status()["events"]) == ([], [])

    def test_given_a_vm_by_itself_then_it_is_reimaged_with_a_profile_only(self, azure: Any) -> None:
        vms = azure.compute.virtual_machines
        with azure.refuses(409, "OperationNotAllowed"):
            vms.begin_reimage("rg", "db")
        vms.begin_reimage("rg", "db", {"osProfile": {"adminPassword": "of-the-test"}}).result()

    def test_given_a_set_is_powered_off_as_a_whole_then_the_protected_stay(self, cloud: Start) -> None:
        azure = cloud(arm={"scale_sets": [{"name": "web"}]})
        path = azure.path("virtualMachineScaleSets/web/virtualMachines/2?api-version=2026-04-01")
        body = {"location": "westeurope", "properties": {"protectionPolicy": {"protectFromScaleSetActions": True}}}
        assert azure.raw("PUT", path, body).status == 200
        azure.compute.virtual_machine_scale_sets.begin_power_off("rg", "web").result()
        states = {name: vm["state"] for name, vm in azure.azure.status()["vms"].items() if name.startswith("web")}
        assert states == {"web_0": "stopped", "web_1": "stopped", "web_2": "running", "web_3": "stopped"}

    def test_given_an_instance_that_is_deleted_while_it_is_switched_off_then_it_is_gone_once(
        self, cloud: Start
    ) -> None:
        azure = cloud(speed=None)
        vms = azure.compute.virtual_machine_scale_set_vms
        vms.begin_power_off("rg", "web", "0", polling=False)
        vms.begin_delete("rg", "web", "0", polling=False)
        with azure.refuses(409, "OperationNotAllowed"):
            vms.begin_restart("rg", "web", "0")
        azure.azure.advance(6)
        assert azure.compute.virtual_machine_scale_sets.get("rg", "web").sku.capacity == 3

    @pytest.mark.parametrize("ids", [[], [1], "0"])
    def test_given_ids_that_are_none_then_nothing_is_done_to_anybody(self, azure: Any, ids: Any) -> None:
        path = azure.path("virtualMachineScaleSets/web/restart?api-version=2026-04-01")
        answer = azure.raw("POST", path, {"instanceIds": ids})
        assert (answer.status, answer.code, azure.azure.status()["events"]) == (400, "InvalidParameter", [])

    def test_given_what_is_not_known_then_it_is_refused_by_name(self, azure: Any) -> None:
        answer = azure.raw("POST", azure.path("virtualMachines/db/restart?api-version=2026-04-01&softly=true"))
        assert (answer.status, "'softly'" in answer.json["error"]["message"]) == (400, True)
        with azure.refuses(404, "InvalidResourceType"):
            azure.compute.virtual_machines.begin_reapply("rg", "db")


class TestPlannedMaintenance:
    def test_given_a_window_then_the_view_says_when_the_owner_may_begin_and_when_azure_will(self, cloud: Start) -> None:
        azure = cloud(arm=WINDOW, speed=None)
        status = azure.compute.virtual_machines.instance_view("rg", "db").maintenance_redeploy_status
        assert status.is_customer_initiated_maintenance_allowed is False
        assert (status.pre_maintenance_window_end_time - status.pre_maintenance_window_start_time).seconds == 1000
        assert status.maintenance_window_start_time == status.pre_maintenance_window_end_time
        azure.azure.advance(101)
        vms = azure.compute.virtual_machine_scale_set_vms
        status = vms.get_instance_view("rg", "web", "1").maintenance_redeploy_status
        assert (status.is_customer_initiated_maintenance_allowed, status.last_operation_result_code) == (True, "None")
        assert azure.compute.virtual_machines.instance_view("rg", "app_0").maintenance_redeploy_status is None

    def test_given_it_is_open_when_maintenance_is_performed_then_the_machine_is_redeployed_and_it_is_over(
        self, cloud: Start
    ) -> None:
        azure = cloud(arm=WINDOW, speed=None)
        azure.azure.advance(101)
        poller = azure.compute.virtual_machines.begin_perform_maintenance("rg", "db")
        assert (the_event(azure)["event_type"], the_event(azure)["event_source"]) == ("Redeploy", "User")
        azure.azure.advance(121)
        poller.result()
        status = azure.compute.virtual_machines.instance_view("rg", "db").maintenance_redeploy_status
        assert status.is_customer_initiated_maintenance_allowed is False
        assert status.last_operation_result_code == "MaintenanceCompleted"
        with azure.refuses(409, "OperationNotAllowed"):
            azure.compute.virtual_machines.begin_perform_maintenance("rg", "db")

    def test_given_it_is_withdrawn_before_it_begins_then_the_view_says_that_it_was_aborted(self, cloud: Start) -> None:
        azure = cloud(arm=WINDOW, speed=None)
        azure.azure.advance(101)
        events(azure, "db")
        azure.compute.virtual_machines.begin_perform_maintenance("rg", "db", polling=False)
        azure.azure.withdraw(the_event(azure)["event_id"])
        status = azure.compute.virtual_machines.instance_view("rg", "db").maintenance_redeploy_status
        assert status.last_operation_result_code == "MaintenanceAborted"

    def test_given_no_window_or_a_closed_one_then_it_is_refused(self, cloud: Start) -> None:
        azure = cloud(arm=WINDOW, speed=None)
        for vm in ("db", "app_0"):
            with azure.refuses(409, "OperationNotAllowed"):
                azure.compute.virtual_machines.begin_perform_maintenance("rg", vm)


class TestWhatIsAskedForBesides:
    def test_given_the_status_of_all_vms_then_each_has_its_view_and_little_else(self, azure: Any) -> None:
        rows = list(azure.compute.virtual_machines.list_all(status_only="true"))
        assert {row.name for row in rows} >= {"db", "app_0", "api_0a2b3c4d"}
        assert all(row.instance_view.statuses[1].code == "PowerState/running" for row in rows)
        assert all(row.os_profile is None for row in rows)

    def test_given_what_would_narrow_a_list_and_is_not_known_then_it_is_refused_and_not_ignored(
        self, azure: Any
    ) -> None:
        vms = azure.compute.virtual_machine_scale_set_vms
        for unknown in ({"filter": "startswith(instanceView/statuses/code, 'PowerState')"}, {"select": "instanceView"}):
            with azure.refuses(400, "InvalidParameter"):
                list(vms.list("rg", "web", **unknown))
        for query in ("statusOnly=false", "statusOnly=true&$expand=instanceView", "$expand=instanceView", "$top=1"):
            path = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/virtualMachines?api-version=2026-04-01"
            assert azure.raw("GET", f"{path}&{query}").code == "InvalidParameter"
        with azure.refuses(400, "InvalidParameter"):
            azure.compute.virtual_machines.get("rg", "db", expand="userData")
