"""Validation of a definition's conversion between versions: none, or by a webhook."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.webhooks import webhook_service, webhook_url
from apiserver.apiextensions.crds.ca_bundles import ca_bundle_problem
from apiserver.apiextensions.validation.strictness import REVIEW_VERSIONS, Strictness

NONE, WEBHOOK = "None", "Webhook"

_NO_WEBHOOK = "should not be set when strategy is not set to Webhook"
_CLIENT = "webhookClientConfig"


def conversion(conversion_spec: Obj, strict: Strictness) -> Iterator[FieldError]:
    """Yield the errors of a conversion; paths within its webhook are those of upstream's internal type."""
    strategy, webhook = conversion_spec.get("strategy") or "", conversion_spec.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    yield from checks.required_one_of("strategy", strategy, (NONE, WEBHOOK))
    if strategy == WEBHOOK:
        yield from (
            _client(client, strict)
            if client is not None
            else (field.required(_CLIENT, "required when strategy is set to Webhook"),)
        )
        yield from checks.prefix_errors("conversionReviewVersions", _review_versions(versions, strict))
        return
    if client is not None:
        yield field.forbidden(_CLIENT, _NO_WEBHOOK)
    if versions:
        yield field.forbidden("conversionReviewVersions", _NO_WEBHOOK)


def _client(client: Obj, strict: Strictness) -> Iterator[FieldError]:
    url, service, bundle = client.get("url"), client.get("service"), client.get("caBundle") or ""
    if (url is None) == (service is None):
        yield field.required(_CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from checks.prefix_errors(_CLIENT, webhook_url(url))
    elif service is not None:
        swapped = service | {"name": service.get("namespace"), "namespace": service.get("name")}  # as upstream does
        yield from checks.prefix_errors(f"{_CLIENT}.service", webhook_service(swapped))
    if strict.ca_bundle and (problem := ca_bundle_problem(bundle)):
        yield field.invalid(f"{_CLIENT}.caBundle", bundle, problem)


def _review_versions(versions: list[str], strict: Strictness) -> Iterator[FieldError]:
    if not versions:
        yield field.required("")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield field.invalid(f"[{index}]", version, "duplicate version")
        else:
            yield from checks.invalid_values(f"[{index}]", version, names.dns1035_label(version))
    if strict.review_versions and not REVIEW_VERSIONS.intersection(versions):
        yield field.invalid("", versions, f"must include at least one of {', '.join(sorted(REVIEW_VERSIONS))}")
