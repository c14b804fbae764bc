"""API errors: failures as the Status that clients parse (k8s.io/apimachinery/pkg/api/errors)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from apiserver.api.field import FieldError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj


class ApiError(Exception):
    """A failure as clients see it: the only exception that crosses the boundary of the API.

    Attributes:
        code: the HTTP status.
        reason: the metav1.StatusReason, such as "NotFound"; "" if upstream gives none.
        message: upstream's sentence, which people search for.
        list_metadata: the Status' own metadata, such as the token to continue an expired list.
        warnings: warnings that the client gets with the error, such as about unknown fields of its object.
        details: StatusDetails (name, group, kind, uid, causes, retryAfterSeconds), None if upstream gives none.
    """

    def __init__(self, code: int, reason: str, message: str, *, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.list_metadata: Obj = {}
        self.warnings: tuple[str, ...] = ()

    def with_message(self, message: str) -> Self:
        """Return the same error with another message."""
        error = type(self)(self.code, self.reason, message, details=self.details)
        error.warnings = self.warnings
        return error

    def prepend_warnings(self, warnings: tuple[str, ...]) -> Self:
        """Return this error with earlier warnings before its own."""
        self.warnings = (*warnings, *self.warnings)
        return self

    def status(self) -> Obj:
        """Return the metav1.Status of this error."""
        status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": self.list_metadata, "status": "Failure"}
        if self.message:
            status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return status | {"code": self.code}


def qualified_resource(group: str, resource: str) -> str:
    """Return the resource as messages name it: "pods", "deployments.apps"."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, resource: str, name: str = "", **more: Any) -> Obj:
    known = {"name": name, "group": group, "kind": resource}
    return {key: value for key, value in known.items() if value} | more


def _causes(errors: Iterable[FieldError]) -> list[Obj]:
    return [{"reason": e.reason, "message": e.message, "field": e.path} for e in errors]


def not_found(group: str, resource: str, name: str) -> ApiError:
    """Return 404 NotFound: there is no such object."""
    message = f"{qualified_resource(group, resource)} {quoted(name)} not found"
    return ApiError(404, "NotFound", message, details=_details(group, resource, name))


def unknown_path() -> ApiError:
    """Return 404 NotFound: no such resource is served (rest.go's response if the group has no such resource)."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    """Return 409 AlreadyExists: an object of this name exists."""
    message = f"{qualified_resource(group, resource)} {quoted(name)} already exists"
    return ApiError(409, "AlreadyExists", message, details=_details(group, resource, name))


def generate_name_conflict(group: str, resource: str, name: str) -> ApiError:
    """Return 409 AlreadyExists for an object with a generateName: the client may try again at once."""
    why = "already exists, the server was not able to generate a unique name for the object"
    message = f'{qualified_resource(group, resource)} "{name}" {why}'
    return ApiError(409, "AlreadyExists", message, details=_details(group, resource, name, retryAfterSeconds=1))


def conflict(group: str, resource: str, *, name: str, why: str) -> ApiError:
    """Return 409 Conflict: the object is not in the state that the request needs."""
    message = f"Operation cannot be fulfilled on {qualified_resource(group, resource)} {quoted(name)}: {why}"
    return ApiError(409, "Conflict", message, details=_details(group, resource, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"
"""The message of a lost compare-and-swap (registry.OptimisticLockErrorMsg)."""


def invalid(group: str, kind: str, *, name: str, errors: Sequence[FieldError]) -> ApiError:
    """Return 422 Invalid with each field error as a cause; several are listed in their order, without duplicates."""
    unique = list(dict.fromkeys(str(e) for e in errors))
    errors_text = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    message = f"{qualified_resource(group, kind)} {quoted(name)} is invalid: {errors_text}"
    return ApiError(422, "Invalid", message, details=_details(group, kind, name, causes=_causes(errors)))


def bad_request(message: str) -> ApiError:
    """Return 400 BadRequest: the request is malformed."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """Return 401 Unauthorized: the request has no valid credentials."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, *, name: str, why: str, causes: Iterable[Obj] = ()) -> ApiError:
    """Return 403 Forbidden: the request is understood but not allowed."""
    subject = (
        f"{qualified_resource(group, resource)} {quoted(name)} is "
        if name
        else f"{qualified_resource(group, resource)} is "
    )
    message = f"{subject if resource else ''}forbidden: {why}"
    listed = list(causes)
    return ApiError(
        403, "Forbidden", message, details=_details(group, resource, name, **({"causes": listed} if listed else {}))
    )


def method_not_supported(group: str, resource: str, verb: str) -> ApiError:
    """Return 405 MethodNotAllowed: the resource is served, but not this verb on it."""
    message = f"{verb} is not supported on resources of kind {quoted(qualified_resource(group, resource))}"
    return ApiError(405, "MethodNotAllowed", message, details=_details(group, resource))


def method_not_allowed() -> ApiError:
    """Return 405 MethodNotAllowed: the path is served, but not with this method."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def not_acceptable(message: str) -> ApiError:
    """Return 406 NotAcceptable: none of the media types that the client accepts is available."""
    return ApiError(406, "NotAcceptable", message)


def unsupported_media_type(message: str) -> ApiError:
    """Return 415 UnsupportedMediaType: the body's media type is not supported."""
    return ApiError(415, "UnsupportedMediaType", message)


def too_large(message: str) -> ApiError:
    """Return 413 RequestEntityTooLarge: the body exceeds the limit."""
    return ApiError(413, "RequestEntityTooLarge", message)


def expired(message: str) -> ApiError:
    """Return 410 Expired: the requested revision has been compacted."""
    return ApiError(410, "Expired", message)


def too_many_requests(message: str, seconds: int) -> ApiError:
    """Return 429 TooManyRequests: the client should retry after so many seconds."""
    return ApiError(429, "TooManyRequests", message, details={"retryAfterSeconds": seconds})


def timeout(message: str, *, seconds: int = 0, causes: Iterable[Obj] = ()) -> ApiError:
    """Return 504 Timeout: there was no response in time."""
    cause_list = list(causes)
    details: Obj = ({"causes": cause_list} if cause_list else {}) | ({"retryAfterSeconds": seconds} if seconds else {})
    return ApiError(504, "Timeout", message, details=details)


def internal(why: str) -> ApiError:
    """Return 500 InternalError: the server failed, not the client."""
    causes = [{"message": why}]
    return ApiError(500, "InternalError", f"Internal error occurred: {why}", details={"causes": causes})


def unavailable(message: str, *, seconds: int = 0) -> ApiError:
    """Return 503 ServiceUnavailable: the server cannot serve this now, but maybe after some seconds."""
    return ApiError(503, "ServiceUnavailable", message, details={"retryAfterSeconds": seconds} if seconds else {})
