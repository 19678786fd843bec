# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what HAProxy knows of its servers to its state file, for the process that replaces it."""

import socket

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect("/run/haproxy/admin.sock")
    connection.sendall(b"show servers state\n")
    state = b"".join(iter(lambda: connection.recv(65536), b""))
with open("/var/lib/haproxy/state", "wb") as file:
    file.write(state)
