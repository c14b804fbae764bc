"""The processes that run mutants: slots that run one at a time, each in a fork, with limits.

A slot has imported what others wrote and nothing of ours. A fork of it has collected the tests; each mutant inside
of a function runs in a fork of that fork, where the function's code is swapped. A mutant that is carried out at import
runs in a fork of the slot, which imports everything with the changed module. Both kinds of runner lead a group of
processes, which is killed when the mutant is done.
"""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

import pytest

from mutation.coverage_map import Recorder, Test
from mutation.guard import Guard, die_with_parent
from mutation.install import Functions, SwapError, functions_under, hand_down, hook, swap
from mutation.mutants import Mutant
from mutation.pytest_run import (
    BROKEN,
    FAILED,
    PASSED,
    START,
    UNCOLLECTED,
    Failures,
    Send,
    arguments,
    leave,
    quiet,
    report_to,
    run_fresh,
    run_items,
    settle_hypothesis,
)

_PRELOADED = [
    "aiohttp.web",
    "cel_expr_python",
    "cryptography.x509",
    "etcd3",
    "hypothesis.stateful",
    "kubernetes_validate",
    "looptime",
    "orjson",
    "prometheus_client",
    "re2",
    "pytest_asyncio.plugin",
    "pytest_aiohttp.plugin",
    "sortedcontainers",
    "uvloop",
    "yaml",
    "yarl",
]

KILLED, SURVIVED, TIMEOUT, ERROR = "killed", "survived", "timeout", "error"
UNSOUND = "unsound"
"""A verdict: the test that failed fails without the mutant as well, so it says nothing."""

_FRESH = "fresh"
"""A verdict of the fork that has collected the tests: this mutant has to be imported."""

_IMPORTING = 90.0
"""Seconds that a fork may take until its first test starts."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a mutant, and the test or error that decided it."""

    status: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A mutant and the tests that may notice it; without the mutant it is a control."""

    mutant: Mutant
    tests: Sequence[Test]
    fresh: bool
    control: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """The time that a test may take: so many seconds, and so many times what it took without the mutant."""

    seconds: float = 5.0
    times: float = 8.0

    def of(self, test: Test) -> float:
        """Return the seconds that a test may take."""
        return self.seconds + self.times * test.seconds


def preload() -> None:
    """Import what others wrote, once for all forks."""
    for name in _PRELOADED:
        with suppress(ImportError):
            import_module(name)


def forked(work: Callable[[Send], None], guard: Guard) -> tuple[int, Connection]:
    """Start a fork that leads a group of processes; return its id and what it says."""
    ours, its = Pipe(duplex=False)
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        os.setsid()
        guard.watch(os.getpid())
        die_with_parent()
        ours.close()
        quiet()
        send = report_to(its)
        leave(send, lambda: work(send))
    its.close()
    return process, ours


def end(process: int, guard: Guard) -> None:
    """Kill a fork and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)
    guard.leave(process)
    os.waitpid(process, 0)


def judge(fork: tuple[int, Connection], tests: Sequence[Test], limits: Limits, guard: Guard) -> Verdict:
    """Follow a fork until it has a verdict or a test takes too long."""
    process, said = fork
    seconds = {test.id: limits.of(test) for test in tests}
    longest = max(seconds.values(), default=0.0)  # of a test that there is only with the mutant
    current, deadline = "", monotonic() + _IMPORTING
    try:
        while said.poll(max(0.0, deadline - monotonic())):
            word, detail = said.recv()
            if word == START:
                current, deadline = detail, monotonic() + seconds.get(detail, longest)
            else:
                return Verdict({PASSED: SURVIVED, FAILED: KILLED, BROKEN: ERROR}.get(word, word), detail)
    except EOFError:
        return Verdict(ERROR, f"the runner died in {current or 'its beginning'}")
    finally:
        end(process, guard)
        said.close()
    return Verdict(TIMEOUT, current)


