# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our client of a simulated Azure, for what Azure must remember."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import SignIn
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline

from tests.simulated_cloud import SUBSCRIPTION

Rest = Callable[[float], None]


def rest_a_little(_seconds: float) -> None:
    """In place of the seconds that Azure takes."""
    time.sleep(0.02)


def client_to(azure: Any, rest: Rest = rest_a_little, timeout: float = 120) -> ArmClient:
    """A client that is signed in there."""
    sign_in = SignIn("env", PUBLIC._replace(arm=azure.azure.arm), SUBSCRIPTION)
    return ArmClient(sign_in, Deadline(timeout), azure.credential, rest)
