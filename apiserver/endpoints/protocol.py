"""HTTP connections: the answers to malformed requests, which are those of Go's net/http."""

import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any, cast

import orjson
from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod
from aiohttp.web_protocol import RequestHandler, RequestPayloadError

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.endpoints.http_response import Reply
from apiserver.endpoints.negotiation import JSON
from apiserver.groups.kinds import KINDS

Handle = Callable[[web.BaseRequest], Awaitable[Reply]]


_PATH = re.compile(r"\S+ /apis/([^/\s]+)/[^/\s]+/(?:namespaces/[^/\s]+/)?([^/?\s]+)\S* HTTP/1\.")
"""Matches a request line for a resource of a named group; captures the group and the plural."""


def unknown_method(line: str) -> ApiError:
    """Return the error for an unknown HTTP method: upstream's server of custom resources has another one.

    Nobody is authenticated at this point, so it does not depend on whether such a custom resource exists.
    """
    named = _PATH.search(line)
    if named is None or named[1] in KINDS:
        return errors.method_not_allowed()
    return errors.method_not_supported(named[1], named[2], "")


class Connection(RequestHandler):
    """One client's connection."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a malformed request: an unknown method as the API does, anything else as Go's server does."""
        del message
        if isinstance(exc, BadHttpMethod) and self._is_http(exc):
            refused = unknown_method(str(exc))
            body = orjson.dumps(refused.status(), option=orjson.OPT_APPEND_NEWLINE)
            answer = web.Response(body=body, status=refused.code, content_type=JSON)
        elif status == 400:
            answer = web.Response(text="400 Bad Request", status=status)
        else:
            return super().handle_error(request, status, exc)
        answer.force_close()
        return answer

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        """Log an error, unless it is a malformed body, which was answered with a 400, or a client that went away."""
        if not isinstance(sys.exception(), RequestPayloadError | ConnectionError):
            super().log_exception(*args, **kwargs)

    @staticmethod
    def _is_http(exc: BadHttpMethod) -> bool:
        """Return whether the line was a request with a method of letters, not TLS or noise."""
        method = (exc.args[0] if exc.args else "") or str(exc)
        return "HTTP/1." in str(method)


class HttpServer(web.Server):
    """Makes a Connection for every client."""

    def __init__(self, handle: Handle, **settings: Any) -> None:
        """Serve with a handler; its Reply has everything that aiohttp needs of a response."""
        super().__init__(cast("Any", handle), **settings)

    def __call__(self) -> RequestHandler:
        """Return a connection's protocol."""
        return Connection(self, loop=self._loop, **self._kwargs)
