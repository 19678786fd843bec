# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Azure has answered, as far as it was recorded or documented: `fixtures/azure`, each with its source.

The modules are played the answers, and the simulator is asked the same. A `fault` makes the simulator refuse in the
same way. `{web}` and the like in a path stand for scale sets, `{sets}` for their list, `{vm}` for a VM, `{gate}` for an
application gateway, `{pool}` for a pool of a load balancer, `{graph}` for Resource Graph, `{operation}` for where an
operation is followed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parent / "fixtures" / "azure"
NAMES = sorted(path.stem for path in FIXTURES.glob("*.json"))


def read(name: str) -> dict[str, Any]:
    """One of them."""
    content: dict[str, Any] = json.loads((FIXTURES / (name + ".json")).read_text(encoding="utf-8"))
    return content


def answers(name: str) -> list[dict[str, Any]]:
    """Its answers, in their order."""
    return [one["answer"] for one in read(name)["exchanges"]]


def differences(recorded: Any, shown: Any, where: str = "body") -> list[str]:
    """Where the shape of an answer is another than the recorded one; what it has besides is no difference.

    A row of a list is held against the row of its name, and otherwise against the first.
    """
    if isinstance(recorded, dict):
        if not isinstance(shown, dict):
            return ["%s is %r" % (where, shown)]
        if not recorded and shown:
            return ["%s is not empty: %r" % (where, shown)]
        missing = ["%s has no %s" % (where, name) for name in recorded if name not in shown]
        inner = [differences(recorded[name], shown[name], where + "." + name) for name in recorded if name in shown]
        return missing + [one for found in inner for one in found]
    if isinstance(recorded, list):
        if not isinstance(shown, list) or bool(recorded) != bool(shown):
            return ["%s is %r" % (where, shown)]
        names = {one["name"]: one for one in shown if isinstance(one, dict) and "name" in one}
        found = [
            differences(one, names.get(one.get("name"), shown[0]) if isinstance(one, dict) else shown[0], where + "[]")
            for one in recorded
        ]
        return [one for some in found for one in some]
    if (
        where.endswith((".code", ".status", ".serviceState", ".priority", ".health", ".orchestrationMode"))
        and recorded != shown
    ):
        return ["%s is %r in place of %r" % (where, shown, recorded)]
    return [] if type(recorded) is type(shown) else ["%s is %r" % (where, shown)]
