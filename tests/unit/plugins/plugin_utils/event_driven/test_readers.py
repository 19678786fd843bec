# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents, IMDS and Resource Graph are read for real: over HTTP, from servers that err and lie."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.errors import OptionError
from ansible_collections.foghorn.azure_events.plugins.module_utils.scheduled_events.signature import (
    NONCE_HEADER,
    SIGNATURE_HEADER,
    secret_of_question,
    sign_answer,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.dedup import Deduplicator
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.options import (
    Options,
    Remind,
    read_options,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.readers import (
    Agents,
    Reading,
    in_thread,
    open_reader,
)
from ansible_collections.foghorn.azure_events.plugins.plugin_utils.event_driven.watch import Reminders, news
from azure_simulator.arm import certificate
from azure_simulator.testing import Simulator

sys.path.append(str(Path(__file__).resolve().parents[3] / "roles" / "handler_agent"))

from real_agent import RealAgent, build

SECRET = b"a secret of more than thirty-two characters"
SUBSCRIPTION = "11111111-aaaa-4bbb-8ccc-555555555555"
TENANT = "99999999-aaaa-4bbb-8ccc-555555555555"
CLIENT = "cccccccc-aaaa-4bbb-8ccc-555555555555"
PATIENCE = 60.0  # seconds
EVENT = {
    "event_id": "AA-1",
    "event_type": "Reboot",
    "event_status": "Scheduled",
    "resources": ["web_0"],
    "phase": "drain",
}


def run(check: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(check, PATIENCE))


class FakeAgent:
    """Answers for the agents of many VMs, each at a path of its own."""

    def __init__(self) -> None:
        self.status: Any = {"events": [EVENT]}
        self.answer: web.Response | None = None
        self.asked: list[Mapping[str, str]] = []
        self.at_once = 0
        self.most_at_once = 0
        self.signs_with: bytes | None = None
        self.delay = 0.0
        self.url = ""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        await asyncio.sleep(self.delay)
        self.at_once -= 1
        if self.answer is not None:
            return self.answer
        body = json.dumps({"vm_name": request.match_info["name"], **self.status}).encode()
        headers = {}
        if self.signs_with is not None:
            headers[SIGNATURE_HEADER] = sign_answer(self.signs_with, request.headers.get(NONCE_HEADER, ""), body)
        return web.Response(body=body, headers=headers)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[FakeAgent]:
        app = web.Application()
        app.router.add_get("/{name}/status", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            self.url = "http://127.0.0.1:%d" % runner.addresses[0][1]
            yield self
        finally:
            await runner.cleanup()


def options(agents: Mapping[str, str], **more: Any) -> Options:
    return Options("agents", 10.0, 30.0, None, agents, parallel=50)._replace(**more)


async def read_once(agent: FakeAgent, count: int = 1, **more: Any) -> Reading:
    async with agent.serving():
        agents = Agents(options({"web_%d" % n: "%s/web_%d" % (agent.url, n) for n in range(count)}, **more), lambda: 0)
        try:
            return await agents.read()
        finally:
            await agents.close()


class TestAgents:
    def test_given_agents_then_all_their_events_are_found_with_a_limited_number_asked_at_a_time(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.delay = 0.02
            agent.status = {"events": [{**EVENT, "resources": ["web_%d" % number for number in range(12)]}]}
            reading = await read_once(agent, 12, parallel=3)

            assert len(reading.found) == 12
            assert (reading.found[0].event.event_id, reading.found[0].reported_by) == ("AA-1", "agent")
            assert [one.reporter for one in reading.found] == ["web_%d" % number for number in range(12)]
            assert agent.most_at_once <= 3
            assert reading.problems == {}

        run(check())

    def test_given_an_event_of_others_then_it_is_not_taken_from_this_agent(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.status = {"events": [{**EVENT, "resources": ["web_1"]}, {**EVENT, "resources": []}, EVENT]}
            reading = await read_once(agent)

            assert [one.event.resources for one in reading.found] == [("web_0",)]

        run(check())

    def test_given_more_events_than_a_vm_can_have_then_none_of_the_agent_is_taken(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.status = {"events": [{**EVENT, "event_id": str(number)} for number in range(101)]}
            reading = await read_once(agent)

            assert reading.found == []
            assert "it lists 101 events" in next(iter(reading.problems.values()))

        run(check())

    def test_given_an_event_that_is_over_for_the_agent_then_it_is_no_longer_returned(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.status = {"events": [{**EVENT, "phase": "ended"}, {**EVENT, "phase": "withdrawn"}]}

            assert (await read_once(agent)).found == []

        run(check())

    def test_given_the_agent_of_another_vm_at_an_address_then_nothing_of_it_is_believed(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.status["vm_name"] = "web_00"
            reading = await read_once(agent)

            assert reading.found == []
            assert "it is the agent of web_00: correct its URL" in "".join(reading.problems.values())

        run(check())

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (lambda: web.Response(status=500, reason="Down"), "500 Down"),
            (lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), "302"),
            (lambda: web.Response(text="no JSON"), "not JSON"),
            (lambda: web.Response(text="{}"), "no list of events"),
            (lambda: web.Response(text='{"vm_name": "web_0", "events": [1]}'), "expected an object"),
            (lambda: web.Response(text='{"events": [' + "1," * 600_000 + "1]}"), "more than 1024 KiB"),
            (lambda: web.Response(body=b"\xff\xfe", headers={"Content-Encoding": "gzip"}), "not JSON"),
        ],
    )
    def test_given_an_answer_that_is_no_status_then_it_is_reported_and_nothing_is_found(
        self, answer: Callable[[], web.Response], said: str
    ) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.answer = answer()
            reading = await read_once(agent)

            assert reading.found == []
            ((place, problem),) = reading.problems.items()
            assert place.startswith("the agent of web_0 at http://127.0.0.1:")
            assert said in problem

        run(check())

    def test_given_an_agent_that_is_slow_then_its_time_ends_and_the_others_are_found(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.delay = PATIENCE
            reading = await read_once(agent, timeout=0.1)

            assert "no answer within 0.1 s" in "".join(reading.problems.values())

        run(check())

    def test_given_nobody_listens_then_it_is_asked_less_and_less_often_until_it_answers(self) -> None:
        async def check() -> None:
            now = 0.0
            agent = FakeAgent()
            async with agent.serving():
                agent.answer = web.Response(status=503)
                agents = Agents(options({"web_0": agent.url + "/web_0"}), lambda: now)
                asked = []
                for second in range(0, 2500, 10):
                    now = float(second)
                    if second == 1900:
                        agent.answer = None
                    before = len(agent.asked)
                    reading = await agents.read()
                    if len(agent.asked) > before:
                        asked.append(second)
                    if agent.answer is not None:
                        agent.answer = web.Response(status=503)
                await agents.close()

            assert asked[:7] == [0, 10, 30, 70, 150, 310, 610]
            assert asked[7:12] == [910, 1210, 1510, 1810, 2110], "every five minutes"
            assert asked[12:15] == [2120, 2130, 2140], "it answers again"
            assert reading.found
            assert reading.problems == {}

        run(check())

    def test_given_it_is_cancelled_while_agents_are_silent_then_it_ends_at_once_and_closes_the_connections(
        self,
    ) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.delay = PATIENCE
            async with agent.serving():
                agents = Agents(options({"web_0": agent.url + "/web_0"}), lambda: 0)
                task = asyncio.ensure_future(agents.read())
                while not agent.asked:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await agents.close()

        run(check())

    def test_given_aiohttp_is_not_installed_then_that_is_what_is_reported(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "aiohttp", None)

        with pytest.raises(OptionError, match=r"^source: agents needs the Python library aiohttp"):
            open_reader(options({"web_0": "http://127.0.0.1:1"}))


class TestSecret:
    def test_given_a_secret_then_the_question_is_signed_and_a_signed_answer_is_believed(self) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.signs_with = SECRET
            reading = await read_once(agent, secrets=(SECRET,))

            asked = {name.lower(): value for name, value in agent.asked[0].items()}
            assert secret_of_question((SECRET,), asked, "WEB_0") == SECRET
            assert len(reading.found) == 1

        run(check())

    @pytest.mark.parametrize("status", [401, 403])
    def test_given_a_secret_when_the_agent_refuses_the_question_then_it_is_reported_what_to_compare(
        self, status: int
    ) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.answer = web.Response(status=status)
            reading = await read_once(agent, secrets=(SECRET,))

            (problem,) = reading.problems.values()
            assert problem == f"answered {status}: does it hold the same secret, and is it web_0?"

        run(check())

    @pytest.mark.parametrize("signs_with", [None, b"another secret of thirty-two characters"])
    def test_given_an_answer_that_is_not_signed_with_it_then_nothing_of_it_is_believed(
        self, signs_with: bytes | None
    ) -> None:
        async def check() -> None:
            agent = FakeAgent()
            agent.signs_with = signs_with
            reading = await read_once(agent, secrets=(SECRET,))

            assert reading.found == []
            assert "give the agent the same" in "".join(reading.problems.values())

        run(check())


class TestRealAgent:
    def test_given_an_agent_and_a_source_with_the_members_secret_then_the_source_trusts_the_answer(
        self, tmp_path: Path
    ) -> None:
        program = tmp_path / "program"
        build(program)
        with Simulator({"vms": [{"name": "web_0", "address": "127.0.101.3"}]}) as azure:
            event_id = azure.event("Reboot", "web_0")["event_id"]
            agent = RealAgent(program, tmp_path / "agent", azure.imds["web_0"])
            with contextlib.closing(agent):
                agent.begin()

                async def check() -> None:
                    given = {"agents": {"WEB_0": agent.url}, "secret_file": str(agent.secret_file)}
                    reader = open_reader(read_options(given, print), lambda: next(clock))
                    reading = await reader.read()
                    while not reading.found:
                        await asyncio.sleep(0.1)
                        reading = await reader.read()
                    await reader.close()
                    assert [one.event.event_id for one in reading.found] == [event_id]
                    assert reading.problems == {}

                # So that it is asked again at once after it was not there yet.
                clock = itertools.count(step=1000.0)
                run(check())


class TestOtherSources:
    def test_given_a_metadata_service_then_its_events_are_found(self) -> None:
        with Simulator({"vms": [{"name": "web_0", "address": "127.0.101.1"}]}) as azure:
            azure.event("Reboot", "web_0")
            given = {"source": "imds", "endpoint": azure.imds["web_0"], "interval": 1}

            async def check() -> None:
                (found,) = (await open_reader(read_options(given, print)).read()).found
                assert (found.event.event_type, found.reported_by, found.resource_id) == ("Reboot", "imds", None)

            run(check())

    def test_given_resource_graph_then_events_are_found_with_their_resource_and_history_as_such(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        throwaway = certificate.make(tmp_path)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(throwaway.certificate))
        publish = {"eventGridAndResourceGraph": {"enable": True, "scheduledEventsApiVersion": "2024-07-09"}}
        properties = {"scheduledEventsPolicy": {"scheduledEventsAdditionalPublishingTargets": publish}}
        config = {
            "vms": [
                {"name": "db", "address": "127.0.101.2"},
                {"name": "cheap", "address": "127.0.101.3", "spot": True},
            ],
            "arm": {
                "subscription_id": SUBSCRIPTION,
                "tenant_id": TENANT,
                "management_groups": {"shop": [SUBSCRIPTION]},
                "clients": [{"client_id": CLIENT, "secret": "of-no-use-elsewhere"}],
                "tls": {"certificate": str(throwaway.certificate), "private_key": str(throwaway.private_key)},
                "virtual_machines": [{"name": name, "properties": properties} for name in ("db", "cheap")],
            },
        }
        with Simulator(config) as azure:
            first = azure.event("Reboot", "db")["event_id"]
            azure.withdraw(first)
            azure.event("Redeploy", "db")
            azure.event("SpotRebalanceRecommendation", "cheap")
            given = {
                "source": "resource_graph",
                "base_url": azure.arm_tls,
                "adfs_authority_url": azure.arm_tls,
                "client_id": CLIENT,
                "secret": "of-no-use-elsewhere",
                "tenant": TENANT,
            }

            async def check(**places: Any) -> None:
                found = (await open_reader(read_options({**given, **places}, print)).read()).found
                assert [(one.event.event_type, one.is_finished) for one in found] == [
                    ("Reboot", True),
                    ("Redeploy", False),
                    ("SpotRebalanceRecommendation", False),
                ]
                told = [one["azure_maintenance"] for one in news(found[2:], Deduplicator(), None, datetime.now(UTC))]
                assert [(one["event_type"], one["resources"], one["not_before"]) for one in told] == [
                    ("SpotRebalanceRecommendation", ["cheap"], None)
                ]
                assert found[0].resource_id is not None
                assert found[0].resource_id.endswith("/virtualMachines/db")
                assert found[0].group_id is not None

            run(check(subscriptions=[SUBSCRIPTION]))
            run(check(management_group="shop"))

    def test_given_lifecycle_hooks_then_what_azure_asks_is_reported_once_in_each_state_and_again_while_it_waits(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        throwaway = certificate.make(tmp_path)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(throwaway.certificate))
        kind = "UpgradeAutoOSRollingBatchStarting"
        config = {
            "clock": {"manual": True},
            "vms": [{"name": "web_{0..2}", "address": "127.0.101.16/29", "scale_set": "web"}],
            "arm": {
                "subscription_id": SUBSCRIPTION,
                "tenant_id": TENANT,
                "clients": [{"client_id": CLIENT, "secret": "of-no-use-elsewhere"}],
                "tls": {"certificate": str(throwaway.certificate), "private_key": str(throwaway.private_key)},
                "lifecycle_hook_events": [{"scale_set": "web", "type": kind, "vms": ["web_0", "web_1"]}],
            },
        }
        with Simulator(config) as azure:
            given = {
                "source": "lifecycle_hooks",
                "scale_sets": [{"resource_group": "rg", "name": name} for name in ("gone", "web")],
                "base_url": azure.arm_tls,
                "adfs_authority_url": azure.arm_tls,
                "client_id": CLIENT,
                "secret": "of-no-use-elsewhere",
                "tenant": TENANT,
                "subscription_id": SUBSCRIPTION,
            }
            memory, reminders = Deduplicator(), Reminders(Remind(300, 7200))

            async def check() -> None:
                reader = open_reader(read_options(given, print))

                async def told(moment: float) -> list[Any]:
                    reminders.look(moment)
                    reading = await reader.read()
                    assert list(reading.problems) == ["the scale set gone"]
                    announced = news(reading.found, memory, None, datetime.now(UTC), reminders)
                    return [one["azure_maintenance"] for one in announced]

                (first,) = await told(0)
                assert first["kind"] == "lifecycle_hook"
                assert (first["event_type"], first["event_status"]) == (kind, "Active")
                assert first["resources"] == ["web_0", "web_1"]
                assert first["resource_id"].endswith("/virtualMachineScaleSets/web")
                assert first["seconds_until_start"] == pytest.approx(1800, abs=60)
                assert await told(10) == []
                (again,) = await told(301)
                assert again["event_id"] == first["event_id"]
                azure.advance(1801)
                (last,) = await told(302)
                assert (last["event_status"], last["resources"]) == ("Completed", [])
                assert await told(900) == []
                # If the start was not announced, the end is not announced either.
                found = (await reader.read()).found
                assert news(found, Deduplicator(), None, datetime.now(UTC)) == []

            run(check())


class TestThreads:
    def test_given_a_blocking_call_is_cancelled_then_nobody_waits_for_it_and_it_is_notified(self) -> None:
        ended = threading.Event()

        def block(stopped: threading.Event) -> None:
            if stopped.wait(PATIENCE):
                ended.set()

        async def check() -> None:
            task = asyncio.ensure_future(in_thread(block))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        run(check())

        assert ended.wait(PATIENCE)

    def test_given_a_blocking_call_fails_then_its_caller_gets_the_error(self) -> None:
        def fail(_stopped: threading.Event) -> None:
            raise OSError("no route")

        async def check() -> None:
            with pytest.raises(OSError, match="no route"):
                await in_thread(fail)

        run(check())
