# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A trial on real Azure: compares what the metadata service answered with what this collection relies on.

Answers are raw, as they came: what the core makes of them is what is on trial. They come through a managed host, so
that no text in them is trusted, and the report holds neither names nor ids.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.scheduled_events.dates import parse_date
from ...module_utils.scheduled_events.event import (
    EVENT_SOURCES,
    EVENT_STATUSES,
    EVENT_TYPES,
    FINAL_EVENT_TYPES,
    STARTED,
    name_key,
)
from ...module_utils.scheduled_events.text import as_plain, sanitize_line
from .rehearsal import APPROVED, describe_machine, judge_machine, read_figures

Json = Mapping[str, Any]

HELD = "held"
BROKEN = "broken"
NOT_SEEN = "not seen"

# Seconds. Azure enables the service within two minutes of the first request, and announces within about five more.
_LONGEST_FIRST_ANSWER = 120.0
_LONGEST_ANNOUNCEMENT = 300.0
# Seconds of notice that Azure documents. That of a Preempt is "best effort".
_LEAST_NOTICE = {"Reboot": 900.0, "Redeploy": 600.0, "Terminate": 300.0}
# Seconds. The request and the announcement are timed by two clocks.
_CLOCKS_DIFFER = 30.0
_LONGEST_QUOTE = 200  # characters
_SHORTEST_NAME = 2  # characters

_GUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RESOURCE_ID = re.compile(r"(?i)/subscriptions/[^\s'\"]+")
# What identifies the machine or its owner, in the answer about the instance.
_IDENTIFIES = ("name", "vmId", "resourceId", "subscriptionId", "resourceGroupName", "vmScaleSetName")
_TELLS_OF_AZURE = ("location", "zone", "vmSize", "osType")


class Line(NamedTuple):
    """One thing that this collection relies on."""

    contract: str
    verdict: str
    """`HELD`, `BROKEN` or `NOT_SEEN`."""
    found: str


def compare(answers: Mapping[str, Json]) -> list[Line]:
    """Compare the answers to the questions of the playbook with the contract.

    :param answers: by the name of the question: `status`, `content` and `seconds`
    """
    lines = [
        _refusal(answers, "no_header", "A request without the header Metadata: true gets a 400"),
        _refusal(answers, "forwarded", "A request with X-Forwarded-For gets a 400"),
        _refusal(answers, "no_version", "A request without api-version gets a 400 that lists newest-versions", True),
        _refusal(answers, "bad_version", "An unknown api-version gets a 400 that lists newest-versions", True),
    ]
    lines += _documents("2020-07-01", answers.get("events", {}))
    newest = answers.get("newest_events", {})
    if newest.get("status") in (400, 404):
        said = "answers %s: it does not have it, and 2020-07-01 is used" % newest["status"]
        lines.append(Line("2024-07-09 is answered, or refused with 404 or 400", HELD, said))
    else:
        lines += _documents("2024-07-09", newest)
    seconds = _number(answers.get("events", {}).get("seconds"))
    late = seconds is not None and seconds > _LONGEST_FIRST_ANSWER
    lines.append(
        Line(
            "The first answer comes within %g s" % _LONGEST_FIRST_ANSWER,
            NOT_SEEN if seconds is None else BROKEN if late else HELD,
            "no time was taken" if seconds is None else "it took %g s" % seconds,
        )
    )
    compute = _parse(answers.get("instance", {}))
    lacks = [key for key in _IDENTIFIES if not isinstance((compute or {}).get(key), str)]
    lines.append(
        Line(
            "The instance says its name and its ids",
            _verdict(compute is not None and not lacks and bool((compute or {}).get("name"))),
            _answer(answers.get("instance", {})) if compute is None else "lacks %s" % lacks if lacks else "it has all",
        )
    )
    return lines


def read_name(answers: Mapping[str, Json]) -> str:
    """The name of the machine in Azure; empty if it did not say one."""
    return str((_parse(answers.get("instance", {})) or {}).get("name") or "")


