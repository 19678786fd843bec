# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes in docs/recipes: does the agent take their policies, and do their hooks do what they say?"""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
RECIPES = ROOT / "docs" / "recipes"
LINKS = ROOT / ".cache" / "agent"
PATIENCE = 60.0

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_core"](str(ROOT), str(LINKS))
sys.path[:0] = [str(ROOT / "roles" / "handler_agent" / "files"), str(LINKS)]

from foghorn_agent.advice import advice_on_policies  # noqa: E402 - found on the path set above
from foghorn_agent.config import parse_config  # noqa: E402


def role_of(recipe: str) -> dict[str, Any]:
    """The variables that a recipe gives to the role, from the first of its examples."""
    example = (RECIPES / recipe).read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    (play,) = yaml.safe_load(example)
    variables: dict[str, Any] = play["roles"][0]
    return variables


def hook_of(recipe: str, stage: str) -> str:
    (content,) = [hook["content"] for hook in role_of(recipe)["handler_agent_hooks"] if hook["stage"] == stage]
    return str(content)


@pytest.mark.parametrize("recipe", sorted(path.name for path in RECIPES.glob("*.md")))
def test_given_a_recipe_when_the_agent_reads_its_policies_then_they_are_good_and_mean_no_mischief(recipe: str) -> None:
    config = parse_config({"policies": role_of(recipe)["handler_agent_policies"]})
    assert advice_on_policies(config) == []


@pytest.mark.parametrize("recipe", sorted(path.name for path in RECIPES.glob("*.md")))
def test_given_a_recipe_when_the_guide_to_the_agent_is_read_then_it_is_linked_there(recipe: str) -> None:
    assert "(recipes/%s)" % recipe in (ROOT / "docs" / "agent.md").read_text(encoding="utf-8")


# --- Kubernetes -------------------------------------------------------------------------------------

# What it says, and how it ends, is what kubectl 1.32 said and did.
KUBECTL = '''#!%s -IS
"""Stands in for kubectl, and for a cluster of one node, which is in a file beside it."""
import json, os, sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster.json")
with open(path) as file:
    cluster = json.load(file)
words = sys.argv[1:]
cluster["calls"].append(words)
node = cluster["node"]
assert os.environ["KUBECONFIG"] == "/etc/foghorn/kubeconfig"
assert words[1 if words[0] in ("cordon", "uncordon", "drain") else 2] == os.uname().nodename.lower(), words
status = 0
if words[0] in cluster["failing"]:
    refused = "The connection to the server 10.0.0.1:6443 was refused"
    sys.stderr.write("%%s - did you specify the right host or port?\\n" %% refused)
    status = 1
elif words[0] == "get" and words[4] == "jsonpath={.spec.unschedulable}":
    sys.stdout.write("true" if node["unschedulable"] else "")
elif words[0] == "get" and words[4] == "jsonpath={.metadata.annotations.foghorn-agent/cordoned}":
    sys.stdout.write(node["annotations"].get("foghorn-agent/cordoned", ""))
elif words[0] == "annotate" and words[-1].endswith("-"):
    node["annotations"].pop(words[-1][:-1], None)
elif words[0] == "annotate":
    name, _equals, value = words[-1].partition("=")
    assert name not in node["annotations"] or "--overwrite" in words
    node["annotations"][name] = value
elif words[0] in ("cordon", "uncordon"):
    node["unschedulable"] = words[0] == "cordon"
elif words[0] == "drain":
    limit = [word for word in words if word.startswith("--timeout=")][0].partition("=")[2]
    trouble = ""
    if node["pods"] and cluster["bare"] and "--force" not in words:
        trouble = "cannot delete cannot delete Pods that declare no controller (use --force to override): default/web"
    elif node["pods"] and cluster["budget"]:
        which = "error when evicting pods/\\"web\\" -n \\"default\\""
        violation = "Cannot evict pod as it would violate the pod's disruption budget."
        sys.stderr.write("%%s (will retry after 5s): %%s\\n" %% (which, violation))
        trouble = "%%s: global timeout reached: %%s" %% (which, limit)
    # It cordons by itself, whatever becomes of the pods.
    node["unschedulable"] = True
    if trouble:
        sys.stderr.write("error: unable to drain node \\"n1\\" due to error: %%s, continuing command...\\n" %% trouble)
        status = 1
    else:
        node["pods"] = []
else:
    raise AssertionError(words)
with open(path, "w") as file:
    json.dump(cluster, file)
sys.exit(status)
'''


