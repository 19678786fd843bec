# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleets in docs/fleets, as they stand there: a machine of each tier is rebooted under traffic.

Servers, balancers and playbook are real; Azure, its load balancer and its gateway are simulated.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.foghorn.azure_events.tests.integration.haproxy.conftest import Haproxy, fixture_program
from ansible_collections.foghorn.azure_events.tests.integration.playbooks.fleet import Fleet, Host, Run
from ansible_collections.foghorn.azure_events.tests.ports import free_port

__all__ = ["fixture_program"]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
LOAD = ROOT / "roles" / "azure_simulator" / "files" / "demonstration" / "load_generator.py"
RESOURCES = "/subscriptions/11111111-2222-4333-8444-555555555555/resourceGroups/shop/providers"


def named(path: Path, subnet: int, names: Sequence[str], **config: Any) -> Fleet:
    """Have machines with the names of a page."""
    hosts = [Host(path / name, f"127.0.{subnet}.{number}") for number, name in enumerate(names, start=1)]
    return Fleet(path, subnet, len(hosts), hosts, **config)


def written(page: str, directory: Path, replaced: Mapping[str, str] | None = None) -> Path:
    """Write each file that a page shows, and return where; only addresses of its machines are replaced."""
    text = (ROOT / "docs" / "fleets" / page).read_text(encoding="utf-8")
    for pattern, replacement in (replaced or {}).items():
        text, count = re.subn(pattern, replacement, text)
        assert count, f"{page} has no {pattern}"
    directory.mkdir()
    for block in re.findall(r"^```\w+\n(# \S+\.\w+\b.*?)^```", text, re.MULTILINE | re.DOTALL):
        path = directory / re.split(r"[\s,]", block[2:], maxsplit=1)[0]
        path.parent.mkdir(exist_ok=True)
        path.write_text(block, encoding="utf-8")
    return directory


def install(host: Host, unit: str, script: str = "") -> None:
    """Have the machine know a unit: a program that takes start, stop and status; by default its web server is one."""
    start, stop = (shlex.join(host.service(word)).replace(f" {word} ", ' "$1" ') for word in ("start", "stop"))
    assert start == stop
    script = script or f"exec {start}"
    path = host.directory / unit
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@contextmanager
def running(fleet: Fleet) -> Iterator[Fleet]:
    """Run the machines, with a service manager."""
    shutil.copytree(HERE, fleet.path / "bin", ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    with fleet:
        yield fleet


def take_through(fleet: Fleet, files: Path, *arguments: str, **hosts: Mapping[str, Any]) -> Run:
    """Run the page's playbook with its inventory, and with where the machines are here."""
    here: dict[str, Any] = {
        host.name: {
            "handle_events_endpoint": fleet.azure.imds[host.vm.lower()],
            "handle_events_state_directory": str(host.state),
            "handle_events_approve_within": 86400,
            "handle_events_poll_interval": 1,
        }
        for host in fleet.hosts
    }
    everywhere = {
        "ansible_connection": "machine",
        "ansible_become": False,
        "ansible_python_interpreter": sys.executable,
    }
    here = {name: {**everywhere, **here.get(name, {}), **hosts.get(name, {})} for name in {**here, **hosts}}
    (fleet.path / "here.yml").write_text(yaml.safe_dump({"all": {"hosts": here}}))
    run = fleet.play(
        str(files / "maintain.yml"), "-i", str(files / "inventory.yml"), "-i", str(fleet.path / "here.yml"), *arguments
    )
    assert run.finish() == 0, run.output
    return run


@contextmanager
def traffic(directory: Path, *targets: str) -> Iterator[None]:
    """Send requests to each of the targets all the time; none may be lost."""
    directory.mkdir()
    with ExitStack() as stack:
        for number, target in enumerate(targets):
            command = [sys.executable, str(LOAD), "--target", target, "--timeout", "15"]
            command += ["--short-rate", "10", "--kept-rate", "10", "--journal", str(directory / str(number))]
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.terminate)
        yield
    for number in range(len(targets)):
        entries = [json.loads(line) for line in (directory / str(number)).read_text().splitlines()]
        assert [entry for entry in entries if entry["what"] == "lost"] == []
        assert sum(sum(entry["sent"].values()) for entry in entries if entry["what"] == "second") > 100


