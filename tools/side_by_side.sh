#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: side_by_side.sh "MAKE [OPTION…]" TARGET…
# Make these targets side by side, all of them even if some fail, in their order: what takes longest comes first. What a
# target prints appears in one piece when it has ended. The end says what failed, how long each took, and what this
# machine cannot do: lines that begin with `skipped: `.
#   JOBS  how many at once. Most tests wait more than they work, so there are more of them than cores
set -u -o pipefail
read -ra make <<<"$1"

echo "... $(($# - 1)) steps, ${JOBS:=6} at once; the longest take minutes"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${make[@]}" --jobs="$JOBS" --keep-going --output-sync=target --no-print-directory TIMED=1 "${@:2}" </dev/null 2>&1 |
    tee -i "$log"
status=$?

printf '\n=== summary\n'
grep -aE '^(--- [a-z-]+: [0-9.]+ s; |skipped: |FAILED tests/|ERROR tests/|fatal: )|: \*\*\* ' "$log"
skipped=$(grep -ac '^skipped: ' "$log")
missing=
[ "$skipped" -eq 0 ] || missing="; NOT ALL WAS TESTED, $skipped skipped, see above"
if [ "$status" -eq 0 ]; then
    echo "all $(($# - 1)) steps passed in $SECONDS s$missing"
else
    failed=$(sed -n 's/.*: \*\*\* \[[^:]*:[0-9]*: \(.*\)\] .*/\1/p' "$log" | paste -sd ' ')
    echo "steps failed in $SECONDS s$missing"
    echo "error: failed: $failed; \`make TARGET\` runs one alone" >&2
    exit 1
fi
