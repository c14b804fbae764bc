"""Structural schemas: what a custom resource's schema says of objects, applied to them.

Belongs here: checks whether a schema is structural and its defaults valid; unknown fields, defaults, values, lists,
embedded resources; the schema in OpenAPI documents and for managedFields.
Does not belong here: rules in CEL (x-kubernetes-validations), and the rest of a CustomResourceDefinition.
"""

from apiserver.apiextensions.structural.default_values import default_errors, has_unpruned_default
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported
from apiserver.apiextensions.structural.openapi import in_version_2, published
from apiserver.apiextensions.structural.structural import StructuralSchema

__all__ = [
    "StructuralSchema",
    "default_errors",
    "has_unpruned_default",
    "in_version_2",
    "published",
    "structural_errors",
    "unsupported",
]
