# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who signs in, how, and to which cloud?"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.cloud import (
    CLOUDS,
    PUBLIC,
    complete,
    read_cloud,
    read_url,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.credentials import (
    SignIn,
    choose,
    describe,
    make_credential,
)
from ansible_collections.foghorn.azure_events.plugins.module_utils.arm.errors import MissingLibrary
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError

SECRET = "50%secret;#"
TRANSPORT = object()
TOLD = {
    "galleryEndpoint": "https://gallery.example/",
    "authentication": {"loginEndpoint": "https://login.example/", "audiences": ["https://contoso.example/4de154de"]},
}
PRINCIPAL = {"client_id": "c", "secret": SECRET, "tenant": "t"}
AWX = {
    "AZURE_CLIENT_ID": "awx-c",
    "AZURE_SECRET": SECRET,
    "AZURE_TENANT": "awx-t",
    "AZURE_SUBSCRIPTION_ID": "awx-s",
    "AZURE_CLOUD_ENVIRONMENT": "AzureUSGovernment",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose `.azure` is empty."""
    (tmp_path / ".azure").mkdir()
    return tmp_path


@pytest.fixture
def with_file(home: Path) -> Path:
    """A home with a credential file."""
    (home / ".azure" / "credentials").write_text(
        "[default]\nsubscription_id = file-s\nclient_id=file-c\nsecret=%s\ntenant=file-t\n"
        "[gov]\nclient_id=gov-c\nsecret=x\ntenant=gov-t\ncloud_environment=AzureUSGovernment\n" % SECRET
    )
    return home


class Identity:
    """Stands in for azure-identity, and shows what it was called with."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: (name, args, options)


def signed_in(options: dict[str, Any], environment: dict[str, str], home: Path) -> SignIn:
    return choose(options, environment, str(home))


class TestAuto:
    def test_given_parameters_and_all_other_sources_then_the_parameters_are_used(self, with_file: Path) -> None:
        sign_in = signed_in(PRINCIPAL, AWX, with_file)
        assert (sign_in.source, sign_in.client_id, sign_in.tenant) == ("parameters", "c", "t")

    def test_given_a_profile_parameter_then_the_file_is_used(self, with_file: Path) -> None:
        sign_in = signed_in({"profile": "gov"}, AWX, with_file)
        assert (sign_in.source, sign_in.client_id) == ("credential_file", "gov-c")

    def test_given_no_parameters_then_the_environment_is_used(self, with_file: Path) -> None:
        sign_in = signed_in({}, AWX, with_file)
        assert (sign_in.source, sign_in.client_id) == ("env", "awx-c")

    def test_given_a_profile_in_the_environment_then_the_file_is_used(self, with_file: Path) -> None:
        sign_in = signed_in({}, {**AWX, "AZURE_PROFILE": "gov"}, with_file)
        assert (sign_in.source, sign_in.client_id) == ("credential_file", "gov-c")

    def test_given_a_profile_in_the_environment_that_is_not_there_then_the_error_names_it(self, home: Path) -> None:
        with pytest.raises(OptionError, match="AZURE_PROFILE: 'gov' is not in"):
            signed_in({}, {"AZURE_PROFILE": "gov"}, home)

    def test_given_neither_then_the_default_profile_is_used(self, with_file: Path) -> None:
        sign_in = signed_in({}, {}, with_file)
        assert (sign_in.source, sign_in.client_id, sign_in.subscription_id) == ("credential_file", "file-c", "file-s")
        assert sign_in.secret == SECRET

    @pytest.mark.parametrize("more", [{}, {"AZURE_TENANT_ID": "t"}])
    def test_given_only_a_client_id_in_the_environment_then_that_is_no_credential(
        self, with_file: Path, more: dict[str, str]
    ) -> None:
        assert signed_in({}, {"AZURE_CLIENT_ID": "c", **more}, with_file).source == "credential_file"

    def test_given_a_client_id_and_a_subscription_then_the_environment_is_used(self, with_file: Path) -> None:
        with pytest.raises(OptionError, match=r"auth_source env: .* are not complete, missing: tenant and secret"):
            signed_in({}, {"AZURE_CLIENT_ID": "c", "AZURE_SUBSCRIPTION_ID": "s"}, with_file)

    def test_given_an_authority_host_without_a_scheme_then_https_is_meant(self, home: Path) -> None:
        sign_in = signed_in({}, {**AWX, "AZURE_AUTHORITY_HOST": "login.microsoftonline.com"}, home)
        assert sign_in.cloud.authority == "https://login.microsoftonline.com"
        assert sign_in.cloud.asks_microsoft

    @pytest.mark.parametrize("name", ["AZURE_AUTHORITY_HOST", "AZURE_ADFS_AUTHORITY_URL"])
    def test_given_an_invalid_authority_then_the_error_names_where_it_was_set(self, home: Path, name: str) -> None:
        with pytest.raises(OptionError, match="^%s: 'http://login.example' would send tokens" % name):
            signed_in({}, {**AWX, name: "http://login.example"}, home)
        with pytest.raises(OptionError, match=r"^adfs_authority_url: 'http://login\.example' would send tokens"):
            signed_in({"adfs_authority_url": "http://login.example"}, {**AWX, name: "https://other.example"}, home)

    def test_given_no_credentials_at_all_then_the_cli_is_used(self, home: Path) -> None:
        assert signed_in({}, {}, home).source == "cli"

    def test_given_only_a_subscription_then_that_is_no_credential(self, home: Path) -> None:
        sign_in = signed_in({"subscription_id": "s"}, {"AZURE_TENANT": "t"}, home)
        assert (sign_in.source, sign_in.subscription_id) == ("cli", "s")


class TestEnvironment:
    def test_given_what_awx_injects_then_all_of_it_is_used(self, home: Path) -> None:
        sign_in = signed_in({"auth_source": "env"}, AWX, home)
        assert sign_in == SignIn("env", CLOUDS["AzureUSGovernment"], "awx-s", "awx-c", "awx-t", SECRET)

    def test_given_the_spelling_of_azure_identity_then_it_is_used_as_well(self, home: Path) -> None:
        names = {"AZURE_CLIENT_ID": "c", "AZURE_CLIENT_SECRET": SECRET, "AZURE_TENANT_ID": "t"}
        sign_in = signed_in({"auth_source": "env"}, names, home)
        assert (sign_in.client_id, sign_in.secret, sign_in.tenant) == ("c", SECRET, "t")

    def test_given_both_spellings_then_the_one_of_azcollection_is_used(self, home: Path) -> None:
        sign_in = signed_in({}, {**AWX, "AZURE_CLIENT_SECRET": "other", "AZURE_TENANT_ID": "other"}, home)
        assert (sign_in.secret, sign_in.tenant) == (SECRET, "awx-t")

    def test_given_a_federated_token_file_then_no_secret_is_needed(self, home: Path) -> None:
        names = {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_FEDERATED_TOKEN_FILE": "/token"}
        assert signed_in({}, names, home).federated_token_file == "/token"

    def test_given_the_source_is_in_the_environment_then_it_is_used(self, with_file: Path) -> None:
        names = {**AWX, "ANSIBLE_AZURE_AUTH_SOURCE": "credential_file"}
        assert signed_in({}, names, with_file).source == "credential_file"

    def test_given_a_subscription_parameter_then_it_takes_precedence(self, home: Path) -> None:
        assert signed_in({"subscription_id": "mine"}, AWX, home).subscription_id == "mine"

    def test_given_parameters_when_the_source_is_the_environment_then_they_are_ignored(self, home: Path) -> None:
        assert signed_in({**PRINCIPAL, "auth_source": "env"}, AWX, home).client_id == "awx-c"


class TestFile:
    def test_given_a_profile_then_its_cloud_is_used(self, with_file: Path) -> None:
        sign_in = signed_in({"auth_source": "credential_file", "profile": "gov"}, {}, with_file)
        assert sign_in.cloud == CLOUDS["AzureUSGovernment"]

    @pytest.mark.parametrize("options", [{"profile": "no"}, {"profile": "no", "auth_source": "credential_file"}])
    def test_given_no_such_profile_then_the_error_names_it(self, options: dict[str, str], with_file: Path) -> None:
        with pytest.raises(OptionError, match=r"profile: 'no' is not in .*credentials"):
            signed_in(options, {}, with_file)

    def test_given_no_file_when_it_is_asked_for_then_that_is_an_error(self, home: Path) -> None:
        with pytest.raises(OptionError, match="'default' is not in"):
            signed_in({"auth_source": "credential_file"}, {}, home)

    def test_given_a_file_that_is_no_ini_then_the_error_does_not_show_its_lines(self, home: Path) -> None:
        (home / ".azure" / "credentials").write_text("secret %s\n" % SECRET)
        with pytest.raises(OptionError, match="is not an INI file") as error:
            signed_in({}, {}, home)
        assert SECRET not in str(error.value)


class TestCli:
    def test_given_the_cli_has_a_default_then_its_subscription_is_used(self, home: Path) -> None:
        profile = {"subscriptions": [{"id": "a", "isDefault": False}, {"id": "b", "isDefault": True}]}
        (home / ".azure" / "azureProfile.json").write_text(json.dumps(profile), encoding="utf-8-sig")
        assert signed_in({"auth_source": "cli"}, {}, home).subscription_id == "b"

    @pytest.mark.parametrize(("options", "chosen"), [({}, "c"), ({"subscription_id": "A"}, "A")])
    def test_given_it_says_where_the_subscription_is_then_that_cloud_is_used(
        self, options: dict[str, str], chosen: str, home: Path
    ) -> None:
        profile = {
            "subscriptions": [
                {"id": "a", "isDefault": False, "environmentName": "AzureUSGovernment"},
                {"id": "b", "isDefault": False, "environmentName": "AzureCloud"},
                {"id": "c", "isDefault": True, "environmentName": "AzureUSGovernment"},
            ]
        }
        (home / ".azure" / "azureProfile.json").write_text(json.dumps(profile))
        sign_in = signed_in({"auth_source": "cli", **options}, {"AZURE_CLOUD_ENVIRONMENT": "AzureChinaCloud"}, home)
        assert (sign_in.subscription_id, sign_in.cloud) == (chosen, CLOUDS["AzureUSGovernment"])

    def test_given_a_subscription_that_it_does_not_know_then_its_cloud_is_not_assumed(self, home: Path) -> None:
        profile = {"subscriptions": [{"id": "a", "isDefault": True, "environmentName": "AzureChinaCloud"}]}
        (home / ".azure" / "azureProfile.json").write_text(json.dumps(profile))
        sign_in = signed_in({"auth_source": "cli"}, {"AZURE_SUBSCRIPTION_ID": "b"}, home)
        assert (sign_in.subscription_id, sign_in.cloud) == ("b", PUBLIC)

    @pytest.mark.parametrize("content", ["", "[]", '{"subscriptions": [{}]}', '{"subscriptions": [1]}'])
    def test_given_the_cli_does_not_say_then_there_is_none(self, content: str, home: Path) -> None:
        (home / ".azure" / "azureProfile.json").write_text(content)
        assert signed_in({"auth_source": "cli"}, {}, home).subscription_id is None


class TestManagedIdentity:
    def test_given_no_client_then_it_is_the_one_of_the_machine(self, home: Path) -> None:
        assert signed_in({"auth_source": "msi"}, {}, home).client_id is None

    def test_given_a_client_then_it_is_that_one(self, home: Path) -> None:
        sign_in = signed_in({"auth_source": "msi", "client_id": "u"}, AWX, home)
        assert (sign_in.client_id, sign_in.secret) == ("u", None)


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({"client_id": "c"}, "tenant and secret, x509_certificate_path or federated_token_file"),
        ({"client_id": "c", "tenant": "t"}, "missing: secret, x509_certificate_path"),
        ({"client_id": "c", "secret": SECRET}, "missing: tenant"),
        ({"auth_source": "env"}, "missing: client_id and tenant and"),
    ],
)
def test_given_incomplete_credentials_then_the_error_names_what_is_missing(
    options: dict[str, str], missing: str, home: Path
) -> None:
    with pytest.raises(OptionError) as error:
        signed_in(options, {}, home)
    assert missing in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("source", ["auto", "env"])
