"""The command: make mutants ARGS="etcd/durable.py --max 50"."""

import argparse
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic

from mutation.config import groups, sample, survivors
from mutation.coverage_map import CoverageMap, FileCoverage, load
from mutation.guard import Guard
from mutation.mutants import Mutant, mutants_of
from mutation.processes import (
    ERROR,
    KILLED,
    SURVIVED,
    UNSOUND,
    Job,
    Limits,
    Slot,
    Verdict,
    judge_recording,
    preload,
    record,
    start_slot,
)
from mutation.report import UNCOVERED, Report, Result
from mutation.selection import Selection, sampled

ROOT = Path.cwd()
"""Where make runs it."""

_CHUNK = 6
"""Test files whose coverage one process records."""

_SAMPLE, _SAMPLE_SECONDS, _SAMPLE_BUDGET, _SAMPLE_LIMIT = 160, 90.0, 5.0, 3.0
"""The sample: how many mutants; after how many seconds none is started; --budget and --limit."""

_DESCRIPTION = """\
Change the sources a little, one change at a time, and run the tests that cover the changed line. A change that no test
notices survives: a test for the rule behind it is missing. The first run records which tests cover which lines; what it
records is kept in .mutants until one of those files changes.
"""
_EPILOG = """\
exit code: 0 if every survivor is named in tests/mutants/survivors.toml, 1 if one is not, 2 if a runner broke.
examples: make mutants ARGS="etcd/durable.py"              all mutants of a file
          make mutants ARGS="apiserver/registry --max 150" 150 of a folder, always the same
          make mutants ARGS=--sample                       the sample of .ci/run
          make mutants ARGS="--id etcd/durable.py:DurableStore._flush:if-true:1"
"""


def main() -> int:
    """Run the command; return its exit code."""
    args = _arguments().parse_args()
    _settle_sample(args)
    mutants = _chosen(args)
    if args.list:
        print("\n".join(f"{each.file}:{each.line}: {each.id}" for each in mutants))
        return 0
    if not mutants:
        print("no mutants there: name files or folders of the groups in tests/mutants/groups.toml", file=sys.stderr)
        return 2
    args.tests = [os.path.normpath(file) for file in args.tests or ()]
    if absent := _absent(args.tests):
        print(absent, file=sys.stderr)
        return 2
    guard = Guard()
    preload()
    report = Report(ROOT, survivors(ROOT), groups(ROOT))
    end = monotonic() + args.seconds if args.seconds else float("inf")
    for batch, test_files in _batches(args, mutants):
        covered = _coverage(args.tests or test_files, args.jobs, guard)
        _Run(args, report, covered, end=end, guard=guard).all(batch)
    guard.close()
    details = report.details()
    print(f"\n{details}\n\n{report.table()}" if details else f"\n{report.table()}")
    if len(report.results) < len(mutants):
        print(f"{len(report.results)} of {len(mutants)} mutants ran in {args.seconds:g} seconds")
    return 2 if report.errors() else 1 if report.unnamed() else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make mutants",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", help="source files or folders; without any, all that groups.toml names")
    parser.add_argument("--max", type=int, default=0, metavar="N", help="run N mutants, chosen by the seed")
    parser.add_argument("--seed", type=int, default=1, help="another seed chooses other mutants (default 1)")
    parser.add_argument("--sample", action="store_true", help="run the sample that .ci/run runs, within two minutes")
    parser.add_argument("--id", action="append", help="run this mutant; may be given several times")
    parser.add_argument("--list", action="store_true", help="list the mutants and run none")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side (default: processors)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=20,
        metavar="SECONDS",
        help="what the tests of one mutant may usually take (default 20)",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=5,
        metavar="SECONDS",
        help="a test hangs after eight times what it takes, and so many seconds",
    )
    parser.add_argument("--seconds", type=float, default=0, help="start no mutants after so many seconds")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="test files, instead of all of the group")
    return parser


def _absent(test_files: Sequence[str]) -> str:
    """Say that a test file is not there, or return nothing: mutants would seem not covered."""
    absent = [file for file in test_files if Path(file).is_absolute() or not (ROOT / file).is_file()]
    if not absent:
        return ""
    example = "such as tests/etcd/test_compaction.py"
    return f"--tests: there is no test file {absent[0]}: name files as they are called from the root, {example}"


def _settle_sample(args: argparse.Namespace) -> None:
    """Give the sample its files and bounds; what the command line says besides goes first."""
    if args.sample:
        args.paths = args.paths or sorted(sample(ROOT))
        args.max = args.max or _SAMPLE
        args.seconds = args.seconds or _SAMPLE_SECONDS
        args.budget = min(args.budget, _SAMPLE_BUDGET)
        args.limit = min(args.limit, _SAMPLE_LIMIT)


