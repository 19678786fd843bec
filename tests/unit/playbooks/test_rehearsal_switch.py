# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine whose rehearsal nobody ends hears Azure again by itself."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2.nativetypes import NativeEnvironment

PLAYBOOKS = Path(__file__).parents[3] / "playbooks"
OWN = yaml.safe_load((PLAYBOOKS / "vars" / "rehearse.yml").read_text())
(_CLOCK, INSTALL, START) = yaml.safe_load((PLAYBOOKS / "tasks" / "rehearse" / "set_switch.yml").read_text())


def rendered(value: Any, **variables: Any) -> Any:
    """What a text of the playbook is; variables that it names come from the playbook."""
    if isinstance(value, list):
        return [rendered(one, **variables) for one in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    environment = NativeEnvironment(keep_trailing_newline=True)
    environment.filters |= {"quote": shlex.quote, "dirname": lambda path: str(Path(path).parent)}
    known = {name: own for name, own in OWN.items() if name in value and name not in variables}
    return environment.from_string(value).render(
        variables | {name: rendered(own, **variables) for name, own in known.items()}
    )


def test_given_a_rehearsal_that_nobody_ended_when_its_time_is_up_then_nothing_of_it_is_left_and_the_agent_restarted(
    tmp_path: Path,
) -> None:
    def below(text: str) -> str:
        return text.replace("/etc/", f"{tmp_path}/etc/").replace("/var/lib/", f"{tmp_path}/var/lib/")

    made = [OWN["__rehearse_drop_in"], OWN["__rehearse_config"], *rendered(OWN["__rehearse_switch_files"])]
    for path in (*made, f"{OWN['__rehearse_journal']}/journal"):
        Path(below(path)).parent.mkdir(parents=True, exist_ok=True)
        Path(below(path)).touch()
    own_configuration = Path(below(OWN["__rehearse_agent_config"]))
    own_configuration.touch()
    systemctl = tmp_path / "bin" / "systemctl"
    systemctl.parent.mkdir()
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n')
    systemctl.chmod(0o755)
    script = below(rendered(OWN["__rehearse_switch_script"]))

    subprocess.run(["/bin/sh", "-c", script], env={"PATH": f"{systemctl.parent}:/usr/bin:/bin"}, check=True)

    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.parent != systemctl.parent]
    assert sorted(left) == sorted([own_configuration, tmp_path / "called"])
    assert not Path(below(OWN["__rehearse_journal"])).exists()
    assert (tmp_path / "called").read_text().splitlines() == [
        "daemon-reload",
        "restart foghorn-agent.service",
        "disable --now foghorn-rehearsal-end.timer",
        "daemon-reload",
    ]


def test_given_the_switch_when_installed_then_systemd_understands_it(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    stdout = {"stdout": "2030-01-01 12:00:00 UTC"}
    for item in INSTALL["loop"]:
        path = tmp_path / Path(rendered(item["path"])).name
        path.write_text(rendered(item["content"], __rehearse_ends_at=stdout))
        path.chmod(0o755 if path.suffix == "" else 0o644)

    units = [str(path) for path in tmp_path.iterdir() if path.suffix]
    told = subprocess.run([analyze, "verify", *units], stderr=subprocess.PIPE, text=True, check=False)

    assert [line for line in told.stderr.splitlines() if str(tmp_path) in line] == []
    assert START["ansible.builtin.systemd_service"]["enabled"] is True


@pytest.mark.parametrize(
    ("variables", "limit"),
    [({}, 60 + 120 + 600 + 900 + 120 + 600), ({"rehearse_notice": 60, "rehearse_linger": "5"}, 60 + 120 + 600 + 185)],
)
def test_given_no_limit_when_a_rehearsal_begins_then_it_is_longer_than_all_that_is_waited_for(
    variables: dict[str, Any], limit: int
) -> None:
    assert int(rendered(OWN["__rehearse_limit"], **variables)) == limit
    assert int(rendered(OWN["__rehearse_limit"], rehearse_limit=77, **variables)) == 77
