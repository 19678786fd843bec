# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the agent's program on a Python whose library is removed while it runs, as an upgrade to another version does.

usage: FOGHORN_REPLACED=FILE replaced_python.py PROGRAM ARGUMENT...

As soon as there is FILE, nothing more can be imported. Runs on Python 3.6 and later.
"""

import os
import sys
from typing import Any

sys.path.insert(0, sys.argv.pop(1))


class Replaced:
    """Comes before all other finders."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        if os.path.exists(os.environ.get("FOGHORN_REPLACED", "/nowhere/replaced")):
            raise ModuleNotFoundError("No module named %r" % name)


sys.meta_path.insert(0, Replaced())

from foghorn_agent import cli  # noqa: E402 - found on the path set above

sys.exit(cli.main())
