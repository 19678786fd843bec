# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the variables of a fleet, before the first host is touched."""

from __future__ import annotations

from collections import UserString
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible import context
from ansible.errors import AnsibleError
from ansible.release import __version__
from ansible.utils.collection_loader import _collection_finder as finder
from ansible.utils.context_objects import CLIArgs
from ansible_collections.foghorn.azure_events.plugins.action.check_variables import ARGUMENTS
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.fleet.variables import (
    check_variables,
    differs,
    mistakes,
    unmatched,
    unread,
)

PLAYBOOKS = Path(__file__).parents[5] / "playbooks"
OWN = yaml.safe_load((PLAYBOOKS / "vars" / "handle_events.yml").read_text())["__handle_events_arguments"]


def host(host_name: str = "web1", /, **variables: Any) -> dict[str, Any]:
    """The variables of a host."""
    return {"inventory_hostname": host_name, "ansible_user": "azureuser", **variables}


@pytest.fixture(autouse=True, scope="module")
def _modules_are_found() -> Iterator[None]:
    """As ansible-playbook finds them, for as long as these tests run."""
    finder._AnsibleCollectionFinder()._install()
    yield
    finder._AnsibleCollectionFinder._remove()


def test_given_variables_as_they_ought_to_be_then_nothing_is_reported() -> None:
    right = host(
        handle_events_minimum_in_service="50%",
        handle_events_approve=True,
        handle_events_endpoint="http://10.0.0.5:8080",
        load_balancer_removal_ports=[443],
        graceful_shutdown_services=[{"name": "nginx", "timeout": "60"}],
        handled_by="somebody",
        load_balancer_name="lb1",
        graceful_restart_services=["nginx"],
        __handle_event_hosts="private",
    )

    assert mistakes([right, host("web2")], OWN) == []


def test_given_text_that_ansible_vault_has_encrypted_then_it_is_as_good_as_other_text() -> None:
    # Before ansible-core 2.19 it is no str.
    vaulted = host(
        handle_events_approve_within=UserString("3000"),
        load_balancer_removal_ports=UserString("443"),
        graceful_shutdown_services=[{"name": UserString("nginx"), "timeout": UserString("60")}],
    )

    assert mistakes([vaulted], OWN) == []


def test_given_answers_of_a_survey_then_text_is_as_good_as_numbers_and_empty_ones_count_as_not_given() -> None:
    answers = host(
        handle_events_max_failed="10",
        handle_events_approve="true",
        handle_events_minimum_in_service="50%",
        handle_events_margin="",
        handle_events_approve_between="",
        handle_events_poll_interval="",
        load_balancer_removal_connections_timeout="120",
        load_balancer_removal_haproxy_shutdown_sessions="true",
        # Null is the same, also in a role, where that has no default.
        handle_events_report_file=None,
        load_balancer_removal_deadline=None,
    )

    assert mistakes([answers], OWN) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("handle_events_minimun_in_service", "handle_events_minimum_in_service"),
        ("handle_events_endpiont", "handle_events_endpoint"),
        ("load_balancer_removal_port", "load_balancer_removal_ports"),
        ("graceful_shutdown_service", "graceful_shutdown_services"),
        ("handle_event_hosts", "handle_events_hosts"),
        ("Handle_Events_minimum_in_service", "handle_events_minimum_in_service"),
        ("hanlde_events_margin", "handle_events_margin"),
        ("gracefull_shutdown_services", "graceful_shutdown_services"),
        ("loadbalancer_removal_methods", "load_balancer_removal_methods"),
    ],
)
def test_given_a_name_that_is_misspelt_then_it_is_reported_with_the_one_that_was_meant(name: str, meant: str) -> None:
    assert mistakes([host(**{name: 1})], OWN) == [f"{name}: there is no such variable: did you mean {meant}? (web1)"]


