"""Answers: headers, media types, pretty printing, compression, and errors as Status."""

import asyncio
import gzip
from collections.abc import Iterable
from itertools import accumulate

import orjson
import yaml
from aiohttp import web

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.protobuf import encode_status
from apiserver.endpoints.http_response import Answer
from apiserver.endpoints.negotiation import JSON, PROTOBUF, YAML, error_media
from apiserver.endpoints.params import parse_query

GZIP_FROM = 128 * 1024
"""Bytes from which an answer is compressed for clients that want it (apiserver's defaultGzipThresholdBytes)."""
PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")
"""Whose users read the answer themselves."""
TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
"""What Go's strconv.ParseBool takes for true."""


def response(
    body: bytes,
    *,
    code: int = 200,
    media: str = JSON,
    warnings: Iterable[str] = (),
    audit_id: str = "",
    ending: bytes = b"",
) -> Answer:
    """Return an answer, with what the client is warned of."""
    answer = Answer(body, status=code, media=media, audit_id=audit_id, ending=ending)
    for text in _that_fit(warnings):
        warn(answer, text)
    return answer


MOST_WARNED, CUT_TO = 4096, 256
"""Letters of all warnings of an answer, and what is left of each where there are more (filters/warning.go)."""


def _that_fit(warnings: Iterable[str]) -> list[str]:
    """Return each text once; where they are too long all in all, their beginnings, and no more of them than fit."""
    told = list(dict.fromkeys(filter(None, warnings)))
    if sum(map(len, told)) <= MOST_WARNED:
        return told
    written, kept = 0, []
    for text, so_far in zip(told, accumulate(map(len, told)), strict=True):
        if written >= MOST_WARNED and so_far - len(text) > MOST_WARNED:
            break
        kept.append(text[:CUT_TO])
        written += len(kept[-1])
    return kept


def warn(answer: Answer, text: str) -> None:
    """Tell the client something beside the answer."""
    answer.headers.append(("Warning", warning(text)))


def warn_first(answer: Answer, text: str) -> None:
    """Tell the client something before all else that it is told; once, if somebody else says the same."""
    told = ("Warning", warning(text))
    answer.headers[:] = [told, *(header for header in answer.headers if header != told)]


def warning(text: str) -> str:
    """Return a header's value that tells a client something: code, agent and text (RFC 7234, section 5.5)."""
    return f"299 - {_quoted(text)}"


def _quoted(text: str) -> str:
    """Return a warning's text as RFC 7234 quotes it, without what a header cannot hold."""
    clean = "".join(c for c in text if c.isprintable())
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def shaped(body: bytes, media: str, *, pretty: bool) -> bytes:
    """JSON bytes in the media type and layout that the client wants."""
    if media == YAML:
        return to_yaml(body)
    if pretty:
        return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)
    return body


def line_end(media: str, *, pretty: bool) -> bytes:
    """Return what follows an object: a line break after JSON that stands on one line (json.Serializer)."""
    return b"\n" if media == JSON and not pretty else b""


def to_yaml(body: bytes) -> bytes:
    """JSON as YAML, keys sorted as sigs.k8s.io/yaml does."""
    return yaml.dump(
        orjson.loads(body), Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True, default_flow_style=False
    )


def is_pretty(query: Parameters, agent: str) -> bool:
    """Return whether the answer is meant for human eyes (responsewriters.isPrettyPrint)."""
    wish = query.get("pretty")
    return wish in TRUE if wish else agent.startswith(PRETTY_AGENTS)


def status_response(error: ApiError, request: web.BaseRequest, *, audit_id: str = "") -> Answer:
    """Return the Status of an error, in a form that the client reads."""
    headers = request.headers
    media = error_media(headers.get("Accept", ""))
    pretty = not media or is_pretty(parse_query(request.raw_path.partition("?")[2]), headers.get("User-Agent", ""))
    media = media or JSON  # a client that accepts nothing gets it for human eyes (responsewriters.WriteRawJSON)
    if media == PROTOBUF:
        body, pretty = encode_status(error.status()), False
    else:
        body = shaped(orjson.dumps(error.status()), media, pretty=pretty)
    answer = response(
        body,
        code=error.code,
        media=media,
        warnings=error.warnings,
        audit_id=audit_id,
        ending=line_end(media, pretty=pretty),
    )
    seconds = (error.details or {}).get("retryAfterSeconds")
    if seconds:
        answer.headers.append(("Retry-After", str(seconds)))
    return answer


def success(details: Obj | None, code: int | None = None) -> Obj:
    """Return a Status that says all went well."""
    status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        status["details"] = details
    if code is not None:
        status["code"] = code
    return status


async def compressed(answer: Answer, accept_encoding: str) -> Answer:
    """Return the answer, gzipped off the event loop where it is large and the client wants that."""
    if len(answer.body) < GZIP_FROM or not takes_gzip(accept_encoding):
        return answer
    answer.body, answer.ending = await asyncio.to_thread(gzip.compress, answer.body + answer.ending, 1), b""
    answer.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
    return answer


def takes_gzip(accept_encoding: str) -> bool:
    """Return whether a client names gzip; qualities are not read, so one with a quality counts as another name."""
    return any(name.strip() == "gzip" for name in accept_encoding.split(","))
