"""Rows of servers over etcd, beside the embedded store: the same loads in turns, in one run."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack

import pods
import wrk
from rows import CONNECTIONS, CREATES, ONE, PODS, STORED, WATCHERS, Bench, Loads, Row, _namespace, _watched, create
from servers import Server, etcd, import_seconds, ours
from wrk import Load

READ = f"{ONE}?resourceVersion=0"
"""A read from memory, which may return an older state; without the parameter the newest state is read."""


def clusters(bench: Bench) -> Iterator[Row]:
    """Measure writes, reads, watches and the start over an etcd of one member, and what a second server adds."""
    with ExitStack() as stack:
        url = stack.enter_context(etcd(bench.directory / "etcd"))
        over = stack.enter_context(ours(bench.directory / "over", "--store", url))
        embedded = stack.enter_context(ours(bench.directory / "beside"))
        for server in (over, embedded):
            create(server, "all", 1000)
        bench.say("etcd: reads")
        yield _turns(bench, over, embedded, Load(READ, CONNECTIONS)).row("etcd: GET any state (embedded)", 0.9)
        newest = _turns(bench, over, over, Load(ONE, CONNECTIONS), Load(READ, CONNECTIONS))
        yield newest.row("etcd: GET the newest (any) state", 0.3)
        bench.say("etcd: watches")
        yield _watches(bench, over, embedded)
    bench.say("etcd: writes")
    yield _posts(bench)
    bench.say("etcd: two servers")
    yield from _two(bench)
    bench.say(f"etcd: start with {STORED:,} pods")
    yield _start(bench)


def _turns(bench: Bench, one: Server, other: Server, load: Load, beside: Load | None = None) -> Loads:
    loads, seconds = Loads([], []), bench.effort.seconds
    for server, what in ((one, load), (other, beside or load)):
        wrk.run(server.url, server.token, what, seconds=1)
    for _ in range(bench.effort.rounds):
        loads.ours.append(wrk.run(one.url, one.token, load, seconds=seconds))
        loads.beside.append(wrk.run(other.url, other.token, beside or load, seconds=seconds))
    return loads


def _watches(bench: Bench, over: Server, embedded: Server) -> Row:
    rates: tuple[list[float], list[float]] = ([], [])
    for number in range(bench.effort.rounds):
        for server, into in zip((over, embedded), rates, strict=True):
            into.append(_watched(server, _namespace(server, f"watch{number}"), f"w{number:02}"))
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    rate, rate_beside = (f"{statistics.median(each):,.0f} /s" for each in rates)
    return Row(
        f"etcd: {WATCHERS} watchers, {CREATES:,} creates (embedded)", rate, rate_beside, statistics.median(ratios), 0.9,
        samples={"ours per second": rates[0], "beside per second": rates[1], "ratio": ratios},
    )  # fmt: skip


def _posts(bench: Bench) -> Row:
    """Measure POST; each round begins with empty servers."""
    loads, pod = Loads([], []), bench.directory / "pod.json"
    pod.write_bytes(pods.template(varied=False))
    load = Load(PODS, CONNECTIONS, post=pod)
    for number in range(bench.effort.rounds):
        with (
            etcd(bench.directory / f"etcd{number}") as url,
            ours(bench.directory / f"over{number}", "--store", url) as over,
            ours(bench.directory / f"beside{number}") as embedded,
        ):
            for server, into in ((over, loads.ours), (embedded, loads.beside)):
                wrk.run(server.url, server.token, load, seconds=1, letters="hot")
                into.append(wrk.run(server.url, server.token, load, seconds=bench.effort.seconds, letters="run"))
    return loads.row("etcd: POST pods (embedded)", 0.5)


def _two(bench: Bench) -> Iterator[Row]:
    """Compare two servers on one port with one server: requests per second, and processor time per request."""
    with etcd(bench.directory / "shared") as url:
        rates: list[list[float]] = []
        for servers in (2, 1):
            flags = ("--store", url, "--apiservers", str(servers))
            with ours(bench.directory / f"servers{servers}", *flags) as server:
                create(server, f"n{servers}", 1000)
                load = Load(f"{PODS}/{pods.name(f'n{servers}', 0)}?resourceVersion=0", 2 * CONNECTIONS)
                wrk.run(server.url, server.token, load, seconds=1)
                rounds = range(bench.effort.rounds)
                rates.append(
                    [wrk.run(server.url, server.token, load, seconds=bench.effort.seconds).rate for _ in rounds]
                )
    ratios = [a / b for a, b in zip(*rates, strict=True)]
    rate, rate_beside = (f"{statistics.median(each):,.0f} /s" for each in rates)
    yield Row(
        "etcd: GET at two servers (at one)", rate, rate_beside, statistics.median(ratios), 1.5,
        samples={"two per second": rates[0], "one per second": rates[1], "ratio": ratios},
    )  # fmt: skip


def _start(bench: Bench) -> Row:
    imports, full = [], []
    with etcd(bench.directory / "full-etcd") as url:
        with ours(bench.directory / "full-over", "--store", url) as server:
            create(server, "all", STORED)
        for _ in range(bench.effort.starts):
            imports.append(import_seconds())
            with ours(bench.directory / "full-over", "--store", url) as server:
                full.append(server.ready)
    ratios = [a / b for a, b in zip(full, imports, strict=True)]
    return Row(
        f"etcd: ready with {STORED:,} pods", f"{statistics.median(full):.2f} s", f"{statistics.median(imports):.2f} s",
        statistics.median(ratios), 20.0, at_most=True,
        samples={"ours seconds": full, "import aiohttp seconds": imports, "ratio": ratios},
    )  # fmt: skip
