# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who could change the file at a path, or read what is private: by its owner and its access control list.

What the agent runs or trusts has to be in the hands of administrators, as on Linux it has to be in those of root.
"""

import os
from typing import Iterator, List, NamedTuple, Optional, Set

from foghorn_core.files.ownership import UnsafePath

__all__ = ("UnsafePath", "check_path", "problem_with", "read_private", "weakness_of")

# SYSTEM, Administrators, and the installer of Windows itself. SDDL has abbreviations for the first two.
_TRUSTED = {
    *("SY", "S-1-5-18", "BA", "S-1-5-32-544"),
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
}
_OWNER_RIGHTS = ("OW", "S-1-3-4")
_OWNER_AND_DACL = 1 | 4
_FILE_OBJECT = 1

_RIGHTS = {
    # To all objects: all, execute, write, read; read its security, delete it, change its security, take it over.
    "GA": 0x10000000,
    "GX": 0x20000000,
    "GW": 0x40000000,
    "GR": 0x80000000,
    "RC": 0x20000,
    "SD": 0x10000,
    "WD": 0x40000,
    "WO": 0x80000,
    # To this kind of object: a bit each. To files and to keys of the registry: all, read, write, execute.
    "CC": 0x1,
    "DC": 0x2,
    "LC": 0x4,
    "SW": 0x8,
    "RP": 0x10,
    "WP": 0x20,
    "DT": 0x40,
    "LO": 0x80,
    "CR": 0x100,
    "FA": 0x1F01FF,
    "FR": 0x120089,
    "FW": 0x120116,
    "FX": 0x1200A0,
    "KA": 0xF003F,
    "KR": 0x20019,
    "KW": 0x20006,
    "KX": 0x20019,
}
# On the way: to delete or rename it or what is in it, or to let oneself do so.
_LEADS_ELSEWHERE = 0x10000000 | 0x40000000 | 0x10000 | 0x40000 | 0x80000 | 0x40
# At the end: to write, to append, to put something into it.
_CHANGES = _LEADS_ELSEWHERE | 0x2 | 0x4
_READS = 0x10000000 | 0x80000000 | 0x1
_ALLOWING = ("A", "XA", "OA", "ZA")


class _Entry(NamedTuple):
    """One entry of an access control list that allows something here."""

    rights: int
    whom: str


def check_path(path: str) -> str:
    """Follow an absolute path, and refuse it if others than administrators could lead it elsewhere or change its end.

    The user that runs this process is trusted as well.

    :returns: where it leads, free of links
    :raises UnsafePath: if others could change what is found there, or nothing is
    """
    try:
        real = os.path.realpath(path, strict=True)
        for step in _steps(real):
            weakness = weakness_of(_security_of(step), step, is_last=step == real, trusted=_myself())
            if weakness:
                raise UnsafePath("%s: %s" % (path, weakness))
    except UnsafePath:
        raise
    except OSError as error:
        raise UnsafePath("%s: cannot be checked: %s" % (path, error.strerror or error)) from None
    return real


def problem_with(path: str) -> Optional[str]:
    """Why an administrator must not run or trust what is at a path, with the remedy; None if they may."""
    try:
        check_path(path)
    except UnsafePath as error:
        return str(error)
    return None


def read_private(path: str, largest: int) -> bytes:
    """Read a file that nobody else may read or change: one with a secret.

    :param path: absolute; it is followed as in `check_path`
    :param largest: bytes that the file may have
    :raises UnsafePath: if others could read or change it, or it cannot be read. The message has nothing of its content
    """
    real = check_path(path)
    try:
        if not os.path.isfile(real):
            raise UnsafePath("%s: is not a regular file" % path)
        reader = _who_has(_security_of(real), _READS, _myself())
        with open(real, "rb") as file:
            content = file.read(largest + 1)
    except UnsafePath:
        raise
    except OSError as error:
        raise UnsafePath("%s: cannot be read: %s" % (path, error.strerror)) from None
    if reader is not None:
        raise UnsafePath(
            "%s: %s can read it: icacls it to SYSTEM and Administrators alone, and exchange the secret" % (path, reader)
        )
    if len(content) > largest:
        raise UnsafePath("%s: is larger than %d bytes" % (path, largest))
    return content


def weakness_of(sddl: str, step: str, is_last: bool, trusted: Optional[str] = None) -> str:
    """Say how others could change what is found at a step of a path, and the remedy; empty if they cannot. Pure.

    :param sddl: its owner and its access control list, as Windows writes them
    :param is_last: whether it is the end of the path
    :param trusted: one who may change it besides, as SDDL names them
    """
    owner = _owner_of(sddl)
    if not _is_trusted(owner, trusted):
        return "%s owns %s: give it to Administrators, by icacls /setowner" % (owner or "nobody", step)
    whom = _who_has(sddl, _CHANGES if is_last else _LEADS_ELSEWHERE, trusted)
    if whom is None:
        return ""
    return "%s can write %s: icacls it to SYSTEM and Administrators alone" % (whom, step)


def _who_has(sddl: str, rights: int, trusted: Optional[str]) -> Optional[str]:
    """The first who has any of these rights and is not trusted; None if there is nobody."""
    entries = _entries_of(sddl)
    if entries is None:
        return "everyone"
    for entry in entries:
        if entry.rights & rights and entry.whom not in _OWNER_RIGHTS and not _is_trusted(entry.whom, trusted):
            return entry.whom
    return None


def _is_trusted(whom: str, trusted: Optional[str]) -> bool:
    return whom in _TRUSTED or (trusted is not None and whom == trusted)


def _owner_of(sddl: str) -> str:
    owner = sddl.partition("O:")[2]
    for end in ("G:", "D:", "S:"):
        # Of an identifier, S-1-…, no part ends in a colon.
        owner = owner.partition(end)[0]
    return owner


def _entries_of(sddl: str) -> Optional[List[_Entry]]:
    """What allows something. None without a list, which allows everything to everyone."""
    _before, colon, rest = sddl.partition("D:")
    flags = rest.partition("(")[0]
    if not colon or "NO_ACCESS_CONTROL" in flags:
        return None
    return list(_allowing(rest))


def _allowing(text: str) -> Iterator[_Entry]:
    for piece in text.split("(")[1:]:
        fields = piece.partition(")")[0].split(";")
        if len(fields) < 6:
            # A condition, which has parentheses of its own.
            continue
        kind, flags, rights, _object, _inherited, whom = fields[:6]
        if kind in _ALLOWING and "IO" not in [flags[at : at + 2] for at in range(0, len(flags), 2)]:
            yield _Entry(_rights_of(rights), whom)


def _rights_of(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text, 16)
    if text.isdigit():
        return int(text)
    value = 0
    for at in range(0, len(text), 2):
        # One that is not known may be any.
        value |= _RIGHTS.get(text[at : at + 2], 0x10000000)
    return value


def _steps(real: str) -> List[str]:
    """The directories that lead to a path, from the drive on, and the path itself."""
    steps = [real]
    while os.path.dirname(steps[-1]) != steps[-1]:
        steps.append(os.path.dirname(steps[-1]))
    return steps[::-1]


def _security_of(path: str) -> str:
    """Who owns it, and its access control list, in SDDL.

    :raises OSError: if it cannot be told
    """
    import ctypes

    from . import win32

    descriptor, text = ctypes.c_void_p(), ctypes.c_void_p()
    code = win32.advapi32.GetNamedSecurityInfoW(
        path, _FILE_OBJECT, _OWNER_AND_DACL, None, None, None, None, ctypes.byref(descriptor)
    )
    if code:
        raise win32.error_of(code)
    try:
        if not win32.advapi32.ConvertSecurityDescriptorToStringSecurityDescriptorW(
            descriptor, 1, _OWNER_AND_DACL, ctypes.byref(text), None
        ):
            raise win32.last_error()
        return win32.take_text(text)
    finally:
        win32.kernel32.LocalFree(descriptor)


_me: Set[str] = set()


def _myself() -> Optional[str]:
    """The user that runs this process, as SDDL names them; None if it cannot be told."""
    if not _me:
        user = _user()
        if user is not None:
            _me.add(user)
    return next(iter(_me), None)


def _user() -> Optional[str]:
    import ctypes

    from . import win32

    token, text, length = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
    if not win32.advapi32.OpenProcessToken(win32.kernel32.GetCurrentProcess(), 8, ctypes.byref(token)):
        return None
    try:
        found = ctypes.create_string_buffer(256)
        if not win32.advapi32.GetTokenInformation(token, 1, found, len(found), ctypes.byref(length)):
            return None
        # It begins with the address of the identifier.
        identifier = ctypes.c_void_p.from_buffer(found)
        if not win32.advapi32.ConvertSidToStringSidW(identifier, ctypes.byref(text)):
            return None
        return win32.take_text(text)
    finally:
        win32.kernel32.CloseHandle(token)
