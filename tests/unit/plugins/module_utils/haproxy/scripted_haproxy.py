# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A scripted HAProxy behind a real UNIX socket: it has servers, obeys commands, and misbehaves on request.

What it answers was taken down from HAProxy 2.6.12. `before` is called with each command before it is answered, so that
a test may change the world at that moment; `answers` replaces the answer to a command, or makes it fail.
"""

import socket
import threading
from types import TracebackType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Type

STATE_COLUMNS = {
    "1.8": "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight"
    " srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state"
    " bk_f_forced_id srv_f_forced_id srv_fqdn srv_port",
    "2.2": "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight"
    " srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state"
    " bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord",
    "2.6": "be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight"
    " srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state"
    " bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr"
    " srv_agent_addr srv_agent_port",
}
STAT_COLUMNS = {
    "1.8": "pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,"
    "act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,lbtot,tracked,type,rate,last_chk,",
    "2.6": "pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,"
    "act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,lbtot,tracked,type,rate,rate_lim,rate_max,"
    "check_status,last_chk,check_rise,check_fall,check_health,addr,cookie,mode,idle_conn_cur,safe_conn_cur,used_conn_cur,need_conn_est,uweight,-,",
}

HANG = object()
"""An answer: none, and the connection stays open until HAProxy is left."""


class Server:
    """A server in one backend."""

    def __init__(self, backend: str, name: str, admin_state: int = 0, weight: int = 1, **values: int) -> None:
        self.backend = backend
        self.name = name
        self.configured = (admin_state, weight)
        self.admin_state = admin_state
        self.weight = weight
        self.operational_state = values.get("operational_state", 2)
        self.agent_state = values.get("agent_state", 0)
        self.sessions = values.get("sessions", 0)
        self.queued = values.get("queued", 0)
        self.check = {}  # type: Dict[str, int]
        """Of its health check, `check_health` and how many results make it up and down; nothing without one."""
        self.address = ""
        """Where it is; unless a test says so, where no server of another name is."""


class Answer(NamedTuple):
    """Bytes that are sent as they are, then the connection is closed."""

    data: bytes


class ScriptedHaproxy:
    """Servers behind a runtime API, on a socket at `path`."""

    def __init__(self, path: str, servers: List[Server], version: str = "2.6", level: str = "admin") -> None:
        self.path = path
        self.servers = servers
        self.level = level
        self.pid = 4711
        self.uptime = 60
        self.processes = 1
        self.old_workers: Dict[int, List[Server]] = {}
        self.commands: List[str] = []
        self.answers: Dict[str, Any] = {}
        self.before: Callable[[str], None] = lambda _command: None
        self._state_columns = STATE_COLUMNS[version].split()
        self._stat_columns = STAT_COLUMNS.get(version, STAT_COLUMNS["2.6"]).split(",")
        self._left = threading.Event()
        self._threads: List[threading.Thread] = []

    def __enter__(self) -> "ScriptedHaproxy":
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen(16)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self._left.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for thread in self._threads:
            thread.join()

    @property
    def changes(self) -> List[str]:
        """The commands so far that change something."""
        return [command for command in self.commands if not command.startswith(("show ", "@!"))]

    def find(self, place: str) -> Server:
        """The server at backend/name."""
        return next(server for server in self.servers if "%s/%s" % (server.backend, server.name) == place)

    def reload(self, in_a_container: bool = False) -> None:
        """Restart: another process, with the state of the configuration."""
        self.pid += not in_a_container
        self.uptime = 0
        for server in self.servers:
            server.admin_state, server.weight = server.configured

    def _serve(self) -> None:
        while True:
            try:
                connection, _address = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._answer, args=(connection,))
            thread.start()
            self._threads.append(thread)

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            command = stream.readline().decode("ascii").rstrip("\n")
            self.commands.append(command)
            self.before(command)
            answer = self.answers.get(command, self._obey)
            if callable(answer):
                answer = answer(command)
            if answer is HANG:
                self._left.wait()
            else:
                try:
                    connection.sendall(answer.data if isinstance(answer, Answer) else (answer + "\n").encode("utf-8"))
                except OSError:
                    pass  # The client may leave whenever it likes.

    def _obey(self, command: str) -> Any:
        words = command.split()
        if words[0].startswith("@!"):
            return self._ask_old_worker(int(words[0][2:]))
        if words[:2] == ["show", "info"]:
            return "Name: HAProxy\nVersion: 2.6.12\nNbproc: %d\nPid: %d\nUptime_sec: %d\n" % (
                self.processes,
                self.pid,
                self.uptime,
            )
        if words[:3] == ["show", "servers", "state"]:
            return self._show_state(words[3:])
        if words[:2] == ["show", "stat"]:
            return self._show_stat(self.servers, int(words[2]), int(words[4]))
        if words == ["show", "proc"]:
            return self._show_proc()
        if words == ["show", "cli", "level"]:
            return self.level + "\n"
        if self.level != "admin":
            return "Permission denied\n"
        if words[:2] == ["set", "server"]:
            return self._set(self.find(words[2]), *words[3:])
        if words[:3] == ["shutdown", "sessions", "server"]:
            self.find(words[3]).sessions = 0
            return ""
        return "Unknown command, but maybe one of the following ones is a better match:\n  help\n"

    def _ids(self, server: Server) -> Tuple[int, int]:
        backends = sorted({each.backend for each in self.servers})
        inside = [each.name for each in self.servers if each.backend == server.backend]
        # As in HAProxy, the frontends have come first.
        return backends.index(server.backend) + 3, inside.index(server.name) + 1

    def _show_state(self, backends: List[str]) -> str:
        if backends and backends[0] not in {server.backend for server in self.servers}:
            return "Can't find backend.\n"
        lines = ["1", "# " + " ".join(self._state_columns)]
        for server in self.servers:
            if backends and server.backend != backends[0]:
                continue
            backend_id, server_id = self._ids(server)
            values = {
                "be_id": backend_id,
                "be_name": server.backend,
                "srv_id": server_id,
                "srv_name": server.name,
                "srv_addr": server.address
                or "10.0.0.%d" % sorted({each.name for each in self.servers}).index(server.name),
                "srv_op_state": server.operational_state,
                "srv_admin_state": server.admin_state,
                "srv_uweight": server.weight,
                "srv_agent_state": server.agent_state,
                "srv_fqdn": "-",
                "srv_port": 80,
            }
            lines.append(" ".join(str(values.get(column, 0)) for column in self._state_columns))
        return "\n".join(lines) + "\n"

    def _show_stat(self, servers: List[Server], wanted_backend: int, wanted_server: int) -> str:
        lines = ["# " + ",".join(self._stat_columns)]
        for server in servers:
            backend_id, server_id = self._ids(server)
            if wanted_backend not in (-1, backend_id) or wanted_server not in (-1, server_id):
                continue
            values = {
                "pxname": server.backend,
                "svname": server.name,
                "scur": server.sessions,
                "qcur": server.queued,
                "type": 2,
                "iid": backend_id,
                "sid": server_id,
                "last_chk": '"said ""no"", then left"',
                **server.check,
            }
            lines.append(",".join(str(values.get(column, "")) for column in self._stat_columns))
        return "\n".join(lines) + "\n"

    def _show_proc(self) -> str:
        old = ["%-15d worker          1               0d00h00m02s     2.6.12\n" % pid for pid in self.old_workers]
        return (
            "#<PID>          <type>          <reloads>       <uptime>        <version>      \n"
            "100             master          1 [failed: 0]   0d00h00m02s     2.6.12\n"
            "# workers\n%-15d worker          0               0d00h00m01s     2.6.12\n%s# programs\n"
            % (self.pid, "# old workers\n" + "".join(old) if old else "")
        )

    def _ask_old_worker(self, pid: int) -> Any:
        if pid not in self.old_workers:
            return Answer(b"Can't find the target PID matching the prefix '@!%d'\n" % pid)
        return self._show_stat(self.old_workers[pid], -1, -1)

    def _set(self, server: Server, what: str, value: str) -> str:
        if what == "weight":
            server.weight = int(value)
        else:
            bits = {"drain": 8, "maint": 1, "ready": 0}[value]
            server.admin_state = (server.admin_state & ~9) | bits
        return ""
