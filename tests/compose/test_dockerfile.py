"""The instructions of the Dockerfile, which are checked without an engine."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
RUNNING = ("etcd", "mockube")
"""The stages that containers are made of."""


@dataclass
class Stage:
    """One stage: what it is made from, and its instructions in their order."""

    name: str
    base: str
    said: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [words for name, words in self.said if name == instruction]

    def last(self, instruction: str) -> str:
        return self.all(instruction)[-1]


def stages() -> dict[str, Stage]:
    """The stages by their names."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    by_name: dict[str, Stage] = {}
    for line in filter(None, text.splitlines()):
        instruction, words = line.split(None, 1)
        if instruction == "FROM":
            base, name = re.findall(r"^(\S+) AS (\S+)$", words)[0]
            by_name[name] = stage = Stage(name, base)
        else:
            stage.said.append((instruction, words))
    return by_name


STAGES = stages()
each_running = pytest.mark.parametrize("name", RUNNING)


def exec_form(words: str) -> Any:
    return json.loads(words[words.index("[") :])


def test_there_is_one_base_image_and_it_has_a_version() -> None:
    bases = {stage.base for stage in STAGES.values()}
    (outside,) = bases - STAGES.keys()
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-bookworm", outside)


def test_what_builds_is_not_in_what_runs() -> None:
    assert list(STAGES) == ["base", "build", "etcd", "mockube"]
    assert all(STAGES[name].base == "base" for name in RUNNING)
    assert STAGES["mockube"].all("COPY") == ["--from=build /opt/mockube /opt/mockube"]
    assert STAGES["etcd"].all("COPY") == []


@each_running
def test_it_does_not_run_as_root(name: str) -> None:
    stage = STAGES[name]
    assert stage.last("USER") == "10001:10001"
    assert [instruction for instruction, _ in stage.said].index("USER") > max(
        at for at, (instruction, _) in enumerate(stage.said) if instruction == "RUN"
    )
    ours = {service["user"] for service in SERVICES.values() if service["image"].startswith("mockube")}
    assert ours == {stage.last("USER")}
    assert re.search(r"useradd --uid 10001 --gid 10001\b.*nologin", STAGES["base"].last("RUN"))


@each_running
def test_what_volumes_are_mounted_at_has_the_owner_who_writes_there(name: str) -> None:
    made = re.search(
        r"install --directory --owner=10001 --group=10001 --mode=0700((?: /\S+)+)", STAGES[name].last("RUN")
    )
    image = "mockube" if name == "mockube" else "mockube-etcd"
    mounted = {
        volume.split(":")[1]
        for service in SERVICES.values()
        if service["image"] == image
        for volume in service.get("volumes", [])
    }
    assert made is not None
    assert mounted <= set(made[1].split())


@each_running
def test_it_says_whether_it_is_well_and_what_it_runs_without_a_shell(name: str) -> None:
    stage = STAGES[name]
    flags = re.findall(r"--([a-z-]+)=", stage.last("HEALTHCHECK").split(" CMD ")[0])
    assert flags == ["interval", "timeout", "start-period", "retries"]
    assert exec_form(stage.last("HEALTHCHECK"))[0] == {"etcd": "etcdctl", "mockube": "mockube"}[name]
    assert exec_form(stage.last("CMD"))[0] == name
    assert not stage.all("ENTRYPOINT")


def test_the_cluster_that_the_image_is_by_itself_and_its_check_are_commands_that_there_are() -> None:
    for words in (STAGES["mockube"].last("CMD"), STAGES["mockube"].last("HEALTHCHECK")):
        _, command, *flags = exec_form(words)
        help_text = subprocess.run(
            [sys.executable, "-m", "mockube", command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        assert all(flag.split("=")[0] in help_text for flag in flags if flag.startswith("--"))


def test_no_secret_goes_into_an_image() -> None:
    said = " ".join(words for stage in STAGES.values() for _, words in stage.said)
    assert not re.search(r"token|password|secret|\.key|kubeconfig", said, re.IGNORECASE)
    assert not any(stage.all("ARG") for stage in STAGES.values())


def ignored(path: str) -> bool:
    """Return whether a path is left out of the build context: the last pattern that it or its folders match decides."""
    is_ignored = False
    parts = path.split("/")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        matched = (
            any(fnmatch(part, pattern.removeprefix("**/")) for part in parts)
            if pattern.startswith("**/")
            else fnmatch(parts[0], pattern)
        )
        is_ignored = not line.startswith("!") if matched else is_ignored
    return is_ignored


@pytest.mark.parametrize("path", [".env", ".git/config", ".mockube/pki/ca.key", "kubeconfig", "mockube/pki/ca.key"])
def test_what_is_secret_does_not_get_to_the_builder(path: str) -> None:
    assert ignored(path)


def test_what_is_copied_gets_to_the_builder_and_nothing_else_does() -> None:
    sources = {word for words in STAGES["build"].all("COPY") for word in shlex.split(words)[:-1]}
    allowed = {path.name for path in ROOT.iterdir() if not ignored(path.name)}
    assert sources == allowed


def test_what_is_copied_is_installed_down_to_the_last_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {pattern.removesuffix("*") for pattern in project["packages"]["find"]["include"]}
    copied = {
        name for words in STAGES["build"].all("COPY") for name in shlex.split(words)[:-1] if (ROOT / name).is_dir()
    }
    assert copied == packages
    patterns = ["*.py", *project["package-data"]["*"]]
    files = [path for name in packages for path in (ROOT / name).rglob("*") if path.is_file()]
    for path in files:
        if path.parent.name != "__pycache__":
            assert any(fnmatch(path.name, pattern) for pattern in patterns), path
            assert (path.parent / "__init__.py").exists(), path
