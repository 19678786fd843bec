# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is known of a machine whose connection is lost during a step.

To Ansible it is unreachable, which no `rescue` and no `failed_when` sees; and where `ignore_unreachable` keeps it in
the play, its next task begins as if all was well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleConnectionFailure

from ..module_utils.scheduled_events.text import plain


def fail_if_unreachable(run: Callable[[], dict[str, Any]], doing: str) -> dict[str, Any]:
    """Return the answer, or a failure that says during which step the machine was lost."""
    try:
        return run()
    except AnsibleConnectionFailure as error:
        said = "The machine could not be reached while it was %s: %s" % (doing, plain(str(error)))
        return {"failed": True, "changed": False, "msg": said}
