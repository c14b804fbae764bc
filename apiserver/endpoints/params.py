"""Parses query parameters and request options, and checks them; errors are upstream's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from apiserver.api import errors, field
from apiserver.api.errors import ApiError
from apiserver.api.field import FieldError
from apiserver.api.managedfields.managed_fields import field_manager_errors, manager_name
from apiserver.api.meta import Obj
from apiserver.api.parameters import Parameters
from apiserver.api.resources import Resource
from apiserver.api.selectors import FieldSelector, SelectorError, parse_field_selector, parse_label_selector
from apiserver.api.user import User
from apiserver.endpoints.negotiation import JSON, PROTOBUF, YAML
from apiserver.registry.kind_tables import canonical_label, label_problem
from apiserver.registry.options import DeleteOptions, ListOptions, WriteOptions

CACHED_LENGTH = 512
"""The longest query string whose parameters are cached."""
NO_QUERY = Parameters()


def parse_query(text: str) -> Parameters:
    """Return the parameters of a raw query string."""
    return _parse_cached(text) if len(text) <= CACHED_LENGTH else _parse(text)


@lru_cache(maxsize=4096)
def _parse_cached(text: str) -> Parameters:
    return _parse(text)


def _parse(text: str) -> Parameters:
    return Parameters(parse_qsl(text, keep_blank_values=True))


def list_options(query: Parameters, resource: Resource, *, name: str = "") -> ListOptions:
    """Return the ListOptions of a list or watch.

    Args:
        query: the parameters.
        resource: the resource, whose field labels selectors may name.
        name: the only object to select, for the watch of a single object.

    Raises:
        ApiError: 400 for selectors and numbers, 422 for combinations.
    """
    if not query and not name:
        return _ALL_OBJECTS
    query.integer("timeoutSeconds")
    limit = query.integer("limit") or 0
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    try:
        label_selector = parse_label_selector(labels) if labels else None
        field_selector = parse_field_selector(fields) if fields else None
    except SelectorError as error:
        raise errors.bad_request(str(error)) from error
    options = ListOptions(
        labels=None if label_selector is None or label_selector.empty else label_selector,
        resource_version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        limit=limit,
        continue_token=query.get("continue", ""),
    )
    _check_match(query, options)
    if field_selector is not None:
        field_selector = _with_labels_of(field_selector, resource)
    if name:
        field_selector = _name_in_selector(field_selector, name)
    return replace(options, fields=field_selector) if field_selector is not None else options


_ALL_OBJECTS = ListOptions()


def _name_in_selector(selector: FieldSelector | None, name: str) -> FieldSelector:
    """Return the field selector for one object; a given selector must select its name (handlers/get.go).

    Raises:
        ApiError: 400, the selector selects another name.
    """
    if selector is None:
        return parse_field_selector(f"metadata.name={name}")
    if selector.exact("metadata.name") != name:
        raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
    return selector


def _with_labels_of(selector: FieldSelector, resource: Resource) -> FieldSelector | None:
    """Return a selector with the resource's own names of fields, None if it selects everything.

    Raises:
        ApiError: 400, it names a field by which objects of the resource cannot be selected.
    """
    terms = tuple(replace(term, path=canonical_label(resource, term.path)) for term in selector.terms)
    for term in terms:
        if problem := label_problem(resource, term.path):
            raise errors.bad_request(problem)
    return FieldSelector(terms) if terms else None


def _check_match(query: Parameters, options: ListOptions) -> None:
    """Refuse invalid combinations (metainternalversion/validation.ValidateListOptions)."""
    watch, initial = query.is_true("watch"), query.get("sendInitialEvents")
    if initial is None and not options.match:
        if not watch or not options.continue_token or options.resource_version not in ("", "0"):
            return
        initial, options = "true", replace(options, match="NotOlderThan")  # SetListOptionsDefaults
    invalid = list(_match_errors(options, watch=watch, initial=initial))
    if invalid:
        raise errors.invalid("meta.k8s.io", "ListOptions", name="", errors=invalid)


def _match_errors(options: ListOptions, *, watch: bool, initial: str | None) -> list[FieldError]:
    if watch:
        return _watch_errors(options, initial)
    path, match, version = "resourceVersionMatch", options.match, options.resource_version
    problems = []
    if match and not version:
        problems.append(field.forbidden(path, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if match and options.continue_token:
        problems.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("", "Exact", "NotOlderThan"):
        problems.append(field.not_supported(path, match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and version == "0":
        problems.append(field.forbidden(path, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if initial is not None:
        problems.append(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return problems


def _watch_errors(options: ListOptions, initial: str | None) -> list[FieldError]:
    path, match = "resourceVersionMatch", options.match
    problems = []
    if initial is not None and match != "NotOlderThan":
        problems.append(
            field.forbidden(path, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        )
    if not match:
        return problems
    if initial is None:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problems.append(field.forbidden(path, why))
    if match != "NotOlderThan":
        problems.append(field.not_supported(path, match, ("NotOlderThan",)))
    if options.continue_token:
        problems.append(field.forbidden(path, "resourceVersionMatch is forbidden when continue is provided"))
    return problems


def apply_options(query: Parameters, *, user: User) -> WriteOptions:
    """Return the PatchOptions of an apply, which has to name its manager and may be forced (ValidatePatchOptions).

    Raises:
        ApiError: 422.
    """
    problems = [] if query.get("fieldManager") else [field.required("fieldManager", "is required for apply patch")]
    options = _checked_options(query, user=user, agent="", kind="PatchOptions", problems=problems)
    return options._replace(force=query.is_true("force"))


def write_options(query: Parameters, *, user: User, agent: str, kind: str) -> WriteOptions:
    """Return the CreateOptions, UpdateOptions or PatchOptions; those of an apply are `apply_options`.

    Args:
        query: the parameters.
        user: the user who writes.
        agent: the User-Agent, which names the field manager if the client does not.
        kind: the kind of the options, for errors.

    Raises:
        ApiError: 422.
    """
    if not query:
        return WriteOptions(user, manager=manager_name("", agent))
    is_forced = kind == "PatchOptions" and "force" in query
    problems = [field.forbidden("force", "may not be specified for non-apply patch")] if is_forced else []
    return _checked_options(query, user=user, agent=agent, kind=kind, problems=problems)


def _checked_options(
    query: Parameters, *, user: User, agent: str, kind: str, problems: list[FieldError]
) -> WriteOptions:
    manager = query.get("fieldManager", "")
    validation = query.get("fieldValidation") or "Warn"
    dry_run = query.all("dryRun")
    if manager or dry_run or validation != "Warn" or problems:
        problems = [*problems, *field_manager_errors(manager), *_dry_run_errors(dry_run)]
        if validation not in ("Strict", "Warn", "Ignore"):
            problems.append(field.not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn")))
        if problems:
            raise errors.invalid("meta.k8s.io", kind, name="", errors=problems)
    given = {
        name: value
        for name, value in (
            ("dryRun", dry_run),
            ("fieldManager", manager),
            ("fieldValidation", query.get("fieldValidation")),
        )
        if value
    }
    return WriteOptions(user, bool(dry_run), manager_name(manager, agent), validation, given)


def is_dry_run(values: Sequence[str]) -> bool:
    """Return whether all values of dryRun are "All" (ValidateDryRun)."""
    return all(value == "All" for value in values)


def _dry_run_errors(values: Sequence[str]) -> list[FieldError]:
    return [] if is_dry_run(values) else [field.not_supported("dryRun", values, ("All",))]


def delete_options(query: Parameters, body: Obj | None, *, user: User) -> DeleteOptions:
    """Return the DeleteOptions, from the body if there is one, else from the query.

    Args:
        query: the parameters.
        body: the decoded body, None if there is none.
        user: the user who deletes.

    Raises:
        ApiError: 400, 422.
    """
    options: Mapping[str, Any] = _delete_query(query) if body is None else body
    preconditions = options.get("preconditions") or {}
    policy, orphan, grace = (
        options.get("propagationPolicy"),
        options.get("orphanDependents"),
        options.get("gracePeriodSeconds"),
    )
    problems = _propagation_errors(policy, orphan) + _dry_run_errors(options.get("dryRun") or ())
    if problems:
        raise errors.invalid("meta.k8s.io", "DeleteOptions", name="", errors=problems)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        user,
        dry_run=bool(options.get("dryRun")),
        grace_period=grace,
        propagation=policy or "",
        orphan_dependents=orphan,
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        given={name: value for name, value in options.items() if value not in (None, [], ())},
    )


def _delete_query(query: Parameters) -> Mapping[str, Any]:
    if not query:
        return query
    preconditions = {name: query[name] for name in ("uid", "resourceVersion") if query.get(name)}
    return {
        "dryRun": query.all("dryRun"),
        "gracePeriodSeconds": query.integer("gracePeriodSeconds"),
        "orphanDependents": query.is_true("orphanDependents") if "orphanDependents" in query else None,
        "propagationPolicy": query.get("propagationPolicy"),
        "preconditions": preconditions or None,
    }


def _propagation_errors(policy: object, orphan: object) -> list[FieldError]:
    problems = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(field.invalid("propagationPolicy", policy, why))
    if policy not in (None, "Foreground", "Background", "Orphan"):
        supported = ("Foreground", "Background", "Orphan", "nil")
        problems.append(field.not_supported("propagationPolicy", policy, supported))
    return problems


def unknown_format(media: Sequence[str] = (JSON, YAML, PROTOBUF)) -> ApiError:
    """Return the 415 for a body that is in none of these media types."""
    return errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(media)}"
    )
