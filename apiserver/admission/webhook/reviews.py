"""AdmissionReviews: the request for a webhook, and its answer, checked.

Source: k8s.io/apiserver/pkg/admission/plugin/webhook/request/admissionreview.go and ../errors/statuserror.go.
"""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver.admission.matching import request_name, request_namespace
from apiserver.api.errors import ApiError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.user import User
from apiserver.registry.admission import Attributes
from apiserver.webhook.answers import AnswerError, check_types

GROUP, KIND = "admission.k8s.io", "AdmissionReview"
JSON_PATCH = "JSONPatch"

_RESPONSE: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (dict, "map[string]string"),
    "warnings": (list, "[]string"),
}
_STATUS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "status": (str, "string"),
    "message": (str, "string"),
    "reason": (str, "v1.StatusReason"),
    "details": (dict, "v1.StatusDetails"),
    "code": (int, "int32"),
}


def admission_request(attributes: Attributes, resource: Resource) -> Obj:
    """Return an AdmissionRequest without uid, object and oldObject, as match conditions see it.

    Args:
        attributes: the request.
        resource: the resource in whose version the object is shown.
    """
    target = attributes.target
    subresource, name, namespace = target.subresource, request_name(attributes), request_namespace(attributes)
    named = {"name": name} | {"namespace": namespace}
    return (
        {"kind": _kind(resource, subresource), "resource": _resource(resource)}
        | _present(subResource=subresource)
        | {"requestKind": _kind(target.resource, subresource), "requestResource": _resource(target.resource)}
        | _present(requestSubResource=subresource, **named)
        | {"operation": attributes.operation, "userInfo": _user_info(attributes.user)}
        | {"dryRun": attributes.dry_run, "options": attributes.options or None}
    )


def admission_review(request: Obj, uid: str, obj: Obj | None, old: Obj | None, version: str) -> Obj:
    """Return the AdmissionReview of a request, for the webhook."""
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{version}",
        "request": {"uid": uid} | request | {"object": obj, "oldObject": old},
    }


def _present(**fields: str) -> Obj:
    return {name: value for name, value in fields.items() if value}


def _kind(resource: Resource, subresource: str) -> Obj:
    """Return the kind of a request's object: a subresource may have its own, such as Scale."""
    row = resource.subresources.get(subresource) if subresource else None
    kind = resource if row is None else row
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(resource: Resource) -> Obj:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _user_info(user: User) -> Obj:
    extra = {key: list(values) for key, values in user.extra.items()}
    fields: Obj = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The response of a webhook.

    Attributes:
        result: its status, None if it gives none.
        patch: the JSON patch, b"" for none.
        patch_type: its type; only one is known.
        audit_annotations: annotations for the audit log.
        warnings: texts for the user.
    """

    allowed: bool
    result: Obj | None = None
    patch: bytes = b""
    patch_type: str = ""
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def response_of(review: Obj, uid: str, version: str, *, mutating: bool) -> AdmissionResponse:
    """Return the response in an AdmissionReview.

    Args:
        review: the review as the webhook has answered it.
        uid: the uid of the request.
        version: the version of the request's review.
        mutating: whether the webhook may return a patch.

    Raises:
        AnswerError: a field has a wrong type.
        InvalidResponseError: it is not the response to this request.
    """
    response = review.get("response")
    if response is not None and not isinstance(response, dict):
        check_types(review, {"response": (dict, f"{version}.AdmissionResponse")}, "AdmissionReview")
    if response is None:
        raise InvalidResponseError("webhook response was absent")
    check_types(response, _RESPONSE, "AdmissionResponse.response")
    check_types(response.get("status") or {}, _STATUS, "Status.response.status")
    patch, patch_type = _decoded(response.get("patch") or ""), response.get("patchType")
    if version == "v1":
        _verify(review, response, uid)
        (_verify_patch if mutating else _verify_no_patch)(patch, patch_type)
    else:  # neither kind nor uid nor patchType are verified
        patch_type = JSON_PATCH
    return AdmissionResponse(
        allowed=response.get("allowed") or False,
        result=response.get("status"),
        patch=patch if mutating else b"",
        patch_type=patch_type or "",
        audit_annotations=response.get("auditAnnotations") or {},
        warnings=tuple(map(str, response.get("warnings") or ())),
    )


class InvalidResponseError(Exception):
    """A response that is not the one to its request; the message is upstream's."""


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        position = next(
            (i for i, each in enumerate(text) if not (each.isascii() and (each.isalnum() or each in "+/="))), 0
        )
        raise AnswerError(f"illegal base64 data at input byte {position}") from None


def _verify(review: Obj, response: Obj, uid: str) -> None:
    answered = response.get("uid") or ""
    if answered != uid:
        raise InvalidResponseError(f"expected response.uid={quoted(uid)}, got {quoted(answered)}")
    api_version, kind = review.get("apiVersion") or "", review.get("kind") or ""
    if (api_version, kind) != (f"{GROUP}/v1", KIND):
        shown = api_version if "/" in api_version else f"/{api_version}"
        raise InvalidResponseError(f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {shown}, Kind={kind}")


def _verify_patch(patch: bytes, patch_type: str | None) -> None:
    if patch and patch_type is None:
        raise InvalidResponseError("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise InvalidResponseError("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise InvalidResponseError('webhook returned invalid response.patchType of ""')


def _verify_no_patch(patch: bytes, patch_type: str | None) -> None:
    if patch:
        raise InvalidResponseError("validating webhook may not return response.patch")
    if patch_type is not None:
        raise InvalidResponseError("validating webhook may not return response.patchType")


def denial(name: str, result: Obj | None) -> ApiError:
    """Return the error for a request that a webhook denies (webhookerrors.ToStatusErr).

    Args:
        name: the webhook's name.
        result: its status: code, reason, message and details are passed on.
    """
    status: Mapping[str, Any] = result or {}
    code, reason = status.get("code") or 0, status.get("reason") or ""
    denied = f"admission webhook {quoted(name)} denied the request"
    why = status.get("message") or reason
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    return ApiError(max(code, 400), reason, message, details=status.get("details"))