def follow(
    event_type: str, vm_name: str, polls: Sequence[Json], requested_at: float, history: Sequence[Json] | None = None
) -> tuple[list[Line], dict[str, Any]]:
    """Compare the life of the event that was caused with the contract, and say how the machine went through it.

    :param polls: the documents, each with `at`, seconds since the epoch, and `content`. The first one is from before
    :param history: what the agent of the machine has noted; None without an agent
    :returns: the lines, and the times in seconds since the request
    """
    documents = _documents_of(polls)
    seen = _listed(event_type, vm_name, documents)
    lines = [_incarnation([document for _at, document in documents])]
    announced = "What was requested is announced to the machine by its name, within %g s" % _LONGEST_ANNOUNCEMENT
    if not seen:
        found = "no %s that names the machine was listed" % event_type
        return [*lines, Line(announced, BROKEN, found)], {}
    key = _id(seen[0][1])
    mine = _own(seen)
    # A quick agent sees and approves it between two polls.
    noted = [
        (float(note["at"]), note["event"])
        for note in history or ()
        if isinstance(note.get("event"), dict) and _id(note["event"]) == key
    ]
    all_seen = sorted([*mine, *noted], key=lambda one: one[0])
    times: dict[str, Any] = {"announced": round(all_seen[0][0] - requested_at, 1)}
    lines.append(Line(announced, _verdict(times["announced"] <= _LONGEST_ANNOUNCEMENT), _after(times["announced"])))
    lines += dict.fromkeys(_fields(event) for _at, event in mine)
    if event_type not in FINAL_EVENT_TYPES:
        sources = sorted({str(event.get("EventSource")) for _at, event in mine})
        lines.append(Line("Its source is User", _verdict(sources == ["User"]), ", ".join(sources)))
    not_before = next((at for _at, event in all_seen for at in [_instant(event.get("NotBefore"))] if at), None)
    least = _LEAST_NOTICE.get(event_type)
    notice = None if not_before is None else not_before - requested_at
    if least is not None:
        promised = "Its notice is at least %g s" % least
        if notice is None:
            lines.append(Line(promised, NOT_SEEN, "it had none when it was first seen"))
        else:
            lines.append(Line(promised, _verdict(notice >= least - _CLOCKS_DIFFER), "%.0f s" % notice))
    statuses = [str(event.get("EventStatus")) for _at, event in mine]
    in_order = statuses == sorted(statuses, key=lambda one: one == STARTED)
    lines.append(
        Line("Its status goes from Scheduled to Started", _verdict(in_order), " → ".join(dict.fromkeys(statuses)))
    )
    start = next((at for at, event in all_seen if event.get("EventStatus") == STARTED), None)
    if start is not None:
        times["started"] = round(start - requested_at, 1)
    gone = next((at for at, _document in documents if at > mine[-1][0]), None)
    times["gone"] = None if gone is None else round(gone - requested_at, 1)
    lines.append(
        Line(
            "When it is over it is no longer listed",
            HELD if gone is not None else NOT_SEEN,
            _after(times["gone"]) if gone is not None else "the machine was not asked after that",
        )
    )
    lines.append(_approval(start, not_before))
    if history is not None:
        lines += _handled(event_type, key, history, requested_at, times)
    return lines, times


def make_report(versions: Json, hosts: Sequence[Json], event_type: str, problems: Iterable[str] = ()) -> dict[str, Any]:
    """The report of a trial, without names and ids.

    :param hosts: each with `name`, `answers`; `agent`, its version; if an event was caused, `polls`, `requested_at` and
        the `history` of its agent
    :param problems: what went wrong with the trial itself
    """
    problems = list(problems)
    names: list[str] = []
    reports: list[dict[str, Any]] = []
    for number, host in enumerate(hosts, 1):
        answers = host.get("answers") or {}
        compute = _parse(answers.get("instance", {})) or {}
        names += [str(host["name"]), *(compute[key] for key in _IDENTIFIES if isinstance(compute.get(key), str))]
        polls = [*(host.get("polls") or ()), answers.get("events", {}), answers.get("newest_events", {})]
        names += [str(name) for poll in polls for name in _resources(poll)]
        lines = compare(answers)
        times: dict[str, Any] = {}
        if host.get("requested_at"):
            polled, requested_at = host.get("polls") or (), float(host["requested_at"])
            try:
                more, times = follow(event_type, read_name(answers), polled, requested_at, host.get("history"))
            except (AttributeError, KeyError, TypeError, ValueError):
                # Only the history is read as it is: a machine that was taken over can write anything into it.
                problems.append("host %d: what its agent has noted cannot be read" % number)
                more, times = follow(event_type, read_name(answers), polled, requested_at)
            lines += [line for line in more if line not in lines]
        reports.append(
            {
                "host": "host %d" % number,
                "agent": _quote(host.get("agent") or "none"),
                "azure": {key: _quote(compute[key]) for key in _TELLS_OF_AZURE if compute.get(key)},
                "lines": [line._asdict() for line in lines],
                "seconds_since_the_request": times,
            }
        )
    broken = sum(line["verdict"] == BROKEN for report in reports for line in report["lines"])
    report: dict[str, Any] = {
        "passed": not broken and not problems,
        "event": event_type,
        "versions": dict(versions),
        "problems": problems,
        "hosts": reports,
    }
    masked: dict[str, Any] = as_plain(_mask(report, _patterns(names)))
    return masked


