# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Files in a directory that is opened once, whoever owns it.

Who owns a directory, or one above it, can exchange what a path leads to between any two system calls. So the path is
walked once, from descriptor to descriptor, and then every file is reached by its name in the open directory. No link is
followed that another user could have placed.
"""

import contextlib
import errno
import os
import stat
from typing import Iterator, List, NamedTuple, Optional, Tuple

from .ownership import MOST_LINKS, UnsafePath, path_parts, weakness_of

LARGEST = 16 * 1024 * 1024  # bytes

# To walk through a directory, and to look a name up in it, needs no right to list it. O_PATH is Linux's.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Directory:
    """An open directory. What is done in it stays in it, whatever becomes of its path."""

    def __init__(self, descriptor: int, path: str, weakness: str) -> None:
        """:param path: for messages"""
        self._descriptor = descriptor
        self.path = path
        self._weakness = weakness

    def link_target(self, name: str) -> Optional[str]:
        """Read where a link leads; None if there is no link.

        :raises UnsafePath: if another user could have placed it
        """
        return _link_target(_Step(self._descriptor, self.path, self._weakness), name, self.path)

    @contextlib.contextmanager
    def socket_path(self, name: str) -> Iterator[str]:
        """A path to connect to a socket, as long as the context lasts, whatever takes its place meanwhile.

        :raises UnsafePath: if it is no socket
        """
        with self._naming(name):
            descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._descriptor)
        try:
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                raise UnsafePath("%s is no socket: find out who put it there" % os.path.join(self.path, name))
            yield "/proc/self/fd/%d" % descriptor
        finally:
            os.close(descriptor)

    def names(self) -> List[str]:
        """The names of all files in it, in no order."""
        with self._naming(""), self._listable() as descriptor:
            return os.listdir(descriptor)

    def status(self, name: str) -> Optional[os.stat_result]:
        """What is there under a name, itself a link perhaps. None if nothing is."""
        with self._naming(name), contextlib.suppress(FileNotFoundError):
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        return None

    def create(self, name: str, content: bytes, mode: int) -> None:
        """Create a file. It has its mode once it has its content.

        :raises FileExistsError: if anything is there
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._naming(name), open(os.open(name, flags, 0o600, dir_fd=self._descriptor), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())

    def rename(self, old: str, new: str) -> None:
        """Rename a file, in place of another one perhaps."""
        with self._naming(new):
            os.rename(old, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        self.sync()

    def remove(self, name: str) -> None:
        """Remove what is there under a name: a file, a link itself, and nothing that is a directory."""
        with self._naming(name):
            os.unlink(name, dir_fd=self._descriptor)

    def sync(self) -> None:
        """Make new names outlast a power cut."""
        with self._naming(""), self._listable() as descriptor:
            os.fsync(descriptor)

    def open_regular(self, name: str, flags: int) -> int:
        """Open a regular file; with `O_CREAT`, one that is not there is made for this user alone.

        Anything else, such as a pipe, would block whoever opens it, or lead elsewhere.

        :returns: its descriptor
        :raises UnsafePath: if it is something else
        """
        strange = UnsafePath(
            "%s is no regular file: find out who put it there, and remove it" % os.path.join(self.path, name)
        )
        with self._naming(name):
            try:
                flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                descriptor = os.open(name, flags, 0o600, dir_fd=self._descriptor)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
                    raise strange from None
                raise
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise strange

    def open_own(self, name: str, flags: int) -> int:
        """Open a regular file of root's or of this user's, as `open_regular`: another owner would decide what is read.

        :raises UnsafePath: if it is something else, or somebody else's
        """
        descriptor = self.open_regular(name, flags)
        owner = os.fstat(descriptor).st_uid
        if owner in (0, os.geteuid()):
            return descriptor
        os.close(descriptor)
        raise UnsafePath(
            "%s belongs to the user with the id %d: run as that user, or find out who put it there, and remove it"
            % (os.path.join(self.path, name), owner)
        )

    def read(self, name: str, most: int = LARGEST, of_anybody: bool = False) -> str:
        """Read a file.

        :param most: bytes
        :param of_anybody: whether it may belong to others than root and this user
        :raises FileNotFoundError: if it is not there
        :raises UnsafePath: if it is no regular file, or somebody else's
        :raises ValueError: if it is larger, or no UTF-8
        """
        opened = self.open_regular if of_anybody else self.open_own
        with open(opened(name, os.O_RDONLY), "rb") as stream:
            content = stream.read(most + 1)
        if len(content) > most:
            raise ValueError("%s has more than %d bytes" % (os.path.join(self.path, name), most))
        return content.decode("utf-8")

    def replace(self, name: str, text: str, mode: int) -> None:
        """Write a file that is either as it was or has all of the text, whatever dies meanwhile, a machine included.

        For one process at a time.
        """
        new = new_name(name)
        with contextlib.suppress(FileNotFoundError):
            self.remove(new)
        self.create(new, text.encode("utf-8"), mode)
        self.rename(new, name)

    @contextlib.contextmanager
    def _listable(self) -> Iterator[int]:
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        with _naming(os.path.join(self.path, name)):
            yield


def new_name(name: str) -> str:
    """The name under which a file is written before it takes its own; one may be left by a process that died."""
    return ".%s.new" % name


def split_path(path: str) -> Tuple[str, str]:
    """The directory of a file, and its name there.

    :raises UnsafePath: if the path names no file
    """
    directory, name = os.path.split(_absolute(path))
    if name in ("", ".", ".."):
        raise UnsafePath("%s names no file: give the path of one" % path)
    return directory, name


def _absolute(path: str) -> str:
    # Not os.path.abspath: where a link is before them, dots lead elsewhere.
    return path if os.path.isabs(path) else os.path.join(os.getcwd(), path)


@contextlib.contextmanager
def open_directory(path: str, new_mode: Optional[int] = None) -> Iterator[Directory]:
    """Open a directory that may belong to anybody.

    :param new_mode: the mode of directories that are made; None: none is made
    :raises FileNotFoundError: if it is not there
    :raises UnsafePath: if a link that another user could have placed is on the way
    """
    trusts_group = os.geteuid() != 0
    with _walked(path, is_own=False, new_mode=new_mode, trusts_group=trusts_group) as directory:
        yield directory


@contextlib.contextmanager
def open_own_directory(path: str, new_mode: Optional[int] = None, trusts_group: bool = False) -> Iterator[Directory]:
    """Open a directory in which nobody but root and this user could change anything, nor lead its path elsewhere.

    :param new_mode: the mode of directories that are made; None: none is made
    :param trusts_group: whether a group may write also where this runs as root. For other users it always may: where
        each has a group for himself, a umask of 002 is usual
    :raises FileNotFoundError: if it is not there
    :raises UnsafePath: if others could change what is there
    """
    trusts_group = trusts_group or os.geteuid() != 0
    with _walked(path, is_own=True, new_mode=new_mode, trusts_group=trusts_group) as directory:
        yield directory


@contextlib.contextmanager
def open_socket_path(path: str) -> Iterator[str]:
    """Find a socket, and yield a path to connect to it. Links are followed that no other user could have placed.

    :raises OSError: if it is not there
    :raises UnsafePath: if it is no socket, or a link is on the way that another user could have placed
    """
    if not hasattr(os, "O_PATH"):
        # Not Linux.
        yield path
        return
    for _link in range(MOST_LINKS):
        directory, name = split_path(path)
        with open_directory(directory) as place:
            target = place.link_target(name)
            if target is None:
                with place.socket_path(name) as socket:
                    yield socket
                return
        path = os.path.join(directory, target)
    raise UnsafePath("%s: more than %d symbolic links on the way" % (path, MOST_LINKS))


class _Step(NamedTuple):
    descriptor: int
    path: str
    weakness: str
    """How others could have changed what is in it, or lead elsewhere on the way to it; empty if they could not."""


@contextlib.contextmanager
def _walked(path: str, is_own: bool, new_mode: Optional[int], trusts_group: bool) -> Iterator[Directory]:
    def enter(descriptor: int, step: str) -> None:
        weakness = weakness_of(os.fstat(descriptor), step, is_last=False, trusts_group=trusts_group)
        way.append(_Step(descriptor, step, (way[-1].weakness if way else "") or weakness))

    way = []  # type: List[_Step]
    try:
        enter(os.open("/", _PASS), "/")
        links = 0
        ahead = path_parts(_absolute(path))
        while ahead:
            if is_own and way[-1].weakness:
                raise UnsafePath("%s: %s" % (path, way[-1].weakness))
            name = ahead.pop()
            if name == "..":
                _go_back(way, max(len(way) - 1, 1))
                continue
            target = _link_target(way[-1], name, path)
            if target is None:
                enter(_open_below(way[-1], name, new_mode), os.path.join(way[-1].path, name))
                continue
            links += 1
            if links > MOST_LINKS:
                raise UnsafePath("%s: more than %d symbolic links on the way" % (path, MOST_LINKS))
            ahead += path_parts(target)
            if os.path.isabs(target):
                _go_back(way, 1)
        found = os.fstat(way[-1].descriptor)
        weakness = weakness_of(found, way[-1].path, is_last=True, trusts_group=trusts_group)
        if is_own and weakness:
            raise UnsafePath("%s: %s" % (path, weakness))
        yield Directory(way[-1].descriptor, path, way[-1].weakness)
    finally:
        _go_back(way, 0)


def _go_back(way: List[_Step], length: int) -> None:
    while len(way) > length:
        os.close(way.pop().descriptor)


def _open_below(here: _Step, name: str, new_mode: Optional[int]) -> int:
    with _naming(os.path.join(here.path, name)):
        while True:
            try:
                return os.open(name, _PASS, dir_fd=here.descriptor)
            except FileNotFoundError:
                if new_mode is None:
                    raise
            # Again where another process makes and removes it at the same time.
            _make(here, name, new_mode)


def _make(here: _Step, name: str, mode: int) -> None:
    try:
        os.mkdir(name, mode, dir_fd=here.descriptor)
    except FileExistsError:
        return
    if not here.weakness:
        # Whatever the umask. By its name, so only where nobody else could exchange it.
        with contextlib.suppress(FileNotFoundError):
            os.chmod(name, mode, dir_fd=here.descriptor)


def _link_target(here: _Step, name: str, path: str) -> Optional[str]:
    """Read where a link leads; None if there is no link."""
    try:
        found = os.stat(name, dir_fd=here.descriptor, follow_symlinks=False)
    except OSError:
        # Whoever enters it has the same error.
        return None
    if not stat.S_ISLNK(found.st_mode):
        return None
    step = os.path.join(here.path, name)
    if here.weakness or weakness_of(found, step, is_last=False):
        raise UnsafePath(
            "%s: others than root could have placed the symbolic link %s: give the path without it" % (path, step)
        )
    return os.readlink(name, dir_fd=here.descriptor)


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Have errors name the whole path."""
    try:
        yield
    except UnsafePath:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
