"""The rows of the table: one function measures each, and compares the figure with the row's target."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pods
import stored
import wrk
from bare import write_answers
from servers import HERE, Server, bare, import_seconds, ours
from wrk import Load, LoadResult

CONNECTIONS = 16
STORED = 20_000
"""The number of stored pods while reads are measured."""
WATCHERS, CREATES = 200, 2_000
PODS = "/api/v1/namespaces/default/pods"
PAGE, ALL = f"{PODS}?limit=500", PODS
LETTERS = "all"
"""The common part of the names of the stored pods."""
ONE = f"{PODS}/{pods.name(LETTERS, 0)}"
EACH = f"{PODS}/{pods.NAME}"
"""The path of each stored pod, with a placeholder for its name."""
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
"""The Accept header of kubectl."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        work: the work that was measured.
        ours, beside: our figure and the one that it is compared with, as text.
        figure: the number that is compared with the target; the median of several.
        target: the minimum of the figure, or with at_most its maximum; None if there is no target.
        samples: all measurements, by name.
    """

    work: str
    ours: str
    beside: str
    figure: float
    target: float | None
    at_most: bool = False
    unit: str = ""
    samples: dict[str, list[float]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """True if the target is reached, or if the row has no target."""
        if self.target is None:
            return True
        return self.figure <= self.target if self.at_most else self.figure >= self.target


@dataclass(frozen=True, slots=True)
class Effort:
    """The duration and the number of measurements.

    Attributes:
        rounds: pairs of ours and bare, one after the other.
        seconds: of each load.
        starts: of each kind.
    """

    rounds: int = 3
    seconds: float = 3.0
    starts: int = 5


@dataclass(frozen=True, slots=True)
class Bench:
    """The inputs of all measurements.

    Attributes:
        directory: the directory of this run, on a real disk.
        effort: the duration and the number of measurements.
        say: prints a progress message.
    """

    directory: Path
    effort: Effort
    say: Say

    @property
    def certificates(self) -> Path:
        """The directory of our server's certificates, which the bare server uses as well."""
        return self.directory / "full" / "pki"

    @property
    def answers(self) -> Path:
        """The file with the responses of the bare server."""
        return self.directory / "answers"


def cluster(bench: Bench) -> Row:
    """Measure how long a new embedded cluster takes to start, after the first one of its process."""
    command = [sys.executable, str(HERE / "embedded.py"), str(10 * bench.effort.starts)]
    taken = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    median = statistics.median(taken)
    return Row(
        "a fresh Cluster in one process",
        f"{median:.1f} ms",
        "",
        median,
        20,
        at_most=True,
        unit=" ms",
        samples={"milliseconds": taken},
    )


def measure(bench: Bench, selected: frozenset[str]) -> Iterator[Row]:
    """Yield the selected rows as they are measured."""
    bench.say(f"a server with {STORED:,} pods")
    yield from _only(selected, memory(bench))
    if "start" in selected:
        yield from starts(bench)
    if "backup" in selected:
        yield from backups(bench)
    if "cluster" in selected:
        bench.say("cluster")
        yield cluster(bench)
    with ExitStack() as stack:
        ready = stack.enter_context(ours(bench.directory / "full"))
        _prepare_answers(bench, ready)
        beside = stack.enter_context(bare(bench.certificates, bench.answers))
        pair = Pair(bench, ready, beside)
        for name, row in (
            ("get", get),
            ("get-each", get_each),
            ("list", list_page),
            ("list-all", list_all),
            ("table", table),
        ):
            if name in selected:
                bench.say(name)
                yield row(pair)
        if "post" in selected:
            bench.say("post")
            yield from post(pair)
    if "watch" in selected:
        bench.say("watch")
        yield from watch(bench)


def _only(selected: frozenset[str], rows: Iterator[Row]) -> Iterator[Row]:
    """Measure rows even if they are not selected, since later ones need the data that they create."""
    measured = list(rows)
    return iter(measured if "memory" in selected else ())


