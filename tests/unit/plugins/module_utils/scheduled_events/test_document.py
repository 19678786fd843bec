# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is an event?"""

import json
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.dates import (
    format_date,
    parse_date,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    API_VERSIONS,
    Document,
    event_as_azure,
    event_as_dict,
    event_from_dict,
    parse_document,
    parse_event,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import DocumentError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import (
    Event,
    in_order_of_urgency,
    may_be,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.strict_json import (
    parse_json,
)
from ansible_collections.foghorn.azure_events.tests.hostile import hostile_document, what_was_run
from ansible_collections.foghorn.azure_events.tests.unit.plugins.module_utils.scheduled_events import strategies
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
DOCUMENTS = FIXTURES / "documents"
NOT_DOCUMENTS = FIXTURES / "not_documents"

NOW = datetime(2026, 11, 3, 4, 0, 9, tzinfo=timezone.utc)
NOT_BEFORE = datetime(2026, 11, 3, 4, 15, 9, tzinfo=timezone.utc)
LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."


def fixture_event(**fields: Any) -> Event:
    """The event of all fixtures, but for these fields."""
    common = Event(
        event_id="3B0A7C1E-52D4-4B8F-9E61-0C7D2F4A8B15",
        event_type="Reboot",
        event_status="Scheduled",
        resources=("shop_3", "shop_7"),
        not_before=NOT_BEFORE,
        resource_type="VirtualMachine",
    )
    return common._replace(**fields)


STARTED = fixture_event(
    event_status="Started", not_before=None, description="", event_source="Platform", duration_in_seconds=-1
)

PARSED: Dict[str, Document] = {
    "2017-03-01": Document(1, (fixture_event(),)),
    "2017-08-01": Document(2, (fixture_event(),)),
    "2017-11-01": Document(4, (fixture_event(event_type="Preempt", resources=("spot_12",)),)),
    "2019-01-01": Document(5, (fixture_event(event_type="Terminate", resources=("shop_3",)),)),
    "2019-04-01": Document(6, (fixture_event(event_type="Freeze", description=LIVE_MIGRATION),)),
    "2019-08-01": Document(
        9,
        (fixture_event(event_type="Redeploy", description="Virtual machine is being moved.", event_source="User"),),
    ),
    "2020-07-01": Document(
        11,
        (
            fixture_event(
                event_type="Freeze", description=LIVE_MIGRATION, event_source="Platform", duration_in_seconds=5
            ),
        ),
    ),
    "2024-07-09": Document(
        16,
        (
            fixture_event(
                event_type="SpotRebalanceRecommendation",
                resources=("spot_12",),
                not_before=None,
                description="",
                event_source="Platform",
            ),
        ),
    ),
    "no_events": Document(12, ()),
    "started": Document(13, (STARTED,)),
    "started_with_date": Document(13, (STARTED._replace(not_before=NOT_BEFORE),)),
    "mock_server": Document(
        3,
        (
            fixture_event(
                event_id="0f6d1c52-9a3e-4c07-b1d8-6e25a97f4410",
                event_type="Redeploy",
                resources=("vm-mock",),
                event_source="Platform",
                description="Mock maintenance.",
                duration_in_seconds=9,
            ),
        ),
    ),
    "numbers_as_strings": Document(
        14, (fixture_event(description="d", event_source="Platform", duration_in_seconds=30),)
    ),
    "unknown": Document(
        15,
        (
            fixture_event(
                event_type="Defragment",
                event_status="Paused",
                event_source="Moon",
                duration_in_seconds=0,
                other_fields={"Severity": 3, "Hints": {"Rack": ["r1", None]}},
            ),
        ),
    ),
}


def one_event(**fields: Any) -> Dict[str, Any]:
    """A document of one event with the required fields and these; a field that is `...` is left out."""
    event = dict({"EventId": "A", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web_0"]}, **fields)
    return {
        "DocumentIncarnation": 1,
        "Events": [{name: value for name, value in event.items() if value is not ...}],
    }


def parse_one(**fields: Any) -> Event:
    """Parse a document of one event with the required fields and these."""
    return parse_document(json.dumps(one_event(**fields))).events[0]


def read_one(**fields: Any) -> Event:
    """Read one event by itself, with the required fields and these."""
    return parse_event(json.loads(json.dumps(one_event(**fields)["Events"][0])))


def repr_of(value: Any) -> str:
    return repr(value) if isinstance(value, str) else json.dumps(value)


class TestDocumentsThatWereSeen:
    @pytest.mark.parametrize("name", sorted(PARSED))
    def test_given_a_document_in_a_form_of_azure_then_every_field_is_read(self, name: str) -> None:
        assert parse_document((DOCUMENTS / (name + ".json")).read_bytes()) == PARSED[name]

    @pytest.mark.parametrize("name", sorted(PARSED))
    def test_given_an_event_when_written_as_azure_writes_it_then_the_same_event_is_read_again(self, name: str) -> None:
        for event in PARSED[name].events:
            written = {"DocumentIncarnation": 0, "Events": [event_as_azure(event)]}
            assert parse_document(json.dumps(written)).events == (event,)

    def test_every_fixture_and_every_api_version_is_among_them(self) -> None:
        assert {path.stem for path in DOCUMENTS.glob("*.json")} == set(PARSED)
        assert set(API_VERSIONS) <= set(PARSED)

    def test_given_a_byte_order_mark_then_it_is_no_part_of_the_document(self) -> None:
        assert parse_document(b"\xef\xbb\xbf" + (DOCUMENTS / "no_events.json").read_bytes()) == Document(12, ())

    @pytest.mark.parametrize("written", ["_web_0", "__web_0"])
    def test_given_names_with_an_underscore_before_them_then_they_are_those_without(self, written: str) -> None:
        event = parse_one(Resources=[written, "_"])

        assert event.resources == ("web_0", "_")
        assert event.affects("web_0")


class TestFields:
    @pytest.mark.parametrize(
        "missing",
        ["NotBefore", "EventSource", "ResourceType", "Description", "DurationInSeconds"],
    )
    @pytest.mark.parametrize("absent", [..., None])
    def test_given_a_field_that_a_version_may_lack_then_it_is_none(self, missing: str, absent: Any) -> None:
        event = parse_one(**{missing: absent})

        assert event == Event("A", "Reboot", "Scheduled", ("web_0",))

    @pytest.mark.parametrize("written", ["", " "])
    def test_given_an_empty_not_before_then_the_start_is_unknown(self, written: str) -> None:
        assert parse_one(NotBefore=written).not_before is None

    def test_given_an_empty_duration_then_it_is_unknown(self) -> None:
        assert parse_one(DurationInSeconds="").duration_in_seconds is None

    @pytest.mark.parametrize(
        ("written", "number"), [(-1, -1), (0, 0), ("-1", -1), ("0", 0), ("+7", 7), (" 7 ", 7), ("\x1f7", 7), (7.0, 7)]
    )
    def test_given_a_number_in_any_form_then_it_is_an_int(self, written: Any, number: int) -> None:
        assert parse_one(DurationInSeconds=written).duration_in_seconds == number

    def test_trap_7_no_impact_and_unknown_impact_and_not_said_are_three_different_things(self) -> None:
        durations = [parse_one(DurationInSeconds=written).duration_in_seconds for written in (0, -1, ...)]

        assert durations == [0, -1, None]

    @pytest.mark.parametrize("written", ["soon", "1.5", 1.5, True, [], {}, "9" * 19, 10**18, -(10**18), 1e300, "٣"])
    def test_given_no_number_then_the_error_names_the_field_and_the_value(self, written: Any) -> None:
        with pytest.raises(DocumentError) as error:
            read_one(DurationInSeconds=written)

        assert "event.DurationInSeconds: expected a whole number, got " in str(error.value)
        assert (repr(written) if isinstance(written, str) else json.dumps(written)) in str(error.value)

    @pytest.mark.parametrize("name", ["EventId", "EventType", "EventStatus"])
    @pytest.mark.parametrize("value", [..., None, "", 7, ["A"]])
    def test_given_an_event_without_a_field_that_every_version_has_then_the_error_names_it(
        self, name: str, value: Any
    ) -> None:
        with pytest.raises(DocumentError, match=r"event\.%s: expected text, got " % name):
            read_one(**{name: value})

    @pytest.mark.parametrize("name", ["NotBefore", "EventSource", "ResourceType", "Description"])
    def test_given_an_optional_field_that_is_no_text_then_the_error_names_it(self, name: str) -> None:
        with pytest.raises(DocumentError, match=r"event\.%s: expected text, got 7" % name):
            read_one(**{name: 7})

    @pytest.mark.parametrize("value", [..., None, "web_0", {"web_0": 1}, ["web_0", 7], [None]])
    def test_given_resources_that_are_no_list_of_names_then_the_error_names_them(self, value: Any) -> None:
        with pytest.raises(DocumentError, match=r"event\.Resources: expected a list of VM names, got "):
            read_one(Resources=value)

    @pytest.mark.parametrize("value", ["tomorrow", "Tue, 31 Feb 2026 04:15:09 GMT", "9999-12-31T23:59:59-01:00"])
    def test_given_an_invalid_date_then_the_error_names_the_field_and_the_value(self, value: str) -> None:
        with pytest.raises(DocumentError) as error:
            read_one(NotBefore=value)

        assert str(error.value).startswith("event.NotBefore: ")
        assert str(error.value).endswith(": %r" % value)

    def test_given_no_object_then_it_is_no_event(self) -> None:
        with pytest.raises(DocumentError, match=r"event: expected an object, got 'Reboot'"):
            parse_event("Reboot")

    def test_given_an_unknown_field_of_reasonable_depth_then_it_is_carried_through(self) -> None:
        hint = nested(32)

        assert parse_one(Hint=hint).other_fields == {"Hint": hint}

    @pytest.mark.parametrize("levels", [33, 200])
    def test_given_an_unknown_field_nested_too_deeply_then_the_error_names_it(self, levels: int) -> None:
        with pytest.raises(DocumentError, match=r"event\.Hint: nested deeper than 32 levels"):
            read_one(Hint=nested(levels))


class TestAFieldThatCannotBeRead:
    """One bad field would else hide every other event in the document, a Preempt among them."""

    @pytest.mark.parametrize(
        ("name", "value", "quoted"),
        [
            ("NotBefore", "9/19/2016 6:29:47 PM", "'9/19/2016 6:29:47 PM'"),
            ("NotBefore", 1478146509, "1478146509"),
            ("DurationInSeconds", "00:00:09", "'00:00:09'"),
            ("EventSource", ["User"], '["User"]'),
            ("ResourceType", 7, "7"),
            ("Description", {"en": "text"}, '{"en": "text"}'),
        ],
    )
    def test_given_one_that_a_version_may_lack_then_it_counts_as_missing_and_is_quoted(
        self, name: str, value: Any, quoted: str
    ) -> None:
        assert parse_one(**{name: value}) == parse_one()._replace(other_fields={"Unreadable" + name: quoted})

    @pytest.mark.parametrize(
        ("value", "quoted"), [(..., "null"), (None, "null"), ("", "''"), (7, "7"), (["A"], '["A"]')]
    )
    def test_given_no_type_then_the_event_has_an_unknown_one(self, value: Any, quoted: str) -> None:
        event = parse_one(EventType=value)

        assert event == parse_one()._replace(event_type="Unreadable", other_fields={"UnreadableEventType": quoted})

    @pytest.mark.parametrize("value", [..., None, "", 7, ["Scheduled"]])
    def test_given_no_status_then_it_is_listed_and_nothing_can_be_approved(self, value: Any) -> None:
        event = parse_one(EventStatus=value)

        assert (event.event_id, event.event_status) == ("A", "Unreadable")
        assert not event.is_scheduled
        assert not event.is_started

    @pytest.mark.parametrize("value", [..., None, "", 7, ["A"]])
    def test_given_no_id_then_it_hits_its_machines_and_nothing_can_be_approved(self, value: Any) -> None:
        event = parse_one(EventId=value)

        assert (event.event_id, event.event_status) == ("Unreadable", "Unreadable")
        assert event.affects("web_0")

    @pytest.mark.parametrize("value", [..., None, "web_0", {"web_0": 1}, [7], ["web_0", None]])
    def test_given_unreadable_resources_then_the_event_is_listed_and_its_vms_are_unknown(self, value: Any) -> None:
        event = parse_one(Resources=value)

        assert (event.event_id, event.event_type, event.event_status) == ("A", "Reboot", "Unreadable")
        assert event.is_of_unknown_vms
        assert (event.resources, event.affects("web_0")) == ((), False)
        assert may_be(event, "a")
        assert not may_be(event, "B")

    @pytest.mark.parametrize("value", [None, 7, "A", ["A"], []])
    def test_given_no_object_then_it_is_listed_and_may_be_any(self, value: Any) -> None:
        content = one_event(EventId="B")
        content["Events"].append(value)

        readable, event = parse_document(json.dumps(content)).events

        assert readable == parse_one(EventId="B")
        assert event.is_of_unknown_vms
        assert may_be(event, "A")
        assert (event.event_status, event.other_fields["UnreadableEvent"]) == ("Unreadable", repr_of(value))

    def test_given_several_without_an_id_then_they_are_one_that_hits_the_machines_of_all(self) -> None:
        content = one_event(EventId=1)
        content["Events"] += one_event(EventId=2, Resources=["web_1"], EventType="Preempt")["Events"]

        (event,) = parse_document(json.dumps(content)).events

        assert (event.event_type, event.resources) == ("Preempt", ("web_0", "web_1"))

    def test_given_an_unknown_field_nested_too_deeply_then_it_is_only_mentioned(self) -> None:
        event = parse_one(Hint=nested(33))

        assert event.other_fields == {"UnreadableHint": "something nested deeper than 32 levels"}

    def test_trap_3_given_much_that_cannot_be_read_then_the_event_beside_it_is_read(self) -> None:
        content = one_event(EventId=None, EventType=1, EventStatus=2, NotBefore="soon", Hint=nested(40))
        content["Events"] += one_event(EventId="B", EventType="Preempt")["Events"]

        events = parse_document(json.dumps(content)).events

        assert events[1] == parse_one(EventId="B", EventType="Preempt")

    @given(
        st.dictionaries(
            st.sampled_from(
                ["EventId", "EventType", "EventStatus", "EventSource", "ResourceType", "Description", "NotBefore"]
            )
            | st.sampled_from(["DurationInSeconds", "UnreadableEventId", "Hint"]),
            strategies.json_values,
        ).filter(lambda fields: str(fields.get("EventId")).upper() != "B")
    )
    def test_given_any_fields_then_the_event_beside_them_is_read_and_both_are_read_again_as_the_same(
        self, fields: Dict[str, Any]
    ) -> None:
        content = one_event(EventId="B", EventType="Preempt")
        content["Events"] += one_event(**dict(fields, EventId=fields.get("EventId", "A")))["Events"]

        events = parse_document(json.dumps(content)).events

        assert events[0] == parse_one(EventId="B", EventType="Preempt")
        assert events[1].resources == ("web_0",)
        for event in events:
            assert parse_event(json.loads(json.dumps(event_as_azure(event)))) == event
            assert event_from_dict(json.loads(json.dumps(event_as_dict(event, "web_0", NOW)))) == event


def nested(levels: int) -> Any:
    """Lists and objects in turn, nested this deep."""
    value: Any = "core"
    for level in range(levels):
        value = [value] if level % 2 else {"in": value}
    return value


def with_value(text: str) -> str:
    """A document whose incarnation is this JSON text."""
    return '{"DocumentIncarnation": %s, "Events": []}' % text


NOT_A_DOCUMENT: List[Tuple[Any, str]] = [
    (b"", "not JSON"),
    (b" ", "not JSON"),
    (b"{", "not JSON"),
    (b'{"DocumentIncarnation": 1, "Events": [{"EventId": "A", ', "not JSON"),
    (b'{"DocumentIncarnation": 1, "Events": []} trailing', "not JSON"),
    (b"\xff\xfe{}", "not JSON"),
    ('{"DocumentIncarnation": 1, "Events": []}'.encode("utf-16"), "not JSON"),
    (with_value("NaN"), "not JSON: NaN is not a JSON number"),
    (with_value("Infinity"), "not JSON: Infinity is not a JSON number"),
    (with_value("-Infinity"), "not JSON: -Infinity is not a JSON number"),
    (with_value("1e999"), "not JSON: 1e999 is beyond any number"),
    (with_value("-1e999"), "not JSON: -1e999 is beyond any number"),
    (with_value("1" * 101), "not JSON: a number of 101 characters"),
    (with_value("0." + "1" * 100), "not JSON: a number of 102 characters"),
    (json.dumps(one_event(Hint=[{"Load": 1.5}])).replace("1.5", "1e999"), "not JSON: 1e999 is beyond any number"),
    (json.dumps(one_event(Hint=[{"Load": 1.5}])).replace("1.5", "NaN"), "not JSON: NaN is not a JSON number"),
    ('{"DocumentIncarnation": 1, "Events": [], "Events": []}', "not JSON: an object has a field twice"),
    (json.dumps(one_event(Hint=1)).replace('"Hint"', '"EventId"'), "not JSON: an object has a field twice"),
    (b"null", "expected a JSON object, got null"),
    (b"[]", "expected a JSON object, got []"),
    (b'"Events"', "expected a JSON object, got 'Events'"),
    (b"0", "expected a JSON object, got 0"),
    (b"{}", "it has no Events: {}"),
    (b'{"DocumentIncarnation": 1}', "it has no Events"),
    (b'{"DocumentIncarnation": 1, "events": []}', "it has no Events"),
    (b'{"DocumentIncarnation": 1, "Events": null}', "Events: expected a list, got null"),
    (b'{"DocumentIncarnation": 1, "Events": {}}', "Events: expected a list, got {}"),
    (b'{"DocumentIncarnation": 1, "Events": ""}', "Events: expected a list, got ''"),
    (b'{"Events": []}', "it has no DocumentIncarnation"),
    (with_value("null"), "DocumentIncarnation: expected a whole number, got null"),
    (with_value('"one"'), "DocumentIncarnation: expected a whole number, got 'one'"),
]


# Where in a document a value may be wrong.
FRAMES = [
    "%s",
    '{"DocumentIncarnation": %s, "Events": []}',
    '{"DocumentIncarnation": 1, "Events": {"wrong": %s}}',
]


class TestWhatIsNotADocument:
    @pytest.mark.parametrize(("body", "reason"), NOT_A_DOCUMENT, ids=lambda value: repr(value)[:40])
    def test_given_no_document_then_the_error_says_what_it_is_instead(self, body: Any, reason: str) -> None:
        with pytest.raises(DocumentError) as error:
            parse_document(body)

        assert reason in str(error.value)

    @pytest.mark.parametrize("name", ["bad_request.json", "arm_error.json", "login.html"])
    def test_trap_3_given_an_error_body_then_it_is_an_error_and_never_no_events(self, name: str) -> None:
        with pytest.raises(DocumentError):
            parse_document((NOT_DOCUMENTS / name).read_bytes())

    @pytest.mark.parametrize("name", sorted(PARSED))
    def test_given_a_document_cut_off_at_any_byte_then_it_is_an_error(self, name: str) -> None:
        body = (DOCUMENTS / (name + ".json")).read_bytes().rstrip()

        for length in range(len(body)):
            with pytest.raises(DocumentError):
                parse_document(body[:length])

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * (10 * 2**20),
            b'{"Events":' * 2**20,
            b'{"DocumentIncarnation": 1, "Events": ' + b"[" * (5 * 2**20) + b"]" * (5 * 2**20) + b"}",
        ],
        ids=["lists", "objects", "closed"],
    )
    def test_given_ten_megabytes_of_nesting_then_it_is_one_clear_and_short_error(self, body: bytes) -> None:
        with pytest.raises(DocumentError, match="nested too deeply") as error:
            parse_document(body)

        assert len(str(error.value)) < 500

    @pytest.mark.parametrize("frame", FRAMES)
    def test_given_a_wrong_value_nested_too_deeply_then_the_error_says_that_instead_of_quoting_it(
        self, frame: str
    ) -> None:
        with pytest.raises(DocumentError, match=", got something nested deeper than 32 levels"):
            parse_document(frame % as_lists(34))

    @pytest.mark.parametrize("frame", FRAMES)
    def test_given_a_wrong_value_nested_about_as_deeply_as_json_can_be_read_then_it_is_one_clear_error(
        self, frame: str
    ) -> None:
        deepest = deepest_that_can_be_read()

        messages = set()
        for levels in range(deepest - 30, deepest + 30):
            with pytest.raises(DocumentError) as error:
                parse_document(frame % as_lists(levels))
            messages.add(str(error.value).rpartition(", got ")[2])

        assert messages == {"not JSON that can be read: nested too deeply", "something nested deeper than 32 levels"}

    @pytest.mark.parametrize("numeral", ["9" * 10**6, "-" + "9" * 10**6, "0." + "9" * 10**6, "1e" + "9" * 10**6])
    def test_given_a_number_of_a_million_digits_then_it_is_refused_before_it_is_read(self, numeral: str) -> None:
        began = time.process_time()
        with pytest.raises(DocumentError, match="not JSON: a number of 10000"):
            parse_document(with_value(numeral))

        # To read it takes Python 3.6 more than ten seconds.
        assert time.process_time() - began < 2

    def test_given_megabytes_of_rubbish_then_the_error_quotes_no_more_than_is_of_use(self) -> None:
        with pytest.raises(DocumentError) as error:
            parse_document(b"<" * 2**20)

        assert "<<<<" in str(error.value)
        assert str(error.value).endswith("…")
        assert len(str(error.value)) < 500

    @given(strategies.json_values)
    def test_any_json_value_is_a_document_or_one_clear_error(self, value: Any) -> None:
        document_or_error(json.dumps(value))

    @given(st.dictionaries(st.sampled_from(["DocumentIncarnation", "Events", "Else"]), strategies.json_values))
    def test_any_json_in_the_frame_of_a_document_is_a_document_or_one_clear_error(self, value: Any) -> None:
        document_or_error(json.dumps(value))

    @given(
        st.fixed_dictionaries(
            {
                name: st.one_of(strategies.json_values, st.text(), st.integers(), st.just("Reboot"))
                for name in ("EventId", "EventType", "EventStatus", "NotBefore", "DurationInSeconds", "Description")
            }
        ),
        strategies.json_values | st.just(["web_0"]),
    )
    def test_any_json_in_the_frame_of_an_event_is_an_event_or_one_clear_error(
        self, fields: Dict[str, Any], resources: Any
    ) -> None:
        document_or_error(json.dumps(one_event(Resources=resources, **fields)))

    @given(st.binary(max_size=200))
    def test_any_bytes_are_a_document_or_one_clear_error(self, body: bytes) -> None:
        document_or_error(body)

    @given(st.sampled_from(sorted(PARSED)), st.data())
    def test_a_document_with_any_bytes_changed_is_a_document_or_one_clear_error(
        self, name: str, data: st.DataObject
    ) -> None:
        body = (DOCUMENTS / (name + ".json")).read_bytes()
        start = data.draw(st.integers(0, len(body)))
        end = data.draw(st.integers(start, len(body)))

        document_or_error(body[:start] + data.draw(st.binary(max_size=8)) + body[end:])


def document_or_error(body: Any) -> None:
    """Parse; anything but a document or a DocumentError fails the test."""
    try:
        result = parse_document(body)
    except DocumentError:
        return
    for event in result.events:
        json.dumps(event_as_dict(event, "web_0", NOW))


def as_lists(levels: int) -> str:
    """This many nested lists, as JSON."""
    return "[" * levels + "]" * levels


def deepest_that_can_be_read() -> int:
    """Find the nesting at which this Python's JSON reader gives up."""
    can, cannot = 0, 10**6
    while cannot - can > 1:
        levels = (can + cannot) // 2
        try:
            parse_json(as_lists(levels))
            can = levels
        except DocumentError:
            cannot = levels
    return can


class TestWhatIsWrittenIsRead:
    @given(strategies.documents, st.booleans(), st.booleans(), st.booleans())
    def test_a_generated_document_is_read_as_what_was_generated(
        self, document: Document, iso_dates: bool, numbers_as_text: bool, empty_for_none: bool
    ) -> None:
        written = strategies.as_azure_writes(document, iso_dates, numbers_as_text, empty_for_none)

        assert parse_document(json.dumps(written).encode("ascii")) == document
        assert parse_document(json.dumps(written, ensure_ascii=False).encode("utf-8")) == document


class TestDates:
    @given(strategies.instants)
    def test_an_rfc_1123_date_is_read_back(self, instant: datetime) -> None:
        assert parse_date(format_datetime(instant, usegmt=True)) == instant

    @given(strategies.instants, st.integers(-14 * 60, 14 * 60))
    def test_an_iso_date_of_any_zone_is_read_back(self, instant: datetime, minutes: int) -> None:
        local = instant.astimezone(timezone(timedelta(minutes=minutes)))

        assert parse_date(local.isoformat()) == instant
        assert parse_date(local.isoformat()).utcoffset() == timedelta(0)

    @given(strategies.instants, st.integers(-14 * 60, 14 * 60))
    def test_an_rfc_1123_date_of_any_zone_is_read_back(self, instant: datetime, minutes: int) -> None:
        local = instant.astimezone(timezone(timedelta(minutes=minutes)))

        assert parse_date(format_datetime(local)) == instant
        assert parse_date(format_datetime(local)).utcoffset() == timedelta(0)

    @given(strategies.instants)
    def test_what_we_write_is_read_back(self, instant: datetime) -> None:
        assert parse_date(format_date(instant)) == instant

    @pytest.mark.parametrize(
        "text",
        [
            "Tue, 03 Nov 2026 04:15:09 GMT",
            "tue, 3 nov 2026 04:15:09 gmt",
            "03 Nov 2026 04:15:09 UTC",
            "Tue, 03 Nov 2026 04:15:09 +0000",
            "Tue, 03 Nov 2026 05:15:09 +0100",
            "Mon, 02 Nov 2026 23:45:09 -0430",
            " Tue, 03 Nov 2026 04:15:09 GMT ",
            "2026-11-03T04:15:09Z",
            "2026-11-03t04:15:09z",
            "2026-11-03 04:15:09",
            "2026-11-03T04:15:09.999Z",
            "2026-11-03T04:15:09.1234567Z",
            "2026-11-03T05:15:09+01:00",
            "2026-11-02T23:45:09-0430",
        ],
    )
    def test_given_any_form_of_one_instant_then_it_is_that_instant(self, text: str) -> None:
        assert parse_date(text) == NOT_BEFORE

    def test_given_a_leap_second_then_it_is_the_second_before(self) -> None:
        assert parse_date("Sat, 31 Dec 2016 23:59:60 GMT") == datetime(2016, 12, 31, 23, 59, 59, tzinfo=timezone.utc)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "now",
            "1478146509",
            "Tue, 03 Foo 2026 04:15:09 GMT",
            "Tue, 31 Feb 2026 04:15:09 GMT",
            "Tue, 03 Nov 2026 24:15:09 GMT",
            "Tue, 03 Nov 2026 04:15:09 CET",
            "Tue, 03 Nov 2026 04:15:09",
            "Tue, 03 Nov 26 04:15:09 GMT",
            "2026-11-03",
            "2026-13-03T04:15:09Z",
            "0000-01-01T00:00:00Z",
            "2026-11-03T04:15:09Z later",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
            "Fri, 31 Dec 9999 23:59:59 -0100",
            # No place on earth has these.
            "Tue, 03 Nov 2026 04:15:09 +2400",
            "Tue, 03 Nov 2026 04:15:09 -0060",
            "Tue, 03 Nov 2026 04:15:09 +100",
            "Tue, 03 Nov 2026 04:15:09 EST",
            "2026-11-03T04:15:09+24:00",
            "2026-11-03T04:15:09-00:60",
            "٢٠٢٦-11-03T04:15:09Z",
        ],
    )
    def test_given_no_date_then_it_is_a_value_error(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"date|must be in|out of range"):
            parse_date(text)

    def test_given_an_instant_of_another_zone_then_it_is_written_in_utc_to_the_second(self) -> None:
        local = NOT_BEFORE.replace(microsecond=7).astimezone(timezone(timedelta(hours=-8)))

        assert format_date(local) == "2026-11-03T04:15:09Z"


