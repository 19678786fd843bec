# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is every mistake in the configuration named, with its path, and all of them at once?

Runs on Python 3.6 and later.
"""

import json
from ipaddress import ip_network
from pathlib import Path
from typing import Any, List, Optional

import pytest
from foghorn_agent.config import AZURE_PROBES, Config, ConfigError, Imds, Quorum, Webhook, load_config, parse_config
from foghorn_agent.decide.policy import Plan, Rule, Step, default_rules
from foghorn_agent.decide.state import TOLD
from foghorn_core.maintenance_policy.match import Match
from foghorn_core.scheduled_events.event import name_key
from hypothesis import given
from hypothesis import strategies as st

ONE_KIND = "exactly one of command, stop, start, hooks, wait_connections, pause"
COMMAND_LINE = "a list of texts whose first is an absolute path"


def mistakes(content: Any) -> List[str]:
    with pytest.raises(ConfigError) as raised:
        parse_config(content)
    return list(raised.value.mistakes)


def policy(**content: Any) -> Any:
    return {"policies": [content]}


def quorum(**content: Any) -> Any:
    return {"quorum": dict({"secret_file": "/secret"}, **content)}


def step(**content: Any) -> Any:
    return policy(drain=[content])


def parsed_step(**content: Any) -> Step:
    plan = parse_config(step(**content)).rules[0].plan
    assert plan.drain is not None
    return plan.drain[0]


# --- what is right ----------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [{}, {"imds": None, "policies": None, "margin": None, "listen": None}])
def test_given_no_options_or_null_when_parsed_then_they_have_their_defaults(content: Any) -> None:
    assert parse_config(content) == Config()


def test_given_all_options_when_parsed_then_all_are_kept() -> None:
    config = parse_config(
        {
            "imds": {
                "endpoint": "http://127.0.0.1:8080",
                "api_version": "2019-08-01",
                "vm_name": "web_0",
                "poll_interval": 0.5,
                "first_timeout": 200,
                "timeout": 7,
                "connect_timeout": 3,
            },
            "listen": [{"address": "::", "port": 0}, {}],
            "hooks_directory": "/h",
            "state_directory": "/s",
            "margin": 20,
            "policies": [
                {
                    "name": "mine",
                    "match": {
                        "event_types": ["Reboot"],
                        "event_sources": ["User"],
                        "event_statuses": ["Started"],
                        "description": "*disk*",
                        "shared": False,
                        "no_longer_than": 9,
                        "longer_than": 0,
                        "notice_below": 60,
                        "notice_above": 1,
                    },
                    "drain": [],
                    "restore": [{"hooks": True}],
                    "approve": "quorum",
                    "on_failure": "ignore",
                }
            ],
            "allow_from": ["10.0.0.0/8", "fd00::1"],
            "metrics_from": ["10.0.0.9"],
            "ready_checks": [
                {"http": "http://127.0.0.1:8080/health?full=1", "interval": 10, "timeout": 3, "failures": 1},
                {"tcp": 5432, "address": "::1", "name": "database"},
                {"command": ["/usr/bin/check", "-q"]},
            ],
            "quorum": {
                "secret_file": "/secret",
                "members": {"WEB_1": "http://10.0.0.5:9797"},
                "url": "http://{name}:9797/agent",
                "interval": 1,
                "timeout": 2,
                "silent_after": 3,
            },
            "webhooks": [
                {
                    "url": "https://example.com/hook?x=1",
                    "headers": {"X-One": "1"},
                    "secret_file": "/secret",
                    "secret_header": "X-Token",
                    "secret_prefix": "",
                    "ca_file": "/ca",
                    "timeout": 3,
                    "stages": ["drain"],
                    "states": ["begun"],
                    "proxy": "http://proxy:3128",
                    "wrap": ["a", "b"],
                },
                {"url": "http://127.0.0.1:8080/", "secret_file": "/secret", "body": {"text": "$text ${in_60}"}},
            ],
        }
    )
    assert config.imds == Imds("http://127.0.0.1:8080", "2019-08-01", "web_0", 0.5, 200.0, 7.0, 3.0)
    assert config.listen == (("::", 0), ("127.0.0.1", 9797))
    assert (config.hooks_directory, config.state_directory, config.margin) == ("/h", "/s", 20.0)
    assert config.rules[0] == Rule(
        Match(("Reboot",), ("User",), ("Started",), "*disk*", False, 9.0, 0.0, 60.0, 1.0),
        Plan("mine", (), None, (Step("hooks", "hooks", 300.0),), "quorum", 20.0, "ignore"),
    )
    assert config.rules[1:] == default_rules(20.0)
    assert config.allow_from == (ip_network("10.0.0.0/8"), ip_network("fd00::1/128"))
    assert config.metrics_from == (ip_network("10.0.0.9/32"),)
    page, port, command = config.ready_checks
    assert page[:3] == ("http", "port 8080", "http://127.0.0.1:8080/health?full=1")
    assert page[-3:] == (10.0, 3.0, 1)
    assert (port.kind, port.name, port.address, port[-3:]) == ("tcp", "database", ("::1", 5432), (5.0, 2.0, 2))
    assert (command.kind, command.name, command.argv) == ("command", "check", ("/usr/bin/check", "-q"))
    assert config.quorum == Quorum(
        "/secret", {name_key("web_1"): "http://10.0.0.5:9797"}, "http://{name}:9797/agent", 1.0, 2.0, 3.0
    )
    assert config.webhooks == (
        Webhook(
            url="https://example.com/hook?x=1",
            headers=(("X-One", "1"),),
            secret_file="/secret",
            secret_header="X-Token",
            secret_prefix="",
            ca_file="/ca",
            timeout=3.0,
            stages=("drain",),
            states=("begun",),
            proxy="http://proxy:3128",
            wrap=("a", "b"),
        ),
        Webhook("http://127.0.0.1:8080/", secret_file="/secret", body={"text": "$text ${in_60}"}),
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"command": ["/bin/x", "-a"]}, Step("command", "x", 60.0, argv=("/bin/x", "-a"))),
        ({"command": ["/bin/x"], "name": "n", "timeout": 5}, Step("command", "n", 5.0, argv=("/bin/x",))),
        (
            {"stop": "a@1.service"},
            Step("command", "stop a@1.service", 60.0, stops="a@1.service"),
        ),
        (
            {"start": "nginx"},
            Step("command", "start nginx", 60.0, starts="nginx.service"),
        ),
        ({"hooks": True}, Step("hooks", "hooks", 300.0)),
        ({"hooks": True, "timeout": 1}, Step("hooks", "hooks", 1.0)),
        ({"hooks": True, "hook_timeout": 20}, Step("hooks", "hooks", 300.0, hook_timeout=20.0)),
        ({"pause": 12}, Step("pause", "pause", 12.0)),
        (
            {"wait_connections": [443, 80]},
            Step("wait_connections", "wait_connections", 60.0, ports=(443, 80), ignored=AZURE_PROBES),
        ),
        (
            {"wait_connections": [443], "ignore": ["10.0.0.0/8", "::1"]},
            Step("wait_connections", "wait_connections", 60.0, ports=(443,), ignored=("10.0.0.0/8", "::1")),
        ),
    ],
)
def test_given_a_step_when_parsed_then_it_is_of_its_kind(content: Any, expected: Step) -> None:
    assert parsed_step(**content) == expected


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("web_1", "http://10.0.0.5:9797"),
        ("WEB_1", "http://10.0.0.5:9797"),
        ("web_10", "http://web_10:9797"),
        ("Db-2.b", "http://Db-2.b:9797"),
        # Names in events are somebody else's text.
        ("web_1/../x", None),
        ("a:80@b", None),
        ("a?b", None),
        ("web 1", None),
        ("web_1\n", None),
        (".web", None),
        ("169.254.169.254", None),
        ("w\u00e9b", None),
        ("w" * 81, None),
        ("", None),
    ],
)
def test_given_a_name_in_an_event_when_its_agent_is_searched_then_only_a_name_leads_anywhere(
    name: str, url: Optional[str]
) -> None:
    known = {"WEB_1": "http://10.0.0.5:9797"}
    assert parse_config(quorum(members=known, url="http://{name}:9797")).quorum.url_of(name) == url
    assert parse_config(quorum(members=known)).quorum.url_of(name) == (url if name.lower() == "web_1" else None)


def test_given_no_policy_of_its_own_when_parsed_then_no_secret_is_needed() -> None:
    assert parse_config({"policies": [{"approve": "when_ready"}]}).quorum.secret_file is None


def test_given_policies_without_a_name_when_parsed_then_their_place_is_their_name() -> None:
    rules = parse_config({"policies": [{}, {"margin": 3}]}).rules
    assert [(rule.plan.rule, rule.plan.margin) for rule in rules[:2]] == [("policies[0]", 10.0), ("policies[1]", 3.0)]


# --- what is wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "mistake"),
    [
        ([], "configuration: expected an object, got []"),
        ({"imds": 3}, "imds: expected an object, got 3"),
        ({"imds": {"endpoint": "https://x"}}, 'imds.endpoint: expected http://HOST[:PORT], got "https://x"'),
        ({"imds": {"endpoint": "http://x/metadata"}}, "imds.endpoint: expected http://HOST[:PORT], got"),
        ({"imds": {"api_version": "latest"}}, 'imds.api_version: expected a date like 2020-07-01, got "latest"'),
        ({"imds": {"vm_name": " "}}, 'imds.vm_name: expected text, got " "'),
        ({"imds": {"poll_interval": 0.1}}, "imds.poll_interval: expected seconds from 0.25 to 86400, got 0.1"),
        ({"imds": {"timeout": 1}}, "imds.timeout: expected seconds from 5 to 86400, got 1"),
        ({"imds": {"timeout": True}}, "imds.timeout: expected seconds from 5 to 86400, got true"),
        ({"imds": {"timeout": "soon"}}, 'imds.timeout: expected seconds from 5 to 86400, got "soon"'),
        ({"margin": float("nan")}, "margin: expected seconds from 0 to 86400, got NaN"),
        ({"margin": -1}, "margin: expected seconds from 0 to 86400, got -1"),
        ({"listen": {}}, "listen: expected a list, got {}"),
        ({"listen": [{"address": "localhost"}]}, 'listen[0].address: expected an IP address, got "localhost"'),
        ({"listen": [{"port": 65536}]}, "listen[0].port: expected a port from 0 to 65535, got 65536"),
        ({"listen": [{"port": True}]}, "listen[0].port: expected a port from 0 to 65535, got true"),
        ({"hooks_directory": "hooks"}, 'hooks_directory: expected an absolute path, got "hooks"'),
        ({"state_directory": "/a\0b"}, 'state_directory: expected an absolute path, got "/a\\u0000b"'),
        ({"policies": [{}, 5]}, "policies[1]: expected an object, got 5"),
        (policy(approve="always"), 'policies[0].approve: expected one of never, when_ready, quorum, got "always"'),
        (policy(on_failure="retry"), 'policies[0].on_failure: expected one of stop, finish, ignore, got "retry"'),
        (
            policy(match={"event_types": 5}),
            "policies[0].match.event_types: expected a list of texts, at least one, got 5",
        ),
        (
            policy(match={"event_types": [""]}),
            'policies[0].match.event_types: expected a list of texts, at least one, got [""]',
        ),
        (
            policy(match={"event_sources": ["platfrom"]}),
            "policies[0].match.event_sources: 'platfrom' is not one of Platform, User: did you mean Platform?",
        ),
        (policy(match={"shared": 2}), "policies[0].match.shared: expected true or false, got 2"),
        (
            step(),
            "policies[0].drain[0]: expected " + ONE_KIND + ", got none of them",
        ),
        (
            step(hooks=True, pause=1),
            "policies[0].drain[0]: expected " + ONE_KIND + ", got hooks and pause",
        ),
        (step(hooks=False), "policies[0].drain[0].hooks: expected true, got false"),
        (
            step(command="rm -rf /"),
            "policies[0].drain[0].command: expected " + COMMAND_LINE + ", got a text",
        ),
        (
            step(command=["/bin/x", 5]),
            "policies[0].drain[0].command: expected " + COMMAND_LINE + ", got a list",
        ),
        (
            step(command=["sh"]),
            "policies[0].drain[0].command: expected " + COMMAND_LINE + ", got a list",
        ),
        (
            step(command=["/bin/x", "a\0"]),
            "policies[0].drain[0].command: expected " + COMMAND_LINE + ", got a list",
        ),
        (step(stop="-H"), 'policies[0].drain[0].stop: expected the name of a systemd unit, got "-H"'),
        (step(start="a b"), 'policies[0].drain[0].start: expected the name of a systemd unit, got "a b"'),
        (step(start=5), "policies[0].drain[0].start: expected the name of a systemd unit, got 5"),
        (
            step(wait_connections=[0]),
            "policies[0].drain[0].wait_connections: expected a list of ports from 1 to 65535, got [0]",
        ),
        (
            step(wait_connections=[]),
            "policies[0].drain[0].wait_connections: expected a list of ports from 1 to 65535, got []",
        ),
        (
            step(wait_connections=[1], ignore=["10.0.0.1/8"]),
            'policies[0].drain[0].ignore: expected a list of IP addresses or networks, got ["10.0.0.1/8"]',
        ),
        (step(pause=0), "policies[0].drain[0].pause: expected seconds from 0.001 to 86400, got 0"),
        (step(pause=1, timeout=0), "policies[0].drain[0].timeout: expected seconds from 0.001 to 86400, got 0"),
        ({"allow_from": ["10.0.0.1/8"]}, "allow_from: expected a list of IP addresses or networks, got ["),
        ({"ready_checks": [{}]}, "ready_checks[0]: expected exactly one of http, tcp, command, got none of them"),
        ({"ready_checks": [{"http": "http://x", "tcp": 1}]}, "ready_checks[0]: expected exactly one of http, tcp, "),
        ({"ready_checks": [{"http": "https://x"}]}, "ready_checks[0].http: expected http://HOST[:PORT][/PATH], got "),
        ({"ready_checks": [{"tcp": "http"}]}, "ready_checks[0].tcp: expected a port from 1 to 65535, got "),
        ({"ready_checks": [{"tcp": 1, "failures": 0}]}, "ready_checks[0].failures: expected a number from 1 to 100"),
        ({"ready_checks": [{"command": "x"}]}, "ready_checks[0].command: expected a list of texts whose first is "),
        ({"ready_checks": [{"tcp": 1}] * 17}, "ready_checks: more than 16: let one command run several"),
        (quorum(url="http://web:9797"), "quorum.url: expected http://HOST[:PORT][/PATH] with {name} in it, got "),
        (quorum(url="ftp://{name}"), "quorum.url: expected http://HOST[:PORT][/PATH] with {name} in it, got "),
        (quorum(secret_file="secret"), "quorum.secret_file: expected an absolute path, got "),
        (policy(approve="quorum"), "policies[0].approve: quorum needs quorum.secret_file"),
        ({"quorum": {"url": "http://{name}"}}, "quorum: has members and needs secret_file"),
        ({"quorum": {"members": {"a": "http://a"}}}, "quorum: has members and needs secret_file"),
        (quorum(members={"a": "b"}), 'quorum.members.a: expected http://HOST[:PORT][/PATH], got "b"'),
        ({"quorum": {"interval": 0.1}}, "quorum.interval: expected seconds from 0.5 to 86400, got 0.1"),
        ({"webhooks": [{"url": 1}]}, "webhooks[0].url: expected an http:// or https:// URL, got null"),
        ({"webhooks": [{"url": "ftp://x"}]}, "webhooks[0].url: must have the form https://HOST[:PORT]/PATH"),
        (
            {"webhooks": [{"url": "http://x/a?sig=1", "secret_file": "/secret"}]},
            "webhooks[0].url: a secret is sent only over https",
        ),
        (
            {"webhooks": [{"url": "http://10.0.0.1/", "headers": {"authorization": "Basic x"}}]},
            "webhooks[0].url: a secret is sent only over https",
        ),
        (
            {"webhooks": [{"url": "http://x", "proxy": "https://y:3128"}]},
            "webhooks[0].proxy: expected http://HOST[:PORT], got a text",
        ),
        (
            {"webhooks": [{"url": "http://x", "body": 7}]},
            "webhooks[0].body: expected an object, a list or text, got a number",
        ),
        (
            {"webhooks": [{"url": "http://x", "body": {}, "wrap": ["a"]}]},
            "webhooks[0]: has both body and wrap: put the body where the receiver wants it",
        ),
        (
            {"webhooks": [{"url": "http://x", "body": {"a": ["costs 5 $"]}}]},
            "webhooks[0].body: a $ begins no field: write $$ for a dollar",
        ),
        (
            {"webhooks": [{"url": "http://x", "states": ["done"]}]},
            "webhooks[0].states: expected a list of begun, succeeded, failed, got a list",
        ),
        (
            {"webhooks": [{"url": "http://x", "headers": {"A": 1}}]},
            "webhooks[0].headers.A: expected text, got a number",
        ),
        (
            {"webhooks": [{"url": "http://x", "secret_prefix": 1}]},
            "webhooks[0].secret_prefix: expected text, got a number",
        ),
        (
            {"webhooks": [{"url": "http://x", "stages": ["drian"]}]},
            "webhooks[0].stages: expected a list of %s, got a list" % ", ".join(TOLD),
        ),
        (
            quorum(url="http://me:s3cret@{name}"),
            "quorum.url: expected http://HOST[:PORT][/PATH] with {name} in it, got a text",
        ),
        ({"listen": [{"port": {"a": 1}}]}, "listen[0].port: expected a port from 0 to 65535, got an object"),
        ({"allow_from": [{"a": 1}]}, "allow_from: expected a list of IP addresses or networks, got a list"),
        ({"polices": []}, "polices: is not an option here: did you mean policies? Known are "),
        (policy(match={"type": 1}), "policies[0].match.type: is not an option here. Known are "),
        (step(pause=1, timout=4), "policies[0].drain[0].timout: is not an option here: did you mean timeout? "),
    ],
)  # fmt: skip
def test_given_a_mistake_when_parsed_then_it_is_named_with_its_path_and_what_was_expected(
    content: Any, mistake: str
) -> None:
    found = mistakes(content)
    assert [one for one in found if one.startswith(mistake)] == found
    assert len(found) == 1


def test_given_a_name_that_is_not_known_when_parsed_then_the_known_ones_are_listed() -> None:
    assert mistakes({"quorum": {"who": {}}}) == [
        "quorum.who: is not an option here. Known are interval, members, secret_file, silent_after, timeout, url"
    ]
    assert mistakes(policy(aprove="never"))[0].startswith("policies[0].aprove: is not an option here: did you mean app")


@pytest.mark.parametrize("stage", ["drain", "check"])
def test_given_a_step_that_is_a_bare_word_when_parsed_then_that_is_one_mistake(stage: str) -> None:
    assert mistakes(policy(**{stage: ["nginx"]})) == ['policies[0].%s[0]: expected an object, got "nginx"' % stage]


MARKER = "s3cr3t-m4rk3r"
WEBHOOK = {"url": "https://x/%s" % MARKER}


@pytest.mark.parametrize(
    "content",
    [
        *({"webhooks": one} for one in (MARKER, WEBHOOK, [MARKER], [[MARKER]], [{"url": [MARKER]}])),
        *(
            {"webhooks": [{"url": url}]}
            for url in (
                MARKER,
                "ftp://x/" + MARKER,
                "https://x y/" + MARKER,
                "https://me:%s@x/" % MARKER,
                "//" + MARKER,
            )
        ),
        *(
            {"webhooks": [dict(WEBHOOK, **more)]}
            for more in (
                {"headers": MARKER},
                {"headers": {"Authorization": [MARKER]}},
                {"secret_file": MARKER},
                {"secret_file": {"content": MARKER}},
                {"secret_header": [MARKER]},
                {"secret_prefix": [MARKER]},
                {"ca_file": MARKER},
                {"timeout": MARKER},
                {"stages": MARKER},
                {"proxy": "http://me:%s@x" % MARKER},
                {"body": {"a": "$%s" % MARKER.replace("-", "_")}},
                {"body": "x", "wrap": MARKER},
                {"bodies": MARKER},
            )
        ),
        {"webhooks": [dict(WEBHOOK, url="http://10.0.0.9/%s" % MARKER, secret_file="/s")]},
        policy(drain=[{"command": ["curl", MARKER]}]),
        policy(drain=[{"command": MARKER}]),
        policy(drain=[{"command": ["/bin/curl", MARKER], "pause": 1}]),
        policy(check=[{"command": ["/bin/curl", MARKER], "stop": "x"}]),
        policy(drain={"command": ["/bin/curl", MARKER]}),
        {"ready_checks": [{"http": "https://x/?token=" + MARKER}]},
        {"ready_checks": [{"http": "http://me:%s@x/" % MARKER}]},
        {"ready_checks": [{"command": ["curl", MARKER]}]},
        {"ready_checks": [{"command": ["/bin/curl", MARKER], "tcp": 1}]},
        {"ready_checks": {"command": ["/bin/curl", MARKER]}},
        {"quorum": {"members": {"a": "https://me:%s@x/" % MARKER}, "secret_file": "/s"}},
        {"imds": {"endpoint": "http://x?%s" % MARKER}},
        {"imds": [WEBHOOK]},
        [{"webhooks": [WEBHOOK]}],
    ],
)
def test_given_a_mistake_beside_a_secret_when_parsed_then_the_secret_is_not_quoted(content: Any) -> None:
    found = mistakes(content)
    assert found
    assert not any(one in text.lower() for text in found for one in (MARKER, MARKER.replace("-", "_")))


def test_given_checks_without_names_then_what_everybody_may_read_says_nothing_of_their_urls_and_arguments() -> None:
    checks = [
        {"http": "http://10.0.0.9:8080/%s?token=%s" % (MARKER, MARKER)},
        {"http": "http://10.0.0.9/"},
        {"tcp": 5432, "address": "10.0.0.9"},
        {"command": ["/opt/app/check", MARKER]},
    ]
    names = [check.name for check in parse_config({"ready_checks": checks}).ready_checks]
    assert names == ["port 8080", "port 80", "port 5432", "check"]


def test_given_many_mistakes_when_parsed_then_all_are_named_at_once() -> None:
    content = {
        "margin": "x",
        "imds": {"timeout": 1, "endpoint": ""},
        "policies": [{"drain": [{"pause": 0}, {"command": 1}], "approve": 5}],
        "webhooks": [{}],
        "unknown": 1,
    }
    assert [one.partition(":")[0] for one in mistakes(content)] == [
        "margin",
        "imds.endpoint",
        "imds.timeout",
        "policies[0].drain[0].pause",
        "policies[0].drain[1].command",
        "policies[0].approve",
        "webhooks[0].url",
        "unknown",
    ]


def test_given_a_value_of_any_length_when_it_is_wrong_then_the_message_stays_short() -> None:
    assert len(mistakes({"margin": "x" * 100000})[0]) < 250


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=8), children, max_size=3),
    max_leaves=8,
)
NAMES = sorted(
    {name for kind in (Config, Imds, Quorum, Webhook, Match, Plan) for name in kind._fields}
    | {"policies", "match", "address", "port", "ignore"}
    | {"command", "stop", "start", "hooks", "wait_connections", "pause"}
)
LIKELY = st.recursive(
    JSON | st.sampled_from(("/bin/x", "http://127.0.0.1", "Reboot", "quorum", 5, 0.5, [], {})),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.sampled_from(NAMES), children, max_size=5),
    max_leaves=15,
)


@given(JSON | LIKELY | st.dictionaries(st.sampled_from(NAMES), LIKELY))
def test_given_any_json_when_parsed_then_it_is_a_configuration_or_an_error_that_names_the_mistakes(
    content: Any,
) -> None:
    try:
        config: Optional[Config] = parse_config(content)
    except ConfigError:
        config = None
    if config is None:
        assert all(": " in mistake for mistake in mistakes(content))
    else:
        assert config.rules[-5:] == default_rules(config.margin)


# --- the file ---------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.json"
    path.write_text(json.dumps({"margin": 7}))
    path.chmod(0o640)
    return path


def complaint(path: Path) -> str:
    with pytest.raises(ConfigError) as raised:
        load_config(str(path))
    assert raised.value.path == str(path)
    assert len(raised.value.mistakes) == 1
    return raised.value.mistakes[0]


def test_given_a_relative_path_when_loaded_then_it_is_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert load_config(file.name).margin == 7.0


def test_given_no_file_when_loaded_then_all_options_have_their_defaults(tmp_path: Path) -> None:
    assert load_config(str(tmp_path / "nothing")) == Config()


def test_given_a_link_that_leads_nowhere_when_loaded_then_it_is_refused_rather_than_all_defaults(
    tmp_path: Path,
) -> None:
    (tmp_path / "agent.json").symlink_to("nowhere")
    assert "No such file" in complaint(tmp_path / "agent.json")


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_given_a_file_that_others_can_write_when_loaded_then_it_is_refused(mode: int, file: Path) -> None:
    file.chmod(mode)
    assert "others than root can write" in complaint(file)


def test_given_a_directory_in_place_of_the_file_when_loaded_then_the_error_says_so(tmp_path: Path) -> None:
    (tmp_path / "agent.json").mkdir(0o755)
    assert complaint(tmp_path / "agent.json") == "cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is not JSON: "),
        (b"{", "is not JSON: "),
        (b"\xff", "is not JSON: "),
        (b"[" * 100000, "is not JSON: "),
        (b'{"margin": 1, "margin": 2}', "is not JSON: a name is given twice: margin"),
        (b" " * (1024 * 1024 + 1), "is larger than 1048576 bytes"),
        (b"[]", "configuration: expected an object, got []"),
    ],
)
def test_given_a_file_that_is_no_configuration_when_loaded_then_the_error_says_why(
    content: bytes, expected: str, file: Path
) -> None:
    file.write_bytes(content)
    assert complaint(file).startswith(expected)


@pytest.mark.parametrize("depth", [100, 990])
def test_given_a_value_that_is_nested_deeply_when_it_is_wrong_then_it_is_a_mistake_anyway(
    depth: int, file: Path
) -> None:
    file.write_bytes(b'{"margin": ' + b"[" * depth + b"]" * depth + b"}")
    assert complaint(file)


def test_given_an_error_when_shown_then_it_names_the_file_and_every_mistake(file: Path) -> None:
    file.write_text('{"margin": -1, "x": 1}')
    with pytest.raises(ConfigError, match=r"agent\.json: margin: expected .*; x: is not an option here"):
        load_config(str(file))


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        ({}, 300.0),
        ({"approve": "quorum"}, None),
        ({"approve": "when_ready"}, None),
        ({"begin_before": 604800}, 604800.0),
        ({"begin_before": 60, "approve": "quorum"}, 60.0),
    ],
)
def test_given_a_policy_when_parsed_then_it_begins_at_once_where_approval_follows_and_else_in_time(
    content: Any, seconds: Any
) -> None:
    assert parse_config(dict(quorum(), policies=[content])).rules[0].plan.begin_before == seconds
