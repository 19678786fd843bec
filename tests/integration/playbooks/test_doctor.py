# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook doctor: a table of what is wrong, how bad, and what to type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.playbooks.fleet import Fleet

SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-888888888888"
FEATURE = "Microsoft.Compute/SendScheduledEventsPolicy"
REGISTER = f"az feature register --subscription {SUBSCRIPTION} --namespace Microsoft.Compute --name SendScheduledEvents"


def test_given_a_host_that_is_away_and_a_feature_that_is_missing_then_both_are_rows_and_the_run_fails_where_it_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = {"subscription_id": SUBSCRIPTION, "features": {FEATURE: "NotRegistered"}}
    with Fleet(tmp_path, 82, 4, arm=arm) as fleet:
        here, away, twin, old = fleet.hosts
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", fleet.azure.imds[here.vm.lower()])
        options: dict[str, Any] = {
            "doctor_endpoint": "{{ handle_events_endpoint }}",
            "doctor_probes": ["http://{{ address }}:{{ web_port }}/readyz"],
            "doctor_sign_in": {
                "auth_source": "msi",
                "base_url": fleet.azure.arm,
                "subscription_id": SUBSCRIPTION,
            },
        }
        well, run = fleet.run("doctor", hosts=[here], **options)
        assert well == 0, run.output
        assert f"ok      {here.name}: metadata service: answers; the name of this VM is {here.vm.lower()}" in run.output
        assert f"note    {here.name}: agent: not installed" in run.output
        assert f"ok      {here.name}: probe http://{here.address}:{here.port}/readyz: answers 200" in run.output
        assert f"note    /subscriptions/{SUBSCRIPTION}: feature {FEATURE}: NotRegistered" in run.output

        fleet.take_down(away)
        # The inventory leads two names to one machine.
        twin.variables["handle_events_endpoint"] = fleet.azure.imds[here.vm.lower()]
        python = old.directory / "python"
        python.write_text("#!/bin/sh\ncase $1 in -c) echo 3.6.8 ;; *) echo SyntaxError: future >&2; exit 1 ;; esac\n")
        python.chmod(0o755)
        old.variables |= {"ansible_connection": "local", "ansible_python_interpreter": str(python)}
        failed, run = fleet.run("doctor", doctor_needs=["publish"], **options)
        assert failed != 0, run.output
        assert f"error   {away.name}: reached: " in run.output
        assert f"error   /subscriptions/{SUBSCRIPTION}: feature {FEATURE}: NotRegistered" in run.output
        assert REGISTER in run.output
        assert f"warning {here.name} and {twin.name}: identity: both are the same VM" in run.output
        assert f"error   {old.name}: reached: {python} is Python 3.6.8, too old for ansible-core" in run.output
        assert "3 requirements are not met" in run.output


def test_given_no_credential_then_it_says_what_it_could_not_check_and_how_to_provide_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Fleet(tmp_path, 83, 1) as fleet:
        # No Azure CLI either.
        monkeypatch.setenv("ANSIBLE_AZURE_AUTH_SOURCE", "env")
        for name in ("AZURE_CLIENT_ID", "AZURE_SECRET", "AZURE_TENANT"):
            monkeypatch.delenv(name, raising=False)
        status, run = fleet.run("doctor", doctor_endpoint="{{ handle_events_endpoint }}")
        assert status == 0, run.output
        assert "note    Azure: sign-in: nothing could be asked: " in run.output
        assert "az login" in run.output


def test_given_a_limit_that_leaves_out_the_controller_then_it_is_refused_as_there_would_be_no_report(
    tmp_path: Path,
) -> None:
    with Fleet(tmp_path, 83, 1) as fleet:
        endpoint = "{{ handle_events_endpoint }}"
        refused, run = fleet.run("doctor", "--limit", "host0", doctor_endpoint=endpoint)
        assert refused == 2, run.output
        assert "--limit leaves out localhost" in run.text
        named, run = fleet.run("doctor", "--limit", "host0,localhost", doctor_endpoint=endpoint)
        assert named == 0, run.output
        assert "ok      host0: metadata service" in run.output
