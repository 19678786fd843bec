# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written down before a machine is changed in Azure, and what is restored by it?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import gateway, membership
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.protection import (
    ProtectionChange,
    protect,
    unprotect_recorded,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.records import Record
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.repairs import (
    RUNNING,
    SUSPENDED,
    UNKNOWN,
    RepairsChange,
    resume_recorded,
    suspend_recorded,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, ScriptedArm, Step, dialogue, ok, refused
from .simulated_arm import client_to

ONE, OTHER = "1" * 32, "2" * 32
SET = COMPUTE + "/virtualMachineScaleSets/web"
GROUP = "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555/resourceGroups/rg/providers/"
VM = GROUP + "Microsoft.Compute/virtualMachines/app_0"
POOL = GROUP + "Microsoft.Network/loadBalancers/front/backendAddressPools/"
GATE = GROUP + "Microsoft.Network/applicationGateways/gate/backendAddressPools/data"

Keep = Callable[..., Record]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    """The record of a machine."""

    def make(kind: str, name: str = "web_1", machine: str = ONE, is_dry: bool = False, **more: Any) -> Record:
        given = {"directory": str(tmp_path / "kept"), "name": name, "machine": machine}
        record = Record({"record": given, **more}, kind, "" if kind == "suspended_repairs" else ".json", is_dry)
        record.check()
        return record

    return make


def methods_of(arm: ScriptedArm) -> list[str]:
    return [line.partition(" ")[0] for line in arm.lines]


def files(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((directory / "kept").glob("*"))}


# -- automatic repairs --------------------------------------------------------------------------------------


def view(state: str) -> Step:
    return ok({"orchestrationServices": [{"serviceName": "AutomaticRepairs", "serviceState": state}]})


def suspend(record: Record, *script: Step, vm_id: str = "") -> tuple[RepairsChange, list[str]]:
    with dialogue(*script) as (arm, client):
        return suspend_recorded(client, "shop", "web", record, vm_id=vm_id), methods_of(arm)


def resume(record: Record, *script: Step, **options: Any) -> tuple[RepairsChange | None, list[str]]:
    with dialogue(*script) as (arm, client):
        return resume_recorded(client, record, **options), methods_of(arm)


def test_given_two_machines_that_need_repairs_suspended_when_they_return_then_the_last_has_them_resumed(
    keep: Keep, tmp_path: Path
) -> None:
    one, other = keep("suspended_repairs"), keep("suspended_repairs", "web_2", OTHER)
    suspend(one, view("Running"), Step(200), view("Suspended"))
    change, methods = suspend(other, view("Suspended"))
    assert (change.changed, methods) == (False, ["GET"])
    assert set(files(tmp_path).values()) == {SET.lower() + "\n"}

    assert resume(one) == (None, [])
    # Its machine keeps nobody waiting, also if it was killed before its record was removed.
    done, _methods = resume(other, view("Suspended"), Step(200), view("Running"))
    assert done is not None
    assert (done.changed, done.after) == (True, RUNNING)
    assert [*files(tmp_path)] == [
        f"suspended_repairs_web_1_{ONE}.ending",
        f"suspended_repairs_web_2_{OTHER}.ending",
    ]
    assert resume(other, view("Running"))[1] == ["GET"]

    # One that leaves again before it was all the way back needs them suspended again.
    suspend(other, view("Running"), Step(200), view("Suspended"))
    assert resume(one) == (None, [])


@pytest.mark.parametrize(
    ("member", "shown"),
    [
        ("/virtualMachineScaleSets/web/virtualMachines/2", refused(404, "ResourceNotFound")),
        ("/virtualMachines/web_2", ok({"properties": {"provisioningState": "Deleting"}})),
    ],
)
def test_given_a_machine_that_azure_deletes_while_out_when_the_last_of_the_others_returns_then_repairs_are_resumed(
    keep: Keep, tmp_path: Path, member: str, shown: Step
) -> None:
    gone = keep("suspended_repairs", "web_2", OTHER)
    suspend(gone, view("Running"), Step(200), view("Suspended"), vm_id=COMPUTE + member)
    # Who leaves meanwhile finds repairs that are suspended for machines, not by somebody else.
    record = keep("suspended_repairs")
    suspend(record, view("Suspended"))

    # A prediction removes nothing.
    done, _methods = resume(record, shown, view("Suspended"), dry_run=True)
    assert done is not None
    assert len(files(tmp_path)) == 2

    with dialogue(shown, view("Suspended"), Step(200), view("Running")) as (arm, client):
        done = resume_recorded(client, record)
        assert (COMPUTE + member).lower() in arm.lines[0]

    assert done is not None
    assert done.after == RUNNING
    assert [*files(tmp_path)] == [f"suspended_repairs_web_1_{ONE}.ending"]


def test_given_a_machine_that_azure_still_has_or_does_not_show_when_another_returns_then_repairs_stay_suspended(
    keep: Keep, tmp_path: Path
) -> None:
    record, other = keep("suspended_repairs"), keep("suspended_repairs", "web_2", OTHER)
    suspend(other, view("Running"), Step(200), view("Suspended"), vm_id=COMPUTE + "/virtualMachines/web_2")
    suspend(record, view("Suspended"))

    assert resume(record, ok({"properties": {"provisioningState": "Succeeded"}})) == (None, ["GET"])
    with pytest.raises(ArmError, match="virtualMachines/read"):
        resume(record, refused(403, "AuthorizationFailed"))
    assert len(files(tmp_path)) == 2


def test_given_repairs_that_somebody_else_has_suspended_when_a_machine_leaves_then_they_stay_his(
    keep: Keep, tmp_path: Path
) -> None:
    change, _methods = suspend(keep("suspended_repairs"), view("Suspended"))

    assert (change.changed, files(tmp_path)) == (False, {})
    assert resume(keep("suspended_repairs")) == (None, [])


def test_given_a_flexible_set_whose_state_nobody_sees_when_a_machine_leaves_then_its_repairs_are_suspended_and_recorded(
    keep: Keep,
) -> None:
    properties = {"orchestrationMode": "Flexible", "automaticRepairsPolicy": {"enabled": True}}
    record = keep("suspended_repairs")

    change, methods = suspend(
        record, refused(400, "OperationNotAllowed", "No."), ok({"properties": properties}), Step(200)
    )

    assert (change.before, change.after, methods) == (UNKNOWN, SUSPENDED, ["GET", "GET", "POST"])
    assert record.lines == [SET.lower()]


def test_given_a_lost_record_when_its_set_is_named_then_repairs_are_resumed_unless_another_machine_needs_them_suspended(
    keep: Keep,
) -> None:
    record, other = keep("suspended_repairs"), keep("suspended_repairs", "web_2", OTHER)
    done, _methods = resume(record, view("Suspended"), Step(200), view("Running"), scale_set=("shop", "web"))
    assert done is not None
    suspend(other, view("Running"), Step(200), view("Suspended"))
    assert resume(record, scale_set=("shop", "web")) == (None, [])


# -- the protection of an instance --------------------------------------------------------------------------


def instance(is_protected: bool) -> Step:
    policy = {"protectFromScaleIn": False, "protectFromScaleSetActions": is_protected}
    return ok({"location": "westeurope", "etag": '"7"', "properties": {"protectionPolicy": policy}})


def guard(record: Record, *script: Step, dry_run: bool = False) -> tuple[ProtectionChange, list[str]]:
    with dialogue(*script) as (arm, client):
        return protect(client, "shop", "web", ["1"], {"scale_set_actions": True}, dry_run, record), methods_of(arm)


def test_given_an_instance_when_it_was_protected_for_a_machine_then_that_is_undone_whatever_its_name_is(
    keep: Keep, tmp_path: Path
) -> None:
    guard(keep("instance_protection"), instance(False), instance(True))
    assert [json.loads(line)[1:] for line in files(tmp_path).values()] == [["shop", "web", "1"]]

    record = keep("instance_protection", "has another name", ONE)
    with dialogue(instance(True), instance(False)) as (arm, client):
        change = unprotect_recorded(client, record)

    assert change is not None
    assert change.changed
    assert methods_of(arm) == ["GET", "PUT"]
    # It is for whoever keeps copies to remove, after these.
    assert record.result()["records"] == [str(tmp_path / "kept" / f"instance_protection_web_1_{ONE}.json")]


def test_given_an_instance_that_is_protected_when_a_machine_leaves_and_returns_then_it_stays_so(keep: Keep) -> None:
    record = keep("instance_protection")
    change, methods = guard(record, instance(True))
    assert (change.changed, methods, record.lines) == (False, ["GET"], [])
    with dialogue() as (_arm, client):
        assert unprotect_recorded(client, record) is None


def test_given_check_mode_when_a_machine_leaves_then_it_says_what_would_be_written_and_writes_nothing(
    keep: Keep, tmp_path: Path
) -> None:
    record = keep("instance_protection", is_dry=True)

    change, methods = guard(record, instance(False), dry_run=True)

    assert (change.changed, methods, files(tmp_path)) == (True, ["GET"], {})
    assert len(record.result()["recorded"]) == 1


def test_given_another_machine_when_one_returns_then_the_others_record_is_left(keep: Keep) -> None:
    guard(keep("instance_protection"), instance(False), instance(True))
    assert keep("instance_protection", "web_1", OTHER).read() == []
    # One that is away cannot say its id.
    assert len(keep("instance_protection", "web_1", "").read()) == 1


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        ('["a", "b"]', 0o700, "was not written by this module"),
        ('["../..", "b", "c/d", "1"]', 0o700, "was not written by this module"),
        ("no JSON", 0o700, "was not written by this module"),
        ("", 0o777, "record: "),
    ],
)
def test_given_a_record_that_is_none_when_a_machine_returns_then_nothing_is_sent(
    keep: Keep, tmp_path: Path, content: str, mode: int, message: str
) -> None:
    (tmp_path / "kept").mkdir(mode=0o700)
    (tmp_path / "kept" / f"instance_protection_web_1_{ONE}.json").write_text(content)
    (tmp_path / "kept").chmod(mode)
    with dialogue() as (_arm, client), pytest.raises(OptionError, match=message):
        unprotect_recorded(client, keep("instance_protection"))


