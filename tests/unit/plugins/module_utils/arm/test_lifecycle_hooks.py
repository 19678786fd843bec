# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do vmss_lifecycle_hooks and vmss_lifecycle_hooks_info do, from start to end?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError, Unfinished
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.lifecycle_hooks import (
    DesiredHooks,
    HooksChange,
    obstacles_of,
    read_desired_state,
    read_duration,
    read_hooks,
    set_hooks,
    stops_when_drained,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, VERSION, ScriptedArm, Step, dialogue, ok, refused

WEB = COMPUTE + "/virtualMachineScaleSets/web"
READ = "GET %s%s" % (WEB, VERSION)
PATCH = "PATCH %s%s" % (WEB, VERSION)
SCHEDULING, BATCH = "UpgradeAutoOSScheduling", "UpgradeAutoOSRollingBatchStarting"
HEALTHY = {
    "upgradePolicy": {"mode": "Rolling", "automaticOSUpgradePolicy": {"enableAutomaticOSUpgrade": True}},
    "virtualMachineProfile": {"networkProfile": {"healthProbe": {"id": "/probe"}}},
}
# Of a type that is being specified, with a member that nobody here knows.
NEWER = {"type": "VMScaleSetVMDeleteStarting", "waitDuration": "PT5M", "audience": {"names": ["x"]}}


def hook(kind: str = BATCH, wait: str = "PT30M", action: str = "Approve", **more: Any) -> dict[str, Any]:
    return {"type": kind, "waitDuration": wait, "defaultAction": action, **more}


def web(*hooks: dict[str, Any], etag: str | None = '"1"', **properties: Any) -> Step:
    profile = {"lifecycleHooksProfile": {"lifecycleHooks": list(hooks)}} if hooks else {}
    shown = {"id": WEB, "name": "web", "properties": {**HEALTHY, **profile, **properties}}
    return ok({**shown, **({"etag": etag} if etag else {})})


def options(state: str = "present", **more: Any) -> dict[str, Any]:
    return {"state": state, "hooks": None, "exclusive": False, "types": None, **more}


def desired(*hooks: dict[str, Any], **more: Any) -> DesiredHooks:
    return read_desired_state(options(hooks=list(hooks), **more))


def run(*script: Step, wanted: DesiredHooks, **more: Any) -> tuple[ScriptedArm, HooksChange]:
    with dialogue(*script) as (arm, client):
        return arm, set_hooks(client, "shop", "web", wanted, **more)


def sent(arm: ScriptedArm) -> Any:
    """The list of hooks that was written; nothing else is."""
    (body,) = arm.sent("PATCH")
    content = json.loads(body)
    hooks = content["properties"]["lifecycleHooksProfile"]["lifecycleHooks"]
    assert content == {"properties": {"lifecycleHooksProfile": {"lifecycleHooks": hooks}}}
    return hooks


class TestPresent:
    def test_given_no_hook_when_one_is_wanted_then_what_was_given_is_sent_and_what_azure_fills_in_is_returned(
        self,
    ) -> None:
        arm, change = run(web(), web(hook()), wanted=desired({"type": BATCH}))
        assert arm.lines == [READ, PATCH]
        assert arm.requests[1].headers["if-match"] == '"1"'
        assert sent(arm) == [{"type": BATCH}]
        assert change.before == []
        assert change.after == [{"type": BATCH, "wait_duration": "PT30M", "default_action": "Approve"}]

    @pytest.mark.parametrize("wait", ["PT30M", "PT0.5H", "PT1800S", "pt30m", "P0DT30M", None])
    def test_given_the_hook_is_there_in_any_spelling_then_nothing_is_sent(self, wait: str | None) -> None:
        arm, change = run(web(hook()), wanted=desired({"type": BATCH, "wait_duration": wait}))
        assert (arm.lines, change.changed) == ([READ], False)

    def test_given_another_wait_then_it_alone_changes_and_unknown_members_stay(self) -> None:
        found = hook(action="Reject", audience="x")
        after = {**found, "waitDuration": "PT1H"}
        arm, change = run(web(found), web(after), wanted=desired({"type": BATCH, "wait_duration": "PT1H"}))
        assert sent(arm) == [after]
        assert change.after[0]["default_action"] == "Reject"

    def test_given_hooks_that_are_not_named_then_they_are_sent_back_as_they_were_read_and_in_their_order(self) -> None:
        arm, change = run(
            web(NEWER, hook(SCHEDULING, "PT8H")),
            web(NEWER, hook(SCHEDULING, "PT8H"), hook()),
            wanted=desired({"type": BATCH}),
        )
        assert sent(arm) == [NEWER, hook(SCHEDULING, "PT8H"), {"type": BATCH}]
        assert [one["type"] for one in change.after] == [NEWER["type"], SCHEDULING, BATCH]

    def test_given_exclusive_then_the_others_go(self) -> None:
        arm, change = run(web(NEWER, hook()), web(hook()), wanted=desired({"type": BATCH}, exclusive=True))
        assert sent(arm) == [hook()]
        assert change.changed

    def test_given_check_mode_then_nothing_is_sent_and_what_the_service_decides_is_none(self) -> None:
        arm, change = run(web(), wanted=desired({"type": BATCH, "wait_duration": "PT2H"}), dry_run=True)
        assert (arm.lines, change.changed) == ([READ], True)
        assert change.after == [{"type": BATCH, "wait_duration": "PT2H", "default_action": None}]

    def test_given_another_client_was_faster_then_it_is_read_again_and_its_hook_stays(self) -> None:
        arm, _change = run(
            web(), refused(412, "PreconditionFailed"), web(NEWER), web(NEWER, hook()), wanted=desired({"type": BATCH})
        )
        assert json.loads(arm.sent("PATCH")[1])["properties"]["lifecycleHooksProfile"]["lifecycleHooks"] == [
            NEWER,
            {"type": BATCH},
        ]

    def test_given_no_etag_then_nothing_is_written(self) -> None:
        with pytest.raises(ArmError, match="has no etag"):
            run(web(etag=None), wanted=desired({"type": BATCH}))

    def test_given_azure_then_shows_another_hook_then_that_is_an_error(self) -> None:
        with pytest.raises(Unfinished, match=r"then shows .*PT30M") as error:
            run(web(), web(hook()), wanted=desired({"type": BATCH, "wait_duration": "PT1H"}))
        assert error.value.outcome.changed

    def test_given_a_cloud_that_takes_no_reject_then_the_error_names_the_option(self) -> None:
        refusal = refused(400, "InvalidParameter", "The value 'Reject' of parameter 'defaultAction' is invalid.")
        with pytest.raises(ArmError, match=r"^default_action: this cloud does not accept Reject yet"):
            run(web(), refusal, wanted=desired({"type": BATCH, "default_action": "Reject"}))

    def test_given_a_cloud_that_is_too_old_then_the_error_says_since_when(self) -> None:
        message = "No registered resource provider found. The supported api-versions are '2024-03-01, 2025-04-01'."
        with pytest.raises(ArmError, match=r"lifecycle hooks of scale sets need Microsoft\.Compute 2025-11-01"):
            run(refused(400, "NoRegisteredProviderFound", message), wanted=desired({"type": BATCH}))


class TestAbsent:
    @pytest.mark.parametrize(
        ("types", "left"), [(None, []), ([], [NEWER, hook()]), ([BATCH], [NEWER]), ([SCHEDULING], [NEWER, hook()])]
    )
    def test_given_types_then_their_hooks_go_and_no_others(
        self, types: list[str] | None, left: list[dict[str, Any]]
    ) -> None:
        changes = len(left) < 2
        script = [web(NEWER, hook())] + ([web(*left)] if changes else [])
        arm, change = run(*script, wanted=read_desired_state(options("absent", types=types)))
        assert change.changed == changes
        assert not changes or sent(arm) == left

    def test_given_none_is_there_then_nothing_is_sent(self) -> None:
        arm, change = run(web(), wanted=read_desired_state(options("absent")))
        assert (arm.lines, change.changed) == ([READ], False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (options(hooks=[{"type": BATCH}, {"type": BATCH}]), "hooks: two have the type " + BATCH),
        (options(hooks=[{"type": BATCH, "wait_duration": "PT5H"}]), r"'PT5H' is out of range. .* at most 4 hours"),
        (options(hooks=[{"type": SCHEDULING, "wait_duration": "P2DT1S"}]), "at most 48 hours"),
        (options(hooks=[{"type": BATCH, "wait_duration": "PT0S"}]), "waits longer than 0"),
        (options(hooks=[{"type": BATCH, "wait_duration": "30m"}]), "wait_duration: '30m' is not an ISO 8601 duration"),
        (options("absent", hooks=[{"type": BATCH}]), "hooks is not valid with state: absent"),
        (options("absent", exclusive=True), "exclusive is not valid with state: absent"),
        (options(hooks=[], types=[BATCH]), "types is not valid with state: present"),
    ],
)
def test_given_an_invalid_request_then_the_error_names_the_option(given: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_desired_state(given)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("PT30M", 1800),
        ("PT0.5H", 1800),
        ("P1D", 86400),
        ("P1DT12H", 129600),
        ("PT1H30M15S", 5415),
        (" pt1h ", 3600),
        ("PT", None),
        ("P", None),
        ("P1DT", None),
        ("P1M", None),
        ("P1W", None),
        ("PT1D", None),
        ("PT-1M", None),
        ("1H", None),
        ("PT1H\n", 3600),
        ("PT" + "9" * 400 + "H", None),
    ],
)
def test_given_a_duration_then_it_is_read_in_seconds(text: str, seconds: float | None) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({}, ()),
        ({"upgradePolicy": {"mode": "Manual"}}, ("Manual", "enableAutomaticOSUpgrade")),
        ({"upgradePolicy": {"mode": "Automatic"}}, ("enableAutomaticOSUpgrade",)),
        ({"virtualMachineProfile": {}}, ("health",)),
        (
            {
                "virtualMachineProfile": {
                    "extensionProfile": {"extensions": [{"properties": {"type": "ApplicationHealthLinux"}}]}
                }
            },
            (),
        ),
    ],
)
def test_given_a_set_then_what_keeps_azure_from_ever_asking_is_named(
    properties: dict[str, Any], words: tuple[str, ...]
) -> None:
    found = obstacles_of({"properties": {**HEALTHY, **properties}})
    assert len(found) == len(words)
    assert all(word in one for word, one in zip(words, found, strict=True))


