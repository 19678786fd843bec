# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role handler_agent and the playbook install_agent, on files of their own; a systemctl of ours records its calls.

As root, or as root of a user namespace: what is installed has to belong to root.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ansible_runs

HERE = Path(__file__).parent
PATIENCE = 300.0  # seconds; machines are slow and shared
PYTHON = "/usr/bin/python3"
AS_ROOT = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
# To the root of a user namespace, what belongs to root is nobody's.
CHOOSES = not AS_ROOT and os.path.exists(PYTHON)
POLICY = {
    "name": "web",
    "match": {"event_types": ["Reboot"]},
    "drain": [{"pause": 12}],
    "shutdown": [
        {"stop": unit} for unit in ("nginx", "app.socket", "srv-data.mount", "work@1.timer", "work@1.service")
    ],
    "restore": [{"start": "nginx.service"}],
    "approve": "quorum",
}


def may_be_root() -> bool:
    """Whether files can be made that belong to root."""
    return not AS_ROOT or (
        shutil.which("unshare") is not None and subprocess.run([*AS_ROOT, "true"], check=False).returncode == 0
    )


pytestmark = pytest.mark.skipif(not may_be_root(), reason="needs root, or user namespaces")


class Machine:
    """A machine to install on: a directory with all that the role would put elsewhere."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "root"
        self.systemd = directory / "systemd"
        self.program = self.root / "lib" / "foghorn" / "foghorn-agent"
        self.command = self.root / "bin" / "foghorn-agent"
        self.config = self.root / "etc" / "foghorn" / "agent.json"
        self.hooks = self.root / "etc" / "foghorn" / "hooks.d"
        self.secret = self.config.with_name("members.secret")
        self.journal = self.root / "var" / "foghorn" / "agent"
        self.unit = self.root / "foghorn-agent.service"
        self.socket = self.root / "foghorn-agent.socket"
        self.preset = self.root / "presets" / "50-foghorn-agent.preset"
        self.problem = directory / "problem"
        self.output = ""
        bin_directory = directory / "bin"
        for path in (self.systemd, self.command.parent, bin_directory):
            path.mkdir(parents=True)
        # Whatever a umask made of them: nobody else may write on the way to what root runs.
        for path in (directory, self.root):
            path.chmod(0o755)
        (bin_directory / "systemctl").symlink_to(HERE / "systemctl")
        self._environment = dict(
            os.environ,
            PATH=f"{bin_directory}:{os.environ['PATH']}",
            SYSTEMCTL_STATE=str(self.systemd),
            FOGHORN_UNIT=str(self.unit),
        )

    def play(
        self,
        *arguments: str,
        booted: bool = True,
        playbook: str = "foghorn.azure_events.install_agent",
        inventory: str = "machine,",
        **variables: Any,
    ) -> int:
        """Run a playbook; return its exit status."""
        internal = {
            "ansible_python_interpreter": sys.executable,
            "__handler_agent_program": str(self.program),
            "__handler_agent_command": str(self.command),
            "__handler_agent_config": str(self.config),
            "__handler_agent_hooks": str(self.hooks),
            "__handler_agent_secret_file": str(self.secret),
            "__handler_agent_journal": str(self.journal),
            "__handler_agent_unit": str(self.unit),
            "__handler_agent_socket": str(self.socket),
            "__handler_agent_preset": str(self.preset),
            "__handler_agent_booted": booted,
            "__handler_agent_ask": [
                *(sys.executable, str(HERE / "status.py")),
                *(str(self.config), str(self.problem), str(self.systemd)),
            ],
        }
        if not CHOOSES:
            internal.update(__handler_agent_chooses=False, __handler_agent_interpreter=PYTHON)
        options = [
            *("--inventory", inventory, "--connection", "machine"),
            *("--extra-vars", json.dumps(dict(internal, **variables)), *arguments),
            playbook,
        ]
        if AS_ROOT:
            run = subprocess.run(
                [*AS_ROOT, "ansible-playbook", *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment,
                timeout=PATIENCE,
                text=True,
                check=False,
            )
        else:
            run = ansible_runs.run(*options, environment=self._environment)
        self.output = run.stdout
        return run.returncode

    @property
    def changes(self) -> int:
        """How many tasks of the last run changed something."""
        recap = re.search(r"^machine .*changed=(\d+)", self.output, re.MULTILINE)
        assert recap, self.output
        return int(recap.group(1))

    def take_calls(self) -> list[str]:
        """The changes that systemctl was told to make since the last call."""
        calls = self.systemd / "calls"
        if not calls.exists():
            return []
        taken = calls.read_text().split()
        calls.unlink()
        return taken

    def files(self) -> list[str]:
        """All that lies on the machine, without the directories."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine with nothing of ours on it."""
    return Machine(tmp_path / "machine")


