"""ValidatingAdmissionWebhook: asks all webhooks for a request at the same time; one that denies it is enough."""

import asyncio

from apiserver.admission.latest import RangeWatcher
from apiserver.admission.webhook.caller import Invocation, WebhookCaller, is_exempt
from apiserver.admission.webhook.hooks import Hook, HookSource
from apiserver.registry.admission import ALL, Attributes, Handles

_PREFIX = "/registry/validatingwebhookconfigurations/"
_STEP = "validating"


class ValidatingAdmissionWebhook:
    """The plug-in of that name (plugin/webhook/validating).

    Args:
        store: has the configurations.
        caller: asks the webhooks.
    """

    name = "ValidatingAdmissionWebhook"
    handles: tuple[Handles, ...] = (Handles(ALL, subresources=None),)

    def __init__(self, store: RangeWatcher, caller: WebhookCaller) -> None:
        self._hooks = HookSource(store, _PREFIX)
        self._caller = caller

    async def validate(self, attributes: Attributes) -> None:
        """Ask the webhooks that the request is for.

        Raises:
            ApiError: the error of the first, in the order of the configurations, that denies or fails.
        """
        hooks = self._hooks.get()
        if hooks and not is_exempt(attributes):
            await self._dispatch(hooks, attributes)

    async def _dispatch(self, hooks: tuple[Hook, ...], attributes: Attributes) -> None:
        shown = self._caller.objects.attributes_for(attributes)
        invocations = [
            invocation
            for hook in hooks
            if (invocation := await self._caller.invocation_of(hook, shown, _STEP)) is not None
        ]
        if len(invocations) == 1:
            await self._ask(invocations[0], shown)
            return
        outcomes = await asyncio.gather(*(self._ask(each, shown) for each in invocations), return_exceptions=True)
        for outcome in outcomes:
            if outcome is not None:
                raise outcome

    async def _ask(self, invocation: Invocation, attributes: Attributes) -> None:
        with self._caller.observed(invocation.hook, attributes, _STEP):
            await self._caller.ask(invocation, attributes, mutating=False)
