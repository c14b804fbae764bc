"""A database with many pods, written without a server; and, as a program, the seconds of reading and checking its rows.

python bench/stored.py DATABASE
"""

import gc
import json
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pods

from etcd.snapshot import NewDatabase
from etcd.sqlite import SqliteLog

MANY = 137_000
"""The number of pods of a cluster that is restarted."""
_CHUNK = 10_000


def fill(database: Path, source: Path) -> None:
    """Write a database with many copies of the first pod of another database, each with its own name."""
    with closing(SqliteLog(source)) as log:
        key, value = next((row.key, row.value or b"") for row in log.rows() if row.key.startswith("/registry/pods/"))
    database.parent.mkdir(mode=0o700)
    with closing(NewDatabase(database, above=0)) as new:
        for begin in range(0, MANY, _CHUNK):
            new.add(_renamed(key, value, range(begin, min(begin + _CHUNK, MANY))))
        new.finish()


def _renamed(key: str, value: bytes, numbers: range) -> Iterator[tuple[str, bytes]]:
    prefix, _, name = key.rpartition("/")
    for number in numbers:
        other = pods.name("any", number)
        yield f"{prefix}/{other}", value.replace(name.encode(), other.encode())


def read_seconds(database: Path) -> tuple[float, float]:
    """Return the seconds of reading and checking all rows in a new process, and those of only reading them."""
    command = [sys.executable, __file__, str(database)]
    checked, read = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return checked, read


def main(database: str) -> None:
    """Check the file with SQLite, read all rows and check their bytes; print the seconds of all, and of reading."""
    gc.disable()
    with closing(sqlite3.connect(database)) as connection:
        began = time.perf_counter()
        connection.execute("PRAGMA quick_check(1)").fetchone()
        checked = time.perf_counter()
        rows = connection.execute("SELECT * FROM events ORDER BY revision").fetchall()
        read = time.perf_counter()
        for _, _, _, value, _ in rows:
            zlib.crc32(value or b"")
        print(json.dumps([time.perf_counter() - began, read - checked]))
    if len(rows) < MANY:
        raise RuntimeError(f"it has {len(rows)} rows")


if __name__ == "__main__":
    main(sys.argv[1])
