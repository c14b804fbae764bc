"""MutatingAdmissionWebhook: asks webhooks one after the other; each sees what those before it have changed."""

from dataclasses import dataclass, field

import orjson

from apiserver.admission.latest import RangeWatcher
from apiserver.admission.webhook.caller import CallFailedError, Invocation, WebhookCaller, is_exempt
from apiserver.admission.webhook.hooks import Hook, HookSource
from apiserver.admission.webhook.reviews import JSON_PATCH, AdmissionResponse
from apiserver.api import errors, json_input
from apiserver.api.errors import ApiError
from apiserver.api.golang.strings import quoted
from apiserver.api.meta import Obj
from apiserver.api.patch.json_patch import PatchError, apply_operations, operations_of
from apiserver.registry.admission import ALL, Attributes, Handles

_PREFIX = "/registry/mutatingwebhookconfigurations/"
_STEP = "admit"


@dataclass(slots=True)
class _Reinvocation:
    """The webhooks that may be called again for a request (webhookReinvokeContext).

    Attributes:
        last_output: the object as this plug-in has left it.
        invoked: uids of webhooks with reinvocationPolicy IfNeeded that were called since the last change.
        pending: uids of those that have to be called again.
    """

    last_output: bytes = b""
    invoked: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)

    def require(self) -> None:
        """Have all webhooks called again that were called before a change."""
        self.pending |= self.invoked
        self.invoked.clear()


class MutatingAdmissionWebhook:
    """The plug-in of that name (plugin/webhook/mutating).

    Args:
        store: has the configurations.
        caller: asks the webhooks.
    """

    name = "MutatingAdmissionWebhook"
    handles: tuple[Handles, ...] = (Handles(ALL, subresources=None),)

    def __init__(self, store: RangeWatcher, caller: WebhookCaller) -> None:
        self._hooks = HookSource(store, _PREFIX)
        self._caller = caller

    async def admit(self, attributes: Attributes) -> None:
        """Ask the webhooks that the request is for, and apply their patches.

        Raises:
            ApiError: the error of the first that denies or fails.
        """
        hooks = self._hooks.get()
        if hooks and not is_exempt(attributes):
            await self._dispatch(hooks, attributes)

    async def _dispatch(self, hooks: tuple[Hook, ...], attributes: Attributes) -> None:
        context = attributes.reinvocation
        state = context.values.get(self.name) if context is not None else None
        is_reinvoke = context is not None and context.is_reinvoke
        if state is None:
            if is_reinvoke:
                return  # no webhook was called in the first run, and none is called for the first time in the second
            state = _Reinvocation()
        if is_reinvoke and state.last_output != _frozen(attributes.obj):
            state.require()  # other plug-ins have changed the object in their second run
        for hook in hooks:
            if not is_reinvoke or hook.uid in state.pending:
                await self._call(hook, attributes, state)
        if attributes.reinvocation is not None:
            state.last_output = _frozen(attributes.obj)

    async def _call(self, hook: Hook, attributes: Attributes, state: _Reinvocation) -> None:
        shown = self._caller.objects.attributes_for(attributes)
        invocation = await self._caller.invocation_of(hook, shown, _STEP)
        if invocation is None:
            return
        attributes.get_reinvocation().values[self.name] = state
        has_changed = False
        with self._caller.observed(hook, attributes, _STEP):
            response = await self._caller.ask(invocation, shown, mutating=True)
            has_changed = await self._apply(response, invocation, attributes)
        if has_changed:
            state.require()
            attributes.get_reinvocation().should_reinvoke = True
        if hook.is_reinvoked:
            state.invoked.add(hook.uid)

    async def _apply(self, response: AdmissionResponse, invocation: Invocation, attributes: Attributes) -> bool:
        """Apply the patch of a response, and return whether it has changed the object.

        Raises:
            CallFailedError: it is no patch that this server knows.
            ApiError: 500, it does not apply, or there is no object.
        """
        operations = _operations(response.patch)
        if not operations:
            return False
        if invocation.obj is None:
            name = quoted(invocation.hook.name)
            why = f"admission webhook {name} attempted to modify the object, which is not supported for this operation"
            raise errors.internal(why)
        if response.patch_type != JSON_PATCH:
            raise CallFailedError(f"unsupported patch type {quoted(response.patch_type)}", 400)
        try:
            patched = apply_operations(invocation.obj, operations, raw=response.patch)
        except PatchError as error:
            raise errors.internal(str(error)) from error
        if not isinstance(patched, dict):
            raise errors.internal("json: cannot unmarshal array into Go value of type map[string]interface {}")
        return await self._caller.objects.replace(attributes, patched, invocation.resource)


def _operations(patch: bytes) -> list[Obj]:
    """Return the operations of a patch.

    Raises:
        CallFailedError: it is no JSON patch.
    """
    if not patch:
        return []
    try:
        return operations_of(json_input.loads(patch)[0])
    except (ValueError, ApiError) as error:
        raise CallFailedError(f"received undecodable patch in webhook response: {error}", 503) from error


def _frozen(obj: Obj | None) -> bytes:
    return b"" if obj is None else orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
