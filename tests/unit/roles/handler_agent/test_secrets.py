# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the members' secret one? Runs on Python 3.6 and later."""

from pathlib import Path

import pytest
from foghorn_agent.io.secrets import NoSecret, read_members_secrets

SECRET = b"sesame-sesame-sesame-sesame-sesame"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    file = tmp_path / "members.secret"
    file.write_bytes(SECRET + b"\n")
    file.chmod(0o600)
    return file


def complaint(file: Path) -> str:
    with pytest.raises(NoSecret) as raised:
        read_members_secrets(str(file))
    assert str(file) in str(raised.value)
    assert SECRET.decode() not in str(raised.value)
    return str(raised.value)


def test_given_a_file_that_is_roots_alone_when_read_then_it_gives_the_secrets(file: Path) -> None:
    assert read_members_secrets(str(file)) == (SECRET,)
    file.chmod(0o400)
    assert read_members_secrets(str(file)) == (SECRET,)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_given_a_file_that_others_can_use_when_read_then_it_is_refused_by_name(file: Path, mode: int) -> None:
    file.chmod(mode)
    assert "others than root can" in complaint(file)


def test_given_no_file_or_a_directory_when_read_then_the_error_says_so(file: Path) -> None:
    assert "cannot be checked" in complaint(file.with_name("absent"))
    directory = file.with_name("directory")
    directory.mkdir(mode=0o700)
    assert "cannot be read: Is a directory" in complaint(directory)


@pytest.mark.parametrize(
    ("content", "said"), [(b"short", "line 1 is no secret"), (b"", "holds no secret"), (b"x" * 1025, "larger than")]
)
def test_given_a_file_that_holds_none_when_read_then_the_error_says_so(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    assert said in complaint(file)
