"""The files that a container begins with: what images have, what the kubelet writes, and its volumes."""

import posixpath
from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.downward_api import PodEnvironment, field_value, resource_value
from controller_manager.kubelet.container.environment import environment_of, hostname_of
from controller_manager.kubelet.container.execution import PROGRAMS
from controller_manager.kubelet.container.files import Directory, File, FileError, Files, Quota

DIRECTORIES = (
    "/bin",
    "/dev",
    "/etc",
    "/home",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sys",
    "/tmp",  # noqa: S108 - the container's
    "/usr/bin",
    "/var/log",
)
DEVICES = ("null", "zero", "stdin", "stdout", "stderr", "tty")
RELEASE = 'NAME="mockube"\nID=mockube\nPRETTY_NAME="mockube simulated container"\nHOME_URL="https://kubernetes.io/"\n'
USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
GROUPS = "root:x:0:\nnobody:x:65534:\n"
HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
RESOLVER = "search {0}.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"

Kept = Callable[[Obj], Directory]
"""Gives the directory of a volume whose files outlive a container."""


def furnished(pod: Obj, container: Obj, around: PodEnvironment, *, quota: Quota, kept: Kept, now: float) -> Container:
    """A container as it is when it has just started.

    Args:
        pod: that it is of.
        container: as the pod's spec has it.
        around: what is known of the cluster.
        quota: how much room its files have.
        kept: gives the directories that it shares.
        now: the time that its files show.
    """
    files = Files(quota)
    for path in DIRECTORIES:
        files.make_directory(path, now, parents=True)
    for name in PROGRAMS:
        files.write(f"/bin/{name}", b"", now).mode = 0o755
    for name in DEVICES:
        files.open(f"/dev/{name}", now).device = True
    for path, text in _texts(pod).items():
        files.write(path, text.encode(), now)
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        _mount(files, mount, _volume(pod, container, around, volume=volumes.get(mount["name"], {}), kept=kept), now)
    environment = environment_of(pod, container, around)
    directory = container.get("workingDir") or "/"
    if files.find(directory) is None:
        files.make_directory(directory, now, parents=True)
    security = (pod["spec"].get("securityContext") or {}) | (container.get("securityContext") or {})
    return Container(
        files,
        hostname_of(pod),
        environment,
        directory,
        (*(container.get("command") or ()), *(container.get("args") or ())),
        security.get("runAsUser") or 0,
        security.get("runAsGroup") or 0,
    )


def _texts(pod: Obj) -> Mapping[str, str]:
    host = hostname_of(pod)
    address = (pod.get("status") or {}).get("podIP")
    aliases = pod["spec"].get("hostAliases") or ()
    added = "".join(f"{each['ip']}\t{chr(9).join(each.get('hostnames') or ())}\n" for each in aliases)
    return {
        "/etc/hostname": f"{host}\n",
        "/etc/hosts": HOSTS
        + (f"{address}\t{host}\n" if address else "")
        + (f"\n# Entries added by HostAliases.\n{added}" if added else ""),
        "/etc/resolv.conf": RESOLVER.format(pod["metadata"].get("namespace", "default")),
        "/etc/os-release": RELEASE,
        "/etc/passwd": USERS,
        "/etc/group": GROUPS,
    }


def _mount(files: Files, mount: Obj, volume: Directory, now: float) -> None:
    """Hang a volume, or a part of it, into the tree; what cannot be is left out."""
    path, part = mount["mountPath"], mount.get("subPath") or mount.get("subPathExpr") or ""
    node: Directory | File = volume
    try:
        if part:
            inside = Files(Quota(1 << 40), volume)
            if inside.find(part) is None:
                inside.make_directory(part, now, parents=True)
            found = inside.get(part)
            assert isinstance(found, (Directory, File))
            node = found
        files.make_directory(posixpath.dirname(path.rstrip("/")) or "/", now, parents=True)
        if isinstance(node, File):
            files.write(path, bytes(node.data), now)
            return
        place = files.place(path)
    except FileError:
        return
    if place.name:
        node.mounted = True
        place.directory.entries[place.name] = node


def _volume(pod: Obj, container: Obj, around: PodEnvironment, *, volume: Obj, kept: Kept) -> Directory:
    """The files of a volume; those of ConfigMaps and of the downward API as they are when the container starts."""
    if "configMap" in volume:
        return _fixed(_config_map(volume["configMap"], around))
    if "downwardAPI" in volume:
        return _fixed(_downward(volume["downwardAPI"], pod, container, around=around))
    if "projected" in volume:
        texts: dict[str, str] = {}
        for source in volume["projected"].get("sources") or ():
            texts |= _projected(source, pod, container, around=around)
        return _fixed(texts)
    return Directory(read_only=True) if "secret" in volume else kept(volume)


def _projected(source: Obj, pod: Obj, container: Obj, *, around: PodEnvironment) -> Mapping[str, str]:
    if "configMap" in source:
        return _config_map(source["configMap"], around)
    if "downwardAPI" in source:
        return _downward(source["downwardAPI"], pod, container, around=around)
    return {}  # tokens and secrets are nothing that a simulation should hold


def _config_map(source: Obj, around: PodEnvironment) -> Mapping[str, str]:
    name = source.get("name") or ""
    data: Mapping[str, str] = (around.config_map(name) or {}).get("data") or {}
    if not data and name == "kube-root-ca.crt" and around.root_ca:
        data = {"ca.crt": around.root_ca}
    items = source.get("items")
    return {item["path"]: data[item["key"]] for item in items if item["key"] in data} if items else data


def _downward(source: Obj, pod: Obj, container: Obj, *, around: PodEnvironment) -> Mapping[str, str]:
    found = {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            found[item["path"]] = field_value(pod, item["fieldRef"].get("fieldPath") or "")
        elif "resourceFieldRef" in item:
            found[item["path"]] = resource_value(container, item["resourceFieldRef"], around.node)
    return found


def _fixed(texts: Mapping[str, str]) -> Directory:
    """A directory that holds texts and cannot be written to."""
    tree = Files(Quota(1 << 40))
    for path, text in texts.items():
        tree.make_directory(posixpath.dirname(f"/{path}"), 0.0, parents=True)
        tree.write(f"/{path}", text.encode(), 0.0)
    tree.root.read_only = True
    return tree.root
