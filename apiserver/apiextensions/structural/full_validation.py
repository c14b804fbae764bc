"""What is wrong with a value, said exactly: every constraint of a schema in upstream's order.

The rules are those of k8s.io/kube-openapi/pkg/validation/validate. This walk is slow; it is for values that a compiled
check refused (apiserver.apiextensions.structural.checks).
"""

from typing import Any

from apiserver.api.formats import format_of, known_format
from apiserver.api.meta import Obj
from apiserver.api.schema import quoted
from apiserver.api.schema.keywords import at, child, has_values, items, properties, takes_null, values
from apiserver.apiextensions.structural.equality import is_one_of, key_of
from apiserver.apiextensions.structural.numbers import in_go, number_errors
from apiserver.apiextensions.structural.ratcheting import Pair
from apiserver.apiextensions.structural.results import Findings
from apiserver.apiextensions.structural.types import Unfit, types_of, unfit
from apiserver.cel.patterns import matcher

_TYPE_META = frozenset({"apiVersion", "kind"})


def explain(schema: Obj, value: Any, *, minor: int, pair: Pair | None = None) -> Findings:
    """Everything that is wrong with a value.

    Args:
        schema: a structural schema, or one of its parts.
        value: what stands there.
        minor: the release whose rules hold.
        pair: the value and the one that it replaces: what is wrong in both is let through.
    """
    return _Walk(minor).visit(schema, value, "", pair)


class _Walk:
    """One walk over a value."""

    def __init__(self, minor: int) -> None:
        self._minor = minor

    def visit(self, schema: Obj, value: Any, path: str, pair: Pair | None = None) -> Findings:
        """What is wrong with a value, but for what was so before."""
        found = Findings()
        if value is None:
            self._null(schema, path, found)
        else:
            self._value(schema, in_go(value), path, pair=pair, found=found)
        if found and pair is not None and pair.is_unchanged():
            found.forgive()
        return found

    def _null(self, schema: Obj, path: str, found: Findings) -> None:
        kinds = types_of(schema)
        if kinds and not takes_null(schema):
            found.unfit(path, Unfit(",".join(kinds), "null"))
        else:
            found.matches += 1
        if schema.get("enum"):
            found.not_one_of(path, None, schema["enum"])

    def _value(self, schema: Obj, value: Any, path: str, *, pair: Pair | None, found: Findings) -> None:
        # Every kind of constraint that applies counts as a match, some of them twice if they hold.
        kinds, form = types_of(schema), format_of(schema, self._minor)
        if kinds or form:
            wrong = unfit(value, kinds, form)
            found.matches += 1 if wrong else 2
            if wrong:
                found.unfit(path, wrong)
        self._junctors(schema, value, path, found)
        found.matches += 2
        if isinstance(value, str):
            self._text(schema, value, path, form=form, found=found)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kind = kinds[0] if len(kinds) == 1 and kinds[0] in ("integer", "number") else ""
            for each in number_errors(value, schema, kind=kind, form=form, minor=self._minor):
                found.number(path, each)
            found.matches += 2
        elif isinstance(value, list):
            self._list(schema, value, path, pair=pair, found=found)
        if schema.get("enum") and not is_one_of(value, schema["enum"]):
            found.not_one_of(path, value, schema["enum"])
        if isinstance(value, dict):
            self._object(schema, value, path, pair=pair, found=found)
        found.matches += 2

    def _junctors(self, schema: Obj, value: Any, path: str, found: Findings) -> None:
        if alternatives := schema.get("anyOf"):
            self._any_of(alternatives, value, path, found)
        if alternatives := schema.get("oneOf"):
            self._one_of(alternatives, value, path, found)
        if parts := schema.get("allOf"):
            held = [self.visit(each, value, path) for each in parts]
            for each in held:
                found.take(each)
            if any(held):
                none = ". None validated" if all(held) else ""
                found.whole(f"{quoted(path)} must validate all the schemas (allOf){none}")
        if schema.get("not") is not None and not self.visit(schema["not"], value, path):
            found.whole(f"{quoted(path)} must not validate the schema (not)")

    def _any_of(self, alternatives: list[Obj], value: Any, path: str, found: Findings) -> None:
        failed = []
        for each in alternatives:
            held = self.visit(each, value, path)
            if not held:
                found.take(held)
                return
            failed.append(held)
        found.whole(f"{quoted(path)} must validate at least one schema (anyOf)")
        found.take(_best(failed))

    def _one_of(self, alternatives: list[Obj], value: Any, path: str, found: Findings) -> None:
        held = [self.visit(each, value, path) for each in alternatives]
        fitting = [each for each in held if not each]
        if len(fitting) == 1:
            found.take(fitting[0])
            return
        how = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        found.whole(f"{quoted(path)} must validate one and only one schema (oneOf). {how}")
        if not fitting:
            found.take(_best(held))

    def _text(self, schema: Obj, value: str, path: str, *, form: str, found: Findings) -> None:
        most, least, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
        if most is not None and len(value) > most:
            found.too_long(path, most)
        elif least is not None and len(value) < least:
            found.too_short(path, value, least)
        elif pattern and (unmatched := _unmatched(pattern, value)):
            found.unmatched(path, value, unmatched)
        found.matches += 1
        is_format = known_format(form, self._minor) if form else None
        if is_format is not None:
            if not is_format(value):
                found.unfit(path, Unfit(form, value))
            found.matches += 1

    def _list(self, schema: Obj, value: list[Any], path: str, *, pair: Pair | None, found: Findings) -> None:
        of_items, size = items(schema), len(value)
        for index, each in enumerate(value if of_items is not None else ()):
            assert of_items is not None
            found.take(self.visit(of_items, each, at(path, index), pair and pair.index(index)))
        least, most = schema.get("minItems"), schema.get("maxItems")
        if least is not None and size < least:
            found.too_few(path, size, least, of="items")
        if most is not None and size > most:
            found.too_many(path, size, most, of="items")
        if schema.get("uniqueItems") and len({key_of(each) for each in value}) < size:
            found.repeated(path)
        found.matches += 2

    def _object(self, schema: Obj, value: Obj, path: str, *, pair: Pair | None, found: Findings) -> None:
        named, size = properties(schema), len(value)
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and size < least:
            found.too_few(path, size, least, of="properties")
        if most is not None and size > most:
            found.too_many(path, size, most, of="properties")
        of_values = values(schema)
        for key in value if has_values(schema) else ():
            if key not in named and schema["additionalProperties"] is False:
                found.not_allowed(path, key)
            elif key not in named and of_values is not None:
                found.take(self.visit(of_values, value[key], f"{path}.{key}", _below(pair, key, path)))
        for name, each in named.items():
            if name in value:
                found.take(self.visit(each, value[name], child(path, name), _below(pair, name, path)))
        for name in schema.get("required") or ():
            if name not in value:
                found.missing(f"{path}.{name}")
        found.matches += 1


def _below(pair: Pair | None, key: str, path: str) -> Pair | None:
    """A field and what it was; a kind or a version is always looked at, since old objects are told in the new one."""
    return None if pair is None or (not path and key in _TYPE_META) else pair.key(key)


def _best(failed: list[Findings]) -> Findings:
    """The first of those that most constraints were held against."""
    return max(failed, key=lambda each: each.matches)


def _unmatched(pattern: str, value: str) -> str:
    """What is told of a pattern that a text does not match, "" where it does."""
    try:
        return "" if matcher(pattern)(value) else pattern
    except ValueError as error:
        return f"{pattern}, but pattern is invalid: {error}"
