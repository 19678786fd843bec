# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole demo, as `make demo` and the playbook of the built collection run it, with the handler and without."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import haproxy
import pytest

from tests.ansible_runs import run

from .conftest import DEMO

TOOLS = Path(__file__).resolve().parents[3] / "tools"

COLLECTIONS = TOOLS.parent / ".cache" / "collections"
SVG = "{http://www.w3.org/2000/svg}"

LIMIT = 900.0
"""Seconds; with the handler it takes less than two minutes on a machine that has nothing else to do."""

INSTANT = r"\d+\.\d"
SPAN = rf"{INSTANT} to {INSTANT}"
# More than 15 minutes were given where this machine is busy with other things.
NOTICE_LEFT = r"\d+:\d\d of \d\d+:\d\d"


def _start(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(DEMO / "demo.py"), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(directory)},
    )


def _run(directory: Path, *arguments: str) -> tuple[int, str]:
    with _start(directory, *arguments) as demo:
        try:
            output, _errors = demo.communicate(timeout=LIMIT)
        finally:
            demo.terminate()
    return demo.returncode, output


def _install(directory: Path) -> Path:
    """Build the collection and install it; returns where collections are."""
    copy, collections = directory / "copy", directory / "collections"
    copy.mkdir()
    galaxy = [str(Path(sys.executable).with_name("ansible-galaxy")), "collection", "install", "--offline"]
    for tool, *arguments in (("copy_collection.py", copy), ("build_collection.py", copy, directory)):
        subprocess.run([sys.executable, str(TOOLS / tool), *map(str, arguments)], check=True)
    (tarball,) = directory.glob("*.tar.gz")
    # It takes the checkout for what is installed otherwise, and does nothing.
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections)}
    install = [*galaxy, "-p", str(collections), str(tarball)]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL, env=environment)
    return collections


def test_given_check_mode_then_the_playbook_runs_no_demo_and_succeeds() -> None:
    ended = run("foghorn.azure_events.demo", "--check")

    assert ended.returncode == 0, ended.stdout


def _run_installed(directory: Path, collections: Path, picture_file: Path) -> tuple[int, str]:
    """Run the playbook of the installed collection; returns what the demo said, or all that Ansible did."""
    ended = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")),
            "foghorn.azure_events.demo",
            "-e",
            f"demo_picture={picture_file}",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "TMPDIR": str(directory), "ANSIBLE_COLLECTIONS_PATH": str(collections)},
        check=False,
    )
    lines = re.findall(r'^ {8}(".*"),?$', ended.stdout, re.MULTILINE)
    return ended.returncode, "".join(json.loads(line) + "\n" for line in lines) or ended.stdout + ended.stderr


def _left_behind(directory: Path) -> list[str]:
    """Files in the directory, and the command lines of processes that have to do with it."""
    found = [path.name for path in directory.iterdir()]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace").split("\0")
        except OSError:  # it has just ended
            continue
        if any(word.startswith(f"{directory}/") or f"={directory}/" in word for word in words):
            found.append(" ".join(words))
    return found


def _panels(drawn: str) -> list[dict[str, Any]]:
    """What a picture shows of each fleet: the states of its machines, its marks, the last count of lost requests."""
    found = []
    root = ElementTree.fromstring(drawn)
    for panel in root.iter(f"{SVG}g"):
        if panel.get("class") != "panel":
            continue
        texts = [text for text in panel.iter(f"{SVG}text") if (text.get("class") or "").startswith("count")]
        shown: dict[str, Any] = {"title": panel.get("aria-label"), "counted": texts[-1].text}
        for kind in ("announced", "approved"):
            shown[kind] = sum(kind in (mark.get("class") or "").split() for mark in panel.iter(f"{SVG}path"))
        for lane in (group for group in panel.iter(f"{SVG}g") if group.get("class") == "lane"):
            spans = [(bar.get("class"), bar.findtext(f"{SVG}title", "")) for bar in lane.iter(f"{SVG}rect")]
            shown[lane.get("aria-label", "")] = [told.split(",")[0] if kind == "hit" else kind for kind, told in spans]
        found.append(shown)
    return found


def _row(output: str, vm: str, event_type: str) -> str:
    """A line of the table, its blanks squeezed."""
    rows = re.findall(rf"^{vm} +{event_type} .*$", output, re.MULTILINE)
    assert len(rows) == 1, f"{vm} has {len(rows)} rows for its {event_type}:\n{output}"
    return re.sub(" +", " ", rows[0])


