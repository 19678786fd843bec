# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Checks all variables of a run before it touches the first host."""

import contextlib
import difflib
import functools
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible import context
from ansible.errors import AnsibleError
from ansible.inventory.manager import split_host_pattern
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils.connections.established import check_networks
from ...module_utils.scheduled_events.text import as_plain
from ..approval_times import read_times
from ..fixed_core import mistakes_in_version
from ..services import mistakes_in, read_services
from ..tags import mistakes_in_tags
from ..typed import typed
from .claims import describe_run
from .groups import read_minimum
from .own_tasks import read_yaml, why_no_tasks
from .policy import PREFIX, PolicyError, read_policy
from .reading import is_off

ROLES = ("load_balancer_removal", "graceful_shutdown")

MINIMUM = PREFIX + "minimum_in_service"
SERVICES = "graceful_shutdown_services"
WINDOWS = ("redeploy_early_between", "handle_os_upgrades_approve_between")
"""The variables that are lists of times of the week, and no part of the policy."""
NETWORKS = ("load_balancer_removal_addresses", "load_balancer_removal_excluded_addresses")
"""The variables that are lists of addresses and networks."""
PORTS = "load_balancer_removal_ports"
"""Its entries are of any type for Ansible itself, which would not take a list that is given as text."""

# Variables of others may begin like these, too: only what is nearly one of ours is told.
_COMMON_PREFIXES = ("drain_", "restore_", "status_", "doctor_", "notify_")
_NEARLY = 0.85
# All of ours have a beginning in common.
_CLOSE = 0.7
# The beginning itself may be misspelt, as in handle_event_hosts. Other variables are hardly ever this close to ours.
_MISSPELT = 0.9
_EXTENSION = re.compile("[.](?:ya?ml|json)$")
_LETTERS = re.compile(r"[^\W\d_]")

_ROLES_DIRECTORY = Path(__file__).parents[3] / "roles"
# So many hosts are named that have a mistake in common.
_MOST_NAMED = 3
_NOT_BY_INVENTORY = (
    "%s is %s in the inventory, where it chooses nobody, and the play would take %s too."
    " Name the hosts with --extra-vars."
)

Spec = dict[str, Any]


