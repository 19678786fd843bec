# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recipes in docs/recipes: does the agent take their policies, and do their hooks do what they say?"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml
from foghorn_agent.advice import advice_on_policies
from foghorn_agent.config import parse_config

from .recipes import RECIPES, hook_of, role_of, run_as_the_agent_does


@pytest.mark.parametrize("recipe", sorted(path.name for path in RECIPES.glob("*.md")))
def test_given_a_recipe_when_the_agent_reads_its_policies_then_they_are_valid_and_harmless(recipe: str) -> None:
    config = parse_config({"policies": role_of(recipe)["handler_agent_policies"]})
    assert advice_on_policies(config) == []


Ended = subprocess.CompletedProcess[str]


class StandIn:
    """Programs that stand in for the real ones, and what they know: a file beside them."""

    def __init__(self, directory: Path, file: str, source: str, programs: Iterable[str], **state: Any) -> None:
        self._file = directory / file
        self._path = "%s:/usr/bin:/bin" % directory
        self._file.write_text(json.dumps({"calls": [], **state}))
        for name in programs:
            (directory / name).write_text(source % sys.executable)
            (directory / name).chmod(0o755)

    def __getitem__(self, name: str) -> Any:
        return json.loads(self._file.read_text())[name]

    def set(self, **values: Any) -> None:
        self._file.write_text(json.dumps(json.loads(self._file.read_text()) | values))

    def run_hook(self, script: str, seconds: int, event_type: str = "Reboot") -> Ended:
        """Run a hook as the agent does."""
        return run_as_the_agent_does(
            script, PATH=self._path, FOGHORN_EVENT_TYPE=event_type, FOGHORN_SECONDS_LEFT=str(seconds)
        )


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
    problem = ""
    if node["pods"] and cluster["bare"] and "--force" not in words:
        problem = "cannot delete cannot delete Pods that declare no controller (use --force to override): default/web"
    elif node["pods"] and cluster["budget"]:
        which = "error when evicting pods/\\"web\\" -n \\"default\\""
        violation = "Cannot evict pod as it would violate the pod's disruption budget."
        sys.stderr.write("%%s (will retry after 5s): %%s\\n" %% (which, violation))
        problem = "%%s: global timeout reached: %%s" %% (which, limit)
    # It cordons by itself, whatever becomes of the pods.
    node["unschedulable"] = True
    if problem:
        sys.stderr.write("error: unable to drain node \\"n1\\" due to error: %%s, continuing command...\\n" %% problem)
        status = 1
    else:
        node["pods"] = []
else:
    raise AssertionError(words)
with open(path, "w") as file:
    json.dump(cluster, file)
sys.exit(status)
'''


class Cluster(StandIn):
    """A cluster of one node, and kubectl."""

    def __init__(self, directory: Path) -> None:
        node = {"unschedulable": False, "annotations": {}, "pods": ["web"]}
        super().__init__(
            directory, "cluster.json", KUBECTL, ["kubectl"], node=node, failing=[], budget=False, bare=False
        )

    @property
    def node(self) -> Any:
        return self["node"]

    def calls(self, command: str) -> list[list[str]]:
        return [words for words in self["calls"] if words[0] == command]

    def run(self, stage: str, event_type: str = "Reboot", seconds: int = 60) -> Ended:
        return self.run_hook(hook_of("kubernetes.md", stage), seconds, event_type)


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


def test_given_a_node_that_was_cordoned_before_when_it_is_drained_and_restored_then_it_stays_cordoned(
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

# What it says, and how it ends, is what Docker Compose 2.26 said and did with an engine of Docker 26.1. Where there are
# such ones, test_docker_compose.py runs the hooks with them.
DOCKER = '''#!%s -IS
"""Stands in for docker and docker compose, and for a project, which is in a file beside it."""
import json, os, sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "project.json")
with open(path) as file:
    project = json.load(file)
words = sys.argv[1:]
project["calls"].append(words)
services = project["services"]
if words[0] == "compose":
    assert words[1] == "--project-name", words
    services = services if words[2] == "app" else {}
    words = words[3:]
command, rest = words[0], words[1:]
status = 0
if command in project["failing"]:
    socket = "unix:///var/run/docker.sock"
    sys.stderr.write("Cannot connect to the Docker daemon at %%s. Is the docker daemon running?\\n" %% socket)
    status = 1
