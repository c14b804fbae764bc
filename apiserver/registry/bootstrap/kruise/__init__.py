"""The workloads of OpenKruise (apps.kruise.io) as definitions: names, columns, scale and schemas as upstream has them.

The texts are this project's own; fields, columns and versions are those of openkruise/kruise's config/crd/bases. What
upstream's webhook fills in beside a pod's template is a default of the schema here.
"""

from collections.abc import Sequence

from apiserver.api.meta import Obj
from apiserver.registry.bootstrap.kruise import clone_sets, stateful_sets, united_deployments
from apiserver.registry.bootstrap.kruise.words import Schema

GROUP = "apps.kruise.io"

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


def definitions() -> Sequence[Obj]:
    """The CustomResourceDefinitions."""
    return (
        _definition("CloneSet", ("clone",), clone_sets.COLUMNS, clone_sets.WIDE, clone_sets.schema()),
        _definition("StatefulSet", ("sts", "asts"), stateful_sets.COLUMNS, stateful_sets.WIDE, stateful_sets.schema()),
        _definition("UnitedDeployment", ("ud",), united_deployments.COLUMNS, (), united_deployments.schema()),
    )


def _definition(kind: str, short: Sequence[str], columns: Sequence[Obj], wide: Sequence[Obj], schema: Schema) -> Obj:
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
        for version in ("v1alpha1", "v1beta1")
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }
