"""Plug-ins with one rule each."""

import pytest

from apiserver.admission.always_pull_images import AlwaysPullImages
from apiserver.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from apiserver.admission.default_ingress_class import MARK, OLD_ANNOTATION, DefaultIngressClass
from apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from apiserver.admission.extended_resource_toleration import ExtendedResourceToleration
from apiserver.admission.owner_references import OwnerReferencesPermissionEnforcement
from apiserver.admission.persistent_volume_claim_resize import (
    NOT_BOUND,
    NOT_RESIZABLE,
    PersistentVolumeClaimResize,
)
from apiserver.admission.pod_node_selector import ANNOTATION, CONFLICT, PodNodeSelector
from apiserver.admission.runtime_class import MISMATCH, WITHOUT, RuntimeClass
from apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from apiserver.api.user import User
from apiserver.registry.authorizer import Decision, SubjectRules


class Permissions:
    """An authorizer that allows each user some requests: user → (verb, resource/subresource, name)s."""

    def __init__(self, **allowed):
        self._allowed = allowed

    async def authorize(self, request):
        resource = f"{request.resource}/{request.subresource}" if request.subresource else request.resource
        return Decision(allowed=(request.verb, resource, request.name) in self._allowed.get(request.user.name, ()))

    def rules_for(self, user, namespace):  # noqa: ARG002 - the contract
        return SubjectRules()


def pod(**spec):
    return {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "image": "i"}]} | spec}


# -- RuntimeClass -----------------------------------------------------------------------------------------------------

TOLERATIONS = [{"key": "sandboxed", "operator": "Exists"}]
GVISOR = {
    "handler": "gvisor",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {
        "nodeSelector": {"sandboxed": "true"},
        "tolerations": TOLERATIONS,
    },
}


async def test_a_pod_gets_the_overhead_and_the_scheduling_of_its_runtime_class(store, put, write):
    await put("runtimeclasses/gvisor", GVISOR)
    own = {"key": "own"}
    made, _ = await write(
        RuntimeClass(store), "Pod", pod(runtimeClassName="gvisor", nodeSelector={"a": "b"}, tolerations=[own])
    )
    assert made["spec"]["overhead"] == {"cpu": "100m"}
    assert made["spec"]["nodeSelector"] == {"a": "b", "sandboxed": "true"}
    assert made["spec"]["tolerations"] == [own, *TOLERATIONS]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, WITHOUT),
        ({"runtimeClassName": "plain", "overhead": {"cpu": "1"}}, WITHOUT),
        ({"runtimeClassName": "gvisor", "overhead": {"cpu": "1"}}, MISMATCH),
        (
            {"runtimeClassName": "gvisor", "nodeSelector": {"sandboxed": "no"}},
            ("conflict: runtimeClass.scheduling.nodeSelector[sandboxed] = true; pod.spec.nodeSelector[sandboxed] = no"),
        ),
    ],
)
async def test_a_pod_that_contradicts_its_runtime_class_is_refused(store, put, refusal, spec, why):
    await put("runtimeclasses/gvisor", GVISOR)
    await put("runtimeclasses/plain", {"handler": "plain"})
    assert await refusal(RuntimeClass(store), "Pod", pod(**spec)) == (403, why)


# -- PodNodeSelector --------------------------------------------------------------------------------------------------


async def test_pods_get_the_node_selector_of_their_namespace(store, put, write, refusal):
    await put("namespaces/ns", {"metadata": {"annotations": {ANNOTATION: "zone=a, disk=ssd"}}})
    plugin = PodNodeSelector(store)
    made, _ = await write(plugin, "Pod", pod(nodeSelector={"zone": "a", "own": "1"}))
    assert made["spec"]["nodeSelector"] == {"zone": "a", "disk": "ssd", "own": "1"}
    assert await refusal(plugin, "Pod", pod(nodeSelector={"zone": "b"})) == (403, CONFLICT)
    await put("namespaces/ns", {"metadata": {"annotations": {ANNOTATION: "zone"}}})
    assert (await refusal(plugin, "Pod", pod()))[0] == 500
    await put("namespaces/ns", {})
    assert "nodeSelector" not in (await write(plugin, "Pod", pod()))[0]["spec"]


# -- DefaultIngressClass ----------------------------------------------------------------------------------------------