elif command == "ps" and rest[0] == "--all":
    # Here a container has the name of its service.
    labels = [word[len("label=com.docker.compose."):] for word in rest[3::2]]
    assert labels[0] == "project=app" and labels[2:] == ["oneoff=False"], rest
    print("\\n".join(name for name in services if labels[1] == "service=" + name))
elif command == "ps" and rest[0] == "--quiet":
    assert rest[-1] == "health=starting"
elif command == "inspect":
    # The database is what the others depend on.
    # Behind it comes the health, if a container has one.
    print('            "FinishedAt": "2026-11-30T23:10:0%%d.5Z"%%s' %% ((9, "") if rest == ["db"] else (0, ",")))
elif command == "ps":
    assert rest[0] == "--services"
    wanted = [value for option, value in zip(rest[1::2], rest[2::2]) if option == "--status"]
    # Where there is none, an empty line.
    print("\\n".join(sorted(name for name in services if services[name] in wanted)))
elif command == "stop":
    names = [word for word in rest if word in services]
    if "web" in names and "db" not in services:
        sys.stderr.write("could not find db: not found\\n")
        sys.exit(1)
    for name in names if project["reach"] is None else names[:project["reach"]]:
        services[name] = "exited"
    status = 0 if project["reach"] is None else 137
elif command == "start":
    services[rest[0]] = "running"
else:
    raise AssertionError(words)
with open(path, "w") as file:
    json.dump(project, file)
sys.exit(status)
'''


class Project(StandIn):
    """A project of docker compose, and docker."""

    def __init__(self, directory: Path) -> None:
        self._notes = directory / "notes"
        services = {"web": "running", "db": "running", "cron": "exited", "mail": "paused", "queue": "restarting"}
        super().__init__(directory, "project.json", DOCKER, ["docker"], services=services, failing=[], reach=None)

    def set_services(self, **states: str) -> None:
        self.set(services=dict(self.services, **states))

    @property
    def services(self) -> Any:
        return self["services"]

    def calls(self, command: str) -> list[list[str]]:
        called = [words[3:] if words[0] == "compose" else words for words in self["calls"]]
        return [words[1:] for words in called if words[0] == command]

    def run(self, stage: str, event_type: str = "Reboot", seconds: int = 120) -> Ended:
        """Run the hook of a stage, with its notes kept elsewhere."""
        script = hook_of("docker_compose.md", stage)
        assert script.count("/var/lib/foghorn/compose") == 1
        return self.run_hook(script.replace("/var/lib/foghorn/compose", str(self._notes)), seconds, event_type)


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
    assert project.calls("start")[0] == ["db"]


def test_given_time_when_stopped_then_each_container_has_the_time_that_it_asks_for(project: Project) -> None:
    assert project.run("shutdown").returncode == 0
    assert project.calls("stop") == [["db", "queue", "web"]]


def test_given_little_time_when_stopped_then_three_in_turn_can_end_within_it(project: Project) -> None:
    assert project.run("shutdown", "Preempt", 18).returncode == 0
    assert project.calls("stop") == [["--timeout", "6", "db", "queue", "web"]]


def test_given_nothing_that_runs_when_stopped_then_docker_is_not_reported_to_stop_everything(project: Project) -> None:
    project.set(services={"cron": "exited", "mail": "paused"})
    stopped = project.run("shutdown")
    assert stopped.returncode == 0
    assert "nothing of the project app runs" in stopped.stdout
    assert project.calls("stop") == []
    assert project.run("restore").returncode == 0
    assert project.calls("start") == []


@pytest.mark.parametrize("command", ["ps", "stop"])
def test_given_an_engine_that_does_not_answer_when_stopped_then_it_fails_and_a_second_run_stops_the_rest(
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


@pytest.mark.parametrize("command", ["ps", "start"])
def test_given_an_engine_that_is_not_up_yet_when_restored_then_it_fails_and_the_next_run_starts_what_ran(
    project: Project, command: str
) -> None:
    assert project.run("shutdown").returncode == 0
    project.set(failing=[command])
    assert project.run("restore").returncode != 0
    project.set(failing=[])
    assert project.run("restore").returncode == 0
    assert project.services["web"] == "running"


def test_given_a_service_that_is_gone_when_restored_then_it_fails_and_says_which(project: Project) -> None:
    assert project.run("shutdown").returncode == 0
    project.set(services={"db": "exited", "queue": "exited"})
    failed = project.run("restore")
    assert failed.returncode != 0
    assert failed.stderr == "web has no container\n"


def test_given_a_container_that_is_gone_when_what_depends_on_it_is_stopped_then_it_fails_and_says_which(
    project: Project,
) -> None:
    project.set(services={"web": "running", "queue": "running"})
    failed = project.run("shutdown")
    assert failed.returncode == 1
    assert failed.stderr == "could not find db: not found\n"


def test_given_nothing_to_restore_when_restored_a_second_time_then_what_an_operator_has_stopped_stays_so(
    project: Project,
) -> None:
    assert project.run("shutdown").returncode == 0
    assert project.run("restore").returncode == 0
    project.set_services(web="exited")
    assert project.run("restore").returncode == 0
    assert project.services["web"] == "exited"


# --- Slurm: run in the lab, scenario recipes_cluster; here what a healthy cluster does not do ---------

# One program for scontrol and squeue; what it says is what those of Slurm 22.05 said.
SLURM = '''#!%s -IS
"""Stands in for scontrol and squeue, and for a cluster of one node, which is in a file beside it."""
import json, os, sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slurm.json")
with open(path) as file:
    cluster = json.load(file)
