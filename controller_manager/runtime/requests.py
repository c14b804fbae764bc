"""Requests of the reconcile contract as HTTP, and HTTP errors as ApiError."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj, name_of, namespace_of
from controller_manager.reconcile.contract import Create, Delete, DeleteAll, Get, Patch, Request, Update, split_key

JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

CONNECTION_LOST = "ConnectionLost"
"""The reason of an ApiError, with code 0, if there was no answer."""

_SAFE = "/:@-._~$&()*+,;="
_PLAIN = re.compile(f"[A-Za-z0-9{re.escape(_SAFE)}]*")
"""Paths that need no quoting, as nearly all: this check costs less than quoting."""

_REASONS: Mapping[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow this request"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", "the server was unable to respond with a content type that the client supports"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "the server no longer has what was asked for"),
    413: ("RequestEntityTooLarge", "the request is too large for the server"),
    415: ("UnsupportedMediaType", "the body of the request was in an unknown format"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}
"""The reason and message for a code if the body is not a Status (NewGenericServerResponse)."""
_EXPLAINED_CODES = frozenset((403, 406, 415))
"""Codes for which the server's own explanation is used, if there is one: a missing permission, or supported types."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request.

    Attributes:
        target: path and query, percent-encoded.
        content_type: the media type of the body.
    """

    method: str
    target: str
    body: bytes = b""
    content_type: str = JSON
    accept: str = JSON


def http_request(request: Request) -> HttpRequest:
    """Return the HTTP request for an action; a ListAll needs several, and is a TypeError."""
    match request:
        case Create(kind, obj, name, subresource):
            return HttpRequest("POST", _target(kind.path(namespace_of(obj), name, subresource)), orjson.dumps(obj))
        case Update(kind, obj, subresource):
            path = kind.path(namespace_of(obj), name_of(obj), subresource)
            return HttpRequest("PUT", _target(path), orjson.dumps(obj))
        case Patch(kind, key, body, subresource, content_type):
            path = kind.path(*split_key(key), subresource)
            return HttpRequest("PATCH", _target(path), orjson.dumps(body), content_type)
        case Delete(kind, key):
            return HttpRequest("DELETE", _target(kind.path(*split_key(key))), _delete_options(request))
        case DeleteAll(kind, namespace, grace_period_seconds, propagation):
            options = _options(propagationPolicy=propagation or None, gracePeriodSeconds=grace_period_seconds)
            return HttpRequest("DELETE", _target(kind.path(namespace)), options)
        case Get(kind, key, subresource):
            return HttpRequest("GET", _target(kind.path(*split_key(key), subresource)))
        case _:
            raise TypeError(f"{type(request).__name__} is no single request")


def with_query(path: str, query: Mapping[str, str]) -> str:
    """Return a path with a query, percent-encoded."""
    pairs = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return f"{_target(path)}?{pairs}" if pairs else _target(path)


def response_error(code: int, body: bytes, retry_after: str = "") -> ApiError:
    """Return the error for an unsuccessful answer.

    Args:
        code: the HTTP status.
        body: a Status, or the text of a proxy.
        retry_after: the header of that name.
    """
    status = _status(body)
    if status is None:
        return _generic(code, body, retry_after)
    details, own = status.get("details"), status.get("code")
    return ApiError(
        own if isinstance(own, int) and own else code,
        str(status.get("reason") or ""),
        str(status.get("message") or ""),
        details=details if isinstance(details, dict) else None,
    )


def status_error(status: Any) -> ApiError:
    """Return the error for a Status in a watch stream."""
    return response_error(500, orjson.dumps(status))


def connection_lost(why: str) -> ApiError:
    """Return the error for a missing answer: no connection could be made, it broke, or time was up."""
    return ApiError(0, CONNECTION_LOST, why)


def _target(path: str) -> str:
    return path if _PLAIN.fullmatch(path) else quote(path, safe=_SAFE)


def _delete_options(request: Delete) -> bytes:
    guards = {"uid": request.uid, "resourceVersion": request.resource_version}
    return _options(
        preconditions={name: value for name, value in guards.items() if value} or None,
        propagationPolicy=request.propagation or None,
        gracePeriodSeconds=request.grace_period_seconds,
    )


def _options(**fields: Any) -> bytes:
    options = {name: value for name, value in fields.items() if value is not None}
    return orjson.dumps({"kind": "DeleteOptions", "apiVersion": "v1"} | options) if options else b""


def _status(body: bytes) -> Obj | None:
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) and value.get("kind") == "Status" else None


def _generic(code: int, body: bytes, retry_after: str) -> ApiError:
    text = body[:2048].decode(errors="replace").strip()
    reported = text or "unknown"
    default = f"the server responded with the status code {code} but did not return more information"
    reason, message = _REASONS.get(code, ("", default))
    if code in _EXPLAINED_CODES and text:
        message = text
    if code >= 500 and not reason:
        reason = "InternalError"
        message = f"an error on the server ({quoted(reported)}) has prevented the request from succeeding"
    details: Obj = {"causes": [{"reason": "UnexpectedServerResponse", "message": reported}]}
    if retry_after.isdecimal():
        details["retryAfterSeconds"] = int(retry_after)
    return ApiError(code, reason, message, details=details)
