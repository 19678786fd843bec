# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Asks a machine's own URL, by what Ansible has for that."""

from http.client import HTTPException
from urllib.error import HTTPError

from ansible.module_utils.urls import open_url

from .scheduled_events.url import parse_url


def status_of(url: str, timeout: int) -> int:
    """Ask a URL within so many seconds; return the status of the answer.

    :raises ValueError: if it is no URL of HTTP, or does not answer in HTTP
    """
    parse_url(url)
    try:
        with open_url(url, use_proxy=False, timeout=timeout) as answer:
            return int(answer.getcode())
    except HTTPError as error:
        # It keeps the connection open.
        with error:
            return int(error.code)
    except HTTPException as error:
        raise ValueError("no usable answer: %r" % error) from error
