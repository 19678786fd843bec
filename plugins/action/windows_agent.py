# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The action windows_agent. The module of the same name documents it."""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.module_utils.urls import open_url

from ..module_utils.scheduled_events.text import plain
from ..plugin_utils.windows_host import PLACES, WindowsHostAction, object_in, quoted, said_by

ARGUMENTS = {
    "state": {"type": "str", "choices": ["present", "absent", "drained", "restored"], "default": "present"},
    "timeout": {"type": "float", "default": 300},
    "program": {"type": "path"},
    "python_archive": {"type": "str"},
    "python_checksum": {"type": "str"},
    "files": {"type": "dict", "default": {}},
}

# What is installed, and a new directory in which nobody but administrators can put anything, with those of the files.
_LOOK = (
    PLACES
    + """
$marker = [IO.Path]::Combine($home_of, 'python', 'archive.sha256')
$known = ''; $has = ''
if ([IO.File]::Exists($marker)) { $known = [IO.File]::ReadAllText($marker).Trim() }
if ([IO.File]::Exists($program)) {
    $hash = [Security.Cryptography.SHA256]::Create().ComputeHash([IO.File]::ReadAllBytes($program))
    $has = [BitConverter]::ToString($hash).Replace('-', '').ToLowerInvariant()
}
$work = [IO.Path]::Combine($env:ProgramFiles, 'foghorn-' + [Guid]::NewGuid().ToString('N'))
foreach ($each in %(directories)s) { [void][IO.Directory]::CreateDirectory([IO.Path]::Combine($work, $each)) }
[Console]::Out.WriteLine((@($known, $has, $work, $python, $program, [IO.Path]::DirectorySeparatorChar) -join '|'))
"""
)
_UNPACK = """
[void][Reflection.Assembly]::LoadWithPartialName('System.IO.Compression.FileSystem')
[IO.Compression.ZipFile]::ExtractToDirectory(%(archive)s, %(target)s)
[IO.File]::WriteAllText([IO.Path]::Combine(%(target)s, 'archive.sha256'), %(checksum)s)
"""
# Endpoint protection may hold for seconds what was written, or has run.
_REMOVE = """
for ($try = 1; [IO.Directory]::Exists(%(path)s); $try++) {
    try { [IO.Directory]::Delete(%(path)s, $true) }
    catch { if ($try -ge 40) { throw }; [Threading.Thread]::Sleep(250) }
}
"""


