# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what may be told by reading: managed-node code keeps to Python 3.6, core and agent to the standard library.

Where a Python 3.6 is at hand, their tests run on it; this check is for all other machines.

usage: check_managed_node_code.py [ROOT]
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath

# Both are in the agent's program; it has no directory of its own to import relatively from.
AGENT = "roles/handler_agent/files"
AGENT_PACKAGES = frozenset({"foghorn_agent", "foghorn_core"})
MANAGED_NODE_CODE = ("plugins/module_utils", "plugins/modules", AGENT)
STANDARD_LIBRARY_ONLY = (
    "plugins/module_utils/scheduled_events",
    "plugins/module_utils/maintenance_policy",
    "plugins/module_utils/connections",
    "plugins/module_utils/files",
    "plugins/module_utils/haproxy",
    AGENT,
)
# For the control plane's modules, which run on the controller.
CONTROLLER_CODE = ("plugins/module_utils/arm",)

# Python cannot parse as 3.6 did from 3.13 on. 3.7 added this one piece of syntax.
SYNTAX = (3, 7)
SYNTAX_OF_3_7 = "annotations"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    complaints = [f"{path}:{complaint}" for path in _files(root) for complaint in _complaints(root, path)]
    print("\n".join(complaints) or "managed-node code: no complaints")
    return 1 if complaints else 0


def _files(root: Path) -> Iterator[PurePath]:
    for directory in MANAGED_NODE_CODE:
        for path in sorted((root / directory).rglob("*.py")):
            relative = path.relative_to(root)
            if not _is_below(relative, CONTROLLER_CODE):
                yield relative


def _is_below(path: PurePath, directories: tuple[str, ...]) -> bool:
    return any(PurePath(directory) in path.parents for directory in directories)


def _complaints(root: Path, path: PurePath) -> Iterator[str]:
    try:
        tree = ast.parse((root / path).read_bytes(), feature_version=SYNTAX)
    except SyntaxError as error:
        yield f"{error.lineno}: not Python 3.6: {error.msg}"
        return
    for line, module, imported in _imports(tree):
        if module == "__future__" and SYNTAX_OF_3_7 in imported:
            yield f"{line}: not Python 3.6: from __future__ import {SYNTAX_OF_3_7}"
        if _is_below(path, STANDARD_LIBRARY_ONLY) and module.partition(".")[0] not in _allowed_packages(path):
            yield f"{line}: imports {module}; only the standard library and relative imports are allowed here"


def _allowed_packages(path: PurePath) -> frozenset[str]:
    return sys.stdlib_module_names | (AGENT_PACKAGES if _is_below(path, (AGENT,)) else frozenset())


def _imports(tree: ast.AST) -> Iterator[tuple[int, str, list[str]]]:
    """Line, module and names of each import that is not relative."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, str(node.module), [alias.name for alias in node.names]


if __name__ == "__main__":
    sys.exit(main())
