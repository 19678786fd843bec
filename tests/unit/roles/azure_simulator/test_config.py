# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration: its defaults, and how its mistakes are named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from azure_simulator.config import load, parse
from azure_simulator.reading import Fields, Invalid

EVERY_OPTION = Path(__file__).resolve().parents[4] / "roles/azure_simulator/files/every_option.yml"

VM = {"name": "a", "address": "127.0.0.11"}


def mistakes(config: object) -> list[str]:
    with pytest.raises(Invalid) as error:
        parse(config)
    return error.value.mistakes


def test_given_only_vms_when_read_then_everything_else_has_its_documented_default() -> None:
    config = parse({"vms": [VM]})
    assert (config.seed, config.speed, config.manual) == (0, 1.0, False)
    assert (config.control_address, config.control_port) == ("127.0.0.1", 8700)
    assert (config.imds.port, config.imds.identify_by, config.imds.rate_limit) == (8080, "server", 5)
    assert (config.imds.enable_delay, config.imds.event_delay) == (0, 0)
    vm = config.vms["a"]
    assert (vm.resource_group, vm.location, vm.zone, vm.os_type, vm.spot) == ("rg", "westeurope", "", "Linux", False)


def test_given_a_range_and_a_network_when_read_then_the_nth_vm_has_the_nth_address() -> None:
    vms = parse({"vms": [{"name": "web_{0..999}", "address": "127.1.0.0/22"}]}).vms
    assert len(vms) == 1000
    assert (vms["web_0"].address, vms["web_254"].address, vms["web_999"].address) == (
        "127.1.0.1",
        "127.1.0.255",
        "127.1.3.232",
    )


def test_given_the_same_seed_when_read_twice_then_vms_have_the_same_ids() -> None:
    def ids(seed: int) -> tuple[str, str, str]:
        vm = parse({"seed": seed, "vms": [VM]}).vms["a"]
        return vm.vm_id, vm.client_id, vm.mac_address

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


def test_given_overridden_defaults_when_read_then_the_others_stay() -> None:
    life = parse({"vms": [VM], "defaults": {"Reboot": {"notice": 60, "linger": 90}}}).lives["Reboot"]
    assert (life.notice, life.impact, life.linger) == (60, 30, 90)


def test_given_an_impact_longer_than_the_usual_linger_when_read_then_the_event_outlasts_it() -> None:
    assert parse({"vms": [VM], "defaults": {"Redeploy": {"impact": 900}}}).lives["Redeploy"].linger == 900


@pytest.mark.parametrize(
    ("name", "computer_name", "resource_id_end"),
    [
        ("set_0", "set000000", "/virtualMachineScaleSets/set/virtualMachines/0"),
        ("set_46655", "set000ZZZ", "/virtualMachineScaleSets/set/virtualMachines/46655"),
        ("set_3f9ab2c1", "set_3f9ab2c1", "/virtualMachines/set_3f9ab2c1"),
        ("other_7", "other_7", "/virtualMachines/other_7"),
    ],
)
def test_given_a_scale_set_when_a_name_is_uniform_or_flexible_then_the_machine_is_known_accordingly(
    name: str, computer_name: str, resource_id_end: str
) -> None:
    vm = parse({"vms": [{"name": name, "address": "127.0.0.1", "scale_set": "set"}]}).vms[name]
    assert vm.computer_name == computer_name
    assert vm.resource_id.endswith(f"/resourceGroups/rg/providers/Microsoft.Compute{resource_id_end}")


