# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: BSD-2-Clause
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""What all modules of the control plane share: how they sign in, how they end, how they fail.

Ansible has no compiled code of a module: each task compiles all that is imported. So nothing is imported here that
only some modules need.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

from ..scheduled_events.deadline import Deadline, read_seconds
from ..scheduled_events.errors import DocumentError, OptionError
from .client import ArmClient, interrupted
from .cloud import CERT_VALIDATION_MODES
from .credentials import AUTH_SOURCES, choose
from .errors import ArmError, MissingLibrary, Unfinished
from .options import ArgumentSpec

Work = Callable[[ArmClient], Any]
"""What a module does once it has signed in. Returns its outcome."""
Report = Callable[[AnsibleModule, Any], dict[str, Any]]
"""Puts an outcome into a module's result."""

DEFAULT_TIMEOUT = 1800.0  # seconds
REQUIRED_LIBRARIES = "azure-identity, azure-mgmt-core and requests"


def make_module(arguments: ArgumentSpec, **rules: Any) -> AnsibleModule:
    """A module with these options and those of the sign-in.

    :param rules: what goes with what among the options, as AnsibleModule takes them
    """
    return AnsibleModule({**sign_in_arguments(), **arguments}, supports_check_mode=True, **rules)


def sign_in_arguments() -> ArgumentSpec:
    """The options for the sign-in, the cloud and the time limit."""
    return {
        "auth_source": {"type": "str", "choices": list(AUTH_SOURCES)},
        "profile": {"type": "str"},
        "subscription_id": {"type": "str"},
        "client_id": {"type": "str"},
        "secret": {"type": "str", "no_log": True},
        "tenant": {"type": "str"},
        "x509_certificate_path": {"type": "path"},
        "thumbprint": {"type": "str"},
        "federated_token_file": {"type": "path", "no_log": False},
        "cloud_environment": {"type": "str"},
        "adfs_authority_url": {"type": "str"},
        "base_url": {"type": "str"},
        "disable_instance_discovery": {"type": "bool"},
        "cert_validation_mode": {"type": "str", "choices": list(CERT_VALIDATION_MODES)},
        "timeout": {"type": "float", "default": DEFAULT_TIMEOUT},
        "api_profile": {"type": "str"},
        "log_mode": {"type": "str"},
        "log_path": {"type": "str"},
        "ad_user": {"type": "str"},
        "password": {"type": "str", "no_log": True},
    }


def progress_arguments() -> ArgumentSpec:
    """The option through which the module's action plugin shows progress."""
    return {"progress_file": {"type": "path"}}


def run_module(
    arguments: ArgumentSpec,
    prepare: Callable[[AnsibleModule], Work],
    report: Report = lambda _module, outcome: outcome,
    **rules: Any,
) -> None:
    """Do all that a module does: `make_module`, then `run_task`."""
    run_task(make_module(arguments, **rules), prepare, report)


def run_task(module: AnsibleModule, prepare: Callable[[AnsibleModule], Work], report: Report) -> None:
    """Check the options, sign in, do the work, and end the module: with the result, or with one clear error.

    :param prepare: checks the options, and returns the work
    :param report: of work that failed after it had changed something, too
    """
    with _clear_errors(module):
        work = prepare(module)
        timeout = read_seconds(module.params, "timeout")
        sign_in = choose(module.params)
        # The secrets that were not arguments of the module are unknown to Ansible so far.
        module.no_log_values.update(sign_in.secrets)
        warn(module, sign_in.warnings)
        with ArmClient(sign_in, Deadline(timeout)) as client:
            client.tell = _writer(module.params.get("progress_file"))
            try:
                with _sigterm_as_interrupt():
                    outcome = work(client)
            except KeyboardInterrupt:
                module.fail_json(msg=interrupted(client), **_sign_in_of(client), **_doubt(client))
            except Unfinished as error:
                cause = client if isinstance(error.__cause__, KeyboardInterrupt) else error.__cause__
                done = {**report(module, error.outcome), **_sign_in_of(client)}
                module.fail_json(msg=str(error), **done, **_doubt(cause))
            result = {**report(module, outcome), **_sign_in_of(client)}
    module.exit_json(**result)


def before_and_after(
    module: AnsibleModule, before: dict[str, Any], after: dict[str, Any], updated: list[str] | None = None
) -> dict[str, Any]:
    """The result of a module that sets a state, with the difference if it was asked for."""
    result: dict[str, Any] = {"before": before, "after": after}
    if module._diff:
        result["diff"] = {"before": before, "after": dict(after, updated_instances=updated) if updated else after}
    return result


def warn(module: AnsibleModule, warnings: tuple[str, ...]) -> None:
    """Make Ansible show them."""
    for warning in warnings:
        module.warn(warning)


def _sign_in_of(client: ArmClient) -> dict[str, Any]:
    return {"auth_source_used": client.sign_in.source, "subscription_id": client.known_subscription_id}


def _doubt(asked: object) -> dict[str, bool]:
    """The part of a failure for requests that Azure may carry out nevertheless.

    :param asked: the client, or an error of its
    """
    return {"may_still_happen": True} if getattr(asked, "may_have_begun", False) else {}


def _writer(path: str | None) -> Callable[[str], None]:
    """Writes a line to an existing file, in place of the one before. If it cannot, the work goes on."""

    def write(line: str) -> None:
        if path is not None:
            with suppress(OSError), open(path, "r+", encoding="utf-8") as file:
                # After a longer line, its end stays behind the new line for a moment.
                file.write(line + "\n")
                file.truncate()

    return write


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C: Ansible and AWX end a task with it, and the user wants to know its progress."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:
        # Only the main thread receives signals.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _clear_errors(module: AnsibleModule) -> Iterator[None]:
    try:
        yield
    except MissingLibrary as error:
        module.fail_json(msg="%s (%s)" % (missing_required_lib(REQUIRED_LIBRARIES), error))
    except ArmError as error:
        module.fail_json(msg=str(error), **_doubt(error))
    except (OptionError, DocumentError) as error:
        module.fail_json(msg=str(error))
