# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and checks the agent's configuration: every mistake with its path, all of them at once."""

import ipaddress
import json
import os
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from foghorn_core.maintenance_policy.match import LONGEST_NOTICE, read_match
from foghorn_core.maintenance_policy.reader import Section, as_number
from foghorn_core.maintenance_policy.window import Window, read_windows
from foghorn_core.scheduled_events.client import (
    DEFAULT_CONNECT_TIMEOUT,
    DEFAULT_ENDPOINT,
    DEFAULT_TIMEOUT,
    split_endpoint,
    split_url,
)
from foghorn_core.scheduled_events.document import GENERAL_API_VERSION
from foghorn_core.scheduled_events.event import EVENT_TYPES, NameKey, name_key
from foghorn_core.scheduled_events.url import parse_url

from .act.readiness import HTTP, KINDS, TCP, Check
from .decide.in_service import Keep
from .decide.policy import (
    APPROVALS,
    CHECK,
    COMMAND,
    DEFAULT_ADVICE_HOLDS_FOR,
    DEFAULT_BEGIN_BEFORE,
    DEFAULT_HOOKS_TIMEOUT,
    DEFAULT_MARGIN,
    FAILURES,
    FINISH,
    HOOKS,
    MANUAL,
    NEVER,
    PAUSE,
    QUORUM,
    STAGES,
    WAIT_CONNECTIONS,
    Plan,
    Rule,
    Step,
    default_rules,
)
from .decide.state import TOLD, TOLD_STATES
from .http.members import MOST_MEMBERS
from .platform import machine, ownership, process, services

Network = Union[ipaddress.IPv4Network, ipaddress.IPv6Network]

# In a match: Azure's types, and the type of a drain by hand.
KNOWN_TYPES = (*EVENT_TYPES, MANUAL)
DEFAULT_PORT = 9797
_OF_DRY_RUNS = "dry_run"
DEFAULT_STEP_TIMEOUT = 60.0  # seconds
# Azure's load balancers probe from these addresses, and a probe is not a user.
AZURE_PROBES = ("168.63.129.16", "fe80::1234:5678:9abc")

_SECRET_HEADERS = ("authorization", "proxy-authorization", "cookie", "x-api-key")
_LONGEST_TIME = 86400.0
_LARGEST_FILE = 1024 * 1024  # bytes
# The characters that Azure allows in the name of a VM and a URL can hold. Without a letter, the name would be an
# address.
_VM_NAME = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9][A-Za-z0-9._-]{0,79}\Z")
_NAME_HERE = "{name}"
_COMMAND_LINE = "a list of texts whose first is an absolute path"
_MOST_READY_CHECKS = 16
_STEP_KINDS = ("command", "stop", "start", "hooks", "wait_connections", "pause")
_SHARE = re.compile(r" *([0-9]{1,3}) *% *\Z")
# Longer than any machine takes to warm up.
LONGEST_SETTLE = 3600.0
_API_VERSION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


class ConfigError(Exception):
    """The configuration cannot be used. `mistakes` names each with its path."""

    def __init__(self, path: str, mistakes: Sequence[str]) -> None:
        super().__init__("%s: %s" % (path, "; ".join(mistakes)))
        self.path = path
        self.mistakes = tuple(mistakes)


class Imds(NamedTuple):
    """How IMDS is asked. Times are in seconds."""

    endpoint: str = DEFAULT_ENDPOINT
    api_version: Optional[str] = None
    """None: the newest that IMDS has."""
    vm_name: Optional[str] = None
    """None: ask IMDS."""
    poll_interval: float = 1.0
    first_timeout: float = DEFAULT_TIMEOUT
    """For requests until the first document has come: the service may have to be enabled."""
    timeout: float = 10.0
    """For each request after that."""
    connect_timeout: float = DEFAULT_CONNECT_TIMEOUT