name = os.path.basename(sys.argv[0])
words = sys.argv[1:]
node = os.uname().nodename.partition(".")[0]
cluster["calls"].append([name, *words])
status = 0
if {name, words[0], " ".join(words[:2])} & set(cluster["failing"]):
    sys.stderr.write("slurm_load_node error: Unable to contact slurm controller (connect failure)\\n")
    status = 1
elif name == "squeue":
    assert "--nodelist=" + node in words, words
    for job in cluster["jobs"]:
        print(job)
elif words[:2] == ["show", "node"]:
    assert words[2] == node
    print("NodeName=%%s Arch=x86_64 CoresPerSocket=1 " %% node)
    print("   State=%%s ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A" %% cluster["state"])
    print("   Partitions=all ")
    if cluster["reason"]:
        print("   Reason=%%s [root@2026-11-22T18:00:00]" %% cluster["reason"])
elif words[:2] == ["show", "slurmd"]:
    print("Active Steps             = NONE")
elif words[0] == "update":
    values = dict(word.split("=", 1) for word in words[1:])
    assert values["nodename"] == node
    if values["state"] == "drain":
        cluster["state"], cluster["reason"] = cluster["state"] + "+DRAIN", values["reason"]
    else:
        assert values["state"] == "resume"
        cluster["state"], cluster["reason"] = "IDLE", ""
elif words[0] == "requeue":
    if words[1] in cluster["stubborn"]:
        sys.stderr.write("Requested operation is presently disabled for job %%s\\n" %% words[1])
        status = 1
    else:
        cluster["jobs"].remove(words[1])
else:
    raise AssertionError(words)
with open(path, "w") as file:
    json.dump(cluster, file)
