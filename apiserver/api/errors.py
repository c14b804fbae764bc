"""API errors: what went wrong, as the Status that clients parse (k8s.io/apimachinery/pkg/api/errors)."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

from apiserver.api.field import FieldError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj


class ApiError(Exception):
    """The one error of the API's seam: everything a client is told of a failure.

    Attributes:
        code: the HTTP status.
        reason: metav1.StatusReason, such as "NotFound"; "" where upstream gives none.
        message: the sentence people grep for.
        list_metadata: the Status' own metadata, such as the token by which an expired list can go on.
        warnings: what the client is warned of beside the error, such as fields of its object that are unknown.
        details: StatusDetails (name, group, kind, uid, causes, retryAfterSeconds), None where upstream gives none.
    """

    def __init__(self, code: int, reason: str, message: str, *, details: Obj | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.list_metadata: Obj = {}
        self.warnings: tuple[str, ...] = ()

    def worded(self, message: str) -> Self:
        """The same error in other words."""
        error = type(self)(self.code, self.reason, message, details=self.details)
        error.warnings = self.warnings
        return error

    def warned_before(self, warnings: tuple[str, ...]) -> Self:
        """Return this error with warnings that were given before its own."""
        self.warnings = (*warnings, *self.warnings)
        return self

    def status(self) -> Obj:
        """The metav1.Status that tells this error."""
        status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": self.list_metadata, "status": "Failure"}
        if self.message:
            status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return status | {"code": self.code}


def qualified(group: str, resource: str) -> str:
    """The resource as messages name it: "pods", "deployments.apps"."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, resource: str, name: str = "", **more: Any) -> Obj:
    known = {"name": name, "group": group, "kind": resource}
    return {key: value for key, value in known.items() if value} | more


def _causes(errors: Iterable[FieldError]) -> list[Obj]:
    return [{"reason": e.reason, "message": e.message, "field": e.path} for e in errors]


def not_found(group: str, resource: str, name: str) -> ApiError:
    """404: no such object."""
    message = f"{qualified(group, resource)} {quoted(name)} not found"
    return ApiError(404, "NotFound", message, details=_details(group, resource, name))


def unknown_path() -> ApiError:
    """404: no such resource is served (rest.go's answer where the path names a group but no resource of it)."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def already_exists(group: str, resource: str, name: str) -> ApiError:
    """409: create found the name taken."""
    message = f"{qualified(group, resource)} {quoted(name)} already exists"
    return ApiError(409, "AlreadyExists", message, details=_details(group, resource, name))


def generate_name_conflict(group: str, resource: str, name: str) -> ApiError:
    """409: create found the name taken and the object has a generateName, so the client may try again at once."""
    why = "already exists, the server was not able to generate a unique name for the object"
    message = f'{qualified(group, resource)} "{name}" {why}'
    return ApiError(409, "AlreadyExists", message, details=_details(group, resource, name, retryAfterSeconds=1))


def conflict(group: str, resource: str, *, name: str, why: str) -> ApiError:
    """409: the object is not in the state that the request needs."""
    message = f"Operation cannot be fulfilled on {qualified(group, resource)} {quoted(name)}: {why}"
    return ApiError(409, "Conflict", message, details=_details(group, resource, name))


STALE = "the object has been modified; please apply your changes to the latest version and try again"
"""The words of a lost compare-and-swap (registry.OptimisticLockErrorMsg)."""


def invalid(group: str, kind: str, *, name: str, errors: Sequence[FieldError]) -> ApiError:
    """422: fields are wrong; each is a cause. Several are told as a list, in the order found, doubles once."""
    unique = list(dict.fromkeys(str(e) for e in errors))
    told = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    message = f"{qualified(group, kind)} {quoted(name)} is invalid: {told}"
    return ApiError(422, "Invalid", message, details=_details(group, kind, name, causes=_causes(errors)))


def bad_request(message: str) -> ApiError:
    """400: the request itself is malformed."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """401: nobody, or nobody known, asks."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, resource: str, *, name: str, why: str, causes: Iterable[Obj] = ()) -> ApiError:
    """403: the request is understood and refused."""
    who = f"{qualified(group, resource)} {quoted(name)} is " if name else f"{qualified(group, resource)} is "
    message = f"{who if resource else ''}forbidden: {why}"
    told = list(causes)
    return ApiError(
        403, "Forbidden", message, details=_details(group, resource, name, **({"causes": told} if told else {}))
    )


def method_not_supported(group: str, resource: str, verb: str) -> ApiError:
    """405: the resource is served, this verb on it is not."""
    message = f"{verb} is not supported on resources of kind {quoted(qualified(group, resource))}"
    return ApiError(405, "MethodNotAllowed", message, details=_details(group, resource))


def method_not_allowed() -> ApiError:
    """405: the path is served, but not with this method."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def not_acceptable(message: str) -> ApiError:
    """406: none of the media types that the client accepts can be given."""
    return ApiError(406, "NotAcceptable", message)


def unsupported_media_type(message: str) -> ApiError:
    """415: the body's media type cannot be read here."""
    return ApiError(415, "UnsupportedMediaType", message)


def too_large(message: str) -> ApiError:
    """413: the body is over the limit."""
    return ApiError(413, "RequestEntityTooLarge", message)


def expired(message: str) -> ApiError:
    """410: the revision asked for is compacted."""
    return ApiError(410, "Expired", message)


def too_many_requests(message: str, seconds: int) -> ApiError:
    """429: come back in so many seconds."""
    return ApiError(429, "TooManyRequests", message, details={"retryAfterSeconds": seconds})


def timeout(message: str, *, seconds: int = 0, causes: Iterable[Obj] = ()) -> ApiError:
    """504: the answer could not be given in time."""
    told = list(causes)
    details: Obj = ({"causes": told} if told else {}) | ({"retryAfterSeconds": seconds} if seconds else {})
    return ApiError(504, "Timeout", message, details=details)


def internal(why: str) -> ApiError:
    """500: the server failed, the client did not."""
    causes = [{"message": why}]
    return ApiError(500, "InternalError", f"Internal error occurred: {why}", details={"causes": causes})


def unavailable(message: str, *, seconds: int = 0) -> ApiError:
    """503: the server cannot serve this now, but perhaps after some seconds."""
    return ApiError(503, "ServiceUnavailable", message, details={"retryAfterSeconds": seconds} if seconds else {})
