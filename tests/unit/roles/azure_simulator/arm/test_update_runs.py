# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of Update Manager: they can be cancelled until ten minutes before they begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

RUNS = {"update_runs": [{"configuration": "patches", "resource_group": "rg", "begins": 2400, "name": "20261122150000"}]}
VERSION = "?api-version=2023-10-01-preview"
CANCEL = {"properties": {"status": "Cancel"}}


@pytest.fixture(name="azure")
def fixture_azure(cloud: Callable[..., Any]) -> Any:
    return cloud(arm=RUNS, speed=None)


def the_run(azure: Any) -> Any:
    (run,) = azure.azure.status()["arm"]["update_runs"]
    return run


def cancel(azure: Any, run_id: str | None = None) -> Any:
    return put(azure, CANCEL, run_id)


def put(azure: Any, body: Any, run_id: str | None = None) -> Any:
    return azure.raw("PUT", (run_id or the_run(azure)["run_id"]) + VERSION, body)


def test_given_a_run_when_it_is_cancelled_in_time_then_the_answer_is_as_documented_and_it_never_begins(
    azure: Any,
) -> None:
    azure.azure.advance(1800)
    answer = cancel(azure)

    run_id = azure.path(
        "maintenanceConfigurations/patches/providers/Microsoft.Maintenance/applyUpdates/20261122150000",
        provider="Microsoft.Maintenance",
    ).lower()
    assert (answer.status, answer.json) == (
        200,
        {
            "id": run_id,
            "name": "patches",
            "type": "Microsoft.Maintenance/applyUpdates",
            "properties": {"status": "Cancelled", "resourceId": run_id.rpartition("/providers/")[0]},
        },
    )
    azure.azure.advance(3600)
    assert the_run(azure)["status"] == "Cancelled"
    assert cancel(azure).status == 200, "once more is no harm"


def test_given_ten_minutes_are_left_when_it_is_cancelled_then_that_is_refused_and_it_begins(azure: Any) -> None:
    azure.azure.advance(1801)

    assert (cancel(azure).status, the_run(azure)["status"]) == (400, "Pending")
    azure.azure.advance(600)
    assert the_run(azure)["status"] == "InProgress"


@pytest.mark.parametrize("body", [{}, {"properties": {"status": "Completed"}}, {"properties": []}])
def test_given_another_body_when_it_is_put_then_it_is_refused(azure: Any, body: Any) -> None:
    assert (put(azure, body).code, the_run(azure)["status"]) == ("BadRequest", "Pending")


def test_given_no_such_run_when_it_is_cancelled_then_it_is_not_found(azure: Any) -> None:
    assert cancel(azure, run_id=the_run(azure)["run_id"] + "1").status == 404