class Cluster:
    """A cluster of one node, and kubectl."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "cluster.json"
        self.path = "%s:/usr/bin:/bin" % directory
        node = {"unschedulable": False, "annotations": {}, "pods": ["web"]}
        self.save({"node": node, "calls": [], "failing": [], "budget": False, "bare": False})
        kubectl = directory / "kubectl"
        kubectl.write_text(KUBECTL % sys.executable)
        kubectl.chmod(0o755)

    def save(self, content: dict[str, Any]) -> None:
        self._file.write_text(json.dumps(content))

    def load(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._file.read_text())
        return content

    def set(self, **values: Any) -> None:
        self.save(dict(self.load(), **values))

    @property
    def node(self) -> Any:
        return self.load()["node"]

    def calls(self, command: str) -> list[list[str]]:
        return [words for words in self.load()["calls"] if words[0] == command]

    def run(self, stage: str, event_type: str = "Reboot", seconds: int = 60) -> "subprocess.CompletedProcess[str]":
        """Run the hook of a stage as the agent does."""
        return subprocess.run(
            ["/bin/sh", "-c", hook_of("kubernetes.md", stage)],
            cwd="/",
            env={"PATH": self.path, "FOGHORN_EVENT_TYPE": event_type, "FOGHORN_SECONDS_LEFT": str(seconds)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


def test_given_a_node_when_it_is_drained_and_restored_then_its_pods_are_evicted_and_it_takes_others_again(
    cluster: Cluster,
) -> None:
    drained = cluster.run("drain")
    assert drained.returncode == 0, drained.stderr
    assert (cluster.node["unschedulable"], cluster.node["pods"]) == (True, [])
    assert cluster.calls("drain")[0][2:] == [
        "--ignore-daemonsets",
        "--delete-emptydir-data",
        "--grace-period=-1",
        "--timeout=55s",
    ]
    assert cluster.run("restore").returncode == 0
    assert (cluster.node["unschedulable"], cluster.node["annotations"]) == (False, {})


def test_given_a_node_that_somebody_cordoned_when_it_is_drained_and_restored_then_it_stays_cordoned(
    cluster: Cluster,
) -> None:
    cluster.set(node=dict(cluster.node, unschedulable=True))
    assert cluster.run("drain").returncode == 0
    assert cluster.node["pods"] == []
    assert cluster.run("restore").returncode == 0
    assert cluster.node["unschedulable"]


@pytest.mark.parametrize("command", ["get", "annotate", "cordon", "drain"])
def test_given_a_drain_that_breaks_off_when_it_is_run_again_then_its_restore_still_uncordons(
    cluster: Cluster, command: str
) -> None:
    cluster.set(failing=[command])
    assert cluster.run("drain").returncode != 0
    cluster.set(failing=[])
    assert cluster.run("drain").returncode == 0
    assert cluster.node["pods"] == []
    assert cluster.run("restore").returncode == 0
    assert not cluster.node["unschedulable"]


@pytest.mark.parametrize("command", ["uncordon", "annotate", "get"])
def test_given_a_restore_that_breaks_off_when_it_is_run_again_then_the_node_takes_pods(
    cluster: Cluster, command: str
) -> None:
    assert cluster.run("drain").returncode == 0
    cluster.set(failing=[command])
    assert cluster.run("restore").returncode != 0
    cluster.set(failing=[])
    assert cluster.run("restore").returncode == 0
    assert (cluster.node["unschedulable"], cluster.node["annotations"]) == (False, {})


def test_given_a_budget_that_forbids_it_when_drained_then_the_hook_fails_and_says_why(cluster: Cluster) -> None:
    cluster.set(budget=True)
    drained = cluster.run("drain")
    assert drained.returncode != 0
    assert "disruption budget" in drained.stderr
    assert cluster.node["pods"] == ["web"]


def test_given_a_pod_without_a_controller_when_drained_then_the_hook_fails_names_it_and_deletes_nothing(
    cluster: Cluster,
) -> None:
    cluster.set(bare=True)
    drained = cluster.run("drain")
    assert drained.returncode != 0
    assert "no controller" in drained.stderr
    assert "default/web" in drained.stderr
    assert cluster.node["pods"] == ["web"]
    assert cluster.run("restore").returncode == 0
    assert not cluster.node["unschedulable"]


def test_given_an_eviction_when_drained_then_no_pod_may_use_up_its_half_minute(cluster: Cluster) -> None:
    assert cluster.run("drain", "Preempt", 28).returncode == 0
    assert cluster.calls("drain")[0][-2:] == ["--grace-period=15", "--timeout=23s"]


@pytest.mark.parametrize("seconds", [0, 3, 10])
def test_given_hardly_any_time_when_drained_then_it_is_never_without_end(cluster: Cluster, seconds: int) -> None:
    assert cluster.run("drain", seconds=seconds).returncode == 0
    assert cluster.calls("drain")[0][-1] == "--timeout=5s"


def test_given_the_permissions_when_read_then_nothing_but_the_node_is_changed_and_pods_only_evicted() -> None:
    page = (RECIPES / "kubernetes.md").read_text(encoding="utf-8")
    role = yaml.safe_load(page.rpartition("```yaml\n")[2].partition("```")[0])
    changing = {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in ("get", "list")
    }
    assert changing == {("nodes", "patch"), ("pods/eviction", "create")}


# --- docker compose ---------------------------------------------------------------------------------

# What it says, and how it ends, is what Docker Compose 2.26 said and did with an engine made for it.
DOCKER = '''#!%s -IS
"""Stands in for docker compose, and for a project, which is in a file beside it."""
import json, os, sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "project.json")
with open(path) as file:
    project = json.load(file)
words = sys.argv[1:]
project["calls"].append(words)
assert words[:2] == ["compose", "--project-name"], words
services = project["services"] if words[2] == "app" else {}
command, rest = words[3], words[4:]
status = 0
if command in project["failing"]:
    socket = "unix:///var/run/docker.sock"
    sys.stderr.write("Cannot connect to the Docker daemon at %%s. Is the docker daemon running?\\n" %% socket)
    status = 1
elif command == "ps":
    assert rest[0] == "--services"
    wanted = [value for option, value in zip(rest[1::2], rest[2::2]) if option == "--status"]
    # Where there is none, an empty line.
    print("\\n".join(sorted(name for name in services if services[name] in wanted)))
elif command == "stop":
    names = [word for word in rest if word in services]
    for name in names if project["reach"] is None else names[:project["reach"]]:
        services[name] = "exited"
    status = 0 if project["reach"] is None else 137
elif command == "start":
    for name in rest:
        if name not in services:
            sys.stderr.write("no such service: \\"%%s\\": not found\\n" %% name)
            status = 1
            break
        services[name] = "running"
else:
    raise AssertionError(words)
with open(path, "w") as file:
    json.dump(project, file)
sys.exit(status)
'''


class Project:
    """A project of docker compose, and docker."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "project.json"
        self._notes = directory / "notes"
        self.path = "%s:/usr/bin:/bin" % directory
        services = {"web": "running", "db": "running", "cron": "exited", "mail": "paused", "queue": "restarting"}
        self._file.write_text(json.dumps({"services": services, "calls": [], "failing": [], "reach": None}))
        docker = directory / "docker"
        docker.write_text(DOCKER % sys.executable)
        docker.chmod(0o755)

    def load(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self._file.read_text())
        return content

    def set(self, **values: Any) -> None:
        self._file.write_text(json.dumps(dict(self.load(), **values)))

    def set_services(self, **states: str) -> None:
        self.set(services=dict(self.services, **states))

    @property
    def services(self) -> Any:
        return self.load()["services"]

    def calls(self, command: str) -> list[list[str]]:
        return [words[4:] for words in self.load()["calls"] if words[3] == command]

    def run(self, stage: str, event_type: str = "Reboot", seconds: int = 120) -> "subprocess.CompletedProcess[str]":
        """Run the hook of a stage as the agent does, with its notes kept elsewhere."""
        script = hook_of("docker_compose.md", stage)
        assert script.count("/var/lib/foghorn/compose") == 1
        return subprocess.run(
            ["/bin/sh", "-c", script.replace("/var/lib/foghorn/compose", str(self._notes))],
            cwd="/",
            env={"PATH": self.path, "FOGHORN_EVENT_TYPE": event_type, "FOGHORN_SECONDS_LEFT": str(seconds)},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_given_a_project_when_it_is_stopped_and_restored_then_only_what_ran_is_started(project: Project) -> None:
    stopped = project.run("shutdown")
    assert stopped.returncode == 0, stopped.stderr
    assert project.services == {
        "web": "exited", "db": "exited", "cron": "exited", "mail": "paused", "queue": "exited"
    }  # fmt: skip
    assert project.run("restore").returncode == 0
    assert project.services == {
        "web": "running", "db": "running", "cron": "exited", "mail": "paused", "queue": "running"
    }  # fmt: skip


def test_given_time_when_stopped_then_each_container_has_the_time_that_it_asks_for(project: Project) -> None:
    assert project.run("shutdown").returncode == 0
    assert project.calls("stop") == [["db", "queue", "web"]]


def test_given_little_time_when_stopped_then_three_in_turn_can_end_within_it(project: Project) -> None:
    assert project.run("shutdown", "Preempt", 18).returncode == 0
    assert project.calls("stop") == [["--timeout", "6", "db", "queue", "web"]]


def test_given_nothing_that_runs_when_stopped_then_docker_is_not_told_to_stop_everything(project: Project) -> None:
    project.set(services={"cron": "exited", "mail": "paused"})
    stopped = project.run("shutdown")
    assert stopped.returncode == 0
    assert "nothing of the project app runs" in stopped.stdout
    assert project.calls("stop") == []
    assert project.run("restore").returncode == 0
    assert project.calls("start") == []


@pytest.mark.parametrize("command", ["ps", "stop"])
def test_given_an_engine_that_does_not_answer_when_stopped_then_it_fails_and_a_second_run_makes_up_for_it(
    project: Project, command: str
) -> None:
    project.set(failing=[command])
    failed = project.run("shutdown")
    assert failed.returncode != 0
    assert "Is the docker daemon running?" in failed.stderr
    project.set(failing=[])
    assert project.run("shutdown").returncode == 0
    assert project.run("restore").returncode == 0
    assert project.services["web"] == project.services["db"] == "running"


def test_given_a_run_that_was_killed_half_way_when_run_again_then_what_it_had_stopped_is_started_as_well(
    project: Project,
) -> None:
    project.set(reach=1)
    assert project.run("shutdown").returncode != 0
    assert sorted(project.services.values()) == ["exited", "exited", "paused", "restarting", "running"]
    project.set(reach=None)
    assert project.run("shutdown").returncode == 0
    assert project.run("restore").returncode == 0
    assert project.services == {
        "web": "running", "db": "running", "cron": "exited", "mail": "paused", "queue": "running"
    }  # fmt: skip


def test_given_an_engine_that_is_not_up_yet_when_restored_then_it_fails_and_the_next_run_starts_what_ran(
    project: Project,
) -> None:
    assert project.run("shutdown").returncode == 0
    project.set(failing=["start"])
    assert project.run("restore").returncode != 0
    project.set(failing=[])
    assert project.run("restore").returncode == 0
    assert project.services["web"] == "running"


def test_given_a_service_that_is_gone_when_restored_then_it_fails_and_says_which(project: Project) -> None:
    assert project.run("shutdown").returncode == 0
    project.set(services={"db": "exited", "queue": "exited"})
    failed = project.run("restore")
    assert failed.returncode != 0
    assert 'no such service: "web"' in failed.stderr


def test_given_nothing_to_restore_when_restored_a_second_time_then_what_an_operator_has_stopped_stays_so(
    project: Project,
) -> None:
    assert project.run("shutdown").returncode == 0
    assert project.run("restore").returncode == 0
    project.set_services(web="exited")
    assert project.run("restore").returncode == 0
    assert project.services["web"] == "exited"
