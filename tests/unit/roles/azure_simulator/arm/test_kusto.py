# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The query language, as far as questions about scheduled events go."""

from __future__ import annotations

from typing import Any

import pytest
from azure_simulator.arm.kusto import QueryError, run

ROWS: list[dict[str, Any]] = [
    {"name": "a", "type": "t", "properties": {"Status": "Scheduled", "Seconds": 5, "Resources": ["web_0", "web_1"]}},
    {"name": "b", "type": "T", "properties": {"Status": "Started", "Seconds": 30, "Resources": ["db"]}},
    {"name": "c", "type": "u", "properties": {"Status": "Completed", "Seconds": None, "Resources": []}},
]


def names(query: str) -> list[str]:
    return [row["name"] for row in run(f"things {query}", {"things": ROWS})]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abc"),
        ("| where type == 't'", "a"),
        ("| where type =~ 't'", "ab"),
        ('| where type != "t"', "bc"),
        ("| where properties.Status in ('Scheduled', 'Started')", "ab"),
        ("| where properties.Status in~ ('scheduled')", "a"),
        ("| where properties.Status !in ('Completed')", "ab"),
        ("| where properties.Status !in~ ('completed', 'STARTED')", "a"),
        ("| where properties['Status'] == 'Started'", "b"),
        ("| where properties.Resources[0] == 'db'", "b"),
        ("| where properties.Resources has 'web_0'", "a"),
        ("| where properties.Resources has 'web'", ""),
        ("| where properties.Resources contains 'web'", "a"),
        ("| where name !contains 'a'", "bc"),
        ("| where properties.Status startswith 'sta'", "b"),
        ("| where properties.Status endswith 'ED'", "abc"),
        ("| where properties.Seconds > 5", "b"),
        ("| where properties.Seconds <= 30", "ab"),
        ("| where name == 'a' or name == 'b' and type == 'u'", "a"),
        ("| where (name == 'a' or name == 'c') and type == 'u'", "c"),
        ("| where not(name == 'a')", "bc"),
        ("| where isnotempty(properties.Seconds)", "ab"),
        ("| where tolower(properties.Status) == 'started'", "b"),
        ("| where type == 't' | where name == 'b'", ""),
        ("| order by name desc", "cba"),
        ("| sort by type asc, name", "bac"),
        ("| order by name asc | take 2", "ab"),
        ("| limit 1", "a"),
        ("| extend status = properties.Status | where status == 'Started'", "b"),
        (r"| where name != 'it\'s'", "abc"),
        ("| project name", "abc"),
    ],
)
def test_given_a_query_when_run_then_it_finds_these(query: str, found: str) -> None:
    assert names(query) == list(found)


def test_given_columns_when_projected_then_paths_get_names_as_azure_gives_them() -> None:
    query = "things | where name == 'a' | project name, status = properties.Status, properties.Seconds"
    assert run(query, {"things": ROWS}) == [{"name": "a", "status": "Scheduled", "properties_Seconds": 5}]


def test_given_a_count_when_asked_for_then_it_is_one_row() -> None:
    assert run("things | count", {"things": ROWS}) == [{"Count": 3}]


@pytest.mark.parametrize(
    "query",
    [
        "others",
        "things |",
        "things | frobnicate",
        "things | where",
        "things | where name ==",
        "things | where name similar 'a'",
        "things | where magic(name)",
        "things | where (name == 'a'",
        "things | order name",
        "things | take 1.5",
        "things | project name name",
        "things | where name == 'a' #",
    ],
)
def test_given_a_query_that_is_none_when_run_then_it_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        run(query, {"things": ROWS})
