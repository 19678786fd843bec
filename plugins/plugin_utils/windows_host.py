# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Orders to a Windows machine, by PowerShell over its connection: what its agent's command line does.

What a machine prints is data: it is read strictly, up to a size, and no text of it enters a command.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, NamedTuple

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.scheduled_events.errors import DocumentError
from ..module_utils.scheduled_events.strict_json import parse_json
from ..module_utils.scheduled_events.text import plain

_LARGEST = 1024 * 1024  # bytes
_LONGEST_SAID = 2000  # characters
# An error of a script is its failure, and progress is not shown, which over SSH comes as XML.
_HEAD = "$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; "
# Of any system, and in the same place: what follows is the script alone.
_POWERSHELL = "powershell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand %s"
_RUN = "& %s; exit $LASTEXITCODE"


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
    return found


class WindowsHostAction(ActionBase):
    """The base of actions that order Windows machines."""

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


def said_by(answer: Answer) -> str:
    """What a script complained of, for a person."""
    text = answer.stderr.strip() or answer.stdout.strip() or "it said nothing"
    return plain(" ".join(text.split())[:_LONGEST_SAID])


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace").replace("\r\n", "\n")
