#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: find_haproxy.sh DIRECTORY
# Have a HAProxy for the tests: DIRECTORY/haproxy runs the machine's own, or one out of an unpacked Debian package, which
# takes no root. Where neither can be had, says so, and the tests are skipped.
set -eu

directory=$1
mkdir -p "$directory"

installed=$(PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v haproxy || true)
if [ -n "$installed" ]; then
    ln -sf "$installed" "$directory/haproxy"
    exit
fi
if [ -x "$directory/haproxy" ] && "$directory/haproxy" -v >/dev/null 2>&1; then
    exit
fi

# Of what it needs, a bare machine lacks a few libraries.
libraries() {
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances haproxy |
        grep -E '^lib(lua|opentracing|pcre)' | sort -u | while read -r package; do
        dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

rm -rf "$directory/root" "$directory/haproxy"
mkdir -p "$directory/root"
work=$(cd "$directory/root" && pwd)
# apt drops its rights where it can, and complains where it cannot.
if ! command -v apt-get >/dev/null ||
    ! (cd "$work" && apt-get -qq download haproxy $(libraries) && for package in *.deb; do dpkg -x "$package" .; done) \
        >"$directory/log" 2>&1; then
    echo "HAProxy is not installed here, and no package of it can be had: its tests are skipped" >&2
    exit
fi
rm -f "$work"/*.deb
{
    echo '#!/bin/sh'
    echo "LD_LIBRARY_PATH=$(find "$work/usr/lib" "$work/lib" -name 'lib*.so*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd:)"
    echo 'export LD_LIBRARY_PATH'
    echo "exec '$work/usr/sbin/haproxy' \"\$@\""
} >"$directory/haproxy"
chmod +x "$directory/haproxy"
"$directory/haproxy" -v >>"$directory/log" 2>&1 || {
    echo "HAProxy was unpacked but does not run (see $directory/log): its tests are skipped" >&2
    rm -f "$directory/haproxy"
}
