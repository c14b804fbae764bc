"""Refused backups and restores, with nothing changed and nothing left behind."""

import gzip
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import SECONDS

from apiserver.config import parser
from mockube.backup.archive import FORMAT
from mockube.flags.stores import _PREFIX


def config_map(name: str) -> bytes:
    meta = {"name": name, "namespace": "default", "uid": name}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}).encode()


OBJECTS = {f"/registry/configmaps/default/c{number:03}": config_map(f"c{number:03}") for number in range(400)}
Lines = list[dict[str, Any]]


@pytest.fixture
def archive(embedded: Any, done: Any, tmp_path: Path) -> Path:
    """A backup of OBJECTS."""
    store, file = embedded("old"), tmp_path / "all.backup"
    store.fill(OBJECTS)
    done("backup", file, *store.flags)
    return file


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")} if folder.exists() else set()


def rewritten(change: Callable[[Lines], Lines]) -> Callable[[bytes], bytes]:
    """Return a function that changes the lines of a backup; gzip's own checksum fits the result."""

    def written(content: bytes) -> bytes:
        lines = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        return gzip.compress("".join(f"{json.dumps(line)}\n" for line in change(lines)).encode())

    return written


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes((content[middle] ^ 0x10,)) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda content: content[: len(content) // 2], "is damaged: its end is missing"),
        (lambda content: content[:-1], "is damaged: "),
        (lambda content: content[:-9], "is damaged: "),
        (flipped, "is damaged: "),
        (lambda content: content + b"more", "is damaged: "),
        (lambda content: content + gzip.compress(b"more"), "is damaged: something follows its end"),
        (rewritten(lambda lines: lines[:-1]), "is damaged: its end is missing"),
        (rewritten(lambda lines: [*lines[:9], *lines[10:]]), "is damaged: its checksum does not fit its contents"),
        (
            rewritten(lambda lines: [*lines[:9], lines[8], *lines[9:]]),
            "is damaged: '/registry/configmaps/default/c007'",
        ),
        (
            rewritten(lambda lines: [*lines[:9], {"key": "/a", "created": 1, "revision": 1}, *lines[9:]]),
            "is damaged: a value is of another shape",
        ),
        (rewritten(lambda lines: [lines[0] | {"count": "x"}, *lines[1:]]), "is damaged: its first line"),
        (
            rewritten(lambda lines: [lines[0] | {"format": FORMAT + 1, "release": "9.9"}, *lines[1:]]),
            f"is a backup of format {FORMAT + 1}, by mockube 9.9, and this version reads format {FORMAT}",
        ),
        (lambda _: b"", "is no backup of mockube's"),
        (lambda _: b"SQLite format 3\0", "is no backup of mockube's"),
        (lambda _: gzip.compress(b"{}\n"), "is no backup of mockube's"),
        (lambda _: gzip.compress(b"tar or whatever\n"), "is no backup of mockube's"),
    ],
)
def test_a_file_that_is_no_whole_backup_is_refused_and_the_store_stays_as_it_is(
    archive: Path, embedded: Any, refused: Any, tmp_path: Path, change: Any, why: str
) -> None:
    old, new, file = embedded("old"), embedded("new"), tmp_path / "odd"
    file.write_bytes(change(archive.read_bytes()))
    before = (tmp_path / "old" / "store.db").read_bytes()
    assert f"{file} {why}" in refused("restore", "-q", file, *old.flags, "--force")
    assert (tmp_path / "old" / "store.db").read_bytes() == before
    refused("restore", "-q", file, *new.flags)
    assert names(tmp_path / "new") == set()


def test_a_file_that_is_not_there_is_named(refused: Any, tmp_path: Path) -> None:
    file = tmp_path / "none"
    assert refused("restore", file).startswith(f"mockube: {file}: No such file or directory")
    assert "Is a directory" in refused("restore", tmp_path)


def test_a_store_that_is_not_empty_is_replaced_only_by_force(archive: Path, embedded: Any, run: Any) -> None:
    store = embedded("old")
    store.fill({"/registry/a/more": b"{}"})
    ended = run("restore", archive, *store.flags)
    assert ended.returncode == 2
    assert "store.db holds 401 objects already: name an empty directory with --data-dir, or" in ended.stderr
    ended = run("restore", archive, *store.flags, "--force")
    assert "store.db holds, 401 objects, is replaced, as --force says" in ended.stderr
    assert store.objects() == OBJECTS


