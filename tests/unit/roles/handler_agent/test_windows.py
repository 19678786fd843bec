# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the agent decides about Windows without asking it: access control lists, services, command lines, tables."""

import os
import struct
from pathlib import Path
from typing import Dict, List

import pytest
from foghorn_agent.platform.windows import (
    connections,
    files,
    installing,
    machine,
    ownership,
    process,
    services,
    system_log,
)
from foghorn_agent.platform.windows.service_manager import RUNNING, STOP_PENDING, STOPPED, ServiceManager

ADMINISTRATORS = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"


@pytest.mark.parametrize(
    ("sddl", "is_last", "weakness"),
    [
        (ADMINISTRATORS, True, ""),
        ("O:SYG:SYD:PAI(A;;FA;;;SY)(A;;0x1200a9;;;BU)", True, ""),
        ("O:%sD:(A;;FA;;;%s)(A;;FA;;;BA)(A;;GXGR;;;BU)" % (INSTALLER, INSTALLER), True, ""),
        # The root of a drive: users may add directories, and own what they add.
        ("O:SYD:PAI(A;OICI;FA;;;SY)(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;0x1200a9;;;BU)", False, ""),
        ("O:SYD:PAI(A;OICI;FA;;;SY)(A;;LC;;;AU)", True, "AU can write C:\\it"),
        ("O:BAD:(A;;FA;;;BA)(A;;WP;;;WD)", False, ""),
        ("O:BAD:(A;;FA;;;BA)(A;;DT;;;WD)", False, "WD can write"),
        ("O:BAD:(A;;FA;;;BA)(A;;0x40000;;;BU)", False, "BU can write"),
        ("O:BAD:(A;;FW;;;BU)", True, "BU can write"),
        ("O:BAD:(A;;KW;;;IU)", True, "IU can write"),
        ("O:BAD:(A;;GA;;;S-1-5-21-1-2-3-1001)", True, "S-1-5-21-1-2-3-1001 can write"),
        ("O:BAD:(A;;2;;;BU)", True, "BU can write"),
        ("O:BAD:(A;;ZZ;;;BU)", True, "BU can write"),
        ("O:BAD:(XA;;FA;;;WD;(@User.a == 1))", True, "WD can write"),
        ("O:BAD:(D;;FA;;;WD)(A;;FA;;;BA)", True, ""),
        ("O:BAD:(A;IO;FA;;;WD)(A;OICIIO;FA;;;CO)", True, ""),
        ("O:BAD:(A;;FA;;;OW)", True, ""),
        ("O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;SY)", True, "S-1-5-21-1-2-3-1001 owns C:\\it"),
        ("O:BAD:NO_ACCESS_CONTROL", False, "everyone can write"),
        ("O:BA", True, "everyone can write"),
        ("D:(A;;FA;;;BA)", True, "nobody owns"),
        # Nobody may do anything.
        ("O:BAD:", True, ""),
    ],
)
def test_given_an_access_control_list_then_it_is_safe_if_only_administrators_can_change_what_it_is_of(
    sddl: str, is_last: bool, weakness: str
) -> None:
    found = ownership.weakness_of(sddl, "C:\\it", is_last)
    assert found.startswith(weakness)
    assert bool(found) == bool(weakness)


def test_given_the_user_that_runs_the_agent_then_what_is_theirs_is_trusted() -> None:
    sddl = "O:S-1-5-21-1-2-3-1001D:P(A;;FA;;;S-1-5-21-1-2-3-1001)"
    assert ownership.weakness_of(sddl, "C:\\it", True, "S-1-5-21-1-2-3-1001") == ""
    assert ownership.weakness_of(sddl, "C:\\it", True, "S-1-5-21-1-2-3-1002") != ""


