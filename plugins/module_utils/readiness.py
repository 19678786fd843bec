# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Whether this machine is ready for maintenance: its metadata service, its agent, and the endpoint of the probe.

Nothing is changed, but for this: whoever asks for the events of a VM first enables that service of Azure's.
"""

import json
import os
import socket
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ansible.module_utils.basic import AnsibleModule

from .scheduled_events.client import ImdsClient, split_endpoint, split_url
from .scheduled_events.deadline import Deadline
from .scheduled_events.document import GENERAL_API_VERSION, NEWEST_API_VERSION
from .scheduled_events.errors import DocumentError, HttpError, ImdsError, OptionError
from .scheduled_events.http_connection import HttpConnection
from .scheduled_events.options import ConnectionOptions, read_connection
from .scheduled_events.text import sanitize_line
from .scheduled_events.url import hide_password
from .units import look_at_units

OK = "ok"
NOTE = "note"
ERROR = "error"

_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_NO_PROXY_VARIABLES = ("no_proxy", "NO_PROXY")
_PROBE_SECONDS = 5.0
_LARGEST_ANSWER = 64 * 1024  # bytes
_LONGEST_QUOTE = 300  # characters

Run = Callable[[List[str]], Tuple[int, str, str]]
"""Runs a command: its exit status, stdout and stderr."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    check: str
    severity: str
    """`OK`, `NOTE`, or `ERROR`: maintenance would go wrong."""
    found: str


def proxies_in_the_way(environment: Mapping[str, str], host: str) -> List[str]:
    """The variables that would lead other programs to a proxy, in place of the metadata service. Only their names."""
    excluded = ",".join(environment.get(name, "") for name in _NO_PROXY_VARIABLES).split(",")
    if any(one.strip() == "*" or (one.strip() and host == one.strip()) for one in excluded):
        return []
    return [name for name in _PROXY_VARIABLES if environment.get(name)]


def look_at_imds(connection: ConnectionOptions) -> "Tuple[List[Finding], Dict[str, Any]]":
    """Whether the metadata service answers, as whom, and in which versions it has events."""
    deadline = Deadline(connection.timeout)
    versions = []  # type: List[str]
    identity = {"name": None, "vm_id": None, "resource_id": None, "scale_set": None}  # type: Dict[str, Any]
    told = dict(identity, api_versions=versions)
    with ImdsClient(connection.endpoint, connect_timeout=connection.connect_timeout) as client:
        try:
            compute = client.read_compute(deadline)
        except (ImdsError, DocumentError) as error:
            return [Finding("metadata service", ERROR, _line(error))], told
    keys = {"name": "name", "vm_id": "vmId", "resource_id": "resourceId", "scale_set": "vmScaleSetName"}
    for key, azures in keys.items():
        value = compute.get(azures)
        told[key] = sanitize_line(value, _LONGEST_QUOTE) if isinstance(value, str) and value else None
    findings = [Finding("metadata service", OK, "answers; the name of this VM is %s" % told["name"])]
    with ImdsClient(connection.endpoint, connect_timeout=connection.connect_timeout) as client:
        try:
            client.read_document(deadline)
        except (ImdsError, DocumentError) as error:
            findings.append(Finding("scheduled events", ERROR, _line(error)))
            return findings, told
        has_newest = not client.lacks_newest_version
    versions += [NEWEST_API_VERSION, GENERAL_API_VERSION] if has_newest else [GENERAL_API_VERSION]
    if has_newest:
        findings.append(Finding("scheduled events", OK, "in versions %s" % ", ".join(versions)))
    else:
        said = "in version %s. Rebalance recommendations cannot arrive: it does not have version %s"
        findings.append(Finding("scheduled events", NOTE, said % (GENERAL_API_VERSION, NEWEST_API_VERSION)))
    return findings, told


def look_at_agent(command: str, run: Run) -> Finding:
    """Whether the agent answers, if there is one."""
    if not os.path.exists(command):
        return Finding("agent", NOTE, "not installed: there is no %s" % command)
    status, out, complaint = run([command, "status", "--json"])
    try:
        told = json.loads(out) if status == 0 else None
    except ValueError:
        told = None
    if not isinstance(told, dict):
        said = "installed, but does not answer: %s" % _line(complaint or out or "exit status %d" % status)
        return Finding("agent", ERROR, said)
    rotation = "in rotation" if told.get("in_rotation") is True else "out of rotation"
    return Finding("agent", OK, "answers: %s, Python %s" % (rotation, _line(told.get("python") or "unknown")))


def look_at_probe(url: str) -> Finding:
    """Whether the balancer would have an answer of 200 here, which is what it takes for up."""
    host, port, path = split_url(url)
    connection = HttpConnection(host, port)
    check = "probe %s" % url
    try:
        connection.open(_PROBE_SECONDS)
        answer = connection.exchange(
            connection.request("GET", path or "/", {"Accept": "*/*"}), Deadline(_PROBE_SECONDS), _LARGEST_ANSWER
        )
    except socket.timeout:
        return Finding(check, ERROR, "no answer within %g s" % _PROBE_SECONDS)
    except (OSError, HttpError, UnicodeError) as error:
        return Finding(check, ERROR, "no answer: %s" % _line(error))
    finally:
        connection.close()
    return Finding(check, OK if answer.status == 200 else ERROR, "answers %d" % answer.status)


def run_readiness_info(module: AnsibleModule) -> None:
    """Do the work of maintenance_readiness_info."""
    options = module.params
    try:
        connection = read_connection(dict(options, vm_name=None))
        _check_probes(options["probes"])
    except OptionError as error:
        module.fail_json(msg=str(error))
    findings, told = look_at_imds(connection)
    findings.append(_proxies(os.environ, split_endpoint(connection.endpoint)[0]))
    findings.append(look_at_agent(options["agent_command"], module.run_command))
    findings += [look_at_probe(url) for url in options["probes"]]
    units = look_at_units(module, options["units"])
    findings += [Finding("unit %s" % name, ERROR, "systemd does not know it") for name in units.unknown]
    findings += [
        Finding("unit %s" % name, NOTE, "%s would start it again: stop that before it" % " and ".join(triggers))
        for name, triggers in units.triggered.items()
    ]
    module.exit_json(
        changed=False,
        ready=not any(finding.severity == ERROR for finding in findings),
        vm=told,
        checks=[dict(finding._asdict()) for finding in findings],
    )


def _check_probes(urls: Sequence[str]) -> None:
    for url in urls:
        try:
            split_url(url)
        except ValueError:
            raise OptionError(
                "probes: %r cannot be asked. Give http://HOST[:PORT]/PATH, as the balancer asks for it"
                % hide_password(url)
            ) from None


def _proxies(environment: Mapping[str, str], host: str) -> Finding:
    named = proxies_in_the_way(environment, host)
    if not named:
        return Finding("proxy", OK, "none applies")
    return Finding(
        "proxy",
        NOTE,
        ("%s would redirect other programs' requests for %s, though not this collection's. Add %s to no_proxy")
        % (" and ".join(named), host, host),
    )


def _line(said: Optional[object]) -> str:
    return sanitize_line(str(said).strip(), _LONGEST_QUOTE)
