"""The fields that pods of one operating system may not set, one by one (validateLinux and validateWindows)."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

WINDOWS, LINUX = (
    "Forbidden: cannot be set for a windows pod",
    "Forbidden: windows options cannot be set for a linux pod",
)
CONTAINER = {"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
OF_PODS: dict[str, Any] = {
    "appArmorProfile": {"type": "RuntimeDefault"},
    "seLinuxOptions": {"level": "s0"},
    "seccompProfile": {"type": "RuntimeDefault"},
    "fsGroup": 1,
    "fsGroupChangePolicy": "Always",
    "sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}],
    "runAsUser": 1,
    "runAsGroup": 1,
    "supplementalGroups": [1],
    "supplementalGroupsPolicy": "Merge",
    "seLinuxChangePolicy": "MountOption",
}
OF_CONTAINERS: dict[str, Any] = {
    "appArmorProfile": {"type": "RuntimeDefault"},
    "seLinuxOptions": {"level": "s0"},
    "seccompProfile": {"type": "RuntimeDefault"},
    "capabilities": {"add": ["NET_ADMIN"]},
    "readOnlyRootFilesystem": False,
    "privileged": False,
    "allowPrivilegeEscalation": False,
    "procMount": "Default",
    "runAsUser": 1,
    "runAsGroup": 1,
}


def refusals(system: str, context: dict[str, Any], *, kind: str = "containers", **spec: Any) -> list[str]:
    """Return what is wrong with a pod of a system, with a security context of its own or of a container."""
    head = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30}
    pod = head | {"os": {"name": system}, "containers": [CONTAINER]} | spec
    if kind == "pod":
        pod["securityContext"] = context
    else:
        pod[kind] = [CONTAINER | {"name": "other", "securityContext": context}]
    return [str(error) for error in VALIDATORS["", "Pod"].create({"metadata": {"name": "p"}, "spec": pod})]


@pytest.mark.parametrize("name", OF_PODS)
def test_a_windows_pod_has_no_such_context(name: str) -> None:
    assert refusals("linux", {name: OF_PODS[name]}, kind="pod") == []
    assert refusals("windows", {name: OF_PODS[name]}, kind="pod") == [f"spec.securityContext.{name}: {WINDOWS}"]


@pytest.mark.parametrize("kind", ["containers", "initContainers"])
@pytest.mark.parametrize("name", OF_CONTAINERS)
def test_no_container_of_a_windows_pod_has_such_a_context(name: str, kind: str) -> None:
    assert refusals("linux", {name: OF_CONTAINERS[name]}, kind=kind) == []
    path = f"spec.{kind}[0].securityContext.{name}"
    assert refusals("windows", {name: OF_CONTAINERS[name]}, kind=kind) == [f"{path}: {WINDOWS}"]


@pytest.mark.parametrize(("name", "value"), [("hostIPC", False), ("shareProcessNamespace", False), ("hostUsers", True)])
def test_a_windows_pod_shares_nothing_with_its_host(name: str, value: object) -> None:
    field: dict[str, Any] = {name: value}
    assert refusals("linux", {}, **field) == []
    assert refusals("windows", {}, **field) == [f"spec.{name}: {WINDOWS}"]


@pytest.mark.parametrize(
    ("kind", "path"), [("pod", "securityContext"), ("initContainers", "initContainers[0].securityContext")]
)
def test_a_linux_pod_has_no_windows_options(kind: str, path: str) -> None:
    context = {"windowsOptions": {"hostProcess": False}}
    assert refusals("windows", context, kind=kind) == []
    assert refusals("linux", context, kind=kind) == [f"spec.{path}.windowsOptions: {LINUX}"]


def test_a_system_has_a_name() -> None:
    assert refusals("", {}) == ["spec.os.name: Required value: cannot be empty"]
    assert refusals("plan9", {}) == ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']
