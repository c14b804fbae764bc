"""The verb patch: an update whose new object is the old one, patched."""

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from apiserver.registry.context import Registry, WriteResult
from apiserver.registry.options import Target, WriteOptions
from apiserver.registry.rest.decode_patched import decode_patched
from apiserver.registry.rest.patch_body import Patch
from apiserver.registry.rest.preconditions import check_name, check_namespace
from apiserver.registry.rest.update import modify
from apiserver.registry.rest.write_checks import write_warnings


async def patch(registry: Registry, target: Target, patch: Patch, options: WriteOptions) -> WriteResult:
    """Apply a patch to an object, in the request's version.

    Raises:
        ApiError: 400, 404, 409, 422.
    """
    patch_warnings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def change(old: Obj) -> Obj:
        nonlocal patch_warnings, warnings
        decoded = decode_patched(registry, target, patch, old=old, validation=options.validation)
        check_name(target, decoded.obj)
        check_namespace(target, decoded.obj)
        patch_warnings, warnings = decoded.warnings, write_warnings(registry, target, decoded.obj, old)
        return decoded.obj

    try:
        written = await modify(registry, target, change, options)
    except ApiError as error:
        raise error.prepend_warnings(patch_warnings) from error.__cause__
    return written._replace(warnings=patch_warnings + written.warnings + warnings)
