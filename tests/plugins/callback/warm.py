# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares the process that leads a run for the hundreds that it forks, one for each task of each host.

No test sees anything of this but its time.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from typing import Any

from ansible import constants
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: warm
type: notification
short_description: make a run cheap
description:
  - Imports the modules that WARM_IMPORTS names, as far as they are there, so that no process has to that the run forks.
  - Keeps what Ansible puts together to send, modules with all that they import, in the directory WARM_MODULES.
author: The foghorn.azure_events contributors (!UNKNOWN)
"""


class CallbackModule(CallbackBase):
    """Does all it does when a playbook begins."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "warm"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, _playbook: Any) -> None:
        """Prepare this process."""
        if directory := os.environ.get("WARM_MODULES"):
            # Each run has a directory of its own for them, and putting together takes a tenth of the time of a run.
            with contextlib.suppress(FileExistsError):
                os.symlink(directory, os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache"))
        for name in ["ansible.module_utils.basic", *os.environ.get("WARM_IMPORTS", "").split()]:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        # What is here now is never looked through again, which would copy it in each fork. Nor is anything else: runs
        # are short.
        gc.collect()
        gc.freeze()
        gc.disable()