class TestTheEvent:
    def test_given_scheduled_then_it_can_be_approved_and_has_not_begun(self) -> None:
        event = fixture_event(event_status="Scheduled")

        assert event.is_scheduled
        assert not event.is_started

    def test_given_started_then_it_is_under_way(self) -> None:
        event = fixture_event(event_status="Started")

        assert event.is_started
        assert not event.is_scheduled

    def test_given_an_unknown_status_then_the_event_is_neither_scheduled_nor_started(self) -> None:
        event = fixture_event(event_status="Paused")

        assert not event.is_started
        assert not event.is_scheduled

    @pytest.mark.parametrize(
        ("resources", "shared"),
        [((), False), (("a",), False), (("a", "A"), False), (("a", "b"), True), (("web_1", "web_10"), True)],
    )
    def test_it_is_shared_when_it_hits_two_machines(self, resources: Tuple[str, ...], shared: bool) -> None:
        assert fixture_event(resources=resources).is_shared is shared

    def test_the_first_of_the_resources_leads_in_any_case(self) -> None:
        event = fixture_event(resources=("Web_1", "web_0"))

        assert event.leader == "Web_1"
        assert event.is_led_by("wEB_1")
        assert not event.is_led_by("web_0")

    def test_given_no_resources_then_nobody_leads_and_nobody_is_hit(self) -> None:
        event = fixture_event(resources=())

        assert event.leader is None
        assert not event.is_led_by("")
        assert not event.affects("")

    def test_trap_8_names_match_whole_and_without_case(self) -> None:
        event = fixture_event(resources=("web_10", "DB"))

        assert event.affects("WEB_10")
        assert event.affects("db")
        for other in ("web_1", "web_", "eb_10", "web_100", "web-10", "", "db "):
            assert not event.affects(other)

    @pytest.mark.parametrize(
        ("name", "lookalike"), [("web_k", "web_\u212a"), ("i\u0307", "\u0130"), ("\xdf", "\u1e9e")]
    )
    def test_given_a_name_that_only_becomes_ours_in_lower_case_then_it_is_another(
        self, name: str, lookalike: str
    ) -> None:
        assert name.lower() == lookalike.lower()
        assert not fixture_event(resources=(lookalike,)).affects(name)
        assert fixture_event(resources=(name, lookalike)).is_shared

    @pytest.mark.parametrize(
        ("event", "seconds"),
        [
            (fixture_event(), 900),
            (fixture_event(not_before=NOW + timedelta(seconds=0.9)), 0),
            (fixture_event(not_before=NOW), 0),
            (fixture_event(not_before=NOW - timedelta(days=1)), 0),
            (fixture_event(not_before=NOW + timedelta(days=7)), 604800),
            (fixture_event(not_before=None), None),
            (fixture_event(event_status="Started"), 0),
            (fixture_event(event_status="Started", not_before=None), 0),
        ],
    )
    def test_seconds_until_start_are_whole_and_never_negative(self, event: Event, seconds: Any) -> None:
        assert event.seconds_until_start(NOW) == seconds

    def test_given_all_fields_then_the_dict_has_each_of_them_seen_from_this_vm(self) -> None:
        event = PARSED["2020-07-01"].events[0]

        assert event_as_dict(event, "SHOP_7", NOW) == {
            "event_id": "3B0A7C1E-52D4-4B8F-9E61-0C7D2F4A8B15",
            "event_type": "Freeze",
            "event_status": "Scheduled",
            "event_source": "Platform",
            "resource_type": "VirtualMachine",
            "resources": ["shop_3", "shop_7"],
            "description": LIVE_MIGRATION,
            "duration_in_seconds": 5,
            "not_before": "2026-11-03T04:15:09Z",
            "seconds_until_start": 900,
            "affects_this_vm": True,
            "shared": True,
            "leader": "shop_3",
            "this_vm_leads": False,
        }

    def test_given_an_event_with_the_fewest_fields_then_the_dict_has_the_same_keys(self) -> None:
        least = event_as_dict(Event("A", "Reboot", "Scheduled", ()), "web_0", NOW)

        assert set(least) == set(event_as_dict(PARSED["2020-07-01"].events[0], "web_0", NOW))
        assert least["resources"] == []
        assert {name for name, value in least.items() if value is None} == {
            "event_source",
            "resource_type",
            "description",
            "duration_in_seconds",
            "not_before",
            "seconds_until_start",
            "leader",
        }

    def test_given_fields_of_the_future_then_the_dict_hands_them_on(self) -> None:
        event = PARSED["unknown"].events[0]

        assert event_as_dict(event, "shop_3", NOW)["other_fields"] == {"Severity": 3, "Hints": {"Rack": ["r1", None]}}