def test_given_the_name_and_password_of_a_person_then_the_error_says_what_to_use_instead(
    source: str, home: Path
) -> None:
    injected = {"AZURE_AD_USER": "me@example", "AZURE_PASSWORD": SECRET, "AZURE_SUBSCRIPTION_ID": "s"}
    with pytest.raises(OptionError, match=r"auth_source env: ad_user: .* is not supported") as error:
        signed_in({"auth_source": source}, injected, home)
    assert "az login (auth_source cli)" in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize("option", ["ad_user", "password"])
def test_given_a_persons_name_or_password_in_the_task_then_it_is_refused_by_its_name(home: Path, option: str) -> None:
    principal = {"client_id": "c", "secret": "s", "tenant": "t"}
    with pytest.raises(OptionError, match=f"^{option}: signing in with a person's name and password is not") as error:
        choose({**principal, option: "never-shown"}, {}, str(home))
    assert "never-shown" not in str(error.value)


def test_given_options_of_azcollection_that_mean_nothing_here_then_one_warning_names_them(home: Path) -> None:
    options = {"client_id": "c", "secret": "s", "tenant": "t", "api_profile": "latest", "log_path": "/tmp/x"}
    assert choose(options, {}, str(home)).warnings == (
        "api_profile, log_path are not used by this collection and were ignored",
    )


