# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The query language, as far as questions about scheduled events go."""

from __future__ import annotations

from typing import Any

import pytest
from azure_simulator.arm.kusto import QueryError, run

ROWS: list[dict[str, Any]] = [
    {"name": "a", "type": "t", "properties": {"Status": "Scheduled", "Seconds": 5, "Resources": ["web_0", "web_1"]}},
    {"name": "b", "type": "T", "properties": {"Status": "Started", "Seconds": 30, "Urgent": True}},
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
        ("| where properties.Seconds == 30", "b"),
        ("| where properties.Seconds.Deeper == 'x'", ""),
        ("| where tolower(properties.Status) == 'started'", "b"),
        ("| where tostring(properties.Seconds) == ''", "c"),
        ("| where type =~ 't' and name != 'a'", "b"),
        ("| where type == 't' | where name == 'b'", ""),
        ("| order by name desc", "cba"),
        ("| sort by type asc, name", "bac"),
        ("| order by name asc | take 2", "ab"),
        ("| limit 1", "a"),
        (r"| where name != 'it\'s'", "abc"),
        ("| project name", "abc"),
        ("| where properties['Status'] == 'Started'", "b"),
        ("| where properties.Urgent == true", "b"),
        ("| extend status = tostring(properties.Status) | where status == 'Started'", "b"),
    ],
)
def test_given_a_query_when_run_then_it_finds_these(query: str, found: str) -> None:
    assert names(query) == list(found)


def test_given_columns_when_projected_then_paths_get_names_as_azure_gives_them() -> None:
    query = "things | where name == 'a' | project name, status = properties.Status, properties.Seconds"
    assert run(query, {"things": ROWS}) == [{"name": "a", "status": "Scheduled", "properties_Seconds": 5}]


def test_given_a_cast_when_projected_then_the_column_has_the_name_of_what_is_cast() -> None:
    query = "things | where name == 'a' | project tostring(properties.Status), properties['Seconds']"
    assert run(query, {"things": ROWS}) == [{"properties_Status": "Scheduled", "properties_Seconds": 5}]


def test_given_a_row_when_it_is_extended_then_it_keeps_what_it_had() -> None:
    (row,) = run("things | take 1 | extend kind = type, name = 'z'", {"things": ROWS})
    assert row == {**ROWS[0], "name": "z", "kind": "t"}


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("summarize count()", [{"count_": 3}]),
        ("where name == 'none' | summarize count()", [{"count_": 0}]),
        ("where name == 'none' | summarize count() by type", []),
        (
            "summarize n = count() by kind = tolower(type) | order by n asc",
            [{"kind": "u", "n": 1}, {"kind": "t", "n": 2}],
        ),
        (
            "where name != 'c' | summarize count() by type, tostring(properties.Status)",
            [
                {"type": "t", "properties_Status": "Scheduled", "count_": 1},
                {"type": "T", "properties_Status": "Started", "count_": 1},
            ],
        ),
    ],
)
def test_given_rows_when_counted_then_there_is_one_for_each_kind(query: str, rows: list[dict[str, Any]]) -> None:
    assert run(f"things | {query}", {"things": ROWS}) == rows


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("others", "'others' is not a table here"),
        ("things | summarize sum(properties.Seconds)", "the aggregate 'sum' is not known here"),
        ("things | summarize count() by properties.Status", "a group key is of a 'dynamic' type"),
        ("things | summarize count() by tags['a']", "a group key is of a 'dynamic' type"),
        ("things | project tolower(name)", "'tolower[(]…[)]' is known here with a name of its own only"),
        ("things | count", "the operator 'count' is not known here"),
        ("things | where name contains 'a'", "the comparison 'contains' is not known here"),
        ("things | where properties.Seconds > 5", "the comparison '>' is not known here"),
        ("things | where name !in ('a')", "the comparison '!' is not known here"),
        ("things | where isnotempty(name)", "the function 'isnotempty' is not known here"),
        ("things | where array_length(properties.Resources) == 1", "the function 'array_length' is not known here"),
        ("things | where name == 'a' or name == 'b'", "'or name == 'b'' is not known here"),
        ("things | where (name == 'a')", "'[(]' is not known here where a value was expected"),
        ("things | where name == properties.Resources[0]", "the index '0' is not known here"),
    ],
)
def test_given_more_of_the_language_when_it_is_used_then_it_is_refused_by_name(query: str, named: str) -> None:
    with pytest.raises(QueryError, match=named):
        run(query, {"things": ROWS})


@pytest.mark.parametrize(
    "query",
    [
        "things |",
        "things | where",
        "things | where name",
        "things | where name ==",
        "things | where name in ('a'",
        "things | order name",
        "things | take 1.5",
        "things | summarize",
        "things | summarize count",
        "things | where name == properties['Status'",
        "things | project name name",
        "things | where name == 'a' #",
        "| where name == 'a'",
    ],
)
def test_given_an_invalid_query_when_run_then_it_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        run(query, {"things": ROWS})
