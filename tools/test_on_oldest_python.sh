#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: test_on_oldest_python.sh CACHE_DIRECTORY PYTEST_ARGUMENT…
# Run tests of managed-node code on the oldest Python of managed nodes, if it is on PATH or under pyenv.
set -eu

cache=$1
venv=$cache/venv-core-3.6
requirements=requirements/managed-node-3.6.txt
shift

python=
for path in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.6.*/bin/python "$(command -v python3.6 || true)"; do
    if [ -x "$path" ] && "$path" -c 'import ensurepip, venv' 2>/dev/null; then
        python=$path
        break
    fi
done
if [ -z "$python" ]; then
    echo "skipped: managed-node code on Python 3.6, which is not on this machine"
    exit 0
fi
# Two steps may ask for it at the same time.
(
    flock 9
    if [ ! "$venv/.installed" -nt "$requirements" ]; then
        tools/make_venv.sh "$python" "$venv" "$requirements"
        touch "$venv/.installed"
    fi
) 9>"$venv.lock"
exec "$venv/bin/python" -m pytest -q "$@"