@dataclass(frozen=True, slots=True)
class Pair:
    """Our server and the bare one."""

    bench: Bench
    ours: Server
    bare: Server

    def loads(self, load: Load, beside: Load | None = None, *, second: Server | None = None) -> "Loads":
        """Load the two servers in turn (A B A B), so that other work of the machine affects both.

        Args:
            load: for our server.
            beside: for the other; the same if None.
            second: the other; the bare server if None.
        """
        seconds, other = self.bench.effort.seconds, second or self.bare
        loads = Loads([], [])
        for server, what in ((self.ours, load), (other, beside or load)):
            wrk.run(server.url, server.token, what, seconds=1, letters=LETTERS)
        for _ in range(self.bench.effort.rounds):
            loads.ours.append(wrk.run(self.ours.url, self.ours.token, load, seconds=seconds, letters=LETTERS))
            loads.beside.append(wrk.run(other.url, other.token, beside or load, seconds=seconds, letters=LETTERS))
        return loads


@dataclass(frozen=True, slots=True)
class Loads:
    """The loads of two servers, round by round."""

    ours: list[LoadResult]
    beside: list[LoadResult]

    def row(self, work: str, target: float | None) -> Row:
        """Return the row that compares the rates."""
        our_rates, other = ([each.rate for each in side] for side in (self.ours, self.beside))
        ratios = [a / b for a, b in zip(our_rates, other, strict=True)]
        return Row(
            work,
            _rate(our_rates),
            _rate(other),
            statistics.median(ratios),
            target,
            samples={"ours per second": our_rates, "beside per second": other, "ratio": ratios},
        )


def _rate(samples: list[float]) -> str:
    middle = statistics.median(samples)
    return f"{middle:,.0f} /s" if middle > 100 else f"{middle:.2f} /s"


def get(pair: Pair) -> Row:
    """Measure GET of one pod."""
    return pair.loads(Load(ONE, CONNECTIONS)).row("GET one pod", 0.70)


def get_each(pair: Pair) -> Row:
    """Measure GET of all stored pods, one after the other."""
    load = Load(EACH, CONNECTIONS, names=STORED)
    return pair.loads(load).row(f"GET {STORED:,} pods in turn", 0.70)


def list_page(pair: Pair) -> Row:
    """Measure a page of the list."""
    return pair.loads(Load(PAGE, 4)).row(f"LIST 500 pods of {STORED:,}", 0.50)


def list_all(pair: Pair) -> Row:
    """Measure lists of all pods, one after the other; there are so few that their rate follows from their durations."""
    loads = pair.loads(Load(ALL, 1))
    return Loads(*([replace(m, rate=1000 / m.mean) for m in side] for side in (loads.ours, loads.beside))).row(
        f"LIST all {STORED:,} pods", 0.50
    )


def table(pair: Pair) -> Row:
    """Compare a page as Table with the same page as JSON, both of our server; the first request is the warm-up."""
    loads = pair.loads(Load(PAGE, 1, accept=TABLE), Load(PAGE, 1), second=pair.ours)
    return loads.row("LIST 500 as Table (beside: plain)", 1 / 3)


def post(pair: Pair) -> Iterator[Row]:
    """Measure POST of pods of one template, as controllers send them, and of pods with different specs."""
    loads = _posts(pair, varied=False)
    yield loads.row("POST pods", 0.30)
    slowness = [each.p99 / each.p50 for each in loads.ours]
    yield Row(
        "POST pods: p99 / p50",
        f"{statistics.median(each.p99 for each in loads.ours):.1f} ms",
        f"{statistics.median(each.p50 for each in loads.ours):.1f} ms",
        statistics.median(slowness),
        10.0,
        at_most=True,
        samples={"ratio": slowness, "max ms": [each.max for each in loads.ours]},
    )
    yield _posts(pair, varied=True).row("POST pods, no two specs alike", 0.17)


