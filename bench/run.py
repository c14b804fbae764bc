"""The bench: our server beside a bare aiohttp server, in one run and under the same load (see README.md).

python bench/run.py [--quick] [--only get,post,...] [--json FILE]
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import wrk
from clusters import clusters
from kinds import kinds
from machine import facts, unnamed
from rollouts import rollouts
from rows import Bench, Effort, Row, measure
from united import united

NAMES = (
    "memory",
    "start",
    "backup",
    "cluster",
    "get",
    "get-each",
    "list",
    "list-all",
    "table",
    "post",
    "watch",
    "kinds",
    "rollouts",
    "united",
    "etcd",
)
APART = {"kinds": kinds, "rollouts": rollouts, "united": united, "etcd": clusters}
"""Rows that start their own servers: custom kinds, the controllers, and etcd."""
RESULTS = Path(__file__).with_name("results") / "latest.json"
REMEDY = "Commit or undo the changes, or leave --json out: then the table is printed and nothing is written."
QUICK = Effort(rounds=1, seconds=2.0, starts=2)


def main() -> int:
    """Measure, print the table, write it; the exit code is 1 if a target is missed, 2 if nothing can be measured."""
    given = _parser().parse_args()
    if given.json and (reason := unnamed()):
        print(f"bench: {reason}\n{REMEDY}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as an exception, so that no server is left behind
    if not wrk.is_installed():
        print(wrk.MISSING, file=sys.stderr)
        return 2
    began = time.monotonic()
    rows = []
    print(f"{'work':<38} {'ours':>12} {'beside':>12} {'ratio':>8}     target")
    before = facts(given.directory)
    with tempfile.TemporaryDirectory(prefix="mockube-bench-", dir=given.directory) as directory:
        bench = Bench(Path(directory), QUICK if given.quick else Effort(), _say)
        for row in _measured(bench, frozenset(given.only)):
            rows.append(row)
            print(_line(row), flush=True)
    seconds = time.monotonic() - began
    written = _write(given.json, _result(rows, before, seconds))
    asked = [row for row in rows if row.target is not None]
    short = [row.work for row in asked if not row.passed]
    print(f"\n{len(asked) - len(short)} of {len(asked)} targets reached in {seconds:.0f} s; {written}")
    return 1 if short else 0


def _write(file: Path | None, result: dict[str, object]) -> str:
    """Write the results if a commit names what was measured; return what has been done."""
    if reason := unnamed():
        return f"not written: {reason}"
    file = file or RESULTS
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(result, indent=1) + "\n")
    return f"written to {file}"


def _measured(bench: Bench, selected: frozenset[str]) -> Iterator[Row]:
    if selected - APART.keys():
        yield from measure(bench, selected)
    for name in [name for name in APART if name in selected]:
        yield from APART[name](bench)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/run.py", description="Measure the server beside a bare one.")
    parser.add_argument("--quick", action="store_true", help="short and rough: for a look while working")
    parser.add_argument("--only", type=_names, default=NAMES, metavar="NAME,...", help=f"of {', '.join(NAMES)}")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help=f"where to write the results, {RESULTS.name} if not said"
    )
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"), help="a directory on the disk to measure")
    return parser


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose of {', '.join(NAMES)}")
    return names


def _say(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


def _line(row: Row) -> str:
    asked = "for information"
    if row.target is not None:
        asked = f"{'<=' if row.at_most else '>='} {row.target:<5.3g} {'ok' if row.passed else 'SHORT'}"
    return f"{row.work:<38} {row.ours:>12} {row.beside:>12} {row.figure:>8.2f}{row.unit:<4} {asked}"


def _result(rows: list[Row], machine: dict[str, object], seconds: float) -> dict[str, object]:
    return {
        "seconds": round(seconds),
        "machine": machine,
        "rows": [asdict(row) | {"passed": row.passed} for row in rows],
    }


if __name__ == "__main__":
    sys.exit(main())
