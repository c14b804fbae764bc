"""The errors of a body: unknown and repeated fields and values of wrong types, with sigs.k8s.io/json's messages.

This pass is slow and exact; it runs only if the compiled decoder refused a body, or if a field may be repeated.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from apiserver.api.golang.strings import quoted
from apiserver.api.schema.type_decoders import Choice, List, Map, Scalar, Struct, TypeDecoder
from apiserver.api.schema.values import MalformedError, UnmarshalError, UnmarshalTypeError, read_anything

ANYTHING = Scalar("interface {}", read_anything, None)
"""A value of any type; repeated fields in it are reported."""
MAX_STRICT_ERRORS = 100
"""The most unknown and repeated fields that are reported (sigs.k8s.io/json saveStrictError)."""


class DecodeError(Exception):
    """A body that cannot be decoded; the message is that of Go's decoder."""


class _Fields(list[tuple[str, Any]]):
    """An object of the document, with its repeated keys."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number of the document, as written."""

    text: str

    def value(self) -> int | float:
        """Return the number; an integer of absurd length becomes a float, which fits nowhere that an integer does."""
        whole = len(self.text) < 32 and self.text.removeprefix("-").isdigit()
        return int(self.text) if whole else float(self.text)


@dataclass(frozen=True, slots=True)
class _Position:
    """The current position of the pass.

    Attributes:
        path: the path with map keys and indices, as strict errors name it: "spec.containers[0]".
        field: the path of fields only, as type errors name it: "spec.containers".
        struct: the name of the innermost struct.
    """

    path: str = ""
    field: str = ""
    struct: str = ""

    def of_field(self, struct: str, name: str) -> "_Position":
        """Return the position of a field of the struct here."""
        return _Position(self.below(name), f"{self.field}.{name}" if self.field else name, struct)

    def of_key(self, key: str) -> "_Position":
        """Return the position of a value of the map here."""
        return _Position(self.below(key), self.field, self.struct)

    def of_index(self, index: int) -> "_Position":
        """Return the position of an item of the list here."""
        return _Position(f"{self.path}[{index}]", self.field, self.struct)

    def below(self, name: str) -> str:
        """Return the path of a field or key."""
        return f"{self.path}.{name}" if self.path else name


def decode_errors(shape: TypeDecoder, body: bytes | str) -> list[str]:
    """Return the unknown and the repeated fields of a body, in their order.

    Args:
        shape: the expected type of the body.
        body: a JSON document that parses.

    Raises:
        DecodeError: a value does not fit its type.
    """
    walk = _StrictDecoder()
    try:
        document = json.loads(body, object_pairs_hook=_Fields, parse_int=_Number, parse_float=_Number)
        walk.visit(shape, document, _Position())
    except MalformedError as error:
        raise DecodeError(str(error)) from error
    if walk.unfit:
        raise DecodeError(walk.unfit)
    return list(walk.errors)[:MAX_STRICT_ERRORS]


def repeated_fields(body: bytes) -> list[str]:
    """Return the repeated fields of a document without a schema, in their order.

    A document that is nested too deeply to be searched yields none.

    Raises:
        ValueError: the body is not JSON.
    """
    walk = _StrictDecoder()
    try:
        walk.visit_anything(json.loads(body, object_pairs_hook=_Fields), _Position())
    except RecursionError:
        return []
    return list(walk.errors)[:MAX_STRICT_ERRORS]


def prune(shape: TypeDecoder, value: Any) -> Any:
    """Return a copy of a value without unknown fields; parts that do not fit the shape stay as they are."""
    match shape:
        case Struct() if isinstance(value, dict):
            fields = shape.fields
            return {key: prune(fields[key], item) for key, item in value.items() if key in fields}
        case Map() if isinstance(value, dict):
            return {key: prune(shape.item, item) for key, item in value.items()}
        case List() if isinstance(value, list):
            return [prune(shape.item, item) for item in value]
        case Choice() if isinstance(value, dict):
            return prune(shape.struct, value)
        case Choice(items=List() as items) if isinstance(value, list):
            return prune(items, value)
    return value


