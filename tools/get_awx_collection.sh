#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: get_awx_collection.sh PYTHON REQUIREMENTS DIRECTORY
# Put the collection awx.awx, as PyPI's package `ansible` has it, into DIRECTORY/ansible_collections/awx/awx.
# The rest of that package, which is large, is left where it is.
set -eu

python=$1
requirements=$2
directory=$3

collection=$directory/ansible_collections/awx/awx
if [ -d "$collection" ] && [ "$directory/.requirements" -nt "$requirements" ]; then
    exit 0
fi
download=$(mktemp -d)
trap 'rm -rf "$download"' EXIT
"$python" -m pip --quiet download --no-deps --require-hashes --dest "$download" --requirement "$requirements"
rm -rf "$collection"
mkdir -p "$directory"
"$python" - "$download"/ansible-*.whl "$directory" <<'END'
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.startswith("ansible_collections/awx/awx/")])
END
touch "$directory/.requirements"
