#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: bench.sh PYTHON
# Run every benchmark in turn, all of them even if one fails.
set -u

failed=
for benchmark in tests/benchmark/*.py; do
    [ -e "$benchmark" ] || { echo "there is no benchmark yet"; exit 0; }
    echo "=== $benchmark"
    "$1" "$benchmark" || failed="$failed $benchmark"
done
[ -z "$failed" ] || { echo "error: failed:$failed" >&2; exit 1; }
