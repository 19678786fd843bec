# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The notifications of a resource: how Azure writes them, and how they differ from what is desired.

Scale sets and VMs carry the same `scheduledEventsProfile`: `terminateNotificationProfile` announces a
deletion, `osImageNotificationProfile` an upgrade of the OS image. All here are values and pure functions.

Source: https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..scheduled_events.errors import OptionError
from .options import ArgumentSpec

SHORTEST_TIMEOUT = 5 * 60  # seconds
LONGEST_TIMEOUT = 15 * 60  # seconds
DEFAULT_TIMEOUT = SHORTEST_TIMEOUT
# The only notice that Azure accepts for OS images.
OS_IMAGE_TIMEOUT = 15 * 60  # seconds

ENABLED = "enabled"
DISABLED = "disabled"
STATES = (ENABLED, DISABLED)

_ISO_8601 = re.compile(r"pt(?=[0-9])(?:([0-9]{1,4})h)?(?:([0-9]{1,4})m)?(?:([0-9]{1,5})(?:\.0+)?s)?\Z")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9]):([0-5][0-9])\Z")
_SHORT = re.compile(r"([0-9]{1,5})\s*(s|m|min|h)\Z")
_MINUTES = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,6})?\Z")
_SECONDS_OF_UNIT = {"s": 1, "m": 60, "min": 60, "h": 3600}


class Notification(NamedTuple):
    """One of the two notifications, as it is or as it is wanted."""

    enable: bool = False
    timeout: int | None = None
    """Seconds of notice. None: Azure did not show it."""


class Notifications(NamedTuple):
    """Both notifications of one resource. One that Azure does not show is disabled."""

    terminate: Notification = Notification()
    os_image: Notification = Notification()


class DesiredState(NamedTuple):
    """What the user asked for. None: leave it unchanged."""

    terminate: bool
    timeout: int | None = None
    """Seconds, 300 to 900; None keeps the one that is set, or takes Azure's default where none is."""
    os_image: bool | None = None


def read_desired_state(options: Mapping[str, Any]) -> DesiredState:
    """Check the options that say which notifications are wanted.

    :raises OptionError: on the first that cannot be meant
    """
    value = options.get("not_before_timeout")
    return DesiredState(
        terminate=options["state"] == ENABLED,
        timeout=None if value is None else read_timeout(value),
        os_image=options.get("os_image_notification"),
    )


def read_timeout(value: Any) -> int:
    """Read `PT5M`, `5m`, `00:05:00`, or minutes as a number.

    :returns: seconds, from 300 to 900
    :raises OptionError: if it is none of these, or outside of the range
    """
    seconds = _seconds(str(value).strip().lower())
    if seconds is None or not SHORTEST_TIMEOUT <= seconds <= LONGEST_TIMEOUT:
        raise OptionError(
            "not_before_timeout: %r is not a time from 5 to 15 minutes. Give it as PT5M, 5m, 00:05:00, or as the number"
            " of minutes" % (value,)
        )
    return seconds


def format_timeout(seconds: int) -> str:
    """Write seconds as Azure does: `PT5M`, `PT5M30S`."""
    minutes, rest = divmod(seconds, 60)
    return "PT%s%s" % ("%dM" % minutes if minutes else "", "%dS" % rest if rest or not minutes else "")


def parse_profile(profile: Any) -> Notifications:
    """Read a `scheduledEventsProfile`, which may be absent, or hold only some of its parts."""
    content = profile if isinstance(profile, dict) else {}
    return Notifications(
        terminate=_parse(content.get("terminateNotificationProfile")),
        os_image=_parse(content.get("osImageNotificationProfile")),
    )


def in_effect(notifications: Notifications) -> Notifications:
    """Without the timeout of a notification that is off, which has no meaning."""
    terminate, os_image = (one if one.enable else Notification() for one in notifications)
    return Notifications(terminate, os_image)


def differ(shown: Notifications, wanted: Notifications) -> bool:
    """Whether something else is told than was wanted.

    Azure drops a notification that is turned off, with its timeout: what it shows then is `{}`.
    """
    return in_effect(shown) != in_effect(wanted)


def settle(desired: DesiredState, current: Notifications) -> Notifications:
    """What the notifications are to be: what is desired, and where nothing is said, what is there."""
    return Notifications(
        terminate=_settle(desired.terminate, current.terminate, desired.timeout, DEFAULT_TIMEOUT),
        os_image=(
            current.os_image
            if desired.os_image is None
            else _settle(desired.os_image, current.os_image, OS_IMAGE_TIMEOUT, OS_IMAGE_TIMEOUT)
        ),
    )


def profile_to_send(current: Notifications, wanted: Notifications) -> dict[str, Any]:
    """The `scheduledEventsProfile` that leads from one to the other, and holds nothing that is right already.

    Each of its parts is sent whole, as documented, so that it means the same whether Azure merges or
    replaces it. Empty if nothing differs.
    """
    profile = {}
    if wanted.terminate != current.terminate:
        profile["terminateNotificationProfile"] = _to_send(current.terminate, wanted.terminate)
    if wanted.os_image != current.os_image:
        profile["osImageNotificationProfile"] = _to_send(current.os_image, wanted.os_image)
    return profile


def as_dict(notifications: Notifications) -> dict[str, Any]:
    """Write both as the modules return them."""
    return {
        "terminate_notification": _as_dict(notifications.terminate),
        "os_image_notification": _as_dict(notifications.os_image),
    }


def _settle(enable: bool, current: Notification, timeout: int | None, default: int) -> Notification:
    if enable:
        return Notification(True, timeout or current.timeout or default)
    # A notification that is turned off loses its timeout. One that is off already is left unchanged.
    return Notification() if current.enable else current


def _parse(part: Any) -> Notification:
    if not isinstance(part, dict):
        return Notification()
    return Notification(part.get("enable") is True, _seconds(str(part.get("notBeforeTimeout")).strip().lower()))


def _to_send(current: Notification, wanted: Notification) -> dict[str, Any]:
    part: dict[str, Any] = {"enable": wanted.enable}
    timeout = wanted.timeout if wanted.enable else current.timeout
    if timeout is not None:
        part["notBeforeTimeout"] = format_timeout(timeout)
    return part


def _as_dict(notification: Notification) -> dict[str, Any]:
    timeout = notification.timeout
    return {
        "enabled": notification.enable,
        "not_before_timeout": None if timeout is None else format_timeout(timeout),
    }


def _seconds(text: str) -> int | None:
    """Seconds of a time in any of the forms; None if it is in none, or not of whole seconds."""
    match = _ISO_8601.match(text) or _CLOCK.match(text)
    if match:
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return hours * 3600 + minutes * 60 + seconds
    match = _SHORT.match(text)
    if match:
        return int(match.group(1)) * _SECONDS_OF_UNIT[match.group(2)]
    if _MINUTES.match(text):
        seconds_of_minutes = float(text) * 60
        return int(seconds_of_minutes) if seconds_of_minutes.is_integer() else None
    return None


def notification_arguments() -> ArgumentSpec:
    """Options that say which notifications are wanted, on which resource."""
    return {
        "resource_group": {"type": "str", "required": True},
        "name": {"type": "str", "required": True},
        "state": {"type": "str", "default": ENABLED, "choices": list(STATES)},
        "not_before_timeout": {"type": "str"},
        "os_image_notification": {"type": "bool"},
        "wait": {"type": "bool", "default": True},
    }
