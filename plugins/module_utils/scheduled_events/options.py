# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What may a user set?

The options that the modules, the lookup and whatever else asks IMDS have in common, checked before
anything is touched. Every error names the option, its value and the remedy.
"""

import re
from typing import Any, Callable, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence

from .client import DEFAULT_CONNECT_TIMEOUT, DEFAULT_ENDPOINT, DEFAULT_TIMEOUT, split_endpoint
from .deadline import read_seconds
from .document import GENERAL_API_VERSION
from .errors import OptionError
from .event import EVENT_STATUSES
from .selection import AFFECTING, ANY, Selection, any_of
from .words import read_sources, read_statuses, read_types, unknown_types, warning_of

_API_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_USER_INFO = re.compile(r"//[^/]*@")


class ConnectionOptions(NamedTuple):
    """How to reach IMDS. All times are in seconds."""

    endpoint: str = DEFAULT_ENDPOINT
    api_version: Optional[str] = None
    """None: the newest that the metadata service has."""
    timeout: float = DEFAULT_TIMEOUT
    connect_timeout: float = DEFAULT_CONNECT_TIMEOUT
    vm_name: Optional[str] = None
    """None: ask IMDS."""


def read_connection(options: Mapping[str, Any]) -> ConnectionOptions:
    """Check the connection options.

    :raises OptionError: on the first that cannot be meant
    """
    endpoint = options["endpoint"]
    try:
        split_endpoint(endpoint)
    except ValueError as error:
        # A password that somebody put there is not for the log.
        shown = _USER_INFO.sub("//…@", endpoint)
        raise OptionError("endpoint: %r %s. The default is %s" % (shown, error, DEFAULT_ENDPOINT)) from None
    api_version = options.get("api_version")
    if api_version is not None and not _API_VERSION.match(api_version):
        raise OptionError("api_version: %r is not a date like %s" % (api_version, GENERAL_API_VERSION))
    return ConnectionOptions(
        endpoint=endpoint,
        api_version=api_version,
        timeout=read_seconds(options, "timeout"),
        connect_timeout=read_seconds(options, "connect_timeout"),
        vm_name=_read_vm_name(options.get("vm_name")),
    )


def read_selection(options: Mapping[str, Any], statuses: Sequence[str] = EVENT_STATUSES) -> Selection:
    """Check the options that choose events.

    :param statuses: those that events may have where they are read
    :raises OptionError: on the first that cannot be meant
    """
    affecting = options.get("affecting") or ANY
    _check_words("affecting", [affecting], AFFECTING)
    event_ids = options.get("event_ids")
    for event_id in event_ids or ():
        if not event_id.strip():
            raise OptionError(
                "event_ids: %r is not an event id. Give those that scheduled_events_info returns" % event_id
            )
    return Selection(
        event_ids=None if event_ids is None else tuple(event_id.strip() for event_id in event_ids),
        event_types=_read_words(options, "event_types", read_types),
        event_sources=_read_words(options, "event_sources", read_sources),
        event_statuses=_read_words(options, "event_statuses", lambda given: read_statuses(given, statuses)),
        affecting=affecting,
    )


def warnings_for(options: Mapping[str, Any]) -> List[str]:
    """What somebody should know who chooses events like this."""
    return ["event_types: %s" % warning_of(word) for word in unknown_types(options.get("event_types") or ())]


def _read_vm_name(value: Optional[str]) -> Optional[str]:
    if value is None:
        return None
    if not value.strip():
        raise OptionError("vm_name: %r is empty. Give the VM's name in Azure, or leave it out to ask IMDS" % value)
    return value.strip()


def _read_words(
    options: Mapping[str, Any], name: str, read: Callable[[Sequence[str]], Sequence[str]]
) -> Optional[FrozenSet[str]]:
    given = options.get(name)
    try:
        return any_of(None if given is None else read(given))
    except ValueError as error:
        raise OptionError("%s: %s" % (name, error)) from None


def _check_words(name: str, words: Sequence[str], allowed: Sequence[str]) -> None:
    for word in words:
        if word not in allowed:
            raise OptionError("%s: %r is not one of %s" % (name, word, ", ".join(allowed)))