class Quorum(NamedTuple):
    """The members that have to be ready for a shared event, and their URLs. Times are in seconds."""

    secret_file: Optional[str] = None
    """The file with the members' shared secret."""
    members: Mapping[NameKey, str] = {}
    """By the key of the name of the VM, the URL of its agent."""
    url: Optional[str] = None
    """The URL of a VM's agent that is not among the members, with `{name}` for the VM's name."""
    interval: float = 2.0
    timeout: float = 5.0
    silent_after: float = 15.0

    @property
    def oldest_word(self) -> float:
        """How old a member's last answer may be to count. By then it has been asked again."""
        return self.interval + self.timeout

    def url_of(self, name: str) -> Optional[str]:
        """Where the agent of a VM answers; None if that is not known.

        :param name: as an event has it, which is somebody else's text
        """
        known = self.members.get(name_key(name))
        if known is not None or self.url is None or not _VM_NAME.match(name):
            return known
        return self.url.replace(_NAME_HERE, name)


class Webhook(NamedTuple):
    """Where to report each change of stage."""

    url: str
    headers: Tuple[Tuple[str, str], ...] = ()
    secret_file: Optional[str] = None
    secret_header: str = "Authorization"
    secret_prefix: str = "Bearer "
    ca_file: Optional[str] = None
    timeout: float = 10.0
    stages: Optional[Tuple[str, ...]] = None
    """Only these stages. None: all."""
    states: Optional[Tuple[str, ...]] = None
    """Report a stage only when it has reached this status. None: always. What is no stage is always reported."""
    proxy: Optional[str] = None
    """`http://HOST[:PORT]`; None: none."""
    body: Any = None
    """JSON with the fields of `bodies.FIELDS` in its texts, in place of the CloudEvent. None: the CloudEvent."""
    wrap: Tuple[str, ...] = ()
    """Names under which the receiver wants the envelope: AWX takes it as `extra_vars` and a variable's name."""


class Config(NamedTuple):
    """All that can be configured. The defaults alone make a working agent."""

    imds: Imds = Imds()
    listen: Tuple[Tuple[str, int], ...] = (("127.0.0.1", DEFAULT_PORT),)
    allow_from: Tuple[Network, ...] = ()
    """The networks whose clients may connect. Empty: all. The machine itself and Azure's probe always may."""
    metrics_from: Tuple[Network, ...] = ()
    """The networks whose clients may read the metrics, besides the machine itself."""
    ready_checks: Tuple[Check, ...] = ()
    """The checks that have to succeed for the machine to be in rotation."""
    hooks_directory: str = machine.HOOKS_DIRECTORY
    state_directory: str = machine.STATE_DIRECTORY
    margin: float = DEFAULT_MARGIN
    rules: Tuple[Rule, ...] = default_rules()
    """The configured policies, followed by the default ones."""
    quorum: Quorum = Quorum()
    keep_in_service: Optional[Keep] = None
    """How many members have to stay in rotation while this machine leaves it, if it can wait."""
    settle: float = 0.0
    """For how many seconds a member has to have been back in rotation to count as that."""
    webhooks: Tuple[Webhook, ...] = ()
    dry_run: bool = False
    """Whether to report only what would be done."""

    @property
    def journal_directory(self) -> str:
        """The directory of the journal. A dry run has another one: nothing in it really happened."""
        return os.path.join(self.state_directory, _OF_DRY_RUNS) if self.dry_run else self.state_directory


def load_config(path: str = machine.CONFIG_PATH) -> Config:
    """Read the configuration from a file. Without the file, it is all defaults.

    :raises ConfigError: if anything is wrong with it, or others than root could have written it
    """
    content = read_file(path)
    return Config() if content is None else read_config(content, path)


def read_file(path: str) -> Optional[bytes]:
    """Read the file that a configuration is in, unparsed; None if there is none.

    :raises ConfigError: if it cannot be read, or others than root could have written it
    """
    if not os.path.lexists(path):
        return None
    try:
        # It names commands that run as root.
        with open(ownership.check_path(os.path.abspath(path)), "rb") as file:
            return file.read(_LARGEST_FILE + 1)
    except ownership.UnsafePath as error:
        raise ConfigError(path, [str(error)]) from None
    except OSError as error:
        raise ConfigError(path, ["cannot be read: %s" % error.strerror]) from None


