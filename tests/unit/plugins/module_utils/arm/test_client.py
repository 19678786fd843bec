# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""How is ARM asked? What is not in the tests of the modules: signing in, secrets, what is no answer of ARM's."""

from __future__ import annotations

import builtins
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, quote_plus

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm import pipeline
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.answers import Json
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.client import (
    MOST_EDITS,
    ArmClient,
    Permission,
    Write,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import PUBLIC, read_cloud
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import SignIn
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import (
    ArmError,
    Lost,
    MissingLibrary,
    OperationFailed,
    OutOfTime,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.deadline import Deadline

from .scripted_arm import SECRET, FakeCredential, FakeTime, ScriptedArm, Step, client_of, dialogue, ok, refused

NEEDS = Permission("Microsoft.Test/things/read", "Reader")


def touching(client: ArmClient) -> Callable[[Json, str | None], tuple[Json, Write]]:
    """A plan that finds what was read, and writes until it is touched."""

    def plan(read: Json, etag: str | None) -> tuple[Json, Write]:
        if read.get("touched"):
            return read, None
        return read, lambda: client.write("PATCH", "/thing", {"touched": True}, etag, NEEDS)

    return plan


def ask(*script: Step) -> tuple[ScriptedArm, Any]:
    with dialogue(*script) as (arm, client):
        return arm, client.get("/thing", NEEDS)


def test_given_a_credential_then_its_token_goes_with_each_request() -> None:
    arm, _unused = ask(ok({}))
    assert arm.requests[0].headers["authorization"] == "Bearer token-of-the-test"
    assert arm.requests[0].headers["user-agent"].startswith("foghorn.azure_events")


def test_given_arm_does_not_accept_the_token_then_the_error_says_who_signed_in() -> None:
    with pytest.raises(
        ArmError, match=r"401 InvalidAuthenticationToken.* a secret of client .* tenant and cloud"
    ) as error:
        ask(refused(401, "InvalidAuthenticationToken"))
    assert SECRET not in str(error.value)


def test_given_the_secret_comes_back_in_an_error_then_it_is_not_shown() -> None:
    with pytest.raises(ArmError) as error:
        ask(refused(400, "BadRequest", "the value %s is wrong" % SECRET))
    assert SECRET not in str(error.value)
    assert "********" in str(error.value)


def test_given_signing_in_fails_then_the_error_has_the_reason_without_the_secret() -> None:
    from azure.core.exceptions import ClientAuthenticationError

    class Refusing:
        def get_token(self, *_scopes: str, **_options: Any) -> Any:
            raise ClientAuthenticationError(
                "AADSTS7000215: Invalid client secret %s.\nTrace: hints for programmers" % SECRET
            )

    sign_in = SignIn("env", PUBLIC._replace(arm="http://127.0.0.1:1"), "s", "c", "t", SECRET)
    client = ArmClient(sign_in, Deadline(10, FakeTime().clock), Refusing())
    with client, pytest.raises(ArmError) as error:
        client.get("/thing", NEEDS)
    message = str(error.value)
    assert "Signing in with a secret of client c (auth_source env) at https://login.microsoftonline.com" in message
    assert "AADSTS7000215" in message
    assert "programmers" not in message
    assert SECRET not in message


def test_given_a_machine_without_the_identity_then_the_error_has_the_reason_and_names_no_sign_in_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = Step(400, {"error": "invalid_request", "error_description": "Identity not found"})
    with ScriptedArm(answer) as imds:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", imds.url)
        with (
            ArmClient(SignIn("msi", PUBLIC._replace(arm=imds.url), "s"), Deadline(10, FakeTime().clock)) as client,
            pytest.raises(ArmError, match=r"managed identity \(auth_source msi\) failed: .*Identity not found"),
        ):
            client.get("/thing", NEEDS)


def test_given_a_workload_identity_when_a_managed_identity_signs_in_then_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("federated")
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", "https://login.invalid/")
    monkeypatch.setenv("AZURE_TENANT_ID", "00000000-0000-0000-0000-000000007e4a")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
    time = FakeTime()
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:%d" % proxy.getsockname()[1])
        asked: list[bytes] = []

        def listen() -> None:
            with suppress(OSError):
                while True:
                    with proxy.accept()[0] as connection:
                        asked.append(connection.recv(1000))

        threading.Thread(target=listen, daemon=True).start()
        sign_in = SignIn("msi", PUBLIC._replace(arm="http://127.0.0.1:1"), "s", client_id="c")
        with ArmClient(sign_in, Deadline(60, time.clock), sleep=time.sleep) as client, pytest.raises(ArmError):
            client.get("/thing", NEEDS)
    assert asked[0].startswith(b"CONNECT login.invalid:443")


@pytest.mark.parametrize("kind", ["federated token", "key of azure arc", "certificate bundle"])
def test_given_a_file_that_signing_in_needs_is_not_there_then_the_error_names_it_and_nothing_has_begun(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = None
    # As Azure Arc answers; its key is for its own group only.
    arc = Step(401, {"error": "unauthorized_client"}, {"WWW-Authenticate": "Basic realm=/var/opt/azcmagent/tokens/no"})
    with ScriptedArm(*([arc] if kind == "key of azure arc" else [])) as local:
        sign_in = SignIn("msi", PUBLIC._replace(arm=local.url), "s")
        if kind == "federated token":
            sign_in = sign_in._replace(source="env", client_id="c", tenant="t", federated_token_file="/there/is/no")
        elif kind == "certificate bundle":
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/there/is/no")
            sign_in, credential = sign_in._replace(cloud=PUBLIC._replace(arm="https://127.0.0.1:1")), FakeCredential()
        monkeypatch.setenv("IDENTITY_ENDPOINT", local.url)
        monkeypatch.setenv("IMDS_ENDPOINT", local.url)
        time = FakeTime()
        with (
            ArmClient(sign_in, Deadline(600, time.clock), credential, time.sleep) as client,
            pytest.raises(ArmError, match=r"was not sent: .*/no.*Check the file") as error,
        ):
            client.post("/thing/act", {}, NEEDS)
    assert not error.value.may_have_begun


def test_given_nobody_listens_then_the_error_says_what_to_check() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        fake = FakeTime()
        arm = PUBLIC._replace(arm="http://127.0.0.1:%d" % reserved.getsockname()[1])
        client = ArmClient(SignIn("cli", arm, "s"), Deadline(600, fake.clock), FakeCredential(), fake.sleep)
        with client, pytest.raises(ArmError, match=r"had no usable answer.* Is base_url or cloud_environment right"):
            client.get("/thing", NEEDS)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_given_azure_has_an_error_of_its_own_then_the_request_is_repeated(status: int) -> None:
    arm, content = ask(Step(status), Step(status), ok({"it": "works"}))
    assert content == {"it": "works"}
    assert len(arm.requests) == 3


@pytest.mark.parametrize("content", [None, [], "text", 7])
def test_given_an_answer_that_is_no_object_then_that_is_an_error(content: Any) -> None:
    with pytest.raises(ArmError, match="did not answer with a JSON object"):
        ask(ok(content))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"error": {"code": "A", "message": "b"}}, "400 A: b"),
        ({"code": "A", "message": "b"}, "400 A: b"),
        ({"error": {"code": "A", "message": "b", "details": [{"code": "C", "message": "d"}]}}, "400 A: b; C: d"),
        ({"Error": {"Code": "A", "Message": "b"}}, "400: {'Error': {'Code': 'A', 'Message': 'b'}}"),
        ({"error": "text"}, "was refused: 400: {'error': 'text'}"),
        ({"error": {}}, "was refused: 400"),
        (None, "was refused: 400"),
        ("<html>", "400: <html>"),
        ({"error": {"code": 5, "message": None, "details": 3}}, "400 5"),
        ({"error": {"code": "A", "details": [None, {"code": 7, "message": "d"}]}}, "400 A: 7: d"),
    ],
)
def test_given_an_error_in_any_shape_then_its_code_and_message_are_reported(content: Any, said: str) -> None:
    with pytest.raises(ArmError) as error:
        ask(Step(400, content))
    assert said in str(error.value)


