#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: sanity.sh VENV DIRECTORY [OPTIONS…]
# Run `ansible-test sanity` of that environment on the copy of the collection below DIRECTORY, with DIRECTORY/home as
# its home.
set -eu

python=$PWD/$1/bin/python
ansible_test=$PWD/$1/bin/ansible-test
directory=$PWD/$2
shift 2

# pip looks for the user's own settings below the home, too.
if [ -z "${PIP_CONFIG_FILE:-}" ] && [ -f "$HOME/.config/pip/pip.conf" ]; then
    export PIP_CONFIG_FILE="$HOME/.config/pip/pip.conf"
fi
export HOME="$directory/home"

# ansible-test would download a pip bootstrap, whose name has the version of pip that it wants; each Python brings one.
mkdir -p "$HOME/.ansible/test/cache"
"$python" - "$HOME/.ansible/test/cache" <<'END'
import pathlib
import re
import sys

import ansible_test._internal.python_requirements as requirements

for version in re.findall(r"\bpip='([0-9.]+)'", pathlib.Path(requirements.__file__).read_text()):
    bootstrap = pathlib.Path(sys.argv[1], f"get_pip_{version.replace('.', '_')}.py")
    bootstrap.write_text("import ensurepip; ensurepip.bootstrap(upgrade=True, default_pip=True)\n")
END

# It asks the nearest git repository above for its files, and to the checkout's the copy is ignored.
[ -d "$directory/.git" ] || git init --quiet "$directory"

# What is written in PowerShell is checked by it: without, validate-modules fails for all modules. pslint wants an analyzer,
# which the engine does not have.
if [ -n "${PWSH_ENGINE:-}" ]; then
    PATH=$PWSH_ENGINE:$PATH
    set -- "$@" --skip-test pslint
elif ! command -v pwsh >/dev/null; then
    echo "skipped: ansible-test sanity for the modules of Windows VMs, which needs PowerShell: install it, or set PWSH_ENGINE"
    for script in "$directory"/ansible_collections/foghorn/azure_events/plugins/modules/*.ps1; do
        set -- "$@" --exclude "plugins/modules/${script##*/}"
    done
fi

cd "$directory/ansible_collections/foghorn/azure_events"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
exec "$ansible_test" sanity --venv --python "$version" --color no "$@"
