# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent does as long as it has no configuration that it could use: it says so, and looks again.

It guesses no policy: what the default ones would do, approve for one, may be just what the spoilt file forbids. Started
again and again instead, it would answer no probe, and its complaint would be one line among thousands.
"""

import contextlib
import selectors
import socket
import time
from typing import Mapping, Optional, Sequence

from ..config import Config, ConfigError
from ..http.endpoint import Asked, Endpoint, Response
from ..http.metrics import as_text
from ..io import log as levels
from ..io.config_file import ConfigFile
from ..io.log import Log
from ..platform import notify, wakeups

_LOOK_AGAIN = 1.0  # seconds
# The cause may be outside the file: a directory above it, or a disk.
_LOAD_AGAIN = 60.0  # seconds
_SAY_AGAIN = 600.0  # seconds until the same is logged again


def wait_for_config(
    file: ConfigFile,
    error: ConfigError,
    environment: Mapping[str, str],
    log: Log,
    signals: wakeups.Signals,
    sockets: Sequence[socket.socket] = (),
    is_out: bool = False,
) -> Optional[Config]:
    """Wait until the configuration can be used, and answer probes meanwhile.

    :param error: what is wrong with it now
    :param sockets: where to answer; without any, nobody knows where
    :param is_out: whether the machine is out of rotation
    :returns: the configuration; None if we are told to stop
    """
    with contextlib.ExitStack() as opened:
        selector = opened.enter_context(selectors.DefaultSelector())
        waiting = _Waiting(error, is_out)
        addresses = [sock.getsockname()[:2] for sock in sockets]
        endpoint = Endpoint(addresses, waiting.respond, selector, time.monotonic, inherited=sockets)
        opened.callback(endpoint.close)
        notifier = notify.Notifier(environment, time.monotonic)
        opened.callback(notifier.close)
        notifier.ready()
        load_at, say_at = time.monotonic() + _LOAD_AGAIN, 0.0
        while not signals.stop_asked:
            now = time.monotonic()
            if now >= say_at:
                say_at = now + _SAY_AGAIN
                log(levels.ERROR, "no event is handled until the configuration is corrected: %s" % waiting.error)
            notifier.status("nothing is handled: %s" % waiting.error)
            notifier.sign_of_life()
            if signals.reload_asked or file.has_changed or now >= load_at:
                signals.reload_asked = False
                load_at = now + _LOAD_AGAIN
                try:
                    return file.load()
                except ConfigError as found:
                    if str(found) != str(waiting.error):
                        waiting.error, say_at = found, now
            endpoint.expire()
            for key, mask in selector.select(_LOOK_AGAIN):
                endpoint.handle(key, mask)
        notifier.stopping()
        return None


class _Waiting:
    """What the endpoint answers meanwhile."""

    def __init__(self, error: ConfigError, is_out: bool) -> None:
        self.error = error
        self._is_out = is_out

    def respond(self, asked: Asked) -> Optional[Response]:
        """Answer one request; None for a path that is not there."""
        if asked.path == "/readyz":
            # The machine serves as before: a mistake in the agent's configuration is no failure of the application.
            if self._is_out:
                return Response(503, "text/plain", b"out of rotation\n")
            return Response(200, "text/plain", b"in rotation\n")
        if asked.path == "/healthz":
            # The content of the file is private to this machine.
            detail = "configuration: %s\n" % self.error if asked.is_local else ""
            text = "nothing is handled\n" + detail
            return Response(503, "text/plain; charset=utf-8", text.encode("utf-8", "replace"))
        if asked.path == "/metrics" and asked.is_local:
            samples = [
                ("foghorn_in_rotation", (), float(not self._is_out)),
                ("foghorn_problems", (("with", "configuration"),), 1.0),
            ]
            return Response(200, "text/plain; version=0.0.4", as_text(samples).encode("utf-8"))
        return None