class ActionModule(WindowsHostAction):
    """Has the program install itself, or take the machine out of rotation and back."""

    # It makes a directory of its own.
    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do it.

        :raises AnsibleActionFail: if it cannot be done; the message says why
        """
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validated, options = self.validate_argument_spec(
            ARGUMENTS, required_if=[("state", "present", ("program", "python_archive", "python_checksum"))]
        )
        if options["state"] in ("drained", "restored"):
            if not 1 <= options["timeout"] <= 86400:
                raise AnsibleActionFail("timeout: %s: expected seconds from 1 to 86400" % options["timeout"])
            return {**result, **self._rotate(options["state"], options["timeout"])}
        return {**result, **self._place(options)}

    def _place(self, options: dict[str, Any]) -> dict[str, Any]:
        """Have the agent there, or not."""
        checksum = (options["python_checksum"] or "").lower()
        known, has, work, python, program, separator = self._look(options["files"])
        try:
            if options["state"] == "absent":
                return self._remove(has, python, program)
            if known != checksum:
                python = self._give_python(options["python_archive"], checksum, work, separator)
            with open(options["program"], "rb") as file:
                content = file.read()
            if has != hashlib.sha256(content).hexdigest():
                program = work + separator + "foghorn-agent.pyz"
                self._connection.put_file(options["program"], program)
            return self._install(python, program, options["files"], work, separator)
        finally:
            # What was done counts, or why it was not.
            tidied = self._powershell(_REMOVE % {"path": quoted(work)}, may_fail=True)
            if tidied.status != 0:
                self._display.warning("%s could not be removed: %s" % (plain(work), said_by(tidied)))

    def _rotate(self, state: str, timeout: float) -> dict[str, Any]:
        """Have the agent take the machine out of rotation, as by hand, or undo that."""
        before = self._order("status")
        is_drained, keepers = bool(before.get("drained_by_hand")), _keepers(before)
        changed = is_drained == (state == "restored")
        found = {"changed": changed, "kept_out_by": keepers}
        if state == "restored" and not is_drained:
            if keepers:
                raise AnsibleActionFail(
                    "it was not drained by hand. It is out for %s, and its agent restores it when that is over"
                    % ", ".join(keepers)
                )
            if before.get("in_rotation") is True:
                return found
        if self._task.check_mode:
            return found
        if state == "restored" and keepers:
            self._order("restore")
            return found
        verb = "drain" if state == "drained" else "restore"
        # What the exit status says as well, of which not all connections hand on more than that it is not 0.
        said = self._order(verb, "--wait", str(round(timeout)))
        if said.get("reached") is not True:
            raise AnsibleActionFail("%s: %s" % (verb, plain(str(said.get("said") or "no answer"))))
        return found

    def _order(self, *words: str) -> dict[str, Any]:
        asked = self._installed_agent(*words, "--json")
        if not asked.is_there:
            raise AnsibleActionFail(
                "no handler agent is installed, and nothing else does this on Windows: install it with the playbook"
                " install_agent"
            )
        try:
            return object_in(asked.answer.stdout)
        except ValueError:
            raise AnsibleActionFail("%s: %s" % (words[0], said_by(asked.answer))) from None

    def _look(self, files: Iterable[str]) -> list[str]:
        directories = sorted({"", *(posixpath.dirname("given/" + name) for name in files)})
        said = (
            self._powershell(_LOOK % {"directories": ", ".join(map(quoted, directories))}).stdout.strip().splitlines()
        )
        words = said[-1].split("|") if said else []
        if len(words) != 6 or not all(words[2:]):
            raise AnsibleActionFail("PowerShell of the machine gave no answer that can be read")
        return words

    def _give_python(self, archive: str, checksum: str, work: str, separator: str) -> str:
        target = work + separator + "python"
        with tempfile.TemporaryDirectory(dir=constants.DEFAULT_LOCAL_TMP) as directory:
            local = _fetch(archive, os.path.join(directory, "python.zip"))
            _check(archive, local, checksum)
            self._connection.put_file(local, target + ".zip")
        script = _UNPACK % {"archive": quoted(target + ".zip"), "target": quoted(target), "checksum": quoted(checksum)}
        self._powershell(script)
        return target + separator + "python.exe"

    def _install(self, python: str, program: str, files: dict[str, Any], work: str, separator: str) -> dict[str, Any]:
        given = work + separator + "given"
        with tempfile.TemporaryDirectory(dir=constants.DEFAULT_LOCAL_TMP) as directory:
            for number, (name, content) in enumerate(sorted(files.items())):
                local = os.path.join(directory, str(number))
                with open(local, "w", encoding="utf-8", newline="") as file:
                    file.write(str(content))
                self._connection.put_file(local, separator.join([given, *name.split("/")]))
        words = [*(["--files", given] if files else []), *(["--check"] if self._task.check_mode else [])]
        return self._of_program(python, program, "install", *words)

    def _remove(self, has: str, python: str, program: str) -> dict[str, Any]:
        if not has:
            return {"changed": False, "changes": []}
        result = self._of_program(python, program, "uninstall", *(["--check"] if self._task.check_mode else []))
        for path in result.pop("left", []):
            # The Python that has removed the rest.
            if not self._task.check_mode and isinstance(path, str) and path.endswith("foghorn"):
                self._powershell(_REMOVE % {"path": "[IO.Path]::Combine($env:ProgramFiles, 'foghorn')"})
        return result

    def _of_program(self, python: str, program: str, verb: str, *words: str) -> dict[str, Any]:
        answer = self._agent([python, "-IS", program, verb, "--json", *words])
        changes = answer.get("changes")
        if not isinstance(changes, list) or not all(isinstance(each, str) for each in changes):
            raise AnsibleActionFail("the agent's %s gave no answer that can be read" % verb)
        lines = "".join(each + "\n" for each in changes)
        diff = {"diff": [{"prepared": lines}]} if self._task.diff and lines else {}
        left = {"left": answer["left"]} if isinstance(answer.get("left"), list) else {}
        return {"changed": bool(changes), "changes": changes, **diff, **left}


def _keepers(status: dict[str, Any]) -> list[str]:
    """The events for which the agent keeps the machine out, in words.

    :raises AnsibleActionFail: if the status cannot be read
    """
    try:
        keepers = [event for event in status.get("events") or () if event.get("keeps_out")]
        return [plain("%s %s" % (event["event_type"], event["event_id"])) for event in keepers]
    except (AttributeError, LookupError, TypeError) as error:
        raise AnsibleActionFail("the agent's status cannot be read: %r" % error) from None


def _fetch(archive: str, target: str) -> str:
    """Have the archive as a file of the controller."""
    if not archive.startswith(("http://", "https://")):
        return archive
    try:
        with open_url(archive, timeout=60, http_agent="foghorn.azure_events") as answer, open(target, "wb") as file:
            shutil.copyfileobj(answer, file)
    except (OSError, HTTPException) as error:
        raise AnsibleActionFail("python_archive: %s cannot be fetched: %r" % (archive, error)) from error
    return target


def _check(archive: str, local: str, checksum: str) -> None:
    digest = hashlib.sha256()
    try:
        with open(local, "rb") as file:
            while piece := file.read(1024 * 1024):
                digest.update(piece)
    except OSError as error:
        raise AnsibleActionFail("python_archive: %s cannot be read: %s" % (archive, error.strerror)) from error
    if digest.hexdigest() != checksum:
        raise AnsibleActionFail(
            "python_checksum: %s has the SHA-256 %s, and not %s: compare it with python.org's"
            % (archive, digest.hexdigest(), checksum)
        )
