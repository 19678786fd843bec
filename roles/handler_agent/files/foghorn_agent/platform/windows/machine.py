# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which boot of the machine this is, how long ago it was, where things lie, and how many descriptors there are."""

import errno
import os
import time
from typing import Mapping, Optional


def directory_of(key: str, name: str, default: str) -> str:
    """A directory of the system. The environment may be another for a service than for who asks it by hand.

    :param key: in the registry, of the machine
    """
    try:
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return os.path.expandvars(str(winreg.QueryValueEx(opened, name)[0]))
    except (ImportError, OSError):
        return default


ROOT = os.environ.get("SYSTEMDRIVE", "C:") + "\\"
_PROFILES = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion\ProfileList"
DATA = os.path.join(directory_of(_PROFILES, "ProgramData", r"C:\ProgramData"), "foghorn")
CONFIG_PATH = os.path.join(DATA, "agent.json")
HOOKS_DIRECTORY = os.path.join(DATA, "hooks.d")
STATE_DIRECTORY = os.path.join(DATA, "state")
RUNTIME_DIRECTORY: Optional[str] = None

ADMINISTRATOR = "an administrator"

# Of the process, and of its sockets: Windows has a number of its own for that.
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, 10024)

_BOOT_KEY = "SOFTWARE\\foghorn\\Boot"
_LOCAL_MACHINE = 0xFFFFFFFF80000002
_VOLATILE = 1
_ALL_ACCESS = 0xF003F


def boot_id() -> Optional[str]:
    """What stays the same until the machine boots again; None where the registry does not let it be kept.

    Windows counts no boots. A key that lasts until the next one holds a random number.
    """
    import ctypes
    import secrets
    import winreg

    from . import win32

    key = ctypes.c_void_p()
    if win32.advapi32.RegCreateKeyExW(
        _LOCAL_MACHINE, _BOOT_KEY, 0, None, _VOLATILE, _ALL_ACCESS, None, ctypes.byref(key), None
    ):
        return None
    try:
        handle = key.value or 0
        try:
            return str(winreg.QueryValueEx(handle, "id")[0])
        except FileNotFoundError:
            value = secrets.token_hex(16)
            winreg.SetValueEx(handle, "id", 0, winreg.REG_SZ, value)
            return value
    except OSError:
        return None
    finally:
        win32.advapi32.RegCloseKey(key)


def elapsed() -> float:
    """Seconds, by a clock that cannot be set, and that counts the hours for which the machine hibernates."""
    return time.monotonic()


def is_short_of_descriptors(_number: int, _spare: int) -> bool:
    """Whether a socket's number says that few are left: no number of Windows does."""
    return False


def state_directory_of(environment: Mapping[str, str]) -> Optional[str]:
    """The directory that this service keeps things in."""
    return environment.get("STATE_DIRECTORY") or None


def runtime_directory_of(_environment: Mapping[str, str]) -> Optional[str]:
    """The one that lasts until the next boot: there is none."""
    return None
