# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for `foghorn-agent status` where no agent runs: it has read the configuration, and says what it is told to.

python3 status.py CONFIGURATION PROBLEM
"""

import json
import os
import sys
from pathlib import Path

problem = Path(sys.argv[2])
told = problem.read_text() if problem.exists() else None
print(
    json.dumps(
        {
            "configuration_modified": os.stat(sys.argv[1]).st_mtime,
            "problems": {"configuration": told},
        }
    )
)