def write_page(report: Json) -> list[str]:
    """The report for a person, line by line."""
    lines = ["# A trial of foghorn.azure_events", "", "Event: %s" % (report["event"] or "none, only read")]
    lines += ["%s: %s" % (name, value) for name, value in report["versions"].items()]
    lines += ["PROBLEM: %s" % problem for problem in report["problems"]]
    for host in report["hosts"]:
        lines += ["", "## %s" % host["host"], "", "agent: %s" % host["agent"]]
        lines += ["%s: %s" % (name, value) for name, value in host["azure"].items()]
        lines += ["%s: %s s after the request" % one for one in host["seconds_since_the_request"].items()]
        lines += ["", *("%-8s  %s: %s" % (one["verdict"], one["contract"], one["found"]) for one in host["lines"])]
    verdicts = [one["verdict"] for host in report["hosts"] for one in host["lines"]]
    counted = ", ".join("%d %s" % (verdicts.count(verdict), verdict) for verdict in (HELD, BROKEN, NOT_SEEN))
    invited = "The JSON of this report has no names and no ids: please attach it to an issue of the collection."
    return [
        *lines,
        "",
        "Lines of the contract: %s. %s" % (counted, invited),
        "",
        "PASSED" if report["passed"] else "FAILED",
    ]


# --- lines ----------------------------------------------------------------------------------------


def _refusal(answers: Mapping[str, Json], name: str, contract: str, lists_versions: bool = False) -> Line:
    answer = answers.get(name, {})
    if answer.get("status") == 429:
        return Line(contract, NOT_SEEN, _answer(answer))
    held = answer.get("status") == 400
    if held and lists_versions:
        versions = (_parse(answer) or {}).get("newest-versions")
        if not isinstance(versions, list):
            return Line(contract, BROKEN, "a 400 without the list: %s" % _answer(answer))
        return Line(contract, HELD, ", ".join(str(one) for one in versions[:5]))
    return Line(contract, _verdict(held), _answer(answer))


def _documents(version: str, answer: Json) -> list[Line]:
    contract = "%s is answered with a document of events" % version
    document = _events_of(answer)
    if document is None:
        return [Line(contract, NOT_SEEN if answer.get("status") == 429 else BROKEN, _answer(answer))]
    return [
        Line(contract, HELD, "%d events" % len(document["Events"])),
        *dict.fromkeys(map(_fields, document["Events"])),
    ]


_FIELDS: Mapping[str, Callable[[Any], bool]] = {
    "EventId": lambda value: isinstance(value, str) and bool(_GUID.fullmatch(value)),
    "EventType": lambda value: value in EVENT_TYPES,
    "ResourceType": lambda value: value == "VirtualMachine",
    "Resources": lambda value: (
        isinstance(value, list) and bool(value) and all(isinstance(name, str) and name for name in value)
    ),
    "EventStatus": lambda value: value in EVENT_STATUSES,
    "NotBefore": lambda value: value == "" or _instant(value) is not None,
    "Description": lambda value: isinstance(value, str),
    "EventSource": lambda value: value in EVENT_SOURCES,
    "DurationInSeconds": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= -1,
}


def _fields(event: Json) -> Line:
    """Whether an event has the fields, with values of the known kinds. A new field is no fault, and is told."""
    wrong = [
        "%s is %s" % (name, _quote(event[name]) if name in event else "missing")
        for name, is_right in _FIELDS.items()
        if name not in event or not is_right(event[name])
    ]
    new = sorted(_quote(name) for name in event if name not in _FIELDS)
    return Line(
        "An event has the known fields, types and values",
        _verdict(not wrong),
        "; ".join(wrong) if wrong else "new fields: %s" % ", ".join(new) if new else "all of them",
    )


def _incarnation(documents: Sequence[Json]) -> Line:
    contract = "DocumentIncarnation differs whenever the events do"
    pairs = [
        (one["DocumentIncarnation"], two["DocumentIncarnation"])
        for one, two in itertools.pairwise(documents)
        if one["Events"] != two["Events"]
    ]
    if not pairs:
        return Line(contract, NOT_SEEN, "the events did not change")
    return Line(contract, _verdict(all(one != two for one, two in pairs)), "changed %d times" % len(pairs))


def _approval(start: float | None, not_before: float | None) -> Line:
    contract = "An approval starts it before its notice is over"
    if start is None or not_before is None:
        return Line(contract, NOT_SEEN, "its start was not seen, or its notice not known")
    if start < not_before:
        return Line(contract, HELD, "started %.0f s before NotBefore" % (not_before - start))
    return Line(contract, NOT_SEEN, "nobody approved it in time: it started by itself")


