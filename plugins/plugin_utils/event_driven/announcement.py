# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What is an announcement?

The one shape in which rulebooks see maintenance, wherever it was heard of: all of it under one key, and what
ansible-rulebook itself reads under `meta`.

The texts in it are somebody else's. ansible-rulebook gives every event to a playbook as extra variables, which Ansible
takes for its operator's own words and runs as templates: so no template leaves here.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ...module_utils.scheduled_events.document import Event, event_as_dict, format_date, name_key, parse_date
from ...module_utils.scheduled_events.text import harmless_fields, harmless_word

KEY = "azure_maintenance"

SCHEDULED_EVENT = "scheduled_event"
AGENT = "agent"
UPDATE_MANAGER = "update_manager"
KINDS = (SCHEDULED_EVENT, AGENT, UPDATE_MANAGER)

Json = dict[str, Any]

_NAMESPACE = uuid.UUID("6f1e4b0a-92cd-5f0c-8d5e-2f5f6d1b7a43")
# What opens an expression, a statement or a comment of Jinja.
_OPENING = re.compile(r"\{(?=[{%#])")
_OF_A_VM = ("affects_this_vm", "this_vm_leads")


def of_event(event: Event, told_by: str, now: datetime, resource_id: str | None = None) -> Json:
    """Announce a scheduled event in one of its statuses.

    :param told_by: where it was heard of: `agent`, `imds`, `resource_graph`, `event_grid`
    :param resource_id: of the VM, scale set or availability set that it was published for, where that is known
    """
    seen = event_as_dict(event, "", now)
    for name in _OF_A_VM:
        del seen[name]
    content = {"kind": SCHEDULED_EVENT, "told_by": told_by, "resource_id": resource_id, **seen}
    return announcement(content, (SCHEDULED_EVENT, event.event_id, event.event_status))


def announcement(content: Mapping[str, Any], identity: Iterable[str]) -> Json:
    """Wrap what is announced as ansible-rulebook wants it.

    :param content: what rulebooks see
    :param identity: what makes it this announcement and no other; the same gives the same `meta.uuid`, at any time
    """
    return {KEY: without_templates(dict(content)), "meta": {"uuid": identify(identity)}}


def identify(identity: Iterable[str]) -> str:
    """A UUID that is made of these words alone, in whatever case they come."""
    words = ["\x1f".join(name_key(word)) for word in identity]
    return str(uuid.uuid5(_NAMESPACE, "\x1e".join(words).encode("unicode_escape").decode("ascii")))


def without_templates(value: Any) -> Any:
    """Replace what opens a template by U+FFFD, in all text at any depth. Nothing may be nested deeply."""
    if isinstance(value, str):
        return _OPENING.sub("\ufffd", value) if "{" in value else value
    if isinstance(value, dict):
        return {without_templates(name): without_templates(child) for name, child in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_templates(child) for child in value]
    return value


def harmless_meta(meta: Any) -> Json:
    """What another source said of an event, as far as it can be handed on: without templates and orders to Ansible."""
    return {} if not isinstance(meta, dict) else without_templates(harmless_fields(_as_json(meta, 0)))


def word(value: Any) -> str | None:
    """A text that is compared and stands in lines with others; None if it is none, or empty."""
    return harmless_word(value) if isinstance(value, str) and value else None


def date(value: Any) -> str | None:
    """An instant in RFC 3339; None if it is none."""
    try:
        return format_date(parse_date(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _as_json(value: Any, depth: int) -> Any:
    """What JSON could hold, no deeper than it is read elsewhere; the rest is left out."""
    if isinstance(value, dict) and depth < _DEEPEST:
        return {str(name): _as_json(child, depth + 1) for name, child in value.items()}
    if isinstance(value, list) and depth < _DEEPEST:
        return [_as_json(child, depth + 1) for child in value]
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(type(value).__name__)


_DEEPEST = 16  # levels
