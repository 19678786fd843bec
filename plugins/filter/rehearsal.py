# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter of a rehearsal, and the filter that draws reports. The YAML files of their names document them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import (
    as_plain,
    plain,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.rehearsal import (
    Machine,
    RehearsalError,
    judge,
    make_rehearsal,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.report_page import draw_rehearsal, draw_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

_NUMBERS: dict[str, Callable[[Any], Any]] = {"notice": float, "impact": float, "linger": float, "duration": int}


def rehearsal(_input: Any, what: str, **options: Any) -> Any:
    """Plan a rehearsal, or judge it."""
    if what not in _WHAT:
        raise AnsibleFilterError("rehearsal: what is %r: it is one of %s" % (what, ", ".join(sorted(_WHAT))))
    return _WHAT[what](_input, **options)


def _plan(machines: list[Mapping[str, Any]], event: Mapping[str, Any], endpoint: str = "") -> dict[str, Any]:
    """Check what was asked for."""
    known = [
        Machine(
            name=machine["name"],
            vm_name=machine["vm_name"],
            address=machine.get("address") or "",
            agent=machine.get("agent") or None,
            is_hit=bool(machine.get("is_hit", True)),
        )
        for machine in machines
    ]
    # Templates of ansible-core 2.16 turn none into an empty text, and numbers into text.
    given = {name: _NUMBERS.get(name, str)(value) for name, value in event.items() if value not in (None, "")}
    try:
        return make_rehearsal(known, given, endpoint)
    except RehearsalError as error:
        raise AnsibleFilterError(plain(str(error))) from error


def _report(
    plan: Mapping[str, Any],
    event: Mapping[str, Any] | None = None,
    histories: Mapping[str, str] | None = None,
    expected: str = "approved",
    problems: Sequence[str] = (),
) -> dict[str, Any]:
    """Judge whether the handler did its part."""
    noted = {
        name: [json.loads(line) for line in text.splitlines() if line.strip()]
        for name, text in (histories or {}).items()
    }
    report = judge(plan, event or None, noted, expected, problems)
    shown: dict[str, Any] = as_plain(report)
    return shown


def report_page(report: Mapping[str, Any]) -> str:
    """Draw a report of either kind."""
    return draw_run(report["hosts"]) if "hosts" in report else draw_rehearsal(report)


_WHAT: dict[str, Callable[..., Any]] = {
    "plan": _plan,
    "report": _report,
}


class FilterModule:
    """Offers the filters."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name them."""
        return {"rehearsal": untrusted(rehearsal), "report_page": untrusted(report_page)}