def read_config(content: bytes, path: str, knows_zones: bool = True) -> Config:
    """Read the configuration from what a file holds, without a look at who could have written it.

    :param knows_zones: as in `parse_config`
    :raises ConfigError: with every mistake in it
    """
    if len(content) > _LARGEST_FILE:
        raise ConfigError(path, ["is larger than %d bytes" % _LARGEST_FILE])
    try:
        parsed = json.loads(content.decode("utf-8"), object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError) as error:
        raise ConfigError(path, ["is not JSON: %s" % error]) from None
    return parse_config(parsed, path, knows_zones)


def parse_config(content: Any, path: str = "configuration", knows_zones: bool = True) -> Config:
    """Read the configuration from what JSON gave.

    :param knows_zones: whether to refuse time zones that are unknown on this machine
    :raises ConfigError: with every mistake in it
    """
    mistakes: List[str] = []
    top = Section(content, "", mistakes)
    margin = top.seconds("margin", DEFAULT_MARGIN, least=0.0)
    config = Config(
        imds=_parse_imds(top.section("imds")),
        listen=_parse_listen(top),
        allow_from=_networks(top, "allow_from"),
        metrics_from=_networks(top, "metrics_from"),
        ready_checks=_parse_ready_checks(top),
        hooks_directory=_absolute_path(top, "hooks_directory", machine.HOOKS_DIRECTORY),
        state_directory=_absolute_path(top, "state_directory", machine.STATE_DIRECTORY),
        margin=margin,
        rules=tuple(_parse_rule(rule, margin, knows_zones) for rule in top.sections("policies"))
        + default_rules(margin),
        quorum=_parse_quorum(top.section("quorum")),
        keep_in_service=_parse_keep(top),
        settle=top.seconds("settle", 0.0, least=0.0, most=LONGEST_SETTLE),
        webhooks=tuple(_parse_webhook(webhook) for webhook in top.sections("webhooks", are_secret=True)),
        dry_run=top.boolean("dry_run") or False,
    )
    _demand_secret(config, mistakes)
    _demand_members(config, mistakes)
    top.finish()
    if mistakes:
        raise ConfigError(path, mistakes)
    return config


def _demand_secret(config: Config, mistakes: List[str]) -> None:
    """Without a secret, anybody who can send a packet could say that all are ready."""
    if config.quorum.secret_file is not None:
        return
    mistakes += [
        "policies[%d].approve: quorum needs quorum.secret_file, a secret that only the members hold; an event of this "
        "machine alone is approved with when_ready as well" % index
        for index, rule in enumerate(config.rules)
        if not rule.plan.is_default and rule.plan.approve == QUORUM
    ]
    if config.quorum.members or config.quorum.url:
        mistakes.append("quorum: has members and needs secret_file, a secret that only they have")


def _demand_members(config: Config, mistakes: List[str]) -> None:
    """A minimum that cannot be kept would make every drain wait until its last moment."""
    keep, members = config.keep_in_service, config.quorum.members
    if keep is None:
        if config.settle:
            mistakes.append("settle: needs keep_in_service, which counts the members; set that, or leave settle out")
        return
    if not members:
        mistakes.append(
            "keep_in_service: needs quorum.members, whose agents say if they are in rotation; quorum.url names none"
        )
        return
    # They may include this machine, which only its own name would show.
    others = len(members) - (config.imds.vm_name is not None and name_key(config.imds.vm_name) in members)
    if keep.of(others + 1) > min(others, MOST_MEMBERS):
        mistakes.append(
            "keep_in_service: %s cannot stay in rotation while this machine leaves it: it has %d other members, of "
            "which %d are asked at most; set it to less, or add members to quorum.members"
            % (keep, others, MOST_MEMBERS)
        )


def _parse_keep(top: Section) -> Optional[Keep]:
    # A template that yields nothing yields an empty text.
    if not top.has("keep_in_service") or top.content["keep_in_service"] == "":
        return None
    value = top.content["keep_in_service"]
    share = _SHARE.match(value) if isinstance(value, str) else None
    if share is not None and 1 <= int(share.group(1)) <= 99:
        return Keep(int(share.group(1)), True)
    if not _is_whole(value, 1, 10000):
        top.mistake("keep_in_service", value, 'a number of members, 1 or more, or a share of them from "1%" to "99%"')
        return None
    return Keep(_as_whole(value))


def _networks(section: Section, name: str) -> "Tuple[Network, ...]":
    given = section.checked(name, [], "a list of IP addresses or networks", lambda value: _are(value, _is_network))
    return tuple(ipaddress.ip_network(one) for one in given)


