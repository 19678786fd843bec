# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many requests Resource Manager accepts: token buckets for reads, writes and deletes. Real time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Callable

from .config import ArmConfig, LimitConfig
from .errors import subscription_throttled
from .limits import counted_as

_OF_A_SET = LimitConfig(31, 0.5)


class Bucket:
    """One token bucket."""

    def __init__(self, limit: LimitConfig, now: float) -> None:
        self._limit = limit
        self._tokens = float(limit.bucket)
        self._at = now

    def take(self, now: float) -> int | None:
        """Take a token: how many are left; None when there was none."""
        limit = self._limit
        self._tokens = min(float(limit.bucket), self._tokens + (now - self._at) * limit.refill_per_second)
        self._at = now
        if self._tokens < 1:
            return None
        self._tokens -= 1
        return int(self._tokens)

    def wait(self) -> int:
        """Whole seconds until the next token."""
        return max(1, math.ceil((1 - self._tokens) / self._limit.refill_per_second))


class Throttle:
    """The buckets of all callers in all subscriptions."""

    def __init__(self, config: ArmConfig, clock: Callable[[], float]) -> None:
        self._limits = {"read": config.reads, "write": config.writes, "delete": config.deletes}
        self._clock = clock
        self._buckets: dict[tuple[str, str, str], Bucket] = {}
        self._sets: dict[str, Bucket] = {}  # by the id of a scale set, in lower case

    def count_set(self, resource_id: str) -> str:
        """What is left of the reads of one scale set, as Compute tells it; at 0 it still answers.

        Source: azure-cli's recording test_vmss_lifecycle_hook, from 30 on. How soon they come back is a guess.
        """
        bucket = self._sets.setdefault(resource_id.lower(), Bucket(_OF_A_SET, self._clock()))
        return f"Microsoft.Compute/GetVMScaleSetResource;{bucket.take(self._clock()) or 0}"

    def admit(self, method: str, subscription: str, caller: str, group: str = "") -> Mapping[str, str]:
        """The headers that tell what is left; refuses with 429 when nothing is.

        ``group``: what Compute counts the request as, which it tells with every answer.
        """
        kind = counted_as(method)
        now = self._clock()
        key = (kind, subscription.lower(), caller)
        bucket = self._buckets.setdefault(key, Bucket(self._limits[kind], now))
        left = bucket.take(now)
        if left is None:
            raise subscription_throttled(subscription, caller, kind, bucket.wait())
        counted = (
            {"x-ms-ratelimit-remaining-resource": f"Microsoft.Compute/{group}SubscriptionMaximum;{left}"}
            if group
            else {}
        )
        return {f"x-ms-ratelimit-remaining-subscription-{kind}s": str(left), **counted}
