# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a machine that is reached at an address the VM that it says it is?"""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.address import Addresses, look_up, read_question
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

from .scripted_arm import COMPUTE, GROUP, Step, dialogue, ok

VM = COMPUTE + "/virtualMachines/web-1"
INSTANCE = COMPUTE + "/virtualMachineScaleSets/web/virtualMachines/1"
SET = COMPUTE + "/virtualMachineScaleSets/flexible"
INTERFACE = GROUP + "/providers/Microsoft.Network/networkInterfaces/web-1-nic"


def interface(*addresses: str) -> dict[str, Any]:
    configurations = [{"name": one, "properties": {"privateIPAddress": one}} for one in addresses]
    return {"id": INTERFACE, "properties": {"ipConfigurations": configurations}}


def ask(vm_id: str, host: str | None, *script: Step) -> Addresses:
    with dialogue(*script) as (_arm, client):
        return look_up(client, read_question({"vm_id": vm_id, "host": host}))


def machine(**properties: Any) -> Step:
    return ok({"properties": {"networkProfile": {"networkInterfaces": [{"id": INTERFACE}]}, **properties}})


@pytest.mark.parametrize(
    ("host", "is_held"), [("10.0.0.4", True), ("10.0.0.5", False), (None, False), ("fd00:0::4", True)]
)
def test_given_a_vm_when_asked_for_an_address_then_its_interfaces_say_whether_it_holds_it(
    host: str | None, is_held: bool
) -> None:
    found = ask(VM, host, machine(), ok(interface("10.0.0.4", "fd00::4")), machine())

    assert found == Addresses(["10.0.0.4", "fd00::4"], is_held, None)


def test_given_a_member_of_a_flexible_set_when_asked_then_the_set_is_named() -> None:
    shown = machine(virtualMachineScaleSet={"id": SET})

    assert ask(VM, "10.0.0.4", shown, ok(interface("10.0.0.4")), shown).scale_set == SET


@pytest.mark.parametrize("vm_id", [INSTANCE, INSTANCE.lower()])
def test_given_an_instance_of_a_uniform_set_when_asked_then_its_interfaces_are_listed(vm_id: str) -> None:
    found = ask(vm_id, "10.0.0.4", ok({"properties": {}}), ok({"value": [interface("10.0.0.4")]}))

    assert found == Addresses(["10.0.0.4"], True, vm_id[: -len("/virtualMachines/1")])


@pytest.mark.parametrize("vm_id", ["web-1", SET])
def test_given_what_names_no_vm_then_it_is_refused(vm_id: str) -> None:
    with pytest.raises(OptionError, match="vm_id: '%s' is not the id of a VM" % vm_id):
        read_question({"vm_id": vm_id})


def test_given_a_name_without_an_address_then_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_args: Any, **_kwargs: Any) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr("socket.getaddrinfo", unknown)

    with pytest.raises(OptionError, match="host: web_1 does not resolve to an address: Name or service not known"):
        read_question({"vm_id": VM, "host": "web_1"})
