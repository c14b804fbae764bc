"""One call of a webhook: whether it is made, what becomes of its failure, and its metrics.

Source: callHook of k8s.io/apiserver/pkg/admission/plugin/webhook/validating/dispatcher.go, callAttrMutatingHook of
../mutating/dispatcher.go, and ShouldCallHook of ../generic/webhook.go.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import NamedTuple

import orjson

from apiserver.admission.matching import Matcher
from apiserver.admission.metrics import AdmissionMetrics, HookLabels
from apiserver.admission.webhook.hooks import Hook
from apiserver.admission.webhook.objects import ReviewObjects
from apiserver.admission.webhook.reviews import (
    GROUP,
    KIND,
    AdmissionResponse,
    InvalidResponseError,
    admission_request,
    admission_review,
    denial,
    response_of,
)
from apiserver.api import errors
from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import as_go_writes
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.api.validation.names import qualified_name
from apiserver.registry.admission import Attributes
from apiserver.registry.authorizer import Authorizer
from apiserver.registry.clock import Ids
from apiserver.webhook.answers import AnswerError, review_of
from apiserver.webhook.client import CallError, WebhookClient

log = logging.getLogger("apiserver")

_EXEMPT = frozenset(
    f"{prefix}{kind}"
    for prefix in ("Validating", "Mutating")
    for kind in ("WebhookConfiguration", "AdmissionPolicy", "AdmissionPolicyBinding")
)


class CallFailedError(Exception):
    """A webhook that could not be asked, or whose answer is no answer (ErrCallingWebhook).

    Attributes:
        code: the HTTP status for metrics.
    """

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class DeniedError(Exception):
    """A webhook that denies the request (ErrWebhookRejection).

    Attributes:
        error: the error for the client.
    """

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


class Invocation(NamedTuple):
    """A webhook that is to be asked.

    Attributes:
        hook: the webhook.
        resource: the resource in whose version it sees the object.
        request: the AdmissionRequest, without uid and objects.
        obj, old: the objects in that version.
    """

    hook: Hook
    resource: Resource
    request: Obj
    obj: Obj | None
    old: Obj | None


def is_exempt(attributes: Attributes) -> bool:
    """Return whether a request is for a configuration of admission itself, which no webhook may lock."""
    resource = attributes.target.resource
    return resource.group == "admissionregistration.k8s.io" and resource.kind in _EXEMPT


class WebhookCaller:
    """Asks webhooks.

    Args:
        client: calls them.
        matcher: finds out which requests they are for.
        objects: converts the objects.
        ids: makes the uids of requests.
        metrics: counts the calls.
        authorizer: answers match conditions that ask it.
    """

    def __init__(
        self,
        client: WebhookClient,
        matcher: Matcher,
        objects: ReviewObjects,
        ids: Ids,
        metrics: AdmissionMetrics,
        authorizer: Authorizer,
    ) -> None:
        self.objects = objects
        self.metrics = metrics
        self._client = client
        self._matcher = matcher
        self._ids = ids
        self._authorizer = authorizer

    async def invocation_of(self, hook: Hook, attributes: Attributes, step: str) -> Invocation | None:
        """Return the call of a webhook for a request, None if it is not for it (ShouldCallHook).

        Args:
            hook: the webhook.
            attributes: the request, as webhooks see it.
            step: "admit" or "validating", for metrics.

        Raises:
            ApiError: 403, its match conditions cannot be evaluated; 404, the namespace does not exist; 500.
        """
        resource = await self._matcher.match(hook.criteria, attributes)
        if resource is None:
            return None
        requested = attributes.target.resource
        obj = await self.objects.converted(attributes.obj, requested, resource)
        old = await self.objects.converted(attributes.old, requested, resource)
        invocation = Invocation(hook, resource, admission_request(attributes, resource), obj, old)
        if hook.conditions and not await self._conditions_match(invocation, attributes, step):
            return None
        return invocation

    async def _conditions_match(self, invocation: Invocation, attributes: Attributes, step: str) -> bool:
        from apiserver.admission.webhook.conditions import (  # noqa: PLC0415 - takes 50 ms, and few webhooks have any
            MatchConditionsError,
            conditions_match,
        )

        hook, labels = invocation.hook, HookLabels(invocation.hook.name, step, attributes.operation)
        try:
            matches = await conditions_match(
                hook.conditions,
                (invocation.obj, invocation.old, invocation.request),
                user=attributes.user,
                authorizer=self._authorizer,
            )
        except MatchConditionsError as error:
            self.metrics.observe_condition_error(labels, "webhook")
            if hook.fails_open:
                matches = False
            else:
                resource, name = attributes.target.resource, str(invocation.request.get("name") or "")
                raise errors.forbidden(resource.group, resource.plural, name=name, why=str(error)) from None
        if not matches:
            self.metrics.observe_exclusion(labels, "webhook")
        return matches

    async def ask(self, invocation: Invocation, attributes: Attributes, *, mutating: bool) -> AdmissionResponse:
        """Call a webhook, and return its response if it allows the request.

        Raises:
            CallFailedError: there is no response.
            DeniedError: the webhook denies the request.
            ApiError: 400, the request is a dry run, and the webhook has side effects.
        """
        hook = invocation.hook
        self._check_side_effects(hook, attributes)
        if not hook.review_version:
            why = "could not create admission objects: webhook does not accept known AdmissionReview versions"
            raise CallFailedError(f"{why} (v1, v1beta1)", 400)
        uid, version = self._ids.uid(), hook.review_version
        review = admission_review(invocation.request, uid, invocation.obj, invocation.old, version)
        try:
            answer = await self._client.post(hook.client, as_go_writes(orjson.dumps(review)), hook.seconds)
            answered = review_of(answer, KIND, GROUP, version)
            response = response_of(answered, uid, version, mutating=mutating)
        except CallError as error:
            raise CallFailedError(f"failed to call webhook: {error}", 503) from error
        except AnswerError as error:
            raise CallFailedError(f"failed to call webhook: {error}", error.code) from error
        except InvalidResponseError as error:
            raise CallFailedError(f"received invalid webhook response: {error}", 503) from error
        _check_annotations(hook, response)
        attributes.warnings.extend(response.warnings)
        if not response.allowed:
            raise DeniedError(denial(hook.name, response.result))
        return response

    def _check_side_effects(self, hook: Hook, attributes: Attributes) -> None:
        if not attributes.dry_run:
            return
        if hook.has_side_effects is None:
            raise CallFailedError("Webhook SideEffects is nil", 400)
        if hook.has_side_effects:
            raise errors.bad_request(f"admission webhook {quoted(hook.name)} does not support dry run")

    @contextmanager
    def observed(self, hook: Hook, attributes: Attributes, step: str) -> Iterator[None]:
        """Count what happens in the context: the call of a webhook, and what is made of its response.

        A failed call is ignored if the webhook's failurePolicy says so.

        Raises:
            ApiError: the webhook denies the request; 500, the call has failed; any other error as it is.
        """
        labels, start = HookLabels(hook.name, step, attributes.operation), perf_counter()

        def observe(code: int, error_type: str = "") -> None:
            if error_type:
                self.metrics.observe_rejection(labels, error_type, code)
            self.metrics.observe_webhook(labels, perf_counter() - start, code=code, rejected=bool(error_type))

        try:
            yield
        except CallFailedError as error:
            message = f"failed calling webhook {quoted(hook.name)}: {error}"
            observe(error.code, "" if hook.fails_open else "calling_webhook_error")
            if not hook.fails_open:
                log.warning("Failed calling webhook, failing closed %s: %s", hook.name, message)
                raise errors.internal(message) from error
            log.warning("Failed calling webhook, failing open %s: %s", hook.name, message)
            self.metrics.observe_fail_open(labels)
        except DeniedError as error:
            observe(error.error.code, "no_error")
            raise error.error from None
        except ApiError:
            observe(0, "apiserver_internal_error")
            raise
        else:
            observe(200)


def _check_annotations(hook: Hook, response: AdmissionResponse) -> None:
    """Log audit annotations whose keys are invalid; there is no audit log that the others would go to."""
    for key in response.audit_annotations:
        full_key = f"{hook.name}/{key}"
        if full_key.count("/") != 1 or qualified_name(full_key):
            log.warning("Failed to set admission audit annotation %s: annotation key has invalid format", full_key)
