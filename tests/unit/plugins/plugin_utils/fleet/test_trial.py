# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a trial takes for broken, and what its report keeps to itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.trial import (
    BROKEN,
    HELD,
    NOT_SEEN,
    compare,
    follow,
    make_report,
    write_page,
)
from hypothesis import given
from hypothesis import strategies as st

BEGIN = 1_788_000_000.0
EVENT_ID = "5C0429C8-309D-4B1E-B38D-F1DCCBCBDF05"
COMPUTE = {
    "name": "vm_0",
    "vmId": "5b2f6a3c-1111-4c4d-9a51-000000000001",
    "resourceId": "/subscriptions/s/resourceGroups/blue/providers/Microsoft.Compute/virtualMachines/vm_0",
    "subscriptionId": "s-1",
    "resourceGroupName": "blue",
    "vmScaleSetName": "",
    "location": "westeurope",
}
REFUSED = {"status": 400, "content": json.dumps({"error": "Bad request", "newest-versions": ["2025-04-07"]})}


def event(**changes: Any) -> dict[str, Any]:
    return {
        "EventId": EVENT_ID,
        "EventType": "Redeploy",
        "ResourceType": "VirtualMachine",
        "Resources": ["VM_0"],
        "EventStatus": "Scheduled",
        "NotBefore": "Sat, 29 Aug 2026 10:50:10 GMT",
        "Description": "Virtual machine is going to be redeployed as requested by authorized user.",
        "EventSource": "User",
        "DurationInSeconds": -1,
    } | changes


def document(incarnation: int, *events: Any) -> str:
    return json.dumps({"DocumentIncarnation": incarnation, "Events": events})


def answers(**changes: Any) -> dict[str, Any]:
    return {
        "events": {"status": 200, "content": document(1), "seconds": 1},
        "newest_events": {"status": 404, "content": "{}"},
        "instance": {"status": 200, "content": json.dumps(COMPUTE)},
        **dict.fromkeys(("no_header", "forwarded", "no_version", "bad_version"), REFUSED),
        **changes,
    }


def polls(*contents: str) -> list[dict[str, Any]]:
    return [{"at": BEGIN + 10 * number, "content": content} for number, content in enumerate(contents)]


STARTED = event(EventStatus="Started", NotBefore="")
LIFE = polls(document(1), document(2, event()), document(3, STARTED), document(4))


def broken(lines: Any) -> str:
    return "\n".join("%s: %s" % (line.contract, line.found) for line in lines if line.verdict == BROKEN)


def test_given_answers_by_the_contract_then_no_line_is_broken() -> None:
    lines = [*compare(answers()), *follow("Redeploy", "vm_0", LIFE, BEGIN)[0]]

    assert {line.verdict for line in lines} == {HELD}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"no_header": {"status": 200, "content": document(1)}}, "Metadata: true gets a 400: status 200"),
        ({"bad_version": {"status": 400, "content": '{"error": "Bad"}'}}, "a 400 without the list: status 400: Bad"),
        ({"no_version": {"status": 400, "content": '{"error": "Bad"}'}}, "a 400 without the list: status 400: Bad"),
        ({"events": {"status": 200, "content": '{"error": "x"}', "seconds": 1}}, "2020-07-01 is answered"),
        ({"events": {"status": 200, "content": document(1), "seconds": 140}}, "it took 140 s"),
        ({"newest_events": {"status": 200, "content": document(1, event(EventType="New"))}}, "EventType is New"),
        ({"newest_events": {"status": 500, "content": ""}}, "2024-07-09 is answered with a document"),
        ({"instance": {"status": -1}}, "no answer"),
        ({"instance": {"status": 200, "content": '{"name": "vm_0"}'}}, "lacks ['vmId'"),
    ],
)
def test_given_a_wrong_answer_then_its_line_is_broken(changes: dict[str, Any], expected: str) -> None:
    assert expected in broken(compare(answers(**changes)))


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ([document(1), document(2, event(Resources=["vm_01"])), document(3)], "no Redeploy that names the machine"),
        ([document(1), document(1, event()), document(2)], "DocumentIncarnation differs"),
        ([document(1), document(2, event(EventSource="Platform")), document(3)], "Its source is User: Platform"),
        ([document(1), document(2, event(NotBefore="Sat, 29 Aug 2026 10:41:00 GMT"))], "at least 600 s: 60 s"),
        ([document(1), document(2, STARTED), document(3, event()), document(4)], "Started → Scheduled"),
        ([document(1), document(2, event(EventStatus="Completed")), document(3)], "EventStatus is Completed"),
    ],
)
def test_given_an_event_that_does_not_go_by_the_contract_then_its_line_is_broken(
    contents: list[str], expected: str
) -> None:
    assert expected in broken(follow("Redeploy", "vm_0", polls(*contents), BEGIN)[0])


