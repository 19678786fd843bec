# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells the service manager how the agent is doing."""

from typing import Callable, Mapping

from . import nt_service


class Notifier:
    """Speaks to the service manager, where there is one. No call ever waits or fails."""

    def __init__(self, _environment: Mapping[str, str], _clock: Callable[[], float]) -> None:
        self.watchdog_interval = None
        """Windows restarts a service that has ended, and does not watch one that hangs."""

    def ready(self) -> None:
        """The agent does its work now."""
        nt_service.say_running()

    def reloading(self) -> None:
        """The agent reads its configuration again: there is no word for it."""

    def stopping(self) -> None:
        """The agent is about to end."""
        nt_service.say_stopping()

    def status(self, _text: str) -> None:
        """One line about it: there is no place for it."""

    def sign_of_life(self) -> None:
        """Nobody waits for it."""

    def close(self) -> None:
        """Say nothing from now on."""
