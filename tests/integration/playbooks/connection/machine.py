# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to a machine that can be down: the local one, unless a file named like the host says so."""

from __future__ import annotations

import os
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as LocalConnection

DOCUMENTATION = """
name: machine
short_description: local connection to a machine that can be down
description: Fails as ssh does while the file HOST exists in the directory that FLEET_DOWN names.
author: The foghorn.azure_events contributors (!UNKNOWN)
extends_documentation_fragment: [connection_pipelining]
"""


class Connection(LocalConnection):
    """Reaches the machine when it is up."""

    transport = "machine"

    def exec_command(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, if the machine is up."""
        self._check()
        return super().exec_command(*args, **kwargs)

    def put_file(self, *args: Any, **kwargs: Any) -> Any:
        """Copy a file, if the machine is up."""
        self._check()
        return super().put_file(*args, **kwargs)

    def _check(self) -> None:
        if os.path.exists(os.path.join(os.environ["FLEET_DOWN"], self._play_context.remote_addr)):
            raise AnsibleConnectionFailure("connection refused")
