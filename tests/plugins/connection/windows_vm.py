# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a Windows machine in two parts: PowerShell's engine runs on Linux, and what it starts under Wine.

Paths are those of Linux, which Wine understands.
"""

from __future__ import annotations

import base64
import os
import subprocess

from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: windows_vm
short_description: PowerShell's engine, with Wine
description:
  - Runs what comes as an encoded command in the engine that WINDOWS_VM_PWSH names.
author: The foghorn.azure_events contributors (!UNKNOWN)
"""

_ENCODED = "-EncodedCommand "


class Connection(LocalConnection):
    """Runs scripts where a Windows machine would."""

    transport = "windows_vm"
    has_pipelining = True
    always_pipeline_modules = True
    module_implementation_preferences = (".ps1", ".exe", "")

    def exec_command(self, cmd: str, in_data: bytes | None = None, **_options: object) -> tuple[int, bytes, bytes]:
        """Run a script, of which a module is input."""
        assert _ENCODED in cmd, cmd
        script = base64.b64decode(cmd.partition(_ENCODED)[2]).decode("utf-16-le")
        # What Windows starts by itself, Linux starts with Wine.
        script = script.replace("; & '", "; & wine '").replace("& $python", "& wine $python")
        done = subprocess.run(
            [os.environ["WINDOWS_VM_PWSH"], "-NoProfile", "-NonInteractive", "-Command", script],
            input=in_data or b"",
            capture_output=True,
            check=False,
            env={**os.environ, "ProgramFiles": os.path.join(os.environ["WINEPREFIX"], "drive_c", "Program Files")},
        )
        return done.returncode, done.stdout, done.stderr
