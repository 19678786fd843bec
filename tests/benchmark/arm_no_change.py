# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A task that finds nothing to change, beside the nearest thing that azure.azcollection has: what does each take?

Ours reads a scale set, compares its terminate notification and is done. Theirs, azure_rm_virtualmachinescaleset_info,
only reads it. Both run from playbooks of their own environment, against the same simulator, over TLS and signed in
with the same secret. What Ansible takes to start is not counted: a playbook with several tasks is compared with one
that has a single task. Fails when ours takes more than 0.3 of theirs. What it asks for is counted by a test
(tests/unit/plugins/module_utils/arm/test_request_counts.py).

The environment of azure.azcollection is made below .cache when it is missing, which takes minutes and 2 GB. Its version
is the one in PyPI's package `ansible`, which requirements/awx.in pins; the collection pins what it needs itself. Only
loopback addresses are used otherwise.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GUARD = ROOT / "tests" / "guard"
sys.path.insert(0, str(ROOT / "roles" / "azure_simulator" / "files"))

from azure_simulator.arm import certificate  # noqa: E402 - found on the path set above
from azure_simulator.testing import Simulator  # noqa: E402

ENVIRONMENT = ROOT / ".cache" / "venv-azcollection"
PINNED = ROOT / "requirements" / "awx.in"
SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-999999999999"
TENANT = "99999999-aaaa-4bbb-8ccc-999999999999"
CLIENT = "cccccccc-aaaa-4bbb-8ccc-999999999999"
SECRET = "of-no-use-elsewhere"
REQUIRED_SHARE = 0.3

OURS: dict[str, Any] = {
    "foghorn.azure_events.vmss_terminate_notification": {
        "resource_group": "rg",
        "name": "web",
        "not_before_timeout": "10m",
    }
}
THEIRS: dict[str, Any] = {
    "azure.azcollection.azure_rm_virtualmachinescaleset_info": {"resource_group": "rg", "name": "web"}
}

# azure-cli-core holds the addresses of the clouds, and azure.azcollection lets nobody say another one.
REDIRECTION = '''
import importlib.util
import os
import sys


class Redirection:
    """Gives the public cloud the simulator's address as soon as azure-cli-core has named it."""

    def find_spec(self, name, path=None, target=None):
        if name != "azure.cli.core.cloud":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_redirect(module):
            execute(module)
            module.AZURE_PUBLIC_CLOUD.endpoints.resource_manager = os.environ["FOGHORN_ARM_BASE_URL"]

        spec.loader.exec_module = execute_and_redirect
        return spec


sys.meta_path.insert(0, Redirection())
'''


class Side(NamedTuple):
    """One side of the comparison."""

    name: str
    playbook: Path
    """The command ansible-playbook of its environment."""
    task: Mapping[str, Any]
    environment: Mapping[str, str]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="where azure.azcollection is installed")
    parser.add_argument("--tasks", type=int, default=5, help="tasks in a long playbook (default: 5)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run, in turn (default: 5)")
    options = parser.parse_args()
    make_environment(options.environment)
    (manifest,) = options.environment.glob(
        "lib/python*/site-packages/ansible_collections/azure/azcollection/MANIFEST.json"
    )
    version = json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"]
    with tempfile.TemporaryDirectory() as directory:
        ours, theirs = compare(Path(directory), options)
    share = ours / theirs
    print(f"ours   {ours:6.2f} s a task (vmss_terminate_notification, nothing to change)")
    print(f"theirs {theirs:6.2f} s a task (azure_rm_virtualmachinescaleset_info of azure.azcollection {version})")
    print(f"share  {share:6.0%} (at most {REQUIRED_SHARE:.0%})")
    if share > REQUIRED_SHARE:
        print(f"error: ours takes {share:.0%} of theirs", file=sys.stderr)
        return 1
    return 0


