#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: make_venv.sh PYTHON DIRECTORY REQUIREMENTS…
# Make the virtual environment if it is not there, or if its Python has gone, and install the requirements files, which
# name everything with its hashes (`make requirements`). Python compiles what is used when it is used first.
set -eu

python=$1
directory=$2
shift 2
unset PYTHONPATH PYTHONHOME

if ! "$directory/bin/python" -m pip --version >/dev/null 2>&1; then
    echo "set-up: $directory with $("$python" --version)"
    "$python" -m venv --clear "$directory"
fi
for file in "$@"; do
    echo "set-up: $directory: installing $file …"
    "$directory/bin/python" -m pip install --quiet --quiet --disable-pip-version-check --no-compile --require-hashes --no-deps \
        --requirement "$file"
done
