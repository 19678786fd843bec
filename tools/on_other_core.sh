#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: on_other_core.sh oldest|newest CACHE_DIRECTORY COMMAND…
# Run a command with the oldest or the newest ansible-core that is supported, which is installed if it is not there:
# "@python" in it is the environment's Python, "@venv" its directory. Where this machine has no Python for that
# ansible-core, say what is skipped, or run it with the environment that OTHERWISE names.
set -eu

which=$1
cache=$2
shift 2
case $which in
oldest) first=3.11 last=3.12 ;; # ansible-core 2.16 ends with 3.12, the other libraries begin with 3.11
newest) first=3.12 last=3.14 ;;
*) echo "error: oldest or newest, not $which" >&2; exit 2 ;;
esac

requirements=requirements/ansible-$which.txt
version=$(sed -n 's/^ansible-core *== *\([0-9.]*\).*/\1/p' "$requirements")
if ! python=$(tools/find_python.sh --between "$first" "$last"); then
    echo "skipped: tests on ansible-core $version, which needs Python $first to $last with venv: install one to run them"
    if [ -z "${OTHERWISE:-}" ]; then exit 0; fi
    venv=$OTHERWISE
else
    venv=$cache/venv-$which
    # Two steps may ask for it at the same time.
    (
        flock 9
        if [ ! "$venv/.installed" -nt "$requirements" ]; then
            tools/make_venv.sh "$python" "$venv" "$requirements"
            touch "$venv/.installed"
        fi
    ) 9>"$cache/venv-$which.lock"
fi

for argument in "$@"; do
    shift
    case $argument in
    @python) argument=$venv/bin/python ;;
    @venv) argument=$venv ;;
    esac
    set -- "$@" "$argument"
done
"$venv/bin/python" -c '
import platform
from ansible.release import __version__
print("ansible-core", __version__, "with Python", platform.python_version(), flush=True)
'
PATH=$PWD/$venv/bin:$PATH
export PATH
exec "$@"
