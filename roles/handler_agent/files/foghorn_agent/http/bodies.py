# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of webhooks other than CloudEvents, with fields filled in. Pure.

Loaded only where one is configured.
"""

import re
from datetime import datetime, timedelta
from string import Template
from typing import Any, Dict, List, Mapping, Optional

from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.document import event_as_dict
from foghorn_core.scheduled_events.event import Event
from foghorn_core.scheduled_events.text import plain

_LATER = re.compile(r"in_[0-9]{1,7}\Z")
_DEEPEST_BODY = 32  # levels

# What a body may be made of, besides `in_SECONDS`.
FIELDS = (
    "text",
    "stage",
    "state",
    "outcome",
    "stopped",
    "failed",
    "time",
    "vm_name",
    "event_id",
    "event_type",
    "event_status",
    "event_source",
    "description",
    "resources",
    "not_before",
    "duration_in_seconds",
)


def fields_of(
    stage: str, record: Mapping[str, Any], event: Optional[Event], vm_name: str, event_id: str, time: datetime
) -> Dict[str, str]:
    """What a body may be made of, for one thing that happened. What is not known is empty.

    :param event: the one that it is about; None where there is none, or it is forgotten by now
    """
    told = event_as_dict(event, vm_name, time) if event is not None else {}
    back_from = record.get("back_from", ())
    if back_from:
        # A machine is restored once, for all events that it left rotation for.
        for name in ("event_type", "outcome"):
            told[name] = " ".join(sorted({str(one[name]) for one in back_from if one[name]}))
        event_id = " ".join(str(one["event_id"]) for one in back_from)
    told.update(
        stage=stage,
        # How far a stage has come, or how an event came to its end.
        state=record.get("state") or record.get("how"),
        time=format_date(time),
        vm_name=vm_name,
        event_id=event_id,
        resources=" ".join(told.get("resources", ())),
        stopped=", ".join(record.get("stopped", ())),
        failed=", ".join(record.get("failed", ())),
    )
    fields = {name: "" if told.get(name) is None else plain(str(told[name])) for name in FIELDS}
    of = " ".join(one for one in (fields["event_type"], fields["event_id"], fields["outcome"]) if one)
    words = " ".join(one for one in (stage, fields["state"]) if one)
    fields["text"] = "%s: %s%s" % (vm_name, words, " (%s)" % of if of else "")
    fields["text"] += "; stopped: %s" % fields["stopped"] if fields["stopped"] else ""
    fields["text"] += "; did not end well: %s" % fields["failed"] if fields["failed"] else ""
    return fields


def fill(template: Any, fields: Mapping[str, str], time: datetime) -> Any:
    """Put the fields into every text of a body; names and all other values stay as they are.

    So what comes out is JSON of the same form whatever an event says: no quotation mark in it ends a text.

    :param time: that `in_SECONDS` is counted from
    """
    if isinstance(template, dict):
        return {name: fill(value, fields, time) for name, value in template.items()}
    if isinstance(template, list):
        return [fill(value, fields, time) for value in template]
    return _Template(template).substitute(_Fields(fields, time)) if isinstance(template, str) else template


def problems_with(template: Any, depth: int = 0) -> List[str]:
    """The mistakes in a body: unknown fields, and dollar signs that begin no field."""
    if depth > _DEEPEST_BODY:
        return ["is nested deeper than %d levels" % _DEEPEST_BODY]
    if isinstance(template, dict):
        template = list(template.values())
    if isinstance(template, list):
        return [problem for value in template for problem in problems_with(value, depth + 1)]
    problems = []
    for match in _Template.pattern.finditer(template if isinstance(template, str) else ""):
        name = match.group("named") or match.group("braced")
        if match.group("escaped") is None and name not in FIELDS and not _LATER.match(name or ""):
            # What follows may be a part of a password.
            known = ", ".join(FIELDS)
            problems.append("a $ begins no field: write $$ for a dollar; fields are %s, in_SECONDS" % known)
    return problems


class _Template(Template):
    flags = re.ASCII


class _Fields(Dict[str, str]):
    """The fields, with `in_SECONDS` computed when a body asks for it."""

    def __init__(self, fields: Mapping[str, str], time: datetime) -> None:
        super().__init__(fields)
        self._time = time

    def __missing__(self, name: str) -> str:
        # No configuration has any other.
        return format_date(self._time + timedelta(seconds=int(name[len("in_") :])))
