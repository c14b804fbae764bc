"""What is wrong with the rules of a definition's schema, when the definition is created or updated.

Source: apiextensions-apiserver's pkg/apis/apiextensions/validation/validation.go and cel_validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.schema.keywords import EMBEDDED, LIST_TYPE, MAP_TYPE, RULES, at, child, properties, values
from apiserver.apiextensions.rules.compilation import Compiled, RuleError, Scope, compile_message, compile_rule
from apiserver.apiextensions.rules.field_paths import FieldPathError, normal_path
from apiserver.apiextensions.rules.schema_types import MOST_BYTES, Declarations, Declared
from apiserver.apiextensions.rules.verdicts import Preexisting
from apiserver.cel.environments import STORED, Environment, of_new
from apiserver.cel.sizes import MOST, times

_REASONS = frozenset(("FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"))
_MOST_OF_RULE = 10_000_000
_MOST_OF_SCHEMA = 100_000_000
_MOST_TOLD = 4
_NEWLINE = re.compile(r"[\n\r]").search
_HTML = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
"""What Go's JSON escapes beside what JSON wants escaped."""

_SIMPLIFY = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
    " declared)"
)
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_UNDECLARED = (
    "failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to"
    " CEL declarations"
)
_JUNCTORS = ("allOf", "oneOf", "anyOf")


def rule_errors(
    schema: Obj, path: str, *, expressions: bool, costly: bool, release: int, preexisting: Preexisting
) -> list[FieldError]:
    """What is wrong with the rules of a schema; see `rules.rule_errors`."""
    walk = _Walk(_Environments(release, preexisting), costly=costly)
    walk.visit(schema, path, _Context(is_root=True, expressions=expressions))
    return [*walk.forms, *walk.errors, *walk.total_errors(path)]


def form_errors(schema: Obj) -> Iterator[FieldError]:
    """What is wrong with how the rules of one node are written, with paths from the node."""
    for place, rule in enumerate(schema.get(RULES) or ()):
        yield from _form_errors(schema, rule, at(RULES, place))


def _form_errors(schema: Obj, rule: Obj, path: str) -> Iterator[FieldError]:
    text, message, expression, target = (
        rule.get(name) or "" for name in ("rule", "message", "messageExpression", "fieldPath")
    )
    if not text.strip():
        yield field.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield field.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _NEWLINE(message.strip()):
        yield field.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _NEWLINE(text.strip()) and not message.strip():
        yield field.required(f"{path}.message", "message must be specified if rule contains line breaks")
    if expression and not expression.strip():
        yield field.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield field.not_supported(f"{path}.reason", reason, _REASONS)
    if target:
        yield from _target_errors(schema, target, f"{path}.fieldPath")


def _target_errors(schema: Obj, target: str, path: str) -> Iterator[FieldError]:
    if not target.strip():
        yield field.invalid(path, target, "must be non-empty if specified")
    if _NEWLINE(target):
        yield field.invalid(path, target, "must not contain line breaks")
    try:
        normal_path(target, schema)
    except FieldPathError:
        yield field.invalid(path, target, "must be a valid path")


@dataclass(frozen=True, slots=True)
class _Context:
    """Where in a schema a node stands.

    Attributes:
        is_root: it is the schema of whole objects.
        expressions: its rules are compiled, which those below "not", "allOf" and the like are not.
        count: how many values an object may have of it, None where nothing bounds them.
        uncorrelated: the node around it whose items are not told apart, "" where they are.
    """

    is_root: bool = False
    expressions: bool = True
    count: int | None = 1
    uncorrelated: str = ""

    def below(self, schema: Obj, path: str, *, correlated: bool = True) -> _Context:
        """That of a node right below the schema."""
        most = _greatest_count(schema)
        return replace(
            self,
            is_root=False,
            count=None if self.count is None or most is None else times(self.count, most),
            uncorrelated=self.uncorrelated or ("" if correlated else path),
        )


def _greatest_count(schema: Obj) -> int | None:
    """How many values a node has below it for each of its own, None where nothing bounds them."""
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    elif kind == "array":
        most = schema.get("maxItems")
    else:
        return 1
    return None if most is None else max(0, most)


@dataclass(frozen=True, slots=True)
class _Environments:
    """What expressions may use: those that were there before all that there is, others what is not new to a release.

    Attributes:
        release: the minor release, 0 for the newest.
        preexisting: the expressions that were there before.
    """

    release: int
    preexisting: Preexisting

    def of_rule(self, text: str) -> Environment:
        """That of a rule."""
        return STORED if text in self.preexisting.rules else self._new

    def of_message(self, text: str) -> Environment:
        """That of a messageExpression."""
        return STORED if text in self.preexisting.messages else self._new

    @property
    def _new(self) -> Environment:
        return of_new(self.release) if self.release else STORED