def reboot(fleet: Fleet, *names: str) -> list[str]:
    """Announce a reboot of each of these machines, as soon as it is approved."""
    return [
        fleet.event("Reboot", host, notice=72000, impact=30, linger=60) for host in fleet.hosts if host.name in names
    ]


def completed(fleet: Fleet, events: Sequence[str]) -> bool:
    return all(fleet.record(event)["status"] == "Completed" and fleet.is_approved(event) for event in events)


@pytest.fixture(name="nginx")
def fixture_nginx() -> Path:
    nginx = ROOT / ".cache" / "nginx" / "nginx"
    if not nginx.exists():
        pytest.skip("there is no nginx: run `make nginx`")
    return nginx


@contextmanager
def serving(nginx: Path, host: Host, port: int) -> Iterator[None]:
    """Have nginx serve on the machine, with the configuration that the page shows."""
    replaced = {
        r"listen 80;": f"listen {host.address}:{port};",
        r"-f /var/lib/foghorn/out_of_rotation": f"-f {host.marker}",
        r"/var/www/html": str(host.directory),
    }
    files = written("nginx.md", host.directory / "nginx", replaced)
    (host.directory / "index.html").write_text(host.name)
    lines = [f"pid {files}/pid;", f"error_log {files}/error.log;", "worker_processes 1;", "events {}", "http {"]
    lines += [f"{kind}_temp_path {files}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")]
    lines += ["access_log off;", f"include {files}/shop.conf;", "}"]
    # The directories of the tests are closed to others.
    lines += ["user root;"] if os.geteuid() == 0 else []
    (files / "nginx.conf").write_text("\n".join(lines) + "\n")
    command = shlex.join([str(nginx), "-e", f"{files}/error.log", "-c", f"{files}/nginx.conf"])
    # Told to quit, as by the drop-in that the page asks for; and gone when the tests are, however they end.
    script = f"""pid=$(cat {files}/pid 2>/dev/null)
case $1 in
    status) kill -0 "$pid" 2>/dev/null ;;
    start)
        {command}
        owner=$(cat {host.directory}/owner)
        setsid sh -c "while kill -0 $owner; do test -e {files}/pid || exit; sleep 1; done; {command} -s stop" \\
            >/dev/null 2>&1 </dev/null &
        ;;
    stop)
        test ! -e {files}/pid || {command} -s quit
        while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        ;;
esac"""
    install(host, "nginx.service", script)
    subprocess.run([host.directory / "nginx.service", "start"], check=True)
    yield
    subprocess.run([host.directory / "nginx.service", "stop"], check=True)


def serves(host: Host) -> bool:
    """Whether nginx runs on the machine."""
    return subprocess.run([host.directory / "nginx.service", "status"], check=False).returncode == 0


def test_given_nginx_behind_a_probe_of_azure_when_a_server_is_rebooted_then_no_request_is_lost(
    nginx: Path, tmp_path: Path
) -> None:
    port = free_port()
    names = ["web1", "web2", "web3"]
    balancer = {
        "name": "front",
        "listen": "127.0.0.1:0",
        "probe": {"path": "/readyz", "interval": 5, "timeout": 10, "threshold": 2},
        "members": [{"vm": name, "port": port} for name in names],
    }
    fleet = named(tmp_path / "fleet", 61, names, clock={"speed": 60}, load_balancers=[balancer])
    hosts = {}
    with ExitStack() as stack:
        for host in fleet.hosts:
            stack.enter_context(serving(nginx, host, port))
            hosts[host.name] = {
                "load_balancer_removal_health_probe_file": str(host.marker),
                "load_balancer_removal_health_probe_url": f"http://{host.address}:{port}/readyz",
            }
        files = written("nginx.md", tmp_path / "files")
        stack.enter_context(running(fleet))
        with traffic(tmp_path / "load", "%s:%d" % fleet.azure.load_balancers["front"]):
            events = reboot(fleet, "web2")
            run = take_through(fleet, files, **hosts)

        assert '"web: 3 of 3 in service, 2 must stay"' in run.output
        assert completed(fleet, events), run.output
        assert serves(fleet.hosts[1])
        assert not any(host.marker.exists() or host.state.exists() for host in fleet.hosts)


