# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
# PRIVATE to this collection: it may change or go at any time. Do not import it from elsewhere.
"""Finds the job of the same template that waits until this job of an automation controller has ended.

The controller is asked with the credential that the job was given in its environment, as the collection awx.awx reads
it. Its answer decides nothing but whether this job has to go on waiting.
"""

import json
import os
import time
import urllib.parse
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError

from ansible.module_utils.urls import open_url

# Seconds between two questions, and within which each is answered.
ASKED_EVERY = 30.0
_TIMEOUT = 10.0
# Bytes: a job has some kilobytes.
_LONGEST_ANSWER = 4 * 1024 * 1024
# ansible-rulebook adds this variable to the job that it launches for an event.
_OF_A_LAUNCH = "ansible_eda"
# The variables that decide what a job does.
_LAUNCHED_WITH = (
    "job_template",
    "job_type",
    "inventory",
    "project",
    "playbook",
    "scm_branch",
    "limit",
    "job_tags",
    "skip_tags",
    "start_at_task",
)


class Job(NamedTuple):
    """A job of a template that never has two jobs running at a time."""

    number: int
    template: int


class LaterJobs:
    """The jobs that wait behind this job. Times are in seconds."""

    def __init__(self, job: Job, environment: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._job = job
        self._environment = environment
        self._clock = clock
        self._asks_at = 0.0

    def is_known(self) -> bool:
        """Whether this job has a credential to ask with."""
        return bool(_variable(self._environment, "HOST")) and bool(_credential(self._environment))

    def next(self) -> int | None:
        """The number of the first waiting job that will do this job's work; None if there is none, or it is too early
        to ask.

        :raises OSError: if the controller does not answer, or refuses to
        :raises ValueError: if its answer cannot be understood
        """
        now = self._clock()
        if now < self._asks_at or not self.is_known():
            return None
        self._asks_at = now + ASKED_EVERY
        try:
            return _first_alike(self._ask(), self._job)
        except HTTPException as error:
            raise ValueError("it has no usable answer: %r" % error) from error

    def _ask(self) -> Any:
        host = _variable(self._environment, "HOST")
        base = host if "://" in host else "https://" + host
        prefix = self._environment.get("CONTROLLER_OPTIONAL_API_URLPATTERN_PREFIX") or "/api/"
        # This job too, to compare it with the others.
        wanted = {
            "job_template": self._job.template,
            "id__gte": self._job.number,
            "status__in": "new,pending,waiting,running",
            "order_by": "id",
            "page_size": 200,
        }
        verify = _variable(self._environment, "VERIFY_SSL").strip().lower()
        try:
            answer = open_url(
                "%s/%s/v2/jobs/?%s" % (base.rstrip("/"), prefix.strip("/"), urllib.parse.urlencode(wanted)),
                headers={"Accept": "application/json", **_credential(self._environment).get("headers", {})},
                **_credential(self._environment).get("options", {}),
                validate_certs=verify not in ("0", "false", "no", "off", "n", "f"),
                # No other server gets the credential.
                follow_redirects="none",
                timeout=_TIMEOUT,
            )
        except HTTPError as error:
            # It keeps the connection open.
            error.close()
            raise
        with answer:
            text = answer.read(_LONGEST_ANSWER + 1)
        if len(text) > _LONGEST_ANSWER:
            raise ValueError("it has more than %d bytes" % _LONGEST_ANSWER)
        return json.loads(text)


def later_jobs_of(run: Mapping[str, Any]) -> LaterJobs | None:
    """The jobs that wait behind a run, see `job_of`; None if the run is not such a job."""
    job = job_of(run)
    return LaterJobs(job, os.environ, time.monotonic) if job else None


def job_of(run: Mapping[str, Any]) -> Job | None:
    """The job of a run, see `describe_run`; None unless its template never has two jobs at a time."""
    job = (run.get("process") or {}).get("job") or {}
    try:
        return Job(int(job["id"]), int(job["template"]))
    except (KeyError, TypeError, ValueError):
        return None


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get("CONTROLLER_" + name) or environment.get("TOWER_" + name) or ""


def _credential(environment: Mapping[str, str]) -> dict[str, Any]:
    token = _variable(environment, "OAUTH_TOKEN")
    if token:
        return {"headers": {"Authorization": "Bearer " + token}}
    user, password = _variable(environment, "USERNAME"), _variable(environment, "PASSWORD")
    if user and password:
        return {"options": {"url_username": user, "url_password": password, "force_basic_auth": True}}
    return {}


def _first_alike(answer: Any, job: Job) -> int | None:
    """The first job that waits and was launched as this one was."""
    try:
        found = {int(one["id"]): one for one in answer["results"] if one["job_template"] == job.template}
        own = _launched_with(found[job.number])
        waiting = [
            number
            for number, one in sorted(found.items())
            if number > job.number and one["status"] in ("new", "pending", "waiting") and _launched_with(one) == own
        ]
    except (KeyError, TypeError) as error:
        raise ValueError("its answer has no %s" % error) from error
    return waiting[0] if waiting else None


def _launched_with(job: Mapping[str, Any]) -> list[Any]:
    variables = json.loads(job["extra_vars"] or "{}")
    variables.pop(_OF_A_LAUNCH, None)
    return [variables, *(job[name] for name in _LAUNCHED_WITH)]
