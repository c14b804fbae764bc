"""CertificateSigningRequests (certificates.k8s.io): strategy, validation and columns."""

import base64
from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age, human_duration
from apiserver.groups.cells import NONE, Cells, mapping, mappings, number_of, text_of
from apiserver.groups.certificates.certificates import certificate_problem
from apiserver.groups.columns import AGE, CERTIFICATES, NAME, Column, Printer
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, keep_field, unchanged

_DECISIONS = ("Approved", "Denied")


def _create_signing_request(request: Obj) -> None:
    """Reset the status: a request starts undecided."""
    request["status"] = {}


def _update_signing_request(new: Obj, old: Obj) -> None:
    keep_field(new, old, "spec")
    keep_field(new, old, "status")


def _update_signing_status(new: Obj, old: Obj) -> None:
    """Keep the spec and put back the decisions among the conditions; the signer writes the certificate.

    If a decision was added or removed, it stays so, and validation refuses the update.
    """
    keep_field(new, old, "spec")
    status = new.setdefault("status", {})
    before = (old.get("status") or {}).get("conditions") or ()
    conditions = status.get("conditions") or ()
    kept = {decision: [c for c in before if c.get("type") == decision] for decision in _DECISIONS}
    for decision in _DECISIONS:
        if sum(c.get("type") == decision for c in conditions) != len(kept[decision]):
            kept[decision] = [c for c in conditions if c.get("type") == decision]
    if conditions:
        status["conditions"] = [kept[c["type"]].pop(0) if c.get("type") in kept else c for c in conditions]


def _update_signing_approval(new: Obj, old: Obj) -> None:
    """Keep everything but the conditions, which are all that an approver writes."""
    keep_field(new, old, "spec")
    conditions = (new.get("status") or {}).get("conditions")
    status = {field: value for field, value in (old.get("status") or {}).items() if field != "conditions"}
    new["status"] = status | {"conditions": conditions} if conditions else status


CERTIFICATE_SIGNING_REQUEST_STRATEGY = Strategy(
    _create_signing_request, _update_signing_request, _update_signing_status, has_status=True
)

CERTIFICATE_SIGNING_REQUEST_APPROVAL = Strategy(_create_signing_request, _update_signing_approval, unchanged)

_USAGES = frozenset(
    {
        "any",
        "cert sign",
        "client auth",
        "code signing",
        "content commitment",
        "crl sign",
        "data encipherment",
        "decipher only",
        "digital signature",
        "email protection",
        "encipher only",
        "ipsec end system",
        "ipsec tunnel",
        "ipsec user",
        "key agreement",
        "key encipherment",
        "microsoft sgc",
        "netscape sgc",
        "ocsp signing",
        "s/mime",
        "server auth",
        "signing",
        "timestamping",
    }
)

_FINAL = (*_DECISIONS, "Failed")

_STATES = frozenset({"False", "True", "Unknown"})

_MIN_EXPIRATION_SECONDS = 600

_EXCLUSIVE = "Approved and Denied conditions are mutually exclusive"

_BAD_PEM = "PEM block type must be CERTIFICATE REQUEST"

_MAX_SIGNER = 253 + 1 + 253 + 63 + 1
"""The longest name of a signer: a domain, a slash, and the namespace and name of an issuer with a dot between them."""

_SIGNER_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def _create(request: Obj) -> Iterator[FieldError]:
    spec = request.get("spec") or {}
    usages, seconds = spec.get("usages") or [], spec.get("expirationSeconds")
    encoded = spec.get("request") or ""
    if problem := _request_problem(encoded):
        yield field.invalid("spec.request", encoded, problem)
    yield from checks.required("spec.usages", usages)
    yield from checks.each("spec.usages", usages, lambda usage: checks.one_of("", usage, _USAGES))
    for index, usage in enumerate(usages):
        if usage in usages[:index]:
            yield field.duplicate(f"spec.usages[{index}]", usage)
    yield from checks.prefix_errors("spec.signerName", _signer(spec.get("signerName") or ""))
    if seconds is not None and seconds < _MIN_EXPIRATION_SECONDS:
        detail = f"may not specify a duration less than {_MIN_EXPIRATION_SECONDS} seconds (10 minutes)"
        yield field.invalid("spec.expirationSeconds", seconds, detail)
    yield from _conditions(_conditions_of(request))


def _request_problem(encoded: str) -> str:
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than all else of the server
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - the same

    try:
        request = x509.load_pem_x509_csr(base64.b64decode(encoded))
    except ValueError:
        return _BAD_PEM
    try:
        return "" if request.is_signature_valid else "x509: invalid signature"
    except (UnsupportedAlgorithm, ValueError) as error:
        return f"x509: {error}"


def _signer(name: str) -> Iterator[FieldError]:
    if not name:
        yield field.required("")
        return
    if name == "kubernetes.io/legacy-unknown":
        yield field.invalid("", name, "the legacy signerName is not allowed via this API version")
        return
    if name.count("/") != 1:
        yield field.invalid("", name, _SIGNER_FORM)
        return
    domain, path = name.split("/")
    if len(domain) > 253:
        yield field.too_long("", 253)
    labels = domain.split(".")
    yield from _first_bad_label(domain, names.dns1123_label)
    if len(labels) < 2:
        yield field.invalid("", domain, "should be a domain with at least two segments separated by dots")
    yield from _first_bad_label(path, names.dns1123_subdomain)
    if len(name) > _MAX_SIGNER:
        yield field.too_long("", _MAX_SIGNER)


