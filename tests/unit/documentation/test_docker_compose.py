# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hooks of docs/recipes/docker_compose.md, with a real engine and a real Docker Compose, where there are both.

What the stand-in of test_recipes.py says and does is what these do. The project has a name of its own, and an image of
nothing but busybox, which comes from this machine: nothing is fetched.
"""

import io
import os
import secrets
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .recipes import hook_of, run_as_the_agent_does

PATIENCE = 60.0
"""Seconds."""
NAME = f"foghorn-test-{secrets.token_hex(4)}"
FOR_DOCKER = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG")
ENVIRONMENT = {name: os.environ[name] for name in FOR_DOCKER if name in os.environ}
BUSYBOX = Path(os.environ.get("FOGHORN_TEST_BUSYBOX", "/bin/busybox"))

COMPOSE = """
name: IMAGE
services:
  db: &service
    image: IMAGE
    network_mode: none
    command: ["/busybox", "sh", "-c", "trap 'exit 0' TERM; while :; do /busybox sleep 1 & wait; done"]
    restart: unless-stopped
    healthcheck: {test: ["CMD", "/busybox", "true"], interval: 1s}
  web:
    <<: *service
    depends_on:
      db: {condition: service_healthy}
      cron: {condition: service_started}
      mail: {condition: service_started}
      job: {condition: service_completed_successfully}
  # A job that fails if it is run twice.
  job: {<<: *service, command: ["/busybox", "mkdir", "/done"], restart: "no"}
  cron: *service
  mail: *service
  queue: {<<: *service, command: ["/busybox", "false"]}
"""


def docker(*words: str, content: "bytes | None" = None) -> str:
    """What docker says."""
    done = subprocess.run(["docker", *words], input=content, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def what_is_missing() -> str:
    """Why there is nothing to be tried here; nothing if there is."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    for words in (["info"], ["compose", "version"]):
        done = subprocess.run(["docker", *words], capture_output=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            return "docker %s: %s" % (" ".join(words), done.stderr.decode().strip()[:200])
    if not BUSYBOX.exists() or b"/ld-linux" in BUSYBOX.read_bytes():
        return "%s is not there, or not linked statically: install busybox-static" % BUSYBOX
    return ""


class Project:
    """A project of docker compose."""

    def __init__(self, directory: Path, image: str) -> None:
        self._notes = directory / "notes"
        self._file = directory / "compose.yaml"
        self._file.write_text(COMPOSE.replace("IMAGE", image))

    def compose(self, *words: str) -> str:
        return docker("compose", "--file", str(self._file), *words)

    def run(self, stage: str, seconds: int = 120) -> "subprocess.CompletedProcess[str]":
        """Run the hook of a stage as the agent does, for this project, with its notes kept elsewhere."""
        script = hook_of("docker_compose.md", stage)
        assert script.count("/var/lib/foghorn/compose") == script.count("project=app\n") == 1
        script = script.replace("/var/lib/foghorn/compose", str(self._notes))
        script = script.replace("project=app\n", f"project={NAME}\n")
        return run_as_the_agent_does(script, FOGHORN_SECONDS_LEFT=str(seconds), **ENVIRONMENT)

    @property
    def services(self) -> dict[str, str]:
        own = [f"--filter=label=com.docker.compose.{label}" for label in (f"project={NAME}", "oneoff=False")]
        lines = docker("ps", "--all", *own, "--format", '{{.Label "com.docker.compose.service"}} {{.State}}')
        return dict(line.split() for line in lines.splitlines())

    def wait_for(self, **states: str) -> None:
        """Wait until these services are so: the engine starts again what ends by itself, now and then."""
        ends = time.monotonic() + PATIENCE
        while {name: state for name, state in self.services.items() if name in states} != states:
            assert time.monotonic() < ends, self.services
            time.sleep(0.2)


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The name of the image, which is that of the project, too."""
    missing = what_is_missing()
    if missing:
        pytest.skip("the hooks are not tried with a real engine: %s" % missing)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(BUSYBOX.resolve(), "busybox")
        link = tarfile.TarInfo("bin/sh")
        link.type, link.linkname = tarfile.SYMTYPE, "/busybox"
        tar.addfile(link)
    docker("import", "-", NAME, content=archive.getvalue())
    yield NAME
    docker("image", "rm", NAME)


@pytest.fixture
def project(tmp_path: Path, image: str) -> Iterator[Project]:
    one = Project(tmp_path, image)
    try:
        one.compose("up", "--detach")
        one.compose("stop", "cron")
        one.compose("pause", "mail")
        one.wait_for(queue="restarting")
        yield one
    finally:
        one.compose("down", "--timeout", "0")


def test_given_a_real_project_when_it_is_stopped_and_restored_then_only_what_ran_is_started(project: Project) -> None:
    # As job, but by hand.
    project.compose("run", "--no-TTY", "--no-deps", "--name", f"{NAME}-once", "db", "/busybox", "mkdir", "/done")
    once = ("inspect", "--format", "{{.State.StartedAt}}", f"{NAME}-once")
    ran = docker(*once)
    stopped = project.run("shutdown")
    assert stopped.returncode == 0, stopped.stderr
    assert project.services == {
        "web": "exited", "db": "exited", "cron": "exited", "mail": "paused", "queue": "exited", "job": "exited"
    }  # fmt: skip

    # What was interrupted is run again, perhaps with less time.
    assert project.run("shutdown", 18).returncode == 0
    restored = project.run("restore")
    assert restored.returncode == 0, restored.stderr
    project.wait_for(web="running", db="running", cron="exited", mail="paused", queue="restarting")
    assert docker("inspect", "--format", "{{.State.ExitCode}}", f"{NAME}-job-1") == "0\n"
    began = docker("inspect", "--format", "{{.State.StartedAt}}", f"{NAME}-db-1", f"{NAME}-web-1").split()
    assert began == sorted(began)
    assert docker(*once) == ran


def test_given_a_real_project_without_running_services_when_stopped_then_nothing_else_is_stopped(
    project: Project,
) -> None:
    project.compose("stop", "web", "db", "queue")
    stopped = project.run("shutdown")
    assert (stopped.returncode, stopped.stdout) == (0, f"nothing of the project {NAME} runs here\n")
    assert project.services["mail"] == "paused"
    assert project.run("restore").returncode == 0
    assert project.services["web"] == "exited"


def test_given_a_real_container_that_is_gone_when_stopped_or_restored_then_it_fails_and_says_which(
    project: Project,
) -> None:
    assert project.run("shutdown").returncode == 0
    docker("container", "rm", f"{NAME}-db-1")
    restored = project.run("restore")
    assert (restored.returncode, restored.stderr) == (1, "db has no container\n")
    stopped = project.run("shutdown")
    assert (stopped.returncode, stopped.stderr) == (1, "could not find db: not found\n")

    project.compose("unpause", "mail")
    project.compose("up", "--no-start")
    assert project.run("restore").returncode == 0
    project.wait_for(web="running", db="running", cron="exited")
