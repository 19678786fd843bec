# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration of the site, for Sphinx. tools/build_docs.py puts it beside the pages."""

from pathlib import Path

import yaml

_GALAXY = yaml.safe_load((Path(__file__).parent / "galaxy.yml").read_text(encoding="utf-8"))

project = "foghorn.azure_events"
author = "The foghorn.azure_events contributors"
project_copyright = author
version = release = _GALAXY["version"]
language = "en"

extensions = ["myst_parser", "sphinx_antsibull_ext"]
myst_heading_anchors = 4
myst_enable_extensions = ["fieldlist"]
# The colours are those of site.css, which follow the reader's choice; the extension's follow the system's only.
antsibull_ext_color_scheme = "none"

html_theme = "furo"
html_title = f"foghorn.azure_events {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5cad", "color-brand-content": "#0b5cad"},
    "dark_css_variables": {"color-brand-primary": "#7db8f5", "color-brand-content": "#7db8f5"},
}

# References into Ansible's own documentation stay plain text, for nothing is fetched. What Jinja makes of YAML, and
# shortened output, no lexer reads. A page may begin below the first level, as CHANGELOG.md does.
suppress_warnings = ["ref.ref", "ref.envvar", "misc.highlighting_failure", "myst.header"]
