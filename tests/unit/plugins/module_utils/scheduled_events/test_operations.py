# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do the modules and the lookup do, from start to end?"""

import time
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Optional, Sequence

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.client import (
    COMPUTE_PATH,
    EVENTS_PATH,
    ImdsClient,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import GENERAL_API_VERSION
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import (
    ApprovalRefused,
    OutOfTime,
    Refused,
    StillScheduled,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import Event
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.operations import (
    Approval,
    Clocks,
    Listing,
    approve_events,
    list_events,
    open_client,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.options import ConnectionOptions
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import (
    Selection,
    any_of,
)
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events.scripted_imds import (
    FakeClock,
    ScriptedImds,
    Step,
    compute,
    event,
    events,
    hang_up,
    ok,
    reset,
    status,
)

NOW = datetime(2030, 9, 19, 18, 14, 47, tzinfo=timezone.utc)  # 900 s before the events of `event`

MINE = event("AA-1", "web_1")
SHARED = event("BB-2", "web_2", "web_1")
OTHERS = event("CC-3", "web_3")
ALL = (MINE, SHARED, OTHERS)

GET = ("GET", EVENTS_PATH)
POST = ("POST", EVENTS_PATH)


def started(one: Dict[str, Any]) -> Dict[str, Any]:
    """The same event, under way."""
    return dict(one, EventStatus="Started", NotBefore="")


def ids(listed: Iterable[Dict[str, Any]]) -> List[str]:
    return [one["event_id"] for one in listed]


def posted(*event_ids: str) -> Dict[str, Any]:
    """The body that approves these."""
    return {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def client_of(imds: ScriptedImds, clock: FakeClock) -> ImdsClient:
    return ImdsClient(imds.url, GENERAL_API_VERSION, clock=clock, sleep=clock.sleep, jitter=lambda: 1.0)


def clocks_of(clock: FakeClock) -> Clocks:
    return Clocks(monotonic=clock, sleep=clock.sleep, utc_now=lambda: NOW)


def read(
    imds: ScriptedImds,
    clock: FakeClock,
    selection: Selection = Selection(),
    vm_names: Sequence[str] = (),
    vm_name: Optional[str] = "web_1",
    timeout: float = 150,
) -> Listing:
    connection = ConnectionOptions(imds.url, timeout=timeout, vm_name=vm_name)
    with client_of(imds, clock) as client:
        return list_events(client, connection, selection, vm_names, clocks_of(clock))


def approve(
    imds: ScriptedImds,
    clock: FakeClock,
    event_ids: Optional[Sequence[str]] = None,
    scope: str = "own",
    timeout: float = 150,
    selection: Selection = Selection(),
    **options: Any,
) -> Approval:
    """Approve as web_1."""
    connection = ConnectionOptions(imds.url, timeout=timeout, vm_name="web_1")
    if event_ids is not None:
        selection = selection._replace(event_ids=tuple(event_ids))
    with client_of(imds, clock) as client:
        return approve_events(client, connection, selection, scope, clocks=clocks_of(clock), **options)


def test_the_client_is_the_one_that_the_connection_describes() -> None:
    client = open_client(ConnectionOptions("http://127.0.0.1:9/", "2019-08-01", 60, 7))

    assert (client.endpoint, client.api_version, client.connect_timeout) == ("http://127.0.0.1:9", "2019-08-01", 7)


class TestListing:
    def test_given_no_vm_name_then_imds_is_asked_first(self, clock: FakeClock) -> None:
        with ScriptedImds(compute("web_1"), events(MINE, DocumentIncarnation=7)) as imds:
            listing = read(imds, clock, vm_name=None)

        assert imds.asked == [("GET", COMPUTE_PATH), GET]
        assert (listing.vm_name, listing.document_incarnation) == ("web_1", 7)
        assert listing.events == [
            {
                "event_id": "AA-1",
                "event_type": "Reboot",
                "event_status": "Scheduled",
                "event_source": "Platform",
                "resource_type": "VirtualMachine",
                "resources": ["web_1"],
                "description": "Host server is undergoing maintenance.",
                "duration_in_seconds": -1,
                "not_before": "2030-09-19T18:29:47Z",
                "seconds_until_start": 900,
                "affects_this_vm": True,
                "shared": False,
                "leader": "web_1",
                "this_vm_leads": True,
            }
        ]

    def test_given_a_vm_name_then_one_request_is_enough(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL)) as imds:
            listing = read(imds, clock, vm_name="WEB_1")

        assert imds.asked == [GET]
        assert listing.vm_name == "WEB_1"
        assert [one["affects_this_vm"] for one in listing.events] == [True, True, False]

    def test_given_a_selection_then_only_what_it_chooses_is_listed(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL)) as imds:
            assert ids(read(imds, clock, Selection(affecting="others")).events) == ["CC-3"]

    def test_given_names_of_vms_then_only_what_hits_them_is_listed(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL), events(*ALL)) as imds:
            assert ids(read(imds, clock, vm_names=["WEB_3", "web_2"]).events) == ["BB-2", "CC-3"]
            assert ids(read(imds, clock, Selection(affecting="this_vm"), ["web_3", "web_2"]).events) == ["BB-2"]

    def test_the_list_is_in_order_of_urgency(self, clock: FakeClock) -> None:
        soon = event("ZZ-9", "web_9", NotBefore="Thu, 19 Sep 2030 18:15:47 GMT")

        with ScriptedImds(events(MINE, soon, started(SHARED))) as imds:
            listing = read(imds, clock)

        assert ids(listing.events) == ["BB-2", "ZZ-9", "AA-1"]
        assert [one["seconds_until_start"] for one in listing.events] == [0, 60, 900]

    def test_given_a_time_limit_then_it_is_for_both_requests_together(self, clock: FakeClock) -> None:
        script = [status(503, headers={"Retry-After": "6"}), compute("web_1"), status(503)]
        with ScriptedImds(*script) as imds, pytest.raises(OutOfTime, match=r"within 6\.5 s"):
            read(imds, clock, vm_name=None, timeout=6.5)

    def test_given_no_clocks_then_the_notice_is_counted_by_the_real_time(self) -> None:
        soon = datetime.fromtimestamp(int(time.time()) + 500, timezone.utc).isoformat()
        with ScriptedImds(events(event("AA-1", "web_1", NotBefore=soon))) as imds:
            connection = ConnectionOptions(imds.url, vm_name="web_1")
            with open_client(connection) as client:
                listing = list_events(client, connection, Selection())

        assert 400 < listing.events[0]["seconds_until_start"] <= 500


class TestApproving:
    def test_given_the_id_in_another_case_then_the_post_has_it_as_azure_writes_it(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL), ok("")) as imds:
            approval = approve(imds, clock, ["aa-1"])

        assert imds.posted == [posted("AA-1")]
        assert (approval.changed, approval.vm_name, ids(approval.approved)) == (True, "web_1", ["AA-1"])
        assert approval.not_approved == []
        assert approval.warnings == []

    def test_given_several_events_then_one_post_approves_them_all(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL), ok("")) as imds:
            approval = approve(imds, clock, ["bb-2", "AA-1", "bb-2"], scope="any")

        assert imds.asked == [GET, POST]
        assert imds.posted == [posted("AA-1", "BB-2")]
        assert ids(approval.approved) == ["AA-1", "BB-2"]

    def test_given_no_vm_name_then_imds_is_asked_who_approves(self, clock: FakeClock) -> None:
        with ScriptedImds(compute("web_3"), events(OTHERS), ok("")) as imds, client_of(imds, clock) as client:
            approval = approve_events(client, ConnectionOptions(imds.url), Selection(), "own", clocks=clocks_of(clock))

        assert (approval.vm_name, ids(approval.approved)) == ("web_3", ["CC-3"])

    def test_given_an_empty_list_of_ids_then_nothing_is_approved(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL)) as imds:
            approval = approve(imds, clock, [], scope="any")

        assert imds.posted == []
        assert approval == Approval(False, "web_1", [], [], [], {}, {}, [])

    def test_given_filters_then_they_choose(self, clock: FakeClock) -> None:
        freeze = event("DD-4", "web_1", EventType="Freeze")

        with ScriptedImds(events(freeze, *ALL), ok("")) as imds:
            approve(imds, clock, selection=Selection(event_types=any_of(["Freeze"]), affecting="this_vm"))

        assert imds.posted == [posted("DD-4")]

    def test_trap_1_given_an_event_of_others_under_own_then_nothing_at_all_is_approved(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL)) as imds, pytest.raises(ApprovalRefused) as error:
            approve(imds, clock)

        assert imds.posted == []
        assert str(error.value) == (
            "Nothing was approved, because scope is own and this VM is web_1, but these were chosen: BB-2, which"
            " affects web_2 as well; CC-3, which does not affect web_1, but web_3. An approval lets Azure begin on"
            " every VM of the event. Choose only events that hit this VM and no other; or, when all of their VMs are"
            " ready, set scope to leader or any"
        )

    def test_given_scope_leader_then_what_others_lead_is_left_out_with_the_reason(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL), ok("")) as imds:
            approval = approve(imds, clock, scope="leader")

        assert imds.posted == [posted("AA-1")]
        assert [(one["event_id"], one["reason"], one["leader"]) for one in approval.not_approved] == [
            ("BB-2", "led by web_2, not by web_1", "web_2"),
            ("CC-3", "does not affect web_1, but web_3", "web_3"),
        ]

    def test_given_an_event_is_not_what_was_prepared_for_then_it_is_left_out_with_the_reason(
        self, clock: FakeClock
    ) -> None:
        with ScriptedImds(events(MINE, SHARED), ok("")) as imds:
            approval = approve(
                imds,
                clock,
                scope="any",
                as_seen=[
                    Event("aa-1", "Freeze", "Scheduled", ("web_1",)),
                    Event("bb-2", "Reboot", "Scheduled", ("web_1", "web_2")),
                ],
            )

        assert imds.posted == [posted("BB-2")]
        assert [(one["event_id"], one["reason"]) for one in approval.not_approved] == [
            ("AA-1", "it has changed: it was a Freeze of web_1 when it was prepared for, and is a Reboot of web_1")
        ]

    def test_given_scope_any_then_all_that_were_chosen_are_approved(self, clock: FakeClock) -> None:
        with ScriptedImds(events(*ALL), ok("")) as imds:
            approve(imds, clock, scope="any")

        assert imds.posted == [posted("AA-1", "BB-2", "CC-3")]

    def test_given_an_event_that_has_started_then_nothing_changes_and_the_reason_is_given(
        self, clock: FakeClock
    ) -> None:
        with ScriptedImds(events(started(MINE))) as imds:
            approval = approve(imds, clock, ["AA-1"])

        assert imds.posted == []
        assert not approval.changed
        assert [(one["event_id"], one["reason"]) for one in approval.not_approved] == [("AA-1", "already started")]
        assert (approval.before, approval.after) == ({"AA-1": "Started"}, {"AA-1": "Started"})

    def test_given_ids_that_are_not_listed_or_filtered_out_then_each_is_left_out_once_with_its_reason(
        self, clock: FakeClock
    ) -> None:
        user = Selection(event_sources=any_of(["User"]))
        with ScriptedImds(events(MINE, SHARED)) as imds:
            approval = approve(imds, clock, ["gone-0", "aa-1", "GONE-0", "AA-1"], selection=user)

        assert not approval.changed
        assert approval.not_approved == [
            {"event_id": "gone-0", "reason": "not listed: it has ended, was withdrawn or never existed"},
            {"event_id": "aa-1", "reason": "left out by the other filters"},
        ]

    def test_given_check_mode_then_it_predicts_and_sends_nothing(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE, started(SHARED))) as imds:
            approval = approve(imds, clock, dry_run=True, wait_timeout=30)

        assert imds.asked == [GET]
        assert (approval.changed, ids(approval.approved), ids(approval.not_approved)) == (True, ["AA-1"], ["BB-2"])
        assert approval.before == {"AA-1": "Scheduled", "BB-2": "Started"}
        assert approval.after == {"AA-1": "Started", "BB-2": "Started"}

    def test_given_no_wait_then_the_status_after_is_what_the_approval_leads_to(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), ok("")) as imds:
            approval = approve(imds, clock)

        assert approval.before == {"AA-1": "Scheduled"}
        assert approval.after == {"AA-1": "Scheduled, approved"}
        assert [one["event_status"] for one in approval.events] == ["Scheduled"]
        assert clock.slept == []

    def test_given_the_answer_to_the_post_is_lost_then_the_request_is_repeated(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), hang_up(), status(500), ok("")) as imds:
            assert approve(imds, clock).changed

        assert imds.posted == [posted("AA-1")] * 3

    def test_given_the_post_never_gets_through_then_the_error_says_so(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), *[status(500)] * 4) as imds, pytest.raises(OutOfTime) as error:
            approve(imds, clock, timeout=6)

        assert str(error.value).startswith("POST %s/metadata/scheduledevents" % imds.url)
        assert error.value.attempts == 4