def test_given_a_link_of_arms_then_its_query_is_not_shown() -> None:
    with dialogue(refused(400, "Bad")) as (arm, client), pytest.raises(ArmError) as error:
        client.get(arm.url + "/page?$skiptoken=opaque", NEEDS)
    assert "opaque" not in str(error.value)


@pytest.mark.parametrize("missing", ["azure.mgmt.core", "azure.core.pipeline.transport", "azure"])
def test_given_a_library_is_not_installed_then_the_error_names_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name == missing:
            raise ImportError("No module named %r" % name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingLibrary, match="azure-"):
        ArmClient(SignIn("cli", PUBLIC, "s"), Deadline(1), None if missing == "azure" else FakeCredential())


def test_given_the_operation_is_not_to_be_found_any_more_then_that_is_reported() -> None:
    accepted = Step(202, None, {"Location": "{base}/operations/1"})
    with (
        dialogue(accepted, refused(404, "OperationNotFound")) as (_arm, client),
        pytest.raises(ArmError, match="was accepted, but later was refused: 404 OperationNotFound") as error,
    ):
        client.post("/thing/act", {}, NEEDS)
    # Nothing that was asked for is missing.
    assert type(error.value) is Lost


ACCEPTED = Step(202, None, {"Azure-AsyncOperation": "{base}/operations/1"})
BY_LOCATION = Step(202, None, {"Location": "{base}/operations/1"})


