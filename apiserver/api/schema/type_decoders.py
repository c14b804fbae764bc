"""Shapes: definitions compiled, once each, to decoders that can also be walked to find the errors of a body."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any

from apiserver.api.meta import Obj
from apiserver.api.schema import values
from apiserver.api.schema.go_types import GoField, GoTypes, go_field, item_type, json_type, reference, type_name
from apiserver.api.schema.values import Convert, UnmarshalTypeError


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value without parts.

    Attributes:
        type: its Go type, as error messages name it.
        decode: returns the canonical form.
        zero: its zero value as Go writes it.
        numeric: errors quote a number that does not fit.
        omissible: omitempty leaves out its zero value; false for types with their own decoder.
    """

    type: str
    decode: Convert
    zero: Any
    numeric: bool = False
    omissible: bool = True

    def empty(self) -> Any:
        """Return the zero value on the wire."""
        return self.zero


@dataclass(frozen=True, slots=True)
class List:
    """A slice."""

    type: str
    item: "TypeDecoder"
    decode: Convert
    omissible: bool = True

    def empty(self) -> None:
        """Return a nil slice, which an empty one becomes in the store."""


@dataclass(frozen=True, slots=True)
class Map:
    """A map with string keys."""

    type: str
    item: "TypeDecoder"
    decode: Convert
    omissible: bool = True

    def empty(self) -> None:
        """Return a nil map."""