class TestReadAgain:
    @given(strategies.events)
    def test_given_any_event_as_azure_writes_it_then_it_is_read_as_the_same(self, event: Event) -> None:
        assert parse_event(json.loads(json.dumps(event_as_azure(event)))) == event

    @given(strategies.events)
    def test_given_any_event_as_the_modules_return_it_then_it_is_read_as_the_same(self, event: Event) -> None:
        assert event_from_dict(json.loads(json.dumps(event_as_dict(event, "web_0", NOW)))) == event

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("text", 'a.b: expected an object, got "text"'),
            ({"other_fields": 3}, "a.b.other_fields: expected an object, got 3"),
            ({"event_type": "Reboot"}, "a.b.EventId: expected text, got null"),
        ],
    )
    def test_given_no_event_then_the_error_says_where_and_why(self, content: Any, complaint: str) -> None:
        with pytest.raises(DocumentError) as caught:
            event_from_dict(content, "a.b")

        assert str(caught.value).replace("'", '"') == complaint


class TestSpellings:
    def test_given_words_of_azure_in_another_case_then_they_are_those_words(self) -> None:
        fields = {"EventId": "A", "EventType": "terminate", "EventStatus": "STARTED", "Resources": ["web_0"]}
        event = parse_event(dict(fields, EventSource="platform"))

        assert (event.event_type, event.event_status, event.event_source) == ("Terminate", "Started", "Platform")
        assert event.is_final
        assert event.is_started

    @pytest.mark.parametrize("status", ["Paused", "scheduled!", "\u017fcheduled", "\u017ftarted"])
    def test_given_a_word_that_is_not_azures_then_it_is_carried_through_and_counts_as_neither(
        self, status: str
    ) -> None:
        fields = {"EventId": "A", "EventType": "deFrag", "EventStatus": status, "Resources": ["web_0"]}
        event = parse_event(dict(fields, EventSource="Somebody"))

        assert (event.event_type, event.event_status, event.event_source) == ("deFrag", status, "Somebody")
        assert not event.is_scheduled
        assert not event.is_started


