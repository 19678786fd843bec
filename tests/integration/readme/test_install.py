# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection is built and installed as the README says, and goes into an execution environment as docs/ says."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from ansible_collections.foghorn.azure_events.tests import shell

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "execution_environment.md").read_text(encoding="utf-8")


def run(command: str, directory: Path) -> str:
    """Run a command line of ours, with all that it installs below the directory."""
    ansible = {"ANSIBLE_HOME": str(directory / "ansible"), "ANSIBLE_COLLECTIONS_PATH": str(directory / "collections")}
    return shell.run(command, directory, NO_COLOR="1", **ansible)


def install(directory: Path) -> None:
    """Run the README's own commands."""
    for command in re.search(r"## Install\n.*?```console\n(.*?)```", README, re.DOTALL).group(1).splitlines():  # type: ignore[union-attr]
        run(command, directory)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in which the collection was built and installed with the README's own commands."""
    directory = tmp_path_factory.mktemp("checkout")
    # What git knows, without what lies about here.
    run(shlex.join([sys.executable, str(ROOT / "tools" / "copy_collection.py"), str(directory)]), directory)
    install(directory)
    return directory


def test_given_a_checkout_when_installed_as_the_readme_says_then_its_plugins_and_playbooks_are_found(
    checkout: Path,
) -> None:
    told = run("ansible-doc foghorn.azure_events.scheduled_events_info", checkout)
    listed = run("ansible-playbook -i web1, foghorn.azure_events.handle_events --list-hosts", checkout)

    assert "(%s" % (checkout / "collections") in told
    assert "web1" in listed


@pytest.mark.parametrize("version", ["1.0.0", "1.0.1"])
def test_given_a_checkout_that_was_installed_when_it_has_changed_and_is_installed_again_then_the_change_is_installed(
    checkout: Path, tmp_path: Path, version: str
) -> None:
    shutil.copytree(checkout, tmp_path, dirs_exist_ok=True)
    metadata = (tmp_path / "galaxy.yml").read_text(encoding="utf-8")
    metadata = re.sub("^version: .*", f"version: {version}", metadata, flags=re.MULTILINE)
    (tmp_path / "galaxy.yml").write_text(metadata, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("changed\n", encoding="utf-8")

    install(tmp_path)

    (installed,) = (tmp_path / "collections").glob("*/foghorn/azure_events/CHANGELOG.md")
    assert installed.read_text(encoding="utf-8") == "changed\n"


def test_given_the_tarball_when_an_execution_environment_is_defined_as_the_guide_says_then_it_holds_the_collection(
    checkout: Path,
) -> None:
    definition = re.search(r"```yaml\n# execution-environment.yml\n(.*?)```", GUIDE, re.DOTALL)
    assert definition
    (checkout / "execution-environment.yml").write_text(definition.group(1), encoding="utf-8")

    run("ansible-builder create --output-filename Containerfile", checkout)

    # What the Containerfile does next in its directory /build.
    context = checkout / "context"
    containerfile = (context / "Containerfile").read_text(encoding="utf-8")
    assert "COPY _build /build\nWORKDIR /build\n" in containerfile
    assert "ansible-galaxy collection install" in containerfile
    run("ansible-galaxy collection install -r requirements.yml --collections-path in_image", context / "_build")
    wanted = run("ansible-builder introspect --sanitize _build/in_image", context)
    assert "azure-identity" in wanted
    assert "jmespath" in wanted


def test_given_the_tarball_when_a_decision_environment_is_defined_as_the_guide_says_then_it_runs_rulebooks(
    checkout: Path,
) -> None:
    definition = re.search(r"```yaml\n# decision-environment.yml\n(.*?)```", GUIDE, re.DOTALL)
    assert definition
    (checkout / "decision-environment.yml").write_text(definition.group(1), encoding="utf-8")

    run(
        "ansible-builder create --file decision-environment.yml --context decisions --output-filename Containerfile",
        checkout,
    )

    context = checkout / "decisions"
    containerfile = (context / "Containerfile").read_text(encoding="utf-8")
    assert "ENV JAVA_HOME=/usr/lib/jvm/jre" in containerfile
    assert "ansible-rulebook>=1.2" in (context / "_build" / "requirements.txt").read_text(encoding="utf-8")
    assert "java-21-openjdk-headless" in (context / "_build" / "bindep.txt").read_text(encoding="utf-8")
    assert (context / "_build" / "galaxy" / "foghorn-azure_events-1.0.0.tar.gz").is_file()
