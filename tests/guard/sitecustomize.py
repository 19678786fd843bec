# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Python runs this at the start of each process with this directory on PYTHONPATH: it installs the loopback guard.

Then it hands on to the `sitecustomize` that it stands before, should the machine have one.
"""

import os
import sys
from importlib.machinery import PathFinder

import loopback_guard

loopback_guard.install()

_here = os.path.dirname(os.path.abspath(__file__))
_next = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here])
if _next is not None and _next.origin is not None:
    import runpy

    runpy.run_path(_next.origin)
