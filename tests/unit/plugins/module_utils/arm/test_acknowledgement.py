# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events does Resource Graph list, and what does scheduled_event_acknowledge do about them?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.acknowledgement import (
    Acknowledgement,
    acknowledge,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    Unfinished,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.machines import read_references
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.resource_graph import list_events
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import (
    OptionError,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import Selection
from ansible_collections.foghorn.azure_events.tests import recorded

from .scripted_arm import GROUP, SUBSCRIPTION, FakeTime, ScriptedArm, Step, dialogue, ok, refused

GRAPH = "POST /providers/Microsoft.ResourceGraph/resources?api-version=2022-10-01"
QUERY = (
    b'{"subscriptions":["%s"],"query":"maintenanceresources | where type == \'microsoft.maintenance/scheduledevents\'"}'
    % SUBSCRIPTION.encode()
)
A, B, C = ("%s0000000-0000-4000-8000-000000000000" % letter for letter in "ABC")
ANYTHING = Selection()


def web(name: str = "web_0") -> str:
    return "%s/providers/Microsoft.Compute/virtualMachines/%s" % (
        GROUP.replace("resourceGroups", "resourcegroups"),
        name,
    )


def row(
    event_id: str, *resources: str, status: str = "Scheduled", kind: str = "Reboot", of: str | None = None, **more: Any
) -> dict[str, Any]:
    names = resources or ("web_0",)
    return {
        "id": "%s/providers/Microsoft.Maintenance/scheduledevents/%s" % (of or web(names[0]), event_id),
        "name": event_id,
        "type": "microsoft.maintenance/scheduledevents",
        "location": "westeurope",
        "zones": ["1"],
        "properties": {
            "EventId": event_id,
            "EventType": kind,
            "EventStatus": status,
            "ResourceType": "VirtualMachine",
            "Resources": list(names),
            "NotBefore": "Mon, 19 Sep 2016 18:29:47 GMT",
            **more,
        },
    }


def page(*rows: dict[str, Any], token: str | None = None) -> Step:
    return ok(
        {"totalRecords": len(rows), "count": len(rows), "data": list(rows), **({"$skipToken": token} if token else {})}
    )


def known_as(*names: str) -> Step:
    """What Resource Graph says of VMs that it knows."""
    return page(*({"id": name if name.startswith("/") else web(name)} for name in names))


def approved() -> Step:
    (answer,) = recorded.answers("acknowledged")
    return Step(answer["status"], answer["body"])


def one(event_id: str, name: str = "web_0") -> str:
    return "POST %s/providers/Microsoft.Maintenance/scheduledevents/%s/acknowledge?api-version=2025-11-01" % (
        web(name),
        event_id,
    )


def run(
    *script: Step,
    selection: Selection = ANYTHING,
    vm_names: Sequence[str] = ("web_0",),
    scope: str = "own",
    timeout: float = 600,
    **options: Any,
) -> tuple[ScriptedArm, Acknowledgement]:
    with dialogue(*script, timeout=timeout) as (arm, client):
        return arm, acknowledge(client, [SUBSCRIPTION], selection, read_references(vm_names), scope, **options)


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["event_id"] for event in events]


