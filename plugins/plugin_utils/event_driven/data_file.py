# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Reads a file in JSON or YAML."""

from __future__ import annotations

import json
from typing import Any


def parse_data(text: str) -> Any:
    """Read what a person or a program has written.

    :raises ValueError: if it is neither JSON nor YAML
    """
    if text.lstrip().startswith("{"):
        # Programs write JSON, in large files too, and JSON is read a hundred times faster.
        return json.loads(text)
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError("it is neither JSON nor YAML: %s" % error) from None
