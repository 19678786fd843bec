# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""No name in an event makes Ansible run anywhere but on the host that stands for that VM."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import split_host_pattern
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.hosts import (
    HostMap,
    group_of,
    read_host_map,
)
from hypothesis import given
from hypothesis import strategies as st

GROUP = "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555/resourceGroups/%s"
VM = GROUP + "/providers/Microsoft.Compute/virtualMachines/%s"


def _ignore(_text: str) -> None:
    pass


def host_map(**options: Any) -> HostMap:
    made = read_host_map(options, _ignore)
    assert made is not None
    return made


def test_given_no_option_when_it_is_read_then_nothing_is_limited() -> None:
    assert read_host_map({}, print) is None


def test_given_a_pattern_when_vms_are_named_then_their_names_are_put_in() -> None:
    hosts = host_map(hosts_pattern="{lower_name}.example.com")

    assert hosts(["Web_0", "web_1"], None) == ["web_0.example.com", "web_1.example.com"]
    assert host_map(hosts_pattern="{name}")(["Web_0"], None) == ["Web_0"]


@pytest.mark.parametrize("name", ["all", "ALL", "ungrouped"])
def test_given_a_vm_with_the_name_of_a_group_of_ansibles_when_it_is_hit_then_no_host_is(name: str) -> None:
    assert host_map(hosts_pattern="{name}")([name], None) == ["no-host-for-" + name]


@given(st.text(min_size=1, max_size=200))
def test_given_any_name_when_a_host_is_made_of_it_then_it_is_one_name_and_no_pattern(name: str) -> None:
    (host,) = host_map(hosts_pattern="{name}")([name], None)

    assert split_host_pattern(host) == [host]
    assert not set(host) & set("*?[]!&~:,@\n ")
    assert host.lower() not in ("all", "ungrouped")


@pytest.mark.parametrize("resources", [[], ["*"], ["web:&db"], ["~.*"]])
def test_given_nothing_that_is_a_host_when_it_is_hit_then_no_host_of_the_inventory_is(resources: list[str]) -> None:
    found = host_map(hosts_pattern="{name}")(resources, None)

    assert found
    assert all(host.startswith("no-host-for-") for host in found)


@pytest.mark.parametrize(
    "options",
    [
        {"hosts_pattern": "example.com"},
        {"hosts_pattern": 3},
        {"hosts_pattern": "{name}", "hosts_inventory": "x"},
        {"hosts_inventory": "/does/not/exist"},
        {"hosts_inventory": 3},
        {"hosts_inventory": os.devnull, "hosts_variable": ""},
        {"hosts_inventory": os.devnull},
    ],
)
def test_given_an_invalid_option_when_it_is_read_then_it_is_named(options: Any) -> None:
    with pytest.raises(OptionError, match=r"^hosts_(pattern|inventory|variable)"):
        read_host_map(options, print)


class TestInventory:
    def test_given_what_ansible_inventory_writes_then_hosts_are_found_by_the_variable_or_their_own_name(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "inventory.json"
        content = {"_meta": {"hostvars": {"one": {"azure_vm_name": "Web_0"}}}, "web": {"hosts": ["one", "web_1"]}}
        path.write_text(json.dumps(content))

        hosts = host_map(hosts_inventory=str(path))

        assert hosts(["WEB_0", "web_1", "web_2"], None) == ["one", "web_1", "no-host-for-web_2"]

    def test_given_an_inventory_in_yaml_then_hosts_are_found_at_any_depth(self, tmp_path: Path) -> None:
        path = tmp_path / "inventory.yml"
        path.write_text(
            "all:\n  children:\n    web:\n      hosts:\n        one: {azure: {name: web_0}}\n        two:\n"
        )

        assert host_map(hosts_inventory=str(path), hosts_variable="azure.name")(["web_0"], None) == ["one"]

    def test_given_ids_then_a_vm_is_distinguished_from_its_namesake_in_another_group(self, tmp_path: Path) -> None:
        path = tmp_path / "inventory.json"
        hostvars = {"a": {"id": VM % ("rg-a", "web_0")}, "b": {"id": VM % ("rg-b", "web_0")}}
        path.write_text(json.dumps({"_meta": {"hostvars": hostvars}}))
        hosts = host_map(hosts_inventory=str(path), hosts_variable="id")

        assert hosts(["web_0"], GROUP % "RG-B") == ["b"]
        assert hosts(["web_0"], GROUP % "rg-c") == ["no-host-for-web_0"]
        assert hosts(["web_0"], None) == ["no-host-for-web_0"], "which of the two, nobody can say"

    def test_given_hosts_that_are_named_by_a_tag_then_a_vm_is_the_one_of_its_tag(self, tmp_path: Path) -> None:
        path = tmp_path / "inventory.json"
        tagged = {"shop1": {"id": VM % ("one", "web_0"), "tags": {"host": "shop1"}}}
        untagged = {"web_1_a1b2": {"id": VM % ("one", "web_1"), "tags": {}}}
        path.write_text(json.dumps({"_meta": {"hostvars": {**tagged, **untagged}}}))

        hosts = host_map(hosts_inventory=str(path), hosts_variable="id")

        assert hosts(["WEB_0", "web_1"], GROUP % "one") == ["shop1", "web_1_a1b2"]

    def test_given_a_file_that_changes_then_it_is_read_again_and_what_was_known_outlives_a_broken_one(
        self, tmp_path: Path
    ) -> None:
        told: list[str] = []
        path = tmp_path / "inventory.json"
        path.write_text('{"web": {"hosts": {"one": {"azure_vm_name": "web_0"}}}}')
        hosts = read_host_map({"hosts_inventory": str(path)}, told.append)
        assert hosts is not None

        path.write_text('{"web": {"hosts": {"other": {"azure_vm_name": "web_0"}}}}')
        assert hosts(["web_0"], None) == ["other"]
        path.write_text('{"web": ')
        for _poll in range(2):
            assert hosts(["web_0"], None) == ["other"]
            assert len(told) == 1

    def test_given_a_variable_that_is_no_id_then_the_host_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "inventory.json"
        path.write_text('{"web": {"hosts": {"one": {"azure_vm_name": "/subscriptions/x"}}}}')

        with pytest.raises(OptionError, match="host one"):
            host_map(hosts_inventory=str(path))


def test_given_the_id_of_a_resource_when_its_group_is_asked_for_then_it_is_the_beginning() -> None:
    assert group_of(VM % ("rg", "web_0")) == GROUP % "rg"
    assert group_of("web_0") is None
    assert group_of(None) is None
