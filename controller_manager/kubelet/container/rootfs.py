"""The root file system of a new container: files of the image, files that the kubelet writes, and volumes."""

import posixpath
from collections.abc import Callable, Mapping

from apiserver.api.meta import Obj
from controller_manager.kubelet.container.container import Container
from controller_manager.kubelet.container.downward_api import PodEnvironment, field_value, resource_value
from controller_manager.kubelet.container.environment import environment_of, hostname_of
from controller_manager.kubelet.container.execution import PROGRAMS
from controller_manager.kubelet.container.files import Directory, File, FileError, FileSystem, Quota

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
OS_RELEASE = (
    'NAME="mockube"\nID=mockube\nPRETTY_NAME="mockube simulated container"\nHOME_URL="https://kubernetes.io/"\n'
)
ETC_USERS = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
ETC_GROUPS = "root:x:0:\nnobody:x:65534:\n"
ETC_HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""
ETC_RESOLV_CONF = (
    "search {0}.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
)

VolumeDirectory = Callable[[Obj], Directory]
"""Returns the directory of a volume whose files outlive a container."""


def new_container(
    pod: Obj, container: Obj, pod_environment: PodEnvironment, *, quota: Quota, kept: VolumeDirectory, now: float
) -> Container:
    """Return a container as it is when it has just started.

    Args:
        pod: its pod.
        container: the container in the pod's spec.
        pod_environment: lookups in the cluster.
        quota: the limit for its files.
        kept: returns the directories that outlive it.
        now: the modification time of its files.
    """
    files = FileSystem(quota)
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
        _mount(
            files,
            mount,
            _volume(pod, container, pod_environment, volume=volumes.get(mount["name"], {}), kept=kept),
            now,
        )
    environment = environment_of(pod, container, pod_environment)
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
    added = "".join(f"{alias['ip']}\t{chr(9).join(alias.get('hostnames') or ())}\n" for alias in aliases)
    return {
        "/etc/hostname": f"{host}\n",
        "/etc/hosts": ETC_HOSTS
        + (f"{address}\t{host}\n" if address else "")
        + (f"\n# Entries added by HostAliases.\n{added}" if added else ""),
        "/etc/resolv.conf": ETC_RESOLV_CONF.format(pod["metadata"].get("namespace", "default")),
        "/etc/os-release": OS_RELEASE,
        "/etc/passwd": ETC_USERS,
        "/etc/group": ETC_GROUPS,
    }


def _mount(files: FileSystem, mount: Obj, volume: Directory, now: float) -> None:
    """Mount a volume, or a part of it; ignore a mount that is impossible."""
    path, part = mount["mountPath"], mount.get("subPath") or mount.get("subPathExpr") or ""
    node: Directory | File = volume
    try:
        if part:
            inside = FileSystem(Quota(1 << 40), volume)
            if inside.find(part) is None:
                inside.make_directory(part, now, parents=True)
            subpath_node = inside.get(part)
            assert isinstance(subpath_node, (Directory, File))
            node = subpath_node
        files.make_directory(posixpath.dirname(path.rstrip("/")) or "/", now, parents=True)
        if isinstance(node, File):
            files.write(path, bytes(node.data), now)
            return
        target = files.resolve(path)
    except FileError:
        return
    if target.name:
        node.mounted = True
        target.directory.entries[target.name] = node


def _volume(
    pod: Obj, container: Obj, pod_environment: PodEnvironment, *, volume: Obj, kept: VolumeDirectory
) -> Directory:
    """Return the files of a volume; those of ConfigMaps and the downward API do not change later."""
    if "configMap" in volume:
        return _fixed(_config_map(volume["configMap"], pod_environment))
    if "downwardAPI" in volume:
        return _fixed(_downward(volume["downwardAPI"], pod, container, pod_environment=pod_environment))
    if "projected" in volume:
        texts: dict[str, str] = {}
        for source in volume["projected"].get("sources") or ():
            texts |= _projected(source, pod, container, pod_environment=pod_environment)
        return _fixed(texts)
    return Directory(read_only=True) if "secret" in volume else kept(volume)


def _projected(source: Obj, pod: Obj, container: Obj, *, pod_environment: PodEnvironment) -> Mapping[str, str]:
    if "configMap" in source:
        return _config_map(source["configMap"], pod_environment)
    if "downwardAPI" in source:
        return _downward(source["downwardAPI"], pod, container, pod_environment=pod_environment)
    return {}  # tokens and secrets are nothing that a simulation should hold


def _config_map(source: Obj, pod_environment: PodEnvironment) -> Mapping[str, str]:
    name = source.get("name") or ""
    data: Mapping[str, str] = (pod_environment.config_map(name) or {}).get("data") or {}
    if not data and name == "kube-root-ca.crt" and pod_environment.root_ca:
        data = {"ca.crt": pod_environment.root_ca}
    items = source.get("items")
    return {item["path"]: data[item["key"]] for item in items if item["key"] in data} if items else data


def _downward(source: Obj, pod: Obj, container: Obj, *, pod_environment: PodEnvironment) -> Mapping[str, str]:
    texts = {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            texts[item["path"]] = field_value(pod, item["fieldRef"].get("fieldPath") or "")
        elif "resourceFieldRef" in item:
            texts[item["path"]] = resource_value(container, item["resourceFieldRef"], pod_environment.node)
    return texts


def _fixed(texts: Mapping[str, str]) -> Directory:
    """Return a read-only directory with some text files."""
    tree = FileSystem(Quota(1 << 40))
    for path, text in texts.items():
        tree.make_directory(posixpath.dirname(f"/{path}"), 0.0, parents=True)
        tree.write(f"/{path}", text.encode(), 0.0)
    tree.root.read_only = True
    return tree.root