def test_given_a_name_that_is_like_no_other_then_it_is_reported_alone() -> None:
    assert mistakes([host(handle_events_xyzzyxyzzyxyzzy=1)], OWN) == [
        "handle_events_xyzzyxyzzyxyzzy: there is no such variable (web1)"
    ]


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"handle_events_max_failed": "few"}, ["handle_events_max_failed", "int"]),
        ({"handle_events_margin": -1}, ["handle_events_margin: expected a number, 0 or more, got -1"]),
        (
            {"handle_events_approve_between": [{"from": "9"}]},
            ["handle_events_approve_between[0].from: expected a time"],
        ),
        ({"load_balancer_removal_methods": ["haproxi"]}, ["load_balancer_removal_methods", "haproxi"]),
        ({"load_balancer_removal_connections_timeout": ""}, ["load_balancer_removal_connections_timeout"]),
        ({"load_balancer_removal_ports": ["https"]}, ["load_balancer_removal_ports", "https"]),
        ({"handle_events_poll_interval": " "}, ["handle_events_poll_interval: it is blank"]),
        ({"load_balancer_removal_health_probe_file": "\n"}, ["load_balancer_removal_health_probe_file: it is blank"]),
        # As a list without entries in YAML: the default of the role does not hold then.
        ({"load_balancer_removal_methods": None}, ["load_balancer_removal_methods: it is null"]),
    ],
)
def test_given_an_invalid_value_then_its_variable_is_named(variables: dict[str, Any], words: list[str]) -> None:
    told = mistakes([host(**variables)], OWN)

    assert told
    assert all(word in told[0] for word in words)


@pytest.mark.parametrize(
    ("pattern", "unknown"),
    [
        ("web", []),
        ("web:!empty:&wbe", ["&wbe"]),
        (["web1", "wbe"], ["wbe"]),
        # What a cloud's inventory does not have today.
        ("web:!web2:!zone_b:!stopped:tag_db", []),
        ("w*:~web[0-9]:web[0]:10.0.0.0/8", []),
        ("", []),
    ],
)
def test_given_a_pattern_of_hosts_then_each_part_that_is_nearly_a_name_of_the_inventory_is_named(
    pattern: str | list[str], unknown: list[str]
) -> None:
    own = {"handle_events_hosts": {"type": "raw"}, "handle_events_expected_hosts": {"type": "int"}}
    variables = {"handle_events_hosts": pattern, "handle_events_expected_hosts": "7"}

    assert unmatched(own, variables, ("web", "web1", "zone_a", "empty")) == [
        f"handle_events_hosts: {part} matches no host, and the inventory has no such group: did you mean web?"
        for part in unknown
    ]


def test_given_a_mistake_on_many_hosts_then_it_is_reported_once() -> None:
    hosts = [host(f"web{number}", handle_events_xyzzyxyzzyxyzzy=number) for number in range(5)]

    assert mistakes(hosts, OWN) == [
        "handle_events_xyzzyxyzzyxyzzy: there is no such variable (web0, web1, web2 and 2 more hosts)"
    ]


class Templates(Mapping[str, Any]):
    """Variables as Ansible has them: a value is worked out when it is asked for, which may fail."""

    def __init__(self, names: list[str]) -> None:
        self._names = ["inventory_hostname", *names]

    def __getitem__(self, name: str) -> Any:
        if name == "inventory_hostname":
            return "web1"
        raise AnsibleError("'mistyped' is undefined")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Lazy(list[Any]):
    """A value as Ansible has it, whose copy takes all variables of its host along."""

    def __deepcopy__(self, _memo: object) -> Lazy:
        raise AssertionError("a copy is dear, for each of thousands of hosts")


def test_given_values_that_are_expensive_to_copy_when_they_are_checked_then_none_is_copied() -> None:
    right = host(load_balancer_removal_ports=Lazy([443]))
    wrong = host("web2", load_balancer_removal_ports=Lazy(["https"]))

    (told,) = mistakes([right, wrong], OWN)

    assert "load_balancer_removal_ports" in told
    assert told.endswith("(web2)")


def test_given_a_template_that_fails_then_its_variable_is_named() -> None:
    assert mistakes([Templates(["handle_events_margin"])], OWN) == [
        "handle_events_margin: 'mistyped' is undefined (web1)"
    ]


def test_given_a_template_that_fails_when_it_is_compared_then_it_counts_as_different() -> None:
    assert differs("a", Templates(["a"]), {"a": 1})


def test_given_variables_of_others_then_they_are_not_checked() -> None:
    assert mistakes([Templates(["vault_password"])], OWN) == []


