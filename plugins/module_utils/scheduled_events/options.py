# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The options that these modules and the lookup share.

The options that the modules, the lookup and whatever else asks IMDS have in common, checked before
anything is touched. Every error names the option, its value and the remedy.
"""

import re
from typing import Any, Mapping, NamedTuple, Optional

from .client import DEFAULT_CONNECT_TIMEOUT, DEFAULT_ENDPOINT, DEFAULT_TIMEOUT, split_endpoint
from .deadline import read_seconds
from .document import GENERAL_API_VERSION
from .errors import OptionError
from .url import hide_password

_API_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


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
        raise OptionError(
            "endpoint: %r %s. The default is %s" % (hide_password(endpoint), error, DEFAULT_ENDPOINT)
        ) from None
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


def _read_vm_name(value: Optional[str]) -> Optional[str]:
    if value is None:
        return None
    if not value.strip():
        raise OptionError("vm_name: %r is empty. Give the VM's name in Azure, or leave it out to ask IMDS" % value)
    return value.strip()
