# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that owns a lab: it makes its network, runs its hosts and its Azure, and does what it is told."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from . import network, trees
from .commands import CommandError, directory_of, ssh_connections_of
from .confinement import assert_alone, assert_no_way_out
from .host import Description, Host, HostError, cgroup_of_lab

SIMULATOR_LIMIT = 60.0
"""Seconds until the simulator must answer."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,40}")
_ROOT = Path(__file__).resolve().parents[2]
_SCENARIOS = _ROOT / "extensions" / "molecule"


def supervise(lab: str, simulator: Path, logs: Path) -> int:
    """Run the lab until standard input ends or a SIGTERM comes.

    `simulator` is the directory that holds the package azure_simulator, `logs` where scenarios leave what their hosts
    wrote. Writes a line when the lab can be asked.
    """
    assert_alone()
    network.make_bridge()
    assert_no_way_out()
    asyncio.run(Supervisor(lab, simulator, logs).serve())
    return 0


class Supervisor:
    def __init__(self, lab: str, simulator: Path, logs: Path) -> None:
        self._lab = lab
        self._place = directory_of(lab)
        self._simulator_package = simulator
        self._logs = logs
        self._scenario = ""
        self._hosts: dict[str, Host] = {}
        self._machines: dict[str, str] = {}  # the host behind each VM of Azure
        self._simulator: asyncio.subprocess.Process | None = None

    async def serve(self) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        # Our parent holds the other end for as long as the lab is wanted.
        loop.add_reader(sys.stdin, stop.set)
        self._make_place()
        server = await asyncio.start_unix_server(self._connected, str(self._place / "socket"))
        print("ready", flush=True)
        async with server:
            await stop.wait()
        await self._down()

    def _make_place(self) -> None:
        """All that the lab writes is in memory, and gone with its namespaces."""
        hosts = self._place / "hosts"
        hosts.mkdir(exist_ok=True)
        # nspawn and iproute2 leave marks in these; systemd's mark also makes programs believe that it runs here.
        for directory in (hosts, Path("/run/netns"), Path("/run/systemd")):
            directory.mkdir(exist_ok=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "lab", str(directory)], check=True)
        key = self._place / "key"
        for file in (key, key.with_suffix(".pub")):
            file.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(key)], check=True)
        names = hosts / "names"
        names.write_text("127.0.0.1 localhost\n")
        subprocess.run(["mount", "--bind", str(names), "/etc/hosts"], check=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: dict[str, Any] = {}
        try:
            request = json.loads(await reader.readline())
            answer = {"result": await self._do(request)}
        except (CommandError, HostError, trees.TreeError) as error:
            answer = {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - whoever asked has to learn of it, and the lab goes on
            answer = {"error": f"{request.get('do')}: {type(error).__name__}: {error}"}
        writer.write(json.dumps(answer).encode() + b"\n")
        try:
            await writer.drain()
        except ConnectionError:
            pass  # it has not waited for the answer
        writer.close()

    async def _do(self, request: dict[str, Any]) -> Any:
        whole_lab: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "up": self._up,
            "down": lambda _request: self._down(),
            "status": self._status,
            "impact": self._impact,
        }
        one_host: dict[str, Callable[[Host], Awaitable[None]]] = {
            "power-cut": _power_cut,
            "power-off": lambda host: host.cut_power(),
            "power-on": _power_on,
            "reboot": _reboot,
            "redeploy": _redeploy,
            "freeze": _freeze,
            "thaw": _thaw,
            "unplug": _unplug,
            "plug-in": _plug_in,
            "destroy": lambda host: host.destroy(),
        }
        what = request.get("do", "")
        if what in whole_lab:
            return await whole_lab[what](request)
        if what in one_host:
            await one_host[what](self._host(request.get("host", "")))
            return None
        raise CommandError(f"{what}: not one of {', '.join([*whole_lab, *one_host])}")

    def _host(self, name: str) -> Host:
        if name not in self._hosts:
            raise CommandError(f"{name}: no host of this lab, which has {', '.join(self._hosts) or 'none'}")
        return self._hosts[name]

    async def _up(self, request: dict[str, Any]) -> Any:
        """Make the hosts that a scenario asks for, let them boot, and start their Azure."""
        if self._hosts:
            raise CommandError(f"the hosts of {self._scenario} are up: take them down first (`molecule destroy`)")
        self._scenario = request["scenario"]
        descriptions = describe(request["hosts"])
        names = "".join(f"{host.address} {host.name}\n" for host in descriptions)
        (self._place / "hosts/names").write_text(f"127.0.0.1 localhost\n{names}")
        key = (self._place / "key.pub").read_text()
        for description in descriptions:
            place = self._place / "hosts" / description.name
            place.mkdir()
            files = {
                "/etc/hostname": f"{description.name}\n",
                "/etc/hosts": f"127.0.0.1 localhost\n{names}",
                "/root/.ssh/authorized_keys": key,
                "/home/azureuser/.ssh/authorized_keys": key,
            }
            image = self._hosts[description.image].image if description.image else None
            self._hosts[description.name] = Host(
                description, place, cgroup_of_lab(self._lab) / description.name, files, image
            )
        await self._start_simulator(request["hosts"], request.get("simulator") or {})
        # The others wait for their image.
        first = [host for host in self._hosts.values() if not host.description.image]
        for host in first:
            host.power_on()
        await asyncio.gather(*(host.booted() for host in first))
        return await self._status({})

    async def _start_simulator(self, hosts: list[dict[str, Any]], wanted: dict[str, Any]) -> None:
        assert_no_way_out()
        vms = []
        for host in hosts:
            if "azure" in host:
                vm = {"name": host["name"], **(host["azure"] or {})}
                self._machines[vm["name"]] = host["name"]
                vms.append({**vm, "address": self._hosts[host["name"]].description.address})
        if not vms:
            return
        impact = [sys.executable, "-m", "tests.lab", "impact"]
        config = {
            "control": {"address": "127.0.0.1", "port": 8700},
            **wanted,
            # What a scenario wants to be done then comes first: before the machine is hit.
            "on_impact": [*wanted.get("on_impact", []), {"start": impact, "end": impact, "timeout": 60}],
            "imds": {"identify_by": "client", "address": network.IMDS, "port": 80, **wanted.get("imds", {})},
            "vms": vms,
        }
        file = self._place / "hosts/fleet.json"
        file.write_text(json.dumps(config, indent=2))
        path = f"{self._simulator_package}{os.pathsep}{_ROOT}"
        with (self._place / "hosts/simulator.log").open("wb") as log:
            self._simulator = await asyncio.create_subprocess_exec(
                *[sys.executable, "-m", "azure_simulator", "serve", "--config", str(file)],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": path, "LAB": self._lab, "PYTHONUNBUFFERED": "1"},
            )
        assert self._simulator.stdout is not None
        try:
            line = await asyncio.wait_for(self._simulator.stdout.readline(), SIMULATOR_LIMIT)
        except TimeoutError:
            line = b""
        if not line:
            said = (self._place / "hosts/simulator.log").read_text(errors="replace").strip()
            raise CommandError(f"the simulator did not start: {said or 'it said nothing'}")

    async def _down(self) -> None:
        """Take down what `up` made, and keep what may explain a failure. Nothing to be done is no error."""
        if self._simulator is not None and self._simulator.returncode is None:
            self._simulator.terminate()
            await self._simulator.wait()
        for name, host in self._hosts.items():
            await host.destroy()
            self._keep_logs(host)
            host.unmount()
            shutil.rmtree(self._place / "hosts" / name)
        # Connections that ssh keeps open go by name: the next host of a name must not be taken for one that is gone.
        shutil.rmtree(ssh_connections_of(self._lab), ignore_errors=True)
        self._hosts = {}
        self._machines = {}
        self._simulator = None

    def _keep_logs(self, host: Host) -> None:
        logs = self._logs / self._scenario
        logs.mkdir(parents=True, exist_ok=True)
        name = host.description.name
        for source, target in (
            (host.console, f"{name}.console"),
            (self._place / "hosts/simulator.log", "simulator.log"),
            (self._place / "hosts/fleet.json", "fleet.json"),
        ):
            if source.exists():
                shutil.copyfile(source, logs / target)
        with (logs / f"{name}.journal").open("wb") as journal:
            subprocess.run(
                ["journalctl", f"--directory={host.disk / 'var/log/journal'}", "--output=short-precise", "--quiet"],
                stdout=journal,
                stderr=journal,
                check=False,
            )

    async def _status(self, _request: dict[str, Any]) -> Any:
        return {
            "lab": self._lab,
            "namespace": os.readlink("/proc/self/ns/net"),
            "scenario": self._scenario if self._hosts else None,
            "hosts": {name: host.status() for name, host in self._hosts.items()},
        }

    async def _impact(self, request: dict[str, Any]) -> None:
        """What the simulator asks for: an event of this type hits this VM, from the phase start to the phase end."""
        host = self._host(self._machines.get(request["vm"], request["vm"]))
        phases = IMPACTS.get(request["event_type"])
        if phases is None:
            raise CommandError(f"{request['event_type']}: not one of {', '.join(IMPACTS)}")
        await phases[request["phase"]](host)


def describe(hosts: list[dict[str, Any]]) -> list[Description]:
    """What a scenario asks for, checked. Raises CommandError."""
    names = [host["name"] for host in hosts]
    for name in names:
        if not _NAME.fullmatch(name):
            raise CommandError(f"{name}: not a host's name: lower-case letters, digits and hyphens, a letter first")
        if names.count(name) > 1:
            raise CommandError(f"{name}: there are two hosts of this name")
    images = {host["image"] for host in hosts if "image" in host}
    result: list[Description] = []
    for number, host in enumerate(hosts):
        image = host.get("image", "")
        if image:
            builders = {other.name: other for other in result if not other.image}
            if image not in builders:
                raise CommandError(
                    f"{host['name']}: image {image}: no host above it, or one that itself starts from one"
                )
            tree = builders[image].tree
        else:
            tree = _tree_of(host)
        files = tuple((path, _SCENARIOS / directory) for path, directory in host.get("files", {}).items())
        result.append(Description(host["name"], tree, number, image, host["name"] in images, files))
    return result


def _tree_of(host: dict[str, Any]) -> Path:
    suite = host.get("suite", "bookworm")
    if suite not in trees.SUITES:
        raise CommandError(f"{host['name']}: suite {suite}: not one of {', '.join(trees.SUITES)}")
    tree = trees.path_of(suite)
    if not tree.is_dir():
        raise CommandError(f"{host['name']}: no tree of {suite} has been made: `python -m tests.lab trees` makes it")
    return tree


async def _power_on(host: Host) -> None:
    host.power_on()


async def _power_cut(host: Host) -> None:
    await host.cut_power()
    host.power_on()


async def _reboot(host: Host) -> None:
    await host.shut_down()
    host.power_on()


async def _redeploy(host: Host) -> None:
    await _move(host)
    host.power_on()


async def _move(host: Host) -> None:
    await host.shut_down()
    host.empty_temporary_disk()


async def _freeze(host: Host) -> None:
    host.freeze()


async def _thaw(host: Host) -> None:
    host.thaw()


async def _unplug(host: Host) -> None:
    host.plug(False)


async def _plug_in(host: Host) -> None:
    host.plug(True)


Deed = Callable[[Host], Awaitable[None]]

IMPACTS: dict[str, dict[str, Deed]] = {
    "Freeze": {"start": _freeze, "end": _thaw},
    "Reboot": {"start": Host.shut_down, "end": _power_on},
    "Redeploy": {"start": _move, "end": _power_on},
    "Preempt": {"start": Host.destroy},
    "Terminate": {"start": Host.destroy},
}
"""What an event does to a machine when its impact starts, and when it ends."""
