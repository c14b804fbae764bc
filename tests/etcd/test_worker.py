"""The thread that does a store's blocking work."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest
from patience import SECONDS, bounded

from etcd.durable import Worker


async def call(worker: Worker, work) -> Exception | None:
    """Have the worker do something, and return what it reports."""
    reported: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
    worker.submit(work, reported.set_result)
    return await reported


@bounded
async def test_work_is_done_in_order_in_one_named_thread_and_reported_in_the_loop():
    worker = Worker("writer")
    threads: list[tuple[int, threading.Thread]] = []
    reports: list[tuple[int, threading.Thread]] = []

    def note(notes: list[tuple[int, threading.Thread]], number: int, *_: object) -> None:
        notes.append((number, threading.current_thread()))

    for number in range(5):
        worker.submit(partial(note, threads, number), partial(note, reports, number))
    assert await call(worker, lambda: None) is None
    worker.stop()
    assert [number for number, _ in threads] == [number for number, _ in reports] == [0, 1, 2, 3, 4]
    assert {thread.name for _, thread in threads} == {"writer"}
    assert {thread for _, thread in reports} == {threading.current_thread()}


@bounded
async def test_what_fails_is_reported_and_the_next_is_done():
    worker = Worker("writer")
    error = RuntimeError("out of luck")

    def fail() -> None:
        raise error

    assert await call(worker, fail) is error
    assert await call(worker, lambda: None) is None
    worker.stop()


def waiting_for(gate: threading.Event) -> Callable[[], None]:
    def wait() -> None:
        gate.wait(SECONDS)

    return wait


@bounded
async def test_what_was_submitted_is_done_before_a_worker_stops():
    worker = Worker("writer")
    gate = threading.Event()
    done: list[str] = []
    worker.submit(waiting_for(gate), lambda _: done.append("reported"))
    worker.submit(lambda: done.append("done"), lambda _: done.append("reported"))
    gate.set()
    worker.stop()
    assert done == ["done"]
    await asyncio.sleep(0)
    assert done == ["done", "reported", "reported"]


def test_a_worker_whose_loop_is_closed_ends_without_a_word(monkeypatch: pytest.MonkeyPatch):
    uncaught: list[object] = []
    monkeypatch.setattr(threading, "excepthook", uncaught.append)
    gate = threading.Event()

    async def begin() -> Worker:
        worker = Worker("writer")
        worker.submit(waiting_for(gate), lambda _: None)
        return worker

    worker = asyncio.run(begin())
    gate.set()
    worker.stop()
    assert uncaught == []


@bounded
async def test_a_worker_that_nobody_stops_does_not_keep_its_process_alive():
    worker = Worker("a writer to look at")
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "a writer to look at"] == [True]
    worker.stop()
    assert [thread for thread in threading.enumerate() if thread.name == "a writer to look at"] == []
