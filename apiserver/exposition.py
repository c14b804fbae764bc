"""Exposes the server's metrics for Prometheus: families with upstream's names, help texts and labels."""

from collections.abc import Iterator

from prometheus_client.metrics_core import Metric

from apiserver.admission.metrics import AdmissionMetrics
from apiserver.component_base import exposition as prometheus
from apiserver.component_base.exposition import counter, gauge, histogram
from apiserver.metrics import Metrics

_REQUEST = ("verb", "group", "version", "resource", "subresource", "scope")
_COMPONENT = "apiserver"


def exposition(metrics: Metrics, admission: AdmissionMetrics) -> bytes:
    """Return the text of all families, including those of the process."""
    return prometheus.exposition((*_families(metrics), *_admission(admission)))


_HOOK = ("name", "type", "operation")


def _admission(metrics: AdmissionMetrics) -> Iterator[Metric]:
    """Yield the families of admission webhooks and policies (k8s.io/apiserver/pkg/admission/metrics)."""
    prefix = "apiserver_admission"
    yield histogram(
        f"{prefix}_webhook_admission_duration_seconds",
        "Latency of admission webhooks in seconds, by their name, by operation and by type (validating or admit).",
        [*_HOOK, "rejected"],
        metrics.durations.items(),
    )
    yield counter(
        f"{prefix}_webhook_request_total",
        "Requests to admission webhooks by their name, type and operation, by HTTP status (at most 600), and by "
        "whether the request was rejected.",
        [*_HOOK, "code", "rejected"],
        metrics.requests.items(),
    )
    yield counter(
        f"{prefix}_webhook_rejection_count",
        "Requests that admission webhooks have rejected, by name, type and operation, by the kind of error "
        "(calling_webhook_error, apiserver_internal_error or no_error), and by HTTP status (at most 600).",
        [*_HOOK, "error_type", "rejection_code"],
        metrics.rejections.items(),
    )
    yield counter(
        f"{prefix}_webhook_fail_open_count",
        "Failures of admission webhooks that were ignored, by name and type.",
        ["name", "type"],
        metrics.fail_open.items(),
    )
    yield counter(
        "apiserver_validating_admission_policy_check_total",
        "Failed validations of admission policies by policy, binding, kind of error (no_error for one that is false) "
        "and what was done.",
        ["policy", "policy_binding", "error_type", "enforcement_action"],
        metrics.policy_checks.items(),
    )
    labels = ["name", "kind", "type", "operation"]
    yield counter(
        f"{prefix}_match_condition_exclusions_total",
        "Requests that match conditions kept from a webhook or a policy, by its name, kind, type and operation.",
        labels,
        metrics.exclusions.items(),
    )
    yield counter(
        f"{prefix}_match_condition_evaluation_errors_total",
        "Errors of match conditions, by the name, kind, type and operation of their webhook or policy.",
        labels,
        metrics.condition_errors.items(),
    )


def _families(metrics: Metrics) -> Iterator[Metric]:
    yield from _requests(metrics)
    yield gauge(
        "apiserver_current_inflight_requests",
        "Number of requests under way of this apiserver per request kind, long-running ones left out.",
        ["request_kind"],
        (((kind,), count) for kind, count in metrics.inflight.items()),
    )
    yield gauge(
        "apiserver_longrunning_requests",
        "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope "
        "and component.",
        [*_REQUEST, "component"],
        (((*labels[:6], _COMPONENT), count) for labels, count in metrics.longrunning.items()),
    )
    yield counter(
        "apiserver_watch_events_total",
        "Number of events sent in watch clients",
        ["group", "version", "resource"],
        metrics.watch_events.items(),
    )
    yield from _stored(metrics)


def _requests(metrics: Metrics) -> Iterator[Metric]:
    requests = metrics.requests()
    yield counter(
        "apiserver_request_total",
        "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, "
        "component, and HTTP response code.",
        [*_REQUEST, "dry_run", "component", "code"],
        (
            ((*labels, _COMPONENT, str(code)), count)
            for labels, tally in requests
            for code, count in tally.codes.items()
        ),
    )
    yield histogram(
        "apiserver_request_duration_seconds",
        "Response latency distribution in seconds for each verb, dry run value, group, version, resource, "
        "subresource, scope and component.",
        [*_REQUEST, "dry_run", "component"],
        (((*labels, _COMPONENT), tally.seconds) for labels, tally in requests),
    )


def _stored(metrics: Metrics) -> Iterator[Metric]:
    help_text = "Number of stored objects at the time of last check split by kind."
    counts = metrics.objects()
    yield gauge(
        "apiserver_storage_objects", help_text, ["resource"], (((name,), count) for name, count in counts.items())
    )
    names = {name: name.partition(".") for name in counts}
    yield gauge(
        "apiserver_resource_objects",
        help_text,
        ["group", "resource"],
        (((group, resource), counts[name]) for name, (resource, _, group) in names.items()),
    )
