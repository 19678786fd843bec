# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever way maintenance comes, the rules see one shape of it, once; what is none they see as it came."""

from __future__ import annotations

import base64
import copy
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.dedup import Deduplicator
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.deliveries import (
    Translator,
    open_translator,
)
from hypothesis import given
from hypothesis import strategies as st

SUBSCRIPTION = "/subscriptions/11111111-aaaa-4bbb-8ccc-555555555555"
SET = SUBSCRIPTION + "/resourcegroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/web"
CONFIGURATION = SUBSCRIPTION + "/resourceGroups/rg/providers/Microsoft.Maintenance/maintenanceConfigurations/patches"
RUN = CONFIGURATION + "/providers/microsoft.maintenance/applyupdates/20261122150000"
PROPERTIES = {
    "EventId": "AA-1",
    "EventType": "Reboot",
    "EventStatus": "Scheduled",
    "EventSource": "Platform",
    "ResourceType": "VirtualMachine",
    "Resources": ["web_0", "web_1"],
    "NotBefore": "Sun, 22 Nov 2026 12:15:00 GMT",
    "Description": "Host maintenance",
    "DurationInSeconds": 9,
}


def scheduled(status: str = "Scheduled", event_id: str = "AA-1", cloud_event: bool = False, **fields: Any) -> Any:
    """An event of Event Grid's about a scheduled event."""
    resource = "%s/providers/Microsoft.Maintenance/scheduledevents/%s" % (SET, event_id)
    data = {
        "resourceInfo": {
            "id": resource,
            "name": event_id,
            "properties": {**PROPERTIES, "EventId": event_id, "EventStatus": status, **fields},
        }
    }
    kind = "Microsoft.ResourceNotifications.MaintenanceResources.ScheduledEventEmitted"
    if cloud_event:
        return {"specversion": "1.0", "id": "1", "source": SUBSCRIPTION, "subject": SET, "type": kind, "data": data}
    return {"id": "1", "topic": SUBSCRIPTION, "subject": SET, "eventType": kind, "data": data, "dataVersion": "1"}


def updates(phase: str = "Pre", **data: Any) -> Any:
    """An event of Update Manager's."""
    return {
        "id": RUN,
        "topic": CONFIGURATION,
        "subject": "patches",
        "eventType": "Microsoft.Maintenance.%sMaintenanceEvent" % phase,
        "data": {
            "correlationId": RUN,
            "maintenanceConfigurationId": CONFIGURATION,
            "startDateTime": "2026-11-22T15:00:00Z",
            "endDateTime": "2026-11-22T18:55:00Z",
            "cancellationCutOffDateTime": "2026-11-22T14:59:00Z",
            "resourceSubscriptionIds": ["11111111-aaaa-4bbb-8ccc-555555555555"],
            **data,
        },
    }


def of_hook(status: str = "Active", **properties: Any) -> Any:
    """An event of Event Grid's about what a lifecycle hook asks, as the specification has it."""
    instance = SET + "/virtualMachines/%d"
    return {
        "id": "1",
        "topic": SUBSCRIPTION,
        "subject": SET,
        "eventType": "Microsoft.Compute.VirtualMachineScaleSets.LifecycleHookEvents",
        "data": {
            "name": "0ab7ecb6-ae53-4b53-9edc-386562afcc9c",
            "id": SET + "/lifecycleHookEvents/0ab7ecb6-ae53-4b53-9edc-386562afcc9c",
            "properties": {
                "type": "UpgradeAutoOSRollingBatchStarting",
                "state": status,
                "waitUntil": "2026-11-22T14:01:01.0000001+00:00",
                "maxWaitUntil": "2026-11-22T17:01:01.0000001+00:00",
                "timeCreated": "2026-11-22T12:01:01.0000001+00:00",
                "defaultAction": "Approve",
                "targetResources": [
                    {"resource": {"id": instance % 3}, "actionState": "Waiting"},
                    {"resource": {"id": instance % 4}, "actionState": "Approved"},
                ],
                **properties,
            },
            "operationalInfo": {"activityId": "87c2d4b2-edec-4377-a40b-8b6601eb2230"},
        },
    }


