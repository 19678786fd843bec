# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy what belongs to the collection, which is what git knows or would add, to the directory given.

The copy is what is built, and what ansible-test is run on: it wants a certain path, and lints whatever lies about.
Run again, it copies what has changed and removes what is gone, but for tests/output: ansible-test keeps what it has
installed there, and no tarball has it.
"""

import filecmp
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = Path("tests", "output")


def main() -> None:
    target = Path(sys.argv[1])
    wanted = {path for path in _known_to_git() if (ROOT / path).is_file()}
    present = [path for path in target.rglob("*") if target / KEPT not in (path, *path.parents)]
    for path in present:
        if not path.is_dir() and path.relative_to(target) not in wanted:
            path.unlink()
    for directory in sorted((path for path in present if path.is_dir()), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()
    for path in wanted:
        source, copy = ROOT / path, target / path
        if not (copy.is_file() and filecmp.cmp(source, copy)):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def _known_to_git() -> list[Path]:
    # The checkout may belong to another user, as it does in many a CI system.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [Path(name) for name in listing.split("\0") if name]


if __name__ == "__main__":
    main()