def test_given_a_person_and_a_service_principal_then_the_principal_signs_in(home: Path) -> None:
    assert signed_in({}, {**AWX, "AZURE_AD_USER": "me@example"}, home).client_id == "awx-c"


@pytest.mark.parametrize(
    ("options", "environment", "asked"),
    [
        ({}, {}, True),
        ({"disable_instance_discovery": True}, {}, False),
        ({}, {"AZURE_DISABLE_INSTANCE_DISCOVERY": "True"}, False),
        ({"disable_instance_discovery": False}, {"AZURE_DISABLE_INSTANCE_DISCOVERY": "true"}, True),
    ],
)
def test_given_instance_discovery_is_disabled_then_microsoft_is_not_asked_about_its_own_authority(
    options: dict[str, Any], environment: dict[str, str], asked: bool, home: Path
) -> None:
    assert signed_in({**PRINCIPAL, **options}, environment, home).cloud.asks_microsoft is asked


def test_given_an_invalid_flag_then_it_is_refused(home: Path) -> None:
    with pytest.raises(OptionError, match="disable_instance_discovery: 'maybe' is neither true nor false"):
        signed_in(PRINCIPAL, {"AZURE_DISABLE_INSTANCE_DISCOVERY": "maybe"}, home)


def test_given_an_unknown_source_then_it_is_refused(home: Path) -> None:
    with pytest.raises(OptionError, match="auth_source: 'vault' is not one of auto, cli"):
        signed_in({}, {"ANSIBLE_AZURE_AUTH_SOURCE": "vault"}, home)


