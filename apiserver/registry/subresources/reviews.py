"""Reviews: authentication and authorization questions, asked with an object that is answered and never stored."""

from collections.abc import Iterator

from apiserver.api import errors, field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.user import AuthenticationError, User
from apiserver.registry.authorizer import AuthorizationRequest
from apiserver.registry.managed_fields_update import create_managed_fields
from apiserver.registry.subresources.call import ObjectWithWarnings, SubresourceRequest

BOTH = "cannot be specified in combination with resourceAttributes"
_RESOURCE_FIELDS = ("verb", "group", "resource", "subresource", "namespace", "name")
NEITHER = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


async def subject_access_review(call: SubresourceRequest) -> Obj:
    """Answer whether a user may do something.

    Raises:
        ApiError: 400, 422.
    """
    review = _review(call)
    _refuse(call, [*_access_errors(review["spec"], names_user=True), *_meta_errors(review)])
    return await _with_decision(call, review, _subject(review["spec"]))


async def self_subject_access_review(call: SubresourceRequest) -> Obj:
    """Answer whether the caller may do something."""
    review = _review(call)
    _refuse(call, [*_access_errors(review["spec"], names_user=False), *_meta_errors(review)])
    return await _with_decision(call, review, call.options.user)


async def local_subject_access_review(call: SubresourceRequest) -> Obj:
    """Answer whether a user may do something in this namespace."""
    review = _review(call)
    review["metadata"]["namespace"] = call.target.namespace
    _refuse(call, [*_access_errors(review["spec"], names_user=True), *_local_errors(review)])
    return await _with_decision(call, review, _subject(review["spec"]))


async def self_subject_rules_review(call: SubresourceRequest) -> Obj:
    """Answer what the caller may do in a namespace."""
    namespace = _review(call)["spec"].get("namespace")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    rules = call.registry.security.authorizer.rules_for(call.options.user, namespace)
    status = {
        "resourceRules": list(rules.resource_rules),
        "nonResourceRules": list(rules.path_rules),
        "incomplete": rules.incomplete,
    }
    return _empty(call) | {"spec": {}, "status": status | ({"evaluationError": rules.error} if rules.error else {})}


async def self_subject_review(call: SubresourceRequest) -> Obj:
    """Answer who the caller is."""
    _review(call)
    created = {"creationTimestamp": call.registry.timestamps.now()}
    return _empty(call) | {"metadata": created, "status": {"userInfo": user_info(call.options.user)}}


async def token_review(call: SubresourceRequest) -> Obj | ObjectWithWarnings:
    """Answer to which user a token belongs (pkg/registry/authentication/tokenreview)."""
    review = _review(call)
    token, security = review["spec"].get("token"), call.registry.security
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    try:
        known = security.authenticate_token(token, review["spec"].get("audiences") or security.audiences)
    except AuthenticationError as error:
        return review | {"status": {"user": {}, "error": str(error)}}
    status = {"authenticated": True, "user": user_info(known.user), "audiences": list(known.audiences)}
    return ObjectWithWarnings(review | {"status": status}, known.warnings)


def user_info(user: User) -> Obj:
    """Return a user as the UserInfo of reviews (authentication/v1)."""
    extra = {key: list(values) for key, values in user.extra.items()}
    info = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return {name: value for name, value in info.items() if value}


def _review(call: SubresourceRequest) -> Obj:
    """Return the review of the body, with managedFields, as all objects have them."""
    decoded = call.registry.decoder.decode(call.target.resource, call.required_body, validation=call.options.validation)
    decoded.obj.setdefault("spec", {})
    create_managed_fields(call.registry, call.target, decoded, call.options)
    return decoded.obj


def _empty(call: SubresourceRequest) -> Obj:
    resource = call.target.resource
    return {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": {}}


def _subject(spec: Obj) -> User:
    extra = {key.lower(): tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", spec.get("uid") or "", tuple(spec.get("groups") or ()), extra)


async def _with_decision(call: SubresourceRequest, review: Obj, user: User) -> Obj:
    decision = await call.registry.security.authorizer.authorize(_request_of(review["spec"], user))
    more = {
        "denied": decision.denied,
        "reason": decision.reason,
        "evaluationError": decision.error,
    }
    status = {"allowed": decision.allowed} | {name: value for name, value in more.items() if value}
    return review | {"status": status}


def _request_of(spec: Obj, user: User) -> AuthorizationRequest:
    """Return the request that a review asks about (authorization/util AuthorizationAttributesFrom)."""
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        path = spec["nonResourceAttributes"]
        return AuthorizationRequest(user, path.get("verb") or "", path.get("path") or "", is_resource=False)
    verb, group, resource, subresource, namespace, name = (attributes.get(field) or "" for field in _RESOURCE_FIELDS)
    version = attributes.get("version") or "*"
    return AuthorizationRequest(user, verb, "", group, resource, subresource, namespace, name, version=version)


def _refuse(call: SubresourceRequest, invalid: list[FieldError]) -> None:
    if invalid:  # upstream names no kind here
        raise errors.invalid(call.target.resource.group, "", name="", errors=invalid)


def _access_errors(spec: Obj, *, names_user: bool) -> Iterator[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        yield field.invalid("spec.nonResourceAttributes", path, BOTH)
    if resource is None and path is None:
        yield field.invalid("spec.resourceAttributes", path, NEITHER)
    if names_user and not spec.get("user") and not spec.get("groups"):
        yield field.invalid("spec.user", "", "at least one of user or group must be specified")


def _meta_errors(review: Obj) -> Iterator[FieldError]:
    meta = {name: value for name, value in review["metadata"].items() if name != "managedFields"}
    if meta:
        yield field.invalid("metadata", meta, "must be empty")


def _local_errors(review: Obj) -> Iterator[FieldError]:
    meta, spec = review["metadata"], review["spec"]
    if meta.keys() - {"managedFields", "namespace"}:
        yield field.invalid("metadata", meta, "must be empty except for namespace")
    resource = spec.get("resourceAttributes")
    if resource is not None and (resource.get("namespace") or "") != meta["namespace"]:
        why = "must match metadata.namespace"
        yield field.invalid("spec.resourceAttributes.namespace", resource.get("namespace") or "", why)
    if spec.get("nonResourceAttributes") is not None:
        why = "disallowed on this kind of request"
        yield field.invalid("spec.nonResourceAttributes", spec["nonResourceAttributes"], why)
