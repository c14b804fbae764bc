"""Publishes the certificate by which pods know the server, in every namespace (pkg/controller/certificates).

Without a certificate nothing is published, and what others published is left alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj, annotations_of, name_of, namespace_of
from controller_manager.reconcile.conditions import phase_of
from controller_manager.reconcile.contract import (
    Change,
    Create,
    Key,
    Listers,
    Plan,
    Spec,
    Update,
    Watch,
    is_namespace_terminating,
)
from controller_manager.reconcile.kinds import CONFIG_MAP, NAMESPACE

NAME, ENTRY = "kube-root-ca.crt", "ca.crt"
ANNOTATION = "kubernetes.io/description"
DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


@dataclass(frozen=True, slots=True)
class Observed:
    """A namespace in which the certificate is not published as it should be.

    Attributes:
        found: the ConfigMap as it is, None where there is none.
        certificate: what it is to hold.
    """

    namespace: Key
    found: Obj | None
    certificate: str


def _namespace(_: Listers, change: Change) -> Iterable[Key]:
    """An active namespace; upstream tries those, too, that come into sight as they go."""
    if change.new is not None and phase_of(change.new) == "Active":
        yield change.new["metadata"]["name"]


def _config_map(_: Listers, change: Change) -> Iterable[Key]:
    if name_of(change.obj) == NAME:
        yield namespace_of(change.obj)


def observe(listers: Listers, key: Key) -> Observed | None:
    """What is wrong in a namespace, None where nothing is."""
    certificate = listers.settings.root_ca
    if not certificate or listers[NAMESPACE].get(key) is None:
        return None
    found = listers[CONFIG_MAP].get(f"{key}/{NAME}")
    return None if found is not None and _is_right(found, certificate) else Observed(key, found, certificate)


def _is_right(found: Obj, certificate: str) -> bool:
    """Whether nothing but the certificate is in it, and something describes it."""
    return found.get("data") == {ENTRY: certificate} and bool(annotations_of(found).get(ANNOTATION))


def plan(seen: Observed, _: float) -> Plan:
    """Make the ConfigMap, or set it right."""
    data = {ENTRY: seen.certificate}
    if seen.found is not None:
        meta = seen.found["metadata"]
        annotations = annotations_of(seen.found) | {ANNOTATION: DESCRIPTION}
        yield Update(CONFIG_MAP, seen.found | {"metadata": meta | {"annotations": annotations}, "data": data})
        return
    meta = {"name": NAME, "namespace": seen.namespace, "annotations": {ANNOTATION: DESCRIPTION}}
    try:
        yield Create(CONFIG_MAP, {"metadata": meta, "data": data})
    except ApiError as error:
        if error.code != 404 and not is_namespace_terminating(error):
            raise


SPEC = Spec(
    name="root-ca-certificate-publisher",
    watches=(Watch(NAMESPACE, _namespace), Watch(CONFIG_MAP, _config_map)),
    observe=observe,
    reconcile=plan,
    source="root-ca-cert-publisher",
    workers=1,
    queue="root_ca_cert_publisher",
)
