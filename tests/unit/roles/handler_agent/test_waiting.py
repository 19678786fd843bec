# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What does an agent do that has no configuration it could use?

Runs on Python 3.6 and later.
"""

import contextlib
import json
import os
import signal
import socket
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable, Generator, List, Tuple

import pytest
from edge_helpers import PATIENCE, put, wait_until
from foghorn_agent.act.waiting import wait_for_config
from foghorn_agent.config import ConfigError
from foghorn_agent.io.config_file import ConfigFile
from foghorn_agent.platform.posix.wakeups import Signals


@pytest.fixture
def held() -> Generator[socket.socket, None, None]:
    """A socket that the service manager holds."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(5)
        yield one


def spoilt(path: Path) -> Tuple[ConfigFile, ConfigError]:
    path.parent.chmod(0o755)
    path.write_text("{")
    path.chmod(0o644)
    file = ConfigFile(str(path))
    with pytest.raises(ConfigError) as caught:
        file.load()
    return file, caught.value


def ask(address: Tuple[str, int], path: str, **headers: str) -> Tuple[int, str]:
    request = urllib.request.Request("http://%s:%d%s" % (address[0], address[1], path), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode("utf-8")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode("utf-8")


@contextlib.contextmanager
def meanwhile(do: Callable[[], None]) -> Generator[None, None, None]:
    """An action while the agent waits; then a signal stops the agent, if it still waits."""

    def run() -> None:
        try:
            do()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join(PATIENCE)


@pytest.mark.parametrize("is_out", [False, True])
def test_given_a_broken_configuration_when_probed_then_the_machine_is_as_it_was_and_health_says_what_is_wrong(
    is_out: bool, signals: Signals, held: socket.socket, tmp_path: Path
) -> None:
    file, error = spoilt(tmp_path / "agent.json")
    said: List[Any] = []
    answers: List[Any] = []
    paths = ("/readyz", "/healthz", "/metrics", "/status", "/drain")

    def look() -> None:
        answers.extend(ask(held.getsockname(), path) for path in paths)
        answers.append(ask(held.getsockname(), "/healthz", Via="a proxy"))

    with meanwhile(look):
        found = wait_for_config(
            file, error, {}, lambda *what, **_fields: said.append(what), signals, [held.dup()], is_out
        )
    assert found is None
    assert answers[0] == ((503, "out of rotation\n") if is_out else (200, "in rotation\n"))
    assert answers[1] == (503, "nothing is handled\nconfiguration: %s\n" % error)
    assert 'foghorn_problems{with="configuration"} 1.0\n' in answers[2][1]
    assert "foghorn_in_rotation %r\n" % float(not is_out) in answers[2][1]
    assert [status for status, _text in answers[3:5]] == [404, 404]
    assert answers[5] == (503, "nothing is handled\n")
    assert [message for _priority, message in said] == [
        "no event is handled until the configuration is corrected: %s" % error
    ]


def test_given_a_broken_configuration_when_it_is_broken_in_another_way_and_then_corrected_then_it_is_used(
    signals: Signals, tmp_path: Path
) -> None:
    path = tmp_path / "agent.json"
    file, error = spoilt(path)
    said: List[str] = []

    def correct() -> None:
        put(path, "[]")
        wait_until(lambda: len(said) > 1)
        put(path, json.dumps({"margin": 7}))
        wait_until(lambda: not file.has_changed)

    with meanwhile(correct):
        config = wait_for_config(file, error, {}, lambda _priority, message: said.append(message), signals)
    assert config is not None
    assert config.margin == 7.0
    assert "expected an object" in said[1]
    assert len(said) == 2


def test_given_what_hinders_is_not_in_the_file_when_told_to_look_again_then_it_is_read(
    signals: Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    path = tmp_path / "etc" / "agent.json"
    path.parent.mkdir()
    file, _error = spoilt(path)
    path.write_text("{}")
    path.parent.chmod(0o777)
    with pytest.raises(ConfigError, match="others than root can write") as caught:
        file.load()
    loads: List[bool] = []
    load = file.load

    def noting() -> Any:
        loads.append(True)
        return load()

    monkeypatch.setattr(file, "load", noting)

    def correct() -> None:
        path.parent.chmod(0o755)
        os.kill(os.getpid(), signal.SIGHUP)
        wait_until(lambda: loads)

    with meanwhile(correct):
        config = wait_for_config(file, caught.value, {}, lambda *_what: None, signals)
    assert config is not None