def make_environment(directory: Path) -> None:
    """Install azure.azcollection with all that it needs, unless that was done."""
    done = directory / ".installed"
    pinned = PINNED.read_text(encoding="utf-8")
    if done.exists() and done.read_text(encoding="utf-8") == pinned:
        return
    print(f"set-up: {directory}: installing ansible and the requirements of azure.azcollection …", flush=True)
    pip = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
        subprocess.run([*pip, "--requirement", str(PINNED)], check=True)
        (requirements,) = directory.glob(
            "lib/python*/site-packages/ansible_collections/azure/azcollection/requirements.txt"
        )
        subprocess.run([*pip, "--requirement", str(requirements)], check=True)
    except subprocess.CalledProcessError as error:
        raise SystemExit(
            f"error: nothing was compared, for azure.azcollection cannot be installed in {directory}: {error}"
        ) from None
    done.write_text(pinned, encoding="utf-8")


def compare(directory: Path, options: argparse.Namespace) -> tuple[float, float]:
    """Seconds that one task takes on either side."""
    (directory / "redirection").mkdir()
    (directory / "redirection" / "sitecustomize.py").write_text(REDIRECTION)
    keys = certificate.make(directory)
    fleet = {
        "vms": [{"name": "web_{0..2}", "address": "127.0.80.0/28", "scale_set": "web"}],
        "arm": {
            "subscription_id": SUBSCRIPTION,
            "tenant_id": TENANT,
            "clients": [{"client_id": CLIENT, "secret": SECRET}],
            "scale_sets": [{"name": "web", "terminate_notification": "PT10M"}],
            "tls": {"certificate": str(keys.certificate), "private_key": str(keys.private_key)},
        },
    }
    with Simulator(fleet) as azure:
        common = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "AZURE_CLIENT_ID": CLIENT,
            "AZURE_SECRET": SECRET,
            "AZURE_TENANT": TENANT,
            "AZURE_SUBSCRIPTION_ID": SUBSCRIPTION,
            "AZURE_ADFS_AUTHORITY_URL": azure.arm_tls,
            "AZURE_DISABLE_INSTANCE_DISCOVERY": "true",
            "FOGHORN_ARM_BASE_URL": azure.arm_tls,
            "REQUESTS_CA_BUNDLE": str(keys.certificate),
            "PYTHONPATH": str(GUARD),
        }
        sides = (
            Side(
                "ours",
                Path(sys.executable).parent / "ansible-playbook",
                OURS,
                {**common, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".cache" / "collections")},
            ),
            Side(
                "theirs",
                options.environment / "bin" / "ansible-playbook",
                THEIRS,
                {**common, "PYTHONPATH": os.pathsep.join([str(GUARD), str(directory / "redirection")])},
            ),
        )
        for side in sides:
            # One run that does not count: it warms the caches.
            run(side, 1, directory)
        # The quickest of each: whatever else the machine does only adds to what a playbook takes.
        alone = {side.name: math.inf for side in sides}
        together = dict(alone)
        for _unused in range(options.rounds):
            for side in sides:
                alone[side.name] = min(alone[side.name], run(side, 1, directory))
                together[side.name] = min(together[side.name], run(side, options.tasks, directory))
    ours, theirs = ((together[side.name] - alone[side.name]) / (options.tasks - 1) for side in sides)
    if ours <= 0 or theirs <= 0:
        raise SystemExit("error: the machine was too busy to measure anything: try again, with more --rounds")
    return ours, theirs


def run(side: Side, tasks: int, directory: Path) -> float:
    """Run a playbook with so many of the side's tasks, none of which changes anything; return the seconds it took."""
    task = {"name": "Ask", **side.task, "register": "asked", "failed_when": "asked is failed or asked is changed"}
    play = {"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task] * tasks}
    playbook = directory / "play.json"
    playbook.write_text(json.dumps([play]))
    began = time.perf_counter()
    done = subprocess.run(
        [
            str(side.playbook),
            "-i",
            "localhost,",
            "-e",
            "ansible_python_interpreter={{ansible_playbook_python}}",
            str(playbook),
        ],
        env=dict(side.environment),
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    took = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"error: {side.name} failed:\n{done.stdout}")
    return took


if __name__ == "__main__":
    sys.exit(main())