class TestSubscriptions:
    """Which subscriptions are read, when none was asked for?"""

    OTHER = "5b2f6a3c-2222-4c4d-9a51-000000000002"
    LIST = "GET /subscriptions?api-version=2022-12-01"

    def read(self, *script: Step, own: str | None, vm_names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        known = [known_as(*vm_names)] if vm_names else []
        with dialogue(*script, *known, subscription_id=own) as (arm, client):
            acknowledge(client, [], ANYTHING, read_references(vm_names), "own")
        read = [json.loads(body)["subscriptions"] for body in arm.sent("POST")]
        assert read == read[:1] * len(read)
        return arm.lines[: len(script)], read[:1]

    def test_given_ids_and_no_subscription_then_theirs_are_read_and_none_is_listed(self) -> None:
        ids_of = [web().replace(SUBSCRIPTION, self.OTHER), web(), web("web_1").replace("5b2f", "5B2F")]
        lines, read = self.read(page(), own=None, vm_names=ids_of)
        assert lines == [GRAPH]
        assert read == [[self.OTHER, SUBSCRIPTION.replace("5b2f", "5B2F")]]

    def test_given_an_id_in_another_subscription_then_that_is_read_too(self) -> None:
        lines, read = self.read(page(), own=self.OTHER, vm_names=[web()])
        assert (lines, read) == ([GRAPH], [[SUBSCRIPTION, self.OTHER]])

    @pytest.mark.parametrize("vm_names", [["web_0"], ["db", web()], []])
    def test_given_a_name_then_only_the_subscription_of_the_sign_in_is_searched(self, vm_names: list[str]) -> None:
        lines, read = self.read(page(), own=self.OTHER, vm_names=vm_names)
        assert (lines, read) == ([GRAPH], [[self.OTHER]])

    def test_given_a_name_and_no_subscription_then_there_may_be_but_one(self) -> None:
        listed = ok({"value": [{"subscriptionId": SUBSCRIPTION}]})
        lines, read = self.read(listed, page(), own=None, vm_names=["web_0"])
        assert (lines, read) == ([self.LIST, GRAPH], [[SUBSCRIPTION]])


class TestResourceGraph:
    def test_given_no_subscriptions_then_all_that_the_sign_in_may_see_are_asked(self) -> None:
        with dialogue(page(row(A)), subscription_id=None) as (arm, client):
            (found,) = list_events(client, [])
        assert found.event.event_id == A
        assert [list(json.loads(body)) for body in arm.sent("POST")] == [["query"]]

    def test_given_several_pages_then_all_are_read_with_the_token_of_the_one_before(self) -> None:
        script = [page(row(A), token="t-1"), page(row(B), token="t-2"), page(row(C))]
        with dialogue(*script) as (arm, client):
            events = list_events(client, [SUBSCRIPTION])
        assert [one.event.event_id for one in events] == [A, B, C]
        assert arm.lines == [GRAPH] * 3
        assert arm.sent("POST") == [
            QUERY,
            QUERY[:-1] + b',"options":{"$skipToken":"t-1"}}',
            QUERY[:-1] + b',"options":{"$skipToken":"t-2"}}',
        ]

    def test_given_finished_ones_then_they_are_left_out_unless_asked_for(self) -> None:
        rows = page(row(A), row(B, status="Completed"), row(C, status="Canceled"))
        with dialogue(rows, rows) as (_arm, client):
            assert len(list_events(client, [SUBSCRIPTION])) == 1
            assert len(list_events(client, [SUBSCRIPTION], finished=True)) == 3

    def test_given_a_row_then_its_resource_is_what_its_id_begins_with(self) -> None:
        with dialogue(page(row(A))) as (_arm, client):
            (listed,) = list_events(client, [SUBSCRIPTION])
        assert listed.resource_id == web()
        assert listed.zones == ("1",)

    @pytest.mark.parametrize("bad", [{}, {"id": "x", "properties": {}}, {"id": "x", "name": A, "properties": None}, 7])
    def test_given_something_that_is_no_event_then_it_is_listed_and_may_hit_anybody(self, bad: Any) -> None:
        with dialogue(ok({"data": [bad]})) as (_arm, client):
            (listed,) = list_events(client, [SUBSCRIPTION])
        assert (listed.resource_id, listed.event.event_status) == ("", "Unreadable")
        assert listed.event.is_of_unknown_vms

    def test_given_no_rows_in_the_answer_then_that_is_no_empty_list(self) -> None:
        with (
            dialogue(ok({"value": []})) as (_arm, client),
            pytest.raises(ArmError, match="did not answer with a page of rows"),
        ):
            list_events(client, [SUBSCRIPTION])

    def test_given_a_permission_is_missing_then_the_error_names_the_role(self) -> None:
        with (
            dialogue(refused(403, "AuthorizationFailed")) as (_arm, client),
            pytest.raises(ArmError, match=r"permission Microsoft\.ResourceGraph/resources/read here\. The role Reader"),
        ):
            list_events(client, [SUBSCRIPTION])

    @pytest.mark.parametrize(("said", "seconds"), [("00:00:03", 3.0), ("00:01:05", 65.0), ("00:00:00", 1.0)])
    def test_given_its_quota_is_used_up_then_it_waits_until_it_is_there_again(self, said: str, seconds: float) -> None:
        time = FakeTime()
        headers = {"x-ms-user-quota-remaining": "0", "x-ms-user-quota-resets-after": said}
        throttled = Step(429, {"error": {"code": "RateLimiting", "message": "m", "details": []}}, headers)
        with dialogue(throttled, page(row(A)), time=time) as (_arm, client):
            assert len(list_events(client, [SUBSCRIPTION])) == 1
        assert time.slept == [seconds]

    def test_given_it_throttles_without_retry_after_then_requests_become_less_frequent(self) -> None:
        time = FakeTime()
        throttled = refused(429, "RateLimiting")
        with dialogue(*[throttled] * 4, page(row(A)), time=time) as (_arm, client):
            assert len(list_events(client, [SUBSCRIPTION])) == 1
        assert sorted(time.slept) == time.slept
        assert len(set(time.slept)) == 3

    def test_given_its_answer_is_lost_then_the_request_is_repeated(self) -> None:
        with dialogue(Step(reset=True), page(row(A))) as (_arm, client):
            assert len(list_events(client, [SUBSCRIPTION])) == 1


def test_given_an_event_of_the_vm_then_it_is_acknowledged_on_its_resource() -> None:
    arm, result = run(page(row(A), row(B, "other_0")), approved())
    assert arm.lines == [GRAPH, one(A)]
    assert arm.sent("POST")[1] == b""
    assert result.changed
    assert ids(result.approved) == [A]
    assert result.after == {A: "Scheduled, approved"}


def test_given_several_events_of_one_resource_then_they_go_in_one_request() -> None:
    arm, result = run(page(row(A), row(B)), approved())
    assert arm.lines[1] == ("POST %s/providers/Microsoft.Maintenance/scheduledevents?api-version=2025-11-01" % web())
    assert json.loads(arm.sent("POST")[1]) == {"value": [A, B]}
    assert arm.sent("POST")[1] == b'{"value":["%s","%s"]}' % (A.encode(), B.encode())
    assert ids(result.approved) == [A, B]


def test_given_events_of_several_resources_then_each_has_its_request() -> None:
    arm, _unused = run(page(row(A), row(B, "web_1")), approved(), approved(), vm_names=["WEB_0", "web_1"])
    assert arm.lines[1:] == [one(A), one(B, "web_1")]


def test_given_it_hits_another_vm_as_well_then_nothing_is_approved() -> None:
    with pytest.raises(ArmError, match="%s, which affects web_1 as well" % A):
        run(page(row(A, "web_0", "web_1"), row(B)))


def test_given_all_of_its_vms_are_named_then_it_is_approved_once() -> None:
    arm, _unused = run(page(row(A, "web_0", "web_1")), approved(), vm_names=["web_0", "web_1"])
    assert arm.lines == [GRAPH, one(A)]


def test_given_the_scope_of_leaders_then_the_one_led_by_another_is_left_out() -> None:
    arm, result = run(page(row(A, "web_1", "web_0")), scope="leader")
    assert arm.lines == [GRAPH]
    assert not result.changed
    assert result.not_approved[0]["reason"] == "led by web_1, not by any of vm_names (web_0)"


def test_given_scope_any_then_a_named_event_is_approved_whatever_vms_it_hits() -> None:
    arm, _unused = run(page(row(A, "x_1")), approved(), selection=Selection((A.lower(),)), vm_names=(), scope="any")
    assert arm.lines == [GRAPH, one(A, "x_1")]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("Started", "already started"),
        ("Completed", "its status is Completed: nothing to approve"),
        ("Canceled", "its status is Canceled: nothing to approve"),
    ],
)
def test_given_a_named_event_is_not_pending_then_it_is_left_out_with_the_reason(status: str, reason: str) -> None:
    arm, result = run(page(row(A, status=status)), selection=Selection((A,)))
    assert arm.lines == [GRAPH]
    assert not result.changed
    assert result.not_approved[0]["reason"] == reason


