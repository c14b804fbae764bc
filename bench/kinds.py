"""Rows of custom kinds: objects with a schema of two hundred fields beside pods, and definitions, one by one."""

import json
import statistics
import time
from collections.abc import Iterator

import customs
import pods
import wrk
from rows import CONNECTIONS, PODS, Bench, Loads, Row
from servers import Ask, ours
from wrk import Load

JSON = {"Content-Type": "application/json"}
KINDS, SOME = 100, 10
"""The number of definitions; the medians of the first and of the last SOME are reported."""
PATIENCE = 20.0


def kinds(bench: Bench) -> Iterator[Row]:
    """Measure POST of custom objects beside POST of pods, with all fields and with a fifth; and definitions."""
    bench.say("kinds: objects")
    for parts, target in ((customs.PARTS, 0.5), (customs.PARTS // 5, None)):
        yield _posts(bench, parts).row(f"POST custom objects, {10 * parts} of 200 fields (pods)", target)
    bench.say("kinds: definitions")
    yield from _definitions(bench)


def _posts(bench: Bench, parts: int) -> Loads:
    """Measure POST; each round begins with an empty server, to which pods and custom objects are posted in turn."""
    pod, custom, results = bench.directory / "pod.json", bench.directory / "custom.json", Loads([], [])
    pod.write_bytes(pods.template())
    custom.write_bytes(customs.template(parts))
    loads = (
        (Load(customs.PATH, CONNECTIONS, post=custom), results.ours),
        (Load(PODS, CONNECTIONS, post=pod), results.beside),
    )
    for number in range(bench.effort.rounds):
        with ours(bench.directory / f"kinds{number}-{parts}") as server:
            with server.asking() as ask:
                _define(ask, customs.PLURAL, customs.KIND)
            for load, into in loads:
                wrk.run(server.url, server.token, load, seconds=1, letters="hot")
                into.append(wrk.run(server.url, server.token, load, seconds=bench.effort.seconds, letters="run"))
    return results


def _definitions(bench: Bench) -> Iterator[Row]:
    """Measure the seconds from the POST of each definition until it is established; each round has its own server."""
    rounds = []
    for number in range(bench.effort.rounds):
        with ours(bench.directory / f"definitions{number}") as server, server.asking() as ask:
            rounds.append([_define(ask, f"w{each:03}s", f"W{each:03}") for each in range(KINDS)])
    sums = [sum(taken) for taken in rounds]
    first, last = ([statistics.median(taken[where]) for taken in rounds] for where in (slice(SOME), slice(-SOME, None)))
    ratios = [a / b for a, b in zip(last, first, strict=True)]
    yield Row(
        f"{KINDS} definitions of 200 fields", f"{statistics.median(sums):.2f} s", "", statistics.median(sums), 2.0,
        at_most=True, unit=" s", samples={"seconds": sums},
    )  # fmt: skip
    yield Row(
        f"the last {SOME} of them (the first)", _milliseconds(last), _milliseconds(first), statistics.median(ratios),
        2.0, at_most=True, samples={"last seconds": last, "first seconds": first, "ratio": ratios},
    )  # fmt: skip


def _define(ask: Ask, plural: str, kind: str) -> float:
    """Return the seconds until a kind is served."""
    began = time.monotonic()
    ask("POST", customs.DEFINITIONS, customs.definition(plural, kind), JSON)
    while time.monotonic() < began + PATIENCE:
        status = json.loads(ask("GET", f"{customs.DEFINITIONS}/{plural}.{customs.GROUP}"))["status"]
        if any(each["type"] == "Established" and each["status"] == "True" for each in status["conditions"] or ()):
            return time.monotonic() - began
    raise RuntimeError(f"{plural} are not served: {status}")


def _milliseconds(samples: list[float]) -> str:
    return f"{1000 * statistics.median(samples):.1f} ms"
