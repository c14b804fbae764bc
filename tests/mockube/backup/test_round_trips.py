"""Backups restore completely, into either kind of store."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KINDS = ("embedded", "etcd")


@pytest.fixture
def made(request: pytest.FixtureRequest, embedded: Any, clustered: Any) -> Callable[[str, str], Any]:
    """made(kind, name): an empty store."""

    def make(kind: str, name: str) -> Any:
        return embedded(name) if kind == "embedded" else clustered(request.getfixturevalue("cluster"))

    return make


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_everything_comes_back_from_either_store_in_either(
    made: Any, done: Any, some: Any, tmp_path: Path, source: str, target: str
) -> None:
    old, new, file = made(source, "old"), made(target, "new"), tmp_path / "all.backup"
    revision = old.fill(some)
    output = done("backup", file, *old.flags)
    pattern = rf"1,503 objects at revision ([\d,]+) in {file} \([\d,]+ bytes\)\.\n"
    match = re.fullmatch(pattern, output)
    assert match, output
    assert int(match[1].replace(",", "")) >= revision
    assert file.stat().st_mode & 0o777 == 0o600
    output = done("restore", file, *new.flags, "--above", "0")
    assert output.startswith("1,503 objects restored into ")
    assert new.objects() == some == old.objects()


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_store_makes_an_empty_backup_that_can_be_restored(
    made: Any, done: Any, tmp_path: Path, kind: str
) -> None:
    old, new, file = made(kind, "old"), made(kind, "new"), tmp_path / "all.backup"
    old.fill({"/registry/a/b": b"{}"})
    old.use(lambda store: store.delete("/registry/a/b"))
    assert done("backup", file, *old.flags).startswith("0 objects at revision ")
    done("restore", file, *new.flags, "--above", "0")
    assert new.objects() == {}


def test_what_was_deleted_or_replaced_does_not_come_back(embedded: Any, done: Any, tmp_path: Path) -> None:
    old, new, file = embedded("old"), embedded("new"), tmp_path / "all.backup"
    old.fill({f"/registry/a/{name}": b"1" for name in "abc"})
    old.fill({"/registry/a/a": b"2"})
    old.use(lambda store: store.delete("/registry/a/b"))
    done("backup", file, *old.flags)
    done("restore", file, *new.flags)
    assert new.objects() == {"/registry/a/a": b"2", "/registry/a/c": b"1"}


def test_only_what_is_under_the_prefix_is_read_and_replaced(
    cluster: str, clustered: Any, done: Any, tmp_path: Path
) -> None:
    one, other, file = clustered(cluster), clustered(cluster), tmp_path / "all.backup"
    one.fill({"/registry/a/one": b"{}"})
    other.fill({"/registry/a/other": b"{}"})
    done("backup", file, *one.flags)
    one.fill({"/registry/a/more": b"{}"})
    done("restore", file, *one.flags, "--force")
    assert (one.objects(), other.objects()) == ({"/registry/a/one": b"{}"}, {"/registry/a/other": b"{}"})


def test_twenty_thousand_objects_of_a_kilobyte_go_from_store_to_store(
    cluster: str, embedded: Any, clustered: Any, done: Any, tmp_path: Path
) -> None:
    old, new, third, file = embedded("old"), embedded("new"), clustered(cluster), tmp_path / "all.backup"
    value = json.dumps({"data": "x" * 1000}).encode()
    old.fill({f"/registry/configmaps/default/c{number}": value for number in range(20_000)})
    done("backup", file, *old.flags)
    done("restore", file, *new.flags)
    done("backup", tmp_path / "more", *new.flags)
    done("restore", file, *third.flags, "--above", "0")
    done("backup", tmp_path / "last", *third.flags)
    assert len(third.objects()) == 20_000