class Machine:
    """Services in memory, with what depends on each, in the order in which they can be stopped."""

    def __init__(self, dependents: Dict[str, List[str]], *running: str) -> None:
        self.states = {name: RUNNING if name in running else STOPPED for name in dependents}
        self.told: List[str] = []
        self._dependents = dependents
        self.starting_meanwhile: List[str] = []

    def manager(self) -> ServiceManager:
        return ServiceManager(self.states.__getitem__, self._active, self._stop, self._start)

    def _active(self, name: str) -> List[str]:
        return [each for each in self._dependents[name] if self.states[each] != STOPPED]

    def _stop(self, name: str) -> None:
        if name == "W3SVC":
            self.states.update((each, RUNNING) for each in self.starting_meanwhile)
            self.starting_meanwhile = []
        if self._active(name):
            raise _windows_error(1051)
        if self.states[name] == STOPPED:
            raise _windows_error(1062)
        self.told.append("stop " + name)
        self.states[name] = STOP_PENDING

    def _start(self, name: str) -> None:
        if self.states[name] == RUNNING:
            raise _windows_error(1056)
        self.told.append("start " + name)
        self.states[name] = RUNNING

    def pass_time(self, _seconds: float) -> None:
        for name, state in self.states.items():
            if state == STOP_PENDING:
                self.states[name] = STOPPED


def _windows_error(code: int) -> OSError:
    error = OSError("error %d" % code)
    error.winerror = code  # type: ignore[attr-defined]
    return error


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> services.Notes:
    monkeypatch.setattr(files, "make_private_directory", lambda path: Path(path).mkdir(exist_ok=True))
    monkeypatch.setattr(files, "write_private", lambda path, text: Path(path).write_text(text))
    return services.Notes(str(tmp_path / "state"))


WEB = {"WAS": ["site", "W3SVC"], "W3SVC": ["site"], "site": [], "other": []}


def test_given_dependents_when_a_service_is_stopped_and_started_then_they_stop_before_it_and_start_after_it(
    notes: services.Notes,
) -> None:
    here = Machine(WEB, "WAS", "W3SVC", "site", "other")
    assert services.stop(here.manager(), "WAS", notes, here.pass_time) == ["site", "W3SVC", "WAS"]
    assert services.start(here.manager(), "WAS", notes, here.pass_time) == ["WAS", "W3SVC", "site"]
    assert here.told == ["stop site", "stop W3SVC", "stop WAS", "start WAS", "start W3SVC", "start site"]
    assert notes.of("WAS") == []


def test_given_a_dependent_that_was_stopped_before_when_the_service_is_started_then_it_stays_stopped(
    notes: services.Notes,
) -> None:
    here = Machine(WEB, "WAS", "W3SVC")
    services.stop(here.manager(), "WAS", notes, here.pass_time)
    services.start(here.manager(), "WAS", notes, here.pass_time)
    assert here.states == {"WAS": RUNNING, "W3SVC": RUNNING, "site": STOPPED, "other": STOPPED}


def test_given_a_stop_that_was_killed_when_it_is_repeated_then_all_that_it_stopped_is_started(
    notes: services.Notes,
) -> None:
    here = Machine(WEB, "WAS", "W3SVC", "site")

    def killed(_seconds: float) -> None:
        here.pass_time(0)
        if here.states["site"] == STOPPED:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        services.stop(here.manager(), "WAS", notes, killed)
    assert here.states["W3SVC"] == RUNNING
    services.stop(here.manager(), "WAS", notes, here.pass_time)
    assert services.start(here.manager(), "WAS", notes, here.pass_time) == ["WAS", "W3SVC", "site"]


def test_given_a_dependent_that_starts_meanwhile_when_a_service_is_stopped_then_that_one_is_stopped_as_well(
    notes: services.Notes,
) -> None:
    here = Machine(WEB, "W3SVC", "site")
    here.starting_meanwhile = ["site"]
    stopped = services.stop(here.manager(), "W3SVC", notes, here.pass_time)
    assert stopped == ["site", "site", "W3SVC"]
    assert here.states["site"] == here.states["W3SVC"] == STOPPED


def test_given_a_service_that_fails_at_once_when_it_is_started_then_that_is_an_error(notes: services.Notes) -> None:
    here = Machine(WEB)
    manager = here.manager()._replace(start=lambda _name: None)
    with pytest.raises(OSError, match="site stopped as soon as it was started"):
        services.start(manager, "site", notes, here.pass_time)