def _posts(pair: Pair, *, varied: bool) -> Loads:
    """Measure POST; each round begins with an empty server, so that all rounds are the same."""
    bench, loads = pair.bench, Loads([], [])
    pod = bench.directory / "pod.json"
    pod.write_bytes(pods.template(varied=varied))
    load = Load(PODS, CONNECTIONS, post=pod)
    for number in range(bench.effort.rounds):
        with ours(bench.directory / f"post{number}{varied}") as empty:
            for server, into in ((empty, loads.ours), (pair.bare, loads.beside)):
                wrk.run(server.url, server.token, load, seconds=1, letters="hot")
                into.append(wrk.run(server.url, server.token, load, seconds=bench.effort.seconds, letters="run"))
    return loads


def memory(bench: Bench) -> Iterator[Row]:
    """Measure the memory of an empty server, and how much each pod adds."""
    with ours(bench.directory / "full") as server:
        idle = server.memory()
        create(server, LETTERS, STORED)
        full = server.memory()
    each = (full - idle) / STORED
    yield Row("memory, idle", f"{idle / 2**20:.0f} MiB", "", idle / 2**20, 100.0, at_most=True, unit=" MiB")
    yield Row(
        f"memory per pod of {pods.SIZE / 1000} kB", f"{full / 2**20:.0f} MiB", f"{idle / 2**20:.0f} MiB", each / 1024,
        8.0, at_most=True, unit=" KiB",
    )  # fmt: skip


def starts(bench: Bench) -> Iterator[Row]:
    """Measure the seconds until the server is ready, beside those of importing aiohttp."""
    imports: list[float] = []
    empty: list[float] = []
    full: list[float] = []
    for number in range(bench.effort.starts):
        bench.say(f"start {number + 1} of {bench.effort.starts}")
        imports.append(import_seconds())
        for folder, into in ((f"start{number}", empty), ("full", full)):
            with ours(bench.directory / folder) as server:
                into.append(server.ready)
    for work, seconds, target in (("ready after start", empty, 4.0), (f"ready with {STORED:,} pods", full, 20.0)):
        ratios = [a / b for a, b in zip(seconds, imports, strict=True)]
        yield Row(
            work, f"{statistics.median(seconds):.2f} s", f"{statistics.median(imports):.2f} s",
            statistics.median(ratios), target, at_most=True,
            samples={"ours seconds": seconds, "import aiohttp seconds": imports, "ratio": ratios},
        )  # fmt: skip
    yield restart(bench, empty)


def restart(bench: Bench, empty: list[float]) -> Row:
    """Measure how much many stored pods add to a start, beside only reading and checking their rows."""
    directory = bench.directory / "many"
    database = directory / "store.db"
    bench.say(f"a database with {stored.MANY:,} pods")
    stored.fill(database, bench.directory / "full" / database.name)
    reads, starts = [], []
    for number in range(bench.effort.starts):
        bench.say(f"start with {stored.MANY:,} pods {number + 1} of {bench.effort.starts}")
        reads.append(stored.read_seconds(database))
        with ours(directory) as server:
            starts.append(server.ready)
    added = [seconds - statistics.median(empty) for seconds in starts]
    checked = [seconds for seconds, _ in reads]
    ratios = [a / b for a, b in zip(added, checked, strict=True)]
    return Row(
        f"{stored.MANY:,} pods add to a start",
        f"{statistics.median(added):.2f} s",
        f"{statistics.median(checked):.2f} s",
        statistics.median(ratios),
        2.0,
        at_most=True,
        samples={
            "ours seconds": starts,
            "reading and checking seconds": checked,
            "SELECT seconds": [seconds for _, seconds in reads],
            "ratio": ratios,
        },
    )


