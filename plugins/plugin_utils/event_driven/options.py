# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""The options of the event source.

Its arguments, as a rulebook gives them, checked before anything is asked. Every error names the option, its value and
the remedy.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...module_utils.arm.credentials import VARIABLES, SignIn, choose
from ...module_utils.arm.options import Places, read_places
from ...module_utils.files.ownership import UnsafePath, read_private
from ...module_utils.maintenance_policy.window import Window
from ...module_utils.scheduled_events.client import (
    DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_ENDPOINT,
    DEFAULT_TIMEOUT,
    split_url,
)
from ...module_utils.scheduled_events.deadline import read_seconds
from ...module_utils.scheduled_events.errors import OptionError
from ...module_utils.scheduled_events.options import ConnectionOptions, read_connection
from ...module_utils.scheduled_events.signature import LARGEST_SECRETS, parse_secrets
from ...module_utils.scheduled_events.url import hide_password
from ...module_utils.scheduled_events.words import read_vm_names
from ..approval_times import read_times
from .data_file import parse_data
from .hosts import HostMap, read_host_map

AGENTS = "agents"
RESOURCE_GRAPH = "resource_graph"
IMDS = "imds"
LIFECYCLE_HOOKS = "lifecycle_hooks"
SOURCES = (AGENTS, RESOURCE_GRAPH, IMDS, LIFECYCLE_HOOKS)

_MOST_PARALLEL = 1000
# The names of resource groups and scale sets. Each becomes one part of a path.
_NAME = re.compile(r"[\w().-]{1,90}\Z")
# Seconds between two readings: the default, and the minimum of each source. IMDS takes 5 requests a second from
# everything on its machine, Resource Graph 15 in 5 seconds from everybody with the same sign-in. A hook waits for its
# answer for minutes.
_INTERVALS = {AGENTS: (10.0, 1.0), IMDS: (5.0, 1.0), RESOURCE_GRAPH: (60.0, 5.0), LIFECYCLE_HOOKS: (30.0, 5.0)}
_COMMON = frozenset(
    [
        "source",
        "interval",
        "timeout",
        "announce_between",
        "remind_every",
        "remind_within",
        "hosts_pattern",
        "hosts_inventory",
        "hosts_variable",
    ]
)
# Seconds. Each reminder may start a run on a whole fleet; Azure announces up to seven days ahead.
_LEAST_REMIND_EVERY = 30.0
_REMIND_WITHIN = 3600.0
_LONGEST_NOTICE = 30 * 86400.0
_OF_SOURCE = {
    AGENTS: frozenset(["agents", "agents_file", "secret_file", "parallel"]),
    RESOURCE_GRAPH: frozenset(["subscriptions", "management_group", "auth_source", *VARIABLES]) - {"ad_user"},
    IMDS: frozenset(["endpoint", "api_version", "connect_timeout"]),
    LIFECYCLE_HOOKS: frozenset(["scale_sets", "auth_source", *VARIABLES]) - {"ad_user"},
}
_TIMEOUTS = {AGENTS: 10.0, RESOURCE_GRAPH: DEFAULT_TIMEOUT, IMDS: DEFAULT_TIMEOUT, LIFECYCLE_HOOKS: DEFAULT_TIMEOUT}


class Remind(NamedTuple):
    """When an event that was announced and has not begun is announced again."""

    every: float
    """Seconds between two announcements of it."""
    within: float
    """Seconds before its start. It is not announced again earlier."""


class Options(NamedTuple):
    """What a rulebook asks for."""

    source: str
    interval: float
    """Seconds from the beginning of one reading to the beginning of the next."""
    timeout: float
    """Seconds for one answer."""
    hosts: HostMap | None
    agents: Mapping[str, str] = {}
    """URL of each agent, by the name of its VM."""
    secrets: tuple[bytes, ...] = ()
    """The secrets that are shared with the agents, the current one first. None: answers are not authenticated."""
    parallel: int = 0
    places: Places = Places((), None)
    """The subscriptions or management groups that Resource Graph is asked about."""
    scale_sets: tuple[tuple[str, str], ...] = ()
    """Resource group and name of the scale sets whose lifecycle hooks are read."""
    sign_in: SignIn | None = None
    connection: ConnectionOptions = ConnectionOptions()
    announce_between: tuple[Window, ...] = ()
    """When events are announced; empty: at any time."""
    remind: Remind | None = None
    """None: each event is announced once in each status."""


def read_options(given: Mapping[str, Any], log: Callable[[str], None]) -> Options:
    """Check the arguments of the source.

    :param log: told what somebody should know who asks for this
    :raises OptionError: on the first that cannot be meant
    """
    # A rulebook with many variables passes an empty text for a variable that is not set.
    given = {name: value for name, value in given.items() if value is not None and value != ""}
    source = given.get("source", AGENTS)
    if source not in SOURCES:
        raise OptionError("source: %r is not one of %s" % (source, ", ".join(SOURCES)))
    known = _COMMON | _OF_SOURCE[source]
    for name in given:
        if name not in known:
            raise OptionError(
                "%s: is not an option of the source %s. Give one of %s" % (name, source, ", ".join(sorted(known)))
            )
    interval, least = _INTERVALS[source]
    options = Options(
        source=source,
        interval=_seconds(given, "interval", interval),
        timeout=_seconds(given, "timeout", _TIMEOUTS[source]),
        hosts=read_host_map(given, log),
        announce_between=_read_windows(given.get("announce_between")),
        remind=_read_remind(given),
    )
    if options.interval < least:
        raise OptionError(
            "interval: %g is too short for %s: give %g or more seconds" % (options.interval, source, least)
        )
    if source == AGENTS:
        return _read_agents(options, given, log)
    if source == IMDS:
        return options._replace(connection=_read_connection(given, options.timeout))
    sign_in = choose(given)
    for warning in sign_in.warnings:
        log(warning)
    if source == LIFECYCLE_HOOKS:
        return options._replace(scale_sets=_read_scale_sets(given.get("scale_sets")), sign_in=sign_in)
    return options._replace(places=read_places(given), sign_in=sign_in)


