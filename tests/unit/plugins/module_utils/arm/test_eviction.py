# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does simulate_eviction do, from start to end?"""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, NotFound
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.eviction import evict
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.target import Target

from .scripted_arm import COMPUTE, VERSION, ScriptedArm, Step, dialogue, ok, refused

VM = COMPUTE + "/virtualMachines/worker"
SET = COMPUTE + "/virtualMachineScaleSets/workers"
INSTANCE = SET + "/virtualMachines/3"
SPOT = ok({"properties": {"priority": "Spot"}})
REGULAR = ok({"properties": {"priority": "Regular"}})
SILENT = ok({"properties": {}})
SPOT_SET = ok({"properties": {"virtualMachineProfile": {"priority": "Spot"}}})


def run(*script: Step, target: Target = Target("shop", "worker"), dry_run: bool = False) -> ScriptedArm:
    with dialogue(*script) as (arm, client):
        evict(client, target, dry_run)
    return arm


def test_given_a_spot_vm_then_it_is_evicted() -> None:
    arm = run(SPOT, Step(204))
    assert arm.lines == ["GET %s%s" % (VM, VERSION), "POST %s/simulateEviction%s" % (VM, VERSION)]
    assert arm.sent("POST") == [b""]


def test_given_a_spot_instance_then_its_scale_set_shows_that_it_is_spot() -> None:
    arm = run(SILENT, SPOT_SET, Step(204), target=Target("shop", "3", "workers"))
    assert arm.lines == [
        "GET %s%s" % (INSTANCE, VERSION),
        "GET %s%s" % (SET, VERSION),
        "POST %s/simulateEviction%s" % (INSTANCE, VERSION),
    ]


@pytest.mark.parametrize("answer", [REGULAR, SILENT])
def test_given_a_machine_that_is_not_spot_then_nothing_is_done(answer: Step) -> None:
    with pytest.raises(ArmError, match="is not a Spot VM"):
        run(answer)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("shop", "worker"), "worker"),
        (Target("shop", "3", "workers"), "instance 3 of workers"),
        (Target("", "3", None, INSTANCE + "/"), "instance 3 of workers"),
        (Target("", "worker", None, VM), "worker"),
    ],
)
def test_given_a_machine_then_its_display_name_is_readable(target: Target, words: str) -> None:
    assert target.words == words


def test_given_check_mode_then_it_only_reads() -> None:
    assert run(SPOT, dry_run=True).lines == ["GET %s%s" % (VM, VERSION)]


def test_given_there_is_no_such_machine_then_it_says_so() -> None:
    with pytest.raises(NotFound):
        run(refused(404, "ResourceNotFound"))


def test_given_a_permission_is_missing_then_the_error_names_the_role() -> None:
    with pytest.raises(ArmError, match="virtualMachines/simulateEviction/action here"):
        run(SPOT, refused(403, "AuthorizationFailed"))


def test_given_another_operation_holds_the_machine_then_it_is_evicted_once_that_is_over() -> None:
    busy = refused(409, "AnotherOperationInProgress")
    assert len(run(SPOT, busy, Step(204)).requests) == 3
