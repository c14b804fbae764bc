"""CertificateApproval, CertificateSigning, CertificateSubjectRestriction and ClusterTrustBundleAttest.

Who approves or signs a request, or publishes a signer's certificates, needs a permission for that signer.
"""

import base64

from apiserver.api.meta import Obj
from apiserver.api.user import User
from apiserver.registry.admission import CREATE, UPDATE, WRITES, Attributes, Handles, forbidden
from apiserver.registry.authorizer import AuthorizationRequest, Authorizer

GROUP = "certificates.k8s.io"
REQUEST = (GROUP, "CertificateSigningRequest")
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
MASTERS = "system:masters"


class CertificateApproval:
    """The plug-in of that name (plugin/pkg/admission/certificates/approval)."""

    name = "CertificateApproval"
    handles = (Handles(UPDATE, frozenset((REQUEST,)), frozenset(("approval",))),)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        """Refuse an approval by a user who may not approve for the signer.

        Raises:
            ApiError: 403.
        """
        signer = _signer(attributes.old)
        if not await _may(self._authorizer, attributes.user, "approve", signer):
            raise forbidden(attributes, f'user not permitted to approve requests with signerName "{signer}"')


class CertificateSigning:
    """The plug-in of that name (plugin/pkg/admission/certificates/signing)."""

    name = "CertificateSigning"
    handles = (Handles(UPDATE, frozenset((REQUEST,)), frozenset(("status",))),)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a certificate or a condition from a user who may not sign for the signer.

        Raises:
            ApiError: 403.
        """
        new, old = ((each or {}).get("status") or {} for each in (attributes.obj, attributes.old))
        if all((new.get(name) or None) == (old.get(name) or None) for name in ("certificate", "conditions")):
            return
        signer = _signer(attributes.old)
        if not await _may(self._authorizer, attributes.user, "sign", signer):
            raise forbidden(attributes, f'user not permitted to sign requests with signerName "{signer}"')


class CertificateSubjectRestriction:
    """The plug-in of that name (plugin/pkg/admission/certificates/subjectrestriction)."""

    name = "CertificateSubjectRestriction"
    handles = (Handles(CREATE, frozenset((REQUEST,))),)

    async def validate(self, attributes: Attributes) -> None:
        """Refuse a request for a client certificate of the group system:masters.

        Raises:
            ApiError: 403.
        """
        assert attributes.obj is not None
        if _signer(attributes.obj) != CLIENT_SIGNER:
            return
        if MASTERS in _organizations(attributes.obj["spec"].get("request") or ""):
            raise forbidden(attributes, f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed")


class ClusterTrustBundleAttest:
    """The plug-in of that name (plugin/pkg/admission/certificates/ctbattest)."""

    name = "ClusterTrustBundleAttest"
    handles = (Handles(WRITES, frozenset(((GROUP, "ClusterTrustBundle"),)), None),)

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def validate(self, attributes: Attributes) -> None:
        """Refuse certificates of a signer from a user who may not attest for it.

        Raises:
            ApiError: 403.
        """
        signer = _signer(attributes.obj)
        if not signer or _changes_gc_fields_only(attributes.obj, attributes.old):
            return
        if not await _may(self._authorizer, attributes.user, "attest", signer):
            raise forbidden(attributes, f'user not permitted to attest for signerName "{signer}"')


def _signer(obj: Obj | None) -> str:
    return ((obj or {}).get("spec") or {}).get("signerName") or ""


async def _may(authorizer: Authorizer, user: User, verb: str, signer: str) -> bool:
    """Return whether a user may do something for a signer, or for all of its domain (IsAuthorizedForSignerName)."""
    names = (signer, f"{signer.partition('/')[0]}/*")
    request = AuthorizationRequest(user, verb, "", group=GROUP, resource="signers")
    for name in names:
        if (await authorizer.authorize(request._replace(name=name))).allowed:
            return True
    return False


def _organizations(encoded: str) -> list[str]:
    """Return the groups that a valid signing request asks for."""
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than all else of the server

    subject = x509.load_pem_x509_csr(base64.b64decode(encoded)).subject
    return [str(each.value) for each in subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)]


def _changes_gc_fields_only(new: Obj | None, old: Obj | None) -> bool:
    """Return whether an update changes owners and finalizers alone (rbac.IsOnlyMutatingGCFields)."""
    if new is None or old is None:
        return False
    ignored = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")
    first, second = (
        {**each, "metadata": {key: value for key, value in each["metadata"].items() if key not in ignored}}
        for each in (new, old)
    )
    return first == second
