"""The webhooks of all configurations, compiled, and kept current with the store."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from apiserver.admission.latest import ComputedValue, RangeWatcher
from apiserver.admission.matching import MatchCriteria
from apiserver.api.meta import Obj, name_of
from apiserver.webhook.client import ClientConfig
from etcd.store import KeyValue

REVIEW_VERSIONS = ("v1", "v1beta1")
_DEFAULT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration.

    Attributes:
        uid: identifies it among all of its kind (configuration/name/number).
        configuration: the name of its configuration.
        criteria: the requests that it is for.
        conditions: its match conditions, compiled (`expressions.Condition`).
        fails_open: whether its failures are ignored.
        seconds: the time for a call.
        has_side_effects: whether it must not be called for a dry run; None if it does not say.
        review_version: the version of AdmissionReviews that it gets, "" if it knows none of ours.
        is_reinvoked: whether it is called again if others change the object later.
    """

    uid: str
    configuration: str
    name: str
    client: ClientConfig
    criteria: MatchCriteria
    conditions: Sequence[Any]
    fails_open: bool
    seconds: int
    has_side_effects: bool | None
    review_version: str
    is_reinvoked: bool


class HookSource:
    """The webhooks under a prefix of the store, in upstream's order; a configuration is compiled once per change.

    (pkg/admission/configuration/mutating_webhook_manager.go)

    Args:
        store: has the configurations.
        prefix: the prefix of their keys.
    """

    def __init__(self, store: RangeWatcher, prefix: str) -> None:
        self._compiled: dict[tuple[str, int], tuple[Hook, ...]] = {}
        self._hooks = ComputedValue(store, prefix, self._compute)

    def get(self) -> tuple[Hook, ...]:
        """Return the webhooks: by the name of their configuration, then in its order."""
        return self._hooks.get()

    def _compute(self, configurations: Iterable[KeyValue]) -> tuple[Hook, ...]:
        previous, self._compiled = self._compiled, {}
        for kv in sorted(configurations, key=lambda each: each.key):
            key = kv.key, kv.mod_revision
            hooks = previous.get(key)
            self._compiled[key] = _hooks_of(orjson.loads(kv.value)) if hooks is None else hooks
        return tuple(hook for hooks in self._compiled.values() for hook in hooks)


def _hooks_of(configuration: Obj) -> tuple[Hook, ...]:
    seen: dict[str, int] = {}
    hooks = []
    for webhook in configuration.get("webhooks") or ():
        name = webhook.get("name") or ""
        seen[name] = number = seen.get(name, -1) + 1
        hooks.append(_hook(webhook, name_of(configuration), number))
    return tuple(hooks)


def _hook(webhook: Obj, configuration: str, number: int) -> Hook:
    name, effects = webhook.get("name") or "", webhook.get("sideEffects")
    versions = webhook.get("admissionReviewVersions") or ()
    return Hook(
        uid=f"{configuration}/{name}/{number}",
        configuration=configuration,
        name=name,
        client=ClientConfig.of(webhook.get("clientConfig") or {}),
        criteria=MatchCriteria.of(webhook, rules="rules"),
        conditions=_conditions(webhook.get("matchConditions")),
        fails_open=webhook.get("failurePolicy") == "Ignore",
        seconds=webhook.get("timeoutSeconds") or _DEFAULT_SECONDS,
        has_side_effects=None if effects is None else effects not in ("None", "NoneOnDryRun"),
        review_version=next((each for each in versions if each in REVIEW_VERSIONS), ""),
        is_reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
    )


def _conditions(conditions: Sequence[Obj] | None) -> Sequence[Any]:
    if not conditions:
        return ()
    from apiserver.groups.admissionregistration.expressions import (  # noqa: PLC0415 - takes 50 ms, and few need it
        compile_conditions,
    )

    return compile_conditions(conditions)