def _absolute_path(section: Section, name: str, default: Any) -> Any:
    return section.checked(
        name, default, "an absolute path", lambda value: _is_argument(value) and os.path.isabs(value)
    )


def _parse_imds(section: Section) -> Imds:
    defaults = Imds()
    return Imds(
        endpoint=section.checked("endpoint", defaults.endpoint, "http://HOST[:PORT]", _is_endpoint),
        api_version=section.checked(
            "api_version",
            defaults.api_version,
            "a date like " + GENERAL_API_VERSION,
            lambda value: isinstance(value, str) and bool(_API_VERSION.match(value)),
        ),
        vm_name=section.text("vm_name"),
        # IMDS refuses more than 5 requests a second, from all processes of this machine together.
        poll_interval=section.seconds("poll_interval", defaults.poll_interval, least=0.25),
        first_timeout=section.seconds("first_timeout", defaults.first_timeout),
        timeout=section.seconds("timeout", defaults.timeout, least=5.0),
        connect_timeout=section.seconds("connect_timeout", defaults.connect_timeout),
    )


def _parse_listen(top: Section) -> Tuple[Tuple[str, int], ...]:
    if not top.has("listen"):
        return Config().listen
    addresses = []
    for section in top.sections("listen"):
        address = section.checked("address", "127.0.0.1", "an IP address", _is_address)
        port = section.checked("port", DEFAULT_PORT, "a port from 0 to 65535", lambda value: _is_whole(value, 0, 65535))
        addresses.append((str(address), _as_whole(port)))
    return tuple(addresses)


def _parse_windows(section: Section, knows_zones: bool) -> Tuple[Window, ...]:
    if not section.has("approve_between"):
        return ()
    # Imported here: most policies may approve at any time.
    from foghorn_core.maintenance_policy.zones import DIRECTORIES

    return read_windows(section, "approve_between", DIRECTORIES if knows_zones else None)


def _parse_spread(section: Section) -> float:
    if not section.has("approve_spread"):
        return 0.0
    if not section.has("approve_between"):
        section.mistake("approve_spread", section.content["approve_spread"], "approve_between beside it")
    return section.seconds("approve_spread", 0.0, least=0.0)


def _parse_rule(section: Section, margin: float, knows_zones: bool) -> Rule:
    stages: Dict[str, Any] = {stage: _parse_stage(section, stage) for stage in STAGES}
    approve = section.word("approve", NEVER, APPROVALS)
    begin_before: Optional[float] = None
    if section.has("begin_before") or approve == NEVER:
        begin_before = section.seconds("begin_before", DEFAULT_BEGIN_BEFORE, least=0.0, most=LONGEST_NOTICE)
    plan = Plan(
        rule=section.text("name") or section.path,
        approve=approve,
        begin_before=begin_before,
        margin=section.seconds("margin", margin, least=0.0),
        advice_holds_for=section.seconds("advice_holds_for", DEFAULT_ADVICE_HOLDS_FOR, least=0.0, most=LONGEST_NOTICE),
        on_failure=section.word("on_failure", FINISH, FAILURES),
        check=_parse_check(section),
        approve_between=_parse_windows(section, knows_zones),
        approve_spread=_parse_spread(section),
        **stages,
    )
    return Rule(read_match(section.section("match"), KNOWN_TYPES), plan)


def _parse_stage(section: Section, stage: str) -> Optional[Tuple[Step, ...]]:
    if not section.has(stage):
        return None
    return tuple(_parse_step(step) for step in section.sections(stage))


def _parse_check(section: Section) -> Tuple[Step, ...]:
    steps = tuple((step, _parse_step(step)) for step in section.sections(CHECK))
    for each, step in steps:
        if each.is_object and (step.kind not in (COMMAND, HOOKS) or step.stops or step.starts):
            each.mistake("", each.content, "command or hooks, because a check must change nothing")
    return tuple(step for _section, step in steps)


