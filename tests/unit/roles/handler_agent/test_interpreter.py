# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Python is let run the agent? Runs on Python 3.6 and later."""

import os
import re
from pathlib import Path

import pytest
from foghorn_agent.cli import FAILED, OK, main
from foghorn_agent.io.interpreter import NoInterpreter, choose, system_pythons


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that nobody else may write, free of links itself."""
    place = Path(os.path.realpath(str(tmp_path))) / "place"
    place.mkdir(mode=0o755)
    return place


def make_python(path: Path, version: str = "3.9", library: str = "/", status: int = 0) -> str:
    """Make what says of itself that it is a Python."""
    path.write_text("#!/bin/sh\necho %s\necho %s\necho why >&2\nexit %d\n" % (version, library, status))
    path.chmod(0o755)
    return str(path)


def test_given_several_pythons_when_chosen_then_it_is_the_first_that_is_root_s_and_recent_enough(place: Path) -> None:
    loose = make_python(place / "loose")
    os.chmod(loose, 0o775)
    old = make_python(place / "old", "3.5")
    broken = make_python(place / "broken", status=1)
    good, better = make_python(place / "good", "3.6"), make_python(place / "better", "3.13")
    assert choose(candidates=[loose, old, broken, good, better]) == good


def test_given_no_suitable_python_when_chosen_then_the_reason_is_reported_for_each(place: Path) -> None:
    loose = make_python(place / "loose")
    os.chmod(loose, 0o757)
    old = make_python(place / "old", "2.7")
    broken = make_python(place / "broken", status=1)
    with pytest.raises(NoInterpreter) as refused:
        choose(candidates=[loose, old, broken, str(place / "missing")])
    for reason in (
        "others than root can write %s (mode 757): chmod go-w it" % loose,
        "%s: is Python 2.7, and the agent needs 3.6 or later" % old,
        "%s: cannot run the agent: why" % broken,
        "missing: No such file or directory",
    ):
        assert reason in str(refused.value)


def test_given_a_python_in_a_directory_of_others_when_wanted_then_it_is_refused_and_never_run(place: Path) -> None:
    (place / "venv").mkdir()
    python = place / "venv" / "python"
    python.write_text("#!/bin/sh\ntouch %s/run\n" % place)
    python.chmod(0o755)
    (place / "venv").chmod(0o777)
    with pytest.raises(NoInterpreter, match=r"others than root can write \S*/venv "):
        choose(str(python))
    assert not (place / "run").exists()


def test_given_a_python_whose_library_others_may_write_when_wanted_then_it_is_refused(place: Path) -> None:
    library = place / "os.py"
    library.write_text("")
    library.chmod(0o666)
    with pytest.raises(NoInterpreter, match=r"others than root can write \S*/os.py "):
        choose(make_python(place / "python", library=str(library)))


@pytest.mark.parametrize("wanted", ["python3", "/usr/bin/python3 -X dev", "/usr/bin/$(id)", ""])
def test_given_input_that_is_no_path_when_wanted_then_it_is_refused(wanted: str) -> None:
    with pytest.raises(NoInterpreter, match="expected the absolute path of a Python"):
        choose(wanted)


def test_given_input_that_is_no_program_when_wanted_then_it_is_refused(place: Path) -> None:
    (place / "python").write_text("no program")
    with pytest.raises(NoInterpreter, match="cannot be run"):
        choose(str(place / "python"))


def test_given_a_machine_without_a_python_when_chosen_then_it_says_what_to_install() -> None:
    with pytest.raises(NoInterpreter, match="Install it, as python3"):
        choose(candidates=[])


def test_given_this_machine_when_checked_then_the_newest_version_goes_first_after_the_usual_ones() -> None:
    found = system_pythons()
    minors = [int(match.group(1)) for match in (re.search(r"python3\.(\d+)$", path) for path in found) if match]
    assert minors == sorted(minors, reverse=True)
    assert [path for path in found if not os.path.exists(path)] == []


def test_given_the_command_when_run_then_it_prints_the_path_or_says_why_not(
    place: Path, capsys: "pytest.CaptureFixture[str]"
) -> None:
    python = make_python(place / "python")
    assert main(["choose-python", python]) == OK
    assert capsys.readouterr().out == python + "\n"
    os.chmod(python, 0o777)
    assert main(["choose-python", python]) == FAILED
    assert "chmod go-w" in capsys.readouterr().err