def test_given_two_tiers_behind_two_haproxys_when_a_server_of_each_is_rebooted_then_no_request_is_lost(
    program: Path, tmp_path: Path
) -> None:
    names = ["web1", "web2", "web3", "app1", "app2", "app3"]
    fleet = named(tmp_path / "fleet", 62, names, clock={"speed": 60})
    ports = {"web": free_port(), "app": free_port()}
    for host in fleet.hosts:
        host.port = ports[host.name[:3]]
        install(host, "nginx.service" if host.name.startswith("web") else "orders.service")
    addresses = [f"{host.address}:{host.port}" for host in fleet.hosts]
    with ExitStack() as stack:
        stack.enter_context(running(fleet))
        haproxys, targets = [], []
        for number in (1, 2):
            fronts = [f"127.0.0.1:{free_port()}" for _tier in ports]
            replaced = {
                r"/run/haproxy/admin.sock": "{directory}/admin.sock",
                r"bind :80\n": f"bind {fronts[0]}\n",
                r"bind :8080\n": f"bind {fronts[1]}\n",
                r"check port 8081": f"check port {ports['app']}",
            } | {rf"(server {name}) \S+": rf"\1 {address}" for name, address in zip(names, addresses, strict=True)}
            configuration = (
                written("haproxy.md", tmp_path / f"balancer{number}", replaced) / "haproxy.cfg"
            ).read_text()
            haproxys.append(stack.enter_context(Haproxy.of(program, configuration, [])))
            targets += fronts
        hosts = {
            f"balancer{number}": {"load_balancer_removal_haproxy_socket": haproxy.socket}
            for number, haproxy in enumerate(haproxys, start=1)
        }
        files = written("haproxy.md", tmp_path / "files")
        with traffic(tmp_path / "load", *targets):
            events = reboot(fleet, "web2", "app1")
            run = take_through(fleet, files, "--extra-vars", "handle_events_hosts=servers", **hosts)

        assert '"backend web: 3 of 3 in service, 2 must stay"' in run.output
        assert '"backend app: 3 of 3 in service, 2 must stay"' in run.output
        assert '"Batch 1 of 1: app1, web2"' in run.output or '"Batch 1 of 1: web2, app1"' in run.output
        assert completed(fleet, events), run.output
        assert all(host.is_back() for host in fleet.hosts)
        assert [set(haproxy.admin_states().values()) for haproxy in haproxys] == [{0}, {0}]


def test_given_a_scale_set_behind_a_gateway_when_an_instance_is_rebooted_then_no_request_is_lost(
    nginx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["shop_0", "shop_1", "shop_2"]
    port = free_port()
    vms = [
        {"name": name, "address": f"127.0.63.{number}", "scale_set": "shop", "resource_group": "shop"}
        for number, name in enumerate(names, start=1)
    ]
    arm = {
        "subscription_id": RESOURCES.split("/")[2],
        "application_gateways": [{"name": "front", "resource_group": "shop", "pools": {"web": names}}],
        "operation_seconds": 0.5,
        "instance_seconds": 0.5,
        "retry_after": 1,
    }
    balancer = {
        "name": "front",
        "listen": "127.0.0.1:0",
        "pool": "front/web",
        "probe": {"path": "/", "interval": 1, "timeout": 10, "threshold": 2},
        "members": [{"vm": name, "port": port} for name in names],
    }
    fleet = named(tmp_path / "fleet", 63, names, clock={"speed": 60}, vms=vms, arm=arm, load_balancers=[balancer])
    files = written("gateway.md", tmp_path / "files")
    kept = {"load_balancer_removal_azure_directory": str(tmp_path / "kept")}
    with ExitStack() as stack:
        for host in fleet.hosts:
            stack.enter_context(serving(nginx, host, port))
        stack.enter_context(running(fleet))
        fleet.sign_in(monkeypatch, "shop_0")
        monkeypatch.setenv("ANSIBLE_AZURE_AUTH_SOURCE", "msi")
        with traffic(tmp_path / "load", "%s:%d" % fleet.azure.load_balancers["front"]):
            events = reboot(fleet, "shop_1")
            run = take_through(fleet, files, **dict.fromkeys(names, kept))

        pool = f"{RESOURCES}/Microsoft.Network/applicationGateways/front/backendAddressPools/web"
        assert f'"pool {pool.lower()}: 3 of 3 in service, 2 must stay"' in run.output
        assert completed(fleet, events), run.output
        assert serves(fleet.hosts[1])
        assert not list((tmp_path / "kept").iterdir())
