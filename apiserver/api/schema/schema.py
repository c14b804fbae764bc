"""The schema of one server, which decodes bodies of the kinds in its Kubernetes release."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from apiserver.api.meta import Obj
from apiserver.api.schema.conversion import convert
from apiserver.api.schema.go_types import GROUP_VERSION_KIND, load_go_types, reference
from apiserver.api.schema.strict import DecodeError, decode_errors, prune
from apiserver.api.schema.type_decoders import TypeDecoder, TypeDecoders
from apiserver.api.schema.values import MalformedError, UnmarshalError, UnmarshalTypeError

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Decoded(NamedTuple):
    """A decoded body.

    Attributes:
        obj: the object as a server with typed objects writes it, without defaults, in the order of the body.
        errors: unknown and repeated fields, as a strict decoder reports them: 'unknown field "spec.foo"'.
    """

    obj: Obj
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind in the definitions.

    Attributes:
        definition: the name of its definition.
    """

    group: str
    version: str
    kind: str
    definition: str


def strict_message(errors: Iterable[str]) -> str:
    """Return the message of a strict decoder that found these errors (runtime.NewStrictDecodingError)."""
    return f"strict decoding error: {', '.join(errors)}"


class Schema:
    """The types of a Kubernetes release, compiled on first use.

    Attributes:
        definitions: definition name → JSON schema; read-only.
        version: the release, such as "1.34".
    """

    def __init__(self, definitions: Mapping[str, Obj], version: str) -> None:
        self.definitions = definitions
        self.version = version
        self._shapes = TypeDecoders(definitions, load_go_types())
        self._by_kind = {(kind.group, kind.version, kind.kind): kind.definition for kind in self._kinds()}

    def decode(self, definition: str, obj: Obj, *, body: bytes = b"", strict: bool = True) -> Decoded:
        """Return a parsed document as an object of a definition.

        Args:
            definition: the definition's name.
            obj: the document; not changed, but the result shares raw values (managed fields, extensions) with it.
            body: the JSON text of the document, for repeated fields and the exact wording of errors; b"" if it did not
                come as JSON.
            strict: look for repeated fields, and report unknown ones.

        Raises:
            DecodeError: a value does not fit its type.
        """
        shape = self._shapes[definition]
        try:
            decoded = Decoded(shape.decode(obj))
        except (KeyError, UnmarshalTypeError, UnmarshalError, MalformedError, RecursionError):
            decoded = _decode_slowly(shape, obj, body)
        else:
            if strict and body and may_repeat_fields(body, obj):
                decoded = _decode_slowly(shape, obj, body)
        return decoded if strict else Decoded(decoded.obj)

    def convert(self, definition: str, obj: Obj) -> Obj:
        """Return a parsed document whose values have the types of a definition, as strategic merge patches need it.

        Raises:
            ConversionError: a value does not fit its type.
        """
        converted: Obj = convert(self._shapes[definition], obj)
        return converted

    @property
    def minor(self) -> int:
        """The minor version of the release: 34 for "1.34"."""
        return int(self.version.partition(".")[2])

    def definition_of(self, group: str, version: str, kind: str) -> str | None:
        """Return the definition of a kind, or None if the release has no such kind."""
        return self._by_kind.get((group, version, kind))

    def kinds(self) -> list[Kind]:
        """Return the kinds that are API objects: those with an ObjectMeta, unlike lists and options."""
        metas = (
            (kind, self.definitions[kind.definition].get("properties", {}).get("metadata", {}))
            for kind in self._kinds()
        )
        return [kind for kind, metadata in metas if reference(metadata) == _OBJECT_META]

    def _kinds(self) -> Iterator[Kind]:
        for name, definition in self.definitions.items():
            for gvk in definition.get(GROUP_VERSION_KIND, ()):
                yield Kind(gvk["group"], gvk["version"], gvk["kind"], name)


def _decode_slowly(shape: TypeDecoder, obj: Obj, body: bytes) -> Decoded:
    try:
        errors = decode_errors(shape, body or json.dumps(obj))
        return Decoded(shape.decode(prune(shape, obj or {})), tuple(errors))
    except RecursionError as error:
        raise DecodeError("exceeded max depth") from error


def may_repeat_fields(body: bytes, obj: Obj, *, left_out: int = 0) -> bool:
    """Return whether the text may have a field twice that the parsed document has once; False is certain.

    Each field has one colon, and strings have theirs unless they are escaped: a text without escaped colons that has as
    many colons as its document when encoded again repeats no field.

    Args:
        body: the text.
        obj: the document, perhaps without some of its parts.
        left_out: the number of colons in those parts and after their names.
    """
    if b"\\" in body and b"\\u003" in body:
        return True
    try:
        encoded = orjson.dumps(obj)
        return body != encoded and body.count(b":") != encoded.count(b":") + left_out
    except orjson.JSONEncodeError:  # nested too deeply to be written
        return True