class TestEventsThatMoveOnMeanwhile:
    def test_given_the_post_is_refused_since_one_is_gone_and_one_started_then_the_rest_is_approved(
        self, clock: FakeClock
    ) -> None:
        more = event("DD-4", "web_1")
        script = [events(MINE, SHARED, more), status(400), events(started(SHARED), more), ok("")]
        with ScriptedImds(*script) as imds:
            approval = approve(imds, clock, scope="any")

        assert imds.posted == [posted("AA-1", "BB-2", "DD-4"), posted("DD-4")]
        assert ids(approval.approved) == ["DD-4"]
        assert [(one["event_id"], one["reason"]) for one in approval.not_approved] == [
            ("AA-1", "not listed: it has ended, was withdrawn or never existed"),
            ("BB-2", "already started"),
        ]
        assert approval.after == {"AA-1": "gone", "BB-2": "Started", "DD-4": "Scheduled, approved"}
        assert ids(approval.events) == ["BB-2", "DD-4"]

    def test_given_the_post_is_refused_again_then_each_that_moved_on_is_left_out_once(self, clock: FakeClock) -> None:
        more = event("DD-4", "web_1")
        script = [events(MINE, SHARED, more), status(400), events(SHARED, more), status(400), events(more), ok("")]
        with ScriptedImds(*script) as imds:
            approval = approve(imds, clock, scope="any")

        assert imds.posted == [posted("AA-1", "BB-2", "DD-4"), posted("BB-2", "DD-4"), posted("DD-4")]
        assert ids(approval.approved) == ["DD-4"]
        assert ids(approval.not_approved) == ["AA-1", "BB-2"]
        assert approval.after == {"AA-1": "gone", "BB-2": "gone", "DD-4": "Scheduled, approved"}

    def test_given_the_post_is_refused_since_all_are_gone_then_nothing_changed(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), status(400), events()) as imds:
            approval = approve(imds, clock, wait_timeout=30)

        assert not approval.changed
        assert approval.approved == []
        assert approval.after == {"AA-1": "gone"}

    @pytest.mark.parametrize("lost", [reset(), status(500), status(502), status(504)])
    @pytest.mark.parametrize(("now", "after"), [([started(MINE)], "Started"), ([], "gone")])
    @pytest.mark.parametrize("wait_timeout", [None, 30])
    def test_given_the_post_is_refused_since_it_was_taken_and_its_answer_lost_then_the_event_is_approved(
        self, clock: FakeClock, lost: Step, now: List[Any], after: str, wait_timeout: Optional[float]
    ) -> None:
        more = [events(*now)] if wait_timeout else []
        with ScriptedImds(events(MINE), status(503), lost, status(400), events(*now), *more) as imds:
            approval = approve(imds, clock, wait_timeout=wait_timeout)

        assert approval.changed
        assert ids(approval.approved) == ["AA-1"]
        assert approval.not_approved == []
        assert approval.after == {"AA-1": after}

    def test_given_a_service_that_took_nothing_then_what_began_by_itself_is_not_approved(
        self, clock: FakeClock
    ) -> None:
        script = [events(MINE), status(503), status(410), status(429), status(400), events(started(MINE))]
        with ScriptedImds(*script) as imds:
            approval = approve(imds, clock)

        assert not approval.changed
        assert [one["reason"] for one in approval.not_approved] == ["already started"]

    def test_given_the_post_is_refused_for_one_that_is_listed_then_the_others_are_approved_one_by_one(
        self, clock: FakeClock
    ) -> None:
        listed = events(MINE, SHARED)
        script = [listed, status(400, {"error": "no"}), listed, status(400, {"error": "not this"}), ok("")]
        with ScriptedImds(*script) as imds:
            approval = approve(imds, clock, scope="any")

        assert imds.posted == [posted("AA-1", "BB-2"), posted("AA-1"), posted("BB-2")]
        assert ids(approval.approved) == ["BB-2"]
        (refused,) = approval.not_approved
        assert refused["event_id"] == "AA-1"
        assert refused["reason"].startswith("refused: POST ")
        assert "not this" in refused["reason"]
        assert approval.after == {"AA-1": "Scheduled", "BB-2": "Scheduled, approved"}
        assert approval.warnings == ["event AA-1 was not approved: %s" % refused["reason"]]

    def test_given_each_is_refused_alone_as_well_then_the_first_refusal_is_the_error(self, clock: FakeClock) -> None:
        listed = events(MINE, SHARED)
        script = [listed, status(400, {"error": "no"}), listed, status(400), status(400)]
        with ScriptedImds(*script) as imds, pytest.raises(Refused, match="400 Bad Request: no"):
            approve(imds, clock, scope="any")

    def test_given_the_post_is_refused_although_all_are_listed_then_that_is_the_error(self, clock: FakeClock) -> None:
        script = [events(MINE), status(400, {"error": "no"}), events(MINE)]
        with ScriptedImds(*script) as imds, pytest.raises(Refused, match="400 Bad Request: no"):
            approve(imds, clock)


