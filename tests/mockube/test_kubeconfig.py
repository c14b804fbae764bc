from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from mockube.kubeconfig import ClusterAccess, KubeconfigError, write_kubeconfig

ACCESS = ClusterAccess("https://127.0.0.1:6443", b"a certificate", "a-token")
OURS = {
    "clusters": [
        {
            "name": "mockube",
            "cluster": {
                "server": "https://127.0.0.1:6443",
                "certificate-authority-data": b64encode(b"a certificate").decode(),
            },
        }
    ],
    "contexts": [{"name": "mockube", "context": {"cluster": "mockube", "user": "mockube"}}],
    "users": [{"name": "mockube", "user": {"token": "a-token"}}],
}
ANOTHER = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "prod", "cluster": {"server": "https://prod.example"}}],
    "contexts": [{"name": "prod", "context": {"cluster": "prod", "user": "me", "namespace": "shop"}}],
    "users": [{"name": "me", "user": {"exec": {"command": "login", "apiVersion": "v1"}}}],
    "current-context": "prod",
    "preferences": {"colors": True},
    "extensions": [{"name": "x", "extension": {"a": 1}}],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "config"


def written(path: Path, access: ClusterAccess = ACCESS) -> dict[str, object]:
    write_kubeconfig(path, access)
    config = yaml.safe_load(path.read_text())
    assert isinstance(config, dict)
    return config


def existing(path: Path, config: object) -> None:
    path.parent.mkdir()
    path.write_text(config if isinstance(config, str) else yaml.safe_dump(config))
    path.chmod(0o644)


def test_a_new_file_leads_to_the_server_and_is_the_owners_alone(path: Path) -> None:
    assert written(path) == {
        "apiVersion": "v1", "kind": "Config", **OURS, "current-context": "mockube", "preferences": {},
    }  # fmt: skip
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_other_clusters_in_the_file_stay_and_ours_becomes_current(path: Path) -> None:
    existing(path, ANOTHER)
    config = written(path)
    assert config == {
        **ANOTHER,
        **{part: [*ANOTHER[part], *OURS[part]] for part in OURS},
        "current-context": "mockube",
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_writing_twice_changes_nothing(path: Path) -> None:
    existing(path, ANOTHER)
    once = written(path)
    assert written(path) == once


def test_an_entry_of_an_earlier_start_is_replaced_in_its_place(path: Path) -> None:
    first = ClusterAccess("https://127.0.0.1:1", b"an older certificate", "an-older-token")
    written(path, first)
    assert written(path) == {
        "apiVersion": "v1", "kind": "Config", **OURS, "current-context": "mockube", "preferences": {},
    }  # fmt: skip


def test_the_namespace_that_a_person_chose_for_the_context_stays(path: Path) -> None:
    config = written(path)
    config["contexts"] = [{"name": "mockube", "context": {"cluster": "x", "user": "x", "namespace": "shop"}}]
    path.write_text(yaml.safe_dump(config))
    chosen = {"cluster": "mockube", "user": "mockube", "namespace": "shop"}
    assert written(path)["contexts"] == [{"name": "mockube", "context": chosen}]


def test_a_link_stays_a_link(path: Path, tmp_path: Path) -> None:
    existing(path, ANOTHER)
    link = tmp_path / "link"
    link.symlink_to(path)
    written(link)
    assert link.is_symlink()
    assert yaml.safe_load(path.read_text())["current-context"] == "mockube"


@pytest.mark.parametrize("config", ["", "\n", "apiVersion: v1\nkind: Config\nclusters: null\nusers: []\n"])
def test_an_empty_file_is_filled(path: Path, config: str) -> None:
    existing(path, config)
    assert {part: written(path)[part] for part in OURS} == OURS
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("{", "it is no YAML"),
        ("- a\n", "it is no kubeconfig"),
        ("kind: Pod\n", "it is no kubeconfig"),
        ("clusters: 5\n", "its clusters are no list of entries"),
        ("users: [5]\n", "its users are no list of entries"),
        ("contexts: [{name: mockube, context: x}]\n", "its contexts are no list of entries"),
    ],
)
def test_a_file_that_is_something_else_is_refused_and_not_touched(path: Path, config: str, why: str) -> None:
    existing(path, config)
    with pytest.raises(KubeconfigError) as refusal:
        write_kubeconfig(path, ACCESS)
    assert str(refusal.value) == f"{path} cannot be added to: {why}; name another file with --kubeconfig"
    assert path.read_text() == config


@pytest.mark.parametrize("harm", [Path.mkdir, lambda path: path.write_bytes(b"\xff\xfe\x00")], ids=["folder", "noise"])
def test_what_is_no_text_file_is_refused(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    harm(tmp_path / "config")
    with pytest.raises(KubeconfigError, match=r"config cannot be added to: it is no text file; name another file"):
        write_kubeconfig(tmp_path / "config", ACCESS)


def test_no_draft_is_left_behind(path: Path) -> None:
    written(path)
    assert [each.name for each in path.parent.iterdir()] == ["config"]
