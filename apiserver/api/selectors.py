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
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")  # in the order in which the error lists them
_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_EXPRESSIONS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_FIELD_OPERATORS = re.compile(r"!=|==|=")
_CALLED = "a valid label key"
_INT64 = range(-(2**63), 2**63)


class SelectorError(ValueError):
    """The selector's text cannot be understood; the message is upstream's, which the API answers with 400."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label.

    Attributes:
        key: the label's key.
        operator: in, notin, =, ==, !=, gt, lt, exists, ! (k8s.io/apimachinery/pkg/selection).
        values: what the operator compares with, sorted; empty for exists and !.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return _FORMATS[self.operator].format(key=self.key, values=",".join(self.values))


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A conjunction of requirements, sorted by key; without any it matches everything.

    Attributes:
        requirements: the conditions.
        nothing: a missing metav1.LabelSelector, which matches no object at all.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    _tests: tuple[Test, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tests", tuple(_test(r) for r in self.requirements))

    @property
    def empty(self) -> bool:
        """Whether the selector restricts nothing."""
        return not self.requirements and not self.nothing

    def matches(self, found: Labels) -> bool:
        """Whether an object with these labels is selected."""
        for test in self._tests:  # a loop, since a generator costs more than the tests
            if not test(found):
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
            return lambda found: found.get(key) in values
        case "notin" | "!=":
            return lambda found: found.get(key) not in values
        case "exists":
            return lambda found: key in found
        case "!":
            return lambda found: key not in found
        case operator:
            return partial(_beyond, key=key, limit=int(requirement.values[0]), sign=1 if operator == "gt" else -1)


def _beyond(found: Labels, *, key: str, limit: int, sign: int) -> bool:
    number = _int64(found.get(key, ""))
    return number is not None and sign * (number - limit) > 0


def _int64(text: str) -> int | None:
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 64):
        return None
    return number if (number := int(text)) in _INT64 else None


def requirement(key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
    """A checked requirement (labels.NewRequirement).

    Raises:
        SelectorError: the key, a value, or the number of values does not fit; several reasons stand in brackets.
    """
    ordered = tuple(sorted(values))
    bad_key = labels.key_errors(key, _CALLED)
    errors = [invalid("key", key, "; ".join(bad_key))] if bad_key else []
    if why := _count_error(operator, len(ordered)):
        errors.append(invalid("values", list(ordered), why))
    for i, value in enumerate(ordered):
        if operator in {"gt", "lt"} and _int64(value) is None:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"values[{i}]", value, why))
    for i, value in enumerate(ordered):
        if bad := labels.value_errors(value):
            errors.append(invalid(f"values[{i}][{key}]", value, "; ".join(bad)))
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
    """The selector of a `labelSelector` parameter (labels.Parse).

    Raises:
        SelectorError: with upstream's message.
    """
    return LabelSelector(tuple(sorted(_Parser(text).requirements(), key=lambda r: r.key)))


class _Parser:
    """A recursive descent over the tokens; the end is the token ""."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._position = 0

    def _peek(self) -> str:
        return self._tokens[self._position]

    def _next(self) -> str:
        self._position += 1
        return self._tokens[self._position - 1]

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while word := self._peek():
            if not (_is_word(word) or word == "!"):
                raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            self._separator()
        return found

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
        if bad := labels.key_errors(key, _CALLED):
            raise SelectorError(str(invalid("<nil>", key, "; ".join(bad))))  # upstream's path is nil here
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
        """The values up to the closing bracket; nothing between two commas is the empty value."""
        found: set[str] = set()
        while True:
            word = self._next()
            if _is_word(word):
                found.add(word)
                if self._peek() not in {",", ")"}:
                    raise SelectorError(f"found '{self._peek()}', expected: ',' or ')'")
            elif word == ",":
                if not found or self._peek() in {",", ")"}:
                    found.add("")
            else:
                raise SelectorError(f"found '{word}', expected: ',', or identifier")
            if self._peek() == ")":
                self._next()
                return found


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SPECIAL


def label_selector_of(selector: Obj | None) -> LabelSelector:
    """The selector of a metav1.LabelSelector object: None selects nothing, {} everything (LabelSelectorAsSelector).

    Raises:
        SelectorError: a key, an operator or a value is wrong.
    """
    if selector is None:
        return LabelSelector(nothing=True)
    found = [requirement(key, "=", (value,)) for key, value in (selector.get("matchLabels") or {}).items()]
    for expression in selector.get("matchExpressions") or ():
        operator = expression.get("operator") or ""
        if operator not in _EXPRESSIONS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        found.append(requirement(expression.get("key") or "", _EXPRESSIONS[operator], expression.get("values") or ()))
    return LabelSelector(tuple(sorted(found, key=lambda r: r.key)))


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field.

    Attributes:
        path: the field, such as "status.phase"; whether the kind knows it is the registry's question.
        equal: whether the value must be equal, or must not.
        value: what it is compared with, without escapes.
    """

    path: str
    equal: bool
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A conjunction of terms in the order of their text; without any it matches everything."""

    terms: tuple[FieldTerm, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the selector restricts nothing."""
        return not self.terms

    def matches(self, fields: Labels) -> bool:
        """Whether an object with these fields is selected; a field that is not there counts as ""."""
        return all((fields.get(term.path, "") == term.value) is term.equal for term in self.terms)


@lru_cache(maxsize=4096)
def parse_field_selector(text: str) -> FieldSelector:
    """The selector of a `fieldSelector` parameter (fields.ParseSelector).

    Empty terms are left out, and so are terms without a field and a value ("=", "==", "!=").

    Raises:
        SelectorError: with upstream's message.
    """
    terms = [_field_term(text, part) for part in sorted(_split_terms(text)) if part]
    return FieldSelector(tuple(term for term in terms if term.path or term.value))


def _field_term(text: str, part: str) -> FieldTerm:
    operator = _FIELD_OPERATORS.search(part)
    if operator is None:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(part[: operator.start()], operator[0] != "!=", _unescaped(part[operator.end() :]))


def _split_terms(text: str) -> list[str]:
    """The terms between commas that no backslash escapes."""
    if "\\" not in text:
        return text.split(",")
    return re.findall(r"(?:\\.|[^,\\]|\\$)+", text, re.DOTALL)


def _unescaped(value: str) -> str:
    if not any(character in value for character in "\\,="):
        return value
    found, characters = [], iter(value)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in {"\\", ",", "="}:
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            found.append(escaped)
        elif character in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            found.append(character)
    return "".join(found)
