#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: test_wine.sh CACHE_DIRECTORY [PYTEST_ARGUMENT...]
# Test the agent on Windows: with a Windows Python, under Wine, in a network of its own. Needs root.
#   WINE_TESTS=required: what cannot be tested is a failure
set -eu

cache=$(cd "$1" && pwd)
shift
missing=
for program in wine wineserver wineboot; do
    command -v "$program" >/dev/null || [ -x "/usr/lib/wine/$program" ] || missing=" Wine (Debian: wine, wine64)"
done
command -v x86_64-w64-mingw32-gcc >/dev/null || [ -n "${WINDOWS_PYTHON:-}" ] ||
    missing="$missing a compiler for Windows (Debian: gcc-mingw-w64-x86-64-posix)"
[ "$(id -u)" = 0 ] || missing="$missing root, for a network of its own"
"$(dirname "$0")/find_python.sh" --between 3.11 3.11 >/dev/null || missing="$missing Python 3.11"
if [ -n "$missing" ]; then
    if [ "${WINE_TESTS:-}" = required ]; then
        echo "error: the agent on Windows was to be tested here, which needs$missing" >&2
        exit 1
    fi
    echo "skipped: the agent on Windows, which needs$missing"
    exit 0
fi
WINDOWS_PYTHON_ZIP=$("$(dirname "$0")/windows_python.sh" "$cache")
export WINDOWS_PYTHON_ZIP WINDOWS_PYTHON_DIRECTORY="$cache/windows-python" WINDOWS_PACKAGES="$cache/windows-packages"
# No display, and neither .NET nor a browser, for which Wine would ask.
export PWSH_ENGINE="${PWSH_ENGINE:-}"
export WINEPREFIX="$cache/wine" WINEARCH=win64 WINEDEBUG="${WINEDEBUG:--all}" DISPLAY= WINEDLLOVERRIDES='mscoree,mshtml='
# Windows has no such thing, and Wine would take what is meant for Linux.
unset PYTHONPATH PYTHONHOME PYTHONPYCACHEPREFIX PYTHONDONTWRITEBYTECODE 2>/dev/null || true
# In a namespace of processes as well: whatever Wine leaves running ends with it. Not below /tmp, where anybody may write:
# the agent would trust nothing there.
exec unshare --net --pid --fork --kill-child --mount-proc /bin/sh -ec '
    ip link set lo up
    exec "$@"
' sh "$cache/venv/bin/python" -m pytest -o cache_dir="$cache/pytest-wine" \
    --basetemp="$cache/wine-tests" "$@" tests/wine
