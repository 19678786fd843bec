# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a command, whatever it does? With real processes."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Generator, List, Optional, Sequence

import pytest
from edge_helpers import Clock, wait_until
from foghorn_agent.act import steps
from foghorn_agent.act.steps import Child, has_hooks, hook_commands
from foghorn_agent.decide.outcome import StepOutcome
from foghorn_agent.platform import process
from foghorn_core.files.ownership import UnsafePath

LIMIT = 100.0  # seconds, by the clock that is set by hand


class Starter:
    """Starts commands, and sees to it that none outlives the test."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.children: List[Child] = []

    def __call__(
        self,
        argv: Sequence[str],
        environment: Optional[Dict[str, str]] = None,
        stdin: bytes = b"",
        limit_seconds: float = LIMIT,
        grace_seconds: float = 5.0,
    ) -> Child:
        self.children.append(
            Child(argv, environment or {}, stdin, limit_seconds, "timed out", self._clock, grace_seconds)
        )
        return self.children[-1]

    def shell(self, script: str, **options: Any) -> Child:
        return self(["/bin/sh", "-c", script], **options)

    def python(self, program: str, **options: Any) -> Child:
        return self([sys.executable, "-S", "-c", program], **options)

    def clean_up(self) -> None:
        for child in self.children:
            child.end("the test is over", 0)
            child.poll()
        # The grace of what they left behind is over; the patience with what does not die, which is real, is not.
        self._clock.advance(1)
        for child in self.children:
            wait_until(child.poll)


@pytest.fixture
def start(clock: Clock) -> Generator[Starter, None, None]:
    starter = Starter(clock)
    yield starter
    starter.clean_up()


def outcome_of(child: Child) -> StepOutcome:
    outcome: StepOutcome = wait_until(child.poll, child)
    return outcome


def wait_for_file(path: Path, child: Child) -> str:
    """What a command has written for us to know how far it is."""

    def content() -> str:
        child.poll()
        return path.read_text() if path.exists() else ""

    text: str = wait_until(content)
    return text


def is_alive(pid: int) -> bool:
    """Whether a process runs, and is no zombie."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- how it ended


def test_given_a_command_that_succeeds_when_it_ends_then_the_outcome_has_its_output_and_time(
    start: Starter, clock: Clock
) -> None:
    child = start.shell("read line; echo out; echo err >&2", stdin=b"go\n")
    clock.advance(3)
    assert outcome_of(child) == StepOutcome(True, "", "out\nerr\n", 3.0)


def test_given_an_outcome_when_asked_again_then_it_is_the_same_and_there_is_nothing_to_watch(start: Starter) -> None:
    child = start.shell("true")
    outcome = outcome_of(child)
    assert child.poll() == outcome
    assert child.fileno() == -1


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exit status 3"),
        ("kill -KILL $$", "killed by SIGKILL"),
        # Which has no name.
        ("kill -40 $$", "killed by signal 40"),
    ],
)
def test_given_a_command_that_fails_when_it_ends_then_the_reason_is_its_exit_status_or_the_signal(
    start: Starter, script: str, reason: str
) -> None:
    assert outcome_of(start.shell(script))[:2] == (False, reason)


def test_given_no_such_command_when_started_then_the_outcome_says_so_at_once(start: Starter, tmp_path: Path) -> None:
    child = start([str(tmp_path / "absent")])
    assert child.fileno() == -1
    outcome = child.poll()
    assert outcome is not None
    assert not outcome.succeeded
    assert outcome.reason.startswith("could not be started: ")
    assert "No such file or directory" in outcome.reason
    assert "absent" in outcome.reason


def test_given_an_argument_that_no_command_line_can_hold_when_started_then_the_outcome_says_so(start: Starter) -> None:
    assert "null byte" in outcome_of(start(["/bin/echo", "a\0b"])).reason


def test_given_no_such_command_when_told_to_end_then_the_outcome_stays(start: Starter) -> None:
    child = start(["/nonexistent"])
    child.end("taken over")
    assert outcome_of(child).reason.startswith("could not be started")


def test_given_somebody_else_who_took_the_status_when_it_ends_then_it_is_a_failure_and_not_a_success(
    start: Starter,
) -> None:
    """Popen of the standard library would call it exit status 0, and an approval might follow."""
    child = start.shell("exit 3")
    wait_until(lambda: os.waitid(os.P_PID, child._process._process.pid, os.WEXITED | os.WNOHANG))
    assert outcome_of(child)[:2] == (False, "its exit status was lost")


