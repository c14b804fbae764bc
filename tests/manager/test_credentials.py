"""Credentials with kubectl: certificates that are approved and signed, tokens of accounts and of nodes that join."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from patience import SECONDS
from signing_requests import pem_request

from mockube.cluster import Cluster

Kubectl = Any
TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture
def kubectl_as(cluster: Cluster, kubectl_at: Callable[..., Kubectl], tmp_path: Path) -> Callable[..., Kubectl]:
    """kubectl_as(token=…) or kubectl_as(**{"client-certificate-data": …}): a kubectl with these credentials."""

    def make(**user: str) -> Kubectl:
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["users"][0]["user"] = user
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        return kubectl_at(path)

    return make


def manifest(name: str, pem: bytes, signer: str, *usages: str) -> str:
    spec = {"request": base64.b64encode(pem).decode(), "signerName": f"kubernetes.io/{signer}", "usages": list(usages)}
    meta = {"name": name}
    return json.dumps(
        {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": meta, "spec": spec}
    )


def who(kubectl: Kubectl) -> tuple[str, list[str]]:
    """Return the name and the groups that the server knows a kubectl by."""
    user = json.loads(kubectl.output("auth whoami -o json"))["status"]["userInfo"]
    return user["username"], user["groups"]


def issued(kubectl: Kubectl, name: str) -> str:
    """Return the certificate of a request, in base64, once it is there."""
    kubectl.output(f"wait csr/{name} --for=jsonpath={{.status.certificate}} --timeout={SECONDS:.0f}s")
    certificate: str = kubectl.output(f"get csr {name} -o jsonpath={{.status.certificate}}")
    return certificate


def key_data(key: ec.EllipticCurvePrivateKey) -> str:
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return base64.b64encode(key.private_bytes(*plain)).decode()


def test_an_approved_request_is_signed_and_its_owner_is_known_by_the_certificate(
    kubectl: Kubectl, kubectl_as: Callable[..., Kubectl]
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = pem_request("jane", "dev", key=key)
    kubectl.says(
        "create -f -",
        r"certificatesigningrequest.certificates.k8s.io/jane created",
        manifest("jane", pem, "kube-apiserver-client", "client auth"),
    )
    assert "Pending" in kubectl.output("get csr jane")
    kubectl.output("certificate approve jane")
    jane = kubectl_as(**{"client-certificate-data": issued(kubectl, "jane"), "client-key-data": key_data(key)})
    assert "Approved,Issued" in kubectl.output("get csr jane")
    assert who(jane) == ("jane", ["dev", "system:authenticated"])


def test_a_denied_request_gets_no_certificate(kubectl: Kubectl) -> None:
    pem = pem_request("joe")
    kubectl.output("create -f -", manifest("joe", pem, "kube-apiserver-client", "client auth"))
    kubectl.output("certificate deny joe")
    times = "{.status.conditions[0].lastUpdateTime}{.status.conditions[0].lastTransitionTime}"
    assert kubectl.output(f"get csr joe -o jsonpath={times}").count("Z") == 2
    assert kubectl.output("get csr joe -o jsonpath={.status.certificate}") == ""


def test_a_request_that_its_signer_refuses_has_failed(kubectl: Kubectl) -> None:
    pem = pem_request("bad")
    kubectl.output("create -f -", manifest("bad", pem, "kube-apiserver-client", "client auth", "server auth"))
    kubectl.output("certificate approve bad")
    kubectl.output(f"wait csr/bad --for=condition=Failed --timeout={SECONDS:.0f}s")
    assert "Approved,Failed" in kubectl.output("get csr bad")


def test_a_node_joins_with_a_bootstrap_token_and_gets_its_own_certificate(
    kubectl: Kubectl, kubectl_as: Callable[..., Kubectl]
) -> None:
    data = {"token-id": TOKEN[:6], "token-secret": TOKEN[7:], "usage-bootstrap-authentication": "true"}
    meta = {"name": f"bootstrap-token-{TOKEN[:6]}", "namespace": "kube-system"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "bootstrap.kubernetes.io/token"}
    kubectl.output("create -f -", json.dumps(secret | {"stringData": data}))
    for role in ("node-bootstrapper", "certificates.k8s.io:certificatesigningrequests:nodeclient"):
        name = role.replace(":", "-")
        group = "system:bootstrappers"
        kubectl.output(f"create clusterrolebinding {name} --clusterrole=system:{role} --group={group}")
    joining = kubectl_as(token=TOKEN)
    assert who(joining) == ("system:bootstrap:abcdef", ["system:bootstrappers", "system:authenticated"])
    key = ec.generate_private_key(ec.SECP256R1())
    pem = pem_request("system:node:new", "system:nodes", key=key)
    request = manifest("new", pem, "kube-apiserver-client-kubelet", "client auth", "digital signature")
    joining.output("create -f -", request)
    node = kubectl_as(**{"client-certificate-data": issued(kubectl, "new"), "client-key-data": key_data(key)})
    assert who(node) == ("system:node:new", ["system:nodes", "system:authenticated"])
    kubectl.output(f"delete secret bootstrap-token-{TOKEN[:6]} -n kube-system")
    joining.refuses("auth whoami", r"(?s).*You must be logged in to the server.*")


def test_a_token_that_kubectl_creates_is_its_accounts(kubectl: Kubectl, kubectl_as: Callable[..., Kubectl]) -> None:
    kubectl.output("create serviceaccount robot")
    namespace = kubectl.namespace
    token = kubectl.output("create token robot --duration=20m").strip()
    robot = kubectl_as(token=token)
    assert who(robot)[0] == f"system:serviceaccount:{namespace}:robot"
    kubectl.output("create secret generic vault")
    bound = kubectl.output("create token robot --bound-object-kind=Secret --bound-object-name=vault").strip()
    assert kubectl_as(token=bound).run("auth whoami").code == 0
    kubectl.output("delete secret vault")
    assert kubectl_as(token=bound).run("auth whoami").code == 1
    kubectl.refuses(
        "create token robot --duration=5m",
        r"(?s).*spec.expirationSeconds: Invalid value: 300: may not specify a duration less than 10 minutes",
    )


def test_a_secret_that_names_an_account_gets_its_token_until_the_account_goes(
    kubectl: Kubectl, kubectl_as: Callable[..., Kubectl]
) -> None:
    kubectl.output("create serviceaccount robot")
    meta = {"name": "s", "annotations": {"kubernetes.io/service-account.name": "robot"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "kubernetes.io/service-account-token"}
    kubectl.says("create -f -", r"secret/s created", json.dumps(secret))
    kubectl.output(f"wait secret/s --for=jsonpath={{.data.token}} --timeout={SECONDS:.0f}s")
    data = json.loads(kubectl.output("get secret s -o jsonpath={.data}"))
    assert sorted(data) == ["ca.crt", "namespace", "token"]
    robot = kubectl_as(token=base64.b64decode(data["token"]).decode())
    assert who(robot)[0] == f"system:serviceaccount:{kubectl.namespace}:robot"
    label = r"{.metadata.labels.kubernetes\.io/legacy-token-last-used}"
    kubectl.output(f"wait secret/s '--for=jsonpath={label}' --timeout={SECONDS:.0f}s")
    kubectl.output("delete serviceaccount robot")
    kubectl.output(f"wait secret/s --for=delete --timeout={SECONDS:.0f}s")
    robot.refuses("auth whoami", r"(?s).*You must be logged in to the server.*")