class Slot:
    """Runs mutants one after the other; lives in a process of its own."""

    def __init__(self, root: Path, test_files: Sequence[str], limits: Limits, guard: Guard) -> None:
        """Take the test files of all jobs."""
        self._guard = guard
        self._root = root
        self._test_files = test_files
        self._limits = limits
        self._temp = Path(tempfile.mkdtemp(prefix="mutants-"))
        self._collected: Connection | None = None
        self._sound: dict[tuple[str, bool], bool] = {}

    def run(self, job: Job) -> Verdict:
        """Return the verdict on a mutant."""
        verdict = self._tried(job)
        failed = [test for test in job.tests if test.id == verdict.by]
        if verdict.status in {KILLED, TIMEOUT} and failed and not self._is_sound(failed[0], fresh=job.fresh, job=job):
            return Verdict(UNSOUND, verdict.by)
        return verdict

    def _is_sound(self, test: Test, *, fresh: bool, job: Job) -> bool:
        """Return whether a test passes in such a fork without a mutant; each is tried once."""
        if (test.id, fresh) not in self._sound:
            verdict = self._tried(Job(job.mutant, [test], fresh, control=True))
            self._sound[test.id, fresh] = verdict.status == SURVIVED
        return self._sound[test.id, fresh]

    def _tried(self, job: Job) -> Verdict:
        if not job.fresh:
            verdict = self._swapped(job)
            if verdict.status != _FRESH:
                return verdict
        return self._imported(job)

    def close(self) -> None:
        """Remove what the tests left behind."""
        shutil.rmtree(self._temp, ignore_errors=True)

    def _imported(self, job: Job) -> Verdict:
        def work(send: Send) -> None:
            module = module_of(job.mutant.file)
            if not job.control:
                code = job.mutant.code(self._root)
                hook(module, code)
                hand_down(module, code, self._temp / "mutant")
            tests = [test.id for test in job.tests]
            run_fresh("" if job.control else module, tests, self._temp / "run", send)

        verdict = judge(forked(work, self._guard), job.tests, self._limits, self._guard)
        if verdict.status == UNCOLLECTED:
            return self._uncollected(job, verdict)
        return verdict

    def _uncollected(self, job: Job, verdict: Verdict) -> Verdict:
        """Tests that cannot be had are a kill if they can be had without the mutant."""

        def work(send: Send) -> None:
            code = pytest.main(["--collect-only", *arguments({test.file for test in job.tests}, self._temp / "run")])
            send(PASSED if code == 0 else BROKEN, verdict.by)

        without = judge(forked(work, self._guard), (), self._limits, self._guard)
        return Verdict(KILLED, "importing it") if without.status == SURVIVED else Verdict(ERROR, verdict.by)

    def _swapped(self, job: Job) -> Verdict:
        if self._collected is None:
            self._collected = self._collect()
        self._collected.send(job)
        try:
            verdict: Verdict = self._collected.recv()
        except EOFError:
            self._collected = None
            return Verdict(ERROR, "the process that has collected the tests died")
        return verdict

    def _collect(self) -> Connection:
        """Start the fork that collects the tests and then runs one mutant after the other."""
        ours, its = Pipe()
        if os.fork() == 0:
            die_with_parent()
            ours.close()
            quiet()
            leave(lambda *_: None, lambda: self._serve(its))
        its.close()
        return ours

    def _serve(self, jobs: Connection) -> None:
        settle_hypothesis()
        pytest.main(
            arguments(self._test_files, self._temp / "collected"),
            plugins=[_Server(self._root, jobs, self._limits, self._temp, self._guard)],
        )


class _Server:
    """A plug-in that takes the place of pytest's loop: runs one mutant after the other, each in a fork."""

    def __init__(self, root: Path, jobs: Connection, limits: Limits, temp: Path, guard: Guard) -> None:
        self._guard = guard
        self._root = root
        self._jobs = jobs
        self._limits = limits
        self._temp = temp
        self._failures = Failures()
        self._functions: Functions = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.register(self._failures)
        self._functions = functions_under(self._root)
        with suppress(EOFError):
            while True:
                job: Job = self._jobs.recv()
                fork = forked(partial(self._work, session, job), self._guard)
                self._jobs.send(judge(fork, job.tests, self._limits, self._guard))
        return True

    def _work(self, session: pytest.Session, job: Job, send: Send) -> None:
        if not job.control and not self._install(job.mutant):
            send(_FRESH, "")
            return
        basetemp = self._temp / "swapped"
        shutil.rmtree(basetemp, ignore_errors=True)
        basetemp.mkdir()
        session.config._tmp_path_factory._basetemp = basetemp  # type: ignore[attr-defined]
        run_items(session, [test.id for test in job.tests], self._failures, send)

    def _install(self, mutant: Mutant) -> bool:
        """Give the changed code to the functions that are there; return False if it has to be imported."""
        module, code = module_of(mutant.file), mutant.code(self._root)
        try:
            swapped = swap(self._functions, code)
        except SwapError:
            return False
        if not swapped and module in sys.modules:
            return False
        hook(module, code)
        hand_down(module, code, self._temp / "mutant")
        return True


def start_slot(new: Callable[[], Slot], others: Sequence[Connection] = ()) -> tuple[int, Connection]:
    """Start a slot; return its process, and what takes jobs and gives verdicts until it is closed."""
    ours, its = Pipe()
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        die_with_parent()
        for each in (ours, *others):
            each.close()
        leave(lambda *_: None, lambda: _run_slot(new(), its))
    its.close()
    return process, ours


def _run_slot(slot: Slot, jobs: Connection) -> None:
    try:
        with suppress(EOFError, KeyboardInterrupt):
            while True:
                jobs.send(slot.run(jobs.recv()))
    finally:
        slot.close()


def record(root: Path, test_files: Sequence[str], guard: Guard) -> tuple[int, Connection]:
    """Start a fork that runs test files and puts their coverage into the cache."""

    def work(send: Send) -> None:
        with tempfile.TemporaryDirectory(prefix="mutants-") as temp:
            settle_hypothesis()
            recorder = Recorder(root, Path(temp) / "coverage")
            code = pytest.main(arguments(test_files, Path(temp) / "run"), plugins=[recorder])
            recorder.save(test_files)
            send(PASSED if code in {0, 1, 5} else BROKEN, f"pytest ended with {code!r}")

    return forked(work, guard)


def judge_recording(process: int, said: Connection, guard: Guard) -> Verdict:
    """Return what a fork that records coverage came to, once it has said so or died."""
    try:
        word, detail = said.recv()
    except EOFError:
        word, detail = BROKEN, "its process died"
    end(process, guard)
    said.close()
    return Verdict(SURVIVED if word == PASSED else ERROR, detail)


def module_of(file: str) -> str:
    """Return the name by which a file is imported."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
