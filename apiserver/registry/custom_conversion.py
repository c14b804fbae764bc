"""Conversion of custom objects by the webhook of their definition.

Objects are read and written by functions that do not wait. So whoever is about to read or write some has the webhook
convert them first (`prepare`), and what it returns is kept by the content of the object, for all later readers:

    stored {"apiVersion": "x.io/v1", …}   wanted as v2   → the webhook is called once, and the copy is kept
    the same content, wanted as v2 again  → the copy, without a call

Source: apiextensions-apiserver's pkg/apiserver/conversion/webhook_converter.go.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson

from apiserver.api.errors import ApiError
from apiserver.api.golang.numbers import as_go_writes
from apiserver.api.golang.strings import quoted
from apiserver.api.golang.values import go_type
from apiserver.api.meta import Obj
from apiserver.api.validation import checks
from apiserver.api.validation.combinators import labels
from apiserver.api.validation.metadata import validate_annotations
from apiserver.webhook.answers import AnswerError, review_of
from apiserver.webhook.client import CallError, ClientConfig, WebhookClient

GROUP, KIND = "apiextensions.k8s.io", "ConversionReview"
REVIEW_VERSIONS = ("v1", "v1beta1")
SECONDS = 30
"""The time for a call (the timeout of NewDefaultAuthenticationInfoResolver's clients)."""
MAX_COPIES = 16_384
"""The number of converted copies that are kept for a definition; the oldest are dropped first."""

Key = tuple[str, bytes]


class UnpreparedError(ApiError):
    """A webhook has to convert an object before it can be read or written; to clients it is a failed conversion."""

    def __init__(self, webhook: "ConversionWebhook", obj: Obj, api_version: str) -> None:
        super().__init__(500, "", f"conversion webhook for {_gvk(obj)} failed: nobody has called it for this object")
        self._webhook, self._obj, self._api_version = webhook, obj, api_version

    async def prepare(self) -> None:
        """Have the webhook convert the object.

        Raises:
            ApiError: 500, it does not.
        """
        await self._webhook.prepare((self._obj,), self._api_version)


T = TypeVar("T")


async def with_conversions(compute: Callable[[], T]) -> T:
    """Return the outcome of a function that converts objects on its way; it runs again after each call of a webhook.

    Args:
        compute: the function, which changes nothing before it returns.

    Raises:
        ApiError: the function's own; 500, a webhook does not convert an object.
    """
    while True:
        try:
            return compute()
        except UnpreparedError as unprepared:
            await unprepared.prepare()


class _InvalidResponseError(Exception):
    """A response that is not one to the request; the message is upstream's."""


class ConversionWebhook:
    """The conversion webhook of one definition, and the copies that it has made.

    Args:
        spec: the spec of the definition.
        client: calls the webhook.
        new_uid: makes the uids of requests.
    """

    def __init__(self, spec: Obj, client: WebhookClient, new_uid: Callable[[], str]) -> None:
        webhook = (spec.get("conversion") or {}).get("webhook") or {}
        self._kind = (spec.get("names") or {}).get("kind") or ""
        self._config = ClientConfig.of(webhook.get("clientConfig") or {})
        versions = webhook.get("conversionReviewVersions") or ()
        self._review_version = next((each for each in versions if each in REVIEW_VERSIONS), "")
        self._client = client
        self._new_uid = new_uid
        self._copies: dict[Key, bytes] = {}

    def copy(self, obj: Obj, api_version: str) -> Obj | None:
        """Return the converted copy of an object, None if it was not prepared."""
        frozen = self._copies.get(_key(obj, api_version))
        return None if frozen is None else orjson.loads(frozen)

    async def prepare(self, objs: Sequence[Obj], api_version: str) -> None:
        """Have the webhook convert those objects that are in another version, and keep the copies.

        Raises:
            ApiError: 500, it cannot be called, or does not convert them.
        """
        pending = {
            key: obj
            for obj in objs
            if obj["apiVersion"] != api_version and (key := _key(obj, api_version)) not in self._copies
        }
        if not pending:
            return
        converted = await self._convert(list(pending.values()), api_version)
        for key, obj in zip(pending, converted, strict=True):
            if len(self._copies) >= MAX_COPIES:
                del self._copies[next(iter(self._copies))]
            obj["metadata"].pop("resourceVersion", None)
            self._copies[key] = orjson.dumps(obj)

    async def _convert(self, objs: list[Obj], api_version: str) -> list[Obj]:
        prefix = f"conversion webhook for {_gvk(objs[0])}"
        if not self._review_version:
            raise ApiError(500, "", "no supported conversion review versions")
        try:
            converted = await self._exchange(objs, api_version)
        except (CallError, AnswerError, _InvalidResponseError) as error:
            raise ApiError(500, "", f"{prefix} failed: {error}") from error
        if len(converted) != len(objs):
            raise ApiError(500, "", f"{prefix} returned {len(converted)} objects, expected {len(objs)}")
        for obj, copy in zip(objs, converted, strict=True):
            if why := _object_error(obj, copy, api_version):
                raise ApiError(500, "", f"conversion webhook for {_gvk(obj)} returned invalid {why}")
        return converted

    async def _exchange(self, objs: list[Obj], api_version: str) -> list[Any]:
        """Call the webhook, and return the objects of its response."""
        uid, version = self._new_uid(), self._review_version
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objs}
        review = {"kind": KIND, "apiVersion": f"{GROUP}/{version}", "request": request}
        answer = await self._client.post(self._config, as_go_writes(orjson.dumps(review)), SECONDS)
        return _converted_objects(review_of(answer, KIND, GROUP, version), uid, version)