@pytest.mark.parametrize(
    ("script", "may_have_begun", "said"),
    [
        ([refused(409, "ScopeLocked")], False, "409 ScopeLocked"),
        ([refused(429, "TooManyRequests")], False, "429 TooManyRequests"),
        ([Step(502, "<html>")], True, "502: <html>"),
        ([Step(202)], True, "was accepted, but Azure returned no address to poll for its result"),
        ([ACCEPTED, refused(404, "NotFound")], True, "was accepted, but later was refused: 404 NotFound"),
        ([ACCEPTED, ok({"status": None})], True, "Azure's answer does not contain its result: {'status': None}"),
        ([ACCEPTED, ok({"status": "Failed", "error": {"code": "A", "message": "b"}})], False, "ended as Failed: A: b"),
        ([ACCEPTED, ok({"status": "Canceled"})], False, "ended as Canceled: Azure gave no reason"),
        ([BY_LOCATION, refused(409, "AllocationFailed")], False, "but later was refused: 409 AllocationFailed"),
    ],
)
def test_given_it_fails_then_the_error_knows_whether_azure_may_be_doing_it(
    script: list[Step], may_have_begun: bool, said: str
) -> None:
    with dialogue(*script) as (_arm, client), pytest.raises(ArmError) as error:
        client.post("/thing/act", {}, NEEDS)
    assert said in str(error.value)
    assert error.value.may_have_begun is may_have_begun


def test_given_nobody_listens_then_nothing_has_begun() -> None:
    with dialogue() as (arm, client):
        pass
    with client_of(arm, FakeTime()) as client, pytest.raises(ArmError, match="had no usable answer") as error:
        client.post("/thing/act", {}, NEEDS)
    assert not error.value.may_have_begun


@pytest.mark.parametrize(
    ("said", "slept"),
    [("soon", []), ("nan", []), ("Wed, 21 Oct 2015 07:28:00 GMT", []), ("0", []), ("-5", []), ("2.5", [3.0])],
)
def test_given_a_retry_after_in_any_form_then_the_request_is_repeated(said: str, slept: list[float]) -> None:
    fake = FakeTime()
    throttled = refused(429, "TooManyRequests", Retry_After=said)
    with dialogue(throttled, ok({"it": "works"}), time=fake) as (_arm, client):
        assert client.get("/thing", NEEDS) == {"it": "works"}
    assert fake.slept == slept


def test_given_a_retry_after_that_is_a_date_beyond_the_time_limit_then_nobody_waits() -> None:
    fake = FakeTime()
    throttled = refused(429, "TooManyRequests", Retry_After="Fri, 31 Dec 2099 23:59:59 GMT")
    with dialogue(throttled, time=fake) as (_arm, client), pytest.raises(OutOfTime):
        client.get("/thing", NEEDS)
    assert fake.slept == []


def test_given_too_many_requests_when_the_time_is_too_short_then_it_is_reported_how_long_they_take() -> None:
    throttled = refused(429, "TooManyRequests", Retry_After="120")
    with dialogue(throttled, timeout=60) as (_arm, client), pytest.raises(OutOfTime) as caught:
        client.get("/thing", NEEDS)
    assert str(caught.value).endswith(
        "/thing: Azure throttles requests (429) and accepts none for 120 s. The request was not repeated within 60 s:"
        " check again later, or raise timeout"
    )


def test_given_pages_with_links_of_other_versions_and_one_without_rows_then_all_are_read() -> None:
    with dialogue() as (arm, client):
        arm.expect(
            ok({"value": [{"name": "a"}], "nextLink": "/list?api-version=2020-01-01&page=2"}),
            ok({"value": None, "nextLink": arm.url + "/list?page=3"}),
            ok({"value": [{"name": "b"}], "nextLink": ""}),
        )
        assert [row["name"] for row in client.list_all("/list", NEEDS)] == ["a", "b"]
    assert arm.lines[1:] == ["GET /list?api-version=2020-01-01&page=2", "GET /list?page=3"]


def test_given_a_page_that_leads_to_itself_then_it_is_not_read_forever() -> None:
    with dialogue() as (arm, client):
        page = ok({"value": [1], "nextLink": arm.url + "/list?page=2"})
        arm.expect(page, page)
        with pytest.raises(ArmError, match="Azure returned the same nextLink twice"):
            list(client.list_all("/list", NEEDS))


