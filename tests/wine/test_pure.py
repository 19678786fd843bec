# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a Windows Python decide as Linux does? Tests of the agent and the core that need nothing but memory.

The core's tests with sockets pass there too, but now and then Wine's own server ends (with status 1) in the middle, and
what it serves waits for it forever.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from .conftest import PYTHON, ROOT, run, windows

PACKAGES = Path(os.environ.get("WINDOWS_PACKAGES", ""))
AGENT = ROOT / "tests/unit/roles/handler_agent"
CORE = ROOT / "tests/unit/plugins/module_utils/scheduled_events"
SUITES = [
    *(AGENT / f"test_{name}.py" for name in ("decisions", "state", "stateful", "status", "still_down")),
    *(CORE / f"test_{name}.py" for name in ("document", "url")),
]
# Without the conftest of the agent, which looks at /proc. Linux takes more examples.
PROGRAM = """
import sys
sys.path[:0] = {paths!r}
import hypothesis, pytest
hypothesis.settings.register_profile("few", max_examples=20, deadline=None, database=None)
hypothesis.settings.load_profile("few")
options = ["-q", "--noconftest", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "-c", "NUL"]
sys.exit(pytest.main([*options, *{suites!r}]))
"""


def test_given_a_windows_python_then_what_knows_of_no_system_passes_its_tests_there() -> None:
    packages = [PACKAGES, Path(sysconfig.get_path("purelib"))]
    ours = [ROOT / "roles/handler_agent/files", ROOT / ".cache/agent", AGENT, ROOT / ".cache/collections", ROOT]
    program = PROGRAM.format(paths=list(map(windows, [*packages, *ours])), suites=list(map(windows, SUITES)))

    done = run(PYTHON, "-IS", "-B", "-c", program)

    assert done.process.returncode == 0, done.output
    assert " passed in " in done.output.splitlines()[-1], done.output