async def test_an_ingress_without_a_class_gets_the_newest_default(store, put, write):
    def ingress(annotations=None, **spec):
        return {"metadata": {"name": "x"} | ({"annotations": annotations} if annotations else {}), "spec": spec}

    async def chosen(obj):
        return (await write(DefaultIngressClass(store), "Ingress", obj))[0]["spec"].get("ingressClassName")

    assert await chosen(ingress()) is None
    for name, marked, created in (("old", "true", "2026"), ("new", "true", "2027"), ("other", "false", "2028")):
        await put(f"ingressclasses/{name}", {"metadata": {"annotations": {MARK: marked}, "creationTimestamp": created}})
    assert await chosen(ingress()) == "new"
    assert await chosen(ingress(ingressClassName="own")) == "own"
    assert await chosen(ingress({OLD_ANNOTATION: "own"})) is None


# -- PersistentVolumeClaimResize --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        ("Bound", "growing", "2Gi", None),
        ("Bound", "fixed", "2Gi", NOT_RESIZABLE),
        ("Bound", "absent", "2Gi", NOT_RESIZABLE),
        ("Bound", None, "2Gi", NOT_RESIZABLE),
        ("Pending", "growing", "2Gi", NOT_BOUND),
        ("Pending", "growing", "1Gi", None),
    ],
)
async def test_a_claim_grows_if_it_is_bound_and_its_class_allows_it(store, put, write, refusal, case):
    phase, storage_class, size, why = case
    await put("storageclasses/growing", {"allowVolumeExpansion": True})
    await put("storageclasses/fixed", {})

    def claim(storage):
        spec = {"storageClassName": storage_class, "resources": {"requests": {"storage": storage}}}
        return {"metadata": {"name": "x"}, "spec": spec, "status": {"phase": phase}}

    arguments = (PersistentVolumeClaimResize(store), "PersistentVolumeClaim", claim(size))
    if why is None:
        await write(*arguments, old=claim("1Gi"))
    else:
        assert await refusal(*arguments, old=claim("1Gi")) == (403, why)


# -- DefaultTolerationSeconds and TaintNodesByCondition ---------------------------------------------------------------

NOT_READY, UNREACHABLE = (
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, [NOT_READY, UNREACHABLE]),
        ([{"key": "a"}], [{"key": "a"}, NOT_READY, UNREACHABLE]),
        ([{"key": NOT_READY["key"]}], [{"key": NOT_READY["key"]}, UNREACHABLE]),
        (
            [{"key": UNREACHABLE["key"], "effect": "NoSchedule"}],
            [{"key": UNREACHABLE["key"], "effect": "NoSchedule"}, NOT_READY, UNREACHABLE],
        ),
        ([{"operator": "Exists"}], [{"operator": "Exists"}]),
    ],
)
async def test_pods_stay_for_five_minutes_on_nodes_that_fail(write, given, expected):
    made, _ = await write(DefaultTolerationSeconds(), "Pod", pod(**({"tolerations": given} if given else {})))
    assert made["spec"]["tolerations"] == expected


async def test_a_new_node_takes_no_pods_until_it_is_ready(write):
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    node, _ = await write(TaintNodesByCondition(), "Node", {"metadata": {"name": "x"}})
    assert node["spec"]["taints"] == [taint]
    again, _ = await write(TaintNodesByCondition(), "Node", node)
    assert again["spec"]["taints"] == [taint]


# -- AlwaysPullImages and ExtendedResourceToleration ------------------------------------------------------------------


async def test_every_image_is_pulled_each_time(write):
    container = {"name": "c", "image": "i", "imagePullPolicy": "Never"}
    spec = {
        "containers": [container],
        "initContainers": [container],
        "volumes": [{"name": "v", "image": {"reference": "r"}}],
    }
    made, _ = await write(AlwaysPullImages(), "Pod", pod(**spec))
    assert {each["imagePullPolicy"] for name in ("containers", "initContainers") for each in made["spec"][name]} == {
        "Always"
    }
    assert made["spec"]["volumes"] == [{"name": "v", "image": {"reference": "r", "pullPolicy": "Always"}}]
    assert container["imagePullPolicy"] == "Never"
    unchanged, _ = await write(AlwaysPullImages(), "Pod", pod(containers=[container]), old=pod(containers=[container]))
    assert unchanged["spec"]["containers"] == [container]


