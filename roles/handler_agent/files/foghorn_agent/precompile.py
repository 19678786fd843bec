# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Has another process compile the program, so that this one is small.

What compiles a module needs much more memory than the module, and Python does not give it back: 2.1 MiB of 16.9 on
Python 3.11, for as long as the agent runs. The program is one file of sources, since what is compiled is of one version
of Python alone. So a child compiles them at each start, hands over the result, and is gone with its memory.
"""

import marshal
import os
import sys
from typing import Any, Dict, Optional, Tuple

_PACKAGE = "__init__"


def compile_elsewhere() -> bool:
    """Have all modules of the program compiled by a child, for the imports that follow.

    :returns: whether it was done. If not, as in a checkout, they are compiled when they are imported, as ever
    """
    archive = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if os.name == "nt" or not os.path.isfile(archive):
        # Windows has no fork.
        return False
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        return False
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            with open(writer, "wb") as file:
                _compile_all(archive, file)
            status = 0
        finally:
            # Nothing of what this process has opened is the child's to close.
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as file:
        content = file.read()
    if os.waitpid(pid, 0)[1] != 0:
        return False
    sys.meta_path.insert(0, _Compiled(content))
    return True


def forget() -> None:
    """Let go of what was compiled and has not been imported by now."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Compiled)]


def _compile_all(archive: str, file: Any) -> None:
    # Here, where its memory does not matter.
    import zipfile

    index: Dict[str, Tuple[str, bool, int, int]] = {}
    codes = []
    at = 0
    with zipfile.ZipFile(archive) as program:
        for path in program.namelist():
            parts = path[: -len(".py")].split("/")
            if len(parts) == 1:
                continue
            is_package = parts[-1] == _PACKAGE
            origin = os.path.join(archive, path)
            code = marshal.dumps(compile(program.read(path), origin, "exec", dont_inherit=True))
            index[".".join(parts[:-1] if is_package else parts)] = (origin, is_package, at, at + len(code))
            codes.append(code)
            at += len(code)
    header = marshal.dumps(index)
    file.write(b"%d\n" % len(header))
    file.write(header)
    for code in codes:
        file.write(code)


class _Compiled:
    """Finds and loads what was compiled, before anything else is asked.

    :param content: as `_compile_all` writes it. In one piece, which the system takes back as a whole
    """

    def __init__(self, content: bytes) -> None:
        length, _line_feed, _rest = content[:20].partition(b"\n")
        begins = len(length) + 1
        self._index: Dict[str, Tuple[str, bool, int, int]] = marshal.loads(content[begins : begins + int(length)])
        self._codes = memoryview(content)[begins + int(length) :]

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Optional[Any]:
        found = self._index.get(name)
        if found is None:
            return None
        origin, is_package, begins, ends = found
        loader: Any = _Loader(self._codes[begins:ends])
        # importlib.machinery would be another module in memory, for this one name.
        spec = type(sys.__spec__)(name, loader, origin=origin)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(origin)]
        return spec


class _Loader:
    """Loads one module that was compiled."""

    def __init__(self, code: memoryview) -> None:
        self._code: Optional[memoryview] = code

    def create_module(self, _spec: Any) -> None:
        """As usual."""

    def exec_module(self, module: Any) -> None:
        if self._code is not None:
            code, self._code = self._code, None
            exec(marshal.loads(code), module.__dict__)