def test_a_prefix_that_is_not_empty_is_emptied_only_by_force(
    archive: Path, cluster: str, clustered: Any, run: Any
) -> None:
    store = clustered(cluster)
    store.fill({"/registry/a/more": b"{}"})
    ended = run("restore", archive, *store.flags)
    assert ended.returncode == 2
    assert (
        "has 1 key already: name an empty prefix with --etcd-prefix, or delete what it has with --force" in ended.stderr
    )
    assert store.objects() == {"/registry/a/more": b"{}"}
    ended = run("restore", archive, *store.flags, "--force", "--above", "0")
    assert "registry/ has, 1 key, is deleted, as --force says" in ended.stderr
    assert store.objects() == OBJECTS


def test_a_damaged_database_is_no_backup_and_is_replaced_only_by_force(
    archive: Path, embedded: Any, run: Any, tmp_path: Path
) -> None:
    store, database = embedded("old"), tmp_path / "old" / "store.db"
    database.write_bytes(database.read_bytes()[:20_000])
    ended = run("backup", tmp_path / "more", *store.flags)
    assert ended.returncode == 2
    assert f"The database {database} is damaged: " in ended.stderr
    assert run("restore", archive, *store.flags).returncode == 2
    ended = run("restore", archive, *store.flags, "--force")
    assert (ended.returncode, store.objects()) == (0, OBJECTS)
    assert not (tmp_path / "more").exists()


def test_a_running_server_keeps_its_data(archive: Path, up: Any, run: Any, tmp_path: Path) -> None:
    server = up("--data-dir", tmp_path / "old")
    for flags in (("--data-dir", tmp_path / "old"), ("--store", f"sqlite://{tmp_path / 'old'}")):
        ended = run("restore", "-q", archive, *flags, "--force")
        assert ended.returncode == 2
        assert "in use by " in ended.stderr
    assert server.stop() == (0, "", "")


def test_a_file_is_replaced_only_by_force(archive: Path, embedded: Any, refused: Any, done: Any) -> None:
    before = archive.read_bytes()
    assert refused("backup", archive, *embedded("old").flags) == (
        f"mockube: {archive} exists: name another file, or replace it with --force"
    )
    assert archive.read_bytes() == before
    embedded("old").fill({"/registry/a/more": b"{}"})
    done("backup", archive, *embedded("old").flags, "--force")
    assert archive.read_bytes() != before


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--data-dir", "{}/none"), "There is no database {}/none/store.db: name the directory of another with"),
        (("--store", "memory"), "--store memory: nothing is kept there: give sqlite, sqlite:///DIRECTORY or"),
        (("--store", "http://a"), "'http://a' is no member of an etcd cluster"),
        (("--store", "http://127.0.0.1:1"), "no member of the etcd cluster answers (http://127.0.0.1:1"),
        (("--store", "http://a:1", "--etcd-prefix", "a"), "--etcd-prefix: 'a' has to begin with a slash"),
        (("--store", "http://a:1", "--etcd-user", "a"), "--etcd-user and --etcd-password-file: give both or none"),
        (("--store", "http://a:1", "--etcd-cafile", "/none"), "--etcd-cafile: /none is not a file"),
        (("--with-pki", "--data-dir", "{}"), "{}/pki has no certificates: name the data directory with --data-dir"),
    ],
)
def test_a_store_that_cannot_be_read_is_named(refused: Any, tmp_path: Path, flags: Any, why: str) -> None:
    errors = refused("backup", "-q", tmp_path / "file", *(flag.format(tmp_path) for flag in flags))
    assert why.format(tmp_path) in errors
    assert names(tmp_path) - {"home"} == set()


