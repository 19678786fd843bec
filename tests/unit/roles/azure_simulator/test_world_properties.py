# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is done to the world, in whatever order: what must always hold."""

from __future__ import annotations

import itertools
from typing import Any

from ansible_collections.foghorn.azure_events.tests.sizes import examples
from azure_simulator.clock import ManualClock
from azure_simulator.config import parse
from azure_simulator.events import CANCELED, COMPLETED, LIVES, RECOMMENDATION, SCHEDULED, STARTED, EventSpec
from azure_simulator.world import DELETED, ENABLED, RUNNING, Change, Notice, World
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

CONFIG = parse(
    {
        "imds": {"enable_delay": 10, "event_delay": 20},
        "vms": [
            {"name": "set_{0..2}", "address": "127.0.77.0/28", "scale_set": "set"},
            {"name": "zone_{0..1}", "address": "127.0.78.0/28", "scale_set": "zonal", "zone": "1"},
            {"name": "alone", "address": "127.0.79.1"},
        ],
    }
)
GROUPS = [["set_0", "set_1", "set_2"], ["zone_0", "zone_1"], ["alone"]]
MAY_FOLLOW = {(SCHEDULED, STARTED), (STARTED, COMPLETED), (SCHEDULED, CANCELED)}


class Life(RuleBasedStateMachine):
    """Operators announce and withdraw, VMs ask and approve, time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock(1_600_000_000.0)
        self.world = World(CONFIG, self.clock)
        self.documents: dict[str, tuple[int, tuple[Notice, ...]]] = {}
        self.heard: list[Change] = []
        self.world.listen(self.heard.append)

    @rule(
        group=st.sampled_from(GROUPS),
        event_type=st.sampled_from(sorted(LIVES)),
        picks=st.sets(st.integers(0, 2), min_size=1),
        notice=st.sampled_from([0, 0.4, 5, 30, 300, 900]),
        impact=st.sampled_from([0, 1, 30]),
        linger=st.sampled_from([30, 600]),
        approval_delay=st.sampled_from([0, 0, 7]),
        born_started=st.booleans(),
        becomes=st.booleans(),
    )
    def announce(
        self,
        group: list[str],
        event_type: str,
        picks: set[int],
        born_started: bool,
        becomes: bool,
        **times: Any,
    ) -> None:
        resources = tuple(
            name for number, name in enumerate(group) if number in picks and not self.world.vms[name].deleted
        )
        if resources:
            self.world.create(
                EventSpec(
                    event_type,
                    resources,
                    LIVES[event_type]._replace(**times),
                    born_started and event_type != RECOMMENDATION,
                    "Preempt"
                    if becomes and event_type == RECOMMENDATION
                    else "Freeze"
                    if becomes and event_type == "Reboot"
                    else None,
                )
            )

    @precondition(lambda self: self.world.events)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        self.world.sync()
        scheduled = [event for event in self.world.events.values() if event.status == SCHEDULED]
        if scheduled:
            self.world.withdraw(data.draw(st.sampled_from(scheduled)).event_id)

    @rule(name=st.sampled_from([name for group in GROUPS for name in group]))
    def knock(self, name: str) -> None:
        self.world.knock(name)

    @rule(name=st.sampled_from([name for group in GROUPS for name in group]), data=st.data())
    def approve(self, name: str, data: st.DataObject) -> None:
        self.world.sync()
        visible = [notice.event_id for notice in self.world.feed(name).notices]
        if visible:
            chosen = data.draw(st.sets(st.sampled_from(visible), min_size=1))
            found = [self.world.visible(name, event_id.lower()) for event_id in sorted(chosen)]
            known = [event for event in found if event is not None]
            assert len(known) == len(chosen)
            self.world.approve(name, known)

    @rule(seconds=st.sampled_from([0.3, 1, 7, 30, 299, 1000, 90_000]))
    def pass_time(self, seconds: float) -> None:
        self.clock.move_to(self.clock.now() + seconds)
        self.world.sync()

    @invariant()
    def status_never_goes_back(self) -> None:
        for event in self.world.events.values():
            statuses = [what for _at, what in event.history if not what.startswith("approved")]
            assert statuses[0] in (SCHEDULED, STARTED)
            assert all(pair in MAY_FOLLOW for pair in itertools.pairwise(statuses))
            assert statuses[-1] == event.status
            instants = [at for at, _what in event.history]
            assert instants == sorted(instants)

    @invariant()
    def nothing_that_is_due_is_left_undone(self) -> None:
        self.world.sync()
        due = self.world.next_due()
        assert due is None or due > self.clock.now()

    @invariant()
    def an_event_starts_at_not_before_or_because_it_was_approved(self) -> None:
        for event in self.world.events.values():
            if event.started is not None and event.started < event.not_before:
                assert event.approved
                assert event.approvals[0].at <= event.started
            if event.started is not None:
                assert event.started <= event.not_before

    @invariant()
    def instants_lie_in_the_order_of_life(self) -> None:
        for event in self.world.events.values():
            reached = [event.created, event.started, event.impact_started, event.impact_ended]
            instants = [instant for instant in reached if instant is not None]
            assert instants == sorted(instants)
            if event.status == COMPLETED:
                assert event.started is not None
                assert event.ended == event.started + event.life.linger

    @invariant()
    def an_incarnation_changes_exactly_when_the_events_do(self) -> None:
        self.world.sync()
        begun_anew = {change.scope for change in self.heard if change.what == ENABLED}
        something_happened = any(change.kind == "event" for change in self.heard)
        self.heard.clear()
        for scope in self.world.scopes.values():
            feed = scope.feed
            incarnation, notices = self.documents.get(scope.key, (0, ()))
            self.documents[scope.key] = (feed.incarnation, feed.notices)
            if scope.key in begun_anew:
                assert feed.incarnation >= 1
            elif feed.notices != notices:
                assert feed.incarnation > incarnation
            elif not something_happened:
                assert feed.incarnation == incarnation

    @invariant()
    def a_document_lists_what_is_alive_and_only_that(self) -> None:
        self.world.sync()
        for scope in self.world.scopes.values():
            if scope.state != "enabled":
                continue
            notices = scope.feed.notices
            listed = self.world.listed(scope) if self.world.now >= scope.events_from else []
            expected = {event.event_id: event.status for event in listed}
            assert {notice.event_id: notice.status for notice in notices} == expected
            assert all(
                (notice.not_before is None) == (notice.status == STARTED or notice.event_type == RECOMMENDATION)
                for notice in notices
            )

    @invariant()
    def an_approved_terminate_waits_only_for_unapproved_ones_that_are_not_later(self) -> None:
        for scope in self.world.scopes.values():
            scheduled = [
                event
                for event in self.world.listed(scope)
                if event.event_type == "Terminate" and event.status == SCHEDULED
            ]
            for event in scheduled:
                if event.approved and not event.life.approval_delay:
                    assert any(
                        not other.approved and int(other.not_before) <= int(event.not_before) for other in scheduled
                    )

    @invariant()
    def a_vm_is_what_its_impacts_make_it(self) -> None:
        for vm in self.world.vms.values():
            active = [
                event
                for event in self.world.events.values()
                if vm.name in event.resources and event.impact_started is not None and event.impact_ended is None
            ]
            if vm.deleted:
                assert vm.state == DELETED
            elif not [event for event in active if not event.deletes]:
                assert vm.state == RUNNING
            else:
                assert vm.state not in (RUNNING, DELETED)


Life.TestCase.settings = settings(max_examples=examples(80), stateful_step_count=40)
test_the_world_keeps_its_promises = Life.TestCase