class TestKinds:
    @pytest.mark.parametrize(
        ("event_type", "is_final"),
        [
            ("Preempt", True),
            ("Terminate", True),
            ("Redeploy", False),
            ("Reboot", False),
            ("Freeze", False),
            ("?", False),
        ],
    )
    def test_only_an_eviction_and_a_deletion_are_final(self, event_type: str, is_final: bool) -> None:
        assert fixture_event(event_type=event_type).is_final is is_final

    @pytest.mark.parametrize(
        ("event_type", "duration", "expected"),
        [
            ("Freeze", 0, True),
            ("Freeze", 9, True),
            ("Freeze", 10, True),
            ("Freeze", 11, False),
            ("Freeze", -1, False),
            ("Freeze", None, False),
            ("Reboot", 5, False),
        ],
    )
    def test_only_a_freeze_known_to_last_so_long_or_less_is_short(
        self, event_type: str, duration: Any, expected: bool
    ) -> None:
        event = fixture_event(event_type=event_type, duration_in_seconds=duration)

        assert event.is_freeze_of_at_most(10) is expected


class TestARecommendation:
    def test_it_is_known_in_any_case_and_has_neither_a_start_nor_a_duration(self) -> None:
        event = parse_one(
            EventType="spotrebalancerecommendation", NotBefore="Mon, 19 Sep 2016 18:29:47 GMT", DurationInSeconds=5
        )

        assert event.event_type == "SpotRebalanceRecommendation"
        assert event.is_advisory
        assert not event.is_final
        assert (event.not_before, event.duration_in_seconds) == (None, None)

    @pytest.mark.parametrize("other", ["Freeze", "Defragment", "Preempt"])
    def test_given_another_event_of_its_id_then_that_one_counts(self, other: str) -> None:
        events = [parse_one(EventType="SpotRebalanceRecommendation"), parse_one(EventType=other)]
        body = json.dumps({"DocumentIncarnation": 1, "Events": [event_as_azure(event) for event in events]})

        assert [event.event_type for event in parse_document(body).events] == [other]


