"""The objects that a node's pods need (authorizer/node graph.go), looked up in the store when somebody asks.

node ← pod ← secret, configmap, account, resource claim, claim ← volume ← secret
"""

from collections.abc import Iterator
from typing import Protocol

import orjson

from apiserver.api.meta import Obj, name_of
from apiserver.registry.storage import ROOT
from etcd.store import KeyValue, Page

MIRROR = "kubernetes.io/config.mirror"
"""The annotation of mirror pods, which kubelets themselves create: they give a node no access to other objects."""
_SECRET_VOLUMES = ("cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
_CSI_SECRETS = ("nodeExpandSecretRef", "nodePublishSecretRef", "nodeStageSecretRef")


class RelationStore(Protocol):
    """The part of a store that relations are read from."""

    def get(self, key: str) -> KeyValue | None:
        """Return the newest state of a key."""
        ...

    def range(self, prefix: str) -> Page:
        """Return the newest state of all keys under a prefix."""
        ...


class NodeRelations:
    """Tells which objects are related to a node."""

    def __init__(self, store: RelationStore) -> None:
        self._store = store

    def has(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Return whether an object is related to a node."""
        if resource == "pods":
            return _node_name(self._object(f"pods/{namespace}/{name}")) == node
        if resource in ("volumeattachments", "resourceslices"):
            return _node_name(self._object(f"{resource}/{name}")) == node
        if resource == "persistentvolumes":
            claim = (self._object(f"persistentvolumes/{name}").get("spec") or {}).get("claimRef") or {}
            return self.has(node, "persistentvolumeclaims", claim.get("namespace") or "", claim.get("name") or "")
        pods = [pod for pod in self._pods(node, namespace) if MIRROR not in (pod["metadata"].get("annotations") or {})]
        if any((resource, name) in pod_references(pod) for pod in pods):
            return True
        return resource == "secrets" and any((namespace, name) in self._volume_secrets(pod) for pod in pods)

    def _pods(self, node: str, namespace: str) -> Iterator[Obj]:
        for kv in self._store.range(f"{ROOT}pods/{namespace}/").items if namespace else ():
            if kv.index_attrs.fields.get("spec.nodeName") == node:
                yield orjson.loads(kv.value)

    def _volume_secrets(self, pod: Obj) -> Iterator[tuple[str, str]]:
        """Yield namespace and name of the secrets that the volumes of a pod's claims need on the node."""
        namespace = pod["metadata"]["namespace"]
        for resource, name in pod_references(pod):
            if resource == "persistentvolumeclaims":
                claim = self._object(f"persistentvolumeclaims/{namespace}/{name}")
                volume = (claim.get("spec") or {}).get("volumeName") or ""
                csi = (self._object(f"persistentvolumes/{volume}").get("spec") or {}).get("csi") or {}
                for reference in (csi[field] for field in _CSI_SECRETS if csi.get(field)):
                    yield reference.get("namespace") or "", reference.get("name") or ""

    def _object(self, path: str) -> Obj:
        """Return a stored object, {} if there is none."""
        kv = self._store.get(f"{ROOT}{path}")
        obj: Obj = orjson.loads(kv.value) if kv else {}
        return obj


def pod_references(pod: Obj) -> set[tuple[str, str]]:
    """Return (resource, name) of the objects in its namespace that a pod names."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    references = {("serviceaccounts", spec.get("serviceAccountName") or "")}
    references |= {("secrets", reference.get("name") or "") for reference in spec.get("imagePullSecrets") or ()}
    claims = [*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ())]
    references |= {("resourceclaims", claim.get("resourceClaimName") or "") for claim in claims}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            references.update(_container_references(container))
    for volume in spec.get("volumes") or ():
        references.update(_volume_references(name_of(pod), volume))
    return {reference for reference in references if reference[1]}


def _container_references(container: Obj) -> Iterator[tuple[str, str]]:
    sources = [*(container.get("envFrom") or ())]
    sources += [variable.get("valueFrom") or {} for variable in container.get("env") or ()]
    for source in sources:
        for field in ("secretRef", "secretKeyRef"):
            yield "secrets", (source.get(field) or {}).get("name") or ""
        for field in ("configMapRef", "configMapKeyRef"):
            yield "configmaps", (source.get(field) or {}).get("name") or ""


def _volume_references(pod_name: str, volume: Obj) -> Iterator[tuple[str, str]]:
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield "secrets", (source.get("secret") or {}).get("name") or ""
        yield "configmaps", (source.get("configMap") or {}).get("name") or ""
    yield "secrets", (volume.get("secret") or {}).get("secretName") or ""
    yield "secrets", (volume.get("azureFile") or {}).get("secretName") or ""
    yield "secrets", ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name") or ""
    for field in _SECRET_VOLUMES:
        yield "secrets", ((volume.get(field) or {}).get("secretRef") or {}).get("name") or ""
    yield "configmaps", (volume.get("configMap") or {}).get("name") or ""
    yield "persistentvolumeclaims", (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
    if volume.get("ephemeral"):
        yield "persistentvolumeclaims", f"{pod_name}-{volume['name']}"


def _node_name(obj: Obj) -> str:
    return str((obj.get("spec") or {}).get("nodeName") or "")
