# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of the lab: a whole systemd in namespaces of its own, with what a hypervisor can do to it."""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from . import network
from .confinement import CGROUPS, remove_cgroup

BOOT_LIMIT = 60.0
"""Seconds until a host must have booted."""

SHUTDOWN_LIMIT = 20.0
"""Seconds that a host has to shut down in order, before its power is cut."""

PYTHON = Path(__file__).parent / "python"
"""What every Python in the lab begins with."""

IMAGE = "/srv/image"
"""Where a host that builds an image has the system that is to become one."""

_REBOOT_STATUS = 133  # systemd-nspawn ends with it when the machine asks for a reboot


class HostError(Exception):
    """A host does not do what it was told to; the message says why."""


class Description(NamedTuple):
    """What a scenario asks for."""

    name: str
    tree: Path
    number: int
    """Counts from 0 and gives the address."""
    image: str = ""
    """The host that builds the image that this one starts from; without, it starts from the tree as it is."""
    builds: bool = False
    """Whether it has a second copy of its tree, at IMAGE, for others to start from."""
    files: tuple[tuple[str, Path], ...] = ()
    """What its disk has beside its tree: the contents of these directories, each below the path before it."""

    @property
    def address(self) -> str:
        return network.address_of(self.number)


class Host:
    """A machine. Its disk and its address stay while it is off; its temporary disk, /mnt, until it is redeployed.

    `files` (path: content) are those that are its own, `image` what the builder of its image has changed in the tree.
    """

    def __init__(
        self, description: Description, place: Path, cgroup: Path, files: Mapping[str, str], image: Path | None
    ) -> None:
        self.description = description
        self.state = "off"
        self.boots = 0
        self._place = place
        self._cgroup = cgroup
        self._files = files
        self._image = image
        self._made = False
        self._disk = place / "disk"
        self._temporary_disk = place / "temporary"
        self._ready = asyncio.Event()
        self._off = asyncio.Event()
        self._off.set()
        self._power: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._notifications = _listen(place / "notify", self._notified)

    def power_on(self) -> None:
        """Let the machine boot, if it is off. It boots again whenever it asks for that itself.

        It is made when it is first switched on: an image has been built by then.
        """
        if self.state == "destroyed":
            raise HostError(f"{self.description.name} has been destroyed")
        if not self._made:
            self._make()
            self._made = True
        if self._off.is_set():
            self._off.clear()
            self._power = asyncio.create_task(self._run())

    async def booted(self) -> None:
        """Wait until all that starts at boot has started. Raises HostError."""
        try:
            await asyncio.wait_for(self._ready.wait(), BOOT_LIMIT)
        except TimeoutError:
            said = self.console.read_text(errors="replace").rstrip().splitlines()
            last = said[-1] if said else "nothing"
            raise HostError(
                f"{self.description.name} is {self.state}, and did not boot within {BOOT_LIMIT:g} s; "
                f"its console, {self.console}, ends with: {last}"
            ) from None

    async def shut_down(self) -> None:
        """Have the machine stop its services and end, and cut its power if that takes too long."""
        self.thaw()
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._off.wait(), SHUTDOWN_LIMIT)
            except TimeoutError:
                await self.cut_power()

    async def cut_power(self) -> None:
        """End the machine in the middle of whatever it does. What it has written is kept."""
        if self._power is not None:
            self._power.cancel()
            await asyncio.wait([self._power])

    def freeze(self) -> None:
        """Stop every process, as a machine that is paused; connections stay."""
        if self.state == "running":
            self._set_frozen(True)
            self.state = "frozen"

    def thaw(self) -> None:
        """Undo `freeze`."""
        if self.state == "frozen":
            self._set_frozen(False)
            self.state = "running"

    def plug(self, connected: bool) -> None:
        """Pull its network cable, or plug it in again. A reboot changes nothing about that."""
        if not self._made or self.state == "destroyed":
            raise HostError(f"{self.description.name} has no cable: it is {self.state}")
        network.plug(self.description.number, connected)

    def empty_temporary_disk(self) -> None:
        """What happens to /mnt when the machine moves. It must be off."""
        shutil.rmtree(self._temporary_disk)
        self._temporary_disk.mkdir()

    async def destroy(self) -> None:
        """End the machine for good, without warning it. Its disk can still be read."""
        await self.cut_power()
        if self.state != "destroyed":
            self.state = "destroyed"
            asyncio.get_running_loop().remove_reader(self._notifications)
            self._notifications.close()
            if self._made:
                network.disconnect(self.description.name, self.description.number)

    @property
    def console(self) -> Path:
        """What the machine has written to its console."""
        return self._place / "console"

    @property
    def disk(self) -> Path:
        """Where its files can be read."""
        return self._disk

    @property
    def image(self) -> Path:
        """What it has changed in its copy of the tree at IMAGE."""
        return self._place / "image" / "upper"

    def unmount(self) -> None:
        """Let go of its disk, for good. It must have been destroyed."""
        for disk in (self._disk, self._place / "image" / "disk"):
            if disk.is_mount():
                subprocess.run(["umount", str(disk)], check=True)

    @property
    def leader(self) -> int | None:
        """The process id, as seen in the lab, of the machine's own first process."""
        for directory, _names, _files in os.walk(self._cgroup):
            for pid in Path(directory, "cgroup.procs").read_text().split():
                # As seen here, and as seen in the machine.
                if _pids(int(pid))[1:] == ["1"]:
                    return int(pid)
        return None

    def status(self) -> dict[str, Any]:
        return {
            "address": self.description.address,
            "boots": self.boots,
            "disk": str(self.disk),
            "leader": self.leader,
            "state": self.state,
        }

    def _make(self) -> None:
        """Make the disks, and the network."""
        self._temporary_disk.mkdir()
        _overlay(self.description.tree, self._place, self._image)
        for path, directory in self.description.files:
            target = self._disk / path.lstrip("/")
            target.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--recursive", f"{directory}/.", str(target)], check=True)
        for name, content in self._files.items():
            file = self._disk / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
        keys = self._disk / "etc/ssh/ssh_host_ed25519_key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(keys)], check=True)
        if self.description.builds:
            (self._place / "image").mkdir()
            _overlay(self.description.tree, self._place / "image")
        for disk in (self._disk, self._place / "image" / "disk"):
            for file in disk.glob("etc/python3.*/sitecustomize.py"):
                shutil.copyfile(PYTHON / file.name, file)
        network.connect(self.description.name, self.description.number)

    async def _run(self) -> None:
        """Boot, and boot again, until the machine switches itself off or is switched off."""
        try:
            while await self._boot() == _REBOOT_STATUS:
                pass
        finally:
            if self._process is not None and self._process.returncode is None:
                (self._cgroup / "cgroup.kill").write_text("1")
                await self._process.wait()
            self._leave_cgroup()
            self.state = "off"
            self._off.set()

    async def _boot(self) -> int:
        self._ready.clear()
        self.state = "booting"
        self.boots += 1
        self._leave_cgroup()
        self._cgroup.mkdir(parents=True)
        command = [
            "systemd-nspawn", "--quiet", "--boot", "--console=pipe",
            f"--directory={self._disk}", f"--bind={self._temporary_disk}:/mnt",
            f"--machine={self.description.name}", f"--network-namespace-path=/run/netns/{self.description.name}",
            "--register=no", "--keep-unit", "--notify-ready=yes",
            "--resolv-conf=off", "--timezone=off", "--link-journal=no",
        ]  # fmt: skip
        if self.description.builds:
            command.append(f"--bind={self._place / 'image/disk'}:{IMAGE}")
        with self.console.open("ab") as console:
            self._process = await asyncio.create_subprocess_exec(
                # Into the cgroup before it is anything else: all of its children are born there.
                "/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self._cgroup), *command,
                stdin=asyncio.subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True,
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "NOTIFY_SOCKET": str(self._place / "notify"),
                     "SYSTEMD_NSPAWN_LOCK": "0"},
            )  # fmt: skip
        return await self._process.wait()

    def _notified(self, message: bytes) -> None:
        if b"READY=1" in message.splitlines() and self.state == "booting":
            self.state = "running"
            self._ready.set()

    def _leave_cgroup(self) -> None:
        # The last process may be on its way out for a moment.
        deadline = time.monotonic() + 5
        while self._cgroup.exists():
            try:
                remove_cgroup(self._cgroup)
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _set_frozen(self, frozen: bool) -> None:
        (self._cgroup / "cgroup.freeze").write_text("1" if frozen else "0")
        deadline = time.monotonic() + 5
        while f"frozen {int(frozen)}" not in (self._cgroup / "cgroup.events").read_text().splitlines():
            if time.monotonic() > deadline:
                raise HostError(f"{self.description.name} does not {'freeze' if frozen else 'thaw'}")
            time.sleep(0.01)


def _overlay(tree: Path, place: Path, changes: Path | None = None) -> None:
    """Make `place`/disk: a copy of the tree, with these changes already made to it; what is changed goes to upper."""
    for directory in ("upper", "work", "disk"):
        (place / directory).mkdir()
    if changes is not None:
        subprocess.run(["cp", "--archive", f"{changes}/.", str(place / "upper")], check=True)
    layers = f"lowerdir={tree},upperdir={place / 'upper'},workdir={place / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(place / "disk")], check=True)


def cgroup_of_lab(name: str) -> Path:
    """Where the cgroups of the hosts are: below our own, so that whoever watches us also counts them."""
    own = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    return CGROUPS / own[3:].lstrip("/") / f"foghorn-lab-{name}"


def _pids(pid: int) -> list[str]:
    """The ids that a process has, from our namespace inwards; none if it has just ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[1:]


def _listen(path: Path, receive: Callable[[bytes], None]) -> socket.socket:
    """Take what systemd notifies at this address."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    listener.bind(str(path))
    loop = asyncio.get_running_loop()
    loop.add_reader(listener, lambda: receive(listener.recv(4096)))
    return listener
