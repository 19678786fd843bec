# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may a user set?"""

from typing import Any, Dict

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import read_seconds
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.document import (
    API_VERSIONS,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.event import EVENT_TYPES
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.options import (
    ConnectionOptions,
    read_connection,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.selection import (
    Selection,
    read_selection,
    warnings_for,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.words import read_vm_names

DEFAULTS: Dict[str, Any] = {
    "endpoint": "http://169.254.169.254",
    "api_version": None,
    "timeout": 150,
    "connect_timeout": 5,
    "vm_name": None,
}


class TestConnection:
    def test_given_the_defaults_then_they_are_what_a_connection_has_of_itself(self) -> None:
        assert read_connection(DEFAULTS) == ConnectionOptions()

    def test_given_no_vm_name_at_all_then_imds_is_asked(self) -> None:
        options = {name: value for name, value in DEFAULTS.items() if name != "vm_name"}

        assert read_connection(options).vm_name is None

    def test_given_all_options_then_all_are_taken(self) -> None:
        options = {
            "endpoint": "http://127.0.0.1:8080/",
            "api_version": "2017-03-01",
            "timeout": "2.5",
            "connect_timeout": 86400,
            "vm_name": " web_0 ",
        }

        assert read_connection(options) == ConnectionOptions(
            "http://127.0.0.1:8080/", "2017-03-01", 2.5, 86400.0, "web_0"
        )

    @pytest.mark.parametrize("api_version", [*API_VERSIONS, "2031-01-01"])
    def test_given_a_version_that_azure_has_or_may_have_one_day_then_it_is_taken(self, api_version: str) -> None:
        assert read_connection(dict(DEFAULTS, api_version=api_version)).api_version == api_version

    @pytest.mark.parametrize(
        ("option", "value", "remedy"),
        [
            ("endpoint", "https://127.0.0.1", "must begin with http://"),
            ("endpoint", "127.0.0.1", "must begin with http://"),
            ("endpoint", "", "must begin with http://"),
            ("endpoint", "http://", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://:8080", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://h/metadata", "must not have a path, because IMDS has its own: leave /metadata out"),
            ("endpoint", "http://h/vm/7/", "leave /vm/7 out"),
            ("endpoint", "http://127.0.0.1/?", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://127.0.0.1#", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://127.0.0.1?x=1", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://127.0.0.1#x", "must have the form http://HOST[:PORT]"),
            ("endpoint", "http://127.0.0.1/a b", "must not contain spaces"),
            ("endpoint", "http://127.0.0.1/\n", "must not contain spaces"),
            ("endpoint", "http://ürgend", "must not contain spaces or non-ASCII"),
            ("endpoint", "http://127.0.0.1:port", ""),
            ("endpoint", "http://127.0.0.1:65536", ""),
            ("endpoint", "http://[::1", ""),
            ("api_version", "latest", "a date like 2020-07-01"),
            ("api_version", "{latest}", "a date like 2020-07-01"),
            ("api_version", "2020-07-01&x=1", "a date like 2020-07-01"),
            ("api_version", "2020-07-01\n", "a date like 2020-07-01"),
            ("api_version", "", "a date like 2020-07-01"),
            ("vm_name", "", "or leave it out to ask IMDS"),
            ("vm_name", "  ", "or leave it out to ask IMDS"),
        ],
    )
    def test_given_an_invalid_value_then_the_error_names_option_value_and_remedy(
        self, option: str, value: str, remedy: str
    ) -> None:
        with pytest.raises(OptionError) as error:
            read_connection(dict(DEFAULTS, **{option: value}))

        assert str(error.value).startswith("%s: %r " % (option, value))
        assert remedy in str(error.value)

    @pytest.mark.parametrize("user", ["me", "me:secret", "me:sec@ret", ""])
    def test_given_a_user_in_the_endpoint_then_the_error_does_not_show_the_password(self, user: str) -> None:
        with pytest.raises(OptionError) as error:
            read_connection(dict(DEFAULTS, endpoint="http://%s@127.0.0.1" % user))

        assert str(error.value) == (
            "endpoint: 'http://…@127.0.0.1' must have the form http://HOST[:PORT]. The default is http://169.254.169.254"
        )

    @pytest.mark.parametrize("option", ["timeout", "connect_timeout"])
    @pytest.mark.parametrize("value", [0, -1, 86400.5, float("nan"), float("inf")])
    def test_given_no_time_then_the_error_names_option_value_and_range(self, option: str, value: float) -> None:
        with pytest.raises(OptionError) as error:
            read_connection(dict(DEFAULTS, **{option: value}))

        assert str(error.value) == "%s: %g is not a time. Give seconds, above 0 and up to 86400" % (option, value)


@pytest.mark.parametrize("value", [0.001, 1, "30", 86400])
def test_given_a_time_in_range_then_it_is_seconds(value: Any) -> None:
    assert read_seconds({"wait_timeout": value}, "wait_timeout") == float(value)


class TestSelection:
    def test_given_nothing_then_nothing_is_restricted(self) -> None:
        assert read_selection({}) == Selection()

    def test_given_empty_lists_then_nothing_is_chosen(self) -> None:
        empty: Dict[str, Any] = {"event_ids": [], "event_types": [], "event_sources": [], "event_statuses": []}

        assert read_selection(empty) == Selection((), frozenset(), frozenset(), frozenset())

    def test_given_all_options_then_all_are_taken(self) -> None:
        options = {
            "event_ids": [" A-1 ", "b"],
            "event_types": ["Freeze"],
            "event_sources": ["User"],
            "event_statuses": ["Started"],
            "affecting": "others",
        }

        assert read_selection(options) == Selection(
            ("A-1", "b"), frozenset(["freeze"]), frozenset(["user"]), frozenset(["started"]), "others"
        )

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("affecting", "me", "affecting: 'me' is not one of any, this_vm, others"),
            (
                "event_types",
                ["Freeze", "Rebot"],
                "event_types: 'Rebot' is not one of %s: did you mean Reboot?" % ", ".join(EVENT_TYPES),
            ),
            ("event_sources", ["Moon"], "event_sources: 'Moon' is not one of Platform, User"),
            ("event_sources", ["Usr"], "event_sources: 'Usr' is not one of Platform, User: did you mean User?"),
            ("event_statuses", ["Completed"], "event_statuses: 'Completed' is not one of Scheduled, Started"),
            (
                "event_ids",
                ["A", " "],
                "event_ids: ' ' is not an event id. Give those that scheduled_events_info returns",
            ),
        ],
    )
    def test_given_an_invalid_value_then_the_error_names_option_value_and_remedy(
        self, option: str, value: Any, message: str
    ) -> None:
        with pytest.raises(OptionError) as error:
            read_selection({option: value})

        assert str(error.value) == message

    def test_given_words_in_another_case_then_they_are_taken_without_a_warning(self) -> None:
        options = {"event_types": ["reboot"], "event_sources": ["USER"], "event_statuses": ["started"]}

        assert read_selection(options) == Selection(
            None, frozenset(["reboot"]), frozenset(["user"]), frozenset(["started"])
        )
        assert warnings_for(options) == []
        assert warnings_for({}) == []

    def test_given_a_type_that_azure_may_add_then_it_is_taken_with_a_warning(self) -> None:
        options = {"event_types": ["Migrate", "Reboot"]}

        assert read_selection(options).event_types == frozenset(["migrate", "reboot"])
        assert [warning.partition(" (")[0] for warning in warnings_for(options)] == [
            "event_types: 'Migrate' is not an event type that this version knows"
        ]

    def test_given_where_events_are_kept_after_their_end_then_they_have_more_statuses(self) -> None:
        options = {"event_statuses": ["completed"]}

        assert read_selection(options, ("Scheduled", "Completed")).event_statuses == frozenset(["completed"])


class TestVmNames:
    def test_given_names_then_they_are_taken_without_the_space_around_them(self) -> None:
        assert read_vm_names(["web_0", " Web_1 "]) == ["web_0", "Web_1"]

    @pytest.mark.parametrize("value", ["", "  ", 7, None, ["web_0"]])
    def test_given_what_cannot_be_a_name_then_the_error_shows_it(self, value: Any) -> None:
        with pytest.raises(OptionError) as error:
            read_vm_names(["web_0", value])

        assert str(error.value) == "%r is not the name of a VM. Give Azure's names, as text" % (value,)
