# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The templates that build images say what docs/images.md says, and what there is."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PACKER = ROOT / "extensions" / "packer"
IMAGE_BUILDER = ROOT / "extensions" / "image_builder" / "template.json"


def test_given_the_playbook_of_an_image_when_it_is_read_then_it_installs_and_then_proves() -> None:
    plays = yaml.safe_load((PACKER / "image.yml").read_text(encoding="utf-8"))

    assert [play["ansible.builtin.import_playbook"] for play in plays] == [
        "foghorn.azure_events.install_agent",
        "foghorn.azure_events.verify_image",
    ]


def test_given_the_template_for_packer_when_it_is_read_then_nothing_follows_the_deprovisioning() -> None:
    template = (PACKER / "azure_events.pkr.hcl").read_text(encoding="utf-8")

    assert re.findall(r'^  provisioner "(\w+)"', template, re.MULTILINE) == ["ansible", "shell"]
    assert "handler_agent_service_state=stopped" in template
    assert "waagent -force -deprovision+user" in template


@pytest.mark.parametrize(("status", "emptied"), [(0, "--size 0 /etc/machine-id\n"), (1, "")])
def test_given_the_last_step_of_packer_when_run_then_the_image_has_no_machine_id_and_is_none_without_waagent(
    tmp_path: Path, status: int, emptied: str
) -> None:
    template = (PACKER / "azure_events.pkr.hcl").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^    inline +=(.+)$", template, re.MULTILINE)
    for name, does in {"waagent": f"exit {status}", "truncate": f'echo "$@" >{tmp_path}/emptied', "sync": ""}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "emptied").touch()

    done = subprocess.run(
        ["/bin/sh"], input="\n".join(json.loads(commands)), env={"PATH": str(tmp_path)}, text=True, check=False
    )

    assert (done.returncode, (tmp_path / "emptied").read_text()) == (status, emptied)


@pytest.mark.skipif(shutil.which("packer") is None, reason="there is no packer on this machine")
def test_given_packer_when_it_validates_the_template_then_it_has_no_complaints(tmp_path: Path) -> None:
    for name in ("azure_events.pkr.hcl", "image.yml"):
        shutil.copy(PACKER / name, tmp_path)
    (tmp_path / "agent.yml").write_text("---\n")
    given = {"subscription_id": "11111111-2222-3333-4444-555555555555", "resource_group": "images", "image_name": "web"}

    done = subprocess.run(
        ["packer", "validate", *(f"-var={name}={value}" for name, value in given.items()), "azure_events.pkr.hcl"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "CHECKPOINT_DISABLE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_given_the_template_for_image_builder_when_it_is_read_then_it_installs_validates_and_deprovisions_itself() -> (
    None
):
    template: dict[str, Any] = json.loads(IMAGE_BUILDER.read_text(encoding="utf-8"))
    (resource,) = template["resources"]
    properties = resource["properties"]
    installing = "\n".join(properties["customize"][1]["inline"])
    validating = "\n".join(properties["validate"]["inVMValidations"][0]["inline"])

    assert resource["type"] == "Microsoft.VirtualMachineImages/imageTemplates"
    assert "foghorn.azure_events.install_agent" in installing
    assert "handler_agent_service_state=stopped" in installing
    assert installing.index("install_agent") < installing.index("foghorn.azure_events.verify_image")
    assert installing.splitlines()[-1] == "sudo truncate --size 0 /etc/machine-id"
    # On a machine that was started from the image.
    assert re.search(r"foghorn.azure_events.verify_image .*-e verify_image_has_booted=true", validating)
    assert set(re.findall(r"parameters\('(\w+)'\)", json.dumps(resource))) == set(template["parameters"])
