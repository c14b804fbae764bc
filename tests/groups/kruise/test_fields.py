"""The schemas of OpenKruise's workloads have upstream's fields, with their types, and none besides."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.api.meta import Obj
from apiserver.registry.bootstrap.kruise import definitions

EXPECTED = yaml.safe_load((Path(__file__).parent / "fields.yaml").read_text())["kinds"]


def notation(schema: Obj) -> Any:
    """Return a schema in the notation of fields.yaml."""
    match schema:
        case {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}:
            return "share"
        case {"x-kubernetes-preserve-unknown-fields": True}:
            return "any"
        case {"enum": values}:
            return "|".join(values)
        case {"type": "array", "items": items}:
            return [notation(items)]
        case {"type": "object"}:
            return _object(schema)
    return schema.get("format", schema["type"])


def _object(schema: Obj) -> Obj:
    if "additionalProperties" in schema:
        return {"*": notation(schema["additionalProperties"])}
    required = schema.get("required", ())
    return {f"{name}!" if name in required else name: notation(each) for name, each in schema["properties"].items()}


@pytest.mark.parametrize(
    ("kind", "version"), [(kind, version) for kind, versions in EXPECTED.items() for version in versions]
)
def test_a_version_has_upstreams_fields_and_types(kind: str, version: str) -> None:
    definition = next(each for each in definitions() if each["spec"]["names"]["kind"] == kind)
    assert definition["spec"]["names"] == {
        "plural": f"{kind.lower()}s",
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": definition["spec"]["names"]["shortNames"],
    }
    schemas = {each["name"]: each["schema"]["openAPIV3Schema"] for each in definition["spec"]["versions"]}
    assert schemas.keys() == EXPECTED[kind].keys()
    assert notation(schemas[version]) == EXPECTED[kind][version]
