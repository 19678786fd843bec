# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boot of the machine is this, and which directories were made for the service?"""

import subprocess
import sys
from pathlib import Path
from typing import Dict, Optional

import pytest
from edge_helpers import PATIENCE
from foghorn_agent.platform.posix.machine import boot_id, runtime_directory_of, state_directory_of


def test_given_a_kernel_with_a_boot_id_when_asked_then_it_is_returned(tmp_path: Path) -> None:
    path = tmp_path / "boot_id"
    path.write_text("0b9fbd8c-6c4f-4cfd-8a5c-f0a8a4a4a4a4\n")
    assert boot_id(str(path)) == "0b9fbd8c-6c4f-4cfd-8a5c-f0a8a4a4a4a4"


def test_given_the_same_boot_when_asked_twice_then_the_id_is_the_same() -> None:
    assert boot_id() == boot_id()


def test_given_a_machine_that_has_hibernated_when_asked_for_the_time_then_the_time_it_slept_counts() -> None:
    # In a time namespace, as after hours of sleep: the clock that counts them is ahead of the one that does not.
    unshare = ["unshare", "--user", "--map-root-user", "--time", "--boottime", "36000", "--fork", sys.executable, "-c"]
    if subprocess.run([*unshare, ""], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("no time namespaces here")
    ask = "import sys, time; sys.path[:] = %r; from foghorn_agent.platform import machine; %s"
    said = subprocess.run(
        [*unshare, ask % (sys.path, "print(machine.elapsed() - time.monotonic())")],
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=True,
    )
    assert float(said.stdout) > 35000.0


@pytest.mark.parametrize("content", [None, b"\n", b"\xff\xfe"])
def test_given_no_such_file_or_none_with_an_id_when_asked_then_there_is_none(
    tmp_path: Path, content: Optional[bytes]
) -> None:
    path = tmp_path / "boot_id"
    if content is not None:
        path.write_bytes(content)
    assert boot_id(str(path)) is None


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (None, None)),
        ({"STATE_DIRECTORY": "", "RUNTIME_DIRECTORY": "/run/a"}, (None, "/run/a")),
        ({"STATE_DIRECTORY": "/var/lib/a:/var/lib/b"}, ("/var/lib/a", None)),
    ],
)
def test_given_directories_of_the_service_manager_then_the_first_is_used(
    environment: Dict[str, str], expected: object
) -> None:
    assert (state_directory_of(environment), runtime_directory_of(environment)) == expected
