#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: sanity.sh VENV DIRECTORY PYTHON_VERSION
# Run `ansible-test sanity` on the copy of the collection below DIRECTORY, with DIRECTORY/home as its home.
set -eu

ansible_test=$PWD/$1/bin/ansible-test
directory=$PWD/$2
version=$3

# pip looks for the user's own settings below the home, too.
if [ -z "${PIP_CONFIG_FILE:-}" ] && [ -f "$HOME/.config/pip/pip.conf" ]; then
    export PIP_CONFIG_FILE="$HOME/.config/pip/pip.conf"
fi
export HOME="$directory/home"

# ansible-test would download a pip bootstrap; each Python brings one. The name is that of ansible-core 2.19.
mkdir -p "$HOME/.ansible/test/cache"
echo 'import ensurepip; ensurepip.bootstrap(upgrade=True, default_pip=True)' >"$HOME/.ansible/test/cache/get_pip_24_2.py"

# It asks the nearest git repository above for its files, and to the checkout's the copy is ignored.
[ -d "$directory/.git" ] || git init --quiet "$directory"

cd "$directory/ansible_collections/foghorn/azure_events"
"$ansible_test" sanity --venv --python "$version" --color no
