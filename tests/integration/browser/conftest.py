# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real browser, told what to do by WebDriver's plain HTTP: Chromium and its driver, as Debian has them.

Where they are not installed these tests are skipped, unless BROWSER_TESTS=required.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key under which WebDriver names an element."""

OPTIONS = (
    "headless=new",
    "no-sandbox",  # as root it has none
    "disable-gpu",
    "disable-quic",
    "no-first-run",
    "disable-background-networking",
    "disable-component-update",
    "disable-sync",
    "disable-dev-shm-usage",
    # Nothing but loopback is found.
    "host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Browser:
    """One window."""

    def __init__(self, driver: str, profile: Path) -> None:
        self._url = driver
        arguments = [f"--{option}" for option in (*OPTIONS, f"user-data-dir={profile}")]
        wanted = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        self._url += f"/session/{self._call('POST', '/session', capabilities={'alwaysMatch': wanted})['sessionId']}"

    def _call(self, method: str, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Go to an address."""
        self._call("POST", "/url", url=url)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run the body of a function in the page; returns what it returns."""
        return self._call("POST", "/execute/sync", script=script, args=list(arguments))

    def click(self, selector: str) -> None:
        """Click as a person does: what is covered or hidden cannot be clicked."""
        element = self._call("POST", "/element", using="css selector", value=selector)[ELEMENT]
        self._call("POST", f"/element/{element}/click")

    def press(self, keys: str) -> None:
        """Press keys, wherever the keyboard's focus is."""
        focused = self._call("GET", "/element/active")[ELEMENT]
        self._call("POST", f"/element/{focused}/value", text=keys)

    def text(self, selector: str) -> str:
        """What is shown there, nothing if it is not there."""
        shown: str = self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)
        return shown

    def complaints(self) -> list[str]:
        """What the browser has complained of since the last call, refusals by the page's policy among it."""
        return [entry["message"] for entry in self._call("POST", "/se/log", type="browser")]

    def read_aloud(self) -> list[tuple[str, str]]:
        """What a screen reader finds: role and name of each part of the page that is not hidden from it."""
        nodes = self._call("POST", "/goog/cdp/execute", cmd="Accessibility.getFullAXTree", params={})["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]]

    def system(self, **features: str) -> None:
        """Have the system prefer something: ``prefers_color_scheme="dark"``."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self._call(
            "POST", "/goog/cdp/execute", cmd="Emulation.setEmulatedMedia", params={"media": "", "features": named}
        )

    def resize(self, width: int, height: int) -> None:
        """Give the page that many pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("POST", "/goog/cdp/execute", cmd="Emulation.setDeviceMetricsOverride", params=metrics)

    def picture(self) -> bytes:
        """What is seen, as a PNG."""
        return base64.b64decode(self._call("GET", "/screenshot"))

    def close(self) -> None:
        """End it."""
        self._call("DELETE", "")


@pytest.fixture(scope="module", name="browser")
def fixture_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that knows nothing of anybody."""
    driver = shutil.which("chromedriver")
    if driver is None:
        reason = "there is no browser: install chromium and chromium-driver"
        if os.environ.get("BROWSER_TESTS") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    # In a session of its own, so that no browser outlives it.
    process = subprocess.Popen(
        [driver, "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        port = next(found[1] for line in process.stdout if (found := re.search(r"successfully on port (\d+)", line)))
        browser = Browser(f"http://127.0.0.1:{port}", tmp_path_factory.mktemp("profile"))
        yield browser
        browser.close()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@pytest.fixture(name="wait_for")
def fixture_wait_for() -> Callable[[Callable[[], Any]], Any]:
    """Wait until something is true, and return it."""

    def wait_for(condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (found := condition()):
            assert time.monotonic() < deadline, f"not so within {PATIENCE:g} s"
            time.sleep(0.05)
        return found

    return wait_for