class TestUrgency:
    def test_started_comes_first_then_unknown_start_then_by_start_then_by_harm_then_by_id(self) -> None:
        later = NOT_BEFORE + timedelta(seconds=1)
        expected = [
            Event("z-started", "Freeze", "Started", (), later),
            Event("y-any-moment", "Freeze", "Scheduled", ()),
            Event("x-preempt", "Preempt", "Scheduled", (), NOT_BEFORE),
            Event("w-terminate", "Terminate", "Scheduled", (), NOT_BEFORE),
            Event("v-redeploy", "Redeploy", "Scheduled", (), NOT_BEFORE),
            Event("u-reboot", "Reboot", "Scheduled", (), NOT_BEFORE),
            Event("t-freeze", "Freeze", "Scheduled", (), NOT_BEFORE),
            Event("s-unknown", "Defragment", "Scheduled", (), NOT_BEFORE),
            Event("a", "Preempt", "Scheduled", (), later),
            Event("B", "Preempt", "Scheduled", (), later),
            Event("c", "Preempt", "Scheduled", (), later),
        ]

        assert in_order_of_urgency(reversed(expected)) == expected

    def test_given_a_recommendation_then_it_comes_behind_every_eviction_and_before_what_may_start_as_well(self) -> None:
        expected = [
            Event("started", "Freeze", "Started", ()),
            Event("any-moment", "Reboot", "Scheduled", ()),
            Event("recommended", "SpotRebalanceRecommendation", "Started", ()),
            Event("freeze-at-any-moment", "Freeze", "Scheduled", ()),
            Event("freeze", "Freeze", "Scheduled", (), NOT_BEFORE + timedelta(seconds=60)),
        ]
        eviction = Event("evicted", "Preempt", "Scheduled", (), NOT_BEFORE)

        assert in_order_of_urgency(reversed(expected)) == expected
        assert in_order_of_urgency([*expected, eviction]) == [
            expected[0],
            expected[1],
            expected[3],
            eviction,
            expected[2],
            expected[4],
        ]

    @given(strategies.event_lists, st.randoms())
    def test_the_order_is_total_and_does_not_depend_on_the_order_of_the_input(
        self, events: List[Event], random: Any
    ) -> None:
        shuffled = list(events)
        random.shuffle(shuffled)

        assert in_order_of_urgency(shuffled) == in_order_of_urgency(events)
        assert sorted(event.event_id for event in in_order_of_urgency(events)) == sorted(
            event.event_id for event in events
        )


