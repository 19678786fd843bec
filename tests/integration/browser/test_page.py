# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's page, and the picture in the README, in a real browser.

SCREENSHOTS=docs has the pictures of docs/simulator.md taken anew, as `make picture` does.
"""

from __future__ import annotations

import os
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from azure_simulator.testing import Simulator

from .conftest import Browser

WaitFor = Callable[[Callable[[], Any]], Any]
ROOT = Path(__file__).resolve().parents[3]
PICTURE = ROOT / "docs" / "demo.svg"
HOSTILE = '"><img src=x onerror=document.title="taken"><script>document.title="taken"</script>'
LANE = """
return [...document.querySelectorAll('.lane')].map((row) =>
    row.querySelector('.name').textContent + ': ' + row.querySelector('.state').textContent)
"""


class _Probed(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.end_headers()

    def log_message(self, *_unused: object) -> None:
        """Say nothing."""


@pytest.fixture(name="azure")
def fixture_azure() -> Iterator[Simulator]:
    """Two machines behind a balancer, on a clock that runs 60 times as fast."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Probed) as server:
        server.status = 200  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        config = {
            "clock": {"speed": 60},
            "vms": [
                {"name": f"web_{number}", "address": f"127.0.0.{51 + number}", "scale_set": "web"}
                for number in range(2)
            ],
            "load_balancers": [
                {
                    "name": "front",
                    "listen": "127.0.0.1:0",
                    "probe": {"path": "/", "interval": 0.2, "threshold": 1},
                    "members": [{"vm": f"web_{n}", "address": "127.0.0.1", "port": port} for n in range(2)],
                }
            ],
        }
        with Simulator(config) as azure:
            yield azure
        server.shutdown()


def keep(browser: Browser, name: str) -> None:
    """Keep what is seen for the documentation, if it is asked for."""
    directory = os.environ.get("SCREENSHOTS")
    if directory:
        (ROOT / directory / name).write_bytes(browser.picture())


