"""The workloads of OpenKruise (apps.kruise.io) as definitions: names, columns, scale and schemas as upstream has them.

The texts are this project's own; fields, columns and versions are those of openkruise/kruise's config/crd/bases at its
main branch of mid-2026, where all three kinds have v1beta1; in 1.9 and before only StatefulSet had. As there, schemas
have almost no defaults: admission sets them, and a webhook converts between versions. The server does both itself
(apiserver/admission/kruise_sets.py and united_deployment.py, apiserver/groups/kruise/conversion.py).
"""

from collections.abc import Mapping, Sequence

from apiserver.api.meta import Obj
from apiserver.api.united_deployments import GROUP
from apiserver.registry.bootstrap.kruise import clone_sets, sets, stateful_sets, united_deployments
from apiserver.registry.bootstrap.kruise.schema_builders import Schema

_CREATED = {
    "name": "AGE",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "When the object was created.",
}
_SUBRESOURCES: Obj = {
    "status": {},
    "scale": {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    },
}
_CONVERSION: Obj = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {
            "service": {"namespace": "kruise-system", "name": "kruise-webhook-service", "path": "/convert"}
        },
        "conversionReviewVersions": ["v1", "v1beta1"],
    },
}
"""Upstream's conversion; the server does the webhook's work itself, so that its Service need not exist."""


def definitions() -> Sequence[Obj]:
    """Return the CustomResourceDefinitions."""
    return (
        _definition("CloneSet", ("clone",), clone_sets.COLUMNS, clone_sets.WIDE, clone_sets.SCHEMAS),
        _definition("StatefulSet", ("sts", "asts"), sets.COLUMNS, sets.WIDE, stateful_sets.SCHEMAS),
        _definition("UnitedDeployment", ("ud",), sets.COLUMNS, (), united_deployments.SCHEMAS),
    )


def _definition(
    kind: str,
    short: Sequence[str],
    columns: Sequence[Obj],
    wide: Sequence[Obj],
    schemas: Mapping[str, Schema],
) -> Obj:
    singular = kind.lower()
    printed = [*columns, _CREATED, *(column | {"priority": 1} for column in wide)]
    names = {
        "plural": f"{singular}s",
        "singular": singular,
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": list(short),
    }
    versions = [
        {
            "name": version,
            "served": True,
            "storage": version == "v1beta1",
            "subresources": _SUBRESOURCES,
            "additionalPrinterColumns": printed,
            "schema": {"openAPIV3Schema": schema},
        }
        for version, schema in schemas.items()
    ]
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions, "conversion": _CONVERSION}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{GROUP}"},
        "spec": spec,
    }
