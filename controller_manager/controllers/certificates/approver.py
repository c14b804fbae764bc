"""Approves the requests of kubelets for client certificates (pkg/controller/certificates/approver).

A kubelet that renews its own certificate needs the permission to create certificatesigningrequests/selfnodeclient, one
that joins the cluster needs certificatesigningrequests/nodeclient; the server answers that as a SubjectAccessReview.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.meta import Obj
from controller_manager.controllers.certificates import requests
from controller_manager.reconcile.conditions import TRUE, condition_of
from controller_manager.reconcile.contract import (
    ControllerSpec,
    Create,
    Key,
    Listers,
    Plan,
    Requeue,
    Update,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST, SUBJECT_ACCESS_REVIEW


@dataclass(frozen=True, slots=True)
class Permission:
    """A permission that approves requests.

    Attributes:
        subresource: of certificatesigningrequests, which the requester must be allowed to create.
        message: the message of the approval.
    """

    subresource: str
    message: str


SELF_NODE_CLIENT = Permission(
    "selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."
)
NODE_CLIENT = Permission("nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview.")


@dataclass(frozen=True, slots=True)
class Undecided:
    """A kubelet's request that nobody has decided on.

    Attributes:
        permissions: any of them approves it; they are tried in this order.
    """

    csr: Obj
    permissions: Sequence[Permission]


def observe(listers: Listers, key: Key) -> Undecided | None:
    """Return a request that may be approved, or None if there is nothing to do.

    Raises:
        ValueError: the request cannot be parsed.
    """
    csr = listers[CERTIFICATE_SIGNING_REQUEST].get(key)
    if csr is None or csr["spec"]["signerName"] != requests.KUBELET_CLIENT or requests.is_issued(csr):
        return None
    if condition_of(csr, requests.APPROVED) or condition_of(csr, requests.DENIED):
        return None
    request = requests.parse_request(csr)
    if requests.kubelet_client_problem(request, csr["spec"].get("usages") or ()):
        return None
    is_own = csr["spec"].get("username") == request.common_name
    return Undecided(csr, (SELF_NODE_CLIENT, NODE_CLIENT) if is_own else (NODE_CLIENT,))


def reconcile(undecided: Undecided, _: float) -> Plan:
    """Approve the request if its requester has one of the permissions; otherwise try again later."""
    for permission in undecided.permissions:
        review = yield Create(SUBJECT_ACCESS_REVIEW, _access_review(undecided.csr, permission))
        if review["status"].get("allowed"):
            approval = {
                "type": requests.APPROVED,
                "status": TRUE,
                "reason": "AutoApproved",
                "message": permission.message,
            }
            yield Update(CERTIFICATE_SIGNING_REQUEST, requests.with_condition(undecided.csr, approval), "approval")
            return
    yield Requeue()


def _access_review(csr: Obj, permission: Permission) -> Obj:
    spec = csr["spec"]
    requester = {"user": spec.get("username"), "uid": spec.get("uid"), "groups": spec.get("groups")}
    attributes = {
        "group": "certificates.k8s.io",
        "version": "*",
        "resource": "certificatesigningrequests",
        "subresource": permission.subresource,
        "verb": "create",
    }
    known = {name: value for name, value in (requester | {"extra": spec.get("extra")}).items() if value}
    return {"spec": known | {"resourceAttributes": attributes}}


SPEC = ControllerSpec(
    name="csrapproving",
    account="certificate-controller",
    watches=(Watch(CERTIFICATE_SIGNING_REQUEST, enqueue_self),),
    observe=observe,
    reconcile=reconcile,
    queue="certificate",
)
