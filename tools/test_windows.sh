#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: test_windows.sh CACHE_DIRECTORY
# Test what runs on Windows VMs, as far as this machine can, and say what is skipped:
#   PWSH         PowerShell 7.5 or later, if it is not on the PATH: the modules through ansible-playbook
#   PWSH_ENGINE  a directory with pwsh, and csharp5.ps1, the compiler of Windows PowerShell 5.1's kind: all of it
#   WINDOWS_TESTS=required: what cannot be tested is a failure
set -eu

skipped() {
    echo "skipped: $1"
    if [ "${WINDOWS_TESTS:-}" = required ]; then
        echo "error: it was to be tested here" >&2
        exit 1
    fi
}

: "${PWSH:=${PWSH_ENGINE:+$PWSH_ENGINE/pwsh}}"
: "${PWSH:=$(command -v pwsh || true)}"
export PWSH
if [ -z "$PWSH" ]; then
    unset PWSH
    skipped "everything about Windows VMs, which needs PowerShell: set PWSH or PWSH_ENGINE (docs/windows.md)"
    exit 0
fi
if ! "$PWSH" -NoProfile -Command '$v = $PSVersionTable.PSVersion; exit [int](100 * $v.Major + $v.Minor -lt 705)'; then
    skipped "everything about Windows VMs, which needs PowerShell 7.5 or later, and $PWSH is older"
    exit 0
fi
[ -n "${PWSH_ENGINE:-}" ] || skipped "the C# core by itself, which needs a compiler of C# 5: set PWSH_ENGINE"
command -v mono >/dev/null || skipped "the C# core on Mono: install mono-runtime and libmono-system-core4.0-cil"
tools/find_python.sh --between 3.12 3.14 >/dev/null || skipped "modules on Windows VMs, whose tests need Python 3.12 or later"
# Two of the tests run modules with it.
tools/on_other_core.sh oldest "$1" true
exec tools/on_other_core.sh newest "$1" @python -m pytest -o cache_dir="$1/pytest-windows" tests/windows
