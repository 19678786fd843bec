#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: docs.sh VENV SOURCE HTML
# Write the plugins' and roles' documentation to the directory HTML, by way of reStructuredText in SOURCE.
set -eu

venv=$1
source=$2
html=$3

rm -rf "$source" "$html"
mkdir -p -m 700 "$source"
"$venv/bin/antsibull-docs" collection --use-current --squash-hierarchy --fail-on-error --dest-dir "$source" foghorn.azure_events
# References into Ansible's own documentation stay plain text: nothing is fetched.
"$venv/bin/sphinx-build" -q -W -C -D project=foghorn.azure_events -D extensions=sphinx_antsibull_ext \
    -D html_theme=alabaster -D html_copy_source=0 -D suppress_warnings=ref.ref "$source" "$html"
echo "documentation: $html/index.html"
