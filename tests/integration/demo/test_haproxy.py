# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's HAProxy: what it says of the servers, and what is said where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import demo
import haproxy
import pytest
from haproxy import Standing

COLUMNS = "# pxname,svname,scur,status,weight"


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("UP", Standing(True, False)),
        ("UP 1/3", Standing(True, False)),
        ("DOWN", Standing(False, False)),
        ("DRAIN", Standing(False, True)),
        ("MAINT", Standing(False, True)),
    ],
)
def test_given_the_statistics_when_read_then_they_say_who_serves_and_who_is_drained(
    status: str, standing: Standing
) -> None:
    rows = [
        COLUMNS,
        "front,FRONTEND,1,OPEN,",
        f"web,web_0,0,{status},1",
        "web,BACKEND,0,UP,1",
        "other,web_1,0,UP,1",
        "",
    ]

    assert haproxy.read_standings("\n".join(rows)) == {"web_0": standing}


def test_given_a_haproxy_that_does_not_run_when_it_is_asked_then_it_says_nothing(tmp_path: Path) -> None:
    assert haproxy.Haproxy("/usr/sbin/haproxy", tmp_path / "haproxy", 8080).standings() == {}


def test_given_no_haproxy_when_the_demo_is_to_use_one_then_it_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(haproxy, "find_program", lambda: None)
    monkeypatch.setattr(sys, "argv", ["demo.py", "--balancer", "haproxy"])

    assert demo.main() == 1
    assert capsys.readouterr().err.startswith("error: HAProxy is not installed here: install it")