BY_HAND = yaml.safe_load((PLAYBOOKS / "vars" / "by_hand.yml").read_text())
REHEARSE = yaml.safe_load((PLAYBOOKS / "vars" / "rehearse.yml").read_text())["__rehearse_arguments"]
EARLY = yaml.safe_load((PLAYBOOKS / "vars" / "redeploy_early.yml").read_text())["__redeploy_early_arguments"]
TRIAL = yaml.safe_load((PLAYBOOKS / "vars" / "trial.yml").read_text())["__trial_arguments"]


def drain_mistakes(*hosts: Mapping[str, Any]) -> list[str]:
    """What drain says of these."""
    own = OWN | BY_HAND["__drain_arguments"]
    return mistakes(hosts, own, ("drain_", "handle_events_"), alike=("drain_hosts", "drain_serial"))


def test_given_a_playbook_by_hand_when_a_name_is_misspelt_then_it_is_reported_with_the_one_that_was_meant() -> None:
    assert drain_mistakes(host(drain_seriel=2, handle_events_poll_intervall=60, graceful_shutdown_service=[])) == [
        "drain_seriel: there is no such variable: did you mean drain_serial? (web1)",
        "graceful_shutdown_service: there is no such variable: did you mean graceful_shutdown_services? (web1)",
        "handle_events_poll_intervall: there is no such variable: did you mean handle_events_poll_interval? (web1)",
    ]


def test_given_variables_of_others_that_begin_with_a_common_word_then_nothing_is_reported() -> None:
    status = OWN | BY_HAND["__status_arguments"]

    assert drain_mistakes(host(drain_timeout=30, drain_hosts="web1", restore_from="backup")) == []
    assert mistakes([host(status_page="https://example.com")], status, ("status_", "handle_events_")) == []


@pytest.mark.parametrize(
    ("own", "prefix", "name", "meant"),
    [
        (REHEARSE, "rehearse_", "rehearse_notise", "rehearse_notice"),
        (EARLY, "redeploy_early_", "redeploy_early_endpont", "redeploy_early_endpoint"),
    ],
)
def test_given_another_playbook_when_a_name_is_misspelt_then_the_one_that_was_meant_is_one_of_its_own(
    own: dict[str, Any], prefix: str, name: str, meant: str
) -> None:
    given = host(rehearse_event_type="Reboot", **{name: "1"})

    assert mistakes([given], own, (prefix,), roles=()) == [
        f"{name}: there is no such variable: did you mean {meant}? (web1)"
    ]


def test_given_a_value_that_another_playbook_does_not_know_then_it_is_named_with_those_that_it_knows() -> None:
    (told,) = mistakes([host(trial_event="Freeze")], TRIAL, ("trial_",), roles=())

    assert "value of trial_event must be one of: " in told


def test_given_a_required_variable_of_the_playbook_when_it_is_missing_or_empty_then_it_is_reported() -> None:
    for given in (host(), host(rehearse_event_type="")):
        (told,) = mistakes([given], REHEARSE, ("rehearse_",), roles=())
        assert "missing required arguments: rehearse_event_type" in told


def test_given_a_value_for_the_run_that_differs_between_hosts_then_both_are_named() -> None:
    assert drain_mistakes(host(drain_serial=1), host("web2", drain_serial="1")) == []
    (told,) = drain_mistakes(host(drain_serial=1), host("web2"), host("web3"))
    assert told.startswith("drain_serial: 1 on web1, not set on web2. It holds for the whole run: set it with")


def test_given_a_template_for_the_run_that_fails_then_it_is_reported_once() -> None:
    assert drain_mistakes(Templates(["drain_serial"])) == ["drain_serial: 'mistyped' is undefined (web1)"]


