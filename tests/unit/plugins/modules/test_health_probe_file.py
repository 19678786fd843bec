# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine is out, or back, only once its probe endpoint says so."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.modules import health_probe_file
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.stand_in import called

URL = "http://127.0.0.1:8080/readyz"


class Place:
    """Where the machine keeps its files."""

    def __init__(self, path: Path, warnings: list[str]) -> None:
        self._warnings = warnings
        self.marker = path / "out_of_rotation"
        self.record = path / "state" / "health_probe.json"

    def turn(self, rotation: str, **more: Any) -> dict[str, Any]:
        given = {"takes_out": "present", "url": URL, "url_timeout": 0.0, "noticed_within": 0.0}
        given |= {"path": str(self.marker), "record": str(self.record), "rotation": rotation}
        module = called(health_probe_file.run, **{**given, **more})
        self._warnings += module.warnings
        return module.result


@pytest.fixture
def warnings() -> list[str]:
    """What modules have warned of."""
    return []


@pytest.fixture
def place(tmp_path: Path, warnings: list[str]) -> Place:
    return Place(tmp_path, warnings)


def answers(monkeypatch: pytest.MonkeyPatch, *statuses: int) -> None:
    """Have the endpoint answer like this, one after the other, and at last again and again."""
    left = list(statuses)
    monkeypatch.setattr(
        health_probe_file, "status_of", lambda _url, _timeout: left.pop(0) if len(left) > 1 else left[0]
    )


def test_given_an_endpoint_that_fails_when_taken_out_and_succeeds_when_restored_then_nothing_is_left(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, 200, 503)
    result = place.turn("out")
    assert (result["changed"], result["confirmed"]) == (True, True)
    assert place.marker.exists()
    assert place.record.exists()
    assert place.turn("out")["confirmed"]

    answers(monkeypatch, 200)
    assert place.turn("in")["changed"]
    assert not place.marker.exists()
    assert not place.record.exists()
    assert not place.turn("in")["changed"]


def test_given_an_endpoint_that_never_succeeds_when_taken_out_then_nothing_confirms_it_also_the_second_time(
    place: Place, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    answers(monkeypatch, 404)

    result = place.turn("out")

    assert (result["changed"], result["confirmed"]) == (True, False)
    (warning,) = warnings
    assert warning.startswith(f"Before the removal: {URL}: the check did not succeed within 0 s: it answers with 404: ")
    assert warning.endswith("nothing confirms that the machine leaves rotation")
    assert place.marker.exists()
    assert not place.turn("out")["confirmed"]
    assert not place.turn("out", url=None)["confirmed"]


def test_given_an_endpoint_that_does_not_care_when_taken_out_then_it_is_a_failure_that_names_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, 200)

    result = place.turn("out")

    assert result["failed"]
    assert (
        result["msg"]
        == f"Wait until the probe endpoint fails: {URL}: the check did not succeed within 0 s: it answers with 200"
    )
    # The record stays, so that it can be undone.
    assert place.record.exists()


def test_given_an_endpoint_that_does_not_succeed_when_restored_then_the_record_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, 200, 503)
    place.turn("out")

    result = place.turn("in")

    assert (
        result["msg"]
        == f"Wait until the probe endpoint succeeds: {URL}: the check did not succeed within 0 s: it answers with 503"
    )
    assert place.record.exists()


def test_given_check_mode_then_nothing_changes_and_a_wrong_url_is_seen(
    place: Place, monkeypatch: pytest.MonkeyPatch, warnings: list[str]
) -> None:
    answers(monkeypatch, 200)
    assert place.turn("out", check_mode=True)["confirmed"]
    assert not place.marker.exists()

    answers(monkeypatch, 503)
    assert not place.turn("out", check_mode=True)["confirmed"]
    assert len(warnings) == 1
    place.turn("out")
    assert place.turn("in", check_mode=True)["changed"]
    assert place.record.exists()


def test_given_a_balancer_that_needs_time_when_restored_then_that_is_waited_for(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    # The module's own, for threads of other tests sleep as well.
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=waited.append)
    monkeypatch.setattr(health_probe_file, "time", clock)
    answers(monkeypatch, 503)
    place.turn("out")
    answers(monkeypatch, 200)

    place.turn("in", noticed_within=20.0)
    place.turn("in", noticed_within=20.0)

    assert waited == [20.0]


def test_given_a_machine_that_is_out_already_then_it_says_for_how_long_whatever_its_clock_says(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, 503)
    place.marker.touch()
    made_at = place.marker.stat().st_ctime
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=time.sleep, time=lambda: made_at + 30)
    monkeypatch.setattr(health_probe_file, "time", clock)

    assert place.turn("out")["out_for"] == 30
