# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Download what takes long through the balancer named, and print as JSON what came, and when it began and ended.

To systemd it has started when the answer has begun.
"""

import hashlib
import json
import os
import socket
import sys
import time
import urllib.request

with urllib.request.urlopen(f"http://{sys.argv[1]}/long", timeout=600) as answer:
    began = time.time()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
    content = answer.read()
print(
    json.dumps(
        {
            "balancer": sys.argv[1],
            "began": began,
            "ended": time.time(),
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    )
)
