# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a job learns of those that wait behind it, from a controller that answers over HTTP."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.claims import describe_run
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.later_jobs import (
    ASKED_EVERY,
    Job,
    LaterJobs,
    job_of,
)

TOKEN = "a-token-of-this-test"


def job(number: int, status: str = "pending", **launched_with: Any) -> dict[str, Any]:
    """A job of template 9, as AWX 24.6.1 lists it."""
    usual = {
        "job_template": 9,
        "job_type": "run",
        "inventory": 1,
        "project": 2,
        "playbook": "handle_events.yml",
        "scm_branch": "",
        "limit": "",
        "job_tags": "",
        "skip_tags": "",
        "start_at_task": "",
        "extra_vars": "{}",
    }
    return {"id": number, "status": status, **usual, **launched_with}


OURS = job(16, "running")


class Controller:
    """Answers with `jobs`, with `body`, or with `raw` in place of a whole answer."""

    def __init__(self) -> None:
        self.jobs: list[dict[str, Any]] = [OURS]
        self.status = 200
        self.body = b""
        self.raw = b""
        self.asked: list[str] = []
        self.authorization: list[str | None] = []
        self.now = 0.0
        controller = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                """Answer."""
                controller.asked.append(self.path)
                controller.authorization.append(self.headers.get("Authorization"))
                if controller.raw:
                    self.wfile.write(controller.raw)
                    return
                body = controller.body or json.dumps({"results": controller.jobs}).encode()
                self.send_response(controller.status)
                if controller.status == 302:
                    self.send_header("Location", f"{controller.url}/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Keep quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def later(self, **environment: str) -> LaterJobs:
        """Those behind job 16."""
        given = environment or {"CONTROLLER_HOST": self.url, "CONTROLLER_OAUTH_TOKEN": TOKEN}
        return LaterJobs(Job(16, 9), given, lambda: self.now)


@pytest.fixture
def controller() -> Iterator[Controller]:
    made = Controller()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_given_jobs_that_wait_then_it_is_the_first_of_them(controller: Controller) -> None:
    controller.jobs = [job(19), job(15, "running"), OURS, job(18, "waiting")]

    assert controller.later().next() == 18
    path, query = urlsplit(controller.asked[0]).path, parse_qs(urlsplit(controller.asked[0]).query)
    assert path == "/api/v2/jobs/"
    assert (query["job_template"], query["id__gte"]) == (["9"], ["16"])
    assert query["status__in"] == ["new,pending,waiting,running"]
    assert controller.authorization == [f"Bearer {TOKEN}"]


@pytest.mark.parametrize(
    "other",
    [
        job(15),
        job(17, "running"),
        job(17, "canceled"),
        job(17, job_template=8),
        job(17, limit="web1"),
        job(17, job_type="check"),
        job(17, inventory=4),
        job(17, job_tags="plan"),
        job(17, extra_vars='{"handle_events_hosts": "web1"}'),
    ],
)
def test_given_a_job_that_would_not_do_the_same_then_it_does_not_count(
    controller: Controller, other: dict[str, Any]
) -> None:
    controller.jobs = [OURS, other]

    assert controller.later().next() is None


def test_given_a_launch_by_a_rulebook_then_its_event_makes_no_difference(controller: Controller) -> None:
    controller.jobs = [OURS, job(17, extra_vars='{"ansible_eda": {"event": {"id": "A"}}}')]

    assert controller.later().next() == 17


def test_given_a_name_and_a_password_then_these_sign_in(controller: Controller) -> None:
    controller.jobs = [OURS, job(17)]
    given = {
        "TOWER_HOST": controller.url + "/",
        "TOWER_USERNAME": "operator",
        "TOWER_PASSWORD": "secret",
        "CONTROLLER_OPTIONAL_API_URLPATTERN_PREFIX": "/api/controller/",
    }

    assert controller.later(**given).next() == 17
    assert urlsplit(controller.asked[0]).path == "/api/controller/v2/jobs/"
    assert controller.authorization == ["Basic " + base64.b64encode(b"operator:secret").decode()]


def test_given_no_credential_then_nobody_is_asked(controller: Controller) -> None:
    for given in ({"CONTROLLER_HOST": controller.url}, {"CONTROLLER_OAUTH_TOKEN": TOKEN}):
        assert not controller.later(**given).is_known()
        assert controller.later(**given).next() is None
    assert controller.asked == []


def test_given_a_job_that_asks_continuously_then_the_controller_is_asked_twice_a_minute(
    controller: Controller,
) -> None:
    later = controller.later()
    for second in range(61):
        controller.now = float(second)
        later.next()

    assert ASKED_EVERY == 30
    assert len(controller.asked) == 3


@pytest.mark.parametrize("status", [401, 403, 500, 302])
def test_given_a_controller_that_refuses_then_that_is_reported_and_the_credential_goes_nowhere_else(
    controller: Controller, status: int
) -> None:
    controller.status = status

    with pytest.raises(HTTPError, match=f"HTTP Error {status}") as refused:
        controller.later().next()
    assert len(controller.asked) == 1
    assert refused.value.fp is not None
    assert refused.value.fp.closed


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"null",
        b"{}",
        b'{"results": null}',
        b'{"results": []}',
        b'{"results": [7]}',
        b'{"results": [{"id": 17, "status": "pending"}]}',
        json.dumps({"results": [dict(OURS, extra_vars="[]"), job(17)]}).encode(),
        json.dumps({"results": [dict(OURS, extra_vars="{{"), job(17)]}).encode(),
        b" " * (4 * 1024 * 1024 + 1),
    ],
)
def test_given_an_invalid_answer_then_no_job_is_known_of(controller: Controller, body: bytes) -> None:
    controller.body = body

    with pytest.raises(ValueError, match=r".+"):
        controller.later().next()


@pytest.mark.parametrize(
    "raw",
    [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{", b"no HTTP\r\n\r\n"],
    ids=["cut off", "garbage"],
)
def test_given_an_answer_that_is_no_http_then_no_job_is_known_of(controller: Controller, raw: bytes) -> None:
    controller.raw = raw

    with pytest.raises(ValueError, match=r".+"):
        controller.later().next()


def test_given_a_run_then_it_is_a_job_only_if_its_template_runs_alone() -> None:
    number = {"id": 16, "template_id": 9}

    assert job_of(describe_run("handle_events", {**number, "controller": "c1"})) == Job(16, 9)
    assert job_of(describe_run("handle_events", number)) is None
    assert job_of(describe_run("handle_events")) is None
    assert job_of({"process": {"job": {"id": "x", "template": None}}}) is None
