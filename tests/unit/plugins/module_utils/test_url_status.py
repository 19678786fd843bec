# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A URL is asked over HTTP."""

from __future__ import annotations

import socket
import threading

from ansible_collections.foghorn.azure_events.plugins.module_utils.polling import other_status
from ansible_collections.foghorn.azure_events.plugins.module_utils.url_status import status_of


def test_given_an_endpoint_that_does_not_speak_http_then_that_is_what_is_wrong_with_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as connection:
                connection.recv(65536)
                # An alert of TLS.
                connection.sendall(b"\x15\x03\x01\x00\x02\x02\x46")

        thread = threading.Thread(target=answer)
        thread.start()
        said = other_status("http://127.0.0.1:%d/readyz" % server.getsockname()[1], status_of)
        thread.join()

    assert said.startswith("no usable answer: BadStatusLine(")


def test_given_an_endpoint_that_refuses_then_its_status_is_returned_and_its_connection_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        left: list[bytes] = []

        def answer() -> None:
            with server.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\n")
                left.append(connection.recv(65536))

        thread = threading.Thread(target=answer)
        thread.start()
        status = status_of("http://127.0.0.1:%d/readyz" % server.getsockname()[1], 30)
        thread.join(10)

    assert status == 503
    assert left == [b""]
