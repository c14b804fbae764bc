"""Several servers and their clients agree while members of etcd and servers are killed, paused and cut off.

MOCKUBE_OPERATIONS says how many operations are looked at, MOCKUBE_SEED in which order faults come.
"""

import base64
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from etcd_histories import History, HistoryEntry, problems
from etcd_networks import severable
from patience import SECONDS

HERE = Path(__file__).parent
OPERATIONS = int(os.environ.get("MOCKUBE_OPERATIONS", "50000"))
SERVERS = 3
PLACE = "/history"


class Servers:
    """Processes with a store each; one that is killed comes again under another name."""

    def __init__(self, urls: list[str], folder: Path, seed: str) -> None:
        self.urls = urls
        self.folder = folder
        self.seed = seed
        self.started = 0
        self.logs: dict[int, Path] = {}
        self.running = [self.start(number) for number in range(SERVERS)]

    def start(self, number: int) -> subprocess.Popen[bytes]:
        """Start one; its members are the others' in another order."""
        urls = ",".join(self.urls[number:] + self.urls[:number])
        name = f"s{number}-{self.started}"
        self.started += 1
        log = self.folder / f"{name}.jsonl"
        log.touch()
        self.logs[number] = log
        with (self.folder / f"{name}.err").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, str(HERE / "history_server.py"), urls, PLACE, name, str(log), self.seed],
                env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
                stderr=err,
            )

    def replace(self, number: int) -> None:
        """Kill one and start another."""
        self.running[number].kill()
        self.running[number].wait()
        self.running[number] = self.start(number)

    def stop(self) -> None:
        """Let all processes end by themselves, those too that have just been started."""
        end = time.monotonic() + SECONDS
        while not all(log.stat().st_size for log in self.logs.values()):
            assert time.monotonic() < end, self.errors()
            time.sleep(0.05)
        for each in self.running:
            each.send_signal(signal.SIGTERM)
        for each in self.running:
            assert each.wait(SECONDS) == 0, self.errors()

    def errors(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.err")))

    def kill(self) -> None:
        for each in self.running:
            each.kill()
            each.wait()


class Faults:
    """Faults of a cluster and its servers, one at a time, each for a while; all kinds come equally often."""

    def __init__(self, cluster, servers: Servers, net, dice: random.Random) -> None:
        self.cluster = cluster
        self.servers = servers
        self.net = net
        self.dice = dice
        self.done: list[str] = []
        self.kinds: list[Callable[[], None]] = [
            self.kill_member,
            self.pause_member,
            self.kill_leader,
            self.pause_leader,
            self.kill_server,
            self.pause_server,
            self.cut_member_off,
            self.cut_leader_off,
        ]

    def run(self, until: Callable[[], bool]) -> None:
        """One fault after the other; each kind at least once, however soon all is done."""
        while not until() or len(self.done) < len(self.kinds):
            for kind in self.dice.sample(self.kinds, len(self.kinds)):
                kind()
                self.done.append(kind.__name__)
                time.sleep(self.dice.uniform(0.3, 1.0))
                if until() and len(self.done) >= len(self.kinds):
                    return

    def a_while(self) -> None:
        time.sleep(self.dice.choice([0.3, 0.6, 1.2, 2.5]))

    def kill_member(self) -> None:
        self._killed(self.dice.choice(self.cluster.members))

    def kill_leader(self) -> None:
        self._killed(self.cluster.leader())

    def pause_member(self) -> None:
        self._paused(self.dice.choice(self.cluster.members).process)

    def pause_leader(self) -> None:
        self._paused(self.cluster.leader().process)

    def cut_member_off(self) -> None:
        self._cut_off(self.dice.randrange(len(self.cluster.members)))

    def cut_leader_off(self) -> None:
        self._cut_off(self.cluster.members.index(self.cluster.leader()))

    def kill_server(self) -> None:
        self.servers.replace(self.dice.randrange(SERVERS))

    def pause_server(self) -> None:
        self._paused(self.dice.choice(self.servers.running))

    def _killed(self, member) -> None:
        member.kill()
        self.a_while()
        member.start()
        member.wait()

    def _paused(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGSTOP)
        try:
            self.a_while()
        finally:
            process.send_signal(signal.SIGCONT)

    def _cut_off(self, number: int) -> None:
        self.net.cut(number)
        try:
            self.a_while()
        finally:
            self.net.mend(number)


class Tally:
    """Counts the operations that servers have written down, reading only what is new since the last look."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[Path, int] = {}
        self.number = 0

    def __call__(self) -> int:
        for path in self.folder.glob("*.jsonl"):
            with path.open("rb") as log:
                log.seek(self.seen.get(path, 0))
                new = log.read()
            self.seen[path] = self.seen.get(path, 0) + len(new)
            self.number += sum(new.count(start) for start in (b'["i",', b'["r",', b'["g",'))
        return self.number


def recorded(folder: Path) -> History:
    """All that servers have written down; the last line of one that was killed may be half a line."""
    history = History()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().split(b"\n")[:-1]:
            history.add(*json.loads(line))
    return history


def everything_written(member, begin: int, end: int) -> list[Any]:
    """The history of the cluster as a client of its own watches it, from one revision to another."""
    request = {"create_request": {"key": "AA==", "range_end": "AA==", "start_revision": str(begin)}}
    asked = urllib.request.Request(f"{member.url}/v3/watch", json.dumps(request).encode())
    records = []
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        for line in answer:
            for event in json.loads(line)["result"].get("events", ()):
                kv = event["kv"]
                key = base64.b64decode(kv["key"]).decode().removeprefix(PLACE)
                value = None if event.get("type") == "DELETE" else base64.b64decode(kv.get("value", "")).decode()
                records.append(HistoryEntry(int(kv["mod_revision"]), key, value))
            if records and records[-1].revision >= end:
                return records
    return records


@pytest.mark.slow
def test_no_read_is_stale_no_write_is_lost_and_no_watch_has_gaps(clusters, tmp_path, capfd):
    seed = os.environ.get("MOCKUBE_SEED") or str(random.SystemRandom().randrange(1 << 32))
    print(f"MOCKUBE_SEED={seed}")  # noqa: T201 - pytest shows it where the test fails
    folder = tmp_path / "logs"
    folder.mkdir()
    begin = time.monotonic()
    with severable(3) as net, clusters.running(tmp_path / "etcd", 3, net=net) as cluster:
        revision = int(cluster.leader().call("kv/range", key="AA==")["header"]["revision"]) + 1
        servers = Servers([net.url(number) for number in range(3)], folder, seed)
        try:
            faults, tally = Faults(cluster, servers, net, random.Random(seed)), Tally(folder)
            faults.run(lambda: tally() >= OPERATIONS)
            servers.stop()
        finally:
            servers.kill()
        member = cluster.leader()
        last = int(member.call("kv/range", key="AA==")["header"]["revision"])
        written = everything_written(member, revision, last)
    history = recorded(folder)
    outcomes = [write.outcome for write in history.writes.values()]
    counts = {each: outcomes.count(each) for each in ("ok", "conflict", "unknown", "refused")}
    events = sum(len(watch.events) for watch in history.watches.values())
    summary = f"{history.operations} operations in {time.monotonic() - begin:.0f} s, writes {counts}, "
    summary += f"{len(history.reads) + len(history.ranges)} reads and {history.refused} refused, "
    summary += f"{events} events of {len(history.watches)} watches, {len(written)} revisions, {len(faults.done)} faults"
    with capfd.disabled():
        print(f"\nhistory of seed {seed}: {summary}")  # noqa: T201 - the figures are of interest when all is well
    assert problems(history, written)[:10] == [], f"seed {seed}: {summary}"
    assert history.operations >= OPERATIONS
    assert "Traceback" not in servers.errors()
    assert counts["conflict"] > 0, "nobody was in anybody's way"
    assert counts["unknown"] > 0, "no fault has hit a write"
