# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check that managed-node code keeps to Python 3.6, and the core to the standard library."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[3] / "tools" / "check_managed_node_code.py"
CORE = "plugins/module_utils/scheduled_events/client.py"
MODULE = "plugins/modules/scheduled_events_info.py"
AGENT = "roles/handler_agent/files/foghorn_agent/agent.py"
ARM = "plugins/module_utils/arm/client.py"


def _check(root: Path, path: str, source: str) -> tuple[int, str]:
    file = root / path
    file.parent.mkdir(parents=True)
    file.write_text(source, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(TOOL), str(root)], stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    return run.returncode, run.stdout


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        pytest.param(MODULE, "pass\nif (n := 1):\n    pass\n", ":2: not Python 3.6: ", id="newer syntax"),
        pytest.param(
            MODULE,
            "from __future__ import annotations\n",
            ":1: not Python 3.6: from __future__ import annotations",
            id="a future that 3.6 does not know",
        ),
        pytest.param(CORE, "import os, requests.adapters\n", ":1: imports requests.adapters; ", id="a library"),
        pytest.param(AGENT, "import requests\n", ":1: imports requests; ", id="a library in the agent"),
        pytest.param(CORE, "import foghorn_agent.cli\n", ":1: imports foghorn_agent.cli; ", id="the agent in the core"),
        pytest.param(
            CORE, "from ansible.module_utils import basic\n", ":1: imports ansible.module_utils; ", id="ansible"
        ),
    ],
)
def test_given_code_that_managed_nodes_cannot_run_when_checked_then_its_file_and_line_are_named(
    path: str, source: str, complaint: str, tmp_path: Path
) -> None:
    status, output = _check(tmp_path, path, source)
    assert status == 1
    assert output.startswith(path + complaint)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        pytest.param(CORE, "import http.client\nfrom . import document\n", id="standard library and relative"),
        pytest.param(AGENT, "from foghorn_core.scheduled_events.client import Deadline\n", id="the core in the agent"),
        pytest.param(MODULE, "from ansible.module_utils import basic\n", id="Ansible in a module"),
        pytest.param(ARM, "import requests\nif (n := 1):\n    pass\n", id="anything on the controller"),
    ],
)
def test_given_code_in_its_right_place_when_checked_then_there_is_no_complaint(
    path: str, source: str, tmp_path: Path
) -> None:
    assert _check(tmp_path, path, source) == (0, "managed-node code: no complaints\n")
