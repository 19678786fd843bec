#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: find_python.sh [PYTHON]
#        find_python.sh --between OLDEST NEWEST
# Print the path of a Python that the controller's code runs on and that can make virtual environments; with --between,
# of one of these versions, on PATH or under pyenv, the oldest first. Exits 1 where there is none.
# Candidates are tried, not only found: a version manager's stand-ins may be on PATH without a Python behind them.
set -eu

if [ "${1:-}" = --between ]; then
    oldest=${2#3.}
    newest=${3#3.}
    minor=$oldest
    while [ "$minor" -le "$newest" ]; do
        for path in "$(command -v "python3.$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"3.$minor".*/bin/python \
            "$(command -v python3 || true)"; do
            [ -x "$path" ] || continue
            "$path" -c "import sys, ensurepip, venv; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null || continue
            printf '%s\n' "$path"
            exit 0
        done
        minor=$((minor + 1))
    done
    echo "no Python $2 to $3 with venv on this machine" >&2
    exit 1
fi

without_venv=
for name in ${1:-python3.11 python3.12 python3.13 python3}; do
    path=$(command -v "$name") || continue
    "$path" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    if "$path" -c 'import ensurepip, venv' 2>/dev/null; then
        printf '%s\n' "$path"
        exit 0
    fi
    without_venv=${without_venv:-$name}
done
if [ -n "$without_venv" ]; then
    echo "error: $without_venv cannot make virtual environments; on Debian and Ubuntu: apt install $without_venv-venv" >&2
else
    echo "error: ${1:-no Python 3.11 or newer found}${1:+ is no Python 3.11 or newer}; install it (Debian, Ubuntu: apt install python3 python3-venv;" \
        "RHEL: dnf install python3.11), or name one: make PYTHON=/path/to/python" >&2
fi
exit 1