def complaints_of_systemd(machine: Machine) -> str:
    """What systemd says of the unit, next to the units that its steps stop."""
    if shutil.which("systemd-analyze") is None:
        return ""
    units = machine.root / "units"
    units.mkdir()
    for name, content in {
        "nginx.service": "[Service]\nExecStart=/bin/true\n",
        "app.socket": "[Socket]\nListenStream=127.0.0.1:9\n",
        "app.service": "[Service]\nExecStart=/bin/true\n",
        "srv-data.mount": "[Mount]\nWhat=tmpfs\nWhere=/srv/data\nType=tmpfs\n",
        "work@.timer": "[Timer]\nOnBootSec=1\n",
        "work@.service": "[Service]\nExecStart=/bin/true\n",
    }.items():
        (units / name).write_text(content)
    shutil.copy(machine.unit, units)
    shutil.copy(machine.socket, units)
    # As a boot sees them. One unit alone is never found to be in a circle.
    for target, unit in {
        "multi-user": "foghorn-agent.service",
        "sockets": "app.socket",
        "local-fs": "srv-data.mount",
        "timers": "work@1.timer",
    }.items():
        wants = units / f"{target}.target.wants"
        wants.mkdir()
        (wants / unit).symlink_to(units / unit.replace("@1", "@"))
    said = subprocess.run(
        ["systemd-analyze", "verify", "multi-user.target"],
        env=dict(os.environ, SYSTEMD_UNIT_PATH=f"{units}:"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    shutil.rmtree(units)
    # What it says of other units of the test machine does not matter.
    return "".join(line for line in said.stdout.splitlines(True) if "foghorn" in line or "ordering cycle" in line)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_given_a_bare_machine_when_installed_changed_and_removed_then_each_time_only_what_has_to_be_done_is_done(
    machine: Machine,
) -> None:
    # Only says what would be done, and before anything is installed, what would be done about each type.
    assert machine.play("--check", "--diff", handler_agent_policies=[POLICY]) == 0, machine.output
    assert machine.changes > 0
    for event_type in ("Preempt", "Terminate", "Redeploy", "Reboot", "SpotRebalanceRecommendation", "Freeze"):
        assert f"{event_type} of this VM, from Platform, which may start" in machine.output
    assert (machine.files(), machine.take_calls()) == ([], [])

    hook = {"stage": "drain", "name": "10-deregister", "content": "#!/bin/sh\nexit 0\n"}
    assert machine.play(handler_agent_hooks=[hook]) == 0, machine.output
    assert machine.take_calls() == ["daemon-reload", "enable", "start"]
    assert machine.files() == [
        "bin/foghorn-agent",
        "etc/foghorn/agent.json",
        "etc/foghorn/hooks.d/drain/10-deregister",
        "foghorn-agent.service",
        "foghorn-agent.socket",
        "lib/foghorn/foghorn-agent",
        "presets/50-foghorn-agent.preset",
    ]
    installed = (machine.program, machine.config, machine.unit, machine.socket)
    assert [mode_of(path) for path in installed] == [0o755, 0o600, 0o644, 0o644]
    for directory in (machine.config.parent, machine.hooks, machine.hooks / "check", machine.journal.parent):
        assert mode_of(directory) == 0o755
    assert mode_of(machine.hooks / "drain" / "10-deregister") == 0o755
    said = subprocess.run([*AS_ROOT, machine.command, "version"], stdout=subprocess.PIPE, check=True)
    assert said.stdout.startswith(b"foghorn-agent ")
    assert f"ExecStart={PYTHON} -IS {machine.program} run\n" in machine.unit.read_text()

    members: dict[str, Any] = {
        "handler_agent_hooks": [hook],
        "handler_agent_members_group": "all",
        "handler_agent_address": "fd00::4",
        "handler_agent_vm_name": "web_0",
        # What another takes in would keep the socket from being opened.
        "handler_agent_listen": [{"address": one} for one in ("127.0.0.1", "::1", "0.0.0.0", "::1")],
    }
    assert machine.play(handler_agent_policies=[POLICY], **members) == 0, machine.output
    # The old port goes first, and the new one comes with the restart.
    assert machine.take_calls() == ["daemon-reload", "stop-socket", "restart"]
    assert re.findall("(?m)^ListenStream=(.*)$", machine.socket.read_text()) == ["0.0.0.0:9797", "[::1]:9797"]
    assert json.loads(machine.config.read_text())["quorum"] == {
        "secret_file": str(machine.secret),
        "members": {"web_0": "http://[fd00::4]:9797"},
    }
    # Made once, for root alone, and never shown.
    secret = machine.secret.read_text().strip()
    assert mode_of(machine.secret) == 0o600
    assert len(secret) == 64
    assert secret not in machine.output
    # The group is this machine alone: nobody would be left.
    assert machine.play("--check", handler_agent_keep_in_service=1, **members) == 2
    assert "handler_agent_keep_in_service: 1 of the 1 machines of all cannot stay" in " ".join(machine.output.split())
    assert machine.play(handler_agent_policies=[POLICY], **members) == 0, machine.output
    assert (machine.changes, machine.secret.read_text().strip(), machine.take_calls()) == (0, secret, [])

    # Exchanged without a restart, with the previous one. The configuration alone needs no restart either, and the
    # play fails if the agent will not have it.
    given: dict[str, Any] = {"handler_agent_members_secret": "n" * 32, "handler_agent_members_old_secret": secret}
    machine.problem.write_text("a disk is gone")
    assert machine.play(handler_agent_policies=[POLICY], handler_agent_margin=20, **members, **given) == 2
    assert machine.secret.read_text().split() == ["n" * 32, secret]
    assert secret not in machine.output
    assert machine.take_calls() == ["reload"]
    assert "the agent has refused the configuration, and goes on with the one before: a disk is gone" in " ".join(
        machine.output.split()
    )
    machine.problem.unlink()
    assert json.loads(machine.config.read_text())["policies"] == [POLICY]
    assert "\nBefore=multi-user.target nginx.service work@1.service\n" in machine.unit.read_text()
    assert complaints_of_systemd(machine) == ""

    # An agent that listens nowhere has no socket.
    silent = dict(members, handler_agent_listen=[], handler_agent_members_group="")
    assert machine.play(handler_agent_policies=[POLICY], **silent) == 0, machine.output
    assert machine.take_calls() == ["stop-socket", "daemon-reload", "restart"]
    assert (machine.socket.exists(), "foghorn-agent.socket" in machine.unit.read_text()) == (False, False)

    # Of others, who have the machine out.
    neighbours = [machine.config.with_name("azure_simulator.json"), machine.journal.with_name("out_of_rotation")]
    for neighbour in neighbours:
        neighbour.write_text("{}")
    # As long as it is the only one that would restore the machine, it stays, running or not.
    drained = {"kind": "manual", "wanted": True, "at": 0.0}
    machine.journal.mkdir()
    (machine.journal / "journal.jsonl").write_text(json.dumps(drained) + "\n")
    assert machine.play(handler_agent_state="absent") == 2
    assert "nothing was removed: the agent keeps this machine out of rotation" in " ".join(machine.output.split())
    assert machine.take_calls() == []
    (machine.journal / "journal.jsonl").unlink()
    assert machine.play(handler_agent_state="absent") == 0, machine.output
    assert machine.take_calls() == ["disable", "stop", "daemon-reload"]
    assert machine.files() == [str(neighbour.relative_to(machine.root)) for neighbour in neighbours]
    assert not machine.journal.exists()
    assert machine.play(handler_agent_state="absent") == 0, machine.output
    assert (machine.changes, machine.take_calls()) == (0, [])


def test_given_a_run_that_failed_halfway_when_played_again_then_the_agent_runs_what_is_installed(
    machine: Machine,
) -> None:
    assert machine.play() == 0, machine.output
    machine.take_calls()
    secret = machine.config.with_name("ours.secret")
    quorum = {"secret_file": str(secret), "members": {"web_1": "http://10.0.0.1:9797"}}
    assert machine.play(handler_agent_quorum=quorum) == 2
    assert (str(secret) in machine.config.read_text(), machine.take_calls()) == (True, [])
    secret.write_text("s" * 32)
    secret.chmod(0o600)
    assert machine.play(handler_agent_quorum=quorum) == 0, machine.output
    assert (machine.changes, machine.take_calls()) == (2, ["reload"])

    # It has refused it, and still does.
    machine.problem.write_text("a disk is gone")
    assert machine.play(handler_agent_quorum=quorum) == 2
    assert "the agent has refused the configuration" in " ".join(machine.output.split())
    machine.problem.unlink()
    machine.take_calls()

    # The program or a unit was installed after it was started.
    os.utime(machine.systemd / "active", (0, 0))
    assert machine.play(handler_agent_quorum=quorum) == 0, machine.output
    assert machine.take_calls() == ["daemon-reload", "restart"]
    assert machine.play(handler_agent_quorum=quorum) == 0, machine.output
    assert (machine.changes, machine.take_calls()) == (0, [])


@pytest.mark.skipif(not CHOOSES, reason="needs root, and its Python")
def test_given_a_login_that_prints_text_when_installed_then_the_python_that_was_chosen_runs_the_agent(
    machine: Machine,
) -> None:
    shell = machine.directory / "sh"
    shell.write_text('#!/bin/sh\necho Welcome\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)

    assert machine.play(booted=False, ansible_shell_executable=str(shell)) == 0, machine.output

    assert f"ExecStart={PYTHON} -IS {machine.program} run\n" in machine.unit.read_text()


def test_given_a_machine_that_does_not_run_systemd_when_installed_then_it_is_enabled_and_nothing_is_started(
    machine: Machine,
) -> None:
    computed = dict(POLICY, drain=[{"pause": "{{ interval * 2 + 2 }}"}, {"pause": "{{ interval | int }}"}])
    assert machine.play(handler_agent_policies=[computed], interval=5, booted=False) == 0, machine.output
    assert machine.take_calls() == ["enable"]
    # Before ansible-core 2.19 they are texts, which the agent accepts as well.
    drain = json.loads(machine.config.read_text())["policies"][0]["drain"]
    assert [str(step["pause"]) for step in drain] == ["12", "5"]
    # The image has no secret either: all machines made of it would share it.
    assert json.loads(machine.config.read_text())["quorum"] == {"secret_file": str(machine.secret)}
    assert not machine.secret.exists()
    # Nothing of the machine that builds an image goes into it.
    assert not machine.journal.exists()
    assert json.loads(machine.config.read_text())["imds"] == {}


def test_given_a_machine_for_an_image_when_told_to_start_nothing_then_it_is_only_enabled(machine: Machine) -> None:
    assert machine.play(handler_agent_service_state="stopped") == 0, machine.output
    assert machine.take_calls() == ["daemon-reload", "enable"]

    assert machine.play(handler_agent_state="absent") == 0, machine.output
    assert not machine.config.parent.exists()


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="needs systemd's own systemctl")
def test_given_an_image_without_a_machine_id_when_its_first_boot_applies_all_presets_then_the_agent_stays_enabled(
    machine: Machine,
) -> None:
    assert machine.play(booted=False) == 0, machine.output
    tree = machine.directory / "tree"
    units = tree / "etc" / "systemd" / "system"
    presets = tree / "etc" / "systemd" / "system-preset"
    of_the_distribution = tree / "usr" / "lib" / "systemd" / "system-preset"
    for path in (units, of_the_distribution):
        path.mkdir(parents=True)
    shutil.copy(machine.unit, units)
    shutil.copytree(machine.preset.parent, presets)
    # As Fedora, RHEL and Azure Linux have it.
    (of_the_distribution / "99-default-disable.preset").write_text("disable *\n")
    offline = ["systemctl", f"--root={tree}"]
    subprocess.run([*offline, "enable", machine.unit.name], check=True)

    subprocess.run([*offline, "preset-all"], check=True)

    said = subprocess.run([*offline, "is-enabled", machine.unit.name], stdout=subprocess.PIPE, text=True, check=False)
    assert said.stdout == "enabled\n"


def test_given_facts_of_the_machine_before_it_was_rebuilt_when_installed_then_its_own_count(
    machine: Machine, tmp_path: Path
) -> None:
    cached: dict[str, Any] = {"python": {"executable": "/usr/bin/python2", "version_info": [2, 7, 5, "final", 0]}}
    cached |= {"service_mgr": "upstart", "is_chroot": False, "cacheable": True}
    play = {"hosts": "all", "gather_facts": False, "tasks": [{"ansible.builtin.set_fact": cached}]}
    site = [play, {"ansible.builtin.import_playbook": "foghorn.azure_events.install_agent"}]
    (tmp_path / "site.yml").write_text(json.dumps(site))

    assert machine.play("--check", playbook=str(tmp_path / "site.yml")) == 0, machine.output


@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_given_hosts_that_do_not_go_in_step_when_played_then_they_are_refused_before_anything_is_touched(
    machine: Machine, tmp_path: Path, strategy: str
) -> None:
    play = {
        "hosts": "all",
        "gather_facts": False,
        "strategy": strategy,
        "roles": ["foghorn.azure_events.handler_agent"],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]))

    # One after the other: the second does not go on because the first has failed.
    assert machine.play("--forks=1", playbook=str(tmp_path / "play.yml"), inventory="machine,other")
    assert f"strategy: is {strategy}, in which" in " ".join(machine.output.split())
    assert machine.files() == []