def test_given_a_set_when_it_is_read_then_hooks_of_all_types_are_reported() -> None:
    with dialogue(web(NEWER, hook())) as (arm, client):
        found = read_hooks(client, "shop", "web")
    assert arm.lines == [READ]
    assert found == {
        "id": WEB,
        "hooks": [
            {"type": NEWER["type"], "wait_duration": "PT5M", "default_action": None},
            {"type": BATCH, "wait_duration": "PT30M", "default_action": "Approve"},
        ],
        "obstacles": [],
        "stops_when_drained": False,
        "replaces_instances": False,
    }


@pytest.mark.parametrize(
    ("count", "policy", "stops"),
    [
        (9, {}, False),
        # Of a small set, one instance is more than a fifth.
        (3, {}, True),
        (9, {"maxBatchInstancePercent": 34}, True),
        (9, {"maxBatchInstancePercent": 34, "maxUnhealthyInstancePercent": 34}, False),
        (0, {}, False),
    ],
)
def test_given_a_policy_when_a_batch_is_drained_then_it_is_known_whether_azure_would_stop_for_good(
    count: int, policy: dict[str, int], stops: bool
) -> None:
    found = {"sku": {"capacity": count}, "properties": {"upgradePolicy": {"rollingUpgradePolicy": policy}}}
    assert stops_when_drained(found) is stops
