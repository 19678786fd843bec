# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Debian systems that hosts start from: made once with mmdebstrap, kept, and never written to again."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

KEPT_IN = Path(os.environ.get("FOGHORN_LAB_TREES", "/var/lib/foghorn-lab"))

SUITES = ("bullseye", "bookworm", "trixie")
"""Debian 11, 12 and 13."""

# Whatever a scenario needs has to be here: there is no network to install it from.
_PACKAGES = (
    "dbus",
    "haproxy",
    "iproute2",
    "nginx-light",
    "openssh-server",
    "procps",
    "python3",
    "python3-aiohttp",
    "python3-apt",
    "sudo",
    "systemd",
    "systemd-sysv",
)

# What takes long to install goes where a scenario needs it, and nowhere else.
_MORE_PACKAGES = {
    "bookworm": (
        "corosync",
        "munge",
        "pacemaker",
        "pacemaker-cli-utils",
        "postgresql",
        "prometheus",
        "redis-server",
        "slurm-client",
        "slurmctld",
        "slurmd",
    ),
}

# What mmdebstrap leaves is turned into the image of a cloud: one user who may become root, no identity yet, and
# nothing running that a scenario did not ask for.
_FINISH = r"""
set -eu
useradd --create-home --shell /bin/bash azureuser
echo 'azureuser ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/azureuser
chmod 0440 /etc/sudoers.d/azureuser
printf 'UseDNS no\nMaxStartups 100\n' >/etc/ssh/sshd_config.d/lab.conf
rm -f /etc/ssh/ssh_host_* /etc/resolv.conf /var/lib/dbus/machine-id
: >/etc/resolv.conf
: >/etc/machine-id
mkdir -p /var/log/journal
systemctl disable --quiet haproxy.service nginx.service
! [ -e /usr/sbin/slurmd ] || systemctl disable --quiet munge.service slurmctld.service slurmd.service
! [ -e /usr/sbin/pacemakerd ] || systemctl disable --quiet corosync.service logd.service pacemaker.service
systemctl mask --quiet console-getty.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer
systemctl mask --quiet e2scrub_all.timer e2scrub_reap.service fstrim.timer
rm -rf /var/cache/apt/archives /var/lib/apt/lists
# mmdebstrap empties /run, and an image that was never booted has what its packages made there.
mkdir -p /run/systemd
"""

# What they begin to run, and have made, is the scenario's to begin and to make.
_MORE_FINISH = {
    "bookworm": (
        "systemctl disable --quiet postgresql.service prometheus.service redis-server.service\npg_dropcluster 15 main\n"
    )
}

# mmdebstrap has many children and mounts: all of them are gone when it ends, and it ends when we do.
_ENDS_WITH_US = ("setpriv", "--pdeathsig=KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--")


class TreeError(Exception):
    """A tree cannot be made; the message says why."""


def packages_of(suite: str) -> tuple[str, ...]:
    """The packages of a suite's tree, beside what each Debian has."""
    return (*_PACKAGES, *_MORE_PACKAGES.get(suite, ()))


def finish_of(suite: str) -> str:
    """What is run in a suite's tree once all of its packages are there."""
    return _FINISH + _MORE_FINISH.get(suite, "")


def path_of(suite: str) -> Path:
    """Where the tree of a suite lies once it is complete."""
    key = hashlib.sha256("\n".join([suite, *packages_of(suite), finish_of(suite)]).encode()).hexdigest()[:12]
    return KEPT_IN / f"{suite}-{key}"


def make(suite: str) -> Path:
    """Make the tree of a suite unless it is there, and return where it is.

    What is not complete lies elsewhere, so that it is never used. Two who want the same tree wait for each other.
    Must run where mounts are private: then nothing stays mounted even if it is killed. Raises TreeError.
    """
    tree = path_of(suite)
    if tree.is_dir():
        return tree
    KEPT_IN.mkdir(parents=True, exist_ok=True)
    unfinished = tree.with_name(f"{tree.name}.unfinished")
    with tree.with_name(f"{tree.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tree.is_dir():
            if unfinished.exists():
                shutil.rmtree(unfinished)
            _build(suite, unfinished)
            unfinished.rename(tree)
    return tree


@contextlib.contextmanager
def _in_memory(directory: Path) -> Iterator[Path]:
    """A directory in memory: packages are installed several times as fast where nothing waits for a disk."""
    directory.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "lab", str(directory)], check=True)
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)
        directory.rmdir()


def _build(suite: str, target: Path) -> None:
    log = target.with_suffix(".log")
    log.unlink(missing_ok=True)
    packages = f"--include={','.join(packages_of(suite))}"
    with _in_memory(target.with_suffix(".memory")) as tree:
        for command, script in (
            (["mmdebstrap", "--variant=minbase", packages, suite, str(tree), mirror()], ""),
            (["chroot", str(tree), "/bin/sh"], finish_of(suite)),
            (["cp", "--archive", str(tree), str(target)], ""),
        ):
            with log.open("a") as stream:
                done = subprocess.run(
                    [*_ENDS_WITH_US, *command], input=script, stdout=stream, stderr=stream, text=True, check=False,
                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
                )  # fmt: skip
            if done.returncode != 0:
                said = log.read_text(errors="replace").rstrip().splitlines() or ["nothing"]
                raise TreeError(f"{command[0]} failed for {suite}; {log} ends with: {said[-1]}")
    log.unlink()


def mirror() -> str:
    """The Debian mirror that this machine itself installs from, or FOGHORN_LAB_MIRROR. Raises TreeError."""
    chosen = os.environ.get("FOGHORN_LAB_MIRROR")
    if chosen:
        return chosen
    apt = Path("/etc/apt")
    for file in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]:
        if file.suffix in (".list", ".sources") and file.is_file():
            for uri in uris(file.read_text(errors="replace").splitlines()):
                if uri.rstrip("/").endswith("/debian"):
                    return uri
    raise TreeError("apt knows no Debian mirror here: set FOGHORN_LAB_MIRROR to the URL of one, ending in /debian")


def uris(lines: Iterable[str]) -> Iterable[str]:
    """The addresses in an apt source, of the old style (deb [options] URI suite …) or the new (URIs: …)."""
    for line in lines:
        words = line.split()
        if words[:1] in (["deb"], ["URIs:"]):
            yield from (word for word in words[1:] if "://" in word)
