# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""A run as text, between two tasks of the playbook: each task is a process of its own.

The file is in the temporary directory of the one ansible-playbook that wrote it, and goes with it. What outlasts a run
is written down on the hosts.
"""

import functools
import json
import os
import types
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from .balancers import Balancers
from .policy import Policy
from .run import Run

T = TypeVar("T")


class RunFileError(ValueError):
    """The text is not that of a run."""


class Kept(NamedTuple):
    """What is kept of a run, except the operator's policy, which the variables hold."""

    run: Run
    balancers: Balancers = Balancers()
    """What balancers have said, at the beginning."""
    out_directory: str = ""
    """The directory that notes the hosts on which the run has begun to work; empty if all hosts are asked."""
    vm_ids: Mapping[str, str] = {}
    """With that directory: by host, the id of its VM in the inventory; empty if there is none."""


def write_run(path: str, kept: Kept) -> None:
    """Write a run."""
    write(path, as_json(kept._replace(run=kept.run._replace(policy=Policy()))))


def read_run(path: str, policy: Policy) -> Kept:
    """Read what `write_run` has written.

    :raises OSError: if it is not there
    :raises RunFileError: if it was not written by this version
    """
    content = read(path)
    try:
        kept = from_json(Kept, content)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise RunFileError("%s is not the file of a run: %r" % (path, error)) from error
    return kept._replace(run=kept.run._replace(policy=policy))


def write(path: str, content: Any) -> None:
    """Write JSON that only this user may read. A reader finds the previous content or all of the new content."""
    new = path + ".new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
    os.replace(new, path)


def read(path: str) -> Any:
    """Read what `write` has written.

    :raises OSError: if it is not there
    :raises RunFileError: if it is no JSON
    """
    with open(path, encoding="utf-8") as stream:
        try:
            return json.load(stream)
        except ValueError as error:
            raise RunFileError("%s is not the file of a run: %r" % (path, error)) from error


def as_json(value: Any) -> Any:
    """Convert a value of NamedTuples, mappings and sequences to JSON's types."""
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        # For most hosts of a fleet, most fields have their default.
        of_kind = typing.cast(Any, value)
        usual = of_kind._field_defaults
        return {
            name: as_json(one)
            for name, one in zip(of_kind._fields, value, strict=True)
            if name not in usual or one != usual[name]
        }
    if isinstance(value, Mapping):
        return {str(key): as_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(one) for one in value]
    return value


def from_json(kind: type[T], value: Any) -> T:
    """Convert the result of `as_json` to a value of a type."""
    return typing.cast(T, _read(kind, value))


def _read(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        # One of two types is None.
        return None if value is None else _read(next(one for one in arguments if one is not types.NoneType), value)
    if origin is tuple:
        return tuple(_read(arguments[0], one) for one in value)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _read(arguments[1], one) for key, one in value.items()}
    if origin is not None and issubclass(origin, Sequence):
        return [_read(arguments[0], one) for one in value]
    if not isinstance(kind, type):
        return value
    if issubclass(kind, Enum):
        return kind[value]
    if issubclass(kind, datetime):
        return datetime.fromisoformat(value)
    if hasattr(kind, "_fields"):
        return kind(
            **{
                name: _read(of_field, value[name])
                for name, of_field in _fields(typing.cast(Any, kind))
                if name in value
            }
        )
    return value


@functools.cache
def _fields(kind: Any) -> list[tuple[str, Any]]:
    return list(typing.get_type_hints(kind).items())