sys.exit(status)
'''


class Slurm(StandIn):
    """A node of Slurm, and the programs that ask about it."""

    def __init__(self, directory: Path) -> None:
        state: dict[str, Any] = {"state": "IDLE", "reason": "", "jobs": [], "stubborn": [], "failing": []}
        super().__init__(directory, "slurm.json", SLURM, ["scontrol", "squeue"], **state)

    def run(self, stage: str, seconds: int = 30) -> Ended:
        return self.run_hook(hook_of("slurm.md", stage), seconds)


OURS = "Azure maintenance (foghorn-agent)"


@pytest.fixture
def slurm(tmp_path: Path) -> Slurm:
    return Slurm(tmp_path)


def test_given_a_job_when_hardly_any_time_is_left_then_it_is_requeued_at_once(slurm: Slurm) -> None:
    slurm.set(jobs=["7"])
    drained = slurm.run("drain", 20)
    assert drained.returncode == 0, drained.stderr
    assert (slurm["state"], slurm["reason"], slurm["jobs"]) == ("IDLE+DRAIN", OURS, [])


def test_given_a_job_that_cannot_be_requeued_when_time_is_up_then_the_drain_fails_and_names_it(slurm: Slurm) -> None:
    slurm.set(jobs=["7", "8"], stubborn=["8"])
    drained = slurm.run("drain", 4)
    assert drained.returncode != 0
    assert "still runs jobs: 8" in drained.stderr
    assert slurm["reason"] == OURS


@pytest.mark.parametrize("failing", ["show", "update", "squeue"])
def test_given_a_controller_that_does_not_answer_when_drained_then_it_fails_rather_than_see_no_jobs(
    slurm: Slurm, failing: str
) -> None:
    slurm.set(jobs=["7"], failing=[failing])
    drained = slurm.run("drain")
    assert drained.returncode != 0
    assert "Unable to contact slurm controller" in drained.stderr
    slurm.set(failing=[], jobs=[])
    assert slurm.run("drain").returncode == 0
    assert slurm.run("restore").returncode == 0
    assert (slurm["state"], slurm["reason"]) == ("IDLE", "")


@pytest.mark.parametrize("reason", ["bad memory", OURS + " and bad memory"])
def test_given_a_node_that_an_operator_drained_when_drained_and_restored_then_it_stays_so_with_its_reason(
    slurm: Slurm, reason: str
) -> None:
    slurm.set(state="IDLE+DRAIN", reason=reason)
    assert slurm.run("drain").returncode == 0
    assert slurm.run("restore").returncode == 0
    assert (slurm["state"], slurm["reason"]) == ("IDLE+DRAIN", reason)


def test_given_another_reason_meanwhile_when_restored_then_the_node_stays_drained(slurm: Slurm) -> None:
    assert slurm.run("drain").returncode == 0
    slurm.set(reason="bad memory")
    assert slurm.run("restore").returncode == 0
    assert slurm["state"] == "IDLE+DRAIN"


def test_given_a_slurmd_that_is_not_there_yet_when_restored_then_the_node_is_not_resumed_until_it_is(
    slurm: Slurm,
) -> None:
    assert slurm.run("drain").returncode == 0
    slurm.set(failing=["show slurmd"])
    restored = slurm.run("restore")
    assert restored.returncode != 0
    assert "slurmd does not answer" in restored.stderr
    assert slurm["state"] == "IDLE+DRAIN"
    slurm.set(failing=[])
    assert slurm.run("restore").returncode == 0
    assert slurm["state"] == "IDLE"


# --- Pacemaker: run in the lab, scenario recipes_cluster; here what a healthy cluster does not do -----

# One program for all of them; what it says is what those of Pacemaker 2.1.5 and Corosync 3.1 said.
PACEMAKER = '''#!%s -IS
"""Stands in for Pacemaker's and Corosync's programs, and for a cluster, which is in a file beside it."""
import json, os, sys

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster.json")
with open(path) as file:
    cluster = json.load(file)
name = os.path.basename(sys.argv[0])
words = sys.argv[1:]
cluster["calls"] += 1
status = 0
if name == "systemctl":
    status = 0 if cluster["active"] else 3
elif cluster["calls"] == cluster["fails_at"]:
    sys.stderr.write("Error performing operation: Transport endpoint is not connected\\n")
    status = 102
elif name == "crm_node":
    print("ha0")
elif name == "crm_attribute":
    assert words[:2] == ["--node", "ha0"] and words[2] == "--name", words
    attribute, action = words[3], words[4]
    if action == "--query":
        print(cluster["attributes"].get(attribute, words[words.index("--default") + 1]))
    elif action == "--update":
        cluster["attributes"][attribute] = words[5]
    else:
        assert action == "--delete", words
        cluster["attributes"].pop(attribute, None)
elif name == "crm_mon":
    standby = cluster["attributes"].get("standby", "off") != "off"
    running = 1 if cluster["stuck"] or not standby else 0
    print('    <node name="ha0" id="1" online="true" resources_running="%%d" type="member"/>' %% running)
    print('    <node name="ha1" id="2" online="true" resources_running="3" type="member"/>')
    print('      <node name="ha0" id="1" cached="true"/>')
elif name == "crm_resource":
    assert words[0] == "--wait" and words[1].startswith("--timeout="), words
    if cluster["starting"]:
        sys.stderr.write("crm_resource: Error performing operation: Timeout occurred\\n")
        status = 124
elif name == "corosync-quorumtool":
    print("Expected votes:   3")
    call, votes = cluster["votes_from"]
    if cluster["calls"] >= call:
        cluster["votes"] = votes
    print("Total votes:      %%d" %% cluster["votes"])
    print("Quorum:           2  ")
    print("    Nodeid      Votes Name")
    print("         1          1 ha0 (local)")
    print("         2          1 ha1")
    status = 0 if cluster["votes"] > 1 else 2
else:
    raise AssertionError(name)
with open(path, "w") as file:
    json.dump(cluster, file)