def test_given_notes_of_somebody_else_then_they_say_nothing(notes: services.Notes, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    for content in ("", "[]", "{"):
        (tmp_path / "state" / "stopped_services.json").write_text(content)
        assert notes.of("WAS") == []


@pytest.mark.parametrize("name", ["W3SVC", "MSSQL$SALES", "Some Service", "app.service", "MSSQL.1"])
def test_given_a_name_of_a_service_then_it_is_taken(name: str) -> None:
    assert services.is_name(name)


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", 'a"b', "web.socket", "a.timer", "x" * 257, None, 3])
def test_given_a_name_that_no_service_has_then_it_is_refused(name: object) -> None:
    assert not services.is_name(name)


def test_given_a_unit_of_systemd_then_its_service_has_the_name_without_the_suffix() -> None:
    assert services.full_name("app.service") == "app"


def test_given_the_names_of_a_service_in_its_stop_and_its_start_when_their_case_differs_then_they_are_one() -> None:
    assert services.full_name("W3SVC") == services.full_name("w3svc")


@pytest.mark.parametrize(
    ("argv", "starts"),
    [
        (["C:\\a.exe", "50%", "x y"], ["C:\\a.exe", "50%", "x y"]),
        (["C:\\a b (1).CMD", "x y"], 'cmd.exe" /d /s /c ""C:\\a b (1).CMD" "x y""'),
        (["C:\\a.bat"], 'cmd.exe" /d /s /c ""C:\\a.bat""'),
    ],
)
def test_given_a_command_then_it_is_started_as_written(argv: List[str], starts: object) -> None:
    line = process.command_line(argv)
    assert line.endswith(str(starts)) if isinstance(line, str) else line == starts


def test_given_a_script_of_powershell_then_no_profile_and_no_policy_is_in_its_way() -> None:
    line = process.command_line(["C:\\a b.ps1", "it's"])
    assert line[-3:] == ["-File", "C:\\a b.ps1", "it's"]
    assert "-NoProfile" in line


@pytest.mark.parametrize("argument", ['a"b', "50%", "a^b", "a&b", "a|b", "a<b", "a>b", "a!b", "a\nb"])
def test_given_an_argument_that_cmd_would_change_then_it_is_refused(argument: str) -> None:
    with pytest.raises(ValueError, match="cmd would change"):
        process.command_line(["C:\\a.cmd", argument])
    assert process.problem_with_command(["C:\\a.exe", argument]) is None


def test_given_a_table_of_connections_then_the_established_are_counted_by_port() -> None:
    def row(state: int, port: int, remote: bytes) -> bytes:
        return struct.pack("<I4s", state, bytes(4)) + struct.pack(">HH", port, 0) + struct.pack("4sI", remote, 9)

    table = connections._TABLES[0]
    content = struct.pack("<I", 3) + row(5, 443, b"\x0a\0\0\1") + row(2, 443, bytes(4)) + row(5, 80, b"\x0a\0\0\2")
    assert [(port, remote) for port, remote, _local in connections.rows_of(content + bytes(20), table)] == [
        (443, b"\x0a\0\0\1"),
        (80, b"\x0a\0\0\2"),
    ]


def test_given_a_message_then_the_event_log_gets_it_with_its_fields() -> None:
    assert [system_log.kind_of(priority) for priority in (3, 4, 5, 6)] == [1, 2, 4, 4]
    assert system_log.text_of("it\0", {"b": 2, "a": 1, "c": None}) == "it\r\na: 1\r\nb: 2"


def test_given_no_registry_then_things_lie_where_they_usually_do() -> None:
    assert machine.CONFIG_PATH.startswith(r"C:\ProgramData")


def test_given_a_python_that_cannot_be_replaced_when_it_is_copied_then_the_former_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("new", "python"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "python.exe").write_text(name)
    rename = os.rename

    def rename_unless_it_is_new(source: str, target: str) -> None:
        if source.endswith(".new"):
            raise PermissionError("a virus scanner looks at it")
        rename(source, target)

    monkeypatch.setattr("os.rename", rename_unless_it_is_new)

    with pytest.raises(PermissionError):
        installing._copy_tree(str(tmp_path / "new"), str(tmp_path / "python"))
    assert (tmp_path / "python" / "python.exe").read_text() == "python"