def backups(bench: Bench) -> Iterator[Row]:
    """Measure a backup of all stored pods, and a restore into an empty data directory."""
    bench.say("backup")
    full, seconds = str(bench.directory / "full"), dict[str, list[float]](backup=[], restore=[])
    for number in range(bench.effort.rounds):
        file, other = str(bench.directory / f"{number}.backup"), str(bench.directory / f"restored{number}")
        for verb, directory in (("backup", full), ("restore", other)):
            command = [sys.executable, "-m", "mockube", verb, file, "--data-dir", directory]
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[verb].append(time.perf_counter() - began)
    for verb, taken in seconds.items():
        median = statistics.median(taken)
        yield Row(
            f"{verb} of {STORED:,} pods", f"{median:.1f} s", "", median, 45.0,
            at_most=True, unit=" s", samples={"seconds": taken},
        )  # fmt: skip


def watch(bench: Bench) -> Iterator[Row]:
    """Measure deliveries to many watchers; a first round is only checked, and the bare server sends its frames."""
    with ours(bench.directory / "full") as server:
        _watched(server, _namespace(server, "check"), "chk", "--check", "--record", str(bench.answers / "frames"))
        with bare(bench.certificates, bench.answers) as beside:
            our_rates, other = [], []
            for number in range(bench.effort.rounds):
                our_rates.append(_watched(server, _namespace(server, f"watch{number}"), f"w{number:02}"))
                other.append(_watched(beside, PODS, f"w{number:02}"))
    ratios = [a / b for a, b in zip(our_rates, other, strict=True)]
    yield Row(
        f"watch: {WATCHERS} watchers, {CREATES:,} creates",
        f"{statistics.median(our_rates):,.0f} /s",
        f"{statistics.median(other):,.0f} /s",
        statistics.median(ratios),
        0.50,
        samples={"ours per second": our_rates, "beside per second": other, "ratio": ratios},
    )


def _namespace(server: Server, name: str) -> str:
    """Create a namespace, and return the path of its pods."""
    body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).encode()
    server.request("POST", "/api/v1/namespaces", body, **{"Content-Type": "application/json"})
    return f"/api/v1/namespaces/{name}/pods"


def _watched(server: Server, path: str, letters: str, *flags: str) -> float:
    """Return the deliveries per second, from the first create until the last watcher has its last event."""
    with _watching(server, f"{path}?watch=1", *flags) as watchers:
        began = create(server, letters, CREATES, path)
        return _deliveries(watchers, began)


@contextmanager
def _watching(server: Server, path: str, *flags: str) -> Iterator["subprocess.Popen[str]"]:
    what = (f"{server.url}{path}", server.token, str(WATCHERS), str(CREATES))
    command = [sys.executable, str(HERE / "watchers.py"), *flags, "--", *what]  # a token may begin with a dash
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watchers:
        try:
            assert watchers.stdout is not None
            if watchers.stdout.readline() != "watching\n":
                raise RuntimeError("the watchers could not begin")
            yield watchers
        finally:
            watchers.kill()  # they would wait for what does not come if this ends early


def _deliveries(watchers: "subprocess.Popen[str]", began: float) -> float:
    output, _ = watchers.communicate(timeout=120)
    if watchers.returncode:
        raise RuntimeError("events are missing or out of order")
    last: float = json.loads(output)["last"]
    return WATCHERS * CREATES / (last - began)


def create(server: Server, letters: str, count: int, path: str = PODS) -> float:
    """Create exactly this number of pods; return the time at which that began."""
    command = [
        str(HERE / "creators.py"),
        f"{server.url}{path}",
        server.token,
        letters,
        str(count),
        str(CONNECTIONS),
    ]
    output = subprocess.run([sys.executable, *command], stdout=subprocess.PIPE, check=True).stdout
    return float(json.loads(output)["began"])


def _prepare_answers(bench: Bench, server: Server) -> None:
    """Fetch from our server the responses of the bare one."""
    bench.answers.mkdir()
    paths = [PAGE, ALL, *(f"{PODS}/{pods.name(LETTERS, number)}" for number in range(STORED))]
    with server.asking() as ask:
        write_answers(bench.answers, ((path, ask("GET", path)) for path in paths))
