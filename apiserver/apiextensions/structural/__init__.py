"""Structural schemas: what the schema of a custom resource's version says of objects, and does to them.

Here: is a schema structural and are its defaults good; unknown fields, defaults, values, lists, embedded resources; the
schema as OpenAPI documents and managedFields have it.
Not here: rules in CEL (x-kubernetes-validations), and the rest of a CustomResourceDefinition.
"""

from apiserver.apiextensions.structural.default_values import default_errors, has_unpruned_default
from apiserver.apiextensions.structural.invariants import structural_errors, unsupported
from apiserver.apiextensions.structural.openapi import in_version_2, published
from apiserver.apiextensions.structural.structural import Structural

__all__ = [
    "Structural",
    "default_errors",
    "has_unpruned_default",
    "in_version_2",
    "published",
    "structural_errors",
    "unsupported",
]