def _batches(args: argparse.Namespace, mutants: list[Mutant]) -> Iterator[tuple[list[Mutant], list[str]]]:
    """Yield mutants with the test files that they are tried with."""
    if args.sample:
        files = {mutant.file for mutant in mutants}
        tests = {test for source, tests in sample(ROOT).items() if source in files for test in tests}
        yield sampled(mutants, len(mutants), args.seed), sorted(tests)
        return
    for group in groups(ROOT):
        of_group = [each for each in mutants if group.has(each.file)]
        if of_group:
            yield of_group, group.test_files(ROOT)


def _chosen(args: argparse.Namespace) -> list[Mutant]:
    files = sorted({file for group in groups(ROOT) for file in group.files(ROOT)})
    paths = [str(Path(path).resolve().relative_to(ROOT)) for path in args.paths]
    if args.id:
        paths = [each.partition(":")[0] for each in args.id]
    chosen = [file for file in files if not paths or any(Path(file).is_relative_to(path) for path in paths)]
    mutants = [mutant for file in chosen for mutant in mutants_of(file, (ROOT / file).read_text())]
    if args.id:
        return [mutant for mutant in mutants if mutant.id in args.id]
    if not args.max:
        return mutants
    kept = {mutant.id for mutant in sampled(mutants, args.max, args.seed)}
    return [mutant for mutant in mutants if mutant.id in kept]


def _coverage(test_files: Sequence[str], jobs: int, guard: Guard) -> CoverageMap:
    """Return the coverage of test files, and record what the cache lacks."""
    known: dict[str, FileCoverage | None] = {file: load(ROOT, file) for file in test_files}
    missing = [file for file, coverage in known.items() if coverage is None]
    if missing:
        print(f"recording the coverage of {len(missing)} test files", file=sys.stderr)
        size = min(_CHUNK, -(-len(missing) // jobs))
        _record([missing[start : start + size] for start in range(0, len(missing), size)], jobs, guard)
    present = [coverage for file in test_files if (coverage := known[file] or load(ROOT, file))]
    for failed in (name for coverage in present for name in coverage.failed):
        print(f"left out, since it does not pass: {failed}", file=sys.stderr)
    return CoverageMap(present)


def _record(chunks: list[list[str]], jobs: int, guard: Guard) -> None:
    running: dict[Connection, tuple[int, list[str]]] = {}
    while chunks or running:
        while chunks and len(running) < jobs:
            chunk = chunks.pop()
            process, said = record(ROOT, chunk, guard)
            running[said] = process, chunk
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            process, chunk = running.pop(ready)
            verdict = judge_recording(process, ready, guard)
            if verdict.status != SURVIVED:
                print(f"no coverage of {', '.join(chunk)}: {verdict.by}", file=sys.stderr)


class _Run:
    """Runs the mutants of one group."""

    def __init__(
        self, args: argparse.Namespace, report: Report, covered: CoverageMap, *, end: float, guard: Guard
    ) -> None:
        self._args = args
        self._report = report
        self._selection = Selection(ROOT, covered, args.budget)
        self._end = end
        self._guard = guard
        self._busy: dict[Connection, Job] = {}
        self._waiting: deque[Mutant] = deque()

    def all(self, mutants: Sequence[Mutant]) -> None:
        test_files = sorted({test.file for mutant in mutants for test in self._selection.covering(mutant)})
        new = partial(Slot, ROOT, test_files, Limits(self._args.limit), self._guard)
        processes: list[int] = []
        slots: list[Connection] = []
        for _ in range(min(self._args.jobs, len(mutants))):
            process, slot = start_slot(new, slots)
            processes.append(process)
            slots.append(slot)
        self._waiting = deque(mutants)
        for slot in slots:
            self._next(slot)
        while self._busy:
            for ready in wait(list(self._busy)):
                assert isinstance(ready, Connection)
                job = self._busy.pop(ready)
                try:
                    verdict = ready.recv()
                except EOFError:
                    self._note(Result(job.mutant, Verdict(ERROR, "the slot died"), len(job.tests)))
                    continue
                self._take(job, verdict)
                self._next(ready)
        for slot in slots:
            slot.close()
        for process in processes:  # slots tidy up when their connections are closed
            os.waitpid(process, 0)

    def _take(self, job: Job, verdict: Verdict) -> None:
        if verdict.status == UNSOUND:
            if self._selection.leave_out(verdict.by):
                print(f"left out, since it fails in a fork without a mutant: {verdict.by}", file=sys.stderr)
            self._waiting.appendleft(job.mutant)
            return
        if verdict.status == KILLED:
            self._selection.killed(job.mutant, verdict.by)
        self._note(Result(job.mutant, verdict, len(job.tests)))

    def _next(self, slot: Connection) -> None:
        while self._waiting and monotonic() <= self._end:
            mutant = self._waiting.popleft()
            job = self._selection.job(mutant)
            if job is not None:
                slot.send(job)
                self._busy[slot] = job
                return
            self._note(Result(mutant, Verdict(UNCOVERED)))

    def _note(self, result: Result) -> None:
        self._report.add(result)
        by = f" by {result.verdict.by}" if result.verdict.by else ""
        print(
            f"[{len(self._report.results)}] {result.mutant.id}: {result.verdict.status}{by}",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
