"""Whether schemas are structural, and whether their defaults are what they say (schema/defaulting/validation.go)."""

from apiserver.api.meta import Obj
from apiserver.api.structural.invariants import structural_errors


def is_structural(schema: Obj) -> bool:
    """Is the schema one by which the server knows of every field what it is?"""
    return not structural_errors(schema, "")
