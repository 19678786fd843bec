# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter of a trial. The YAML file of its name documents it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.trial import make_report, write_page
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.untrusted import untrusted

_ROOT = Path(__file__).resolve().parents[2]


def trial(
    machines: Sequence[Mapping[str, Any]],
    event_type: str = "",
    versions: Mapping[str, Any] | None = None,
    problems: Sequence[str] = (),
) -> dict[str, Any]:
    """Judge the answers of the machines."""
    hosts = [
        {**host, "answers": _read_answers(host["asked"]), "history": _read_history(host.get("history"))}
        for host in machines
    ]
    report = make_report({"collection": _version(), **(versions or {})}, hosts, event_type, problems)
    return {**report, "page": write_page(report)}


def _read_answers(asked: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        one["item"]["name"]: {
            "status": one.get("status"),
            "content": one.get("content"),
            "seconds": one.get("elapsed"),
        }
        for one in asked
    }


def _read_history(text: Any) -> list[dict[str, Any]] | None:
    # It is a managed host's word.
    try:
        return [json.loads(line) for line in str(text).splitlines() if line.strip()] or None
    except ValueError:
        return None


def _version() -> str:
    manifest = _ROOT / "MANIFEST.json"
    if manifest.exists():
        return str(json.loads(manifest.read_text("utf-8"))["collection_info"]["version"])
    return str(yaml.safe_load((_ROOT / "galaxy.yml").read_text("utf-8"))["version"])


class FilterModule:
    """Offers the filter."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Name it."""
        return {"trial": untrusted(trial)}
