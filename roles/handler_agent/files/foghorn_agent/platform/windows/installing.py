# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program installs itself, with the Python that runs it: directories, files, configuration, service.

Done again, it changes nothing. What it installs is found where `machine` says, and below Program Files, where Windows
lets nobody but administrators write.
"""

import contextlib
import filecmp
import functools
import os
import shutil
import sys
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .. import program
from . import files, machine, nt_service, ownership, service_manager, services

_WINDOWS = r"SOFTWARE\Microsoft\Windows\CurrentVersion"
PROGRAMS = os.path.join(machine.directory_of(_WINDOWS, "ProgramFilesDir", r"C:\Program Files"), "foghorn")
PYTHON_DIRECTORY = os.path.join(PROGRAMS, "python")
PYTHON = os.path.join(PYTHON_DIRECTORY, "python.exe")
PROGRAM = os.path.join(PROGRAMS, "foghorn-agent.pyz")
OLDEST = (3, 11)
STAGES = ("drain", "shutdown", "restore", "check")
DESCRIPTION = "Takes this machine through the maintenance that Azure announces for it."


class InstallError(OSError):
    """It cannot be installed. The message says why, and what to do; nothing was changed."""


class Change(NamedTuple):
    """One thing that is not as it has to be."""

    what: str
    """For a person, and for whoever reads JSON."""
    make: Callable[[], None]
    needs_stop: bool = False
    """Whether the service must not run meanwhile."""
    is_config: bool = False


def service_command() -> str:
    """The command line of the service."""
    return '"%s" -IS "%s" run --service' % (PYTHON, PROGRAM)


def changes_for(given: Mapping[str, bytes]) -> List[Change]:
    """What has to be changed, in that order.

    :param given: what files are to hold, by their paths below `machine.DATA`; others are left as they are
    :raises InstallError: if this cannot be installed here
    """
    if sys.version_info[:2] < OLDEST:
        raise InstallError("this is Python %d.%d: 3.11 or later is needed" % sys.version_info[:2])
    found: List[Change] = []
    if os.path.lexists(machine.DATA):
        problem = ownership.problem_with(machine.DATA)
        if problem is not None:
            raise InstallError("%s. Somebody else may have made it: look at what it holds, and remove it" % problem)
    for directory in _closed_directories():
        if not os.path.isdir(directory):
            found.append(Change(directory, functools.partial(files.make_private_directory, directory)))
    here = os.path.dirname(os.path.abspath(sys.executable))
    if not _is_same_tree(here, PYTHON_DIRECTORY):
        found.append(Change(PYTHON_DIRECTORY, lambda: _copy_tree(here, PYTHON_DIRECTORY), needs_stop=True))
    if not _is_same_file(program.path(), PROGRAM):
        found.append(Change(PROGRAM, lambda: _copy_file(program.path(), PROGRAM), needs_stop=True))
    for name, content in sorted(given.items()):
        path = os.path.join(machine.DATA, name)
        if content_of(path) != content:
            is_config = path == machine.CONFIG_PATH
            found.append(Change(path, functools.partial(_write, path, content), is_config=is_config))
    if not service_manager.exists(nt_service.NAME) or service_manager.command_of(nt_service.NAME) != service_command():
        what = "service %s" % nt_service.NAME
        found.append(
            Change(
                what, lambda: service_manager.install(nt_service.NAME, service_command(), DESCRIPTION), needs_stop=True
            )
        )
    return found


def install(given: Mapping[str, bytes], is_check: bool) -> Dict[str, Any]:
    """Install the program, and have its service run.

    :param given: as in `changes_for`
    :param is_check: whether to change nothing, and only say what would be
    :returns: `changed`, `changes`
    :raises InstallError: if this cannot be installed here
    :raises OSError: if something cannot be changed
    """
    changes = changes_for(given)
    manager = service_manager.manager()
    state = manager.state(nt_service.NAME) if service_manager.exists(nt_service.NAME) else services.STOPPED
    done = [change.what for change in changes]
    must_stop = any(change.needs_stop for change in changes)
    if state != services.RUNNING:
        done.append("start of %s" % nt_service.NAME)
    elif must_stop:
        done.append("restart of %s" % nt_service.NAME)
    elif any(change.is_config for change in changes):
        done.append("reload of %s" % nt_service.NAME)
    if is_check:
        return {"changed": bool(done), "changes": done}
    if must_stop and state != services.STOPPED:
        services.stop(manager, nt_service.NAME, services.Notes())
    try:
        for change in changes:
            change.make()
    except OSError:
        if must_stop and state == services.RUNNING:
            # The machine keeps the agent that it had.
            with contextlib.suppress(OSError):
                services.start(manager, nt_service.NAME, services.Notes())
        raise
    if must_stop or state != services.RUNNING:
        services.start(manager, nt_service.NAME, services.Notes())
    elif any(change.is_config for change in changes):
        service_manager.tell_parameters_changed(nt_service.NAME)
    return {"changed": bool(done), "changes": done}


def uninstall(is_check: bool) -> Dict[str, Any]:
    """Remove all of it: the service, the program, its configuration, hooks and state.

    A Python that runs this cannot remove itself: it is left, and named.

    :returns: `changed`, `changes`, `left`
    :raises OSError: if something cannot be removed
    """
    here = os.path.normcase(os.path.dirname(os.path.abspath(sys.executable)))
    is_own = here == os.path.normcase(PYTHON_DIRECTORY)
    done: List[str] = []
    if service_manager.exists(nt_service.NAME):
        done.append("service %s" % nt_service.NAME)
        if not is_check:
            services.stop(service_manager.manager(), nt_service.NAME, services.Notes())
            service_manager.uninstall(nt_service.NAME)
    for path in (machine.DATA, PROGRAM, *([] if is_own else [PROGRAMS])):
        if os.path.lexists(path):
            done.append(path)
            if not is_check:
                files.patiently(functools.partial(_remove, path))
    left = [PROGRAMS] if is_own and os.path.isdir(PROGRAMS) else []
    return {"changed": bool(done), "changes": done, "left": left}


def files_below(directory: str) -> Dict[str, bytes]:
    """What the files in a directory hold that are to lie below `machine.DATA`, by their paths in it.

    :raises InstallError: if one has no place there
    :raises OSError: if one cannot be read
    """
    found = {}
    for name in _names(directory):
        parts = os.path.normcase(name).split(os.sep)
        if parts != ["agent.json"] and parts != ["members.secret"] and not (len(parts) == 3 and parts[0] == "hooks.d"):
            raise InstallError("%s: expected agent.json, members.secret or hooks.d\\STAGE\\NAME" % name)
        with open(os.path.join(directory, name), "rb") as file:
            found[name] = file.read()
    return found


def _closed_directories() -> Sequence[str]:
    hooks = [os.path.join(machine.HOOKS_DIRECTORY, stage) for stage in STAGES]
    return [machine.DATA, machine.STATE_DIRECTORY, machine.HOOKS_DIRECTORY, *hooks]


def _write(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    files.write_private(path, content)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _copy_file(source: str, target: str) -> None:
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(source, target + ".new")
    files.patiently(lambda: os.replace(target + ".new", target))


def _copy_tree(source: str, target: str) -> None:
    new, old = target + ".new", target + ".old"
    for path in (new, old):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(source, new)
    if os.path.isdir(target):
        files.patiently(lambda: os.rename(target, old))
    try:
        files.patiently(lambda: os.rename(new, target))
    except OSError:
        with contextlib.suppress(OSError):
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _is_same_file(one: str, other: str) -> bool:
    return os.path.isfile(other) and filecmp.cmp(one, other, shallow=False)


def _is_same_tree(one: str, other: str) -> bool:
    if os.path.normcase(one) == os.path.normcase(other):
        return True
    if not os.path.isdir(other) or _names(one) != _names(other):
        return False
    return all(_is_same_file(os.path.join(one, name), os.path.join(other, name)) for name in _names(one))


def _names(directory: str) -> List[str]:
    found = []
    for where, _directories, names in os.walk(directory):
        found += [os.path.relpath(os.path.join(where, name), directory) for name in names]
    return sorted(name for name in found if "__pycache__" not in name)


def content_of(path: str) -> Optional[bytes]:
    """What a file holds; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
