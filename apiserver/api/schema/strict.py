"""What is wrong with a body: unknown fields, repeated fields and values of wrong types, in sigs.k8s.io/json's words.

This walk is slow and exact; it runs only when the compiled decoder refused a body, or a field of it may be repeated.
"""

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from apiserver.api.golang.strings import quoted
from apiserver.api.schema.type_decoders import Choice, List, Map, Scalar, Shape, Struct
from apiserver.api.schema.values import IllegibleError, MalformedError, UnfitError, read_anything

ANYTHING = Scalar("interface {}", read_anything, None)
"""A value of any type; the fields that are repeated in it are told."""
MAX_STRICT_ERRORS = 100
"""More unknown and repeated fields than this are not told (sigs.k8s.io/json saveStrictError)."""


class DecodeError(Exception):
    """A body that cannot be decoded; its message is what Go's decoder says."""


class _Fields(list[tuple[str, Any]]):
    """An object of the document with its repeated keys."""


@dataclass(frozen=True, slots=True)
class _Number:
    """A number of the document as it is written there."""

    text: str

    def value(self) -> int | float:
        """The number; an integer of absurd length is a float, which fits nowhere an integer does."""
        whole = len(self.text) < 32 and self.text.removeprefix("-").isdigit()
        return int(self.text) if whole else float(self.text)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the walk is.

    Attributes:
        path: with map keys and indices, as strict errors name it: "spec.containers[0]".
        field: fields only, as type errors name it: "spec.containers".
        struct: the innermost struct.
    """

    path: str = ""
    field: str = ""
    struct: str = ""

    def of_field(self, struct: str, name: str) -> "_Place":
        """A field of the struct here."""
        return _Place(self.below(name), f"{self.field}.{name}" if self.field else name, struct)

    def of_key(self, key: str) -> "_Place":
        """A value of the map here."""
        return _Place(self.below(key), self.field, self.struct)

    def of_index(self, index: int) -> "_Place":
        """An item of the list here."""
        return _Place(f"{self.path}[{index}]", self.field, self.struct)

    def below(self, name: str) -> str:
        """The path of a field or key."""
        return f"{self.path}.{name}" if self.path else name


def explain(shape: Shape, body: bytes | str) -> list[str]:
    """The unknown and the repeated fields of a body, in the order in which they stand there.

    Args:
        shape: what the body should be.
        body: a JSON document that parses.

    Raises:
        DecodeError: a value does not fit its type.
    """
    walk = _Walk()
    try:
        document = json.loads(body, object_pairs_hook=_Fields, parse_int=_Number, parse_float=_Number)
        walk.visit(shape, document, _Place())
    except MalformedError as error:
        raise DecodeError(str(error)) from error
    if walk.unfit:
        raise DecodeError(walk.unfit)
    return list(walk.found)[:MAX_STRICT_ERRORS]


def repeated_fields(body: bytes) -> list[str]:
    """The repeated fields of a document without a schema, in the order in which they stand there.

    Of one that is nested too deeply to be looked at none are told.

    Raises:
        ValueError: the body is no JSON.
    """
    walk = _Walk()
    try:
        walk.visit_anything(json.loads(body, object_pairs_hook=_Fields), _Place())
    except RecursionError:
        return []
    return list(walk.found)[:MAX_STRICT_ERRORS]


def prune(shape: Shape, value: Any) -> Any:
    """A copy of a value without unknown fields; what does not fit the shape stays as it is."""
    match shape:
        case Struct() if isinstance(value, dict):
            fields = shape.fields
            return {key: prune(fields[key], each) for key, each in value.items() if key in fields}
        case Map() if isinstance(value, dict):
            return {key: prune(shape.item, each) for key, each in value.items()}
        case List() if isinstance(value, list):
            return [prune(shape.item, each) for each in value]
        case Choice() if isinstance(value, dict):
            return prune(shape.struct, value)
        case Choice(items=List() as items) if isinstance(value, list):
            return prune(items, value)
    return value


class _Walk:
    """One walk over a document.

    Attributes:
        found: unknown and repeated fields; a dict, since each is told once.
        unfit: the first value of a wrong type; the walk goes on behind it, since a malformed one takes precedence.
    """

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.unfit = ""

    def visit(self, shape: Shape, value: Any, place: _Place) -> None:
        """Note what is wrong with a value and with all in it."""
        match shape:
            case _ if value is None:
                return
            case Scalar() if shape is ANYTHING:
                self.visit_anything(value, place)
            case Scalar():
                self._scalar(shape, value, place)
            case Choice():
                self._choice(shape, value, place)
            case Struct() if isinstance(value, _Fields):
                self._struct(shape, value, place)
            case Map() if isinstance(value, _Fields):
                self._map(shape, value, place)
            case List() if isinstance(value, list) and not isinstance(value, _Fields):
                for index, each in enumerate(value):
                    self.visit(shape.item, each, place.of_index(index))
            case _:
                self._refuse(_cannot_unmarshal(_described(value), place, shape.type))

    def visit_anything(self, value: Any, place: _Place) -> None:
        """Note the repeated fields of a value and of all in it."""
        if isinstance(value, _Fields):
            seen: set[str] = set()
            for key, each in value:
                self._note_repeated(key, seen, place)
                self.visit_anything(each, place.of_key(key))
        elif isinstance(value, list):
            for index, each in enumerate(value):
                self.visit_anything(each, place.of_index(index))

    def _note_repeated(self, key: str, seen: set[str], place: _Place) -> None:
        """Note a key that its object has had before, and add it to what has been seen there."""
        if key in seen:
            self._note("duplicate", place.below(key))
        seen.add(key)

    def _struct(self, shape: Struct, value: _Fields, place: _Place) -> None:
        seen: set[str] = set()
        for key, each in value:
            if key not in shape.fields:
                self._note("unknown", place.below(key))
                continue
            self._note_repeated(key, seen, place)
            self.visit(shape.fields[key], each, place.of_field(shape.name, key))

    def _map(self, shape: Map, value: _Fields, place: _Place) -> None:
        seen: set[str] = set()
        for key, each in value:
            self._note_repeated(key, seen, place)
            self.visit(shape.item, each, place.of_key(key))

    def _scalar(self, shape: Scalar, value: Any, place: _Place) -> None:
        try:
            shape.decode(value.value() if isinstance(value, _Number) else value)
        except UnfitError:
            message = _cannot_unmarshal(_described(value, quoted=shape.numeric), place, shape.type)
            if not shape.omissible:
                _malformed(message)
            self._refuse(message)
        except IllegibleError as error:
            self._refuse(str(error))

    def _choice(self, shape: Choice, value: Any, place: _Place) -> None:
        # These types read themselves: unknown fields in them are not told, and what does not fit ends the decoding.
        inner = _Walk()
        if isinstance(value, _Fields):
            inner.visit(shape.struct, value, place)
        elif shape.items is not None and isinstance(value, list):
            inner.visit(shape.items, value, place)
        elif shape.booleans and not isinstance(value, bool):
            _malformed("boolean or JSON schema expected")
        if inner.unfit:
            _malformed(inner.unfit)

    def _refuse(self, message: str) -> None:
        self.unfit = self.unfit or message

    def _note(self, what: str, path: str) -> None:
        self.found[f"{what} field {quoted(path)}"] = None


def _malformed(message: str) -> NoReturn:
    """A type that reads itself ends the decoding."""
    raise MalformedError(message)


def _cannot_unmarshal(value: str, place: _Place, go_type: str) -> str:
    target = f"struct field {place.struct}.{place.field}" if place.struct else "value"
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
