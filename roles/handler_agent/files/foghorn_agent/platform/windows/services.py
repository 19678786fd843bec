# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services of Windows, which start and stop what the machine is for.

A step stops or starts one by the agent's own command `service`, in a process of its own: what waits for a service may
wait for ever.
"""

import json
import os
import re
import sys
import time
from typing import Any, Callable, Dict, List

from .. import program
from . import files, machine
from .service_manager import (
    DOES_NOT_EXIST,
    RUNNING,
    START_PENDING,
    STOP_PENDING,
    STOPPED,
    ServiceManager,
    code_of,
    manager,
)

WHAT_IS_NAMED = "the name of a service, as Get-Service shows it"
HOW_TO_SEE = "Get-Service foghorn-agent"

# In the words of systemd, which the agent's decisions are in.
_STATES = {
    STOPPED: "inactive",
    START_PENDING: "activating",
    STOP_PENDING: "deactivating",
    RUNNING: "active",
    5: "reloading",
    6: "deactivating",
    7: "active",
}
_NAME = re.compile(r"[^/\\\x00-\x1f\"]{1,256}\Z")
_UNIT = ".service"
_OTHER_UNIT = re.compile(r"\.(?:socket|target|timer|path|mount|automount|swap|slice|scope)\Z")
_NOTES = "stopped_services.json"
_PAUSE = 0.2  # seconds between two looks at a service that is about to be something else

# What Windows answers.
_ALREADY_RUNNING = 1056
_NOT_ACTIVE = 1062
_CANNOT_ACCEPT_CONTROL = 1061
_DEPENDENTS_RUNNING = 1051


def is_name(value: Any) -> bool:
    """Whether a service may have this name. Those of systemd's other units are refused."""
    return isinstance(value, str) and bool(_NAME.match(value)) and not _OTHER_UNIT.search(value)


def full_name(name: str) -> str:
    """The name under which a service is known, whoever names it, and in upper or lower case."""
    name = name.lower()
    return name[: -len(_UNIT)] if name.endswith(_UNIT) else name


def command_to(action: str, name: str) -> List[str]:
    """The command that does something with a service.

    :param action: `stop`, `start`, or `is-active`, which prints the state that the service is in
    """
    return [sys.executable, "-IS", program.path(), "service", action, name]


def problems_with(name: str) -> List[str]:
    """What is wrong with a service: it is not there."""
    try:
        manager().state(name)
    except OSError as error:
        return ["there is no service %s" % name if code_of(error) == DOES_NOT_EXIST else "%s: %s" % (name, error)]
    return []


def active_triggers(_name: str) -> List[str]:
    """What would start a service now: nothing that could be asked for."""
    return []


def stopped_with(_name: str) -> List[str]:
    """What is not started with a service that it was stopped with: nothing, for `start` starts all of them."""
    return []


def state_word(manager: ServiceManager, name: str) -> str:
    """The state of a service, in systemd's words. `unknown` for one that is not there.

    :raises OSError: if it cannot be told
    """
    try:
        return _STATES.get(manager.state(name), "unknown")
    except OSError as error:
        if code_of(error) == DOES_NOT_EXIST:
            return "unknown"
        raise


def stop(manager: ServiceManager, name: str, notes: "Notes", sleep: Callable[[float], None] = time.sleep) -> List[str]:
    """Stop a service, and first those that depend on it, which are noted. Waits until they are stopped.

    :returns: what was stopped, in that order
    :raises OSError: if one cannot be stopped
    """
    stopped: List[str] = []
    while True:
        dependents = manager.dependents(name)
        if dependents:
            notes.add(name, dependents)
        for each in [*dependents, name]:
            if manager.state(each) != STOPPED:
                try:
                    _stop_one(manager, each, sleep)
                except OSError as error:
                    if code_of(error) == _DEPENDENTS_RUNNING:
                        # One of them has been started meanwhile.
                        break
                    raise
                stopped.append(each)
        else:
            return stopped


def start(manager: ServiceManager, name: str, notes: "Notes", sleep: Callable[[float], None] = time.sleep) -> List[str]:
    """Start a service, and then those that were stopped for it, in the opposite order. Waits until they run.

    :returns: what was started, in that order
    :raises OSError: if one cannot be started
    """
    started = []
    for each in [name, *reversed(notes.of(name))]:
        if manager.state(each) != RUNNING:
            _start_one(manager, each, sleep)
            started.append(each)
    notes.remove(name)
    return started


def _stop_one(manager: ServiceManager, name: str, sleep: Callable[[float], None]) -> None:
    is_told = False
    while True:
        state = manager.state(name)
        if state == STOPPED:
            return
        if not is_told and state != STOP_PENDING:
            try:
                manager.stop(name)
                is_told = True
                continue
            except OSError as error:
                if code_of(error) == _NOT_ACTIVE:
                    return
                if code_of(error) != _CANNOT_ACCEPT_CONTROL or state == RUNNING:
                    raise
        sleep(_PAUSE)


def _start_one(manager: ServiceManager, name: str, sleep: Callable[[float], None]) -> None:
    while manager.state(name) == STOP_PENDING:
        sleep(_PAUSE)
    try:
        manager.start(name)
    except OSError as error:
        if code_of(error) != _ALREADY_RUNNING:
            raise
    while True:
        state = manager.state(name)
        if state == RUNNING:
            return
        if state == STOPPED:
            raise OSError("%s stopped as soon as it was started: the event log says why" % name)
        sleep(_PAUSE)


class Notes:
    """Which services were stopped for the sake of others, on the disk: the machine may boot before they are started.

    :param directory: of the agent's state
    """

    def __init__(self, directory: str = machine.STATE_DIRECTORY) -> None:
        self._directory = directory
        self._path = os.path.join(directory, _NOTES)

    def of(self, name: str) -> List[str]:
        """What was stopped for a service, in that order."""
        return self._read().get(name, [])

    def add(self, name: str, dependents: List[str]) -> None:
        """Note what is about to be stopped for a service, after what is noted already.

        :raises OSError: if it cannot be written down
        """
        noted = self._read()
        known = noted.get(name, [])
        noted[name] = [*known, *(each for each in dependents if each not in known)]
        self._write(noted)

    def remove(self, name: str) -> None:
        """They run again.

        :raises OSError: if it cannot be written down
        """
        noted = self._read()
        if noted.pop(name, None) is not None:
            self._write(noted)

    def _read(self) -> Dict[str, List[str]]:
        try:
            with open(self._path, encoding="utf-8") as file:
                noted = json.load(file)
        except FileNotFoundError:
            return {}
        except ValueError:
            # It is written as a whole: this is somebody else's.
            return {}
        return noted if isinstance(noted, dict) else {}

    def _write(self, noted: Dict[str, List[str]]) -> None:
        files.make_private_directory(self._directory)
        files.write_private(self._path, json.dumps(noted))
