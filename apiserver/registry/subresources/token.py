"""TokenRequest: a signed token for a service account (core/serviceaccount/storage/token.go)."""

from apiserver.api import errors, field
from apiserver.api.meta import Obj, group_version
from apiserver.api.resources import Resource
from apiserver.registry.clock import rfc3339
from apiserver.registry.context import Security
from apiserver.registry.storage import key_of
from apiserver.registry.subresources.call import (
    ObjectWithWarnings,
    SubresourceRequest,
    admit,
    core_resource,
    read_parent,
)

TOKEN_REQUEST = Resource(
    group="authentication.k8s.io",
    version="v1",
    kind="TokenRequest",
    plural="tokenrequests",
    singular="tokenrequest",
    namespaced=True,
    definition="io.k8s.api.authentication.v1.TokenRequest",
    storage_group="authentication.k8s.io",
    storage_version="v1",
    storage_prefix="",
)
DEFAULT_SECONDS = 3600
MIN_SECONDS, MAX_SECONDS = 600, 1 << 32
WARN_ONLY_SECONDS = 3607
"""The life in seconds that the ServiceAccount admission plug-in gives the tokens of pods: tokens of that length may be
used for EXTENDED_SECONDS (WarnOnlyBoundTokenExpirationSeconds).
"""
EXTENDED_SECONDS = 365 * 24 * 3600
POD_NODE_INFO, NODE_BINDING = 30, 31
"""The minor versions of Kubernetes since which tokens have an id and name their pod's node, and since which they can be
bound to nodes; two versions earlier the latter is known and switched off (ServiceAccountTokenNodeBinding).
"""
BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}
"""Kinds that a token may be bound to → their resources; the token becomes invalid when the object is deleted."""


async def token(call: SubresourceRequest) -> Obj | ObjectWithWarnings:
    """Issue a token for the service account.

    Raises:
        ApiError: 400, 404, 409, 422.
    """
    security = call.registry.security
    token_request = call.registry.decoder.decode(
        TOKEN_REQUEST, call.required_body, validation=call.options.validation
    ).obj
    await admit(call, token_request)
    _check_names(call, token_request["metadata"])
    account = await read_parent(call)
    spec = token_request.setdefault("spec", {})
    spec["audiences"] = spec.get("audiences") or list(security.audiences)
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_SECONDS
    spec.setdefault("boundObjectRef", None)
    _check_seconds(spec["expirationSeconds"])
    bound = await _bound_object(call, spec["boundObjectRef"])
    warnings = _shorten(spec, security.token_limits.longest)
    now = int(call.registry.clock.now())
    private = {"namespace": call.target.namespace, "serviceaccount": _object_reference(account)} | bound
    lifetime = spec["expirationSeconds"]
    if _is_extended(spec, private, security):
        private["warnafter"] = now + lifetime
        lifetime = EXTENDED_SECONDS
    times: Obj = {"iat": now, "nbf": now, "exp": now + lifetime}
    if call.registry.schema.minor >= POD_NODE_INFO:
        times["jti"] = call.registry.ids.uid()
    subject = f"system:serviceaccount:{call.target.namespace}:{call.target.name}"
    signed = security.issue_token(times | {"aud": spec["audiences"], "sub": subject, "kubernetes.io": private})
    named = {"name": call.target.name, "namespace": call.target.namespace, "creationTimestamp": rfc3339(now)}
    answer = token_request | {
        "metadata": token_request["metadata"] | named,
        "status": {"token": signed, "expirationTimestamp": rfc3339(now + spec["expirationSeconds"])},
    }
    return ObjectWithWarnings(answer, warnings)


def _shorten(spec: Obj, longest: float) -> tuple[str, ...]:
    """Shorten the life of the token to the server's limit, 0 for none; return a warning if that changes it."""
    requested = spec["expirationSeconds"]
    if not longest or requested <= longest:
        return ()
    spec["expirationSeconds"] = int(longest)
    return (f"requested expiration of {requested} seconds shortened to {int(longest)} seconds",)


def _is_extended(spec: Obj, private_claims: Obj, security: Security) -> bool:
    """Return whether this is a pod's token of the length that kubelets request, for this server."""
    return (
        security.token_limits.extend
        and "pod" in private_claims
        and spec["expirationSeconds"] == WARN_ONLY_SECONDS
        and set(spec["audiences"]) <= set(security.audiences)
    )


def _check_names(call: SubresourceRequest, meta: Obj) -> None:
    for name, expected in (("name", call.target.name), ("namespace", call.target.namespace)):
        if meta.get(name) not in (None, "", expected):
            why = f"must match the service account {name} if specified"
            invalid = [field.invalid(f"metadata.{name}", meta[name], why)]
            raise errors.invalid(TOKEN_REQUEST.group, TOKEN_REQUEST.kind, name=call.target.name, errors=invalid)


def _check_seconds(seconds: int) -> None:
    if seconds < MIN_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > MAX_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return
    invalid = [field.invalid("spec.expirationSeconds", seconds, why)]
    raise errors.invalid(TOKEN_REQUEST.group, TOKEN_REQUEST.kind, name="", errors=invalid)


async def _bound_object(call: SubresourceRequest, reference: Obj | None) -> Obj:
    """Return the claims about the object that the token is bound to; those of a pod include its node."""
    if reference is None:
        return {}
    kind, (group, version) = reference.get("kind") or "", group_version(reference.get("apiVersion") or "")
    minor = call.registry.schema.minor
    if NODE_BINDING > minor >= NODE_BINDING - 2 and (group, kind) == ("", "Node"):
        why = 'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled'
        raise errors.bad_request(why)
    if group or kind not in BINDABLE or (kind == "Node" and minor < NODE_BINDING):
        gvk = f"{group}/{version}, Kind={kind}"
        raise errors.bad_request(f"cannot bind token to object of type {gvk}")
    name = reference.get("name") or ""
    bound_obj = await _find(call, BINDABLE[kind], name)
    account = call.target.name
    if kind == "Pod" and bound_obj["spec"].get("serviceAccountName") != account:
        why = f'cannot bind token for serviceaccount "{account}" to pod running with different serviceaccount name.'
        raise errors.bad_request(why)
    if reference.get("uid") and reference["uid"] != bound_obj["metadata"]["uid"]:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict("", kind, name=name, why=why)
    claims = {kind.lower(): _object_reference(bound_obj)}
    return claims | _node_of(call, bound_obj) if kind == "Pod" else claims


def _node_of(call: SubresourceRequest, pod: Obj) -> Obj:
    name = pod["spec"].get("nodeName")
    if not name or call.registry.schema.minor < POD_NODE_INFO:
        return {}
    kv = call.registry.storage.store.get(key_of(core_resource(call.registry, "nodes"), "", name))
    if kv is None:
        return {"node": {"name": name}}
    return {"node": _object_reference(call.registry.codecs.codec_of(core_resource(call.registry, "nodes")).decode(kv))}


async def _find(call: SubresourceRequest, plural: str, name: str) -> Obj:
    resource = core_resource(call.registry, plural)
    kv = await call.registry.storage.get(resource, call.target.namespace if resource.namespaced else "", name)
    return call.registry.codecs.codec_of(resource).decode(kv)


def _object_reference(obj: Obj) -> Obj:
    return {"name": obj["metadata"]["name"], "uid": obj["metadata"]["uid"]}
