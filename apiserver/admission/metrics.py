"""Counts of admission, which the server exposes for Prometheus (k8s.io/apiserver/pkg/admission/metrics/metrics.go)."""

from typing import NamedTuple

from apiserver.component_base.histogram import Histogram

WEBHOOK_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0)
"""Upper bounds, in seconds, of apiserver_admission_webhook_admission_duration_seconds."""
_MAX_CODE = 600
"""Larger codes count as this one."""


class HookLabels(NamedTuple):
    """The labels of a webhook's metrics; the type is "admit" or "validating"."""

    name: str
    type: str
    operation: str


class AdmissionMetrics:
    """The metrics of admission webhooks and policies.

    Attributes:
        durations: (name, type, operation, rejected) → durations of calls.
        requests: (name, type, operation, code, rejected) → number of calls.
        rejections: (name, type, operation, error type, code) → number of rejections.
        fail_open: (name, type) → number of failed calls that were ignored.
        policy_checks: (policy, binding, error type, action) → failed validations of policies.
        exclusions, condition_errors: (name, kind, type, operation) → match conditions that were false, or failed.
    """

    def __init__(self) -> None:
        self.durations: dict[tuple[str, ...], Histogram] = {}
        self.requests: dict[tuple[str, ...], int] = {}
        self.rejections: dict[tuple[str, ...], int] = {}
        self.fail_open: dict[tuple[str, ...], int] = {}
        self.policy_checks: dict[tuple[str, ...], int] = {}
        self.exclusions: dict[tuple[str, ...], int] = {}
        self.condition_errors: dict[tuple[str, ...], int] = {}

    def observe_webhook(self, hook: HookLabels, seconds: float, *, code: int, rejected: bool) -> None:
        """Count one call of a webhook."""
        outcome = "true" if rejected else "false"
        _count(self.requests, (*hook, str(min(code, _MAX_CODE)), outcome))
        self.durations.setdefault((*hook, outcome), Histogram(WEBHOOK_BUCKETS)).add(seconds)

    def observe_rejection(self, hook: HookLabels, error_type: str, code: int) -> None:
        """Count one request that a webhook, or its failure, has rejected."""
        _count(self.rejections, (*hook, error_type, str(min(code, _MAX_CODE))))

    def observe_fail_open(self, hook: HookLabels) -> None:
        """Count one failed call that was ignored."""
        _count(self.fail_open, (hook.name, hook.type))

    def observe_policy(self, policy: str, binding: str, error_type: str, action: str) -> None:
        """Count one validation that has failed; the action is "deny", "audit", "warn" or, if it is ignored, "allow"."""
        _count(self.policy_checks, (policy, binding, error_type, action))

    def observe_exclusion(self, hook: HookLabels, kind: str) -> None:
        """Count one request that match conditions kept from a webhook or a policy; the kind is one of these words."""
        _count(self.exclusions, (hook.name, kind, hook.type, hook.operation))

    def observe_condition_error(self, hook: HookLabels, kind: str) -> None:
        """Count one match condition that could not be evaluated."""
        _count(self.condition_errors, (hook.name, kind, hook.type, hook.operation))


def _count(counts: dict[tuple[str, ...], int], labels: tuple[str, ...]) -> None:
    counts[labels] = counts.get(labels, 0) + 1
