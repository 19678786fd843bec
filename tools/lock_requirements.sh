#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: lock_requirements.sh UV [OPTIONS…]
# Write for each requirements/*.in a .txt, beside it or where a role installs from it: the exact version of everything
# that it draws in, on every platform and Python, with the hashes of all files of that release at PyPI.
# Versions stay as they are where they still fit; with --upgrade as an option, each becomes the newest that fits.
set -eu

uv=$1
shift
# Nothing of this machine's own may get in.
for variable in $(env | sed -n 's/^\(UV_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done

lock() { # NAME OUTPUT OLDEST_PYTHON OPTIONS…
    input=requirements/$1.in
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
lock gates requirements/gates.txt 3.11 "$@"
for part in run test lab rulebook; do
    lock "$part" "requirements/$part.txt" 3.11 --constraint requirements/gates.txt "$@"
done
# Only the package itself: nothing of it is installed.
lock awx requirements/awx.txt 3.11 --no-deps "$@"
lock ansible-oldest requirements/ansible-oldest.txt 3.11 "$@"
lock ansible-newest requirements/ansible-newest.txt 3.12 "$@"
lock managed-node-3.6 requirements/managed-node-3.6.txt 3.6.8 "$@"
lock managed-node-3.13 requirements/managed-node-3.13.txt 3.13 "$@"
lock uv requirements/uv.txt 3.11 "$@"
lock azure_simulator roles/azure_simulator/files/requirements.txt 3.9 "$@"
