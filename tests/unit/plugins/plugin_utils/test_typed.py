# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is text of a survey, of an INI inventory or of the command line the value that was meant?"""

from __future__ import annotations

from collections import UserString
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.typed import typed


@pytest.mark.parametrize(
    ("text", "kind", "elements", "value"),
    [
        ("false", "bool", None, False),
        ("No", "bool", None, False),
        ("1", "bool", None, True),
        (True, "bool", None, True),
        ("20", "int", None, 20),
        ("2.5", "float", None, 2.5),
        ("['10.0.9.4']", "list", "str", ["10.0.9.4"]),
        ('["10.0.9.4", "10.1.0.0/24"]', "list", "str", ["10.0.9.4", "10.1.0.0/24"]),
        ("10.0.9.4, 10.1.0.0/24\n", "list", "str", ["10.0.9.4", "10.1.0.0/24"]),
        ("10.0.9.4\n10.1.0.0/24\n", "list", None, ["10.0.9.4", "10.1.0.0/24"]),
        # As somebody writes a list in a field of a survey with several lines.
        ("- 10.0.9.4\r\n- 10.1.0.0/24\r\n", "list", "str", ["10.0.9.4", "10.1.0.0/24"]),
        ("- name: nginx\n  timeout: 60\n- app", "list", None, [{"name": "nginx", "timeout": 60}, "app"]),
        ("[8080, 8443]", "list", "int", [8080, 8443]),
        ("8080,8443", "list", "int", [8080, 8443]),
        (8080, "list", "int", [8080]),
        (["8080"], "list", "int", [8080]),
        ("", "list", "int", []),
        ("[]", "list", None, []),
        ('[{"name": "a"}]', "list", "dict", [{"name": "a"}]),
        ('{"a": {"b": 1}}', "dict", None, {"a": {"b": 1}}),
        ("{'a': True}", "dict", None, {"a": True}),
        ("tenant=t", "dict", None, {"tenant": "t"}),
        ("", "dict", None, {}),
        (None, "list", None, None),
        # As text that Ansible Vault has encrypted is, before ansible-core 2.19.
        (UserString("8080,8443"), "list", "int", [8080, 8443]),
        (UserString("true"), "bool", None, True),
    ],
)
def test_given_text_then_it_is_the_value_that_was_meant(text: Any, kind: str, elements: str | None, value: Any) -> None:
    assert typed(text, kind, elements) == value


@pytest.mark.parametrize(
    ("text", "kind", "elements"),
    [
        ("perhaps", "bool", None),
        ("ten", "int", None),
        ("[8080", "list", None),
        ("[8080], x", "list", None),
        ("8080, web", "list", "int"),
        ({"a": 1}, "list", None),
        ("{", "dict", None),
        ("[1]", "dict", None),
        ("a", "list", "dict"),
    ],
)
def test_given_text_that_cannot_be_meant_then_it_is_refused(text: Any, kind: str, elements: str | None) -> None:
    with pytest.raises(ValueError, match="is no "):
        typed(text, kind, elements)