def test_given_history_when_none_is_named_then_it_is_not_read() -> None:
    _unused, result = run(page(row(A, status="Completed")))
    assert result.not_approved == []


def test_given_an_unknown_id_then_it_is_left_out_with_the_reason() -> None:
    _unused, result = run(page(), known_as("web_0"), selection=Selection((C,)))
    assert result.not_approved == [
        {"event_id": C, "reason": "not listed: it has ended, was withdrawn or never existed"}
    ]


def test_given_other_filters_leave_a_named_event_out_then_it_says_so() -> None:
    _unused, result = run(page(row(A)), selection=Selection((A,), event_types=frozenset(["freeze"])))
    assert result.not_approved == [{"event_id": A, "reason": "left out by the other filters"}]


def test_given_an_id_that_is_a_way_out_of_the_url_then_it_stays_one_part_of_the_path() -> None:
    arm, _unused = run(page(row(A, EventId="../../x?y#z")), approved())
    assert "/scheduledevents/..%2F..%2Fx%3Fy%23z/acknowledge?" in arm.lines[1]


def test_given_check_mode_then_nothing_is_sent() -> None:
    arm, result = run(page(row(A)), dry_run=True)
    assert arm.lines == [GRAPH]
    assert result.changed


def test_given_it_waits_then_it_reads_until_the_event_has_started() -> None:
    arm, result = run(page(row(A)), approved(), page(row(A)), page(row(A, status="Started")), wait=True)
    assert arm.lines == [GRAPH, one(A), GRAPH, GRAPH]
    assert result.after == {A: "Started"}


