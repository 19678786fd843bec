# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ``arm`` section: what it means, and every mistake with its path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from azure_simulator.arm.config import duration
from azure_simulator.config import parse
from azure_simulator.reading import Invalid

VMS = [
    {"name": "web_0", "address": "127.0.78.1", "scale_set": "web"},
    {"name": "db", "address": "127.0.78.2", "availability_set": "dbs"},
]
CLIENT = "cccccccc-aaaa-4bbb-8ccc-555555555555"


def arm(**section: Any) -> Any:
    return parse({"vms": VMS, "arm": section}).arm


def test_given_no_section_when_read_then_there_is_no_resource_manager() -> None:
    assert parse({"vms": VMS}).arm is None


def test_given_an_empty_section_when_read_then_every_scale_set_that_vms_name_exists() -> None:
    config = arm()
    (web,) = config.scale_sets
    assert (web.name, web.flexible, web.upgrade_mode, web.resource_group) == ("web", False, "Manual", "rg")
    assert (config.address, config.port, config.tls) == ("127.0.0.1", 8600, None)


def test_given_a_subscription_when_read_then_vms_without_one_of_their_own_are_in_it() -> None:
    own = "22222222-aaaa-4bbb-8ccc-555555555555"
    vms = [*VMS, {"name": "other", "address": "127.0.78.3", "subscription_id": own}]
    config = parse({"vms": vms, "arm": {"subscription_id": CLIENT}})
    assert {vm.name: vm.subscription_id for vm in config.vms.values()} == {"web_0": CLIENT, "db": CLIENT, "other": own}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("PT5M", 300), ("PT900S", 900), ("PT1H2M3S", 3723), ("PT", None), ("5M", None), ("P1D", None), (5, None)],
)
def test_given_a_duration_when_read_then_it_is_seconds_or_none(text: Any, seconds: int | None) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("section", "mistake"),
    [
        ({"prot": 1}, "arm.prot: is not an option here: did you mean port?"),
        ({"subscription_id": "x"}, "arm.subscription_id: 'x' is not a GUID"),
        ({"tls": {}}, "arm.tls.certificate: is missing"),
        (
            {"tls": {"certificate": "none.pem", "private_key": "none.pem"}},
            "arm.tls.certificate: 'none.pem' cannot be read: No such file",
        ),
        (
            {"clients": [{"client_id": CLIENT, "certificate": "none.pem"}]},
            "arm.clients[0].certificate: 'none.pem' cannot be read: No such file",
        ),
        ({"clients": [{}]}, "arm.clients[0].client_id: is missing"),
        ({"clients": [{"client_id": CLIENT}]}, "arm.clients[0].secret: set secret, certificate or federated"),
        (
            {"clients": [{"client_id": CLIENT, "secret": "x", "federated": {"issuer": "i"}}]},
            "arm.clients[0].federated: needs both issuer and subject",
        ),
        (
            {"clients": [{"client_id": CLIENT, "secret": "x"}, {"client_id": CLIENT.upper(), "secret": "x"}]},
            f"arm.clients[1].client_id: '{CLIENT}' is given twice",
        ),
        ({"reads": {"bucket": 0}}, "arm.reads.bucket: 0 must lie between 1"),
        ({"retry_after": -1}, "arm.retry_after: -1 must lie between 0"),
        ({"scale_sets": [{}]}, "arm.scale_sets[0].name: is missing"),
        ({"scale_sets": [{"name": "a"}, {"name": "A"}]}, "arm.scale_sets[1].name: 'A' is the name of two scale sets"),
        (
            {"scale_sets": [{"name": "web", "terminate_notification": "PT4M"}]},
            "arm.scale_sets[0].terminate_notification: 'PT4M' is not a duration from PT5M to PT15M",
        ),
        (
            {"scale_sets": [{"name": "web", "orchestration_mode": "Flexible"}]},
            "arm.scale_sets[0].orchestration_mode: 'Flexible' does not fit the names of its VMs, like 'web_0'",
        ),
        (
            {"scale_sets": [{"name": "web", "outdated": ["db"]}]},
            "arm.scale_sets[0].outdated: 'db' is not the name of one of its VMs",
        ),
        ({"scale_sets": [{"name": "web", "upgrade_mode": "x"}]}, "arm.scale_sets[0].upgrade_mode: 'x' is not one of"),
        ({"scale_sets": [{"name": "web", "properties": 1}]}, "arm.scale_sets[0].properties: 1 is not a mapping"),
        (
            {"scale_sets": [{"name": "web", "new_addresses": "x"}]},
            "arm.scale_sets[0].new_addresses: 'x' is not a network",
        ),
        (
            {"scale_sets": [{"name": "web", "new_addresses": "127.0.0.0/8"}]},
            "arm.scale_sets[0].new_addresses: '127.0.0.0/8' is too large",
        ),
        ({"virtual_machines": [{"name": "x"}]}, "arm.virtual_machines[0].name: 'x' is not the name of a VM"),
        (
            {"availability_sets": [{"name": "x"}]},
            "arm.availability_sets[0].name: 'x' is not the name of the availability_set of a VM",
        ),
        (
            {"load_balancers": [{"name": "f", "pools": {"p": ["x"]}}]},
            "arm.load_balancers[0].pools: 'x' is not the name of a VM",
        ),
        (
            {"virtual_machines": [{"name": "db"}, {"name": "db"}]},
            "arm.virtual_machines[1].name: 'db' is given twice",
        ),
        (
            {"maintenance_windows": [{"vms": ["db", "x"]}]},
            "arm.maintenance_windows[0].vms: 'x' is not the name of a VM",
        ),
        (
            {"maintenance_windows": [{"vms": ["db"]}, {"vms": ["web_0", "db"]}]},
            "arm.maintenance_windows[1].vms: 'db' already has a window",
        ),
        (
            {"lifecycle_hook_events": [{"scale_set": "x", "type": "UpgradeAutoOSScheduling"}]},
            "arm.lifecycle_hook_events[0].scale_set: no VM is in a scale set 'x'",
        ),
        (
            {"lifecycle_hook_events": [{"scale_set": "web", "type": "UpgradeAutoOSScheduling", "vms": ["db"]}]},
            "arm.lifecycle_hook_events[0].vms: 'db' is not the name of one of its VMs",
        ),
        (
            {"load_balancers": [{"name": "f", "pools": {"p": [1]}}]},
            "arm.load_balancers[0].pools.p[0]: 1 is not a text",
        ),
        ({"role_assignments": [{}]}, "arm.role_assignments[0].role: is missing"),
        ({"role_assignments": [{}]}, "arm.role_assignments[0].principal_id: is missing"),
        ({"role_assignments": [{}]}, "arm.role_assignments[0].scope: is missing"),
        ({"faults": [{"kind": "x"}]}, "arm.faults[0].kind: 'x' is not one of"),
    ],
)
def test_given_a_mistake_when_read_then_it_is_named_with_its_path(section: Any, mistake: str) -> None:
    with pytest.raises(Invalid) as refusal:
        arm(**section)
    assert any(line.startswith(mistake) for line in refusal.value.mistakes), refusal.value.mistakes


def test_given_a_file_that_is_no_certificate_when_read_then_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "odd.pem").write_text("odd")
    section = {"clients": [{"client_id": CLIENT, "certificate": "odd.pem"}]}
    with pytest.raises(Invalid, match=r"odd\.pem' is not a certificate in PEM"):
        parse({"vms": VMS, "arm": section}, tmp_path)


def test_given_two_sets_of_one_name_when_the_group_is_missing_then_it_is_asked_for() -> None:
    vms = [
        {"name": "web_0", "address": "127.0.78.1", "scale_set": "web"},
        {"name": "web_1", "address": "127.0.78.2", "scale_set": "web", "resource_group": "other"},
    ]
    with pytest.raises(Invalid, match="resource_group: is missing: there are several scale sets 'web'"):
        parse({"vms": vms, "arm": {"scale_sets": [{"name": "web"}]}})
    config = parse({"vms": vms, "arm": {"scale_sets": [{"name": "web", "resource_group": "rg"}]}}).arm
    assert config is not None
    assert [scale_set.resource_group for scale_set in config.scale_sets] == ["rg", "other"]