@pytest.mark.parametrize(
    ("config", "mistake"),
    [
        ([], "configuration: [] is not a mapping of names to values"),
        ({}, "vms: name at least one VM"),
        ({"vms": "a"}, "vms: 'a' is not a list"),
        ({"vms": [{"address": "127.0.0.1"}]}, "vms[0].name: is missing: the VM's name, as in Resources"),
        (
            {"vms": [{"name": "a"}]},
            "vms[0].address: is missing: the IP address by which the simulator recognises the VM",
        ),
        ({"vms": [{"name": 7, "address": "127.0.0.1"}]}, "vms[0].name: 7 is not a text"),
        ({"vms": [{**VM, "address": "127.0.0.300"}]}, "vms[0].address: '127.0.0.300' is not an IP address"),
        ({"vms": [{**VM, "address": "0.0.0.0"}]}, "vms[0].address: '0.0.0.0' would listen on every network"),
        (
            {"vms": [{**VM, "address": "127.0.0.0/24"}]},
            "vms[0].address: '127.0.0.0/24' is a network, but 'a' is one VM",
        ),
        (
            {"vms": [{"name": "a{0..1}", "address": "127.0.0.1"}]},
            "vms[0].address: '127.0.0.1' is one address for a range",
        ),
        ({"vms": [{"name": "a{0..1}", "address": "127.0.0.1/24"}]}, "vms[0].address: '127.0.0.1/24' is not a network"),
        (
            {"vms": [{"name": "a{0..9}", "address": "127.0.0.0/29"}]},
            "vms[0].address: '127.0.0.0/29' has 6 usable addresses for 10 VMs",
        ),
        ({"vms": [{"name": "a{9..0}", "address": "127.0.0.0/24"}]}, "vms[0].name: 'a{9..0}' counts down"),
        (
            {"vms": [{"name": "a{0..99999}", "address": "127.0.0.0/8"}]},
            "vms[0].name: 'a{0..99999}' names 100000 things",
        ),
        ({"vms": [VM, {"name": "A", "address": "127.0.0.2"}]}, "vms[1].name: 'A' is the name of two VMs"),
        ({"vms": [VM, {**VM, "name": "b"}]}, "vms[1].address: '127.0.0.11' already identifies a"),
        ({"vms": [{**VM, "vm_id": "x"}]}, "vms[0].vm_id: 'x' is not a GUID"),
        ({"vms": [{**VM, "zone": 1}]}, "vms[0].zone: 1 is not a text (quote it"),
        ({"vms": [{**VM, "os_type": "BeOS"}]}, "vms[0].os_type: 'BeOS' is not one of Linux, Windows"),
        ({"vms": [{**VM, "spot": "yes"}]}, "vms[0].spot: 'yes' is not true or false"),
        ({"vms": [{**VM, "adress": "x"}]}, "vms[0].adress: is not an option here: did you mean address?"),
        ({"vms": [{**VM, "tags": {"a": [1]}}]}, "vms[0].tags: 'a': [1] is not a name with a text"),
        (
            {"vms": [{"name": "a{0..1}", "address": "127.0.0.0/24", "computer_name": "x"}]},
            "vms[0].computer_name: is one value for a range of VMs",
        ),
        ({"vms": [VM], "seed": 1.5}, "seed: 1.5 is not a whole number"),
        ({"vms": [VM], "clock": {"speed": 0}}, "clock.speed: 0 must be more than 0"),
        ({"vms": [VM], "clock": {"speed": float("nan")}}, "clock.speed: nan is not a number"),
        ({"vms": [VM], "clock": {"speed": True}}, "clock.speed: True is not a number"),
        ({"vms": [VM], "clock": {"speed": 2, "manual": True}}, "clock.speed: has no effect with a manual clock"),
        ({"vms": [VM], "control": {"port": 65536}}, "control.port: 65536 must lie between 0 and 65535"),
        ({"vms": [VM], "control": {"address": "::"}}, "control.address: '::' would listen on every network"),
        ({"vms": [VM], "imds": {"identify_by": "client"}}, "imds.address: is missing: with identify_by: client"),
        ({"vms": [VM], "imds": {"address": "127.0.0.1"}}, "imds.address: has an effect only with identify_by: client"),
        ({"vms": [VM], "imds": {"rate_limit": 0}}, "imds.rate_limit: 0 must lie between 1 and"),
        ({"vms": [VM], "defaults": {"Resize": {}}}, "defaults.Resize: is not an option here"),
        ({"vms": [VM], "defaults": {"Freeze": {"notice": -1}}}, "defaults.Freeze.notice: -1 must be at least 0"),
        (
            {"vms": [VM], "defaults": {"Freeze": {"impact": 30, "linger": 20}}},
            "defaults.Freeze.linger: 20 must be at least the impact of 30",
        ),
        ({"vms": [VM], "load_balancers": [{"name": "x"}]}, "load_balancers[0].listen: is missing: ADDRESS:PORT"),
        (
            {"vms": [VM], "load_balancers": [{"name": "x", "listen": "127.0.0.1"}]},
            "load_balancers[0].listen: '127.0.0.1' is not ADDRESS:PORT",
        ),
        (
            {"vms": [VM], "load_balancers": [{"name": "x", "listen": "0.0.0.0:80"}]},
            "load_balancers[0].listen: '0.0.0.0' would listen on every network",
        ),
        (
            {
                "vms": [VM],
                "load_balancers": [{"name": "x", "listen": "127.0.0.1:80", "members": [{"vm": "b", "port": 1}]}],
            },
            "load_balancers[0].members[0].vm: 'b' is not the name of a VM",
        ),
        (
            {"vms": [VM], "load_balancers": [{"name": "x", "listen": "127.0.0.1:80", "members": [{"vm": "a"}]}]},
            "load_balancers[0].members[0].port: is missing",
        ),
        (
            {"vms": [VM], "load_balancers": [{"name": "x", "listen": "127.0.0.1:80", "probe": {"path": "up"}}]},
            "load_balancers[0].probe.path: 'up' must begin with /",
        ),
        (
            {"vms": [VM], "load_balancers": [{"name": "x", "listen": "127.0.0.1:80"}] * 2},
            "load_balancers[1].name: 'x' is the name of two load balancers",
        ),
        (
            {
                "vms": [VM],
                "load_balancers": [{"name": "x", "listen": "127.0.0.1:80", "members": [{"vm": "a", "port": 1}] * 2}],
            },
            "load_balancers[0].members[1].vm: 'a' is already a member",
        ),
        (
            {
                "vms": [VM],
                "arm": {"load_balancers": [{"name": "x", "pools": {"p": ["a"]}}]},
                "load_balancers": [{"name": "x", "listen": "127.0.0.1:80", "pool": "x/q"}],
            },
            "load_balancers[0].pool: 'x/q' is not a pool of arm, NAME/POOL. There is x/p",
        ),
        ({"vms": [{**VM, "tags": "x"}]}, "vms[0].tags: 'x' is not a mapping of names to values"),
        ({"vms": [VM], "on_impact": [{"vms": 1}]}, "on_impact[0].vms: 1 is not a list of texts"),
        ({"vms": [VM], "on_impact": [{"vms": []}]}, "on_impact[0].vms: [] is not a list of texts"),
        ({"vms": [VM], "on_impact": [{"vms": [1]}]}, "on_impact[0].vms[0]: 1 is not a text"),
        ({"vms": [VM], "on_impact": [{"vms": ["b"]}]}, "on_impact[0].vms: 'b' is not the name of a VM"),
        (
            {"vms": [VM], "on_impact": [{"start": "stop it"}]},
            "on_impact[0].start: 'stop it' is not a list: write [/bin/sh",
        ),
        ({"vms": [VM], "on_impact": [{"vms": ["a"]}]}, "on_impact[0].start: give a command for it"),
        ({"vms": [VM], "on_impact": [{"event_types": ["Boot"]}]}, "on_impact[0].event_types[0]: 'Boot' is not one of"),
        ({"vms": [VM], "faults": [{"vm": "b", "kind": "reset"}]}, "faults[0].vm: 'b' is not the name of a VM"),
        (
            {"vms": [VM], "faults": [{"vm": "a", "kind": "slow", "body": "x"}]},
            "faults[0].body: has no effect with the kind",
        ),
    ],
)
def test_given_a_mistake_when_read_then_it_is_named_with_its_path(config: object, mistake: str) -> None:
    assert any(found.startswith(mistake) for found in mistakes(config)), mistakes(config)


