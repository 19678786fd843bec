# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the execution environment and the decision environment of docs/execution_environment.md, and use each.

    build_environments.py TARBALL DIRECTORY

As root on Debian or Ubuntu, with podman and mmdebstrap; ansible-builder has to be on PATH. Nothing is fetched from a
registry of images: Debian, made here by mmdebstrap, stands in for the base image of the definitions, and what depends
on that is replaced (BASE). No container is run, for not every machine allows it: a last stage of each image, built like
the others in a mere chroot, does with it what it is for. DIRECTORY keeps the base and podman's layers.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.lab.trees import mirror  # noqa: E402 - found on the path set above

PAGE = ROOT / "docs" / "execution_environment.md"
SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv")
IMAGE = "localhost/foghorn-base:latest"

BASE: dict[str, Any] = {
    "images": {"base_image": {"name": IMAGE}},
    # Debian's Python has pip from a package, and forbids ensurepip.
    "options": {"package_manager_path": "/usr/bin/apt-get", "skip_pip_install": True},
}
STEPS = {"prepend_base": ["RUN apt-get update"], "append_final": ["ENV JAVA_HOME=/usr/lib/jvm/default-java"]}

# Each line begins as a container of the image does. Neither is root, nor has a home, before that.
USED_AS = {
    "execution-environment.yml": [
        "ansible-doc foghorn.azure_events.scheduled_events_info",
        "ansible-doc --type lookup foghorn.azure_events.scheduled_events",
        "ansible-doc foghorn.azure_events.vmss_terminate_notification",
        "python3 -c 'import aiohttp, azure.identity, azure.mgmt.core, jmespath, requests'",
        "ansible-playbook --inventory web1, --syntax-check foghorn.azure_events.handle_events",
        "ansible-playbook --inventory web1, --syntax-check foghorn.azure_events.terminate_notifications",
        "ansible-runner --version",
        "ssh -V",
    ],
    "decision-environment.yml": [
        "ansible-rulebook --version",
        "ansible-doc foghorn.azure_events.scheduled_events_info",
        "python3 -c 'import aiohttp, azure.identity, azure.mgmt.core, jmespath'",
        "timeout 300 ansible-rulebook --rulebook /opt/check/rulebook.yml --inventory /opt/check/inventory.yml",
    ],
}

# Ends when our filter has understood the delivery. The source asks nobody: the port is never open.
RULEBOOK = """
- name: Both plugins of the collection
  hosts: all
  sources:
    - foghorn.azure_events.scheduled_events:
        source: imds
        endpoint: http://127.0.0.1:1
        timeout: 1
    - ansible.eda.generic:
        payload:
          - body:
              type: Microsoft.Maintenance.PreMaintenanceEvent
              data: {correlationId: one-run}
      filters:
        - foghorn.azure_events.azure_maintenance_event:
  rules:
    - name: Understood
      condition: event.azure_maintenance.kind == "update_manager"
      action:
        shutdown:
"""


class Failed(Exception):
    """What went wrong, for whoever called."""


def definitions() -> Iterator[tuple[str, dict[str, Any]]]:
    """The definitions of the page, by their names."""
    for name, text in re.findall(r"```yaml\n# (\S+-environment\.yml)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        yield name, yaml.safe_load(text)


def on_base(definition: dict[str, Any], tarball: Path) -> dict[str, Any]:
    """The same definition for the base that stands in, and with the tarball at its place."""
    result = {**definition, **BASE}
    result["additional_build_files"] = [{"src": str(tarball), "dest": "galaxy"}]
    result["additional_build_steps"] = STEPS
    return result


def run(*command: str | Path) -> None:
    """Run a command; raises Failed if it does."""
    if subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, check=False).returncode != 0:
        raise Failed("this failed: %s" % " ".join(map(str, command)))


def settings_of_this_machine() -> list[str]:
    """What lets pip and apt reach their indexes from here, for a build to see."""
    # No directory that a package writes to, as that of Java does to /etc/ssl/certs.
    places = [Path("/etc/pip.conf"), Path("/etc/ssl/certs/ca-certificates.crt")]
    if places[0].exists():
        # Indexes and wheels that lie on this machine.
        places += [Path(found) for found in re.findall(r"(?:file://|[\s=])(/[^\s:,]+)", places[0].read_text())]
    return ["--volume=%s:%s:ro" % (place, place) for place in dict.fromkeys(places) if place.exists()]


def make_base(directory: Path, podman: list[str]) -> None:
    """Make the base image, if it is not there."""
    if subprocess.run([*podman, "image", "exists", IMAGE], check=False).returncode == 0:
        return
    packed = directory / "base.tar"
    run("mmdebstrap", "--variant=minbase", "--include=" + ",".join(PACKAGES), SUITE, packed, mirror())
    run(*podman, "import", packed, IMAGE)
    packed.unlink()


def build(name: str, definition: dict[str, Any], directory: Path, podman: list[str]) -> None:
    """Build an image, and use it."""
    tag = "localhost/foghorn-" + name.partition(".")[0]
    context = directory / name.partition(".")[0]
    shutil.rmtree(context, ignore_errors=True)
    context.mkdir()
    (context / name).write_text(yaml.safe_dump(definition))
    run("ansible-builder", "create", "--file", context / name, "--context", context / "build",
        "--output-filename", "Containerfile")  # fmt: skip
    in_chroot = [*podman, "build", "--isolation=chroot", "--network=host", *settings_of_this_machine()]
    run(*in_chroot, "--tag", tag, context / "build")
    used = context / "used"
    used.mkdir()
    (used / "rulebook.yml").write_text(RULEBOOK)
    (used / "inventory.yml").write_text("all: {hosts: {localhost: {ansible_connection: local}}}\n")
    lines = ["FROM " + tag, "COPY rulebook.yml inventory.yml /opt/check/"]
    lines += ["RUN /opt/builder/bin/entrypoint %s >/dev/null" % command for command in USED_AS[name]]
    (used / "Containerfile").write_text("\n".join(lines) + "\n")
    run(*in_chroot, "--no-cache", used)


def main(tarball: Path, directory: Path) -> int:
    missing = [name for name in ("mmdebstrap", "podman") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        print("error: this needs root%s" % (", and the package %s" % " and ".join(missing) if missing else ""))
        return 1
    directory.mkdir(parents=True, exist_ok=True)
    podman = ["podman", "--root", str(directory / "storage"), "--runroot", str(directory / "run")]
    try:
        make_base(directory, podman)
        for name, definition in definitions():
            print("=== %s" % name, flush=True)
            build(name, on_base(definition, tarball), directory, podman)
    except Failed as error:
        print("error: %s" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