def test_given_the_time_is_over_then_nothing_is_sent() -> None:
    fake = FakeTime()
    with dialogue(time=fake, timeout=5) as (arm, client):
        fake.now += 5
        with pytest.raises(OutOfTime, match=r"GET .*/thing: Azure was not done within 5 s"):
            client.get("/thing", NEEDS)
    assert arm.requests == []


TOLD = {"authentication": {"loginEndpoint": "http://127.0.0.1:9", "audiences": ["https://arm.example"]}}
ASKED = "GET /metadata/endpoints?api-version=2015-01-01"


class TestCloudsThatTellTheirAddresses:
    @contextmanager
    def client(self, arm: ScriptedArm, timeout: float = 60) -> Iterator[ArmClient]:
        fake = FakeTime()
        sign_in = SignIn("env", read_cloud(arm.url), "s", "c", "t", SECRET)
        with ArmClient(sign_in, Deadline(timeout, fake.clock), FakeCredential(), fake.sleep) as client:
            yield client

    def test_given_its_address_then_it_is_asked_by_nobody_and_the_token_is_for_its_audience(self) -> None:
        with ScriptedArm(ok(TOLD), ok({})) as arm, self.client(arm) as client:
            client.get("/thing", NEEDS)
            assert client.sign_in.cloud.scope == "https://arm.example/.default"
        assert arm.lines[0] == ASKED
        assert "authorization" not in arm.requests[0].headers
        assert arm.requests[1].headers["authorization"] == "Bearer token-of-the-test"

    def test_given_it_is_busy_then_the_request_is_repeated(self) -> None:
        busy = refused(503, "ServiceUnavailable", Retry_After="2")
        with ScriptedArm(busy, ok(TOLD)) as arm, self.client(arm):
            pass
        assert arm.lines == [ASKED, ASKED]

    def test_given_it_stays_busy_then_the_time_limit_holds(self) -> None:
        busy = refused(503, "ServiceUnavailable", Retry_After="40")
        with (
            ScriptedArm(busy, busy) as arm,
            pytest.raises(OutOfTime, match=r"GET .*/metadata/endpoints.*within 60 s"),
            self.client(arm),
        ):
            pass

    def test_given_something_else_answers_then_the_error_names_the_option(self) -> None:
        with (
            ScriptedArm(refused(404, "NotFound")) as arm,
            pytest.raises(ArmError, match=r"answered with 404, .* Is cloud_environment the address"),
            self.client(arm),
        ):
            pass

    def test_given_nobody_answers_then_the_error_names_the_option(self) -> None:
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            sign_in = SignIn("env", read_cloud("http://127.0.0.1:%d" % nobody.getsockname()[1]), "s")
            fake = FakeTime()
            with pytest.raises(ArmError, match=r"had no usable answer: .* Is base_url or cloud_environment right"):
                ArmClient(sign_in, Deadline(60, fake.clock), FakeCredential(), fake.sleep)


class TestSigningInWithinTheTimeLimit:
    @pytest.fixture
    def silent(self) -> Iterator[str]:
        """A host that takes connections, and says nothing on them."""
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen()
            yield "127.0.0.1:%d" % listening.getsockname()[1]

    def ask(self, sign_in: SignIn) -> None:
        # Long enough to load what signs in on a busy machine.
        with ArmClient(sign_in, Deadline(5)) as client:
            client.get("/thing", NEEDS)

    def test_given_the_sign_in_never_answers_then_the_time_limit_holds(self, silent: str) -> None:
        cloud = PUBLIC._replace(authority="https://" + silent, asks_microsoft=False)
        began = time.monotonic()
        with pytest.raises(ArmError) as error:
            self.ask(SignIn("env", cloud, "s", "c", "t", SECRET))
        assert "after 5 s" in str(error.value)
        assert time.monotonic() - began < 30

    def test_given_the_managed_identity_never_answers_then_the_time_limit_holds(
        self, silent: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://" + silent)
        began = time.monotonic()
        with pytest.raises(ArmError):
            self.ask(SignIn("msi", PUBLIC, "s"))
        assert time.monotonic() - began < 30


@pytest.mark.parametrize("code", ["AuthorizationFailed", "authorizationfailed"])
def test_given_a_role_is_missing_then_the_error_names_it_and_says_what_azure_said(code: str) -> None:
    with pytest.raises(ArmError) as error:
        ask(refused(403, code, "The client 'x' does not have authorization to perform action 'a' over scope 's'."))
    assert str(error.value).endswith(
        "lacks the permission Microsoft.Test/things/read here. The role Reader grants it, on the resource or above."
        " Azure said: The client 'x' does not have authorization to perform action 'a' over scope 's'."
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("RequestDisallowedByPolicy", "Resource 'web' was disallowed by policy. Policy identifiers: 'only-tagged'."),
        ("LinkedAuthorizationFailed", "does not have permission 'join/action' on the linked scope '/images/gold'."),
        ("DisallowedOperation", "The current subscription type is not permitted to do that."),
    ],
)
def test_given_a_role_would_not_help_then_the_error_is_azures_own_and_names_none(code: str, message: str) -> None:
    with pytest.raises(ArmError) as error:
        ask(refused(403, code, message))
    assert "403 %s: %s" % (code, message) in str(error.value)
    assert "role" not in str(error.value)