def test_a_directory_that_is_not_there_is_named(refused: Any, tmp_path: Path) -> None:
    assert "cannot be written: name a file in a directory that exists" in refused("backup", tmp_path / "a" / "b")
    assert "cannot be written: name a file in a directory that exists" in refused("backup", tmp_path)


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_a_full_disk_leaves_no_file_and_no_store(embedded: Any, run: Any, done: Any, tmp_path: Path) -> None:
    store, file = embedded("old"), tmp_path / "files" / "all.backup"
    file.parent.mkdir()
    key = "/registry/secrets/default/s{}"
    store.fill({key.format(number): number.to_bytes(2, "big") * 3000 for number in range(200)})
    size = (tmp_path / "old" / "store.db").stat().st_size
    for limit in (size // 2, size + 8192):  # too little for the copy; enough for that
        ended = run("backup", file, *store.flags, preexec_fn=limited(limit))
        if limit < size:
            assert (ended.returncode, ended.stdout) == (2, "")
            assert "File too large" in ended.stderr
            assert names(file.parent) == set()
    done("backup", file, *store.flags, "--force")
    ended = run("restore", file, *embedded("new").flags, preexec_fn=limited(size // 2))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Nothing was changed." in ended.stderr
    assert names(tmp_path / "new") == {"lock"}
    before = store.objects()
    assert run("restore", file, *store.flags, "--force", preexec_fn=limited(size // 2)).returncode == 2
    assert store.objects() == before


@pytest.mark.parametrize("made", [os.mkfifo, lambda path: path.symlink_to("elsewhere")], ids=["a pipe", "a link"])
def test_what_is_no_regular_file_is_not_replaced_by_one(
    embedded: Any, refused: Any, tmp_path: Path, made: Callable[[Path], None]
) -> None:
    file = tmp_path / "file"
    made(file)
    before = (file.lstat().st_mode, file.lstat().st_ino)
    assert "is no regular file, and would be replaced by one" in refused(
        "backup", file, *embedded("old").flags, "--force"
    )
    assert (file.lstat().st_mode, file.lstat().st_ino) == before


def test_a_dash_is_no_file(embedded: Any, refused: Any) -> None:
    assert "name a file in a directory that exists" in refused("backup", "-", *embedded("old").flags)


def test_no_revision_is_higher_than_there_is_room_for(archive: Path, embedded: Any, refused: Any) -> None:
    assert f"{2**63} is no resourceVersion" in refused(
        "restore", archive, *embedded("new").flags, "--above", str(2**63)
    )


def test_who_is_told_to_end_does_so_though_interrupts_are_ignored(embedded: Any, started: Any, tmp_path: Path) -> None:
    """As those of a script's jobs in the background are."""
    store, file = embedded("old"), tmp_path / "files" / "all.backup"
    file.parent.mkdir()
    store.fill({f"/registry/a/{number}": number.to_bytes(4, "big") * 1000 for number in range(10_000)})
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process: subprocess.Popen[str] = started("backup", file, *store.flags)
    finally:
        signal.signal(signal.SIGINT, before)
    assert process.stderr
    assert process.stderr.readline().startswith("Reading ")
    process.terminate()
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err.endswith("mockube: it was interrupted, and nothing half done is left\n")
    assert names(file.parent) == set()


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_backup_leaves_no_file(
    embedded: Any, started: Any, tmp_path: Path, name: signal.Signals
) -> None:
    store, file = embedded("old"), tmp_path / "files" / "all.backup"
    file.parent.mkdir()
    store.fill({f"/registry/a/{number}": number.to_bytes(4, "big") * 1000 for number in range(10_000)})
    process: subprocess.Popen[str] = started("backup", file, *store.flags)
    assert process.stderr
    assert process.stderr.readline().startswith("Reading ")
    process.send_signal(name)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err.endswith("mockube: it was interrupted, and nothing half done is left\n")
    assert names(file.parent) == set()
    assert "Traceback" not in err


def test_an_interrupted_restore_leaves_the_store_as_it_was(
    embedded: Any, started: Any, done: Any, tmp_path: Path
) -> None:
    old, new, file = embedded("old"), embedded("new"), tmp_path / "all.backup"
    old.fill({f"/registry/a/{number}": number.to_bytes(4, "big") * 1000 for number in range(10_000)})
    done("backup", file, *old.flags)
    new.fill(OBJECTS)
    process: subprocess.Popen[str] = started("restore", file, *new.flags, "--force")
    assert process.stderr
    while "is replaced, as --force says" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, err.count("Traceback")) == (130, 0)
    assert new.objects() == OBJECTS
    assert names(tmp_path / "new") == {"lock", "store.db"}


def test_a_terminal_is_shown_a_bar(archive: Path, embedded: Any, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    arguments = [sys.executable, "-m", "mockube", "restore", str(archive), *embedded("new").flags]
    ended = subprocess.run(
        arguments, stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=SECONDS, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert re.search(r"\rChecking: \[#+\] 400 of 400 objects  100%  [\d,]+/s\x1b\[K\r\n", shown)
    assert re.search(r"\rRestoring: \[#+\] 400 of 400 objects  100%  [\d,]+/s\x1b\[K\r\n", shown)
    assert ended.stdout.startswith(b"400 objects restored into ")


def test_the_flags_of_etcd_are_those_of_the_server(run: Any) -> None:
    server = {flag for action in parser()._actions for flag in action.option_strings if flag.startswith("--etcd")}
    assert parser().get_default("etcd_prefix") == _PREFIX
    for name in ("backup", "restore"):
        help_text = run(name, "--help").stdout
        assert {flag for flag in server if flag not in help_text} == {"--etcd-compaction-interval"}
