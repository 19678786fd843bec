# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do vm_redeploy, vm_maintenance and maintenance_window_info do, from start to end?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.maintenance import (
    describe_window,
    list_windows,
    maintain,
    redeploy,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.target import Target, read_target
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, GROUP, SUBSCRIPTION, VERSION, ScriptedArm, Step, dialogue, ok, refused

VM = COMPUTE + "/virtualMachines/db"
INSTANCE = COMPUTE + "/virtualMachineScaleSets/web/virtualMachines/1"
# As Microsoft's page on planned maintenance shows it.
STATUS = {
    "isCustomerInitiatedMaintenanceAllowed": True,
    "preMaintenanceWindowStartTime": "2018-05-14T12:30:00Z",
    "preMaintenanceWindowEndTime": "2018-05-19T12:30:00Z",
    "maintenanceWindowStartTime": "2018-05-21T16:30:00Z",
    "maintenanceWindowEndTime": "2018-06-04T16:30:00Z",
    "lastOperationResultCode": "None",
}
ACCEPTED = Step(202, None, {"Location": "{base}/operation", "Retry-After": "1"})


def view(**status: Any) -> Step:
    return ok({"statuses": [], "maintenanceRedeployStatus": {**STATUS, **status}})


def run(act: Any, *script: Step, target: Target = Target("shop", "db"), **options: Any) -> tuple[Any, ScriptedArm]:
    with dialogue(*script) as (arm, client):
        return act(client, target, **options), arm


class TestRedeploy:
    @pytest.mark.parametrize(
        ("target", "path"),
        [
            (Target("shop", "db"), VM),
            (Target("shop", "1", "web"), INSTANCE),
            (Target("", "1", None, INSTANCE), INSTANCE),
        ],
    )
    def test_given_a_machine_then_it_is_posted_and_followed_to_its_end(self, target: Target, path: str) -> None:
        done, arm = run(redeploy, ACCEPTED, Step(200), target=target)
        assert done == path
        assert arm.lines == ["POST %s/redeploy%s" % (path, VERSION), "GET /operation"]
        assert arm.sent("POST") == [b""]

    def test_given_wait_is_false_then_it_ends_once_azure_has_accepted(self) -> None:
        _done, arm = run(redeploy, ACCEPTED, wait=False)
        assert len(arm.requests) == 1

    def test_given_check_mode_then_it_reads_whether_the_machine_exists(self) -> None:
        _done, arm = run(redeploy, ok({}), dry_run=True)
        assert arm.lines == ["GET " + VM + VERSION]
        with pytest.raises(NotFound):
            run(redeploy, refused(404, "ResourceNotFound"), dry_run=True)

    def test_given_a_permission_is_missing_then_it_names_that_of_the_kind_of_machine(self) -> None:
        with pytest.raises(ArmError, match=r"virtualMachineScaleSets/virtualMachines/redeploy/action here"):
            run(redeploy, refused(403, "AuthorizationFailed"), target=Target("shop", "1", "web"))


class TestMaintain:
    def test_given_an_open_window_then_it_begins(self) -> None:
        (path, window, reason), arm = run(maintain, view(), ACCEPTED, Step(200))
        assert (path, window["self_service_allowed"], reason) == (VM, True, None)
        assert arm.lines[:2] == [
            "GET %s/instanceView%s" % (VM, VERSION),
            "POST %s/performMaintenance%s" % (VM, VERSION),
        ]

    def test_given_check_mode_then_it_only_reads(self) -> None:
        (_path, _window, reason), arm = run(maintain, view(), dry_run=True)
        assert (reason, len(arm.requests)) == (None, 1)

    @pytest.mark.parametrize(
        ("found", "reason"),
        [
            (ok({"statuses": []}), "no maintenance is planned for it"),
            (
                view(isCustomerInitiatedMaintenanceAllowed=False, lastOperationResultCode="MaintenanceCompleted"),
                "its maintenance is done",
            ),
            (
                view(isCustomerInitiatedMaintenanceAllowed=False),
                "you can start it only from 2018-05-14T12:30:00Z to 2018-05-19T12:30:00Z",
            ),
        ],
    )
    def test_given_it_is_not_the_time_then_nothing_is_done_and_it_says_why(self, found: Step, reason: str) -> None:
        (_path, _window, told), arm = run(maintain, found)
        assert (told, len(arm.requests)) == (reason, 1)