def _parse_step(section: Section) -> Step:
    kinds = [kind for kind in _STEP_KINDS if section.has(kind)]
    timeout = section.seconds("timeout", DEFAULT_HOOKS_TIMEOUT if kinds == ["hooks"] else DEFAULT_STEP_TIMEOUT)
    name = section.text("name") or ""
    ignored = section.checked(
        "ignore", list(AZURE_PROBES), "a list of IP addresses or networks", lambda value: _are(value, _is_network)
    )
    if not _is_one(section, kinds, _STEP_KINDS):
        return Step(PAUSE, name, 0.0)
    kind = kinds[0]
    if kind == "command":
        argv = _command_line(section, kind)
        return Step(COMMAND, name or os.path.basename(argv[0]), timeout, argv=tuple(argv))
    if kind in ("stop", "start"):
        unit = section.checked(kind, "none", services.WHAT_IS_NAMED, services.is_name)
        full_name = services.full_name(unit)
        return Step(
            COMMAND,
            name or "%s %s" % (kind, unit),
            timeout,
            stops=full_name if kind == "stop" else "",
            starts=full_name if kind == "start" else "",
        )
    if kind == "wait_connections":
        ports = section.checked(
            kind,
            [1],
            "a list of ports from 1 to 65535",
            lambda value: _are(value, lambda port: _is_whole(port, 1, 65535)) and bool(value),
        )
        return Step(WAIT_CONNECTIONS, name or kind, timeout, ports=tuple(map(_as_whole, ports)), ignored=tuple(ignored))
    if kind == "pause":
        return Step(PAUSE, name or kind, section.seconds(kind, 0.0))
    if section.boolean(kind) is False:
        section.mistake(kind, section.content[kind], "true")
    each = section.seconds("hook_timeout", timeout) if section.has("hook_timeout") else None
    return Step(HOOKS, name or kind, timeout, hook_timeout=each)


def _parse_ready_checks(top: Section) -> Tuple[Check, ...]:
    sections = top.sections("ready_checks")
    if len(sections) > _MOST_READY_CHECKS:
        top.mistakes.append("ready_checks: more than %d: let one command run several" % _MOST_READY_CHECKS)
    return tuple(_parse_ready_check(section) for section in sections)


def _parse_ready_check(section: Section) -> Check:
    kinds = [kind for kind in KINDS if section.has(kind)]
    defaults = Check(kinds[0] if kinds else HTTP, "")
    interval = section.seconds("interval", defaults.interval, least=1.0)
    timeout = section.seconds("timeout", defaults.timeout, least=0.1, most=60.0)
    failures = section.checked("failures", defaults.failures, "a number from 1 to 100", lambda n: _is_whole(n, 1, 100))
    address = section.checked("address", defaults.address[0], "an IP address", _is_address)
    name = section.text("name")
    _is_one(section, kinds, KINDS)
    url = section.checked(HTTP, "http://127.0.0.1", "http://HOST[:PORT][/PATH]", _is_page)
    port = section.checked(TCP, 1, "a port from 1 to 65535", lambda value: _is_whole(value, 1, 65535))
    argv = _command_line(section, "command")
    # Everybody may read it at /readyz.
    ports = {HTTP: parse_url(url).port, TCP: port}
    shown = "port %s" % ports[defaults.kind] if defaults.kind in ports else os.path.basename(argv[0])
    return Check(
        defaults.kind,
        name or shown,
        url,
        (address, _as_whole(port)),
        tuple(argv),
        interval,
        timeout,
        _as_whole(failures),
    )


def _is_one(section: Section, kinds: Sequence[str], known: Sequence[str]) -> bool:
    if len(kinds) != 1 and section.is_object:
        found = " and ".join(kinds) or "none of them"
        section.mistakes.append("%s: expected exactly one of %s, got %s" % (section.path, ", ".join(known), found))
    return len(kinds) == 1


def _parse_quorum(section: Section) -> Quorum:
    members = section.section("members")
    urls = {}
    for name, url in members.content.items():
        if not members.has(name) or not _is_url(url):
            members.mistake(name, url, "http://HOST[:PORT][/PATH]")
        urls[name_key(name)] = str(url)
    defaults = Quorum()
    return Quorum(
        secret_file=_absolute_path(section, "secret_file", None),
        url=section.checked("url", None, "http://HOST[:PORT][/PATH] with {name} in it", _is_pattern),
        members=urls,
        interval=section.seconds("interval", defaults.interval, least=0.5),
        timeout=section.seconds("timeout", defaults.timeout),
        silent_after=section.seconds("silent_after", defaults.silent_after),
    )


