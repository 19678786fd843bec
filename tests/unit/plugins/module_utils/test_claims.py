# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claims and leases, in real files."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims
from ansible_collections.foghorn.azure_events.plugins.module_utils.claims import (
    ClaimError,
    ClaimRequest,
    Leased,
    Run,
    Shared,
    State,
    Vm,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
NOW = 1_789_840_800.0
FIRST = Run("first", "handle_events", "root on ctl1")
SECOND = Run("second", "handle_events", "root on ctl2")


def keep(directory: Path, change: Callable[[State], State], *records: str) -> State:
    """Change what is known of the machine, as the module does."""
    with claims.locked(str(directory)):
        after = change(claims.read(str(directory)))
        claims.write(str(directory), after, records)
    return after


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the claims of a machine are; it is not there yet."""
    return tmp_path / "foghorn" / "handle_events"


def test_given_a_change_in_progress_then_no_other_change_can_begin(directory: Path) -> None:
    with (
        claims.locked(str(directory)),
        pytest.raises(ClaimError, match=r"\.claims\.lock is locked by another process.*find it with fuser"),
        claims.locked(str(directory), within=0.1),
    ):
        pass


def test_given_the_directory_is_locked_by_any_user_when_claimed_then_that_blocks_nobody(directory: Path) -> None:
    directory.mkdir(parents=True)
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        keep(directory, lambda state: claims.lease(state, FIRST, 60, NOW))
    finally:
        os.close(descriptor)


def test_given_a_claim_then_everybody_may_read_it_and_nobody_else_may_open_its_lock(directory: Path) -> None:
    keep(directory, lambda state: claims.claim(state, FIRST, ClaimRequest("by_hand"), NOW))

    modes = {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}
    assert modes == {"claims.json": 0o644, ".claims.lock": 0o600}


def test_given_a_claim_for_events_when_it_is_repeated_then_the_time_of_each_first_claim_stays(
    directory: Path,
) -> None:
    def say(event_ids: list[str] | None, seconds: float) -> None:
        request = ClaimRequest("handle_events", seen=event_ids)
        keep(directory, lambda state: claims.claim(state, FIRST, request, NOW + seconds))

    say(["A"], 0.0)
    say(["a", "B"], 60.0)
    say(None, 90.0)

    assert claims.read(str(directory)).claims["handle_events"]["seen"] == {"a": NOW, "b": NOW + 60.0}


def make_link(path: Path) -> None:
    """Make a link to a file that is another's to choose."""
    path.symlink_to(path.parent.parent / "elsewhere")


@pytest.mark.parametrize("make", [os.mkfifo, make_link, os.mkdir])
@pytest.mark.parametrize("name", ["claims.json", ".claims.lock"])
def test_given_something_else_than_a_file_when_claimed_then_it_is_named_and_nothing_waits_for_it(
    directory: Path, make: Callable[[Path], None], name: str
) -> None:
    directory.mkdir(parents=True)
    make(directory / name)

    with pytest.raises(ClaimError, match=f"{name} is no regular file: find out who put it there"):
        keep(directory, lambda state: claims.lease(state, FIRST, 60, NOW))


@needs_root
@pytest.mark.parametrize("name", ["claims.json", ".claims.lock"])
def test_given_a_file_of_another_user_when_claimed_then_it_is_not_believed(directory: Path, name: str) -> None:
    directory.mkdir(parents=True)
    (directory / name).write_text(json.dumps(State().as_dict()))
    os.chown(directory / name, 65534, 65534)

    with pytest.raises(ClaimError, match=rf"{name} belongs to the user with the id \d+: run as that user"):
        keep(directory, lambda state: claims.lease(state, FIRST, 60, NOW))


def test_given_nothing_when_read_then_nobody_claims_it_and_nothing_is_made(directory: Path) -> None:
    assert claims.read(str(directory)) == State()
    assert not directory.exists()


def test_given_a_lease_when_another_run_wants_one_then_it_learns_whose_it_is_and_until_when(directory: Path) -> None:
    keep(directory, lambda state: claims.lease(state, FIRST, 60, NOW))

    with pytest.raises(Leased, match=r"handle_events of root on ctl1 is working on it.*until 2026-09-19T18:01:00Z"):
        keep(directory, lambda state: claims.lease(state, SECOND, 60, NOW + 59))
    assert claims.read(str(directory)).holder(NOW + 59) == {
        "id": "first",
        "playbook": "handle_events",
        "by": "root on ctl1",
        "process": None,
        "until": NOW + 60,
        "returning": False,
    }


def test_given_a_run_that_has_the_machine_out_then_another_owner_may_rely_on_that_until_it_is_restored() -> None:
    leased = claims.lease(State(), FIRST, 60, NOW)
    assert not claims.is_out(leased, "by_hand", NOW), "nobody has claimed it"

    out = claims.claim(leased, FIRST, ClaimRequest("handle_events"), NOW)
    assert claims.is_out(out, "by_hand", NOW)
    assert not claims.is_out(out, "handle_events", NOW), "that is another run for the same"
    assert not claims.is_out(out, "by_hand", NOW + 60), "its lease has ended: nobody takes care"

    assert not claims.is_out(claims.renew(out, FIRST, 60, NOW, is_returning=True), "by_hand", NOW)


@pytest.mark.parametrize(("take_over", "later"), [("", 60), ("first", 0), ("any", 0)])
def test_given_a_lease_that_ended_or_whose_run_is_dead_when_another_run_wants_one_then_it_gets_it(
    directory: Path, take_over: str, later: float
) -> None:
    keep(directory, lambda state: claims.lease(state, FIRST, 60, NOW))

    after = keep(directory, lambda state: claims.lease(state, SECOND, 60, NOW + later, take_over))

    assert after.lease is not None
    assert after.lease["id"] == "second"
    with pytest.raises(Leased, match="This run's lease of the machine ended, and another run has taken it over"):
        claims.renew(after, FIRST, 60, NOW + later)
    with pytest.raises(Leased):
        claims.release(after, FIRST, "handle_events")


def test_given_a_lease_that_another_run_has_given_up_since_when_renewed_then_it_is_lost_anyway() -> None:
    with pytest.raises(ClaimError, match=r"It has ended since\. Run again"):
        claims.renew(State(), FIRST, 60, NOW)


def test_given_nothing_is_noted_on_a_machine_that_is_returned_when_renewed_then_it_is_leased_again() -> None:
    after = claims.renew(State(), FIRST, 60, NOW, is_returning=True)

    assert after.holder(NOW) is not None
    by_hand = claims.claim(State(), SECOND, ClaimRequest("by_hand"), NOW)
    with pytest.raises(Leased):
        claims.renew(by_hand, FIRST, 60, NOW, is_returning=True)


def test_given_a_lease_that_ended_and_nobody_took_when_renewed_then_it_continues() -> None:
    after = claims.renew(claims.lease(State(), FIRST, 60, NOW), FIRST, 60, NOW + 600)

    assert after.holder(NOW + 659) is not None


def test_given_two_owners_when_one_gives_up_then_the_other_still_claims_it(directory: Path) -> None:
    keep(
        directory,
        lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand", "disk"), NOW),
    )
    keep(directory, lambda state: claims.claim(state, FIRST, ClaimRequest("handle_events"), NOW))
    (directory / "services.json").touch()

    after = keep(directory, lambda state: claims.release(state, FIRST, "handle_events"))

    assert after.lease is None
    assert [(name, claim["reason"]) for name, claim in after.claims.items()] == [("by_hand", "disk")]


def test_given_the_last_claim_when_given_up_then_nothing_is_left(directory: Path) -> None:
    keep(directory, lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand"), NOW))

    keep(directory, lambda state: claims.release(state, FIRST, "by_hand"))

    assert not directory.exists()
    assert directory.parent.exists()


def test_given_a_record_that_is_still_there_when_the_last_claim_is_given_up_then_it_is_kept(directory: Path) -> None:
    keep(directory, lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand"), NOW))
    (directory / "services.json").touch()

    with pytest.raises(ClaimError, match=r"still holds services\.json: not all was restored"):
        keep(directory, lambda state: claims.release(state, FIRST, "by_hand"), "services.json", "other.json")
    assert list(claims.read(str(directory)).claims) == ["by_hand"]
    assert (directory / "services.json").exists()


@needs_root
def test_given_a_directory_that_another_user_owns_when_read_or_claimed_then_it_is_refused_and_nothing_is_written(
    directory: Path,
) -> None:
    directory.mkdir(parents=True)
    os.chown(directory, 65534, -1)
    (directory / claims.FILE).symlink_to("/proc/self/status")

    with pytest.raises(ClaimError, match=r"user 65534 owns \S*: chown it to root"):
        claims.read(str(directory))
    with pytest.raises(ClaimError, match=r"user 65534 owns \S*: chown it to root"):
        keep(directory / "below", lambda state: claims.lease(state, FIRST, 60, NOW))
    assert os.listdir(directory) == [claims.FILE]


def test_given_another_users_files_when_the_last_claim_is_given_up_then_they_stay(directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "precious").touch()
    keep(directory, lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand"), NOW))

    keep(directory, lambda state: claims.release(state, FIRST, "by_hand"), "services.json")

    assert os.listdir(directory) == ["precious"]


def test_given_a_claim_when_repeated_then_its_age_stays() -> None:
    first = claims.claim(State(), FIRST, ClaimRequest("handle_events", "Reboot A"), NOW)

    after = claims.claim(first, SECOND, ClaimRequest("handle_events", "Reboot B", approving=["B"]), NOW + 5)

    claim = after.claims["handle_events"]
    assert (claim["since"], claim["noted_at"], claim["reason"]) == (NOW, NOW + 5, "Reboot B")
    assert claim["approving"] == ["B"]
    assert claim["boot_id"] == claims.boot_id()
    assert claim["left_out_at"] is None


def test_given_another_users_text_when_claimed_then_it_is_one_short_harmless_line() -> None:
    request = ClaimRequest("handle_events", "Reboot \x1b[31m\n" + "A" * 9999, approving=["\x07"] * 9999)

    claim = claims.claim(State(), FIRST, request, NOW).claims["handle_events"]

    assert claim["reason"].startswith("Reboot \ufffd[31m")
    assert len(claim["reason"]) < 300
    assert claim["approving"] == ["\ufffd"] * 100


def test_given_an_event_that_was_tried_without_success_then_that_outlasts_the_claim_until_it_is_forgotten(
    directory: Path,
) -> None:
    keep(directory, lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand"), NOW))

    keep(
        directory,
        lambda state: claims.release(claims.note_tried(state, {"A": "web did\x07 not stop"}, NOW), FIRST, "by_hand"),
    )
    assert claims.read(str(directory)) == State(tried={"a": {"at": NOW, "reason": "web did\ufffd not stop"}})

    keep(directory, lambda state: claims.note_tried(state, {"a": ""}, NOW))
    assert not directory.exists()


def test_given_events_tried_long_ago_or_too_many_then_only_the_latest_are_remembered() -> None:
    old = claims.note_tried(State(), {"old": "failed"}, NOW - 9 * 86400)

    assert list(claims.note_tried(old, {"new": "failed"}, NOW).tried) == ["new"]
    many = claims.note_tried(old, {f"event{number}": "failed" for number in range(150)}, NOW)
    assert list(many.tried) == [f"event{number}" for number in range(50, 150)]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"lease": {"until": "soon"}, "claims": {}, "tried": {}}',
        '{"lease": null, "claims": {}, "tried": {"a": {"reason": "when?"}}}',
        '{"lease": 1}',
        "[" * 200_000,
        " " * 1024 * 1024 + "{}",
    ],
    ids=lambda content: content[:40].strip(),
)
def test_given_a_damaged_file_when_read_then_it_is_named_and_not_taken_for_no_claims(
    directory: Path, content: str
) -> None:
    directory.mkdir(parents=True)
    (directory / claims.FILE).write_text(content)

    with pytest.raises(ClaimError, match=r"claims\.json is damaged"):
        claims.read(str(directory))


def test_given_a_write_that_was_cut_short_when_read_and_given_up_then_it_is_as_before(directory: Path) -> None:
    keep(directory, lambda state: claims.claim(claims.lease(state, FIRST, 9, NOW), FIRST, ClaimRequest("by_hand"), NOW))
    (directory / ".claims.json.new").write_text('{"lease": nul')

    assert list(claims.read(str(directory)).claims) == ["by_hand"]
    keep(directory, lambda state: claims.release(state, FIRST, "by_hand"))
    assert not directory.exists()


def test_given_a_strict_umask_when_the_directory_is_made_then_the_application_may_look_into_it(directory: Path) -> None:
    mask = os.umask(0o077)
    try:
        keep(directory, lambda state: claims.lease(state, FIRST, 9, NOW))
    finally:
        os.umask(mask)

    assert [path.stat().st_mode & 0o777 for path in (directory, directory.parent)] == [0o755, 0o755]


def test_given_a_place_that_cannot_be_written_when_locked_then_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ClaimError, match="file/claims: Not a directory"), claims.locked(str(tmp_path / "file/claims")):
        pass


def test_given_paths_when_searched_then_those_that_are_there_are_named(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    names = ["there", "dangling", "missing", "there/below"]

    assert claims.present([str(tmp_path / name) for name in names]) == [str(tmp_path / name) for name in names[:2]]
    with pytest.raises(ClaimError, match="run with the rights to see it"):
        claims.present(["x" * 9999])


def _take(directory: str, number: int) -> None:
    for _turn in range(20):
        with claims.locked(directory):
            state = claims.read(directory)
            run = Run(str(number))
            taken = claims.claim(claims.lease(state, run, 60, NOW, "any"), run, ClaimRequest(f"owner{number}"), NOW)
            claims.write(directory, taken)
        with claims.locked(directory):
            state = claims.read(directory)._replace(lease=None)
            claims.write(directory, claims.release(state, run, f"owner{number}"))


def test_given_many_at_once_when_they_claim_and_give_up_then_none_undoes_what_another_did(directory: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_take, args=(str(directory), number)) for number in range(3)]
    for other in others:
        other.start()
    for _turn in range(20):
        keep(directory, lambda state: claims.claim(state._replace(lease=None), FIRST, ClaimRequest("mine"), NOW))
        assert "mine" in json.loads((directory / claims.FILE).read_text())["claims"]
    for other in others:
        other.join()

    assert [other.exitcode for other in others] == [0, 0, 0]
    assert list(claims.read(str(directory)).claims) == ["mine"]
    for other in others:
        other.close()


WEB_0 = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/web_0"


def claimed_by(directory: Path, vm: Vm) -> State:
    """A machine that is claimed by two, of which one waits for its deletion."""

    def change(state: State) -> State:
        state = claims.lease(claims.of_vm(state, vm, str(directory)), FIRST, 60, NOW)
        for owner in ("by_hand", "handle_os_upgrades"):
            state = claims.claim(state, FIRST, ClaimRequest(owner, is_final=True, left_out=True), NOW)
        return state

    return keep(directory, change)


def test_given_claims_of_another_vm_when_a_vm_finds_them_then_they_are_refused_with_both_remedies(
    directory: Path,
) -> None:
    claimed_by(directory, Vm(WEB_0, "1"))

    with pytest.raises(Shared, match=r"directory of another VM, .*/web_0\. Set handle_events_state_directory .*delete"):
        claims.of_vm(claims.read(str(directory)), Vm(WEB_0.replace("web_0", "web_1"), "2"), str(directory))


def test_given_claims_of_an_earlier_life_when_its_vm_is_made_again_then_there_is_only_something_to_restore(
    directory: Path,
) -> None:
    claimed_by(directory, Vm(WEB_0, "1"))

    state = claims.of_vm(claims.read(str(directory)), Vm(WEB_0.upper(), "2"), str(directory))

    assert (list(state.claims), state.lease) == (["handle_events"], None)
    assert not state.claims["handle_events"]["is_final"]
    assert state.claims["handle_events"]["left_out_at"] is None
    assert state.vm == Vm(WEB_0.upper(), "2")


@pytest.mark.parametrize("vm", [Vm(), Vm(WEB_0.upper(), "A-1"), Vm(vm_id="a-1")])
def test_given_claims_of_a_vm_when_it_or_nobody_knows_which_reads_them_then_they_are_as_before(
    directory: Path, vm: Vm
) -> None:
    before = claimed_by(directory, Vm(WEB_0, "a-1"))

    assert claims.of_vm(claims.read(str(directory)), vm, str(directory)).claims == before.claims
