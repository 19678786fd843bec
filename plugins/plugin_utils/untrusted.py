# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Hands text from elsewhere to a playbook, so that Ansible does not evaluate it.

Whoever can announce an event chooses its texts, and Ansible must not take them for templates.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ansible import template


def untrusted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark all text in a filter's result as untrusted, at any depth, so that it is never a template."""

    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        return _mark(function(*args, **kwargs))

    return marked


def _mark(value: Any) -> Any:
    # Since 2.19 only text that is marked as trusted is a template, and a filter's text never is. The older marks are
    # deprecated there.
    if hasattr(template, "trust_as_template"):
        return value
    from ansible.utils.unsafe_proxy import wrap_var

    return wrap_var(value)
