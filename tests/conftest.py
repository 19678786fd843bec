# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: where the code is found, the loopback guard, repeatable hypothesis runs.

Runs on Python 3.6 with pytest 7.0 and later, for the tests of managed-node code.
"""

import gc
import os
import runpy
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Generator, Iterator, List

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
COLLECTIONS = CACHE / "collections"
GUARD = ROOT / "tests" / "guard"

runpy.run_path(str(ROOT / "tools" / "link_collection.py"))["link_collection"](str(ROOT), str(COLLECTIONS))
sys.path[:0] = [str(COLLECTIONS), str(ROOT / "roles" / "azure_simulator" / "files"), str(GUARD), str(ROOT)]

import loopback_guard  # noqa: E402 - found on the path set above
from ansible_collections.foghorn.azure_events.tests import sizes  # noqa: E402

hypothesis.settings.register_profile(
    "repeatable",
    max_examples=sizes.examples(100),
    derandomize=True,
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")


class _RefusalLog:
    """The refusals of this process and of all its children, in the order of their happening."""

    def __init__(self) -> None:
        handle, self._path = tempfile.mkstemp(prefix="loopback-guard-")
        os.close(handle)
        self._read = 0

    @property
    def path(self) -> str:
        return self._path

    def take(self) -> List[str]:
        """Return the refusals since the last call."""
        with open(self._path, encoding="utf-8") as stream:
            stream.seek(self._read)
            lines = stream.read().splitlines()
            self._read = stream.tell()
        return lines

    def remove(self) -> None:
        os.unlink(self._path)


_refusals = _RefusalLog()


def pytest_report_header() -> str:
    """Say how much of the exhaustive tests is run."""
    return sizes.describe()


def pytest_configure() -> None:
    """Set what child processes inherit: the guard, this checkout as the collection, nothing of the user's own."""
    loopback_guard.install()
    # Ignored in what a script starts in the background, and then in all that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[loopback_guard.LOG_VARIABLE] = _refusals.path
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(GUARD), os.environ.get("PYTHONPATH")]))
    # The programs of the Python that runs the tests, also where that was called by its path.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    os.environ["ANSIBLE_CONFIG"] = str(ROOT / "tests" / "ansible.cfg")
    os.environ["ANSIBLE_PYTHON_INTERPRETER"] = sys.executable
    os.environ["ANSIBLE_REMOTE_TMP"] = str(CACHE / "ansible" / "tmp")
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        for variable in (name, name.upper()):
            os.environ.pop(variable, None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, None]:
    """Fail the test during which something was refused, whatever became of the error."""
    outcome = yield
    report = outcome.get_result()
    refused = _refusals.take()
    if refused:
        report.outcome = "failed"
        report.longrepr = "\n".join([str(report.longrepr or ""), *refused]).strip()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for what was refused after the last test, then leave nothing behind."""
    refused = _refusals.take()
    if refused:
        print("\n" + "\n".join(refused))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    _refusals.remove()


# What a test leaves to the garbage collector is found in its own teardown, and fails it there, not whichever test is
# running when the collector happens to come by. Fixtures of conftest.py are the first of their scope to be set up, and
# the last to be torn down.
@pytest.fixture(scope="session", autouse=True)
def _nothing_left_by_the_session() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_by_the_module(_nothing_left_by_the_session: None) -> Iterator[None]:
    if hasattr(gc, "freeze"):  # since Python 3.7
        # All that is there already is put aside: a collection takes a fraction of a millisecond then, and else a tenth
        # of a second: on 3.6, once a module is enough.
        gc.collect()
        gc.freeze()
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _nothing_left_by_the_test(request: pytest.FixtureRequest, _nothing_left_by_the_module: None) -> Iterator[None]:
    yield
    # Or the last test of a module would hold what the module's fixtures gave it beyond their end.
    request.node.funcargs.clear()
    if hasattr(gc, "freeze"):
        gc.collect()


@pytest.fixture
def take_refusals() -> Callable[[], List[str]]:
    """For tests of the guard itself: return what was refused so far, which then does not fail the test."""
    return _refusals.take