def test_given_a_read_fails_while_it_waits_then_the_next_one_may_work() -> None:
    _unused, result = run(page(row(A)), approved(), refused(400, "BadRequest"), page(), wait=True)
    assert result.after == {A: "gone"}


def test_given_it_does_not_start_in_time_then_the_failure_reports_what_was_approved() -> None:
    with pytest.raises(Unfinished, match="Approved, but not started within 9 s: %s" % A) as error:
        run(page(row(A)), approved(), page(row(A)), wait=True, timeout=9)
    assert error.value.outcome.changed


def test_given_terminates_that_wait_for_others_then_it_warns() -> None:
    _unused, result = run(page(row(A, kind="Terminate"), row(B, "web_1", kind="Terminate")), approved())
    assert B in result.warnings[0]


def production(name: str = "web_0") -> str:
    """A VM of the same name in another resource group."""
    return web(name).replace("/shop/", "/production/")


def in_both(**more: Any) -> Step:
    """An event A of the web_0 in shop, and B of the one in production."""
    return page(row(A), row(B, of=production(), **more))


class TestNamesRepeat:
    @pytest.mark.parametrize("scope", ["own", "leader", "any"])
    @pytest.mark.parametrize("selection", [ANYTHING, Selection((A,))])
    def test_given_a_name_in_two_groups_then_nothing_is_approved_and_both_are_named(
        self, scope: str, selection: Selection
    ) -> None:
        with pytest.raises(OptionError) as error:
            run(in_both(), scope=scope, selection=selection)
        assert "vm_names: 'web_0' is the name of 2 VMs: %s and %s." % (production(), web()) in str(error.value)

    def test_given_the_other_event_is_over_then_the_name_is_still_ambiguous(self) -> None:
        with pytest.raises(OptionError, match="is the name of 2 VMs"):
            run(in_both(status="Completed"))

    @pytest.mark.parametrize("of", [web, production])
    def test_given_an_id_then_only_the_event_of_that_vm_is_approved(self, of: Any) -> None:
        arm, result = run(in_both(), approved(), vm_names=[of().upper().replace("/SUBSCRIPTIONS", "/subscriptions")])
        assert ids(result.approved) == [A if of is web else B]
        assert arm.lines[1].startswith("POST %s/providers/Microsoft.Maintenance" % of())

    def test_given_the_resource_group_then_only_its_events_are_chosen(self) -> None:
        arm, result = run(in_both(), approved(), resource_group="Production")
        assert ids(result.approved) == [B]
        assert len(arm.lines) == 2

    def test_given_an_event_of_another_group_is_named_then_it_is_left_out(self) -> None:
        _arm, result = run(in_both(), selection=Selection((B,)), resource_group="shop")
        assert result.not_approved == [{"event_id": B, "reason": "left out by the other filters"}]

    def test_given_the_id_of_one_when_the_event_hits_the_other_then_it_is_not_own(self) -> None:
        with pytest.raises(
            ArmError,
            match=r"%s, which does not affect any of vm_names \(web_0 in /subscriptions/.*/shop\), but web_0\." % B,
        ):
            run(in_both(), selection=Selection((B,)), vm_names=[web()])

    def test_given_the_id_of_a_uniform_instance_then_it_is_known_by_the_name_that_azure_makes_of_it(self) -> None:
        scale_set = "%s/providers/Microsoft.Compute/virtualMachineScaleSets/web" % GROUP
        _arm, result = run(page(row(A, of=scale_set)), approved(), vm_names=[scale_set + "/virtualMachines/0"])
        assert ids(result.approved) == [A]

    @pytest.mark.parametrize(
        "bad", ["/web_0", GROUP, web() + "/extensions/x", "/subscriptions/s/virtualMachines/web_0"]
    )
    def test_given_an_id_that_is_of_no_vm_then_it_is_refused(self, bad: str) -> None:
        with pytest.raises(OptionError, match="is not the id of a VM"):
            read_references([bad])


