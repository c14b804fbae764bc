"""Validation of Jobs and of the job templates of CronJobs (pkg/apis/batch/validation)."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, labels_of, metadata
from apiserver.api.validation import checks, names
from apiserver.api.validation.combinators import FieldErrors, at, deeply_immutable, label_selector, nonnegative, struct
from apiserver.groups.batch.jobs.policies import pod_failure_policy, success_policy
from apiserver.groups.batch.jobs.strategy import LEGACY_NAME_LABEL, LEGACY_UID_LABEL, NAME_LABEL, UID_LABEL
from apiserver.groups.core.pods.templates import mismatch, validate_selector
from apiserver.groups.core.pods.validation import pod_template

_MAX_COMPLETIONS = 10**5  # above that many completions failures per index are limited; also the limit of parallelism

_MAX_PARALLELISM = 10**4

_MODES = ("NonIndexed", "Indexed")

_NEEDS_INDEX = "requires indexed completion mode"

_SCHEDULING = ("nodeSelector", "affinity", "tolerations", "schedulingGates")

_counts = struct(
    ("parallelism", nonnegative),
    ("completions", nonnegative),
    ("activeDeadlineSeconds", nonnegative),
    ("backoffLimit", nonnegative),
    ("ttlSecondsAfterFinished", nonnegative),
    ("backoffLimitPerIndex", nonnegative),
    ("maxFailedIndexes", nonnegative),
)


def _is_indexed(spec: Obj) -> bool:
    return bool(spec.get("completionMode") == "Indexed")


def job_template_spec(spec: Obj) -> list[FieldError]:
    """Return the errors in the fields that Jobs and job templates share (validateJobSpec)."""
    errors = [*_counts(spec)]
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(field.required("backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    errors += [*_managed_by(spec.get("managedBy")), *_completion_mode(spec), *_indexes(spec)]
    errors += _policies(spec)
    errors += at("template", pod_template(spec.get("template") or {}))
    return errors + _restart_policy(spec)


def _managed_by(name: str | None) -> Iterator[FieldError]:
    if name is None:
        return
    domain, _, path = name.partition("/")
    if not name:
        yield field.required("managedBy")
    elif not domain or not path:
        detail = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield field.invalid("managedBy", name, detail)
    else:
        yield from checks.invalid_values("managedBy", domain, names.dns1123_subdomain(domain))
        yield from checks.invalid_values("managedBy", path, names.http_path(path))
    if len(name) > 63:
        yield field.too_long("managedBy", 63)


def _completion_mode(spec: Obj) -> Iterator[FieldError]:
    mode, parallelism = spec.get("completionMode"), spec.get("parallelism") or 0
    if mode is not None and mode not in _MODES:
        yield field.not_supported("completionMode", mode, _MODES)
    if mode != "Indexed":
        return
    if spec.get("completions") is None:
        yield field.required("completions", "when completion mode is Indexed")
    if parallelism > _MAX_COMPLETIONS:
        detail = f"must be less than or equal to {_MAX_COMPLETIONS} when completion mode is Indexed"
        yield field.invalid("parallelism", parallelism, detail)
    yield from _failed_indexes(spec)


def _failed_indexes(spec: Obj) -> Iterator[FieldError]:
    completions, failed, parallelism = (spec.get(n) for n in ("completions", "maxFailedIndexes", "parallelism"))
    if failed is not None and completions is not None and failed > completions:
        yield field.invalid("maxFailedIndexes", failed, "must be less than or equal to completions")
    if failed is not None and failed > _MAX_COMPLETIONS:
        yield field.invalid("maxFailedIndexes", failed, f"must be less than or equal to {_MAX_COMPLETIONS}")
    if (completions or 0) <= _MAX_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    detail = (
        f"must be less than or equal to {_MAX_PARALLELISM} when completions are above {_MAX_COMPLETIONS} "
        "and used with backoff limit per index"
    )
    if failed is None:
        yield field.required("maxFailedIndexes", f"must be specified when completions is above {_MAX_COMPLETIONS}")
    if (parallelism or 0) > _MAX_PARALLELISM:
        yield field.invalid("parallelism", parallelism, detail)
    if (failed or 0) > _MAX_PARALLELISM:
        yield field.invalid("maxFailedIndexes", failed, detail)


def _indexes(spec: Obj) -> list[FieldError]:
    if spec.get("completionMode") not in {None, "NonIndexed"}:
        return []
    present = [name for name in ("backoffLimitPerIndex", "maxFailedIndexes") if spec.get(name) is not None]
    return [field.invalid(name, spec[name], _NEEDS_INDEX) for name in present]


def _policies(spec: Obj) -> list[FieldError]:
    errors: list[FieldError] = []
    if (policy := spec.get("podFailurePolicy")) is not None:
        errors += at("podFailurePolicy", pod_failure_policy(policy, spec))
    if (policy := spec.get("successPolicy")) is not None:
        if _is_indexed(spec):
            errors += at("successPolicy", success_policy(policy, spec))
        else:
            errors.append(field.invalid("successPolicy", policy, _NEEDS_INDEX))
    replacement = spec.get("podReplacementPolicy")
    if replacement is not None and spec.get("podFailurePolicy") is not None:
        errors += checks.one_of("podReplacementPolicy", replacement, ("Failed",))
    elif replacement is not None:
        errors += checks.one_of("podReplacementPolicy", replacement, ("Failed", "TerminatingOrFailed"))
    return errors


def _restart_policy(spec: Obj) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    path, errors = "template.spec.restartPolicy", list[FieldError]()
    if policy in {"", "Always"}:
        errors.append(field.required(path, 'valid values: "OnFailure", "Never"'))
    elif policy not in {"OnFailure", "Never"}:
        errors.append(field.not_supported(path, policy, ("OnFailure", "Never")))
    elif policy != "Never" and spec.get("podFailurePolicy") is not None:
        detail = 'only "Never" is supported when podFailurePolicy is specified'
        errors.append(field.invalid(path, policy, detail))
    return errors


def _job_spec(spec: Obj) -> list[FieldError]:
    """Return the errors of a Job's spec, including those of a selector that must match its pods (ValidateJobSpec)."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = job_template_spec(spec)
    errors += [field.required("selector")] if selector is None else at("selector", label_selector(selector))
    return [*errors, mismatch(template)] if validate_selector(selector, template) is False else errors


