"""Decodes the outcome of a patch as an object of the kind; errors are reported for the patch."""

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.golang.values import go_json
from apiserver.api.meta import Obj
from apiserver.api.schema import ConversionError, strict_message
from apiserver.registry.body_kinds import missing_kind, other_type, unreadable_kind
from apiserver.registry.context import Registry
from apiserver.registry.decoding import Body, Decoded
from apiserver.registry.options import Target
from apiserver.registry.owner_references import deduplicate_owners
from apiserver.registry.rest.patch_body import Patch


def decode_patched(registry: Registry, target: Target, patch: Patch, *, old: Obj, validation: str) -> Decoded:
    """Apply a patch to an object, and return the decoded outcome, with defaults.

    Args:
        registry: the server's collaborators.
        target: the object to patch.
        patch: the patch.
        old: the object to patch; fields that the patch does not mention share their values with it.
        validation: "Strict", "Warn" or "Ignore" for unknown and repeated fields, of the patch and of its outcome.

    Raises:
        ApiError: 400, the patch is malformed; 422, it does not apply, or its outcome is not such an object.
    """
    problems = () if validation == "Ignore" else patch.strict_errors()
    patched = patch.apply(old)
    lenient = "Ignore" if validation == "Ignore" else "Warn"
    try:
        if not isinstance(patched, dict):
            raise errors.bad_request(unreadable_kind(patched))
        if target.resource.custom and not patched.get("kind"):
            raise errors.bad_request(missing_kind(go_json(patched)))
        if target.resource.custom and _is_of_another_type(target, patched):
            raise other_type(target.resource, patched)
        stored_spec = _stored_spec_to_keep(target, patched, old)
        decoded = _decode_outcome(registry, target, patch, patched, validation=lenient, stored_spec=stored_spec)
    except ConversionError as error:
        raise patch.error(patched, str(error), custom=False) from error
    except ApiError as error:
        if error.code == 422:
            raise
        why = error.message.rpartition(f"as a {target.resource.kind}: ")[2]
        raise patch.error(patched, why, custom=target.resource.custom) from error
    unknown = sorted(decoded.warnings) if patch.is_converted else decoded.warnings
    problems = () if validation == "Ignore" else (*problems, *unknown)
    if problems and validation == "Strict":
        raise patch.error(patched, strict_message(problems), custom=target.resource.custom)
    return decoded._replace(warnings=(*problems, *deduplicate_owners(decoded.obj["metadata"], patched=True)))


def _decode_outcome(
    registry: Registry, target: Target, patch: Patch, patched: Obj, *, validation: str, stored_spec: Obj | None
) -> Decoded:
    """Return the outcome of a patch, decoded; what does not decode may still be converted.

    Raises:
        ApiError: 400, the outcome is not an object of the kind.
        ConversionError: the outcome is that of a strategic merge patch and cannot be converted.
    """
    decode, resource = registry.decoder.decode, target.resource
    try:
        return decode(resource, Body(patched), validation=validation, stored_spec=stored_spec)
    except ApiError:
        if not patch.is_converted:
            raise
    converted = registry.schema.convert(resource.definition, patched)
    return decode(resource, Body(converted), validation=validation, stored_spec=stored_spec)


def _stored_spec_to_keep(target: Target, patched: Obj, old: Obj) -> Obj | None:
    """Return the spec that a status patch leaves as it is, so that it need not be decoded again; else None."""
    spec: Obj | None = old.get("spec")
    return spec if target.subresource == "status" and patched.get("spec") is spec else None


def _is_of_another_type(target: Target, patched: Obj) -> bool:
    """Return whether a patched object names another kind or version than the target's."""
    resource = target.resource
    named = (patched["kind"], patched.get("apiVersion") or "")
    return named != (resource.kind, resource.api_version) and all(isinstance(each, str) for each in named)
