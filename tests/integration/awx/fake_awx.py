# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""As much of AWX's API as setting up and launching job templates needs, with what the real one does silently.

It behaves as AWX 24.6.1 was seen to: a launch drops what the template does not ask for and answers 201, surveys are
checked question by question, a playbook has to lie in the project, a filter by an unknown field is refused, a field
that an object does not have is ignored. What a required question asks for has to be in the launch, whatever its
default is, and may be empty all the same unless the question says how long it is at least. Who signs in by name and
password gets a token, which is good until it is deleted.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlsplit

INSTALL_UUID = "0c8f0f6a-1111-4a57-9a51-5f2f6a3c0001"
TOKEN = "a-token-of-this-test"
USER, PASSWORD = "operator", "a-password-of-this-test"
_BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()

# What the API calls each kind of object, and what a new one has.
_TEMPLATE = {
    "description": "",
    "organization": None,
    "inventory": None,
    "extra_vars": "",
    "limit": "",
    "job_tags": "",
    "skip_tags": "",
    "survey_enabled": False,
    "allow_simultaneous": False,
    "ask_variables_on_launch": False,
    "ask_limit_on_launch": False,
    "ask_inventory_on_launch": False,
    "ask_tags_on_launch": False,
    "ask_skip_tags_on_launch": False,
}
_KINDS: dict[str, dict[str, Any]] = {
    "organizations": {},
    "inventories": {"organization": None},
    "projects": {"organization": None, "playbooks": []},
    "credentials": {"organization": None, "kind": "ssh"},
    "execution_environments": {"organization": None, "image": ""},
    "instance_groups": {},
    "notification_templates": {"organization": None},
    "schedules": {"description": "", "unified_job_template": None, "rrule": ""},
    "ad_hoc_commands": {
        "inventory": None,
        "credential": None,
        "execution_environment": None,
        "module_name": "",
        "limit": "",
        "status": "successful",
        "failed": False,
        "finished": "2026-11-25T03:00:00Z",
    },
    "job_templates": {
        **_TEMPLATE,
        "job_type": "run",
        "project": None,
        "playbook": "",
        "become_enabled": False,
        "execution_environment": None,
        "forks": 0,
        "job_slice_count": 1,
        "prevent_instance_group_fallback": False,
        "ask_job_slice_count_on_launch": False,
        "ask_job_type_on_launch": False,
    },
    "workflow_job_templates": dict(_TEMPLATE),
    "workflow_job_template_nodes": {
        "workflow_job_template": None,
        "unified_job_template": None,
        "identifier": "",
        "extra_data": {},
    },
    "workflow_approval_templates": {"description": "", "timeout": 0},
}
_TYPES = {
    "inventories": "inventory",
    **{kind: kind[:-1] for kind in _KINDS if kind != "inventories"},
}
_MADE = (
    "job_templates",
    "workflow_job_templates",
    "workflow_job_template_nodes",
    "schedules",
    "ad_hoc_commands",
)
_LINKED_BY = {
    "job_templates": ("credentials", "instance_groups", "notification_templates_error"),
    "workflow_job_template_nodes": ("success_nodes", "failure_nodes", "always_nodes", "credentials"),
}
_ANSWERS: dict[str, Any] = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": list,
    "integer": int,
    "float": (int, float),
}


class _Refused(Exception):
    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status, body)
        self.status, self.body = status, body


def _refuse(status: int, **body: Any) -> NoReturn:
    raise _Refused(status, body)


