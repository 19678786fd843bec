# SPDX-FileCopyrightText: 2026 The foghorn.azure_events contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Does blocking work stay beside the loop?"""

import json
import selectors
import subprocess
import sys
import threading
from typing import Any, Callable, Generator, List

import pytest
from edge_helpers import PATIENCE, environment_of_agent
from foghorn_agent.io.workers import Worker

Make = Callable[[Callable[[Any], Any]], Worker]


@pytest.fixture
def make() -> Generator[Make, None, None]:
    workers: List[Worker] = []

    def make(function: Callable[[Any], Any]) -> Worker:
        workers.append(Worker(function, "test"))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()


def wait_for(worker: Worker) -> List[Any]:
    with selectors.DefaultSelector() as selector:
        selector.register(worker, selectors.EVENT_READ)
        assert selector.select(PATIENCE), "the selector was not woken"
    return worker.collect()


def test_given_a_job_when_it_is_done_then_the_selector_wakes_and_the_value_is_collected_once(make: Make) -> None:
    worker = make(lambda job: job + 1)
    assert worker.submit(41)
    assert wait_for(worker) == [42]
    assert worker.collect() == []


def test_given_a_job_that_raises_when_collected_then_the_exception_is_the_result(make: Make) -> None:
    worker = make(int)
    worker.submit("rubbish")
    results = wait_for(worker)
    assert len(results) == 1
    assert isinstance(results[0], ValueError)
    assert worker.submit("1")
    assert wait_for(worker) == [1]


def test_given_a_job_under_way_when_another_is_submitted_then_it_is_refused_and_nothing_waits(make: Make) -> None:
    go_on = threading.Event()
    worker = make(lambda job: go_on.wait(PATIENCE) and job)
    assert worker.submit("first")
    assert worker.is_busy
    assert not worker.submit("second")
    assert worker.collect() == []
    go_on.set()
    assert wait_for(worker) == ["first"]
    assert not worker.is_busy


def test_given_a_result_that_nobody_took_when_a_job_is_submitted_then_it_is_refused(make: Make) -> None:
    worker = make(str)
    worker.submit(1)
    with selectors.DefaultSelector() as selector:
        selector.register(worker, selectors.EVENT_READ)
        selector.select(PATIENCE)
    assert not worker.submit(2)
    assert worker.collect() == ["1"]


def test_given_nothing_to_do_when_closed_then_its_thread_has_ended() -> None:
    before = threading.active_count()
    worker = Worker(str, "test")
    worker.close()
    assert threading.active_count() == before


def test_given_a_job_under_way_when_closed_then_nothing_waits_and_the_thread_ends_after_it() -> None:
    began, go_on = threading.Event(), threading.Event()
    threads: List[threading.Thread] = []

    def work(_job: Any) -> None:
        threads.append(threading.current_thread())
        began.set()
        go_on.wait(PATIENCE)

    worker = Worker(work, "test")
    worker.submit(None)
    assert began.wait(PATIENCE)
    worker.close()
    go_on.set()
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()


def test_given_a_worker_when_started_then_other_threads_keep_their_stack_size(make: Make) -> None:
    before = threading.stack_size()
    make(str)
    assert threading.stack_size() == before


def test_given_json_nested_without_end_when_a_worker_reads_it_then_it_is_an_error_and_not_the_end() -> None:
    """In a process of its own: were the stack too small, that process would not survive it."""
    program = """
import json, selectors, sys
from foghorn_agent.io.workers import Worker
worker = Worker(json.loads, "test")
for text in ("[" * 1000000, '{"a":' * 1000000):
    worker.submit(text)
    with selectors.DefaultSelector() as selector:
        selector.register(worker, selectors.EVENT_READ)
        selector.select()
    print(type(worker.collect()[0]).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment_of_agent(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout.decode().split() == ["RecursionError"] * 2


def test_given_a_value_of_none_when_collected_then_it_is_distinguished_from_no_result(make: Make) -> None:
    worker = make(json.loads)
    worker.submit("null")
    assert wait_for(worker) == [None]
