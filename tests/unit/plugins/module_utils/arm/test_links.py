# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wherever an answer leads: a token and a secret go to the cloud's own hosts, which are those that are connected to."""

from __future__ import annotations

import contextlib
import urllib.request
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import ArmClient, Permission
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import SignIn
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import ArmError
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.pipeline import (
    only_in_secret,
    only_to,
    open_transport,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.masking import MASK
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.url import parse_url
from azure.core.exceptions import AzureError
from azure.core.rest import HttpRequest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from requests.adapters import HTTPAdapter

from .scripted_arm import FakeTime, Step, dialogue, ok

NEEDS = Permission("Microsoft.Test/things/read", "Reader")
OWN = "management.azure.com"
MALFORMED = [
    "https://evil\\.management.azure.com/x",
    "https://management.azure.com:x/",
    "https://management.azure.com:99999/",
    "https://[management.azure.com/",
    "https://[::1]x/",
    "https://manage\x00ment.azure.com/",
    "https://management.azure.com/ x",
    "https://me:hunter2@management.azure.com/",
    "https://mänagement.azure.com/",
    "https://management%2eazure.com/",
    "https://",
    "next",
    "?page=2",
    "\\\\evil\\x",
]
_PIECES = [
    OWN,
    *("evil.example", "https://", "http://", "//", "/", "\\", "@", "#", "?", ":", ":443", ":80", "%2e", "%40", "%5c"),
    *(".", "..", "[", "]", "[::1]", "127.0.0.1", ";", ",", "\t", "\n", "\r", " ", "\x00", "\u3002", "\uff0f", "ß"),
    *("xn--", "_", "-", "HTTPS://", "https:", "westeurope."),
]


def refused(reason: str = "nothing was sent there") -> pytest.RaisesExc[ArmError]:
    """One clear error."""
    return pytest.raises(ArmError, match=reason)


def links() -> st.SearchStrategy[str]:
    """Text that looks like a link, more or less."""
    pieces = st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=8).map("".join)
    return pieces | pieces.map(lambda rest: "https://" + rest)


def connected_to(link: str) -> tuple[str, str, int]:
    """The scheme, host and port that requests would connect to."""
    prepared = requests.Request("GET", link).prepare()
    pool = HTTPAdapter().get_connection_with_tls_context(prepared, True)
    return str(pool.scheme), pool.host.strip("[]"), pool.port or {"https": 443, "http": 80}[str(pool.scheme)]


@given(link=links())
@example(link="https://evil.example\\.management.azure.com/x")
@example(link="https://westeurope.management.azure.com/x?y")
@settings(max_examples=400, deadline=None)
def test_given_any_link_when_it_is_followed_then_to_the_host_that_was_judged_which_is_the_clouds_own(link: str) -> None:
    with contextlib.suppress(ValueError, ArmError):
        url = parse_url(link)
        assert connected_to(link) == (url.scheme, url.host, url.port)
        assert urlsplit(link).hostname == url.host
        assert urlsplit("//" + urllib.request.Request(link).host).hostname == url.host
        only_to(PUBLIC)(url)
        assert url.host == OWN or url.host.endswith("." + OWN)
        assert (url.scheme, url.port) == ("https", 443)


@pytest.mark.parametrize("link", MALFORMED)
def test_given_a_next_link_that_is_no_url_then_it_is_refused_in_one_clear_error(link: str) -> None:
    with dialogue(ok({"value": [1], "nextLink": link})) as (_arm, client), refused() as raised:
        list(client.list_all("/things", NEEDS))
    assert "hunter2" not in str(raised.value)


