"""Request bodies: read up to the limit, parsed from JSON, YAML or protobuf, refused with upstream's words."""

import re
from collections.abc import Mapping
from typing import Any

import orjson
import yaml
from aiohttp import web

from apiserver.api import errors, json_syntax
from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.protobuf import MalformedError, read_object
from apiserver.endpoints.negotiation import JSON, PROTOBUF, YAML, body_media
from apiserver.endpoints.params import unknown_format
from apiserver.registry.decoding import Body

LIMIT = 3 * 1024 * 1024
"""Bytes that a body may have (kube-apiserver's MaxRequestBodyBytes)."""
MAX_YAML_NODES = 1_000_000
"""How much a YAML document may grow into: aliases can make a small text enormous."""
MAX_YAML_DEPTH = 1_000
"""How deep a YAML document may be nested: its loader recurses in C, where too deep is the end of the process."""


async def read(request: web.BaseRequest) -> bytes:
    """The body.

    Raises:
        ApiError: 413, it is too large.
    """
    if (request.content_length or 0) > LIMIT:
        raise _too_large()
    if not request.body_exists:
        return b""
    content = request.content
    if content.is_eof():  # all of it came together with the headers, as small bodies do: there is nothing to wait for
        return _within_limit(content.read_nowait())
    chunks, size = [], 0
    while chunk := await content.readany():
        size += len(chunk)
        if size > LIMIT:
            raise _too_large()
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _within_limit(raw: bytes) -> bytes:
    if len(raw) > LIMIT:
        raise _too_large()
    return raw


def _too_large() -> ApiError:
    return errors.too_large(f"Request entity too large: limit is {LIMIT}")


def parse(raw: bytes, content_type: str, kind: str) -> Body:
    """The object that a body holds.

    Args:
        raw: the bytes.
        content_type: the header.
        kind: what the path expects, for the error.

    Raises:
        ApiError: 400, the body is no object; 415, it is of an unknown type.
    """
    media = body_media(content_type)
    if media == JSON:
        return Body(_object(_json(raw, kind), raw, kind), raw)
    if media == YAML:
        return Body(_object(_yaml(raw, kind), raw, kind))
    if media == PROTOBUF:
        return Body(_protobuf(raw, kind))
    raise unknown_format()


def _protobuf(raw: bytes, kind: str) -> Obj:
    try:
        return read_object(raw, kind)
    except MalformedError as error:
        raise errors.bad_request(str(error)) from error


def _json(raw: bytes, kind: str) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError as error:
        why = json_syntax.problem(raw.decode(errors="replace")) or str(error)
        raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", raw) from error


def _object(value: Any, raw: bytes, kind: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    names = {list: "array", str: "string", bool: "bool", type(None): "null"}
    why = f"json: cannot unmarshal {names.get(type(value), 'number')} into Go value of type struct"
    raise _unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", raw)


def _unrecognized(kind: str, why: str, raw: bytes) -> ApiError:
    return errors.bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(raw)})")


def _summary(raw: bytes, length: int = 30) -> str:
    """The body's beginning, as text where it looks like JSON, else in hex (rest.go's summarizeData)."""
    if not raw:
        return "<empty>"
    cut, more = raw[:length], " ..." if len(raw) > length else ""
    return (cut.decode(errors="replace") if raw[:1] == b"{" else cut.hex()) + more


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 as sigs.k8s.io/yaml reads it: y and n are booleans too, and what looks like a date stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_BOOLEANS = re.compile(r"^(?:y|Y|n|N)$")
for _first in "yYnN":
    _Loader.yaml_implicit_resolvers.setdefault(_first, []).insert(0, ("tag:yaml.org,2002:bool", _BOOLEANS))
_Loader.bool_values = yaml.CSafeLoader.bool_values | {"y": True, "n": False}


def load_yaml(raw: bytes) -> Any:
    """The first document of a YAML text as JSON would hold it.

    Raises:
        ValueError: it is no YAML, or grows beyond any sense.
    """
    try:
        _check_depth(raw)
        value = yaml.load(raw, _Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", None) or "the document cannot be read"
        raise ValueError(f"yaml: {problem}") from error
    _count(value, MAX_YAML_NODES)
    try:
        return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError) as error:
        raise ValueError(f"error converting YAML to JSON: {error}") from error


_OPENERS = (b"[", b"{", b"-", b"?")
"""What nests YAML within a line; by indentation alone a body cannot get deep enough to do harm."""
_STEPS: Mapping[type[yaml.Event], int] = {
    yaml.SequenceStartEvent: 1,
    yaml.MappingStartEvent: 1,
    yaml.SequenceEndEvent: -1,
    yaml.MappingEndEvent: -1,
}


def _check_depth(raw: bytes) -> None:
    """Refuse what is nested too deeply to be loaded, which only a text with many openers needs to be looked at for.

    Raises:
        ValueError: it is.
        yaml.YAMLError: it is no YAML.
    """
    if sum(map(raw.count, _OPENERS)) <= MAX_YAML_DEPTH:
        return
    depth = 0
    for event in yaml.parse(raw, _Loader):
        depth += _STEPS.get(type(event), 0)
        if depth > MAX_YAML_DEPTH:
            raise ValueError(f"yaml: exceeded max depth of {MAX_YAML_DEPTH}")


def _count(value: Any, left: int) -> int:
    """How many nodes are left of a budget after this value.

    Raises:
        ValueError: none.
    """
    left -= 1
    if left < 0:
        raise ValueError("yaml: document contains excessive aliasing")
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    try:
        for child in children:
            left = _count(child, left)
    except RecursionError as error:
        raise ValueError("yaml: document is nested too deeply") from error
    return left


def _yaml(raw: bytes, kind: str) -> Any:
    try:
        return load_yaml(raw)
    except ValueError as error:
        raise _unrecognized(kind, str(error), raw) from error