CONCURRENT = "The request failed due to conflict with a concurrent request. To resolve it, please refer to ..."


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("AnotherOperationInProgress", "Another operation on this or dependent resource is in progress."),
        ("ConflictingConcurrentWriteNotAllowed", "The resource has been written by another operation."),
        ("RetryableError", "A retryable error occurred."),
        ("Conflict", CONCURRENT),
        ("conflict", CONCURRENT),
        ("OperationNotAllowed", "Operation 'Update' is not allowed: another operation is in progress."),
        ("OperationNotAllowed", "The server rejected the request because an operation is currently running on it."),
    ],
)
def test_given_a_conflict_that_passes_then_the_edit_is_made_when_it_has(code: str, message: str) -> None:
    time, busy = FakeTime(), [ok({}), refused(409, code, message)]
    with dialogue(*busy, ok({}), ok({"it": "works"}), time=time) as (_arm, client):
        _found, answer = client.edit("/thing", NEEDS, touching(client))
    assert answer is not None
    assert answer.content == {"it": "works"}
    assert time.slept == [5.0]


NOT_PROVISIONED = (
    "Cannot proceed with operation because resource /loadBalancers/web used by resource /networkInterfaces/web_0 is "
    "not in Succeeded state. Resource is in %s state and the last operation that updated/is updating the resource is "
    "PutLoadBalancerOperation."
)


@pytest.mark.parametrize("state", ["Updating", "Deleting"])
def test_given_a_resource_that_it_names_is_busy_then_the_edit_is_made_when_that_is_over(state: str) -> None:
    busy = refused(400, "ReferencedResourceNotProvisioned", NOT_PROVISIONED % state)
    with dialogue(ok({}), busy, ok({}), ok({"it": "works"})) as (_arm, client):
        _found, answer = client.edit("/thing", NEEDS, touching(client))
    assert answer is not None
    assert answer.content == {"it": "works"}


def test_given_a_resource_that_it_names_has_failed_then_it_is_an_error_at_once() -> None:
    failed = refused(400, "ReferencedResourceNotProvisioned", NOT_PROVISIONED % "Failed")
    with (
        dialogue(ok({}), failed) as (_arm, client),
        pytest.raises(ArmError, match=r"400 ReferencedResourceNotProvisioned: .* is in Failed state"),
    ):
        client.edit("/thing", NEEDS, touching(client))


def test_given_a_retryable_error_that_outlasts_the_repeated_requests_then_the_edit_is_made_when_it_has() -> None:
    retries = [refused(429, "RetryableError", "A retryable error occurred.")] * (1 + pipeline._MOST_RETRIES)
    with dialogue(ok({}), *retries, ok({}), ok({"it": "works"})) as (_arm, client):
        _found, answer = client.edit("/thing", NEEDS, touching(client))
    assert answer is not None
    assert answer.content == {"it": "works"}


def test_given_a_conflict_that_does_not_pass_then_only_the_time_limit_counts_and_the_error_quotes_azure() -> None:
    attempts = MOST_EDITS + 2
    with (
        dialogue(*[ok({}), refused(409, "Conflict", CONCURRENT)] * attempts, timeout=5 * attempts) as (_arm, client),
        pytest.raises(OutOfTime, match=r"conflict with a concurrent request.* within %d s" % (5 * attempts)),
    ):
        client.edit("/thing", NEEDS, touching(client))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("OperationNotAllowed", "Operation results in exceeding approved Total Regional Cores quota."),
        ("Conflict", "The name is taken already."),
        ("ScopeLocked", "The scope '/shop/web' cannot perform write operation: '/shop' is locked."),
    ],
)
def test_given_a_conflict_that_stays_then_it_is_an_error_at_once(code: str, message: str) -> None:
    with dialogue(ok({}), refused(409, code, message)) as (_arm, client), pytest.raises(ArmError) as error:
        client.edit("/thing", NEEDS, touching(client))
    assert "409 %s: %s" % (code, message) in str(error.value)
    assert "role" not in str(error.value)