def _key(obj: Obj, api_version: str) -> Key:
    """Return the key of a copy: the version, and the object without its resourceVersion."""
    meta = obj["metadata"]
    if "resourceVersion" in meta:
        meta = {name: value for name, value in meta.items() if name != "resourceVersion"}
    return api_version, orjson.dumps({**obj, "metadata": meta}, option=orjson.OPT_SORT_KEYS)


def _gvk(obj: Obj) -> str:
    """Return a kind as messages print it."""
    return f"{obj['apiVersion']}, Kind={obj['kind']}"


def _converted_objects(review: Obj, uid: str, version: str) -> list[Any]:
    """Return the objects of a response (getConvertedObjectsFromResponse).

    Raises:
        _InvalidResponseError: it is not the response to the request, or a failure.
    """
    named = (review.get("apiVersion") or "", review.get("kind") or "")
    if version == "v1" and named != (f"{GROUP}/v1", KIND):
        shown = named[0] if "/" in named[0] else f"/{named[0]}"
        raise _InvalidResponseError(
            f"expected webhook response of {GROUP}/v1, Kind={KIND}, got {shown}, Kind={named[1]}"
        )
    response = review.get("response")
    if not isinstance(response, dict):
        raise _InvalidResponseError("no response provided")
    answered = response.get("uid") or ""
    if version == "v1" and answered != uid:
        raise _InvalidResponseError(f"expected response.uid={quoted(uid)}, got {quoted(str(answered))}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        why = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise _InvalidResponseError(str(result.get("message") or why))
    return list(response.get("convertedObjects") or ())


def _object_error(obj: Obj, copy: Any, api_version: str) -> str:
    """Return why an object is no conversion of another, "" if it is one; then its metadata is restored."""
    if not isinstance(copy, dict):
        return f"object: json: cannot unmarshal {go_type(copy)} into Go value of type map[string]interface {{}}"
    received, kind = copy.get("apiVersion") or "", copy.get("kind") or ""
    if received != api_version:
        return f"object at index 0: invalid groupVersion (expected {api_version}, received {received})"
    if kind != obj["kind"]:
        return f"object at index 0: invalid kind (expected {obj['kind']}, received {kind})"
    return _identity_error(obj, copy) or _restore_metadata(obj, copy)


def _identity_error(obj: Obj, copy: Obj) -> str:
    """Return why a converted object is not the same object, "" if it is (validateConvertedObject)."""
    original, meta = obj["metadata"], copy.get("metadata")
    converted = meta if isinstance(meta, dict) else {}
    for name, shown in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = original.get(name) or "", converted.get(name) or ""
        if before != after:
            return f"object: must have the same {shown}: {before} != {after}"
    return ""


def _restore_metadata(obj: Obj, copy: Obj) -> str:
    """Give a converted object its metadata back, all but labels and annotations; return why it cannot keep those.

    (restoreObjectMeta)
    """
    original, meta = obj["metadata"], copy.get("metadata")
    if not isinstance(meta, dict):
        return f"metadata: invalid metadata of type {go_type(meta)} in converted object"
    restored = {name: value for name, value in original.items() if name not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        pairs = meta.get(name)
        if pairs is None:
            continue
        if why := _pairs_error(name, pairs, original.get(name)):
            return f"metadata: {why}"
        restored[name] = pairs
    copy["metadata"] = restored
    return ""


def _pairs_error(name: str, pairs: Any, before: Any) -> str:
    """Return why labels or annotations of a converted object cannot be kept, "" if they can."""
    if not isinstance(pairs, dict):
        return f"invalid metadata.{name} of type {go_type(pairs)} in converted object"
    for key, value in pairs.items():
        if not isinstance(value, str):
            return f"metadata.{name}[{key}] must be a string, but is {go_type(value)} in converted object"
    if pairs == before:
        return ""
    if name == "labels":
        errors = list(checks.prefix_errors("metadata.labels", labels(pairs)))
    else:
        errors = validate_annotations("metadata.annotation", pairs)
    texts = list(dict.fromkeys(map(str, errors)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
