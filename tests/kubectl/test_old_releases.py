"""Kinds that only an older release has."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mockube.cluster import Cluster

PARAMETERS = """
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClassParameters
metadata: {name: big}
generatedFrom: {apiGroup: example.com, kind: GPUClass, name: big}
filters:
- driverName: gpu.example.com
  namedResources: {selector: 'attributes.quantity["memory"].isGreaterThan(quantity("1Gi"))'}
"""
REFUSED = (
    r'The ResourceClassParameters "big" is invalid: filters\[0\]\.namedResources\.selector: Invalid value: '
    r'"attributes.string\[\\"memory\\"\]": must evaluate to bool'
)


@pytest.fixture(scope="module")
def kubectl_of_1_30(kubectl_at: Callable[..., Any]) -> Iterator[Any]:
    """A kubectl at a cluster of Kubernetes 1.30."""
    with Cluster(kubernetes_version="1.30") as cluster:
        yield kubectl_at(cluster.kubeconfig)


def test_parameters_of_a_resource_class_are_created_shown_and_explained(kubectl_of_1_30: Any) -> None:
    warned = "Warning: mockube allocates no devices: this ResourceClassParameters is stored, but filters no device"
    created = r"resourceclassparameters.resource.k8s.io/big created"
    kubectl_of_1_30.says("create -f -", rf"{created}\n{warned}", PARAMETERS)
    kubectl_of_1_30.says(
        "get resourceclassparameters", r"NAME +GENERATEDFROM +AGE\nbig +GPUClass.example.com big +\d+s"
    )
    kubectl_of_1_30.says(
        "explain resourceclassparameters.filters.driverName",
        r"GROUP: +resource.k8s.io\nKIND: +ResourceClassParameters\nVERSION: +v1alpha2\n\nFIELD: driverName <string>.*",
    )


def test_a_selector_that_is_no_condition_is_refused(kubectl_of_1_30: Any) -> None:
    text = PARAMETERS.partition("selector:")[0] + "selector: 'attributes.string[\"memory\"]'}\n"
    kubectl_of_1_30.refuses("create -f -", REFUSED, text)
