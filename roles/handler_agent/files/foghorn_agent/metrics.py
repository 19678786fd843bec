# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what happens and writes it in the text format of Prometheus."""

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from foghorn_core.text import plain

from .state import ENDED, WITHDRAWN
from .status import TROUBLES

Labels = Tuple[Tuple[str, str], ...]
Sample = Tuple[str, Labels, float]

_HELP = {
    "foghorn_in_rotation": ("gauge", "Whether the machine is in rotation."),
    "foghorn_events": ("gauge", "Events of this machine that are listed now."),
    "foghorn_seconds_until_start": ("gauge", "Notice left before an event, where Azure says it."),
    "foghorn_check_ready": ("gauge", "Whether the application was found well, by check."),
    "foghorn_waiting_for_member": ("gauge", "Members that a shared event waits for, by name and reason."),
    "foghorn_member_errors_total": ("counter", "Members that gave no status that could be used, by reason."),
    "foghorn_last_answer_timestamp_seconds": ("gauge", "When IMDS last gave a document."),
    "foghorn_journal_unwritten": ("gauge", "Journal records that the disk has not taken."),
    "foghorn_trouble": ("gauge", "Whether something is wrong with what the agent needs; /healthz says what."),
    "foghorn_polls_total": ("counter", "Documents asked for, by result."),
    "foghorn_steps_total": ("counter", "Steps that ended, by stage and result."),
    "foghorn_approvals_total": ("counter", "Approvals sent, by result."),
    "foghorn_errors_total": ("counter", "Turns of the loop that ended in an error that nobody foresaw."),
    "foghorn_webhooks_total": ("counter", "Webhooks, by result."),
}


class Counters:
    """Counts that only ever grow."""

    def __init__(self) -> None:
        self.values: Dict[Tuple[str, Labels], float] = {}

    def add(self, name: str, count: float = 1.0, **labels: str) -> None:
        """Count so many more."""
        key = name, tuple(sorted(labels.items()))
        self.values[key] = self.values.get(key, 0.0) + count


def render(status: Mapping[str, Any], last_answer: float, unwritten: int, counters: Counters) -> str:
    """Write all metrics. `status` is what `/status` answers."""
    samples: List[Sample] = [
        ("foghorn_in_rotation", (), float(status["in_rotation"])),
        ("foghorn_last_answer_timestamp_seconds", (), last_answer),
        ("foghorn_journal_unwritten", (), float(unwritten)),
    ]
    samples += [
        ("foghorn_check_ready", (("check", check["name"]),), float(check["ready"])) for check in status["checks"]
    ]
    by_kind: Dict[Labels, int] = {}
    for event in status["events"]:
        labels = (
            ("phase", event["phase"]),
            ("status", event["event_status"]),
            ("type", event["event_type"]),
        )
        by_kind[labels] = by_kind.get(labels, 0) + 1
        # What is over and kept in mind, until the machine is restored or for good, starts no more.
        if event["seconds_until_start"] is not None and event["phase"] not in (ENDED, WITHDRAWN):
            samples.append(
                (
                    "foghorn_seconds_until_start",
                    (("event_id", event["event_id"]), ("type", event["event_type"])),
                    float(event["seconds_until_start"]),
                )
            )
        samples += [
            (
                "foghorn_waiting_for_member",
                (("event_id", event["event_id"]), ("member", one["vm_name"]), ("reason", one["reason"])),
                1.0,
            )
            for one in event["waiting_for"]
        ]
    samples += [("foghorn_events", labels, float(count)) for labels, count in by_kind.items()]
    samples += [(name, labels, value) for (name, labels), value in counters.values.items()]
    samples += [
        ("foghorn_trouble", (("with", name),), float(status[key] is not None)) for key, name in TROUBLES.items()
    ]
    return as_text(samples)


def as_text(samples: Sequence[Sample]) -> str:
    """Write samples as Prometheus reads them."""
    lines = []
    for name in sorted({name for name, _labels, _value in samples}):
        kind, text = _HELP[name]
        lines += ["# HELP %s %s" % (name, text), "# TYPE %s %s" % (name, kind)]
        lines += [
            "%s%s %r" % (name, _labels_as_text(labels), value)
            for sample, labels, value in sorted(samples)
            if sample == name
        ]
    return "\n".join(lines) + "\n"


def _labels_as_text(labels: Labels) -> str:
    if not labels:
        return ""
    pairs = []
    for name, value in labels:
        escaped = plain(value).replace("\\", "\\\\").replace('"', '\\"')
        pairs.append('%s="%s"' % (name, escaped))
    return "{%s}" % ",".join(pairs)
