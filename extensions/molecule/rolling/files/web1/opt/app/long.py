# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers every request with six million bytes, little by little, and with the last of them when it may: see HELD."""

import http.server
import time
from pathlib import Path

HELD = Path("/run/hold-long")
"""As long as it is there no download ends."""
CHUNK = b"0123456789" * 10_000
CHUNKS = 60


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(CHUNK) * CHUNKS))
        self.end_headers()
        for number in range(1, CHUNKS + 1):
            while number == CHUNKS and HELD.exists():
                time.sleep(0.2)
            self.wfile.write(CHUNK)
            time.sleep(0.1)

    def log_message(self, *_arguments: object) -> None:
        pass


http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
