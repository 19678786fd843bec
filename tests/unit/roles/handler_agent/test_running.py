# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of any kind: does it do its work, receive the event, and end when asked?

Runs on Python 3.6 and later.
"""

import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest
from edge_helpers import Clock, wait_until
from foghorn_agent.act.running import Running, StepContext, environment_for, input_for, say_output
from foghorn_agent.decide.decisions import Work, found
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.decide.policy import COMMAND, HOOKS, PAUSE, WAIT_CONNECTIONS, Step
from foghorn_agent.platform import connections, services
from foghorn_core.scheduled_events.event import Event

CUT_OFF = "cut off at the deadline"
EVENT = Event(
    "E-1",
    "Reboot",
    "Scheduled",
    ("web_0", "web_1"),
    datetime(2026, 1, 1, tzinfo=timezone.utc),
    "Platform",
    "VirtualMachine",
    "$(reboot); `x`\0",
    -1,
)


def work_of(
    step: Step, seconds: float = 60.0, is_cut: bool = False, stage: str = "drain", event: Event = EVENT, **more: Any
) -> Work:
    return Work(event, stage, "key", step, seconds, is_cut, True)._replace(**more)


def command(*argv: str) -> Step:
    return Step(COMMAND, "it", 60.0, argv=argv)


def hook(directory: Path, name: str, script: str) -> None:
    stage = directory / "drain"
    if not stage.is_dir():
        stage.mkdir(mode=0o755)
    path = stage / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def test_given_a_hook_that_has_succeeded_when_it_is_not_written_down_then_the_next_one_waits(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("10-first", "20-second"):
        hook(tmp_path, name, "exit 0\n")
    noted: List[str] = []
    is_written: List[bool] = []
    running = Running(
        work_of(Step(HOOKS, "hooks", 60.0)),
        "web_0",
        StepContext(
            str(tmp_path),
            time.monotonic,
            note_hook=lambda _work, name: noted.append(name),
            may_go_on=lambda: bool(is_written),
        ),
    )
    wait_until(lambda: running.poll() or noted)
    for _poll in range(3):
        assert running.poll() is None
    assert noted == ["10-first"]
    is_written.append(True)
    assert outcome_of(running).succeeded
    assert noted == ["10-first", "20-second"]


def outcome_of(running: Running) -> StepOutcome:
    found: StepOutcome = wait_until(running.poll)
    return found


def at_once(running: Running) -> StepOutcome:
    outcome = running.poll()
    assert outcome is not None
    return outcome


Start = Callable[..., Running]
Said = List[Tuple[str, str]]


@pytest.fixture
def said() -> Said:
    """What the steps have said, each by which program."""
    return []


@pytest.fixture
def start(tmp_path: Path, said: Said) -> Start:
    tmp_path.chmod(0o755)

    def begin(step: Step, clock: Any = time.monotonic, **details: Any) -> Running:
        around = StepContext(str(tmp_path), clock, say=lambda _work, program, output: said.append((program, output)))
        return Running(work_of(step, **details), "web_0", around)

    return begin


def test_given_a_unit_to_stop_when_started_then_the_systems_systemctl_is_run_if_only_root_can_change_it(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = tmp_path / "systemctl"
    ours.write_text("#!/bin/sh\necho $1 $3\n")
    ours.chmod(0o755)
    monkeypatch.setattr(services, "_SYSTEMCTL", (str(tmp_path / "absent"), str(ours)))
    stop = Step(COMMAND, "stop web", 60.0, stops="web.service")
    assert outcome_of(start(stop)).output == "stop web.service\n"
    ours.chmod(0o777)
    assert "others than root can write" in outcome_of(start(stop)).reason
    look = work_of(stop, is_look=True)
    assert "others than root can write" in outcome_of(Running(look, "web_0", StepContext("/", time.monotonic))).reason


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ("ActiveState=active\nJob=", True),
        ("ActiveState=activating\nJob=7", True),
        ("ActiveState=inactive\nJob=", False),
        ("ActiveState=inactive\nJob=0", False),
        ("ActiveState=failed", False),
        ("ActiveState=deactivating\nJob=7", False),
        # Its start waits for another unit's.
        ("ActiveState=inactive\nJob=7", True),
        ("Job=7\nActiveState=failed", True),
        ("", True),
        # As Windows says it.
        ("inactive", False),
    ],
)
def test_given_a_unit_when_it_is_looked_at_then_it_rests_only_if_nothing_is_about_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, runs: bool
) -> None:
    ours = tmp_path / "systemctl"
    ours.write_text(
        '#!/bin/sh\ntest "$*" = "show --property=ActiveState --property=Job -- web.service" && echo \'%s\'' % said
    )
    ours.chmod(0o755)
    monkeypatch.setattr(services, "_SYSTEMCTL", (str(ours),))
    look = work_of(Step(COMMAND, "stop web", 60.0, stops="web.service"), is_look=True)
    assert found(look, outcome_of(Running(look, "web_0", StepContext("/", time.monotonic))))["runs"] is runs


# --- what it says -----------------------------------------------------------------------------------


def test_given_hooks_with_output_when_they_have_ended_then_each_output_is_logged_once_also_on_success(
    start: Start, said: Said, tmp_path: Path
) -> None:
    hook(tmp_path, "10-good", "echo one; echo two >&2")
    hook(tmp_path, "20-silent", "true")
    hook(tmp_path, "30-bad", "echo three; exit 1")
    running = start(Step(HOOKS, "hooks", 60.0))
    outcome_of(running)
    running.poll()
    assert said == [("10-good", "one\ntwo\n"), ("30-bad", "three\n")]


def test_given_hooks_of_which_some_have_succeeded_when_run_again_then_it_continues_from_the_one_that_failed(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)
    ran = tmp_path / "ran"
    noted: List[str] = []
    for name in ("10-first", "20-second", "30-third"):
        hook(tmp_path, name, "echo ${0##*/} >> %s; test ${0##*/} != 30-third" % ran)
    around = StepContext(str(tmp_path), time.monotonic, note_hook=lambda _work, name: noted.append(name))
    work = work_of(Step(HOOKS, "hooks", 60.0), hooks_done=("10-first",))
    running = Running(work, "web_0", around)
    assert outcome_of(running)[:2] == (False, "30-third: exit status 1")
    running.poll()
    assert ran.read_text().split() == ["20-second", "30-third"]
    assert noted == ["20-second"]
    # The last one may have succeeded just before the agent was killed.
    all_done = work._replace(hooks_done=("10-first", "20-second", "30-third"))
    assert outcome_of(Running(all_done, "web_0", around)).succeeded
    assert noted == ["20-second"]


# --- in a dry run -----------------------------------------------------------------------------------


def dry(tmp_path: Path, step: Step, said: Said, clock: Any = time.monotonic, stage: str = "drain") -> Running:
    tmp_path.chmod(0o755)
    around = StepContext(
        str(tmp_path), clock, lambda _work, program, output: said.append((program, output)), is_dry=True
    )
    return Running(work_of(step, stage=stage), "web_0", around)


def test_given_a_check_that_is_hooks_when_they_succeed_then_nobody_takes_them_for_preparation(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    hook(tmp_path, "10-x", "exit 0\n")
    (tmp_path / "drain").rename(tmp_path / "check")
    noted: List[str] = []
    around = StepContext(str(tmp_path), time.monotonic, note_hook=lambda _work, name: noted.append(name))
    assert outcome_of(Running(work_of(Step(HOOKS, "hooks", 60.0), stage="check"), "web_0", around)).succeeded
    assert noted == []


def test_given_a_dry_run_when_steps_are_started_then_each_says_what_it_would_do_and_nothing_is_run(
    said: Said, tmp_path: Path
) -> None:
    hook(tmp_path, "10-lb", "touch %s/done" % tmp_path)
    hook(tmp_path, "20-db", "touch %s/done" % tmp_path)
    steps = [
        (command("/usr/bin/touch", "%s/done" % tmp_path), "would run /usr/bin/touch"),
        (Step(COMMAND, "x", 60.0, stops="web.service"), "would stop web.service"),
        (
            Step(COMMAND, "x", 60.0, starts="web.service"),
            "would start web.service",
        ),
        (Step(HOOKS, "hooks", 60.0), "would run 10-lb, 20-db"),
        (
            Step(WAIT_CONNECTIONS, "x", 60.0, ports=(80, 443)),
            "would wait for the connections on port 80, 443, 60 s at most",
        ),
    ]
    for step, words in steps:
        running = dry(tmp_path, step, said)
        outcome = at_once(running)
        assert outcome.succeeded
        assert running.poll() is outcome
        assert said.pop() == ("", words)
    assert dry(tmp_path, Step(HOOKS, "hooks", 60.0), said, stage="shutdown").poll() is not None
    assert said == [("", "would run no hook")]
    assert not (tmp_path / "done").exists()


def test_given_a_dry_run_when_a_step_could_not_be_run_then_it_fails_as_it_would(said: Said, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o777)
    hook(tmp_path, "10-lb", "true")
    (tmp_path / "drain" / "10-lb").chmod(0o644)
    reasons = []
    for step in (command(str(script)), Step(HOOKS, "hooks", 60.0)):
        outcome = at_once(dry(tmp_path, step, said))
        assert not outcome.succeeded
        assert said.pop() == ("", outcome.reason)
        reasons.append(outcome.reason)
    assert reasons[1] == "10-lb: is not executable"


def test_given_a_dry_run_when_it_pauses_then_it_takes_the_time_that_is_known(said: Said, tmp_path: Path) -> None:
    clock = Clock()
    running = dry(tmp_path, Step(PAUSE, "pause", 60.0), said, clock)
    assert running.poll() is None
    clock.advance(60.0)
    outcome = at_once(running)
    assert outcome.succeeded


def test_given_a_dry_run_when_a_check_is_started_then_it_runs_because_an_approval_would_depend_on_it(
    said: Said, tmp_path: Path
) -> None:
    outcome = outcome_of(dry(tmp_path, command("/bin/sh", "-c", "echo fires; exit 1"), said, stage="check"))
    assert outcome[:2] == (False, "exit status 1")


def lines_of(output: str, step: Step, program: str) -> List[str]:
    lines: List[str] = []
    say_output(lambda _priority, message, **_fields: lines.append(message), work_of(step), program, output)
    return lines


def test_given_what_a_hook_said_when_logged_then_line_by_line_with_the_event_the_step_and_the_hook() -> None:
    assert lines_of("  one \n\n\r\ntwo\rthree", Step(HOOKS, "hooks", 60.0), "10-lb") == [
        "Reboot E-1: drain: hooks: 10-lb: one",
        "Reboot E-1: drain: hooks: 10-lb: two",
        "Reboot E-1: drain: hooks: 10-lb: three",
    ]
    assert lines_of("one", command("/bin/x"), "x") == ["Reboot E-1: drain: it: one"]


def test_given_very_much_when_logged_then_the_last_lines_are_and_none_is_long() -> None:
    lines = lines_of("".join("%d\n" % number for number in range(4000)) + "x" * 8000, command("/bin/x"), "x")
    assert lines[0] == "Reboot E-1: drain: it: 3901 earlier lines are omitted"
    assert lines[1] == "Reboot E-1: drain: it: 3901"
    assert lines[-1] == "Reboot E-1: drain: it: " + "x" * 500 + "…"
    assert len(lines) == 101


# --- what it learns ---------------------------------------------------------------------------------


def test_given_an_event_when_a_step_is_started_then_its_environment_describes_it() -> None:
    assert environment_for(work_of(command("/bin/true"), seconds=12.7), "web_0") == {
        "FOGHORN_STAGE": "drain",
        "FOGHORN_VM_NAME": "web_0",
        "FOGHORN_EVENT_ID": "E-1",
        "FOGHORN_EVENT_TYPE": "Reboot",
        "FOGHORN_EVENT_STATUS": "Scheduled",
        "FOGHORN_EVENT_SOURCE": "Platform",
        "FOGHORN_RESOURCES": "web_0 web_1",
        "FOGHORN_DESCRIPTION": "$(reboot); `x`",
        "FOGHORN_DURATION_IN_SECONDS": "-1",
        "FOGHORN_NOT_BEFORE": "2026-01-01T00:00:00Z",
        "FOGHORN_SECONDS_LEFT": "12",
        "FOGHORN_REBOOTED": "1",
        "FOGHORN_OUTCOME": "",
    }


def test_given_a_restore_when_a_step_is_started_then_it_learns_how_the_event_ended() -> None:
    work = work_of(command("/bin/true"), stage="restore", outcome="withdrawn")
    assert environment_for(work, "web_0")["FOGHORN_OUTCOME"] == "withdrawn"
    assert json.loads(input_for(work, "web_0").decode("ascii"))["outcome"] == "withdrawn"
    assert json.loads(input_for(work_of(command("/bin/true")), "web_0").decode("ascii"))["outcome"] is None


def test_given_an_event_that_leaves_things_out_when_a_step_is_started_then_they_are_empty() -> None:
    bare = Event("E-1", "Reboot", "Started", ("web_0",))
    environment = environment_for(work_of(command("/bin/true"), event=bare, seconds=-3.0, rebooted=False), "")
    empty = {name for name, value in environment.items() if not value}
    assert empty == {
        "FOGHORN_" + name
        for name in ("VM_NAME", "EVENT_SOURCE", "DESCRIPTION", "DURATION_IN_SECONDS", "NOT_BEFORE", "OUTCOME")
    }
    assert (environment["FOGHORN_REBOOTED"], environment["FOGHORN_SECONDS_LEFT"]) == ("0", "0")


def test_given_a_description_of_any_length_when_a_step_is_started_then_it_fits() -> None:
    long = EVENT._replace(description="x" * 1000000)
    assert len(environment_for(work_of(command("/bin/true"), event=long), "")["FOGHORN_DESCRIPTION"]) == 8192


def test_given_an_event_when_a_step_reads_its_input_then_it_is_json_in_azures_own_names() -> None:
    content = json.loads(input_for(work_of(command("/bin/true")), "web_0").decode("ascii"))
    assert content["event"]["EventId"] == "E-1"
    assert content["event"]["Description"] == "$(reboot); `x`\0"
    assert {name: content[name] for name in ("stage", "vm_name", "seconds_left", "rebooted")} == {
        "stage": "drain",
        "vm_name": "web_0",
        "seconds_left": 60.0,
        "rebooted": True,
    }


def test_given_a_command_when_it_runs_then_it_has_both_and_no_shell_reads_them(start: Start) -> None:
    outcome = outcome_of(start(command("/bin/sh", "-c", 'cat; printf "%s" "$FOGHORN_DESCRIPTION"')))
    assert outcome.succeeded
    first, _unused, second = outcome.output.partition("\n")
    assert json.loads(first)["event"]["EventType"] == "Reboot"
    assert second == "$(reboot); `x`"


# --- commands ---------------------------------------------------------------------------------------


def test_given_a_command_that_fails_when_polled_then_so_does_the_step(start: Start) -> None:
    running = start(command("/bin/sh", "-c", "exit 3"))
    assert running.fileno >= 0
    assert outcome_of(running)[:2] == (False, "exit status 3")
    assert running.fileno == -1


@pytest.mark.parametrize(("is_cut", "reason"), [(True, CUT_OFF), (False, "timed out after 60 s, its timeout")])
def test_given_a_command_that_takes_too_long_when_polled_then_the_reason_says_whose_limit_it_was(
    is_cut: bool, reason: str, start: Start
) -> None:
    running = start(command("/bin/sleep", "60"), seconds=0.1, is_cut=is_cut)
    outcome = outcome_of(running)
    assert (outcome.succeeded, outcome.reason, outcome.cut_off) == (False, reason, is_cut)


def test_given_no_time_at_all_when_started_then_nothing_runs(start: Start, tmp_path: Path) -> None:
    running = start(command("/usr/bin/touch", str(tmp_path / "ran")), clock=Clock(), seconds=0.0, is_cut=True)
    assert running.fileno == -1
    assert at_once(running) == StepOutcome(False, CUT_OFF, "", 0.0, cut_off=True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("reason", [CUT_OFF, "taken over"])
def test_given_a_command_when_it_is_cut_short_or_ended_then_the_reason_is_that(start: Start, reason: str) -> None:
    running = start(command("/bin/sleep", "60"))
    running.shorten(0.1) if reason == CUT_OFF else running.end(reason)
    assert outcome_of(running)[:2] == (False, reason)


# --- hooks ------------------------------------------------------------------------------------------

HOOK_STEP = Step(HOOKS, "hooks", 60.0)


def test_given_no_hooks_when_started_then_it_succeeds_at_once(start: Start) -> None:
    assert at_once(start(HOOK_STEP, clock=Clock())) == StepOutcome(True, "", "", 0.0)


def test_given_several_hooks_when_run_then_one_after_the_other_in_order_and_their_time_is_that_of_the_step(
    start: Start, tmp_path: Path
) -> None:
    clock = Clock()
    hook(tmp_path, "20-b", "echo b >> %s/ran" % tmp_path)
    hook(tmp_path, "10-a", "sleep 0.1; echo a >> %s/ran" % tmp_path)
    running = start(HOOK_STEP, clock=clock)
    clock.advance(3.0)
    assert outcome_of(running) == StepOutcome(True, "", "", 3.0)
    assert (tmp_path / "ran").read_text() == "a\nb\n"


def test_given_a_hook_that_fails_when_run_then_it_is_named_and_the_others_are_left_out(
    start: Start, tmp_path: Path
) -> None:
    hook(tmp_path, "10-a", "exit 4")
    hook(tmp_path, "20-b", "touch %s/ran" % tmp_path)
    assert outcome_of(start(HOOK_STEP))[:2] == (False, "10-a: exit status 4")
    assert not (tmp_path / "ran").exists()


def test_given_a_hook_that_takes_all_the_time_when_another_is_left_then_that_one_is_cut_off(
    start: Start, tmp_path: Path
) -> None:
    clock = Clock()
    hook(tmp_path, "10-a", "true")
    hook(tmp_path, "20-b", "touch %s/ran" % tmp_path)
    running = start(HOOK_STEP, clock=clock)
    # It ends by itself just as its time does.
    child: Any = running._child
    wait_until(lambda: child.poll() is not None)
    clock.advance(61.0)
    assert outcome_of(running)[:2] == (False, "20-b: " + CUT_OFF)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("share", "hook_timeout", "seconds"),
    [(None, None, 10.0), (4.0, None, 4.0), (60.0, None, 10.0), (None, 15.0, 10.0)],
)
def test_given_a_hook_that_hangs_when_time_is_short_then_it_is_ended_at_its_share(
    start: Start, tmp_path: Path, share: Optional[float], hook_timeout: Optional[float], seconds: float
) -> None:
    clock = Clock()
    hook(tmp_path, "10-a", "sleep 60")
    hook(tmp_path, "20-b", "touch %s/ran" % tmp_path)
    step = HOOK_STEP._replace(hook_timeout=hook_timeout)
    running = start(step, clock=clock, seconds=20.0, is_cut=True, is_short=True, hook_seconds=share)
    clock.advance(seconds - 0.5)
    assert running.poll() is None
    clock.advance(0.5)
    outcome = outcome_of(running)
    assert outcome.reason == "10-a: cut off, to leave the following hooks time before the deadline"
    assert (outcome.cut_off, outcome.hook, outcome.hooks_left) == (True, "10-a", 1)


@pytest.mark.parametrize(
    ("hook_timeout", "cuts", "reason", "cut_off"),
    [
        # Plenty of time: it has failed by itself, and is tried again.
        (0.2, {}, "10-a: timed out after 0.2 s, its hook_timeout", False),
        (0.2, {"is_cut": True}, "10-a: timed out after 0.2 s, its hook_timeout", False),
        # What the plan's time leaves it is less.
        (60.0, {"seconds": 0.2, "is_cut": True}, "10-a: " + CUT_OFF, True),
    ],
)
def test_given_a_hook_that_hangs_when_a_try_has_its_own_limit_then_it_is_ended_at_the_first_of_all_limits(
    start: Start, tmp_path: Path, hook_timeout: float, cuts: Dict[str, Any], reason: str, cut_off: bool
) -> None:
    hook(tmp_path, "10-a", "sleep 60")
    hook(tmp_path, "20-b", "touch %s/ran" % tmp_path)
    outcome = outcome_of(start(HOOK_STEP._replace(hook_timeout=hook_timeout), **cuts))
    assert (outcome.reason, outcome.cut_off, outcome.hook, outcome.hooks_left) == (reason, cut_off, "10-a", 1)


def test_given_a_hook_with_its_own_limit_when_the_deadline_comes_nearer_then_the_limit_is_the_deadline(
    start: Start, tmp_path: Path
) -> None:
    hook(tmp_path, "10-a", "sleep 60")
    clock = Clock()
    running = start(HOOK_STEP._replace(hook_timeout=30.0), clock=clock)
    running.shorten(5.0)
    clock.advance(5.0)
    outcome = outcome_of(running)
    assert (outcome.reason, outcome.cut_off) == ("10-a: " + CUT_OFF, True)


def test_given_a_hook_that_hangs_when_the_deadline_comes_nearer_then_it_is_ended_at_its_share_of_what_is_left(
    start: Start, tmp_path: Path
) -> None:
    clock = Clock()
    hook(tmp_path, "10-a", "sleep 60")
    hook(tmp_path, "20-b", "sleep 60")
    running = start(HOOK_STEP, clock=clock)
    running.shorten(20.0)
    clock.advance(9.5)
    assert running.poll() is None
    clock.advance(0.5)
    assert outcome_of(running).hook == "10-a"


def test_given_hooks_when_they_are_ended_then_no_other_begins(start: Start, tmp_path: Path) -> None:
    hook(tmp_path, "10-a", "sleep 60")
    hook(tmp_path, "20-b", "touch %s/ran" % tmp_path)
    running = start(HOOK_STEP)
    running.end("the agent is stopping")
    assert outcome_of(running)[:2] == (False, "10-a: the agent is stopping")
    assert not (tmp_path / "ran").exists()


def test_given_hooks_that_others_can_write_when_started_then_none_runs(start: Start, tmp_path: Path) -> None:
    hook(tmp_path, "10-a", "touch %s/ran" % tmp_path)
    (tmp_path / "drain" / "10-a").chmod(0o777)
    outcome = at_once(start(HOOK_STEP))
    assert not outcome.succeeded
    assert "others than root can write" in outcome.reason
    assert not (tmp_path / "ran").exists()


# --- waiting ----------------------------------------------------------------------------------------


def test_given_a_pause_when_its_time_is_over_then_it_has_succeeded(start: Start) -> None:
    clock = Clock()
    running = start(Step(PAUSE, "pause", 12.0), clock=clock, seconds=12.0)
    assert running.fileno == -1
    clock.advance(11.9)
    assert running.poll() is None
    clock.advance(0.2)
    outcome = at_once(running)
    assert (outcome.succeeded, round(outcome.seconds, 1)) == (True, 12.1)
    assert running.poll() is outcome


def test_given_a_pause_when_it_is_cut_short_then_it_is_no_success(start: Start) -> None:
    clock = Clock()
    running = start(Step(PAUSE, "pause", 12.0), clock=clock, seconds=12.0)
    running.shorten(5.0)
    clock.advance(5.0)
    outcome = at_once(running)
    assert (outcome.succeeded, outcome.reason, outcome.cut_off) == (False, CUT_OFF, True)


def test_given_a_pause_when_it_is_ended_then_it_has_failed(start: Start) -> None:
    running = start(Step(PAUSE, "pause", 12.0))
    running.end("taken over")
    outcome = at_once(running)
    assert outcome[:2] == (False, "taken over")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Dict[str, Any]:
    """What the count of connections gives, and how often it was asked for."""
    found: Dict[str, Any] = {"left": 2, "asked": 0, "with": None}

    def count(ports: Any, ignored: Any) -> Dict[int, int]:
        found["asked"] += 1
        found["with"] = (ports, ignored)
        left: Any = found.get("left")
        if isinstance(left, Exception):
            raise left
        return {443: int(left)} if left else {}

    monkeypatch.setattr(connections, "count_established", count)
    return found


WAIT = Step(WAIT_CONNECTIONS, "wait", 60.0, ports=(443,), ignored=("10.0.0.0/8",))


def test_given_connections_when_the_last_one_ends_then_the_wait_does(start: Start, counted: Dict[str, Any]) -> None:
    clock = Clock()
    running = start(WAIT, clock=clock)
    assert running.poll() is None
    assert counted["with"] == ((443,), ("10.0.0.0/8",))
    counted["left"] = 0
    assert running.poll() is None
    assert counted["asked"] == 1
    clock.advance(0.5)
    outcome = at_once(running)
    assert outcome[:2] == (True, "")


@pytest.mark.parametrize("is_cut", [False, True])
def test_given_connections_that_stay_when_the_time_is_over_then_the_wait_has_succeeded_unless_it_was_cut_short(
    start: Start, counted: Dict[str, Any], is_cut: bool
) -> None:
    clock = Clock()
    running = start(WAIT, clock=clock, seconds=20.0 if is_cut else 60.0, is_cut=is_cut)
    clock.advance(20.0 if is_cut else 60.0)
    outcome = at_once(running)
    assert counted["asked"] == 1
    assert (outcome.succeeded, outcome.cut_off) == (not is_cut, is_cut)
    assert outcome.reason == (CUT_OFF + " with 2 connections left" if is_cut else "")
    assert is_cut or outcome.output == "2 connections were left"


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("no such form")])
def test_given_connections_that_cannot_be_counted_when_polled_then_the_step_has_failed(
    error: Exception, start: Start, counted: Dict[str, Any]
) -> None:
    counted["left"] = error
    outcome = at_once(start(WAIT))
    assert outcome[:2] == (False, "connections cannot be counted: %s" % error)


def test_given_a_program_that_others_can_write_when_its_step_runs_then_it_is_refused_and_does_not_run(
    tmp_path: Path, start: Start
) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\ntouch %s\n" % (tmp_path / "ran"))
    program.chmod(0o777)
    outcome = outcome_of(start(command(str(program))))
    assert not outcome.succeeded
    assert "others than root can write %s (mode 777)" % program in outcome.reason
    assert not (tmp_path / "ran").exists()
    program.chmod(0o755)
    assert outcome_of(start(command(str(program)))).succeeded
    assert (tmp_path / "ran").exists()


def test_given_connections_that_are_tracked_and_not_listed_when_none_is_left_then_the_step_says_what_it_did_not_count(
    start: Start, counted: Dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted["left"] = 0
    monkeypatch.setattr(connections, "problem_with_containers", lambda: "this kernel does not list them")
    outcome = outcome_of(start(Step(WAIT_CONNECTIONS, "it", 60.0, ports=(443,))))
    assert (outcome.succeeded, outcome.output) == (
        True,
        "those of containers were not counted: this kernel does not list them",
    )
