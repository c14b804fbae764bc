"""A disk without room: writes are refused with a Status, reads and watches go on, readyz tells, and room heals it."""

import ctypes
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Disk:
    """The data directory of a server, with functions that take its room away and give it back."""

    data: Path
    fill: Callable[[subprocess.Popen[str]], None]
    clear: Callable[[subprocess.Popen[str]], None]


@contextmanager
def limited_files(folder: Path) -> Iterator[Disk]:
    """No file may grow: writes fail with EFBIG."""

    def limit(process: subprocess.Popen[str], size: int) -> None:
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    yield Disk(folder, lambda process: limit(process, 0), lambda process: limit(process, resource.RLIM_INFINITY))


@contextmanager
def small_file_system(folder: Path) -> Iterator[Disk]:
    """A file system of 8 MiB with a file in it that takes what is left: writes fail with ENOSPC."""
    if LIBC.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=8m") != 0:
        pytest.skip(f"no file system can be mounted here: {os.strerror(ctypes.get_errno())}")
    ballast = folder / "ballast"

    def fill(_: subprocess.Popen[str]) -> None:
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            file.writelines(repeat(b"x" * 512))

    try:
        yield Disk(folder, fill, lambda _: ballast.unlink())
    finally:
        assert LIBC.umount2(os.fsencode(folder), 0) == 0, os.strerror(ctypes.get_errno())


def config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"a": "b" * 3000}}


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end, "it never came"


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can take room from a process that runs")
@pytest.mark.parametrize("disk", [limited_files, small_file_system])
def test_without_room_writes_fail_and_all_else_goes_on(
    tmp_path: Path, serve: Any, connect: Any, disk: Callable[[Path], Any]
) -> None:
    with disk(tmp_path) as home, serve(home.data) as (process, url), connect(url) as wire:
        made = wire.expect(201, "POST", CONFIG_MAPS, config_map("before"))
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=SECONDS)) as watching:
            query = f"watch=1&resourceVersion={made['metadata']['resourceVersion']}"
            watching.request("GET", f"{CONFIG_MAPS}?{query}", headers={"Authorization": "Bearer secret"})
            watch = watching.getresponse()

            home.fill(process)
            requests = (
                ("POST", CONFIG_MAPS, config_map("lost")),
                ("PUT", f"{CONFIG_MAPS}/before", made | {"data": {"a": "lost" * 5000}}),
                ("DELETE", f"{CONFIG_MAPS}/before", None),
            )
            for method, path, body in requests:
                refused = wire.expect(500, method, path, body)
                assert refused["reason"] == "InternalError"
                assert "cannot be written" in refused["message"]
            assert wire.ask("GET", "/readyz").code == 500
            assert b"[-]etcd failed" in wire.ask("GET", "/readyz?verbose").body
            assert wire.get(f"{CONFIG_MAPS}/before") == made
            assert "lost" not in json.dumps(wire.get(CONFIG_MAPS))

            home.clear(process)
            wait_until(lambda: wire.ask("GET", "/readyz").code == 200)
            after = wire.expect(201, "POST", CONFIG_MAPS, config_map("after"))
            event = json.loads(watch.readline())
            assert event["object"] == after, "the watch tells of what was stored and of nothing else"
        versions = [int(obj["metadata"]["resourceVersion"]) for obj in (made, after)]
        assert versions == sorted(versions)