def _first_bad_label(segment: str, check: names.Check) -> Iterator[FieldError]:
    """Yield the errors of the first invalid label between dots: those of others would read the same."""
    for label in segment.split("."):
        if messages := check(label):
            for message in messages:
                yield field.invalid("", segment, f"validating label {quoted(label)}: {message}")
            return


def _conditions_of(request: Obj) -> list[Obj]:
    conditions: list[Obj] = (request.get("status") or {}).get("conditions") or []
    return conditions


def _conditions(conditions: list[Obj]) -> Iterator[FieldError]:
    kinds = [condition.get("type") or "" for condition in conditions]
    for index, (kind, condition) in enumerate(zip(kinds, conditions, strict=True)):
        path = f"status.conditions[{index}]"
        yield from checks.required(f"{path}.type", kind)
        states = frozenset({"True"}) if kind in _FINAL else _STATES
        yield from checks.required_one_of(f"{path}.status", condition.get("status"), states)
        if kind in _DECISIONS and set(_DECISIONS) - {kind} <= set(kinds[:index]):
            yield field.invalid(f"{path}.type", kind, _EXCLUSIVE)
        if kind in kinds[:index]:
            yield field.duplicate(f"{path}.type", kind)


def _conditions_of_type(request: Obj, kind: str) -> list[Obj]:
    return [condition for condition in _conditions_of(request) if condition.get("type") == kind]


def _decisions_kept(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the errors of the new request, and of a decision that was taken back, which no update may do."""
    yield from _create(new)
    yield from _certificate_well_formed(new, old)
    for kind in _FINAL:
        if len(_conditions_of_type(new, kind)) < len(_conditions_of_type(old, kind)):
            detail = f'updates may not remove a condition of type "{kind}"'
            yield field.forbidden("status.conditions", detail)


def _undecided(new: Obj, old: Obj) -> Iterator[FieldError]:
    for kind in _DECISIONS:
        conditions, before = _conditions_of_type(new, kind), _conditions_of_type(old, kind)
        if len(conditions) > len(before):
            yield field.forbidden("status.conditions", f'updates may not add a condition of type "{kind}"')
        elif len(conditions) == len(before) and conditions != before:
            yield field.forbidden("status.conditions", f'updates may not modify a condition of type "{kind}"\n')


def _certificate_well_formed(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the error of a certificate, unless it is the old one or the old one has an error as well."""
    certificate, before = ((each.get("status") or {}).get("certificate") or "" for each in (new, old))
    if certificate == before or certificate_problem(before):
        return
    if problem := certificate_problem(certificate):
        yield field.invalid("status.certificate", "<certificate data>", problem)


def _certificate_kept(new: Obj, old: Obj, words: str) -> checks.FieldErrors:
    certificates = [(request.get("status") or {}).get("certificate") for request in (new, old)]
    return () if checks.equal_or_both_empty(*certificates) else (field.forbidden("status.certificate", words),)


def validate_approval(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Yield the errors of a write to the approval subresource, the only one that may decide."""
    yield from _decisions_kept(new, old)
    yield from _certificate_kept(new, old, "updates may not set certificate content")


def _update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _decisions_kept(new, old)
    yield from _undecided(new, old)
    yield from _certificate_kept(new, old, "updates may not set certificate content")


def _status_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _decisions_kept(new, old)
    yield from _undecided(new, old)
    if (old.get("status") or {}).get("certificate"):
        yield from _certificate_kept(new, old, "updates may not modify existing certificate content")


def _signing_request(obj: Obj) -> Cells:
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    lifetime = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj),
        text_of(spec, "signerName") or NONE,
        text_of(spec, "username"),
        NONE if lifetime is None else human_duration(number_of(spec, "expirationSeconds")),
        _signing_state(status),
    ]


def _signing_state(status: Obj) -> str:
    conditions = {text_of(condition, "type") for condition in mappings(status, "conditions")}
    decision = next((word for word in ("Denied", "Approved") if word in conditions), "Pending")
    failed = ",Failed" if "Failed" in conditions else ""
    issued = ",Issued" if status.get("certificate") else ""
    return decision + failed + issued


CERTIFICATE_SIGNING_REQUEST = BuiltinKind(
    "certificates.k8s.io",
    "CertificateSigningRequest",
    ("csr",),
    namespaced=False,
    subresources=("approval",),
    fields=("spec.signerName",),
    selects_namespace=False,
    strategy=CERTIFICATE_SIGNING_REQUEST_STRATEGY,
    subresource_strategies={"approval": CERTIFICATE_SIGNING_REQUEST_APPROVAL},
    validator=Validator(_create, _update, _status_update),
    subresource_validators={"approval": validate_approval},
    field_labels=at_paths("spec.signerName"),
    printer=Printer(
        columns=(
            NAME,
            AGE,
            Column("SignerName", f"{CERTIFICATES}CertificateSigningRequestSpec#signerName"),
            Column("Requestor", f"{CERTIFICATES}CertificateSigningRequestSpec#username"),
            Column("RequestedDuration", f"{CERTIFICATES}CertificateSigningRequestSpec#expirationSeconds"),
            Column("Condition", f"{CERTIFICATES}CertificateSigningRequestStatus#conditions"),
        ),
        cells=_signing_request,
    ),
    name_rule=names.path_segment,
)
