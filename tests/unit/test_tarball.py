# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tarball has what users need, all of it and nothing else, and its pages lead nowhere outside of it."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[2]
# `safe.directory`: the checkout may belong to another user, as it does in many a CI system.
LISTING = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]

# At the top: what Galaxy and ansible-builder read, what a user reads, what runs, and whose it is.
TOP = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "FILES.json",
    "LICENSE",
    "LICENSES",
    "MANIFEST.json",
    "README.md",
    "REUSE.toml",
    "SECURITY.md",
    "changelogs",
    "docs",
    "meta",
    "playbooks",
    "plugins",
    "requirements.txt",
    "roles",
}
# This may be there as well.
OPTIONAL = {"extensions"}
WHOLE = (
    "docs",
    "meta",
    "playbooks",
    "plugins",
    "roles",
    "LICENSES",
    "extensions/awx",
    "extensions/eda",
    "extensions/packer",
    "extensions/image_builder",
)


def in_the_checkout() -> set[str]:
    listing = subprocess.run(LISTING, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return {name for name in listing.split("\0") if (ROOT / name).is_file()}


@pytest.fixture(scope="module", name="built")
def fixture_built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the tarball, as `make build` makes it, with their content."""
    directory = tmp_path_factory.mktemp("build")
    copy = directory / "copy"
    copy.mkdir()
    subprocess.run([sys.executable, str(ROOT / "tools" / "copy_collection.py"), str(copy)], check=True)
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "build", "--output-path"]
    # Ansible insists on UTF-8.
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    subprocess.run([*galaxy, str(directory), str(copy)], check=True, stdout=subprocess.DEVNULL, env=environment)
    (tarball,) = directory.glob("*.tar.gz")
    with tarfile.open(tarball) as archive:
        return {
            member.name: content.read()
            for member in archive.getmembers()
            if member.isfile() and (content := archive.extractfile(member)) is not None
        }


def test_given_the_tarball_when_listed_then_only_what_users_need_is_in_it(built: dict[str, bytes]) -> None:
    top = {name.split("/")[0] for name in built}

    assert top - OPTIONAL == TOP
    assert {name for name in built if name.startswith("changelogs/")} == {"changelogs/changelog.yaml"}
    assert [name for name in built if name.startswith("extensions/") and not name.startswith(WHOLE)] == []
    assert [name for name in built if "test" in PurePosixPath(name).parts or "/." in f"/{name}"] == []


def test_given_what_is_for_users_in_the_checkout_when_built_then_all_of_it_is_in_the_tarball(
    built: dict[str, bytes],
) -> None:
    wanted = {name for name in in_the_checkout() if name.startswith(tuple(f"{directory}/" for directory in WHOLE))}

    assert wanted - set(built) == set()


def test_given_the_pages_of_the_tarball_when_their_links_are_followed_then_they_stay_in_it(
    built: dict[str, bytes],
) -> None:
    dead = []
    for name in built:
        if not name.endswith(".md"):
            continue
        for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", built[name].decode()):
            path = os.path.normpath(os.path.join(os.path.dirname(name), target))
            if not re.match(r"[a-z]+:", target) and not any(one == path or one.startswith(f"{path}/") for one in built):
                dead.append(f"{name}: {target}")

    assert dead == []
