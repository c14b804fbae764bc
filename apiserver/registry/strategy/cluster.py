"""Namespaces, accounts, volumes and claims: the fields that their writers do not decide alone."""

from apiserver.api.meta import Obj
from apiserver.registry.defaults.cluster import NAME_LABEL
from apiserver.registry.strategy.contract import Strategy, keep, status_updating, unchanged, updating

KUBERNETES_FINALIZER = "kubernetes"
_CLASSIC_SOURCES = {("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot")}


def _create_namespace(namespace: Obj) -> None:
    """A namespace starts active, and is not gone before the namespace controller says so."""
    namespace["status"] = {"phase": "Active"}
    spec = namespace.setdefault("spec", {})
    finalizers = spec.get("finalizers") or []
    if KUBERNETES_FINALIZER not in finalizers:
        spec["finalizers"] = [*finalizers, KUBERNETES_FINALIZER]


def _label_namespace(namespace: Obj) -> None:
    meta = namespace["metadata"]
    meta["labels"] = (meta.get("labels") or {}) | {NAME_LABEL: meta["name"]}


def _update_namespace(new: Obj, old: Obj) -> None:
    """Only /finalize changes the finalizers of the spec."""
    keep(new, old, "status")
    keep(new.setdefault("spec", {}), old.get("spec") or {}, "finalizers")


def _create_volume(volume: Obj) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": volume["metadata"].get("creationTimestamp")}


def _create_claim(claim: Obj) -> None:
    claim["status"] = {"phase": "Pending"}
    spec = claim["spec"]
    _drop_unknown_source(spec)
    _mirror_data_source(spec)


def _update_claim(new: Obj, old: Obj) -> None:
    """Clients that know no dataSourceRef leave it out, so that it is filled in again."""
    keep(new, old, "status")
    if "dataSource" not in old["spec"] and "dataSourceRef" not in old["spec"]:
        _drop_unknown_source(new["spec"])
    _mirror_data_source(new["spec"])


def _drop_unknown_source(spec: Obj) -> None:
    """The dataSource, older than dataSourceRef, names a claim or a snapshot or nothing."""
    source = spec.get("dataSource") or {}
    if (source.get("apiGroup", ""), source.get("kind")) not in _CLASSIC_SOURCES:
        spec.pop("dataSource", None)


def _mirror_data_source(spec: Obj) -> None:
    """The dataSource and the dataSourceRef say the same, unless the latter reaches into another namespace."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {field: value for field, value in reference.items() if field != "namespace"}


def _prepare_account(account: Obj) -> None:
    """An account names its secrets, and nothing else of them."""
    if account.get("secrets"):
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in account["secrets"]]


def _update_account(new: Obj, _old: Obj) -> None:
    _prepare_account(new)


NAMESPACE = Strategy(
    _create_namespace, _update_namespace, status_updating(), has_status=True, canonicalize=_label_namespace
)
NAMESPACE_FINALIZE = Strategy(_create_namespace, updating(), unchanged)
PERSISTENT_VOLUME = Strategy(_create_volume, updating(), status_updating(), has_status=True)
PERSISTENT_VOLUME_CLAIM = Strategy(_create_claim, _update_claim, status_updating(), has_status=True)
SERVICE_ACCOUNT = Strategy(_prepare_account, _update_account, unchanged, allow_unconditional_update=False)
