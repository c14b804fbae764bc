"""The answers of webhooks as client-go decodes them: statuses, errors, and the review in the body.

Source: k8s.io/client-go/rest/request.go (transformResponse, Result.Into), NewGenericServerResponse of
k8s.io/apimachinery/pkg/api/errors, and the decoders of k8s.io/apimachinery/pkg/runtime/serializer.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from apiserver.api import json_input
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.webhook.client import Answer

_MAX_TEXT = 2048
"""The most bytes of a body that an error quotes (maxUnstructuredResponseTextBytes)."""
_META_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NO_VERSION = "couldn't get version/kind; json parse error: "
_GO_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}
_SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:74"
"""The scheme of the reviews, which Go names by the line that makes it."""

_MESSAGES: Mapping[int, str] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class AnswerError(Exception):
    """An answer that is no review; the message is client-go's.

    Attributes:
        code: the HTTP status for metrics.
    """

    def __init__(self, message: str, code: int = 503) -> None:
        super().__init__(message)
        self.code = code


def review_of(answer: Answer, kind: str, group: str, version: str) -> Obj:
    """Return the review in an answer.

    Args:
        answer: the answer.
        kind: the kind of the review: "AdmissionReview" or "ConversionReview".
        group: its group.
        version: its version, as it was asked for.

    Raises:
        AnswerError: the status is an error, or the body is something else.
    """
    if not 200 <= answer.status <= 206:
        raise _error_of(answer)
    if not answer.body:
        media = answer.media or "application/json"
        raise AnswerError(f"0-length response with status code: {answer.status} and content type: {media}")
    document = _document(answer.body)
    named_kind, api_version = document.get("kind") or kind, document.get("apiVersion") or f"{group}/{version}"
    if (named_kind, api_version) == (kind, f"{group}/{version}"):
        return document
    other = api_version.rpartition("/")[2]
    if (named_kind == kind and api_version in (f"{group}/v1", f"{group}/v1beta1")) or (
        (named_kind, api_version) == ("Status", "v1")
    ):
        raise AnswerError(f"converting ({other}.{named_kind}) to ({version}.{kind}): unknown conversion")
    raise AnswerError(f'no kind "{named_kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"')


def _document(body: bytes) -> Obj:
    """Return the object in a body.

    Raises:
        AnswerError: it is no JSON object, or its kind or apiVersion are no strings.
    """
    try:
        document: Any = orjson.loads(body)
    except ValueError:
        document = _odd_document(body)
    if not isinstance(document, dict):
        if document is None:
            return {}
        raise AnswerError(_cannot_unmarshal(document, f"value of type {_META_STRUCT}", _NO_VERSION))
    for name in ("kind", "apiVersion"):
        if not isinstance(document.get(name), str | None):
            field = f"struct field .{name} of type string"
            raise AnswerError(_cannot_unmarshal(document[name], field, _NO_VERSION))
    return document


def _odd_document(body: bytes) -> Any:
    """Return a body that is not plain JSON; what does not begin as an object is YAML to Go, and there a string."""
    if not body.lstrip().startswith(b"{"):
        return body.decode("utf-8", "replace")
    try:
        return json_input.loads(body)[0]
    except ValueError as error:
        raise AnswerError(f"{_NO_VERSION}{error}") from None


def _cannot_unmarshal(value: Any, target: str, prefix: str = "") -> str:
    return f"{prefix}json: cannot unmarshal {_GO_NAMES.get(type(value), 'object')} into Go {target}"


def check_types(fields: Obj, types: Mapping[str, tuple[type | tuple[type, ...], str]], path: str) -> None:
    """Refuse fields whose values have other types than their Go struct has.

    Args:
        fields: the object.
        types: field → the types of its JSON values, and the Go type.
        path: the struct's name and the path of its fields, such as "AdmissionResponse.response".

    Raises:
        AnswerError: a field has another type.
    """
    for name, (types_in_json, go_type) in types.items():
        value = fields.get(name)
        if value is not None and (
            not isinstance(value, types_in_json) or isinstance(value, bool) != (go_type == "bool")
        ):
            raise AnswerError(_cannot_unmarshal(value, f"struct field {path}.{name} of type {go_type}"))


def _error_of(answer: Answer) -> AnswerError:
    """Return the error of an answer whose status is no success; a Status in the body is preferred (Result.Error)."""
    try:
        status: Any = orjson.loads(answer.body)
    except ValueError:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status" and status.get("status") == "Failure":
        code = status.get("code")
        return AnswerError(str(status.get("message") or ""), code if isinstance(code, int) else answer.status)
    media = answer.media.partition(";")[0].strip()
    is_text = not media or media.startswith("text/")
    text = answer.body[:_MAX_TEXT].decode("utf-8", "replace").strip() if is_text else "unknown"
    return AnswerError(_generic_message(answer.status, text), answer.status)


def _generic_message(code: int, text: str) -> str:
    """Return the message for a status without a Status (NewGenericServerResponse)."""
    if code in _MESSAGES:
        return _MESSAGES[code]
    if code in (403, 415) or (code == 406 and text not in ("", "unknown")):
        return text
    if code == 406:
        return "the server was unable to respond with a content type that the client supports"
    if code >= 500:
        return f"an error on the server ({quoted(text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