class _Walk:
    """A walk through a schema, nodes below first.

    Attributes:
        forms: how rules are written wrongly.
        errors: what is wrong with what they say.
    """

    def __init__(self, environments: _Environments, *, costly: bool) -> None:
        self.forms: list[FieldError] = []
        self.errors: list[FieldError] = []
        self._declarations = Declarations()
        self._environments = environments
        self._costly = costly
        self._total = 0
        self._expensive: list[tuple[int, str]] = []

    def visit(self, schema: Any, path: str, context: _Context) -> None:
        """Looks at a node and all below it."""
        if not isinstance(schema, dict):
            return
        before = len(self.forms)
        for place, inner, inside in _below(schema, path, context):
            self.visit(inner, place, inside)
        rules = schema.get(RULES) or ()
        self.forms += [replace(error, path=child(path, error.path)) for error in form_errors(schema)]
        if rules and context.expressions and len(self.forms) == before:
            self._compile(schema, child(path, RULES), context)

    def total_errors(self, path: str) -> Iterator[FieldError]:
        """What is wrong with the cost of all rules together."""
        if self._total > _MOST_OF_SCHEMA:
            for _, place in self._expensive:
                yield field.forbidden(place, _CONTRIBUTED)
            what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            yield field.forbidden(path, _too_costly(what, self._total, _MOST_OF_SCHEMA))

    def _compile(self, schema: Obj, path: str, context: _Context) -> None:
        is_root = context.is_root or bool(schema.get(EMBEDDED))
        declared = self._declarations.of(schema, is_root=is_root)
        if declared is None:
            self.errors.append(FieldError("InternalError", path, f"Internal error: internal error: {_UNDECLARED}"))
            return
        for place, rule in enumerate(schema[RULES]):
            self._rule(rule, at(path, place), declared, context)

    def _rule(self, rule: Obj, path: str, declared: Declared, context: _Context) -> None:
        scope = Scope(self._declarations, declared, optional_old=rule.get("optionalOldSelf") is True)
        compiled: Compiled | None = None
        try:
            compiled = compile_rule(rule["rule"], scope, self._environments.of_rule(rule["rule"]))
            count = MOST_BYTES // (declared.least_bytes + 1) if context.count is None else context.count
            self._charge("estimated rule cost", times(compiled.cost, count), f"{path}.rule")
        except RuleError as error:
            self.errors.append(_invalid(f"{path}.rule", rule, str(error)))
        if compiled is not None and rule.get("messageExpression"):
            self._message(rule, path, scope)
        if compiled is not None and compiled.uses_old:
            if context.uncorrelated:
                why = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {context.uncorrelated}"
                )
                self.errors.append(field.invalid(f"{path}.rule", rule["rule"], why))
        elif rule.get("optionalOldSelf") is not None:
            why = "may not be set if oldSelf is not used in rule"
            self.errors.append(field.invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], why))

    def _message(self, rule: Obj, path: str, scope: Scope) -> None:
        place = f"{path}.messageExpression"
        try:
            text = rule["messageExpression"]
            compiled = compile_message(text, scope, self._environments.of_message(text))
        except RuleError as error:
            self.errors.append(_invalid(place, rule, str(error)))
            return
        self._charge("estimated messageExpression cost", compiled.cost, place)

    def _charge(self, what: str, cost: int, path: str) -> None:
        """Adds a cost to that of the whole, which is told too if it is too much by itself."""
        if cost > _MOST_OF_RULE and not self._costly:
            self.errors.append(field.forbidden(path, _too_costly(what, cost, _MOST_OF_RULE)))
        self._total = min(self._total + cost, MOST)
        if cost >= _MOST_OF_SCHEMA // 100:
            self._expensive = sorted([*self._expensive, (cost, path)], key=lambda c: -c[0])[:_MOST_TOLD]


def _below(schema: Obj, path: str, context: _Context) -> Iterator[tuple[str, Any, _Context]]:
    """The nodes right below one: where they stand, what they are, and their context."""
    loose = replace(context, is_root=False, expressions=False)
    if values(schema) is not None:
        yield child(path, "additionalProperties"), values(schema), context.below(schema, path)
    correlated = schema.get(MAP_TYPE) in (None, "granular", "atomic")
    inside = context.below(schema, path, correlated=correlated)
    for name, inner in properties(schema).items():
        yield at(child(path, "properties"), name), inner, inside
    yield child(path, "not"), schema.get("not"), loose
    for word in _JUNCTORS:
        for place, inner in enumerate(schema.get(word) or ()):
            yield at(child(path, word), place), inner, loose
    for name, inner in (schema.get("definitions") or {}).items():
        yield at(child(path, "definitions"), name), inner, loose
    yield (
        child(path, "items"),
        schema.get("items"),
        context.below(schema, path, correlated=schema.get(LIST_TYPE) == "map"),
    )


def _too_costly(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    told = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {told} {_SIMPLIFY}"


def _invalid(path: str, rule: Obj, detail: str) -> FieldError:
    """The error of a rule, which is told as a whole, in the form in which upstream has it in memory."""
    told = {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    shown = orjson.dumps(told).decode().translate(_HTML)
    return FieldError("FieldValueInvalid", path, f"Invalid value: {shown}: {detail}")
