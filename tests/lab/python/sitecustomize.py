# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what Python compiles of zip archives, on the lab's machines and beside them, as it does of other files.

Ansible sends each module as an archive with dozens of its own files, and to compile them takes a third of its time. The
agent does without this: its Python imports no site.
"""

import os
import sys
import zipimport

DIRECTORY = os.path.join(sys.pycache_prefix or "/dev/shm", "archives")

_compile = zipimport._compile_source  # type: ignore[attr-defined]


def _compile_once(pathname: str, source: bytes) -> object:
    # Most programs need neither.
    import marshal
    from importlib.util import source_hash

    kept = os.path.join(DIRECTORY, source_hash(source).hex())
    try:
        with open(kept, "rb") as file:
            return marshal.load(file)
    except OSError:
        pass
    code = _compile(pathname, source)
    try:
        if not os.path.isdir(DIRECTORY):
            os.mkdir(DIRECTORY)
            # Ansible is root for one module and the login user for the next.
            os.chmod(DIRECTORY, 0o777)
        unfinished = f"{kept}.{os.getpid()}"
        with open(unfinished, "wb") as new:
            marshal.dump(code, new)
        os.rename(unfinished, kept)
    except OSError:
        pass
    return code


zipimport._compile_source = _compile_once  # type: ignore[attr-defined]
