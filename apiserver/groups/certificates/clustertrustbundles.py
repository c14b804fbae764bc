"""ClusterTrustBundles (certificates.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import names
from apiserver.groups.cells import NONE, Cells, mapping, text_of
from apiserver.groups.columns import CERTIFICATES, NAME, Column, Printer
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PINNED


def _trust_bundle(obj: Obj) -> Cells:
    return [name_of(obj), text_of(mapping(obj, "spec"), "signerName") or NONE]


CLUSTER_TRUST_BUNDLE = BuiltinKind(
    "certificates.k8s.io",
    "ClusterTrustBundle",
    namespaced=False,
    fields=("spec.signerName",),
    selects_namespace=False,
    strategy=PINNED,
    field_labels=at_paths("spec.signerName"),
    printer=Printer(
        columns=(NAME, Column("SignerName", f"{CERTIFICATES}ClusterTrustBundleSpec#signerName")),
        cells=_trust_bundle,
    ),
    name_rule=names.path_segment,
)
