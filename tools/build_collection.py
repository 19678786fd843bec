# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the tarball of a copy of the collection, and a list of what is in it (CycloneDX), into the directory given.

usage: build_collection.py COPY DIRECTORY [--release]

No page of the checkout says where the project is published: forks and mirrors would be wrong. The built pages do: the
address is that of the repository that the workflow runs in, or of an https remote of git. Without either everything
stays as it is, and `--release` fails.

Built twice from one commit, both are the same byte for byte, so that anybody can see that a release was made of it.
ansible-galaxy takes the order from the file system and the times from the files and the clock: here the order is that
of the names, and all times are SOURCE_DATE_EPOCH, or else that of the last commit.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent

ADVISORIES = "the repository's security advisories"
"""What SECURITY.md calls the page on which a vulnerability is reported."""

_NAMESPACE = uuid.UUID("0d0b5f7e-3c0c-5a0e-9d0f-3a1f0c6b7e52")


def main() -> None:
    copy, output = Path(sys.argv[1]), Path(sys.argv[2])
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _time_of_last_commit())
    source = find_source()
    if source is None and "--release" in sys.argv[3:]:
        sys.exit(
            "A release names its source: set GITHUB_SERVER_URL and GITHUB_REPOSITORY, as the workflow has them, or"
            " add an https remote to git. No remote of this checkout is one."
        )
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        if source is not None:
            copy = Path(shutil.copytree(copy, Path(scratch) / "copy"))
            fill_in(copy, source)
        galaxy = str(Path(sys.executable).with_name("ansible-galaxy"))
        build = [galaxy, "collection", "build", "--output-path", scratch, str(copy)]
        # Ansible insists on UTF-8.
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL, env=environment)
        (built,) = Path(scratch).glob("*.tar.gz")
        members = _read(built)
        name = built.name
    _sort_manifest(members)
    content = _pack(members, epoch)
    (output / name).write_bytes(content)
    materials = _bill_of_materials(members, content, epoch)
    (output / (name.removesuffix(".tar.gz") + ".cdx.json")).write_text(json.dumps(materials, indent=2) + "\n")


def _time_of_last_commit() -> str:
    return _ask_git("log", "-1", "--format=%ct").strip()


def _ask_git(*arguments: str, check: bool = True) -> str:
    # The checkout may belong to another user, as it does in many a CI system.
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=check, text=True).stdout


def find_source() -> str | None:
    """Return the address of the repository, as https://github.com/owner/name; None if no https address is known."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    if server and name:
        return f"{server.rstrip('/')}/{name}"
    # Without any remote this fails.
    remotes = dict(
        line.split(maxsplit=1)
        for line in _ask_git("config", "--get-regexp", r"^remote\..*\.url$", check=False).splitlines()
    )
    # That of `git clone` first.
    for _name, remote in sorted(remotes.items(), key=lambda one: one[0] != "remote.origin.url"):
        parts = urlsplit(remote)
        if parts.scheme == "https" and parts.hostname:
            # A user's name and token, which may be in it, are nobody else's business.
            host = parts.netloc.rpartition("@")[2]
            return f"https://{host}{parts.path.rstrip('/').removesuffix('.git')}"
    return None


def fill_in(copy: Path, source: str) -> None:
    """Write the repository's address into the pages of a copy that Galaxy shows, and into its metadata."""
    galaxy = copy / "galaxy.yml"
    metadata = galaxy.read_text(encoding="utf-8")
    version = re.search(r"^version: *(\S+)$", metadata, re.MULTILINE)
    if version is None:
        sys.exit(f"{galaxy}: has no version")
    tag = f"v{version[1]}"
    addresses = {
        "repository": source,
        "documentation": f"{source}/tree/{tag}/docs",
        "homepage": source,
        "issues": f"{source}/issues",
    }
    kept = re.sub(rf"^(?:{'|'.join(addresses)}): .*\n", "", metadata, flags=re.MULTILINE)
    galaxy.write_text(kept + "".join(f"{key}: {value}\n" for key, value in addresses.items()), encoding="utf-8")
    readme = copy / "README.md"
    readme.write_text(_with_absolute_links(readme.read_text(encoding="utf-8"), source, tag), encoding="utf-8")
    security = copy / "SECURITY.md"
    text = security.read_text(encoding="utf-8")
    if ADVISORIES not in text:
        sys.exit(f"{security}: does not say {ADVISORIES!r}, which the build makes a link")
    link = f"[{ADVISORIES}]({source}/security/advisories/new)"
    security.write_text(text.replace(ADVISORIES, link, 1), encoding="utf-8")