class TestCredential:
    def test_given_a_secret_then_it_signs_in_at_the_clouds_authority(self) -> None:
        sign_in = SignIn("env", CLOUDS["AzureChinaCloud"], None, "c", "t", SECRET)
        assert make_credential(sign_in, TRANSPORT, Identity) == (
            "ClientSecretCredential",
            ("t", "c", SECRET),
            {"authority": "https://login.chinacloudapi.cn", "transport": TRANSPORT},
        )

    def test_given_a_custom_authority_then_microsoft_is_not_asked_about_it(self) -> None:
        cloud = read_cloud(None, authority="https://login.example")
        _unused, _unused, options = make_credential(SignIn("env", cloud, None, "c", "t", SECRET), TRANSPORT, Identity)
        assert options == {
            "authority": "https://login.example",
            "transport": TRANSPORT,
            "disable_instance_discovery": True,
        }

    @pytest.mark.parametrize("tenant", ["adfs", "0c5b1a2d-0000-4000-8000-000000000001"])
    def test_given_the_address_of_ad_fs_then_its_end_is_the_tenant(self, tenant: str) -> None:
        # As Azure Stack Hub tells it.
        cloud = read_cloud(None, authority="https://adfs.local.azurestack.external/adfs")
        _name, arguments, options = make_credential(
            SignIn("env", cloud, None, "c", tenant, SECRET), TRANSPORT, Identity
        )
        assert (arguments, options["authority"]) == (("adfs", "c", SECRET), "https://adfs.local.azurestack.external")

    def test_given_a_token_file_then_it_is_a_workload_identity(self) -> None:
        sign_in = SignIn("env", PUBLIC, None, "c", "t", federated_token_file="/token")
        name, _unused, options = make_credential(sign_in, TRANSPORT, Identity)
        assert name == "WorkloadIdentityCredential"
        assert options["token_file_path"] == "/token"

    def test_given_a_managed_identity_then_its_client_is_passed_on(self) -> None:
        assert make_credential(SignIn("msi", PUBLIC), TRANSPORT, Identity) == (
            "ManagedIdentityCredential",
            (),
            {"transport": TRANSPORT},
        )
        assert make_credential(SignIn("msi", PUBLIC, client_id="u"), TRANSPORT, Identity)[2]["client_id"] == "u"

    def test_given_the_cli_then_the_wait_for_it_is_limited(self) -> None:
        assert make_credential(SignIn("cli", PUBLIC), TRANSPORT, Identity) == (
            "AzureCliCredential",
            (),
            {"process_timeout": 60},
        )

    def test_given_the_cli_and_a_subscription_then_its_token_is_asked_for(self) -> None:
        assert make_credential(SignIn("cli", PUBLIC, "s"), TRANSPORT, Identity)[2]["subscription"] == "s"

    def test_given_a_library_that_cannot_ask_for_a_subscription_then_the_error_says_which_can(self) -> None:
        def old(*, process_timeout: int) -> Any:
            raise AssertionError(process_timeout)

        library = SimpleNamespace(AzureCliCredential=old)
        with pytest.raises(MissingLibrary, match=r"azure-identity 1\.21 or later"):
            make_credential(SignIn("cli", PUBLIC, "s"), TRANSPORT, lambda: library)

    def test_given_an_invalid_subscription_then_the_cli_is_not_asked(self) -> None:
        with pytest.raises(OptionError, match="subscription_id: 's;rm'"):
            make_credential(SignIn("cli", PUBLIC, "s;rm"), TRANSPORT)

    def test_given_no_certificate_file_then_the_error_names_it(self) -> None:
        sign_in = SignIn("env", PUBLIC, None, "c", "t", certificate_path="/no/such.pem")
        with pytest.raises(
            OptionError, match=r"signing in with a certificate of client c .auth_source env.: .*such.pem"
        ):
            make_credential(sign_in, TRANSPORT, Identity)

    def test_given_a_certificate_then_its_thumbprint_must_be_the_one_that_was_given(self, tmp_path: Path) -> None:
        pem, thumbprint = _certificate()
        path = tmp_path / "c.pem"
        path.write_bytes(pem)
        sign_in = SignIn("env", PUBLIC, None, "c", "t", certificate_path=str(path), thumbprint=thumbprint)
        name, _unused, options = make_credential(sign_in, TRANSPORT, Identity)
        assert name == "CertificateCredential"
        assert options["certificate_data"] == pem
        with pytest.raises(OptionError, match="thumbprint: AB:CD is not that of the certificate"):
            make_credential(sign_in._replace(thumbprint="AB:CD"), TRANSPORT, Identity)

    def test_given_a_file_that_is_no_certificate_then_that_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "c.pem"
        path.write_bytes(b"no")
        sign_in = SignIn("env", PUBLIC, None, "c", "t", certificate_path=str(path), thumbprint="AB")
        with pytest.raises(OptionError, match="signing in with a certificate"):
            make_credential(sign_in, TRANSPORT, Identity)

    def test_given_no_library_then_the_error_names_it(self) -> None:
        def missing() -> Any:
            raise MissingLibrary("azure-identity")

        with pytest.raises(MissingLibrary, match="azure-identity"):
            make_credential(SignIn("cli", PUBLIC), TRANSPORT, missing)


