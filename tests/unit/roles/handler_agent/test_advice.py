# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does it warn of what is allowed, and yet most likely not meant?

Runs on Python 3.6 and later.
"""

from pathlib import Path
from typing import Any, List

import pytest
from foghorn_agent.advice import advice_on_machine, advice_on_policies, fate_of_uncovered
from foghorn_agent.config import parse_config
from foghorn_agent.platform import services

TYPES = {"event_types": ["Reboot", "Redeploy", "Terminate", "Preempt"]}
SECRET = {"secret_file": "/etc/foghorn/members.secret"}
MEMBERS = dict(SECRET, members={"web_1": "http://10.0.0.5:9797"})
EVERYWHERE = [{"address": "127.0.0.1"}, {"address": "10.0.0.4"}]


def policies(*content: Any, **more: Any) -> List[str]:
    return advice_on_policies(parse_config(dict({"quorum": SECRET, "policies": list(content)}, **more)))


def test_given_no_policy_of_its_own_when_read_then_there_is_nothing_to_say() -> None:
    assert policies() == []


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ({"name": "all", "drain": []}, "all: also drains for a freeze of a few seconds"),
        ({"name": "all", "shutdown": [], "match": {"longer_than": 10}}, "all: shuts down for a freeze"),
        (
            {"name": "all", "match": TYPES, "drain": [{"pause": 300}], "shutdown": [{"stop": "x", "timeout": 301}]},
            "all: drain and shutdown may take longer than 10 minutes, after which automatic instance repairs",
        ),
        (
            {"name": "all", "approve": "when_ready", "check": [{"command": ["/bin/true"]}]},
            "all: also approves event types that Azure may add",
        ),
        (
            {"name": "all", "approve": "when_ready", "match": dict(TYPES, shared=False), "drain": []},
            "all: approves although no step prepares the machine",
        ),
        (
            {"name": "all", "approve": "quorum", "match": TYPES, "drain": [{"pause": 30}]},
            "all: approve: quorum has no quorum.members and no quorum.url",
        ),
    ],
)
def test_given_a_policy_that_takes_in_what_the_defaults_take_care_of_when_read_then_it_is_named(
    policy: Any, said: str
) -> None:
    found = policies(policy)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_given_policies_that_say_what_they_are_for_when_read_then_there_is_nothing_to_say() -> None:
    short = {"match": {"event_types": ["Freeze"], "no_longer_than": 10}}
    pause = [{"pause": 30}]
    assert policies({"match": TYPES, "drain": pause, "approve": "quorum"}, quorum=MEMBERS, listen=EVERYWHERE) == []
    # A freeze may need no preparation.
    assert policies({"match": {"event_types": ["Freeze"]}, "approve": "when_ready"}) == []
    assert policies(short, {"match": {"event_types": ["Freeze"]}, "drain": []}) == []
    assert policies({"match": dict(TYPES, shared=False), "drain": pause, "approve": "quorum"}) == []


@pytest.mark.parametrize("members", [MEMBERS, dict(SECRET, url="http://{name}:9797")])
def test_given_members_when_nobody_else_can_ask_this_machine_then_it_is_reported(members: Any) -> None:
    said = "quorum: no other member can ask this machine, which listens on loopback only: set listen"
    assert policies(quorum=members) == [said]
    assert policies(quorum=members, listen=EVERYWHERE) == []


def test_given_members_at_one_url_when_read_then_they_are_named() -> None:
    urls = {"web_2": "http://127.0.0.1:9797", "web_1": "http://127.0.0.1:9797", "web_3": "http://10.0.0.3:9797"}
    (found,) = policies(quorum=dict(SECRET, members=urls), listen=EVERYWHERE)
    assert found.startswith("quorum.members: web_1 and web_2, and only one of them can answer at http://127.0.0.1:9797")


def test_given_what_the_steps_need_when_this_machine_lacks_it_then_each_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    units = tmp_path / "units"
    units.mkdir()
    (units / "web.service").write_text("")
    (units / "app@.service").write_text("")
    for name, mode in (("good", 0o755), ("open", 0o777), ("text", 0o644)):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(mode)
    hook = tmp_path / "hooks.d" / "restore" / "10-open"
    hook.parent.mkdir(parents=True)
    hook.write_text("")
    hook.chmod(0o777)
    commands = [{"command": [str(tmp_path / name)]} for name in ("good", "open", "text", "absent")]
    policy = {
        "name": "mine",
        "drain": commands,
        "shutdown": [{"stop": "web"}, {"stop": "app@1"}, {"stop": "no"}, {"stop": "no@1.socket"}],
    }
    looks = [{"tcp": 80}, {"command": [str(tmp_path / "open")]}]
    config = parse_config({"policies": [policy], "hooks_directory": str(tmp_path / "hooks.d"), "ready_checks": looks})
    monkeypatch.setattr(services, "_DIRECTORIES", [str(units)])
    found = advice_on_machine(config)
    assert [line.split(": ")[:2] for line in found] == [["mine", "drain"]] * 3 + [["mine", "shutdown"]] * 2 + [
        ["ready_checks", "open"],
        ["hooks", "restore"],
    ]
    assert "others than root can write" in found[0]
    assert found[1].endswith("text: cannot be executed")
    assert "absent" in found[2]
    assert found[3:5] == ["mine: shutdown: there is no unit no.service", "mine: shutdown: there is no unit no@1.socket"]
    monkeypatch.setattr(services, "_DIRECTORIES", [str(tmp_path / "absent")])
    assert not [line for line in advice_on_machine(config) if "no unit" in line]


def test_given_state_and_webhooks_that_others_can_change_when_checked_then_they_are_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "secret").chmod(0o644)
    webhook = {"url": "https://x", "secret_file": str(tmp_path / "secret"), "ca_file": str(tmp_path / "open")}
    config = parse_config({"state_directory": str(tmp_path / "open" / "state"), "webhooks": [webhook]})
    assert [line.split(str(tmp_path))[0] for line in advice_on_machine(config)] == [
        "state_directory: ",
        "webhooks[0].ca_file: ",
        "webhooks[0].secret_file: ",
    ]


def test_given_a_unit_that_others_can_write_when_it_is_stopped_then_it_is_named_and_one_that_is_masked_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "open.service").write_text("")
    (tmp_path / "open.service").chmod(0o666)
    (tmp_path / "masked.service").symlink_to("/dev/null")
    config = parse_config({"policies": [{"name": "mine", "shutdown": [{"stop": "open"}, {"stop": "masked"}]}]})
    monkeypatch.setattr(services, "_DIRECTORIES", [str(tmp_path)])
    found = advice_on_machine(config)
    assert len(found) == 1
    assert found[0].startswith("mine: shutdown: %s/open.service: others than root can write" % tmp_path)


def test_given_hooks_that_cannot_be_executed_when_checked_then_they_are_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    forgotten = tmp_path / "shutdown" / "10-app"
    forgotten.parent.mkdir()
    forgotten.write_text("#!/bin/sh\n")
    policy = {"name": "mine", "drain": [{"hooks": True}], "shutdown": [{"hooks": True}]}
    own = parse_config({"policies": [policy], "hooks_directory": str(tmp_path)})
    none = parse_config({"hooks_directory": str(tmp_path)})
    idle = (
        "hooks: shutdown: %s: fails, because it is not executable: chmod +x it, or append .disabled to its name"
        % forgotten
    )
    assert advice_on_machine(own) == ["hooks: drain: there is none in %s/drain" % tmp_path, idle]
    # The default policies run what there is, and nobody has to have any.
    assert advice_on_machine(none) == [idle]


def test_given_hooks_of_a_stage_that_is_misspelt_then_it_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("drain", "shutdwon", "check"):
        (tmp_path / name).mkdir()
    (tmp_path / "README").touch()
    config = parse_config({"hooks_directory": str(tmp_path)})
    assert advice_on_machine(config) == [
        "hooks: %s/shutdwon: is not read, because a stage is drain or shutdown or restore or check" % tmp_path
    ]


# --- what no policy is for --------------------------------------------------------------------------


def test_given_types_that_no_policy_is_for_and_no_hook_when_checked_then_it_is_reported_that_nobody_approves(
    tmp_path: Path,
) -> None:
    own = [{"match": {"event_types": ["preempt", "Freeze", "Migrate"]}, "drain": []}]
    config = parse_config({"policies": own, "hooks_directory": str(tmp_path)})
    fate = "the machine is drained, and it is not approved, because no hook in %s prepares this machine" % tmp_path
    assert fate_of_uncovered(config) == ([], ["no policy covers Terminate, Redeploy, Reboot: " + fate])


def test_given_no_policy_and_a_hook_when_checked_then_it_is_reported_who_approves_what(tmp_path: Path) -> None:
    # What may not be run is looked at by its step.
    (tmp_path / "drain").symlink_to("/nowhere")
    notes, warnings = fate_of_uncovered(parse_config({"hooks_directory": str(tmp_path)}))
    run = "the hooks in %s run, and " % tmp_path
    assert notes == [
        "no policy covers Freeze: %sit is not approved" % run,
        "no policy covers Preempt, Terminate, Redeploy, Reboot: %sit is approved only if one of them"
        " prepared this machine" % run,
    ]
    assert warnings == []


def test_given_a_policy_for_all_types_when_checked_then_there_is_nothing_to_say() -> None:
    assert fate_of_uncovered(parse_config({"policies": [{"drain": []}]})) == ([], [])


def test_given_a_type_that_azure_may_add_in_a_policy_when_checked_then_it_is_pointed_out() -> None:
    found = policies({"match": {"event_types": ["Migrate", "Manual", "Reboot"]}, "drain": []})
    assert [line.partition(" (")[0] for line in found] == [
        "policies[0]: match.event_types: 'Migrate' is not an event type that this version knows"
    ]


def advice_on_cups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shown: str, **stages: Any) -> List[str]:
    """Where systemctl shows this property of cups.service, and that the first of several units is active."""
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"    show*--property={shown.partition('=')[0]}*' cups.service') echo {shown} ;;\n"
        "    is-active*) echo active; echo inactive; exit 3 ;;\n"
        "esac\n"
    )
    systemctl.chmod(0o755)
    monkeypatch.setattr(services, "_SYSTEMCTL", [str(systemctl)])
    monkeypatch.setattr(services, "_DIRECTORIES", ())
    found = advice_on_machine(parse_config({"policies": [{"name": "mine", **stages}]}))
    return [line for line in found if line.startswith("mine: ")]


@pytest.mark.parametrize("kind", ["TriggeredBy", "UpheldBy"])
def test_given_a_unit_that_an_active_one_starts_again_when_no_step_stops_that_then_both_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def advice(*units: str) -> List[str]:
        steps = [{"stop": unit} for unit in units]
        return advice_on_cups(tmp_path, monkeypatch, "%s=cups.socket cups.timer" % kind, shutdown=steps)

    assert advice("cups", "web") == [
        "mine: cups.service is started again by cups.socket, which no step stops before it"
    ]
    assert advice("cups.socket", "cups") == []
    assert advice("web") == []


def test_given_a_unit_that_stops_with_another_when_no_step_starts_it_again_then_both_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advice(*units: str) -> List[str]:
        steps = [{"start": unit} for unit in units]
        shown = "RequiredBy=browsed.service idle.service"
        return advice_on_cups(tmp_path, monkeypatch, shown, shutdown=[{"stop": "cups"}], restore=steps)

    assert advice("cups", "web") == [
        "mine: browsed.service is stopped with cups.service, and no step of restore starts it"
    ]
    assert advice("cups", "browsed") == []
    assert advice() == []
