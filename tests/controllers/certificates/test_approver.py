import pytest
from signing_requests import (
    APISERVER_CLIENT,
    APPROVED,
    CLIENT_USAGES,
    KUBELET_CLIENT,
    pem_request,
    signing_request,
)

from controller_manager.controllers.certificates.approver import SPEC
from controller_manager.reconcile.contract import Create, Requeue, Update
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST

NODE = "system:node:n"
BOOTSTRAPPER = {"username": "system:bootstrap:abcdef", "groups": ["system:bootstrappers"], "extra": {"a": ["b"]}}


def request_of(name=NODE, *conditions, signer=KUBELET_CLIENT, usages=CLIENT_USAGES, **requester):
    return signing_request(pem_request(name, "system:nodes"), signer, usages, *conditions, **requester)


@pytest.fixture
def approve(reconcile):
    """Return a function that reconciles a request whose requester has these permissions."""

    def run(csr, *permissions):
        def answer(action):
            if not isinstance(action, Create):
                return None
            asked = action.obj["spec"]["resourceAttributes"]["subresource"]
            return action.obj | {"status": {"allowed": asked in permissions}}

        return reconcile(SPEC, "r", {CERTIFICATE_SIGNING_REQUEST: [csr]}, answer)

    return run


def test_a_node_that_joins_is_approved_if_its_requester_may_do_that(approve):
    done = approve(request_of(**BOOTSTRAPPER), "nodeclient")
    (review,), (update,) = done.of(Create), done.of(Update)
    assert review.obj["spec"] == {
        "user": "system:bootstrap:abcdef",
        "groups": ["system:bootstrappers"],
        "extra": {"a": ["b"]},
        "resourceAttributes": {
            "group": "certificates.k8s.io",
            "version": "*",
            "resource": "certificatesigningrequests",
            "subresource": "nodeclient",
            "verb": "create",
        },
    }
    assert update.subresource == "approval"
    assert update.obj["status"]["conditions"] == [
        {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": "Auto approving kubelet client certificate after SubjectAccessReview.",
        }
    ]


@pytest.mark.parametrize(("permission", "which"), [("selfnodeclient", "self kubelet"), ("nodeclient", "kubelet")])
def test_a_node_that_renews_its_own_certificate_is_approved_by_either_permission(approve, permission, which):
    (update,) = approve(request_of(username=NODE, groups=["system:nodes"]), permission).of(Update)
    (condition,) = update.obj["status"]["conditions"]
    assert condition["message"] == f"Auto approving {which} client certificate after SubjectAccessReview."


def test_without_a_permission_the_request_waits_and_is_tried_again(approve):
    done = approve(request_of(username=NODE))
    asked = [review.obj["spec"]["resourceAttributes"]["subresource"] for review in done.of(Create)]
    assert asked == ["selfnodeclient", "nodeclient"]
    assert done.of(Update) == []
    assert len(done.of(Requeue)) == 1


@pytest.mark.parametrize(
    "csr",
    [
        request_of(NODE, APPROVED),
        request_of(NODE, APPROVED | {"type": "Denied"}),
        request_of(signer=APISERVER_CLIENT),
        request_of(usages=("server auth",)),
        request_of("jane"),
    ],
    ids=["approved", "denied", "of another signer", "of other usages", "of no node"],
)
def test_other_requests_are_left_to_people(approve, csr):
    assert approve(csr, "selfnodeclient", "nodeclient").actions == []
