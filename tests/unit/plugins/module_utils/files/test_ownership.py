# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Could somebody else change what the agent runs, or read what is private?"""

import os
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.files.ownership import (
    UnsafePath,
    check_path,
    read_private,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
SOMEBODY_ELSE = 12345


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that nobody else may write, free of links itself."""
    place = Path(os.path.realpath(str(tmp_path))) / "place"
    place.mkdir(mode=0o755)
    return place


def make_file(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_given_a_file_of_the_owner_when_checked_then_its_path_is_returned(place: Path) -> None:
    file = make_file(place / "hook")
    assert check_path(str(file)) == str(file)


def test_given_the_root_directory_when_checked_then_it_is_accepted() -> None:
    assert check_path("/") == "/"


def test_given_dots_in_the_path_when_checked_then_they_are_followed(place: Path) -> None:
    make_file(place / "hook")
    (place / "aside").mkdir()
    assert check_path("%s/./aside/..//hook" % place) == str(place / "hook")


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o777])
def test_given_a_file_that_others_may_write_when_checked_then_it_is_refused_with_its_name_and_the_remedy(
    place: Path, mode: int
) -> None:
    file = make_file(place / "hook", mode)
    with pytest.raises(UnsafePath, match=r"hook \(mode %o\).*chmod go-w" % mode):
        check_path(str(file))


def test_given_a_directory_on_the_way_that_others_may_write_when_checked_then_it_is_refused(place: Path) -> None:
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    file = make_file(place / "open" / "hook")
    with pytest.raises(UnsafePath, match=r"others than root can write \S*/open "):
        check_path(str(file))


def test_given_a_sticky_directory_on_the_way_when_checked_then_it_is_accepted(place: Path) -> None:
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o1777)
    file = make_file(place / "tmp" / "hook")
    assert check_path(str(file)) == str(file)


def test_given_a_sticky_directory_at_the_end_when_checked_then_it_is_refused(place: Path) -> None:
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o1777)
    with pytest.raises(UnsafePath, match="others than root can write"):
        check_path(str(place / "tmp"))


def test_given_a_sticky_file_that_others_may_write_when_something_is_searched_in_it_then_it_is_refused(
    place: Path,
) -> None:
    make_file(place / "file", 0o1777)
    with pytest.raises(UnsafePath, match="others than root can write"):
        check_path(str(place / "file" / "hook"))


@needs_root
def test_given_a_file_of_another_user_when_checked_then_it_is_refused(place: Path) -> None:
    file = make_file(place / "hook")
    os.chown(str(file), SOMEBODY_ELSE, -1)
    with pytest.raises(UnsafePath, match=r"user 12345 owns \S*hook.*chown it to root"):
        check_path(str(file))


@needs_root
def test_given_a_link_of_another_user_when_checked_then_it_is_refused(place: Path) -> None:
    make_file(place / "file")
    (place / "link").symlink_to(place / "file")
    os.chown(str(place / "link"), SOMEBODY_ELSE, -1, follow_symlinks=False)
    with pytest.raises(UnsafePath, match=r"user 12345 owns \S*link"):
        check_path(str(place / "link"))


def test_given_a_link_when_checked_then_it_is_followed(place: Path) -> None:
    make_file(place / "file")
    (place / "link").symlink_to(place / "file")
    assert check_path(str(place / "link")) == str(place / "file")


def test_given_a_relative_link_when_checked_then_it_is_followed_from_where_it_lies(place: Path) -> None:
    make_file(place / "file")
    (place / "links").mkdir()
    (place / "links" / "link").symlink_to("../file")
    assert check_path(str(place / "links" / "link")) == str(place / "file")


def test_given_a_link_to_a_file_that_others_may_write_when_checked_then_it_is_refused(place: Path) -> None:
    make_file(place / "file", 0o777)
    (place / "link").symlink_to("file")
    with pytest.raises(UnsafePath, match=r"link: others than root can write \S*/file "):
        check_path(str(place / "link"))


def test_given_links_over_a_directory_that_others_may_write_when_checked_then_it_is_refused(place: Path) -> None:
    """The file itself is safe, but not the link that leads to it."""
    make_file(place / "file")
    (place / "open").mkdir()
    (place / "open" / "middle").symlink_to(place / "file")
    (place / "open").chmod(0o777)
    (place / "link").symlink_to("open/middle")
    with pytest.raises(UnsafePath, match=r"others than root can write \S*/open "):
        check_path(str(place / "link"))


def test_given_links_in_a_circle_when_checked_then_it_is_refused(place: Path) -> None:
    (place / "one").symlink_to("other")
    (place / "other").symlink_to("one")
    with pytest.raises(UnsafePath, match="more than 40 symbolic links"):
        check_path(str(place / "one"))


def test_given_a_link_to_nothing_when_checked_then_it_is_refused(place: Path) -> None:
    (place / "link").symlink_to("absent")
    with pytest.raises(UnsafePath, match=r"cannot be checked: \S*/absent: No such file"):
        check_path(str(place / "link"))


class TestPrivateFiles:
    def test_given_a_file_of_the_owner_alone_when_read_then_its_content_is_returned(self, place: Path) -> None:
        make_file(place / "secret", 0o400)
        (place / "link").symlink_to("secret")
        assert read_private(str(place / "link"), 10) == b"#!/bin/sh\n"

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o610, 0o601, 0o660])
    def test_given_a_file_that_others_may_use_when_read_then_it_is_refused_with_the_remedy(
        self, place: Path, mode: int
    ) -> None:
        with pytest.raises(UnsafePath, match=r"secret: others than root can .*\(mode %o\): chmod " % mode):
            read_private(str(make_file(place / "secret", mode)), 10)

    def test_given_a_directory_on_the_way_that_others_may_write_when_read_then_it_is_refused(self, place: Path) -> None:
        file = make_file(place / "secret", 0o600)
        place.chmod(0o777)
        with pytest.raises(UnsafePath, match=r"others than root can write \S*/place "):
            read_private(str(file), 10)

    def test_given_a_file_that_is_too_large_when_read_then_it_is_refused_with_the_limit(self, place: Path) -> None:
        with pytest.raises(UnsafePath, match="secret: is larger than 9 bytes"):
            read_private(str(make_file(place / "secret", 0o600)), 9)

    def test_given_a_pipe_when_read_then_it_is_refused_at_once(self, place: Path) -> None:
        os.mkfifo(str(place / "secret"), 0o600)
        with pytest.raises(UnsafePath, match="secret: is not a regular file"):
            read_private(str(place / "secret"), 10)

    def test_given_a_directory_when_read_then_it_is_refused(self, place: Path) -> None:
        (place / "secret").mkdir(mode=0o700)
        with pytest.raises(UnsafePath, match="secret: cannot be read: Is a directory"):
            read_private(str(place / "secret"), 10)

    @needs_root
    @pytest.mark.parametrize(("mode", "is_taken"), [(0o440, True), (0o640, True), (0o444, False), (0o460, False)])
    def test_given_a_file_that_root_gives_to_a_group_when_a_service_reads_it_then_only_if_nobody_else_may(
        self, tmp_path_factory: pytest.TempPathFactory, mode: int, is_taken: bool
    ) -> None:
        """The secret of a pod that has an `fsGroup`."""
        place = tmp_path_factory.mktemp("mount")
        for directory in (place, place.parent, place.parent.parent):
            directory.chmod(0o755)
        file = make_file(place / "secret", mode)
        os.chown(str(file), 0, SOMEBODY_ELSE)
        child = os.fork()
        if child == 0:
            status = 2
            try:
                os.setgroups([SOMEBODY_ELSE])
                os.setgid(SOMEBODY_ELSE + 1)
                os.setuid(SOMEBODY_ELSE + 1)
                read_private(str(file), 10)
                status = 0
            except UnsafePath:
                status = 1
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] >> 8 == (0 if is_taken else 1)
