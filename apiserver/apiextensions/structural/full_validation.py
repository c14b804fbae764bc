"""Full validation of a value: every error, for every constraint of a schema, in upstream's order.

The rules are those of k8s.io/kube-openapi/pkg/validation/validate. This walk is slow; it is for values that a compiled
check refused (apiserver.apiextensions.structural.checks).
"""

from typing import Any

from apiserver.api.formats import format_of, known_format
from apiserver.api.golang.regexp import compile_regexp
from apiserver.api.meta import Obj
from apiserver.api.schema import quoted
from apiserver.api.schema.keywords import at, child, has_values, items, properties, takes_null, values
from apiserver.apiextensions.structural.equality import is_one_of, key_of
from apiserver.apiextensions.structural.numbers import in_go, number_errors
from apiserver.apiextensions.structural.ratcheting import CorrelatedValue
from apiserver.apiextensions.structural.results import ValidationResult
from apiserver.apiextensions.structural.types import TypeMismatch, type_mismatch, types_of

_TYPE_META = frozenset({"apiVersion", "kind"})


def validate_fully(schema: Obj, value: Any, *, minor: int, pair: CorrelatedValue | None = None) -> ValidationResult:
    """Return all errors of a value.

    Args:
        schema: a structural schema, or a part of one.
        value: the value.
        minor: the minor release whose rules apply.
        pair: the value and the one that it replaces: errors in what is unchanged are ignored.
    """
    return _Validator(minor).visit(schema, value, "", pair)


