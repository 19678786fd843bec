#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: find_server.sh haproxy|nginx DIRECTORY
# Have HAProxy or nginx for the tests: DIRECTORY/haproxy runs the machine's own, or one out of an unpacked Debian package,
# which takes no root. Where neither can be had, says so, and the tests are skipped.
set -eu

server=$1
directory=$2
mkdir -p "$directory"

installed=$(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$server" || true)
if [ -n "$installed" ]; then
    ln -sf "$installed" "$directory/$server"
    exit
fi
if [ -x "$directory/$server" ] && "$directory/$server" -v >/dev/null 2>&1; then
    exit
fi

# Of what it needs, a bare machine lacks a few libraries.
libraries() {
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$server" |
        grep -E '^lib(lua|opentracing|pcre)' | sort -u | while read -r package; do
        dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

rm -rf "$directory/root" "$directory/$server"
mkdir -p "$directory/root"
work=$(cd "$directory/root" && pwd)
# apt drops its rights where it can, and complains where it cannot.
if ! command -v apt-get >/dev/null ||
    ! (cd "$work" && apt-get -qq download "$server" $(libraries) && for package in *.deb; do dpkg -x "$package" .; done) \
        >"$directory/log" 2>&1; then
    echo "$server is not installed here, and no package of it can be had: its tests are skipped" >&2
    exit
fi
rm -f "$work"/*.deb
{
    echo '#!/bin/sh'
    echo "LD_LIBRARY_PATH=$(find "$work/usr/lib" "$work/lib" -name 'lib*.so*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd:)"
    echo 'export LD_LIBRARY_PATH'
    echo "exec '$work/usr/sbin/$server' \"\$@\""
} >"$directory/$server"
chmod +x "$directory/$server"
"$directory/$server" -v >>"$directory/log" 2>&1 || {
    echo "$server was unpacked but does not run (see $directory/log): its tests are skipped" >&2
    rm -f "$directory/$server"
}