def test_given_several_mistakes_when_read_then_all_are_named_at_once() -> None:
    config: dict[str, Any] = {
        "seed": "x",
        "clok": {},
        "vms": [{"name": "a", "address": "nowhere"}, {"name": "b", "address": "127.0.0.2", "spot": 1}],
    }
    assert mistakes(config) == [
        "seed: 'x' is not a whole number",
        "vms[0].address: 'nowhere' is not an IP address",
        "vms[1].spot: 1 is not true or false",
        "clok: is not an option here: did you mean clock?",
    ]


def test_given_members_without_address_when_read_then_they_are_reached_where_their_vm_is() -> None:
    config = parse(
        {
            "vms": [{"name": "web_{0..1}", "address": "127.0.0.0/24"}],
            "load_balancers": [
                {"name": "front", "listen": "[::1]:0", "members": [{"vm": "web_{0..1}", "port": 81}]},
            ],
        }
    )
    balancer = config.balancers[0]
    assert (balancer.address, balancer.port) == ("::1", 0)
    assert [(m.vm, m.address, m.port) for m in balancer.members] == [
        ("web_0", "127.0.0.1", 81),
        ("web_1", "127.0.0.2", 81),
    ]
    assert (balancer.probe.interval, balancer.probe.timeout, balancer.probe.threshold) == (5, 5, 2)