@pytest.mark.parametrize(
    ("sign_in", "said"),
    [
        (SignIn("env", PUBLIC, "s", "c", "t", SECRET), "a secret of client c (auth_source env)"),
        (SignIn("cli", PUBLIC), "the Azure CLI's login (auth_source cli)"),
        (SignIn("msi", PUBLIC), "managed identity (auth_source msi)"),
        (SignIn("msi", PUBLIC, client_id="c"), "managed identity c (auth_source msi)"),
        (SignIn("env", PUBLIC, None, "c", certificate_path="/c.pem"), "a certificate of client c (auth_source env)"),
        (SignIn("env", PUBLIC, None, "c"), "a federated token of client c (auth_source env)"),
    ],
)
def test_given_any_way_of_signing_in_then_its_description_has_no_secret(sign_in: SignIn, said: str) -> None:
    assert describe(sign_in) == said


def test_given_a_secret_then_it_is_among_what_must_not_be_seen() -> None:
    assert SECRET in SignIn("env", PUBLIC, "s", "c", "t", SECRET).secrets


class TestCloud:
    @pytest.mark.parametrize(
        ("name", "arm", "authority"),
        [
            (None, "https://management.azure.com", "https://login.microsoftonline.com"),
            ("azurecloud", "https://management.azure.com", "https://login.microsoftonline.com"),
            ("AzureUSGovernment", "https://management.usgovcloudapi.net", "https://login.microsoftonline.us"),
            ("AzureChinaCloud", "https://management.chinacloudapi.cn", "https://login.chinacloudapi.cn"),
        ],
    )
    def test_given_its_name_then_it_is_found(self, name: str | None, arm: str, authority: str) -> None:
        cloud = read_cloud(name)
        assert (cloud.arm, cloud.authority, cloud.asks_microsoft, cloud.verify) == (arm, authority, True, True)
        assert cloud.endpoints is None

    def test_given_another_name_then_the_error_says_what_to_give_instead(self) -> None:
        with pytest.raises(OptionError, match=r"cloud_environment: 'Mine' is not one of .* nor the address"):
            read_cloud("Mine")

    def test_given_the_authority_of_another_cloud_then_microsoft_knows_it(self) -> None:
        assert read_cloud(None, authority="https://login.microsoftonline.us/").asks_microsoft

    def test_given_an_address_then_the_cloud_is_to_be_asked_there(self) -> None:
        cloud = read_cloud("https://management.local.example:30005/")
        assert cloud.arm == "https://management.local.example:30005"
        assert cloud.endpoints == "https://management.local.example:30005/metadata/endpoints?api-version=2015-01-01"

    def test_given_an_address_without_tls_then_it_is_refused_by_its_option(self) -> None:
        with pytest.raises(OptionError, match=r"cloud_environment: 'http://.*' would send tokens"):
            read_cloud("http://management.local.example")

    def test_given_a_cloud_returns_its_addresses_then_it_is_complete(self) -> None:
        cloud = complete(read_cloud("https://arm.example"), TOLD)
        assert (cloud.arm, cloud.authority) == ("https://arm.example", "https://login.example")
        assert cloud.scope == "https://contoso.example/4de154de/.default"
        assert not cloud.asks_microsoft
        assert cloud.endpoints is None

    def test_given_an_audience_with_a_slash_at_its_end_then_that_is_part_of_it(self) -> None:
        told = {"authentication": {"loginEndpoint": "https://login.example", "audiences": ["https://a.example/"]}}
        assert complete(read_cloud("https://arm.example"), told).scope == "https://a.example//.default"

    def test_given_custom_addresses_as_well_then_they_are_used(self) -> None:
        cloud = complete(read_cloud("https://arm.example", "https://front.example", "https://login.own.example"), TOLD)
        assert (cloud.arm, cloud.authority) == ("https://front.example", "https://login.own.example")

    def test_given_a_sign_in_address_without_tls_then_no_secret_goes_there(self) -> None:
        told = {"authentication": {"loginEndpoint": "http://login.example", "audiences": ["a"]}}
        with pytest.raises(OptionError, match=r"loginEndpoint of cloud_environment: 'http://login\.example'"):
            complete(read_cloud("https://arm.example"), told)

    @pytest.mark.parametrize(
        "told",
        [
            None,
            "page",
            [],
            {},
            {"authentication": None},
            {"authentication": {"audiences": ["a"]}},
            {"authentication": {"loginEndpoint": "https://login.example", "audiences": []}},
            {"authentication": {"loginEndpoint": "https://login.example", "audiences": "a"}},
        ],
    )
    def test_given_another_answer_then_it_is_refused(self, told: Any) -> None:
        with pytest.raises(ValueError, match=r"^without authentication"):
            complete(read_cloud("https://arm.example"), told)

    def test_given_an_invalid_validation_mode_then_it_is_refused(self) -> None:
        with pytest.raises(OptionError, match="cert_validation_mode: 'maybe'"):
            read_cloud(None, cert_validation_mode="maybe")

    @pytest.mark.parametrize(
        "url",
        [
            "https://management.example",
            "https://[::1]:8443",
            "http://127.0.0.1:8",
            "http://127.9.9.9",
            "http://[::1]:8",
            "http://localhost:8080",
            "http://LOCALHOST",
        ],
    )
    def test_given_tls_or_this_machine_then_the_address_is_taken(self, url: str) -> None:
        assert read_url("base_url", " %s/ " % url) == url

    @pytest.mark.parametrize(
        "url", ["http://10.0.0.1", "http://management.azure.com", "http://127.0.0.1.example", "http://1"]
    )
    def test_given_plain_http_over_the_network_then_it_is_refused(self, url: str) -> None:
        with pytest.raises(OptionError, match=r"base_url: .* Plain http is for a simulator on this machine only"):
            read_url("base_url", url)

    @pytest.mark.parametrize(
        "url",
        [
            "",
            "arm",
            "ftp://x",
            "https://",
            "https://u:p@h",
            "https://h?q",
            "https://h#f",
            "https://h:x",
            "https://h:0",
            "https://[::1",
        ],
    )
    def test_given_something_that_is_no_address_then_it_is_refused(self, url: str) -> None:
        with pytest.raises(OptionError, match="base_url: "):
            read_url("base_url", url)


def _certificate() -> tuple[bytes, str]:
    """A throw-away certificate with its key, as PEM, and its thumbprint."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return pem, certificate.fingerprint(hashes.SHA1()).hex()