def test_given_a_cloud_without_the_stable_version_then_the_previews_are_tried_in_turn() -> None:
    unknown = refused(400, "NoRegisteredProviderFound", "No registered resource provider found")
    arm, result = run(page(row(A)), unknown, unknown, approved())
    assert [line.rpartition("=")[2] for line in arm.lines[1:]] == [
        "2025-11-01",
        "2025-10-01-preview",
        "2023-10-01-preview",
    ]
    assert result.changed


def test_given_a_cloud_that_takes_no_list_then_each_goes_alone() -> None:
    unknown = refused(404, "InvalidResourceType", "The resource type could not be found")
    arm, result = run(page(row(A), row(B)), unknown, unknown, approved(), approved())
    assert arm.lines[3:] == [one(A), one(B)]
    assert ids(result.approved) == [A, B]


def test_given_a_cloud_without_any_of_the_versions_then_the_error_quotes_it() -> None:
    unknown = refused(404, "InvalidResourceType", "The resource type could not be found")
    with pytest.raises(ArmError, match="404 InvalidResourceType: The resource type could not be found"):
        run(page(row(A)), unknown, unknown, unknown)


def test_given_a_permission_is_missing_then_the_error_names_the_role() -> None:
    with pytest.raises(ArmError, match="The role Scheduled Events Contributor grants it"):
        run(page(row(A)), refused(403, "AuthorizationFailed"))


def test_given_a_recommendation_to_leave_a_spot_vm_then_it_is_never_acknowledged() -> None:
    arm, result = run(page(row(A, kind="SpotRebalanceRecommendation")), scope="any")
    assert (len(arm.lines), result.changed) == (1, False)
    assert result.not_approved[0]["event_id"] == A


class TestVmsThatResourceGraphDoesNotKnow:
    def test_given_a_name_that_no_vm_has_then_nothing_is_approved_and_the_error_says_what_may_be_wrong(self) -> None:
        with pytest.raises(OptionError) as error:
            run(page(row(A)), page(), page(), vm_names=["web_0", "nosuch", web("gone")])
        said = str(error.value)
        assert said.startswith("vm_names: Azure Resource Graph knows no VM nosuch and none gone in /subscriptions/")
        assert "the role Scheduled Events Contributor on the subscription" in said

    def test_given_a_vm_without_events_that_it_knows_then_that_is_no_error(self) -> None:
        arm, result = run(page(), known_as("WEB_0"))
        assert not result.changed
        query = json.loads(arm.sent("POST")[1])["query"]
        assert (
            query == "resources | where type =~ 'microsoft.compute/virtualmachines' and name in~ ('web_0') | project id"
        )

    def test_given_an_instance_of_a_uniform_set_then_it_is_known_by_the_table_of_instances(self) -> None:
        instance = GROUP + "/providers/Microsoft.Compute/virtualMachineScaleSets/web/virtualMachines/3"
        arm, result = run(page(), page(), page({"id": instance}), vm_names=["web_3"])
        assert not result.changed
        assert json.loads(arm.sent("POST")[2])["query"].startswith("computeresources | where type =~ 'microsoft")

    def test_given_the_vm_is_in_another_group_than_the_one_that_is_meant_then_it_is_not_known(self) -> None:
        with pytest.raises(OptionError, match="knows no VM web_0 in resource group other"):
            run(page(), known_as("web_0"), page(), resource_group="other")

    def test_given_a_name_with_a_quote_then_it_stays_a_text_of_the_query(self) -> None:
        with pytest.raises(OptionError, match="knows no VM"):
            run(page(), page(), page(), vm_names=["x') | take 1 //\\"])

    def test_given_events_that_are_over_then_the_vm_is_known_by_them(self) -> None:
        arm, _unused = run(page(row(A, status="Completed")))
        assert len(arm.lines) == 1


