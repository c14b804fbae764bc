"""The messages of the table, each compiled to a reader on first use."""

import base64
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from apiserver.api.meta import Obj
from apiserver.api.protobuf.wire import FIXED64, LENGTH, VARINT, MalformedError, read_chunk, read_varint, signed

Read = Callable[[Any], Any]
"""A function from the wire's number or bytes to the value in JSON; None is no value."""
Put = Callable[[Obj, str, Any], None]

WHOLE = "="
"""The name of a message's only field if JSON has no object around it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A numbered field of a message.

    Attributes:
        name: the name in JSON; "" if its fields belong to the message around it, WHOLE if it is the whole message.
        wire: the wire type.
        read: converts a value from the wire to JSON.
        put: adds a value to the object.
    """

    name: str
    wire: int
    read: Read
    put: Put


Fields = dict[int, Field]


class Messages:
    """The readers of all messages.

    Args:
        versions: apiVersion → the package of its messages.
        table: message → field number → JSON name and kind. A kind is a scalar or a message; "[]" makes it repeated,
            "map " a map with string keys, and "*" writes its zero value: for a pointer, or a field without omitempty.
    """

    def __init__(self, versions: dict[str, str], table: dict[str, dict[str, str]]) -> None:
        self._versions = versions
        self._table = table
        self._compiled: dict[str, Read] = {}

    def reader(self, api_version: str, kind: str) -> Read | None:
        """Return the reader of a kind's message, or None if the kind has none."""
        package = "meta.v1" if kind == "DeleteOptions" else self._versions.get(api_version)
        message = f"{package}.{kind}"
        return self.message(message) if message in self._table else None

    def message(self, name: str) -> Read:
        """Return the reader of a message."""
        reader = self._compiled.get(name)
        if reader is None:
            fields: Fields = {}
            whole = any(row.startswith(WHOLE) for row in self._table[name].values())
            reader = (lambda data: read(fields, data).get(WHOLE, [])) if whole else (lambda data: read(fields, data))
            self._compiled[name] = reader
            fields.update((int(number), self._field(row)) for number, row in self._table[name].items())
        return reader

    def _field(self, row: str) -> Field:
        name, _, kind = row.partition(" ")
        if kind.startswith("map "):
            entry = {1: Field("key", LENGTH, _text, _keep), 2: self._field(f"value *{kind[4:]}")}
            return Field(name, LENGTH, lambda data: read(entry, data), _entry)
        if kind.startswith("[]"):
            wire, reader = self._kind(kind[2:])
            return Field(name, wire, reader, _append)
        wire, reader = self._kind(kind.lstrip("*"))
        if not name:
            return Field(name, wire, reader, _merge)
        return Field(name, wire, reader, _keep_unless_zero if kind in _SCALARS else _keep)

    def _kind(self, kind: str) -> tuple[int, Read]:
        return _SCALARS.get(kind) or _SPECIAL.get(kind) or (LENGTH, self.message(kind))


def read(fields: Fields, data: bytes) -> Obj:
    """Return the object of a message's bytes.

    Raises:
        MalformedError: the bytes are no such message.
    """
    obj: Obj = {}
    position, end = 0, len(data)
    while position < end:
        tag, position = read_varint(data, position)
        wire = tag & 7
        value, position = read_varint(data, position) if wire == VARINT else read_chunk(data, position, wire)
        field = fields.get(tag >> 3)
        if field is None:
            continue
        if field.wire != wire:
            raise MalformedError(f"proto: wrong wireType = {wire} for field {field.name}")
        field.put(obj, field.name, field.read(value))
    return obj


def _keep(obj: Obj, name: str, value: Any) -> None:
    if value is not None:
        obj[name] = value


def _keep_unless_zero(obj: Obj, name: str, value: Any) -> None:
    if value:
        obj[name] = value


def _merge(obj: Obj, _name: str, value: Obj) -> None:
    obj.update(value)


def _append(obj: Obj, name: str, value: Any) -> None:
    obj.setdefault(name, []).append(value)


def _entry(obj: Obj, name: str, value: Obj) -> None:
    obj.setdefault(name, {})[value.get("key", "")] = value.get("value")


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _double(data: bytes) -> float:
    number: float = struct.unpack("<d", data)[0]
    return number


_SCALARS: dict[str, tuple[int, Read]] = {
    "string": (LENGTH, _text),
    "bytes": (LENGTH, _base64),
    "bool": (VARINT, bool),
    "int": (VARINT, signed),
    "double": (FIXED64, _double),
}


def _moment(data: bytes) -> datetime | None:
    """Return the time in a message (seconds and nanoseconds of the Unix epoch), or None if it has no field."""
    fields = read({1: Field("seconds", VARINT, signed, _keep), 2: Field("nanos", VARINT, signed, _keep)}, data)
    if not fields:
        return None
    try:
        moment = datetime.fromtimestamp(fields.get("seconds", 0), UTC)
        return moment.replace(microsecond=fields.get("nanos", 0) // 1000)
    except (OverflowError, OSError, ValueError) as error:
        raise MalformedError(f"proto: illegal time: {error}") from error


def _time(data: bytes) -> str | None:
    moment = _moment(data)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else None


def _micro_time(data: bytes) -> str | None:
    moment = _moment(data)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}" if moment else None


def _number_or_text(data: bytes) -> int | str:
    """Return an IntOrString, whose fields are its type (0 for a number), the number and the text."""
    rows = {
        1: Field("type", VARINT, signed, _keep),
        2: Field("number", VARINT, signed, _keep),
        3: Field("text", LENGTH, _text, _keep),
    }
    fields = read(rows, data)
    value: int | str = fields.get("text", "") if fields.get("type") else fields.get("number", 0)
    return value


def _quantity(data: bytes) -> str:
    text: str = read({1: Field("string", LENGTH, _text, _keep)}, data).get("string", "0")
    return text or "0"


def _raw(data: bytes) -> Any:
    """Return the JSON in a message (RawExtension, FieldsV1)."""
    inner = read({1: Field("raw", LENGTH, bytes, _keep)}, data).get("raw")
    try:
        return orjson.loads(inner) if inner else None
    except ValueError as error:
        raise MalformedError(f"proto: the JSON within cannot be read: {error}") from error


_SPECIAL: dict[str, tuple[int, Read]] = {
    "time": (LENGTH, _time),
    "microtime": (LENGTH, _micro_time),
    "intorstring": (LENGTH, _number_or_text),
    "quantity": (LENGTH, _quantity),
    "raw": (LENGTH, _raw),
}
"""Messages that are not objects in JSON."""


@lru_cache(maxsize=1)
def load_messages() -> Messages:
    """Return the messages of the built-in kinds, read from the table beside this module on first use."""
    table = orjson.loads(Path(__file__).with_name("messages.json").read_bytes())
    return Messages(table["versions"], table["messages"])