class TestWaiting:
    def test_given_it_starts_then_the_wait_is_over(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), ok(""), events(MINE), events(MINE), events(started(MINE))) as imds:
            approval = approve(imds, clock, wait_timeout=30)

        assert clock.slept == [1.0, 1.0, 1.0]
        assert approval.after == {"AA-1": "Started"}
        assert [one["event_status"] for one in approval.events] == ["Started"]
        assert [one["event_status"] for one in approval.approved] == ["Scheduled"]

    def test_given_it_is_gone_then_the_wait_is_over(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), ok(""), events()) as imds:
            approval = approve(imds, clock, wait_timeout=30)

        assert approval.after == {"AA-1": "gone"}
        assert approval.events == []

    def test_given_two_events_then_both_are_waited_for(self, clock: FakeClock) -> None:
        script = [events(MINE, SHARED), ok(""), events(started(MINE), SHARED), events(started(MINE), started(SHARED))]
        with ScriptedImds(*script) as imds:
            approval = approve(imds, clock, scope="any", wait_timeout=30)

        assert approval.after == {"AA-1": "Started", "BB-2": "Started"}

    def test_given_it_does_not_start_in_time_then_it_fails_and_reports_what_was_approved(
        self, clock: FakeClock
    ) -> None:
        script = [events(MINE, SHARED), ok(""), *[events(MINE, started(SHARED))] * 3]
        with ScriptedImds(*script) as imds, pytest.raises(StillScheduled) as error:
            approve(imds, clock, scope="any", wait_timeout=2.5)

        assert clock.slept == [1.0, 1.0, 0.5]
        assert str(error.value) == (
            "Approved, but not started within 2.5 s: AA-1. Azure starts an approved event when it can: wait longer"
            " with wait_timeout, or watch it with scheduled_events_info"
        )
        assert error.value.result.changed
        assert ids(error.value.result.approved) == ["AA-1", "BB-2"]
        assert error.value.result.after == {"AA-1": "Scheduled", "BB-2": "Started"}

    def test_given_a_read_fails_meanwhile_then_the_wait_continues(self, clock: FakeClock) -> None:
        with ScriptedImds(events(MINE), ok(""), status(403), ok("<html>"), events(started(MINE))) as imds:
            approval = approve(imds, clock, wait_timeout=30)

        assert approval.after == {"AA-1": "Started"}

    def test_given_the_last_read_failed_then_the_error_says_that_too(self, clock: FakeClock) -> None:
        script = [events(MINE), ok(""), events(MINE), status(403)]
        with ScriptedImds(*script) as imds, pytest.raises(
            StillScheduled, match=r"within 2 s: AA-1 \(GET .*: 403 Forbidden\)\. Azure"
        ):
            approve(imds, clock, wait_timeout=2)

    def test_given_reads_answer_again_then_the_error_does_not_speak_of_the_failure(self, clock: FakeClock) -> None:
        script = [events(MINE), ok(""), status(403), events(MINE)]
        with ScriptedImds(*script) as imds, pytest.raises(StillScheduled, match=r"within 2 s: AA-1\. Azure"):
            approve(imds, clock, wait_timeout=2)

    def test_given_imds_fails_for_long_then_the_wait_ends_about_when_it_should(self, clock: FakeClock) -> None:
        script = [events(MINE), ok(""), *[status(503)] * 6]
        with ScriptedImds(*script) as imds, pytest.raises(StillScheduled, match="503 Service Unavailable"):
            approve(imds, clock, wait_timeout=6)

        assert 6 <= sum(clock.slept) <= 7

    def test_given_nothing_to_approve_then_nothing_is_waited_for(self, clock: FakeClock) -> None:
        with ScriptedImds(events(started(MINE))) as imds:
            assert not approve(imds, clock, wait_timeout=30).changed

        assert clock.slept == []


class TestTerminates:
    def test_given_an_earlier_one_that_nobody_here_approves_then_a_warning_names_both(self, clock: FakeClock) -> None:
        mine = event("AA-1", "web_1", EventType="Terminate")
        earlier = event("BB-2", "web_2", "web_3", EventType="Terminate", NotBefore="Thu, 19 Sep 2030 18:29:46 GMT")

        with ScriptedImds(events(mine, earlier), ok("")) as imds:
            approval = approve(imds, clock, ["AA-1"])

        assert approval.changed
        (warning,) = approval.warnings
        assert warning == (
            "Terminate AA-1 of web_1 does not start before these are approved too, or reach their NotBefore:"
            " BB-2 of web_2 and web_3"
        )

    def test_given_both_of_an_instant_are_approved_then_there_is_nothing_to_warn_of(self, clock: FakeClock) -> None:
        pair = [event(event_id, "web_1", EventType="Terminate") for event_id in ("AA-1", "BB-2")]

        with ScriptedImds(events(*pair), ok("")) as imds:
            assert approve(imds, clock).warnings == []
