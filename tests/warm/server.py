# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs ansible-playbook in forks of a process that has loaded it, for those who call bin/ansible-playbook.

Usage: server.py PROGRAM LISTENER OWNER LOCK: which ansible-playbook it stands for, and three descriptors, by number:
where they connect; what comes to its end when the owner does (owner.py), which ends this process too; what the owner
finds locked until then.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import random
import selectors
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

STREAMS = 3


class Request(NamedTuple):
    """What to run."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    umask: int
    streams: list[int]


def main() -> None:
    """Serve; in a fork, run the playbooks that were asked for."""
    program, *descriptors = sys.argv[1:]
    # As if it were the program.
    sys.path[0] = str(Path(program).parent)
    load()
    request = Server(*map(int, descriptors)).serve()
    if request:
        become(request)
        importlib.import_module("ansible.cli.playbook").main()


def load() -> None:
    """Import what every run needs, and what this environment's runs do."""
    importlib.import_module("ansible.cli.playbook")
    names = """
        ansible.executor.task_queue_manager ansible.module_utils.basic ansible.plugins.callback.default
        ansible.plugins.strategy.linear
    """
    for name in [*names.split(), *os.environ.get("WARM_IMPORTS", "").split()]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # Each run reads it first of all.
    metadata: Any = importlib.import_module("ansible.utils.collection_loader._collection_finder")
    metadata._meta_yml_to_dict = functools.lru_cache(metadata._meta_yml_to_dict)
    constants: Any = importlib.import_module("ansible.constants")
    routing = Path(constants.__file__).parent / "config" / "ansible_builtin_runtime.yml"
    metadata._meta_yml_to_dict(routing.read_bytes(), ("ansible.builtin", "runtime.yml"))
    _forget_directory(constants)
    gc.collect()
    gc.freeze()


def _forget_directory(constants: Any) -> None:
    atexit.unregister(importlib.import_module("ansible.utils.path").cleanup_tmp_file)
    shutil.rmtree(constants.DEFAULT_LOCAL_TMP)


def become(request: Request) -> None:
    """Be the process that was asked for."""
    for stream, descriptor in enumerate(request.streams):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.chdir(request.cwd)
    os.umask(request.umask)
    os.environ.clear()
    os.environ.update(request.env)
    sys.argv = request.argv
    tempfile.tempdir = None
    random.seed()
    constants: Any = importlib.import_module("ansible.constants")
    constants.DEFAULT_LOCAL_TMP = constants.config.get_config_value("DEFAULT_LOCAL_TMP", variables=vars(constants))


class Server:
    """Forks for whoever asks, and tells them the status."""

    def __init__(self, listener: int, owner: int, lock: int) -> None:
        self._listener = socket.socket(fileno=listener)
        self._ended, self._wake = (end.detach() for end in socket.socketpair())
        self._own = (owner, lock, self._ended, self._wake)
        for descriptor in self._own:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)
        self._has_owner = True
        self._askers: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        for descriptor, react in ((listener, self._accept), (self._ended, self._reap), (owner, self._end)):
            self._selector.register(descriptor, selectors.EVENT_READ, react)

    def serve(self) -> Request | None:
        """Return a request in each fork, and nothing once the owner has ended."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake)
        while self._has_owner:
            for key, _ in self._selector.select():
                request: Request | None = key.data()
                if request:
                    return request
        return None

    def _end(self) -> None:
        for pid in self._askers:
            _kill(pid)
        self._has_owner = False

    def _accept(self) -> Request | None:
        asker, _ = self._listener.accept()
        request = _receive(asker)
        if request is None:
            asker.close()
            return None
        pid = os.fork()
        if pid:
            for stream in request.streams:
                os.close(stream)
            self._askers[pid] = asker
            self._selector.register(asker, selectors.EVENT_READ, functools.partial(self._leave, pid))
            return None
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for descriptor in self._own:
            os.close(descriptor)
        for connection in (self._listener, asker, *self._askers.values()):
            connection.close()
        return request

    def _leave(self, pid: int) -> None:
        """Nobody waits for it any more: it was killed, or has given up."""
        asker = self._askers.pop(pid, None)
        # What has ended in the same moment is not there any more.
        if asker:
            self._selector.unregister(asker)
            asker.close()
            _kill(pid)

    def _reap(self) -> None:
        os.read(self._ended, 4096)
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                asker = self._askers.pop(pid, None)
                if asker:
                    self._selector.unregister(asker)
                    with asker, contextlib.suppress(OSError):
                        asker.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def _receive(asker: socket.socket) -> Request | None:
    """Return what is asked for, or nothing where the asker was killed meanwhile."""
    streams = array.array("i")
    head, messages, _, _ = asker.recvmsg(4, socket.CMSG_LEN(STREAMS * streams.itemsize))
    for _, _, data in messages:
        streams.frombytes(data)
    with asker.makefile("rb") as stream:
        text = stream.read(int.from_bytes(head, "big"))
    try:
        return Request(**json.loads(text), streams=streams.tolist())
    except ValueError:
        for descriptor in streams:
            os.close(descriptor)
        return None


def _kill(pid: int) -> None:
    for process in with_descendants(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def with_descendants(pid: int) -> list[int]:
    """A process, and all that it has started directly or through others."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in children.read_text().split()]
    return found


if __name__ == "__main__":
    main()