def test_given_the_handler_when_all_maintenance_has_gone_by_then_every_phase_happened_and_no_request_was_lost(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    built = tmp_path_factory.mktemp("built")
    status, output = _run_installed(tmp_path, _install(built), built / "demo.svg")
    assert status == 0, output
    phases = f"{INSTANT} {INSTANT} {INSTANT} {INSTANT} {INSTANT}"
    for vm, event_type in (("web_0", "Reboot"), ("web_1", "Redeploy"), ("web_2", "Redeploy")):
        row = _row(output, vm, event_type)
        assert re.fullmatch(f"{vm} {event_type} {phases} {SPAN} {INSTANT} {NOTICE_LEFT}", row), output
    freeze = _row(output, "web_1", "Freeze")
    not_stopped = f"{INSTANT} {INSTANT} {INSTANT} - {INSTANT}"
    assert re.fullmatch(f"web_1 Freeze {not_stopped} {SPAN} {INSTANT} {NOTICE_LEFT}", freeze), output
    terminate = _row(output, "web_2", "Terminate")
    assert re.fullmatch(f"web_2 Terminate {phases} {SPAN} deleted {NOTICE_LEFT}", terminate), output
    sent = re.search(r"^(\d+) requests sent, (\d+) on new connections, (\d+) on connections", output, re.MULTILINE)
    assert sent is not None, output
    assert min(int(count) for count in sent.groups()) > 100
    assert "\n0 lost." in output
    assert _left_behind(tmp_path) == []
    (panel,) = _panels((built / "demo.svg").read_text(encoding="utf-8"))
    assert panel == {
        "title": "With foghorn.azure_events",
        "web_0": ["in", "draining", "out", "Reboot", "out", "in"],
        "web_1": ["in", "draining", "out", "Freeze", "out", "in", "draining", "out", "Redeploy", "out", "in"],
        "web_2": ["in", "draining", "out", "Redeploy", "out", "in", "draining", "out", "Terminate"],
        "announced": 5,
        "approved": 5,
        "counted": "0 requests lost",
    }


def test_given_haproxy_before_the_web_servers_when_one_is_rebooted_then_it_was_drained_there_and_no_request_was_lost(
    tmp_path: Path,
) -> None:
    if haproxy.find_program() is None:
        pytest.skip("there is no HAProxy: install it")
    status, output = _run(tmp_path, "--balancer", "haproxy", "--only", "reboot")
    assert status == 0, output
    assert "drains: HAProxy sends it no new requests" in output
    phases = f"{INSTANT} {INSTANT} {INSTANT} {INSTANT} {INSTANT}"
    assert re.fullmatch(f"web_0 Reboot {phases} {SPAN} {INSTANT} {NOTICE_LEFT}", _row(output, "web_0", "Reboot")), (
        output
    )
    assert "\n0 lost." in output
    assert _left_behind(tmp_path) == []


def test_given_no_handler_when_a_machine_is_rebooted_then_requests_are_lost(tmp_path: Path) -> None:
    record = tmp_path.with_name(f"{tmp_path.name}.json")
    status, output = _run(tmp_path, "--handler", "off", "--only", "reboot", "--speed", "60", "--record", str(record))
    assert status == 0, output
    assert re.search(r"^web_0 +Reboot .* not approved$", output, re.MULTILINE), output
    lost = re.search(r"^  Reboot of web_0: ([1-9]\d*) lost ", output, re.MULTILINE)
    assert lost is not None, output
    assert _left_behind(tmp_path) == []
    target = record.with_suffix(".svg")
    subprocess.run(
        [sys.executable, str(DEMO / "picture.py"), str(target), str(record), str(record)],
        check=True,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)},
    )
    above, below = _panels(target.read_text(encoding="utf-8"))
    assert above == below
    assert above["title"] == "Without a handler"
    # The probe needs a moment to notice, and the machine one to be taken in again.
    assert above["web_0"][:3] in (["in", "Reboot", "out"], ["in", "Reboot", "in"]), above
    assert above["web_1"] == above["web_2"] == ["in"]
    assert (above["announced"], above["approved"]) == (1, 0)
    assert above["counted"] == f"{lost[1]} requests lost"


def test_given_a_demo_under_way_when_it_is_told_to_end_then_nothing_is_left_behind(
    tmp_path: Path, wait_for: Callable[[Callable[[], Any]], Any]
) -> None:
    with _start(tmp_path, "--handler", "off", "--only", "reboot") as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "Azure announces" in line:
                break
        demo.send_signal(signal.SIGTERM)
        rest = demo.stdout.read()
    assert demo.returncode == 128 + signal.SIGTERM, rest
    wait_for(lambda: _left_behind(tmp_path) == [])
