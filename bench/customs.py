"""The custom kind that is stored: twenty groups of ten fields of all types, and an object of it, whole or in part."""

import json
from collections.abc import Iterator
from typing import Any

import pods

GROUP, PLURAL, KIND = "bench.example.com", "gadgets", "Gadget"
PATH = f"/apis/{GROUP}/v1/namespaces/default/{PLURAL}"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PARTS = 20
FIELDS: dict[str, Any] = {
    "name": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$"},
    "image": {"type": "string", "description": "Where the image is pulled from."},
    "mode": {"type": "string", "enum": ["Fast", "Safe", "Off"], "default": "Safe"},
    "replicas": {"type": "integer", "format": "int32", "minimum": 0, "maximum": 1000},
    "weight": {"type": "number", "minimum": 0},
    "paused": {"type": "boolean"},
    "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "args": {"type": "array", "items": {"type": "string"}, "maxItems": 32},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "since": {"type": "string", "format": "date-time", "nullable": True},
}
"""Ten fields, as controller-gen writes them."""
VALUES: dict[str, Any] = {
    "name": "storefront-web",
    "image": "web:1.27.3",
    "mode": "Fast",
    "replicas": 3,
    "weight": 1.5,
    "paused": False,
    "port": "http",
    "args": ["--json"],
    "labels": {"tier": "web"},
    "since": "2026-01-15T08:00:00Z",
}


def definition(plural: str = PLURAL, kind: str = KIND) -> bytes:
    """Return the definition of a kind with two hundred fields."""
    part = {"type": "object", "required": ["name"], "properties": FIELDS}
    spec = {"type": "object", "properties": dict.fromkeys(_parts(PARTS), part)}
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": plural, "kind": kind}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    return json.dumps(body).encode()


def template(parts: int = PARTS) -> bytes:
    """Return the body of an object with NAME as its name, and this many complete groups of fields."""
    body = {
        "apiVersion": f"{GROUP}/v1",
        "kind": KIND,
        "metadata": {"name": pods.NAME, "labels": {"app.kubernetes.io/name": "web", "tier": "frontend"}},
        "spec": dict.fromkeys(_parts(parts), VALUES),
    }
    return json.dumps(body, separators=(",", ":")).encode()


def _parts(count: int) -> Iterator[str]:
    return (f"part{number:02}" for number in range(count))