@pytest.mark.parametrize(
    ("variables", "complaints"),
    [
        (
            {"handler_agent_policies": [{"aprove": "quorum", "drain": [{"pause": -1}]}], "handler_agent_margin": -3},
            [
                "handler_agent_margin: expected seconds from 0 to 86400, got -3",
                "handler_agent_policies[0].drain[0].pause: expected seconds from 0.001 to 86400, got -1",
                "handler_agent_policies[0].aprove: is not an option here",
            ],
        ),
        (
            {"handler_agent_hooks": [{"stage": "drain", "name": "../../cron.d/x", "content": "#!/bin/sh\n"}]},
            ['handler_agent_hooks: the name "../../cron.d/x" may only have letters'],
        ),
        pytest.param(
            {"handler_agent_python": "/tmp/python3"},
            ["handler_agent_python: /tmp/python3: cannot be checked: /tmp/python3: No such file or directory"],
            marks=pytest.mark.skipif(not CHOOSES, reason="needs root, and a Python of the system's"),
        ),
        (
            {"handler_agent_members_secret": "sesame"},
            ["handler_agent_members_secret and handler_agent_members_old_secret 32 to 256 characters"],
        ),
        (
            {
                "handler_agent_state": "gone",
                "handler_agent_hooks": [{"stage": "start", "name": "x", "content": "#!/bin/sh\n"}],
                "handler_agent_listen": [{"port": 9797}],
            },
            [
                "value of handler_agent_state must be one of: present, absent, got: gone",
                "value of stage must be one of: drain, shutdown, restore, check, got: start found in",
                "missing required arguments: address found in handler_agent_listen",
            ],
        ),
    ],
)
def test_given_a_mistake_in_a_variable_when_played_then_it_is_named_before_anything_is_touched(
    variables: dict[str, Any], complaints: list[str], machine: Machine
) -> None:
    assert machine.play(**variables) == 2, machine.output
    said = " ".join(machine.output.split())
    for complaint in complaints:
        assert complaint in said
    assert (machine.changes, machine.files(), machine.take_calls()) == (0, [], [])
