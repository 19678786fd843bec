# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done in a directory stays in it, whoever owns it, and whatever he plants."""

import os
import stat
from pathlib import Path
from typing import Callable, List

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.directory import (
    open_directory,
    open_own_directory,
    split_path,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.ownership import UnsafePath

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
SOMEBODY_ELSE = 12345


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that nobody else may write."""
    place = tmp_path / "place"
    place.mkdir(mode=0o755)
    return place


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file elsewhere, which no other user may touch."""
    path = tmp_path / "precious" / "file"
    path.parent.mkdir(mode=0o700)
    path.write_text("secret")
    path.chmod(0o600)
    return path


def give_away(path: Path) -> Path:
    os.chown(str(path), SOMEBODY_ELSE, -1, follow_symlinks=False)
    return path


def make_link(path: Path) -> None:
    path.symlink_to("elsewhere")


def names(path: Path) -> List[str]:
    return sorted(os.listdir(str(path)))


def test_given_links_and_dots_where_nobody_else_may_write_when_opened_then_they_are_followed(place: Path) -> None:
    (place / "real" / "inner").mkdir(parents=True)
    (place / "absolute").symlink_to(place / "real")
    (place / "relative").symlink_to("./absolute/inner/../inner")

    for opened in (open_directory, open_own_directory):
        with opened(f"{place}/real/../relative/") as directory:
            directory.create("file", b"", 0o644)
        (place / "real" / "inner" / "file").unlink()


def test_given_links_in_a_circle_or_to_nothing_when_opened_then_it_is_an_error(place: Path) -> None:
    (place / "one").symlink_to("other")
    (place / "other").symlink_to("one")
    (place / "nowhere").symlink_to("absent")

    with pytest.raises(UnsafePath, match="more than 40 symbolic links"), open_directory(str(place / "one")):
        pass
    with pytest.raises(FileNotFoundError, match="place/absent"), open_directory(str(place / "nowhere")):
        pass


@needs_root
@pytest.mark.parametrize("is_roots_link", [True, False])
@pytest.mark.parametrize("is_deeper", [True, False])
def test_given_a_link_where_another_user_may_write_when_opened_then_it_is_refused(
    place: Path, precious: Path, is_roots_link: bool, is_deeper: bool
) -> None:
    """Also root's own link: the other user can rename it, or a directory above it."""
    theirs = give_away(place) / "deeper" if is_deeper else give_away(place)
    theirs.mkdir(exist_ok=True)
    (theirs / "link").symlink_to(precious.parent)
    if not is_roots_link:
        give_away(theirs / "link")

    refused = pytest.raises(UnsafePath, match=r"others .* could have placed the symbolic link \S*/link: give the path")
    with refused, open_directory(str(theirs / "link")):
        pass


@needs_root
def test_given_a_sticky_directory_when_a_link_in_it_is_anothers_then_it_is_refused_and_roots_is_followed(
    place: Path, precious: Path
) -> None:
    place.chmod(0o1777)
    (place / "roots").symlink_to(precious.parent)
    (place / "theirs").symlink_to(precious.parent)
    give_away(place / "theirs")

    with open_directory(str(place / "roots")):
        pass
    with pytest.raises(UnsafePath, match="symbolic link"), open_directory(str(place / "theirs")):
        pass


@needs_root
def test_given_a_directory_of_another_user_who_exchanges_it_when_written_then_nothing_elsewhere_changes(
    place: Path, precious: Path
) -> None:
    theirs = give_away(place) / "theirs"
    theirs.mkdir()
    give_away(theirs)
    with open_directory(str(theirs)) as directory:
        theirs.rename(place / "moved")
        theirs.symlink_to(precious.parent)
        directory.create("new", b"text", 0o644)
        directory.rename("new", "file")

    assert names(place / "moved") == ["file"]
    assert names(precious.parent) == ["file"]
    assert precious.read_text() == "secret"


@pytest.mark.parametrize("plant", [make_link, os.mkfifo, os.mkdir, Path.touch])
def test_given_something_that_was_planted_when_a_file_is_created_there_then_it_is_an_error(
    place: Path, plant: Callable[[Path], None]
) -> None:
    plant(place / "file")

    with open_directory(str(place)) as directory, pytest.raises(FileExistsError, match="place/file"):
        directory.create("file", b"text", 0o644)
    assert not (place / "elsewhere").exists()


@pytest.mark.parametrize("plant", [make_link, os.mkfifo, os.mkdir])
def test_given_something_that_is_no_file_when_read_then_it_is_refused_at_once(
    place: Path, plant: Callable[[Path], None]
) -> None:
    plant(place / "file")

    with open_directory(str(place)) as directory, pytest.raises(UnsafePath, match="place/file is no regular file"):
        directory.read("file", of_anybody=True)


@needs_root
def test_given_a_file_of_another_user_when_read_then_it_is_refused_unless_anybodys_will_do(place: Path) -> None:
    (place / "file").write_text("text")
    give_away(place / "file")

    with open_own_directory(str(place)) as directory:
        with pytest.raises(UnsafePath, match="place/file belongs to the user with the id 12345"):
            directory.read("file")
        assert directory.read("file", of_anybody=True) == "text"


def test_given_a_huge_file_when_read_then_it_is_refused(place: Path) -> None:
    with (place / "file").open("wb") as stream:
        stream.truncate(1 << 40)

    with open_directory(str(place)) as directory, pytest.raises(ValueError, match="place/file has more than 100 bytes"):
        directory.read("file", most=100)


def test_given_any_umask_when_a_file_is_created_then_it_has_its_mode(place: Path) -> None:
    before = os.umask(0o077)
    try:
        with open_directory(str(place)) as directory:
            directory.create("file", b"text", 0o644)
    finally:
        os.umask(before)

    assert stat.S_IMODE((place / "file").stat().st_mode) == 0o644


@pytest.mark.parametrize("mode", [0o757, 0o777, 0o1777])
def test_given_a_directory_that_others_may_write_when_opened_as_own_then_it_is_refused_with_the_remedy(
    place: Path, mode: int
) -> None:
    place.chmod(mode)

    refused = pytest.raises(UnsafePath, match=r"others than root can write \S*/place \(mode %o\).*chmod go-w it" % mode)
    with refused, open_own_directory(str(place), new_mode=0o755):
        pass


@needs_root
def test_given_a_directory_below_one_of_another_user_when_opened_as_own_then_it_is_refused_and_none_is_made(
    place: Path,
) -> None:
    (give_away(place) / "roots").mkdir()

    for path in (place / "roots", place / "new" / "inner"):
        refused = pytest.raises(UnsafePath, match=r"user 12345 owns \S*/place: chown it to root")
        with refused, open_own_directory(str(path), new_mode=0o755):
            pass
    assert names(place) == ["roots"]


@needs_root
def test_given_a_directory_that_a_group_may_write_when_root_opens_it_as_own_then_it_is_refused_unless_trusted(
    place: Path,
) -> None:
    place.chmod(0o775)
    with pytest.raises(UnsafePath, match="others than root can write"), open_own_directory(str(place)):
        pass
    with open_own_directory(str(place), trusts_group=True):
        pass


def test_given_directories_that_are_missing_when_opened_then_they_are_made_only_on_request_and_whatever_the_umask(
    place: Path,
) -> None:
    with pytest.raises(FileNotFoundError, match="place/new"), open_own_directory(str(place / "new" / "inner")):
        pass
    before = os.umask(0o077)
    try:
        with open_own_directory(str(place / "new" / "inner"), new_mode=0o755) as directory:
            assert directory.names() == []
    finally:
        os.umask(before)

    assert [stat.S_IMODE(path.stat().st_mode) for path in (place / "new", place / "new" / "inner")] == [0o755, 0o755]


@pytest.mark.parametrize("path", ["/", "/some/", "/some/.", "/some/.."])
def test_given_a_path_without_a_file_name_when_split_then_it_is_refused(path: str) -> None:
    with pytest.raises(UnsafePath, match="names no file"):
        split_path(path)
