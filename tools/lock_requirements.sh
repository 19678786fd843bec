#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: lock_requirements.sh UV [OPTIONS…]
# Write for each requirements/*.in a .txt beside it, and for the simulator what its role installs: the exact version of
# everything that it draws in, on every platform and Python, with the hashes of all files of that release at PyPI.
# Versions stay as they are where they still fit; with --upgrade as an option, each becomes the newest that fits.
set -eu

uv=$1
shift
# Nothing of this machine's own may get in.
for variable in $(env | sed -n 's/^\(UV_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done

lock() { # INPUT OUTPUT OLDEST_PYTHON OPTIONS…
    input=$1
    output=$2
    python=$3
    shift 3
    echo "$output"
    "$uv" pip compile --quiet --no-config --default-index https://pypi.org/simple --universal --python-version "$python" \
        --generate-hashes --no-annotate --custom-compile-command "make requirements" --output-file "$output" "$@" "$input"
    { sed -n '/^# SPDX/p' "$input"; sed '/^# SPDX/d' "$output"; } >"$output.new"
    mv "$output.new" "$output"
}

# What is installed one after the other into the same environment has to agree.
lock requirements/gates.in requirements/gates.txt 3.11 "$@"
for part in run test lab rulebook; do
    lock "requirements/$part.in" "requirements/$part.txt" 3.11 --constraint requirements/gates.txt "$@"
done
# Only the package itself: nothing of it is installed.
lock requirements/awx.in requirements/awx.txt 3.11 --no-deps "$@"
lock requirements/ansible-oldest.in requirements/ansible-oldest.txt 3.11 "$@"
lock requirements/ansible-newest.in requirements/ansible-newest.txt 3.12 "$@"
lock requirements/managed-node-3.6.in requirements/managed-node-3.6.txt 3.6.8 "$@"
lock requirements/uv.in requirements/uv.txt 3.11 "$@"
lock roles/azure_simulator/files/pyproject.toml roles/azure_simulator/files/requirements.txt 3.9 "$@"
