# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What do the agent's units ask of systemd, and what becomes of it where systemd is older?

SLES 15 came with systemd 234 and RHEL 8 with 239; SLES 12 has 228 and RHEL 7 has 219. What an older one does not know
it warns of and passes over. Source: systemd's NEWS.
"""

import re
from pathlib import Path

import pytest

ROLES = Path(__file__).resolve().parents[4] / "roles"
TEMPLATES = ROLES / "handler_agent" / "templates"
OLDEST = 219
# 1 stands for all that is older than the oldest by far.
FIRST_VERSION = {
    "After": 1,
    "Backlog": 1,
    "Before": 1,
    "BindIPv6Only": 1,
    "CapabilityBoundingSet": 1,
    "Description": 1,
    "Documentation": 1,
    "Environment": 1,
    "ExecReload": 1,
    "ExecStart": 1,
    "FreeBind": 1,
    "KillMode": 209,  # as "mixed"
    "LimitNOFILE": 228,  # as SOFT:HARD
    "ListenStream": 1,
    "LockPersonality": 235,
    "OOMPolicy": 243,
    "OOMScoreAdjust": 1,
    "Restart": 1,
    "RestartSec": 1,
    "RestrictAddressFamilies": 211,
    "RestrictRealtime": 231,
    "RuntimeDirectory": 211,
    "StartLimitInterval": 1,
    "StartLimitIntervalSec": 230,
    "StopWhenUnneeded": 1,
    "TasksMax": 227,
    "TimeoutStopSec": 1,
    "TriggerLimitIntervalSec": 230,
    "Type": 1,
    "UMask": 1,
    "WantedBy": 1,
    "Wants": 1,
    "WatchdogSec": 1,
}
WITHOUT = {
    "LimitNOFILE": "steps cannot raise their limit so far",
    "LockPersonality": "a step may have another personality",
    "OOMPolicy": "systemd of that age leaves the agent running when a step is killed",
    "RestrictRealtime": "a step may have a real-time schedule",
    "StartLimitIntervalSec": "StartLimitInterval says the same",
    "TasksMax": "there is no limit",
    "TriggerLimitIntervalSec": "systemd of that age does not count",
}
"""What is the case where a directive is not known: nothing that a machine's maintenance depends on."""


def directives(name: str) -> "set[str]":
    text = (TEMPLATES / name).read_text(encoding="utf-8")
    return set(re.findall(r"^([A-Z][A-Za-z0-9]+)=", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["foghorn-agent.service.j2", "foghorn-agent.socket.j2"])
def test_given_an_older_systemd_when_it_does_not_know_a_directive_then_it_is_one_that_can_be_missed(name: str) -> None:
    used = directives(name)
    assert used
    assert {one for one in used if FIRST_VERSION[one] > OLDEST} <= set(WITHOUT)


def test_given_an_older_systemd_when_the_agent_fails_again_and_again_then_it_is_started_again_anyway() -> None:
    assert {"StartLimitInterval", "StartLimitIntervalSec"} <= directives("foghorn-agent.service.j2")
    text = (TEMPLATES / "foghorn-agent.service.j2").read_text(encoding="utf-8")
    unit, service = text.index("[Unit]"), text.index("[Service]")
    assert unit < text.index("\nStartLimitIntervalSec=0\n") < service < text.index("\nStartLimitInterval=0\n")


@pytest.mark.parametrize("template", sorted(ROLES.glob("*/templates/*.j2")), ids=lambda path: path.name)
def test_given_another_controller_when_it_writes_a_unit_then_nothing_of_it_is_in_there_and_nothing_restarts(
    template: Path,
) -> None:
    # By ansible.cfg, it may have the controller's name, which each container has anew, its user and the time.
    assert "ansible_managed" not in template.read_text(encoding="utf-8")