def _read_scale_sets(content: Any) -> tuple[tuple[str, str], ...]:
    members = ("resource_group", "name")
    if not isinstance(content, list) or not content:
        raise OptionError("scale_sets: expected a list of scale sets, each with its resource_group and its name")
    for one in content:
        if (
            not isinstance(one, dict)
            or set(one) != set(members)
            or not all(isinstance(one[key], str) and _NAME.match(one[key]) for key in members)
        ):
            raise OptionError("scale_sets: %r is not a scale set: give its resource_group and its name" % (one,))
    return tuple((one["resource_group"], one["name"]) for one in content)


def _read_windows(content: Any) -> tuple[Window, ...]:
    try:
        return () if content is None else read_times(content, "announce_between")
    except ValueError as error:
        raise OptionError(str(error)) from None


def _read_remind(given: Mapping[str, Any]) -> Remind | None:
    if "remind_every" not in given:
        if "remind_within" in given:
            raise OptionError("remind_every: is not set, and remind_within has no effect without it")
        return None
    every = _seconds(given, "remind_every", 0)
    if every < _LEAST_REMIND_EVERY:
        raise OptionError("remind_every: %g is too short: give %g or more seconds" % (every, _LEAST_REMIND_EVERY))
    try:
        within = float(given.get("remind_within", _REMIND_WITHIN))
    except (TypeError, ValueError):
        within = 0.0
    # Written so that NaN fails as well.
    if not 0 < within <= _LONGEST_NOTICE:
        raise OptionError(
            "remind_within: %r is not a time. Give seconds, above 0 and up to %d"
            % (given["remind_within"], _LONGEST_NOTICE)
        )
    return Remind(every, within)


def _read_agents(options: Options, given: Mapping[str, Any], log: Callable[[str], None]) -> Options:
    if ("agents" in given) == ("agents_file" in given):
        raise OptionError("agents: give the URL of each agent by the name of its VM, here or in the file agents_file")
    agents = given.get("agents")
    if agents is None:
        agents = _read_file("agents_file", given["agents_file"])
    if not isinstance(agents, dict) or not agents:
        raise OptionError("agents: expected a dictionary of URLs by the names of VMs, which is not empty")
    for name, url in agents.items():
        read_vm_names([name])
        try:
            split_url(str(url))
        except ValueError as error:
            raise OptionError("agents: %s: %r %s" % (name, hide_password(str(url)), error)) from None
    parallel = given.get("parallel", 50)
    if not isinstance(parallel, int) or isinstance(parallel, bool) or not 1 <= parallel <= _MOST_PARALLEL:
        raise OptionError("parallel: %r is not a number from 1 to %d" % (parallel, _MOST_PARALLEL))
    secrets = _read_secrets(given["secret_file"]) if given.get("secret_file") is not None else ()
    if not secrets:
        log(
            "secret_file is not set: agents on other machines refuse to answer, and any program that answers "
            "at such an address can announce maintenance"
        )
    return options._replace(
        agents={name.strip(): str(url).rstrip("/") for name, url in agents.items()}, secrets=secrets, parallel=parallel
    )


def _read_connection(given: Mapping[str, Any], timeout: float) -> ConnectionOptions:
    values = {
        "endpoint": os.environ.get("FOGHORN_IMDS_ENDPOINT") or DEFAULT_ENDPOINT,
        "connect_timeout": DEFAULT_CONNECT_TIMEOUT,
        **{name: given[name] for name in _OF_SOURCE[IMDS] if given.get(name) is not None},
        "timeout": timeout,
    }
    for name in ("endpoint", "api_version"):
        if not isinstance(values.get(name, ""), str):
            raise OptionError("%s: %r is not a text" % (name, values[name]))
    _seconds(values, "connect_timeout", DEFAULT_CONNECT_TIMEOUT)
    return read_connection(values)


def _read_secrets(path: Any) -> tuple[bytes, ...]:
    try:
        return parse_secrets(read_private(os.path.abspath(str(path)), LARGEST_SECRETS))
    except UnsafePath as error:
        raise OptionError("secret_file: %s" % error) from None
    except ValueError as error:
        raise OptionError("secret_file: %s: %s" % (path, error)) from None


def _read_file(option: str, path: Any) -> Any:
    try:
        with open(str(path), encoding="utf-8") as stream:
            return parse_data(stream.read())
    except (OSError, ValueError) as error:
        raise OptionError("%s: %s cannot be read: %s" % (option, path, error)) from None


def _seconds(given: Mapping[str, Any], name: str, default: float) -> float:
    try:
        return read_seconds({name: given.get(name, default)}, name)
    except (TypeError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError("%s: %r is not a time. Give seconds" % (name, given.get(name))) from None
