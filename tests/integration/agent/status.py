# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for `foghorn-agent status` where no agent runs: it has read the configuration when the systemctl beside it
was told to, and says what it is told to.

python3 status.py CONFIGURATION PROBLEM STATE_OF_SYSTEMCTL
"""

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

problem, systemctl = Path(sys.argv[2]), Path(sys.argv[3])
if not (systemctl / "active").exists():
    sys.exit("no answer")
told = problem.read_text() if problem.exists() else None
modified = os.stat(sys.argv[1]).st_mtime
since = datetime.fromtimestamp((systemctl / "active").stat().st_mtime, UTC)
print(
    json.dumps(
        {
            "configuration_modified": modified if modified <= (systemctl / "read").stat().st_mtime else 0.0,
            "running_since": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "problems": {"configuration": told},
        }
    )
)