sys.exit(status)
'''


class Pacemaker(StandIn):
    """A node of Pacemaker, and the programs that ask about it."""

    def __init__(self, directory: Path) -> None:
        programs = ("crm_attribute", "crm_mon", "crm_node", "crm_resource", "corosync-quorumtool", "systemctl")
        state = {"active": True, "stuck": False, "starting": False, "votes": 3, "attributes": {}, "fails_at": None}
        super().__init__(directory, "cluster.json", PACEMAKER, programs, **state, votes_from=(99, 0), calls=0)

    def set(self, **values: Any) -> None:
        super().set(calls=0, **values)

    def run(self, stage: str, seconds: int = 30) -> Ended:
        return self.run_hook(hook_of("pacemaker.md", stage), seconds)


@pytest.fixture
def pacemaker(tmp_path: Path) -> Pacemaker:
    return Pacemaker(tmp_path)


@pytest.mark.parametrize("call", range(2, 10))
def test_given_a_drain_that_breaks_off_when_it_is_run_again_then_its_restore_still_ends_the_standby(
    pacemaker: Pacemaker, call: int
) -> None:
    pacemaker.set(fails_at=call)
    # Among them is corosync-quorumtool, whose status means nothing: no answer must not be taken for a yes.
    assert pacemaker.run("drain").returncode != 0
    pacemaker.set(fails_at=None)
    drained = pacemaker.run("drain")
    assert drained.returncode == 0, drained.stderr
    assert pacemaker["attributes"] == {"foghorn-standby": "true", "standby": "on"}
    assert pacemaker.run("restore").returncode == 0
    assert pacemaker["attributes"] == {}


@pytest.mark.parametrize("call", range(1, 5))
def test_given_a_restore_that_breaks_off_when_it_is_run_again_then_the_standby_ends(
    pacemaker: Pacemaker, call: int
) -> None:
    assert pacemaker.run("drain").returncode == 0
    pacemaker.set(fails_at=call)
    assert pacemaker.run("restore").returncode != 0
    pacemaker.set(fails_at=None)
    assert pacemaker.run("restore").returncode == 0
    assert pacemaker["attributes"] == {}


@pytest.mark.parametrize("standby", ["on", "true", "YES", "1"])
def test_given_a_node_that_an_operator_put_on_standby_when_drained_and_restored_then_it_stays_there(
    pacemaker: Pacemaker, standby: str
) -> None:
    pacemaker.set(attributes={"standby": standby})
    assert pacemaker.run("drain").returncode == 0
    assert pacemaker.run("restore").returncode == 0
    assert pacemaker["attributes"] == {"standby": standby}


def test_given_a_resource_that_stays_when_time_is_up_then_the_drain_fails_and_says_so(pacemaker: Pacemaker) -> None:
    pacemaker.set(stuck=True)
    drained = pacemaker.run("drain", 4)
    assert drained.returncode != 0
    assert "ha0 is on standby, and 1 of its resources still run there" in drained.stderr


def test_given_a_resource_that_is_still_starting_elsewhere_when_time_is_up_then_the_drain_fails_and_says_so(
    pacemaker: Pacemaker,
) -> None:
    pacemaker.set(starting=True)
    drained = pacemaker.run("drain")
    assert drained.returncode != 0
    assert "Timeout occurred" in drained.stderr


def test_given_others_without_a_quorum_when_drained_then_nothing_is_moved_and_the_drain_fails_and_says_why(
    pacemaker: Pacemaker,
) -> None:
    pacemaker.set(votes=2)
    drained = pacemaker.run("drain")
    assert drained.returncode != 0
    assert "without ha0 the cluster has 1 votes and needs 2" in drained.stderr
    assert pacemaker["attributes"] == {}


def test_given_another_node_that_fails_meanwhile_when_drained_then_the_drain_fails(pacemaker: Pacemaker) -> None:
    # By the time that the resources are elsewhere.
    pacemaker.set(attributes={"foghorn-standby": "true", "standby": "on"}, votes_from=(4, 2))
    drained = pacemaker.run("drain")
    assert drained.returncode != 0
    assert "without ha0 the cluster has 1 votes and needs 2" in drained.stderr


def test_given_a_drain_that_fails_when_its_policy_is_read_then_the_node_does_not_leave_the_cluster() -> None:
    (policy,) = role_of("pacemaker.md")["handler_agent_policies"]
    assert policy["on_failure"] == "stop"


def test_given_a_stopped_pacemaker_when_drained_then_there_is_nothing_to_do(
    pacemaker: Pacemaker,
) -> None:
    pacemaker.set(active=False)
    assert pacemaker.run("drain").returncode == 0
    assert pacemaker["attributes"] == {}
