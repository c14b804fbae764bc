"""Small structural schemas, and rules in CEL on them."""

TEXT, WHOLE, NUMBER, TRUTH = ({"type": kind} for kind in ("string", "integer", "number", "boolean"))


def of(**properties):
    """An object with these properties."""
    return {"type": "object", "properties": properties}


def many(items, **words):
    """A list."""
    return {"type": "array", "items": items} | words


def values(schema, **words):
    """A map from texts."""
    return {"type": "object", "additionalProperties": schema} | words


def ruled(schema, *rules):
    """A schema with rules, each a text or all that is said of it."""
    return schema | {"x-kubernetes-validations": [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]}
