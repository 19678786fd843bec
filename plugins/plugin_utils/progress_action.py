# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Lets a long-running module report its progress.

Ansible shows what a module returns, when it has ended. So the module writes its progress to a file of the controller's,
and the action of its name shows what is there.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible import constants
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ..module_utils.scheduled_events.text import plain

AT_LEAST_EVERY = 30.0  # seconds
_AT_MOST_EVERY = 5.0  # seconds
_LOOK_EVERY = 1.0  # seconds
_LONGEST = 500  # characters
INTERRUPTED = "Ctrl-C ends this task; Azure continues the operations that it has accepted, and another run resumes"


@contextmanager
def showing_progress(
    tell: Callable[[str], None],
    directory: str,
    look_every: float = _LOOK_EVERY,
    at_most_every: float = _AT_MOST_EVERY,
    at_least_every: float = AT_LEAST_EVERY,
) -> Iterator[str]:
    """Create the path of a file, and report what is written to it while the context lasts.

    A change is reported at most every `at_most_every` seconds, an unchanged text every `at_least_every` seconds.

    :param directory: of the controller's, for the file
    """
    descriptor, path = tempfile.mkstemp(prefix="foghorn_progress_", dir=directory)
    os.close(descriptor)
    ended = threading.Event()

    def listen() -> None:
        began = told_at = time.monotonic()
        told = ""
        while not ended.wait(look_every):
            now = time.monotonic()
            said = _read(path)
            is_news = said != told and (not told or now - told_at >= at_most_every)
            if is_news or now - told_at >= at_least_every:
                what = "%s, after %d s" % (said or "the state of the instances is not known yet", now - began)
                tell(what if told else "%s. %s" % (what, INTERRUPTED))
                told, told_at = said or what, now

    listener = threading.Thread(target=listen, name="progress", daemon=True)
    listener.start()
    try:
        yield path
    finally:
        ended.set()
        listener.join()
        os.unlink(path)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return plain(file.read(_LONGEST).partition("\n")[0]).strip()


class ProgressAction(ActionBase):
    """Runs the module of its name, and shows its progress."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_async = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run it. In the background nobody would see the progress."""
        begun: dict[str, Any] = super().run(tmp, task_vars)
        if self._task.async_val:
            return {**begun, **self._execute_module(task_vars=task_vars, wrap_async=True)}
        name = self._task.args.get("name")
        display = Display()
        with showing_progress(
            lambda line: display.display("[%s]: %s" % (name, line), stderr=True), constants.DEFAULT_LOCAL_TMP
        ) as path:
            arguments = {**self._task.args, "progress_file": path}
            return {**begun, **self._execute_module(module_args=arguments, task_vars=task_vars)}
