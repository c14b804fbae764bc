"""Request bodies: read up to the limit, parsed from JSON, YAML or protobuf; errors are upstream's."""

import asyncio
from typing import Any

import orjson
from aiohttp import web
from aiohttp.web_protocol import RequestPayloadError

from apiserver.api import errors, json_input
from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import as_go_writes, floats_as_go_reads
from apiserver.api.meta import Obj
from apiserver.api.protobuf import MalformedError, read_object
from apiserver.api.schema import may_repeat_fields
from apiserver.endpoints.negotiation import JSON, PROTOBUF, YAML, body_media
from apiserver.endpoints.params import unknown_format
from apiserver.endpoints.yaml_bodies import YamlText, load_yaml
from apiserver.registry.body_kinds import (
    DELETE_OPTIONS,
    NO_TYPE_META,
    check_options_kind,
    unreadable_kind,
    unrecognized,
)
from apiserver.registry.decoding import Body
from apiserver.registry.rest.patch_body import ApplyPatch

MAX_BODY_BYTES = 3 * 1024 * 1024
"""Bytes that a body may have (kube-apiserver's MaxRequestBodyBytes)."""
READ_TIMEOUT = 60.0
"""Seconds to wait for a body (kube-apiserver's --request-timeout): meanwhile it counts as a request in flight."""


async def read_body(request: web.BaseRequest) -> bytes:
    """Return the body.

    Raises:
        ApiError: 400, its chunked encoding is malformed; 413, it is too large; 504, it does not come in time.
    """
    if not request.body_exists:
        return b""
    content = request.content
    if content.is_eof():  # it came with the headers, as small bodies do: nothing to wait for
        return _within_limit(content.read_nowait())
    if (request.content_length or 0) > MAX_BODY_BYTES:
        raise _too_large()
    if request.headers.get("Expect", "").lower() == "100-continue":  # curl waits a second for this
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(READ_TIMEOUT):
            return await _read_chunks(request)
    except TimeoutError as error:
        raise errors.timeout("Timeout: request did not complete within the allotted timeout") from error
    except RequestPayloadError as error:
        raise errors.bad_request("the body of the request cannot be read: malformed chunked encoding") from error


async def _read_chunks(request: web.BaseRequest) -> bytes:
    chunks, size = [], 0
    while chunk := await request.content.readany():
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise _too_large()
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _within_limit(raw: bytes) -> bytes:
    if len(raw) > MAX_BODY_BYTES:
        raise _too_large()
    return raw


def _too_large() -> ApiError:
    return errors.too_large(f"Request entity too large: limit is {MAX_BODY_BYTES}")


MIN_THREAD_BYTES = 64 * 1024
"""Bytes from which a YAML text is parsed in a thread: a megabyte would block other requests for half a second."""


async def parse_in_thread(raw: bytes, content_type: str, kind: str) -> Body:
    """Return what `parse` makes of a body, in a thread if that may take long."""
    if len(raw) >= MIN_THREAD_BYTES and body_media(content_type) == YAML:
        return await asyncio.to_thread(parse, raw, content_type, kind)
    return parse(raw, content_type, kind)


async def parsed_options(raw: bytes, content_type: str) -> Obj:
    """Return what `parse_options` makes of a body, in a thread if that may take long."""
    if len(raw) >= MIN_THREAD_BYTES and body_media(content_type) == YAML:
        return await asyncio.to_thread(parse_options, raw, content_type)
    return parse_options(raw, content_type)


async def parse_apply(raw: bytes) -> ApplyPatch:
    """Return the configuration of an apply; most clients send it as JSON, which is YAML as well."""
    try:
        document = orjson.loads(raw)
        if isinstance(document, dict) and not may_repeat_fields(raw, document):
            return ApplyPatch(_whole_floats_as_integers(document))
    except (ValueError, orjson.JSONEncodeError):  # not JSON, or nested so deeply that the other way says so
        pass
    if len(raw) >= MIN_THREAD_BYTES:
        return await asyncio.to_thread(_parse_apply_yaml, raw)
    return _parse_apply_yaml(raw)


def _whole_floats_as_integers(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document with 1.0 as 1, as the way over YAML makes it."""
    text = orjson.dumps(document)
    written = as_go_writes(text)
    plain: dict[str, Any] = document if written is text else orjson.loads(written)
    return plain


def _parse_apply_yaml(raw: bytes) -> ApplyPatch:
    try:
        document = load_yaml(raw)
    except ValueError as error:
        why = str(error)
        prefix = "" if why.startswith("error converting") else "error converting YAML to JSON: "
        return ApplyPatch(None, f"{prefix}{why}")
    value = {} if document.value is None else document.value
    if not isinstance(value, dict):
        why = f"cannot unmarshal {_JSON_TYPES[type(value)]} into Go value of type map[string]interface {{}}"
        return ApplyPatch(None, f"error unmarshaling JSON: while decoding JSON: json: {why}")
    floats_as_go_reads(value)
    return ApplyPatch(value, "", document.repeated)


_JSON_TYPES = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}


class UnreadableError(ValueError):
    """A body is not an object; the text says why."""


def parse(raw: bytes, content_type: str, kind: str) -> Body:
    """Return the object that a body holds.

    Args:
        raw: the bytes.
        content_type: the header.
        kind: the kind that the path expects, for the error.

    Raises:
        ApiError: 400, the body is not an object; 415, its media type is unknown.
    """
    try:
        return _parse(raw, content_type, kind)
    except UnreadableError as error:
        raise unrecognized(kind, str(error), raw) from error


def parse_options(raw: bytes, content_type: str) -> Obj:
    """Return the DeleteOptions that a body holds.

    Raises:
        ApiError: 400, the body holds no DeleteOptions; 415, its media type is unknown.
    """
    try:
        options = _parse(raw, content_type, DELETE_OPTIONS).obj
    except UnreadableError as error:
        raise errors.bad_request(str(error)) from error
    check_options_kind(options)
    return options


def _parse(raw: bytes, content_type: str, kind: str) -> Body:
    media = body_media(content_type)
    if media == JSON:
        value, text = _json(raw)
        return Body(_object(value), text, source=raw)
    if media == YAML:
        document = _yaml(raw)
        return Body(_object(document.value), repeated=document.repeated, source=raw)
    if media == PROTOBUF:
        return Body(_protobuf(raw, kind), source=raw)
    raise unknown_format()


def _protobuf(raw: bytes, kind: str) -> Obj:
    try:
        return read_object(raw, kind)
    except MalformedError as error:
        raise errors.bad_request(str(error)) from error


def _json(raw: bytes) -> tuple[Any, bytes]:
    try:
        return json_input.loads(raw)
    except ValueError as error:
        raise UnreadableError(f"{NO_TYPE_META}{error}") from error


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value is None:  # null decodes to Go's empty object
        return {}
    raise UnreadableError(unreadable_kind(value))


def _yaml(raw: bytes) -> YamlText:
    try:
        return load_yaml(raw)
    except ValueError as error:
        raise UnreadableError(str(error)) from error
