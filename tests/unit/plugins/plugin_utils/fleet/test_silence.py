# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of an unreachable host, and the remedy."""

from __future__ import annotations

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.silence import explain, remedy_for, words_of

CHANGED = """Failed to connect to the host via ssh: @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Offending ED25519 key in /root/.ssh/known_hosts:1
Host key for [10.0.0.4]:2222 has changed and you have requested strict checking.\r
Host key verification failed.\r
"""


def test_given_a_changed_host_key_then_the_host_and_the_command_that_removes_the_old_key_are_reported() -> None:
    words = words_of(CHANGED)

    assert words == (
        "Host key for [10.0.0.4]:2222 has changed and you have requested strict checking. Host key verification failed."
    )
    assert "ssh-keygen -R '[10.0.0.4]:2222'" in remedy_for(words)


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("No ED25519 host key is known for web1 and you have requested strict checking.", "connect to 'web1' once"),
        ("root@web1: Permission denied (publickey).", "ansible_ssh_private_key_file"),
        ("ssh: Could not resolve hostname web1: Name or service not known", "ansible_host"),
        ("ssh: connect to host web1 port 22: No route to host", ""),
        ("", ""),
    ],
)
def test_given_an_error_of_ssh_then_the_remedy_is_reported_if_waiting_does_not_help(words: str, remedy: str) -> None:
    assert remedy in remedy_for(words)
    assert bool(remedy) == bool(remedy_for(words))


def test_given_text_of_a_host_that_would_be_a_command_then_no_command_is_built_from_it() -> None:
    assert remedy_for("Host key for x'; rm -rf / #' has changed") == ""
    assert remedy_for("Host key for -oProxyCommand=x has changed") == ""


def test_given_long_text_with_escape_sequences_then_it_is_cut_and_harmless() -> None:
    words = words_of("\x1b[2J" + "x" * 1000)

    assert len(words) == 201
    assert words.isprintable()


def test_given_no_error_text_then_none_is_reported() -> None:
    assert words_of("") == ""


def test_given_a_failure_to_connect_then_its_step_is_reported_with_the_last_message_and_the_remedy() -> None:
    assert explain("Read the events: " + CHANGED) == (
        "Read the events: Failed to connect to the host via ssh: Host key for [10.0.0.4]:2222 has changed and you have"
        " requested strict checking. Host key verification failed.; another machine answers there, or this one has a"
        " new host key, as after a redeployment: find out which, then ssh-keygen -R '[10.0.0.4]:2222'"
    )
    assert explain("Stop it: cannot write: Permission denied") == "Stop it: cannot write: Permission denied"
