"""Selectors of labels and fields, parsed once and matched often (k8s.io/apimachinery/pkg/labels and pkg/fields)."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

from apiserver.api import labels
from apiserver.api.field import invalid
from apiserver.api.meta import Obj

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
_SPECIAL = frozenset("=!(),<>") | {"==", "!="}
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")  # in the order of the error message
_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_EXPRESSIONS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_FIELD_OPERATORS = re.compile(r"!=|==|=")
_KEY_NAME = "a valid label key"
_INT64 = range(-(2**63), 2**63)


class SelectorError(ValueError):
    """The selector's text is malformed; the message is upstream's, and the API responds with 400."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on one label.

    Attributes:
        key: the label's key.
        operator: in, notin, =, ==, !=, gt, lt, exists, ! (k8s.io/apimachinery/pkg/selection).
        values: the operator's values, sorted; empty for exists and !.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _FORMATS[self.operator].format(key=self.key, values=",".join(self.values))


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements, sorted by key; without requirements it matches everything.

    Attributes:
        requirements: the conditions.
        nothing: whether it stands for a missing metav1.LabelSelector, which matches no object at all.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    _tests: tuple[Test, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tests", tuple(_test(r) for r in self.requirements))

    @property
    def empty(self) -> bool:
        """Return whether the selector restricts nothing."""
        return not self.requirements and not self.nothing

    def matches(self, object_labels: Labels) -> bool:
        """Return whether an object with these labels is selected."""
        for test in self._tests:  # a loop, since a generator costs more than the tests
            if not test(object_labels):
                return False
        return not self.nothing

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


_FORMATS = {
    "in": "{key} in ({values})",
    "notin": "{key} notin ({values})",
    "=": "{key}={values}",
    "==": "{key}=={values}",
    "!=": "{key}!={values}",
    "gt": "{key}>{values}",
    "lt": "{key}<{values}",
    "exists": "{key}",
    "!": "!{key}",
}


def _test(requirement: Requirement) -> Test:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "in" | "=" | "==":
            return lambda object_labels: object_labels.get(key) in values
        case "notin" | "!=":
            return lambda object_labels: object_labels.get(key) not in values
        case "exists":
            return lambda object_labels: key in object_labels
        case "!":
            return lambda object_labels: key not in object_labels
        case operator:
            return partial(_beyond, key=key, limit=int(requirement.values[0]), sign=1 if operator == "gt" else -1)


def _beyond(object_labels: Labels, *, key: str, limit: int, sign: int) -> bool:
    number = _int64(object_labels.get(key, ""))
    return number is not None and sign * (number - limit) > 0


def _int64(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 64):
        return None
    return number if (number := int(text)) in _INT64 else None


def requirement(key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
    """Return a checked requirement (labels.NewRequirement).

    Raises:
        SelectorError: the key, a value, or the number of values is invalid; several reasons are listed in brackets.
    """
    ordered = tuple(sorted(values))
    key_errors = labels.key_errors(key, _KEY_NAME)
    errors = [invalid("key", key, "; ".join(key_errors))] if key_errors else []
    if detail := _count_error(operator, len(ordered)):
        errors.append(invalid("values", list(ordered), detail))
    for i, value in enumerate(ordered):
        if operator in {"gt", "lt"} and _int64(value) is None:
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"values[{i}]", value, detail))
    for i, value in enumerate(ordered):
        if value_errors := labels.value_errors(value):
            errors.append(invalid(f"values[{i}][{key}]", value, "; ".join(value_errors)))
    if errors:
        unique = list(dict.fromkeys(map(str, errors)))
        raise SelectorError(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
    return Requirement(key, operator, ordered)


def _count_error(operator: str, count: int) -> str:
    match operator:
        case "in" | "notin" if not count:
            return "for 'in', 'notin' operators, values set can't be empty"
        case "=" | "==" | "!=" if count != 1:
            return "exact-match compatibility requires one single value"
        case "exists" | "!" if count:
            return "values set must be empty for exists and does not exist"
        case "gt" | "lt" if count != 1:
            return "for 'Gt', 'Lt' operators, exactly one value is required"
        case _:
            return ""


@lru_cache(maxsize=4096)
def parse_label_selector(text: str) -> LabelSelector:
    """Return the selector of the parameter labelSelector (labels.Parse).

    Raises:
        SelectorError: the text is malformed; the message is upstream's.
    """
    return LabelSelector(tuple(sorted(_Parser(text).requirements(), key=lambda r: r.key)))


class _Parser:
    """A recursive-descent parser over tokens; the token "" marks the end."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._position = 0

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def requirements(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while word := self._peek():
            if not (_is_word(word) or word == "!"):
                raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            self._separator()
        return requirements

    def _separator(self) -> None:
        word = self._next()
        if not word:
            self._position -= 1
        elif word != ",":
            raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
        elif not (_is_word(word := self._peek()) or word == "!"):
            raise SelectorError(f"found '{word}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        key, absent = self._next(), False
        if key == "!":
            key, absent = self._next(), True
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if key_errors := labels.key_errors(key, _KEY_NAME):
            raise SelectorError(str(invalid("<nil>", key, "; ".join(key_errors))))  # upstream's path is nil here
        if absent or self._peek() in {"", ","}:
            return Requirement(key, "!" if absent else "exists")
        word = self._next()
        if word not in _OPERATORS:
            raise SelectorError(f"found '{word}', expected: {', '.join(_BINARY)}")
        operator = _OPERATORS[word]
        return requirement(key, operator, self._set() if operator in {"in", "notin"} else {self._value()})

    def _value(self) -> str:
        if self._peek() in {"", ","}:
            return ""
        if not _is_word(word := self._next()):
            raise SelectorError(f"found '{word}', expected: identifier")
        return word

    def _set(self) -> set[str]:
        if (word := self._next()) != "(":
            raise SelectorError(f"found '{word}' expected: '('")
        word = self._peek()
        if word == ")":
            self._next()
            return {""}
        if not (_is_word(word) or word == ","):
            raise SelectorError(f"found '{word}', expected: ',', ')' or identifier")
        return self._members()

    def _members(self) -> set[str]:
        """Return the values up to the closing bracket; nothing between two commas is the empty value."""
        values: set[str] = set()
        while True:
            word = self._next()
            if _is_word(word):
                values.add(word)
                if self._peek() not in {",", ")"}:
                    raise SelectorError(f"found '{self._peek()}', expected: ',' or ')'")
            elif word == ",":
                if not values or self._peek() in {",", ")"}:
                    values.add("")
            else:
                raise SelectorError(f"found '{word}', expected: ',', or identifier")
            if self._peek() == ")":
                self._next()
                return values


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SPECIAL


def label_selector_of(selector: Obj | None) -> LabelSelector:
    """Return the selector of a metav1.LabelSelector: None selects nothing, {} everything (LabelSelectorAsSelector).

    Raises:
        SelectorError: a key, an operator or a value is invalid.
    """
    if selector is None:
        return LabelSelector(nothing=True)
    requirements = [requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = expression.get("operator") or ""
        if operator not in _EXPRESSIONS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        requirements.append(
            requirement(expression.get("key") or "", _EXPRESSIONS[operator], expression.get("values") or ())
        )
    return LabelSelector(tuple(sorted(requirements, key=lambda r: r.key)))


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """A condition on one field.

    Attributes:
        path: the field, such as "status.phase"; the registry checks whether the kind has it.
        equal: whether the value must be equal or must differ.
        value: the value to compare with, without escapes.
    """

    path: str
    equal: bool
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of terms in the order of their text; without terms it matches everything."""

    terms: tuple[FieldTerm, ...] = ()

    @property
    def empty(self) -> bool:
        """Return whether the selector restricts nothing."""
        return not self.terms

    def exact(self, path: str) -> str | None:
        """Return the value that a field must have, None if there may be several (RequiresExactMatch)."""
        return next((term.value for term in self.terms if term.path == path and term.equal), None)

    def matches(self, fields: Labels) -> bool:
        """Return whether an object with these fields is selected; an absent field counts as ""."""
        return all((fields.get(term.path, "") == term.value) is term.equal for term in self.terms)


@lru_cache(maxsize=4096)
def parse_field_selector(text: str) -> FieldSelector:
    """Return the selector of the parameter fieldSelector (fields.ParseSelector).

    Empty terms are dropped, and so are terms without field and value ("=", "==", "!=").

    Raises:
        SelectorError: the text is malformed; the message is upstream's.
    """
    terms = [_field_term(text, part) for part in sorted(_split_terms(text)) if part]
    return FieldSelector(tuple(term for term in terms if term.path or term.value))


def _field_term(text: str, part: str) -> FieldTerm:
    operator = _FIELD_OPERATORS.search(part)
    if operator is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(part[: operator.start()], operator[0] != "!=", _unescaped(part[operator.end() :]))


def _split_terms(text: str) -> list[str]:
    """Return the terms between commas that are not escaped by a backslash."""
    if "\\" not in text:
        return text.split(",")
    return re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL)


def _unescaped(value: str) -> str:
    if not any(character in value for character in "\\,="):
        return value
    unescaped, characters = [], iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in {"\\", ",", "="}:
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            unescaped.append(escaped)
        elif character in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            unescaped.append(character)
    return "".join(unescaped)