def test_given_ranges_in_rules_when_read_then_they_stand_for_all_their_vms() -> None:
    config = parse(
        {
            "vms": [{"name": "web_{0..2}", "address": "127.0.0.0/24"}, VM | {"address": "127.0.1.1"}],
            "on_impact": [{"vms": ["web_{1..2}", "a"], "start": ["true"]}],
        }
    )
    assert config.impact_rules[0].vms == {"web_1", "web_2", "a"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("fleet.json", json.dumps({"vms": [VM]})),
        ("fleet.yml", "vms: [{name: a, address: 127.0.0.11}]"),
        ("fleet.yaml", "vms:\n- name: a\n  address: 127.0.0.11\n"),
    ],
)
def test_given_a_file_when_loaded_then_its_name_says_what_it_is_and_commands_run_beside_it(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    config = load(path)
    assert list(config.vms) == ["a"]
    assert config.directory == tmp_path.resolve()


@pytest.mark.parametrize(
    ("name", "text", "mistake"),
    [
        ("fleet.json", "vms: []", "is not JSON (YAML needs a name ending in .yml)"),
        ("fleet.yml", "vms: [", "is not YAML"),
        ("missing.yml", None, "cannot be read"),
    ],
)
def test_given_a_file_that_cannot_be_read_when_loaded_then_it_is_named(
    tmp_path: Path, name: str, text: str | None, mistake: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(Invalid) as error:
        load(path)
    assert error.value.mistakes[0].startswith(f"{path}: {mistake}")


def keys(content: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each key of a configuration, and where it stands."""
    for item in content if isinstance(content, list) else [content]:
        for key, value in item.items() if isinstance(item, dict) else ():
            yield path, key
            yield from keys(value, f"{path}.{key}".strip("."))


def test_given_the_file_with_every_option_when_read_then_it_has_each_and_no_mistake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = EVERY_OPTION.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    read: list[Fields] = []
    make = Fields.__init__

    def note(fields: Fields, *given: Any) -> None:
        read.append(fields)
        make(fields, *given)

    monkeypatch.setattr(Fields, "__init__", note)
    parse(content)

    known = {(re.sub(r"\[\d+\]", "", fields.path), key) for fields in read for key in fields._known}
    # Options of events are shown with Freeze and Reboot, those of faults are described on the page and by --help.
    known = {(path, key) for path, key in known if not path.startswith(("defaults", "faults", "arm.faults"))}
    lacking = known - set(keys(content))
    # These exclude others, or need a file.
    in_comments = {"manual", "address", "tls", "certificate", "thumbprint"}
    assert sorted(one for one in lacking if one[1] not in in_comments) == []
    assert [key for key in sorted(in_comments) if not re.search(rf"#.*\b{key}\b", text)] == []


def test_given_the_file_with_every_option_when_its_defaults_of_events_are_read_then_they_are_the_defaults() -> None:
    content = yaml.safe_load(EVERY_OPTION.read_text(encoding="utf-8"))

    told = parse({"vms": [VM], "defaults": content["defaults"]}).lives

    assert told == parse({"vms": [VM]}).lives