class FakeAwx:
    """Objects behind the API at `url`.

    `requests` has whatever was changed: method and path. `tokens` has, by their ids, those that were given out and not
    deleted yet; `signed_in` is how often somebody signed in by name and password.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[int, dict[str, Any]]] = {kind: {} for kind in _KINDS}
        self.links: dict[tuple[str, int, str], list[int]] = {}
        self.surveys: dict[int, dict[str, Any]] = {}
        self.jobs: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.tokens: dict[int, str] = {}
        self.signed_in = 0
        self._numbers = iter(range(1, 10_000))
        self._lock = threading.Lock()
        awx = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                """Hand the request on, and send what comes of it."""
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with awx._lock:
                    try:
                        status, answer = awx._answer(self.command, self.path, self.headers.get("Authorization"), body)
                    except _Refused as refused:
                        status, answer = refused.status, refused.body
                text = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("X-API-Product-Name", "AWX")
                self.send_header("X-API-Product-Version", "24.6.1")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self) -> None:
                """Answer."""
                self.answer()

            def do_POST(self) -> None:
                """Answer."""
                self.answer()

            def do_PATCH(self) -> None:
                """Answer."""
                self.answer()

            def do_DELETE(self) -> None:
                """Answer."""
                self.answer()

            def log_message(self, *args: Any) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FakeAwx:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def add(self, kind: str, name: str, /, **fields: Any) -> int:
        """Have an object there; returns its id."""
        number = next(self._numbers)
        self.objects[kind][number] = {**_KINDS[kind], "name": name, **fields}
        return number

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """The object of that name, as the API shows it."""
        (found,) = [number for number, item in self.objects[kind].items() if item.get("name") == name]
        return self._shown(kind, found)

    def linked(self, kind: str, number: int, links: str) -> list[int]:
        """The ids of what an object is associated with."""
        return self.links.get((kind, number, links), [])

    def _check_signed_in(self, authorization: str | None) -> None:
        if authorization is None:
            _refuse(401, detail="Authentication credentials were not provided. To establish a login session, …")
        if authorization.startswith("Basic ") and authorization != _BASIC:
            _refuse(401, detail="Invalid username/password.")
        if authorization not in (_BASIC, *(f"Bearer {token}" for token in (TOKEN, *self.tokens.values()))):
            _refuse(401, detail="Authentication credentials were not provided. To establish a login session, …")

    def _answer(self, method: str, target: str, authorization: str | None, body: bytes) -> tuple[int, Any]:
        parts = urlsplit(target)
        path = parts.path
        data = json.loads(body) if body else {}
        # Anybody may ask this.
        if path == "/api/v2/ping/":
            return 200, {"ha": False, "version": "24.6.1", "active_node": "awx-1", "install_uuid": INSTALL_UUID}
        self._check_signed_in(authorization)
        if path.startswith("/api/v2/tokens/"):
            return self._token(method, path.removeprefix("/api/v2/tokens/").rstrip("/"), data)
        if method != "GET":
            self.requests.append((method, path))
        match = re.fullmatch(r"/api/v2/([a-z_]+)/(?:([0-9]+)/(?:([a-z_]+)/)?)?", path)
        if not match:
            _refuse(404, detail="The requested resource could not be found.")
        kind, number, part = match[1], int(match[2] or 0), match[3]
        if not number:
            return self._list(kind, dict(parse_qsl(parts.query))) if method == "GET" else self._create(kind, data)
        if number not in self.objects.get(kind, {}):
            _refuse(404, detail="Not found.")
        if part:
            return self._part(method, kind, number, part, data)
        if method == "PATCH":
            self._check(kind, {**self.objects[kind][number], **data})
            self.objects[kind][number].update({key: value for key, value in data.items() if self._has(kind, key)})
        elif method != "GET":
            _refuse(405, detail=f'Method "{method}" not allowed.')
        return 200, self._shown(kind, number)

    def _token(self, method: str, number: str, data: dict[str, Any]) -> tuple[int, Any]:
        if method == "POST" and not number:
            if data.get("scope") not in ("read", "write"):
                _refuse(400, scope=["Must be a simple space-separated string with allowed scopes ['read', 'write']."])
            made = next(self._numbers)
            self.tokens[made] = f"token-{made}-of-this-test"
            self.signed_in += 1
            return 201, {"id": made, "type": "o_auth2_access_token", "token": self.tokens[made], "scope": data["scope"]}
        if method != "DELETE" or not number.isdigit():
            _refuse(405, detail=f'Method "{method}" not allowed.')
        if self.tokens.pop(int(number), None) is None:
            _refuse(404, detail="Not found.")
        return 204, None

    def _list(self, kind: str, wanted: dict[str, str]) -> tuple[int, Any]:
        kinds = ["job_templates", "workflow_job_templates", "projects"] if kind == "unified_job_templates" else [kind]
        if kind not in _KINDS and kind != "unified_job_templates":
            _refuse(404, detail="The requested resource could not be found.")
        for key in wanted:
            field = key.removeprefix("or__")
            if field not in ("id", "name", "type") and not all(self._has(one, field) for one in kinds):
                _refuse(400, detail=f"{_TYPES[kinds[0]]} has no field named '{field}'")
        either = {key.removeprefix("or__"): value for key, value in wanted.items() if key.startswith("or__")}
        each = {key: value for key, value in wanted.items() if not key.startswith("or__")}
        found = [
            item
            for one in kinds
            for item in (self._shown(one, number) for number in self.objects[one])
            if all(str(item.get(key)) == value for key, value in each.items())
            and (not either or any(str(item.get(key)) == value for key, value in either.items()))
        ]
        return 200, {"count": len(found), "next": None, "previous": None, "results": found}

    def _create(self, kind: str, data: dict[str, Any]) -> tuple[int, Any]:
        if kind not in _MADE:
            _refuse(403, detail="You do not have permission to perform this action.")
        item = {**_KINDS[kind], **{key: value for key, value in data.items() if self._has(kind, key)}}
        self._check(kind, item)
        if kind in ("job_templates", "workflow_job_templates") and any(
            other["name"] == item["name"] and other["organization"] == item["organization"]
            for other in self.objects[kind].values()
        ):
            _refuse(400, __all__=["Job template with this Name and Organization already exists."])
        number = next(self._numbers)
        self.objects[kind][number] = item
        return 201, self._shown(kind, number)

    def _check(self, kind: str, item: dict[str, Any]) -> None:
        for field, of in {"inventory": "inventories", "project": "projects", "organization": "organizations"}.items():
            if item.get(field) is not None and item[field] not in self.objects[of]:
                _refuse(400, **{field: [f'Invalid pk "{item[field]}" - object does not exist.']})
        if kind == "schedules" and not re.fullmatch(r"DTSTART:\d{8}T\d{6}Z RRULE:FREQ=\w+;INTERVAL=\d+", item["rrule"]):
            _refuse(400, rrule=["rrule parsing failed validation"])
        if kind == "job_templates":
            if not item.get("name"):
                _refuse(400, name=["This field is required."])
            if item["project"] is None:
                _refuse(400, project=["This field may not be null."])
            if item["playbook"] not in self.objects["projects"][item["project"]]["playbooks"]:
                _refuse(400, playbook=["Playbook not found for project."])
            try:
                assert isinstance(json.loads(item["extra_vars"] or "{}"), dict)
            except (AssertionError, ValueError):
                _refuse(400, extra_vars=["Cannot parse as JSON or YAML."])

    def _part(self, method: str, kind: str, number: int, part: str, data: dict[str, Any]) -> tuple[int, Any]:
        if part == "survey_spec" and kind in ("job_templates", "workflow_job_templates"):
            if method == "GET":
                return 200, self.surveys.get(number, {})
            _check_survey(data)
            self.surveys[number] = data
            return 200, None
        if part == "launch" and kind == "job_templates" and method == "POST":
            return self._launch(number, data)
        if part == "create_approval_template" and kind == "workflow_job_template_nodes" and method == "POST":
            approval = next(self._numbers)
            self.objects["workflow_approval_templates"][approval] = {
                **_KINDS["workflow_approval_templates"],
                **{key: value for key, value in data.items() if key in ("name", "description", "timeout")},
            }
            self.objects[kind][number]["unified_job_template"] = approval
            return 201, self._shown("workflow_approval_templates", approval)
        if part in _LINKED_BY.get(kind, ()):
            return self._associate(method, kind, number, part, data)
        _refuse(404, detail="The requested resource could not be found.")

    def _associate(self, method: str, kind: str, number: int, part: str, data: dict[str, Any]) -> tuple[int, Any]:
        of = kind if part.endswith("_nodes") else part.removesuffix("_error")
        linked = self.links.setdefault((kind, number, part), [])
        if method == "GET":
            return 200, {"count": len(linked), "next": None, "results": [self._shown(of, one) for one in linked]}
        if data["id"] not in self.objects[of]:
            _refuse(400, detail="Not found.")
        if data.get("disassociate"):
            linked.remove(data["id"])
        else:
            if part == "credentials":
                kinds = [self.objects[of][one]["kind"] for one in [*linked, data["id"]]]
                if len(set(kinds)) < len(kinds):
                    _refuse(400, error="Cannot assign multiple Machine credentials.")
            linked.append(data["id"])
        return 204, None

    def _launch(self, number: int, data: dict[str, Any]) -> tuple[int, Any]:
        template = self.objects["job_templates"][number]
        given = data.get("extra_vars") or {}
        survey = self.surveys.get(number, {}).get("spec", []) if template["survey_enabled"] else []
        wrong = [text for question in survey for text in _what_is_wrong(question, given)]
        if wrong:
            _refuse(400, variables_needed_to_start=wrong)
        asked = {question["variable"] for question in survey}
        taken = {key: value for key, value in given.items() if template["ask_variables_on_launch"] or key in asked}
        ignored: dict[str, Any] = {}
        if len(taken) < len(given):
            ignored["extra_vars"] = {key: value for key, value in given.items() if key not in taken}
        if "limit" in data and not template["ask_limit_on_launch"]:
            ignored["limit"] = data["limit"]
        defaults = {
            question["variable"]: question["default"]
            for question in survey
            if question.get("default") is not None
            and not _what_is_wrong(question, {question["variable"]: question["default"]})
        }
        job = next(self._numbers)
        self.jobs.append(
            {
                "id": job,
                "extra_vars": {**json.loads(template["extra_vars"] or "{}"), **defaults, **taken},
                "limit": template["limit"] if "limit" in ignored else data.get("limit", template["limit"]),
            }
        )
        return 201, {"job": job, "ignored_fields": ignored, "id": job, "type": "job", "status": "pending"}

    def _has(self, kind: str, field: str) -> bool:
        return field in _KINDS[kind] or (
            field == "name" and kind not in ("workflow_job_template_nodes", "ad_hoc_commands")
        )

    def _shown(self, kind: str, number: int) -> dict[str, Any]:
        url = f"/api/v2/{kind}/{number}/"
        related = {part: f"{url}{part}/" for part in ("survey_spec", "launch", *_LINKED_BY.get(kind, ()))}
        item = self.objects[kind][number]
        if kind == "workflow_job_template_nodes":
            related = {part: f"{url}{part}/" for part in ("create_approval_template", *_LINKED_BY[kind])}
            if item["unified_job_template"] is not None:
                of = next(one for one, items in self.objects.items() if item["unified_job_template"] in items)
                related["unified_job_template"] = f"/api/v2/{of}/{item['unified_job_template']}/"
        return {**item, "id": number, "type": _TYPES[kind], "url": url, "related": related}


def _check_survey(survey: dict[str, Any]) -> None:
    for field, of, label in (("name", str, "string"), ("description", str, "string"), ("spec", list, "list of items")):
        if field not in survey:
            _refuse(400, error=f"Field '{field}' is missing from survey spec.")
        if not isinstance(survey[field], of):
            _refuse(400, error=f"Expected {label} for field '{field}', received {type(survey[field]).__name__} type.")
    if not survey["spec"]:
        _refuse(400, error="'spec' doesn't contain any items.")
    names = [question.get("variable") for question in survey["spec"]]
    for index, question in enumerate(survey["spec"]):
        _check_question(index, question)
        if names.count(question["variable"]) > 1:
            _refuse(400, error=f"'variable' '{question['variable']}' duplicated in survey question {index}.")


def _check_question(index: int, question: dict[str, Any]) -> None:
    for field, of in (("type", str), ("question_name", str), ("variable", str), ("required", bool)):
        if field not in question:
            _refuse(400, error=f"'{field}' missing from survey question {index}")
        if not isinstance(question[field], of):
            _refuse(400, error=f"'{field}' in survey question {index} has the wrong type.")
    if question["type"] not in _ANSWERS:
        _refuse(400, error=f"'{question['type']}' in survey question {index} is not one of the allowed types.")
    for limit in ("min", "max"):
        if question.get(limit) is not None and not isinstance(question[limit], int):
            _refuse(400, error=f"The {limit} limit in survey question {index} expected to be integer.")
    default = question.get("default", "")
    of_default = str if question["type"] == "multiselect" else _ANSWERS[question["type"]]
    if default != "" and not isinstance(default, of_default):
        _refuse(400, error=f"Default value {default} in survey question {index} has the wrong type.")
    if question["type"] in ("multiplechoice", "multiselect"):
        if "choices" not in question:
            _refuse(400, error=f"Survey question {index} of type {question['type']} must specify choices.")
        if any(choice not in _choices(question) for choice in default.splitlines()):
            _refuse(400, error="Default choice must be answered from the choices listed.")


def _choices(question: dict[str, Any]) -> list[str]:
    choices = question["choices"]
    return choices.splitlines() if isinstance(choices, str) else list(choices)


def _what_is_wrong(question: dict[str, Any], given: dict[str, Any]) -> list[str]:
    name, kind = question["variable"], question["type"]
    if name not in given:
        return [f"'{name}' value missing"] if question["required"] else []
    value = given[name]
    # A choice is looked up among the others, whatever its type.
    if kind != "multiplechoice" and (not isinstance(value, _ANSWERS[kind]) or isinstance(value, bool)):
        return [f"Value {value} for '{name}' expected to be of the type {kind}."]
    if kind in ("multiplechoice", "multiselect"):
        chosen = [value] if kind == "multiplechoice" else value
        return [
            f"Value {one} for '{name}' expected to be one of {_choices(question)}."
            for one in chosen
            if one not in _choices(question)
        ]
    size = len(value) if isinstance(value, str) else value
    if question.get("min") is not None and size < question["min"]:
        return [f"'{name}' value {value} is too small (must be at least {question['min']})."]
    if question.get("max") is not None and size > question["max"]:
        return [f"'{name}' value {value} is too large (must be no more than {question['max']})."]
    return []
