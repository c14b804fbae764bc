"""Continue tokens: the position in a paged list, as text that clients send back (storage/continue.go)."""

import base64
import posixpath
import re
from typing import Any

import orjson

from apiserver.api import errors, json_syntax
from apiserver.api.errors import ApiError

VERSION = "meta.k8s.io/v1"
_ILLEGAL = re.compile(rb"[^A-Za-z0-9_-]")
_FIELDS = {"v": (str, "string"), "rv": (int, "int64"), "start": (str, "string")}
"""The fields of a token with their types in Python and in Go."""


def encode_token(revision: int, start: str) -> str:
    """Return the token of a list at a revision (-1: the newest); `start` is its next key, without the list's prefix."""
    body = orjson.dumps({"v": VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def decode_token(token: str) -> tuple[int, str]:
    """Return the revision and the next key that a token encodes.

    Raises:
        ApiError: 400, with the message of Go's decoder.
    """
    value = _read(token)
    version, revision, start = value.get("v") or "", value.get("rv") or 0, value.get("start") or ""
    if version != VERSION:
        raise _invalid_token(f"server does not recognize this encoded version {version}")
    if not revision:
        raise _invalid_token(f"incorrect encoded start resourceVersion (version {VERSION})")
    if not start:
        raise _invalid_token(f"encoded start key empty (version {VERSION})")
    key = "/" + start.removeprefix("/")
    # a key that climbs out of the list's prefix; two slashes in front mean something to POSIX, here they do not
    if key.startswith("//") or posixpath.normpath(key) != key:
        raise _invalid_token(start)
    return revision, key[1:]


def _read(token: str) -> dict[str, Any]:
    raw = token.encode(errors="replace")
    illegal = _ILLEGAL.search(raw)
    if illegal or len(raw) % 4 == 1:
        raise _invalid_token(f"illegal base64 data at input byte {illegal.start() if illegal else len(raw) - 1}")
    text = base64.urlsafe_b64decode(raw + b"=" * (-len(raw) % 4))
    try:
        fields = orjson.loads(text)
    except ValueError as error:
        raise _invalid_token(json_syntax.problem(text.decode(errors="replace")) or str(error)) from error
    if not isinstance(fields, dict):
        raise _invalid_token(
            f"json: cannot unmarshal {json_syntax.type_name(fields)} into Go value of type storage.continueToken"
        )
    for name, (kind, go) in _FIELDS.items():
        value = fields.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            json_type = json_syntax.type_name(value)
            raise _invalid_token(
                f"json: cannot unmarshal {json_type} into Go struct field continueToken.{name} of type {go}"
            )
    return fields


def _invalid_token(why: str) -> ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")