def _generated_selector(job: Obj) -> Iterator[FieldError]:
    """Yield an error for each label or selector that is not the generated one, unless manualSelector is set.

    Source: ValidateGeneratedSelector.
    """
    meta, spec = metadata(job), job.get("spec") or {}
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    if not meta.get("uid"):
        yield field.required("metadata.uid")
    uid, job_name = meta.get("uid", ""), meta.get("name", "")
    expected = {LEGACY_UID_LABEL: uid, LEGACY_NAME_LABEL: job_name, UID_LABEL: uid, NAME_LABEL: job_name}
    labels = labels_of(spec.get("template") or {})
    for name, value in expected.items():
        path = f"spec.template.metadata.labels[{name}]"
        if name not in labels:
            yield field.required(path, f"must be '{value}'")
        elif labels[name] != value:
            yield field.invalid(path, labels, f"must be '{value}'")
    if validate_selector(spec["selector"], {"metadata": {"labels": expected}}) is False:
        yield field.invalid("spec.selector", spec["selector"], "`selector` not auto-generated")


def _hostname(job: Obj) -> Iterator[FieldError]:
    spec, name = job.get("spec") or {}, metadata(job).get("name", "")
    completions = spec.get("completions") or 0
    if _is_indexed(spec) and completions > 0:
        last = f"{name}-{completions - 1}"
        if names.dns1123_label(last):
            yield field.invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {last}")


def create_job(job: Obj) -> list[FieldError]:
    """Return the errors of a new Job."""
    return [*_generated_selector(job), *at("spec", _job_spec(job.get("spec") or {})), *_hostname(job)]


def update_job(new: Obj, old: Obj) -> FieldErrors:
    """Return the errors of an update of a Job."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    errors = [*_job_spec(after), *_completions(after, before)]
    errors += deeply_immutable("selector", after.get("selector"), before.get("selector"))
    errors += deeply_immutable("template", after.get("template"), _expected_template(after, old))
    for name in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += deeply_immutable(name, after.get(name), before.get(name))
    return at("spec", errors)


def _completions(new: Obj, old: Obj) -> FieldErrors:
    """Return the errors of changed completions; an indexed Job may change them together with its parallelism."""
    after, before = new.get("completions"), old.get("completions")
    if not _is_indexed(new) or after == before:
        return deeply_immutable("completions", after, before)
    detail = "can only be modified in tandem with spec.parallelism"
    return () if after == new.get("parallelism") else (field.invalid("completions", after, detail),)


def _expected_template(new: Obj, old: Obj) -> Obj:
    """Return the old template with the new scheduling fields if the Job is suspended and has not started."""
    spec, status = old.get("spec") or {}, old.get("status") or {}
    before: Obj = spec.get("template") or {}
    if not spec.get("suspend") or status.get("startTime") is not None:
        return before
    template = new.get("template") or {}
    fixed = {name: value for name, value in (before.get("spec") or {}).items() if name not in _SCHEDULING}
    moved = {name: value for name, value in (template.get("spec") or {}).items() if name in _SCHEDULING}
    meta = {name: value for name, value in metadata(template).items() if name in {"labels", "annotations"}}
    return before | {"spec": fixed | moved, "metadata": metadata(before) | meta}
