import base64
import json
import urllib.request
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from patience import SECONDS

SAID: list[tuple[str, str]] = [
    ("version", r"Client Version: .*Server Version: .*v1\.\d+\.0.*"),
    ("cluster-info", r".*Kubernetes control plane.* is running at .*https://127.0.0.1:\d+.*"),
    ("config current-context", r"\S+"),
    ("config get-contexts -o name", r"\S+"),
    ("config view -o jsonpath={.users[0].user}", r'\{"token":"REDACTED"\}'),
    ("auth whoami", r"ATTRIBUTE +VALUE\nUsername +\S+\n.*Groups +\[system:masters system:authenticated\].*"),
    ("auth whoami -o jsonpath={.kind}", "SelfSubjectReview"),
    ("auth can-i get pods", "yes"),
    ("auth can-i '*' '*'", "yes"),
    ("auth can-i create pods --subresource=exec", "yes"),
    ("auth can-i --list", r"Resources +Non-Resource URLs +Resource Names +Verbs\n\*\.\* +\[\] +\[\] +\[\*\]\n.*"),
    ("__complete get pod", r".*pods\n.*:4\n.*"),
    ("__complete get ns kube-s", r"kube-system\n:4\n.*"),
    ("__complete -n kube-p", r"kube-public\n:4\n.*"),
    ("get clusterrole cluster-admin -o jsonpath={.rules[0].verbs}", r'\["\*"\]'),
    ("get svc kubernetes -n default -o jsonpath={.spec.clusterIP}", "10.96.0.1"),
    (
        "get ns -o name",
        r"namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n.*",
    ),
    ("get --raw /version", r'\{.*"gitVersion": ?"v1\.\d+\.0".*\}'),
    ("logs p", ""),
]


@pytest.fixture(scope="module")
def with_pod(kubectl_in: Any) -> Any:
    kubectl = kubectl_in()
    kubectl.output("run p --image=nginx")
    return kubectl


@pytest.mark.parametrize(("line", "says"), SAID)
def test_a_cluster_answers(with_pod: Any, line: str, says: str) -> None:
    with_pod.says(line, says)


REFUSED: list[tuple[str, str]] = [
    ("top pods", "error: Metrics API not available"),
    ("top nodes", "error: Metrics API not available"),
    ("exec p -- ls", r"Error from server \(BadRequest\): pod p does not have a host assigned"),
    ("cp p:/x y", r"Error from server \(BadRequest\): pod p does not have a host assigned"),
    ("exec nobody -- ls", r'Error from server \(NotFound\): pods "nobody" not found'),
    ("logs nobody", r'.*\(NotFound\): pods "nobody" not found.*'),
    ("port-forward p 8080:80", "error: unable to forward port because pod is not running. Current status=Pending"),
    ("get pods --token=wrong --user=''", r"error: You must be logged in to the server.*"),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_a_cluster_without_nodes_cannot_do_is_said(with_pod: Any, line: str, says: str) -> None:
    with_pod.refuses(line, says)


def test_headers_are_those_of_a_real_server(reader: Any) -> None:
    said = reader.run("get ns default -v=8").err

    assert "Cache-Control: no-cache, private" in said
    assert "Content-Type: application/json" in said
    assert "Audit-Id: " in said


def test_everything_is_dumped(reader: Any) -> None:
    dump = reader.output("cluster-info dump")

    assert '"kind": "NodeList"' in dump
    assert '"kind": "PodList"' in dump


def test_a_proxy_passes_requests_on(reader: Any) -> None:
    process = reader.start("proxy --port=0")
    try:
        address = process.stdout.readline().rpartition(" ")[2].strip()
        with urllib.request.urlopen(f"http://{address}/api/v1/namespaces/default", timeout=SECONDS) as answer:
            assert json.load(answer)["metadata"]["name"] == "default"
    finally:
        process.terminate()
        process.communicate()


def request_for(name: str) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bob")])
    signed = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    text = base64.b64encode(signed.public_bytes(serialization.Encoding.PEM)).decode()
    return json.dumps(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "signerName": "kubernetes.io/kube-apiserver-client",
                "usages": ["client auth"],
                "request": text,
            },
        }
    )


@pytest.mark.parametrize(("verb", "past", "other"), [("approve", "Approved", "deny"), ("deny", "Denied", "approve")])
def test_a_certificate_request_is_decided_once(kubectl: Any, verb: str, past: str, other: str) -> None:
    name = kubectl.namespace
    kubectl.output("create -f -", request_for(name))

    kubectl.says(f"get csr {name} --no-headers", rf"{name} +\d+s +\S+/kube-apiserver-client +\S+ +<none> +Pending")
    kubectl.says(f"certificate {verb} {name}", f"certificatesigningrequest.certificates.k8s.io/{name} {past.lower()}")
    kubectl.says(f"get csr {name} --no-headers", rf"{name} .* {past}")
    kubectl.refuses(f"certificate {other} {name}", rf'error: certificate signing request "{name}" is already {past}')
    kubectl.says(f"describe csr {name}", rf"Name: +{name}\n.*Common Name: +bob\n.*")


def test_what_is_old_is_warned_of(reader: Any) -> None:
    reader.says(
        "get cs etcd-0", r"NAME +STATUS .*\netcd-0 +Healthy .*\nWarning: v1 ComponentStatus is deprecated in v1.19\+"
    )
    reader.says("get cs", r"NAME +STATUS .*\nWarning: v1 ComponentStatus is deprecated in v1.19\+")
    reader.says(
        "get endpoints -n default kubernetes",
        r"NAME .*\nWarning: v1 Endpoints is deprecated in v1.33\+; use discovery.k8s.io/v1 EndpointSlice",
    )


def test_rules_are_reconciled(kubectl: Any) -> None:
    role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: r, namespace: {0}}}\nrules: {1}\n"
    rule = "[{apiGroups: [''], resources: [pods], verbs: [%s]}]"

    kubectl.says("auth reconcile -f -", r".*/r reconciled\n.*", role.format(kubectl.namespace, rule % "get"))
    kubectl.says("auth reconcile -f -", r".*/r reconciled\n.*", role.format(kubectl.namespace, rule % "get,list"))
    kubectl.says("get role r -o jsonpath={.rules[*].verbs[*]}", r"get (get )?list")
