# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of the collection is what git knows, and keeps what ansible-test has installed in it."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "tools" / "copy_collection.py"


def test_given_a_copy_when_made_again_then_what_is_gone_is_removed_and_what_ansible_test_installed_is_kept(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "plugins" / "modules" / "removed" / "old.py"
    installed = tmp_path / "tests" / "output" / ".tmp" / "delegation" / "python3.12" / "marker.txt"
    changed = tmp_path / "README.md"
    for path in (gone, installed, changed):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")

    subprocess.run([sys.executable, str(TOOL), str(tmp_path)], check=True)

    assert installed.exists()
    assert not gone.parent.exists()
    assert changed.read_bytes() == (TOOL.parents[1] / "README.md").read_bytes()