def test_given_a_record_that_cannot_be_written_when_a_machine_leaves_then_nothing_is_changed(
    keep: Keep, tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("no directory")
    with pytest.raises(OptionError, match="record: "):
        # A PUT would be one step too many.
        guard(keep("instance_protection"), instance(False))


# -- pools --------------------------------------------------------------------------------------------------


@pytest.fixture
def azure(cloud: Callable[..., Any]) -> Any:
    return cloud(
        arm={
            "load_balancers": [{"name": "front", "pools": {"apps": ["app_0", "app_1"], "admin": ["app_0"]}}],
            "application_gateways": [{"name": "gate", "pools": {"data": ["app_0", "app_1"]}}],
        }
    )


def move(azure: Any, record: Record, dry_run: bool = False, **options: Any) -> membership.MembershipChange:
    order = membership.read_order({"method": "membership", **options})
    with client_to(azure) as client:
        return membership.carry_out(client, order, dry_run, record)


def test_given_a_removal_that_was_interrupted_when_it_is_repeated_then_the_record_tells_how_it_was_at_first(
    azure: Any, keep: Keep, tmp_path: Path
) -> None:
    record = keep("azure_load_balancer")
    move(azure, record, vm_id=VM, remove=True, pools=[POOL + "apps"], dry_run=True)
    first = files(tmp_path)
    assert first
    # Killed in the middle, and begun again with more pools.
    move(azure, record, vm_id=VM, remove=True)
    move(azure, record, vm_id=VM, remove=True)
    assert [one["pool"].rpartition("/")[2] for one in record.values()] == ["apps", "admin"]
    assert next(iter(files(tmp_path).values())).startswith(next(iter(first.values())))

    change = move(azure, record, as_recorded=True)

    assert change.changed
    left = move(azure, keep("azure_load_balancer", is_dry=True), vm_id=VM, remove=True, dry_run=True).before
    assert sorted(one["pool"].rpartition("/")[2] for one in left) == ["admin", "apps"]


def test_given_a_machine_of_a_gateway_when_it_is_written_down_then_nothing_is_changed_and_it_returns_by_that(
    azure: Any, keep: Keep
) -> None:
    record = keep("application_gateway")
    given = {"pools": [GATE], "wait": False, "wait_timeout": 0}
    with client_to(azure) as client:
        found = gateway.keep(client, gateway.read_search({"vm_id": VM, "pools": [GATE]}), record).found
        assert len(found) == 1
        assert gateway.carry_out(client, gateway.read_order({**given, "remove": list(found)})).changed
        # Interrupted, and begun again.
        assert gateway.keep(client, gateway.read_search({"vm_id": VM, "pools": [GATE]}), record).found == ()
        assert record.values() == list(found)

        order = gateway.read_order({"wait": False, "wait_timeout": 0, "as_recorded": True})
        assert gateway.restore_recorded(client, order, record).changed
        assert gateway.find(client, gateway.read_search({"vm_id": VM, "pools": [GATE]})) == list(found)
        nobody = keep("application_gateway", "nobody", OTHER)
        assert not gateway.restore_recorded(client, order, nobody).changed


# -- options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record_only": True}, "record: is missing"),
        ({"as_recorded": True}, "record: is missing"),
        ({"record": {"directory": "/kept", "name": "a/b"}}, "record: 'a/b' is no name"),
        ({"record": {"directory": "/kept", "name": "a", "machine": "it"}}, "record: machine 'it' is no id"),
    ],
)
def test_given_invalid_options_when_checked_then_the_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Record(options, "instance_protection").check()
