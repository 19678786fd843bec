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
    ],
)
def test_given_a_query_when_run_then_it_finds_these(query: str, found: str) -> None:
    assert names(query) == list(found)


def test_given_columns_when_projected_then_paths_get_names_as_azure_gives_them() -> None:
    query = "things | where name == 'a' | project name, status = properties.Status, properties.Seconds"
    assert run(query, {"things": ROWS}) == [{"name": "a", "status": "Scheduled", "properties_Seconds": 5}]


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("others", "'others' is not a table here"),
        ("things | summarize count()", "the operator 'summarize' is not known here"),
        ("things | extend status = name", "the operator 'extend' is not known here"),
        ("things | count", "the operator 'count' is not known here"),
        ("things | where name contains 'a'", "the comparison 'contains' is not known here"),
        ("things | where properties.Seconds > 5", "the comparison '>' is not known here"),
        ("things | where name !in ('a')", "the comparison '!' is not known here"),
        ("things | where isnotempty(name)", "the function 'isnotempty' is not known here"),
        ("things | where array_length(properties.Resources) == 1", "the function 'array_length' is not known here"),
        ("things | where name == 'a' or name == 'b'", "'or name == 'b'' is not known here"),
        ("things | where (name == 'a')", "'[(]' is not known here where a value was expected"),
        ("things | where properties['Status'] == 'Started'", "the comparison '\\[' is not known here"),
        ("things | where name == properties.Resources[0]", "'\\[ 0 ]' is not known here"),
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
        "things | project name name",
        "things | where name == 'a' #",
        "| where name == 'a'",
    ],
)
def test_given_a_query_that_is_none_when_run_then_it_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        run(query, {"things": ROWS})
