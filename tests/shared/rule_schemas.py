"""Small structural schemas, and rules in CEL on them."""

from typing import Any

Schema = dict[str, Any]

TEXT, WHOLE, NUMBER, TRUTH = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))


def of(**properties: Schema) -> Schema:
    """Return the schema of an object with these properties."""
    return {"type": "object", "properties": properties}


def many(items: Schema, **words: Any) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items} | words


def values(schema: Schema, **words: Any) -> Schema:
    """Return the schema of a map from strings."""
    return {"type": "object", "additionalProperties": schema} | words


def ruled(schema: Schema, *rules: str | dict[str, Any]) -> Schema:
    """Return a schema with rules, each a text or an object with all its fields."""
    return schema | {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}
