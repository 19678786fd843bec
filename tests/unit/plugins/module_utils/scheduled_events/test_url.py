# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a URL read in one way only?"""

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.url import (
    Url,
    hide_password,
    is_loopback,
    parse_url,
)

AMBIGUOUS = [
    "",
    "example",
    "//example/x",
    "https:example",
    "https:/example",
    "https:///example",
    "ftp://example",
    "https://evil\\.example/",
    "https://evil\\@example/",
    "https://example/a\\b",
    "https://evil/\t.example",
    "https://ex\tample/",
    "https://example/\n",
    " https://example/",
    "https://example /",
    "https://example/a b",
    "https://example/\x00",
    "https://ex\x7fample/",
    "https://user@example/",
    "https://user:password@example/",
    "https://@example/",
    "https://example#@evil/",
    "https://example/#x",
    "https://example%2eevil/",
    "https://ex%61mple/",
    "https://exämple/",
    "https://ｅxample/",
    "https://example。evil/",
    "https://.example/",
    "https://example..evil/",
    "https://-example/",
    "https://%s/" % ("a" * 64),
    "https://%s/" % ".".join(["a" * 60] * 5),
    "https://example;evil/",
    "https://example,evil/",
    "https://example:x/",
    "https://example:-1/",
    "https://example:0/",
    "https://example:65536/",
    "https://example:000000443/",
    "https://example:443:444/",
    "https://[::1/",
    "https://::1/",
    "https://[::1]evil/",
    "https://[1]/",
    "https://[127.0.0.1]/",
    "https://[fe80::1%25eth0]/",
    "https://[::1%eth0]/",
]


@pytest.mark.parametrize("url", AMBIGUOUS)
def test_given_a_url_that_two_parsers_could_read_differently_then_it_is_refused_and_not_quoted(url: str) -> None:
    with pytest.raises(ValueError, match="must ") as raised:
        parse_url(url)
    assert "password" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://example", ("https", "example", 443, "", "")),
        ("HTTP://Example.:/", ("http", "example.", 80, "/", "")),
        ("http://web_0:8080/a/b", ("http", "web_0", 8080, "/a/b", "")),
        ("https://10.0.0.4/?a=b?c@d", ("https", "10.0.0.4", 443, "/", "a=b?c@d")),
        ("https://example?a", ("https", "example", 443, "", "a")),
        ("https://[FD00::1]:8443//x@y:z", ("https", "fd00::1", 8443, "//x@y:z", "")),
    ],
)
def test_given_any_other_url_then_its_parts_are_there(url: str, parts: "tuple[str, str, int, str, str]") -> None:
    assert parse_url(url) == Url(*parts)


@pytest.mark.parametrize("password", ["secret", "se@cret", "se/cret", "se\ncret"])
def test_given_a_password_in_a_url_that_is_refused_when_quoted_then_it_is_hidden(password: str) -> None:
    assert hide_password("https://me:%s@example/x" % password) == "https://…@example/x"


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("10.0.0.4", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
    ],
)
def test_given_a_host_when_judged_then_only_this_machine_by_its_own_name_or_address_is_loopback(
    host: str, is_here: bool
) -> None:
    assert is_loopback(host) is is_here