def test_given_a_new_field_then_it_is_told_and_nothing_is_broken() -> None:
    lines, _times = follow("Redeploy", "vm_0", polls(document(1), document(2, event(Novelty=1)), document(3)), BEGIN)

    assert broken(lines) == ""
    assert "new fields: Novelty" in [line.found for line in lines]


def test_given_an_event_that_nobody_approved_then_the_approval_was_not_seen() -> None:
    late = [*LIFE[:2], {"at": BEGIN + 2000, "content": document(3, STARTED)}]
    lines, _times = follow("Redeploy", "vm_0", late, BEGIN)

    assert [line.found for line in lines if line.verdict == NOT_SEEN] == [
        "the machine was not asked after that",
        "nobody approved it in time: it started by itself",
    ]


@pytest.mark.parametrize(
    ("seen", "known"),
    [(1, []), (2, ["announced"]), (3, ["announced", "started"]), (4, ["announced", "started", "gone"])],
)
def test_given_what_was_seen_then_its_times_say_how_far_the_event_has_come(seen: int, known: list[str]) -> None:
    _lines, times = follow("Redeploy", "vm_0", LIFE[:seen], BEGIN)

    assert [name for name, at in times.items() if at is not None] == known


def test_given_an_agent_that_was_quicker_than_the_polls_then_its_times_count() -> None:
    history = [
        {"kind": "seen", "at": BEGIN + 2, "event_id": EVENT_ID, "event": event()},
        {"kind": "approving", "at": BEGIN + 3, "event_ids": ["another"]},
        {"kind": "approving", "at": BEGIN + 4, "event_ids": [EVENT_ID]},
    ]

    times = follow("Redeploy", "vm_0", LIFE, BEGIN, history)[1]

    assert (times["announced"], times["approved by the agent"], times["started"]) == (2.0, 4.0, 20.0)


def test_given_a_report_when_written_for_a_person_then_it_names_each_host_and_what_was_seen_when() -> None:
    compute = {"status": 200, "content": json.dumps({**COMPUTE, "vmSize": "Standard_B2s"})}
    host = {"name": "web1", "answers": answers(instance=compute), "polls": LIFE, "requested_at": BEGIN, "agent": "1.2"}

    page = write_page(make_report({"ansible-core": "2.19.1"}, [host], "Redeploy", ["no time"]))

    assert page[:8] == [
        "# A trial of foghorn.azure_events",
        "",
        "Event: Redeploy",
        "ansible-core: 2.19.1",
        "PROBLEM: no time",
        "",
        "## host 1",
        "",
    ]
    assert {"agent: 1.2", "location: westeurope", "vmSize: Standard_B2s", "announced: 10.0 s after the request"} <= set(
        page
    )
    assert "held      Its source is User: User" in page
    assert page[-3].startswith("Lines of the contract: ")
    assert page[-1] == "FAILED"


@pytest.mark.parametrize(
    "note",
    [{"kind": "stage"}, {"kind": "approving", "at": "soon"}, {"kind": "seen", "at": None, "event": event()}],
    ids=lambda note: str(note["kind"]),
)
def test_given_a_history_that_no_agent_writes_then_that_is_a_problem_and_the_rest_is_reported(
    note: dict[str, Any],
) -> None:
    history = [note | {"event_id": EVENT_ID}]
    host = {"name": "web1", "answers": answers(), "polls": LIFE, "requested_at": BEGIN, "history": history}

    report = make_report({}, [host], "Redeploy")

    assert report["problems"] == ["host 1: what its agent has noted cannot be read"]
    assert "An approval starts it before its notice is over" in [
        line["contract"] for line in report["hosts"][0]["lines"]
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
names = st.from_regex(re.compile(r"[xyz]{2}[a-z0-9_-]{0,12}", re.ASCII), fullmatch=True)


@given(
    name=names,
    other=names,
    fields=st.dictionaries(st.sampled_from([*event(), "Novelty"]), anything),
    body=st.text() | anything.map(json.dumps),
)
def test_whatever_is_answered_the_report_is_made_and_holds_no_name_and_no_id(
    name: str, other: str, fields: dict[str, Any], body: str
) -> None:
    said = dict(COMPUTE, name=name, resourceGroupName=other)
    odd = event(Description="%s of %s (%s)" % (name, other, EVENT_ID)) | fields
    told = event(EventType="On %s" % name, Resources=[name, other])
    host = {
        "name": other,
        "answers": answers(
            instance={"status": 200, "content": json.dumps(said)},
            newest_events={"status": 200, "content": document(1, told, odd)},
            no_header={"status": 400, "content": body},
        ),
        "polls": polls(document(1), document(2, odd), body, document(3)),
        "requested_at": BEGIN,
    }

    others = COMPUTE["resourceId"].replace("blue", "pink")
    report = make_report({}, [host], "Redeploy", ["%s: failed" % others])

    text = "\n".join([*write_page(report), json.dumps(report)]).lower()
    for secret in (name, other, EVENT_ID, COMPUTE["vmId"], "pink"):
        assert not re.search(r"(?<!\w)%s(?!\w)" % re.escape(secret.lower()), text), secret