class TestWindows:
    def test_given_a_status_then_each_of_its_fields_is_reported(self) -> None:
        told = describe_window({"maintenanceRedeployStatus": {**STATUS, "lastOperationMessage": "later"}})
        assert told == {
            "self_service_allowed": True,
            "self_service_start": "2018-05-14T12:30:00Z",
            "self_service_end": "2018-05-19T12:30:00Z",
            "scheduled_start": "2018-05-21T16:30:00Z",
            "scheduled_end": "2018-06-04T16:30:00Z",
            "last_result": "None",
            "last_message": "later",
        }

    @pytest.mark.parametrize("status", [None, {}, {"isCustomerInitiatedMaintenanceAllowed": None}])
    def test_given_an_empty_status_then_there_is_no_window(self, status: Any) -> None:
        assert describe_window({"maintenanceRedeployStatus": status}) is None

    @pytest.mark.parametrize("group", [None, "shop"])
    def test_given_no_machine_then_vms_are_one_list_and_each_uniform_set_another(self, group: str | None) -> None:
        planned = {"properties": {"instanceView": {"maintenanceRedeployStatus": STATUS}}}
        elsewhere = (
            "/subscriptions/%s/resourceGroups/other/providers/Microsoft.Compute/virtualMachines/db" % SUBSCRIPTION
        )
        vms = [
            {"id": VM, "name": "db", **planned},
            {"id": elsewhere, "name": "other", **planned},
            {"id": VM + "2", "name": "db2"},
        ]
        sets = [
            {"id": COMPUTE + "/virtualMachineScaleSets/web", "name": "web", "properties": {}},
            {"id": COMPUTE + "/virtualMachineScaleSets/api", "properties": {"orchestrationMode": "Flexible"}},
        ]
        instances = [{"id": INSTANCE, "name": "web_1", **planned}, {"id": "2", "name": "web_2"}]
        script = [ok({"value": rows}) for rows in (vms, sets, instances)]
        with dialogue(*script) as (arm, client):
            found = list_windows(client, group)
        assert [one["name"] for one in found] == ["db", *([] if group else ["other"]), "web_1"]
        everything = "/subscriptions/%s/providers/Microsoft.Compute" % SUBSCRIPTION
        of_sets = GROUP + "/providers/Microsoft.Compute" if group else everything
        assert arm.lines == [
            "GET %s/virtualMachines%s&statusOnly=true" % (everything, VERSION),
            "GET %s/virtualMachineScaleSets%s" % (of_sets, VERSION),
            "GET %s/virtualMachineScaleSets/web/virtualMachines%s&%%24expand=instanceView" % (COMPUTE, VERSION),
        ]


class TestTarget:
    def test_given_the_id_of_an_instance_then_its_name_is_that_of_events(self) -> None:
        target = read_target({"id": INSTANCE + "/"})
        with dialogue() as (_arm, client):
            assert (target.path(client), target.vm_name(client), target.in_set) == (INSTANCE, "web_1", True)
            assert read_target({"id": VM}).vm_name(client) == "db"

    @pytest.mark.parametrize(
        "text",
        ["db", COMPUTE, COMPUTE + "/disks/d", VM + "/extensions/x", VM + "?x=1", COMPUTE + "/virtualMachines/..", ""],
    )
    def test_given_input_that_is_no_id_of_a_machine_then_it_is_refused(self, text: str) -> None:
        with pytest.raises(OptionError, match="is not the id of a VM"):
            read_target({"id": text})

    def test_given_names_then_they_are_checked(self) -> None:
        assert read_target({"resource_group": "shop", "scale_set": "web", "instance_id": "1"}).in_set
        with pytest.raises(OptionError, match="name: 'a/b'"):
            read_target({"resource_group": "shop", "name": "a/b"})
