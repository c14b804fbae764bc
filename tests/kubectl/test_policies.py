"""kubectl meets a ValidatingAdmissionPolicy, bound to one namespace, whose limit is in a ConfigMap there."""

from typing import Any

import pytest

Kubectl = Any
POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAMESPACE}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {operations: [CREATE, UPDATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments, deployments/scale]}
  variables:
  - {name: most, expression: int(params.data.most)}
  validations:
  - expression: object.spec.replicas <= variables.most
    messageExpression: "'at most ' + string(variables.most) + ' replicas'"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAMESPACE}
spec:
  policyName: NAMESPACE
  validationActions: [ACTION]
  paramRef: {name: limits, parameterNotFoundAction: Deny}
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}}
"""


def written(kubectl: Kubectl, action: str) -> str:
    return POLICY.replace("NAMESPACE", kubectl.namespace).replace("ACTION", action)


@pytest.fixture
def limited(kubectl: Kubectl) -> Any:
    """A kubectl in a namespace whose Deployments may have at most two replicas."""
    kubectl.output("create configmap limits --from-literal=most=2")
    kubectl.output("apply -f -", written(kubectl, "Deny"))
    yield kubectl
    kubectl.output("delete -f -", written(kubectl, "Deny"))


def test_a_policy_denies_and_warns(limited: Kubectl) -> None:
    name = limited.namespace
    denied = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: at most 2 replicas"
    limited.refuses(
        "create deployment web --image=i --replicas=3",
        rf'error: failed to create deployment: deployments.apps "web" is forbidden: {denied}',
    )
    limited.says("create deployment web --image=i --replicas=2", "deployment.apps/web created")
    limited.refuses("scale deployment web --replicas=3", rf'The deployments "web" is invalid: : {denied}')
    limited.output("apply -f -", written(limited, "Warn"))
    warning = f"Warning: Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': "
    assert limited.run("scale deployment web --replicas=3").err == f"{warning}at most 2 replicas\n"
    limited.output("delete configmap limits")
    why = "no params found for policy binding with `Deny` parameterNotFoundAction"
    limited.refuses("scale deployment web --replicas=2", rf".*failed to configure binding: {why}")
