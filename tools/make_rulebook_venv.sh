#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: make_rulebook_venv.sh PYTHON DIRECTORY REQUIREMENTS
# Install ansible-rulebook for the tests, if it is not there. Its rules run in Java 17 or later; where this machine has
# none, say what is skipped.
set -eu

oldest=17
java=$(command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" || true)
version=0
if [ -n "$java" ]; then
    version=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
fi
if [ "${version:-0}" -lt "$oldest" ]; then
    echo "skipped: the rulebooks, run by a real ansible-rulebook, which needs Java $oldest or later: install" \
        "default-jre-headless, or set JAVA_HOME, to test them"
    rm -rf "$2"
    exit 0
fi
if [ ! "$2/.installed" -nt "$3" ]; then
    tools/make_venv.sh "$1" "$2" "$3"
    touch "$2/.installed"
fi