# --- what it is given


def test_given_arguments_that_a_shell_would_interpret_when_run_then_they_arrive_as_they_are(start: Starter) -> None:
    arguments = ["$HOME", "; echo", "*", "a b", "", "é", "`id`"]
    program = "import sys; sys.stdout.buffer.write(ascii(sys.argv[1:]).encode())"
    child = start([sys.executable, "-c", program, *arguments], environment={"PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"})
    assert outcome_of(child).output == ascii(arguments)


def test_given_variables_when_run_then_the_command_has_them_and_a_clean_base_and_nothing_of_ours(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/ours")
    environment = {"FOGHORN_EVENT_ID": "E-1", "FOGHORN_DESCRIPTION": "two\nlines $(id)"}
    output = outcome_of(start(["/usr/bin/env", "-0"], environment=environment)).output
    assert dict(pair.split("=", 1) for pair in output.split("\0") if pair) == {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin",
        "LANG": "C.UTF-8",
        "HOME": "/root",
        "FOGHORN_EVENT_ID": "E-1",
        "FOGHORN_DESCRIPTION": "two\nlines $(id)",
    }


def test_given_values_that_no_environment_can_hold_when_run_then_they_do_not_keep_it_from_running(
    start: Starter,
) -> None:
    output = outcome_of(start(["/usr/bin/env"], environment={"NUL": "a\0b", "SURROGATE": "\ud800", "E": "é"})).output
    assert "NUL=ab\n" in output
    assert "SURROGATE=?\n" in output
    assert "E=é\n" in output


def test_given_a_command_when_run_then_directory_umask_session_and_files_are_as_a_service_has_them(
    start: Starter,
) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    umask = os.umask(0o077)
    try:
        child = start.shell("pwd; umask; cut -d' ' -f 1,5,6 /proc/$$/stat; exec ls /proc/self/fd")
        output = outcome_of(child).output.splitlines()
    finally:
        os.umask(umask)
        os.close(reader)
        os.close(writer)
    assert output[:2] == ["/", "0022"]
    process, group, session = output[2].split()
    assert process == group == session
    # The last is the directory that ls reads.
    assert output[3:] == ["0", "1", "2", "3"]


def test_given_signals_that_we_block_or_ignore_when_run_then_the_command_has_them_as_usual_and_we_keep_ours(
    start: Starter,
) -> None:
    # Not those that the C library keeps for itself: whoever started the tests may have left them ignored.
    settable = sum(1 << number - 1 for number in range(1, signal.NSIG) if signal.getsignal(number) is not None)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        output = outcome_of(start(["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"])).output
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGHUP, before)
    # Python itself ignores SIGPIPE and SIGXFSZ.
    assert all(settable >> number - 1 & 1 for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE, signal.SIGXFSZ))
    assert [int(line.split()[1], 16) & settable for line in output.splitlines()] == [0, 0]


def test_given_an_agent_that_is_spared_when_memory_is_short_when_a_command_is_run_then_the_command_is_not(
    start: Starter,
) -> None:
    own = Path("/proc/self/oom_score_adj")
    before = own.read_text()
    # Anyone may raise their own score; lowering it needs root.
    own.write_text("500")
    assert outcome_of(start(["cat", "/proc/self/oom_score_adj"])).output == "0\n" or os.geteuid() != 0
    assert own.read_text() == "500\n"
    if os.geteuid() == 0:
        own.write_text(before)


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 3 * 1024 * 1024])
def test_given_input_of_any_size_when_read_then_all_of_it_arrives(start: Starter, size: int) -> None:
    assert outcome_of(start(["wc", "-c"], stdin=b"x" * size)).output.strip() == str(size)


def test_given_a_command_that_echoes_its_input_when_both_are_large_then_nothing_blocks(start: Starter) -> None:
    outcome = outcome_of(start(["cat"], stdin=b"y" * 2**21))
    assert outcome.succeeded
    assert outcome.output == "…" + "y" * 8192


def test_given_a_command_that_never_reads_when_it_ends_then_it_has_succeeded(start: Starter) -> None:
    assert outcome_of(start.shell("exec <&-; sleep 0.05", stdin=b"x" * 2**20)).succeeded


# --- what it puts out