class TestSeveralOfWhichSomeFail:
    EVENTS = page(row(A), row(B, "web_1"), row(C, "web_2"))

    def test_given_one_is_refused_then_the_others_are_approved_and_the_failure_says_which(self) -> None:
        names = ["web_0", "web_1", "web_2"]
        with pytest.raises(Unfinished, match="404 NotFound: so it is") as error:
            run(self.EVENTS, approved(), refused(404, "NotFound"), approved(), vm_names=names, wait=True)
        outcome = error.value.outcome
        assert ids(outcome.approved) == [A, C]
        assert [(one["event_id"], "404 NotFound" in one["reason"]) for one in outcome.not_approved] == [(B, True)]
        assert outcome.changed
        assert outcome.after == {A: "Scheduled, approved", B: "Scheduled", C: "Scheduled, approved"}

    def test_given_a_list_is_refused_then_none_of_it_is_approved(self) -> None:
        with pytest.raises(Unfinished) as error:
            run(page(row(A), row(B), row(C, "web_1")), refused(400, "Bad"), approved(), vm_names=["web_0", "web_1"])
        assert ids(error.value.outcome.approved) == [C]
        assert [one["event_id"] for one in error.value.outcome.not_approved] == [A, B]

    def test_given_a_list_of_which_azure_takes_a_part_then_each_goes_alone_and_the_failure_says_which(self) -> None:
        details = [{"code": "OK", "message": "approved"}, {"code": "NotFound", "message": "not found"}]
        partly = Step(207, {"response": {"code": "MultiStatusResponse", "message": "mixed"}, "details": details})
        with pytest.raises(Unfinished, match="404 NotFound: so it is") as error:
            run(page(row(A), row(B)), partly, approved(), refused(404, "NotFound"))
        assert ids(error.value.outcome.approved) == [A]
        assert [one["event_id"] for one in error.value.outcome.not_approved] == [B]

    def test_given_an_approval_with_unknown_result_then_the_failure_says_so(self) -> None:
        lost = [Step(502)] * 11
        with pytest.raises(Unfinished) as error:
            run(page(row(A), row(B, "web_1")), approved(), *lost, vm_names=["web_0", "web_1"])
        assert isinstance(error.value.__cause__, ArmError)
        assert error.value.__cause__.may_have_begun

    def test_given_an_answer_is_lost_then_the_request_is_repeated(self) -> None:
        arm, result = run(page(row(A)), Step(reset=True), approved())
        assert arm.lines[1:] == [one(A), one(A)]
        assert ids(result.approved) == [A]


def test_given_the_event_is_gone_meanwhile_then_the_error_quotes_azure() -> None:
    with pytest.raises(ArmError, match="404 NotFound: so it is"):
        run(page(row(A)), refused(404, "NotFound"))


def test_given_another_operation_holds_the_resource_then_it_is_acknowledged_once_that_is_over() -> None:
    busy = refused(409, "Conflict", "The request failed due to conflict with a concurrent request.")
    arm, result = run(page(row(A)), busy, busy, approved())
    assert arm.lines == [GRAPH, one(A), one(A), one(A)]
    assert ids(result.approved) == [A]
