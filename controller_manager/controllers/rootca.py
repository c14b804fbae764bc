"""Publishes the server's CA certificate for pods in every namespace (pkg/controller/certificates).

Without a certificate nothing is published, and ConfigMaps that others published stay as they are.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of, namespace_of
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import (
    Change,
    ControllerSpec,
    Create,
    Key,
    Listers,
    Plan,
    Update,
    Watch,
    is_namespace_terminating,
)
from controller_manager.reconcile.kinds import CONFIG_MAP, NAMESPACE

NAME, DATA_KEY = "kube-root-ca.crt", "ca.crt"
ANNOTATION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A namespace in which the certificate is missing or wrong.

    Attributes:
        existing: the ConfigMap as it is, or None if there is none.
        certificate: the certificate that it should hold.
    """

    namespace: Key
    existing: Obj | None
    certificate: str


def _namespace_changed(_: Listers, change: Change) -> Iterable[Key]:
    """Yield the key of an active namespace; upstream also tries namespaces that are first seen while terminating."""
    if change.new is not None and phase_of(change.new) == "Active":
        yield change.new["metadata"]["name"]


def _config_map_changed(_: Listers, change: Change) -> Iterable[Key]:
    if name_of(change.obj) == NAME:
        yield namespace_of(change.obj)


def observe(listers: Listers, key: Key) -> Observed | None:
    """Return the problem in a namespace, or None if all is well."""
    certificate = listers.settings.root_ca
    if not certificate or listers[NAMESPACE].get(key) is None:
        return None
    existing = listers[CONFIG_MAP].get(f"{key}/{NAME}")
    return (
        None if existing is not None and _is_up_to_date(existing, certificate) else Observed(key, existing, certificate)
    )


def _is_up_to_date(existing: Obj, certificate: str) -> bool:
    """Return whether the ConfigMap holds the certificate and nothing else, and has a description."""
    return existing.get("data") == {DATA_KEY: certificate} and bool(annotations_of(existing).get(ANNOTATION))


def reconcile(observed: Observed, _: float) -> Plan:
    """Create or correct the ConfigMap."""
    data = {DATA_KEY: observed.certificate}
    if observed.existing is not None:
        meta = observed.existing["metadata"]
        annotations = annotations_of(observed.existing) | {ANNOTATION: DESCRIPTION}
        yield Update(CONFIG_MAP, observed.existing | {"metadata": meta | {"annotations": annotations}, "data": data})
        return
    meta = {"name": NAME, "namespace": observed.namespace, "annotations": {ANNOTATION: DESCRIPTION}}
    try:
        yield Create(CONFIG_MAP, {"metadata": meta, "data": data})
    except ApiError as error:
        if error.code != 404 and not is_namespace_terminating(error):
            raise


SPEC = ControllerSpec(
    name="root-ca-certificate-publisher",
    account="root-ca-cert-publisher",
    watches=(Watch(NAMESPACE, _namespace_changed), Watch(CONFIG_MAP, _config_map_changed)),
    observe=observe,
    reconcile=reconcile,
    source="root-ca-cert-publisher",
    workers=1,
    queue="root_ca_cert_publisher",
)
