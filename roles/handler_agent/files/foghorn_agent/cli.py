# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of foghorn-agent: what runs it, what shows what it does, what is asked of it by hand.

Written without argparse, which would stay in memory for as long as the agent runs.
"""

import json
import os
import sys
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, TextIO, Tuple

from foghorn_core.scheduled_events.dates import format_date
from foghorn_core.scheduled_events.errors import DocumentError
from foghorn_core.scheduled_events.strict_json import parse_json
from foghorn_core.scheduled_events.text import plain

from . import __version__
from .config import Config, ConfigError, load_config, read_config
from .decide.manual import DRAIN, FORGET, HOLD, REQUESTS, RESTORE, RequestError, parse_period
from .http.members import ask_agent
from .http.status import as_table
from .io.journal import Journal, JournalError, read_history
from .io.secrets import NoSecret, read_members_secrets
from .platform import listening, machine, ownership, program, services, verbs

_USAGE = """\
usage: foghorn-agent COMMAND [--config FILE] [OPTION]

Handles the Scheduled Events that Azure announces for this machine.

commands:
  run                   watch and handle events until stopped (the service runs this)
  status [--json]       show events, steps and problems
  history [--json]      show past actions, oldest first
  check-config          list all errors and likely mistakes in the configuration
  explain [TYPE]        show what the agent would do for this event type, or for each type
  version               print the version

by hand, as %s, while the agent runs:
  drain                 take this machine out of rotation until `restore`, whatever events do
  restore               put it back into rotation, unless an event keeps it out
  wait-back --for TIME  wait until it is in rotation; status 4 if something keeps it out
  hold [--for TIME]     approve nothing until `release`, or for 90s, 15m, 2h, 7d
  release               approve again
  forget EVENT          ignore an event: undo its preparation, and do not approve it

options:
  --config FILE         default: %s; check-config and explain read standard input for -
  --wait TIME           with drain and restore: wait until it is done; status 4 if it is not by then
  --json                with status, history, drain, restore and wait-back: for programs
  --notice TIME         with explain: until it may start, as 900 or 15m
  --source SOURCE       with explain: Platform, which is the default, or User
  --shared              with explain: it hits another machine as well
  --document FILE       with explain: the events of a document, in place of a type
