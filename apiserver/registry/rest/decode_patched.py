"""What comes out of a patch: an object of the kind again, or an error that is told of the patch."""

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.golang.values import go_json
from apiserver.api.meta import Obj
from apiserver.api.schema import strict_message
from apiserver.registry.body_kinds import missing_kind, other_type, unreadable_kind
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body, Decoded, decode
from apiserver.registry.options import Target
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.rest.patch_body import Patch


def decode_patched(registry: Registry, target: Target, patch: Patch, *, old: Obj, validation: str) -> Decoded:
    """Return the object that a patch makes of another, with defaults.

    Args:
        registry: the server's collaborators.
        target: what is patched.
        patch: the patch.
        old: what was patched; parts that the patch does not speak of are those of this object.
        validation: "Strict", "Warn" or "Ignore" for unknown and repeated fields, of the patch and of its outcome.

    Raises:
        ApiError: 400, the patch is malformed; 422, it does not apply, or its outcome is no such object.
    """
    odd = () if validation == "Ignore" else patch.oddities()
    patched = patch.apply(old)
    lenient = "Ignore" if validation == "Ignore" else "Warn"
    try:
        if not isinstance(patched, dict):
            raise errors.bad_request(unreadable_kind(patched))
        if target.resource.custom and not patched.get("kind"):
            raise errors.bad_request(missing_kind(go_json(patched)))
        if target.resource.custom and _is_of_another_type(target, patched):
            raise other_type(target.resource, patched)
        body, kept = _without_kept(registry, target, patched, old)
        decoded = decode(registry, target.resource, Body(body), validation=lenient, kept=kept)
    except ApiError as error:
        if error.code == 422:
            raise
        why = error.message.rpartition(f"as a {target.resource.kind}: ")[2]
        raise patch.refused(patched, why, custom=target.resource.custom) from error
    odd = () if validation == "Ignore" else (*odd, *decoded.warnings)
    if odd and validation == "Strict":
        raise patch.refused(patched, strict_message(odd), custom=target.resource.custom)
    return decoded._replace(warnings=(*odd, *deduplicate_owners(decoded.obj["metadata"], patched=True)))


def _without_kept(registry: Registry, target: Target, patched: Obj, old: Obj) -> tuple[Obj, Obj | None]:
    """What of a patched object is to be looked into: of a status not the spec that it leaves alone, and that spec."""
    resource, spec = target.resource, patched.get("spec")
    if target.subresource != "status" or spec is None or spec is not old.get("spec"):
        return patched, None
    if (resource.group, resource.version, resource.kind) not in registry.spec_caches:
        return patched, None
    return {name: value for name, value in patched.items() if name != "spec"}, spec


def _is_of_another_type(target: Target, patched: Obj) -> bool:
    """Is it of another kind or version? That of custom objects is found when they are validated."""
    resource = target.resource
    named = (patched["kind"], patched.get("apiVersion") or "")
    return named != (resource.kind, resource.api_version) and all(isinstance(each, str) for each in named)
