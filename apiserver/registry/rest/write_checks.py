"""Steps of every write: admission, refusal of invalid objects, and warnings."""

from collections.abc import Awaitable

from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.registry.admission import Attributes, Operation
from apiserver.registry.authorizer import AuthorizationRequest
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.validation import warnings_of


def write_warnings(registry: Registry, target: Target, new: Obj, old: Obj) -> tuple[str, ...]:
    """Return the warnings for the writer of an object; subresources have none."""
    if target.subresource:
        return ()
    return warnings_of(target.resource, new, old, registry.schema.version) + notices(target, new, old)


def notices(target: Target, new: Obj, old: Obj | None) -> tuple[str, ...]:
    """Return the warnings for the writer of an object that is stored but has no effect here."""
    resource = target.resource
    return resource.notices(new, old) if resource.notices else ()


def attributes_of(
    operation: Operation, target: Target, options: WriteOptions, *, obj: Obj, old: Obj | None = None
) -> Attributes:
    """Return a write as admission sees it."""
    return Attributes(operation, target, options.user, obj, old, options.dry_run, options.given)


async def with_admission_warnings(attributes: Attributes, write: Awaitable[WriteResult]) -> WriteResult:
    """Return the outcome of a write with the warnings that admission has for its writer.

    Raises:
        ApiError: the error of the write, with the same warnings.
    """
    try:
        written = await write
    except ApiError as error:
        raise error.prepend_warnings(tuple(attributes.warnings)) from error.__cause__
    if not attributes.warnings:
        return written
    return written._replace(warnings=(*attributes.warnings, *written.warnings))


async def check_escalation(
    registry: Registry, target: Target, options: WriteOptions, *, new: Obj, old: Obj | None = None
) -> None:
    """Refuse a role or binding by which its writer would grant more than he may do (rbac's policybased storage).

    Raises:
        ApiError: 403; 404, the role of a binding does not exist.
    """
    if target.resource.group == "rbac.authorization.k8s.io":
        await registry.security.check_escalation(options.user, target, new=new, old=old)


async def check_may_create(registry: Registry, target: Target, options: WriteOptions) -> None:
    """Refuse an update or apply that would create its object, if its writer may not do that (withAuthorization).

    Raises:
        ApiError: 403.
    """
    resource = target.resource
    namespace = target.name if (resource.group, resource.plural) == ("", "namespaces") else target.namespace
    request = AuthorizationRequest(
        options.user,
        "create",
        "",
        resource.group,
        resource.plural,
        namespace=namespace,
        name=target.name,
        version=resource.version,
    )
    decision = await registry.security.authorizer.authorize(request)
    if not decision.allowed:
        raise errors.forbidden(resource.group, resource.plural, name=target.name, why=decision.reason)


def refuse_invalid(
    registry: Registry, target: Target, obj: Obj, invalid: list[FieldError], old: Obj | None = None
) -> tuple[str, ...]:
    """Refuse an invalid object, and return the warnings of its schema's rules.

    Args:
        registry: the server's collaborators.
        target: the object to write.
        obj: the object.
        invalid: the errors that validation has found so far.
        old: the object that it replaces.

    Raises:
        ApiError: 422, with the warnings.
    """
    warnings: tuple[str, ...] = ()
    if (custom := registry.customs.find(target.resource)) is not None:
        verdict = custom.validate(obj, old, of_status=target.subresource == "status")
        invalid, warnings = invalid + verdict.errors, tuple(verdict.warnings)
    if invalid:
        resource, name = target.resource, obj["metadata"].get("name") or ""
        raise errors.invalid(resource.group, resource.kind, name=name, errors=invalid).prepend_warnings(warnings)
    return warnings
