# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Getting started, pasted from the page block by block, takes a machine through its event."""

import re
from pathlib import Path

from ansible_collections.foghorn.azure_events.tests import ports, shell

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
SIMULATOR = ROOT / "roles" / "azure_simulator" / "files"


def test_given_the_page_when_its_blocks_are_pasted_then_the_machine_is_taken_through_the_reboot(tmp_path: Path) -> None:
    control, imds = ports.free_ports(2)
    page = PAGE.replace("8700", str(control)).replace("8080", str(imds))
    for name, content in re.findall(r"```yaml\n# (\w+\.yml)\n(.*?)```", page, re.DOTALL):
        (tmp_path / name).write_text(content, encoding="utf-8")
    install, *steps = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    assert "ansible-galaxy collection install" in install
    # What is installed here already, and at another place. The last lines stop what the page started.
    commands = "".join(step for step in steps if "azure_events.demo" not in step)
    build = f"pip install -q --no-deps --no-build-isolation --no-index --target {tmp_path}/installed {SIMULATOR}"
    commands = re.sub(r"^pip install .*$", build, commands, flags=re.MULTILINE).replace("kill %1", "")
    commands = commands.replace("azure-in-miniature ", f"{tmp_path}/installed/bin/azure-in-miniature ")
    told = shell.run(
        f"trap 'kill \"$simulator\"' EXIT\n{commands.replace('simulator.log &', 'simulator.log & simulator=$!')}",
        tmp_path,
        PYTHONPATH=f"{tmp_path}/installed",
        FOGHORN_SIMULATOR_CONTROL=f"http://127.0.0.1:{control}",
        NO_COLOR="1",
    )

    assert re.search(r'"msg": "Reboot of web_0 in \d+ s"', told), told
    assert re.search(r"prepared; approved with \d+ s of notice left; over; restored", told), told
    assert list(tmp_path.glob("*_is_stopped")) == []