@pytest.mark.parametrize("name", ["before_tasks", "after_tasks", "after_batch_tasks"])
def test_given_a_file_of_tasks_by_a_relative_path_then_it_is_refused(name: str, tmp_path: Path) -> None:
    variable = f"handle_events_{name}"
    path = tmp_path / "tasks.yml"
    path.write_text("- ansible.builtin.debug: {msg: !unsafe '{{ x }}'}\n")

    assert mistakes([host(**{variable: str(path)}), host("web2", **{variable: ""})], OWN) == []
    (told,) = mistakes([host(**{variable: "tasks.yml"})], OWN)
    assert told.startswith(f"{variable}: tasks.yml is not an absolute path. Give the path of a file")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "it cannot be read: No such file or directory"),
        ("- a: [", "it is no YAML: "),
        ("hosts: all", "it is no list of tasks"),
        ("[debug]", "it is no list of tasks"),
        ("- block: {debug: {}}", "line 1: block is no list of tasks"),
        ("- debug: {}\n- block: [{debug: {}, wehn: x}]", "line 2: 'wehn' is not a valid attribute for a Task"),
        ("- {block: [], rescu: []}", "line 1: 'rescu' is not a valid attribute for a Block"),
        ("- no_such_module:", "line 1: couldn't resolve module/action 'no_such_module'"),
    ],
)
def test_given_files_that_hold_no_tasks_then_each_is_refused_before_a_host_is_asked(
    text: str | None, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.yml"
    if text is not None:
        path.write_text(text)
    services = ["nginx", {"name": "db", "stop_tasks": str(path), "start_tasks": str(path)}]

    told = mistakes([host(handle_events_before_tasks=str(path), graceful_shutdown_services=services)], OWN)

    assert [line.partition(": ")[0] for line in told] == [
        "graceful_shutdown_services[1].stop_tasks",
        "graceful_shutdown_services[1].start_tasks",
        "handle_events_before_tasks",
    ]
    assert all(f"{path}: {reason}" in line for line in told)
    assert all("Give a file with a list of tasks, on the controller (web1)" in line for line in told)


def test_given_several_mistakes_then_all_are_reported_each_once() -> None:
    given = {
        "handle_events_minimum_in_service": "half",
        "graceful_shutdown_services": ["nginx", {"name": "db", "tiemout": 5}, {"stop": ["x"]}],
        "load_balancer_removal_commands": [{"name": "pool", "remove": ["x"], "restore": ["y"], "delegateto": "lb"}],
    }

    told = mistakes([host(**given), host("web2", **given)], OWN)

    assert len(told) == 4
    assert "load_balancer_removal_commands.delegateto" in told[0]
    assert "handle_events_minimum_in_service: 'half' is neither a number of hosts nor a percentage" in told[1]
    assert "graceful_shutdown_services[1]: has the unknown key 'tiemout'" in told[2]
    assert "graceful_shutdown_services[2].name: None is not a name" in told[3]
    assert all(line.endswith("(web1, web2)") for line in told)


def test_given_services_that_are_no_list_then_the_option_is_named() -> None:
    for given in (5, {"name": "nginx"}):
        assert mistakes([host(graceful_shutdown_services=given)], OWN) == [
            f"graceful_shutdown_services: {given!r} is not a list. Write [nginx], or one entry a line (web1)"
        ]


@pytest.mark.parametrize("window", [{"days": 5}, {"days": ["mno"]}, {"from": "25:00"}, {"form": "22:00"}])
def test_given_an_invalid_time_of_the_week_then_it_is_refused_with_its_place(
    window: dict[str, Any],
) -> None:
    (told,) = mistakes([host(redeploy_early_between=[window])], EARLY, ("redeploy_early_",), roles=())

    assert told.startswith(f"redeploy_early_between[0].{next(iter(window))}: ")


@pytest.mark.parametrize(
    ("given", "mistake"),
    [
        ({"load_balancer_removal_excluded_addresses": "['10.0.9.4', '10.1.0.0/24']"}, None),
        ({"load_balancer_removal_excluded_addresses": "10.0.9.4, gateway"}, "load_balancer_removal_excluded_addresses"),
        ({"load_balancer_removal_addresses": ["10.0.0.999"]}, "load_balancer_removal_addresses"),
        ({"load_balancer_removal_ports": "[443, 8080]"}, None),
        ({"load_balancer_removal_ports": "443, https"}, "load_balancer_removal_ports"),
        ({"load_balancer_removal_ports": [70000]}, "load_balancer_removal_ports"),
        ({"load_balancer_removal_methods": "['health_probe']"}, None),
        ({"load_balancer_removal_methods": "['health_probe'"}, "load_balancer_removal_methods"),
        ({"load_balancer_removal_machine_is_away": "perhaps"}, "load_balancer_removal_machine_is_away"),
        ({"graceful_shutdown_services": '["nginx", {"name": "app"}]'}, None),
        ({"graceful_shutdown_services": "[nginx"}, "graceful_shutdown_services"),
        ({"handle_events_policies": '[{"name": "a", "match": {"event_types": ["Freeze"]}, "ignore": true}]'}, None),
        ({"handle_events_policies": "[{"}, "handle_events_policies"),
        ({"handle_events_approve_between": '[{"from": "22:00", "to": "05:00"}]'}, None),
    ],
)
def test_given_a_list_as_text_then_it_is_read_or_named(given: dict[str, Any], mistake: str | None) -> None:
    found = mistakes(
        [host(**given)], {**OWN, **{name: {"type": "raw"} for name in given if name.startswith("handle_")}}
    )

    assert bool(found) == bool(mistake), found
    assert all(str(mistake) in line for line in found)


class TestTheRun:
    """What the action check_variables begins."""

    def test_given_a_playbook_then_its_check_begins_a_run_of_its_own_each_time(self) -> None:
        runs = [check(playbook="handle_events", job={"id": "7"})["run"] for _ in range(2)]

        assert [run["playbook"] for run in runs] == ["handle_events"] * 2
        assert runs[0]["id"] != runs[1]["id"]

    def test_given_no_playbook_then_no_run_begins(self) -> None:
        assert check() == {}

    def test_given_a_host_that_is_off_then_no_mistake_in_its_variables_fails_a_run_that_leaves_it_alone(self) -> None:
        without_address = host("web2", powerstate="deallocated", load_balancer_removal_addresses=[""])
        running = {**without_address, "powerstate": "running"}
        unknown = Templates(["handle_events_is_off"])

        assert "failed" not in check(without_address, playbook="handle_events")
        assert "failed" in check(without_address)
        for other in (running, unknown):
            assert "failed" in check(other, playbook="handle_events", arguments=OWN, prefixes=["handle_events_"])

    @pytest.mark.parametrize(
        ("file", "set_elsewhere", "is_told"),
        [
            ("group_vars/web.yml", {}, True),
            ("group_vars/all/main", {}, True),
            ("host_vars/web2.example.com", {}, True),
            ("host_vars/web2.example.com.json", {}, True),
            # It is read after all, or by the inventory, or is about hosts that the play does not have.
            ("group_vars/web.yml", {"load_balancer_removal_ports": [443]}, False),
            ("group_vars/db.yml", {}, False),
            ("group_vars/web.yml~", {}, False),
        ],
    )
    def test_given_variables_beside_the_operators_playbook_then_those_that_nobody_reads_are_named(
        self, file: str, set_elsewhere: dict[str, Any], is_told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("{load_balancer_removal_ports: [443], secret: !vault x, handled_by: me}\n")
        (tmp_path / "site.yml").touch()
        paths = ["foghorn.azure_events.doctor", str(tmp_path / "site.yml")]
        monkeypatch.setattr(context, "CLIARGS", CLIArgs({"args": paths}))

        found = check(host("web2.example.com", **set_elsewhere), prefixes=["handle_events_"]).get("msg", [])

        assert [line.split(": ")[:2] for line in found] == (
            [[str(tmp_path / file), "load_balancer_removal_ports"]] if is_told else []
        )

    def test_given_what_the_play_sets_then_it_may_be_beside_the_playbook_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "group_vars").mkdir()
        (tmp_path / "group_vars" / "all.yml").write_text("handle_events_margin: 30\n")
        (tmp_path / "site.yml").touch()
        monkeypatch.setattr(context, "CLIARGS", CLIArgs({"args": [str(tmp_path / "site.yml")]}))
        of_play = {"groups": {"all": ["web1"]}, "inventory_hostname": "web1"}

        assert unread({"web1": {}}, {**of_play, "handle_events_margin": 60}, ["handle_events_"], []) == []
        assert unread({"web1": {}}, of_play, ["handle_events_"], [])


def check(other: Mapping[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    """Check the variables of a host that has none, and of another."""
    others = {} if other is None else {"web2.example.com": other}
    groups = {"all": ["web1", *others], "web": [*others], "db": ["db1"]}
    one = {"inventory_hostname": "web1", "ansible_version": {"full": __version__}, "groups": groups}
    specs: Any = ARGUMENTS
    hosts = {"web1": one, **others}
    arguments = {name: spec.get("default") for name, spec in specs.items()} | {"hosts": [*hosts]} | given
    return check_variables({**arguments, "roles": ["load_balancer_removal"]}, hosts, one)
