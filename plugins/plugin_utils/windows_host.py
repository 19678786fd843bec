# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Orders to a Windows machine, by PowerShell over its connection: what its agent's command line does.

What a machine prints is data: it is read strictly, up to a size, and no text of it enters a command.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.scheduled_events.errors import DocumentError
from ..module_utils.scheduled_events.strict_json import DEEPEST_VALUE, is_deeper_than, parse_json
from ..module_utils.scheduled_events.text import plain

_LARGEST = 1024 * 1024  # bytes
_LONGEST_SAID = 2000  # characters
# An error of a script is its failure, and progress is not shown, which over SSH comes as XML.
_HEAD = "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; "
# Of any system, and in the same place: what follows is the script alone.
_POWERSHELL = "powershell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand %s"
_RUN = "& %s; exit $LASTEXITCODE"
PLACES = """
$home_of = [IO.Path]::Combine($env:ProgramFiles, 'foghorn')
$python = [IO.Path]::Combine($home_of, 'python', 'python.exe')
$program = [IO.Path]::Combine($home_of, 'foghorn-agent.pyz')
"""
"""The beginning of a script: where the agent installs itself."""
# The clock is read first: the agent takes a second to start.
_RUN_INSTALLED = (
    PLACES
    + """
$culture = [Globalization.CultureInfo]::InvariantCulture
[Console]::Out.WriteLine('foghorn-clock ' + [DateTime]::UtcNow.ToString('o', $culture))
if (-not ([IO.File]::Exists($python) -and [IO.File]::Exists($program))) { [Console]::Out.WriteLine('%s'); exit 0 }
& $python -IS $program %s; exit $LASTEXITCODE
"""
)
_MISSING = "foghorn-agent is not installed"
_CLOCK = re.compile(r"^foghorn-clock (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6})\d*Z$", re.MULTILINE | re.ASCII)


class Answer(NamedTuple):
    """What a script has done."""

    status: int
    stdout: str
    stderr: str


def quoted(text: str) -> str:
    """A text as PowerShell writes one in which nothing means anything."""
    # It takes these for a quotation mark as well.
    for mark in "'\u2018\u2019\u201a\u201b":
        text = text.replace(mark, mark * 2)
    return "'%s'" % text


def object_in(text: str) -> dict[str, Any]:
    """The object of JSON that a machine has printed, after whatever its profile says.

    :raises ValueError: if there is none
    """
    begins = text.find("{")
    try:
        found = parse_json(text[begins:].strip().encode("utf-8")) if begins >= 0 else None
    except DocumentError as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, dict):
        raise ValueError("there is no JSON object in it")
    if is_deeper_than(DEEPEST_VALUE, found):
        raise ValueError("it is nested too deeply")
    return found


class InstalledAgent(NamedTuple):
    """What the agent of a machine has answered."""

    is_there: bool
    """Whether one is installed."""
    answer: Answer
    """Empty unless it is there."""
    now: float | None
    """The machine's clock before it answered, in seconds since the epoch; None if it did not say."""


class WindowsHostAction(ActionBase):
    """The base of actions that order Windows machines."""

    def _is_windows(self) -> bool:
        """Whether Ansible reaches the host with a shell of Windows."""
        return self._connection._shell.SHELL_FAMILY in ("powershell", "cmd")

    def _powershell(self, script: str, may_fail: bool = False) -> Answer:
        """Run a script on the machine. In check mode, too.

        :raises AnsibleActionFail: if it fails
        """
        encoded = base64.b64encode((_HEAD + script.strip()).encode("utf-16-le")).decode("ascii")
        status, stdout, stderr = self._connection.exec_command(_POWERSHELL % encoded, in_data=None, sudoable=False)
        if len(stdout) > _LARGEST:
            raise AnsibleActionFail("the machine printed more than %d bytes" % _LARGEST)
        answer = Answer(status, *(_text(each) for each in (stdout, stderr)))
        if status != 0 and not may_fail:
            raise AnsibleActionFail("PowerShell failed on the machine: %s" % said_by(answer))
        return answer

    def _agent(self, argv: Sequence[str]) -> dict[str, Any]:
        """Run a command of the agent that prints one object of JSON.

        :raises AnsibleActionFail: if it fails, with what it says
        """
        answer = self._powershell(_RUN % " ".join(quoted(word) for word in argv), may_fail=True)
        if answer.status != 0:
            raise AnsibleActionFail("%s (exit status %d)" % (said_by(answer), answer.status))
        try:
            return object_in(answer.stdout)
        except ValueError as error:
            raise AnsibleActionFail("the machine printed what cannot be read: %s" % error) from None

    def _installed_agent(self, *words: str) -> InstalledAgent:
        """Run a command of the agent that is installed on the machine, if one is."""
        script = _RUN_INSTALLED % (_MISSING, " ".join(quoted(word) for word in words))
        answer = self._powershell(script, may_fail=True)
        read = _CLOCK.search(answer.stdout)
        is_there = not (answer.status == 0 and answer.stdout.rstrip().endswith(_MISSING))
        stdout = _CLOCK.sub("", answer.stdout).strip() if is_there else ""
        return InstalledAgent(is_there, answer._replace(stdout=stdout), _seconds(read.group(1)) if read else None)


def said_by(answer: Answer) -> str:
    """What a script complained of, for a person."""
    text = answer.stderr.strip() or answer.stdout.strip() or "it said nothing"
    return plain(" ".join(text.split())[:_LONGEST_SAID])


def _seconds(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