"""
USAGE = _USAGE % (machine.ADMINISTRATOR, machine.CONFIG_PATH) + verbs.USAGE

_RUN = "run"
_CHOOSE_PYTHON = "choose-python"
_EXPLAIN = "explain"
_WAIT_BACK = "wait-back"
_WAITED_FOR = (DRAIN, RESTORE)
_STANDARD_INPUT = "-"
_SECONDS_TO_ANSWER = 10.0
_LOOK_AGAIN = 0.5  # seconds

OK = 0
FAILED = 1
WRONG_USAGE = 2
WRONG_CONFIG = 3
KEEPS_OUT = 4
# As a shell shows the end by SIGINT, and by SIGPIPE: what was not read is no success, of `wait-back` for one.
INTERRUPTED = 130
UNREAD = 141


class Arguments(NamedTuple):
    """What was asked for on the command line."""

    command: str
    config: str = machine.CONFIG_PATH
    json: bool = False
    seconds: Optional[float] = None
    """With `hold`: None for no end. With `wait-back`."""
    wait: Optional[float] = None
    """With `drain` and `restore`: seconds; None not to wait."""
    event_id: str = ""
    """With `forget`."""
    event_type: str = ""
    """With `explain`; empty for each type."""
    notice: Optional[float] = None
    """With `explain`: seconds."""
    source: Optional[str] = None
    shared: bool = False
    service: bool = False
    """With `run`: by the service manager of Windows."""
    document: Optional[str] = None
    """With `explain`: the file."""
    python: Optional[str] = None
    """With `choose-python`."""


class UsageError(Exception):
    """The command line is wrong. The message says how."""


class Failed(Exception):
    """A command failed. The message says why, and what to do."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run a command.

    :returns: the exit status: 0 success, 1 failure, 2 wrong usage, 3 wrong configuration, 4 the machine is not where it
        is to be, or is out of rotation, and only the agent restores it, 130 it was interrupted, 141 nobody reads
        the output
    """
    words = sys.argv[1:] if arguments is None else arguments
    if _RUN not in words:
        # They are None where they are closed. The exit status still counts.
        sys.stdout = sys.stdout or _nowhere()
        sys.stderr = sys.stderr or _nowhere()
    try:
        if words and words[0] in verbs.VERBS:
            return _of_this_system(words, sys.stdout)
        asked = parse_arguments(words)
        status = _COMMANDS[asked.command](asked, sys.stdout)
        sys.stdout.flush()
        return status
    except (UsageError, verbs.VerbUsage) as error:
        sys.stderr.write("foghorn-agent: %s\nfoghorn-agent --help shows the commands and options\n" % error)
        return WRONG_USAGE
    except ConfigError as error:
        for mistake in error.mistakes:
            sys.stderr.write("%s: %s\n" % (error.path, mistake))
        return WRONG_CONFIG
    except (Failed, JournalError) as error:
        sys.stderr.write("foghorn-agent: %s\n" % error)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if _RUN in words:
            raise
        # Python would try once more to write it, at the end.
        with _nowhere() as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            # The reader (`head`, for example) has seen enough.
            return UNREAD
        sys.stderr.write("foghorn-agent: %s\n" % error)
        return FAILED


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def parse_arguments(arguments: Sequence[str]) -> Arguments:
    """Read the command line.

    :raises UsageError: if it cannot be meant
    """
    left = list(arguments)
    words: List[str] = []
    asked = Arguments("")
    while left:
        word = left.pop(0)
        if word in _INSTEAD:
            return Arguments(_INSTEAD[word])
        if word.startswith("-"):
            asked = _with_option(asked, word, left)
        else:
            words.append(word)
    if words[:1] == [FORGET]:
        if len(words) != 2:
            raise UsageError("forget needs the id of one event, as status shows it")
        asked = asked._replace(event_id=words.pop())
    if words[:1] == [_EXPLAIN] and len(words) == 2:
        asked = asked._replace(event_type=words.pop())
    if words[:1] == [_CHOOSE_PYTHON] and len(words) == 2:
        asked = asked._replace(python=words.pop())
    if not words:
        raise UsageError("give a command")
    if len(words) > 1:
        raise UsageError("one command at a time, not %s" % " and ".join(words))
    return _checked(asked._replace(command=words[0]))


def _with_option(asked: Arguments, word: str, left: List[str]) -> Arguments:
    """With an option, whose value is taken from what is left unless it is in the same word."""
    fields: Dict[str, Any]
    if word in ("--json", "--service", "--shared"):
        fields = {word[2:]: True}
        return asked._replace(**fields)
    name, equals, value = word.partition("=")
    read = _OPTIONS.get(name)
    if read is None or not (equals or left):
        raise UsageError("%s is not an option, or lacks its value" % word)
    field, parse = read
    try:
        fields = {field: parse(value if equals else left.pop(0))}
    except UsageError as error:
        raise UsageError("%s %s" % (name, error)) from None
    return asked._replace(**fields)


def _checked(asked: Arguments) -> Arguments:
    if asked.command not in _COMMANDS:
        raise UsageError("%s is not a command" % asked.command)
    if asked.config == _STANDARD_INPUT and asked.command not in ("check-config", _EXPLAIN):
        raise UsageError("--config - is for check-config and explain")
    if asked.json and asked.command not in ("status", "history", _WAIT_BACK, *_WAITED_FOR):
        raise UsageError("--json is for status, history, drain, restore and wait-back")
    if asked.wait is not None and asked.command not in _WAITED_FOR:
        raise UsageError("--wait is for drain and restore")
    if asked.command == _WAIT_BACK and asked.seconds is None:
        raise UsageError("wait-back needs --for with a time, as in --for 5m")
    if asked.service and asked.command != _RUN:
        raise UsageError("--service is for run")
    if asked.seconds is not None and asked.command not in (HOLD, _WAIT_BACK):
        raise UsageError("--for is for hold and wait-back")
    sample = (asked.notice, asked.source, asked.shared or None)
    if asked.command != _EXPLAIN and (asked.document is not None or any(one is not None for one in sample)):
        raise UsageError("--notice, --source, --shared and --document are for explain")
    if asked.document is not None and (asked.event_type or any(one is not None for one in sample)):
        raise UsageError("--document excludes these options: its events contain them")
    return asked


def _period(text: str) -> float:
    try:
        return parse_period(text)
    except RequestError as error:
        raise UsageError(str(error)) from None


_INSTEAD = {"-h": "help", "--help": "help", "--version": "version"}
"""Options for which nothing else is done, whatever is asked for beside them."""
_OPTIONS: Dict[str, Tuple[str, Callable[[str], Any]]] = {
    "--config": ("config", str),
    "--for": ("seconds", _period),
    "--wait": ("wait", _period),
    "--notice": ("notice", _period),
    "--source": ("source", str),
    "--document": ("document", str),
}


def _of_this_system(words: Sequence[str], output: TextIO) -> int:
    around = verbs.Surroundings(read_config, lambda: _check_removal(Arguments(""), output))
    try:
        return verbs.VERBS[words[0]](words[1:], output, around)
    except OSError as error:
        raise Failed(str(error)) from None


def _run(asked: Arguments, _output: TextIO) -> int:
    # Imported here: the other commands do not need it, and start faster.
    from .precompile import forget
    from .service import serve

    forget()
    if asked.service:
        return verbs.serve_as_service(lambda: serve(asked.config, os.environ))
    return serve(asked.config, os.environ)


def _status(asked: Arguments, output: TextIO) -> int:
    where, status = _ask_here(asked.config) or _ask_by_port(asked.config)
    if asked.json:
        output.write(json.dumps(status, indent=2, sort_keys=True) + "\n")
        return OK
    try:
        table = as_table(status)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise Failed("%s answered, but is not a foghorn-agent. Does another program listen there?" % where) from None
    _show(table, output)
    return OK


def _ask_here(config: str) -> Optional[Tuple[str, Dict[str, Any]]]:
    """Ask the service on this machine, if it runs. Users who may not read its configuration can do that as well."""
    directory = machine.runtime_directory_of(os.environ)
    if directory is None and config == machine.CONFIG_PATH:
        directory = machine.RUNTIME_DIRECTORY
    if directory is None:
        return None
    path = os.path.join(directory, listening.SOCKET_NAME)
    try:
        with listening.connect_at(path, _SECONDS_TO_ANSWER) as client:
            client.sendall(b"GET /status HTTP/1.1\r\n\r\n")
            with client.makefile("rb") as answer:
                head, _end, body = answer.read().partition(b"\r\n\r\n")
        status = parse_json(body) if head.startswith(b"HTTP/1.1 200 ") else None
    except (OSError, DocumentError):
        return None
    return (path, status) if isinstance(status, dict) else None


def _state_directory(config: str) -> str:
    """Where the agent has its journal, and is asked by hand: one that runs knows it, whatever the file says by now."""
    answer = _ask_here(config)
    directory = answer[1].get("state_directory") if answer else None
    return directory if directory and isinstance(directory, str) else load_config(config).journal_directory


def _ask_by_port(path: str) -> Tuple[str, Dict[str, Any]]:
    url = _url_of_agent(load_config(path))
    try:
        return url, ask_agent(url, 5.0)
    except (OSError, DocumentError) as error:
        raise Failed("no answer from %s: %s. Is it running? %s" % (url, error, services.HOW_TO_SEE)) from None


def _show(text: str, output: TextIO) -> None:
    # In a locale without these characters, escapes are printed.
    encoding = output.encoding or "ascii"
    output.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _url_of_agent(config: Config) -> str:
    if not config.listen:
        raise Failed("listen is empty in the configuration, so the agent has no endpoint to ask")
    address, port = config.listen[0]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
    return "http://%s:%d" % ("[%s]" % host if ":" in host else host, port)


def _history(asked: Arguments, output: TextIO) -> int:
    for record in read_history(_state_directory(asked.config)):
        if asked.json:
            output.write(json.dumps(record, sort_keys=True) + "\n")
        elif record.get("kind") not in ("summary", "tracked", "incarnation"):
            _show(as_history_line(record) + "\n", output)
    return OK


def as_history_line(record: Dict[str, object]) -> str:
    """Write one record of the journal for a person. Control characters are shown and not sent to the terminal."""
    at = record.get("at")
    when = format_date(datetime.fromtimestamp(at, timezone.utc)) if isinstance(at, (int, float)) else "-" * 20
    event = record.get("event")
    if isinstance(event, dict):
        details = "%(EventType)s %(EventStatus)s" % dict({"EventType": "?", "EventStatus": "?"}, **event)
        event_id = str(event.get("EventId", ""))
    else:
        shown = ("stage", "state", "name", "hook", "how", "reason", "seconds", "vm_name")
        details = " ".join(str(record[name]) for name in shown if record.get(name) not in (None, ""))
        if "succeeded" in record:
            details += " succeeded" if record["succeeded"] else " failed"
        ids = record.get("event_ids")
        event_id = " ".join(str(one) for one in ids) if isinstance(ids, list) else str(record.get("event_id", ""))
        back_from = record.get("back_from")
        if isinstance(back_from, list):
            outcomes = [one for one in back_from if isinstance(one, dict)]
            event_id = ", ".join("%s %s" % (one.get("event_id"), one.get("outcome")) for one in outcomes)
    return plain(("%s  %-12s %s  %s" % (when, record.get("kind"), details, event_id)).rstrip())


def _check_config(asked: Arguments, output: TextIO) -> int:
    # Imported here, to save the agent's memory.
    from .advice import advice_on_machine, advice_on_policies, fate_of_uncovered

    source = "standard input" if asked.config == _STANDARD_INPUT else asked.config
    config = _config_of(asked)
    # A configuration on standard input may be meant for another machine.
    if asked.config != _STANDARD_INPUT and config.quorum.secret_file is not None:
        try:
            read_members_secrets(config.quorum.secret_file)
        except NoSecret as error:
            raise ConfigError(source, ["quorum.secret_file: %s" % error]) from None
    advice = advice_on_policies(config)
    if asked.config != _STANDARD_INPUT:
        # On some distributions, others than root may write below /usr/local.
        advice += filter(None, [ownership.problem_with(program.path())] if os.path.isfile(program.path()) else [])
        advice += advice_on_machine(config)
    notes, warnings = fate_of_uncovered(config, is_here=asked.config != _STANDARD_INPUT)
    for line in [*advice, *warnings]:
        sys.stderr.write("%s: warning: %s\n" % (source, plain(line)))
    own = len(config.rules) - len(Config().rules)
    dry = "; a dry run: nothing is done" if config.dry_run else ""
    for line in notes:
        output.write("%s: %s\n" % (source, plain(line)))
    output.write("%s: good, with %d %s of its own%s\n" % (source, own, "policy" if own == 1 else "policies", dry))
    return OK


def _by_hand(asked: Arguments, output: TextIO) -> int:
    # Imported here: the other commands do not need it, and start faster.
    from .io.control import ask_agent

    directory = _state_directory(asked.config)
    wanted = {"request": asked.command, "seconds": asked.seconds, "event_id": asked.event_id}
    try:
        said = ask_agent(directory, wanted, _SECONDS_TO_ANSWER)
    except PermissionError:
        raise Failed("%s needs %s" % (asked.command, machine.ADMINISTRATOR)) from None
    except (FileNotFoundError, ConnectionRefusedError):
        raise Failed("no agent runs with %s: %s" % (directory, services.HOW_TO_SEE)) from None
    except (OSError, RequestError) as error:
        raise Failed("%s: %s" % (asked.command, error)) from None
    if asked.wait is not None:
        return _wait(asked, asked.wait, output)
    _say_result(asked, True, said, output)
    return OK


def _wait_back(asked: Arguments, output: TextIO) -> int:
    return _wait(asked, asked.seconds or 0.0, output)


def _wait(asked: Arguments, seconds: float, output: TextIO) -> int:
    """Wait until the machine is where it is to be, and say if it is."""
    # Imported here, to save the agent's memory.
    import time

    from .reached import is_back, is_drained

    judge = is_drained if asked.command == DRAIN else is_back
    ends = time.monotonic() + seconds
    while True:
        try:
            found = judge((_ask_here(asked.config) or _ask_by_port(asked.config))[1])
        except Failed as error:
            # It may be starting again, after a boot.
            if time.monotonic() >= ends:
                raise Failed("%s: %s" % (asked.command, error)) from None
        else:
            if found.is_final or time.monotonic() >= ends:
                _say_result(asked, found.is_reached, found.said, output)
                return OK if found.is_reached else KEEPS_OUT
        time.sleep(_LOOK_AGAIN)


def _say_result(asked: Arguments, is_reached: bool, said: str, output: TextIO) -> None:
    _show((json.dumps({"reached": is_reached, "said": said}) if asked.json else said) + "\n", output)


def _version(_asked: Arguments, output: TextIO) -> int:
    output.write("foghorn-agent %s\n" % __version__)
    return OK


def _send_webhook(_asked: Arguments, output: TextIO) -> int:
    # Called by the agent itself: TLS and the memory that it takes stay in a process that ends.
    from .http.delivery import send

    send(sys.stdin, output)
    return OK


def _choose_python(asked: Arguments, output: TextIO) -> int:
    # Called by the role.
    from .io.interpreter import NoInterpreter, choose

    try:
        output.write(choose(asked.python) + "\n")
    except NoInterpreter as error:
        raise Failed(str(error)) from None
    return OK


def _check_removal(asked: Arguments, _output: TextIO) -> int:
    # Called by the role. The journal knows as well, whether the agent runs or not, if the disk has taken it.
    from .decide.state import replay

    directory = machine.state_directory_of(os.environ) or _state_directory(asked.config)
    answer = _ask_here(asked.config)
    if not (answer and answer[1].get("out_of_rotation")) and not replay(Journal(directory).read()).is_out:
        return OK
    sys.stderr.write(
        "foghorn-agent: nothing was removed: the agent keeps this machine out of rotation, and nobody else would "
        "restore it. Wait until the event is over, or run foghorn-agent restore, or foghorn-agent forget with the id "
        "of the event, and remove the agent when foghorn-agent status says that the machine is in rotation\n"
    )
    return KEEPS_OUT


def _explain(asked: Arguments, output: TextIO) -> int:
    # Imported here, to save the agent's memory.
    from foghorn_core.scheduled_events.document import parse_document
    from foghorn_core.scheduled_events.event import EVENT_TYPES
    from foghorn_core.scheduled_events.words import read_sources, read_types

    from .decide.explain import explain, sample_event

    config = _config_of(asked)
    now = datetime.now(timezone.utc)
    if asked.document is not None:
        try:
            with open(asked.document, "rb") as file:
                events = list(parse_document(file.read()).events)
        except (OSError, DocumentError) as error:
            raise Failed("--document %s: %s" % (asked.document, error)) from None
    else:
        try:
            source = read_sources([asked.source or "Platform"])[0]
            types = read_types([asked.event_type]) if asked.event_type else EVENT_TYPES
        except ValueError as error:
            raise UsageError(str(error)) from None
        vm_name = config.imds.vm_name or "this VM"
        events = [sample_event(each, asked.notice, source, asked.shared, vm_name, now) for each in types]
    for event in events:
        for line in explain(config.rules, event, now, config.keep_in_service):
            _show(plain(line) + "\n", output)
    return OK


def _config_of(asked: Arguments) -> Config:
    if asked.config == _STANDARD_INPUT:
        return read_config(sys.stdin.buffer.read(), "standard input")
    return load_config(asked.config)


def _help(_asked: Arguments, output: TextIO) -> int:
    output.write(USAGE)
    return OK


_COMMANDS: Dict[str, Callable[[Arguments, TextIO], int]] = dict.fromkeys(REQUESTS, _by_hand)
_COMMANDS.update(
    {
        _RUN: _run,
        "status": _status,
        "history": _history,
        "check-config": _check_config,
        _WAIT_BACK: _wait_back,
        _EXPLAIN: _explain,
        "send-webhook": _send_webhook,
        _CHOOSE_PYTHON: _choose_python,
        "check-removal": _check_removal,
        "version": _version,
        "help": _help,
    }
)
