# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever happens, in whatever order, the promises hold.

The rehearsal asserts them at every moment: never an approval before its stages have succeeded, never a restore in the
middle of maintenance, never a restore of what was not removed. In the end nothing is left out of rotation.

Runs on Python 3.6 and later.
"""

from ansible_collections.foghorn.azure_events.tests.sizes import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from rehearsal import DEALLOCATED, DELETED, POLICY, STEP_SECONDS, UNHARMED, VM_NAME, Happening, Life, Rehearsal

RESOURCES = {"own": (VM_NAME,), "shared": (VM_NAME, "web_1"), "others": ("web_1",), "likely": ("web_01", "web_")}
DOUBT = 300
LONGER = dict(POLICY, shutdown=[*POLICY["shutdown"], {"command": ["/bin/flush.exe"], "name": "flush"}])
MOST_EVENTS = 4


class AnythingHappens(RuleBasedStateMachine):
    """Everything that Azure, the machine and its clock can do to an agent."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Rehearsal(policy=LONGER)
        self.world.longest_journal = 40
        self.count = 0

    @property
    def is_there(self) -> bool:
        return not self.world.deleted

    @precondition(lambda self: self.is_there and sum(one.ended is None for one in self.world.happenings) < MOST_EVENTS)
    @rule(
        event_type=st.sampled_from(("Freeze", "Reboot", "Redeploy", "Terminate", "Preempt", "Unheard")),
        notice=st.sampled_from((0.0, 5.0, 30.0, 120.0, 900.0)),
        impact=st.sampled_from((1.0, 5.0, 60.0)),
        linger=st.sampled_from((1.0, 20.0, 90.0)),
        withdrawn_after=st.sampled_from((None, None, None, 2.0, 7.0, 10.0, 40.0)),
        whose=st.sampled_from(("own", "own", "own", "shared", "others", "likely")),
        fate=st.sampled_from((DELETED, DEALLOCATED, UNHARMED)),
    )
    def announce(self, event_type, notice, impact, linger, withdrawn_after, whose, fate):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
        self.count += 1
        event_id = "E-%d" % self.count
        life = Life(event_type, notice, impact, linger, withdrawn_after, 0.0, RESOURCES[whose], event_id, fate)
        self.world.happenings.append(Happening(life))

    @precondition(lambda self: self.is_there)
    @rule(seconds=st.integers(1, 40))
    def let_time_pass(self, seconds: int) -> None:
        for _second in range(seconds):
            self.world.tick()

    @precondition(lambda self: self.is_there)
    @rule(back_after=st.sampled_from((0.0, 1.0, 5.0, 60.0)))
    def kill(self, back_after: float) -> None:
        self.world.back_after = back_after
        self.world.kill()

    @precondition(lambda self: self.is_there)
    @rule(edges=st.integers(1, 20))
    def kill_soon(self, edges: int) -> None:
        self.world.kill_at = self.world.edges + edges

    @precondition(lambda self: self.is_there)
    @rule(seconds=st.sampled_from((1.0, 30.0)))
    def boot_for_another_reason(self, seconds: float) -> None:
        self.world.reboot(seconds)

    @precondition(lambda self: self.is_there and self.world.agent is not None)
    @rule(request=st.sampled_from(("drain", "restore", "hold", "release")))
    def somebody_asks_by_hand(self, request: str) -> None:
        self.world.ask(request)

    @rule(seconds=st.sampled_from((-3600.0, -5.0, 0.0, 5.0, 3600.0)))
    def set_the_clock(self, seconds: float) -> None:
        self.world.wall_step = seconds

    @rule(silent=st.booleans())
    def imds_is_silent(self, silent: bool) -> None:
        self.world.silent = silent

    @rule(count=st.integers(1, 3))
    def answers_get_lost(self, count: int) -> None:
        self.world.lost_answers = count

    @rule(refusing=st.booleans())
    def approvals_are_refused(self, refusing: bool) -> None:
        self.world.refusing = refusing

    @rule(failing=st.sets(st.sampled_from(sorted(STEP_SECONDS)), max_size=2))
    def steps_fail(self, failing) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
        self.world.failing = failing

    @rule(name=st.sampled_from(sorted(STEP_SECONDS)), seconds=st.sampled_from((0.0, 1.0, 10.0, 70.0)))
    def a_step_takes(self, name: str, seconds: float) -> None:
        self.world.step_seconds[name] = seconds

    @rule(seconds=st.sampled_from((0.0, 2.0, 60.0)))
    def steps_die_slowly(self, seconds: float) -> None:
        self.world.dying_seconds = seconds

    @rule(seconds=st.sampled_from((1.0, 100.0, DOUBT + 60.0)))
    def the_service_was_enabled_anew(self, seconds: float) -> None:
        self.world.azure.forget(seconds)

    def teardown(self) -> None:
        """All is well again, and in the end so is the machine."""
        world = self.world
        world.silent = world.refusing = False
        world.lost_answers = 0
        world.failing = set()
        world.step_seconds = dict(STEP_SECONDS)
        while not world.deleted and (world.agent is None or None in (world.ask("restore"), world.ask("release"))):
            world.tick()
        # Until the last event is over, the last doubt, and the last wait before a restore is tried again.
        quiet = 0
        while quiet < 3 * DOUBT and not world.deleted:
            world.tick()
            quiet = quiet + 1 if world.azure.is_over else 0
        if world.deleted:
            return
        assert not world.touched, "left out of rotation"
        assert not world.state.is_out
        assert world.state.tracked == ()


TestAnythingHappens = AnythingHappens.TestCase
TestAnythingHappens.settings = settings(max_examples=examples(40), stateful_step_count=25, deadline=None)
