# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is about to restore a machine learns who else wants it out, and claims nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils import claims
from ansible_collections.foghorn.azure_events.plugins.module_utils.claim_module import (
    claim_arguments,
    claim_info_arguments,
    run_claim,
    run_claim_info,
)


class EndedError(Exception):
    """What the module ends with."""


class Module:
    """A call of rotation_claim."""

    check_mode = False

    def __init__(self, **params: Any) -> None:
        run = {"id": "R", "playbook": "handle_events", "by": "bob on ctl", "process": None}
        self.params = {name: spec.get("default") for name, spec in claim_arguments().items()} | {"run": run} | params

    def exit_json(self, **result: Any) -> None:
        raise EndedError(result)

    fail_json = exit_json


def call(directory: Path, **params: Any) -> dict[str, Any]:
    with pytest.raises(EndedError) as ended:
        run_claim(Module(directory=str(directory), **params))
    result: dict[str, Any] = ended.value.args[0]
    return result


def test_given_a_run_that_restores_then_others_are_named_and_its_own_claim_is_as_it_was(tmp_path: Path) -> None:
    call(tmp_path, state="leased", owner="handle_events", reason="Reboot")
    call(tmp_path, state="renewed", owner="by_hand", reason="disk")

    result = call(tmp_path, state="renewed", owner="handle_events", returning=True)

    assert result["others"] == ["by_hand"]
    assert result["claims"]["handle_events"]["reason"] == "Reboot"
    assert (claims.read(str(tmp_path)).lease or {})["returning"]


def test_given_nothing_is_noted_any_more_when_renewed_then_it_fails_and_no_other_run_is_said_to_have_it(
    tmp_path: Path,
) -> None:
    assert call(tmp_path, state="renewed", owner="handle_events")["leased"] is False
    call(tmp_path, state="leased", owner="by_hand", reason="disk")
    other = call(tmp_path, state="renewed", run={"id": "S", "playbook": "", "by": "", "process": None})
    assert other["leased"] is True


def test_given_nothing_is_noted_any_more_when_a_run_restores_then_its_claim_is_there_until_it_is_given_up(
    tmp_path: Path,
) -> None:
    """A restore that fails, or dies, is done again by the next run."""
    mine = {"owner": "handle_events", "reason": "Redeploy"}
    result = call(tmp_path, state="renewed", returning=True, **mine)
    assert (result["others"], list(result["claims"])) == ([], ["handle_events"])
    assert (claims.read(str(tmp_path)).lease or {})["returning"]
    assert not call(tmp_path, state="released", **mine)["claims"]


def test_given_a_directory_that_is_not_there_then_only_a_claim_makes_it_and_the_same_claim_again_is_no_change(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "state"
    mine = {"owner": "by_hand", "reason": "disk"}

    assert not call(directory, state="released", **mine)["changed"]
    assert not directory.exists()
    assert call(directory, state="leased", **mine)["changed"]
    assert list(claims.read(str(directory)).claims) == ["by_hand"]
    assert not call(directory, state="leased", **mine, seen=["E"])["changed"]
    assert call(directory, state="released", **mine)["changed"]


def test_given_a_file_with_an_id_then_it_and_the_files_are_returned_as_they_are_before_the_call(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    directory.mkdir(mode=0o755)
    (directory / "removal.id").write_text("0123456789abcdef" * 2 + "\n")

    result = call(directory, state="leased", owner="handle_events", id_file="removal.id")

    assert (result["files"], result["id"]) == (["removal.id"], "0123456789abcdef" * 2)


def test_given_files_that_others_could_write_then_nothing_is_claimed(tmp_path: Path) -> None:
    directory = tmp_path / "state"
    directory.mkdir()
    directory.chmod(0o777)

    result = call(directory, state="leased", owner="handle_events", id_file="removal.id")

    assert str(directory) in result["msg"]
    assert not list(directory.iterdir())


def test_given_events_that_cannot_be_read_then_the_failure_has_what_else_was_found(tmp_path: Path) -> None:
    call(tmp_path, state="leased", owner="by_hand", reason="disk")
    module = Module()
    module.params = {name: spec.get("default") for name, spec in claim_info_arguments().items()} | {
        "directory": str(tmp_path),
        "events": True,
        "endpoint": "ftp://127.0.0.1",
    }

    with pytest.raises(EndedError) as ended:
        run_claim_info(module)

    (result,) = ended.value.args
    assert list(result["claims"]) == ["by_hand"]
    assert result["msg"] == result["scheduled"]["msg"]
    assert result["msg"].startswith("endpoint: ")