async def test_a_pod_tolerates_the_nodes_of_the_devices_that_it_requests(write):
    requests = {"requests": {"example.com/gpu": "1", "example.com/a": "1", "cpu": "1"}}
    made, _ = await write(
        ExtendedResourceToleration(), "Pod", pod(containers=[{"name": "c", "image": "i", "resources": requests}])
    )
    expected = [
        {"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in ("example.com/a", "example.com/gpu")
    ]
    assert made["spec"]["tolerations"] == expected
    assert "tolerations" not in (await write(ExtendedResourceToleration(), "Pod", pod()))[0]["spec"]


# -- certificates -----------------------------------------------------------------------------------------------------

SIGNER = "example.com/a"


def request(signer=SIGNER, **more):
    return {"metadata": {"name": "x"}, "spec": {"signerName": signer}} | more


@pytest.mark.parametrize(
    "case",
    [
        (CertificateApproval, "approve", "approval", request(), "approve requests with"),
        (CertificateSigning, "sign", "status", request(status={"certificate": "YQ=="}), "sign requests with"),
    ],
)
async def test_who_approves_or_signs_has_the_permission_for_the_signer(write, refusal, case):
    plugin, verb, subresource, new, words = case
    permissions = Permissions(one={(verb, "signers", SIGNER)}, domain={(verb, "signers", "example.com/*")})
    arguments = (plugin(permissions), "CertificateSigningRequest", new)
    for name in ("one", "domain"):
        await write(*arguments, old=request(), subresource=subresource, user=User(name))
    why = f'user not permitted to {words} signerName "{SIGNER}"'
    assert await refusal(*arguments, old=request(), subresource=subresource, user=User("none")) == (403, why)


async def test_a_status_without_a_new_certificate_or_condition_needs_no_permission(write):
    await write(
        CertificateSigning(Permissions()), "CertificateSigningRequest", request(), old=request(), subresource="status"
    )


async def test_who_publishes_the_certificates_of_a_signer_attests_for_it(write, refusal):
    plugin = ClusterTrustBundleAttest(Permissions(signer={("attest", "signers", SIGNER)}))
    await write(plugin, "ClusterTrustBundle", request(), user=User("signer"))
    why = f'user not permitted to attest for signerName "{SIGNER}"'
    assert await refusal(plugin, "ClusterTrustBundle", request()) == (403, why)
    await write(plugin, "ClusterTrustBundle", request(signer=""))
    owned = {"metadata": {"name": "x", "finalizers": ["a"]}, "spec": {"signerName": SIGNER}}
    await write(plugin, "ClusterTrustBundle", owned, old=request())


@pytest.mark.parametrize(("organization", "allowed"), [("system:masters", False), ("developers", True)])
async def test_nobody_requests_a_client_certificate_of_the_masters(write, refusal, organization, allowed):
    import base64  # noqa: PLC0415 - beside cryptography, which takes long to import

    from cryptography import x509  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    subject = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, organization)])
    key = ed25519.Ed25519PrivateKey.generate()
    pem = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, None).public_bytes(Encoding.PEM)
    signer = "kubernetes.io/kube-apiserver-client"
    obj = request(signer)
    obj["spec"]["request"] = base64.b64encode(pem).decode()
    arguments = (CertificateSubjectRestriction(), "CertificateSigningRequest", obj)
    if allowed:
        await write(*arguments)
    else:
        why = f"use of {signer} signer with system:masters group is not allowed"
        assert await refusal(*arguments) == (403, why)


# -- OwnerReferencesPermissionEnforcement -----------------------------------------------------------------------------

OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1"}


def owned(*owners):
    return {"metadata": {"name": "x", "ownerReferences": list(owners)}}


async def test_owners_need_the_permissions_that_their_effects_would_need(rows, write, refusal):
    permissions = Permissions(
        deleter={("delete", "secrets", "x")},
        finalizer={("delete", "secrets", "x"), ("update", "configmaps/finalizers", "owner")},
    )
    plugin = OwnerReferencesPermissionEnforcement(permissions, list(rows.values()))
    blocking = OWNER | {"blockOwnerDeletion": True}
    await write(plugin, "Secret", owned(OWNER))
    await write(plugin, "Secret", owned(OWNER), old=owned(OWNER))
    await write(plugin, "Secret", owned(OWNER), old=owned(), user=User("deleter"))
    await write(plugin, "Secret", owned(blocking), old=owned(), user=User("finalizer"))
    no_delete = "cannot set an ownerRef on a resource you can't delete: , <nil>"
    assert await refusal(plugin, "Secret", owned(OWNER), old=owned()) == (403, no_delete)
    no_finalizers = (
        "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
    )
    assert await refusal(plugin, "Secret", owned(blocking), old=owned(), user=User("deleter")) == (403, no_finalizers)
    unknown = blocking | {"kind": "Nothing"}
    why = 'cannot find RESTMapping for APIVersion v1 Kind Nothing: no matches for kind "Nothing" in version "v1"'
    assert await refusal(plugin, "Secret", owned(unknown)) == (
        403,
        f"cannot set blockOwnerDeletion in this case because {why}",
    )
