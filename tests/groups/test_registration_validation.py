"""Validation of webhooks, policies, API services, certificate requests, flow schemas and priority levels."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from apiserver.registry.validation import VALIDATORS

ADMISSION, CERTIFICATES, FLOW = "admissionregistration.k8s.io", "certificates.k8s.io", "flowcontrol.apiserver.k8s.io"
RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": "*"}
HOOK = {
    "name": "a.example.com",
    "rules": [RULE],
    "sideEffects": "None",
    "clientConfig": {"url": "https://example.com/x"},
    "admissionReviewVersions": ["v1"],
}


def messages(errors: Any) -> list[str]:
    return [str(error) for error in errors]


def created(group: str, kind: str, name: str = "a", **parts: Any) -> list[str]:
    return messages(VALIDATORS[group, kind].create({"metadata": {"name": name}} | parts))


@pytest.mark.parametrize(
    ("hook", "errors"),
    [
        (HOOK, []),
        (
            HOOK | {"name": "short"},
            [
                (
                    'webhooks[0].name: Invalid value: "short": '
                    "should be a domain with at least three segments separated by dots"
                )
            ],
        ),
        (
            HOOK | {"sideEffects": None},
            ["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
        ),
        (
            HOOK | {"clientConfig": {}},
            ["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
        ),
        (
            HOOK | {"clientConfig": {"url": "http://u@example.com/#f"}},
            [
                (
                    'webhooks[0].clientConfig.url: Invalid value: "http": '
                    "'https' is the only allowed URL scheme; desired format: https://host[/path]"
                ),
                'webhooks[0].clientConfig.url: Invalid value: "u": user information is not permitted in the URL',
                'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
            ],
        ),
        (
            HOOK | {"clientConfig": {"service": {"name": "s", "path": "x/"}}},
            [
                "webhooks[0].clientConfig.service.namespace: Required value",
                "webhooks[0].clientConfig.service.path: Invalid value: \"x/\": must start with a '/'",
                'webhooks[0].clientConfig.service.path: Invalid value: "x/": segment[0] may not be empty',
            ],
        ),
        (
            HOOK | {"rules": [RULE | {"operations": ["*", "CREATE"], "resources": ["*", "pods"]}]},
            [
                (
                    'webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: '
                    "if '*' is present, must not specify other operations"
                ),
                (
                    'webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: '
                    "if '*' is present, must not specify other resources without subresources"
                ),
            ],
        ),
        (
            HOOK | {"timeoutSeconds": 31, "admissionReviewVersions": ["v2"]},
            [
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                (
                    'webhooks[0].admissionReviewVersions: Invalid value: ["v2"]: '
                    "must include at least one of v1, v1beta1"
                ),
            ],
        ),
    ],
)
def test_a_webhook_names_what_it_wants_and_where_it_is(hook: dict[str, Any], errors: list[str]) -> None:
    assert created(ADMISSION, "ValidatingWebhookConfiguration", webhooks=[hook]) == errors


def test_webhooks_have_names_of_their_own() -> None:
    assert created(ADMISSION, "MutatingWebhookConfiguration", webhooks=[HOOK, HOOK]) == [
        'webhooks[1].name: Duplicate value: "a.example.com"'
    ]


MATCH = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [RULE]}
POLICY = {"failurePolicy": "Fail", "matchConstraints": MATCH, "validations": [{"expression": "true"}]}
ITEMS = "Required value: validations or auditAnnotations must contain at least one item"


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (POLICY, []),
        (POLICY | {"validations": []}, [f"spec.validations: {ITEMS}", f"spec.auditAnnotations: {ITEMS}"]),
        (
            {"validations": [{"expression": " "}]},
            [
                "spec.failurePolicy: Required value",
                "spec.matchConstraints: Required value",
                "spec.validations[0].expression: Required value: expression is not specified",
            ],
        ),
        (
            POLICY | {"variables": [{"name": "a-b", "expression": "1"}]},
            ['spec.variables[0].name: Invalid value: "a-b": name is not a valid CEL identifier'],
        ),
        (
            POLICY | {"paramKind": {"apiVersion": "a/b/c"}},
            [
                'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
                "spec.paramKind.kind: Required value",
            ],
        ),
    ],
)
def test_an_admission_policy_matches_and_validates(spec: dict[str, Any], errors: list[str]) -> None:
    assert created(ADMISSION, "ValidatingAdmissionPolicy", spec=spec) == errors


def test_a_policy_binding_says_what_happens() -> None:
    assert created(ADMISSION, "ValidatingAdmissionPolicyBinding", spec={"policyName": "p"}) == [
        "spec.validationActions: Required value: at least one validation action is required"
    ]


@pytest.mark.parametrize(
    ("name", "spec", "errors"),
    [
        ("v1.g.io", {"service": {"name": "s", "namespace": "n"}}, []),
        ("other", {}, ['metadata.name: Invalid value: "other": must be `spec.version+"."+spec.group`: "v1.g.io"']),
        (
            "v1.g.io",
            {"versionPriority": 1001, "caBundle": "AAAA"},
            [
                "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
                'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
            ],
        ),
    ],
)
def test_an_api_service_is_named_after_its_version(name: str, spec: dict[str, Any], errors: list[str]) -> None:
    basics = {"group": "g.io", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
    assert created("apiregistration.k8s.io", "APIService", name, spec=basics | spec) == errors


@pytest.fixture(scope="module")
def request_text() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"request": text, "usages": ["client auth"], "signerName": "example.com/s"} | more


def test_a_good_certificate_request_has_no_errors(request_text: str) -> None:
    assert created(CERTIFICATES, "CertificateSigningRequest", spec=asked(request_text)) == []


@pytest.mark.parametrize(
    ("parts", "errors"),
    [
        ({"request": "AAAA"}, ['spec.request: Invalid value: "AAAA": PEM block type must be CERTIFICATE REQUEST']),
        ({"usages": ["signing", "signing"]}, ['spec.usages[1]: Duplicate value: "signing"']),
        ({"usages": []}, ["spec.usages: Required value"]),
        (
            {"signerName": "plain"},
            [
                (
                    'spec.signerName: Invalid value: "plain": '
                    "must be a fully qualified domain and path of the form 'example.com/signer-name'"
                )
            ],
        ),
        (
            {"expirationSeconds": 599},
            [
                (
                    "spec.expirationSeconds: Invalid value: 599: "
                    "may not specify a duration less than 600 seconds (10 minutes)"
                )
            ],
        ),
    ],
)
def test_a_bad_certificate_request_is_refused(request_text: str, parts: dict[str, Any], errors: list[str]) -> None:
    assert created(CERTIFICATES, "CertificateSigningRequest", spec=asked(request_text, **parts)) == errors


def test_decisions_come_from_the_approval_alone_and_stay(request_text: str) -> None:
    undecided: dict[str, Any] = {"metadata": {"name": "c"}, "spec": asked(request_text)}
    approved = undecided | {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    update = VALIDATORS[CERTIFICATES, "CertificateSigningRequest"].update
    assert messages(update(approved, undecided)) == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    assert messages(update(undecided, approved)) == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    ]


SUBJECT = {"kind": "User", "user": {"name": "*"}}
FLOW_RULE = {"subjects": [SUBJECT], "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["/healthz"]}]}
SCHEMA = {"matchingPrecedence": 100, "priorityLevelConfiguration": {"name": "l"}, "rules": [FLOW_RULE]}


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (SCHEMA, []),
        (
            SCHEMA | {"matchingPrecedence": 10001},
            ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"],
        ),
        (
            SCHEMA | {"rules": [{"subjects": [{"kind": "Group"}]}]},
            [
                "spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'",
                (
                    "spec.rules[0]: Required value: "
                    "at least one of resourceRules and nonResourceRules has to be non-empty"
                ),
            ],
        ),
        (
            SCHEMA | {"rules": [FLOW_RULE | {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["a"]}]}]},
            ['spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "a": must start with slash'],
        ),
        (
            SCHEMA
            | {"rules": [FLOW_RULE | {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}]},
            [
                (
                    "spec.rules[0].resourceRules[0].namespaces: Required value: "
                    "resource rules that are not cluster scoped must supply at least one namespace"
                )
            ],
        ),
    ],
)
def test_a_flow_schema_matches_requests(spec: dict[str, Any], errors: list[str]) -> None:
    assert created(FLOW, "FlowSchema", spec=spec) == errors


QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


@pytest.mark.parametrize(
    ("queuing", "errors"),
    [
        (QUEUING, []),
        (
            QUEUING | {"handSize": 65},
            ["handSize: Invalid value: 65: should not be greater than queues (64)"],
        ),
        (
            QUEUING | {"handSize": 64},
            [
                (
                    "handSize: Invalid value: 64: "
                    "required entropy bits of deckSize 64 and handSize 64 should not be greater than 60"
                )
            ],
        ),
        (
            QUEUING | {"queues": 0, "handSize": 0},
            [f"{name}: Invalid value: 0: must be positive" for name in ("queues", "handSize")],
        ),
    ],
)
def test_a_priority_level_deals_hands_of_its_queues(queuing: dict[str, Any], errors: list[str]) -> None:
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}}
    path = "spec.limited.limitResponse.queuing."
    assert created(FLOW, "PriorityLevelConfiguration", spec=spec) == [path + error for error in errors]


def test_only_the_exempt_level_is_exempt() -> None:
    assert created(FLOW, "PriorityLevelConfiguration", "exempt", spec={"type": "Exempt"}) == []
    assert created(FLOW, "PriorityLevelConfiguration", spec={"type": "Exempt"}) == [
        "spec.type: Invalid value: \"Exempt\": type must be 'Exempt' if and only if name is 'exempt'"
    ]