def test_given_an_id_or_a_link_with_letters_that_no_url_has_then_they_are_escaped_and_nothing_else_is() -> None:
    name = "größe a\\b?c%20d()"
    with dialogue() as (arm, client):
        # Compute repeats a filter as it has decoded it: https://github.com/Azure/azure-rest-api-specs/issues/25640
        arm.expect(ok({"nextLink": arm.url + "/größe?a=b%20c&$filter='d' eq 'e'"}), ok({}))
        list(client.list_all("/resourceGroups/" + name, NEEDS))
        targets = [request.target.partition("?api-version")[0] for request in arm.requests]
    assert targets == [
        "/resourceGroups/gr%C3%B6%C3%9Fe%20a%5Cb%3Fc%20d()",
        "/gr%C3%B6%C3%9Fe?a=b%20c&$filter='d'%20eq%20'e'",
    ]


@pytest.mark.parametrize("link", [7, ["https://evil.example"], {"href": "x"}, True])
def test_given_a_next_link_that_is_no_text_then_it_is_refused_in_one_clear_error(link: Any) -> None:
    with dialogue(ok({"value": [1], "nextLink": link})) as (_arm, client), refused("is no text"):
        list(client.list_all("/things", NEEDS))


@pytest.mark.parametrize("header", ["Azure-AsyncOperation", "Location"])
def test_given_an_operation_at_what_is_no_url_then_it_is_not_polled(header: str) -> None:
    step = Step(202, None, {header: MALFORMED[0]})
    with dialogue(step) as (_arm, client), refused():
        client.post("/thing/do", {}, NEEDS)


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "Succeeded", "resourceLocation": "https://[/"},
        {"status": "Succeeded", "resourceLocation": 7},
        ["Succeeded"],
    ],
)
def test_given_an_operation_with_a_strange_end_then_there_is_one_clear_error(answer: Any) -> None:
    first = Step(202, None, {"Azure-AsyncOperation": "{base}/operations/1"})
    with dialogue(first, ok(answer)) as (_arm, client), refused("no usable|nothing was sent"):
        client.post("/thing/do", {}, NEEDS)


@pytest.mark.parametrize("claims", ["A", "/w=="])
def test_given_a_challenge_with_strange_claims_then_there_is_one_clear_error(claims: str) -> None:
    challenge = 'Bearer authorization_uri="https://evil\\.example/", error="insufficient_claims", claims="%s"' % claims
    step = Step(401, None, {"WWW-Authenticate": challenge})
    with dialogue(step) as (_arm, client), refused("no usable answer"):
        client.get("/thing", NEEDS)


def test_given_a_sign_in_whose_answer_quotes_the_secret_then_no_error_can_show_it() -> None:
    fields = {"client_secret": "hunter2/=", "client_assertion": "signed"}
    with dialogue(Step(401, "hunter2%2F%3D signed")) as (arm, client):
        transport = open_transport(client, verify=True, through_proxy=False, judge=only_in_secret)
        with transport:
            answer = transport.send(HttpRequest("POST", arm.url, data=fields))
    assert answer.json() == "%s %s" % (MASK, MASK)


def test_given_an_error_of_the_connection_that_quotes_a_link_then_its_signature_is_not_shown() -> None:
    class Failing:
        def get_token(self, *_scopes: str, **_options: Any) -> Any:
            raise AzureError("Max retries exceeded with url: /things?sig=hunter2 (Caused by ...)")

    sign_in = SignIn("env", PUBLIC._replace(arm="http://127.0.0.1:1"), "s", "c", "t", "secret")
    client = ArmClient(sign_in, Deadline(10, FakeTime().clock), Failing())
    with client, refused(r"url: /things\?… \(Caused by") as raised:
        client.get("/things", NEEDS)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("endpoint", ["http://10.0.0.1/token", "http://evil\\@127.0.0.1/", "https://evil\\.example/"])
def test_given_a_token_endpoint_that_others_could_read_or_misread_then_the_secret_is_not_sent_there(
    endpoint: str,
) -> None:
    with dialogue() as (_arm, client):
        transport = open_transport(client, verify=True, through_proxy=False, judge=only_in_secret)
        with transport, refused():
            transport.send(HttpRequest("POST", endpoint, data={"client_secret": "hunter2"}))
