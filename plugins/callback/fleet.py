# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The callback fleet."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
type: stdout
short_description: Show a fleet's run as changes of its hosts
version_added: 1.0.0
author:
  - The foghorn.azure_events contributors (!UNKNOWN)
description:
  - Prints a line with the time for each change of a host, instead of the tasks that P(ansible.builtin.default#callback)
    prints. Made for C(handle_events) and C(redeploy_early), where it shows how many hosts of each group are in service.
  - On a terminal, the last line shows the state of the fleet, and what the run waits for.
  - Failures are printed at once, in full and only once. The report comes last. A run that is interrupted says which
    hosts are out of rotation, and what brings them back.
  - For other plays it prints failures, C(debug) output, and a recap. With C(-v) it also prints changes.
# What ansible-runner joins with its own, as in AWX: where there is no such key, it ends with an error.
options: {}
requirements:
  - Set it as the standard output callback, for one run with E(ANSIBLE_STDOUT_CALLBACK), or in C(ansible.cfg).
"""

EXAMPLES = r"""
# For one run:
#
#   ANSIBLE_STDOUT_CALLBACK=foghorn.azure_events.fleet ansible-playbook -i inventory.yml --become roll.yml
#
# For all runs, in ansible.cfg:
#
#   [defaults]
#   stdout_callback = foghorn.azure_events.fleet
"""

import atexit
import os
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.text import plain

STEP = "foghorn.azure_events.maintenance_step"
_DEBUG = ("ansible.builtin.debug", "debug")
# The keys of a failed task's result that are printed besides its message.
_DETAILS = ("module_stderr", "stderr", "module_stdout", "stdout")
_NO_VARIABLES = ("changed", "failed", "unreachable", "exception", "invocation", "warnings", *_DETAILS)


class CallbackModule(CallbackBase):
    """Prints what changes."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "foghorn.azure_events.fleet"

    def __init__(self) -> None:
        super().__init__()
        self._status = ""
        self._is_reported = False
        self._told: dict[str, list[str]] = {}
        """By host, which of its failures were printed."""
        self._out: list[str] = []
        """Which hosts are out, or about to leave."""
        # What ansible-runner keeps comes from a terminal of its own, at which nobody looks.
        self._is_terminal = sys.stdout.isatty() and "ORIGINAL_STDOUT_CALLBACK" not in os.environ
        # An interrupted ansible-core tells callbacks nothing.
        atexit.register(self._end, os.getpid())

    # The methods that ansible-playbook calls:

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Name the play."""
        self._is_reported = False
        self._line(play.get_name().strip(), constants.COLOR_DEBUG)

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Say so: a misspelt pattern matches no host and does nothing."""
        self._line("no hosts matched", constants.COLOR_SKIP)

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002 - as it is called
        """Show on a terminal what is being done before anything is known about the fleet."""
        if not self._status:
            self._show(task.get_name().strip())

    def v2_runner_on_ok(self, result: Any) -> None:
        """Print the decisions of a step of the run, and messages of tasks."""
        content, task, host = _parts(result)
        if task.action == STEP:
            self._step(content)
        elif task.action in _DEBUG:
            for line in _messages(content):
                self._line(line if isinstance(content.get("msg"), list) else "%s: %s" % (host, line))
        elif content.get("changed") and self._display.verbosity > 0:
            self._line("%s: changed: %s" % (host, task.get_name().strip()), constants.COLOR_CHANGED)
        self._warn(content)

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """Print what is wrong with an item."""
        content, task, host = _parts(result)
        item = self._get_item_label(content)
        self._fail(host, "%s (%s)" % (task.get_name().strip(), item), content)

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """Print a failure, unless the report or the items have printed it."""
        content, task, host = _parts(result)
        is_told = "results" in content or (self._is_reported and task.action == "ansible.builtin.fail")
        if not ignore_errors and not is_told:
            self._fail(host, task.get_name().strip(), content)

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """Print why a host cannot be reached."""
        content, task, host = _parts(result)
        self._fail(host, "%s: cannot be reached" % task.get_name().strip(), content)

    def v2_on_file_diff(self, result: Any) -> None:
        """Print differences, with --diff."""
        content, _task, host = _parts(result)
        results = content.get("results") or [content]
        for one in results if isinstance(results, list) else ():
            if not isinstance(one, Mapping) or not one.get("diff") or not one.get("changed"):
                continue
            found = one["diff"] if isinstance(one["diff"], list) else [one["diff"]]
            text = self._get_diff([_harmless_diff(diff) for diff in found if isinstance(diff, Mapping)])
            if text:
                self._line("%s:" % host)
                self._display.display(text)

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """Print a recap if there was no report."""
        self._status, self._out = "", []
        self._show("")
        if self._is_reported:
            return
        for host in sorted(stats.processed):
            counts = stats.summarize(host)
            color = constants.COLOR_ERROR if counts["failures"] or counts["unreachable"] else constants.COLOR_OK
            told = "ok=%(ok)d changed=%(changed)d unreachable=%(unreachable)d failed=%(failures)d" % counts
            self._display.display("%s: %s" % (plain(host), told), color)

    # Helpers:

    def _step(self, content: Mapping[str, Any]) -> None:
        self._is_reported = self._is_reported or "report" in content
        for line in content.get("news") or ():
            host, _space, what = line.partition(" ")
            is_failure = what.startswith("FAILED: ")
            if is_failure and self._is_told(host, what[len("FAILED: ") :]):
                continue
            self._line(line, constants.COLOR_ERROR if is_failure else None)
        self._status = content.get("status") or self._status
        self._out = content.get("out", self._out)
        self._show(self._status)

    def _end(self, process: int) -> None:
        """Say what is left to do, unless the run has come to its end."""
        if self._out and os.getpid() == process:
            self._line(
                "interrupted: out of rotation, or about to leave it: %s. Run the same command again: it continues, and "
                "restores each of them when its event is over" % ", ".join(self._out),
                constants.COLOR_ERROR,
            )

    def _is_told(self, host: str, failure: str) -> bool:
        return any(told and told in failure for told in self._told.get(host, ()))

    def _fail(self, host: str, where: str, content: Mapping[str, Any]) -> None:
        message = "; ".join(_messages(content)) or "failed"
        if message in self._told.get(host, ()):
            return
        self._told.setdefault(host, []).append(message)
        self._line("%s FAILED: %s: %s" % (host, where, message), constants.COLOR_ERROR)
        for name in _DETAILS:
            for line in str(content.get(name) or "").splitlines():
                self._display.display("    %s" % plain(line), constants.COLOR_ERROR)
        self._warn(content)

    def _warn(self, content: Mapping[str, Any]) -> None:
        for warning in content.get("warnings") or ():
            self._display.warning(plain(warning))

    def _line(self, text: str, color: str | None = None) -> None:
        """Print a line with the time of day, above the line of the status."""
        if self._is_terminal and self._status:
            sys.stdout.write("\r\033[K")
            sys.stdout.flush()
        self._display.display("%s %s" % (time.strftime("%H:%M:%S"), plain(text)), color)
        self._show(self._status)

    def _show(self, text: str) -> None:
        """Show this text in the last line of a terminal."""
        if self._is_terminal:
            width = max(20, self._display.columns)
            sys.stdout.write("\r\033[K%s\r" % plain(text)[: width - 1])
            sys.stdout.flush()


def _parts(result: Any) -> tuple[Mapping[str, Any], Any, str]:
    """A task's result, the task, and the name of its host, in all supported versions of ansible-core."""
    if hasattr(result, "result"):
        return result.result, result.task, result.host.get_name()
    return result._result, result._task, result._host.get_name()


def _harmless_diff(diff: Mapping[str, Any]) -> dict[str, Any]:
    """A difference that shows all of its text as text, and has no more than ansible-core looks at.

    ansible-core prints it as it came from the host, escape sequences for the terminal and all.
    """
    found: dict[str, Any] = {}
    for name, value in diff.items():
        if name in ("before", "after"):
            is_data = value is None or isinstance(value, Mapping)
            found[name] = _harmless(value if is_data or isinstance(value, (str, bytes)) else str(value))
        elif name in ("before_header", "after_header"):
            found[name] = plain(value)
        elif name == "prepared":
            found[name] = _harmless(value if isinstance(value, bytes) else str(value))
        elif name in ("dst_binary", "src_binary"):
            found[name] = True
        elif name in ("dst_larger", "src_larger"):
            found[name] = value if isinstance(value, int) else 0
    return found


def _harmless(value: Any) -> Any:
    """Data with all text in it shown as text, names too. Lines and tabs stay."""
    if isinstance(value, Mapping):
        return {_harmless(str(name)): _harmless(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_harmless(one) for one in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return "\n".join("\t".join(map(plain, line.split("\t"))) for line in text.split("\n"))


def _messages(content: Mapping[str, Any]) -> Iterator[str]:
    # Without a message, the task shows a variable. ansible-core calls what is its own _ansible_….
    shown = [name for name in content if name not in _NO_VARIABLES and not name.startswith("_ansible_")]
    message = content.get("msg", [content[name] for name in shown])
    if isinstance(message, (list, tuple)):
        yield from map(str, message)
    elif message:
        yield str(message)
