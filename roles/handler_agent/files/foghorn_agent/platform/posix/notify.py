# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tells systemd how the agent is doing: sd_notify(3), with the standard library alone."""

import os
import socket
import time
from typing import Callable, Mapping, Optional


class Notifier:
    """Speaks to the service manager, where there is one. No call ever waits or fails.

    :param environment: where the service manager says that it listens, and how often it wants to hear
    :param clock: monotonic, in seconds
    """

    def __init__(self, environment: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._socket: Optional[socket.socket] = None
        if self._address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
            self._socket.setblocking(False)
        self.watchdog_interval = _watchdog_interval(environment)
        """Seconds between signs of life: half of what the service manager allows. None: it does not watch."""
        self._last_sign: Optional[float] = None
        self._last_status: Optional[str] = None

    def ready(self) -> None:
        """The agent does its work now."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The agent reads its configuration again; `ready` says when it has."""
        self._send("RELOADING=1\nMONOTONIC_USEC=%d" % (time.monotonic() * 1e6))

    def stopping(self) -> None:
        """The agent is about to end."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`, sent when it differs from the last one."""
        line = " ".join(text.split())
        if line != self._last_status and self._send("STATUS=" + line):
            self._last_status = line

    def sign_of_life(self) -> None:
        """Keep the watchdog quiet, if there is one. Call it at each turn of the loop: it sends when it is time."""
        if self.watchdog_interval is None:
            return
        now = self._clock()
        is_due = self._last_sign is None or now - self._last_sign >= self.watchdog_interval
        if is_due and self._send("WATCHDOG=1"):
            self._last_sign = now

    def close(self) -> None:
        """Say nothing from now on."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str) -> bool:
        if self._socket is None or self._address is None:
            return False
        try:
            self._socket.sendto(message.encode("utf-8", "replace"), self._address)
        except OSError:
            # The service manager is busy or gone. What matters is said again.
            return False
        return True


def _address(name: str) -> Optional[bytes]:
    if name.startswith("/"):
        return os.fsencode(name)
    if name.startswith("@"):
        return b"\0" + os.fsencode(name[1:])
    return None


def _watchdog_interval(environment: Mapping[str, str]) -> Optional[float]:
    # A watchdog for another process is not ours to keep quiet.
    if environment.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    try:
        microseconds = int(environment.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return None
    return microseconds / 2e6 if microseconds > 0 else None