@dataclass(slots=True)
class Struct:
    """A struct. Its fields and its decoder are set after its creation, since structs may contain themselves."""

    type: str
    fields: dict[str, "TypeDecoder"] = field(default_factory=dict)
    decode: Convert = values.read_anything
    always: tuple[tuple[str, Callable[[], Any]], ...] = ()
    omissible: bool = False

    @property
    def name(self) -> str:
        """Return the struct's name in error messages, without its package."""
        return self.type.rpartition(".")[2]

    def empty(self) -> Obj:
        """Return the zero struct on the wire."""
        return {name: zero() for name, zero in self.always}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of apiextensions' types that are a JSON schema or something simpler, and have their own decoder.

    Attributes:
        struct: the type of an object.
        items: the type of an array, None if an array is no value.
        booleans: a bool is a value; anything but an object is then an error.
    """

    type: str
    struct: Struct
    items: List | None
    booleans: bool
    omissible: bool = False

    def decode(self, value: Any) -> Any:
        """Return the decoded value; another type of value is None, or an error if bools are expected."""
        if type(value) is dict:
            return self.struct.decode(value)
        if self.items is not None and type(value) is list:
            return self.items.decode(value) or None
        if not self.booleans:
            return None
        if type(value) is not bool:
            raise values.MalformedError("boolean or JSON schema expected")
        return value

    def empty(self) -> bool | None:
        """Return the zero value on the wire."""
        return False if self.booleans else None


TypeDecoder = Scalar | List | Map | Struct | Choice

_API_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_SCHEMA = f"{_API_EXTENSIONS}.JSONSchemaProps"

_SELF_READING = {
    f"{_META}.Time": Scalar("string", values.read_time, None, omissible=False),
    f"{_META}.MicroTime": Scalar("string", values.read_micro_time, None, omissible=False),
    f"{_META}.FieldsV1": Scalar("", values.read_anything, None, omissible=False),
    f"{_META}.Patch": Scalar("", values.read_anything, None, omissible=False),
    f"{_API_EXTENSIONS}.JSON": Scalar("", values.read_anything, None, omissible=False),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": Scalar("", values.read_anything, None, omissible=False),
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Scalar("", values.read_quantity, "0", omissible=False),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Scalar(
        "int32", values.read_int_or_string, 0, numeric=True, omissible=False
    ),
}
"""Types with their own UnmarshalJSON, under the type that their errors name."""

_SCALARS: dict[tuple[str, str], tuple[Convert, Any, bool]] = {  # (JSON type, format) → decode, zero, numeric
    ("string", ""): (values.read_string, "", False),
    ("string", "byte"): (values.read_bytes, None, False),
    ("boolean", ""): (values.read_bool, False, False),
    ("integer", "int32"): (values.read_int32, 0, True),
    ("integer", "int64"): (values.read_int64, 0, True),
    ("number", "double"): (values.read_float64, 0, True),
}


class TypeDecoders(dict[str, TypeDecoder]):
    """Definition name → its shape, compiled on first use; threads may share it.

    Shapes that refer to each other are compiled together, and become visible only when all of them are finished.
    """

    def __init__(self, definitions: Mapping[str, Obj], go_types: GoTypes) -> None:
        super().__init__(_SELF_READING)
        self._definitions = definitions
        self._go_types = go_types
        self._unfinished: dict[str, TypeDecoder] = {}
        self._lock = RLock()

    def __missing__(self, name: str) -> TypeDecoder:
        with self._lock:
            shape = self.get(name) or self._unfinished.get(name)
            if shape is not None:
                return shape
            is_first = not self._unfinished
            try:
                shape = self._compiled(name)
                if is_first:
                    self.update(self._unfinished)
            finally:
                if is_first:
                    self._unfinished.clear()
            return shape

    def _compiled(self, name: str) -> TypeDecoder:
        if name.startswith(f"{_SCHEMA}Or"):
            return self._choice(name)
        definition = self._definitions[name]
        self._unfinished[name] = struct = Struct(type_name(name))
        facts = self._go_types.get(name, {})
        go_fields = {key: go_field(definition, key, facts) for key in definition.get("properties", ())}
        struct.fields.update(
            {key: self._shape(definition["properties"][key], go.type) for key, go in go_fields.items()}
        )
        _complete(struct, go_fields)
        return struct

    def _choice(self, name: str) -> Choice:
        schema = self[_SCHEMA]
        assert isinstance(schema, Struct)
        items: dict[str, TypeDecoder] = {"Array": schema, "StringArray": Scalar("string", values.read_string, "")}
        item = items.get(name.removeprefix(f"{_SCHEMA}Or"))
        self._unfinished[name] = choice = Choice(
            type_name(name),
            schema,
            None if item is None else List(f"[]{item.type}", item, _list_decoder(item)),
            booleans=item is None,
        )
        return choice

    def _shape(self, schema: Obj, go: str) -> TypeDecoder:
        if target := reference(schema):
            return self[target]
        kind = json_type(schema)
        if kind == "array":
            item = self._shape(schema["items"], item_type(go, schema["items"]))
            return List(go, item, _list_decoder(item))
        if kind == "object":
            item = self._shape(schema["additionalProperties"], item_type(go, schema["additionalProperties"]))
            if isinstance(item, Scalar) and item.decode is values.read_bytes:
                item = replace(item, zero="")  # the store's form of a map has no nil bytes
            return Map(go, item, _map_decoder(item))
        decode, zero, numeric = _SCALARS[kind, schema.get("format", "")]
        return Scalar(go, decode, zero, numeric)


def _complete(struct: Struct, go_fields: Mapping[str, GoField]) -> None:
    pairs = [(key, shape, go_fields[key]) for key, shape in struct.fields.items()]
    struct.always = tuple((key, _absent(shape, go)) for key, shape, go in pairs if _is_always(shape, go))
    struct.decode = _struct_decoder(
        {key: _IN_PLACE.get(shape.decode) or _reader(shape) for key, shape, _ in pairs},
        kept=frozenset(key for key, shape, go in pairs if _is_kept(shape, go)),
        always=struct.always,
    )


_IN_PLACE: dict[Convert, Convert] = {values.read_string: str, values.read_bool: bool}


def _reader(shape: TypeDecoder) -> Convert:
    if isinstance(shape, Struct) and shape.decode is values.read_anything:  # still being compiled: look it up later
        return lambda value: shape.decode(value)  # noqa: PLW0108 - the attribute is set later
    return shape.decode


def _is_always(shape: TypeDecoder, go: GoField) -> bool:
    return go.always or not (go.pointer or go.omitzero or shape.omissible)


def _absent(shape: TypeDecoder, go: GoField) -> Callable[[], Any]:
    return (lambda: None) if go.pointer else shape.empty


def _is_kept(shape: TypeDecoder, go: GoField) -> bool:
    if go.pointer or go.keeps_empty:
        return True
    if not shape.omissible:
        return not go.omitzero
    return go.always and isinstance(shape, Scalar)


def _struct_decoder(
    handlers: Mapping[str, Convert], *, kept: frozenset[str], always: tuple[tuple[str, Callable[[], Any]], ...]
) -> Convert:
    """Return the decoder of a struct.

    Args:
        handlers: field → its decoder. Strings and bools, which are most fields, are decoded in place: for them it is
            `str` or `bool`.
        kept: the fields that are written even if they are empty.
        always: the fields that are written even if they are absent, with the functions that return their zero values.
    """
    scalars = {key: zero() for key, zero in always if not isinstance(zero(), dict)}
    structs = tuple((key, zero) for key, zero in always if key not in scalars)

    def decode(value: Any) -> Obj:
        if type(value) is not dict:
            raise UnmarshalTypeError
        decoded = scalars.copy()
        for key, item in value.items():
            if type(item) is (handler := handlers[key]):  # KeyError: an unknown field
                if item or key in kept:
                    decoded[key] = item
            elif item is not None:
                if handler is str or handler is bool:
                    raise UnmarshalTypeError
                if (made := handler(item)) or key in kept:
                    decoded[key] = made
        for key, zero in structs:
            if key not in decoded:
                decoded[key] = zero()
        return decoded

    return decode


def _list_decoder(item: TypeDecoder) -> Convert:
    empty, read = item.empty, _reader(item)

    def decode(value: Any) -> list[Any]:
        if type(value) is not list:
            raise UnmarshalTypeError
        decoded = []
        for element in value:  # faster than a comprehension for lists as short as they are
            decoded.append(empty() if element is None else read(element))  # noqa: PERF401
        return decoded

    def decode_strings(value: Any) -> list[str]:
        if type(value) is not list:
            raise UnmarshalTypeError
        for element in value:
            if type(element) is not str:
                return decode(value)
        return value.copy()

    return decode_strings if read is values.read_string else decode


def _map_decoder(item: TypeDecoder) -> Convert:
    empty, read = item.empty, _reader(item)

    def decode(value: Any) -> Obj:
        if type(value) is not dict:
            raise UnmarshalTypeError
        decoded = {}
        for key, element in value.items():
            decoded[key] = empty() if element is None else read(element)
        return decoded

    def decode_strings(value: Any) -> dict[str, str]:
        if type(value) is not dict:
            raise UnmarshalTypeError
        for element in value.values():
            if type(element) is not str:
                return decode(value)
        return value.copy()

    return decode_strings if read is values.read_string else decode