def _with_absolute_links(text: str, source: str, tag: str) -> str:
    # Galaxy shows this page by itself. What is an address or a heading of the page stays.
    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({source}/{kind}/{tag}/{match[3]})"

    return re.sub(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)", absolute, text)


def _read(tarball: Path) -> dict[str, tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(tarball) as archive:
        return {
            member.name: (member, content.read() if (content := archive.extractfile(member)) is not None else b"")
            for member in archive.getmembers()
        }


def _sort_manifest(members: dict[str, tuple[tarfile.TarInfo, bytes]]) -> None:
    """Put the list of files in order, of which the manifest has the checksum."""
    files = json.loads(members["FILES.json"][1])
    files["files"].sort(key=lambda one: one["name"])
    listed = json.dumps(files, indent=True).encode()
    manifest = json.loads(members["MANIFEST.json"][1])
    manifest["file_manifest_file"]["chksum_sha256"] = hashlib.sha256(listed).hexdigest()
    for name, content in (("FILES.json", listed), ("MANIFEST.json", json.dumps(manifest, indent=True).encode())):
        members[name] = (members[name][0], content)


def _pack(members: dict[str, tuple[tarfile.TarInfo, bytes]], epoch: int) -> bytes:
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=epoch) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for _name, (member, content) in sorted(members.items()):
            member.mtime, member.size, member.pax_headers = epoch, len(content), {}
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _bill_of_materials(members: dict[str, tuple[tarfile.TarInfo, bytes]], tarball: bytes, epoch: int) -> dict[str, Any]:
    """All files, and the Python libraries that a controller needs, as far as `requirements.txt` says which."""
    about = json.loads(members["MANIFEST.json"][1])["collection_info"]
    identity = "%s.%s@%s" % (about["namespace"], about["name"], about["version"])
    digest = hashlib.sha256(tarball).hexdigest()
    files = [one for one in json.loads(members["FILES.json"][1])["files"] if one["ftype"] == "file"]
    lines = [line.partition("#")[0].strip() for line in members["requirements.txt"][1].decode().splitlines()]
    libraries = [line.partition(">=") for line in lines if line]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": "urn:uuid:%s" % uuid.uuid5(_NAMESPACE, digest),
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)),
            "component": {
                "type": "library",
                "bom-ref": identity,
                "group": about["namespace"],
                "name": about["name"],
                "version": about["version"],
                "description": about["description"],
                "licenses": [{"license": {"id": one}} for one in about["license"]],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": [
            *(
                {
                    "type": "library",
                    "bom-ref": "pkg:pypi/%s" % name.strip(),
                    "name": name.strip(),
                    "purl": "pkg:pypi/%s" % name.strip(),
                    "scope": "optional",
                    "properties": [{"name": "requirement", "value": "%s%s" % (comparison, version.strip())}],
                }
                for name, comparison, version in libraries
            ),
            *(
                {
                    "type": "file",
                    "bom-ref": "file:%s" % one["name"],
                    "name": one["name"],
                    "hashes": [{"alg": "SHA-256", "content": one["chksum_sha256"]}],
                }
                for one in files
            ),
        ],
        "dependencies": [
            {"ref": identity, "dependsOn": sorted("pkg:pypi/%s" % name.strip() for name, _at, _version in libraries)}
        ],
    }


if __name__ == "__main__":
    main()
