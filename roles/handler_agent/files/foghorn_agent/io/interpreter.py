# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chooses the Python that runs the agent.

It runs as root, so it has to be root's, as everything else that does, with its library. Ansible's own may be of a
user's virtual environment. For the role, which asks with whatever Python Ansible uses on the machine.
"""

import glob
import os
import re
import subprocess
from typing import List, Optional

from ..platform import ownership

# On RHEL 8 the second may be the only one. The first is what outlasts an upgrade of the system.
_SYSTEM = ("/usr/bin/python3", "/usr/libexec/platform-python")
_WITH_VERSION = "/usr/bin/python3.*"
_PLAIN = re.compile(r"/[A-Za-z0-9_./+@-]+")
# Some distributions' smallest Python comes without half of the library.
_PROBE = """\
import http.client, json, os, selectors, subprocess, sys, threading
print("%d.%d" % sys.version_info[:2])
print(os.__file__)
"""
_OLDEST = (3, 6)
_SECONDS = 60.0  # for a Python to start


class NoInterpreter(Exception):
    """There is no Python that may and can run the agent. The message says why, and what to do."""


def choose(wanted: Optional[str] = None, candidates: Optional[List[str]] = None) -> str:
    """Find a Python for the agent.

    :param wanted: the only one that will do; None: the first that does
    :param candidates: where to look for the first one that does; None: where systems have theirs
    :returns: its path
    :raises NoInterpreter: if none will do
    """
    if wanted is not None:
        _check(wanted)
        return wanted
    reasons = []
    for path in system_pythons() if candidates is None else candidates:
        try:
            _check(path)
        except NoInterpreter as error:
            reasons.append(str(error))
        else:
            return path
    raise NoInterpreter("; ".join(reasons or ["this machine has no Python of its own. Install it, as python3"]))


def system_pythons() -> List[str]:
    """Those that are there, in the order in which they are preferred: the usual ones, then the newest first."""
    versions = [path for path in glob.glob(_WITH_VERSION) if path[len("/usr/bin/python3.") :].isdigit()]
    versions.sort(key=lambda path: int(path.rpartition(".")[2]), reverse=True)
    return [path for path in _SYSTEM if os.path.exists(path)] + versions


def _check(path: str) -> None:
    if not _PLAIN.fullmatch(path):
        raise NoInterpreter("%s: expected the absolute path of a Python, in plain characters" % path)
    try:
        # Before it is run: it may be somebody else's.
        ownership.check_path(path)
        version, library = _ask(path)
        ownership.check_path(library)
    except ownership.UnsafePath as error:
        raise NoInterpreter(str(error)) from None
    if tuple(int(number) for number in version.split(".")) < _OLDEST:
        raise NoInterpreter("%s: is Python %s, and the agent needs 3.6 or later" % (path, version))


def _ask(path: str) -> List[str]:
    try:
        said = subprocess.run(
            [path, "-IS", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoInterpreter("%s: cannot be run: %s" % (path, error)) from None
    lines = said.stdout.decode("utf-8", "surrogateescape").splitlines()
    if said.returncode != 0 or len(lines) != 2:
        last = (said.stderr.decode("utf-8", "replace").splitlines() or ["no output"])[-1]
        raise NoInterpreter("%s: cannot run the agent: %s" % (path, last))
    return lines
