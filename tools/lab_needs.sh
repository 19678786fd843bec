#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: lab_needs.sh
# Install what `make lab` needs of the system and is not there. Without root, or apt, say so and fail.
set -eu

die() {
    echo "error: $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || die "the lab needs Linux"
[ "$(id -u)" -eq 0 ] || die "the lab makes network namespaces and boots machines, and needs root for that: sudo make lab"

missing=
needs() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || missing="$missing $2"
}
needs mmdebstrap mmdebstrap
needs ip iproute2
needs ssh openssh-client
needs ssh-keygen openssh-client
needs systemd-nspawn systemd-container
# Not every distribution has it any more; the scenario image_build does without, and says so.
if command -v packer >/dev/null || ! apt-cache show packer >/dev/null 2>&1; then :; else needs packer packer; fi
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || die "the lab runs on Debian and Ubuntu, or wherever these are installed:$missing"
echo "set-up: apt:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
# shellcheck disable=SC2086 # words are meant
apt-get -qq install --yes --no-install-recommends $missing >/dev/null
