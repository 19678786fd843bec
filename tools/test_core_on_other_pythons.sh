#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: test_core_on_other_pythons.sh CACHE_DIRECTORY TESTS [TESTS_ON_THE_OLDEST]
# Run tests of managed-node code on those Pythons of managed nodes that this machine has, on PATH or under pyenv. Each
# argument is a list of pytest's arguments, split at spaces; those of the second are run on the oldest only.
set -eu

cache=$1
tests=$2
tests_on_oldest=${3:-}
oldest=3.6

find_python() {
    for path in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python "$(command -v "python$1" || true)"; do
        if [ -x "$path" ] && "$path" -c 'import ensurepip, venv' 2>/dev/null; then
            printf '%s\n' "$path"
            return
        fi
    done
}

versions=
for version in $oldest 3.13; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        echo "skipped: managed-node code on Python $version, which is not on this machine"
        continue
    fi
    venv=$cache/venv-core-$version
    if [ ! "$venv/.installed" -nt "requirements/managed-node-$version.txt" ]; then
        tools/make_venv.sh "$python" "$venv" "requirements/managed-node-$version.txt"
        touch "$venv/.installed"
    fi
    versions="$versions $version"
done

# begin NAME VERSION TEST…
begin() {
    name=$1
    venv=$cache/venv-core-$2
    shift 2
    {
        status=0
        "$venv/bin/python" -m pytest -q -o cache_dir="$cache/pytest-$name" "$@" >"$venv/.output-$name" 2>&1 || status=$?
        echo "$status" >"$venv/.status-$name"
    } &
    runs="$runs $name"
}

# All at the same time: these tests wait more than they work.
runs=
for version in $versions; do
    # shellcheck disable=SC2086 # lists
    begin "$version" "$version" $tests
    if [ "$version" = "$oldest" ] && [ -n "$tests_on_oldest" ]; then
        # shellcheck disable=SC2086 # a list
        begin "$version-more" "$version" $tests_on_oldest
    fi
done
wait

failed=
for run in $runs; do
    venv=$cache/venv-core-${run%-more}
    echo "Python ${run%-more}:"
    cat "$venv/.output-$run"
    [ "$(cat "$venv/.status-$run")" -eq 0 ] || failed="$failed ${run%-more}"
done
[ -z "$failed" ] || { echo "error: tests of managed-node code failed on Python$failed" >&2; exit 1; }