def _handled(
    event_type: str, event_id: str, history: Sequence[Json], requested_at: float, times: dict[str, Any]
) -> list[Line]:
    figures = read_figures(history, {"event_id": event_id, "created": requested_at})
    approved = next(
        (
            note["at"]
            for note in history
            if note.get("kind") == "approving"
            and event_id in [str(one).lower() for one in (note.get("event_id"), *(note.get("event_ids") or ()))]
        ),
        None,
    )
    times["approved by the agent"] = None if approved is None else round(approved - requested_at, 1)
    times.update({"prepared": figures["ready"], "back": figures["back"]})
    failures = judge_machine(figures, event_type in FINAL_EVENT_TYPES, APPROVED)
    contract = "The agent drains, stops, approves, and restores when the event is over"
    return [Line(contract, _verdict(not failures), "; ".join(failures) or describe_machine(figures, True, True))]


def _verdict(held: bool) -> str:
    return HELD if held else BROKEN


def _after(seconds: float) -> str:
    return "%.0f s after the request" % seconds


def _answer(answer: Json) -> str:
    """An answer that is not what it should be. Its text is quoted only if it is JSON's own error."""
    status = answer.get("status")
    if status in (None, -1):
        return "no answer"
    document = _parse(answer)
    error = (document or {}).get("error")
    return "status %s" % status + (": %s" % _quote(error) if isinstance(error, str) else "")


# --- what is in an answer -------------------------------------------------------------------------


def _parse(answer: Json) -> dict[str, Any] | None:
    """The object that it holds; None if it does not hold one."""
    try:
        document = json.loads(answer["content"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _events_of(answer: Json) -> dict[str, Any] | None:
    """Its document of events; None if it is none."""
    document = _parse(answer)
    if document is None or answer.get("status", 200) != 200:
        return None
    events, incarnation = document.get("Events"), document.get("DocumentIncarnation")
    if not isinstance(incarnation, int) or isinstance(incarnation, bool) or not isinstance(events, list):
        return None
    return document if all(isinstance(event, dict) for event in events) else None


def _documents_of(polls: Sequence[Json]) -> list[tuple[float, dict[str, Any]]]:
    return [(float(poll["at"]), document) for poll in polls for document in [_events_of(poll)] if document is not None]


def _listed(
    event_type: str, vm_name: str, documents: Sequence[tuple[float, Json]]
) -> list[tuple[float, dict[str, Any]]]:
    """The events of this type that name the machine and are not in the first document, as often as they were listed."""
    before = {_id(event) for event in documents[0][1]["Events"]} if documents else set()
    return [
        (at, event)
        for at, document in documents
        for event in document["Events"]
        if _id(event) not in before and event.get("EventType") == event_type and _hits(event, vm_name)
    ]


def _own(seen: Sequence[tuple[float, dict[str, Any]]]) -> list[tuple[float, dict[str, Any]]]:
    """All that was seen of the first of these events."""
    return [(at, event) for at, event in seen if _id(event) == _id(seen[0][1])]


def _resources(answer: Json) -> list[str]:
    events = (_events_of(answer) or {"Events": []})["Events"]
    return [name for event in events for name in _resources_of(event)]


def _hits(event: Json, vm_name: str) -> bool:
    return name_key(vm_name) in [name_key(name) for name in _resources_of(event)]


def _resources_of(event: Json) -> list[str]:
    names = event.get("Resources")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _id(event: Json) -> str:
    return str(event.get("EventId")).lower()


def _instant(value: Any) -> float | None:
    try:
        return parse_date(value).timestamp() if isinstance(value, str) and value else None
    except ValueError:
        return None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _quote(value: Any) -> str:
    return sanitize_line(value if isinstance(value, str) else json.dumps(value), _LONGEST_QUOTE)


# --- names and ids --------------------------------------------------------------------------------


def _patterns(names: Iterable[str]) -> list[tuple[re.Pattern[str], str]]:
    """What is replaced by what. The longest first, because a name may be part of another."""
    known = sorted({name.lower() for name in names if len(name) >= _SHORTEST_NAME}, key=lambda name: (-len(name), name))
    named = [(re.compile(r"(?i)(?<!\w)%s(?!\w)" % re.escape(name)), "NAME") for name in known]
    return [(_RESOURCE_ID, "RESOURCE_ID"), (_GUID, "GUID"), *named]


def _mask(value: Any, patterns: Sequence[tuple[re.Pattern[str], str]]) -> Any:
    if isinstance(value, str):
        for pattern, stands_for in patterns:
            value = pattern.sub(stands_for, value)
        return value
    if isinstance(value, Mapping):
        # The names of the report's own fields are not masked: a machine may be called "found".
        return {key: _mask(one, patterns) for key, one in value.items()}
    return [_mask(one, patterns) for one in value] if isinstance(value, (list, tuple)) else value
