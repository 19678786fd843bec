# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does it say what happened, in one line, with fields?

Runs on Python 3.6 and later.
"""

import contextlib
import os
import re
import socket
import struct
import sys
from pathlib import Path
from typing import Any, Dict, Generator, Optional

import pytest
from foghorn_agent.io.log import INFO, WARNING, open_log
from foghorn_agent.platform.posix.system_log import open_system_log


class Journald:
    """A socket where journald would listen."""

    def __init__(self, directory: Path) -> None:
        self.path = str(directory / "socket")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(10.0)

    def fields(self) -> Dict[str, str]:
        data = self.socket.recv(1 << 20)
        found = {}
        while data:
            name, _unused, rest = data.partition(b"\n")
            length = struct.unpack("<Q", rest[:8])[0]
            found[name.decode("ascii")] = rest[8 : 8 + length].decode("utf-8")
            assert rest[8 + length : 9 + length] == b"\n"
            data = rest[9 + length :]
        return found


@pytest.fixture
def journald(tmp_path: Path) -> Generator[Journald, None, None]:
    one = Journald(tmp_path)
    yield one
    one.socket.close()


def stream() -> Dict[str, str]:
    """What systemd sets where standard error is its journal: here, where standard error is now."""
    found = os.fstat(2)
    return {"JOURNAL_STREAM": "%d:%d" % (found.st_dev, found.st_ino)}


def opened(journald: Journald) -> Any:
    return open_log(open_system_log(stream(), journald.path))


def close(log: Any) -> None:
    """Close the socket that the log holds, as only the end of the process does."""
    for cell in log.__closure__ or ():
        if hasattr(cell.cell_contents, "__closure__"):
            close(cell.cell_contents)
        else:
            with contextlib.suppress(AttributeError):
                cell.cell_contents.close()


def test_given_systemd_when_something_is_logged_then_its_journal_has_the_fields(journald: Journald) -> None:
    log = opened(journald)
    log(WARNING, "something", event_id="E-1", output=None, seconds=3)
    assert journald.fields() == {
        "MESSAGE": "something",
        "PRIORITY": "4",
        "SYSLOG_IDENTIFIER": "foghorn-agent",
        "FOGHORN_EVENT_ID": "E-1",
        "FOGHORN_SECONDS": "3",
    }
    close(log)


def test_given_a_value_with_line_breaks_when_it_is_logged_then_it_stays_one_field(journald: Journald) -> None:
    log = opened(journald)
    log(INFO, "a\nPRIORITY=0\n", output="x\nFOGHORN_Y=1\n\0ä")
    fields = journald.fields()
    assert fields["MESSAGE"] == "a PRIORITY=0"
    assert fields["FOGHORN_OUTPUT"] == "x\nFOGHORN_Y=1\n\0ä"
    assert fields["PRIORITY"] == "6"
    close(log)


def test_given_a_value_of_any_length_when_it_is_logged_then_it_fits(journald: Journald) -> None:
    log = opened(journald)
    log(INFO, "m" * 100000, output="ä" * 100000)
    fields = journald.fields()
    assert len(fields["MESSAGE"]) == len(fields["FOGHORN_OUTPUT"]) == 8192
    close(log)


def test_given_a_journal_that_has_gone_when_something_is_logged_then_standard_error_has_it(
    journald: Journald, capfd: "pytest.CaptureFixture[str]"
) -> None:
    log = opened(journald)
    journald.socket.close()
    log(INFO, "still here", event_id="E-1")
    assert capfd.readouterr().err == "<6>still here event_id=E-1\n"
    close(log)


def test_given_a_journal_that_is_not_there_when_opened_then_standard_error_has_it(
    tmp_path: Path, capfd: "pytest.CaptureFixture[str]"
) -> None:
    log = open_log(open_system_log(stream(), str(tmp_path / "nothing")))
    log(INFO, "still here")
    assert capfd.readouterr().err == "<6>still here\n"


@pytest.mark.parametrize("inherited", ["8:1", "", "rubbish"])
def test_given_the_journal_stream_of_another_process_when_something_is_logged_then_standard_error_has_it(
    inherited: str, journald: Journald, capfd: "pytest.CaptureFixture[str]"
) -> None:
    log = open_log(open_system_log({"JOURNAL_STREAM": inherited}, journald.path))
    log(INFO, "on the terminal")
    assert capfd.readouterr().err == "<6>on the terminal\n"
    close(log)


def test_given_no_standard_error_when_something_is_logged_then_the_work_continues(journald: Journald) -> None:
    kept = os.dup(2)
    try:
        os.close(2)
        open_log(open_system_log({"JOURNAL_STREAM": "8:1"}, journald.path))(INFO, "anybody?")
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def test_given_no_systemd_when_something_is_logged_then_it_is_one_line_on_standard_error(
    capfd: "pytest.CaptureFixture[str]",
) -> None:
    open_log(open_system_log({}))(
        WARNING, "two\nlines", b="x y", a="E-1", none=None, empty="", quote='"', breaks="1\n2"
    )
    assert capfd.readouterr().err == "<4>two lines a=E-1 b='x y' breaks='1\\n2' empty='' quote='\"'\n"


def test_given_a_terminal_when_something_is_logged_then_the_line_begins_with_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shows, terminal = os.openpty()
    with open(shows, "rb", buffering=0) as screen, open(terminal, "wb", buffering=0) as errors:
        monkeypatch.setattr(sys, "stderr", errors)
        open_log(None)(INFO, "seen", event_id="E-1")
        monkeypatch.undo()
        shown = screen.read(1000).decode()
    assert re.match(r"\d\d:\d\d:\d\d seen event_id=E-1\r?\n\Z", shown), shown


class Gone:
    def fileno(self) -> int:
        return 10**6


# None is what Python has where it was started without one.
@pytest.mark.parametrize("errors", [Gone(), None])
def test_given_nobody_to_hear_it_when_something_is_logged_then_the_work_continues(
    errors: Optional[Gone], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", errors)
    open_log(None)(INFO, "anybody?")
