"""PodCertificateRequests (certificates.k8s.io): defaults, conversion and columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import labels_text
from apiserver.groups.cells import Cells, mapping, mappings, text_of
from apiserver.groups.columns import CERTIFICATES, NAME, Column, Printer
from apiserver.groups.conversion import Conversion
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import METADATA_OF_STATUS, Strategy, creation, status_updating, updating


def default_pod_certificate_request(request: Obj) -> None:
    """Set the default lifetime of a pod's certificate: a day."""
    request.setdefault("spec", {}).setdefault("maxExpirationSeconds", 86400)


def _without_proof(obj: Obj) -> Obj:
    """Drop the fields that v1 does not have, since its stub request already holds the key and the proof."""
    spec = obj.get("spec") or {}
    kept = {name: value for name, value in spec.items() if name not in ("pkixPublicKey", "proofOfPossession")}
    return obj | {"spec": kept}


def _unchanged(obj: Obj) -> Obj:
    return obj


_POD_REQUEST_STATES = frozenset({"Issued", "Denied", "Failed"})

_POD_REQUEST_FIELDS = (
    ("PodName", "podName"),
    ("ServiceAccountName", "serviceAccountName"),
    ("NodeName", "nodeName"),
    ("SignerName", "signerName"),
)


def _pod_certificate_request(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    conditions = [text_of(condition, "type") for condition in mappings(mapping(obj, "status"), "conditions")]
    states = [condition for condition in conditions if condition in _POD_REQUEST_STATES]
    return [
        name_of(obj),
        *[text_of(spec, field) for _, field in _POD_REQUEST_FIELDS],
        states[-1] if states else "Pending",
        labels_text(mapping(spec, "unverifiedUserAnnotations")),
    ]


def _has_builtin_signer(new: Obj, _old: Obj | None) -> bool:
    """Return whether kube-controller-manager would sign the request."""
    return text_of(mapping(new, "spec"), "signerName").startswith("kubernetes.io/")


_FIELDS = ("spec.nodeName", "spec.podName", "spec.signerName")

POD_CERTIFICATE_REQUEST = BuiltinKind(
    "certificates.k8s.io",
    "PodCertificateRequest",
    fields=_FIELDS,
    selects_namespace=False,
    default=default_pod_certificate_request,
    strategy=Strategy(
        creation(status=dict, generation=False),
        updating(),
        status_updating(*METADATA_OF_STATUS),
        has_status=True,
        allow_unconditional_update=False,
    ),
    field_labels=at_paths(*_FIELDS),
    conversions={"v1": Conversion(_unchanged, _without_proof)},
    printer=Printer(
        columns=(
            NAME,
            *(Column(name, f"{CERTIFICATES}PodCertificateRequestSpec#{field}") for name, field in _POD_REQUEST_FIELDS),
            Column("State", "Whether the request is Pending, Issued, Denied or Failed."),
            Column("UnverifiedUserAnnotations", f"{CERTIFICATES}PodCertificateRequestSpec#unverifiedUserAnnotations"),
        ),
        cells=_pod_certificate_request,
    ),
    notices=stored(
        "PodCertificateRequest",
        "signs no certificates for Pods",
        "gets no certificate",
        "`spec.signerName` begins with `kubernetes.io/`",
        _has_builtin_signer,
    ),
)