LOST = [Step(reset=True), Step(500), Step(502, "<html>"), Step(504, "<html>")]


class TestAnAnswerThatIsLost:
    @pytest.mark.parametrize("lost", LOST)
    @pytest.mark.parametrize("method", ["PUT", "PATCH"])
    def test_given_a_write_then_the_request_is_repeated(self, method: str, lost: Step) -> None:
        with dialogue(lost, ok({"it": "works"})) as (arm, client):
            assert client.write(method, "/thing", {}, '"1"', NEEDS).content == {"it": "works"}
        assert [request.headers["if-match"] for request in arm.requests] == ['"1"', '"1"']

    @pytest.mark.parametrize("lost", LOST)
    @pytest.mark.parametrize(
        "refusal",
        [refused(412, "PreconditionFailed"), refused(409, "AnotherOperationInProgress")],
        ids=["changed", "busy"],
    )
    def test_given_an_edit_that_took_effect_then_it_is_reported_as_a_change(self, lost: Step, refusal: Step) -> None:
        before, after = {"a": 1}, {"a": 1, "touched": True}
        with dialogue(ok(before), lost, refusal, ok(after)) as (_arm, client):
            found, answer = client.edit("/thing", NEEDS, touching(client))
        assert found == before
        assert answer is not None
        assert answer.content == after

    def test_given_an_edit_whose_answer_stops_in_the_middle_then_it_is_reported_as_a_change(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def stop(stream: BinaryIO) -> None:
            stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{")
            stream.flush()
            stopped.wait(60)

        stopped = threading.Event()
        monkeypatch.setattr(pipeline, "_READ_TIMEOUT", 1.0)
        script = [ok({}), Step(write=stop), refused(412, "PreconditionFailed"), ok({"touched": True})]
        with dialogue(*script) as (_arm, client):
            _found, answer = client.edit("/thing", NEEDS, touching(client))
            stopped.set()
        assert answer is not None

    def test_given_an_edit_that_is_still_running_then_it_waits_for_its_end(self) -> None:
        time = FakeTime()
        changing = {"touched": True, "properties": {"provisioningState": "Updating"}}
        done = {"touched": True, "properties": {"provisioningState": "Succeeded"}}
        script = [ok({}), Step(502), refused(412, "PreconditionFailed"), ok(changing), ok(changing), ok(done)]
        with dialogue(*script, time=time) as (_arm, client):
            _found, answer = client.edit("/thing", NEEDS, touching(client))
        assert answer is not None
        assert answer.content == done
        assert time.slept[-2:] == [5.0, 5.0]

    def test_given_another_client_made_the_edit_then_it_is_no_change(self) -> None:
        script = [ok({}), refused(503, "Unavailable"), refused(412, "PreconditionFailed"), ok({"touched": True})]
        with dialogue(*script) as (_arm, client):
            assert client.edit("/thing", NEEDS, touching(client)) == ({"touched": True}, None)

    @pytest.mark.parametrize("lost", LOST)
    def test_given_an_action_that_may_be_repeated_then_it_is(self, lost: Step) -> None:
        with dialogue(lost, ok({"it": "works"})) as (_arm, client):
            answer = client.post_when_free("/thing/act", None, NEEDS, repeatable=True)
        assert answer.content == {"it": "works"}

    @pytest.mark.parametrize("lost", LOST)
    def test_given_any_other_action_then_it_is_sent_once_and_may_have_begun(self, lost: Step) -> None:
        with dialogue(lost) as (_arm, client), pytest.raises(ArmError) as error:
            client.post_when_free("/thing/act", None, NEEDS)
        assert error.value.may_have_begun

    def test_given_any_other_action_when_the_service_takes_none_then_the_request_is_repeated(self) -> None:
        unavailable = refused(503, "ServiceUnavailable")
        with dialogue(unavailable, ok({"it": "works"})) as (_arm, client):
            assert client.post("/thing/act", None, NEEDS).content == {"it": "works"}


SUPERSEDED = {
    "code": "Canceled",
    "message": "Operation was canceled.",
    "details": [{"code": "CanceledAndSupersededDueToAnotherOperation", "message": "superseded by operation Put (2)."}],
}
PREEMPTED = {
    "code": "OperationPreempted",
    "message": "Operation execution has been preempted by a more recent operation.",
}


@pytest.mark.parametrize("error", [SUPERSEDED, PREEMPTED], ids=["superseded", "preempted"])
class TestAnOperationThatALaterOneTookThePlaceOf:
    def test_given_an_edit_that_is_there_nevertheless_then_it_is_a_change(self, error: Json) -> None:
        for end in (
            [Step(202, None, {"Azure-AsyncOperation": "{base}/op"}), ok({"status": "Canceled", "error": error})],
            [Step(202, None, {"Location": "{base}/op"}), Step(409, {"error": error})],
            [Step(409, {"error": error})],
        ):
            with dialogue(ok({}), *end, ok({"touched": True})) as (_arm, client):
                found, answer = client.edit("/thing", NEEDS, touching(client))
            assert found == {}
            assert answer is not None

    def test_given_an_edit_that_is_not_there_then_it_is_made_again(self, error: Json) -> None:
        begun = Step(202, None, {"Azure-AsyncOperation": "{base}/op"})
        script = [ok({}), begun, ok({"status": "Failed", "error": error}), ok({}), ok({"touched": True})]
        with dialogue(*script) as (arm, client):
            _found, answer = client.edit("/thing", NEEDS, touching(client))
        assert answer is not None
        assert len(arm.sent("PATCH")) == 2

    def test_given_it_happens_each_time_then_it_is_an_error_in_the_end(self, error: Json) -> None:
        script = [ok({}), Step(409, {"error": error})] * MOST_EDITS
        with dialogue(*script) as (_arm, client), pytest.raises(OperationFailed, match=error["message"]):
            client.edit("/thing", NEEDS, touching(client))

    def test_given_an_action_then_it_is_repeated_if_it_may_be(self, error: Json) -> None:
        begun = Step(202, None, {"Azure-AsyncOperation": "{base}/op"})
        ended = ok({"status": "Failed", "error": error})
        with dialogue(begun, ended, ok({})) as (_arm, client):
            client.post_when_free("/thing/act", None, NEEDS, repeatable=True)
        with dialogue(begun, ended) as (_arm, client), pytest.raises(OperationFailed, match=error["message"]):
            client.post_when_free("/thing/act", None, NEEDS)


# A role on the resource alone does not reach the operation.
@pytest.mark.parametrize("refusal", [refused(404, "NotFound"), refused(403, "AuthorizationFailed")])
class TestAnOperationThatAzureDoesNotShow:
    BEGUN = ok({"properties": {"provisioningState": "Succeeded"}}, Azure_AsyncOperation="{base}/op")

    def test_given_an_edit_that_is_there_then_it_is_a_change(self, refusal: Step) -> None:
        with dialogue(ok({}), self.BEGUN, refusal, ok({"touched": True})) as (_arm, client):
            found, answer = client.edit("/thing", NEEDS, touching(client))
        assert found == {}
        assert answer is not None

    def test_given_an_edit_that_is_not_there_then_it_is_made_again(self, refusal: Step) -> None:
        script = [ok({}), self.BEGUN, refusal, ok({}), ok({"touched": True})]
        with dialogue(*script) as (arm, client):
            client.edit("/thing", NEEDS, touching(client))
        assert len(arm.sent("PATCH")) == 2

    def test_given_it_happens_each_time_then_it_is_an_error_in_the_end(self, refusal: Step) -> None:
        script = [ok({}), self.BEGUN, refusal] * MOST_EDITS
        with dialogue(*script) as (_arm, client), pytest.raises(ArmError, match="was accepted, but later was refused"):
            client.edit("/thing", NEEDS, touching(client))

    def test_given_an_edit_that_is_there_and_failed_then_it_is_an_error(self, refusal: Step) -> None:
        """An instance that Azure shows without a pool may still be in it."""
        shown = ok({"touched": True, "properties": {"provisioningState": "Failed"}})
        with dialogue(ok({}), self.BEGUN, refusal, shown) as (_arm, client), pytest.raises(OperationFailed):
            client.edit("/thing", NEEDS, touching(client))


def test_given_an_operation_may_not_be_read_then_the_error_names_that_permission_and_not_the_one_it_has() -> None:
    with dialogue(ACCEPTED, refused(403, "AuthorizationFailed")) as (_arm, client), pytest.raises(ArmError) as error:
        client.post("/thing/act", None, NEEDS)
    assert NEEDS.action not in str(error.value)
    assert error.value.may_have_begun


@contextmanager
def elsewhere() -> Iterator[tuple[ScriptedArm, ArmClient, ScriptedArm]]:
    """A client of one ARM, and another host that must never be asked."""
    with ScriptedArm() as other, dialogue() as (arm, client):
        yield arm, client, other


@pytest.mark.parametrize("address", ["{other}/next", "http://localhost:{port}/next"])
def test_given_a_next_link_to_another_host_then_it_is_not_followed(address: str) -> None:
    with elsewhere() as (arm, client, other):
        link = address.format(other=other.url, port=arm.url.rpartition(":")[2])
        arm.expect(ok({"value": [1], "nextLink": link}))
        with pytest.raises(
            ArmError, match=r"Azure's answer leads to http://[^@]*, which is not .*nothing was sent there"
        ):
            list(client.list_all("/things", NEEDS))
        assert other.requests == []


@pytest.mark.parametrize("header", ["Azure-AsyncOperation", "Location"])
def test_given_an_operation_at_another_host_then_it_is_not_polled(header: str) -> None:
    with elsewhere() as (arm, client, other):
        arm.expect(Step(202, None, {header: other.url + "/operations/1"}))
        with pytest.raises(ArmError, match="nothing was sent there"):
            client.post("/thing/do", {}, NEEDS)
        assert other.requests == []


def test_given_a_secret_that_comes_back_encoded_then_it_is_not_shown() -> None:
    for spelling in (quote(SECRET, safe=""), quote(SECRET), quote_plus(SECRET)):
        with pytest.raises(ArmError) as error:
            ask(refused(400, "BadRequest", "client_secret=%s is wrong" % spelling))
        assert "client_secret=******** is wrong" in str(error.value)


def no_such_version(*supported: str) -> Step:
    return refused(
        400,
        "NoRegisteredProviderFound",
        "No registered resource provider found for location 'local' and API version '2026-04-01' for type 'things'. The"
        " supported api-versions are '%s'. The supported locations are 'local'." % ", ".join(supported),
    )


def versions_of(arm: ScriptedArm) -> list[str]:
    return [line.partition("api-version=")[2] for line in arm.lines]


def test_given_a_cloud_that_lags_behind_then_it_is_asked_in_the_newest_version_that_it_has() -> None:
    supported = no_such_version("2017-12-01", "2020-06-01", "2019-03-01", "2020-12-01-preview", "2099-01-01")
    with dialogue(supported, ok({"a": 1}), ok({"b": 2})) as (arm, client):
        client.need_compute("2019-03-01", "these things")
        assert client.get("/thing", NEEDS) == {"a": 1}
        assert client.get("/thing", NEEDS) == {"b": 2}
    assert versions_of(arm) == ["2026-04-01", "2020-06-01", "2020-06-01"]


def test_given_a_refusal_that_names_a_linked_scope_then_the_scope_is_shown_and_long_text_is_cut_in_the_middle() -> None:
    scope = "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%s"
    linked = scope % ("5b2f6a3c-1111-4c4d-9a51-000000000001", "shared-" + "x" * 80, "web-" + "y" * 120)
    message = (
        "The client 'c' with object id 'o' may do 'Microsoft.Compute/virtualMachineScaleSets/write' on scope '%s', but"
        " not 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action' on the linked scope(s) '%s'"
    )
    for padding in ("", "z" * 600, "z" * 100000):
        refusal = refused(403, "LinkedAuthorizationFailed", message % (padding, linked))
        with dialogue(refusal) as (_arm, client), pytest.raises(ArmError) as error:
            client.get("/thing", NEEDS)
        assert linked in str(error.value)
        assert len(str(error.value)) < 5000


def test_given_a_long_list_of_versions_then_none_of_it_is_lost() -> None:
    many = ["20%02d-01-01" % year for year in range(99)]
    with dialogue(no_such_version(*many), ok({})) as (arm, client):
        client.get("/thing", NEEDS)
    assert versions_of(arm)[1] == "2026-01-01"


def test_given_a_cloud_that_is_too_old_then_the_error_says_what_is_missing() -> None:
    with dialogue(no_such_version("2017-12-01", "2018-10-01")) as (_arm, client):
        client.need_compute("2019-03-01", "these things")
        with pytest.raises(ArmError, match=r"these things need Microsoft\.Compute 2019-03-01 or later.* is 2018-10-01"):
            client.get("/thing", NEEDS)


def test_given_it_has_fallen_back_when_more_is_needed_then_the_error_says_so_before_anything_is_asked() -> None:
    with dialogue(no_such_version("2020-06-01"), ok({})) as (_arm, client):
        client.get("/thing", NEEDS)
        with pytest.raises(ArmError, match=r"more need Microsoft\.Compute 2021-03-01 or later.* is 2020-06-01"):
            client.need_compute("2021-03-01", "more")


def test_given_a_version_of_another_provider_then_nothing_older_is_tried() -> None:
    with (
        dialogue(no_such_version("2020-01-01")) as (_arm, client),
        pytest.raises(ArmError, match="400 NoRegisteredProviderFound"),
    ):
        client.post("/thing", None, NEEDS, "2025-11-01")
