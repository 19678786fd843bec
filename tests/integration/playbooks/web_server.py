# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's web server as a service: `web_server.py start|stop|status|serve DIRECTORY ADDRESS PORT`.

`/readyz` answers 503 while DIRECTORY/out_of_rotation is there.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

PATIENCE = 60.0
OWNER = "owner"
"""The file in DIRECTORY that holds the pid of the process which the server must not outlive."""

SEEN_READY = "seen_ready"
"""The file in DIRECTORY that is there once a probe was answered with 200."""


def end_with_owner(directory: Path) -> None:
    """End this process when its owner has: tests may be killed before they tidy up.

    In a file, because an agent gives its steps an environment of their own.
    """
    owner = Path("/proc", (directory / OWNER).read_text())
    while owner.exists():
        time.sleep(1)
    os._exit(1)


def serve(directory: Path, address: str, port: int) -> None:
    """Answer probes until the owner ends."""
    # Only here: the other commands are run often, and this takes longer than all that they do.
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_down = self.path == "/readyz" and (directory / "out_of_rotation").exists()
            if self.path == "/readyz" and not is_down:
                (directory / SEEN_READY).touch()
            self.send_response(503 if is_down else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            """Keep quiet."""

    threading.Thread(target=end_with_owner, args=(directory,), daemon=True).start()
    http.server.ThreadingHTTPServer((address, port), Handler).serve_forever()


def running(pid_file: Path) -> int:
    """The server's pid, 0 when there is none."""
    try:
        pid, began = pid_file.read_text().split()
        # Its parent may not have reaped it yet, and another process may have its pid by now.
        return int(pid) if began == began_at(int(pid)) and state_of(int(pid)) != "Z" else 0
    except (OSError, ValueError):
        return 0


def state_of(pid: int) -> str:
    return _fields_of(pid)[0]


def began_at(pid: int) -> str:
    """When a process began, by the clock of the kernel."""
    return _fields_of(pid)[19]


def _fields_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def main(command: str, directory: Path, address: str, port: int) -> int:
    """Do what a service manager would."""
    pid_file = directory / "web_server.pid"
    if command == "serve":
        serve(directory, address, port)
    if command == "status":
        return 0 if running(pid_file) else 3
    limit = time.monotonic() + PATIENCE
    if command == "stop":
        pid = running(pid_file)
        if pid:
            os.kill(pid, signal.SIGTERM)
        while running(pid_file) and time.monotonic() < limit:
            time.sleep(0.02)
        return 1 if running(pid_file) else 0
    with (directory / "web_server.log").open("w+") as log:
        server = subprocess.Popen(
            [sys.executable, "-S", __file__, "serve", str(directory), address, str(port)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        pid_file.write_text(f"{server.pid} {began_at(server.pid)}")
        while server.poll() is None and time.monotonic() < limit:
            with socket.socket() as probe:
                if probe.connect_ex((address, port)) == 0:
                    return 0
            time.sleep(0.02)
        log.seek(0)
        sys.stderr.write(log.read())
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
