# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports in the process that leads a run what its forks need, one for each task of each host.

The tests run modules in such forks (plugins/connection/machine.py). No test sees anything of this but its time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: preload
type: notification
short_description: import what the forks of a run need
description:
  - Imports the modules that PRELOAD names, as far as they are installed, so that each fork has them already.
author: The foghorn.azure_events contributors (!UNKNOWN)
"""


class CallbackModule(CallbackBase):
    """Does all it does when a playbook begins."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "preload"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, _playbook: Any) -> None:
        """Prepare this process."""
        for name in ["ansible.module_utils.basic", *os.environ.get("PRELOAD", "").split()]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        # A fork copies each object that its garbage collector visits. Runs are short: none is needed.
        gc.collect()
        gc.freeze()
        gc.disable()
