"""JSON that Go's encoding/json accepts but orjson refuses: broken UTF-8, lone surrogates, numbers beyond float64."""

import json
import re
from typing import Any

import orjson

from apiserver.api import json_syntax

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"  # a pair of surrogates
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})"  # a lone one
    rb"|.)",
    re.DOTALL,
)
_BROKEN = re.compile("[\udc80-\udcff]")


def loads(raw: bytes) -> tuple[Any, bytes]:
    """Return the value of a JSON text, and the text as orjson reads it.

    Each byte that is not UTF-8 and each lone surrogate becomes U+FFFD, a number beyond float64 an infinity.

    Raises:
        ValueError: the text is not JSON; the message is Go's.
    """
    try:
        return orjson.loads(raw), raw
    except ValueError as error:
        text = _repaired(raw)
        try:
            return _loads(text), text
        except ValueError:
            raise ValueError(json_syntax.problem(raw.decode(errors="replace")) or str(error)) from error


def first_overflow(text: bytes) -> str:
    """Return the first number beyond float64 in a JSON text, as it is written there; "" if there is none."""
    overflows: list[str] = []

    def read(number: str) -> float:
        value = float(number)
        if value in _INFINITIES:
            overflows.append(number)
        return value

    json.loads(text, parse_float=read, parse_int=len)
    return overflows[0] if overflows else ""


_INFINITIES = (float("inf"), float("-inf"))


def _loads(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except ValueError as error:
        if "infinity" not in str(error):
            raise
        try:
            return json.loads(text, parse_constant=_refuse)
        except RecursionError:
            raise error from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _repaired(raw: bytes) -> bytes:
    """Return the text with U+FFFD in place of each byte that is not UTF-8 and of each lone surrogate."""
    text = _BROKEN.sub("\ufffd", raw.decode(errors="surrogateescape")).encode()
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)