HALF = "\ud800"
ESCAPE = "\x1b[2J\x9b31m\x07\x00\u202e"


class TestTextOfOthers:
    """What no reader should be led by is replaced, character by character; the event is never lost for it."""

    @pytest.mark.parametrize("name", ["EventId", "EventType", "EventStatus", "EventSource", "ResourceType"])
    @pytest.mark.parametrize("text", [HALF, ESCAPE, "\n", "\r", "\t", "\u2028", "\u200b", "\ufeff", "\U000e0041"])
    def test_given_a_word_with_what_is_not_seen_then_it_is_replaced_one_for_one(self, name: str, text: str) -> None:
        fields = event_as_azure(parse_one(**{name: "A" + text + "b"}))

        assert len(fields[name]) == len(text) + 2
        assert set(fields[name]) <= set("A\ufffdb[2J31m")
        assert not set(fields[name]) & set("\x1b\x9b\n")

    @pytest.mark.parametrize("text", [HALF, "\n", "\x00", "\u200b", "\x1b[0m"])
    def test_given_a_name_that_only_looks_like_that_of_this_vm_then_it_is_not_this_vm(self, text: str) -> None:
        event = parse_one(Resources=["web_0" + text, text + "web_0"])

        assert not event.affects("web_0")
        json.dumps(event.resources, ensure_ascii=False).encode("utf-8")

    def test_given_a_description_then_its_lines_stay_and_escapes_and_halves_of_characters_go(self) -> None:
        event = parse_one(Description="one\r\n\ttwo " + HALF + ESCAPE + " \U0001f600 \xe4\u05d0")

        assert event.description == "one\r\n\ttwo \ufffd\ufffd[2J\ufffd31m\ufffd\ufffd\ufffd \U0001f600 \xe4\u05d0"

    def test_given_unknown_fields_then_all_text_in_them_is_cleaned_names_too(self) -> None:
        event = parse_one(**{"New" + HALF: [{"\x1b": HALF, "n": 1.5}, "\x07", None, True]})

        assert event.other_fields == {"New\ufffd": [{"\ufffd": "\ufffd", "n": 1.5}, "\ufffd", None, True]}

    @pytest.mark.parametrize("name", ["__ansible_type", "__ansible_unsafe", "__ansible_vault", "__"])
    def test_given_a_key_that_ansible_would_act_on_then_it_is_disarmed(self, name: str) -> None:
        event = parse_one(**{"Hint": {name: "text"}, name: 1})

        marked = "\ufffd" + name[1:]
        assert event.other_fields == {"Hint": {marked: "text"}, marked: 1}

    def test_given_bytes_that_are_no_utf_8_then_only_they_are_replaced(self) -> None:
        body = json.dumps(one_event(Description="Wartung f?r")).encode("ascii").replace(b"?", b"\xfc")

        assert parse_document(body).events[0].description == "Wartung f\ufffdr"

    def test_given_harmless_text_then_the_same_object_is_returned(self) -> None:
        fields = one_event(Description="{{ a template }}")["Events"][0]
        event = parse_event(fields)

        assert event.event_id is fields["EventId"]
        assert event.description is fields["Description"]

    @pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
    def test_given_a_number_that_json_cannot_write_from_another_reader_of_json_then_the_error_names_the_field(
        self, number: float
    ) -> None:
        fields = one_event(Hint=[{"Load": number}])["Events"][0]

        with pytest.raises(DocumentError, match=r"event\.Hint: has a number in it that JSON cannot write"):
            parse_event(fields)


