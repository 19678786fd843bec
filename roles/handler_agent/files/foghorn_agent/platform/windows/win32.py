# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions of Windows that the agent calls, with their types.

The standard library has no other way to them than ctypes. Names are Microsoft's.
"""

import ctypes
from ctypes import wintypes
from typing import Any

kernel32: Any = ctypes.WinDLL("kernel32", use_last_error=True)
advapi32: Any = ctypes.WinDLL("advapi32", use_last_error=True)
iphlpapi: Any = ctypes.WinDLL("iphlpapi")
ntdll: Any = ctypes.WinDLL("ntdll")

HANDLE = wintypes.HANDLE
DWORD = wintypes.DWORD
POINTER = ctypes.c_void_p
LPCWSTR = wintypes.LPCWSTR


def last_error(about: str = "") -> OSError:
    """What the last call complained of.

    :param about: what it was about
    """
    return error_of(ctypes.get_last_error(), about)


def error_of(code: int, about: str = "") -> OSError:
    """The error with a number of Windows."""
    text = str(ctypes.FormatError(code)).strip().rstrip(".")
    return OSError(0, "%s: %s" % (about, text) if about else text, None, code)


def take_text(text: ctypes.c_void_p) -> str:
    """The text that Windows has allocated for this call, which is freed."""
    try:
        return ctypes.wstring_at(text.value or 0)
    finally:
        kernel32.LocalFree(text)


def _declare(library: Any, name: str, result: Any, *arguments: Any) -> None:
    function = getattr(library, name)
    function.restype = result
    function.argtypes = arguments


_declare(kernel32, "CloseHandle", wintypes.BOOL, HANDLE)
_declare(kernel32, "LocalFree", POINTER, POINTER)
_declare(kernel32, "CreateJobObjectW", HANDLE, POINTER, LPCWSTR)
_declare(kernel32, "SetInformationJobObject", wintypes.BOOL, HANDLE, ctypes.c_int, POINTER, DWORD)
_declare(kernel32, "QueryInformationJobObject", wintypes.BOOL, HANDLE, ctypes.c_int, POINTER, DWORD, POINTER)
_declare(kernel32, "AssignProcessToJobObject", wintypes.BOOL, HANDLE, HANDLE)
_declare(kernel32, "TerminateJobObject", wintypes.BOOL, HANDLE, wintypes.UINT)
_declare(kernel32, "CreateDirectoryW", wintypes.BOOL, LPCWSTR, POINTER)
_declare(ntdll, "NtResumeProcess", ctypes.c_long, HANDLE)

_declare(advapi32, "GetNamedSecurityInfoW", DWORD, LPCWSTR, ctypes.c_int, DWORD, *[POINTER] * 5)
_declare(
    advapi32,
    "ConvertSecurityDescriptorToStringSecurityDescriptorW",
    wintypes.BOOL,
    *(POINTER, DWORD, DWORD, POINTER, POINTER),
)
_declare(
    advapi32,
    "ConvertStringSecurityDescriptorToSecurityDescriptorW",
    wintypes.BOOL,
    *(LPCWSTR, DWORD, POINTER, POINTER),
)
_declare(advapi32, "ConvertSidToStringSidW", wintypes.BOOL, POINTER, POINTER)
_declare(advapi32, "OpenProcessToken", wintypes.BOOL, HANDLE, DWORD, POINTER)
_declare(advapi32, "GetTokenInformation", wintypes.BOOL, HANDLE, ctypes.c_int, POINTER, DWORD, POINTER)
_declare(kernel32, "GetCurrentProcess", HANDLE)
_declare(
    advapi32,
    "RegCreateKeyExW",
    ctypes.c_long,
    *(POINTER, LPCWSTR, DWORD, LPCWSTR, DWORD, DWORD, POINTER, POINTER, POINTER),
)
_declare(advapi32, "RegCloseKey", ctypes.c_long, POINTER)

_declare(advapi32, "OpenSCManagerW", HANDLE, LPCWSTR, LPCWSTR, DWORD)
_declare(advapi32, "OpenServiceW", HANDLE, HANDLE, LPCWSTR, DWORD)
_declare(advapi32, "CloseServiceHandle", wintypes.BOOL, HANDLE)
_declare(advapi32, "QueryServiceStatusEx", wintypes.BOOL, HANDLE, ctypes.c_int, POINTER, DWORD, POINTER)
_declare(advapi32, "ControlService", wintypes.BOOL, HANDLE, DWORD, POINTER)
_declare(advapi32, "StartServiceW", wintypes.BOOL, HANDLE, DWORD, POINTER)
_declare(advapi32, "EnumDependentServicesW", wintypes.BOOL, HANDLE, DWORD, POINTER, DWORD, POINTER, POINTER)
_declare(
    advapi32,
    "CreateServiceW",
    HANDLE,
    *(HANDLE, LPCWSTR, LPCWSTR, DWORD, DWORD, DWORD, DWORD, LPCWSTR, LPCWSTR, POINTER, LPCWSTR, LPCWSTR, LPCWSTR),
)
_declare(
    advapi32,
    "ChangeServiceConfigW",
    wintypes.BOOL,
    *(HANDLE, DWORD, DWORD, DWORD, LPCWSTR, LPCWSTR, POINTER, LPCWSTR, LPCWSTR, LPCWSTR, LPCWSTR),
)
_declare(advapi32, "ChangeServiceConfig2W", wintypes.BOOL, HANDLE, DWORD, POINTER)
_declare(advapi32, "QueryServiceConfigW", wintypes.BOOL, HANDLE, POINTER, DWORD, POINTER)
_declare(advapi32, "DeleteService", wintypes.BOOL, HANDLE)
_declare(advapi32, "StartServiceCtrlDispatcherW", wintypes.BOOL, POINTER)
_declare(advapi32, "RegisterServiceCtrlHandlerExW", HANDLE, LPCWSTR, POINTER, POINTER)
_declare(advapi32, "SetServiceStatus", wintypes.BOOL, HANDLE, POINTER)
_declare(advapi32, "RegisterEventSourceW", HANDLE, LPCWSTR, LPCWSTR)
_declare(
    advapi32,
    "ReportEventW",
    wintypes.BOOL,
    *(HANDLE, wintypes.WORD, wintypes.WORD, DWORD, POINTER, wintypes.WORD, DWORD, POINTER, POINTER),
)
_declare(iphlpapi, "GetTcpTable", DWORD, POINTER, POINTER, wintypes.BOOL)
_declare(iphlpapi, "GetTcp6Table", DWORD, POINTER, POINTER, wintypes.BOOL)