def test_given_the_page_when_an_event_is_announced_approved_and_withdrawn_by_click_then_it_happens_and_is_shown(
    azure: Simulator, browser: Browser, wait_for: WaitFor
) -> None:
    browser.resize(1280, 1000)
    browser.system(prefers_color_scheme="light")
    browser.open(azure.control)
    wait_for(lambda: browser.run(LANE) == ["web_0: in rotation", "web_1: in rotation"])

    # By keyboard: every control can be reached, and does what it says.
    browser.run("document.getElementById('type').focus()")
    browser.press("Reb")
    browser.run("document.getElementById('resources').options[0].selected = true")
    browser.run("document.querySelector('#announce button').focus()")
    browser.press("\ue007")
    wait_for(lambda: browser.run("return document.querySelectorAll('#events tr').length") == 1)
    (event,) = azure.status()["events"]
    assert (event["event_type"], event["resources"], event["status"]) == ("Reboot", ["web_0"], "Scheduled")
    minutes, seconds = browser.text("#events td:nth-child(4)").split(":")
    assert 0 < 60 * int(minutes) + int(seconds) <= 900
    assert browser.run("return document.querySelectorAll('.due').length") == 1
    # The row stays itself while its countdown runs: the keyboard is still on the button afterwards.
    browser.run("document.querySelector('#events button').focus()")
    shown = browser.text("#events td:nth-child(4)")
    wait_for(lambda: browser.text("#events td:nth-child(4)") != shown)
    assert browser.run("return document.activeElement.getAttribute('aria-label')") == "Withdraw the Reboot of web_0"
    browser.click("#events button")
    wait_for(lambda: browser.text("#events td:nth-child(3)") == "Canceled")
    assert azure.status()["events"][0]["status"] == "Canceled"

    browser.run("document.getElementById('fault-vm').value = 'web_1'")
    browser.click("#fault button")
    wait_for(lambda: browser.text("#faults td:nth-child(2)") == "status 500")
    assert azure.status()["faults"][0]["vm"] == "web_1"
    browser.click("#faults button")
    wait_for(lambda: azure.status()["faults"] == [])

    if os.environ.get("SCREENSHOTS"):
        browser.run("document.getElementById('span').value = '60'")
        time.sleep(8)
    event = azure.event("Redeploy", ["web_0", "web_1"], notice=900, impact=240, linger=600)
    request = urllib.request.Request(
        azure.imds["web_1"] + "/metadata/scheduledevents?api-version=2020-07-01",
        b'{"StartRequests": [{"EventId": "%s"}]}' % event["event_id"].encode(),
        {"Metadata": "true"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert answer.status == 200
    wait_for(lambda: browser.text("#events tr:last-child td:nth-child(5)") == "web_1")
    wait_for(lambda: browser.run(LANE) == ["web_0: Redeploy", "web_1: Redeploy"])
    assert browser.run("return document.querySelectorAll('rect.hit').length") >= 2
    if os.environ.get("SCREENSHOTS"):
        # Let the lanes become long enough to be seen.
        wait_for(lambda: browser.run(LANE) == ["web_0: in rotation", "web_1: in rotation"])
        time.sleep(8)
    keep(browser, "simulator_light.png")
    browser.system(prefers_color_scheme="dark")
    keep(browser, "simulator_dark.png")
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert browser.complaints() == []


def test_given_hostile_text_when_shown_then_it_is_text_and_mistakes_are_shown(
    azure: Simulator, browser: Browser, wait_for: WaitFor
) -> None:
    azure.event("Freeze", ["web_0"], description=HOSTILE)
    browser.open(azure.control)
    wait_for(lambda: browser.run("return document.querySelectorAll('#events tr').length") == 1)

    assert browser.run("return document.querySelector('#events td:nth-child(6)').textContent") == HOSTILE
    assert browser.run("return document.querySelectorAll('img').length") == 0
    assert browser.run("return document.title") == "Simulated Azure"
    # Were it markup after all, the page's policy would not let it run.
    browser.run("document.body.insertAdjacentHTML('beforeend', arguments[0])", HOSTILE)
    wait_for(lambda: any("Content Security Policy" in complaint for complaint in browser.complaints()))
    assert browser.run("return document.title") == "Simulated Azure"

    azure.event("Terminate", ["web_1"])
    browser.run(
        "call('POST', 'events', {event_type: 'Boot', resources: ['web_0']}).catch((e) => document.title = e.message)"
    )
    wait_for(lambda: "is not one of" in browser.run("return document.title"))


@pytest.mark.parametrize("width", [390, 1280])
def test_given_a_narrow_or_wide_window_when_the_page_is_shown_then_it_is_no_wider_and_a_screen_reader_finds_all_of_it(
    azure: Simulator, browser: Browser, wait_for: WaitFor, width: int
) -> None:
    azure.event("Reboot", ["web_0"])
    browser.resize(width, 900)
    browser.open(azure.control)
    wait_for(lambda: browser.run("return document.querySelectorAll('#events tr').length") == 1)
    assert browser.run("return document.documentElement.scrollWidth") <= width

    parts = browser.read_aloud()
    controls = [
        (role, name) for role, name in parts if role in ("button", "textbox", "spinbutton", "combobox", "listbox")
    ]
    assert ("button", "Withdraw the Reboot of web_0") in controls
    assert len(controls) >= 9
    # Its clock runs.
    assert ("spinbutton", "Advance the clock by, s") not in controls
    assert all(name for _role, name in controls)
    words = [name for _role, name in parts]
    assert [words[words.index(vm, words.index("Machines")) + 1] for vm in ("web_0", "web_1")] == ["in rotation"] * 2


def test_given_a_clock_that_stands_and_clients_that_count_when_shown_then_a_click_advances_it_and_the_loss_is_shown(
    browser: Browser, wait_for: WaitFor
) -> None:
    with Simulator({"clock": {"manual": True}, "vms": [{"name": "db", "address": "127.0.0.53"}]}) as azure:
        azure.client.load(1200, 3)
        begun = azure.status()["now"]
        browser.open(azure.control)
        wait_for(lambda: browser.text("#load") == "The clients have sent 1200 requests, and lost 3.")
        browser.run("document.getElementById('seconds').value = '90'")
        browser.click("#advance button")
        wait_for(lambda: azure.status()["now"] == pytest.approx(begun + 90, abs=0.01))


def test_given_a_simulator_that_has_ended_then_the_page_says_that_it_shows_the_last_state(
    browser: Browser, wait_for: WaitFor
) -> None:
    with Simulator({"vms": [{"name": "db", "address": "127.0.0.53"}]}) as azure:
        browser.open(azure.control)
        wait_for(lambda: browser.run(LANE) == ["db: in rotation"])
    wait_for(lambda: "does not answer any more" in browser.text("#clock"))
    assert browser.run(LANE) == ["db: in rotation"]


def test_given_the_readmes_picture_when_a_browser_plays_it_then_time_passes_unless_the_reader_prefers_reduced_motion(
    browser: Browser, wait_for: WaitFor
) -> None:
    curtain = "return document.querySelector('.curtain').getBoundingClientRect().left"
    browser.resize(900, 420)
    browser.system(prefers_color_scheme="dark")
    browser.open(PICTURE.as_uri())
    browser.complaints()  # of the pages before
    # First it shows the whole.
    begun = browser.run(curtain)
    assert begun >= 900
    wait_for(lambda: browser.run(curtain) < begun)
    earlier = browser.run(curtain)
    wait_for(lambda: earlier < browser.run(curtain) < begun)
    assert browser.run("return getComputedStyle(document.querySelector('.bg')).fill") == "rgb(13, 17, 23)"

    browser.system(prefers_color_scheme="light", prefers_reduced_motion="reduce")
    assert browser.run("return getComputedStyle(document.querySelector('.bg')).fill") == "rgb(255, 255, 255)"
    assert browser.run("return getComputedStyle(document.querySelector('.curtain')).display") == "none"
    assert browser.run("return document.getAnimations().length") == 0
    assert browser.complaints() == []