class _Validator:
    """One validation of a value."""

    def __init__(self, minor: int) -> None:
        self._minor = minor

    def visit(self, schema: Obj, value: Any, path: str, pair: CorrelatedValue | None = None) -> ValidationResult:
        """Return the errors of a value, except in what is unchanged."""
        findings = ValidationResult()
        if value is None:
            self._null(schema, path, findings)
        else:
            self._value(schema, in_go(value), path, pair=pair, findings=findings)
        if findings and pair is not None and pair.is_unchanged():
            findings.clear()
        return findings

    def _null(self, schema: Obj, path: str, findings: ValidationResult) -> None:
        kinds = types_of(schema)
        if kinds and not takes_null(schema):
            findings.wrong_type(path, TypeMismatch(",".join(kinds), "null"))
        else:
            findings.matches += 1
        if schema.get("enum"):
            findings.not_one_of(path, None, schema["enum"])

    def _value(
        self, schema: Obj, value: Any, path: str, *, pair: CorrelatedValue | None, findings: ValidationResult
    ) -> None:
        # Every kind of constraint that applies counts as a match, some of them twice if they hold.
        kinds, form = types_of(schema), format_of(schema, self._minor)
        if kinds or form:
            mismatch = type_mismatch(value, kinds, form)
            findings.matches += 1 if mismatch else 2
            if mismatch:
                findings.wrong_type(path, mismatch)
        self._junctors(schema, value, path, findings)
        findings.matches += 2
        if isinstance(value, str):
            self._text(schema, value, path, form=form, findings=findings)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            kind = kinds[0] if len(kinds) == 1 and kinds[0] in ("integer", "number") else ""
            for number_error in number_errors(value, schema, kind=kind, form=form, minor=self._minor):
                findings.number(path, number_error)
            findings.matches += 2
        elif isinstance(value, list):
            self._list(schema, value, path, pair=pair, findings=findings)
        if schema.get("enum") and not is_one_of(value, schema["enum"]):
            findings.not_one_of(path, value, schema["enum"])
        if isinstance(value, dict):
            self._object(schema, value, path, pair=pair, findings=findings)
        findings.matches += 2

    def _junctors(self, schema: Obj, value: Any, path: str, findings: ValidationResult) -> None:
        if alternatives := schema.get("anyOf"):
            self._any_of(alternatives, value, path, findings)
        if alternatives := schema.get("oneOf"):
            self._one_of(alternatives, value, path, findings)
        if subschemas := schema.get("allOf"):
            results = [self.visit(subschema, value, path) for subschema in subschemas]
            for result in results:
                findings.merge(result)
            if any(results):
                none = ". None validated" if all(results) else ""
                findings.without_field(f"{quoted(path)} must validate all the schemas (allOf){none}")
        if schema.get("not") is not None and not self.visit(schema["not"], value, path):
            findings.without_field(f"{quoted(path)} must not validate the schema (not)")

    def _any_of(self, alternatives: list[Obj], value: Any, path: str, findings: ValidationResult) -> None:
        failed = []
        for alternative in alternatives:
            result = self.visit(alternative, value, path)
            if not result:
                findings.merge(result)
                return
            failed.append(result)
        findings.without_field(f"{quoted(path)} must validate at least one schema (anyOf)")
        findings.merge(_best(failed))

    def _one_of(self, alternatives: list[Obj], value: Any, path: str, findings: ValidationResult) -> None:
        results = [self.visit(alternative, value, path) for alternative in alternatives]
        fitting = [result for result in results if not result]
        if len(fitting) == 1:
            findings.merge(fitting[0])
            return
        how = f"Found {len(fitting)} valid alternatives" if fitting else "Found none valid"
        findings.without_field(f"{quoted(path)} must validate one and only one schema (oneOf). {how}")
        if not fitting:
            findings.merge(_best(results))

    def _text(self, schema: Obj, value: str, path: str, *, form: str, findings: ValidationResult) -> None:
        longest, shortest, pattern = schema.get("maxLength"), schema.get("minLength"), schema.get("pattern")
        if longest is not None and len(value) > longest:
            findings.too_long(path, longest)
        elif shortest is not None and len(value) < shortest:
            findings.too_short(path, value, shortest)
        elif pattern and (unmatched := _unmatched(pattern, value)):
            findings.unmatched(path, value, unmatched)
        findings.matches += 1
        is_format = known_format(form, self._minor) if form else None
        if is_format is not None:
            if not is_format(value):
                findings.wrong_type(path, TypeMismatch(form, value))
            findings.matches += 1

    def _list(
        self, schema: Obj, value: list[Any], path: str, *, pair: CorrelatedValue | None, findings: ValidationResult
    ) -> None:
        of_items, size = items(schema), len(value)
        for index, item in enumerate(value if of_items is not None else ()):
            assert of_items is not None
            findings.merge(self.visit(of_items, item, at(path, index), pair and pair.index(index)))
        least, most = schema.get("minItems"), schema.get("maxItems")
        if least is not None and size < least:
            findings.too_few(path, size, least, of="items")
        if most is not None and size > most:
            findings.too_many(path, size, most, of="items")
        if schema.get("uniqueItems") and len({key_of(item) for item in value}) < size:
            findings.repeated(path)
        findings.matches += 2

    def _object(
        self, schema: Obj, value: Obj, path: str, *, pair: CorrelatedValue | None, findings: ValidationResult
    ) -> None:
        named, size = properties(schema), len(value)
        least, most = schema.get("minProperties"), schema.get("maxProperties")
        if least is not None and size < least:
            findings.too_few(path, size, least, of="properties")
        if most is not None and size > most:
            findings.too_many(path, size, most, of="properties")
        of_values = values(schema)
        for key in value if has_values(schema) else ():
            if key not in named and schema["additionalProperties"] is False:
                findings.not_allowed(path, key)
            elif key not in named and of_values is not None:
                findings.merge(self.visit(of_values, value[key], f"{path}.{key}", _below(pair, key, path)))
        for name, field_schema in named.items():
            if name in value:
                findings.merge(self.visit(field_schema, value[name], child(path, name), _below(pair, name, path)))
        for name in schema.get("required") or ():
            if name not in value:
                findings.missing(f"{path}.{name}")
        findings.matches += 1


def _below(pair: CorrelatedValue | None, key: str, path: str) -> CorrelatedValue | None:
    """Return a field with its old value; None for kind and apiVersion, as old objects are converted to the new one."""
    return None if pair is None or (not path and key in _TYPE_META) else pair.key(key)


def _best(failed: list[ValidationResult]) -> ValidationResult:
    """Return the findings of the alternative that matched the most constraints; the first of several."""
    return max(failed, key=lambda result: result.matches)


def _unmatched(pattern: str, value: str) -> str:
    """Return what the error says of a pattern that a text does not match; "" if it matches."""
    try:
        return "" if compile_regexp(pattern).matches(value) else pattern
    except ValueError as error:
        return f"{pattern}, but pattern is invalid: {error}"
