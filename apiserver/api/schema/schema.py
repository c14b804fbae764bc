"""The schema of one server: decodes bodies of the kinds that its Kubernetes release has."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import orjson

from apiserver.api.meta import Obj
from apiserver.api.schema.go_types import GROUP_VERSION_KIND, load_go_types, reference
from apiserver.api.schema.strict import DecodeError, explain, prune
from apiserver.api.schema.type_decoders import Shape, Shapes
from apiserver.api.schema.values import Convert, IllegibleError, MalformedError, UnfitError

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


class Decoded(NamedTuple):
    """A decoded body.

    Attributes:
        obj: the object as a server with typed objects would write it, without defaults, in the order of the body.
        errors: unknown and repeated fields, as a strict decoder names them: 'unknown field "spec.foo"'.
    """

    obj: Obj
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that the definitions have.

    Attributes:
        definition: the name of its definition.
    """

    group: str
    version: str
    kind: str
    definition: str


def strict_message(errors: Iterable[str]) -> str:
    """What a server says that was asked for strict validation and found these (runtime.NewStrictDecodingError)."""
    return f"strict decoding error: {', '.join(errors)}"


class Schema:
    """The types of a Kubernetes release, compiled as they are used.

    Attributes:
        definitions: definition name → JSON schema; read-only.
        version: the release, such as "1.34".
    """

    def __init__(self, definitions: Mapping[str, Obj], version: str) -> None:
        self.definitions = definitions
        self.version = version
        self._shapes = Shapes(definitions, load_go_types())
        self._by_kind = {(each.group, each.version, each.kind): each.definition for each in self._kinds()}

    def decoder(self, definition: str) -> Convert:
        """The compiled decoder of a definition; use `decode` where errors are to be told.

        Raises:
            KeyError: there is no such definition.
        """
        return self._shapes[definition].decode

    def decode(self, definition: str, obj: Obj, *, body: bytes = b"", strict: bool = True) -> Decoded:
        """A parsed document as an object of a definition.

        Args:
            definition: its name.
            obj: the document; not changed, but the result shares raw values (managed fields, extensions) with it.
            body: the JSON text of the document, for repeated fields and the exact wording of errors; b"" where it did
                not come as JSON.
            strict: look for repeated fields, and name unknown ones.

        Raises:
            DecodeError: a value does not fit its type.
        """
        shape = self._shapes[definition]
        try:
            decoded = Decoded(shape.decode(obj))
        except (KeyError, UnfitError, IllegibleError, MalformedError, RecursionError):
            decoded = _decode_slowly(shape, obj, body)
        else:
            if strict and body and may_repeat_fields(body, obj):
                decoded = _decode_slowly(shape, obj, body)
        return decoded if strict else Decoded(decoded.obj)

    def definition_of(self, group: str, version: str, kind: str) -> str | None:
        """The definition of a kind, None where the release has no such kind."""
        return self._by_kind.get((group, version, kind))

    def kinds(self) -> list[Kind]:
        """The kinds that are API objects: they have an ObjectMeta, which lists and options have not."""
        metas = (
            (each, self.definitions[each.definition].get("properties", {}).get("metadata", {}))
            for each in self._kinds()
        )
        return [each for each, metadata in metas if reference(metadata) == _OBJECT_META]

    def _kinds(self) -> Iterator[Kind]:
        for name, definition in self.definitions.items():
            for gvk in definition.get(GROUP_VERSION_KIND, ()):
                yield Kind(gvk["group"], gvk["version"], gvk["kind"], name)


def _decode_slowly(shape: Shape, obj: Obj, body: bytes) -> Decoded:
    try:
        errors = explain(shape, body or json.dumps(obj))
        return Decoded(shape.decode(prune(shape, obj or {})), tuple(errors))
    except RecursionError as error:
        raise DecodeError("exceeded max depth") from error


def may_repeat_fields(body: bytes, obj: Obj, *, left_out: int = 0) -> bool:
    """Whether the text has a field twice that the parsed document has once; never False where it has.

    Each field brings one colon, and so does each colon in a string, unless it is written as an escape: a text without
    that escape and with as many colons as its document written anew repeats nothing.

    Args:
        body: the text.
        obj: the document, perhaps without some of its parts.
        left_out: the colons of those parts and of their names.
    """
    if b"\\" in body and b"\\u003" in body:
        return True
    try:
        written = orjson.dumps(obj)
        return body != written and body.count(b":") != written.count(b":") + left_out
    except orjson.JSONEncodeError:  # nested too deeply to be written
        return True