@functools.cache
def role_arguments(role: str) -> Spec:
    """Read which variables a role of this collection takes, in any of its entry points. Once: that takes long."""
    text = (_ROLES_DIRECTORY / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    entry_points = yaml.safe_load(text)["argument_specs"].values()
    return {name: spec for entry in entry_points for name, spec in (entry.get("options") or {}).items()}


def check_variables(
    arguments: Mapping[str, Any],
    hostvars: Any,
    of_play: Mapping[str, Any],
) -> dict[str, Any]:
    """Name what is wrong with the variables of hosts, of the play, and with the tags of the run, or begin the run.

    :param hostvars: by host, its variables of the inventory and of the command line
    :param of_play: all variables of the host that the task is for, those of its play and of its role included
    """
    own = str(of_play["inventory_hostname"])
    # Ansible joins the variables of a host anew each time.
    given = {name: hostvars[name] for name in {*arguments["hosts"], own}}
    # What the play itself sets holds for all of its hosts.
    alike = [name for name in arguments["alike"] if not differs(name, of_play, given[own])]
    found = mistakes_in_version(of_play["ansible_version"]["full"])
    if arguments["strangers"]:
        found.append(
            _NOT_BY_INVENTORY % (arguments["chosen_by"], of_play[arguments["chosen_by"]], arguments["strangers"][0])
        )
    hosts = [of_play if name == own else given[name] for name in arguments["hosts"]]
    found += mistakes(
        # A run leaves alone what is off. Its templates may lack what the inventory knows of running machines alone.
        [variables for variables in hosts if not (arguments["playbook"] and _is_off(variables))],
        arguments["arguments"],
        tuple(arguments["prefixes"]),
        tuple(arguments["roles"]),
        alike,
    )
    found += unread(given, of_play, arguments["prefixes"], arguments["roles"])
    names = [*of_play["groups"], *(name for group in of_play["groups"].values() for name in group)]
    found += unmatched(arguments["arguments"], of_play, names) + mistakes_in_tags()
    if found:
        return {"failed": True, "msg": as_plain(found)}
    return {"run": describe_run(arguments["playbook"], arguments["job"])} if arguments["playbook"] else {}


def _is_off(variables: Mapping[str, Any]) -> bool:
    try:
        said = {"is_off": variables.get(PREFIX + "is_off"), "powerstate": variables.get("powerstate")}
    except AnsibleError:
        return False
    return is_off(said)


def unread(
    hosts: Mapping[str, Any], of_play: Mapping[str, Any], prefixes: Sequence[str], roles: Sequence[str]
) -> list[str]:
    """Name variables of ours in files beside the operator's playbook, which Ansible reads for that one's plays alone.

    :param hosts: by host of the play, its variables of the inventory and of the command line
    :param of_play: all variables of one of them, those of its play and the defaults of roles included
    :param prefixes: see `mistakes`
    :param roles: see `mistakes`
    """
    begins = (*prefixes, *("%s_" % role for role in roles))
    of_host = hosts[str(of_play["inventory_hostname"])]
    defaults = {name: spec.get("default") for role in roles for name, spec in role_arguments(role).items()}
    told = []
    playbooks = [Path(os.path.abspath(path)) for path in context.CLIARGS.get("args") or () if os.path.isfile(path)]
    for directory in sorted({path.parent for path in playbooks}):
        for path in sorted(path for kind in ("group_vars", "host_vars") for path in directory.glob(kind + "/**/*")):
            kind, target, *below = path.relative_to(directory).parts
            target = target if below else _EXTENSION.sub("", target)
            members = of_play["groups"].get(target, ()) if kind == "group_vars" else (target,)
            names = [
                name
                for name in (_names_in(path) if any(member in hosts for member in members) else ())
                if name.startswith(begins)
                and any(name not in hosts[member] for member in members if member in hosts)
                and (name in of_host or not _is_set(name, of_play, defaults.get(name)))
            ]
            if names:
                told.append(
                    "%s: %s: beside your own playbook, Ansible reads no variables for plays that are imported from a"
                    " collection. Move them beside the inventory, or into vars of import_playbook"
                    % (path, ", ".join(names))
                )
    return told


def _is_set(name: str, of_play: Mapping[str, Any], default: Any) -> bool:
    """Whether a play has a value of its own for a variable."""
    try:
        return bool(of_play.get(name, default) != default)
    except AnsibleError:
        return True


def _names_in(path: Path) -> list[str]:
    """The variables in a file; none if it is no such file, or is encrypted as a whole."""
    with contextlib.suppress(ValueError):
        content = read_yaml(path) if path.is_file() else None
        return [name for name in content if isinstance(name, str)] if isinstance(content, dict) else []
    return []


def mistakes(
    hosts: Sequence[Mapping[str, Any]],
    own: Spec,
    prefixes: Sequence[str] = (PREFIX,),
    roles: Sequence[str] = ROLES,
    alike: Sequence[str] = (),
) -> list[str]:
    """Name everything that is wrong with the variables of hosts, each mistake once, with the hosts that have it.

    :param hosts: the variables of each host, with its `inventory_hostname`; a value is read only if its name is ours
    :param own: the variables of the playbook, as an argument spec
    :param prefixes: how their names begin
    :param roles: the roles of this collection that it includes
    :param alike: those of `own` that hold for the whole run, and must not differ between hosts
    """
    specs = dict(own)
    for role in roles:
        specs.update(role_arguments(role))
    begins = (*prefixes, *("%s_" % role for role in roles))
    foreign: set[str] = set()
    found: dict[str, list[str]] = {}
    for variables in hosts:
        for mistake in _mistakes_of(variables, own, specs, begins, foreign):
            found.setdefault(mistake, []).append(str(variables["inventory_hostname"]))
    told = ["%s (%s)" % (mistake, _some(names)) for mistake, names in found.items()]
    return told + [line for name in alike for line in _differing(name, hosts)]


def _mistakes_of(
    variables: Mapping[str, Any], own: Spec, specs: Spec, begins: tuple[str, ...], foreign: set[str]
) -> list[str]:
    """Name what is wrong with the variables of a host.

    :param begins: how the names in `specs` begin
    :param foreign: names of variables that are not ours nor meant to be; more are added, so that each is judged once
    """
    all_names = {name for name in variables if isinstance(name, str)} - foreign
    names = sorted(name for name in all_names if name.startswith(begins))
    told = [text for text in (_unknown(name, specs) for name in names if name not in specs) if text]
    others = all_names.difference(names)
    misspelt = {name: _meant(name, specs, begins) for name in others}
    told += [_no_such(name, meant) for name, meant in sorted(misspelt.items()) if meant]
    foreign.update(name for name, meant in misspelt.items() if not meant)
    values = {}
    failed = set()
    for name in names:
        if name not in specs:
            continue
        try:
            # As JSON: text that Ansible Vault has encrypted is no str, before ansible-core 2.19.
            value = json.loads(json.dumps(variables[name], default=str))
        except AnsibleError as error:
            told.append("%s: %s" % (name, error))
            failed.add(name)
            continue
        if isinstance(value, str) and value.isspace():
            # Templates would take it for 0, or for a name.
            told.append("%s: it is blank, which is no value: give one, or nothing" % name)
            failed.add(name)
            continue
        # A survey hands over an empty text where nothing was answered.
        if value is None or (value == "" and name in own):
            # That of a role, unlike those of playbooks, would be lost for a null.
            if "default" in specs[name]:
                told.append("%s: it is null, which is no value: give one, or omit it for the default" % name)
            continue
        kind = specs[name].get("type")
        try:
            values[name] = typed(value, kind) if isinstance(value, str) and kind in ("list", "dict") else value
        except ValueError as error:
            told.append("%s: %s" % (name, error))
            failed.add(name)
    # What a role misses is its own business: a variable that it requires may be set when it is called.
    chosen = {
        name: dict(specs[name], required=name in own and specs[name].get("required", False))
        for name in values
        if name != SERVICES
    }
    chosen.update({name: spec for name, spec in own.items() if spec.get("required") and name not in failed})
    # First, because what is validated is changed.
    wrong = _wrong_policy(values) + _refusal(read_minimum, str(values.get(MINIMUM, "0")))
    wrong += _wrong_services(values.get(SERVICES))
    wrong += [line for name in WINDOWS if name in own for line in _refusal(read_times, values.get(name) or [], name)]
    wrong += [line for name in own if name.endswith("_tasks") for line in _wrong_tasks(name, values.get(name))]
    wrong += [line for name in NETWORKS for line in _refusal(check_networks, name, values.get(name) or ())]
    wrong += _wrong_ports(values.get(PORTS))
    specified = _Values({name: value for name, value in values.items() if name in chosen})
    told += ArgumentSpecValidator(chosen).validate(specified).error_messages
    return told + wrong


def unmatched(own: Spec, variables: Mapping[str, Any], known: Collection[str]) -> list[str]:
    """Name each part of a pattern of hosts that is probably a misspelt name of the inventory: Ansible would only warn
    of it.

    Another part that matches nothing may be right: the inventory of a cloud has a group only while a host is in it.

    :param own: the variables of the playbook, as an argument spec: a text or list whose name ends with `_hosts` is one
    :param variables: the variables of the play
    :param known: the groups and hosts of the inventory
    """
    names = [name for name, spec in own.items() if name.endswith("_hosts") and spec["type"] in ("raw", "str")]
    parts = [
        (name, part, part.lstrip("!&"))
        for name in names
        if variables.get(name)
        for part in split_host_pattern(variables[name])
    ]
    return [
        "%s: %s matches no host, and the inventory has no such group: did you mean %s?" % (name, part, meant)
        for name, part, given in parts
        if given not in known
        for meant in [next((one for one in known if _is_misspelt(given, one)), "")]
        if meant
    ]


def _is_misspelt(given: str, meant: str) -> bool:
    """Whether letters of a name are in another order, or one is missing or too many. Another letter, as in zone_b, or
    another number makes another name.
    """
    short, long = sorted((given, meant), key=len)
    if _LETTERS.sub("", short) != _LETTERS.sub("", long) or len(long) - len(short) > 1:
        return False
    if len(short) == len(long):
        return sorted(short) == sorted(long)
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def differs(name: str, variables: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether a variable has another value here than there, as far as that can be told."""
    try:
        return name in variables and (name not in others or str(variables[name]) != str(others[name]))
    except AnsibleError:
        return True


class Templated(Mapping[str, Any]):
    """Variables whose templates are evaluated when a value is read, as those of `hostvars` are."""

    def __init__(self, raw: Mapping[str, Any], template: Callable[[Any], Any]) -> None:
        self._raw = raw
        self._template = template

    def __getitem__(self, name: str) -> Any:
        return self._template(self._raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


class _Values(dict[str, Any]):
    """Values that are copied no deeper than they are here.

    A copy of what Ansible templates when it is looked at is one of the templar too, and of all that it knows: for each
    host, that took eight times as long as everything else.
    """

    def __deepcopy__(self, _memo: object) -> dict[str, Any]:
        return dict(self)


def _wrong_policy(values: Mapping[str, Any]) -> list[str]:
    try:
        read_policy({name[len(PREFIX) :]: value for name, value in values.items() if name.startswith(PREFIX)})
    except PolicyError as error:
        return list(error.mistakes)
    return []


def _refusal(check: Callable[..., object], *arguments: Any) -> list[str]:
    """What a check says of a value that it refuses; nothing if it takes it."""
    try:
        check(*arguments)
    except ValueError as error:
        return [str(error)]
    return []


def _wrong_ports(entries: Any) -> list[str]:
    try:
        wrong = [port for port in typed(entries or [], "list", "int") if not 0 < port < 65536]
    except ValueError as error:
        return ["%s: %s" % (PORTS, error)]
    return ["%s: %d is no port. Give numbers from 1 to 65535" % (PORTS, port) for port in wrong[:1]]


def _wrong_services(entries: Any) -> list[str]:
    if entries is None:
        return []
    told = [SERVICES + mistake for mistake in mistakes_in(entries)]
    if told:
        return told
    return [
        line
        for number, service in enumerate(read_services(entries))
        for key in ("stop_tasks", "start_tasks")
        for line in _wrong_tasks("%s[%d].%s" % (SERVICES, number, key), service[key] or None, "graceful_shutdown")
    ]


def _wrong_tasks(name: str, path: Any, role: str = "") -> list[str]:
    """What is said of a file of tasks that the controller cannot include."""
    if not isinstance(path, str):
        return []
    if not path.startswith("/"):
        # What it would be relative to is not for the operator to know.
        return [
            "%s: %s is not an absolute path. Give the path of a file of tasks on the controller from the root on"
            % (name, path)
        ]
    reason = why_no_tasks(path, role)
    return ["%s: %s: %s. Give a file with a list of tasks, on the controller" % (name, path, reason)] if reason else []


def _differing(name: str, hosts: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is said of a variable that holds for the run and is not the same on all hosts."""
    first: tuple[str, str] | None = None
    for variables in hosts:
        try:
            value = str(variables[name]) if name in variables else "not set"
        except AnsibleError:
            # Told already.
            return []
        host = str(variables["inventory_hostname"])
        first = first or (value, host)
        if value != first[0]:
            return [
                "%s: %s on %s, %s on %s. It holds for the whole run: set it with --extra-vars, or for all hosts alike"
                % (name, first[0], first[1], value, host)
            ]
    return []


def _unknown(name: str, specs: Spec) -> str:
    """What is said of a variable that we do not know; nothing if it may be somebody else's."""
    is_common = name.startswith(_COMMON_PREFIXES)
    meant = _closest(name, specs, _NEARLY if is_common else _CLOSE)
    return "" if is_common and not meant else _no_such(name, meant)


def _meant(name: str, specs: Spec, begins: tuple[str, ...]) -> str:
    """Which variable is meant by a name whose beginning may be misspelt; empty if it is somebody else's."""
    lowered = name.lower()
    # A comparison with all of ours takes long, for the hundreds of variables that a host may have.
    if not lowered.startswith(tuple(begin[0] for begin in begins)) or name in specs:
        return ""
    return _closest(lowered, specs, _MISSPELT)


def _closest(name: str, specs: Spec, cutoff: float) -> str:
    return next(iter(difflib.get_close_matches(name, specs, n=1, cutoff=cutoff)), "")


def _no_such(name: str, meant: str) -> str:
    return "%s: there is no such variable%s" % (name, ": did you mean %s?" % meant if meant else "")


def _some(names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return "%s and %d more hosts" % (", ".join(names[:_MOST_NAMED]), len(names) - _MOST_NAMED)
