#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: galaxy_importer.sh VENV TARBALL DIRECTORY
# Import the tarball as Galaxy would. The importer exits 0 whatever it finds, so its words are what counts. Its result and log stay in DIRECTORY.
set -eu

PATH=$PWD/$1/bin:$PATH
export PATH
tarball=$PWD/$2
mkdir -p "$3"
cd "$3" # where it leaves its result
output=importer.log

# That is a step of its own, stricter and with the collection installed.
export GALAXY_IMPORTER_RUN_ANSIBLE_LINT=false

status=0
python -m galaxy_importer.main "$tarball" >"$output" 2>&1 || status=$?
cat "$output"
if [ "$status" -ne 0 ] || grep -E '^(WARNING|ERROR|CRITICAL)|Traceback' "$output" >/dev/null; then
    echo "error: galaxy-importer failed or warned, see above" >&2
    exit 1
fi
