# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts what happens and writes it in the text format of Prometheus."""

from typing import Any, Dict, List, Mapping, Sequence, Tuple

from foghorn_core.scheduled_events.text import plain

from ..decide.policy import STAGES
from ..decide.state import ENDED, SUCCEEDED, WITHDRAWN

Labels = Tuple[Tuple[str, str], ...]
Sample = Tuple[str, Labels, float]

_HELP = {
    "foghorn_in_rotation": ("gauge", "Whether the machine is in rotation."),
    "foghorn_events": ("gauge", "Events of this machine that are listed now, by type, status and phase."),
    "foghorn_seconds_until_start": ("gauge", "Notice left before an event, if Azure gives it."),
    "foghorn_check_ready": ("gauge", "Whether the application is ready, by check."),
    "foghorn_waiting_for_member": ("gauge", "Members that a shared event waits for, by name and reason."),
    "foghorn_member_errors_total": ("counter", "Answers of members that contain no usable status, by reason."),
    "foghorn_last_answer_timestamp_seconds": ("gauge", "When IMDS last returned a document."),
    "foghorn_journal_unwritten": ("gauge", "Journal records that are not on disk yet."),
    "foghorn_problems": ("gauge", "Whether the agent has this problem; /healthz explains it."),
    "foghorn_polls_total": ("counter", "Polls of IMDS, by result."),
    "foghorn_steps_total": ("counter", "Steps that ended, by stage and result."),
    "foghorn_approvals_total": ("counter", "Approvals sent, by result."),
    "foghorn_errors_total": ("counter", "Unexpected errors in the agent's loop."),
    "foghorn_webhooks_total": ("counter", "Webhooks, by result."),
    "foghorn_dry_run": ("gauge", "Whether the agent is in dry run."),
    "foghorn_dry_run_would_total": ("counter", "Steps and approvals that a dry run did not take."),
    "foghorn_stage_seconds": ("histogram", "Duration of the stages that ended, by stage and result."),
}

STAGE_SECONDS = "foghorn_stage_seconds"
# Within the 30 seconds of an eviction, the minutes of what is announced, and beyond.
BUCKETS = (1.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Upper bounds of the buckets, in seconds. One more bucket holds everything longer."""


class Taken:
    """How long stages of a kind took, in seconds."""

    def __init__(self) -> None:
        self.total = 0.0
        self.counts = [0] * (len(BUCKETS) + 1)
        """How many fell into each bucket, without those of the buckets before it."""


class Counters:
    """Counts that only ever grow."""

    def __init__(self) -> None:
        self.values: Dict[Tuple[str, Labels], float] = {}
        # Present from the beginning: if a counter first appears with a value of one, nobody sees that it has grown.
        self.stages: Dict[Tuple[str, str], Taken] = {(stage, SUCCEEDED): Taken() for stage in STAGES}

    def add(self, name: str, count: float = 1.0, **labels: str) -> None:
        """Count so many more."""
        key = name, tuple(sorted(labels.items()))
        self.values[key] = self.values.get(key, 0.0) + count

    def observe(self, seconds: float, stage: str, result: str) -> None:
        """Count the duration of a stage."""
        of = self.stages.setdefault((stage, result), Taken())
        of.total += seconds
        of.counts[sum(seconds > most for most in BUCKETS)] += 1


def render(status: Mapping[str, Any], last_answer: float, unwritten: int, counters: Counters) -> str:
    """Write all metrics. `status` is what `/status` answers."""
    samples: List[Sample] = [
        ("foghorn_in_rotation", (), float(status["in_rotation"])),
        ("foghorn_dry_run", (), float(bool(status["dry_run"]))),
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
        # Events that are over and only remembered do not start any more.
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
        ("foghorn_problems", (("with", name),), float(problem is not None))
        for name, problem in status["problems"].items()
    ]
    return as_text(samples) + _stages_as_text(counters)


def _stages_as_text(counters: Counters) -> str:
    lines = _head_of(STAGE_SECONDS)
    for (stage, result), taken in sorted(counters.stages.items()):
        labels: Labels = (("stage", stage), ("result", result))
        count = 0
        # In Prometheus's format a bucket includes the buckets before it.
        for most, within in zip((*BUCKETS, None), taken.counts):
            count += within
            bound = "+Inf" if most is None else repr(most)
            lines.append("%s_bucket%s %d" % (STAGE_SECONDS, _labels_as_text((*labels, ("le", bound))), count))
        lines.append("%s_sum%s %r" % (STAGE_SECONDS, _labels_as_text(labels), taken.total))
        lines.append("%s_count%s %d" % (STAGE_SECONDS, _labels_as_text(labels), count))
    return "\n".join(lines) + "\n"


def _head_of(name: str) -> List[str]:
    kind, text = _HELP[name]
    return ["# HELP %s %s" % (name, text), "# TYPE %s %s" % (name, kind)]


def as_text(samples: Sequence[Sample]) -> str:
    """Write samples as Prometheus reads them."""
    lines = []
    for name in sorted({name for name, _labels, _value in samples}):
        lines += _head_of(name)
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