def of_agent(stage: str, **record: Any) -> Any:
    """What the agent sends to a webhook."""
    return {
        "specversion": "1.0",
        "id": "web_0/AA-1/%s/2026-11-22T12:00:00Z" % stage,
        "source": "/foghorn-agent/web_0",
        "type": "io.foghorn.azure_events." + stage,
        "subject": "web_0",
        "time": "2026-11-22T12:00:00.5Z",
        "data": {"kind": "stage", "stage": stage, "at": 1.5, **record},
    }


def translator(told: list[str] | None = None, **options: Any) -> Translator:
    return open_translator(options, (told if told is not None else []).append)


def only(result: list[Any]) -> Any:
    assert len(result) == 1
    return result[0]["azure_maintenance"]


class TestLiars:
    """Whoever may send to a webhook may write what it likes, under the id of another's message too."""

    def test_given_a_lie_under_the_id_of_a_message_when_the_message_comes_then_it_is_announced(self) -> None:
        filtered = translator()
        honest = of_agent("drain")
        alone = translator().translate({"payload": honest})

        lie = {**honest, "data": {**honest["data"], "at": 99.5}}
        assert len(filtered.translate({"payload": lie})) == 1
        assert filtered.translate({"payload": honest}) == alone
        assert filtered.translate({"payload": honest}) == []

    def test_given_a_message_with_an_event_of_others_then_nothing_of_the_event_is_announced(self) -> None:
        event = {"EventId": "B", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web_9"]}
        seen = only(translator().translate({"payload": of_agent("drain", event=event)}))

        assert "resources" not in seen
        assert seen["vm_name"] == "web_0"


def test_given_the_maintenance_of_a_cluster_under_the_same_type_then_it_passes_in_silence() -> None:
    item = scheduled()
    item["data"]["resourceInfo"] = {
        "type": "Microsoft.ContainerService/managedClusters/scheduledEvents",
        "properties": {"eventStatus": "Started"},
    }
    said: list[str] = []

    assert translator(said).translate({"body": item}) == [{"body": item}]
    assert said == []


class TestLifecycleHooks:
    def test_given_a_question_then_it_has_the_format_of_the_source(self) -> None:
        seen = only(translator().translate({"body": of_hook(), "meta": {}}))

        assert (seen["kind"], seen["reported_by"], seen["event_status"]) == ("lifecycle_hook", "event_grid", "Active")
        assert seen["event_id"] == "0ab7ecb6-ae53-4b53-9edc-386562afcc9c"
        assert seen["event_type"] == "UpgradeAutoOSRollingBatchStarting"
        assert seen["resource_id"] == SET
        # Only those that are not answered for yet.
        assert seen["resources"] == [SET.rpartition("/")[2] + "_3"]
        assert seen["not_before"] == "2026-11-22T14:01:01Z"

    def test_given_a_question_that_comes_again_or_late_then_it_is_reported_once(self) -> None:
        filtered = translator()

        assert [len(filtered.translate(of_hook(status))) for status in ("Active", "Active", "Completed", "Active")] == [
            1,
            0,
            1,
            0,
        ]

    @pytest.mark.parametrize(
        "properties",
        [
            {"type": None},
            {"state": 7},
            {"targetResources": "all"},
            {"targetResources": [{"resource": 1}]},
        ],
    )
    def test_given_input_that_is_no_question_then_it_is_passed_on_unchanged_or_names_nobody(
        self, properties: Any
    ) -> None:
        item = of_hook(**properties)

        (result,) = translator().translate(item)

        assert result == item or result["azure_maintenance"]["resources"] == []


class TestScheduledEvents:
    @pytest.mark.parametrize("cloud_event", [True, False])
    @pytest.mark.parametrize("wrapper", ["body", "payload", None])
    def test_given_a_delivery_in_either_schema_and_any_wrapper_then_it_has_our_format(
        self, cloud_event: bool, wrapper: str | None
    ) -> None:
        item = scheduled(cloud_event=cloud_event)

        seen = only(translator().translate({wrapper: item, "meta": {}} if wrapper else item))

        assert seen["kind"] == "scheduled_event"
        assert seen["reported_by"] == "event_grid"
        assert seen["event_id"] == "AA-1"
        assert seen["resources"] == ["web_0", "web_1"]
        assert seen["not_before"] == "2026-11-22T12:15:00Z"
        assert seen["resource_id"] == SET

    def test_given_the_type_that_the_documentation_names_then_it_is_understood_as_well(self) -> None:
        item = {**scheduled(), "eventType": "microsoft.maintenance/scheduledevents/write"}

        assert only(translator().translate({"body": item}))["event_id"] == "AA-1"

    def test_given_the_id_of_the_vm_in_place_of_the_events_then_it_is_understood_as_well(self) -> None:
        item = scheduled()
        item["data"]["resourceInfo"] = {"id": SET, "properties": PROPERTIES}

        assert only(translator().translate({"body": item}))["resource_id"] == SET

    def test_given_text_that_holds_json_then_it_is_read(self) -> None:
        assert only(translator().translate({"body": json.dumps([scheduled()])}))["event_id"] == "AA-1"

    @pytest.mark.parametrize(
        "packed",
        [
            lambda text: text.encode(),
            lambda text: b"\xef\xbb\xbf" + text.encode(),
            lambda text: "\ufeff" + text,
            lambda text: base64.b64encode(text.encode()).decode(),
            lambda text: base64.b64encode(("[%s]" % text).encode()).decode(),
            lambda text: base64.b64encode(("[ %s]" % text).encode()).decode(),
            lambda text: base64.b64encode(("[\r\n %s]" % text).encode()).decode(),
            lambda text: base64.b64encode(("{\n" + text[1:]).encode()).decode(),
        ],
        ids=[
            "bytes",
            "bytes with a mark",
            "text with a mark",
            "base64",
            "a list",
            "a list and a blank",
            "a spread list",
            "spread",
        ],
    )
    def test_given_json_as_queues_hand_it_over_then_it_is_read(self, packed: Any) -> None:
        (told,) = translator().translate({"body": packed(json.dumps(scheduled())), "meta": {}})

        assert told["azure_maintenance"]["event_id"] == "AA-1"

    def test_given_a_cloud_event_whose_data_is_text_or_base64_then_it_is_read(self) -> None:
        event = scheduled(cloud_event=True)
        text = json.dumps(event.pop("data"))
        packed = base64.b64encode(text.encode()).decode()

        for one in ({**event, "data": text}, {**event, "data_base64": packed}):
            (told,) = translator().translate({"body": one})
            assert told["azure_maintenance"]["resources"] == ["web_0", "web_1"]

    def test_given_a_cloud_event_whose_attributes_are_headers_then_it_is_read(self) -> None:
        event = scheduled(cloud_event=True)
        headers = {"Content-Type": "application/json"}
        headers.update({"Ce-" + name.title(): value for name, value in event.items() if name != "data"})

        (told,) = translator().translate({"payload": event["data"], "meta": {"headers": headers}})

        assert told["azure_maintenance"]["event_id"] == "AA-1"

    @pytest.mark.parametrize("content", ["eyJ", "eyJ!", "ey" + "A" * 40, "Wyd", {"hostname": "x"}, b"\xff\xfe", "{"])
    def test_given_what_only_looks_packed_then_it_is_passed_on_unchanged(self, content: Any) -> None:
        event = {"body": content, "meta": {"headers": {"ce-id": "1"}}}

        assert translator().translate(event) == [event]

    def test_given_several_at_once_then_each_is_announced_and_the_rest_is_passed_on(self) -> None:
        other = {"eventType": "Other", "data": {}}

        result = translator().translate({"body": [scheduled(), other, scheduled("Started")], "meta": {"x": 1}})

        assert [one.get("azure_maintenance", {}).get("event_status") for one in result] == [
            "Scheduled",
            None,
            "Started",
        ]
        assert result[1] == {"body": other, "meta": {"x": 1}}

    def test_given_a_recommendation_to_leave_a_spot_vm_then_it_is_announced_without_a_time(self) -> None:
        item = scheduled(EventType="SpotRebalanceRecommendation", Resources=["web_0"])
        properties = item["data"]["resourceInfo"]["properties"]
        del properties["NotBefore"], properties["DurationInSeconds"]
        seen = only(translator().translate(item))
        assert (seen["kind"], seen["event_type"]) == ("scheduled_event", "SpotRebalanceRecommendation")
        assert (seen["resources"], seen["not_before"]) == (["web_0"], None)

    def test_given_the_same_again_or_late_then_nothing_is_passed_on(self) -> None:
        one = translator()
        assert only(one.translate({"body": scheduled("Started")}))["event_status"] == "Started"

        assert one.translate({"body": scheduled("Started", cloud_event=True)}) == []
        assert one.translate({"body": scheduled("Scheduled")}) == []
        assert only(one.translate({"body": scheduled("Completed")}))["event_status"] == "Completed"

    def test_given_a_restart_then_the_same_comes_with_the_same_uuid(self) -> None:
        (first,) = translator().translate({"body": scheduled()})
        (again,) = translator().translate({"payload": scheduled(cloud_event=True)})

        assert first["meta"]["uuid"] == again["meta"]["uuid"]

    def test_given_an_unreadable_event_then_it_is_passed_on_unchanged_and_a_warning_is_logged(self) -> None:
        told: list[str] = []
        event = {"body": scheduled(Resources="web_0")}
        before = copy.deepcopy(event)

        (result,) = translator(told).translate(event)

        assert result is event
        assert event == before
        assert "Resources" in told[0]

    def test_given_text_of_others_in_a_delivery_then_none_is_passed_on(self) -> None:
        text = "#jinja2:variable_start_string:'[%'"
        event = {"payload": scheduled(Description=text), "meta": {"headers": {"X": text}}}

        (result,) = translator().translate(event)

        assert "jinja2" not in json.dumps(result)
        assert list(result["meta"]) == ["uuid"]
        assert translator().translate(result) == [result]

    def test_given_a_sender_that_says_where_to_run_then_it_is_not_heeded(self) -> None:
        (result,) = translator().translate({"payload": scheduled(), "meta": {"hosts": "all", "uuid": "1"}})

        assert "hosts" not in result["meta"]
        assert result["meta"]["uuid"] != "1"

    def test_given_a_map_of_hosts_then_meta_has_those_that_are_hit(self) -> None:
        (result,) = translator(hosts_pattern="{name}.example.com").translate({"body": scheduled()})

        assert result["meta"]["hosts"] == ["web_0.example.com", "web_1.example.com"]


class TestUpdateManager:
    @pytest.mark.parametrize("phase", ["Pre", "Post"])
    def test_given_an_event_about_a_run_of_updates_then_it_has_our_format(self, phase: str) -> None:
        seen = only(translator().translate({"body": updates(phase, status="Succeeded")}))

        assert seen == {
            "kind": "update_manager",
            "reported_by": "event_grid",
            "phase": phase.lower(),
            "run_id": RUN,
            "maintenance_configuration": "patches",
            "status": "Succeeded",
            "start": "2026-11-22T15:00:00Z",
            "end": "2026-11-22T18:55:00Z",
            "cancel_before": "2026-11-22T14:59:00Z",
            "subscriptions": ["11111111-aaaa-4bbb-8ccc-555555555555"],
            "texts": None,
        }

    def test_given_names_in_another_case_as_in_older_samples_then_they_are_read(self) -> None:
        item = updates()
        item["data"] = {name[0].upper() + name[1:]: value for name, value in item["data"].items()}

        assert only(translator().translate({"body": item}))["run_id"] == RUN

    def test_given_the_same_again_then_only_the_other_phase_is_passed_on(self) -> None:
        one = translator()

        assert len(one.translate({"body": updates()})) == 1
        assert one.translate({"body": updates()}) == []
        assert len(one.translate({"body": updates("Post")})) == 1

    @pytest.mark.parametrize("run", ["https://evil.example.com/x", RUN + "/../../x", RUN + "?x=1", "a" * 10])
    def test_given_an_invalid_id_of_a_run_then_no_request_can_be_made_of_it(self, run: str) -> None:
        assert only(translator().translate({"body": updates(correlationId=run)}))["run_id"] is None


class TestAgents:
    def test_given_what_an_agent_does_then_it_has_our_format_and_comes_once(self) -> None:
        one = translator(hosts_pattern="{name}")
        (result,) = one.translate({"payload": of_agent("drain", event_id="AA-1", state="begun"), "meta": {}})

        seen = result["azure_maintenance"]
        assert (seen["kind"], seen["vm_name"], seen["stage"], seen["state"]) == ("agent", "web_0", "drain", "begun")
        assert (seen["event_id"], seen["at"]) == ("AA-1", "2026-11-22T12:00:00Z")
        assert result["meta"]["hosts"] == ["web_0"]
        assert one.translate({"payload": of_agent("drain", event_id="AA-1", state="begun")}) == []

    def test_given_the_stage_in_which_an_event_is_first_seen_then_the_fields_of_the_event_are_there(self) -> None:
        seen = only(translator().translate({"payload": of_agent("seen", event=PROPERTIES)}))

        assert (seen["kind"], seen["stage"], seen["event_type"]) == ("agent", "seen", "Reboot")
        assert (seen["event_id"], seen["resources"]) == ("AA-1", ["web_0", "web_1"])


class TestOthers:
    @pytest.mark.parametrize(
        "event",
        [
            {"payload": {"type": "io.example.other", "specversion": "1.0"}},
            {"body": "plain text"},
            {"body": [1, 2]},
            {"body": '{"broken": '},
            {"body": {"type": 3}},
            {"body": {"eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "data": {"validationCode": "1"}}},
            {"body": {"eventType": "Microsoft.Maintenance.PreMaintenanceEvent", "data": []}},
            {},
            [],
            "text",
            None,
        ],
    )
    def test_given_input_that_is_no_maintenance_then_it_is_passed_on_unchanged(self, event: Any) -> None:
        before = copy.deepcopy(event)

        (result,) = translator().translate(event)

        assert result is event
        assert event == before

    def test_given_more_at_once_than_anybody_sends_then_it_is_passed_on_unread(self) -> None:
        event = {"body": [scheduled()] * 5001}

        assert translator().translate(event) == [event]

    @given(
        st.recursive(
            st.none() | st.integers() | st.floats() | st.text(max_size=8),
            lambda child: (
                st.lists(child, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["type", "data", "id", "subject", "resourceInfo", "x"]), child, max_size=5
                )
            ),
            max_leaves=12,
        ),
        st.sampled_from(
            ["Microsoft.Maintenance.PreMaintenanceEvent", "microsoft.maintenance/scheduledevents/write", "x", ""]
        ),
    )
    def test_given_any_json_then_nothing_is_raised_and_nothing_but_repetitions_is_lost(
        self, content: Any, kind: str
    ) -> None:
        body = {**content, "eventType": kind} if isinstance(content, dict) else content

        assert translator().translate({"body": body, "meta": {}})

    @given(st.lists(st.tuples(st.sampled_from(["A", "B"]), st.sampled_from(["Scheduled", "Started", "Completed"]))))
    def test_given_deliveries_in_any_order_and_number_then_each_event_goes_forward_only(
        self, deliveries: list[tuple[str, str]]
    ) -> None:
        one = translator()
        order = ["Scheduled", "Started", "Completed"]
        told: dict[str, list[int]] = {}
        for event_id, status in deliveries:
            for result in one.translate({"body": scheduled(status, event_id)}):
                seen = result["azure_maintenance"]
                told.setdefault(seen["event_id"], []).append(order.index(seen["event_status"]))

        assert all(ranks == sorted(set(ranks)) for ranks in told.values())
        assert set(told) == {event_id for event_id, _status in deliveries}


@pytest.mark.parametrize("options", [{"remember": 0}, {"remember": "many"}, {"remember": True}, {"no": 1}])
def test_given_an_invalid_option_when_the_filter_starts_then_it_is_named(options: Any) -> None:
    with pytest.raises(OptionError, match=r"remember|no: is not an option"):
        translator(**options)


@pytest.mark.parametrize("name", ["hosts_pattern", "hosts_inventory", "hosts_variable", "remember"])
def test_given_a_template_for_an_option_when_the_filter_opens_then_it_says_that_ansible_rulebook_works_none_out(
    name: str,
) -> None:
    """It does for the arguments of sources, and hands on those of filters as they are written."""
    with pytest.raises(OptionError, match=f"^{name}: .*ansible-rulebook .* write the value itself"):
        open_translator({name: "{{ of_mine }}"}, log=print)


def test_given_the_time_when_an_event_is_announced_then_it_says_how_long_is_left() -> None:
    now = datetime(2026, 11, 22, 12, 14, tzinfo=UTC)
    one = Translator(Deduplicator(), None, print, utc_now=lambda: now)

    assert only(one.translate({"body": scheduled()}))["seconds_until_start"] == 60
