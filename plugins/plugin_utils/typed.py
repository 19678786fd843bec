# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Makes a value of what may be text: surveys, inventories in INI and `--extra-vars name=value` hand over nothing else.

Ansible's own checks accept such text for a list or a dictionary, and do not convert it for a role.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml
from ansible.module_utils.common.validation import (
    check_type_bool,
    check_type_dict,
    check_type_float,
    check_type_int,
    check_type_str,
)

_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "bool": check_type_bool,
    "dict": check_type_dict,
    "float": check_type_float,
    "int": check_type_int,
    "str": check_type_str,
}


def typed(value: Any, kind: str, elements: str | None = None) -> Any:
    """Convert a value to the type of an option.

    :param value: a list may be JSON or YAML, or entries separated by commas or line breaks; an empty text
        is an empty list or dictionary; None stays None
    :param kind: `list`, `bool`, `dict`, `float`, `int` or `str`
    :param elements: that of the entries of a list; None: they stay as they are
    :raises ValueError: if the value cannot be meant
    """
    if value is None:
        return None
    if isinstance(value, Sequence) and not isinstance(value, (str, list, tuple)):
        # Text that Ansible Vault has encrypted is no str, before ansible-core 2.19.
        value = str(value)
    try:
        if kind != "list":
            return (
                {}
                if kind == "dict" and value == ""
                else _CHECKS[kind](_read(value, ("{",)) if kind == "dict" else value)
            )
        entries = _entries(_read(value, ("[", "- ")))
        return entries if elements is None else [typed(entry, elements) for entry in entries]
    except (TypeError, ValueError, yaml.YAMLError) as error:
        raise ValueError("%r is no %s: %s" % (value, kind, str(error).splitlines()[0])) from error


def _read(value: Any, begin: tuple[str, ...]) -> Any:
    return yaml.safe_load(value) if isinstance(value, str) and value.strip().startswith(begin) else value


def _entries(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [entry.strip() for entry in re.split("[,\n]", value) if entry.strip()]
    if isinstance(value, Mapping):
        raise TypeError("it is a dictionary")
    return list(value) if isinstance(value, Sequence) else [value]
