# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Why a host does not answer, and the remedy.

What SSH says comes from its client here, but some of it from whoever answers at the host's address: it is told, cut
short, and no part of it becomes part of a command but a plain name.
"""

import re

from ...module_utils.scheduled_events.text import sanitize_line

_LONGEST = 200
_CONNECTING = "Failed to connect to the host via ssh: "

_ADDRESS = r"(?P<address>\[[A-Za-z0-9.:_-]+\]:[0-9]+|[A-Za-z0-9][A-Za-z0-9.:_-]*)"
_CHANGED_KEY = re.compile(r"[Hh]ost key for %s has changed" % _ADDRESS)
_UNKNOWN_KEY = re.compile(r"No \S+ host key is known for %s and" % _ADDRESS)
_REMEDIES = {
    _CHANGED_KEY: "another machine answers there, or this one has a new host key, as after a redeployment: find "
    "out which, then ssh-keygen -R '{address}'",
    _UNKNOWN_KEY: "its host key is not known here: check that it is the right machine, and connect to '{address}' "
    "once by hand",
    re.compile(r"Permission denied"): "it is up and refuses this key or user: check ansible_user and"
    " ansible_ssh_private_key_file, and the authorized_keys on it",
    re.compile(r"Could not resolve hostname"): "check its ansible_host, and the name server of this controller",
}


def words_of(error: object) -> str:
    """What a connection says about its end, in one line: its last line, with the line about a changed host key."""
    lines = [line.strip() for line in str(error).replace("\r", "\n").splitlines() if line.strip()]
    if not lines:
        return ""
    telling = [line for line in lines[:-1] if _CHANGED_KEY.search(line)][-1:]
    return sanitize_line(" ".join([*telling, lines[-1]]), _LONGEST)


def explain(failure: str) -> str:
    """Describe a failure; if it is a failed connection, with SSH's last words and the remedy."""
    before, mark, words = failure.partition(_CONNECTING)
    if not mark:
        return failure
    told = [words_of(words), remedy_for(words)]
    return "%s%s%s" % (before, mark, "; ".join(filter(None, told)))


def remedy_for(words: str) -> str:
    """The remedy for the operator; empty if waiting is the only one."""
    for pattern, remedy in _REMEDIES.items():
        found = pattern.search(words)
        if found:
            return remedy.format(**found.groupdict())
    return ""
