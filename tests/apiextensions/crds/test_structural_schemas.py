"""The condition NonStructuralSchema of a definition with a schema that is not structural."""

from typing import Any

from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.conditions import find_condition
from apiserver.apiextensions.crds.structural_schemas import update_structural_condition

NOW = "2026-01-01T00:00:00Z"
LOOSE = {"type": "object", "properties": {"a": {}}}
AT = "spec.versions[{}].schema.openAPIV3Schema.properties[a].type"
WORDS = "Required value: must not be empty for specified object fields"


def definition(*schemas: Obj, conditions: Any = (), **spec: Any) -> Obj:
    versions = [{"name": f"v{index}", "schema": {"openAPIV3Schema": each}} for index, each in enumerate(schemas)]
    return {"spec": {"versions": [*versions, {"name": "bare"}]} | spec, "status": {"conditions": [*conditions]}}


def non_structural(given: Obj) -> tuple[str, ...]:
    judged = update_structural_condition(given, NOW)
    assert judged is not None
    assert update_structural_condition(judged, NOW) is None
    condition = find_condition(judged, "NonStructuralSchema")
    assert condition is not None
    return condition["status"], condition["reason"], condition["message"]


def test_structural_schemas_get_no_condition():
    assert update_structural_condition(definition({"type": "object"}), NOW) is None


def test_what_is_not_structural_is_told():
    assert non_structural(definition({"type": "object"}, LOOSE)) == ("True", "Violations", f"{AT.format(1)}: {WORDS}")
    both = f"[{AT.format(0)}: {WORDS}, {AT.format(1)}: {WORDS}]"
    assert non_structural(definition(LOOSE, LOOSE)) == ("True", "Violations", both)


def test_preserving_all_unknown_fields_is_not_structural():
    words = "spec.preserveUnknownFields: Invalid value: true: must be false"
    assert non_structural(definition(preserveUnknownFields=True)) == ("True", "Violations", words)


def test_a_schema_that_cannot_be_looked_at_is_not_known_to_be_structural():
    words = "failed to check validation schema for version v0: OpenAPIV3Schema '$ref' is not supported"
    assert non_structural(definition({"type": "object", "$ref": "#"})) == ("Unknown", "StructuralError", words)


def test_the_condition_goes_with_what_it_tells_of():
    judged = update_structural_condition(definition(LOOSE), NOW)
    assert judged is not None
    mended = update_structural_condition(judged | {"spec": definition({"type": "object"})["spec"]}, NOW)
    assert mended is not None
    assert mended["status"]["conditions"] == []