SOONER = "Mon, 19 Sep 2016 18:29:47 GMT"
LATER = "Mon, 19 Sep 2016 18:45:00 GMT"


class TestOneEventTwice:
    def test_given_the_same_event_twice_then_it_is_one(self) -> None:
        content = one_event()
        content["Events"] *= 2

        assert len(parse_document(json.dumps(content)).events) == 1

    @pytest.mark.parametrize(
        ("one", "other", "field", "expected"),
        [
            ({}, {"EventId": "a"}, "event_id", "A"),
            ({"EventStatus": "Scheduled"}, {"EventStatus": "Started"}, "event_status", "Started"),
            ({"EventStatus": "Started"}, {"EventStatus": "Paused"}, "event_status", "Started"),
            ({"EventStatus": "Scheduled"}, {"EventStatus": "Paused"}, "event_status", "Paused"),
            ({"Resources": ["web_0"]}, {"Resources": ["web_1", "WEB_0"]}, "resources", ("web_0", "web_1")),
            ({"EventType": "Freeze"}, {"EventType": "Preempt"}, "event_type", "Preempt"),
            ({"EventType": "Freeze"}, {"EventType": "Vaporise"}, "event_type", "Vaporise"),
            ({"EventType": "Reboot"}, {"EventType": "Vaporise"}, "event_type", "Reboot"),
            ({"NotBefore": LATER}, {"NotBefore": SOONER}, "not_before", parse_date(SOONER)),
            ({"NotBefore": LATER}, {"NotBefore": ""}, "not_before", None),
            ({"DurationInSeconds": 9}, {"DurationInSeconds": 5}, "duration_in_seconds", 9),
            ({"DurationInSeconds": 9}, {"DurationInSeconds": -1}, "duration_in_seconds", -1),
            ({"DurationInSeconds": 9}, {"Description": "of an older version"}, "duration_in_seconds", -1),
        ],
    )
    def test_given_two_events_of_one_id_then_they_are_one_that_is_ready_for_the_worst_of_both(
        self, one: Dict[str, Any], other: Dict[str, Any], field: str, expected: object
    ) -> None:
        documents = []
        for first, second in ((one, other), (other, one)):
            content = one_event(**first)
            content["Events"] += one_event(**second)["Events"]
            documents.append(parse_document(json.dumps(content)))

        assert [len(document.events) for document in documents] == [1, 1]
        assert getattr(documents[0].events[0], field) == expected
        if field == "resources":
            # Who is named first leads: that is as Azure has written it.
            expected = ("web_1", "WEB_0")
        elif field == "event_id":
            expected = "a"
        assert getattr(documents[1].events[0], field) == expected

    def test_given_two_events_of_one_id_then_another_beside_them_is_not_lost(self) -> None:
        content = one_event()
        content["Events"] += one_event(EventStatus="Started")["Events"]
        content["Events"] += one_event(EventId="B", EventType="Preempt")["Events"]

        events = parse_document(json.dumps(content)).events

        assert [event.event_type for event in events] == ["Reboot", "Preempt"]


class TestTheHostileDocument:
    def test_given_texts_that_want_to_be_run_then_they_are_read_as_text_and_no_event_is_lost(
        self, tmp_path: Path
    ) -> None:
        document = parse_document(hostile_document(tmp_path, "web_0"))

        assert len(document.events) == 4
        assert all(event.affects("web_0") for event in document.events)
        assert document.events[0].event_id == "{{ lookup('pipe', 'touch %s/event_id') }}" % tmp_path
        assert what_was_run(tmp_path) == []

    def test_given_texts_with_misleading_characters_then_the_result_can_be_printed_everywhere(
        self, tmp_path: Path
    ) -> None:
        document = parse_document(hostile_document(tmp_path, "web_0"))

        for event in document.events:
            written = json.dumps(event_as_dict(event, "web_0", NOW), ensure_ascii=False, allow_nan=False)
            written.encode("utf-8")
            assert not set("\x1b\x9b\x07\u202e") & set(written)
            assert "\\u00" not in written
            assert '"__' not in written
            assert parse_event(json.loads(json.dumps(event_as_azure(event)))) == event