class _StrictDecoder:
    """A pass over a document.

    Attributes:
        errors: unknown and repeated fields; a dict, since each is reported once.
        unfit: the error of the first value of a wrong type; the pass goes on, since a malformed value takes precedence.
    """

    def __init__(self) -> None:
        self.errors: dict[str, None] = {}
        self.unfit = ""

    def visit(self, shape: TypeDecoder, value: Any, position: _Position) -> None:
        """Record the errors of a value and of all its parts."""
        match shape:
            case _ if value is None:
                return
            case Scalar() if shape is ANYTHING:
                self.visit_anything(value, position)
            case Scalar():
                self._scalar(shape, value, position)
            case Choice():
                self._choice(shape, value, position)
            case Struct() if isinstance(value, _Fields):
                self._struct(shape, value, position)
            case Map() if isinstance(value, _Fields):
                self._map(shape, value, position)
            case List() if isinstance(value, list) and not isinstance(value, _Fields):
                for index, item in enumerate(value):
                    self.visit(shape.item, item, position.of_index(index))
            case _:
                self._raise_malformed(_cannot_unmarshal(_described(value), position, shape.type))

    def visit_anything(self, value: Any, position: _Position) -> None:
        """Record the repeated fields of a value and of all its parts."""
        if isinstance(value, _Fields):
            seen: set[str] = set()
            for key, item in value:
                self._note_repeated(key, seen, position)
                self.visit_anything(item, position.of_key(key))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.visit_anything(item, position.of_index(index))

    def _note_repeated(self, key: str, seen: set[str], position: _Position) -> None:
        """Record a key that its object already had, and add the key to those seen."""
        if key in seen:
            self._add_error("duplicate", position.below(key))
        seen.add(key)

    def _struct(self, shape: Struct, value: _Fields, position: _Position) -> None:
        seen: set[str] = set()
        for key, item in value:
            if key not in shape.fields:
                self._add_error("unknown", position.below(key))
                continue
            self._note_repeated(key, seen, position)
            self.visit(shape.fields[key], item, position.of_field(shape.name, key))

    def _map(self, shape: Map, value: _Fields, position: _Position) -> None:
        seen: set[str] = set()
        for key, item in value:
            self._note_repeated(key, seen, position)
            self.visit(shape.item, item, position.of_key(key))

    def _scalar(self, shape: Scalar, value: Any, position: _Position) -> None:
        try:
            shape.decode(value.value() if isinstance(value, _Number) else value)
        except UnmarshalTypeError:
            message = _cannot_unmarshal(_described(value, quoted=shape.numeric), position, shape.type)
            if not shape.omissible:
                _malformed(message)
            self._raise_malformed(message)
        except UnmarshalError as error:
            self._raise_malformed(str(error))

    def _choice(self, shape: Choice, value: Any, position: _Position) -> None:
        # These types decode themselves: their unknown fields are not reported, and an error in them ends the decoding.
        inner = _StrictDecoder()
        if isinstance(value, _Fields):
            inner.visit(shape.struct, value, position)
        elif shape.items is not None and isinstance(value, list):
            inner.visit(shape.items, value, position)
        elif shape.booleans and not isinstance(value, bool):
            _malformed("boolean or JSON schema expected")
        if inner.unfit:
            _malformed(inner.unfit)

    def _raise_malformed(self, message: str) -> None:
        self.unfit = self.unfit or message

    def _add_error(self, problem: str, path: str) -> None:
        self.errors[f"{problem} field {quoted(path)}"] = None


def _malformed(message: str) -> NoReturn:
    """End the decoding, as a type with its own decoder does."""
    raise MalformedError(message)


def _cannot_unmarshal(value: str, position: _Position, go_type: str) -> str:
    target = f"struct field {position.struct}.{position.field}" if position.struct else "value"
    return f"json: cannot unmarshal {value} into Go {target} of type {go_type}"


def _described(value: Any, *, quoted: bool = False) -> str:
    match value:
        case _Number():
            return f"number {value.text}" if quoted else "number"
        case bool():
            return "bool"
        case str():
            return "string"
        case _Fields():
            return "object"
    return "array"