def _parse_webhook(section: Section) -> Webhook:
    # Imported here: most agents do not need it.
    from .http.bodies import problems_with
    from .http.delivery import require_secrecy, split_url

    url = section.content.get("url")
    if not section.has("url") or not isinstance(url, str):
        section.mistake("url", None, "an http:// or https:// URL")
        url = "https://missing"
    secret_file = _absolute_path(section, "secret_file", None)
    headers = section.section("headers")
    named = tuple((name, headers.text(name) or "") for name in headers.content)
    try:
        split_url(url)
        if secret_file is not None or any(name.lower() in _SECRET_HEADERS for name, _value in named):
            require_secrecy(url)
    except ValueError as error:
        # The message does not quote the URL, which may be a secret.
        section.mistakes.append("%s.%s" % (section.path, error))
    body = section.checked("body", None, "an object, a list or text", lambda one: isinstance(one, (dict, list, str)))
    section.mistakes.extend("%s.body: %s" % (section.path, problem) for problem in problems_with(body))
    wrap = section.texts("wrap") or ()
    if wrap and body is not None:
        section.mistakes.append("%s: has both body and wrap: put the body where the receiver wants it" % section.path)
    return Webhook(
        url=url,
        headers=named,
        secret_file=secret_file,
        secret_header=section.text("secret_header") or Webhook("").secret_header,
        secret_prefix=str(section.checked("secret_prefix", "Bearer ", "text", lambda value: isinstance(value, str))),
        ca_file=_absolute_path(section, "ca_file", None),
        timeout=section.seconds("timeout", Webhook("").timeout),
        stages=section.texts("stages", TOLD),
        states=section.texts("states", TOLD_STATES),
        proxy=section.checked("proxy", None, "http://HOST[:PORT]", _is_proxy),
        body=body,
        wrap=wrap,
    )


def _is_proxy(value: Any) -> bool:
    from .http.delivery import split_url

    return isinstance(value, str) and _succeeds(split_url, value) and split_url(value)[::3] == (False, "/")


def _is_argument(value: Any) -> bool:
    # The operating system ends a text at a NUL.
    return isinstance(value, str) and "\0" not in value


def _command_line(section: Section, name: str) -> List[str]:
    argv: List[str] = section.checked(name, [], _COMMAND_LINE, _is_command_line, is_secret=True)
    problem = process.problem_with_command(argv) if argv else None
    if problem is not None:
        section.mistakes.append("%s: %s" % (section.where(name), problem))
    # In place of what is wrong or missing, for what is read besides.
    return argv or ["/bin/false"]


def _is_command_line(value: Any) -> bool:
    return _are(value, _is_argument) and bool(value) and os.path.isabs(value[0])


def _is_page(value: Any) -> bool:
    return isinstance(value, str) and _succeeds(parse_url, value) and parse_url(value).scheme == "http"


def _is_whole(value: Any, least: int, most: int) -> bool:
    number = as_number(value)
    return number is not None and number.is_integer() and least <= number <= most


def _as_whole(value: Any) -> int:
    return int(as_number(value) or 0)


def _are(values: Any, check: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(check(value) for value in values)


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and _succeeds(ipaddress.ip_address, value)


def _is_network(value: Any) -> bool:
    return isinstance(value, str) and _succeeds(ipaddress.ip_network, value)


def _is_endpoint(value: Any) -> bool:
    return isinstance(value, str) and _succeeds(split_endpoint, value)


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and _succeeds(split_url, value)


def _is_pattern(value: Any) -> bool:
    return isinstance(value, str) and _NAME_HERE in value and _is_url(value.replace(_NAME_HERE, "name"))


def _succeeds(function: Callable[[Any], Any], value: Any) -> bool:
    try:
        function(value)
    except ValueError:
        return False
    return True


def _refuse_duplicates(pairs: "List[Tuple[str, Any]]") -> Dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _value in pairs]
        raise ValueError(
            "a name is given twice: %s" % ", ".join(sorted({one for one in names if names.count(one) > 1}))
        )
    return content
