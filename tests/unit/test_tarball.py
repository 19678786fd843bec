# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tarball has what users need, all of it and nothing else, and its pages lead nowhere outside of it."""

import hashlib
import json
import os
import re
import shutil
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
    "CODE_OF_CONDUCT.md",
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
    "extensions/monitoring",
)


def in_the_checkout() -> set[str]:
    listing = subprocess.run(LISTING, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return {name for name in listing.split("\0") if (ROOT / name).is_file()}


def build(directory: Path) -> None:
    """What `make build` makes, of a copy of its own whose files are as old as they happen to be."""
    copy = directory / "copy"
    copy.mkdir(parents=True)
    for tool, *arguments in (("copy_collection.py", copy), ("build_collection.py", copy, directory)):
        subprocess.run([sys.executable, str(ROOT / "tools" / tool), *map(str, arguments)], check=True)


@pytest.fixture(scope="module", name="directory")
def fixture_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it was built, with the copy beside it."""
    directory = tmp_path_factory.mktemp("build")
    build(directory)
    return directory


@pytest.fixture(scope="module", name="tarball")
def fixture_tarball(directory: Path) -> Path:
    """The tarball, as `make build` makes it."""
    (tarball,) = directory.glob("*.tar.gz")
    return tarball


@pytest.fixture(scope="module", name="built")
def fixture_built(tarball: Path) -> dict[str, bytes]:
    """The files of the tarball, with their content."""
    with tarfile.open(tarball) as archive:
        return {
            member.name: content.read()
            for member in archive.getmembers()
            if member.isfile() and (content := archive.extractfile(member)) is not None
        }


def test_given_one_commit_when_it_is_built_twice_then_the_results_are_the_same_byte_for_byte(
    directory: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(directory / "copy", tmp_path / "copy")
    for path in copy.rglob("*"):
        os.utime(path, (0, 0))
    tool = str(ROOT / "tools" / "build_collection.py")
    subprocess.run([sys.executable, tool, str(copy), str(tmp_path)], check=True)
    first, second = ({path.name: path.read_bytes() for path in one.glob("foghorn-*")} for one in (directory, tmp_path))
    assert first == second
    assert sorted(Path(name).suffix for name in first) == [".gz", ".json"]


def test_given_the_tarball_when_it_is_installed_then_ansible_galaxy_finds_all_as_the_manifest_says(
    tarball: Path, tmp_path: Path
) -> None:
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_COLLECTIONS_PATH": str(tmp_path)}
    install = [*galaxy, "install", "--offline", "--collections-path", str(tmp_path), str(tarball)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, env=environment)
    subprocess.run([*galaxy, "verify", "--offline", "foghorn.azure_events"], check=True, env=environment)


def test_given_the_list_of_materials_then_it_has_the_tarball_each_file_and_each_library(tarball: Path) -> None:
    materials = json.loads(tarball.with_name(tarball.name.replace(".tar.gz", ".cdx.json")).read_text())
    assert (materials["bomFormat"], materials["specVersion"]) == ("CycloneDX", "1.6")
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    assert materials["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    components = {one["bom-ref"]: one for one in materials["components"]}
    wanted = {"pkg:pypi/azure-identity", "pkg:pypi/aiohttp", "file:plugins/modules/scheduled_events_info.py"}
    assert wanted <= set(components)
    content = (ROOT / "docs" / "agent.md").read_bytes()
    assert components["file:docs/agent.md"]["hashes"][0]["content"] == hashlib.sha256(content).hexdigest()


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


# --- the source -----------------------------------------------------------------------------------

TOOL = [sys.executable, str(ROOT / "tools" / "build_collection.py")]


def surroundings(remote: str = "/srv/git/here", server: str = "", name: str = "") -> dict[str, str]:
    """The environment of a checkout with this remote, in the workflow of this repository."""
    remotes = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.origin.url", "GIT_CONFIG_VALUE_0": remote}
    return {**os.environ, **remotes, "GITHUB_SERVER_URL": server, "GITHUB_REPOSITORY": name}


def release(directory: Path, output: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*TOOL, str(directory / "copy"), str(output), "--release"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("environment", "source"),
    [
        (surroundings(server="https://git.example.com", name="ops/events"), "https://git.example.com/ops/events"),
        (
            surroundings("https://me:secret@git.example.com:8443/ops/events.git"),
            "https://git.example.com:8443/ops/events",
        ),
    ],
    ids=["in the workflow", "with an https remote"],
)
def test_given_a_release_when_it_is_built_then_it_names_its_source(
    directory: Path, tmp_path: Path, environment: dict[str, str], source: str
) -> None:
    built = release(directory, tmp_path, environment)

    assert built.returncode == 0, built.stderr
    (tarball,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(tarball) as archive:
        files = {name: archive.extractfile(name) for name in ("MANIFEST.json", "README.md", "SECURITY.md")}
        texts = {name: file.read().decode() for name, file in files.items() if file is not None}
        names = set(archive.getnames())
    about = json.loads(texts["MANIFEST.json"])["collection_info"]
    tag = "v" + about["version"]
    assert {key: about[key] for key in ("repository", "documentation", "homepage", "issues")} == {
        "repository": source,
        "documentation": f"{source}/tree/{tag}/docs",
        "homepage": source,
        "issues": f"{source}/issues",
    }
    assert f"({source}/security/advisories/new)" in texts["SECURITY.md"]
    links = re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", texts["README.md"])
    # Images are shown, pages are led to.
    ours = [re.sub(f"^{source}/(?:blob|raw(?=.*svg$))/{tag}/", "", link) for link in links if link.startswith(source)]
    assert len(ours) > 20
    assert [link for link in ours if link.rstrip("/") not in names] == []
    assert [link for link in links if not link.startswith("https://")] == []


def test_given_a_release_that_would_not_name_its_source_when_it_is_built_then_it_fails_and_says_how_to_name_it(
    directory: Path, tmp_path: Path
) -> None:
    built = release(directory, tmp_path, surroundings("git@git.example.com:ops/events.git"))

    assert built.returncode == 1
    assert built.stderr.startswith("A release names its source: set GITHUB_SERVER_URL and GITHUB_REPOSITORY")
    assert list(tmp_path.iterdir()) == []