def test_given_a_flood_of_output_when_polled_then_each_call_is_short_and_only_the_end_is_kept(
    start: Starter, clock: Clock
) -> None:
    child = start(["yes", "flood"], grace_seconds=0)
    wait_until(lambda: child.poll() is None and child._output_is_cut, child)
    longest = 0.0
    for _unused in range(50):
        began = time.monotonic()
        assert child.poll() is None
        longest = max(longest, time.monotonic() - began)
    assert longest < 5
    clock.advance(LIMIT)
    outcome = outcome_of(child)
    assert outcome.reason == "timed out"
    assert outcome.output.startswith("…")
    assert "flood\nflood\n" in outcome.output
    assert len(outcome.output) <= 8193


def test_given_more_output_than_one_call_takes_in_when_polled_then_it_comes_in_pieces(
    start: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_CHUNK", 10)
    monkeypatch.setattr(steps, "_CHUNKS_AT_ONCE", 2)
    child = start.shell("echo %s; sleep 60" % ("0123456789" * 10))
    lengths = [len(child._output)]
    while lengths[-1] < 101:
        wait_until(lambda: child.poll() is None and len(child._output) > lengths[-1], child)
        lengths.append(len(child._output))
    assert lengths == [0, 20, 40, 60, 80, 100, 101]


def test_given_output_that_is_no_text_when_it_ends_then_it_is_replaced(start: Starter) -> None:
    assert outcome_of(start.shell("printf 'a\\377b'")).output == "a\ufffdb"


@pytest.mark.parametrize("padding", [0, 1, 2, 3])
def test_given_long_output_when_it_is_cut_within_a_character_then_no_piece_of_it_remains(
    start: Starter, padding: int
) -> None:
    program = "import sys; sys.stdout.buffer.write('\U0001f4a1'.encode() * 3000 + b'x' * %d)" % padding
    output = outcome_of(start.python(program)).output
    assert "\ufffd" not in output
    assert output.startswith("…\U0001f4a1")
    assert output.endswith("\U0001f4a1" + "x" * padding)


def test_given_long_output_that_is_no_text_at_all_when_it_is_cut_then_it_is_replaced(start: Starter) -> None:
    output = outcome_of(start.python("import sys; sys.stdout.buffer.write(b'\\x80' * 10000)")).output
    assert output == "…" + "\ufffd" * 8189


def test_given_a_command_that_closes_its_output_when_it_continues_then_it_is_still_under_way(
    start: Starter,
) -> None:
    child = start.shell("echo said; exec >&- 2>&-; read line; exit 7", stdin=b"")
    outcome = outcome_of(child)
    assert outcome.output == "said\n"
    assert outcome.reason == "exit status 7"


def test_given_output_closed_long_ago_when_polled_then_there_is_nothing_to_watch(
    start: Starter,
) -> None:
    child = start.shell("exec >&- 2>&-; sleep 60")
    wait_until(lambda: child.poll() is not None or child.fileno() == -1)
    assert child.poll() is None


# --- limits


def test_given_a_limit_when_it_passes_then_the_command_is_told_to_end_and_the_reason_is_the_limit(
    start: Starter, clock: Clock
) -> None:
    child = start(["sleep", "60"], limit_seconds=20)
    clock.advance(19.9)
    assert child.poll() is None
    clock.advance(0.1)
    outcome = outcome_of(child)
    assert outcome == StepOutcome(False, "timed out", "", 20.0)


def test_given_a_command_that_exits_well_when_told_to_end_then_it_is_no_success(
    start: Starter, clock: Clock, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    child = start.shell("trap 'exit 0' TERM; echo $$ > %s; while :; do sleep 0.01; done" % ready)
    wait_for_file(ready, child)
    clock.advance(LIMIT)
    assert outcome_of(child)[:2] == (False, "timed out")


@pytest.mark.parametrize("is_told", [False, True], ids=["the limit has passed", "told to end"])
def test_given_a_command_that_had_ended_when_it_is_to_end_then_its_own_end_counts(
    start: Starter, clock: Clock, is_told: bool
) -> None:
    child = start.shell("exit 0")
    wait_until(lambda: os.waitid(os.P_PID, child._process._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
    child.end("taken over by a more urgent event") if is_told else clock.advance(LIMIT * 2)
    assert outcome_of(child).succeeded


def test_given_a_command_that_ignores_sigterm_when_the_grace_is_over_then_it_is_killed(
    start: Starter, clock: Clock, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    child = start.shell("trap '' TERM; echo $$ > %s; while :; do sleep 0.01; done" % ready)
    pid = int(wait_for_file(ready, child))
    clock.advance(LIMIT)
    assert child.poll() is None
    clock.advance(4.9)
    assert child.poll() is None
    assert is_alive(pid)
    clock.advance(0.1)
    assert outcome_of(child)[:2] == (False, "timed out")
    assert not is_alive(pid)


def test_given_a_tighter_limit_when_shortened_then_it_holds_with_its_reason(start: Starter, clock: Clock) -> None:
    child = start(["sleep", "60"])
    clock.advance(10)
    child.shorten(5, "cut off at the deadline")
    clock.advance(5)
    outcome = outcome_of(child)
    assert (outcome.reason, outcome.seconds) == ("cut off at the deadline", 15.0)


def test_given_a_wider_limit_when_shortened_then_the_old_one_stays(start: Starter, clock: Clock) -> None:
    child = start(["sleep", "60"])
    child.shorten(LIMIT * 2, "cut off at the deadline")
    clock.advance(LIMIT)
    assert outcome_of(child).reason == "timed out"


def test_given_a_command_that_was_told_to_end_when_told_again_then_the_first_reason_and_the_shorter_grace_hold(
    start: Starter, clock: Clock, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    child = start.shell("trap '' TERM; echo $$ > %s; while :; do sleep 0.01; done" % ready)
    wait_for_file(ready, child)
    child.end("taken over by a more urgent event")
    child.end("the agent is stopping", grace_seconds=0)
    clock.advance(0)
    assert outcome_of(child).reason == "taken over by a more urgent event"


def test_given_a_process_that_even_sigkill_does_not_end_when_time_is_up_then_the_outcome_says_so(
    start: Starter, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that hangs in the kernel. Here the signals are withheld instead."""
    child = start(["sleep", "60"])
    with monkeypatch.context() as withheld:
        withheld.setattr(os, "killpg", lambda _group, _number: None)
        clock.advance(LIMIT)
        assert child.poll() is None
        clock.advance(5)
        assert child.poll() is None
        clock.advance(2)
        outcome = child.poll()
    assert outcome is not None
    assert outcome[:2] == (False, "timed out, and SIGKILL did not end it")
    # For the sake of this machine: end it after all.
    child._process._process.kill()
    child._process._process.wait()


# --- what it leaves behind


def test_given_a_grandchild_that_holds_the_pipe_when_the_command_ends_then_it_does_not_hold_the_outcome(
    start: Starter, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    child = start.shell("sleep 60 & echo $! > %s; echo done" % pid_file)
    outcome = outcome_of(child)
    assert outcome == StepOutcome(True, "", "done\n", 0.0)
    assert not is_alive(int(pid_file.read_text()))


def test_given_a_grandchild_that_ignores_sigterm_when_the_command_ends_then_it_is_killed_a_second_later(
    start: Starter, clock: Clock, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    script = "(trap '' TERM; sh -c 'echo $PPID' > %s; while :; do sleep 0.01; done) & while ! [ -s %s ]; do :; done"
    child = start.shell(script % (pid_file, pid_file))
    pid = int(wait_for_file(pid_file, child))
    wait_until(lambda: child.poll() is None and child._own_outcome is not None)
    clock.advance(0.9)
    assert child.poll() is None
    assert is_alive(pid)
    clock.advance(0.1)
    assert outcome_of(child)[:2] == (True, "")
    assert not is_alive(pid)


def test_given_leftovers_that_cannot_be_ended_when_the_patience_is_over_then_the_outcome_is_the_commands_own(
    start: Starter, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def withhold(_group: int, _number: int) -> None:
        raise PermissionError

    with monkeypatch.context() as withheld:
        withheld.setattr(os, "killpg", withhold)
        child = start.shell("exit 3")
        wait_until(lambda: child.poll() is None and child._own_outcome is not None)
        clock.advance(1)
        assert child.poll() is None
        clock.advance(2)
        assert child.poll() == StepOutcome(False, "exit status 3", "", 0.0)


def test_given_a_daemon_that_left_the_group_when_the_command_ends_then_it_continues(
    start: Starter, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    script = "setsid sh -c 'echo $$ > %s; exec sleep 60' >/dev/null 2>&1 & while ! [ -s %s ]; do :; done"
    child = start.shell(script % (pid_file, pid_file))
    assert outcome_of(child).succeeded
    pid = int(pid_file.read_text())
    try:
        assert is_alive(pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


# --- hooks


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    directory = Path(os.path.realpath(str(tmp_path))) / "drain"
    directory.mkdir()
    directory.chmod(0o755)
    return directory


@pytest.fixture
def add(hooks: Path) -> Callable[..., Path]:
    def add(name: str, mode: int = 0o755) -> Path:
        path = hooks / name
        path.write_text("#!/bin/sh\necho hook\n")
        path.chmod(mode)
        return path

    return add


def test_given_hooks_when_listed_then_they_come_in_lexical_order(hooks: Path, add: Callable[..., Path]) -> None:
    for name in ("20-b", "100-c", "Z", "10_a.sh", "9"):
        add(name)
    assert hook_commands(str(hooks)) == [str(hooks / name) for name in ("100-c", "10_a.sh", "20-b", "9", "Z")]


@pytest.mark.parametrize(
    "name",
    [
        ".hidden",
        "10-a~",
        "#10-a#",
        "10-a.bak",
        "10-a.disabled",
        "README",
        "README.md",
        "10-a.rpmnew",
        "10-a.rpmsave",
        "10-a.rpmorig",
        "10-a.dpkg-old",
        "10-a.dpkg-dist",
    ],
)
def test_given_a_file_that_is_no_hook_when_listed_then_it_is_left_out(
    hooks: Path, add: Callable[..., Path], name: str
) -> None:
    add(name)
    assert hook_commands(str(hooks)) == []


def test_given_a_file_that_is_not_executable_when_listed_then_it_comes_last_and_fails(
    hooks: Path, add: Callable[..., Path], start: Starter
) -> None:
    add("10-database", 0o644)
    add("20-app")
    add("30 proxy (2)")
    commands = hook_commands(str(hooks))
    assert commands == [str(hooks / name) for name in ("20-app", "30 proxy (2)", "10-database")]
    outcome = outcome_of(start([commands[-1]]))
    assert not outcome.succeeded
    assert outcome.reason.startswith("could not be started: [Errno 13] Permission denied")
    assert outcome.reason.endswith(": chmod +x it, if it is to run")


def test_given_a_name_that_is_not_ascii_when_listed_then_all_are_refused(hooks: Path, add: Callable[..., Path]) -> None:
    add("10-fine")
    add("20-ä")
    with pytest.raises(UnsafePath, match="printable ASCII characters only: rename it"):
        hook_commands(str(hooks))
    assert has_hooks(str(hooks))


def test_given_a_directory_among_the_hooks_when_listed_then_it_is_left_out(hooks: Path) -> None:
    (hooks / "10-a").mkdir()
    assert hook_commands(str(hooks)) == []


def test_given_a_link_to_a_hook_when_listed_then_it_keeps_its_name(
    hooks: Path, add: Callable[..., Path], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    add("hook").rename(elsewhere)
    (hooks / "10-link").symlink_to(elsewhere)
    assert hook_commands(str(hooks)) == [str(hooks / "10-link")]


def test_given_no_such_directory_when_listed_then_there_are_no_hooks(tmp_path: Path) -> None:
    assert hook_commands(str(tmp_path / "absent")) == []


def test_given_a_file_in_place_of_the_directory_when_listed_then_it_is_refused(add: Callable[..., Path]) -> None:
    with pytest.raises(UnsafePath, match="cannot be read: Not a directory"):
        hook_commands(str(add("file")))


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda hooks: (hooks / "20-bad").chmod(0o775), "others than root can write .*20-bad"),
        (lambda hooks: (hooks / "20-bad").chmod(0o757), "others than root can write .*20-bad"),
        (lambda hooks: hooks.chmod(0o1777), "others than root can write .*drain "),
        (lambda hooks: (hooks / "30-link").symlink_to("absent"), "30-link"),
    ],
    ids=["for the group", "for everybody", "the directory", "a link to nothing"],
)
def test_given_hooks_that_others_may_change_when_listed_then_all_are_refused(
    hooks: Path, add: Callable[..., Path], spoil: Callable[[Path], None], complaint: str
) -> None:
    add("10-fine")
    add("20-bad")
    spoil(hooks)
    with pytest.raises(UnsafePath, match=complaint):
        hook_commands(str(hooks))
